import ShoeboxModel
import ShoeboxWorld

/// How a simulation is set up: who takes part, and how engines are made.
public struct SimulationSetup {
    /// The names of the machines.
    public var machines: [String]
    /// Makes the replica of a machine; called once for each, in order.
    public var makeReplica: (SimulatedMachine) throws -> any SimulatedReplica
    /// Done before the first step, with no faults: inviting, accepting, and rounds until all is quiet.
    public var prepare: (Simulation) throws -> Void
    /// What else must hold after healing: a line for each thing that doesn't.
    public var check: (Simulation) -> [String]
    /// Whether what is said of photos must stay where it can be seen: where people also take photos from one share to another, some of
    /// it is not for whoever sees them there.
    public var judgesWords = false
    /// Told of each step as it begins, for looking into a failure.
    public var narrate: (String) -> Void = { _ in }
    /// Time that passes before each round, and with each round of healing.
    public var roundMilliseconds: UInt64
    /// How many rounds healing may take.
    public var healingRoundsMax: Int
    /// Rules of the mount's contract that may be broken; none at first. An engine in which owners collect what others
    /// uploaded needs `.removedForeign`.
    public var allowedViolations: Set<SimulatedMountViolation.Rule> = []
    /// Makes the storage of another container, for `foreignContainer`; without it that is an empty directory.
    public var makeForeignStorage: () throws -> SimulatedMountStorage? = { nil }

    /// A setup with nothing to prepare and nothing more to check.
    public init(
        machines: [String], roundMilliseconds: UInt64 = 15_000, healingRoundsMax: Int = 100,
        makeReplica: @escaping (SimulatedMachine) throws -> any SimulatedReplica,
        prepare: @escaping (Simulation) throws -> Void = { _ in },
        check: @escaping (Simulation) -> [String] = { _ in [] }
    ) {
        self.machines = machines
        self.roundMilliseconds = roundMilliseconds
        self.healingRoundsMax = healingRoundsMax
        self.makeReplica = makeReplica
        self.prepare = prepare
        self.check = check
    }
}

/// One run of a script over simulated machines: users act, fate strikes, replicas sync; then all is healed and checked.
///
/// Everything follows from the seed and the steps. Not thread-safe.
public final class Simulation {
    /// The machines and the storage.
    public let world: SimulatedWorld
    /// How it was set up.
    public let setup: SimulationSetup
    /// The replicas, in the order of the machines.
    public private(set) var replicas: [any SimulatedReplica] = []
    /// What went wrong that never may; empty for a correct engine.
    public internal(set) var failures: [String] = []
    /// What replicas threw while faults were at work; allowed.
    public private(set) var roundErrors: [String] = []
    /// What people did with shares.
    public internal(set) var shares = SimulationShares()
    let users: SimulationUsers
    /// From 0; before it, while all is prepared, -1.
    private(set) var stepNumber = -1
    var privacy = SimulationPrivacy()
    /// Tags that were given together.
    var pairs: [[String]] = []
    /// Whether somebody asked for something deleted or overwritten to come back.
    var bringsBack = false
    /// Whether somebody took a transaction back.
    var undoes = false
    /// The accounts that left a share and kept no copy: what they had in it is in their trash.
    var leavers: Set<String> = []
    private(set) var storageWasRestored = false
    private var storageWasSpoiled = false
    private(set) var stateWasLost = false
    private(set) var stateWasRestored = false
    /// Whether a device was retired, and set up anew over its folders, or perhaps was.
    var deviceWasRetired = false
    private(set) var markersCopied: Set<String> = []
    private(set) var foreignStorages: [(machine: String, SimulatedMountStorage, before: [String: [UInt8]])] = []

    /// A world with its machines and replicas, prepared.
    public init(seed: UInt64, setup: SimulationSetup) throws {
        self.setup = setup
        world = SimulatedWorld(seed: seed)
        users = SimulationUsers(seed: seed)
        for name in setup.machines { replicas.append(try setup.makeReplica(world.addMachine(name))) }
        try setup.prepare(self)
        users.noteAll(on: world.machines.filter { $0.name == $0.account })
        for number in replicas.indices { look(at: number) }
        stepNumber = 0
    }

    /// Runs a script, heals and checks. Returns what failed; empty if all is well.
    public static func failures(of script: SimulationScript, setup: SimulationSetup) -> [String] {
        do {
            let simulation = try Simulation(seed: script.seed, setup: setup)
            simulation.run(script.steps)
            simulation.heal()
            simulation.check()
            return simulation.failures
        } catch {
            return ["the simulation can't be set up: \(error)"]
        }
    }

