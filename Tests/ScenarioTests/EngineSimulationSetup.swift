import Shoebox
import ShoeboxCloud
import ShoeboxModel
import ShoeboxStore
import ShoeboxTestSupport
import ShoeboxWorld

/// Two accounts with two devices each and a shared folder that both may write; or as many as a seed says, with more
/// shares.
enum EngineSimulationSetup {
    /// The accounts of machines that were made, so that a second device can join.
    private final class Accounts {
        var identities: [String: Identity] = [:]
        let papers = SimulatedPapers()
    }

    static let machines = ["alice", "bob", "alice2", "bob2"]

    static func make() -> SimulationSetup {
        let accounts = Accounts()
        var setup = SimulationSetup(
            machines: machines, healingRoundsMax: 60,
            makeReplica: { machine in try EngineReplica(replica(machine, accounts)) },
            prepare: prepare, check: { checkNames($0) + checkDeletions($0, isBobWriter: true) })
        // An upload that a crash cut off from its record has taken its asset's name; that is seen by trying.
        setup.allowedViolations = [.publishedOver]
        setup.judgesWords = true
        return setup
    }

    /// Two to five accounts with one to three devices each, seven at most: first one of each.
    static func population(seed: UInt64) -> [String] {
        var random = SeededGenerator(seed: seed, part: "population")
        let accounts = ["alice", "bob", "carol", "dave", "erin"].prefix([2, 2, 3, 3, 4, 5][random.below(6)])
        var result = Array(accounts)
        for account in accounts {
            for number in 2..<(2 + [0, 0, 1, 1, 2][random.below(5)]) where result.count < 7 {
                result.append("\(account)\(number)")
            }
        }
        return result
    }

    /// A village of a seed, whose engines learn of changes from a watcher.
    static func makeVillage(seed: UInt64) -> SimulationSetup {
        let accounts = Accounts()
        var setup = SimulationSetup(
            machines: population(seed: seed), healingRoundsMax: 80,
            makeReplica: { machine in
                let replica = try replica(machine, accounts)
                // So that real mass deletions are held back, too.
                replica.tune = { [tune = replica.tune] settings in
                    tune(&settings)
                    settings.massDeletionCount = 6
                }
                return EngineReplica(replica, papers: accounts.papers, isWatching: true)
            },
            prepare: prepareVillage,
            check: { checkNames($0) + checkSecrets($0) + checkDeletions($0, isBobWriter: false) })
        setup.allowedViolations = [.publishedOver]
        setup.makeForeignStorage = {
            let other = SimulatedWorld(seed: seed)
            let machine = other.addMachine("stranger")
            _ = try Container.create(
                mount: machine.world.mount, mode: .group, nowMilliseconds: machine.world.nowMilliseconds(),
                randomBytes: machine.world.randomBytes)
            return other.storage
        }
        return setup
    }

    private static func prepareVillage(_ simulation: Simulation) throws {
        let first = simulation.machine(0)
        for machine in simulation.world.machines where machine.account == machine.name {
            try machine.library.write("Private/secret.jpg", "secret of \(machine.name)")
        }
        try first.library.write("Trip/IMG_0.jpg", "first")
        try first.library.write("Trip/Sea/IMG_1.jpg", "second")
        try first.library.write("IMG_2.jpg", "third")
        try simulation.settle()
        guard let trip = RelativePath("Trip"), simulation.ask(.share([trip], title: "Trip"), on: 0) == true else {
            throw PreparationFailed("the share can't be made")
        }
        let grants: [(String, SimulationStep.Grant)] = [
            ("bob", .readWrite), ("carol", .readOnly), ("dave", .contribute),
        ]
        for (account, grant) in grants {
            guard let number = simulation.world.machines.firstIndex(where: { $0.name == account }) else { continue }
            let isInvited = simulation.ask(.invite(share: "Trip", account: account, grant), on: 0)
            guard isInvited == true, simulation.ask(.accept, on: number) == true else {
                throw PreparationFailed("\(account) can't be invited")
            }
        }
        try simulation.settle()
        for replica in engines(simulation) where ["bob", "carol", "dave"].contains(replica.label) {
            guard replica.tree(.shared).count == 2 else {
                throw PreparationFailed("\(replica.machine.name) shows \(replica.tree(.shared).keys.sorted())")
            }
        }
    }

