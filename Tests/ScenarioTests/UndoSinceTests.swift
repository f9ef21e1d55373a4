import ShoeboxCloud
import ShoeboxLibrary
import ShoeboxModel
import ShoeboxPlanning
import ShoeboxStore
import ShoeboxTestSupport
import Testing

@testable import Shoebox

/// What came after a transaction that is taken back, or at the same time, stays.
@Suite struct UndoSinceTests {
    /// The transactions of somebody's in which a change is so, in order.
    private func tokens(_ replica: Replica, by author: Replica, where isMeant: (Change) -> Bool) throws -> [Int64] {
        let found = try replica.store.read { db in try db.history(after: 0, limit: .max) }.filter {
            $0.change.author == author.identity.account && isMeant($0.change)
        }
        return Set(found.map(\.token)).sorted()
    }

    private func isDeletion(_ change: Change) -> Bool { change.action == .delete }

    private func does(_ replica: Replica, _ request: Request, _ location: SourceLocation = #_sourceLocation) {
        let reply = replica.request(request)
        #expect(reply.code == 0, "\(reply)", sourceLocation: location)
    }

    // MARK: Tags and ratings

    @Test(arguments: ["readWrite", "contribute"])
    func `the first use of a tag is taken back, and what others put into the tag stays in it`(permission: String) throws
    {
        let party = try Party(bob: permission)
        let (alice, bob) = (party.alice, party.bob)
        try bob.machine.shared.write("alice/Summer/bob.jpg", "bob")
        try #require(try party.village.settle())
        does(bob, .tag(path: bob.path("alice/Summer/bob.jpg", .shared), titles: ["Beach"], isMember: true))
        try #require(try party.village.settle())
        does(alice, .tag(path: alice.path("Summer/a.jpg"), titles: ["Beach"], isMember: true))
        try #require(try party.village.settle())
        let first = try #require(try tokens(bob, by: bob) { $0.type == .tag }.first)
        let reply = bob.request(.undo(token: first))
        #expect(reply.code == ExitCode.reported && reply.values["records"] == "1", "\(reply)")
        #expect(reply.lines.contains { $0.contains("#Beach: other photos are in it") }, "\(reply)")
        try #require(try party.village.settle())
        #expect(alice.sidecar("Summer/a.jpg", .library)?.fields.tags == ["Beach"])
        #expect(bob.sidecar("alice/Summer/a.jpg", .shared)?.fields.tags == ["Beach"])
        #expect(alice.sidecar("Summer/bob.jpg", .library)?.fields.tags ?? [] == [])
    }

