import Foundation
import ShoeboxTestSupport
import Testing

/// What one person does on one device, whatever the others' devices see of it in between, ends as it was done.
@Suite struct SingleActorTests {
    private static let environment = ProcessInfo.processInfo.environment

    /// `SHOEBOX_ACTOR_SEEDS=FIRST+COUNT` runs others.
    private static var seeds: [UInt64] {
        let asked = (environment["SHOEBOX_ACTOR_SEEDS"] ?? "").split(separator: "+").compactMap { UInt64($0) }
        return asked.count == 2 ? Array(asked[0]..<asked[0] + asked[1]) : Array(0..<40) + kept
    }

    /// Seeds that failed: a folder that another device brought home from a stopped share while it was moved to another
    /// share; swaps of which somebody saw one half; a photo taken out by its name, under which another one lay by then.
    private static let kept: [UInt64] = [646, 848, 2020, 2044, 2072, 2172, 2290]

    @Test(arguments: seeds)
    func `all devices show what the one person's disk showed last, and others what is shared of it`(seed: UInt64) {
        let script = ActorScript(seed: seed)
        guard let first = script.problem() else { return }
        let steps = shrink(script.steps, triesMax: 60) { ActorScript(seed: seed, steps: $0).problem() != nil }
        let shrunk = ActorScript(seed: seed, steps: steps)
        let narrates = Self.environment["SHOEBOX_NARRATE"] != nil
        Issue.record("\(first); shrunk \(shrunk): \(shrunk.problem(narrates: narrates) ?? "passes now")")
    }
}
