import ShoeboxModel
import ShoeboxStore
import ShoeboxTestSupport
import ShoeboxWorld
import Testing

@testable import Shoebox
@testable import ShoeboxCloud

/// A device that was lost, and what whoever has it can still do.
struct RetiredDeviceTests {
    private struct Lost {
        var party: Party
        var phone: Replica
        var village: Village { party.village }

        init(isSealed: Bool = true) throws {
            party = try Party(bob: "readWrite", isSealed: isSealed)
            phone = try party.village.addDevice(of: party.alice, name: "phone")
            try #require(try party.village.settle())
            try phone.machine.library.write("Summer/before.jpg", "before")
            try #require(try party.village.settle())
        }

        func retire(by device: Replica, _ name: String = "phone") throws {
            let reply = device.request(.deviceRetire(name: name))
            try #require(reply.code == 0, "\(reply)")
        }

        /// Rounds of all but the lost one.
        func meet(without lost: Replica) throws {
            for _ in 0..<8 {
                for replica in village.replicas where replica !== lost { try replica.round() }
                village.world.clock.advance(milliseconds: 5_500)
            }
        }
    }

    @Test(arguments: [true, false])
    func `what a retired device wrote before counts, and nothing after, wherever it is read`(isSealed: Bool) throws {
        let lost = try Lost(isSealed: isSealed)
        let thief = try Forger(lost.phone, zone: lost.party.zone, in: lost.village)
        thief.isSealed = isSealed
        try lost.retire(by: lost.party.alice)
        try lost.meet(without: lost.phone)
        // The thief writes on as the phone's replica knows it, and as a new one that nobody has seen.
        try thief.send([try thief.photo("planted.jpg", "planted")])
        try lost.phone.machine.library.write("Summer/after.jpg", "after")
        for _ in 0..<3 { try lost.phone.round() }
        try lost.meet(without: lost.phone)
        for replica in [lost.party.bob, lost.party.carol] {
            let tree = replica.tree(.shared)
            #expect(tree["alice/Summer/before.jpg"] == "before")
            #expect(tree["alice/Summer/planted.jpg"] == nil && tree["alice/Summer/after.jpg"] == nil, "\(tree.keys)")
        }
        let tree = lost.party.alice.tree(.library)
        #expect(tree["Summer/before.jpg"] == "before" && tree["Summer/planted.jpg"] == nil)
        try lost.party.alice.machine.library.write("Summer/later.jpg", "later")
        try lost.meet(without: lost.phone)
        #expect(lost.party.carol.tree(.shared)["alice/Summer/later.jpg"] == "later")
    }

    /// Its account's other zone would be out of its sight for good, and all of the folder would be new in the library.
    @Test func `a device that comes back without the account's newest keys makes no second library`() throws {
        let lost = try Lost()
        let alice = lost.party.alice
        try lost.retire(by: alice)
        try lost.meet(without: lost.phone)
        // From a recovery file, on a mount that does not show yet that keys were made anew.
        let world = lost.phone.machine.world
        let file = try #require(lost.village.recoveryFiles["alice"])
        let identity = try Identity.restored(
            fromRecoveryFile: file, deviceLabel: "phone", nowMilliseconds: world.nowMilliseconds(),
            randomBytes: world.randomBytes)
        try lost.phone.restart(store: try Store(), identity: identity)
        #expect(throws: RequestError.self) { try lost.phone.engine.setUp(host: "phone", takeOver: true) }
        lost.village.world.clock.advance(milliseconds: 610_000)
        try lost.meet(without: lost.phone)
        try lost.phone.engine.setUp(host: "phone", takeOver: true)
        #expect(lost.phone.engine.privateZone == alice.engine.privateZone)
        try lost.party.bob.machine.shared.write("alice/Summer/late.jpg", "late")
        try #require(try lost.village.settle())
        #expect(lost.phone.tree(.library) == alice.tree(.library))
        #expect(alice.tree(.library)["Summer/late.jpg"] == "late")
        #expect(alice.tree(.library)["Private/c.jpg"] == "ccc")
    }

