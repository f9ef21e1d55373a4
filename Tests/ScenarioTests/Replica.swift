import Shoebox
import ShoeboxCloud
import ShoeboxLibrary
import ShoeboxModel
import ShoeboxPlanning
import ShoeboxStore
import ShoeboxTestSupport
import ShoeboxWorld
import Testing

/// One account on one simulated machine, driven through the whole engine.
final class Replica {
    let machine: SimulatedMachine
    private(set) var store: Store
    private(set) var identity: Identity
    private(set) var engine: Engine
    let label: String
    private(set) var logLines: [String] = []
    /// Told of each line of the log, too.
    var narrate: ((String) -> Void)?
    /// Settings of a test's own, also after a restart.
    var tune: (inout EngineSettings) -> Void = { _ in } { didSet { tune(&engine.settings) } }

    init(machine: SimulatedMachine, label: String, identity: Identity, store: Store? = nil) throws {
        self.machine = machine
        self.label = label
        self.identity = identity
        let opened = try store ?? Store()
        self.store = opened
        engine = try Self.makeEngine(machine, opened, identity, label)
        hook()
    }

    private static func makeEngine(
        _ machine: SimulatedMachine, _ store: Store, _ identity: Identity, _ label: String
    ) throws -> Engine {
        var settings = EngineSettings(label: label, ignore: .standard)
        settings.settleMilliseconds = 100
        settings.deletionMilliseconds = 1_000
        settings.restoreMilliseconds = 1_000
        settings.collisionMilliseconds = 1_000
        // So that every scenario goes through several batches.
        settings.applyMax = 4
        settings.takeMax = 3
        return try Engine(world: machine.world, store: store, identity: identity, settings: settings)
    }

    private func hook() {
        engine.log = { [unowned self] line in
            self.logLines.append(line)
            narrate?(line)
        }
        engine.saveIdentity = { [unowned self] fresh in self.identity = fresh }
    }

    /// Ends the process and starts another one on the same state.
    func restart() throws {
        machine.restart()
        engine = try Self.makeEngine(machine, store, identity, label)
        tune(&engine.settings)
        hook()
    }

    /// Ends the process and starts another one on another state directory.
    func restart(store: Store, identity: Identity) throws {
        (self.store, self.identity) = (store, identity)
        try restart()
    }

    /// Does something in a process that dies just before one of its transactions, and starts another one.
    ///
    /// - Parameter write: how many transactions it still does.
    /// - Returns: whether it died; otherwise it needed no more transactions than that.
    func die(beforeWrite write: Int, of act: () throws -> Void) throws -> Bool {
        let faults = machine.faults
        faults.run(before: "write", after: write) { faults.crash() }
        do { try act() } catch { guard faults.isCrashed else { throw error } }
        let hasDied = faults.isCrashed
        faults.clear()
        try restart()
        return hasDied
    }

    func setUp(isJoining: Bool = false) throws { try engine.setUp(host: machine.name, isJoining: isJoining) }

    @discardableResult
    func round(_ extent: Engine.ScanExtent = .all) throws -> RoundOutcome { try engine.round(extent) }

    @discardableResult
    func request(_ request: Request) -> Reply { engine.perform(request) }

    /// A path in the library.
    func path(_ text: String, _ root: RootKind = .library) -> PathReference {
        PathReference(root: root, path: RelativePath(text) ?? .root)
    }

    var problems: [Problem] { (try? store.read { db in try db.problems() }) ?? [] }

    /// As `tree`, in bytes.
    func files(_ root: RootKind) -> [String: [UInt8]] { tree(root).mapValues { Array($0.utf8) } }

    /// The user's files of a root: no markers, trash or temporary files.
    func tree(_ root: RootKind, sidecars: Bool = false) -> [String: String] {
        let disk = root == .library ? machine.library : machine.shared
        var result: [String: String] = [:]
        for (path, bytes) in disk.tree() where !path.contains(".shoebox/") {
            if !sidecars, path.hasSuffix(".json") || path.contains(".tags/") { continue }
            result[path] = String(decoding: bytes, as: UTF8.self)
        }
        return result
    }

