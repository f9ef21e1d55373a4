import ShoeboxWorld

extension SimulationScript {
    /// One person hands a share over, lets others come by a link, or retires a device; others go on in the middle of it, and not
    /// everybody has heard of everything.
    static func handing(
        _ random: inout SeededGenerator, _ machines: Int, _ profile: Profile
    ) -> [SimulationStep] {
        let owner = random.below(2) == 0 ? 0 : random.below(machines)
        let other = random.below(machines)
        // Never a multiple of eight, so that it is one of the owner's shares; their pick is the same for all.
        let share = 1 + random.below(7) + 8 * random.below(4)
        let account = random.below(profile.picks)
        let grants: [SimulationStep.Grant] = [.readOnly, .contribute, .readWrite, .readWrite, .admin]
        let grant = grants[random.below(grants.count)]
        var steps: [SimulationStep] = []
        /// Rounds of those who take part in it and of others, and what they do meanwhile.
        func meanwhile(_ random: inout SeededGenerator) {
            for _ in 0..<random.below(5) {
                switch random.below(6) {
                case 0: steps.append(.sync(machine: owner))
                case 1: steps.append(.sync(machine: other))
                case 2: steps.append(.sync(machine: random.below(machines)))
                case 3:
                    steps.append(
                        .syncBetween(
                            machine: random.below(2) == 0 ? owner : other, publications: random.below(8),
                            other: random.below(2 * machines)))
                default:
                    let machine = [owner, other, random.below(machines)][random.below(3)]
                    steps.append(step(&random, machines, profile, machine))
                }
            }
        }
        func command(_ machine: Int, _ command: SimulationStep.Command) {
            steps.append(.command(machine: machine, root: .library, command))
        }
        switch random.below(5) {
        case 0..<2:
            // Everybody is asked whether it is offered to them, as nobody knows here who is.
            let picked = random.below(1_000)
            command(owner, .offer(share: share, account: account, grant))
            meanwhile(&random)
            if random.below(6) == 0 { command(owner, .withdrawOffer(share: share)) }
            for machine in 0..<machines where random.below(3) > 0 {
                if random.below(2) == 0 { steps.append(.sync(machine: machine)) }
                command(machine, .answerOffer(share: picked, accepts: random.below(6) > 0))
                if random.below(3) == 0 { meanwhile(&random) }
            }
            steps.append(.sync(machine: owner))
        case 2..<4:
            switch random.below(4) {
            case 0: command(owner, .makeLink(share: share, grant, asks: random.below(2) == 0))
            default: command(owner, .open(share: share, grant))
            }
            for _ in 0..<(1 + random.below(4)) {
                meanwhile(&random)
                switch random.below(8) {
                case 0: command(owner, .open(share: share, nil))
                case 1: command(owner, .answerRequest(share: share, account: account, admits: random.below(3) > 0))
                case 2: command(other, .leave(share: random.below(1_000), keepsCopy: random.below(2) == 0))
                default: command(random.below(3) == 0 ? other : random.below(machines), .come(share: random.below(8)))
                }
            }
        default:
            meanwhile(&random)
            command(owner, .retire(device: random.below(1_000)))
        }
        meanwhile(&random)
        return steps
    }
}
