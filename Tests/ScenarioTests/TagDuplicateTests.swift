import Shoebox
import ShoeboxCloud
import ShoeboxLibrary
import ShoeboxModel
import ShoeboxPlanning
import ShoeboxStore
import ShoeboxTestSupport
import Testing

/// Tags with names that look alike, made by people who did not know of each other's.
@Suite struct TagDuplicateTests {
    /// What the owner, Bob and Carol say in sidecars of the share, by path there.
    private func tags(_ party: Party, _ path: String) -> [[String]] {
        [
            party.alice.sidecar("Summer/" + path, .library)?.fields.tags ?? [],
            party.bob.sidecar("alice/Summer/" + path, .shared)?.fields.tags ?? [],
            party.carol.sidecar("alice/Summer/" + path, .shared)?.fields.tags ?? [],
        ]
    }

    private func expectTags(
        _ party: Party, _ path: String, _ expected: [String], sourceLocation: SourceLocation = #_sourceLocation
    ) {
        #expect(tags(party, path) == [expected, expected, expected], sourceLocation: sourceLocation)
    }

    /// The tag files of the share at each of the three, sorted.
    private func tagFiles(_ party: Party) -> [[String]] {
        func names(_ replica: Replica, _ root: RootKind, _ folder: String) -> [String] {
            replica.tree(root, sidecars: true).keys.filter {
                $0.hasPrefix(folder + ".tags/") && !$0.contains(".shoebox")
            }
            .map { String($0.dropFirst((folder + ".tags/").utf8.count)) }.sorted()
        }
        return [
            names(party.alice, .library, "Summer/"), names(party.bob, .shared, "alice/Summer/"),
            names(party.carol, .shared, "alice/Summer/"),
        ]
    }

    private func tag(_ replica: Replica, _ path: String, _ titles: [String], isMember: Bool = true) throws {
        let root: RootKind = path.hasPrefix("alice/") ? .shared : .library
        let reply = replica.request(.tag(path: replica.path(path, root), titles: titles, isMember: isMember))
        try #require(reply.code == 0, "\(reply)")
    }

    /// Alice and Bob have each tagged another photo before they heard of each other.
    private func apart() throws -> Party {
        let party = try Party(bob: "readWrite")
        try tag(party.alice, "Summer/a.jpg", ["Beach"])
        try tag(party.bob, "alice/Summer/deep/b.jpg", ["béach"])
        try #require(try party.village.settle())
        return party
    }

    private func count(_ type: RecordType, _ replica: Replica, in zone: ZoneID) throws -> Int {
        try replica.store.read { db in try db.history(after: 0, limit: .max) }
            .filter { $0.zone == zone && $0.change.type == type }.count
    }

    @Test func `equal names made by two people become one tag, and no join is rewritten`() throws {
        let party = try apart()
        let shown = try #require(tags(party, "a.jpg").first)
        #expect(shown.count == 1 && normalizedTagName(shown[0]) == "beach")
        expectTags(party, "a.jpg", shown)
        expectTags(party, "deep/b.jpg", shown)
        #expect(tagFiles(party).allSatisfy { $0 == ["\(shown[0]).json"] }, "\(tagFiles(party))")
        for replica in [party.alice, party.bob, party.carol] {
            let counts = (try count(.tag, replica, in: party.zone), try count(.photoTag, replica, in: party.zone))
            #expect(counts == (2, 2))
        }
        // Tagging once more with any spelling is nothing new.
        try tag(party.carol, "alice/Summer/a.jpg", ["BEACH"])
        try #require(try party.village.settle())
        let again = try count(.tag, party.carol, in: party.zone)
        #expect(again == 2)
        expectTags(party, "a.jpg", shown)
    }

