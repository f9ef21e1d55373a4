import Shoebox
import ShoeboxLibrary
import ShoeboxModel
import ShoeboxPlanning
import ShoeboxStore
import ShoeboxTestSupport
import ShoeboxWorld
import Testing

@testable import Shoebox

/// What people do by hand with files of others' shares.
@Suite struct FewRightsTests {
    @Test func `the sidecar of a photo that gave way to a folder does not stay for the next photo of its name`() throws
    {
        let party = try Party(bob: "contribute")
        party.alice.request(.caption(path: party.alice.path("Summer/a.jpg"), text: "hers"))
        #expect(try party.village.settle())
        let shared = party.bob.machine.shared
        try shared.delete("alice/Summer/a.jpg")
        try shared.write("alice/Summer/a.jpg/in.jpg", "in")
        #expect(try party.village.settleDeletions())
        #expect(try shared.stamp("alice/Summer/a.jpg.json") == nil, "\(party.bob.tree(.shared))")
        try shared.move("alice/Summer/a.jpg", to: "alice/Summer/folder")
        try shared.write("alice/Summer/a.jpg", "bobs")
        #expect(try party.village.settleDeletions())
        #expect(party.bob.tree(.shared)["alice/Summer/a.jpg"] == "bobs")
        #expect(party.alice.tree(.library).values.contains("aaa"))
        #expect(party.bob.sidecar("alice/Summer/a.jpg", .shared)?.fields.caption == nil)
        #expect(party.alice.sidecar("Summer/a.jpg", .library)?.fields.caption == nil)
    }

    @Test func `who may only read is told that what they deleted comes back, once for all of it`() throws {
        let party = try Party(bob: "readOnly")
        for name in ["a.jpg", "deep/b.jpg"] { try party.bob.machine.shared.delete("alice/Summer/\(name)") }
        #expect(try party.village.settleDeletions())
        #expect(party.bob.tree(.shared).values.sorted() == ["aaa", "bbb"])
        #expect(party.bob.problems.map(\.code) == ["undone"], "\(party.bob.problems)")
        party.expectNamed("undone", by: [party.bob], containing: "'Summer', which you may only read, comes back")
    }

