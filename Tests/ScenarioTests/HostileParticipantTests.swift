import ShoeboxLibrary
import ShoeboxModel
import ShoeboxPlanning
import ShoeboxStore
import ShoeboxTestSupport
import ShoeboxWorld
import Testing

@testable import Shoebox
@testable import ShoeboxCloud

/// Writes straight into the container, with valid keys of one's own: no reader takes what its sender may not write.
@Suite struct HostileParticipantTests {
    private func record(_ name: String, of replica: Replica, in zone: ZoneID) throws -> RecordRow {
        let wanted = try name.fileName
        return try #require(try replica.store.read { db in try db.files(in: zone).first { $0.name == wanted } })
    }

    /// Also where anybody might come by a link.
    @Test(arguments: [false, true])
    func `heads of hundreds of replicas of a stranger are not counted, and stop nobody`(isOpen: Bool) throws {
        let party = try Party(bob: "readWrite", others: ["dave"])
        let dave = party.village.replicas[3]
        if isOpen {
            let open = Request.setPublic(share: "Summer", permission: "readWrite", renews: false)
            try #require(party.alice.request(open).code == 0)
            try party.village.meet()
        }
        for number in 0..<140 as Range<UInt64> {
            let forger = try Forger(dave, zone: party.zone, in: party.village, stranger: true, seed: 2_000 + number)
            try forger.send([try forger.photo("dave \(number).jpg", "dave \(number)")])
        }
        try party.carol.machine.shared.write("alice/Summer/hers.jpg", "hers")
        try party.village.meet()
        #expect(party.alice.tree(.library)["Summer/hers.jpg"] == "hers")
        for replica in [party.alice, party.carol] {
            #expect(!replica.problems.contains { $0.code == "tooManyReplicas" }, "\(replica.problems)")
        }
    }

    @Test func `one who publishes as hundreds of replicas is named, and stops nobody`() throws {
        let party = try Party(bob: "readWrite")
        for number in 0..<160 as Range<UInt64> {
            let forger = try Forger(party.bob, zone: party.zone, in: party.village, seed: 1_000 + number)
            try forger.send([try forger.photo("bob \(number).jpg", "bob \(number)")])
        }
        try party.village.meet()
        party.expectNamed("tooManyReplicas", by: [party.alice, party.carol], containing: "bob")
        try party.alice.machine.library.write("Summer/later.jpg", "later")
        try party.carol.machine.shared.write("alice/Summer/hers.jpg", "hers")
        try party.village.meet()
        #expect(party.carol.tree(.shared)["alice/Summer/later.jpg"] == "later")
        #expect(party.alice.tree(.library)["Summer/hers.jpg"] == "hers")
        let known = try party.alice.store.read { db in try db.peers(of: party.zone) }
        #expect(known.count(where: { $0.account == party.bob.identity.account }) == 128)
    }

    @Test func `what a read-only participant writes into the container counts for nobody`() throws {
        let party = try Party(bob: "readOnly")
        let forger = try Forger(party.bob, zone: party.zone, in: party.village)
        let photo = try record("a.jpg", of: party.alice, in: party.zone)
        let vector = try #require(try party.alice.store.read { db in try db.state(of: photo.id)?.vector })
        try forger.send([
            try forger.photo("planted.jpg", "planted"),
            forger.change(photo.id.name, .photo, .set([.caption: .text("mine")]), context: vector),
            forger.change(photo.id.name, .photo, .delete, context: vector),
        ])
        try party.village.meet()
        party.expectShown()
        party.expectNamed("refused", by: [party.alice, party.carol], containing: "bob")
        #expect(party.alice.sidecar("Summer/a.jpg", .library)?.fields.caption == nil)
        try party.expectGoesOn()
    }