    /// As `failures`; a failing script is shrunk, and printed after what failed.
    public static func shrunkFailures(
        of script: SimulationScript, setup: SimulationSetup, triesMax: Int = 200
    ) -> [String] {
        let found = failures(of: script, setup: setup)
        guard !found.isEmpty else { return [] }
        var small = script
        small.steps = shrink(script.steps, triesMax: triesMax) { steps in
            isSameKind(failures(of: SimulationScript(seed: script.seed, steps: steps), setup: setup), as: found)
        }
        return failures(of: small, setup: setup) + ["with \(small)"]
    }

    /// Whether what failed is of the kind of what failed before, by its first word: a script that is shrunk must not be one of
    /// something else in the end.
    public static func isSameKind(_ failures: [String], as former: [String]) -> Bool {
        func kind(_ line: String) -> String {
            let parts = line.split(separator: ": ", maxSplits: 1)
            let said = parts.count == 2 && parts[0].hasPrefix("step ") ? parts[1] : line[...]
            return String(said.prefix { $0.isLetter || $0 == "'" })
        }
        // What is said of a failure, in the lines below it, is no failure of its own.
        let kinds = Set(former.filter { !$0.hasPrefix(" ") }.map(kind))
        return failures.contains { !$0.hasPrefix(" ") && kinds.contains(kind($0)) }
    }

    /// All that users wrote so far.
    public var ledger: SimulationLedger { users.ledger }

    /// The machine of a number, modulo their count.
    public func machine(_ number: Int) -> SimulatedMachine { world.machines[index(number)] }

    func index(_ number: Int) -> Int {
        let count = max(1, setup.machines.count)
        return ((number % count) + count) % count
    }

    // MARK: Steps

    /// Runs steps, with whatever faults they bring.
    public func run(_ steps: [SimulationStep]) {
        guard !replicas.isEmpty else { return }
        for step in steps {
            take(step)
            stepNumber += 1
        }
    }

    private func take(_ step: SimulationStep) {
        // Time never stands quite still.
        world.clock.advance(milliseconds: 7)
        setup.narrate("step \(stepNumber): \(step.swiftText)")
        fateStruck = fateStruck || step.isFate
        switch step {
        case .user(let number, let root, let act):
            // What is on the disk by now may have been told since others moved it.
            look(at: index(number))
            if !act.isOverwriting { privacy.forgetSavedOver(on: machine(number)) }
            users.perform(act, on: machine(number), root, step: stepNumber)
            look(at: index(number))
        case .userDuring(let number, let calls, let root, let act):
            let machine = machine(number)
            privacy.forgetSavedOver(on: machine)
            let users = users
            let step = stepNumber
            machine.faults.run(at: machine.faults.operationCount + calls) {
                users.perform(act, on: machine, root, step: step)
            }
        case .userBefore(let number, let changes, let root, let act):
            let machine = machine(number)
            privacy.forgetSavedOver(on: machine)
            let simulation = UnsafeSimulation(simulation: self)
            machine.faults.run(beforeChange: changes) {
                let simulation = simulation.simulation
                simulation.users.perform(act, on: machine, root, step: simulation.stepNumber)
            }
        case .fault(let number, let fault): strike(index(number), fault)
        case .sync(let number):
            world.clock.advance(milliseconds: setup.roundMilliseconds)
            _ = round(index(number), healing: false)
        case .syncDuring(let number, let calls, let other):
            overlap(index(number), with: index(other)) { faults, round in
                faults.run(at: faults.operationCount + calls, round)
            }
        case .syncBetween(let number, let publications, let other):
            let one = index(number)
            let same = replicas.indices.filter { $0 != one && machine($0).account == machine(one).account }
            let two = same.isEmpty || other % 2 == 0 ? index(other / 2) : same[other / 2 % same.count]
            overlap(one, with: two) { faults, round in faults.run(before: "publish", after: publications, round) }
        case .pass(let milliseconds):
            // What only trash and history have may be given up by now.
            if milliseconds >= 86_400_000 { users.noteLongAgo(except: shown) }
            world.clock.advance(milliseconds: milliseconds)
        case .serverCrash(let loss): world.storage.crashServer(loss)
        case .command(let number, let root, let command):
            let number = index(number)
            guard start(number), let request = request(for: command, machine(number), root) else { return }
            ask(request, on: number)
            if machine(number).faults.isCrashed { noteDeath(of: number) }
        case .backUpStorage: backup = world.storage.snapshot()
        case .restoreStorage:
            guard let backup else { return }
            world.storage.restore(backup)
            storageWasRestored = true
        case .spoilStorage(let stored, let file, let spoiling):
            world.storage.spoil(stored, file: file, spoiling)
            storageWasSpoiled = true
        case .storageRoom(let bytes): world.storage.setCapacity(bytes: bytes.map { world.storage.usedBytes + $0 })
        }
    }

