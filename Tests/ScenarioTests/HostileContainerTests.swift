import Foundation
import Shoebox
import ShoeboxFormat
import ShoeboxLibrary
import ShoeboxModel
import ShoeboxPlanning
import ShoeboxStore
import ShoeboxTestSupport
import ShoeboxWorld
import Testing

@testable import ShoeboxCloud

/// People with full write access to the mount and keys of their own, or stolen ones, each trying to make readers take
/// what they have no right to write.
@Suite struct HostileContainerTests {
    /// Who attacks.
    enum Attacker: String, CaseIterable {
        /// Never invited.
        case stranger
        /// Invited to read and write once, then removed; has the keys of that time.
        case removed
        /// May read.
        case readOnly
        /// May read and write in another share of the same owner.
        case otherZone
        /// Removed, with the control of the time when it could write, which takes the place of the present one.
        case oldControl
    }

    /// What they are after.
    enum Goal: String, CaseIterable { case change, permission, tag, asset }

    static let cases = Attacker.allCases.flatMap { attacker in Goal.allCases.map { (attacker, $0) } }

    private func record(_ name: String, _ party: Party) throws -> (RecordName, VersionVector) {
        let wanted = try name.fileName
        return try party.alice.store.read { db in
            let row = try #require(try db.files(in: party.zone).first { $0.name == wanted })
            return (row.id.name, try db.state(of: row.id)?.vector ?? [:])
        }
    }

    /// The party and its attacker, ready to write.
    private func stage(_ attacker: Attacker) throws -> (Party, Forger, removed: [String: [UInt8]]) {
        let party = try Party(bob: attacker == .readOnly ? "readOnly" : "readWrite", others: ["dave"])
        let dave = party.village.replicas[3]
        let storage = party.village.world.storage
        switch attacker {
        case .stranger:
            return (party, try Forger(dave, zone: party.zone, in: party.village, stranger: true), [:])
        case .readOnly:
            return (party, try Forger(party.bob, zone: party.zone, in: party.village), [:])
        case .otherZone:
            let made = party.alice.request(
                .shareCreate(
                    paths: [party.alice.path("Private")], title: "Other", publicPermission: "none", isSealed: true))
            let other = try #require(ZoneID(hex: made.values["id"] ?? ""))
            #expect(party.alice.request(.invite(share: "Other", accounts: ["dave"], permission: "readWrite")).code == 0)
            #expect(dave.request(.acceptAllPending).code == 0)
            try party.village.pass(6)
            let forger = try Forger(dave, zone: party.zone, in: party.village, stranger: true)
            // The keys that it has are those of the other share.
            let row = try #require(try dave.store.read { db in try db.zone(other) })
            forger.keyring = try ZoneKeyring(serialized: Array(row.keyring))
            return (party, forger, [:])
        case .removed, .oldControl:
            let forger = try Forger(party.bob, zone: party.zone, in: party.village)
            let before = storage.tree().filter { $0.key.hasPrefix("zones/\(party.zone)/control/") }
            let row = try #require(try party.bob.store.read { db in try db.zone(party.zone) })
            #expect(party.alice.request(.uninvite(share: "Summer", accounts: ["bob"])).code == 0)
            try party.village.pass(6)
            var removed: [String: [UInt8]] = [:]
            if attacker == .oldControl {
                removed = storage.tree().filter {
                    $0.key.hasPrefix("zones/\(party.zone)/control/") && before[$0.key] == nil
                }
                for path in removed.keys { storage.rawRemove(try path.mountPath) }
                forger.control = ControlVersion(version: row.controlVersion, hash: row.controlHash)
            }
            return (party, forger, removed)
        }
    }

