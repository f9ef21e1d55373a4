import Shoebox
import ShoeboxLibrary
import ShoeboxModel
import ShoeboxPlanning
import ShoeboxStore
import ShoeboxTestSupport
import Testing

/// Bob may add to Alice's share, and change what he added; Carol may change everything.
@Suite struct ContributorTests {
    /// Whether Alice, Bob and Carol all show this in the share.
    private func expectAll(
        _ party: Party, _ content: [String: String], sourceLocation: SourceLocation = #_sourceLocation
    ) {
        party.expectShown(content, sourceLocation: sourceLocation)
        let bobs = Dictionary(uniqueKeysWithValues: content.map { ("alice/Summer/" + $0.key, Array($0.value.utf8)) })
        #expect(treeDifference(party.bob.files(.shared), bobs) == [], sourceLocation: sourceLocation)
    }

    @Test func `a contributor adds, and edits, renames, tags and deletes what it added`() throws {
        let party = try Party(bob: "contribute")
        try party.bob.machine.shared.write("alice/Summer/bob.jpg", "bob")
        try party.bob.machine.shared.write("alice/Summer/new/other.jpg", "other")
        #expect(try party.village.settle())
        expectAll(party, ["a.jpg": "aaa", "deep/b.jpg": "bbb", "bob.jpg": "bob", "new/other.jpg": "other"])
        try party.bob.machine.shared.write("alice/Summer/bob.jpg", "bob again")
        try party.bob.machine.shared.move("alice/Summer/new/other.jpg", to: "alice/Summer/deep/moved.jpg")
        let path = party.bob.path("alice/Summer/bob.jpg", .shared)
        #expect(party.bob.request(.tag(path: path, titles: ["Lake"], isMember: true)).code == 0)
        #expect(party.bob.request(.caption(path: path, text: "mine")).code == 0)
        #expect(try party.village.settle())
        expectAll(party, ["a.jpg": "aaa", "deep/b.jpg": "bbb", "bob.jpg": "bob again", "deep/moved.jpg": "other"])
        #expect(party.alice.sidecar("Summer/bob.jpg", .library)?.fields.tags == ["Lake"])
        #expect(party.carol.sidecar("alice/Summer/bob.jpg", .shared)?.fields.caption == "mine")
        try party.bob.machine.shared.delete("alice/Summer/bob.jpg")
        #expect(
            party.bob.request(
                .tag(path: party.bob.path("alice/Summer/deep/moved.jpg", .shared), titles: ["Lake"], isMember: true)
            ).code == 0)
        #expect(try party.village.settleDeletions())
        expectAll(party, ["a.jpg": "aaa", "deep/b.jpg": "bbb", "deep/moved.jpg": "other"])
        // What others do to a contributor's photos counts as it does with anybody's.
        try party.carol.machine.shared.write("alice/Summer/deep/moved.jpg", "by carol")
        #expect(try party.village.settle())
        expectAll(party, ["a.jpg": "aaa", "deep/b.jpg": "bbb", "deep/moved.jpg": "by carol"])
    }

    @Test func `a contributor takes back what it wrote of its own photos, and nothing of others'`() throws {
        let party = try Party(bob: "contribute")
        let (alice, bob) = (party.alice, party.bob)
        try bob.machine.shared.write("alice/Summer/bob.jpg", "bob")
        try #require(try party.village.settle())
        let path = bob.path("alice/Summer/bob.jpg", .shared)
        func tokens() throws -> Set<Int64> {
            Set(try bob.store.read { db in try db.history(after: 0, limit: .max) }.map(\.token))
        }
        func undo(_ request: Request) throws -> Reply {
            let before = try tokens()
            let done = bob.request(request)
            try #require(done.code == 0, "\(done)")
            try #require(try party.village.settle())
            return bob.request(.undo(token: try #require(try tokens().subtracting(before).min())))
        }
        for request in [
            Request.caption(path: path, text: "mine"), .tag(path: path, titles: ["Lake"], isMember: true),
            .rate(path: bob.path("alice/Summer/a.jpg", .shared), value: 3),
        ] {
            let reply = try undo(request)
            #expect(reply.code == 0, "\(reply)")
            try #require(try party.village.settle())
        }
        for (replica, folder, root) in [(alice, "Summer/", RootKind.library), (bob, "alice/Summer/", .shared)] {
            let fields = replica.sidecar(folder + "bob.jpg", root)?.fields
            #expect(
                fields?.caption == nil && fields?.tags ?? [] == [], "\(replica.label): \(String(describing: fields))")
        }
        #expect(bob.sidecar("alice/Summer/a.jpg", .shared)?.fields.rating == nil)
        // What is not Bob's.
        #expect(alice.request(.caption(path: alice.path("Summer/a.jpg"), text: "hers")).code == 0)
        try #require(try party.village.settle())
        let newest = try #require(try tokens().max())
        let reply = bob.request(.undo(token: newest))
        #expect(reply.code == ExitCode.failed, "\(reply)")
        #expect(reply.lines[0].contains("in which you may only change what you added"), "\(reply)")
    }

    @Test func `a private copy that its user goes on with is not replaced by the next one`() throws {
        let party = try Party(bob: "readOnly")
        let (copies, shared) = ("Private copies of Summer", "alice/Summer/a.jpg")
        for number in 1...4 {
            try party.bob.machine.shared.write(shared, "version \(number)")
            #expect(try party.village.settle())
            // Every second one is drawn upon.
            guard number % 2 == 0, let copy = party.bob.tree(.library).first(where: { $0.value == "version \(number)" })
            else { continue }
            try party.bob.machine.library.write(copy.key, "drawn upon \(number)")
            #expect(try party.village.settle())
        }
        expectAll(party, Party.content)
        let kept = party.bob.tree(.library)
        #expect(Set(kept.values) == ["drawn upon 2", "drawn upon 4"])
        #expect(kept.keys.allSatisfy { $0.hasPrefix("\(copies)/a") }, "\(kept)")
    }

    @Test func `a contributor's edit of somebody else's photo is a private copy, and the original comes back`() throws {
        let party = try Party(bob: "contribute")
        #expect(try #require(try party.bob.machine.shared.stamp("alice/Summer/a.jpg")).mode & 0o222 == 0)
        try party.bob.machine.shared.write("alice/Summer/a.jpg", "bob's version")
        try party.bob.machine.shared.delete("alice/Summer/deep/b.jpg")
        #expect(try party.village.settleDeletions())
        try party.bob.machine.shared.write("alice/Summer/a.jpg", "bob's second version")
        #expect(try party.village.settle())
        expectAll(party, Party.content)
        #expect(party.bob.tree(.library) == ["Private copies of Summer/a.jpg": "bob's second version"])
        party.expectNamed("undone", by: [party.bob], containing: "Private copies of Summer")
        let path = party.bob.path("alice/Summer/a.jpg", .shared)
        #expect(party.bob.request(.caption(path: path, text: "x")).code == ExitCode.notPermitted)
        #expect(party.bob.request(.tag(path: path, titles: ["x"], isMember: true)).code == ExitCode.notPermitted)
        #expect(party.bob.request(.rate(path: path, value: 4)).code == 0)
        #expect(try party.village.settle())
        for replica in [party.alice, party.carol] {
            #expect(!replica.problems.contains { $0.code == "refused" }, "\(replica.problems.map(\.message))")
        }
    }

    @Test func `a contributor's forged changes of others' photos count for nobody, in any order of arrival`() throws {
        let party = try Party(bob: "contribute")
        let alices = try #require(try party.state("a.jpg"))
        let forger = try Forger(party.bob, zone: party.zone, in: party.village)
        let asset = try forger.upload(Array("forged".utf8))
        // An edit, a deletion, and a first write that claims the record, with and without a copied proof.
        try forger.send([
            forger.change(alices.name, .photo, .set([.content: .asset(asset)]), context: alices.vector),
            forger.change(alices.name, .photo, .delete, context: alices.vector),
            forger.change(alices.name, .photo, .set([.content: .asset(asset)])),
        ])
        var fields: [FieldKey: Value] = [.content: .asset(asset)]
        fields[.origin] = alices[.origin]
        try forger.send([forger.change(alices.name, .photo, .set(fields))])
        // A record without a proof, and one with it.
        try forger.send([try forger.photo("unproven.jpg", "unproven")])
        try party.village.meet()
        party.expectShown()
        party.expectNamed("refused", by: [party.alice, party.carol], containing: "bob")
        // Who joins late judges the same.
        try party.expectGoesOn()
    }
}

