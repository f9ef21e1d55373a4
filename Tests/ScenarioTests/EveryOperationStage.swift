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
    var village: Village
    let alice: Replica
    let bob: Replica
    var laptop: Replica?
    var link = ""
    private(set) var zone = ""
    private var before: SimulatedWorld.Snapshot
    private var states: [(store: Store, identity: Identity)] = []
    /// The transaction of the history that is to be undone.
    var undone: Int64 = 0
    /// Where a device that is to be admitted runs, and what it keeps outside of its folders.
    private(set) var pendingMachine: SimulatedMachine?
    var pendingState: TemporaryState?
    /// Its keys, and the code it waits under, where it waits already.
    var pending: PendingDevice?

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

    func rounds(of replica: Replica, _ count: Int, after milliseconds: UInt64) throws {
        for _ in 0..<count {
            try replica.round()
            village.world.clock.advance(milliseconds: milliseconds)
        }
    }

    func must(_ reply: Reply) throws { try #require(reply.code == 0, "\(deed): \(reply)") }

    func rest() throws { try #require(try settle(), "\(deed) can't begin") }

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
        guard isWatched, let victim else { return }
        // Its daemon has looked at everything when it started.
        for _ in 0..<2 { _ = try victim.engine.round(.all, reachesContainer: false) }
        _ = (victim.machine.library.takeDirty(), victim.machine.shared.takeDirty())
        looksEverywhere = false
    }

    /// Whether the one on whose machine something goes wrong looks, after its first round, only where its watcher saw something.
    var isWatched = false
    private var looksEverywhere = false

    /// A round.
    @discardableResult
    private func look(_ replica: Replica) throws -> RoundOutcome {
        guard isWatched, replica === victim else { return try replica.round() }
        let (library, shared) = (replica.machine.library.takeDirty(), replica.machine.shared.takeDirty())
        let extent: Engine.ScanExtent = looksEverywhere ? .all : .directories([.library: library, .shared: shared])
        // As a daemon does after a round that failed, and when a folder is back.
        looksEverywhere = true
        let outcome = try replica.round(extent)
        looksEverywhere = !outcome.offlineRoots.isEmpty
        return outcome
    }

    /// The part of Alice's history that is damaged, and what it held.
    var segment: (path: MountPath, bytes: [UInt8])?

    /// The caption that a conflict was decided for, once it was done without anything failing.
    var resolved = ""

    /// A few rounds of the one that the deed is about, as far as it lives.
    func rounds() {
        if deed == .emptyTrash { village.world.clock.advance(milliseconds: 40 * 86_400_000) }
        for number in 0..<6 where !victimMachine.faults.isCrashed {
            do { try victim.map { _ = try look($0) } } catch { continue }
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

    private func pause() throws -> Bool {
        var quiet = 0
        for _ in 0..<60 {
            var something = false
            for replica in village.replicas where try look(replica).didSomething { something = true }
            village.world.clock.advance(milliseconds: 1_500)
            quiet = something ? 0 : quiet + 1
            if quiet >= 2, village.replicas.allSatisfy(\.isQuiet) { return true }
        }
        return false
    }
}

/// Whether the transaction that was begun is to fail at its end. Used by one thread.
private final class TransactionFault: Sendable {
    private let state = Mutex(false)
    var isNext: Bool {
        get { state.withLock { $0 } }
        set { state.withLock { $0 = newValue } }
    }
}
