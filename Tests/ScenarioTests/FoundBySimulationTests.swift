import Shoebox
import ShoeboxCloud
import ShoeboxLibrary
import ShoeboxModel
import ShoeboxPlanning
import ShoeboxStore
import ShoeboxTestSupport
import ShoeboxWorld
import Testing

@testable import Shoebox

/// What the simulation found, as the shortest story that shows it.
@Suite struct FoundBySimulationTests {
    // MARK: Rights

    @Test func `a contributor's tag on a photo that was published before counts for everybody`() throws {
        let party = try Party(bob: "contribute")
        try party.bob.machine.shared.write("alice/Summer/bob.jpg", "bob")
        try #require(try party.village.settle())
        let path = party.bob.path("alice/Summer/bob.jpg", .shared)
        // Only the tag is new, nothing of the photo comes with it.
        #expect(party.bob.request(.tag(path: path, titles: ["Lake"], isMember: true)).code == 0)
        try #require(try party.village.settle())
        #expect(party.alice.sidecar("Summer/bob.jpg", .library)?.fields.tags == ["Lake"])
        #expect(party.carol.sidecar("alice/Summer/bob.jpg", .shared)?.fields.tags == ["Lake"])
        for replica in [party.alice, party.carol] {
            #expect(!replica.problems.contains { $0.code == "refused" }, "\(replica.problems.map(\.message))")
        }
    }

    @Test func `a sidecar whose edit is refused is in the trash when it is written again`() throws {
        let party = try Party(bob: "readOnly")
        let bytes = Array(#"{"format": "shoebox.sidecar/1", "caption": "bob's words"}"#.utf8)
        try party.bob.machine.shared.write(try #require(RelativePath("alice/Summer/a.jpg.json")), bytes: bytes)
        try #require(try party.village.settle())
        #expect(party.bob.sidecar("alice/Summer/a.jpg", .shared)?.fields.caption != "bob's words")
        let trash = party.bob.machine.shared.tree().filter { $0.key.hasPrefix(".shoebox/trash/") }
        #expect(trash.values.contains(bytes), "\(trash.keys)")
        party.expectNamed("undone", by: [party.bob], containing: "trash")
        party.expectShown()
    }

    // MARK: Files that take the place of folders

    /// Where a photo is moved to, changing places with what is there, and which of the two places a folder takes.
    @Test(arguments: [("Summer/z.jpg", true), ("Summer/deep/b.jpg", true), ("Summer/deep/b.jpg", false)])
    func `a folder that just took a photo's place is not moved as that photo`(place: String, isFirst: Bool) throws {
        let party = try Party(bob: "readWrite")
        let first = "Summer/a.jpg"
        let isSwap = place == "Summer/deep/b.jpg"
        try party.alice.machine.library.move(
            try #require(RelativePath(first)), to: try #require(RelativePath(place)),
            mode: isSwap ? .exchange : .failIfExists)
        try party.rounds(of: party.alice, 3)
        let (taken, other) = isFirst ? (first, place) : (place, first)
        try party.bob.machine.shared.delete("alice/" + taken)
        try party.bob.machine.shared.write("alice/\(taken)/inner.jpg", "inner")
        // What others did is applied before the folder was looked at.
        _ = try party.bob.engine.round(.directories([:]))
        #expect(party.bob.tree(.shared)["alice/\(taken)/inner.jpg"] == "inner")
        try #require(try party.village.settleDeletions())
        for (replica, root, top) in [
            (party.alice, RootKind.library, ""), (party.bob, .shared, "alice/"), (party.carol, .shared, "alice/"),
        ] {
            let tree = replica.tree(root)
            #expect(tree["\(top)\(taken)/inner.jpg"] == "inner", "\(replica.label): \(tree)")
            #expect(tree["\(top)\(other)/inner.jpg"] == nil, "\(replica.label): \(tree)")
            #expect(!isSwap || tree.values.contains(isFirst ? "bbb" : "aaa"), "\(replica.label): \(tree)")
        }
    }

    @Test func `an unpublished edit in a share whose folder becomes a file gives way to the content before it`() throws
    {
        let party = try Party(bob: "readWrite")
        party.alice.machine.mount.unmount()
        try party.alice.machine.library.write("Summer/a.jpg", "an edit")
        try party.rounds(of: party.alice, 3)
        try party.alice.machine.library.delete("Summer")
        try party.alice.machine.library.write("Summer", "no folder")
        try party.rounds(of: party.alice, 6)
        party.alice.machine.mount.mount()
        #expect(try party.village.settleDeletions())
        for replica in [party.bob, party.carol] {
            #expect(
                replica.tree(.shared) == ["alice/Summer/a.jpg": "aaa", "alice/Summer/deep/b.jpg": "bbb"],
                "\(replica.label)")
        }
        #expect(
            party.alice.tree(.library).values.sorted() == ["aaa", "bbb", "ccc", "no folder"],
            "\(party.alice.tree(.library))")
    }