    @Test func `a retired device reads nothing of what comes, in no zone of its account`() throws {
        let lost = try Lost()
        let before = lost.phone.identity
        try lost.retire(by: lost.party.alice)
        try lost.party.alice.machine.library.write("Summer/secret.jpg", "secret")
        try lost.party.alice.machine.library.write("Private/secret.jpg", "secret")
        try lost.meet(without: lost.phone)
        // With all keys that it ever had, past its own engine.
        let mount = SimulatedMount(client: "thief", storage: lost.village.world.storage)
        for row in try lost.phone.store.read({ db in try db.zones() }) {
            let folder = ZoneFolder(zone: row.id, mount: mount, accounts: AccountDirectory(mount: mount))
            var ring = try ZoneKeyring(serialized: Array(row.keyring))
            #expect(throws: CloudError.self) {
                _ = try folder.currentControl(identity: before, keyring: &ring)
            }
        }
        for _ in 0..<3 { try lost.phone.round() }
        #expect(lost.phone.problems.contains { $0.code == "deviceRetired" })
        #expect(lost.phone.tree(.library)["Summer/secret.jpg"] == nil)
        #expect(lost.phone.tree(.library)["Private/c.jpg"] == "ccc", "its own copies are not touched")
    }

    @Test func `a retired device says no more of what it could not read before it knew`() throws {
        let lost = try Lost()
        // What the private zone says is read, by which it learns that it was retired.
        let heads = "zones/\(lost.party.zone)/heads/"
        lost.phone.machine.faults.setRule { operation in
            operation.part == "mount" && operation.path.hasPrefix(heads) ? .fail(.inputOutput) : nil
        }
        for _ in 0..<3 {
            try lost.phone.round()
            lost.village.world.clock.advance(milliseconds: 5_500)
        }
        try #require(lost.phone.problems.contains { $0.code == "headUnreadable" })
        try lost.retire(by: lost.party.alice)
        try lost.meet(without: lost.phone)
        for _ in 0..<3 {
            lost.village.world.clock.advance(milliseconds: 5_500)
            try lost.phone.round()
        }
        lost.phone.machine.faults.setRule(nil)
        try lost.phone.round()
        #expect(lost.phone.problems.map(\.code) == ["deviceRetired"])
    }

    @Test func `a participant's retired device stops counting in other people's shares too`() throws {
        let party = try Party(bob: "readWrite")
        var village = party.village
        let phone = try village.addDevice(of: party.bob, name: "phone")
        try #require(try village.settle())
        let lost = { (rounds: Int) throws in
            for _ in 0..<rounds {
                for replica in village.replicas where replica !== phone { try replica.round() }
                village.world.clock.advance(milliseconds: 5_500)
            }
        }
        try phone.machine.shared.write("alice/Summer/before.jpg", "before")
        try #require(try village.settle())
        let reply = party.bob.request(.deviceRetire(name: "phone"))
        try #require(reply.code == 0, "\(reply)")
        try lost(6)
        let thief = try Forger(phone, zone: party.zone, in: village)
        try thief.send([try thief.photo("planted.jpg", "planted")])
        try lost(8)
        for replica in [party.bob, party.carol] {
            #expect(replica.tree(.shared)["alice/Summer/before.jpg"] == "before")
            #expect(replica.tree(.shared)["alice/Summer/planted.jpg"] == nil)
        }
        let control = try ControlCoder.decode(
            Array(try #require(try party.alice.store.read { db in try db.zone(party.zone) }).control))
        #expect(control.retired[phone.identity.device.digest] != nil)
        #expect(control.keyedFor[party.bob.identity.account] != control.keyedFor[party.alice.identity.account])
        let entry = try #require(try party.bob.identity.accountEntry())
        #expect(control.keyedFor[party.bob.identity.account]?.bytes == entry.agreementKey)
        // Bob goes on with his new keys.
        try party.bob.machine.shared.write("alice/Summer/later.jpg", "later")
        try lost(8)
        #expect(party.carol.tree(.shared)["alice/Summer/later.jpg"] == "later")
    }

    @Test func `a control that a retired device signs afterwards changes nothing`() throws {
        let lost = try Lost()
        try lost.retire(by: lost.party.alice)
        try lost.meet(without: lost.phone)
        // The thief knows the control as it was before, and removes Carol.
        let row = try #require(try lost.phone.store.read { db in try db.zone(lost.party.zone) })
        let mount = SimulatedMount(client: "thief", storage: lost.village.world.storage)
        let folder = ZoneFolder(zone: row.id, mount: mount, accounts: AccountDirectory(mount: mount))
        var ring = try ZoneKeyring(serialized: Array(row.keyring))
        var control = try ControlCoder.decode(Array(row.control))
        let former = CurrentControl(
            control: control, tips: [ControlVersion(version: row.controlVersion + 40, hash: row.controlHash)],
            isEpochClean: true, problems: [])
        control.participants[lost.party.carol.identity.account]?.remove(at: [:])
        _ = try folder.publishControl(
            control, replacing: former, keyring: &ring, identity: lost.phone.identity, nowMilliseconds: 9,
            randomBytes: Source(7).bytes)
        try lost.meet(without: lost.phone)
        try lost.party.alice.machine.library.write("Summer/later.jpg", "later")
        try lost.meet(without: lost.phone)
        #expect(lost.party.carol.tree(.shared)["alice/Summer/later.jpg"] == "later")
    }

    @Test
    func `a control that a retired device of the owner signs and names counts for nothing and is named in status`()
        throws
    {
        let lost = try Lost()
        let zone = lost.party.zone
        let row = try #require(try lost.phone.store.read { db in try db.zone(zone) })
        let thief = try Forger(lost.phone, zone: zone, in: lost.village)
        try lost.retire(by: lost.party.alice)
        try lost.meet(without: lost.phone)
        var control = try ControlCoder.decode(Array(row.control))
        control.participants[lost.party.carol.identity.account]?.remove(at: [:])
        control.title = "mine"
        try thief.publish(control, over: ControlVersion(version: row.controlVersion, hash: row.controlHash))
        try thief.appendHead()
        lost.village.world.clock.advance(milliseconds: 10_500)
        try lost.meet(without: lost.phone)
        // What the owner writes next has everybody read all controls again.
        #expect(lost.party.alice.request(.shareTitle(share: "Summer", title: "Sommer")).code == 0)
        try lost.meet(without: lost.phone)
        for replica in [lost.party.alice, lost.party.carol] {
            let present = try ControlCoder.decode(
                Array(try #require(try replica.store.read { db in try db.zone(zone) }).control))
            #expect(
                present.title == "Sommer" && present.participants[lost.party.carol.identity.account]?.takesPart == true)
        }
        lost.party.expectNamed("controlRefused", by: [lost.party.alice, lost.party.carol], containing: "retired")
    }

    @Test func `a retired device of the owner hands nothing over, whoever consents`() throws {
        let lost = try Lost()
        let zone = lost.party.zone
        let row = try #require(try lost.phone.store.read { db in try db.zone(zone) })
        let thief = try Forger(lost.phone, zone: zone, in: lost.village)
        try lost.retire(by: lost.party.alice)
        try lost.meet(without: lost.phone)
        var control = try ControlCoder.decode(Array(row.control))
        let (owner, accomplice) = (control.owner, lost.party.bob.identity)
        let offer = TransferOffer(
            account: accomplice.account, permission: .readOnly, staysAdmin: false,
            number: Array(repeating: 3, count: 16))
        control.offer = offer
        control.handOver(offer, at: [:])
        try thief.publish(
            control, over: ControlVersion(version: row.controlVersion, hash: row.controlHash),
            consent: try TransferConsent(offer, of: zone, by: owner, identity: accomplice))
        try thief.appendHead()
        // The accomplice, whose device is in good standing, builds on it.
        let helper = try Forger(lost.party.bob, zone: zone, in: lost.village, seed: 9)
        let handed = try #require(thief.control)
        control.title = "ours"
        try helper.publish(control, over: handed, lineage: [handed])
        try helper.appendHead()
        lost.village.world.clock.advance(milliseconds: 10_500)
        try lost.meet(without: lost.phone)
        #expect(lost.party.alice.request(.shareTitle(share: "Summer", title: "Sommer")).code == 0)
        try lost.meet(without: lost.phone)
        for replica in [lost.party.alice, lost.party.bob, lost.party.carol] {
            let present = try ControlCoder.decode(
                Array(try #require(try replica.store.read { db in try db.zone(zone) }).control))
            #expect(present.owner == owner && present.title == "Sommer", "\(replica.label)")
        }
    }

    @Test func `a retirement that died after its statement is finished by the next round, of any device`() throws {
        let lost = try Lost()
        let laptop = lost.party.alice
        // The statement is in the container, and nothing followed.
        let (fresh, _) = try laptop.identity.retiring(
            lost.phone.identity.device, nowMilliseconds: 9, randomBytes: laptop.machine.world.randomBytes)
        try AccountDirectory(mount: laptop.machine.world.mount).publish(fresh)
        try laptop.restart()
        try lost.meet(without: lost.phone)
        let row = try #require(try laptop.store.read { db in try db.zone(lost.party.zone) })
        let control = try ControlCoder.decode(Array(row.control))
        #expect(control.retired[lost.phone.identity.device.digest]?.isEmpty == false)
        #expect(lost.party.carol.tree(.shared)["alice/Summer/before.jpg"] == "before")
    }
}

/// A source of bytes for what is forged.
private final class Source {
    private var random: SeededGenerator
    init(_ seed: UInt64) { random = SeededGenerator(seed: seed, part: "source") }
    func bytes(_ count: Int) -> [UInt8] { random.bytes(count) }
}
