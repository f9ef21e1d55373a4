import ShoeboxCloud
import ShoeboxLibrary
import ShoeboxModel
import ShoeboxStore
import ShoeboxTestSupport
import ShoeboxWorld
import Testing

@testable import Shoebox

/// How access ends, who is told what, and what remains with whom.
@Suite struct RevocationTests {
    private func keyring(_ replica: Replica, _ zone: ZoneID) throws -> ZoneKeyring {
        let row = try #require(try replica.store.read { db in try db.zone(zone) })
        return try ZoneKeyring(serialized: Array(row.keyring))
    }

    private func control(_ replica: Replica, _ zone: ZoneID) throws -> Control {
        let row = try #require(try replica.store.read { db in try db.zone(zone) })
        return try ControlCoder.decode(Array(row.control))
    }

    /// It is in the database before it is in the container. The first thing that a process does is to look whether its state was
    /// put back, in the same heads that tell who takes part.
    @Test(arguments: [false, true])
    func `what was built before somebody was removed, and could not be published, is sealed for those who are left`(
        isRestarted: Bool
    ) throws {
        let party = try Party(bob: "readWrite")
        let (bob, storage) = (party.bob, party.village.world.storage)
        bob.machine.faults.setRule { operation in
            operation.part == "mount" && operation.path.contains("/log/") && operation.name != "read"
                && operation.name != "list" ? .fail(.inputOutput) : nil
        }
        try bob.machine.shared.write("alice/Summer/secret.jpg", "secret")
        try party.rounds(of: bob, 4)
        try #require(try !bob.store.read { db in try db.outbox(of: party.zone) }.isEmpty)
        bob.machine.mount.unmount()
        bob.machine.faults.setRule(nil)
        try #require(party.alice.request(.uninvite(share: "Summer", accounts: ["carol"])).code == 0)
        try party.rounds(of: party.alice, 4)
        party.village.world.clock.advance(milliseconds: 120_000)
        let before = Set(storage.tree().keys)
        bob.machine.mount.mount()
        if isRestarted { try bob.restart() }
        for _ in 0..<10 {
            try bob.round()
            party.village.world.clock.advance(milliseconds: 40_000)
        }
        let current = try #require(party.alice.engine.zones[party.zone]?.keyring.current)
        let fresh = storage.tree().keys.filter { $0.contains("/log/\(bob.identity.replica)/") && !before.contains($0) }
        #expect(!fresh.isEmpty)
        for path in fresh {
            let bytes = try #require(storage.rawRead(try path.mountPath))
            #expect(try SegmentCoder.epoch(of: bytes) == current, "\(path)")
        }
        try #require(try party.village.settle())
        #expect(party.alice.tree(.library)["Summer/secret.jpg"] == "secret")
        #expect(bob.tree(.shared)["alice/Summer/secret.jpg"] == "secret")
    }

    /// The mount fails after some of it; each process lives for a minute only, as where a timer starts one now and then.
    @Test(arguments: [1, 2], [false, true])
    func `of what was published in part, the rest is sealed for those who are left`(parts: Int, isWhole: Bool) throws {
        let party = try Party(bob: "readWrite")
        let (bob, storage) = (party.bob, party.village.world.storage)
        bob.tune = { $0.segmentChangesMax = isWhole ? 1 : 2 }
        let counter = Counter()
        bob.machine.faults.setRule { operation in
            guard operation.part == "mount", operation.path.contains("/log/"), operation.name == "publish" else {
                return nil
            }
            return counter.next() > parts ? .fail(.inputOutput) : nil
        }
        // Each is a transaction of its own, or all are one.
        if isWhole {
            for number in 0..<5 {
                try bob.machine.shared.write("alice/Summer/secret \(number).jpg", "secret \(number)")
                bob.machine.mount.unmount()
                try bob.round()
                party.village.world.clock.advance(milliseconds: 2_000)
                try bob.round()
                bob.machine.mount.mount()
            }
        } else {
            for number in 0..<5 {
                try bob.machine.shared.write("alice/Summer/secret \(number).jpg", "secret \(number)")
            }
        }
        let before = Set(storage.tree().keys)
        try party.rounds(of: bob, 4)
        let built = try bob.store.read { db in try db.outbox(of: party.zone) }.count
        try #require(built > 1)
        bob.machine.mount.unmount()
        bob.machine.faults.setRule(nil)
        try #require(party.alice.request(.uninvite(share: "Summer", accounts: ["carol"])).code == 0)
        try party.rounds(of: party.alice, 4)
        party.village.world.clock.advance(milliseconds: 120_000)
        bob.machine.mount.mount()
        for _ in 0..<10 {
            try bob.restart()
            try bob.round()
            party.village.world.clock.advance(milliseconds: 40_000)
        }
        let current = try #require(party.alice.engine.zones[party.zone]?.keyring.current)
        let fresh = storage.tree().keys.filter { $0.contains("/log/\(bob.identity.replica)/") && !before.contains($0) }
        let former = try fresh.filter { path in
            let bytes = try #require(storage.rawRead(try path.mountPath))
            return try SegmentCoder.epoch(of: bytes) != current
        }
        // What has begun is ended under the key under which it began: half of it nobody could use.
        #expect(isWhole ? former.count == parts : former.count == built, "\(former.count) of \(built)")
        try #require(try party.village.settle())
        for number in 0..<5 {
            #expect(party.alice.tree(.library)["Summer/secret \(number).jpg"] == "secret \(number)")
        }
        #expect(party.alice.problems.isEmpty, "\(party.alice.problems)")
    }

