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

    /// Two people make shares of some albums, to which they let everybody in.
    public static func manyShares(seed: UInt64, machines: Int) -> [SimulationStep] {
        var random = SeededGenerator(seed: seed, part: "many shares")
        var steps: [SimulationStep] = []
        for owner in 0..<min(2, machines) {
            for name in 0..<3 {
                steps.append(
                    .user(machine: owner, root: .library, .writeDeep(folder: 0, name: name, bytes: 10 + name)))
            }
            steps.append(.sync(machine: owner))
            for _ in 0..<2 {
                steps.append(.command(machine: owner, root: .library, .share(folder: random.below(20))))
            }
            for share in 0..<3 {
                for account in 0..<4 {
                    steps.append(
                        .command(
                            machine: owner, root: .library, .invite(share: 8 * share + 1, account: account, .readWrite))
                    )
                }
            }
            steps.append(.sync(machine: owner))
        }
        for machine in 0..<machines { steps.append(.command(machine: machine, root: .library, .accept)) }
        for _ in 0..<2 { steps += (0..<machines).map { .sync(machine: $0) } }
        return steps
    }

    /// One person says something of a photo and moves it at once, also to the other watched folder, says something else there, and
    /// moves it on; most often it ends in a share, and not in the one that it was in.
    static func errand(_ random: inout SeededGenerator, _ machines: Int, _ profile: Profile) -> [SimulationStep] {
        let machine = random.below(machines)
        var root: SimulationStep.Root = random.below(2) == 0 ? .library : .shared
        var steps: [SimulationStep] = []
        func rounds(_ counts: Range<Int>, _ random: inout SeededGenerator) {
            let count = counts.lowerBound + random.below(counts.count)
            steps += (0..<count).map { _ in .sync(machine: machine) }
        }
        func move(_ act: SimulationStep.Act, isOver: Bool) {
            steps.append(.user(machine: machine, root: root, act))
            if isOver { root = root == .library ? .shared : .library }
        }
        let file = random.below(profile.picks)
        if random.below(2) == 0 {
            steps.append(.user(machine: machine, root: root, .caption(file: file)))
            rounds(1..<4, &random)
        }
        if random.below(3) > 0 {
            // Its sidecar is not written before it goes.
            if random.below(4) > 0 { steps.append(.fault(machine: machine, .next("rename", .fail(.denied)))) }
            steps.append(.command(machine: machine, root: root, .caption(file: file)))
        }
        if random.below(3) > 0 {
            move(.carryOver(file: file, folder: random.below(profile.picks)), isOver: true)
        } else {
            move(.part(file: file, folder: random.below(profile.picks), isFolder: random.below(3) == 0), isOver: false)
        }
        for _ in 0..<(1 + random.below(3)) {
            rounds(0..<3, &random)
            if random.below(2) == 0 {
                let bytes = random.below(3) == 0 ? 1 + random.below(profile.bytesMax) : 0
                steps.append(.user(machine: machine, root: root, .editMoved(bytes: bytes)))
                rounds(0..<3, &random)
            }
            if random.below(4) == 0 {
                steps.append(
                    .user(machine: random.below(machines), root: .shared, .caption(file: random.below(profile.picks))))
            }
            let isOver = root == .library || random.below(2) == 0
            move(.moveOn(folder: random.below(profile.picks), isOver: isOver), isOver: isOver)
        }
        rounds(0..<5, &random)
        return steps
    }
}
