import ShoeboxModel
import ShoeboxPlanning
import ShoeboxTestSupport
import Testing

/// One tree changed twice, on the disk and in the records, then planned and applied until nothing is left to do; after
/// Dropbox's CanopyCheck ("Rewriting the heart of our sync engine", 2020).
@Suite struct ConvergenceTests {
    /// One thing somebody does, decided by its own seed so that a script stays itself when others are left out.
    struct Step: Sendable, CustomStringConvertible {
        var isLocal: Bool
        var seed: UInt64
        var description: String { "\(isLocal ? "local" : "remote") \(seed)" }
    }

    @Test(arguments: 0..<1000 as Range<UInt64>)
    func `disk and records become one and nothing is lost`(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        let script = (0..<24).map { _ in Step(isLocal: generator.chance(50), seed: generator.next()) }
        guard let problem = problem(script, seed: seed) else { return }
        let smallest = shrink(script) { self.problem($0, seed: seed) != nil }
        Issue.record("\(problem); \(self.problem(smallest, seed: seed) ?? "") after \(smallest)")
    }

    private func problem(_ script: [Step], seed: UInt64) -> String? {
        var world = World()
        var generator = SeededGenerator(seed: seed)
        for _ in 0..<12 { world.perturbLocally(&generator) }
        _ = world.scan()
        if let problem = settle(&world, &generator, isShuffled: false) { return "at first: " + problem }
        for step in script {
            var own = SeededGenerator(seed: step.seed)
            if step.isLocal { world.perturbLocally(&own) } else { world.perturbRemotely(&own) }
        }
        return settle(&world, &generator, isShuffled: seed % 2 == 1)
    }

    private func settle(_ world: inout World, _ generator: inout SeededGenerator, isShuffled: Bool) -> String? {
        for round in 0..<14 {
            let changes = world.scan()
            var operations = world.planToApply()
            if changes == 0, operations.isEmpty { return difference(world) }
            // Late rounds keep the order: a shuffled plan may for ever begin with its last step.
            if isShuffled, round < 4 { operations.shuffle(using: &generator) }
            for operation in operations {
                if !world.execute(operation), !isShuffled { return "\(operation) failed, of \(operations)" }
            }
        }
        return "never ends: \(world.planToApply())"
    }

    private func difference(_ world: World) -> String? {
        let layout = world.layout
        let all = paths(of: layout, roots: [top: .root])
        var expected: [String: Digest32?] = [:]
        for node in layout.nodes.values { expected[all[node.id]?.description ?? "?"] = node.contentHash }
        var actual: [String: Digest32?] = [:]
        for (path, node) in world.disk.visible {
            actual[path.description] = node.kind == .file ? digest(node.content) : Digest32?.none
        }
        if expected != actual { return "the disk shows \(actual.keys.sorted()), the records \(expected.keys.sorted())" }
        if !world.parked.isEmpty { return "left parked: \(world.parked)" }
        let kept = world.disk.contents.union(world.disk.trash).union(world.given)
        let lost = world.everything.subtracting(kept)
        return lost.isEmpty ? nil : "lost \(lost.sorted())"
    }
}