    private final class Counter: Sendable {
        private let count = Mutex(0)
        func next() -> Int {
            count.withLock {
                $0 += 1
                return $0
            }
        }
    }

    /// What was written while that was not known yet has a private copy since.
    @Test func `who leaves after an edit that did not count gets no copy of what others show in its place`() throws {
        let party = try Party(bob: "readWrite")
        let bob = party.bob
        bob.machine.mount.unmount()
        try bob.machine.shared.write("alice/Summer/a.jpg", "too late")
        let demoted = party.alice.request(.permission(share: "Summer", account: "bob", permission: "readOnly"))
        try #require(demoted.code == 0, "\(demoted)")
        try party.rounds(of: party.alice, 2)
        try bob.restart()
        bob.machine.mount.mount()
        try #require(try party.village.settle())
        try #require(bob.tree(.shared)["alice/Summer/a.jpg"] == "aaa")
        #expect(bob.tree(.library).values.sorted() == ["too late"], "\(bob.tree(.library))")
        try #require(bob.request(.leave(share: "Summer", keepCopy: false)).code == 0)
        try #require(try party.village.settle())
        #expect(bob.tree(.library).values.sorted() == ["too late"], "\(bob.tree(.library))")
    }

    @Test
    func `who is removed learns by whom and when, keeps what was unpublished, and reads nothing that comes after`()
        throws
    {
        let party = try Party(bob: "readWrite")
        let before = try keyring(party.bob, party.zone)
        party.bob.machine.mount.unmount()
        try party.bob.machine.shared.write("alice/Summer/a.jpg", "not published")
        try party.village.pass(3)
        #expect(party.alice.request(.uninvite(share: "Summer", accounts: ["bob"])).code == 0)
        // Once more is no error and changes nothing.
        let version = try #require(try party.alice.store.read { db in try db.zone(party.zone) }).controlVersion
        #expect(party.alice.request(.uninvite(share: "Summer", accounts: ["bob"])).code == 0)
        #expect(try party.alice.store.read { db in try db.zone(party.zone)?.controlVersion } == version)
        party.bob.machine.mount.mount()
        #expect(try party.village.settle())
        party.expectShown()
        #expect(party.bob.tree(.shared).isEmpty)
        #expect(party.bob.tree(.library) == ["Kept from Summer/a.jpg": "not published"])
        party.expectNamed("ended", by: [party.bob], containing: "alice removed you at 20")
        let epoch = try #require(try keyring(party.alice, party.zone).current)
        let bobs = try keyring(party.bob, party.zone).epochs
        #expect(!before.epochs.contains(epoch) && !bobs.contains(epoch))
        #expect(try keyring(party.carol, party.zone).current == epoch)
        try party.expectGoesOn()
        #expect(party.bob.tree(.shared).isEmpty)
    }

