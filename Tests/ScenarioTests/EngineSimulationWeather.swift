import Shoebox
import ShoeboxTestSupport

/// What fate and people do in a simulation of the whole engine: how likely each kind of step is.
enum EngineWeather: String, CaseIterable {
    // Two accounts with two devices each, that share one folder; each round looks at everything.
    case calm, midRound, crashes, unmounts, staleness, clocks, lostEvents, errors, storms
    // Two to five accounts with one to three devices each, whose engines are told by a watcher where to look.
    /// People share, invite, remove and leave, and nothing goes wrong.
    case sharing
    /// People move folders and do something in them at once, also while the engine looks; nothing goes wrong.
    case watching
    /// As sharing, and processes and machines die at any call.
    case sharingCrashes
    /// State directories (with odd seeds) or the container (with even ones) are put back to backups, or lost. Not both: a
    /// device whose state and whose container were both put back may give a number twice before a peer's head tells it
    /// better; that is named as a fork.
    case restores
    /// Everything goes away, comes late, is another one, is full, or fails; nobody manages shares.
    case mounts
    /// As mounts, and processes and machines die; but nobody removes, renames or moves anything, and so nothing may be
    /// deleted.
    case absence
    /// As absence, and people move and rename all the time.
    case moves
    /// People carry photos and folders from their libraries into others' shares and back, swap folders and copy them, while
    /// others manage the shares; processes die.
    case travels
    /// As sharing, and people copy photos everywhere, and move those of equal bytes at once; with odd seeds processes die.
    case twins
    /// As watching, and every device is shown what others publish late, by a time of its own for each of them: it knows a part.
    case uneven
    /// As watching, and people do things just before the engine renames, makes or removes something; with some seeds as in
    /// travels or twins.
    case raced
    /// As sharing, and people change photos and take them into shares, out of them and from one to another, all in one go; with
    /// odd seeds processes die.
    case secrets
    /// As secrets, and one after the other does much while the others are away, or works where the container is out of reach: what
    /// they do meets late. People point at few photos, and take away what others work on.
    case spells
    /// As spells, and people say something of a photo and move it at once, by way of the other watched folder, too.
    case errands
    /// What is done at once goes out in several segments: each holds one change, or a few. Of what may happen besides, seeds
    /// differ: people share and processes die, work where the container is out of reach, mounts show half of it, or all of that.
    case parts
    /// As spells, and people delete much at once, put it back piece by piece, put other photos in its place, and have it put back
    /// from the trash.
    case returns
    /// As sharing, and people leave, are removed, and come back; files of chains in the container are damaged, or lost.
    case spoils
    /// As spells, and people hand shares over, let others come by links, and retire devices; with odd seeds processes die.
    case handing
    /// As sharing, and the power fails in the middle of rounds; with odd seeds the server's, too, or a state or the storage is put
    /// back.
    case cuts
    /// As spells, and days pass, or a year, between what people do; with odd seeds processes die and clocks are set.
    case seasons
    /// Scripts of seeds that failed once, with some steps changed.
    case variations
    /// All of it.
    case everything

    static let duets: [EngineWeather] = [
        .calm, .midRound, .crashes, .unmounts, .staleness, .clocks, .lostEvents, .errors, .storms,
    ]
    static let villages: [EngineWeather] = [
        .sharing, .watching, .sharingCrashes, .restores, .mounts, .absence, .moves, .travels, .twins, .uneven, .raced,
        .secrets, .spells, .errands, .parts, .returns, .spoils, .handing, .cuts, .seasons, .variations, .everything,
    ]

    var isVillage: Bool { Self.villages.contains(self) }

    func profile(_ seed: UInt64) -> SimulationScript.Profile { isVillage ? villageProfile(seed) : duetProfile }

    private var duetProfile: SimulationScript.Profile {
        if self == .storms { return SimulationScript.Profile() }
        var profile = SimulationScript.Profile.calm
        if self == .calm { return profile }
        profile.midRoundPercent = self == .midRound ? 25 : 0
        // Six of seven faults are of kinds that are not allowed here, and become acts of users.
        if self != .midRound { (profile.faultPercent, profile.syncPercent) = (60, 25) }
        profile.allowsCrashes = self == .crashes
        profile.allowsUnmounts = self == .unmounts
        profile.allowsStaleness = self == .staleness
        profile.allowsClockSteps = self == .clocks
        profile.allowsLostEvents = self == .lostEvents
        profile.allowsErrors = self == .errors
        return profile
    }

