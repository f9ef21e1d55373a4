import Foundation
import GRDB
import ShoeboxCloud
import ShoeboxLibrary
import ShoeboxModel
import ShoeboxPlanning
import ShoeboxStore
import ShoeboxTestSupport
import ShoeboxWorld
import Testing

@testable import Shoebox

/// Alice and Bob before a deed, to come back to as often as needed.
final class Stage {
    let deed: Deed
    private(set) var village: Village
    let alice: Replica
    let bob: Replica
    private(set) var laptop: Replica?
    private(set) var link = ""
    private(set) var zone = ""
    private var before: SimulatedWorld.Snapshot
    private var states: [(store: Store, identity: Identity)] = []
    /// The transaction of the history that is to be undone.
    private(set) var undone: Int64 = 0
    /// Where a device that is to be admitted runs, and what it keeps outside of its folders.
    private(set) var pendingMachine: SimulatedMachine?
    private var pendingState: TemporaryState?
    /// Its keys, and the code it waits under, where it waits already.
    private(set) var pending: PendingDevice?

    init(_ deed: Deed) throws {
        self.deed = deed
        village = try Village(labels: ["alice", "bob"], storesMayDie: true)
        (alice, bob) = (village.replicas[0], village.replicas[1])
        before = village.world.snapshot()
        for (path, text) in ["Summer/a.jpg": "aaa", "Summer/deep/b.jpg": "bbb", "Private/c.jpg": "ccc"] {
            try alice.machine.library.write(path, text)
        }
        try rest()
        // What is said of a photo travels with it, whatever happens.
        try must(alice.request(.caption(path: alice.path("Summer/deep/b.jpg"), text: "deep")))
        try must(alice.request(.tag(path: alice.path("Summer/deep/b.jpg"), titles: ["old"], isMember: true)))
        if deed.sharing.rawValue >= Deed.Sharing.made.rawValue { try must(share()) }
        if deed.sharing.rawValue >= Deed.Sharing.invited.rawValue, deed != .joined { try must(invite()) }
        try rest()
        if deed.sharing == .accepted, deed != .joined {
            try must(bob.request(.accept(link: link)))
            try rest()
        }
        if deed.hasPendingLaptop { pendingMachine = village.world.addMachine("laptop") }
        if deed.hasLaptop {
            let replica = try village.addDevice(of: alice, name: "laptop")
            laptop = replica
            if deed != .firstMirror { try rest() }
        }
        try prepare()
        before = village.world.snapshot()
        states = try village.replicas.map { (try $0.store.backup(), $0.identity) }
    }

    /// The one on whose machine something goes wrong; nil for a device that is not set up yet.
    var victim: Replica? {
        switch deed.victim {
        case .alice: alice
        case .bob: bob
        case .laptop: laptop
        }
    }

    /// The machine on which something goes wrong.
    var victimMachine: SimulatedMachine { victim?.machine ?? pendingMachine ?? alice.machine }

    /// A new process after a death.
    func restartVictim() throws {
        if let victim { try victim.restart() } else { victimMachine.restart() }
    }