    @Test(arguments: [true, false])
    func `no conflict copy waits for an edit whose bytes went before they were published`(isDeleted: Bool) throws {
        let party = try Party(bob: "readWrite")
        try party.alice.machine.library.write("Summer/a.jpg", "an edit that nobody else has seen")
        try party.rounds(of: party.alice, 3, reachesContainer: false)
        try party.bob.machine.shared.write("alice/Summer/a.jpg", "bob's edit")
        try party.rounds(of: party.bob, 3)
        if isDeleted {
            try party.alice.machine.library.delete("Summer/a.jpg")
        } else {
            try party.alice.machine.library.write("Summer/a.jpg", "alice's second thought")
        }
        #expect(try party.village.settleDeletions())
        if isDeleted {
            party.expectShown(["a.jpg": "bob's edit", "deep/b.jpg": "bbb"])
        } else {
            #expect(Set(party.carol.tree(.shared).values) == ["bbb", "bob's edit", "alice's second thought"])
            #expect(Set(party.alice.tree(.library).values) == ["bbb", "ccc", "bob's edit", "alice's second thought"])
        }
        #expect(party.alice.isQuiet && party.alice.problems.isEmpty, "\(party.alice.problems)")
    }

    /// Alice deletes her edit of a photo, not knowing yet that Bob has edited it, too.
    @Test(arguments: [false, true])
    func `of a photo that was deleted here and edited there only the edit stays`(isTouched: Bool) throws {
        let party = try Party(bob: "readWrite")
        try party.alice.machine.library.write("Summer/a.jpg", "alice's edit")
        try party.rounds(of: party.alice, 3)
        try party.bob.machine.shared.write("alice/Summer/a.jpg", "bob's edit")
        try party.rounds(of: party.bob, 2, reachesContainer: false)
        // Bob and Carol meet both edits, and make a copy of the one that lost; Alice has deleted hers meanwhile.
        try party.alice.machine.library.delete("Summer/a.jpg")
        for _ in 0..<4 {
            for replica in [party.bob, party.carol] { _ = try replica.round() }
            party.village.world.clock.advance(milliseconds: 700)
        }
        let copies = party.carol.tree(.shared).keys.filter { $0.contains("conflict") }
        #expect(copies.count == 1)
        let copy = party.carol.path(copies.first ?? "", .shared)
        if isTouched { #expect(party.carol.request(.caption(path: copy, text: "a fine one")).code == 0) }
        #expect(try party.village.settleDeletions())
        let expected: Set = isTouched ? ["bob's edit", "alice's edit", "bbb"] : ["bob's edit", "bbb"]
        for replica in [party.bob, party.carol] {
            #expect(Set(replica.tree(.shared).values) == expected, "\(replica.label): \(replica.tree(.shared))")
        }
        #expect(Set(party.alice.tree(.library).values) == expected.union(["ccc"]), "\(party.alice.tree(.library))")
    }

    /// Carol, who may only read, has a folder of her own in one that somebody replaces by a file.
    @Test func `a folder that the share shows no more gives its name away with what is left in it`() throws {
        let party = try Party(bob: "readOnly")
        try party.bob.machine.shared.write("alice/Summer/deep/own/mine.jpg", "bob's own")
        try #require(try party.village.settle())
        try party.carol.machine.shared.delete("alice/Summer/deep")
        try party.carol.machine.shared.write("alice/Summer/deep", "no folder")
        try #require(try party.village.settleDeletions())
        #expect(
            party.bob.tree(.shared) == [
                "alice/Summer/a.jpg": "aaa", "alice/Summer/deep": "no folder",
                "alice/Summer/deep (only here)/own/mine.jpg": "bob's own",
            ])
        #expect(party.bob.isQuiet)
        party.expectShown(["a.jpg": "aaa", "deep": "no folder"])
    }

