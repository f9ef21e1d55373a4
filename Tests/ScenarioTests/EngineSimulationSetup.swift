import Shoebox
import ShoeboxCloud
import ShoeboxModel
import ShoeboxStore
import ShoeboxTestSupport
import ShoeboxWorld

/// Two accounts with two devices each and a shared folder that both may write.
enum EngineSimulationSetup {
    /// The accounts of machines that were made, so that a second device can join.
    private final class Accounts {
        var identities: [String: Identity] = [:]
    }

    static let machines = ["alice", "bob", "alice2", "bob2"]

    static func make() -> SimulationSetup {
        let accounts = Accounts()
        var setup = SimulationSetup(
            machines: machines, healingRoundsMax: 60,
            makeReplica: { machine in try EngineReplica(replica(machine, accounts)) },
            prepare: prepare, check: { checkNames($0) + checkDeletions($0) })
        // An upload that a crash cut off from its record has taken its asset's name; that is seen by trying.
        setup.allowedViolations = [.publishedOver]
        return setup
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
            identity = try Identity.create(
                label: label, deviceLabel: label, nowMilliseconds: world.nowMilliseconds(),
                randomBytes: world.randomBytes
            ).0
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
        let (alice, bob) = (replicas[0], replicas[1])
        try alice.machine.library.write("Trip/IMG_0.jpg", "first")
        try alice.machine.library.write("Trip/Sea/IMG_1.jpg", "second")
        try alice.machine.library.write("IMG_2.jpg", "private")
        try simulation.settle()
        let made = alice.request(
            .shareCreate(paths: [alice.path("Trip")], title: "Trip", publicPermission: "none", isSealed: true))
        let invited = alice.request(.invite(share: "Trip", accounts: ["bob"], permission: "readWrite"))
        let accepted = bob.request(.accept(link: made.values["link"] ?? ""))
        for reply in [made, invited, accepted] where reply.code != 0 { throw PreparationFailed("\(reply)") }
        try simulation.settle()
        for replica in replicas where replica.label == "bob" {
            guard replica.tree(.shared).count == 2 else {
                throw PreparationFailed("\(replica.machine.name) shows \(replica.tree(.shared).keys.sorted())")
            }
        }
    }

    /// Nothing but assets was published under a name that was taken.
    private static func checkNames(_ simulation: Simulation) -> [String] {
        simulation.world.storage.violations.filter { $0.rule == .publishedOver && !"\($0.path)".hasPrefix("assets/") }
            .map { "contract: \($0)" }
    }

    /// P5, after all else held: what one machine's user deletes is gone everywhere, and stays so when all start anew.
    private static func checkDeletions(_ simulation: Simulation) -> [String] {
        guard simulation.failures.isEmpty else { return [] }
        var failures: [String] = []
        var deleted: [(group: String, path: String)] = []
        let alice = engines(simulation)[0]
        let bob = engines(simulation)[1]
        do {
            if let path = alice.tree(.library).keys.sorted().first {
                try alice.machine.library.delete(path)
                deleted.append(("library of alice", path))
            }
            if let path = bob.tree(.shared).keys.sorted().last {
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