    /// What has happened to whom the deed is about.
    private func prepare() throws {
        let library = alice.machine.library
        let others = bob.machine.shared
        let photo = alice.path("Summer/a.jpg")
        switch deed {
        case .mirroring: for number in 0..<6 { try library.write("Summer/new/\(number).jpg", "new \(number)") }
        case .overwritten: try library.write("Summer/a.jpg", "other", saving: .replacing)
        case .renamed:
            try library.move("Summer/deep/b.jpg", to: "Summer/deep/z.jpg")
            try library.move("Summer/deep", to: "Summer/deeper")
        case .swapped:
            try library.write("Summer/d.jpg", "ddd")
            try rest()
            try must(caption("of a"))
            try must(alice.request(.caption(path: alice.path("Summer/d.jpg"), text: "of d")))
            try rest()
            try library.move(
                try #require(RelativePath("Summer/a.jpg")), to: try #require(RelativePath("Summer/d.jpg")),
                mode: .exchange)
        case .deleted: try library.delete("Summer/deep")
        case .deletedTheirs:
            try others.delete("alice/Summer/deep/b.jpg")
            try rounds(of: bob, 4, after: 40_000)
        case .readOnlyEdit:
            try must(alice.request(.permission(share: "Summer", account: "bob", permission: "readOnly")))
            try rest()
        case .sidecarSeen: try must(caption("seen"))
        case .conflict:
            try library.write("Summer/a.jpg", "by alice")
            try must(caption("by alice"))
        case .resolve:
            try must(caption("by alice"))
            try must(bob.request(.caption(path: bob.path("alice/Summer/a.jpg", .shared), text: "by bob")))
            try rest()
        case .joined:
            try must(bob.request(.accept(link: link)))
            for _ in 0..<2 { try bob.round() }
            return
        case .demoted:
            try others.write("alice/Summer/a.jpg", "too late")
            try must(alice.request(.permission(share: "Summer", account: "bob", permission: "readOnly")))
        case .revoked: try must(alice.request(.uninvite(share: "Summer", accounts: ["bob"])))
        case .ended, .endedKeeping: try must(alice.request(.stop(share: "Summer")))
        case .restoreShare:
            try others.delete("alice/Summer")
            try rounds(of: bob, 3, after: 40_000)
            return
        case .tagRenameOwn, .tagDeleteOwn:
            try must(alice.request(.tag(path: alice.path("Private/c.jpg"), titles: ["own"], isMember: true)))
            try rest()
        case .swapping:
            // It goes where its photo goes.
            try must(caption("of a"))
            try rest()
        case .ask, .admit, .refuse:
            let made = alice.request(
                .makeLink(share: "Summer", permission: "readWrite", expiresMilliseconds: 0, count: 0, asks: true))
            try must(made)
            link = try #require(made.values["link"])
            try rest()
            guard deed != .ask else { return }
            try #require(bob.request(.ask(link: link)).code == ExitCode.reported)
            try rest()
        case .renewLink, .unpublish:
            try must(bob.request(.accept(link: link)))
            try rest()
        case .declineTransfer, .withdrawTransfer:
            try must(alice.request(.transfer(share: "Summer", account: "bob", stays: "readWrite")))
            try rest()
        case .approve, .admitKeys:
            let world = try #require(pendingMachine).world
            let fresh = try PendingDevice(
                label: "laptop", accountLabel: "alice", code: PairingCode(randomBytes: world.randomBytes),
                randomBytes: world.randomBytes)
            pending = fresh
            if deed == .approve { try ask(fresh) }
        case .takeOver, .handedOver:
            try must(alice.request(.transfer(share: "Summer", account: "bob", stays: "readWrite")))
            try rest()
            if deed == .handedOver {
                try must(bob.request(.transferAnswer(share: "Summer", accepts: true)))
                for _ in 0..<3 { try bob.round() }
            }
            return
        case .undo:
            try must(caption("to be undone"))
            // Bob has a sidecar that says it; one that says nothing any more stays with him.
            try rest()
        case .restoreTrash:
            // What others delete goes to the trash.
            try others.delete("alice/Summer/deep/b.jpg")
            try rest()
        case .restoreVersion:
            try library.write("Summer/a.jpg", "second")
            try rest()
        case .restoreContent:
            try library.write("Summer/a.jpg", "")
            try rest()
        case .emptyTrash:
            try others.write("alice/Summer/a.jpg", "over")
            try rest()
        case .confirmDeletions, .rejectDeletions:
            for replica in village.replicas { replica.tune = { $0.massDeletionCount = 1 } }
            for number in 0..<8 { try library.write("Many/\(number).jpg", "many \(number)") }
            try rest()
            try library.delete("Many")
            try rounds(of: alice, 3, after: 40_000)
            try #require(alice.problems.contains { $0.code == "massDeletion" }, "\(alice.problems)")
        case .compact:
            for replica in village.replicas {
                replica.tune = {
                    $0.compactSegmentsMin = 6
                    $0.compactSegmentsMax = 6
                    $0.compactGraceMilliseconds = 3_600_000
                }
            }
            for number in 0..<8 {
                try must(number % 2 == 0 ? caption("\(number)") : alice.request(.rate(path: photo, value: number % 5)))
                try rounds(of: alice, 2, after: 700)
            }
            try rest()
        case .rebuild:
            let machine = alice.machine
            let (identity, _) = try alice.identity.makeSecondDevice(
                deviceLabel: "again", nowMilliseconds: machine.world.nowMilliseconds(),
                randomBytes: machine.world.randomBytes)
            try alice.restart(store: try Store(), identity: identity)
            try alice.engine.setUp(host: machine.name, takeOver: true)
            return
        case .repair:
            let storage = village.world.storage
            for path in try village.mountFiles("assets/") { storage.rawRemove(path) }
            for path in try village.mountFiles("zones/\(zone)/control/") { storage.rawRemove(path) }
        case .recreate:
            let storage = village.world.storage
            for path in storage.tree().keys { storage.rawRemove(try #require(MountPath(path))) }
            for name in storage.rawList(.root) { storage.rawRemove(try #require(MountPath(name))) }
            return
        case .copiedState:
            let (copy, identity) = (try alice.store.backup(), alice.identity)
            try must(caption("after the copy was made"))
            try library.write("Summer/a.jpg", "second")
            try rest()
            try alice.restart(store: copy, identity: identity)
            try must(alice.request(.rate(path: photo, value: 4)))
            return
        case .restoredContainer:
            let backup = village.world.storage.snapshot()
            try must(caption("after the backup"))
            try library.write("Summer/e.jpg", "eee")
            try rest()
            village.world.storage.restore(backup)
            return
        case .retired: try must(try #require(laptop).request(.deviceRetire(name: "alice")))
        default: return
        }
        try rounds(of: alice, 3, after: 2_000)
    }

    private func ask(_ device: PendingDevice) throws {
        let world = try #require(pendingMachine).world
        try Pairing(try #require(device.code), mount: world.mount).ask(
            device, nowMilliseconds: world.nowMilliseconds(), randomBytes: world.randomBytes)
    }

    private func rounds(of replica: Replica, _ count: Int, after milliseconds: UInt64) throws {
        for _ in 0..<count {
            try replica.round()
            village.world.clock.advance(milliseconds: milliseconds)
        }
    }

    private func must(_ reply: Reply) throws { try #require(reply.code == 0, "\(deed): \(reply)") }

    private func rest() throws { try #require(try settle(), "\(deed) can't begin") }

    func share() -> Reply {
        let reply = alice.request(
            .shareCreate(
                paths: [alice.path("Summer")], title: "Summer", publicPermission: deed.publicPermission, isSealed: true,
                onEnd: deed == .endedKeeping ? "keep" : "remove"))
        link = reply.values["link"] ?? link
        zone = reply.values["id"] ?? zone
        return reply
    }

    func invite() -> Reply {
        alice.request(.invite(share: "Summer", accounts: ["bob"], permission: "readWrite"))
    }

    func caption(_ text: String) -> Reply {
        alice.request(.caption(path: alice.path("Summer/a.jpg"), text: text))
    }

    /// Everybody and everything as before the deed.
    func reset() throws {
        village.world.restore(before)
        // It is the first run after a power cut, in which more is looked at.
        victimMachine.powerCut(.losingNothing)
        if deed.hasPendingLaptop {
            village.replicas.removeAll { $0.machine === pendingMachine }
            laptop = nil
            pendingState = try TemporaryState()
            pendingMachine?.restart()
        }
        for (replica, state) in zip(village.replicas, states) {
            let faults = replica.machine.faults
            let flag = TransactionFault()
            let store = try state.store.backup(
                gate: { flag.isNext = try !faults.attempt("store", "write") },
                commit: {
                    guard flag.isNext else { return }
                    flag.isNext = false
                    throw DatabaseError(resultCode: .SQLITE_FULL, message: "database or disk is full")
                })
            try replica.restart(store: store, identity: state.identity)
        }
    }

    /// Does it: what a user does with files first, then the command. Nil if there is no command.
    func begin() throws -> Reply? {
        let library = alice.machine.library
        let others = bob.machine.shared
        undone = (try? alice.store.read { db in try db.history(after: 0, limit: .max).map(\.token).max() }) ?? 0
        switch deed {
        case .importing:
            for number in 0..<3 { try library.write("Summer/new/\(number).jpg", "new \(number)") }
            try library.write("Private/d.jpg", "ddd")
            try library.write(
                "Private/d.jpg.json", #"{"format": "shoebox.sidecar/1", "caption": "Lake", "tags": ["one", "two"]}"#)
        case .overwriting: try library.write("Summer/a.jpg", "other", saving: .replacing)
        case .renaming:
            try library.move("Summer/a.jpg", to: "Private/z.jpg")
            try library.move("Summer/deep", to: "Summer/deeper")
        case .moving:
            try library.move("Summer/deep/b.jpg", to: "Summer/b.jpg")
            try library.move("Private/c.jpg", to: "Summer/c.jpg")
        case .swapping:
            try library.move(
                try #require(RelativePath("Summer/a.jpg")), to: try #require(RelativePath("Private/c.jpg")),
                mode: .exchange)
        case .deleting: try library.delete("Summer/deep")
        case .deletingTheirs: try others.delete("alice/Summer/deep/b.jpg")
        case .droppingTheirs: try others.delete("alice/Summer")
        case .sidecar:
            try library.write(
                "Summer/a.jpg.json", #"{"format": "shoebox.sidecar/1", "caption": "Sea", "tags": ["sun"]}"#)
        case .conflict, .readOnlyEdit: try others.write("alice/Summer/a.jpg", "by bob")
        default: return command()
        }
        return nil
    }

    /// The caption that a conflict was decided for, once it was done without anything failing.
    var resolved = ""

    /// A few rounds of the one that the deed is about, as far as it lives.
    func rounds() {
        if deed == .emptyTrash { village.world.clock.advance(milliseconds: 40 * 86_400_000) }
        for number in 0..<6 where !victimMachine.faults.isCrashed {
            do { try victim?.round() } catch { continue }
            // Long enough for what is missing to be taken for deleted.
            village.world.clock.advance(milliseconds: max(deed.waitMilliseconds, number == 2 ? 40_000 : 0))
        }
    }

    /// Rounds of everybody until nothing is left to do, and again after devices that are new were looked for, and what is
    /// missing was taken for deleted.
    func settle() throws -> Bool {
        if deed == .approve || deed == .admitKeys { try admitLaptop() }
        for _ in 0..<2 {
            _ = try pause()
            // What could not be offered again is tried once a minute.
            village.world.clock.advance(milliseconds: [.recreate, .repair].contains(deed) ? 70_000 : 40_000)
        }
        return try pause()
    }

    // MARK: A device that is to be admitted

    /// What the other device does on its side: `init --join`, and what is typed on the first device in between.
    func pair() throws {
        let machine = try #require(pendingMachine)
        let state = try #require(pendingState).directory
        var setup = Setup(account: "alice", container: "", library: "", shared: "")
        var code = ""
        setup.joins = Setup.Joining(code: nil, waitMilliseconds: 0) { code = $0 }
        do { _ = try setup.makeIdentity(state, machine.world) } catch {
            guard !code.isEmpty, !machine.faults.isCrashed else { throw error }
            _ = alice.request(.deviceApprove(code: code))
            _ = try setup.makeIdentity(state, machine.world)
        }
        try enter(try #require(try state.readIdentity()))
    }

    /// What the other device does once it was admitted, if it was.
    private func admitLaptop() throws {
        guard laptop == nil, let machine = pendingMachine, let pending else { return }
        let account = alice.identity.account
        if deed == .approve {
            let pairing = try Pairing(try #require(pending.code), mount: machine.world.mount)
            guard try pairing.admittedTo(pending.publicKeys.device) == account else { return }
        }
        let directory = AccountDirectory(mount: machine.world.mount)
        try directory.refresh(account)
        do {
            try enter(
                try pending.admitted(
                    to: account, statements: directory.statements(of: account), randomBytes: machine.world.randomBytes))
        } catch { guard (error as? CloudError)?.code == .notYet else { throw error } }
    }

    /// Sets the device up with its keys.
    private func enter(_ identity: Identity) throws {
        guard let machine = pendingMachine else { return }
        if laptop == nil {
            let faults = machine.faults
            laptop = try Replica(
                machine: machine, label: alice.label, identity: identity,
                store: try Store(gate: { try faults.pass("store", "write") }))
        }
        guard let laptop else { return }
        try laptop.setUp()
        if !village.replicas.contains(where: { $0 === laptop }) { village.replicas.append(laptop) }
    }

    private func pause() throws -> Bool {
        var quiet = 0
        for _ in 0..<60 {
            var something = false
            for replica in village.replicas where try replica.round().didSomething { something = true }
            village.world.clock.advance(milliseconds: 1_500)
            quiet = something ? 0 : quiet + 1
            if quiet >= 2, village.replicas.allSatisfy(\.isQuiet) { return true }
        }
        return false
    }
}

/// A state directory outside of the simulation, gone with this.
private final class TemporaryState {
    let directory: StateDirectory

    init() throws {
        directory = StateDirectory(
            try #require(AbsolutePath(NSTemporaryDirectory() + "shoebox-state-\(UUID().uuidString)")))
        try directory.make()
    }

    deinit { try? FileManager.default.removeItem(atPath: directory.path.text) }
}

/// Whether the transaction that was begun is to fail at its end. Used by one thread.
private final class TransactionFault: Sendable {
    private let state = Mutex(false)
    var isNext: Bool {
        get { state.withLock { $0 } }
        set { state.withLock { $0 = newValue } }
    }
}