    @Test
    func `what was published before the removal, and read by the owner only after it, is kept by who is removed`()
        throws
    {
        let party = try Party(bob: "readWrite")
        try party.bob.machine.shared.write("alice/Summer/a.jpg", "known in time")
        try #require(try party.village.settle())
        party.alice.machine.mount.behaviour.appendDelayMilliseconds = 600_000
        try party.bob.machine.shared.write("alice/Summer/x.jpg", "published")
        try party.bob.machine.shared.write("alice/Summer/deep/b.jpg", "edited")
        try party.rounds(of: party.bob, 8)
        try #require(try party.bob.store.read { db in try db.pendingChanges(in: party.zone, limit: 1).isEmpty })
        #expect(party.alice.request(.uninvite(share: "Summer", accounts: ["bob"])).code == 0)
        party.alice.machine.mount.behaviour.appendDelayMilliseconds = 0
        try party.rounds(of: party.alice, 4)
        party.expectNamed("refused", by: [party.alice], containing: "bob")
        #expect(try party.village.settle())
        party.expectShown(["a.jpg": "known in time", "deep/b.jpg": "bbb"])
        #expect(
            party.bob.tree(.library) == ["Kept from Summer/x.jpg": "published", "Kept from Summer/b.jpg": "edited"])
        #expect(party.bob.tree(.shared).isEmpty)
    }

    @Test func `what only another device of the owner had taken in before the removal is kept by who is removed`()
        throws
    {
        let (village, alice, second) = try Village.twoDevices(["Summer/a.jpg": "aaa"], others: ["bob"])
        let bob = village.replicas[1]
        let made = alice.request(
            .shareCreate(paths: [alice.path("Summer")], title: "Summer", publicPermission: "none", isSealed: true))
        #expect(alice.request(.invite(share: "Summer", accounts: ["bob"], permission: "readWrite")).code == 0)
        try #require(bob.request(.accept(link: made.values["link"] ?? "")).code == 0)
        try #require(try village.settle())
        alice.machine.mount.behaviour.appendDelayMilliseconds = 600_000
        try bob.machine.shared.write("alice/Summer/x.jpg", "published")
        for _ in 0..<8 {
            for replica in [bob, second] { try replica.round() }
            village.world.clock.advance(milliseconds: 700)
        }
        try #require(second.tree(.library)["Summer/x.jpg"] == "published")
        #expect(alice.request(.uninvite(share: "Summer", accounts: ["bob"])).code == 0)
        alice.machine.mount.behaviour.appendDelayMilliseconds = 0
        #expect(try village.settle())
        #expect(alice.tree(.library) == ["Summer/a.jpg": "aaa"])
        #expect(second.tree(.library) == alice.tree(.library))
        #expect(bob.tree(.library) == ["Kept from Summer/x.jpg": "published"])
    }

    /// - Parameter isStopped: whether the share ends for everybody.
    @Test(arguments: [false, true])
    func `what was saved and added while nothing ran, and before the removal was read, is kept`(isStopped: Bool) throws
    {
        let party = try Party(bob: "readWrite")
        try party.alice.machine.library.write("Summer/deep/c.jpg", "ccc")
        try #require(try party.village.settle())
        let shared = party.bob.machine.shared
        // As editors save, and as a photo is put over another one.
        try shared.write("alice/Summer/.a.tmp", "saved")
        try shared.move("alice/Summer/.a.tmp", to: "alice/Summer/a.jpg")
        try shared.move("alice/Summer/deep/b.jpg", to: "alice/Summer/deep/c.jpg")
        try shared.write("alice/Summer/deep/new.jpg", "new")
        let ended = party.alice.request(
            isStopped ? .stop(share: "Summer") : .uninvite(share: "Summer", accounts: ["bob"]))
        try #require(ended.code == 0)
        try party.rounds(of: party.alice, 3)
        try party.bob.restart()
        #expect(try party.village.settle())
        #expect(party.bob.tree(.shared).isEmpty, "\(party.bob.tree(.shared))")
        let kept = party.bob.tree(.library)
        #expect(kept["Kept from Summer/a.jpg"] == "saved", "\(kept)")
        #expect(kept["Kept from Summer/new.jpg"] == "new", "\(kept)")
        #expect(kept.values.contains("bbb"), "\(kept)")
    }

    @Test func `who was removed and is invited again gets an invitation`() throws {
        let party = try Party(bob: "readWrite")
        for permission in ["readOnly", "readWrite"] {
            #expect(party.alice.request(.uninvite(share: "Summer", accounts: ["bob"])).code == 0)
            #expect(try party.village.settle())
            #expect(party.bob.tree(.shared).isEmpty)
            let again = party.alice.request(.invite(share: "Summer", accounts: ["bob"], permission: permission))
            #expect(again.code == 0)
            #expect(try party.village.settle())
            // It is the person's to accept: a head of before says nothing of it.
            let listed = try control(party.alice, party.zone).participants.values.filter { $0.label == "bob" }
            #expect(listed.map(\.status) == [.pending])
            let accepted = party.bob.request(.acceptAllPending)
            #expect(accepted.code == 0, "\(accepted)")
            #expect(try party.village.settle())
            #expect(party.bob.tree(.shared)["alice/Summer/a.jpg"] == "aaa")
            let now = try control(party.alice, party.zone).participants.values.filter { $0.label == "bob" }
            #expect(now.map(\.status) == [.accepted])
        }
    }

    /// - Parameter isTaken: whether the daemon noted it while it could not publish it.
    @Test(arguments: [true, false])
    func `who may only read from now on is told which words and names of theirs came too late`(isTaken: Bool) throws {
        let party = try Party(bob: "readWrite")
        let shared = party.bob.machine.shared
        if isTaken { party.bob.machine.mount.unmount() }
        try shared.write("alice/Summer/a.jpg.json", #"{"format": "shoebox.sidecar/1", "caption": "mine", "rating": 3}"#)
        try shared.move("alice/Summer/deep/b.jpg", to: "alice/Summer/deep/z.jpg")
        if isTaken { try party.rounds(of: party.bob, 8) }
        #expect(party.alice.request(.permission(share: "Summer", account: "bob", permission: "readOnly")).code == 0)
        party.bob.machine.mount.mount()
        #expect(try party.village.settle())
        party.expectShown()
        #expect(party.bob.tree(.shared) == ["alice/Summer/a.jpg": "aaa", "alice/Summer/deep/b.jpg": "bbb"])
        party.expectNamed("undone", by: [party.bob], containing: "'a.jpg' in 'Summer' (caption, rating)")
        party.expectNamed("undone", by: [party.bob], containing: "'b.jpg' in 'Summer' (name)")
        #expect(party.bob.tree(.library).isEmpty)
    }

    @Test func `by the share's policy all copies are kept when it ends`() throws {
        var village = try Village(labels: ["alice", "bob"])
        let (alice, bob) = (village.replicas[0], village.replicas[1])
        try alice.machine.library.write("Summer/a.jpg", "aaa")
        try #require(try village.settle())
        let made = alice.request(
            .shareCreate(
                paths: [alice.path("Summer")], title: "Summer", publicPermission: "none", isSealed: true, onEnd: "keep")
        )
        try #require(made.code == 0)
        #expect(alice.request(.invite(share: "Summer", accounts: ["bob"], permission: "readOnly")).code == 0)
        #expect(bob.request(.accept(link: made.values["link"] ?? "")).code == 0)
        try #require(try village.settle())
        #expect(alice.request(.stop(share: "Summer")).code == 0)
        #expect(try village.settle())
        #expect(bob.tree(.shared).isEmpty)
        #expect(bob.tree(.library) == ["Kept from Summer/a.jpg": "aaa"])
        #expect(bob.problems.contains { $0.code == "ended" && $0.message.contains("was stopped by alice at 20") })
        #expect(alice.tree(.library) == ["Summer/a.jpg": "aaa"])
        village.replicas = []
    }

    @Test func `leaving is answered with a new key, coming back needs nobody, and repeating either changes nothing`()
        throws
    {
        let party = try Party(bob: "readWrite")
        let before = try #require(try keyring(party.alice, party.zone).current)
        for _ in 0..<2 {
            #expect(party.bob.request(.leave(share: party.zone.description, keepCopy: false)).code == 0)
            #expect(try party.village.settle())
        }
        let left = try #require(try control(party.alice, party.zone).participants[party.bob.identity.account])
        #expect(left.status == .removed && left.hasLeft)
        let between = try #require(try keyring(party.alice, party.zone).current)
        #expect(between.number > before.number)
        let bobs = try keyring(party.bob, party.zone).epochs
        #expect(!bobs.contains(between))
        try party.expectGoesOn()
        for _ in 0..<2 { #expect(party.bob.request(.accept(link: party.link)).code == 0) }
        #expect(try party.village.settle())
        #expect(party.bob.tree(.shared).count == 4)
        let back = try #require(try control(party.alice, party.zone).participants[party.bob.identity.account])
        #expect(back.takesPart && back.generation == left.generation + 1 && back.permission == .readWrite)
        try party.bob.machine.shared.write("alice/Summer/bob.jpg", "bob")
        #expect(try party.village.settle())
        #expect(party.alice.tree(.library)["Summer/bob.jpg"] == "bob")
        // And once more, before the owner has seen that he left.
        party.alice.machine.mount.unmount()
        #expect(party.bob.request(.leave(share: "Summer", keepCopy: false)).code == 0)
        try party.village.pass(3)
        #expect(party.bob.request(.accept(link: party.link)).code == 0)
        try party.village.pass(3)
        party.alice.machine.mount.mount()
        #expect(try party.village.settle())
        #expect(party.bob.tree(.shared).count == 5, "\(party.bob.tree(.shared)) \(party.bob.problems.map(\.message))")
    }

    @Test func `who was removed does not come back by itself`() throws {
        let party = try Party(bob: "readWrite")
        #expect(party.alice.request(.uninvite(share: "Summer", accounts: ["bob"])).code == 0)
        #expect(try party.village.settle())
        #expect(party.bob.request(.accept(link: party.link)).code == ExitCode.notPermitted)
        #expect(try party.village.settle())
        #expect(party.bob.tree(.shared).isEmpty)
        #expect(party.alice.request(.invite(share: "Summer", accounts: ["bob"], permission: "readOnly")).code == 0)
        #expect(party.bob.request(.accept(link: party.link)).code == 0)
        #expect(try party.village.settle())
        #expect(party.bob.tree(.shared).count == 2)
    }

    @Test func `what could not be published to a share that has ended is no problem any more`() throws {
        let party = try Party(bob: "readWrite")
        let head = "zones/\(party.zone)/heads/"
        #expect(party.alice.request(.stop(share: "Summer")).code == 0)
        try party.alice.round()
        // His own head can't be read just then, by a process that has not read it yet.
        try party.bob.restart()
        party.bob.machine.faults.setRule { [bob = party.bob.identity.replica] operation in
            operation.path.hasPrefix(head) && operation.path.contains("\(bob)") ? .fail(.inputOutput) : nil
        }
        try party.bob.round()
        #expect(party.bob.problems.map(\.code).contains("zoneUnwritable"), "\(party.bob.problems)")
        party.bob.machine.faults.setRule(nil)
        try #require(try party.village.settle())
        #expect(party.bob.problems.map(\.code) == ["ended"], "\(party.bob.problems)")
    }

    @Test func `a control that was published by a process which died before noting it is in force all the same`() throws
    {
        let party = try Party(bob: "readWrite")
        // Dies at each call until the request is done; then everything goes on.
        for step in 1..<60 {
            party.alice.machine.faults.set(.crashAfter, after: step)
            _ = party.alice.request(.stop(share: "Summer"))
            let died = party.alice.machine.faults.isCrashed
            party.alice.machine.faults.clear()
            try party.alice.restart()
            let listed = try party.village.mountFiles("zones/\(party.zone)/control/").count
            _ = try party.alice.round()
            let known = try control(party.alice, party.zone)
            // Two controls: the invitations and acceptances before, then perhaps the stop.
            if !known.isStopped {
                #expect(try party.village.mountFiles("zones/\(party.zone)/control/").count == listed)
            }
            if !died { break }
            if known.isStopped { break }
        }
        #expect(try party.village.settle())
        #expect(try control(party.alice, party.zone).isStopped)
        #expect(party.bob.tree(.shared).isEmpty && party.carol.tree(.shared).isEmpty)
        #expect(
            party.alice.tree(.library) == ["Summer/a.jpg": "aaa", "Summer/deep/b.jpg": "bbb", "Private/c.jpg": "ccc"])
    }

    @Test func `a stop that one device of the owner began is finished by another`() throws {
        var party = try Party(bob: "readOnly")
        let desktop = try party.village.addDevice(of: party.alice, name: "desktop")
        #expect(try party.village.settle())
        #expect(party.alice.request(.stop(share: "Summer")).code == 0)
        party.alice.machine.mount.unmount()
        for _ in 0..<12 {
            for replica in [desktop, party.bob, party.carol] { try replica.round() }
            party.village.world.clock.advance(milliseconds: 700)
        }
        #expect(desktop.tree(.library)["Summer/a.jpg"] == "aaa")
        #expect(try desktop.store.read { db in try db.zone(party.zone)?.state } == .ended)
        #expect(party.bob.tree(.shared).isEmpty)
        party.alice.machine.mount.mount()
        #expect(try party.village.settle())
        #expect(party.alice.tree(.library) == desktop.tree(.library))
    }
}

