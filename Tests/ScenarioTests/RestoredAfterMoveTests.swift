import ShoeboxLibrary
import ShoeboxModel
import ShoeboxPlanning
import ShoeboxStore
import ShoeboxTestSupport
import Testing

@testable import Shoebox

/// What a participant brings back of a photo that its owner has taken out of the share says nothing of the owner's photo.
@Suite struct RestoredAfterMoveTests {
    /// Bob has changed a photo of the share, and then Alice took it out, with a change of hers after that.
    private func partyAfterMove(to place: String) throws -> Party {
        let party = try Party(bob: "readWrite")
        let (alice, bob, village) = (party.alice, party.bob, party.village)
        try bob.machine.shared.write("alice/Summer/a.jpg", "from bob", saving: .replacing)
        try #require(try village.settle())
        let photo = bob.path("alice/Summer/a.jpg", .shared)
        try #require(bob.request(.tag(path: photo, titles: ["Lake", "off"], isMember: true)).code == 0)
        try #require(bob.request(.tag(path: photo, titles: ["off"], isMember: false)).code == 0)
        try #require(bob.request(.rate(path: photo, value: 4)).code == 0)
        try #require(try village.settle())
        if place.hasPrefix("Other/") {
            try alice.machine.library.write("Other/o.jpg", "ooo")
            try #require(try village.settle())
            try #require(
                alice.request(
                    .shareCreate(
                        paths: [alice.path("Other")], title: "Other", publicPermission: "none", isSealed: true)
                ).code == 0)
        }
        try alice.machine.library.move("Summer/a.jpg", to: place)
        try #require(try village.settle())
        return party
    }

    @Test(arguments: ["Private/a.jpg", "Other/a.jpg"], [nil, "1", "2"])
    func `a participant's restore of a photo that was taken out is a new photo in the share`(
        place: String, version: String?
    ) throws {
        let party = try partyAfterMove(to: place)
        let (alice, bob, village) = (party.alice, party.bob, party.village)
        let reply = bob.request(
            .restoreVersion(path: bob.path("alice/Summer/a.jpg", .shared), version: version))
        #expect(reply.code == 0, "\(reply)")
        try #require(try village.settle())
        let content = version == "2" ? "aaa" : "from bob"
        #expect(bob.tree(.shared)["alice/Summer/a.jpg"] == content, "\(bob.tree(.shared))")
        #expect(alice.tree(.library)["Summer/a.jpg"] == content, "\(alice.tree(.library))")
        #expect(alice.tree(.library)[place] == "from bob", "\(alice.tree(.library))")
        let fields = try #require(bob.sidecar("alice/Summer/a.jpg", .shared)?.fields)
        #expect(fields.tags == ["Lake"] && fields.rating == 4, "\(fields)")
        let names = alice.tree(.library).keys.filter { !$0.hasPrefix("Summer/") }
        #expect(names.count == (place.hasPrefix("Other") ? 3 : 2), "\(names)")
    }

    @Test(arguments: ["Private/a.jpg", "Other/a.jpg"])
    func `it brings nothing back that its owner has deleted elsewhere`(place: String) throws {
        let party = try partyAfterMove(to: place)
        let (alice, bob, village) = (party.alice, party.bob, party.village)
        try alice.machine.library.delete(place)
        try #require(try village.settleDeletions())
        #expect(
            bob.request(.restoreVersion(path: bob.path("alice/Summer/a.jpg", .shared), version: "2")).code == 0)
        try #require(try village.settle())
        #expect(alice.tree(.library)[place] == nil, "\(alice.tree(.library))")
        #expect(bob.tree(.shared)["alice/Summer/a.jpg"] == "aaa")
    }

    @Test(arguments: ["Private/a.jpg", "Other/a.jpg"])
    func `the owner is told where the photo is, and has a deleted one back there`(place: String) throws {
        let party = try partyAfterMove(to: place)
        let (alice, bob, village) = (party.alice, party.bob, party.village)
        let reply = alice.request(.restoreVersion(path: alice.path("Summer/a.jpg"), version: nil))
        #expect(reply.code != 0 && "\(reply)".contains(place), "\(reply)")
        try alice.machine.library.delete(place)
        try #require(try village.settleDeletions())
        let back = alice.request(.restoreVersion(path: alice.path("Summer/a.jpg"), version: "2"))
        #expect(back.code == 0, "\(back)")
        try #require(try village.settle())
        #expect(alice.tree(.library)[place] == "aaa", "\(alice.tree(.library))")
        #expect(bob.tree(.shared)["alice/Summer/a.jpg"] == nil)
    }

    enum Meeting: CaseIterable { case stopped, movedThere, movedThereAgain, movedBack, theirsDeleted, itselfDeleted }

    @Test(
        arguments: ["Private/a.jpg", "Other/a.jpg"],
        [nil, .stopped, .movedThere, .movedThereAgain, .movedBack, .theirsDeleted, .itselfDeleted] as [Meeting?])
    func
        `what a participant writes of a photo that they saw leave is not forwarded, and replaces nothing when both meet`(
            place: String, meeting: Meeting?
        ) throws
    {
        let isDeleted = meeting == nil
        let party = try partyAfterMove(to: place)
        let (alice, bob, carol, village) = (party.alice, party.bob, party.carol, party.village)
        if isDeleted {
            try alice.machine.library.delete(place)
            try #require(try village.settleDeletions())
        }
        let record = try #require(
            try bob.store.read { db in try db.history(after: 0, limit: .max) }.last { stored in
                if case .moved = stored.change.action { stored.zone == party.zone } else { false }
            }?.change.record)
        let known = try #require(
            try bob.store.read { db in try db.state(of: RecordID(zone: party.zone, name: record)) })
        let forger = try Forger(bob, zone: party.zone, in: village)
        let asset = try forger.upload(Array("put under".utf8))
        try forger.send([forger.change(record, .photo, .set([.content: .asset(asset)]), context: known.vector)])
        try village.meet()
        try #require(try village.settle())
        let shown = alice.tree(.library).filter { !$0.key.hasPrefix("Summer/") }
        #expect(!shown.values.contains("put under"), "\(shown)")
        #expect(shown[place] == (isDeleted ? nil : "from bob"), "\(shown)")
        // It stays in the share, where Bob may put what he likes.
        #expect(carol.tree(.shared)["alice/Summer/a.jpg"] == "put under", "\(carol.tree(.shared))")
        #expect(alice.tree(.library)["Summer/a.jpg"] == "put under", "\(alice.tree(.library))")
        guard let meeting else { return }
        let disk = alice.machine.library
        switch meeting {
        case .stopped: try #require(alice.request(.stop(share: "Summer")).code == 0)
        case .movedThereAgain:
            // Alice has deleted there what came before.
            let there = String(place.dropLast(5)) + "theirs.jpg"
            try disk.move("Summer/a.jpg", to: there)
            try #require(try village.settle())
            try disk.delete(there)
            try #require(try village.settleDeletions())
            let now = try #require(
                try bob.store.read { db in try db.state(of: RecordID(zone: party.zone, name: record)) })
            try forger.send([forger.change(record, .photo, .set([.content: .asset(asset)]), context: now.vector)])
            try village.meet()
            try #require(try village.settle())
            #expect(alice.tree(.library)["Summer/a.jpg"] == "put under", "\(alice.tree(.library))")
            #expect(alice.tree(.library)[there] == nil)
            try disk.move("Summer/a.jpg", to: there)
        case .movedThere: try disk.move("Summer/a.jpg", to: String(place.dropLast(5)) + "theirs.jpg")
        case .movedBack: try disk.move(place, to: "Summer/mine.jpg")
        case .theirsDeleted: try disk.delete("Summer/a.jpg")
        case .itselfDeleted: try disk.delete(place)
        }
        try #require(try village.settleDeletions())
        let contents = alice.tree(.library).values
        #expect(contents.contains("from bob") == (meeting != .itselfDeleted), "\(alice.tree(.library))")
        #expect(contents.contains("put under") == (meeting != .theirsDeleted), "\(alice.tree(.library))")
        if meeting != .movedBack, meeting != .itselfDeleted {
            #expect(alice.tree(.library)[place] == "from bob", "\(alice.tree(.library))")
        }
        // What her folder shows is alive for all her devices.
        var all = village
        let second = try all.addDevice(of: alice, name: "alice2")
        try #require(try all.settle())
        #expect(treeDifference(second.files(.library), alice.files(.library)) == [])
    }

    @Test(arguments: [0, 7_200_000] as [Int64])
    func `an edit of who saw it leave and come back follows it when it leaves again`(step: Int64) throws {
        let party = try partyAfterMove(to: "Private/a.jpg")
        let (alice, bob, village) = (party.alice, party.bob, party.village)
        // Her clock may be wrong, and be set right again.
        alice.machine.clock.step(milliseconds: step)
        try alice.machine.library.move("Private/a.jpg", to: "Summer/a.jpg")
        try #require(try village.settle())
        alice.machine.clock.step(milliseconds: -step)
        try bob.machine.shared.write("alice/Summer/a.jpg", "once more", saving: .replacing)
        try alice.machine.library.move("Summer/a.jpg", to: "Private/a.jpg")
        try party.rounds(of: alice, 4)
        try #require(try village.settle())
        #expect(alice.tree(.library)["Private/a.jpg"] == "once more", "\(alice.tree(.library))")
        #expect(alice.tree(.library)["Summer/a.jpg"] == nil)
    }

    @Test func `what goes with a folder that is taken out stays out, and a restore is a photo in the share`() throws {
        let party = try Party(bob: "contribute")
        let (alice, bob, village) = (party.alice, party.bob, party.village)
        try bob.machine.shared.write("alice/Summer/deep/mine.jpg", "bob's own")
        try #require(try village.settle())
        try alice.machine.library.move("Summer/deep", to: "Private/deep")
        try #require(try village.settle())
        for (name, content) in [("mine.jpg", "bob's own"), ("b.jpg", "bbb")] {
            let path = bob.path("alice/Summer/deep/" + name, .shared)
            if bob.tree(.shared)["alice/Summer/deep/" + name] == nil {
                let reply = bob.request(.restoreVersion(path: path, version: nil))
                #expect(reply.code == 0, "\(reply)")
            }
            try #require(try village.settle())
            #expect(bob.tree(.shared)["alice/Summer/deep/" + name] == content, "\(bob.tree(.shared))")
            #expect(alice.tree(.library)["Summer/deep/" + name] == content, "\(alice.tree(.library))")
        }
        #expect(alice.tree(.library)["Private/deep/b.jpg"] == "bbb", "\(alice.tree(.library))")
    }
}