    @Test func `what gave way to the share's is named by its new name only`() throws {
        let party = try Party(bob: "readOnly")
        let shared = party.bob.machine.shared
        try shared.delete("alice/Summer/a.jpg")
        try shared.write("alice/Summer/a.jpg/in.jpg", "in")
        try shared.delete("alice/Summer/deep")
        try shared.write("alice/Summer/deep", "no folder")
        #expect(try party.village.settleDeletions())
        let shown = party.bob.tree(.shared)
        #expect(shown["alice/Summer/a.jpg"] == "aaa" && shown["alice/Summer/deep/b.jpg"] == "bbb", "\(shown)")
        let named = party.bob.problems.filter { $0.code == "readOnly" }.compactMap(\.path)
        #expect(
            named.sorted() == ["shared/alice/Summer/a (only here).jpg", "shared/alice/Summer/deep (only here)"],
            "\(named)")
    }

    @Test func `a folder that others have, too, by now is not named as one of this machine only`() throws {
        let party = try Party(bob: "readOnly")
        try party.bob.machine.shared.write("alice/Summer/New/1.jpg", "one")
        #expect(try party.village.settleDeletions())
        try party.alice.machine.library.write("Summer/New/2.jpg", "two")
        #expect(try party.village.settleDeletions())
        try party.bob.machine.shared.move("alice/Summer/New/1.jpg", to: "1.jpg", on: party.bob.machine.library)
        #expect(try party.village.settleDeletions())
        #expect(party.bob.tree(.shared)["alice/Summer/New/2.jpg"] == "two")
        #expect(!party.bob.problems.contains { $0.code == "readOnly" }, "\(party.bob.problems)")
    }

    @Test func `nothing is written into the folder of a share while it is being removed`() throws {
        let party = try Party(bob: "readWrite")
        party.alice.request(.caption(path: party.alice.path("Summer/a.jpg"), text: "hers"))
        #expect(try party.village.settle())
        let shared = party.bob.machine.shared
        try shared.delete("alice/Summer/a.jpg.json")
        try party.rounds(of: party.bob, 4)
        #expect(try shared.stamp("alice/Summer/a.jpg.json") == nil)
        try shared.delete("alice/Summer")
        #expect(try party.village.settleDeletions())
        #expect(party.bob.problems.contains { $0.code == "leaveOffered" }, "\(party.bob.problems)")
        #expect(party.alice.tree(.library)["Summer/a.jpg"] == "aaa")
    }

    @Test(arguments: [false, true])
    func `a device whose share's folder is gone is idle when the owner works on`(isLink: Bool) throws {
        let party = try Party(bob: "readWrite")
        let shared = party.bob.machine.shared
        try shared.delete("alice/Summer")
        if isLink { try shared.link("alice/Summer", to: "/elsewhere") }
        #expect(try party.village.settleDeletions())
        try party.alice.machine.library.write("Summer/a.jpg", "another")
        try party.alice.machine.library.move("Summer/deep/b.jpg", to: "Summer/deep/c.jpg")
        try party.alice.machine.library.write("Summer/late.jpg", "late")
        _ = try? party.village.settleDeletions()
        try party.rounds(of: party.bob, 40)
        let outcome = try party.bob.engine.round(.directories([:]))
        let now = party.bob.engine.world.uptimeMilliseconds()
        #expect((outcome.lookAgain ?? .max) > now + 5_000, "\(String(describing: outcome.lookAgain)) at \(now)")
    }

    @Test(arguments: ["out", "dir", "in"], [false, true])
    func `a move between two shares that came too late for a demotion takes nothing out of either`(
        way: String, isPublished: Bool
    ) throws {
        let party = try Party(bob: "readWrite")
        let (alice, bob, carol) = (party.alice, party.bob, party.carol)
        try alice.machine.library.write("Tour/p.jpg", "ppp")
        try #require(try party.village.settle())
        let made = alice.request(
            .shareCreate(paths: [alice.path("Tour")], title: "Tour", publicPermission: "none", isSealed: true))
        for (name, replica) in [("bob", bob), ("carol", carol)] {
            alice.request(.invite(share: "Tour", accounts: [name], permission: "readWrite"))
            replica.request(.accept(link: made.values["link"] ?? ""))
        }
        try #require(try party.village.settle())
        let shared = bob.machine.shared
        switch way {
        case "out": try shared.move("alice/Summer/a.jpg", to: "alice/Tour/a.jpg")
        case "dir": try shared.move("alice/Summer/deep", to: "alice/Tour/deep")
        default: try shared.move("alice/Tour/p.jpg", to: "alice/Summer/p.jpg")
        }
        // Published, but nobody has read it when the permission is changed.
        if isPublished { try party.rounds(of: bob, 6) }
        if !isPublished { try party.rounds(of: bob, 3, reachesContainer: false) }
        let zone = party.zone
        let couldRead = isPublished
        #expect(alice.request(.permission(share: "Summer", account: "bob", permission: "readOnly")).code == 0)
        #expect(try party.village.settleDeletions())
        #expect(try party.village.settleDeletions())
        _ = zone
        for (replica, root, prefix) in [
            (alice, RootKind.library, ""), (bob, .shared, "alice/"), (carol, .shared, "alice/"),
        ] {
            let shown = replica.tree(root)
            let all = shown.filter { $0.key.hasPrefix(prefix) }.map { $0.key.dropFirst(prefix.count) + "=" + $0.value }
            for content in ["aaa", "bbb", "ppp"] {
                #expect(
                    all.contains { $0.hasSuffix("=" + content) }, "\(replica.label) lacks \(content): \(all.sorted())")
            }
            guard !couldRead else { continue }
            #expect(shown[prefix + "Summer/a.jpg"] == "aaa", "\(replica.label) \(all.sorted())")
            #expect(shown[prefix + "Summer/deep/b.jpg"] == "bbb", "\(replica.label) \(all.sorted())")
            #expect(shown[prefix + "Tour/p.jpg"] == "ppp", "\(replica.label) \(all.sorted())")
            #expect(shown[prefix + "Summer/p.jpg"] == nil, "\(replica.label) \(all.sorted())")
            #expect(replica.isQuiet, "\(replica.label)")
        }
    }
}
