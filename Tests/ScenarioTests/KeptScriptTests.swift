import ShoeboxTestSupport
import ShoeboxWorld
import Testing

/// Scripts of seeds that failed once, shrunk. Seeds themselves make other scripts whenever the simulation learns a step.
@Suite struct KeptScriptTests {
    @Test(arguments: KeptScript.all)
    func `a script that failed passes`(kept: KeptScript) {
        let run = EngineRun(
            script: kept.script, isVillage: kept.isVillage, segmentChangesMax: kept.segmentChangesMax)
        #expect(run.failures == [])
    }
}

/// A script, and what it is about.
struct KeptScript: Sendable, CustomTestStringConvertible {
    /// What must hold.
    var story: String
    /// Its steps.
    var script: SimulationScript
    /// Whether it is played in a village, see `EngineSimulationSetup`.
    var isVillage = true
    /// The most changes in a segment, see `EngineRun`.
    var segmentChangesMax: Int?

    var testDescription: String { story }

    init(
        _ story: String, isVillage: Bool = true, segmentChangesMax: Int? = nil, seed: UInt64, _ steps: [SimulationStep]
    ) {
        self.story = story
        self.isVillage = isVillage
        self.segmentChangesMax = segmentChangesMax
        script = SimulationScript(seed: seed, steps: steps)
    }

    /// All of them.
    static var all: [KeptScript] { putBack + folders + shares + handing + crossings + raced }
}