    /// Lets a replica sync, and another one in the middle of that.
    private func overlap(
        _ one: Int, with two: Int, _ arrange: (SimulatedFaults, @escaping @Sendable () -> Void) -> Void
    ) {
        guard one != two, !machine(two).faults.isCrashed else { return }
        let simulation = UnsafeSimulation(simulation: self)
        arrange(machine(one).faults) { _ = simulation.simulation.round(two, healing: false) }
        world.clock.advance(milliseconds: setup.roundMilliseconds)
        _ = round(one, healing: false)
    }

    /// Starts a dead process; false if it can't start.
    private func start(_ number: Int) -> Bool {
        guard machine(number).faults.isCrashed else { return true }
        machine(number).restart()
        do { try replicas[number].restart() } catch {
            replicas[number].crash()
            machine(number).kill()
            return false
        }
        return true
    }

    private func strike(_ number: Int, _ fault: SimulationStep.Fault) {
        let machine = machine(number)
        func disk(_ root: SimulationStep.Root) -> SimulatedDisk { root == .library ? machine.library : machine.shared }
        switch fault {
        case .call(let after, let effect): machine.faults.set(effect, after: after)
        case .kill: die(number)
        case .powerCut(let cut):
            die(number)
            machine.powerCut(cut)
        case .cutDuring(let after, let cut):
            machine.faults.set(.crash, after: after)
            cuts[number] = cut
        case .unmount(let root, let attachment): disk(root).unmount(attachment)
        case .mount(let root): disk(root).mount()
        case .unmountContainer: machine.mount.unmount()
        case .emptyContainer: attach(SimulatedMountStorage(clock: world.clock), to: machine)
        case .foreignContainer:
            let made = try? setup.makeForeignStorage()
            attach((made ?? nil) ?? SimulatedMountStorage(clock: world.clock), to: machine)
        case .mountContainer:
            machine.mount.mount()
            machine.mount.setHalfListed(keeping: nil)
        case .halfContainerListing(let keeping): machine.mount.setHalfListed(keeping: keeping)
        case .hangContainer: machine.mount.attach(.hung)
        case .mountKind(let kind): machine.mount.behaviour = kind.behaviour
        case .next(let name, let effect): machine.faults.set(effect, next: name)
        case .copyMarker(let root):
            guard let marker = RelativePath(".shoebox/root.json"), !disk(root).isMounted else { return }
            disk(root).copyToReplacement(marker)
            markersCopied.insert(machine.name)
        case .backUpState: replicas[number].backUpState()
        case .restoreState:
            die(number)
            let replica = replicas[number]
            // Deletions that go with this state: it had not noticed them yet, or had told nobody.
            let deleted = users.deleted(on: machine.name)
            let untold = replica.hasUnpublished ? deleted : deleted.filter { replica.knowsFile(with: $0.bytes) }
            guard replica.restoreState() else { return }
            stateWasRestored = true
            users.noteDeletedUnknowing(untold.filter { !replica.knowsFile(with: $0.bytes) })
            users.noteCompared(false, on: machine.name)
            users.waiveCommands(of: machine.name, step: stepNumber)
        case .loseState:
            die(number)
            replicas[number].loseState()
            stateWasLost = true
            users.waiveCommands(of: machine.name, step: stepNumber)
        case .stepClock(let milliseconds): machine.clock.step(milliseconds: milliseconds)
        case .events(let root, let loss): disk(root).setEventLoss(loss)
        case .room(let root, let bytes):
            let used = disk(root).tree().values.reduce(0) { $0 + $1.count }
            disk(root).setCapacity(bytes: bytes.map { used + $0 })
        case .halfListing(let root, let folder, let keeping, let fails):
            let folders = [.root] + disk(root).entries().filter { $0.value.kind == .directory }.keys.sorted()
            disk(root).setHalfListed(
                folders[folder % folders.count], keeping: keeping, failingWith: fails ? .inputOutput : nil)
        }
    }

