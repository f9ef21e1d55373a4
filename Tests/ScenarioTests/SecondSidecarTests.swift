import Foundation
import Shoebox
import ShoeboxLibrary
import ShoeboxModel
import ShoeboxPlanning
import ShoeboxStore
import ShoeboxTestSupport
import ShoeboxWorld
import Testing

/// Photos whose sidecar can't have its plain name, have two, or stand in each other's way.
struct SecondSidecarTests {
    private func sidecars(_ replica: Replica) -> [String: String] {
        replica.tree(.library, sidecars: true).filter { $0.key.hasSuffix(".json") }
    }

    private func caption(of path: String, _ replica: Replica) -> String? {
        for suffix in [".shoebox.json", ".json"] {
            guard let text = sidecars(replica)[path + suffix],
                case .document(let document) = SidecarDocument.read(Array(text.utf8))
            else { continue }
            return document.fields.caption
        }
        return nil
    }

    @Test(arguments: [false, true])
    func `a foreign JSON file that is renamed along with its photo takes nothing from the sidecar`(isEdited: Bool)
        throws
    {
        let (village, alice, second) = try Village.twoDevices(["a.jpg": "one"])
        let disk = alice.machine.library
        let foreign = #"{"title": "of another program"}"#
        try disk.write("a.jpg.json", foreign)
        try #require(try village.settle())
        _ = alice.request(.caption(path: alice.path("a.jpg"), text: "sea"))
        try #require(try village.settle())
        let text = try disk.text("a.jpg.shoebox.json")
        try disk.write("a.jpg.shoebox.json", text.replacingOccurrences(of: "{\n", with: "{\n  \"color\": 12.50,\n"))
        try #require(try village.settle())
        if isEdited {
            let text = try disk.text("a.jpg.shoebox.json")
            try disk.write("a.jpg.shoebox.json", text.replacingOccurrences(of: "sea", with: "lake"))
        }
        try disk.move("a.jpg", to: "b.jpg")
        try disk.move("a.jpg.json", to: "b.jpg.json")
        #expect(try village.settle())
        let found = sidecars(alice)
        #expect(Set(found.keys) == ["b.jpg.json", "b.jpg.shoebox.json"], "\(found)")
        #expect(found["b.jpg.json"] == foreign)
        let own = found["b.jpg.shoebox.json"] ?? ""
        #expect(own.contains(isEdited ? "lake" : "sea") && own.contains("12.50"), "\(own)")
        #expect(caption(of: "b.jpg", second) == (isEdited ? "lake" : "sea"))
    }