    private func villageProfile(_ seed: UInt64) -> SimulationScript.Profile {
        var profile =
            [.sharing, .watching, .raced].contains(self) ? SimulationScript.Profile.calm : SimulationScript.Profile()
        profile.allowsManyAtOnce = true
        profile.syncPercent = 40
        profile.sharedPercent = 35
        switch self {
        case .sharing: profile.commandPercent = 40
        case .watching:
            (profile.commandPercent, profile.midRoundPercent, profile.nestedPercent) = (15, 15, 50)
            (profile.overlapPercent, profile.replacePercent) = (40, 15)
        case .raced:
            (profile.commandPercent, profile.midRoundPercent, profile.nestedPercent) = (10, 60, 30)
            (profile.beforeChangePercent, profile.overlapPercent) = (80, 20)
            switch seed % 4 {
            case 0: profile.replacePercent = 20
            case 1: (profile.replacePercent, profile.namesakePercent) = (10, 25)
            case 2: (profile.travelPercent, profile.sharedPercent) = (40, 50)
            default: (profile.equalPercent, profile.replacePercent, profile.sharedPercent) = (30, 10, 45)
            }
        case .secrets:
            (profile.commandPercent, profile.syncPercent, profile.overwriteMovedPercent) = (30, 30, 35)
            (profile.sharedPercent, profile.overlapPercent, profile.nestedPercent) = (45, 15, 20)
            profile.faultPercent = seed % 2 == 1 ? 6 : 0
            for path in [
                \SimulationScript.Profile.allowsUnmounts, \.allowsStaleness, \.allowsClockSteps, \.allowsLostEvents,
                \.allowsErrors,
            ] { profile[keyPath: path] = false }
        case .spells:
            (profile.inSpells, profile.offlinePercent, profile.picks) = (true, 25, 3 + Int(seed % 4))
            (profile.commandPercent, profile.syncPercent, profile.overwriteMovedPercent) = (18, 45, 25)
            (profile.sharedPercent, profile.nestedPercent, profile.faultPercent) = (40, 20, 0)
            profile.partingPercent = 50
        case .errands:
            (profile.inSpells, profile.offlinePercent, profile.picks) = (true, 15, 3 + Int(seed % 4))
            (profile.commandPercent, profile.syncPercent, profile.overwriteMovedPercent) = (18, 45, 10)
            (profile.sharedPercent, profile.nestedPercent, profile.faultPercent) = (40, 10, 0)
            (profile.errandPercent, profile.partingPercent) = (60, 10)
        case .returns:
            (profile.inSpells, profile.offlinePercent, profile.picks) = (true, 15, 3 + Int(seed % 4))
            (profile.commandPercent, profile.syncPercent, profile.overwriteMovedPercent) = (18, 45, 10)
            (profile.sharedPercent, profile.nestedPercent, profile.faultPercent) = (40, 10, 0)
            (profile.returnPercent, profile.partingPercent) = (60, 10)
        case .handing:
            (profile.inSpells, profile.offlinePercent, profile.picks) = (true, 15, 3 + Int(seed % 4))
            (profile.commandPercent, profile.syncPercent, profile.overwriteMovedPercent) = (20, 45, 10)
            (profile.sharedPercent, profile.nestedPercent) = (40, 10)
            (profile.handingPercent, profile.partingPercent, profile.faultPercent) = (50, 10, seed % 2 == 1 ? 5 : 0)
            for path in [
                \SimulationScript.Profile.allowsUnmounts, \.allowsStaleness, \.allowsClockSteps, \.allowsLostEvents,
                \.allowsErrors,
            ] { profile[keyPath: path] = false }
        case .spoils:
            (profile.commandPercent, profile.spoilPercent, profile.picks) = (45, 6, 4)
            profile.spoils = seed % 2 == 1 ? [.log] : [.log, .log, .heads]
            (profile.faultPercent, profile.sharedPercent) = (seed % 3 == 0 ? 6 : 0, 45)
            for path in [
                \SimulationScript.Profile.allowsUnmounts, \.allowsStaleness, \.allowsClockSteps, \.allowsLostEvents,
                \.allowsErrors,
            ] { profile[keyPath: path] = false }
        case .cuts:
            (profile.commandPercent, profile.faultPercent, profile.cutPercent) = (25, 20, 60)
            (profile.travelPercent, profile.sharedPercent) = (10, 40)
            if seed % 2 == 1 {
                profile.setbackPercent = 50
                (profile.allowsStateRestores, profile.allowsRestores) = (seed % 4 == 1, seed % 4 == 3)
                profile.allowsServerCrashes = true
            }
            for path in [
                \SimulationScript.Profile.allowsUnmounts, \.allowsStaleness, \.allowsClockSteps, \.allowsLostEvents,
                \.allowsErrors,
            ] { profile[keyPath: path] = false }
        case .seasons:
            (profile.inSpells, profile.offlinePercent, profile.picks) = (true, 40, 3 + Int(seed % 4))
            (profile.commandPercent, profile.syncPercent, profile.daysPercent) = (15, 50, 5)
            (profile.sharedPercent, profile.returnPercent, profile.partingPercent) = (40, 20, 15)
            profile.faultPercent = seed % 2 == 1 ? 6 : 0
            for path in [
                \SimulationScript.Profile.allowsUnmounts, \.allowsStaleness, \.allowsLostEvents, \.allowsErrors,
            ] { profile[keyPath: path] = false }
        case .sharingCrashes:
            profile.commandPercent = 40
            for path in [
                \SimulationScript.Profile.allowsUnmounts, \.allowsStaleness, \.allowsClockSteps, \.allowsLostEvents,
                \.allowsErrors,
            ] { profile[keyPath: path] = false }
        case .restores:
            (profile.commandPercent, profile.faultPercent) = (20, 25)
            (profile.allowsStateRestores, profile.allowsRestores) = (seed % 2 == 1, seed % 2 == 0)
            for path in [
                \SimulationScript.Profile.allowsUnmounts, \.allowsStaleness, \.allowsClockSteps, \.allowsLostEvents,
                \.allowsErrors,
            ] { profile[keyPath: path] = false }
        case .mounts:
            (profile.commandPercent, profile.faultPercent, profile.rareFaultPercent) = (5, 25, 40)
            profile.allowsCrashes = false
        case .uneven:
            (profile.commandPercent, profile.faultPercent, profile.nestedPercent) = (20, 0, 40)
            (profile.travelPercent, profile.sharedPercent, profile.overlapPercent) = (20, 25, 20)
            profile.replacePercent = 10
        case .absence:
            (profile.commandPercent, profile.faultPercent, profile.rareFaultPercent) = (0, 35, 30)
            (profile.sharedPercent, profile.removesNothing) = (45, true)
        case .moves:
            (profile.commandPercent, profile.faultPercent, profile.rareFaultPercent) = (0, 15, 30)
            (profile.sharedPercent, profile.removesNothing, profile.movePercent) = (45, true, 50)
        case .travels:
            (profile.commandPercent, profile.travelPercent, profile.nestedPercent) = (12, 40, 15)
            (profile.faultPercent, profile.sharedPercent) = (8, 50)
            for path in [
                \SimulationScript.Profile.allowsUnmounts, \.allowsStaleness, \.allowsClockSteps, \.allowsLostEvents,
                \.allowsErrors,
            ] { profile[keyPath: path] = false }
        case .twins:
            (profile.commandPercent, profile.travelPercent, profile.equalPercent) = (20, 10, 40)
            (profile.faultPercent, profile.sharedPercent) = (seed % 2 == 1 ? 8 : 0, 40)
            for path in [
                \SimulationScript.Profile.allowsUnmounts, \.allowsStaleness, \.allowsClockSteps, \.allowsLostEvents,
                \.allowsErrors,
            ] { profile[keyPath: path] = false }
        default:
            profile.travelPercent = 10
            (profile.commandPercent, profile.faultPercent, profile.rareFaultPercent) = (25, 20, 25)
            (profile.allowsStateRestores, profile.allowsRestores) = (seed % 2 == 1, seed % 2 == 0)
            profile.allowsServerCrashes = seed % 2 == 0
            (profile.setbackPercent, profile.cutPercent) = (20, 10)
        }
        return profile
    }