    @Test func `promoting a participant does not make count what was refused`() throws {
        let party = try Party(bob: "readOnly")
        let forger = try Forger(party.bob, zone: party.zone, in: party.village)
        try forger.send([try forger.photo("before.jpg", "before")])
        try party.village.meet()
        let reply = party.alice.request(.permission(share: "Summer", account: "bob", permission: "readWrite"))
        #expect(reply.code == 0, "\(reply)")
        try party.village.meet()
        party.expectShown()
        try forger.send([try forger.photo("after.jpg", "after")])
        try party.village.meet()
        party.expectShown(Party.content.merging(["after.jpg": "after"]) { $1 })
    }

    @Test func `what a removed participant writes later counts for nobody`() throws {
        let party = try Party(bob: "readWrite")
        let forger = try Forger(party.bob, zone: party.zone, in: party.village)
        try forger.send([try forger.photo("early.jpg", "early")])
        let other = try Forger(party.bob, zone: party.zone, in: party.village, seed: 8)
        try party.village.meet()
        let early = Party.content.merging(["early.jpg": "early"]) { $1 }
        party.expectShown(early)
        let reply = party.alice.request(.uninvite(share: "Summer", accounts: ["bob"]))
        #expect(reply.code == 0, "\(reply)")
        try forger.send([try forger.photo("late.jpg", "late")])
        try other.send([try other.photo("late too.jpg", "late too")])
        try party.village.meet()
        party.expectShown(early)
        party.expectNamed("refused", by: [party.alice, party.carol], containing: "bob")
        #expect(party.bob.problems.contains { $0.code == "ended" })
        try party.expectGoesOn(early)
    }

    @Test func `a head of an impossible time keeps nobody from being put out`() throws {
        let party = try Party(bob: "readWrite")
        let forger = try Forger(party.alice, zone: party.zone, in: party.village)
        try forger.appendHead(wallMilliseconds: .max)
        try party.village.meet()
        #expect(party.alice.request(.uninvite(share: "Summer", accounts: ["bob"])).code == 0)
        try party.village.meet()
        #expect(party.bob.problems.contains { $0.code == "ended" })
        #expect(party.bob.tree(.shared).isEmpty)
        try party.expectGoesOn()
    }

    @Test func `heads that name segments without end leave it known what is pending`() throws {
        let party = try Party(bob: "readWrite")
        for seed in [7, 8, 9] as [UInt64] {
            let forger = try Forger(party.bob, zone: party.zone, in: party.village, seed: seed)
            forger.last = Position(sequence: seed == 9 ? .max : UInt64(Int64.max), hash: sha256([UInt8(seed)]))
            try forger.appendHead()
        }
        try party.village.meet()
        for replica in [party.alice, party.carol] {
            let pending = try replica.store.read { db in try PendingCounts(db, replica: replica.identity.replica) }
            #expect((1...2_000_000_000).contains(pending.fetch))
        }
        try party.expectGoesOn()
    }

    @Test func `a stranger's files count for nobody and are named`() throws {
        let party = try Party(bob: "readWrite", others: ["dave"])
        let dave = party.village.replicas[3]
        let forger = try Forger(dave, zone: party.zone, in: party.village, stranger: true)
        try forger.send([try forger.photo("stranger.jpg", "stranger")])
        try party.village.meet()
        party.expectShown()
        party.expectNamed("stranger", by: [party.alice, party.carol], containing: dave.identity.account.fingerprint)
        try party.expectGoesOn()
        // It is not what anybody waits for.
        #expect(try party.village.settle())
    }

    @Test func `plain segments count for nothing in a sealed zone`() throws {
        let party = try Party(bob: "readWrite")
        let forger = try Forger(party.bob, zone: party.zone, in: party.village)
        forger.isSealed = false
        try forger.send([try forger.photo("plain.jpg", "plain")])
        try party.village.meet()
        party.expectShown()
        party.expectNamed("segmentDamaged", by: [party.alice, party.carol])
        try party.expectGoesOn()
    }

