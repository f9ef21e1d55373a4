import Shoebox
import ShoeboxCloud
import ShoeboxLibrary
import ShoeboxModel
import ShoeboxPlanning
import ShoeboxStore
import ShoeboxTestSupport
import Testing

/// Earlier versions, transactions that are taken back, and decisions between values that were written at once.
@Suite struct UndoTests {
    private func lastToken(_ replica: Replica, author: String = "cli") throws -> Int64 {
        let token = try replica.store.read { db in
            try db.history(after: 0, limit: 100_000).filter { $0.change.author == replica.identity.account }.last?.token
        }
        return try #require(token)
    }

    @Test func `any earlier content of a photo comes back, for everybody`() throws {
        let party = try Party(bob: "readWrite")
        try party.bob.machine.shared.write("alice/Summer/a.jpg", "by bob")
        try #require(try party.village.settle())
        try party.carol.machine.shared.write("alice/Summer/a.jpg", "by carol")
        try #require(try party.village.settle())
        let path = party.alice.path("Summer/a.jpg")
        let back = party.alice.request(.restoreVersion(path: path, version: "3"))
        #expect(back.code == 0, "\(back)")
        try #require(try party.village.settle())
        party.expectShown()
        let hash = try party.alice.store.read { db in
            try db.storedChanges(
                of: try #require(try db.base(in: party.zone).first { $0.name == FileName("a.jpg") }).id)
        }.compactMap { change -> Digest32? in
            guard case .set(let fields) = change.change.action else { return nil }
            return fields[.content]?.asset?.contentHash
        }[1]
        #expect(
            party.bob.request(
                .restoreVersion(path: party.bob.path("alice/Summer/a.jpg", .shared), version: hash.description)
            ).code == 0)
        try #require(try party.village.settle())
        party.expectShown(["a.jpg": "by bob", "deep/b.jpg": "bbb"])
        #expect(party.alice.request(.restoreVersion(path: path, version: "9")).code == ExitCode.notFound)
    }

    @Test func `what a file holds is taken in before it gets an earlier content, or that is refused`() throws {
        let party = try Party(bob: "readWrite")
        let alice = party.alice
        try alice.machine.library.write("Summer/a.jpg", "second")
        try #require(try party.village.settle())
        let path = alice.path("Summer/a.jpg")
        try alice.machine.library.write("Summer/a.jpg", "third, not seen yet")
        let refused = alice.request(.restoreVersion(path: path, version: "1"))
        #expect(refused.code == ExitCode.failed, "\(refused)")
        party.village.world.clock.advance(milliseconds: 700)
        let back = alice.request(.restoreVersion(path: path, version: "2"))
        #expect(back.code == 0, "\(back)")
        try #require(try party.village.settle())
        party.expectShown(["a.jpg": "second", "deep/b.jpg": "bbb"])
        let all = alice.machine.library.tree().values.map { String(decoding: $0, as: UTF8.self) }
        #expect(all.contains("third, not seen yet"))
    }

