import ShoeboxWorld

/// A seeded workload: steps for users, fate and replicas.
public struct SimulationScript: Hashable, Sendable, CustomStringConvertible {
    /// How likely things are.
    public struct Profile: Hashable, Sendable {
        /// Steps of a hundred that are faults; 0 for none.
        public var faultPercent = 15
        /// Steps of a hundred that are rounds of some replica.
        public var syncPercent = 35
        /// Acts of a hundred that are in the shared folder.
        public var sharedPercent = 25
        /// Acts of a hundred that happen in the middle of a round.
        public var midRoundPercent = 10
        /// Whether power cuts and crashes are among the faults.
        public var allowsCrashes = true
        /// Whether roots and the container go away.
        public var allowsUnmounts = true
        /// Whether the mount shows things late.
        public var allowsStaleness = true
        /// Whether clocks are set, by up to 50 years.
        public var allowsClockSteps = true
        /// Whether events are lost.
        public var allowsLostEvents = true
        /// Whether calls fail with errors.
        public var allowsErrors = true
        /// Whether the server's power fails.
        public var allowsServerCrashes = false
        /// Whether the storage is put back to a backup.
        public var allowsRestores = false
        /// Sizes of photos are below this.
        public var bytesMax = 200

        /// Everything but crashes of the server and restored backups.
        public init() {}

        /// Users and rounds only.
        public static var calm: Profile {
            var result = Profile()
            result.faultPercent = 0
            result.midRoundPercent = 0
            return result
        }
    }

    /// The seed that made it; names the script.
    public var seed: UInt64
    /// The steps.
    public var steps: [SimulationStep]

    /// A script of given steps.
    public init(seed: UInt64 = 0, steps: [SimulationStep]) {
        self.seed = seed
        self.steps = steps
    }

    /// A random script.
    public init(seed: UInt64, machines: Int, steps count: Int, profile: Profile = Profile()) {
        self.seed = seed
        var random = SplitMix64(seed: seed, part: "script")
        steps = (0..<count).map { _ in Self.step(&random, machines, profile) }
    }

    /// The seed and the steps, numbered, one a line.
    public var description: String {
        "seed \(seed)\n" + steps.enumerated().map { "\($0.offset): \($0.element)" }.joined(separator: "\n")
    }

    private static func step(_ random: inout SplitMix64, _ machines: Int, _ profile: Profile) -> SimulationStep {
        let machine = random.below(machines)
        let dice = random.below(100)
        if dice < profile.syncPercent { return .sync(machine: machine) }
        if dice < profile.syncPercent + profile.faultPercent {
            if let fault = fault(&random, profile) { return .fault(machine: machine, fault) }
            if profile.allowsRestores, random.below(3) == 0 {
                return random.below(2) == 0 ? .backUpStorage : .restoreStorage
            }
            if profile.allowsServerCrashes, random.below(4) == 0 {
                return .serverCrash([.vanishing, .emptying, .tearing][random.below(3)])
            }
        }
        if random.below(8) == 0 { return .pass(milliseconds: UInt64(1 + random.below(20_000))) }
        let root: SimulationStep.Root = random.below(100) < profile.sharedPercent ? .shared : .library
        let act = act(&random, profile)
        if random.below(100) < profile.midRoundPercent {
            return .userDuring(machine: machine, afterCalls: random.below(60), root: root, act)
        }
        return .user(machine: machine, root: root, act)
    }

