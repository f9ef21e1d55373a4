import Shoebox
import ShoeboxLibrary
import ShoeboxModel
import ShoeboxPlanning
import ShoeboxStore
import ShoeboxTestSupport
import Testing

/// A photo that is asked back before anybody was told that it was removed.
@Suite struct RestoreUntakenTests {
    private func settle(_ village: Village) throws {
        for _ in 0..<3 { try #require(try village.settleDeletions()) }
    }

    @Test(arguments: ["nil", "1", "2"], [false, true])
    func `a photo that was just removed comes back, with its words, and is deleted for nobody`(
        version: String, isFolder: Bool
    ) throws {
        let (village, alice, second) = try Village.twoDevices([
            "deep/a.jpg": "first", "deep/b.jpg": "bbb", "c.jpg": "c",
        ])
        try alice.machine.library.write("deep/a.jpg", "second")
        try #require(try village.settle())
        let path = alice.path("deep/a.jpg")
        try #require(alice.request(.caption(path: path, text: "words")).code == 0)
        try #require(try village.settle())
        try alice.machine.library.delete(isFolder ? "deep" : "deep/a.jpg")
        let reply = alice.request(.restoreVersion(path: path, version: version == "nil" ? nil : version))
        #expect(reply.code == 0 && reply.lines.joined().contains("comes back"), "\(reply)")
        try settle(village)
        for replica in [alice, second] {
            var expected = ["deep/a.jpg": version == "2" ? "first" : "second", "c.jpg": "c"]
            // What is gone with it was not asked for.
            if !isFolder { expected["deep/b.jpg"] = "bbb" }
            #expect(replica.tree(.library) == expected, "\(replica.machine.name)")
            #expect(replica.sidecar("deep/a.jpg", .library)?.fields.caption == "words", "\(replica.machine.name)")
        }
        let deletions = try second.store.read { db in try db.history(after: 0, limit: .max) }
            .filter { $0.change.action == .delete && $0.change.type == .photo }
        #expect(deletions.count == (isFolder ? 1 : 0), "\(deletions)")
    }

    @Test func `a photo of somebody else's share comes back within the time that its deletion waits`() throws {
        let party = try Party(bob: "readWrite")
        let bob = party.bob
        try bob.machine.shared.delete("alice/Summer/a.jpg")
        try party.rounds(of: bob, 6)
        let reply = bob.request(.restoreVersion(path: bob.path("alice/Summer/a.jpg", .shared), version: nil))
        #expect(reply.code == 0, "\(reply)")
        try settle(party.village)
        party.expectShown()
        #expect(bob.tree(.shared)["alice/Summer/a.jpg"] == "aaa")
    }

    @Test func `one of many photos whose deletion waits for a word comes back, and the others wait`() throws {
        var files = ["Few/a.jpg": "a"]
        for number in 0..<10 { files["Many/\(number).jpg"] = "photo \(number)" }
        let (village, alice, second) = try Village.twoDevices(files) { $0.massDeletionCount = 4 }
        try alice.machine.library.delete("Many")
        for _ in 0..<4 {
            try alice.round()
            village.world.clock.advance(milliseconds: 20_000)
        }
        try #require(alice.problems.map(\.code) == ["massDeletion"])
        let reply = alice.request(.restoreVersion(path: alice.path("Many/3.jpg"), version: nil))
        #expect(reply.code == 0, "\(reply)")
        for _ in 0..<4 {
            try alice.round()
            village.world.clock.advance(milliseconds: 20_000)
        }
        #expect(alice.tree(.library) == ["Few/a.jpg": "a", "Many/3.jpg": "photo 3"])
        #expect(alice.problems.map(\.code) == ["massDeletion"], "\(alice.problems)")
        #expect(alice.request(.confirmDeletions).code == 0)
        try settle(village)
        #expect(second.tree(.library) == ["Few/a.jpg": "a", "Many/3.jpg": "photo 3"])
    }

    @Test func `a photo that was moved a moment ago is not brought back a second time`() throws {
        let (village, alice, second) = try Village.twoDevices(["a.jpg": "aaa", "b.jpg": "bbb"])
        try alice.machine.library.move("a.jpg", to: "moved.jpg")
        village.world.clock.advance(milliseconds: 700)
        let reply = alice.request(.restoreVersion(path: alice.path("a.jpg"), version: nil))
        #expect(reply.code == ExitCode.notFound, "\(reply)")
        try settle(village)
        #expect(second.tree(.library) == ["moved.jpg": "aaa", "b.jpg": "bbb"])
    }
}
