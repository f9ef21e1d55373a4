import Shoebox
import ShoeboxLibrary
import ShoeboxModel
import ShoeboxPlanning
import ShoeboxStore
import ShoeboxTestSupport
import ShoeboxWorld
import Testing

/// What somebody puts into a share where they may not add is theirs alone, and keeps nothing of the share from showing.
@Suite struct InTheWayTests {
    private func expectQuiet(_ party: Party, sourceLocation: SourceLocation = #_sourceLocation) throws {
        #expect(try party.village.settle(), sourceLocation: sourceLocation)
        #expect(party.bob.isQuiet, sourceLocation: sourceLocation)
    }

    @Test func `a photo added where one may only read gives way to a photo of the share with its name`() throws {
        let party = try Party(bob: "readOnly")
        try party.bob.machine.shared.write("alice/Summer/c.jpg", "bob's own")
        try expectQuiet(party)
        try party.alice.machine.library.write("Summer/c.jpg", "ccc")
        try expectQuiet(party)
        #expect(
            party.bob.tree(.shared) == [
                "alice/Summer/a.jpg": "aaa", "alice/Summer/deep/b.jpg": "bbb", "alice/Summer/c.jpg": "ccc",
                "alice/Summer/c (only here).jpg": "bob's own",
            ])
        party.expectNamed("readOnly", by: [party.bob], containing: "c (only here).jpg")
        party.expectShown(Party.content.merging(["c.jpg": "ccc"]) { $1 })
    }

    @Test func `a photo made a folder, and a folder made a photo, where one may only read come back beside that`()
        throws
    {
        let party = try Party(bob: "readOnly")
        let shared = party.bob.machine.shared
        try shared.delete("alice/Summer/a.jpg")
        try shared.write("alice/Summer/a.jpg/mine.jpg", "mine")
        try shared.delete("alice/Summer/deep")
        try shared.write("alice/Summer/deep", "no folder")
        #expect(try party.village.settleDeletions())
        try expectQuiet(party)
        #expect(
            party.bob.tree(.shared) == [
                "alice/Summer/a.jpg": "aaa", "alice/Summer/deep/b.jpg": "bbb",
                "alice/Summer/a (only here).jpg/mine.jpg": "mine", "alice/Summer/deep (only here)": "no folder",
            ])
        party.expectShown()
    }

    @Test func `folders in folders that hold only a reader's own photo give way to another folder of the share`() throws
    {
        let party = try Party(bob: "readOnly")
        let (hers, shared) = (party.alice.machine.library, party.bob.machine.shared)
        try hers.write("Summer/Sea/Sea/x.jpg", "x")
        try hers.write("Summer/Hill/h.jpg", "h")
        #expect(try party.village.settle())
        try shared.write("alice/Summer/Sea/Sea/Own/mine.jpg", "mine")
        try expectQuiet(party)
        try hers.move("Summer/Sea", to: "Sea")
        try hers.move("Summer/Hill", to: "Summer/Sea")
        #expect(try party.village.settleDeletions())
        try expectQuiet(party)
        #expect(
            party.bob.tree(.shared) == [
                "alice/Summer/a.jpg": "aaa", "alice/Summer/deep/b.jpg": "bbb", "alice/Summer/Sea/h.jpg": "h",
                "alice/Summer/Sea (only here)/Sea/Own/mine.jpg": "mine",
            ])
    }

    @Test(arguments: [true, false])
    func `what was said of a file that could not be shared is taken back when it is gone, or may be`(isPermitted: Bool)
        throws
    {
        let party = try Party(bob: "readOnly")
        let shared = party.bob.machine.shared
        try shared.write("alice/Summer/c.jpg", "bob's own")
        try shared.write("stray.jpg", "stray")
        try expectQuiet(party)
        party.expectNamed("readOnly", by: [party.bob], containing: "c.jpg")
        party.expectNamed("notInShare", by: [party.bob], containing: "stray.jpg")
        if isPermitted {
            try #require(
                party.alice.request(.permission(share: "Summer", account: "bob", permission: "readWrite")).code == 0)
        } else {
            try shared.delete("alice/Summer/c.jpg")
        }
        try shared.delete("stray.jpg")
        try expectQuiet(party)
        #expect(party.bob.problems.isEmpty, "\(party.bob.problems.map(\.message))")
    }

    @Test func `a file that is still being written where one may only read keeps its name until it is closed`() throws {
        let party = try Party(bob: "readOnly")
        try party.bob.machine.shared.beginWriting("alice/Summer/c.jpg", Array("half ".utf8))
        try party.alice.machine.library.write("Summer/c.jpg", "ccc")
        try party.village.pass(6)
        #expect(party.bob.tree(.shared)["alice/Summer/c.jpg"] == "half ")
        try party.bob.machine.shared.continueWriting("alice/Summer/c.jpg", Array("whole".utf8))
        _ = try party.bob.machine.shared.endWriting("alice/Summer/c.jpg")
        try expectQuiet(party)
        #expect(party.bob.tree(.shared)["alice/Summer/c.jpg"] == "ccc")
        #expect(party.bob.tree(.shared)["alice/Summer/c (only here).jpg"] == "half whole")
    }

    @Test func `the share's own bytes put back by hand where one may only read are taken as they are`() throws {
        let party = try Party(bob: "readOnly")
        try party.bob.machine.shared.delete("alice/Summer/a.jpg")
        try party.bob.machine.shared.write("alice/Summer/a.jpg", "aaa")
        #expect(try party.village.settleDeletions())
        try expectQuiet(party)
        #expect(party.bob.tree(.shared) == ["alice/Summer/a.jpg": "aaa", "alice/Summer/deep/b.jpg": "bbb"])
        #expect(!party.bob.problems.contains { $0.code == "readOnly" }, "\(party.bob.problems.map(\.message))")
    }

    @Test func `who may add from now on has what lay in the share already shared, without being told where to look`()
        throws
    {
        let party = try Party(bob: "readOnly")
        try party.bob.machine.shared.write("alice/Summer/deep/bob.jpg", "bob")
        try expectQuiet(party)
        party.expectShown()
        let permitted = party.alice.request(.permission(share: "Summer", account: "bob", permission: "contribute"))
        #expect(permitted.code == 0, "\(permitted)")
        for _ in 0..<12 {
            for replica in party.village.replicas { try replica.round(.directories([:])) }
            party.village.world.clock.advance(milliseconds: 700)
        }
        party.expectShown(Party.content.merging(["deep/bob.jpg": "bob"]) { $1 })
    }

    @Test func `a folder that was shared goes with its tags when it is deleted elsewhere, and gives way to a file`()
        throws
    {
        let (village, alice, laptop) = try Village.twoDevices(["Trip/a.jpg": "one"], others: ["bob"])
        let made = alice.request(
            .shareCreate(paths: [alice.path("Trip")], title: "Trip", publicPermission: "none", isSealed: true))
        try #require(made.code == 0, "\(made)")
        try #require(alice.request(.tag(path: alice.path("Trip/a.jpg"), titles: ["Lake"], isMember: true)).code == 0)
        try #require(try village.settle())
        try #require(try laptop.machine.library.stamp("Trip/.tags/Lake.json") != nil)
        try #require(alice.request(.stop(share: "Trip")).code == 0)
        try #require(try village.settle())
        for device in [alice, laptop] {
            #expect(device.tree(.library, sidecars: true).keys.filter { $0.contains(".tags/") } == [".tags/Lake.json"])
        }
        try alice.machine.library.delete("Trip")
        try alice.machine.library.write("Trip", "a file")
        #expect(try village.settleDeletions())
        #expect(laptop.tree(.library) == ["Trip": "a file"])
    }

    @Test func `a folder that is gone gives way to a file of its name, with copied tag files in it`() throws {
        let (village, alice, laptop) = try Village.twoDevices(["Trip/a.jpg": "one"])
        let copied = #"{"format": "shoebox.tag/1", "name": "Lake", "record": "57ae9ed3-4ee5-3905-b94e-c144570b442e"}"#
        try laptop.machine.library.write("Trip/.tags/Lake.json", copied)
        try laptop.round()
        try alice.machine.library.delete("Trip")
        try alice.machine.library.write("Trip", "a file")
        #expect(try village.settleDeletions())
        #expect(laptop.tree(.library) == ["Trip": "a file"])
        #expect(try laptop.machine.library.text("Trip (only here)/.tags/Lake.json") == copied)
    }

    @Test func `a folder that is gone gives way to a file of its name, with what is in no record in it`() throws {
        let (village, alice, laptop) = try Village.twoDevices(["Trip/Sea/a.jpg": "one"])
        // A sidecar beside which there is no photo.
        let left = #"{"format": "shoebox.sidecar/1", "caption": "of none"}"#
        try laptop.machine.library.write("Trip/Sea/gone.jpg.json", left)
        try laptop.round()
        try alice.machine.library.delete("Trip/Sea")
        try alice.machine.library.write("Trip/Sea", "a file")
        #expect(try village.settleDeletions())
        #expect(laptop.isQuiet && alice.isQuiet)
        #expect(laptop.tree(.library) == ["Trip/Sea": "a file"])
        #expect(try laptop.machine.library.text("Trip/Sea (only here)/gone.jpg.json") == left)
    }
}