    @Test func `a broken sidecar goes to the trash with its photo, and keeps nothing from being shown`() throws {
        let party = try Party(bob: "readWrite")
        let photo = party.alice.path("Summer/deep/b.jpg")
        #expect(party.alice.request(.tag(path: photo, titles: ["Lake"], isMember: true)).code == 0)
        try #require(try party.village.settle())
        let broken = "{ oops, half an edit"
        try party.bob.machine.shared.write("alice/Summer/deep/b.jpg.json", broken)
        try #require(try party.village.settle())
        #expect(party.bob.problems.map(\.code) == ["sidecarBroken"])
        try party.alice.machine.library.delete("Summer/deep")
        try party.alice.machine.library.write("Summer/deep", "no folder")
        try #require(try party.village.settleDeletions())
        party.expectShown(["a.jpg": "aaa", "deep": "no folder"])
        #expect(party.bob.tree(.shared)["alice/Summer/deep"] == "no folder")
        #expect(
            party.bob.machine.shared.tree().contains { $0.key.contains("/trash/") && $0.value == Array(broken.utf8) })
        #expect(party.bob.problems.isEmpty, "\(party.bob.problems)")
        #expect(party.bob.isQuiet)
    }

    @Test func `files from the future that nobody may share are looked at once, and not for ever`() throws {
        let party = try Party(bob: "readOnly")
        party.bob.machine.clock.step(milliseconds: 38 * 365 * 86_400_000)
        for number in 0..<3 {
            try party.bob.machine.shared.write("alice/Summer/\(number).jpg", "bob \(number)")
            try party.bob.round(.directories([.shared: [try #require(RelativePath("alice/Summer"))]]))
            party.village.world.clock.advance(milliseconds: 70)
        }
        party.bob.machine.clock.setSkew(milliseconds: 0)
        for _ in 0..<10 {
            try party.bob.round(.directories([:]))
            party.village.world.clock.advance(milliseconds: 700)
        }
        #expect(party.bob.engine.later.isEmpty, "\(party.bob.engine.later)")
    }

    // MARK: Containers put back to a backup

    @Test func `a change after the container was put back brings back what was published before it`() throws {
        let party = try Party(bob: "readWrite")
        let backup = party.village.world.storage.snapshot()
        try party.bob.machine.shared.write("alice/Summer/first.jpg", "first")
        try party.rounds(of: party.bob, 3)
        party.village.world.storage.restore(backup)
        // No pause: the own head was looked at a moment ago.
        try party.bob.machine.shared.write("alice/Summer/second.jpg", "second")
        #expect(try party.village.settle())
        party.expectShown(Party.content.merging(["first.jpg": "first", "second.jpg": "second"]) { $1 })
    }

    @Test func `who leaves after the container was put back names nothing that is not there`() throws {
        let party = try Party(bob: "readWrite")
        let backup = party.village.world.storage.snapshot()
        try party.bob.machine.shared.write("alice/Summer/first.jpg", "first")
        try party.rounds(of: party.bob, 3)
        party.village.world.storage.restore(backup)
        #expect(party.bob.request(.leave(share: "Summer", keepCopy: true)).code == 0)
        #expect(try party.village.settle())
        for replica in [party.alice, party.carol] {
            let missing = try replica.store.read { db in try db.missingSegments() }
            #expect(missing == 0, "\(replica.label)")
        }
        #expect(party.bob.tree(.library)["Kept from Summer/first.jpg"] == "first")
    }

    @Test(arguments: [false, true])
    func `what was written just before leaving is published, or kept with the photo`(isAway: Bool) throws {
        let party = try Party(bob: "readWrite")
        if isAway { party.bob.machine.mount.unmount() }
        let path = party.bob.path("alice/Summer/a.jpg", .shared)
        #expect(party.bob.request(.caption(path: path, text: "words")).code == 0)
        let other = party.bob.path("alice/Summer/deep/b.jpg", .shared)
        #expect(party.bob.request(.tag(path: other, titles: ["Lake"], isMember: true)).code == 0)
        #expect(party.bob.request(.leave(share: "Summer", keepCopy: false)).code == 0)
        party.bob.machine.mount.mount()
        #expect(try party.village.settle())
        #expect(party.bob.tree(.shared) == [:])
        if isAway {
            #expect(party.bob.tree(.library) == ["Kept from Summer/a.jpg": "aaa", "Kept from Summer/b.jpg": "bbb"])
            #expect(party.bob.sidecar("Kept from Summer/a.jpg", .library)?.fields.caption == "words")
            #expect(party.bob.sidecar("Kept from Summer/b.jpg", .library)?.fields.tags == ["Lake"])
        } else {
            #expect(party.bob.tree(.library) == [:])
            #expect(party.carol.sidecar("alice/Summer/a.jpg", .shared)?.fields.caption == "words")
            #expect(party.carol.sidecar("alice/Summer/deep/b.jpg", .shared)?.fields.tags == ["Lake"])
        }
    }

    /// Bob is told to read only, and the container forgets it before anybody has seen it.
    @Test func `a permission that was changed just before the container was put back holds for all`() throws {
        let party = try Party(bob: "readWrite")
        let backup = party.village.world.storage.snapshot()
        #expect(
            party.alice.request(.permission(share: "Summer", account: "bob", permission: "readOnly")).code == 0)
        party.village.world.storage.restore(backup)
        try party.bob.machine.shared.write("alice/Summer/bob.jpg", "bob")
        for _ in 0..<4 {
            try party.village.pass(4)
            party.village.world.clock.advance(milliseconds: 61_000)
        }
        #expect(try party.village.settle())
        let trees = [party.alice.tree(.library)["Summer/bob.jpg"], party.carol.tree(.shared)["alice/Summer/bob.jpg"]]
        #expect(trees[0] == trees[1], "\(trees)")
    }

    /// The head says nothing of the last segment: the process died in between.
    @Test func `a number that was published and never named is not given again by a restored device`() throws {
        let party = try Party(bob: "readWrite")
        let (backup, identity) = (try party.bob.store.backup(), party.bob.identity)
        try party.bob.machine.shared.write("alice/Summer/first.jpg", "first")
        party.bob.machine.faults.setRule { $0.part == "mount" && $0.name == "append" ? .crash : nil }
        for _ in 0..<4 where !party.bob.machine.faults.isCrashed {
            do { _ = try party.bob.round() } catch { #expect(party.bob.machine.faults.isCrashed, "\(error)") }
            party.village.world.clock.advance(milliseconds: 700)
        }
        try #require(party.bob.machine.faults.isCrashed)
        party.bob.machine.faults.clear()
        try party.bob.restart(store: backup, identity: identity)
        // Twice before anybody reads: what no head names at last is looked for by its number.
        for name in ["second", "third"] {
            try party.bob.machine.shared.write("alice/Summer/\(name).jpg", name)
            for _ in 0..<4 {
                _ = try party.bob.round()
                party.village.world.clock.advance(milliseconds: 700)
            }
        }
        #expect(try party.village.settle())
        // A new chain is found when the folder of heads is listed again.
        try party.village.meet()
        #expect(try party.village.settle())
        let shown = ["first.jpg": "first", "second.jpg": "second", "third.jpg": "third"]
        party.expectShown(Party.content.merging(shown) { $1 })
        for replica in party.village.replicas {
            #expect(!replica.problems.contains { $0.code == "forked" }, "\(replica.label): \(replica.problems)")
        }
    }

    // MARK: Devices of one account

    @Test func `what one device leaves all leave, and what it accepts again all have again`() throws {
        var party = try Party(bob: "readWrite")
        let second = try party.village.addDevice(of: party.bob, name: "bob2")
        #expect(try party.village.settle())
        let whole = ["alice/Summer/a.jpg": "aaa", "alice/Summer/deep/b.jpg": "bbb"]
        #expect(second.tree(.shared) == whole)
        // The owner invites again before a word of the leave has come: for nobody but Bob to accept.
        #expect(party.bob.request(.leave(share: "Summer", keepCopy: false)).code == 0)
        try party.bob.round()
        #expect(
            party.alice.request(.invite(share: "Summer", accounts: ["bob"], permission: "readOnly")).code == 0)
        #expect(try party.village.settle())
        for replica in [party.bob, second] { #expect(replica.tree(.shared) == [:], "\(replica.machine.name)") }
        party.expectShown()
        // Left and removed by now, whichever came first.
        #expect(
            party.alice.request(.invite(share: "Summer", accounts: ["bob"], permission: "readOnly")).code == 0)
        #expect(try party.village.settle())
        let accepted = second.request(.accept(link: party.link))
        #expect(accepted.code == 0, "\(accepted)")
        for _ in 0..<4 {
            party.village.world.clock.advance(milliseconds: 61_000)
            try party.village.pass(4)
        }
        for replica in [party.bob, second] {
            #expect(replica.tree(.shared) == whole, "\(replica.machine.name): \(replica.logLines.suffix(8))")
        }
    }

    @Test func `all pending invitations are those to shares that one had left, too`() throws {
        let party = try Party(bob: "readWrite")
        #expect(party.bob.request(.leave(share: "Summer", keepCopy: false)).code == 0)
        #expect(try party.village.settle())
        #expect(party.bob.request(.acceptAllPending).lines == ["No invitation is waiting."])
        #expect(
            party.alice.request(.invite(share: "Summer", accounts: ["bob"], permission: "readOnly")).code == 0)
        #expect(try party.village.settle())
        #expect(party.bob.tree(.shared) == [:])
        #expect(party.bob.request(.acceptAllPending).code == 0)
        #expect(try party.village.settle())
        #expect(party.bob.tree(.shared).values.sorted() == ["aaa", "bbb"])
    }

    // MARK: Undo

    @Test func `a deletion of what was never published is not taken back where its bytes are not`() throws {
        var party = try Party(bob: "readWrite")
        let second = try party.village.addDevice(of: party.alice, name: "alice2")
        #expect(try party.village.settle())
        let alice = party.alice
        alice.machine.mount.unmount()
        try alice.machine.library.write("new.jpg", "new")
        for _ in 0..<3 {
            try alice.round()
            party.village.world.clock.advance(milliseconds: 700)
        }
        try alice.machine.library.delete("new.jpg")
        for _ in 0..<4 {
            try alice.round()
            party.village.world.clock.advance(milliseconds: 700)
        }
        alice.machine.mount.mount()
        #expect(try party.village.settle())
        let deletion = try second.store.read { db in try db.history(after: 0, limit: 100_000) }
            .last { $0.change.action == .delete }
        // Where nothing of it was published there is nothing to take back, either.
        if let deletion {
            #expect(second.request(.undo(token: deletion.token)).code == ExitCode.failed)
        }
        #expect(try party.village.settle())
        #expect(second.isQuiet && second.tree(.library)["new.jpg"] == nil)
    }

    @Test func `a deletion that was published is taken back by another device`() throws {
        var party = try Party(bob: "readWrite")
        let second = try party.village.addDevice(of: party.alice, name: "alice2")
        #expect(try party.village.settle())
        try party.alice.machine.library.delete("Private/c.jpg")
        #expect(try party.village.settle())
        let deletion = try #require(
            try second.store.read { db in try db.history(after: 0, limit: 100_000) }
                .last { $0.change.action == .delete && $0.change.type == .photo })
        #expect(second.request(.undo(token: deletion.token)).code == 0)
        #expect(try party.village.settle())
        #expect(party.alice.tree(.library)["Private/c.jpg"] == "ccc")
    }

    @Test func `undo takes back neither the making of a share nor a move into it`() throws {
        let party = try Party(bob: "readWrite")
        func lastToken() throws -> Int64 {
            let changes = try party.alice.store.read { db in try db.history(after: 0, limit: 100_000) }
            return try #require(changes.last { $0.change.author == party.alice.identity.account }?.token)
        }
        let made = try lastToken()
        let refused = party.alice.request(.undo(token: made))
        #expect(refused.code == ExitCode.failed && refused.remedy?.isEmpty == false, "\(refused)")
        #expect(
            party.alice.request(.shareAdd(share: "Summer", paths: [party.alice.path("Private/c.jpg")])).code == 0)
        try #require(try party.village.settle())
        let moved = party.alice.request(.undo(token: try lastToken()))
        #expect(moved.code == ExitCode.failed, "\(moved)")
        try #require(try party.village.settle())
        #expect(party.carol.tree(.shared).values.sorted() == ["aaa", "bbb", "ccc"])
        #expect(party.alice.tree(.library).values.sorted() == ["aaa", "bbb", "ccc"])
    }
}
