extension SimulationScript {
    /// The script with one to six changes that a seed decides: steps that come in, go, come twice, change places, or happen
    /// on another machine. What failed once is near what fails next.
    ///
    /// - Parameter profile: how likely things are among the steps that come in.
    public func varied(by seed: UInt64, machines: Int, profile: Profile) -> SimulationScript {
        var random = SeededGenerator(seed: seed, part: "variation")
        var result = self
        for _ in 0...random.below(6) {
            let place = random.below(result.steps.count + 1)
            let other = random.below(max(1, result.steps.count))
            switch random.below(10) {
            case 0..<4: result.steps.insert(Self.step(&random, machines, profile), at: place)
            case 4, 5: result.steps.insert(.sync(machine: random.below(machines)), at: place)
            case 6 where result.steps.indices.contains(place): result.steps.remove(at: place)
            case 7 where result.steps.indices.contains(place):
                result.steps[place] = result.steps[place].on(random.below(machines))
            case 8 where result.steps.indices.contains(place): result.steps.swapAt(place, other)
            case 9 where result.steps.indices.contains(other): result.steps.insert(result.steps[other], at: place)
            default: continue
            }
        }
        return result
    }
}

extension SimulationStep {
    /// The step on another machine; what happens on none stays as it is.
    func on(_ machine: Int) -> SimulationStep {
        switch self {
        case .user(_, let root, let act): .user(machine: machine, root: root, act)
        case .userDuring(_, let calls, let root, let act):
            .userDuring(machine: machine, afterCalls: calls, root: root, act)
        case .userBefore(_, let changes, let root, let act):
            .userBefore(machine: machine, afterChanges: changes, root: root, act)
        case .fault(_, let fault): .fault(machine: machine, fault)
        case .sync: .sync(machine: machine)
        case .syncDuring(_, let calls, let other): .syncDuring(machine: machine, afterCalls: calls, other: other)
        case .syncBetween(_, let publications, let other):
            .syncBetween(machine: machine, publications: publications, other: other)
        case .command(_, let root, let command): .command(machine: machine, root: root, command)
        case .pass, .serverCrash, .backUpStorage, .restoreStorage, .spoilStorage, .storageRoom: self
        }
    }
}