    /// The sidecar of a photo.
    func sidecar(_ path: String, _ root: RootKind) -> SidecarDocument? {
        let disk = root == .library ? machine.library : machine.shared
        guard let bytes = try? disk.read(path + ".json"), case .document(let document) = SidecarDocument.read(bytes)
        else {
            return nil
        }
        return document
    }

    /// Whether nothing waits.
    var isQuiet: Bool {
        (try? store.read { db in
            try db.pendingCount() == 0 && db.dirtyCount() == 0 && db.missingSegments() == 0
        }) ?? false
    }
}

/// A world with accounts in it, and one container.
struct Village {
    let world: SimulatedWorld
    var replicas: [Replica] = []
    /// What restores each account, by label.
    private(set) var recoveryFiles: [String: [UInt8]] = [:]

    /// - Parameter storesMayDie: whether the transactions of the local databases count as steps of the machines' faults.
    init(seed: UInt64 = 1, labels: [String], storesMayDie: Bool = false) throws {
        world = SimulatedWorld(seed: seed)
        for label in labels {
            let machine = world.addMachine(label)
            if replicas.isEmpty {
                _ = try Container.create(
                    mount: machine.world.mount, mode: .group, nowMilliseconds: machine.world.nowMilliseconds(),
                    randomBytes: machine.world.randomBytes)
            }
            let (identity, recoveryFile) = try Identity.create(
                label: label, deviceLabel: label, nowMilliseconds: machine.world.nowMilliseconds(),
                randomBytes: machine.world.randomBytes)
            recoveryFiles[label] = recoveryFile
            let faults = machine.faults
            let store = storesMayDie ? try Store(gate: { try faults.pass("store", "write") }) : nil
            let replica = try Replica(machine: machine, label: label, identity: identity, store: store)
            try replica.setUp()
            replicas.append(replica)
        }
    }

    /// Another device of an account that is here.
    mutating func addDevice(of replica: Replica, name: String) throws -> Replica {
        let machine = world.addMachine(name)
        let (identity, _) = try replica.identity.makeSecondDevice(
            deviceLabel: name, nowMilliseconds: machine.world.nowMilliseconds(), randomBytes: machine.world.randomBytes)
        let second = try Replica(machine: machine, label: replica.label, identity: identity)
        try second.setUp(isJoining: true)
        replicas.append(second)
        return second
    }

    /// Alice, with some files, and another device of hers that shows the same; and others who have nothing yet.
    static func twoDevices(
        _ files: [String: String], others: [String] = [], second name: String = "alice2",
        tune: @escaping (inout EngineSettings) -> Void = { _ in }
    ) throws -> (Village, alice: Replica, second: Replica) {
        var village = try Village(labels: ["alice"] + others)
        let alice = village.replicas[0]
        alice.tune = tune
        for (path, text) in files { try alice.machine.library.write(path, text) }
        try #require(try village.settle())
        let second = try village.addDevice(of: alice, name: name)
        try #require(try village.settle())
        try #require(treeDifference(second.files(.library), alice.files(.library)) == [])
        return (village, alice, second)
    }

    /// The names of all assets on the mount.
    var assetNames: [String] { world.storage.tree().keys.map { "\($0)" }.filter { $0.hasPrefix("assets/") }.sorted() }

    /// Rounds of everybody, time going on, until nothing happens for a while; false if that never comes.
    @discardableResult
    func settle(rounds: Int = 60) throws -> Bool {
        var quiet = 0
        for _ in 0..<rounds {
            var something = false
            for replica in replicas {
                let outcome = try replica.round()
                if outcome.didSomething { something = true }
            }
            world.clock.advance(milliseconds: 700)
            quiet = something ? 0 : quiet + 1
            if quiet >= 4, replicas.allSatisfy(\.isQuiet) { return true }
        }
        for replica in replicas {
            print(
                "\(replica.label) on \(replica.machine.name): \(replica.problems.map(\.message)) quiet: \(replica.isQuiet)"
            )
            print(replica.logLines.suffix(12).joined(separator: "\n"))
        }
        return false
    }
}