/// Controls by several: two devices of the owner, and admins.
@Suite struct AdminTests {
    private func control(_ replica: Replica, _ zone: ZoneID) throws -> Control {
        let row = try #require(try replica.store.read { db in try db.zone(zone) })
        return try ControlCoder.decode(Array(row.control))
    }

    @Test func `an admin invites, changes and removes people and renames, and everybody takes it for valid`() throws {
        let party = try Party(bob: "admin", others: ["dave"])
        let dave = party.village.replicas[3]
        #expect(party.bob.request(.shareTitle(share: "Summer", title: "Sommer")).code == 0)
        let invited = party.bob.request(.invite(share: "Sommer", accounts: ["dave"], permission: "readOnly"))
        #expect(invited.code == 0, "\(invited)")
        #expect(dave.request(.accept(link: party.link)).code == 0)
        #expect(try party.village.settle())
        #expect(try control(party.carol, party.zone).title == "Sommer")
        #expect(dave.tree(.shared).count == 2)
        #expect(party.bob.request(.permission(share: "Sommer", account: "dave", permission: "readWrite")).code == 0)
        #expect(try party.village.settle())
        try dave.machine.shared.write("alice/Sommer/dave.jpg", "dave")
        #expect(try party.village.settle())
        #expect(party.carol.tree(.shared).values.contains("dave"))
        #expect(party.bob.request(.uninvite(share: "Sommer", accounts: ["carol"])).code == 0)
        #expect(try party.village.settle())
        #expect(party.carol.tree(.shared).isEmpty)
        party.expectNamed("ended", by: [party.carol], containing: "bob removed you")
        try party.alice.machine.library.write("Summer/later.jpg", "later")
        #expect(try party.village.settle())
        #expect(dave.tree(.shared).values.contains("later"))
        for replica in [party.alice, party.bob, dave] {
            #expect(!replica.problems.contains { $0.code.hasPrefix("control") }, "\(replica.problems.map(\.message))")
        }
    }

