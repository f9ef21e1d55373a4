import Shoebox
import ShoeboxLibrary
import ShoeboxModel
import ShoeboxPlanning
import ShoeboxStore
import ShoeboxTestSupport
import ShoeboxWorld
import Testing

/// So many deletions that a person is asked, and what is done meanwhile.
struct HeldDeletionTests {
    private static let names = (0..<10).map { "Many/\($0).jpg" }

    /// Two devices of an account, of which one lacks ten photos with captions, and asks.
    private func asking() throws -> (Village, alice: Replica, laptop: Replica) {
        var files = ["Few/a.jpg": "a.jpg", "Few/b.jpg": "b.jpg"]
        for name in Self.names { files[name] = "bytes of \(name)" }
        let (village, alice, laptop) = try Village.twoDevices(files) { $0.massDeletionCount = 4 }
        for name in Self.names { _ = alice.request(.caption(path: alice.path(name), text: "caption of \(name)")) }
        try #require(try village.settle())
        try alice.machine.library.delete("Many")
        try look(village, alice)
        #expect(alice.problems.map(\.code) == ["massDeletion"])
        return (village, alice, laptop)
    }

    private func look(_ village: Village, _ alice: Replica, _ count: Int = 4) throws {
        for _ in 0..<count {
            try alice.round()
            village.world.clock.advance(milliseconds: 20_000)
        }
    }

    @Test(arguments: [false, true])
    func `photos that are put back one by one keep their words, and nothing else is deleted before all are there`(
        isRestarted: Bool
    ) throws {
        let (village, alice, laptop) = try asking()
        for (index, name) in Self.names.enumerated() {
            try alice.machine.library.write(name, "bytes of \(name)")
            try look(village, alice, 3)
            if isRestarted { try alice.restart() }
            try laptop.round()
            #expect(laptop.tree(.library).count == 12, "after \(index + 1)")
        }
        try #require(try village.settle())
        #expect(alice.problems.isEmpty, "\(alice.problems)")
        for replica in [alice, laptop] {
            for name in Self.names {
                #expect(
                    replica.sidecar(name, .library)?.fields.caption == "caption of \(name)", "\(replica.machine.name)")
            }
        }
        // Nothing waits any more: a few deletions are as any others.
        try alice.machine.library.delete("Few/a.jpg")
        for _ in 0..<4 { _ = try village.settleDeletions() }
        #expect(laptop.tree(.library)["Few/a.jpg"] == nil)
    }

    @Test func `what lies on a disk that is away is not brought back onto the one that it is mounted on`() throws {
        let (village, alice, laptop) = try Village.twoDevices(["x.jpg": "xxx"]) { $0.massDeletionCount = 4 }
        let (disk, album) = (alice.machine.library, try #require(RelativePath("Disk")))
        disk.setMountPoints([album])
        for name in Self.names { try disk.write(name, "bytes of \(name)") }
        for name in ["Disk/a.jpg", "Disk/deep/b.jpg"] { try disk.write(name, name) }
        try #require(try village.settle())
        try disk.delete("Many")
        try disk.delete("Disk")
        try disk.makeDirectories(album)
        disk.setMountPoints([])
        try look(village, alice)
        #expect(Set(alice.problems.map(\.code)) == ["massDeletion", "folderOffline"], "\(alice.problems)")
        let reply = alice.request(.rejectDeletions)
        #expect(reply.values["restored"] == "11", "\(reply)")
        for _ in 0..<4 { _ = try village.settleDeletions() }
        #expect(alice.tree(.library).keys.filter { $0.hasPrefix("Disk/") } == [], "nothing of it was written there")
        #expect(alice.tree(.library).count == 11 && laptop.tree(.library).count == 13)
    }

    @Test(arguments: [false, true])
    func `when some are put back, the word is asked for the rest`(isConfirmed: Bool) throws {
        let (village, alice, laptop) = try asking()
        for name in Self.names.prefix(7) { try alice.machine.library.write(name, "bytes of \(name)") }
        try look(village, alice)
        #expect(alice.problems.map(\.code) == ["massDeletion"])
        #expect(alice.request(isConfirmed ? .confirmDeletions : .rejectDeletions).code == 0)
        try look(village, alice)
        try #require(try village.settle())
        #expect(alice.problems.isEmpty, "\(alice.problems)")
        #expect(laptop.tree(.library).count == (isConfirmed ? 9 : 12), "\(laptop.tree(.library))")
        #expect(treeDifference(laptop.files(.library), alice.files(.library)) == [])
    }

    @Test(arguments: [false, true])
    func `nobody is asked any more once another device has deleted the same`(isFolderThere: Bool) throws {
        let (village, alice, laptop) = try asking()
        if isFolderThere { try alice.machine.library.makeDirectories(try #require(RelativePath("Many"))) }
        try look(village, alice)
        try laptop.machine.library.delete("Many")
        try look(village, laptop)
        // The daemon that asks looks only where its watcher saw something.
        var outcome: RoundOutcome?
        let few = try #require(RelativePath("Few"))
        for _ in 0..<8 {
            outcome = try alice.round(.directories([.library: [few]]))
            village.world.clock.advance(milliseconds: 60_000)
        }
        #expect(alice.problems.isEmpty, "\(alice.problems)")
        #expect(outcome?.lookAgain == nil)
        #expect(try village.settle())
        // Nor does anything else wait for a word.
        try alice.machine.library.delete("Few/a.jpg")
        for _ in 0..<4 { _ = try village.settleDeletions() }
        #expect(alice.problems.isEmpty, "\(alice.problems)")
        #expect(laptop.tree(.library) == ["Few/b.jpg": "b.jpg"])
    }
}
