import Shoebox
import ShoeboxLibrary
import ShoeboxModel
import ShoeboxPlanning
import ShoeboxStore
import ShoeboxTestSupport
import ShoeboxWorld
import Testing

@testable import ShoeboxCloud

/// The control of a zone as a replica has it.
private func presentControl(_ replica: Replica, _ zone: ZoneID) throws -> Control {
    let row = try #require(try replica.store.read { db in try db.zone(zone) })
    return try ControlCoder.decode(Array(row.control))
}

/// Which version of it that is.
private func version(_ replica: Replica, _ zone: ZoneID) throws -> ControlVersion {
    let row = try #require(try replica.store.read { db in try db.zone(zone) })
    return ControlVersion(version: row.controlVersion, hash: row.controlHash)
}

/// A share gets another owner, with the consent of both.
@Suite struct TransferTests {
    private func handOver(_ party: Party, stays: String = "readWrite") throws {
        let offered = party.alice.request(.transfer(share: "Summer", account: "bob", stays: stays))
        #expect(offered.code == 0, "\(offered)")
        #expect(try party.village.settle())
        let accepted = party.bob.request(.transferAnswer(share: "Summer", accepts: true))
        #expect(accepted.code == 0, "\(accepted)")
        party.village.world.clock.advance(milliseconds: 11_000)
        #expect(try party.village.settle())
    }

    private func records(_ replica: Replica, _ zone: ZoneID) throws -> Set<RecordName> {
        Set(try replica.store.read { db in try db.files(in: zone) }.map(\.id.name))
    }

