import ShoeboxWorld

extension SimulationScript {
    /// One person deletes much at once, often more than goes without asking, and puts it back piece by piece, puts other photos
    /// in its place, or has it put back from the trash, while others go on.
    static func comingBack(
        _ random: inout SeededGenerator, _ machines: Int, _ profile: Profile
    ) -> [SimulationStep] {
        let machine = random.below(machines)
        let root: SimulationStep.Root = random.below(100) < profile.sharedPercent ? .shared : .library
        var steps: [SimulationStep] = []
        func rounds(_ machine: Int, _ counts: Range<Int>, _ random: inout SeededGenerator) {
            let count = counts.lowerBound + random.below(counts.count)
            steps += (0..<count).map { _ in .sync(machine: machine) }
        }
        func act(_ act: SimulationStep.Act) { steps.append(.user(machine: machine, root: root, act)) }
        let folder = random.below(profile.picks)
        act(.writeMany(folder: folder, count: 4 + random.below(8), bytes: 1 + random.below(profile.bytesMax)))
        for _ in 0..<random.below(4) { act(.caption(file: random.below(1_000))) }
        rounds(machine, 1..<5, &random)
        let other = random.below(machines)
        rounds(other, 0..<3, &random)
        for _ in 0..<random.below(3) {
            let word: SimulationStep.Command =
                random.below(2) == 0 ? .caption(file: random.below(1_000)) : .tagTwice(file: random.below(1_000))
            steps.append(.command(machine: random.below(2) == 0 ? machine : other, root: root, word))
        }
        switch random.below(3) {
        case 0: act(.deleteFolder(folder: random.below(profile.picks)))
        case 1: act(.delete(file: random.below(1_000)))
        default: act(.deleteMany(keeping: random.below(4)))
        }
        rounds(machine, 0..<4, &random)
        for _ in 0..<(1 + random.below(6)) {
            let pick = random.below(1_000)
            switch random.below(8) {
            case 0..<3: act(.putBack(first: pick, count: 1 + random.below(3), withSidecars: random.below(2) == 0))
            case 3: act(.writeInPlace(pick: pick, bytes: 1 + random.below(profile.bytesMax)))
            case 4..<6:
                let command: SimulationStep.Command = .restoreSome(pick: pick, isFolder: random.below(2) == 0)
                steps.append(.command(machine: machine, root: root, command))
            case 6:
                let isOther = random.below(2) == 0
                steps.append(
                    .command(
                        machine: isOther ? other : machine, root: isOther ? .shared : root, .caption(file: pick)))
            default: steps.append(.fault(machine: machine, .kill))
            }
            rounds(machine, 0..<3, &random)
            if random.below(3) == 0 { rounds(other, 1..<3, &random) }
        }
        return steps
    }
}
