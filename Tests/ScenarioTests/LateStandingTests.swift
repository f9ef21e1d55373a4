import Shoebox
import ShoeboxLibrary
import ShoeboxModel
import ShoeboxPlanning
import ShoeboxStore
import ShoeboxTestSupport
import ShoeboxWorld
import Testing

@testable import ShoeboxCloud

/// Says yes once.
private final class Once: Sendable {
    private let isTaken = Mutex(false)

    func take() -> Bool {
        isTaken.withLock { isTaken in
            defer { isTaken = true }
            return !isTaken
        }
    }
}

/// Who may do what, where somebody learns of it late: a device that was away, an answer that is read after another one.
@Suite struct LateStandingTests {
    private func control(_ replica: Replica, _ zone: ZoneID) throws -> Control {
        let row = try #require(try replica.store.read { db in try db.zone(zone) })
        return try ControlCoder.decode(Array(row.control))
    }

    private func permission(of person: Replica, at replica: Replica, _ zone: ZoneID) throws -> Permission {
        try control(replica, zone).permission(of: person.identity.account)
    }

    private func must(_ replica: Replica, _ request: Request, code: Int32 = 0) throws {
        let reply = replica.request(request)
        try #require(reply.code == code, "\(reply)")
    }

    /// Alice's share as one that everybody may join and write in who has its link, and Dan, who has it.
    private func publicParty() throws -> (Party, dan: Replica) {
        var party = try Party(bob: "readWrite", others: ["dan"])
        let opened = party.alice.request(
            .setPublic(share: "Summer", permission: "readWrite", renews: false, announces: false))
        party.link = try #require(opened.values["link"])
        try #require(try party.village.settle())
        return (party, party.village.replicas[3])
    }

    /// Rounds of these alone, time going on.
    private func meet(_ replicas: [Replica], _ village: Village, rounds: Int = 8) throws {
        for _ in 0..<rounds {
            for replica in replicas { try replica.round() }
            village.world.clock.advance(milliseconds: 5_500)
        }
    }

    @Test func `a device that was away undoes no promotion when it learns that a participant's device was retired`()
        throws
    {
        var party = try Party(bob: "readOnly")
        let laptop = try party.village.addDevice(of: party.alice, name: "laptop")
        let phone = try party.village.addDevice(of: party.carol, name: "phone")
        try #require(try party.village.settle())
        // Alice's first device is off from here.
        let others = [laptop, party.bob, party.carol]
        try must(party.carol, .deviceRetire(name: "phone"))
        try meet(others, party.village)
        #expect(try control(laptop, party.zone).retired[phone.identity.device.digest] != nil)
        try must(laptop, .permission(share: "Summer", account: "bob", permission: "readWrite"))
        try must(laptop, .shareTitle(share: "Summer", title: "A summer"))
        try meet(others, party.village)
        try party.bob.machine.shared.write("alice/Summer/new.jpg", "new")
        try meet(others, party.village)
        #expect(party.carol.tree(.shared)["alice/Summer/new.jpg"] == "new")
        try party.alice.restart()
        try meet([party.alice] + others, party.village)
        for replica in [party.alice] + others {
            #expect(try permission(of: party.bob, at: replica, party.zone) == .readWrite, "\(replica.machine.name)")
            #expect(try control(replica, party.zone).title == "A summer")
        }
        #expect(party.alice.tree(.library)["Summer/new.jpg"] == "new")
        #expect(party.carol.tree(.shared)["alice/Summer/new.jpg"] == "new")
    }

    @Test(arguments: [false, true])
    func
        `what a device published before it was retired counts, though the owner was away, or can't read a head at once`(
            failsOnce: Bool
        ) throws
    {
        var party = try Party(bob: "readWrite")
        // The owner is off from here.
        let phone = try party.village.addDevice(of: party.bob, name: "phone")
        let others = [party.bob, phone, party.carol]
        try meet(others, party.village)
        try phone.machine.shared.write("alice/Summer/new.jpg", "new")
        try meet(others, party.village)
        #expect(party.bob.tree(.shared)["alice/Summer/new.jpg"] == "new")
        try must(party.bob, .deviceRetire(name: "phone"))
        try meet([party.bob, party.carol], party.village)
        try party.alice.restart()
        if failsOnce {
            let head = "zones/\(party.zone)/heads/\(party.bob.identity.replica)"
            let first = Once()
            party.alice.machine.faults.setRule { operation in
                operation.part == "mount" && operation.path.hasPrefix(head) && first.take() ? .fail(.inputOutput) : nil
            }
        }
        try meet([party.alice, party.bob, party.carol], party.village)
        #expect(party.alice.tree(.library)["Summer/new.jpg"] == "new")
        #expect(party.carol.tree(.shared)["alice/Summer/new.jpg"] == "new")
        #expect(try control(party.carol, party.zone).retired[phone.identity.device.digest] != nil)
    }