    @Test(arguments: HostileContainerTests.cases)
    func `nobody makes a reader accept what they have no right to write, and status names who tried`(
        attacker: Attacker, goal: Goal
    ) throws {
        let (party, forger, removed) = try stage(attacker)
        let (photo, vector) = try record("a.jpg", party)
        var wasAsset: [MountPath: [UInt8]] = [:]
        switch goal {
        case .change:
            try forger.send([
                try forger.photo("planted.jpg", "planted"),
                forger.change(
                    photo, .photo, .set([.caption: .text("mine"), .name: .name(try "mine.jpg".fileName)]),
                    context: vector),
                forger.change(photo, .photo, .delete, context: vector),
            ])
        case .tag:
            let tag = RecordName(5)
            try forger.send([
                forger.change(tag, .tag, .set([.title: .text("mine")])),
                forger.change(
                    Derivation.photoTag(photo: photo, tag: tag), .photoTag,
                    .set([.photo: .reference(photo), .tag: .reference(tag), .member: .boolean(true)])),
                forger.change(
                    Derivation.rating(photo: photo, account: forger.identity.account), .rating,
                    .set([.photo: .reference(photo), .value: .integer(1)])),
            ])
        case .permission:
            let row = try #require(try party.alice.store.read { db in try db.zone(party.zone) })
            var control = try ControlCoder.decode(Array(row.control))
            let me = forger.identity.account
            control.participants[me] = Participant(
                account: me, label: "me", permission: .readWrite, status: .accepted, generation: 1_000)
            control.participants[party.carol.identity.account]?.status = .removed
            control.title = "mine"
            let bytes = try ControlFile.encode(
                control, zone: party.zone, version: row.controlVersion + 1, parents: [row.controlHash],
                identity: forger.identity, keyring: forger.keyring, recipients: [], nowMilliseconds: 1,
                randomBytes: forger.bytes)
            let version = ControlVersion(version: row.controlVersion + 1, hash: sha256(bytes))
            try forger.mount.publish("zones/\(party.zone)/control/\(version)".mountPath, bytes)
            forger.control = version
            try forger.send([try forger.photo("planted.jpg", "planted")])
        case .asset:
            // Every asset is replaced by a valid one of the attacker's own bytes; and a change asks for it.
            let planted = try forger.upload(Array("planted".utf8))
            let path = try "assets/\(try #require(planted.location))".mountPath
            let bytes = try #require(party.village.world.storage.rawRead(path))
            for name in party.village.assetNames where name != path.description {
                wasAsset[try name.mountPath] = party.village.world.storage.rawRead(try name.mountPath)
                party.village.world.storage.rawWrite(try name.mountPath, bytes)
            }
            try forger.send([
                forger.change(photo, .photo, .set([.content: .asset(planted)]), context: vector)
            ])
        }
        try party.village.meet()
        party.expectShown()
        for sidecar in [
            party.alice.sidecar("Summer/a.jpg", .library), party.carol.sidecar("alice/Summer/a.jpg", .shared),
        ] { #expect(sidecar == nil, "\(String(describing: sidecar?.fields))") }
        let titles = try party.carol.store.read { db in try db.zone(party.zone) }
            .map { try ControlCoder.decode(Array($0.control)).title }
        #expect(titles == "Summer")
        let isStranger = attacker == .stranger || attacker == .otherZone
        party.expectNamed(
            isStranger ? "stranger" : "refused", by: [party.alice, party.carol],
            containing: isStranger ? forger.identity.account.fingerprint : "bob")
        if goal == .permission, attacker == .readOnly {
            party.expectNamed("controlRefused", by: [party.alice, party.carol], containing: "bob")
        }
        if goal == .asset {
            // The owner changes a control only in sight of the last one.
            for (path, bytes) in removed { party.village.world.storage.rawWrite(try path.mountPath, bytes) }
            // Who comes anew has nothing but the container, and takes none of it.
            let erin = try newcomer(party)
            let shown = { erin.tree(.shared).filter { $0.key.hasPrefix("alice/Summer/") }.values.sorted() }
            #expect(shown() == [])
            party.expectNamed("contentDamaged", by: [erin])
            for (path, bytes) in wasAsset { party.village.world.storage.rawWrite(path, bytes) }
            try party.village.meet()
            #expect(shown() == ["aaa", "bbb"])
        }
        try party.expectGoesOn()
    }

    /// Dave, invited only now. (Where Dave is the attacker, his own engine is innocent.)
    private func newcomer(_ party: Party) throws -> Replica {
        let dave = party.village.replicas[3]
        #expect(party.alice.request(.invite(share: "Summer", accounts: ["dave"], permission: "readOnly")).code == 0)
        try party.village.pass(2)
        #expect(dave.request(.accept(link: party.link)).code == 0)
        try rounds(dave, in: party)
        return dave
    }

    // MARK: Replay, rollback, truncation

    private func segments(_ party: Party, of replica: Replica) throws -> [MountPath] {
        try party.village.mountFiles("zones/\(party.zone)/log/\(replica.identity.replica)/")
    }

    private func heads(_ party: Party, of replica: Replica) throws -> [MountPath: [UInt8]] {
        try party.village.mountFiles("zones/\(party.zone)/heads/\(replica.identity.replica)")
            .reduce(into: [:]) { $0[$1] = party.village.world.storage.rawRead($1) }
    }

    /// Rounds of one replica, far enough apart for a mount that shows news late.
    private func rounds(_ replica: Replica, in party: Party, _ count: Int = 4) throws {
        for _ in 0..<count {
            try replica.round()
            party.village.world.clock.advance(milliseconds: 10_500)
        }
    }

    @Test func `a replayed deletion deletes nothing again`() throws {
        let party = try Party(bob: "readWrite")
        let storage = party.village.world.storage
        // Carol deletes a photo, and Alice brings it back under the same record.
        try party.carol.machine.shared.delete("alice/Summer/a.jpg")
        try party.village.pass(4)
        party.village.world.clock.advance(milliseconds: 40_000)
        try party.village.pass(6)
        #expect(party.alice.tree(.library)["Summer/a.jpg"] == nil)
        let deletion = try #require(try segments(party, of: party.carol).last)
        let bytes = try #require(storage.rawRead(deletion))
        try party.alice.machine.library.write("Summer/a.jpg", "aaa")
        try party.village.pass(8)
        party.expectShown()
        // The old segment once more: under the next number, under its own name in another replica's log, and under a head
        // that is whole.
        let next = try #require(
            UInt64(deletion.last.prefix { $0 != "-" }, radix: 16) ?? UInt64(deletion.last.prefix { $0 != "-" }))
        let prefix = "zones/\(party.zone)/log/"
        for target in [
            "\(prefix)\(party.carol.identity.replica)/\(numberedName(next + 1, sha256(bytes)))",
            "\(prefix)\(party.bob.identity.replica)/\(deletion.last)",
            "\(prefix)\(party.alice.identity.replica)/\(deletion.last)",
        ] { storage.rawWrite(try target.mountPath, bytes) }
        try party.village.meet()
        party.expectShown()
        try party.expectGoesOn()
    }