    private static func replica(_ machine: SimulatedMachine, _ accounts: Accounts) throws -> Replica {
        let world = machine.world
        let label = machine.name.filter { !$0.isNumber }
        let identity: Identity
        if label == machine.name {
            if label == machines[0] {
                _ = try Container.create(
                    mount: world.mount, mode: .group, nowMilliseconds: world.nowMilliseconds(),
                    randomBytes: world.randomBytes)
            }
            (identity, accounts.papers.recoveryFiles[label]) = try Identity.create(
                label: label, deviceLabel: label, nowMilliseconds: world.nowMilliseconds(),
                randomBytes: world.randomBytes)
            accounts.identities[label] = identity
        } else {
            guard let first = accounts.identities[label] else { throw PreparationFailed("no first device of \(label)") }
            identity = try first.makeSecondDevice(
                deviceLabel: machine.name, nowMilliseconds: world.nowMilliseconds(), randomBytes: world.randomBytes
            ).0
        }
        let faults = machine.faults
        let store = try Store(gate: { try faults.pass("store", "write") })
        let replica = try Replica(machine: machine, label: label, identity: identity, store: store)
        // So that chains are folded all the time, while others read them.
        replica.tune = {
            ($0.compactSegmentsMin, $0.compactSegmentsMax) = (2, 2)
            $0.compactGraceMilliseconds = 60_000
        }
        try replica.setUp()
        return replica
    }

    private static func engines(_ simulation: Simulation) -> [Replica] {
        simulation.replicas.compactMap { ($0 as? EngineReplica)?.replica }
    }

    private static func prepare(_ simulation: Simulation) throws {
        let replicas = engines(simulation)
        let alice = replicas[0]
        try alice.machine.library.write("Trip/IMG_0.jpg", "first")
        try alice.machine.library.write("Trip/Sea/IMG_1.jpg", "second")
        try alice.machine.library.write("IMG_2.jpg", "private")
        try simulation.settle()
        guard let trip = RelativePath("Trip"), simulation.ask(.share([trip], title: "Trip"), on: 0) == true,
            simulation.ask(.invite(share: "Trip", account: "bob", .readWrite), on: 0) == true,
            simulation.ask(.accept, on: 1) == true
        else { throw PreparationFailed("Trip can't be shared") }
        try simulation.settle()
        for replica in replicas where replica.label == "bob" {
            guard replica.tree(.shared).count == 2 else {
                throw PreparationFailed("\(replica.machine.name) shows \(replica.tree(.shared).keys.sorted())")
            }
        }
    }

    /// What was never shared is on all machines of its account, and on no other.
    private static func checkSecrets(_ simulation: Simulation) -> [String] {
        var failures: [String] = []
        for machine in simulation.world.machines {
            let contents = [machine.library, machine.shared].flatMap { $0.tree().values }
                .map { String(decoding: $0, as: UTF8.self) }.filter { $0.hasPrefix("secret of ") }
            let wanted = "secret of \(machine.account)"
            for content in contents where content != wanted { failures.append("\(machine.name) has a \(content)") }
            if !contents.contains(wanted) { failures.append("\(machine.name) has no \(wanted)") }
        }
        return failures
    }

    /// Nothing but assets was published under a name that was taken.
    private static func checkNames(_ simulation: Simulation) -> [String] {
        simulation.world.storage.violations.filter { $0.rule == .publishedOver && !"\($0.path)".hasPrefix("assets/") }
            .map { "contract: \($0)" }
    }

    /// P2, where nobody removed anything: no record says that something was deleted.
    static func checkNothingGone(_ simulation: Simulation) -> [String] {
        engines(simulation).flatMap { replica in
            do {
                return try replica.store.read { db in
                    try db.zones().flatMap { zone in
                        try [RecordType.photo, .file, .folder].flatMap { type in
                            try db.records(of: type, in: zone.id, isLive: false).filter { row in
                                try db.state(of: row.id)?.movedTo == nil
                            }.map {
                                "\(replica.machine.name): nobody deleted \($0.type) '\($0.name.map(String.init(describing:)) ?? "")' (\($0.id))"
                            }
                        }
                    }
                }
            } catch { return ["\(replica.machine.name) can't be asked: \(error)"] }
        }
    }

    /// P5, after all else held: what one machine's user deletes is gone everywhere, and stays so when all start anew.
    private static func checkDeletions(_ simulation: Simulation, isBobWriter: Bool) -> [String] {
        // Who handed a share over may not be one who may delete in it.
        guard simulation.failures.isEmpty, simulation.shares.handed.isEmpty else { return [] }
        var failures: [String] = []
        var deleted: [(group: String, path: String)] = []
        let alice = engines(simulation)[0]
        let bob = engines(simulation)[1]
        do {
            let shown = alice.tree(.library).keys.sorted()
            if let path = shown.first(where: { !$0.hasPrefix("Private") }) {
                try alice.machine.library.delete(path)
                deleted.append(("library of alice", path))
            }
            if isBobWriter, let path = bob.tree(.shared).keys.sorted().last {
                try bob.machine.shared.delete(path)
                deleted.append(("shared folder of bob", path))
            }
            simulation.heal()
            for replica in simulation.replicas {
                let trees = replica.trees
                for item in deleted where trees[item.group]?[item.path] != nil {
                    failures.append("deleted and back: \(item.path) in the \(item.group)")
                }
            }
        } catch {
            failures.append("deleting: \(error)")
        }
        return failures
    }
}

/// The start of a simulation did not come to what every run stands on.
struct PreparationFailed: Error, CustomStringConvertible {
    var description: String
    init(_ description: String) { self.description = description }
}
