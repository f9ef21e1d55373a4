import Shoebox
import ShoeboxCloud
import ShoeboxLibrary
import ShoeboxModel
import ShoeboxPlanning
import ShoeboxStore
import ShoeboxTestSupport
import ShoeboxWorld
import Testing

/// What looks like a deletion and may be an accident.
@Suite struct HostileDeletionTests {
    /// Rounds of everybody, until a participant's deletions would have been passed on.
    private func waitOut(_ party: Party) throws {
        try party.village.pass(4)
        party.village.world.clock.advance(milliseconds: 40_000)
        try party.village.pass(6)
        party.village.world.clock.advance(milliseconds: 40_000)
        try party.village.pass(6)
    }

    @Test(arguments: ["alice/Summer"])
    func `a participant who deletes the share's folder deletes nothing for others, and may have it back`(
        path: String
    ) throws {
        let party = try Party(bob: "readWrite")
        try party.bob.machine.shared.delete(path)
        try waitOut(party)
        party.expectShown()
        party.expectNamed("leaveOffered", by: [party.bob])
        #expect(party.bob.tree(.shared).isEmpty)
        let reply = party.bob.request(.restoreShare(share: "Summer"))
        #expect(reply.code == 0, "\(reply)")
        try #require(try party.village.settle())
        #expect(party.bob.tree(.shared).values.sorted() == ["aaa", "bbb"])
        #expect(party.bob.problems.isEmpty, "\(party.bob.problems)")
        try party.expectGoesOn()
    }

    @Test func `leaving after the folder was deleted leaves`() throws {
        let party = try Party(bob: "readWrite")
        try party.bob.machine.shared.delete("alice/Summer")
        try waitOut(party)
        let reply = party.bob.request(.leave(share: "Summer", keepCopy: false))
        #expect(reply.code == 0, "\(reply)")
        try waitOut(party)
        party.expectShown()
        #expect(party.bob.tree(.shared).isEmpty)
        #expect(party.bob.problems.isEmpty, "\(party.bob.problems)")
    }

    @Test func `an empty folder in place of the share's deletes nothing for others`() throws {
        let party = try Party(bob: "readWrite")
        try party.bob.machine.shared.delete("alice/Summer")
        try party.bob.machine.shared.makeDirectories(try #require(RelativePath("alice/Summer")))
        try waitOut(party)
        party.expectShown()
    }

    @Test func `a deletion in somebody else's share waits, and is taken back by putting the file back`() throws {
        let party = try Party(bob: "readWrite")
        let bytes = try party.bob.machine.shared.read("alice/Summer/a.jpg")
        try party.bob.machine.shared.delete("alice/Summer/a.jpg")
        try party.village.pass(6)
        party.village.world.clock.advance(milliseconds: 20_000)
        try party.village.pass(2)
        party.expectShown()
        try party.bob.machine.shared.write(try #require(RelativePath("alice/Summer/a.jpg")), bytes: bytes)
        try waitOut(party)
        party.expectShown()
        try party.bob.machine.shared.delete("alice/Summer/a.jpg")
        try waitOut(party)
        party.expectShown(["deep/b.jpg": "bbb"])
    }

    @Test func `many deletions at once wait for a word, and end when the files are back`() throws {
        let village = try Village(labels: ["alice"])
        let alice = village.replicas[0]
        let laptop = try { () throws -> Replica in
            var copy = village
            return try copy.addDevice(of: alice, name: "laptop")
        }()
        var both = village
        both.replicas = [alice, laptop]
        for number in 0..<130 { try alice.machine.library.write("Album/\(number).jpg", "photo \(number)") }
        try #require(try both.settle())
        let before = alice.machine.library.snapshot()
        for number in 0..<120 { try alice.machine.library.delete("Album/\(number).jpg") }
        try both.pass(8)
        #expect(laptop.tree(.library).count == 130)
        #expect(alice.problems.map(\.code) == ["massDeletion"])
        alice.machine.library.restore(before)
        try both.pass(8)
        #expect(alice.problems.isEmpty, "\(alice.problems)")
        #expect(laptop.tree(.library).count == 130)
        try alice.machine.library.delete("Album")
        try both.pass(8)
        #expect(laptop.tree(.library).count == 130)
        #expect(alice.problems.map(\.code) == ["massDeletion"])
        #expect(alice.request(.confirmDeletions).code == 0)
        try #require(try both.settle())
        #expect(laptop.tree(.library).isEmpty)
        #expect(alice.problems.isEmpty, "\(alice.problems)")
    }
}