    @Test func `a participant who replays another's segment as their own is named`() throws {
        let party = try Party(bob: "readWrite")
        let forger = try Forger(party.bob, zone: party.zone, in: party.village)
        let theirs = try #require(try segments(party, of: party.alice).first)
        let bytes = try #require(party.village.world.storage.rawRead(theirs))
        try forger.publish(bytes, Position(sequence: 1, hash: sha256(bytes)))
        try party.village.meet()
        party.expectShown()
        party.expectNamed("segmentDamaged", by: [party.alice, party.carol])
        try party.expectGoesOn()
    }

    @Test func `a head that is put back undoes nothing, and is named after a restart`() throws {
        let party = try Party(bob: "readWrite")
        let old = try heads(party, of: party.carol)
        try party.carol.machine.shared.write("alice/Summer/hers.jpg", "hers")
        try party.village.pass(8)
        let shown = Party.content.merging(["hers.jpg": "hers"]) { $1 }
        party.expectShown(shown)
        let new = try heads(party, of: party.carol)
        for (path, bytes) in old { party.village.world.storage.rawWrite(path, bytes) }
        try party.alice.restart()
        try rounds(party.alice, in: party)
        #expect(party.alice.tree(.library)["Summer/hers.jpg"] == "hers")
        party.expectNamed("rolledBack", by: [party.alice])
        try party.alice.machine.library.write("Summer/later.jpg", "later")
        for (path, bytes) in new { party.village.world.storage.rawWrite(path, bytes) }
        try party.village.meet()
        party.expectShown(shown.merging(["later.jpg": "later"]) { $1 })
        #expect(party.alice.problems.isEmpty, "\(party.alice.problems)")
    }

    @Test func `a chain that was cut short is named as soon as somebody has seen more`() throws {
        let party = try Party(bob: "readWrite")
        let storage = party.village.world.storage
        let (oldHeads, oldSegments) = (try heads(party, of: party.carol), Set(try segments(party, of: party.carol)))
        try party.carol.machine.shared.write("alice/Summer/hers.jpg", "hers")
        try rounds(party.carol, in: party)
        try rounds(party.bob, in: party)
        #expect(party.bob.tree(.shared)["alice/Summer/hers.jpg"] == "hers")
        let newHeads = try heads(party, of: party.carol)
        var cut: [MountPath: [UInt8]] = [:]
        for path in try segments(party, of: party.carol) where !oldSegments.contains(path) {
            cut[path] = storage.rawRead(path)
            storage.rawRemove(path)
        }
        for (path, bytes) in oldHeads { storage.rawWrite(path, bytes) }
        // Nobody but Alice looks, so that nothing heals it.
        try rounds(party.alice, in: party)
        #expect(party.alice.problems.isEmpty, "a mount may be slow: \(party.alice.problems)")
        party.village.world.clock.advance(milliseconds: 130_000)
        try rounds(party.alice, in: party)
        party.expectNamed("cutShort", by: [party.alice], containing: "carol")
        #expect(party.alice.tree(.library)["Summer/hers.jpg"] == nil)
        for (path, bytes) in cut.merging(newHeads, uniquingKeysWith: { $1 }) { storage.rawWrite(path, bytes) }
        try party.village.meet()
        party.expectShown(Party.content.merging(["hers.jpg": "hers"]) { $1 })
        #expect(party.alice.problems.isEmpty, "\(party.alice.problems)")
    }

