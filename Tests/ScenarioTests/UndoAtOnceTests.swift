import GRDB
import ShoeboxCloud
import ShoeboxLibrary
import ShoeboxModel
import ShoeboxPlanning
import ShoeboxStore
import ShoeboxTestSupport
import Testing

@testable import Shoebox

/// What one person takes back, and what others wrote without having seen it.
@Suite struct UndoAtOnceTests {
    /// The last transaction of somebody's in which a change is so.
    private func token(_ replica: Replica, by author: Replica, where isMeant: (Change) -> Bool) throws -> Int64 {
        let found = try replica.store.read { db in try db.history(after: 0, limit: .max) }.last {
            $0.change.author == author.identity.account && isMeant($0.change)
        }
        return try #require(found?.token)
    }

    private func writes(_ caption: String) -> (Change) -> Bool {
        { change in
            guard case .set(let fields) = change.action else { return false }
            return fields[.caption]?.text == caption
        }
    }

    /// Everybody's caption of the share's first photo, one after the other, without having seen each other's.
    private func caption(_ party: Party, _ words: [(Replica, String)], of name: String = "a.jpg") throws {
        for (replica, word) in words {
            party.village.world.clock.advance(milliseconds: 1_000)
            let path =
                replica === party.alice ? replica.path("Summer/\(name)") : replica.path("alice/Summer/\(name)", .shared)
            try #require(replica.request(.caption(path: path, text: word)).code == 0)
        }
        try #require(try party.village.settle())
    }

    private func captions(_ party: Party, of name: String = "a.jpg") -> [String?] {
        [party.alice.sidecar("Summer/\(name)", .library)?.fields.caption]
            + [party.bob, party.carol].map { $0.sidecar("alice/Summer/\(name)", .shared)?.fields.caption }
    }

    @Test func `what others wrote at the same time shows when the own caption is taken back, and no caption is lost`()
        throws
    {
        let party = try Party(bob: "readWrite")
        try caption(party, [(party.alice, "old")])
        try caption(party, [(party.bob, "b"), (party.carol, "c"), (party.alice, "a")])
        #expect(captions(party) == ["a", "a", "a"])
        let mine = try token(party.alice, by: party.alice, where: writes("a"))
        let reply = party.alice.request(.undo(token: mine))
        #expect(reply.code == 0, "\(reply)")
        try #require(try party.village.settle())
        #expect(captions(party) == ["c", "c", "c"])
        for replica in party.village.replicas {
            let left = try TreeListing(of: replica.engine).conflicts()
            #expect(left.map(\.other) == ["b"], "\(replica.label): \(left)")
        }
    }

    @Test func `a caption that lost to another one is taken back out of the conflicts, and the other one stays`() throws
    {
        let party = try Party(bob: "readWrite")
        try caption(party, [(party.alice, "a"), (party.bob, "b")])
        let mine = try token(party.alice, by: party.alice, where: writes("a"))
        #expect(party.alice.request(.undo(token: mine)).code == 0)
        try #require(try party.village.settle())
        #expect(captions(party) == ["b", "b", "b"])
        #expect(try TreeListing(of: party.carol.engine).conflicts().isEmpty)
    }

    @Test func `a decision between captions that is taken back is open again`() throws {
        let party = try Party(bob: "readWrite")
        try caption(party, [(party.alice, "a"), (party.bob, "b")])
        let path = party.alice.path("Summer/a.jpg")
        #expect(party.alice.request(.resolveConflict(path: path, field: "caption", choice: "1")).code == 0)
        try #require(try party.village.settle())
        #expect(captions(party) == ["a", "a", "a"])
        let decision = try token(party.alice, by: party.alice, where: writes("a"))
        #expect(party.alice.request(.undo(token: decision)).code == 0)
        try #require(try party.village.settle())
        #expect(captions(party) == ["b", "b", "b"])
        #expect(try TreeListing(of: party.carol.engine).conflicts().map(\.other) == ["a"])
    }