    /// The setup and the script of a seed.
    func run(_ seed: UInt64) -> EngineRun {
        if self == .variations { return variation(seed) }
        if self == .parts {
            var run = [EngineWeather.sharingCrashes, .spells, .mounts, .everything][Int(seed % 4)].run(seed)
            run.segmentChangesMax = 1 + Int(seed / 4 % 3)
            return run
        }
        let setup = isVillage ? EngineSimulationSetup.makeVillage(seed: seed) : EngineSimulationSetup.make()
        var script = SimulationScript(
            seed: seed, machines: setup.machines.count, steps: isVillage ? 80 : 60, profile: profile(seed))
        if self == .uneven {
            script.steps.insert(
                contentsOf: setup.machines.indices.map { .fault(machine: $0, .mountKind(.uneven)) }, at: 0)
        }
        if self == .errands {
            script.steps = SimulationScript.manyShares(seed: seed, machines: setup.machines.count) + script.steps
        }
        return EngineRun(script: script, isVillage: isVillage, removesNothing: self == .absence)
    }

    private func variation(_ seed: UInt64) -> EngineRun {
        let kept = KeptScript.all[Int(seed % UInt64(KeptScript.all.count))]
        let setup =
            kept.isVillage ? EngineSimulationSetup.makeVillage(seed: kept.script.seed) : EngineSimulationSetup.make()
        var profile = SimulationScript.Profile()
        (profile.syncPercent, profile.faultPercent, profile.rareFaultPercent) = (15, 50, 25)
        (profile.overlapPercent, profile.nestedPercent, profile.midRoundPercent) = (30, 30, 30)
        profile.travelPercent = 15
        // In a duet nobody's rights change.
        profile.commandPercent = kept.isVillage ? 30 : 0
        return EngineRun(
            script: kept.script.varied(by: seed, machines: setup.machines.count, profile: profile),
            isVillage: kept.isVillage)
    }
}