    @Test func `what somebody publishes right after joining by the public link counts, whoever reads it first`() throws
    {
        let (party, dan) = try publicParty()
        try meet([party.alice, party.carol], party.village, rounds: 3)
        // The owner has just looked who joins.
        try party.alice.round()
        try must(dan, .accept(link: party.link))
        try dan.round()
        try dan.machine.shared.write("alice/Summer/new.jpg", "new")
        for _ in 0..<4 {
            try dan.round()
            party.village.world.clock.advance(milliseconds: 300)
        }
        // A command has the owner look for new devices, and not for who joins.
        try must(party.alice, .permission(share: "Summer", account: "carol", permission: "readOnly"))
        try meet([party.alice, party.carol, dan], party.village)
        #expect(party.alice.tree(.library)["Summer/new.jpg"] == "new")
        #expect(party.carol.tree(.shared)["alice/Summer/new.jpg"] == "new")
        #expect(dan.problems.isEmpty, "\(dan.problems.map(\.message))")
    }

    @Test func `who left and is put out then does not come back, and nobody says that they may do something else now`()
        throws
    {
        let party = try Party(bob: "readWrite")
        try must(party.bob, .leave(share: "Summer", keepCopy: false))
        try #require(try party.village.settle())
        #expect(try control(party.alice, party.zone).participants[party.bob.identity.account]?.hasLeft == true)
        let refused = party.alice.request(.permission(share: "Summer", account: "bob", permission: "readOnly"))
        #expect(refused.code == ExitCode.failed && "\(refused)".contains("takes no part"), "\(refused)")
        try must(party.alice, .uninvite(share: "Summer", accounts: ["bob"]))
        try #require(try party.village.settle())
        _ = party.bob.request(.accept(link: party.link))
        try meet(party.village.replicas, party.village)
        #expect(try permission(of: party.bob, at: party.alice, party.zone) == .none)
        #expect(party.bob.tree(.shared).isEmpty)
        // Until somebody asks them.
        try must(party.alice, .invite(share: "Summer", accounts: ["bob"], permission: "readOnly"))
        try must(party.bob, .accept(link: party.link))
        try meet(party.village.replicas, party.village)
        #expect(party.bob.tree(.shared)["alice/Summer/a.jpg"] == "aaa")
    }

    @Test
    func `who came by a public link and left has left for all, comes back by it, and not after it was taken back`()
        throws
    {
        let (party, dan) = try publicParty()
        let all = party.village.replicas
        try must(dan, .accept(link: party.link))
        try meet(all, party.village)
        #expect(dan.tree(.shared)["alice/Summer/a.jpg"] == "aaa")
        try must(dan, .leave(share: "Summer", keepCopy: false))
        try meet(all, party.village)
        for replica in [party.alice, party.carol] {
            let person = try control(replica, party.zone).participants[dan.identity.account]
            #expect(person?.takesPart == false && person?.hasLeft == true, "\(replica.label)")
        }
        _ = dan.request(.accept(link: party.link))
        try meet(all, party.village)
        #expect(dan.tree(.shared)["alice/Summer/a.jpg"] == "aaa")
        try dan.machine.shared.write("alice/Summer/back.jpg", "back")
        try meet(all, party.village)
        #expect(party.carol.tree(.shared)["alice/Summer/back.jpg"] == "back")
        try must(dan, .leave(share: "Summer", keepCopy: false))
        try meet(all, party.village)
        try must(party.alice, .setPublic(share: "Summer", permission: "none", renews: false, announces: false))
        try meet(all, party.village)
        _ = dan.request(.accept(link: party.link))
        try meet(all, party.village)
        #expect(try permission(of: dan, at: party.alice, party.zone) == .none)
        #expect(dan.tree(.shared).isEmpty)
    }

    @Test func `making a share private ends the links that people may ask by`() throws {
        let party = try Party(bob: "readWrite", others: ["dan"])
        let dan = party.village.replicas[3]
        let made = party.alice.request(
            .makeLink(share: "Summer", permission: "readWrite", expiresMilliseconds: 0, count: 50, asks: false))
        let link = try #require(made.values["link"])
        let reply = party.alice.request(
            .setPublic(share: "Summer", permission: "none", renews: false, announces: false))
        #expect(reply.code == 0 && reply.lines.contains("ended: the link to ask by"), "\(reply)")
        _ = dan.request(.accept(link: link))
        try meet(party.village.replicas, party.village)
        #expect(try permission(of: dan, at: party.alice, party.zone) == .none)
        #expect(dan.tree(.shared).isEmpty)
    }