    @Test(arguments: [false, true])
    func `a tag that two people gave goes when both have taken it back`(isAliceFirst: Bool) throws {
        let party = try Party(bob: "readWrite")
        let people = [(party.alice, RootKind.library, "Summer/"), (party.bob, .shared, "alice/Summer/")]
        func tags(_ name: String) -> [[String]] {
            people.map { replica, root, folder in replica.sidecar(folder + name, root)?.fields.tags ?? [] }
        }
        let other = party.alice.path("Summer/deep/b.jpg")
        #expect(party.alice.request(.tag(path: other, titles: ["Beach"], isMember: true)).code == 0)
        try #require(try party.village.settle())
        for (replica, root, folder) in isAliceFirst ? people : people.reversed() {
            party.village.world.clock.advance(milliseconds: 1_000)
            let reply = replica.request(
                .tag(path: replica.path(folder + "a.jpg", root), titles: ["Beach"], isMember: true))
            #expect(reply.code == 0)
        }
        try #require(try party.village.settle())
        for (number, person) in people.enumerated() {
            #expect(tags("a.jpg") == [["Beach"], ["Beach"]], "\(number)")
            let mine = try token(person.0, by: person.0) { $0.type == .photoTag }
            let reply = person.0.request(.undo(token: mine))
            #expect(reply.code == (number == 0 ? ExitCode.reported : 0), "\(reply)")
            try #require(try party.village.settle())
        }
        #expect(tags("a.jpg") == [[], []] && tags("deep/b.jpg") == [["Beach"], ["Beach"]])
    }

    @Test func `a photo of which somebody else has said something is not deleted by undo, though other words show`()
        throws
    {
        let party = try Party(bob: "readWrite")
        try party.alice.machine.library.write("Summer/y.jpg", "yyy")
        try #require(try party.village.settle())
        let added = try token(party.alice, by: party.alice) { $0.content != nil }
        try caption(party, [(party.bob, "b"), (party.alice, "a")], of: "y.jpg")
        let reply = party.alice.request(.undo(token: added))
        #expect(reply.code == ExitCode.failed, "\(reply)")
        try #require(try party.village.settle())
        party.expectShown(Party.content.merging(["y.jpg": "yyy"]) { $1 })
        #expect(captions(party, of: "y.jpg") == ["a", "a", "a"])
    }

    @Test func `a rating is taken back by who gave it only`() throws {
        let party = try Party(bob: "readWrite")
        let path = party.bob.path("alice/Summer/a.jpg", .shared)
        #expect(party.bob.request(.rate(path: path, value: 4)).code == 0)
        try #require(try party.village.settle())
        let his = try token(party.alice, by: party.bob) { $0.type == .rating }
        #expect(party.alice.request(.undo(token: his)).code == ExitCode.failed)
        let own = try token(party.bob, by: party.bob) { $0.type == .rating }
        #expect(party.bob.request(.undo(token: own)).code == 0)
        try #require(try party.village.settle())
        #expect(party.bob.sidecar("alice/Summer/a.jpg", .shared)?.fields.rating == nil)
    }

    // MARK: What was before

    @Test func `what a device knows of an edit before it knows of the photo is taken back as the edit that it is`()
        throws
    {
        var (village, alice, second) = try Village.twoDevices(["first.jpg": "first"])
        // One of the two is read before the other: each edits what the other one added.
        try alice.machine.library.write("alices.jpg", "one")
        try second.machine.library.write("seconds.jpg", "two")
        try #require(try village.settle())
        for (replica, name) in [(second, "alices.jpg"), (alice, "seconds.jpg")] {
            #expect(replica.request(.caption(path: replica.path(name), text: "of \(name)")).code == 0)
        }
        try #require(try village.settle())
        let third = try village.addDevice(of: alice, name: "alice3")
        try #require(try village.settle())
        let before = third.files(.library)
        for name in ["alices.jpg", "seconds.jpg"] {
            try #require(third.sidecar(name, .library)?.fields.caption == "of \(name)")
            let edit = try token(third, by: alice, where: writes("of \(name)"))
            let reply = third.request(.undo(token: edit))
            #expect(reply.code == 0, "\(reply)")
        }
        try village.meet()
        try #require(try village.settle())
        let photos = before.filter { !$0.key.hasSuffix(".json") }
        for replica in village.replicas {
            #expect(replica.files(.library) == photos, "\(replica.machine.name): \(replica.tree(.library))")
            let captions = ["alices.jpg", "seconds.jpg"].map { replica.sidecar($0, .library)?.fields.caption ?? "" }
            #expect(captions == ["", ""], "\(replica.machine.name)")
        }
    }