    @Test func `what an admin may not do is refused with a reason, and nothing changes`() throws {
        let party = try Party(bob: "admin", others: ["dave"])
        #expect(party.alice.request(.permission(share: "Summer", account: "carol", permission: "admin")).code == 0)
        #expect(try party.village.settle())
        let before = try control(party.alice, party.zone)
        for request in [
            Request.stop(share: "Summer"), .uninvite(share: "Summer", accounts: ["carol"]),
            .permission(share: "Summer", account: "carol", permission: "readOnly"),
            .invite(share: "Summer", accounts: ["dave"], permission: "admin"),
            .permission(share: "Summer", account: "bob", permission: "readOnly"),
        ] {
            let reply = party.bob.request(request)
            #expect(reply.code == ExitCode.notPermitted, "\(request): \(reply)")
        }
        #expect(party.bob.request(.invite(share: "Summer", accounts: ["alice"], permission: "readOnly")).code != 0)
        #expect(try party.village.settle())
        #expect(try control(party.carol, party.zone).participants == before.participants)
    }

    @Test func `a share that is full says so and what to do; who takes part already is no one more`() throws {
        let party = try Party(bob: "readOnly", others: ["dave"])
        party.alice.engine.settings.participantsMax = 2
        let reply = party.alice.request(.invite(share: "Summer", accounts: ["dave"], permission: "readOnly"))
        #expect(reply.code == ExitCode.failed && reply.remedy?.contains("limits.participantsMax") == true, "\(reply)")
        #expect(party.alice.request(.invite(share: "Summer", accounts: ["bob"], permission: "readWrite")).code == 0)
        #expect(party.alice.request(.uninvite(share: "Summer", accounts: ["carol"])).code == 0)
        #expect(party.alice.request(.invite(share: "Summer", accounts: ["dave"], permission: "readOnly")).code == 0)
        party.alice.engine.settings.zonesMax = 1
        let made = party.alice.request(
            .shareCreate(
                paths: [party.alice.path("Private")], title: "More", publicPermission: "none", isSealed: true))
        #expect(made.code == ExitCode.failed && made.remedy?.contains("share add") == true, "\(made)")
    }