    @Test func `an offered share belongs to who accepted it, with its files, ids, people and history`() throws {
        let party = try Party(bob: "readWrite")
        #expect(
            party.alice.request(.tag(path: party.alice.path("Summer/a.jpg"), titles: ["x"], isMember: true)).code == 0)
        #expect(try party.village.settle())
        let before = try records(party.alice, party.zone)
        let trees = [
            party.alice.tree(.library, sidecars: true), party.bob.tree(.shared, sidecars: true),
            party.carol.tree(.shared, sidecars: true),
        ]
        try handOver(party)
        for replica in [party.alice, party.bob, party.carol] {
            let control = try presentControl(replica, party.zone)
            #expect(control.owner == party.bob.identity.account && control.ownerLabel == "bob", "\(replica.label)")
            #expect(control.permission(of: party.alice.identity.account) == .readWrite)
            #expect(control.permission(of: party.carol.identity.account) == .readWrite)
            #expect(try records(replica, party.zone) == before)
            #expect(replica.problems.isEmpty, "\(replica.label): \(replica.problems.map(\.message))")
        }
        // Nobody's files moved.
        #expect(
            trees == [
                party.alice.tree(.library, sidecars: true), party.bob.tree(.shared, sidecars: true),
                party.carol.tree(.shared, sidecars: true),
            ])
        // All edit on, and everybody takes it for valid.
        for (replica, path) in [
            (party.alice, party.alice.path("Summer/a.jpg")), (party.bob, party.bob.path("alice/Summer/a.jpg", .shared)),
            (party.carol, party.carol.path("alice/Summer/a.jpg", .shared)),
        ] {
            #expect(replica.request(.tag(path: path, titles: [replica.label], isMember: true)).code == 0)
        }
        try party.expectGoesOn()
        #expect(try party.village.settle())
        #expect(
            Set(party.carol.sidecar("alice/Summer/a.jpg", .shared)?.fields.tags ?? []) == [
                "x", "alice", "bob", "carol",
            ])
        // The new owner manages people, the old one no more.
        #expect(party.alice.request(.uninvite(share: "Summer", accounts: ["carol"])).code == ExitCode.notPermitted)
        #expect(party.bob.request(.permission(share: "Summer", account: "carol", permission: "readOnly")).code == 0)
        #expect(try party.village.settle())
        #expect(try presentControl(party.alice, party.zone).permission(of: party.carol.identity.account) == .readOnly)
    }

    @Test func `who comes later, or comes back from nothing, finds the new owner by link and by invitation`() throws {
        let party = try Party(bob: "readWrite", others: ["dave", "erin"])
        let (dave, erin) = (party.village.replicas[3], party.village.replicas[4])
        try handOver(party, stays: "admin")
        // The link that the former owner gave away still leads there; so does the new owner's.
        #expect(party.bob.request(.invite(share: "Summer", accounts: ["dave"], permission: "readOnly")).code == 0)
        #expect(party.alice.request(.invite(share: "Summer", accounts: ["erin"], permission: "readWrite")).code == 0)
        #expect(dave.request(.accept(link: party.link)).code == 0)
        let again = party.bob.request(.invite(share: "Summer", accounts: ["erin"], permission: "readWrite"))
        #expect(erin.request(.accept(link: try #require(again.values["link"]))).code == 0)
        #expect(try party.village.settle())
        for replica in [dave, erin] {
            #expect(try presentControl(replica, party.zone).owner == party.bob.identity.account)
            #expect(replica.tree(.shared) == ["alice/Summer/a.jpg": "aaa", "alice/Summer/deep/b.jpg": "bbb"])
        }
        var village = party.village
        let tablet = try village.addDevice(of: party.bob, name: "tablet")
        let laptop = try village.addDevice(of: party.alice, name: "laptop")
        #expect(try village.settle())
        #expect(tablet.tree(.shared) == party.bob.tree(.shared) && laptop.tree(.library) == party.alice.tree(.library))
        #expect(tablet.request(.shareTitle(share: "Summer", title: "Sommer")).code == 0)
        #expect(laptop.request(.stop(share: "Sommer")).code != 0)
        try village.meet()
        #expect(try village.settle())
        for replica in village.replicas {
            #expect(try presentControl(replica, party.zone).title == "Sommer", "\(replica.machine.name)")
            #expect(replica.problems.isEmpty, "\(replica.label): \(replica.problems.map(\.message))")
        }
    }

    @Test func `an offer alone changes nothing; it may be declined, and withdrawn before it is accepted`() throws {
        let party = try Party(bob: "readOnly")
        let before = try presentControl(party.carol, party.zone)
        #expect(party.alice.request(.transfer(share: "Summer", account: "bob", stays: "admin")).code == 0)
        #expect(party.alice.request(.transfer(share: "Summer", account: "bob", stays: "admin")).code == 0)
        #expect(try party.village.settle())
        #expect(try presentControl(party.carol, party.zone).owner == before.owner)
        #expect(party.carol.request(.transferAnswer(share: "Summer", accepts: true)).code == ExitCode.notFound)
        #expect(party.bob.request(.transferAnswer(share: "Summer", accepts: false)).code == 0)
        party.village.world.clock.advance(milliseconds: 11_000)
        #expect(try party.village.settle())
        #expect(try presentControl(party.carol, party.zone).offer == nil)
        // Accepted, but the owner took the offer back before a device of theirs had read that.
        #expect(party.alice.request(.transfer(share: "Summer", account: "bob", stays: "readOnly")).code == 0)
        #expect(try party.village.settle())
        #expect(party.bob.request(.transferAnswer(share: "Summer", accepts: true)).code == 0)
        #expect(party.alice.request(.transferWithdraw(share: "Summer")).code == 0)
        party.village.world.clock.advance(milliseconds: 11_000)
        #expect(try party.village.settle())
        // Nor is a later offer taken for accepted by that.
        #expect(party.alice.request(.transfer(share: "Summer", account: "bob", stays: "readOnly")).code == 0)
        party.village.world.clock.advance(milliseconds: 11_000)
        #expect(try party.village.settle())
        for replica in [party.alice, party.bob, party.carol] {
            #expect(try presentControl(replica, party.zone).owner == before.owner, "\(replica.label)")
            #expect(replica.problems.isEmpty, "\(replica.label): \(replica.problems.map(\.message))")
        }
        for name in ["carol", "nobody", "alice"] {
            let reply = party.bob.request(.transfer(share: "Summer", account: name, stays: "admin"))
            #expect(reply.code == ExitCode.notPermitted, "\(reply)")
        }
        #expect(
            party.alice.request(.transfer(share: "Summer", account: "alice", stays: "admin")).code == ExitCode.notFound)
    }

    @Test func `what was written around the hand-over without knowing of it is lost nowhere`() throws {
        var party = try Party(bob: "readOnly")
        let laptop = try party.village.addDevice(of: party.alice, name: "laptop")
        #expect(try party.village.settle())
        // The laptop is away: photos are added, one of them from the private library, and one is edited.
        laptop.machine.mount.attach(.missing)
        try laptop.machine.library.write("Summer/away.jpg", "away")
        try laptop.machine.library.write("Summer/a.jpg", "aaa of the laptop")
        for _ in 0..<4 { try laptop.round(); party.village.world.clock.advance(milliseconds: 700) }
        #expect(party.alice.request(.transfer(share: "Summer", account: "bob", stays: "readWrite")).code == 0)
        try party.village.pass(6)
        #expect(party.bob.request(.transferAnswer(share: "Summer", accepts: true)).code == 0)
        party.village.world.clock.advance(milliseconds: 11_000)
        try party.village.pass(12)
        #expect(try presentControl(party.carol, party.zone).owner == party.bob.identity.account)
        try party.bob.machine.shared.write("alice/Summer/new.jpg", "new owner")
        laptop.machine.mount.mount()
        #expect(try party.village.settle())
        let wanted = [
            "a.jpg": "aaa of the laptop", "deep/b.jpg": "bbb", "away.jpg": "away", "new.jpg": "new owner",
        ]
        party.expectShown(wanted)
        #expect(party.bob.tree(.shared) == party.carol.tree(.shared))
        #expect(laptop.tree(.library) == party.alice.tree(.library))
    }

    @Test func `a former owner who is removed keeps copies in the library, and reads nothing more`() throws {
        let party = try Party(bob: "readWrite")
        try handOver(party)
        #expect(party.bob.request(.uninvite(share: "Summer", accounts: ["alice"])).code == 0)
        #expect(try party.village.settle())
        try party.bob.machine.shared.write("alice/Summer/later.jpg", "later")
        #expect(try party.village.settle())
        #expect(
            party.alice.tree(.library) == [
                "Kept from Summer/a.jpg": "aaa", "Kept from Summer/b.jpg": "bbb", "Private/c.jpg": "ccc",
            ])
        party.expectNamed("ended", by: [party.alice], containing: "bob removed you")
        #expect(party.carol.tree(.shared).values.contains("later"))
    }

    @Test func `the new owner stops the share and keeps everything where it is; others lose access`() throws {
        let party = try Party(bob: "readWrite")
        try handOver(party)
        let tree = party.bob.tree(.shared)
        let ids = try records(party.bob, party.zone)
        #expect(party.bob.request(.stop(share: "Summer")).code == 0)
        #expect(try party.village.settle())
        #expect(party.bob.tree(.shared) == tree)
        #expect(try records(party.bob, party.zone) == ids)
        #expect(party.carol.tree(.shared).isEmpty)
        party.expectNamed("ended", by: [party.alice, party.carol], containing: "stopped by bob")
        #expect(party.bob.problems.isEmpty)
    }

    @Test func `a share goes back to its first owner the same way`() throws {
        let party = try Party(bob: "readWrite")
        try handOver(party)
        #expect(party.bob.request(.transfer(share: "Summer", account: "alice", stays: "readOnly")).code == 0)
        #expect(try party.village.settle())
        #expect(party.alice.request(.transferAnswer(share: "Summer", accepts: true)).code == 0)
        party.village.world.clock.advance(milliseconds: 11_000)
        #expect(try party.village.settle())
        for replica in [party.alice, party.bob, party.carol] {
            #expect(try presentControl(replica, party.zone).owner == party.alice.identity.account)
            #expect(try presentControl(replica, party.zone).permission(of: party.bob.identity.account) == .readOnly)
            #expect(replica.problems.isEmpty, "\(replica.label): \(replica.problems.map(\.message))")
        }
        try party.expectGoesOn()
        #expect(party.alice.request(.stop(share: "Summer")).code == 0)
        #expect(try party.village.settle())
        #expect(party.alice.tree(.library)["Summer/a.jpg"] == "aaa" && party.bob.tree(.shared).isEmpty)
    }
}