    @Test func `what was overwritten before a device came is not made up by undo there`() throws {
        var (village, alice, second) = try Village.twoDevices(["a.jpg": "aaa"])
        for replica in [alice, second] {
            replica.tune = {
                ($0.compactSegmentsMin, $0.compactSegmentsMax) = (4, 4)
                $0.compactGraceMilliseconds = 3_600_000
            }
        }
        try alice.machine.library.write("b.jpg", "bbb")
        try #require(try village.settle())
        for word in ["one", "two", "three", "four", "five", "six", "seven", "eight"] {
            #expect(alice.request(.caption(path: alice.path("a.jpg"), text: word)).code == 0)
            try #require(try village.settle())
        }
        for _ in 0..<6 {
            village.world.clock.advance(milliseconds: 2 * 3_600_000)
            _ = alice.request(.compact)
            try #require(try village.settle())
        }
        let third = try village.addDevice(of: alice, name: "alice3")
        try #require(try village.settle())
        let known = try third.store.read { db in try db.history(after: 0, limit: .max) }.filter { stored in
            guard case .set(let fields) = stored.change.action else { return false }
            return fields[.caption] != nil
        }
        try #require(known.count == 1 && known.first.map { writes("eight")($0.change) } == true, "\(known)")
        let edit = try #require(known.first?.token)
        let reply = third.request(.undo(token: edit))
        #expect(reply.code == ExitCode.failed && reply.lines[0].contains("not known on this device"), "\(reply)")
        // Of what is left of the past, each is a transaction still.
        let added = try token(third, by: alice) { change in
            guard case .set(let fields) = change.action else { return false }
            return fields[.name]?.fileName == FileName("b.jpg")
        }
        let named = try third.store.read { db in try db.changes(inTransaction: added) }
        #expect(named.filter { $0.change.content != nil }.count == 1, "\(named)")
        let gone = third.request(.undo(token: added))
        #expect(gone.code == 0, "\(gone)")
        try #require(try village.settleDeletions())
        #expect(alice.tree(.library) == ["a.jpg": "aaa"], "\(alice.tree(.library))")
        // Who was there knows.
        let there = try token(second, by: alice, where: writes("eight"))
        #expect(second.request(.undo(token: there)).code == 0)
        try #require(try village.settle())
        #expect(third.sidecar("a.jpg", .library)?.fields.caption == "seven")
    }

    // MARK: Transactions

    @Test func `a transaction of very many changes is taken back to its end`() throws {
        let party = try Party(bob: "readWrite")
        let alice = party.alice
        try caption(party, [(alice, "words")])
        let mine = try token(alice, by: alice, where: writes("words"))
        // Changes that do not count, before it.
        try alice.store.write { db in
            try db.execute(
                sql: """
                    WITH RECURSIVE number (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM number WHERE n < 100000)
                    INSERT INTO change (id, zone, record, replica, counter, account, sender, sequence, state, token, payload)
                    SELECT -n, zone, x'ff', x'fe', n, account, sender, sequence, 2, token, payload FROM change, number
                        WHERE token = ? AND id > 0
                    """, arguments: [mine])
        }
        #expect(alice.request(.undo(token: mine)).code == 0)
        try alice.store.write { db in try db.execute(sql: "DELETE FROM change WHERE id < 0") }
        try #require(try party.village.settle())
        #expect(captions(party) == [nil, nil, nil])
    }
}
