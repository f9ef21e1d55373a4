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
        /// Of a hundred acts in the middle of a round, those just before the engine changes something in a watched folder.
        public var beforeChangePercent = 0
        /// Rounds of a hundred in the middle of which another replica does one.
        public var overlapPercent = 0
        /// Acts of a hundred that are in folders in folders, or in one that was moved in the same moment.
        public var nestedPercent = 8
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
        /// Steps of a hundred that are commands of people; 0 for none.
        public var commandPercent = 0
        /// Whether people write and delete many photos at once, remove sidecars, and set ratings in them.
        public var allowsManyAtOnce = false
        /// Steps of a hundred in which a file in the storage is damaged, or lost.
        public var spoilPercent = 0
        /// Of which kinds that file is.
        public var spoils: [SimulationStep.Stored] = [.log]
        /// Whether state directories are put back to a backup, or lost.
        public var allowsStateRestores = false
        /// Faults of a hundred that are of the kinds that came later: another container, a marker in the wrong folder,
        /// calls by name, no room in the storage, the limit of watches, a mount that is a minute late.
        public var rareFaultPercent = 0
        /// Faults of a hundred that put a state or the storage back to a backup, lose a state, or are the server's, as far as they
        /// are allowed. Without them these happen only in place of faults that are not allowed.
        public var setbackPercent = 0
        /// Faults of a hundred that cut the power in the middle of a round.
        public var cutPercent = 0
        /// Steps of a hundred in which days pass, or a year.
        public var daysPercent = 0
        /// Whether users only add and change: nothing is removed, renamed or moved.
        public var removesNothing = false
        /// Acts of a hundred that rename or move something, where nothing is removed.
        public var movePercent = 0
        /// Acts of a hundred that swap folders, copy them, go from one watched folder to the other, change tag files, or handle
        /// the folders of others' shares.
        public var travelPercent = 0
        /// Acts of a hundred that copy photos, or move two of the same bytes at once.
        public var equalPercent = 0
        /// Acts of a hundred that put another folder in the place of one.
        public var replacePercent = 0
        /// Acts of a hundred that move a photo and save something else in it at once.
        public var overwriteMovedPercent = 0
        /// Acts of a hundred that swap two photos of the same name.
        public var namesakePercent = 0
        /// Whether one machine after the other does several things, while the others are away.
        public var inSpells = false
        /// Spells of a hundred in which the container is out of reach.
        public var offlinePercent = 0
        /// Of a hundred spells, those in which somebody takes away what another one is working on.
        public var partingPercent = 0
        /// Of a hundred spells, those in which somebody says something of a photo and moves it at once, over the other watched folder too.
        public var errandPercent = 0
        /// Of a hundred spells, those in which somebody deletes much, and puts it back piece by piece or has it put back.
        public var returnPercent = 0
        /// Of a hundred spells, those in which somebody hands a share over, opens it, or retires a device.
        public var handingPercent = 0
        /// What people point at is among the first so many: with few, they meet.
        public var picks = 1_000
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
        var random = SeededGenerator(seed: seed, part: "script")
        guard profile.inSpells else {
            steps = (0..<count).map { _ in Self.step(&random, machines, profile) }
            return
        }
        steps = []
        var isOffline: Set<Int> = []
        while steps.count < count {
            if random.below(100) < profile.partingPercent {
                steps += Self.parting(&random, machines, profile)
                continue
            }
            if profile.errandPercent > 0, random.below(100) < profile.errandPercent {
                steps += Self.errand(&random, machines, profile)
                continue
            }
            if profile.returnPercent > 0, random.below(100) < profile.returnPercent {
                steps += Self.comingBack(&random, machines, profile)
                continue
            }
            if profile.handingPercent > 0, random.below(100) < profile.handingPercent {
                steps += Self.handing(&random, machines, profile)
                continue
            }
            let machine = random.below(machines)
            if isOffline.remove(machine) != nil { steps.append(.fault(machine: machine, .mountContainer)) }
            if random.below(100) < profile.offlinePercent {
                isOffline.insert(machine)
                steps.append(.fault(machine: machine, .unmountContainer))
            }
            for _ in 0..<(3 + random.below(6)) { steps.append(Self.step(&random, machines, profile, machine)) }
        }
    }

    /// The script as Swift text that can be pasted into a test, one step a line.
    public var description: String {
        "SimulationScript(\n    seed: \(seed),\n    steps: [\n"
            + steps.map { "        \($0.swiftText),\n" }.joined() + "    ])"
    }

    static func step(
        _ random: inout SeededGenerator, _ machines: Int, _ profile: Profile, _ machine: Int? = nil
    ) -> SimulationStep {
        let machine = machine ?? random.below(machines)
        if profile.spoilPercent > 0, random.below(100) < profile.spoilPercent { return spoiling(&random, profile) }
        if profile.daysPercent > 0, random.below(100) < profile.daysPercent {
            let days = [1, 1, 2, 8, 31, 40, 400]
            return .pass(milliseconds: UInt64(days[random.below(days.count)]) * 86_400_000)
        }
        let dice = random.below(100)
        if dice < profile.syncPercent {
            guard random.below(100) < profile.overlapPercent else { return .sync(machine: machine) }
            if random.below(2) == 0 {
                return .syncBetween(
                    machine: machine, publications: random.below(8), other: random.below(2 * machines))
            }
            let calls = random.below(2) == 0 ? 60 : 240
            return .syncDuring(machine: machine, afterCalls: random.below(calls), other: random.below(machines))
        }
        if dice < profile.syncPercent + profile.faultPercent {
            if profile.setbackPercent > 0, random.below(100) < profile.setbackPercent,
                let step = setback(&random, profile, machine)
            {
                return step
            }
            if profile.cutPercent > 0, random.below(100) < profile.cutPercent {
                let calls = [60, 240, 1_000][random.below(3)]
                return .fault(
                    machine: machine, .cutDuring(after: random.below(calls), .random(seed: random.next())))
            }
            if profile.rareFaultPercent > 0, random.below(100) < profile.rareFaultPercent,
                let step = rareFault(&random, profile, machine)
            {
                return step
            }
            if let fault = fault(&random, profile) { return .fault(machine: machine, fault) }
            if let step = setback(&random, profile, machine) { return step }
        }
        if profile.commandPercent > 0, random.below(100) < profile.commandPercent {
            let root: SimulationStep.Root = random.below(100) < profile.sharedPercent ? .shared : .library
            return .command(machine: machine, root: root, command(&random, profile))
        }
        if random.below(8) == 0 { return .pass(milliseconds: UInt64(1 + random.below(20_000))) }
        let root: SimulationStep.Root = random.below(100) < profile.sharedPercent ? .shared : .library
        let act = act(&random, profile)
        if random.below(100) < profile.midRoundPercent {
            if profile.beforeChangePercent > 0, random.below(100) < profile.beforeChangePercent {
                return .userBefore(machine: machine, afterChanges: random.below(5), root: root, act)
            }
            return .userDuring(machine: machine, afterCalls: random.below(60), root: root, act)
        }
        return .user(machine: machine, root: root, act)
    }

    /// Something that was already is so no more, in a state or in the storage.
    private static func setback(
        _ random: inout SeededGenerator, _ profile: Profile, _ machine: Int
    ) -> SimulationStep? {
        if profile.allowsStateRestores, random.below(2) == 0 {
            switch random.below(7) {
            case 0..<3: return .fault(machine: machine, .backUpState)
            case 3..<6: return .fault(machine: machine, .restoreState)
            default: return .fault(machine: machine, .loseState)
            }
        }
        if profile.allowsRestores, random.below(3) == 0 {
            return random.below(2) == 0 ? .backUpStorage : .restoreStorage
        }
        if profile.allowsServerCrashes, random.below(4) == 0 {
            return .serverCrash([.vanishing, .emptying, .tearing][random.below(3)])
        }
        return nil
    }

    private static func act(_ random: inout SeededGenerator, _ profile: Profile) -> SimulationStep.Act {
        let first = random.below(profile.picks)
        let second = random.below(profile.picks)
        let bytes = 1 + random.below(profile.bytesMax)
        if profile.removesNothing {
            return random.below(100) < profile.movePercent
                ? move(&random, first, second) : addition(&random, first, second, bytes)
        }
        if profile.equalPercent > 0, random.below(100) < profile.equalPercent {
            return equal(&random, first, second)
        }
        if profile.overwriteMovedPercent > 0, random.below(100) < profile.overwriteMovedPercent {
            if random.below(5) == 0 { return .deleteMoved }
            return .overwriteMoved(
                file: first, folder: second, random.below(2) == 0 ? .inPlace : .replacing,
                isBefore: random.below(2) == 0, bytes: bytes)
        }
        if profile.namesakePercent > 0, random.below(100) < profile.namesakePercent {
            return .swapNamesakes(file: first, with: second, isAtOnce: random.below(2) == 0)
        }
        if profile.replacePercent > 0, random.below(100) < profile.replacePercent {
            let deed = SimulationStep.InPlace.allCases[random.below(SimulationStep.InPlace.allCases.count)]
            return .replaceFolder(
                folder: first, deed, with: second, name: random.below(100), pick: random.below(1_000))
        }
        if profile.travelPercent > 0, random.below(100) < profile.travelPercent {
            return travel(&random, first, second)
        }
        if profile.allowsManyAtOnce, random.below(10) == 0 {
            switch random.below(9) {
            case 0: return .deleteMany(keeping: random.below(3))
            case 1..<3: return .writeMany(folder: first, count: 3 + random.below(8), bytes: bytes)
            case 3..<5: return .deleteSidecar(file: first)
            case 5..<8: return .rate(file: first, stars: random.below(6))
            default: return .deleteShareFolder(share: first)
            }
        }
        if random.below(100) < profile.nestedPercent {
            guard random.below(3) > 0 else { return .writeDeep(folder: first, name: second, bytes: bytes) }
            let inside = SimulationStep.Inside.allCases[random.below(SimulationStep.Inside.allCases.count)]
            return .inMoved(folder: first, into: second, name: random.below(100), inside, pick: random.below(1_000))
        }
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

    private static func move(_ random: inout SeededGenerator, _ first: Int, _ second: Int) -> SimulationStep.Act {
        switch random.below(12) {
        case 0..<2: return .rename(file: first, name: second)
        case 2..<5: return .move(file: first, folder: second)
        case 5: return .swap(file: first, with: second)
        case 6..<9: return .moveFolder(folder: first, into: second, name: random.below(100))
        default:
            let inside = SimulationStep.Inside.allCases.filter { $0 != .delete }
            return .inMoved(
                folder: first, into: second, name: random.below(100), inside[random.below(inside.count)],
                pick: random.below(1_000))
        }
    }

    private static func equal(_ random: inout SeededGenerator, _ first: Int, _ second: Int) -> SimulationStep.Act {
        switch random.below(6) {
        case 0: .copy(file: first, name: second)
        case 1..<4:
            .copyTo(random.below(3) > 0 ? .library : .shared, file: first, folder: second, name: random.below(6))
        default: .moveTwins(file: first, folder: second, and: random.below(1_000))
        }
    }

    private static func travel(_ random: inout SeededGenerator, _ first: Int, _ second: Int) -> SimulationStep.Act {
        switch random.below(14) {
        case 12, 13:
            .shareFolder(
                share: first,
                SimulationStep.OnShareFolder.allCases[second % SimulationStep.OnShareFolder.allCases.count],
                name: random.below(100))
        case 10, 11:
            .tagFile(pick: first, SimulationStep.OnTagFile.allCases[second % SimulationStep.OnTagFile.allCases.count])
        case 0: .swapThrough(file: first, with: second, name: random.below(3))
        case 1..<3: .swapFolders(folder: first, with: second)
        case 3..<5: .copyFolder(folder: first, into: second, name: random.below(100))
        case 5..<8: .carry(file: first, folder: second)
        default: .carryFolder(folder: first, into: second, name: random.below(100))
        }
    }

    private static func addition(
        _ random: inout SeededGenerator, _ first: Int, _ second: Int, _ bytes: Int
    ) -> SimulationStep.Act {
        switch random.below(24) {
        case 0..<6: return .write(folder: first, name: second, bytes: bytes)
        case 6..<9: return .overwrite(file: first, random.below(2) == 0 ? .inPlace : .replacing, bytes: bytes)
        case 9..<11: return .writeDeep(folder: first, name: second, bytes: bytes)
        case 11..<13: return .writeMany(folder: first, count: 3 + random.below(8), bytes: bytes)
        case 13..<15: return .makeFolder(in: first, name: second)
        case 15..<17: return .copy(file: first, name: second)
        case 17..<19: return .caption(file: first)
        case 19..<21: return .tag(file: first)
        case 21: return .rate(file: first, stars: random.below(6))
        case 22: return .beginWriting(folder: first, name: second, bytes: bytes)
        default: return .endWriting
        }
    }

    private static func fault(_ random: inout SeededGenerator, _ profile: Profile) -> SimulationStep.Fault? {
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
            return .mountKind([.nfs, .sshfs, .glusterfs, .perfect][random.below(4)])
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

    private static func command(_ random: inout SeededGenerator, _ profile: Profile) -> SimulationStep.Command {
        let first = random.below(profile.picks)
        let second = random.below(profile.picks)
        let grants: [SimulationStep.Grant] = [.readOnly, .readOnly, .readWrite, .readWrite, .contribute, .admin]
        let grant = grants[random.below(grants.count)]
        switch random.below(40) {
        case 0..<4: return .share(folder: first)
        case 4: return .shareSelection(file: first, and: second)
        case 5..<11: return .invite(share: first, account: second, grant)
        case 11..<14: return .permit(share: first, account: second, grant)
        case 14..<16: return .revoke(share: first, account: second)
        case 16..<23: return .accept
        case 23..<25: return .leave(share: first, keepsCopy: random.below(2) == 0)
        case 25: return .stop(share: first)
        case 26..<28: return .add(share: first, file: second)
        case 28: return .remove(share: first, file: second)
        case 29..<32: return .tagTwice(file: first)
        case 32..<34: return .rate(file: first, stars: random.below(6))
        case 34..<36: return .caption(file: first)
        case 36: return .undo
        case 37: return .restoreTrash
        default: return .restoreVersion(file: first)
        }
    }

    private static func spoiling(_ random: inout SeededGenerator, _ profile: Profile) -> SimulationStep {
        let kinds: [SimulatedMountStorage.Spoiling] = [.removed, .emptied, .cut, .flipped(byte: random.below(1_000))]
        return .spoilStorage(
            profile.spoils[random.below(profile.spoils.count)], file: random.below(1_000),
            kinds[random.below(kinds.count)])
    }

    private static func rareFault(
        _ random: inout SeededGenerator, _ profile: Profile, _ machine: Int
    ) -> SimulationStep? {
        let root: SimulationStep.Root = random.below(2) == 0 ? .library : .shared
        switch random.below(11) {
        case 9 where profile.allowsUnmounts:
            return .fault(machine: machine, .halfContainerListing(keeping: random.below(3)))
        case 10 where profile.allowsErrors: return .fault(machine: machine, .hangContainer)
        case 0 where profile.allowsUnmounts: return .fault(machine: machine, .foreignContainer)
        case 1 where profile.allowsUnmounts: return .fault(machine: machine, .copyMarker(root))
        case 2 where profile.allowsErrors, 3 where profile.allowsErrors:
            let name = ["rename", "rename", "publish", "append", "finish", "removeFile"][random.below(6)]
            let effects: [SimulatedFaults.Effect] = [
                .failAfter(.inputOutput), .stale, .failAfter(.timedOut), .fail(.timedOut), .fail(.denied),
            ]
            return .fault(machine: machine, .next(name, effects[random.below(effects.count)]))
        case 4 where profile.allowsErrors: return .fault(machine: machine, .call(after: random.below(60), .stale))
        case 5 where profile.allowsErrors:
            return .storageRoom(bytes: random.below(2) == 0 ? nil : random.below(3_000))
        case 6 where profile.allowsLostEvents: return .fault(machine: machine, .events(root, .limit))
        case 7 where profile.allowsStaleness: return .fault(machine: machine, .mountKind(.slowest))
        case 8 where profile.allowsClockSteps:
            let day: Int64 = 86_400_000
            return .fault(
                machine: machine, .stepClock(milliseconds: [day, -day, 365 * day, -365 * day][random.below(4)]))
        default: return nil
        }
    }
}
