import Foundation
import ShoeboxTestSupport
import Testing

/// The whole engine on simulated machines: users act, fate strikes, and after healing nothing is lost, all devices show
/// the same, and what was deleted stays deleted.
///
/// `SHOEBOX_SEEDS=1000 make simulate` runs as many seeds of every profile; `SHOEBOX_FIRST_SEED` says where to begin.
@Suite struct EngineSimulationTests {
    static let first = number("SHOEBOX_FIRST_SEED") ?? 0
    static let seedCount = number("SHOEBOX_SEEDS") ?? 6
    static let seeds = first..<first + seedCount

    private static func number(_ name: String) -> UInt64? {
        ProcessInfo.processInfo.environment[name].flatMap(UInt64.init)
    }

    private func failures(_ seed: UInt64, _ profile: SimulationScript.Profile, steps: Int = 60) -> [String] {
        let setup = EngineSimulationSetup.make()
        let script = SimulationScript(seed: seed, machines: setup.machines.count, steps: steps, profile: profile)
        return Simulation.shrunkFailures(of: script, setup: setup, triesMax: 80)
    }

    @Test(arguments: seeds)
    func `without faults all devices come to show the same, and nothing is lost`(seed: UInt64) {
        #expect(failures(seed, .calm) == [])
    }
}
