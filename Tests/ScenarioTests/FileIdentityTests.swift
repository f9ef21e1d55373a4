import Shoebox
import ShoeboxLibrary
import ShoeboxModel
import ShoeboxPlanning
import ShoeboxStore
import ShoeboxTestSupport
import ShoeboxWorld
import Testing

/// Which file is which record's, when the user and other devices rename, replace and edit at once.
@Suite struct FileIdentityTests {
    /// Alice with two devices that show the same library.
    private func twoDevices(_ files: [String: String]) throws -> (Village, Replica, Replica) {
        var village = try Village(labels: ["alice"])
        let alice = village.replicas[0]
        for (path, text) in files { try alice.machine.library.write(path, text) }
        try #require(try village.settle())
        let second = try village.addDevice(of: alice, name: "alice2")
        try #require(try village.settle())
        try #require(treeDifference(second.files(.library), alice.files(.library)) == [])
        return (village, alice, second)
    }

    @Test func `a photo that another device renames while it is edited keeps the edit`() throws {
        let (village, alice, second) = try twoDevices(["a.jpg": "one"])
        try alice.machine.library.move("a.jpg", to: "b.jpg")
        try alice.round()
        // Saved a moment ago: it is not taken in the round that renames it.
        try second.machine.library.write(
            "a.jpg", "edited", atNanoseconds: Int64(second.machine.clock.wallMilliseconds) * 1_000_000)
        try second.round()
        try #require(try village.settle())
        #expect(alice.tree(.library) == ["b.jpg": "edited"])
        #expect(second.tree(.library) == ["b.jpg": "edited"])
    }

    @Test func `a sidecar that can't be read once is no photo of its own`() throws {
        let (village, alice, second) = try twoDevices(["a.jpg": "one"])
        try alice.machine.library.write("a.jpg.json", #"{"format": "shoebox.sidecar/1", "caption": "sea"}"#)
        alice.machine.faults.setRule { operation in
            operation.name == "open" && operation.path == "a.jpg.json" ? .fail(.inputOutput) : nil
        }
        try alice.round()
        #expect(alice.problems.map(\.code) == ["unreadable"])
        alice.machine.faults.setRule(nil)
        try #require(try village.settle())
        #expect(alice.problems.isEmpty, "\(alice.problems)")
        #expect(second.sidecar("a.jpg", .library)?.fields.caption == "sea")
        #expect(second.tree(.library) == ["a.jpg": "one"])
    }

    @Test func `a JSON file from elsewhere takes its name, and the sidecar that was there goes on under its other one`()
        throws
    {
        let (village, alice, second) = try twoDevices(["a.jpg": "one"])
        _ = second.request(.caption(path: second.path("a.jpg"), text: "sea"))
        try second.round()
        try alice.machine.library.write("a.jpg.json", #"{"title": "of another program"}"#)
        try #require(try village.settle())
        for replica in [alice, second] {
            #expect(
                replica.tree(.library, sidecars: true)["a.jpg.json"] == #"{"title": "of another program"}"#,
                "\(replica.tree(.library, sidecars: true).keys)")
            let own = replica.tree(.library, sidecars: true)["a.jpg.shoebox.json"] ?? ""
            #expect(own.contains("sea"), "\(replica.machine.name): \(own)")
        }
    }
}