    private func attach(_ storage: SimulatedMountStorage, to machine: SimulatedMachine) {
        foreignStorages.append((machine.name, storage, storage.tree()))
        machine.mount.attach(.other(storage))
    }

    private func die(_ number: Int) {
        machine(number).kill()
        noteDeath(of: number)
    }

    /// A process is dead: was it the power, what was not synchronised goes with it.
    func noteDeath(of number: Int) {
        if let cut = cuts.removeValue(forKey: number) { machine(number).powerCut(cut) }
        replicas[number].crash()
    }

    /// One round of a replica, started first if it is dead. True if something was pending, changed, or failed.
    private func round(_ number: Int, healing: Bool) -> Bool {
        let machine = machine(number)
        // One process at a time works for a replica.
        guard busy.insert(number).inserted else { return false }
        defer { busy.remove(number) }
        do {
            if machine.faults.isCrashed {
                machine.restart()
                try replicas[number].restart()
            }
            defer { noteComparison(of: number) }
            look(at: number)
            defer { look(at: number, isAfterRound: true) }
            let changed = try replicas[number].syncRound()
            guard machine.faults.isCrashed else {
                checkTransactions(on: machine)
                return changed
            }
            noteDeath(of: number)
            return true
        } catch {
            if machine.faults.isCrashed {
                noteDeath(of: number)
            } else if healing {
                lastHealingError[number] = "\(machine.name): \(error)"
            } else {
                roundErrors.append("step \(stepNumber), \(machine.name): \(error)")
            }
            return true
        }
    }

    func noteComparison(of number: Int) {
        let name = machine(number).name
        if users.isUncompared(name), replicas[number].hasComparedState { users.noteCompared(true, on: name) }
    }

    /// The replicas that are at work: of one, another one's round may come in the middle.
    var busy: Set<Int> = []
    private var backup: SimulatedMountStorage.Snapshot?
    /// What cuts of the power take that are still to come, by machine.
    private var cuts: [Int: SimulatedPowerCut] = [:]
    /// Whether anything went wrong that was not people's doing.
    private var fateStruck = false
    private var lastHealingError: [Int: String] = [:]

    /// Lets all replicas sync until nothing is pending in two rounds of each; for `prepare` and for scenarios without
    /// faults. Throws what a replica throws, and `SimulationUnsettled` if it takes too many rounds.
    public func settle() throws {
        var quiet = 0
        for _ in 0..<setup.healingRoundsMax {
            world.clock.advance(milliseconds: setup.roundMilliseconds)
            var changed = false
            for replica in replicas where try replica.syncRound() { changed = true }
            quiet = changed ? 0 : quiet + 1
            if quiet == 2 { return }
        }
        throw SimulationUnsettled(rounds: setup.healingRoundsMax)
    }

    // MARK: Healing and checking

    /// Ends all faults, starts all replicas anew, and lets them sync until nothing is pending in two rounds of each.
    public func heal() {
        guard !replicas.isEmpty else { return }
        setup.narrate("healing")
        cuts = [:]
        world.heal()
        users.endAllWriting(on: world.machines, step: stepNumber)
        for number in replicas.indices { look(at: number) }
        if !fateStruck { lookForMissed() }
        for number in replicas.indices {
            if !machine(number).faults.isCrashed { die(number) }
        }
        var quiet = 0
        for _ in 0..<setup.healingRoundsMax {
            world.clock.advance(milliseconds: setup.roundMilliseconds)
            lastHealingError = [:]
            var changed = false
            for number in replicas.indices where round(number, healing: true) { changed = true }
            for number in replicas.indices where bringingBack(number, { replicas[number].answer() }) { changed = true }
            quiet = changed ? 0 : quiet + 1
            if quiet == 2 { return }
        }
        failures.append("after \(setup.healingRoundsMax) rounds of healing something is still pending")
        failures += lastHealingError.sorted { $0.key < $1.key }.map(\.value)
        for (number, replica) in replicas.enumerated() {
            failures += replica.pending.map { "    \(machine(number).name): \($0)" }
        }
    }

    /// Before anything starts anew, which looks at everything: what the watchers told of must be all that there is.
    private func lookForMissed() {
        var quiet = 0
        for _ in 0..<setup.healingRoundsMax where quiet < 2 {
            world.clock.advance(milliseconds: setup.roundMilliseconds)
            var changed = false
            for number in replicas.indices where round(number, healing: true) { changed = true }
            for number in replicas.indices where bringingBack(number, { replicas[number].answer() }) { changed = true }
            quiet = changed ? 0 : quiet + 1
        }
        // What never comes to rest is said by what follows.
        guard quiet == 2 else { return }
        setup.narrate("looking for what was missed")
        for (number, replica) in replicas.enumerated() {
            do {
                let count = try replica.changesMissed()
                if count > 0 { failures.append("\(machine(number).name) had not noticed \(count) changes") }
            } catch {
                failures.append("\(machine(number).name) can't look at everything: \(error)")
            }
        }
    }

