import ShoeboxWorld

extension SimulationScript {
    /// One person works on a photo of a share; another one, who has not read that yet, takes it or its folder elsewhere, works on it
    /// there, and is away when the first one goes on.
    static func parting(_ random: inout SeededGenerator, _ machines: Int, _ profile: Profile) -> [SimulationStep] {
        // The first machine is the owner's of the share that is there from the beginning.
        let mover = random.below(3) > 0 ? 0 : random.below(machines)
        let pick = random.below(machines)
        let editor = pick == mover ? (mover + 1) % machines : pick
        let root: SimulationStep.Root = mover == 0 || random.below(2) == 0 ? .library : .shared
        var steps: [SimulationStep] = []
        func rounds(_ machine: Int, _ counts: Range<Int>, _ random: inout SeededGenerator) {
            let count = counts.lowerBound + random.below(counts.count)
            steps += (0..<count).map { _ in .sync(machine: machine) }
        }
        let file = random.below(profile.picks)
        func edit(_ random: inout SeededGenerator) -> SimulationStep {
            let act: SimulationStep.Act =
                switch random.below(4) {
                case 0: .caption(file: file)
                case 1: .rename(file: file, name: random.below(6))
                default: .overwrite(file: file, .replacing, bytes: 1 + random.below(profile.bytesMax))
                }
            return .user(machine: editor, root: .shared, act)
        }
        let isOffline = random.below(3) == 0
        if isOffline { steps.append(.fault(machine: editor, .unmountContainer)) }
        steps.append(edit(&random))
        rounds(editor, 0..<3, &random)
        steps.append(
            .user(
                machine: mover, root: root,
                .part(
                    file: random.below(profile.picks), folder: random.below(profile.picks),
                    isFolder: random.below(2) == 0)))
        rounds(mover, 1..<3, &random)
        for _ in 0..<(1 + random.below(2)) {
            let bytes = random.below(2) * (1 + random.below(profile.bytesMax))
            steps.append(.user(machine: mover, root: root, .editMoved(bytes: bytes)))
            rounds(mover, 1..<3, &random)
        }
        if random.below(3) == 0 {
            steps.append(.user(machine: mover, root: root, .deleteMoved))
            rounds(mover, 3..<6, &random)
        }
        if isOffline { steps.append(.fault(machine: editor, .mountContainer)) }
        rounds(editor, 1..<4, &random)
        if random.below(3) == 0 { rounds(random.below(machines), 1..<3, &random) }
        steps.append(edit(&random))
        rounds(editor, 1..<3, &random)
        return steps
    }
}