    @Test func `a segment that was renamed is waited for, named after a while, and taken when it is back`() throws {
        let party = try Party(bob: "readWrite")
        let storage = party.village.world.storage
        let before = Set(try segments(party, of: party.carol))
        try party.carol.machine.shared.write("alice/Summer/hers.jpg", "hers")
        try rounds(party.carol, in: party)
        let path = try #require(try segments(party, of: party.carol).first { !before.contains($0) })
        let bytes = try #require(storage.rawRead(path))
        storage.rawRemove(path)
        let other = try #require(path.parent.appending(numberedName(99, sha256(bytes))))
        storage.rawWrite(other, bytes)
        try rounds(party.alice, in: party)
        #expect(!party.alice.isQuiet)
        party.village.world.clock.advance(milliseconds: 130_000)
        try rounds(party.alice, in: party)
        party.expectNamed("segmentMissing", by: [party.alice], containing: "Summer")
        party.expectShownIgnoringCarol()
        storage.rawRemove(other)
        storage.rawWrite(path, bytes)
        try party.village.meet()
        party.expectShown(Party.content.merging(["hers.jpg": "hers"]) { $1 })
        #expect(party.alice.problems.isEmpty, "\(party.alice.problems)")
    }

    @Test func `assets that changed places are neither taken for each other nor for damage elsewhere`() throws {
        let party = try Party(bob: "readWrite", others: ["dave"])
        let storage = party.village.world.storage
        let names = try party.village.assetNames.map { try $0.mountPath }
        let bytes = names.map { storage.rawRead($0) ?? [] }
        for (index, path) in names.enumerated() { storage.rawWrite(path, bytes[(index + 1) % names.count]) }
        let dave = try newcomer(party)
        #expect(dave.tree(.shared).isEmpty)
        party.expectNamed("contentDamaged", by: [dave])
        party.expectShown()
        for (path, bytes) in zip(names, bytes) { storage.rawWrite(path, bytes) }
        try party.village.meet()
        #expect(dave.tree(.shared).values.sorted() == ["aaa", "bbb"])
        #expect(dave.problems.isEmpty, "\(dave.problems)")
        try party.expectGoesOn()
    }

    // MARK: Controls