    private static func act(_ random: inout SplitMix64, _ profile: Profile) -> SimulationStep.Act {
        let first = random.below(1_000)
        let second = random.below(1_000)
        let bytes = 1 + random.below(profile.bytesMax)
        switch random.below(34) {
        case 0..<9: return .write(folder: first, name: second, bytes: bytes)
        case 9..<12: return .overwrite(file: first, random.below(2) == 0 ? .inPlace : .replacing, bytes: bytes)
        case 12..<14: return .rename(file: first, name: second)
        case 14..<16: return .move(file: first, folder: second)
        case 16: return .swap(file: first, with: second)
        case 17: return .fileToFolder(file: first)
        case 18: return .folderToFile(folder: first)
        case 19..<21: return .makeFolder(in: first, name: second)
        case 21: return .moveFolder(folder: first, into: second, name: random.below(100))
        case 22: return .deleteFolder(folder: first)
        case 23..<25: return .delete(file: first)
        case 25..<27: return .copy(file: first, name: second)
        case 27..<29: return .caption(file: first)
        case 29..<31: return .tag(file: first)
        case 31: return .breakSidecar(file: first)
        case 32: return .beginWriting(folder: first, name: second, bytes: bytes)
        default: return .endWriting
        }
    }

    private static func fault(_ random: inout SplitMix64, _ profile: Profile) -> SimulationStep.Fault? {
        let root: SimulationStep.Root = random.below(2) == 0 ? .library : .shared
        let after = random.below(60)
        switch random.below(7) {
        case 0 where profile.allowsCrashes, 1 where profile.allowsCrashes:
            switch random.below(6) {
            case 0: return .kill
            case 1: return .powerCut(.random(seed: random.next()))
            case 2: return .call(after: after, .crashAfter)
            case 3: return .call(after: after, .crashTorn(keeping: random.below(40)))
            default: return .call(after: after, .crash)
            }
        case 2 where profile.allowsUnmounts:
            switch random.below(6) {
            case 0: return .unmount(root, .missing)
            case 1: return .unmount(root, .replaced)
            case 2: return .mount(root)
            case 3: return .unmountContainer
            case 4: return .emptyContainer
            default: return .mountContainer
            }
        case 3 where profile.allowsStaleness:
            return .behaviour([.nfs, .sshfs, .glusterfs, SimulatedMountBehaviour()][random.below(4)])
        case 4 where profile.allowsClockSteps:
            let year: Int64 = 365 * 86_400_000
            let most = [10_000, 3_600_000, 50 * year][random.below(3)]
            return .stepClock(milliseconds: Int64(random.next() % UInt64(2 * most)) - most)
        case 5 where profile.allowsLostEvents:
            return .events(root, [.none, .all, .every(3), .overflow(after: 5)][random.below(4)])
        case 6 where profile.allowsErrors:
            switch random.below(5) {
            case 0: return .room(root, bytes: random.below(2) == 0 ? nil : random.below(400))
            case 1: return .halfListing(root, folder: after, keeping: random.below(4), fails: random.below(2) == 0)
            case 2: return .call(after: after, .failAfter(random.below(2) == 0 ? .timedOut : .inputOutput))
            case 3: return .call(after: after, .torn(keeping: random.below(40), .full))
            default:
                let codes: [SimulatedFaults.Effect] = [.fail(.timedOut), .fail(.inputOutput), .fail(.full)]
                return .call(after: after, codes[random.below(3)])
            }
        default: return nil
        }
    }
}

/// Drops steps from a failing script for as long as it still fails: larger pieces first, then single steps.
///
/// `stillFails` must be a function of the steps alone. It is called `triesMax` times at most; the last script known to
/// fail is returned.
public func shrink(
    _ script: SimulationScript, triesMax: Int = 400, stillFails: (SimulationScript) -> Bool
) -> SimulationScript {
    var best = script
    var tries = 0
    var size = max(1, best.steps.count / 2)
    while tries < triesMax {
        var start = 0
        var dropped = false
        while start < best.steps.count, tries < triesMax {
            var candidate = best
            candidate.steps.removeSubrange(start..<min(start + size, best.steps.count))
            tries += 1
            if stillFails(candidate) {
                best = candidate
                dropped = true
            } else {
                start += size
            }
        }
        if size > 1 {
            size /= 2
        } else if !dropped {
            break
        }
    }
    return best
}