    @Test func `two devices of one account that tag offline end with one tag on both photos`() throws {
        var village = try Village(labels: ["alice"])
        let phone = village.replicas[0]
        let laptop = try village.addDevice(of: phone, name: "laptop")
        try phone.machine.library.write("a.jpg", "aaa")
        try phone.machine.library.write("b.jpg", "bbb")
        try #require(try village.settle())
        for device in [phone, laptop] { device.machine.mount.attach(.missing) }
        try tag(phone, "a.jpg", ["Beach"])
        try tag(laptop, "b.jpg", ["beach"])
        try village.pass(3)
        for device in [phone, laptop] { device.machine.mount.mount() }
        try #require(try village.settle())
        let shown = phone.sidecar("a.jpg", .library)?.fields.tags
        #expect(shown?.count == 1)
        for device in [phone, laptop] {
            for path in ["a.jpg", "b.jpg"] { #expect(device.sidecar(path, .library)?.fields.tags == shown) }
            #expect(device.tree(.library, sidecars: true).keys.filter { $0.hasPrefix(".tags/") }.count == 1)
        }
    }

    @Test func `a tag that is deleted does not come back through its duplicates`() throws {
        let party = try apart()
        let reply = party.carol.request(.tagDelete(title: "beach", scope: .share("Summer")))
        #expect(reply.code == 0 && reply.values["photos"] == "2", "\(reply)")
        try #require(try party.village.settle())
        expectTags(party, "a.jpg", [])
        expectTags(party, "deep/b.jpg", [])
        #expect(tagFiles(party).joined().isEmpty, "\(tagFiles(party))")
        // Nor where the photo goes to from here.
        let removed = party.alice.request(.shareRemove(share: "Summer", paths: [party.alice.path("Summer/a.jpg")]))
        #expect(removed.code == 0, "\(removed)")
        try #require(try party.village.settle())
        #expect((party.alice.sidecar("a.jpg", .library)?.fields.tags ?? []).isEmpty)
        #expect(party.alice.request(.tagDelete(title: "beach", scope: .any)).code == 10)
        // A new tag of that name is a new one: the old photos do not have it.
        try tag(party.bob, "alice/Summer/deep/b.jpg", ["Beach"])
        try #require(try party.village.settle())
        expectTags(party, "deep/b.jpg", ["Beach"])
        #expect((party.alice.sidecar("a.jpg", .library)?.fields.tags ?? []).isEmpty)
    }

    @Test func `a duplicate that the deleter had not seen stays with its photo`() throws {
        let party = try Party(bob: "readWrite")
        try tag(party.alice, "Summer/a.jpg", ["Beach"])
        try #require(try party.village.settle())
        party.bob.machine.mount.attach(.missing)
        // Bob's own tag of that name, as a device makes it that does not know of Alice's.
        let forger = try Forger(party.bob, zone: party.zone, in: party.village)
        #expect(party.carol.request(.tagDelete(title: "Beach", scope: .any)).code == 0)
        try party.village.pass(3)
        let photo = try #require(
            try party.alice.store.read { db in try db.files(in: party.zone).first { $0.name?.text == "b.jpg" }?.id.name
            })
        try forger.send(tagged(forger, photo, as: "beach", tag: 1))
        party.bob.machine.mount.mount()
        try party.village.meet()
        expectTags(party, "a.jpg", [])
        expectTags(party, "deep/b.jpg", ["beach"])
    }

    @Test func `renaming a tag renames all that show as it, by command and by file`() throws {
        let party = try apart()
        let reply = party.alice.request(.tagRename(title: "BEACH", newTitle: "Coast", scope: .any))
        #expect(reply.code == 0, "\(reply)")
        try #require(try party.village.settle())
        expectTags(party, "a.jpg", ["Coast"])
        expectTags(party, "deep/b.jpg", ["Coast"])
        let file = try party.bob.machine.shared.text("alice/Summer/.tags/Coast.json")
        try party.bob.machine.shared.write(
            "alice/Summer/.tags/Coast.json", file.split(separator: "Coast").joined(separator: "Shore"))
        try #require(try party.village.settle())
        expectTags(party, "a.jpg", ["Shore"])
        expectTags(party, "deep/b.jpg", ["Shore"])
        #expect(tagFiles(party).allSatisfy { $0 == ["Shore.json"] }, "\(tagFiles(party))")
    }