    @Test(arguments: ["edited", "torn", "huge", "empty"])
    func `a damaged control changes nobody's rights and is named`(damage: String) throws {
        let party = try Party(bob: "readWrite")
        let storage = party.village.world.storage
        let before = Set(try party.village.mountFiles("zones/\(party.zone)/control/"))
        #expect(party.alice.request(.permission(share: "Summer", account: "bob", permission: "readOnly")).code == 0)
        let path = try #require(
            try party.village.mountFiles("zones/\(party.zone)/control/").first { !before.contains($0) })
        let whole = try #require(storage.rawRead(path))
        var bytes = whole
        switch damage {
        case "edited": bytes[bytes.count / 2] ^= 1
        case "torn": bytes.removeLast(bytes.count / 2)
        case "huge": bytes += [UInt8](repeating: 7, count: 20_000_000)
        default: bytes = []
        }
        storage.rawWrite(path, bytes)
        try party.carol.machine.shared.write("alice/Summer/hers.jpg", "hers")
        try rounds(party.carol, in: party)
        try rounds(party.bob, in: party)
        party.expectNamed("controlDamaged", by: [party.bob, party.carol])
        #expect(party.bob.tree(.shared)["alice/Summer/hers.jpg"] == "hers")
        storage.rawWrite(path, whole)
        try party.village.meet()
        let reply = party.bob.request(.caption(path: party.bob.path("alice/Summer/a.jpg", .shared), text: "x"))
        #expect(reply.code == 12, "\(reply)")
        #expect(party.bob.problems.isEmpty && party.carol.problems.isEmpty, "\(party.bob.problems)")
    }

    @Test func `another's genesis in the place of a zone's own makes nobody the owner`() throws {
        let party = try Party(bob: "readWrite", others: ["dave"])
        let dave = party.village.replicas[3]
        let storage = party.village.world.storage
        try dave.machine.library.write("Fake/fake.jpg", "fake")
        try party.village.pass(4)
        let made = dave.request(
            .shareCreate(paths: [dave.path("Fake")], title: "Summer", publicPermission: "none", isSealed: true))
        let fake = try #require(ZoneID(hex: made.values["id"] ?? ""))
        let theirs = try #require(try party.village.mountFiles("zones/\(fake)/control/").first)
        let own = try #require(try party.village.mountFiles("zones/\(party.zone)/control/").first)
        let whole = try #require(storage.rawRead(own))
        storage.rawWrite(own, try #require(storage.rawRead(theirs)))
        try party.village.meet()
        party.expectShown()
        // Who joins now learns that it is not what the link says.
        #expect(party.alice.request(.invite(share: "Summer", accounts: ["dave"], permission: "readWrite")).code != 0)
        storage.rawWrite(own, whole)
        try party.village.meet()
        try party.expectGoesOn()
    }

    @Test func `an owner of the same name has folders of their own`() throws {
        let party = try Party(bob: "readWrite", others: ["alice"])
        let other = party.village.replicas[3]
        try other.machine.library.write("Fake/a.jpg", "fake")
        try party.village.pass(4)
        let made = other.request(
            .shareCreate(paths: [other.path("Fake")], title: "Summer", publicPermission: "none", isSealed: true))
        #expect(made.code == 0)
        #expect(other.request(.invite(share: "Summer", accounts: ["carol"], permission: "readWrite")).code == 0)
        // Nobody is taken for the one whose name they bear, unless a link with their fingerprint says who is meant.
        _ = party.carol.request(.acceptAllPending)
        try #require(try party.village.settle())
        #expect(party.carol.tree(.shared).count == 2)
        #expect(party.carol.request(.accept(link: try #require(made.values["link"]))).code == 0)
        try #require(try party.village.settle())
        let shown = party.carol.tree(.shared)
        #expect(shown["alice/Summer/a.jpg"] == "aaa" && shown["alice/Summer/deep/b.jpg"] == "bbb", "\(shown)")
        #expect(shown.count == 3 && shown.values.contains("fake"), "\(shown)")
        // A name alone does not say who is meant.
        let unclear = party.carol.request(.shareTitle(share: "Summer", title: "x"))
        #expect(unclear.code == 10 && unclear.lines.joined().contains("2 shares"), "\(unclear)")
        #expect(party.bob.tree(.shared).count == 2)
    }

    // MARK: Absurd sizes

    @Test(arguments: [UInt64(1), 65_536, 64 << 20, 1 << 40, .max])
    func `a segment that lies about its size is refused without being unpacked`(claimed: UInt64) throws {
        let party = try Party(bob: "readWrite")
        let forger = try Forger(party.bob, zone: party.zone, in: party.village)
        // A body that inflates to eight times the most that a segment may have.
        let bomb = try Zlib.deflate([UInt8](repeating: 0, count: 64 << 20))
        var header = WireSegmentHeader()
        header.zone = party.zone.digest.wireBytes
        header.replica = forger.identity.replica.wireBytes
        header.replicaNonce = Data(forger.identity.replicaNonce)
        header.account = forger.identity.account.digest.wireBytes
        header.device = forger.identity.device.digest.wireBytes
        header.sequence = 1
        header.previous = Position.start.hash.wireBytes
        header.plainCount = claimed
        let epoch = try #require(forger.keyring.current)
        header.epoch = epoch.wire
        let headerBytes = try serialize(header)
        let stored = try SealedBody.seal(
            bomb, key: forger.keyring.key(epoch) ?? [], purpose: SegmentCoder.purpose(forger.identity.replica),
            header: headerBytes, nonce: forger.bytes(12))
        let file = try SignedFile.encode(
            .segment, header: headerBytes, body: stored, signingKey: forger.identity.signingKey)
        try forger.publish(file, Position(sequence: 1, hash: sha256(file)))
        try party.village.meet()
        party.expectShown()
        party.expectNamed("segmentDamaged", by: [party.alice, party.carol])
        try party.expectGoesOn()
    }
}