    @Test func `a deleted photo comes back by its path, with its tags`() throws {
        let party = try Party(bob: "readWrite")
        let path = party.alice.path("Summer/deep/b.jpg")
        #expect(party.alice.request(.tag(path: path, titles: ["Beach"], isMember: true)).code == 0)
        try #require(try party.village.settle())
        try party.alice.machine.library.delete("Summer/deep")
        try #require(try party.village.settle())
        party.expectShown(["a.jpg": "aaa"])
        let back = party.alice.request(.restoreVersion(path: path, version: nil))
        #expect(back.code == 0, "\(back)")
        try #require(try party.village.settle())
        party.expectShown()
        #expect(party.carol.sidecar("alice/Summer/deep/b.jpg", .shared)?.fields.tags == ["Beach"])
        #expect(
            party.alice.request(.restoreVersion(path: party.alice.path("Summer/never.jpg"), version: nil)).code
                == ExitCode.notFound)
    }

    @Test func `a photo that was deleted before anybody had its bytes is not brought back without them`() throws {
        let (village, alice, second) = try Village.twoDevices(["a.jpg": "aaa"])
        alice.machine.mount.unmount()
        try alice.machine.library.write("n.jpg", "new")
        for _ in 0..<3 {
            try alice.round()
            village.world.clock.advance(milliseconds: 700)
        }
        try alice.machine.library.delete("n.jpg")
        for _ in 0..<4 {
            try alice.round()
            village.world.clock.advance(milliseconds: 700)
        }
        let path = alice.path("n.jpg")
        let reply = alice.request(.restoreVersion(path: path, version: nil))
        #expect(reply.code == ExitCode.notFound && reply.remedy?.isEmpty == false, "\(reply)")
        alice.machine.mount.mount()
        #expect(try village.settle())
        #expect(second.tree(.library) == ["a.jpg": "aaa"] && alice.tree(.library) == ["a.jpg": "aaa"])
    }

    @Test func `a transaction is taken back, as far as nobody went on from it`() throws {
        let party = try Party(bob: "readWrite")
        let path = party.alice.path("Summer/a.jpg")
        #expect(party.alice.request(.caption(path: path, text: "first")).code == 0)
        #expect(party.alice.request(.caption(path: path, text: "second")).code == 0)
        try #require(try party.village.settle())
        let second = try lastToken(party.alice)
        #expect(party.alice.request(.undo(token: second)).code == 0)
        try #require(try party.village.settle())
        #expect(party.bob.sidecar("alice/Summer/a.jpg", .shared)?.fields.caption == "first")
        // Undoing the undoing.
        #expect(party.alice.request(.undo(token: try lastToken(party.alice))).code == 0)
        try #require(try party.village.settle())
        #expect(party.bob.sidecar("alice/Summer/a.jpg", .shared)?.fields.caption == "second")
        // Bob has gone on from it.
        let bobs = party.bob.path("alice/Summer/a.jpg", .shared)
        #expect(party.bob.request(.caption(path: bobs, text: "bob's")).code == 0)
        try #require(try party.village.settle())
        let refused = party.alice.request(.undo(token: second))
        #expect(refused.code == ExitCode.failed && refused.remedy?.isEmpty == false, "\(refused)")
        // A mass deletion, by another one: all of it comes back.
        try party.bob.machine.shared.delete("alice/Summer/a.jpg")
        try party.bob.machine.shared.delete("alice/Summer/deep/b.jpg")
        try party.village.pass(4)
        party.village.world.clock.advance(milliseconds: 40_000)
        try party.village.pass(6)
        // It is all that Alice shares: he is asked.
        #expect(party.bob.request(.confirmDeletions).code == 0)
        try party.village.pass(6)
        party.expectShown([:])
        let deletion = try #require(
            try party.alice.store.read { db in try db.history(after: 0, limit: 100_000) }
                .last { $0.change.action == .delete })
        let undone = party.alice.request(.undo(token: deletion.token))
        #expect(undone.code == 0, "\(undone)")
        try #require(try party.village.settle())
        party.expectShown()
        #expect(party.bob.sidecar("alice/Summer/a.jpg", .shared)?.fields.caption == "bob's")
        for token in [1 << 40, 0, -1, Int64.min, Int64.max] {
            #expect(party.alice.request(.undo(token: token)).code == ExitCode.notFound)
        }
    }

    @Test func `a deletion that was taken back is done again by taking that back, unless others have gone on`() throws {
        let party = try Party(bob: "readWrite")
        let (alice, bob) = (party.alice, party.bob)
        #expect(alice.request(.caption(path: alice.path("Summer/deep/b.jpg"), text: "words")).code == 0)
        try #require(try party.village.settle())
        try alice.machine.library.delete("Summer/deep")
        try #require(try party.village.settleDeletions())
        party.expectShown(["a.jpg": "aaa"])
        let tokens = try alice.store.read { db in
            try db.history(after: 0, limit: 100_000).filter { $0.change.action == .delete }.map(\.token)
        }
        for token in Set(tokens) { #expect(alice.request(.undo(token: token)).code == 0) }
        try #require(try party.village.settle())
        party.expectShown()
        let undone = try alice.store.read { db in
            try db.history(after: try #require(tokens.max()), limit: 100_000).map(\.token)
        }
        for token in Set(undone).sorted(by: >) {
            let reply = alice.request(.undo(token: token))
            #expect(reply.code == 0, "\(reply)")
        }
        try #require(try party.village.settleDeletions())
        party.expectShown(["a.jpg": "aaa"])
        // And once more, with words of somebody else's.
        let again = try lastToken(alice)
        for token in Set(undone.map { $0 + again - (undone.max() ?? 0) }) { _ = alice.request(.undo(token: token)) }
        try #require(try party.village.settle())
        party.expectShown()
        let back = try lastToken(alice)
        #expect(bob.request(.caption(path: bob.path("alice/Summer/deep/b.jpg", .shared), text: "bob's")).code == 0)
        try #require(try party.village.settle())
        #expect(alice.request(.undo(token: back)).code != 0)
        try #require(try party.village.settleDeletions())
        #expect(bob.tree(.shared)["alice/Summer/deep/b.jpg"] == "bbb")
        #expect(alice.sidecar("Summer/deep/b.jpg", .library)?.fields.caption == "bob's")
    }

    @Test func `of what makes or ends a share nothing is taken back, tags least of all`() throws {
        let party = try Party(bob: "readWrite")
        let alice = party.alice
        #expect(alice.request(.tag(path: alice.path("Summer/a.jpg"), titles: ["Beach"], isMember: true)).code == 0)
        try alice.machine.library.write("Tour/t.jpg", "ttt")
        try #require(try party.village.settle())
        #expect(alice.request(.tag(path: alice.path("Tour/t.jpg"), titles: ["Lake"], isMember: true)).code == 0)
        try #require(try party.village.settle())
        func tokens(_ act: () throws -> Void) throws -> [Int64] {
            let before = try lastToken(alice)
            try act()
            try #require(try party.village.settle())
            return try alice.store.read { db in
                Set(try db.history(after: before, limit: 100_000).map(\.token)).sorted(by: >)
            }
        }
        let made = try tokens {
            let paths = [alice.path("Tour")]
            let reply = alice.request(
                .shareCreate(paths: paths, title: "Tour", publicPermission: "none", isSealed: true))
            #expect(reply.code == 0)
        }
        let stopped = try tokens { #expect(alice.request(.stop(share: "Summer")).code == 0) }
        for token in stopped + made {
            let reply = alice.request(.undo(token: token))
            #expect(reply.code != 0 && reply.values["records"] == nil, "\(reply)")
        }
        try #require(try party.village.settle())
        #expect(alice.sidecar("Summer/a.jpg", .library)?.fields.tags == ["Beach"])
        #expect(alice.sidecar("Tour/t.jpg", .library)?.fields.tags == ["Lake"])
    }

    @Test func `adding is taken back by deleting, and only what nobody else has touched`() throws {
        let party = try Party(bob: "readWrite")
        try party.alice.machine.library.write("Summer/x.jpg", "xxx")
        try party.alice.machine.library.write("Summer/y.jpg", "yyy")
        try #require(try party.village.settle())
        let token = try lastToken(party.alice)
        let bobs = party.bob.path("alice/Summer/y.jpg", .shared)
        #expect(party.bob.request(.caption(path: bobs, text: "mine")).code == 0)
        try #require(try party.village.settle())
        let undone = party.alice.request(.undo(token: token))
        #expect(undone.code == ExitCode.reported, "\(undone)")
        try #require(try party.village.settle())
        party.expectShown(Party.content.merging(["y.jpg": "yyy"]) { $1 })
    }

    @Test func `who may only read takes nothing back`() throws {
        let party = try Party(bob: "readOnly")
        let token = try #require(
            try party.bob.store.read { db in try db.history(after: 0, limit: 100_000) }
                .last { $0.zone == party.zone && $0.change.type == .photo }?.token)
        #expect(party.bob.request(.undo(token: token)).code == ExitCode.failed)
        #expect(
            party.bob.request(
                .restoreVersion(path: party.bob.path("alice/Summer/a.jpg", .shared), version: "1")
            ).code
                == ExitCode.notPermitted)
        party.expectShown()
    }

    @Test(arguments: [0, 1])
    func `a conflict is decided for everybody`(choice: Int) throws {
        let party = try Party(bob: "readWrite")
        #expect(party.alice.request(.caption(path: party.alice.path("Summer/a.jpg"), text: "alice's")).code == 0)
        let bobs = party.bob.path("alice/Summer/a.jpg", .shared)
        #expect(party.bob.request(.caption(path: bobs, text: "bob's")).code == 0)
        try #require(try party.village.settle())
        let id = try #require(
            try party.bob.store.read { db in try db.base(in: party.zone) }
                .first { $0.name == FileName("a.jpg") }?.id)
        let state = try #require(try party.bob.store.read { db in try db.state(of: id) })
        let values = [state[.caption]?.text, state.fields[.caption]?.losers.first?.value.text]
        try #require(Set(values) == ["alice's", "bob's"])
        let decided = party.bob.request(.resolveConflict(path: bobs, field: "caption", choice: "\(choice)"))
        #expect(decided.code == 0, "\(decided)")
        try #require(try party.village.settle())
        for (replica, path, root) in [
            (party.alice, "Summer/a.jpg", RootKind.library), (party.carol, "alice/Summer/a.jpg", .shared),
        ] {
            #expect(replica.sidecar(path, root)?.fields.caption == values[choice])
            #expect(try replica.store.read { db in try db.conflictedRecords() }.isEmpty)
        }
        #expect(
            party.bob.request(.resolveConflict(path: bobs, field: "caption", choice: "shown")).code == ExitCode.notFound
        )
    }
}