@Suite struct PermissionChangeTests {
    @Test func `sidecars and the files of tags may be written as the photos may`() throws {
        let party = try Party(bob: "readOnly")
        let photo = party.alice.path("Summer/a.jpg")
        #expect(party.alice.request(.tag(path: photo, titles: ["Beach"], isMember: true)).code == 0)
        try #require(try party.village.settle())
        let files = party.bob.machine.shared.entries().filter {
            "\($0.key)".hasSuffix(".json") && !"\($0.key)".contains(".shoebox/")
        }
        #expect(files.count == 2, "\(files.keys)")
        for (permission, isWritable) in [("readOnly", false), ("readWrite", true), ("readOnly", false)] {
            #expect(party.alice.request(.permission(share: "Summer", account: "bob", permission: permission)).code == 0)
            try #require(try party.village.settle())
            for (path, _) in files {
                let mode = try #require(try party.bob.machine.shared.stamp("\(path)")).mode
                #expect((mode & 0o222 != 0) == isWritable, "\(path), \(permission)")
            }
        }
    }

    @Test func `who is demoted keeps what was not published as a private copy, and file modes follow at once`() throws {
        let party = try Party(bob: "readWrite")
        #expect(try #require(try party.bob.machine.shared.stamp("alice/Summer/a.jpg")).mode & 0o200 != 0)
        party.bob.machine.mount.unmount()
        try party.bob.machine.shared.write("alice/Summer/a.jpg", "edited offline")
        try party.bob.machine.shared.write("alice/Summer/new.jpg", "new offline")
        try party.village.pass(3)
        #expect(party.alice.request(.permission(share: "Summer", account: "bob", permission: "readOnly")).code == 0)
        party.bob.machine.mount.mount()
        // Read before anything is published.
        try party.bob.engine.fetchAll()
        #expect(try party.village.settle())
        party.expectShown()
        #expect(
            party.bob.tree(.library) == [
                "Private copies of Summer/a.jpg": "edited offline", "Private copies of Summer/new.jpg": "new offline",
            ])
        #expect(party.bob.tree(.shared) == ["alice/Summer/a.jpg": "aaa", "alice/Summer/deep/b.jpg": "bbb"])
        #expect(try #require(try party.bob.machine.shared.stamp("alice/Summer/a.jpg")).mode & 0o222 == 0)
        party.expectNamed("demoted", by: [party.bob])
        #expect(party.alice.request(.permission(share: "Summer", account: "bob", permission: "readWrite")).code == 0)
        #expect(try party.village.settle())
        #expect(try #require(try party.bob.machine.shared.stamp("alice/Summer/a.jpg")).mode & 0o200 != 0)
        try party.bob.machine.shared.write("alice/Summer/a.jpg", "edited again")
        #expect(try party.village.settle())
        party.expectShown(["a.jpg": "edited again", "deep/b.jpg": "bbb"])
    }

    @Test func `who is demoted with changes that were not published is told so, whenever the process dies`() throws {
        var (write, hasDied) = (0, true)
        while hasDied {
            let party = try Party(bob: "readWrite", storesMayDie: true)
            party.bob.machine.mount.unmount()
            try party.bob.machine.shared.write("alice/Summer/new.jpg", "new offline")
            try party.village.pass(3)
            try #require(
                party.alice.request(.permission(share: "Summer", account: "bob", permission: "readOnly")).code == 0)
            party.bob.machine.mount.mount()
            hasDied = try party.bob.die(beforeWrite: write) { try party.bob.engine.fetchAll() }
            // Read before anything is published.
            try party.bob.engine.fetchAll()
            try #require(try party.village.settle())
            #expect(party.bob.problems.contains { $0.code == "demoted" }, "died before write \(write)")
            #expect(party.bob.tree(.library) == ["Private copies of Summer/new.jpg": "new offline"])
            write += 1
        }
        #expect(write > 3)
    }

    @Test func `whose edit of a sidecar is refused is told so, whenever the process dies`() throws {
        var (write, hasDied) = (0, true)
        while hasDied {
            let party = try Party(bob: "readOnly", storesMayDie: true)
            let bytes = Array(#"{"format": "shoebox.sidecar/1", "caption": "bob's words"}"#.utf8)
            try party.bob.machine.shared.write(try #require(RelativePath("alice/Summer/a.jpg.json")), bytes: bytes)
            hasDied = try party.bob.die(beforeWrite: write) { try party.rounds(of: party.bob, 4) }
            try #require(try party.village.settle())
            let trash = party.bob.machine.shared.tree().filter { $0.key.hasPrefix(".shoebox/trash/") }
            #expect(trash.values.contains(bytes), "died before write \(write): \(trash.keys)")
            #expect(party.bob.problems.map(\.code) == ["undone"], "died before write \(write)")
            #expect(party.bob.sidecar("alice/Summer/a.jpg", .shared)?.fields.caption != "bob's words")
            write += 1
        }
        #expect(write > 3)
    }

    @Test(arguments: ["readOnly", "contribute"])
    func `what was published before one knew of the demotion reaches the own library, and the history`(
        permission: String
    ) throws {
        let party = try Party(bob: "readWrite")
        // Taken, not published yet; then the demotion; then Bob publishes before he reads of it.
        try party.bob.machine.shared.write("alice/Summer/a.jpg", "published too late")
        for _ in 0..<3 {
            _ = try party.bob.engine.round(.all, reachesContainer: false)
            party.village.world.clock.advance(milliseconds: 700)
        }
        #expect(party.alice.request(.permission(share: "Summer", account: "bob", permission: permission)).code == 0)
        #expect(try party.bob.engine.pushAll() == 1)
        #expect(try party.village.settle())
        party.expectShown()
        #expect(party.bob.tree(.shared) == ["alice/Summer/a.jpg": "aaa", "alice/Summer/deep/b.jpg": "bbb"])
        #expect(party.bob.tree(.library) == ["Private copies of Summer/a.jpg": "published too late"])
        party.expectNamed("undone", by: [party.bob], containing: "counts for nobody")
        let refused = try party.bob.store.read { db in try db.history(after: 0, limit: .max) }
            .filter { $0.standing == .refused }
        #expect(refused.count == 1)
    }
}