/// A script and the world in which it runs; its seed decides all of it.
struct EngineRun {
    var script: SimulationScript
    var isVillage = true
    /// Whether nothing in the script removes or moves anything.
    var removesNothing = false
    /// The most changes in a segment; nil for as many as the engine puts into one.
    var segmentChangesMax: Int?
    /// Whether each step, and each line of the engines' logs, is printed.
    var isNarrated = EngineSimulationTests.environment["SHOEBOX_NARRATE_SCRIPTS"] != nil

    private var setup: SimulationSetup {
        var setup = isVillage ? EngineSimulationSetup.makeVillage(seed: script.seed) : EngineSimulationSetup.make()
        if removesNothing {
            setup.check = { [check = setup.check] in EngineSimulationSetup.checkNothingGone($0) + check($0) }
        }
        if let segmentChangesMax {
            setup.makeReplica = { [make = setup.makeReplica] machine in
                let made = try make(machine)
                guard let replica = (made as? EngineReplica)?.replica else { return made }
                replica.tune = { [tune = replica.tune] settings in
                    tune(&settings)
                    settings.segmentChangesMax = segmentChangesMax
                }
                return made
            }
        }
        guard isNarrated else { return setup }
        setup.narrate = { print($0) }
        setup.makeReplica = { [make = setup.makeReplica] machine in
            let made = try make(machine)
            (made as? EngineReplica)?.replica.narrate = { print("    \(machine.name): \($0)") }
            return made
        }
        return setup
    }

    /// What failed; empty if all is well.
    var failures: [String] {
        SeededWrapping.run(seed: script.seed) { Simulation.failures(of: script, setup: setup) }
    }

    /// What failed, and the shortest script found that fails.
    func shrunkFailures(triesMax: Int, narrates: Bool = false) -> [String] {
        let found = failures
        guard !found.isEmpty else { return [] }
        var small = self
        small.script.steps = shrink(script.steps, triesMax: triesMax) { steps in
            var shorter = self
            shorter.script.steps = steps
            return Simulation.isSameKind(shorter.failures, as: found)
        }
        small.isNarrated = narrates
        return small.failures + [
            "as EngineRun(script: \(small.script), isVillage: \(isVillage), removesNothing: \(removesNothing), segmentChangesMax: \(segmentChangesMax.map(String.init) ?? "nil"))",
            "on \(setup.machines.joined(separator: ", "))",
        ]
    }

    /// Every call that the machines made until all was healed, with what came of it, and all that is in the container.
    func trace() throws -> [String] {
        try SeededWrapping.run(seed: script.seed) {
            let simulation = try Simulation(seed: script.seed, setup: setup)
            simulation.run(script.steps)
            simulation.heal()
            let calls = simulation.world.machines.flatMap { machine in
                machine.faults.log.map { "\(machine.name) \($0)" }
            }
            let files = simulation.world.storage.tree().sorted { $0.key < $1.key }
            return calls + files.map { "\($0.key): \($0.value)" }
        }
    }
}