    @Test(arguments: [true, false])
    func `of two answers to an offer the later one counts, in whatever order they are read`(accepts: Bool) throws {
        for seed in 1..<7 as Range<UInt64> {
            let party = try Party(bob: "readWrite", seed: seed)
            try must(party.alice, .transfer(share: "Summer", account: "bob", stays: "admin"))
            try #require(try party.village.settle())
            // The owner is off for both.
            for answer in [!accepts, accepts] {
                try must(party.bob, .transferAnswer(share: "Summer", accepts: answer))
                party.village.world.clock.advance(milliseconds: 60_000)
            }
            try meet([party.alice, party.bob], party.village)
            let owner = try control(party.alice, party.zone).owner
            #expect(owner == (accepts ? party.bob : party.alice).identity.account, "seed \(seed)")
        }
    }

    @Test func `what is published after a while away is not for who was removed meanwhile`() throws {
        let party = try Party(bob: "readWrite")
        party.carol.machine.mount.unmount()
        try party.carol.machine.shared.write("alice/Summer/new.jpg", "new")
        try meet([party.carol], party.village, rounds: 20)
        try must(party.alice, .uninvite(share: "Summer", accounts: ["bob"]))
        try meet([party.alice, party.bob], party.village)
        let row = try #require(try party.carol.store.read { db in try db.zone(party.zone) })
        party.carol.machine.mount.mount()
        // The first round already publishes, by a key that Bob has not.
        try party.carol.round()
        let bobs = try #require(try party.bob.store.read { db in try db.zone(party.zone) })
        let mount = SimulatedMount(client: "looker", storage: party.village.world.storage)
        let folder = ZoneFolder(zone: party.zone, mount: mount, accounts: AccountDirectory(mount: mount))
        let head = try #require(try folder.readHead(party.carol.identity.replica, from: HeadCursor()).newest)
        #expect(head.last.sequence > row.last.sequence)
        let page = try folder.readSegments(
            of: head.replica, after: row.last, upTo: head, isSealed: true,
            keyring: try ZoneKeyring(serialized: Array(bobs.keyring)))
        guard case .missingKey = page.end else {
            Issue.record("Bob reads what Carol published: \(page.segments.count) segments, \(page.end)")
            return
        }
        try meet([party.alice, party.carol], party.village)
        #expect(party.alice.tree(.library)["Summer/new.jpg"] == "new")
    }

    @Test func `a photo that was on its way into a share that is closed to its mover stays where it was`() throws {
        let (party, dan) = try Party.twoShares()
        // Carol is in both of Alice's shares; Dan shares one with her, in which Alice has no part.
        try dan.machine.library.write("Dans/d.jpg", "ddd")
        try #require(try party.village.settle())
        let made = dan.request(
            .shareCreate(paths: [dan.path("Dans")], title: "Dans", publicPermission: "none", isSealed: true))
        try must(dan, .invite(share: "Dans", accounts: ["carol"], permission: "readWrite"))
        try must(party.carol, .accept(link: made.values["link"] ?? ""))
        try #require(try party.village.settle())
        party.carol.machine.mount.unmount()
        try party.carol.machine.shared.move("alice/Summer/a.jpg", to: "dan/Dans/a.jpg")
        try meet([party.carol], party.village, rounds: 20)
        try must(dan, .uninvite(share: "Dans", accounts: ["carol"]))
        try meet([dan, party.alice, party.bob], party.village)
        party.carol.machine.mount.mount()
        try meet(party.village.replicas, party.village, rounds: 12)
        #expect(party.alice.tree(.library)["Summer/a.jpg"] == "aaa")
        #expect(party.bob.tree(.shared)["alice/Summer/a.jpg"] == "aaa")
        #expect(party.carol.tree(.shared)["alice/Summer/a.jpg"] == "aaa")
    }

    @Test func `a photo that another device moves into a share that was handed over meanwhile stays, with its words`()
        throws
    {
        var party = try Party(bob: "readWrite")
        let laptop = try party.village.addDevice(of: party.alice, name: "laptop")
        try must(party.alice, .caption(path: party.alice.path("Private/c.jpg"), text: "of c"))
        try #require(try party.village.settle())
        laptop.machine.mount.unmount()
        try laptop.machine.library.move("Private/c.jpg", to: "Summer/c.jpg")
        try meet([laptop], party.village, rounds: 20)
        try must(party.alice, .transfer(share: "Summer", account: "bob", stays: "readWrite"))
        try meet([party.alice, party.bob], party.village)
        try must(party.bob, .transferAnswer(share: "Summer", accepts: true))
        try meet([party.alice, party.bob], party.village)
        laptop.machine.mount.mount()
        try meet(party.village.replicas, party.village, rounds: 12)
        for replica in [party.alice, laptop] {
            let tree = replica.tree(.library, sidecars: true)
            #expect(tree["Private/c.jpg"] == "ccc", "\(replica.machine.name): \(tree)")
            #expect(replica.sidecar("Private/c.jpg", .library)?.fields.caption == "of c")
        }
        #expect(party.alice.tree(.library) == laptop.tree(.library))
    }
}