    /// Changes that a participant may not send, although it may write: under others' names, or of kinds that no share
    /// has. `alice` is the owner's replica.
    enum Smuggled: String, CaseIterable {
        case othersDot, othersAuthor, placement, hugeCounter, forwardedDot
    }

    @Test(arguments: Smuggled.allCases)
    func `a change that its sender may not carry counts for nobody, also after the next control`(
        kind: Smuggled
    ) throws {
        let party = try Party(bob: "readWrite")
        let forger = try Forger(party.bob, zone: party.zone, in: party.village)
        let photo = try record("a.jpg", of: party.alice, in: party.zone)
        let vector = try #require(try party.alice.store.read { db in try db.state(of: photo.id)?.vector })
        let owner = party.alice.identity
        let fields: Change.Action = .set([.name: .name(try "renamed.jpg".fileName)])
        let change: Change =
            switch kind {
            case .othersDot:
                forger.change(
                    photo.id.name, .photo, fields, context: vector, dot: Dot(replica: owner.replica, counter: 1_000_000)
                )
            case .othersAuthor: forger.change(photo.id.name, .photo, fields, context: vector, author: owner.account)
            case .placement:
                forger.change(
                    RecordName(77), .placement,
                    .set([
                        .targetZone: .bytes(party.zone.digest.bytes), .targetRecord: .reference(photo.id.name),
                        .name: .name(try "renamed.jpg".fileName), .parent: .null,
                    ]))
            case .hugeCounter:
                forger.change(
                    photo.id.name, .photo, fields, context: vector,
                    dot: Dot(replica: forger.identity.replica, counter: 1 << 63))
            case .forwardedDot:
                {
                    var change = forger.change(photo.id.name, .photo, fields, context: vector)
                    change.forwards = Dot(replica: owner.replica, counter: 1_000_000)
                    return change
                }()
            }
        try forger.send([change])
        try party.village.meet()
        party.expectShown()
        party.expectNamed("refused", by: [party.alice, party.carol], containing: "bob")
        // Any new control has everything judged again.
        #expect(party.alice.request(.shareTitle(share: "Summer", title: "Sommer")).code == 0)
        try party.village.meet()
        #expect(party.alice.tree(.library).keys.sorted() == ["Private/c.jpg", "Summer/a.jpg", "Summer/deep/b.jpg"])
        #expect(party.carol.tree(.shared).values.sorted() == ["aaa", "bbb"])
        #expect(!party.carol.tree(.shared).keys.contains { $0.contains("renamed") })
    }

    @Test func `a segment of another zone counts for nothing where it is put`() throws {
        let party = try Party(bob: "readWrite")
        let made = party.alice.request(
            .shareCreate(
                paths: [party.alice.path("Private")], title: "Other", publicPermission: "none", isSealed: true))
        let other = try #require(ZoneID(hex: made.values["id"] ?? ""))
        #expect(party.alice.request(.invite(share: "Other", accounts: ["carol"], permission: "readWrite")).code == 0)
        #expect(party.carol.request(.acceptAllPending).code == 0)
        try party.village.meet()
        // Somebody with the mount copies all that is in one zone's folder beside what is in the other's.
        let prefix = "zones/\(other)/"
        for path in try party.village.mountFiles(prefix) {
            let bytes = try #require(party.village.world.storage.rawRead(path))
            let target = "zones/\(party.zone)/" + path.description.dropFirst(prefix.utf8.count)
            if party.village.world.storage.rawRead(try target.mountPath) == nil {
                party.village.world.storage.rawWrite(try target.mountPath, bytes)
            }
        }
        try party.village.meet()
        #expect(party.bob.tree(.shared).values.sorted() == ["aaa", "bbb"])
        #expect(party.carol.tree(.shared).values.sorted() == ["aaa", "bbb", "ccc"])
        // Controls are read again when there is a new one: then what is none of the zone's is named.
        #expect(party.alice.request(.permission(share: "Summer", account: "bob", permission: "readOnly")).code == 0)
        try party.village.meet()
        for replica in [party.alice, party.bob, party.carol] {
            let named = replica.problems.filter { $0.zone == party.zone && $0.code == "controlRefused" }
            #expect(!named.isEmpty && named.allSatisfy { !$0.remedy.isEmpty }, "\(replica.label)")
        }
        try party.alice.machine.library.write("Summer/later.jpg", "later")
        try party.village.meet()
        #expect(party.bob.tree(.shared)["alice/Summer/later.jpg"] == "later")
        #expect(party.carol.tree(.shared)["alice/Summer/later.jpg"] == "later")
    }

