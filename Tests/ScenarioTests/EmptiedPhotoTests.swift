import Shoebox
import ShoeboxCloud
import ShoeboxLibrary
import ShoeboxModel
import ShoeboxPlanning
import ShoeboxStore
import ShoeboxTestSupport
import ShoeboxWorld
import Testing

/// Photos that were cut to nothing, as a power cut or a full disk leaves them.
@Suite struct EmptiedPhotoTests {
    @Test func `a photo that was cut to nothing is reported and not passed on`() throws {
        let party = try Party(bob: "readOnly")
        try party.alice.machine.library.write("Summer/a.jpg", "")
        try party.alice.machine.library.write("Summer/later.jpg", "later")
        try party.village.pass(8)
        party.expectNamed("emptied", by: [party.alice], containing: "a.jpg")
        #expect(party.carol.tree(.shared)["alice/Summer/a.jpg"] == "aaa")
        #expect(party.carol.tree(.shared)["alice/Summer/later.jpg"] == "later")
        try party.alice.machine.library.write("Summer/a.jpg", "aaa")
        try party.village.pass(8)
        party.expectShown(Party.content.merging(["later.jpg": "later"]) { $1 })
        #expect(party.alice.problems.isEmpty, "\(party.alice.problems)")
    }

    @Test(arguments: ["Summer/b.jpg", "Summer/deep/new.jpg", "Private/a.jpg"])
    func `nor is one that was renamed or moved after it was cut to nothing`(place: String) throws {
        let party = try Party(bob: "readOnly")
        let disk = party.alice.machine.library
        try disk.write("Summer/a.jpg", "")
        try disk.move("Summer/a.jpg", to: place)
        for _ in 0..<4 {
            try party.village.pass(4)
            party.village.world.clock.advance(milliseconds: 20_000)
        }
        party.expectNamed("emptied", by: [party.alice], containing: place)
        #expect(party.carol.tree(.shared)["alice/Summer/a.jpg"] == "aaa")
        #expect(!party.carol.tree(.shared).values.contains(""))
        try disk.delete(place)
        try party.village.settleDeletions()
        try #require(try party.village.settle())
        #expect(party.carol.tree(.shared) == ["alice/Summer/deep/b.jpg": "bbb"])
    }

    @Test func `a photo that was cut to nothing and renamed comes back as the message says`() throws {
        let party = try Party(bob: "readOnly")
        let disk = party.alice.machine.library
        try disk.write("Summer/a.jpg", "")
        try disk.move("Summer/a.jpg", to: "Summer/b.jpg")
        try party.village.pass(8)
        let problem = try #require(party.alice.problems.first { $0.code == "emptied" })
        #expect(problem.remedy.contains("Summer/a.jpg'"), "\(problem)")
        try disk.move("Summer/b.jpg", to: "Summer/a.jpg")
        try party.village.pass(4)
        let reply = party.alice.request(.restoreContent(path: party.alice.path("Summer/a.jpg")))
        #expect(reply.code == 0, "\(reply)")
        try #require(try party.village.settle())
        party.expectShown()
        #expect(party.alice.problems.isEmpty, "\(party.alice.problems)")
    }

    @Test func `a new empty file is a file`() throws {
        let party = try Party(bob: "readOnly")
        try party.alice.machine.library.write("Summer/empty.txt", "")
        try #require(try party.village.settle())
        party.expectShown(Party.content.merging(["empty.txt": ""]) { $1 })
    }
}