    @Test func `a tag that only its first photo is in goes when that is taken back`() throws {
        let (village, alice, second) = try Village.twoDevices(["a.jpg": "aaa"])
        does(alice, .tag(path: alice.path("a.jpg"), titles: ["Beach"], isMember: true))
        try #require(try village.settle())
        does(alice, .undo(token: try #require(try tokens(alice, by: alice) { $0.type == .tag }.first)))
        try #require(try village.settle())
        #expect(second.sidecar("a.jpg", .library)?.fields.tags ?? [] == [])
        #expect(try TreeListing(of: second.engine).tags().isEmpty)
    }

    @Test func `a rating or a tag that was given anew is not taken back with the first one`() throws {
        let (village, alice, second) = try Village.twoDevices(["a.jpg": "aaa"])
        let path = alice.path("a.jpg")
        for stars in [3, 5] { does(alice, .rate(path: path, value: stars)) }
        for isMember in [true, false, true] {
            does(alice, .tag(path: path, titles: ["Beach"], isMember: isMember))
        }
        try #require(try village.settle())
        for type in [RecordType.rating, .photoTag] {
            let first = try #require(try tokens(alice, by: alice) { $0.type == type }.first)
            let reply = alice.request(.undo(token: first))
            #expect(reply.code == ExitCode.failed && reply.lines[0].contains("changed since"), "\(reply)")
        }
        try #require(try village.settle())
        let fields = second.sidecar("a.jpg", .library)?.fields
        #expect(fields?.rating == 5 && fields?.tags == ["Beach"], "\(String(describing: fields))")
    }

    // MARK: Photos

    @Test(arguments: ["caption", "content", "tag", "rating"])
    func `adding a photo is not taken back once somebody else has gone on from it`(what: String) throws {
        let party = try Party(bob: "readWrite")
        let (alice, bob) = (party.alice, party.bob)
        try alice.machine.library.write("Summer/y.jpg", "yyy")
        try #require(try party.village.settle())
        let added = try #require(try tokens(alice, by: alice) { $0.content != nil }.last)
        let hers = try #require(try tokens(bob, by: alice) { $0.content != nil }.last)
        // Of Bob's taking it back, Alice is somebody else, too, though she added it.
        let (author, path) =
            what == "caption" ? (alice, alice.path("Summer/y.jpg")) : (bob, bob.path("alice/Summer/y.jpg", .shared))
        switch what {
        case "caption": does(author, .caption(path: path, text: "words"))
        case "content": try bob.machine.shared.write("alice/Summer/y.jpg", "yyy, retouched")
        case "tag": does(author, .tag(path: path, titles: ["Beach"], isMember: true))
        default: does(author, .rate(path: path, value: 4))
        }
        try #require(try party.village.settle())
        let reply = author === alice ? bob.request(.undo(token: hers)) : alice.request(.undo(token: added))
        #expect(reply.code == ExitCode.failed && reply.lines[0].contains("others have"), "\(reply)")
        try #require(try party.village.settleDeletions())
        party.expectShown(Party.content.merging(["y.jpg": what == "content" ? "yyy, retouched" : "yyy"]) { $1 })
    }

    @Test func `adding a photo is taken back with what its owner made of it since, and can be had back`() throws {
        let party = try Party(bob: "readWrite")
        let alice = party.alice
        try alice.machine.library.write("Summer/y.jpg", "yyy")
        try #require(try party.village.settle())
        let path = alice.path("Summer/y.jpg")
        does(alice, .caption(path: path, text: "words"))
        does(alice, .tag(path: path, titles: ["Beach"], isMember: true))
        try #require(try party.village.settle())
        does(alice, .undo(token: try #require(try tokens(alice, by: alice) { $0.content != nil }.last)))
        try #require(try party.village.settleDeletions())
        party.expectShown()
        does(alice, .restoreVersion(path: path, version: nil))
        try #require(try party.village.settle())
        party.expectShown(Party.content.merging(["y.jpg": "yyy"]) { $1 })
        let fields = party.carol.sidecar("alice/Summer/y.jpg", .shared)?.fields
        #expect(fields?.caption == "words" && fields?.tags == ["Beach"])
    }

    // MARK: Deletions

    @Test func `a deletion that is taken back brings nothing back that somebody else has deleted since`() throws {
        let party = try Party(bob: "readWrite")
        let (alice, bob) = (party.alice, party.bob)
        for name in ["c", "d"] { try alice.machine.library.write("Summer/deep/\(name).jpg", name) }
        try #require(try party.village.settle())
        try alice.machine.library.delete("Summer/deep")
        try #require(try party.village.settleDeletions())
        let hers = try tokens(alice, by: alice, where: isDeletion)
        does(alice, .restoreVersion(path: alice.path("Summer/deep/c.jpg"), version: nil))
        try #require(try party.village.settle())
        try bob.machine.shared.delete("alice/Summer/deep/c.jpg")
        try #require(try party.village.settleDeletions())
        party.expectShown(["a.jpg": "aaa"])
        var said: [String] = []
        for token in hers { said += alice.request(.undo(token: token)).lines }
        #expect(said.contains { $0.contains("deleted once more") && $0.contains("shoebox restore") }, "\(said)")
        try #require(try party.village.settle())
        party.expectShown(["a.jpg": "aaa", "deep/b.jpg": "bbb", "deep/d.jpg": "d"])
        // His own can be taken back.
        does(alice, .undo(token: try #require(try tokens(alice, by: bob, where: isDeletion).last)))
        try #require(try party.village.settle())
        party.expectShown(["a.jpg": "aaa", "deep/b.jpg": "bbb", "deep/c.jpg": "c", "deep/d.jpg": "d"])
    }

    @Test func `what two have deleted at once comes back by its path, and by undoing none of the two`() throws {
        let party = try Party(bob: "readWrite")
        let (alice, bob) = (party.alice, party.bob)
        bob.machine.mount.unmount()
        try bob.machine.shared.delete("alice/Summer/a.jpg")
        try party.rounds(of: bob, 60, reachesContainer: false)
        try alice.machine.library.delete("Summer/a.jpg")
        try party.rounds(of: alice, 6)
        bob.machine.mount.mount()
        try #require(try party.village.settleDeletions())
        party.expectShown(["deep/b.jpg": "bbb"])
        for author in [alice, bob] {
            let token = try #require(try tokens(alice, by: author, where: isDeletion).last)
            #expect(alice.request(.undo(token: token)).code == ExitCode.failed)
        }
        does(alice, .restoreVersion(path: alice.path("Summer/a.jpg"), version: nil))
        try #require(try party.village.settle())
        party.expectShown()
    }

    @Test func `an edit that alone keeps a photo which somebody else deleted takes it along when it is taken back`()
        throws
    {
        let party = try Party(bob: "readWrite")
        let (alice, bob) = (party.alice, party.bob)
        bob.machine.mount.unmount()
        does(bob, .caption(path: bob.path("alice/Summer/a.jpg", .shared), text: "his"))
        try alice.machine.library.delete("Summer/a.jpg")
        try party.rounds(of: alice, 6)
        bob.machine.mount.mount()
        try #require(try party.village.settleDeletions())
        party.expectShown()
        let edit = try #require(try tokens(bob, by: bob) { $0.type == .photo }.last)
        does(bob, .undo(token: edit))
        try #require(try party.village.settleDeletions())
        party.expectShown(["deep/b.jpg": "bbb"])
    }

    // MARK: Names that were given as others were taken

    @Test(arguments: [false, true])
    func `a renaming or a move is taken back though its name was taken, and another one was given`(isMoved: Bool) throws
    {
        let party = try Party(bob: "readWrite")
        let (alice, bob) = (party.alice, party.bob)
        let (old, new) = isMoved ? ("z.jpg", "deep/z.jpg") : ("a.jpg", "new.jpg")
        bob.machine.mount.unmount()
        try bob.machine.shared.write("alice/Summer/\(new)", "bob's")
        try party.rounds(of: bob, 4, reachesContainer: false)
        party.village.world.clock.advance(milliseconds: 5_000)
        // The older name keeps the place.
        if isMoved { try alice.machine.library.write("Summer/z.jpg", "zzz") }
        try party.rounds(of: alice, 4)
        try alice.machine.library.move("Summer/\(old)", to: "Summer/\(new)")
        try party.rounds(of: alice, 4)
        let token = try #require(try tokens(alice, by: alice) { $0.type == .photo }.last)
        bob.machine.mount.mount()
        try #require(try party.village.settle())
        let shown = alice.tree(.library).filter { $0.value == (isMoved ? "zzz" : "aaa") }.keys
        try #require(!shown.contains("Summer/\(new)"), "\(shown)")
        does(alice, .undo(token: token))
        try #require(try party.village.settle())
        let others = isMoved ? [new: "bob's", old: "zzz"] : [new: "bob's"]
        party.expectShown(Party.content.merging(others) { $1 })
    }

    // MARK: What is kept in the trash only

    /// Photos that nobody has published yet, and that are in the trash as their adding was taken back; with the transaction that did
    /// that.
    private func unpublished() throws -> (Village, alice: Replica, deletion: Int64) {
        let (village, alice, _) = try Village.twoDevices(["keep.jpg": "kept"]) { $0.takeMax = 100 }
        alice.machine.mount.unmount()
        for number in 0..<6 { try alice.machine.library.write("New/\(number).jpg", "photo \(number)") }
        try look(alice, village)
        let added = try tokens(alice, by: alice) { $0.content != nil && $0.content?.location == nil }
        try #require(added.count == 1)
        does(alice, .undo(token: added[0]))
        try look(alice, village)
        try #require(alice.tree(.library) == ["keep.jpg": "kept"])
        return (village, alice, try #require(try tokens(alice, by: alice, where: isDeletion).last))
    }

    private func look(_ replica: Replica, _ village: Village) throws {
        for _ in 0..<6 {
            try replica.round()
            village.world.clock.advance(milliseconds: 700)
        }
    }

    @Test func `what only the trash has is found there again by another process`() throws {
        let (village, alice, deletion) = try unpublished()
        does(alice, .undo(token: deletion))
        try alice.restart()
        alice.machine.mount.mount()
        for _ in 0..<4 {
            village.world.clock.advance(milliseconds: 40_000)
            try look(alice, village)
        }
        try #require(try village.settle())
        for replica in village.replicas { #expect(replica.tree(.library).count == 7, "\(replica.tree(.library))") }
    }

    @Test func `the trash is read once for all that is taken back`() throws {
        let (village, alice, deletion) = try unpublished()
        let before = alice.machine.faults.operationCount
        does(alice, .undo(token: deletion))
        let notes = alice.machine.faults.log.filter {
            $0.number >= before && $0.name == "open" && $0.path.contains(".shoebox/trash/")
                && $0.path.hasSuffix(".json")
        }
        #expect(Set(notes.map(\.path)).count == notes.count && notes.count == 6, "\(notes)")
        alice.machine.mount.mount()
        try #require(try village.settle())
        for replica in village.replicas { #expect(replica.tree(.library).count == 7, "\(replica.tree(.library))") }
    }
}