/// Hand-overs that nobody has agreed to.
@Suite struct HostileTransferTests {
    private func expectOwner(_ owner: Replica, _ party: Party, of replicas: [Replica]) throws {
        for replica in replicas {
            #expect(try presentControl(replica, party.zone).owner == owner.identity.account, "\(replica.label)")
        }
    }

    @Test func `nobody but the owner hands a share over, whatever consents there are`() throws {
        let party = try Party(bob: "readWrite", others: ["mallory"])
        #expect(party.alice.request(.transfer(share: "Summer", account: "carol", stays: "admin")).code == 0)
        #expect(try party.village.settle())
        let known = try presentControl(party.bob, party.zone)
        let offer = try #require(known.offer)
        let forger = try Forger(party.bob, zone: party.zone, in: party.village)
        let mallory = try Forger(
            party.village.replicas[3], zone: party.zone, in: party.village, stranger: true, seed: 8)
        let consents = [
            // Bob's own, to the offer that was made to Carol; and one that claims to be by the owner.
            try TransferConsent(
                TransferOffer(
                    account: forger.identity.account, permission: .readOnly, staysAdmin: false, number: offer.number),
                of: party.zone, by: known.owner, identity: forger.identity),
            try TransferConsent(
                TransferOffer(
                    account: forger.identity.account, permission: .readOnly, staysAdmin: false, number: offer.number),
                of: party.zone, by: forger.identity.account, identity: forger.identity),
        ]
        for consent in consents {
            for signer in [forger, mallory] {
                var evil = known
                evil.offer = TransferOffer(
                    account: forger.identity.account, permission: .readOnly, staysAdmin: false, number: offer.number)
                evil.handOver(try #require(evil.offer), at: [:])
                try signer.publish(evil, over: try version(party.bob, party.zone), consent: consent)
            }
        }
        try forger.appendHead()
        try party.village.meet()
        #expect(try party.village.settle())
        try expectOwner(party.alice, party, of: [party.alice, party.carol])
        party.expectNamed("controlRefused", by: [party.alice, party.carol])
        try party.expectGoesOn()
        // The owner's next control is taken for valid.
        #expect(party.alice.request(.shareTitle(share: "Summer", title: "Sommer")).code == 0)
        #expect(try party.village.settle())
        #expect(try presentControl(party.carol, party.zone).title == "Sommer")
    }

    @Test func `an owner makes nobody an owner who did not agree, and not by an old consent`() throws {
        let party = try Party(bob: "readWrite")
        let known = try presentControl(party.alice, party.zone)
        let forger = try Forger(party.alice, zone: party.zone, in: party.village)
        let other = try Party(bob: "readWrite", seed: 5)
        let offer = TransferOffer(
            account: party.bob.identity.account, permission: .readOnly, staysAdmin: false,
            number: Array(repeating: 7, count: 16))
        var evil = known
        evil.offer = offer
        evil.handOver(offer, at: [:])
        // Bob agreed to own another zone, or from another owner; and one signed by Alice in his name.
        let bob = party.bob.identity
        var forged = try TransferConsent(offer, of: party.zone, by: known.owner, identity: party.alice.identity)
        forged.account = bob.account
        let consents = [
            try TransferConsent(offer, of: other.zone, by: known.owner, identity: bob),
            try TransferConsent(offer, of: party.zone, by: party.carol.identity.account, identity: bob), forged,
        ]
        for consent in consents {
            try forger.publish(evil, over: try version(party.alice, party.zone), consent: consent)
            try forger.appendHead()
        }
        try party.village.meet()
        #expect(try party.village.settle())
        try expectOwner(party.alice, party, of: [party.bob, party.carol])
        try party.expectGoesOn()
    }

    @Test func `what a former owner signs afterwards, over old controls, counts for nobody and is named`() throws {
        let party = try Party(bob: "readWrite", others: ["mallory"])
        let (before, control) = (try version(party.alice, party.zone), try presentControl(party.alice, party.zone))
        let keyring = try #require(try party.alice.store.read { db in try db.zone(party.zone) }).keyring
        #expect(party.alice.request(.transfer(share: "Summer", account: "bob", stays: "readWrite")).code == 0)
        #expect(try party.village.settle())
        let offered = (try version(party.alice, party.zone), try presentControl(party.alice, party.zone))
        #expect(party.bob.request(.transferAnswer(share: "Summer", accepts: true)).code == 0)
        party.village.world.clock.advance(milliseconds: 11_000)
        #expect(try party.village.settle())
        try expectOwner(party.bob, party, of: [party.alice, party.bob, party.carol])
        // A removal of Carol, a new admin, a withdrawal, a second hand-over to an accomplice: all backdated.
        let forger = try Forger(party.alice, zone: party.zone, in: party.village)
        forger.keyring = try ZoneKeyring(serialized: Array(keyring))
        let mallory = party.village.replicas[3].identity
        for (parent, old) in [(before, control), offered] {
            var removal = old
            removal.participants[party.carol.identity.account]?.remove(at: [:])
            try forger.publish(removal, over: parent)
            var admin = old
            admin.participants[mallory.account] = Participant(
                account: mallory.account, label: "mallory", role: .admin, permission: .readWrite, status: .accepted)
            try forger.publish(admin, over: parent)
            var withdrawal = old
            withdrawal.offer = nil
            withdrawal.title = "Mine"
            try forger.publish(withdrawal, over: parent)
            let offer = TransferOffer(
                account: mallory.account, permission: .readWrite, staysAdmin: true,
                number: Array(repeating: 9, count: 16))
            var second = admin
            second.offer = offer
            second.handOver(offer, at: [:])
            try forger.publish(
                second, over: parent,
                consent: try TransferConsent(offer, of: party.zone, by: forger.identity.account, identity: mallory))
        }
        try forger.appendHead()
        try party.village.meet()
        #expect(try party.village.settle())
        try expectOwner(party.bob, party, of: [party.alice, party.bob, party.carol])
        let final = try presentControl(party.carol, party.zone)
        #expect(final.title == "Summer" && final.participants[mallory.account]?.isAdmin != true)
        party.expectNamed("controlRefused", by: [party.bob, party.carol])
        try party.expectGoesOn()
        // The new owner's next control is taken for valid by all.
        #expect(party.bob.request(.shareTitle(share: "Summer", title: "Sommer")).code == 0)
        #expect(try party.village.settle())
        #expect(try presentControl(party.carol, party.zone).title == "Sommer")
    }
}