    @Test func `a participant's segment replayed in another zone of theirs is no news there`() throws {
        let party = try Party(bob: "readWrite")
        let forger = try Forger(party.bob, zone: party.zone, in: party.village)
        try forger.send(
            [try forger.photo("elsewhere.jpg", "elsewhere")], in: ZoneID(Digest32(high: 1, low: 1)))
        try party.village.meet()
        party.expectShown()
        party.expectNamed("segmentDamaged", by: [party.alice, party.carol], containing: "another zone")
        try party.expectGoesOn()
    }

    @Test func `a control that a participant signs counts for nobody and is named`() throws {
        let party = try Party(bob: "readOnly")
        let forger = try Forger(party.bob, zone: party.zone, in: party.village)
        let row = try #require(try party.alice.store.read { db in try db.zone(party.zone) })
        var control = try ControlCoder.decode(Array(row.control))
        control.participants[party.bob.identity.account]?.permission = .readWrite
        control.participants[party.carol.identity.account]?.status = .removed
        control.title = "Bob's now"
        let bytes = try ControlFile.encode(
            control, zone: party.zone, version: row.controlVersion + 1, parents: [row.controlHash],
            identity: forger.identity, keyring: forger.keyring, recipients: [], nowMilliseconds: 1,
            randomBytes: forger.bytes)
        let version = ControlVersion(version: row.controlVersion + 1, hash: sha256(bytes))
        try forger.mount.publish("zones/\(party.zone)/control/\(version)".mountPath, bytes)
        forger.control = version
        try forger.send([try forger.photo("promoted.jpg", "promoted")])
        try party.village.meet()
        party.expectShown()
        party.expectNamed("controlRefused", by: [party.alice, party.carol])
        // Nor does it get in the way of the next one of the owner's.
        #expect(party.alice.request(.permission(share: "Summer", account: "carol", permission: "readOnly")).code == 0)
        try party.village.meet()
        #expect(
            party.carol.request(.caption(path: party.carol.path("alice/Summer/a.jpg", .shared), text: "x")).code == 12)
    }

    @Test func `an old control that is put back undoes no removal`() throws {
        let party = try Party(bob: "readWrite")
        let storage = party.village.world.storage
        let before = storage.tree().filter { $0.key.contains("/control/") }
        let forger = try Forger(party.bob, zone: party.zone, in: party.village)
        #expect(party.alice.request(.uninvite(share: "Summer", accounts: ["bob"])).code == 0)
        try party.village.pass(6)
        for (path, _) in storage.tree() where path.contains("/control/") && before[path] == nil {
            storage.rawRemove(try path.mountPath)
        }
        for (path, bytes) in before { storage.rawWrite(try path.mountPath, bytes) }
        try forger.send([try forger.photo("back.jpg", "back")])
        try party.village.meet()
        party.expectShown()
        party.expectNamed("refused", by: [party.alice, party.carol], containing: "bob")
        try party.expectGoesOn()
        // The owner's next change stands on the removal, not on what was put back.
        _ = party.alice.request(.shareTitle(share: "Summer", title: "Sommer"))
        try party.village.pass(6)
        #expect(!party.carol.tree(.shared).values.contains("back"))
    }
}