    @Test func `a tag renamed to another's name is one with it, and renamed apart takes its own photos along`() throws {
        let party = try Party(bob: "readWrite")
        try tag(party.alice, "Summer/a.jpg", ["Lake"])
        try tag(party.alice, "Summer/deep/b.jpg", ["Sea"])
        try #require(try party.village.settle())
        #expect(party.alice.request(.tagRename(title: "Sea", newTitle: "lake", scope: .any)).code == 0)
        try #require(try party.village.settle())
        let shown = try #require(tags(party, "a.jpg").first)
        #expect(shown.map(normalizedTagName) == ["lake"])
        expectTags(party, "a.jpg", shown)
        expectTags(party, "deep/b.jpg", shown)
        #expect(tagFiles(party).allSatisfy { $0.count == 1 }, "\(tagFiles(party))")
    }

    @Test func `sharing copies the names of tags and never drags neighbours along`() throws {
        let village = try Village(labels: ["alice", "bob"])
        let (alice, bob) = (village.replicas[0], village.replicas[1])
        try alice.machine.library.write("x.jpg", "xxx")
        try alice.machine.library.write("y.jpg", "yyy")
        try #require(try village.settle())
        try tag(alice, "x.jpg", ["Lake", "Family"])
        try tag(alice, "y.jpg", ["Lake", "Secret"])
        let made = alice.request(
            .shareCreate(paths: [alice.path("x.jpg")], title: "One", publicPermission: "none", isSealed: true))
        try #require(made.code == 0)
        #expect(alice.request(.invite(share: "One", accounts: ["bob"], permission: "readWrite")).code == 0)
        #expect(bob.request(.acceptAllPending).code == 0)
        try #require(try village.settle())
        #expect(bob.tree(.shared) == ["alice/One/x.jpg": "xxx"])
        #expect(bob.sidecar("alice/One/x.jpg", .shared)?.fields.tags == ["Family", "Lake"])
        #expect(
            bob.tree(.shared, sidecars: true).keys.filter { $0.contains(".tags/") }.sorted()
                == ["alice/One/.tags/Family.json", "alice/One/.tags/Lake.json"])
        // The two are tags of their own from now on.
        #expect(alice.request(.tagRename(title: "Lake", newTitle: "Pond", scope: .any)).code == 10)
        #expect(bob.request(.tagRename(title: "Lake", newTitle: "Pond", scope: .share("One"))).code == 0)
        try #require(try village.settle())
        #expect(alice.sidecar("x.jpg", .library)?.fields.tags == ["Family", "Pond"])
        #expect(alice.sidecar("y.jpg", .library)?.fields.tags == ["Lake", "Secret"])
        #expect(alice.request(.tagDelete(title: "Pond", scope: .library)).code == 10)
    }

    @Test func `the same photo dropped by two people is one photo with the tags of both`() throws {
        let party = try Party(bob: "readWrite")
        for (replica, titles) in [(party.bob, ["Bob's", "Both"]), (party.carol, ["Carol's", "both"])] {
            try replica.machine.shared.write("alice/Summer/new.jpg", "new")
            try replica.round()
            party.village.world.clock.advance(milliseconds: 700)
            replica.machine.mount.attach(.missing)
            try replica.round()
            try tag(replica, "alice/Summer/new.jpg", titles)
        }
        #expect(
            party.bob.request(.caption(path: party.bob.path("alice/Summer/new.jpg", .shared), text: "By Bob")).code == 0
        )
        #expect(party.carol.request(.rate(path: party.carol.path("alice/Summer/new.jpg", .shared), value: 4)).code == 0)
        for replica in [party.bob, party.carol] { replica.machine.mount.mount() }
        try #require(try party.village.settle())
        let whole = Party.content.merging(["new.jpg": "new"]) { $1 }
        party.expectShown(whole)
        #expect(party.bob.tree(.shared).count == 3)
        let both = try #require(tags(party, "new.jpg").first?.first { normalizedTagName($0) == "both" })
        expectTags(party, "new.jpg", ["Bob's", both, "Carol's"])
        #expect(party.alice.sidecar("Summer/new.jpg", .library)?.fields.caption == "By Bob")
        #expect(party.carol.sidecar("alice/Summer/new.jpg", .shared)?.fields.rating == 4)
        // Taking one away takes it from the photo, whoever gave it.
        try tag(party.alice, "Summer/new.jpg", ["Carol's", "Both"], isMember: false)
        try #require(try party.village.settle())
        expectTags(party, "new.jpg", ["Bob's"])
        // An edit of its bytes is an edit of the one photo, tags kept.
        try tag(party.carol, "alice/Summer/new.jpg", ["Later"])
        try party.carol.machine.shared.write("alice/Summer/new.jpg", "newer")
        try #require(try party.village.settle())
        party.expectShown(Party.content.merging(["new.jpg": "newer"]) { $1 })
        expectTags(party, "new.jpg", ["Bob's", "Later"])
        #expect(party.bob.sidecar("alice/Summer/new.jpg", .shared)?.fields.caption == "By Bob")
    }

    // MARK: Orders of arrival

    private func tagged(_ forger: Forger, _ photo: RecordName, as title: String, tag number: UInt128) -> [Change] {
        let tag = RecordName(number)
        return [
            forger.change(tag, .tag, .set([.title: .text(title)])),
            forger.change(
                Derivation.photoTag(photo: photo, tag: tag), .photoTag,
                .set([.photo: .reference(photo), .tag: .reference(tag), .member: .boolean(true)])),
        ]
    }

    private static let orders: [[Int]] = {
        func permutations(_ rest: [Int]) -> [[Int]] {
            rest.isEmpty
                ? [[]] : rest.flatMap { first in permutations(rest.filter { $0 != first }).map { [first] + $0 } }
        }
        return permutations([0, 1, 2, 3])
    }()

    @Test(arguments: TagDuplicateTests.orders)
    func `four histories of equal tags show the same in any order of arrival`(order: [Int]) throws {
        let party = try Party(bob: "readWrite")
        let (a, b) = try party.alice.store.read { db in
            let files = try db.files(in: party.zone)
            return (
                try #require(files.first { $0.name?.text == "a.jpg" }?.id.name),
                try #require(files.first { $0.name?.text == "b.jpg" }?.id.name)
            )
        }
        var forgers: [Forger] = []
        for (index, replica) in [party.alice, party.bob, party.carol, party.bob].enumerated() {
            forgers.append(try Forger(replica, zone: party.zone, in: party.village, seed: UInt64(20 + index)))
        }
        func shown(_ forger: Forger) -> VersionVector { [forger.identity.replica: forger.counter] }
        var histories = [tagged(forgers[0], a, as: "Beach", tag: 5), tagged(forgers[1], b, as: "beach", tag: 2)]
        var third = tagged(forgers[2], a, as: "BEACH", tag: 9) + tagged(forgers[2], b, as: "BEACH", tag: 9).suffix(1)
        third.append(
            forgers[2].change(RecordName(9), .tag, .set([.title: .text("Sea")]), context: shown(forgers[2])))
        histories.append(third)
        var fourth = tagged(forgers[3], a, as: "Beach", tag: 1)
        fourth.append(forgers[3].change(RecordName(1), .tag, .delete, context: shown(forgers[3])))
        histories.append(fourth + tagged(forgers[3], b, as: "sea", tag: 7))
        for index in order {
            try forgers[index].send(histories[index])
            try party.village.meet()
        }
        // 2 represents 5, 7 represents 9; 1 is gone, and what was in it only is in nothing.
        expectTags(party, "a.jpg", ["beach", "sea"])
        expectTags(party, "deep/b.jpg", ["beach", "sea"])
        #expect(tagFiles(party).allSatisfy { $0 == ["beach.json", "sea.json"] }, "\(tagFiles(party))")
        #expect(try party.village.settle())
    }
}