    @Test func `a photo that comes back from the trash with a sidecar of the longer name has one`() throws {
        let (village, alice, second) = try Village.twoDevices(["Trip/a.jpg": "one"])
        try alice.machine.library.write("Trip/a.jpg.json", #"{"title": "of another program"}"#)
        try #require(try village.settle())
        _ = alice.request(.caption(path: alice.path("Trip/a.jpg"), text: "sea"))
        try #require(try village.settle())
        try alice.machine.library.delete("Trip/a.jpg.json")
        _ = try village.settleDeletions()
        try second.machine.library.delete("Trip")
        _ = try village.settleDeletions()
        try #require(alice.tree(.library).isEmpty, "\(alice.tree(.library))")
        let reply = alice.request(.restoreTrash(paths: [alice.path("Trip")]))
        #expect(reply.code == 0, "\(reply)")
        #expect(try village.settle())
        for replica in [alice, second] {
            let found = sidecars(replica)
            #expect(found.count == 1 && found.values.allSatisfy { $0.contains("sea") }, "\(found)")
        }
    }

    @Test func `another program's JSON file comes back from the trash with its photo as what it was`() throws {
        let (village, alice, second) = try Village.twoDevices(["Trip/a.jpg": "one"])
        let foreign = #"{"title": "of another program"}"#
        try alice.machine.library.write("Trip/a.jpg.json", foreign)
        try #require(try village.settle())
        _ = alice.request(.caption(path: alice.path("Trip/a.jpg.json"), text: "takeout"))
        _ = alice.request(.caption(path: alice.path("Trip/a.jpg"), text: "sea"))
        try #require(try village.settle())
        try second.machine.library.delete("Trip")
        _ = try village.settleDeletions()
        let reply = alice.request(.restoreTrash(paths: [alice.path("Trip")]))
        #expect(reply.code == 0, "\(reply)")
        #expect(try village.settle())
        for replica in [alice, second] {
            #expect(sidecars(replica)["Trip/a.jpg.json"] == foreign, "\(sidecars(replica))")
            #expect(caption(of: "Trip/a.jpg.json", replica) == "takeout")
            #expect(caption(of: "Trip/a.jpg", replica) == "sea")
        }
    }

    @Test func `where JSON files are ignored, sidecars are read all the same`() throws {
        let (village, alice, second) = try Village.twoDevices(["a.jpg": "one"]) {
            $0.ignore = IgnoreRules(patterns: ["*.json"])
        }
        let disk = alice.machine.library
        try disk.write("notes.json", "{}")
        _ = alice.request(.caption(path: alice.path("a.jpg"), text: "sea"))
        try #require(try village.settle())
        #expect(caption(of: "a.jpg", second) == "sea")
        try disk.write("a.jpg.json", disk.text("a.jpg.json").replacingOccurrences(of: "sea", with: "lake"))
        #expect(try village.settle())
        #expect(caption(of: "a.jpg", second) == "lake")
        #expect(second.tree(.library) == ["a.jpg": "one"])
    }

    @Test func `files of which one has the longer name of the other's sidecar have each their own`() throws {
        let (village, alice, second) = try Village.twoDevices(["X": "one", "X.shoebox": "two"])
        try alice.machine.library.write("X.json", #"{"title": "of another program"}"#)
        try #require(try village.settle())
        _ = alice.request(.caption(path: alice.path("X"), text: "sea"))
        try #require(try village.settle())
        _ = second.request(.caption(path: second.path("X.shoebox"), text: "lake"))
        #expect(try village.settle())
        let found = sidecars(alice).values.filter { $0.contains("shoebox.sidecar") }
        #expect(
            found.count == 2 && found.contains { $0.contains("sea") } && found.contains { $0.contains("lake") },
            "\(found)")
    }

    @Test(arguments: [false, true])
    func `two files of other programs that have both names of a sidecar are shown, and what it said is kept`(
        isEdited: Bool
    ) throws {
        let (village, alice, second) = try Village.twoDevices(["a.jpg": "one"])
        _ = alice.request(.caption(path: alice.path("a.jpg"), text: "sea"))
        try alice.round()
        try #require(sidecars(alice).keys.contains("a.jpg.json"))
        if isEdited {
            let text = try alice.machine.library.text("a.jpg.json")
            try alice.machine.library.write("a.jpg.json", text.replacingOccurrences(of: "sea", with: "lake"))
        }
        let foreign = [
            "a.jpg.json": #"{"title": "of another program"}"#, "a.jpg.shoebox.json": #"{"title": "of a third"}"#,
        ]
        for (path, text) in foreign { try second.machine.library.write(path, text) }
        #expect(try village.settle())
        for replica in [alice, second] {
            #expect(sidecars(replica) == foreign, "\(sidecars(replica))")
            #expect(replica.tree(.library)["a.jpg"] == "one")
        }
        // It has its sidecar again where there is room for one.
        try alice.machine.library.move("a.jpg", to: "b.jpg")
        #expect(try village.settle())
        _ = second.request(.rate(path: second.path("b.jpg"), value: 4))
        #expect(try village.settle())
        #expect(caption(of: "b.jpg", alice) == (isEdited ? "lake" : "sea"))
    }

    @Test func `what stands in a photo's place, and can't be read, is not looked at all the time`() throws {
        let (village, alice, second) = try Village.twoDevices(["a.jpg": "one"])
        let disk = alice.machine.library
        try disk.delete("a.jpg")
        try disk.link("a.jpg", to: "/mnt/large/elsewhere")
        try disk.write("notes.json", "{}")
        alice.machine.faults.setRule { operation in
            operation.path == "notes.json" && ["open", "read"].contains(operation.name) ? .fail(.denied) : nil
        }
        try alice.round()
        _ = second.request(.caption(path: second.path("a.jpg"), text: "sea"))
        for _ in 0..<60 { try village.pass(1) }
        #expect(second.tree(.library)["a.jpg"] == "one")
        let now = alice.machine.world.uptimeMilliseconds()
        let outcome = try alice.engine.round(.directories([:]))
        #expect(outcome.lookAgain.map { $0 > now + 2_000 } != false, "\(String(describing: outcome.lookAgain)) \(now)")
    }

    @Test(arguments: [false, true])
    func `a second sidecar that a person made by copying goes with its photo, and says nothing of the next`(
        isDeletedHere: Bool
    ) throws {
        let (village, alice, second) = try Village.twoDevices(["a.jpg": "one", "b.jpg": "two"])
        _ = alice.request(.caption(path: alice.path("a.jpg"), text: "sea"))
        try #require(try village.settle())
        let disk = alice.machine.library
        try disk.write("a.jpg.shoebox.json", try disk.text("a.jpg.json"))
        #expect(try village.settle())
        try (isDeletedHere ? alice : second).machine.library.delete("a.jpg")
        for _ in 0..<4 { _ = try village.settleDeletions() }
        #expect(sidecars(alice).isEmpty, "\(sidecars(alice))")
        try second.machine.library.write("a.jpg", "another")
        #expect(try village.settle())
        for replica in [alice, second] { #expect(caption(of: "a.jpg", replica) == nil, "\(sidecars(replica))") }
    }
}