    /// Compares replicas, looks for everything in the ledger, and asks the setup's own check.
    public func check() {
        var seen: [String: (machine: String, tree: [String: [UInt8]])] = [:]
        for (number, replica) in replicas.enumerated() {
            let name = machine(number).name
            for (group, tree) in replica.trees.sorted(by: { $0.key < $1.key }) {
                guard let first = seen[group] else {
                    seen[group] = (name, tree)
                    continue
                }
                let lines = treeDifference(tree, first.tree)
                if !lines.isEmpty {
                    failures.append("\(group): \(name) differs from \(first.machine):")
                    failures += lines.map { "    \($0)" }
                }
            }
        }
        let lost = lostEntries
        for entry in lost { failures.append("lost: \(entry)") }
        if !bringsBack, !replicas.contains(where: \.hasTakenBackMore) { checkShown(besides: Set(lost.map(\.number))) }
        // What was spoiled is published again under its name.
        let allowed = setup.allowedViolations.union(storageWasSpoiled ? [.reusedName] : [])
        failures += world.storage.violations.filter { !allowed.contains($0.rule) }.map { "contract: \($0)" }
        checkPermissions()
        for replica in replicas {
            failures += privacy.leaks(replica.told(isPublished: true), ledger, hash: replica.hash)
        }
        checkDeleted()
        checkNotDeleted()
        if setup.judgesWords { checkSaid() }
        checkForeignPlaces()
        failures += setup.check(self)
    }

    /// What is in somebody's folder, and not in a trash only.
    private var shown: Set<Int> {
        ledger.found(
            in: world.machines.flatMap { machine in
                [machine.library, machine.shared].flatMap { $0.tree(without: ".shoebox").values }
            })
    }

    /// Where nothing was taken back, what nobody removed is in somebody's folder, and not in a trash only, whatever went
    /// wrong.
    private func checkShown(besides lost: Set<Int>) {
        let shown = shown
        for entry in ledger.required
        where entry.kind == .content && !entry.isOneCopyRemoved && !entry.isLongAgo && !shown.contains(entry.number)
            && !lost.contains(entry.number) && !mayBeInTrash(entry)
        {
            failures.append("shown by nobody: \(entry)")
        }
    }

    /// Whether something was in a share that its account left without keeping a copy, or was written where its account may
    /// only read, and what it wrote there later took its place in the private copies.
    private func mayBeInTrash(_ entry: SimulationLedger.Entry) -> Bool {
        guard entry.root == "shared" || entry.wasCarriedIn else { return false }
        let account = SimulatedMachine.account(of: entry.machine)
        return leavers.contains(account)
            || world.machines.filter { $0.account == account }.contains { machine in
                machine.library.tree().contains { $0.key.hasPrefix(".shoebox/trash/") && $0.value == entry.bytes }
            }
    }

    /// What users wrote, nobody who was shown it removed, and is nowhere: not in a root (the trash included, temporary
    /// files not), and not where the replicas look.
    public var lostEntries: [SimulationLedger.Entry] {
        var files: [[UInt8]] = []
        for machine in world.machines {
            for disk in [machine.library, machine.shared] {
                files += disk.tree().filter { !$0.key.hasPrefix(".shoebox/tmp/") }.values
            }
        }
        let found = ledger.found(in: files)
        // The history of a retired device goes with its state, and with it what its user had taken back there.
        return ledger.required.filter { entry in
            !(deviceWasRetired && entry.isOverwrittenByCommand) && !entry.isLongAgo && !found.contains(entry.number)
                && !replicas.contains { $0.findContent(entry) }
        }
    }
}

/// Replicas that had something pending for longer than was allowed.
public struct SimulationUnsettled: Error, Hashable, CustomStringConvertible {
    /// How many rounds of each were allowed.
    public var rounds: Int
    /// One line for people.
    public var description: String { "after \(rounds) rounds something is still pending" }
}

/// A simulation in a closure that its own thread runs, in the middle of a round.
private struct UnsafeSimulation: @unchecked Sendable {
    let simulation: Simulation
}