    @Test func `removals by two devices and an admin at once are one control in the end, and nobody is back`() throws {
        var party = try Party(bob: "admin", others: ["dave", "erin", "fred"])
        let (dave, erin, fred) = (party.village.replicas[3], party.village.replicas[4], party.village.replicas[5])
        #expect(
            party.alice.request(.invite(share: "Summer", accounts: ["dave", "erin"], permission: "readWrite")).code == 0
        )
        for replica in [dave, erin] { #expect(replica.request(.accept(link: party.link)).code == 0) }
        let desktop = try party.village.addDevice(of: party.alice, name: "desktop")
        #expect(try party.village.settle())
        // Three write without seeing each other: each sees the mount as it was.
        party.village.world.clock.advance(milliseconds: 60_000)
        var late = SimulatedMountBehaviour()
        late.listingDelayMilliseconds = 20_000...20_000
        late.appendDelayMilliseconds = 20_000
        for replica in [desktop, party.bob] { replica.machine.mount.behaviour = late }
        #expect(party.alice.request(.uninvite(share: "Summer", accounts: ["dave"])).code == 0)
        #expect(desktop.request(.uninvite(share: "Summer", accounts: ["erin"])).code == 0)
        #expect(party.bob.request(.invite(share: "Summer", accounts: ["fred"], permission: "readOnly")).code == 0)
        for replica in [desktop, party.bob] { replica.machine.mount.behaviour = SimulatedMountBehaviour() }
        #expect(try party.village.settle())
        party.village.world.clock.advance(milliseconds: 70_000)
        #expect(try party.village.settle())
        _ = fred.request(.accept(link: party.link))
        #expect(try party.village.settle())
        #expect(dave.tree(.shared).isEmpty && erin.tree(.shared).isEmpty && fred.tree(.shared).count == 2)
        let final = try control(party.alice, party.zone)
        for replica in [desktop, party.bob, party.carol, fred] { #expect(try control(replica, party.zone) == final) }
        for name in ["dave", "erin"] {
            #expect(final.participants.values.first { $0.label == name }?.status == .removed)
        }
        // What comes now is sealed with a key that neither has.
        try party.alice.machine.library.write("Summer/later.jpg", "later")
        #expect(try party.village.settle())
        #expect(fred.tree(.shared).values.contains("later"))
    }

    @Test func `what a former admin signs afterwards, over old controls, counts for nobody and is named`() throws {
        let party = try Party(bob: "admin", others: ["mallory"])
        let row = try #require(try party.bob.store.read { db in try db.zone(party.zone) })
        let forger = try Forger(party.bob, zone: party.zone, in: party.village)
        #expect(party.alice.request(.permission(share: "Summer", account: "bob", permission: "readWrite")).code == 0)
        #expect(try party.village.settle())
        var control = try ControlCoder.decode(Array(row.control))
        let mallory = party.village.replicas[3].identity.account
        control.participants[mallory] = Participant(account: mallory, label: "mallory", permission: .readWrite)
        try forger.publish(control, over: ControlVersion(version: row.controlVersion, hash: row.controlHash))
        try forger.send([try forger.photo("still.jpg", "still a writer")])
        try party.village.meet()
        #expect(try party.village.settle())
        for replica in [party.alice, party.carol] {
            #expect(try self.control(replica, party.zone).participants[mallory] == nil)
        }
        party.expectNamed("controlRefused", by: [party.alice, party.carol])
        try party.expectGoesOn(Party.content.merging(["still.jpg": "still a writer"]) { $1 })
    }
}
