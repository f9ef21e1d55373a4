import Foundation
import ShoeboxTestSupport
import Testing

/// Not part of the suite: looks for failing seeds when asked to by the environment.
@Suite struct EngineHunt {
    static let environment = ProcessInfo.processInfo.environment

    @Test(.enabled(if: environment["HUNT"] != nil))
    func `look for failing seeds`() {
        let environment = Self.environment
        let first = UInt64(environment["FIRST"] ?? "0") ?? 0
        let count = UInt64(environment["COUNT"] ?? "10") ?? 10
        let steps = Int(environment["STEPS"] ?? "60") ?? 60
        let names = (environment["HUNT"] ?? "calm").split(separator: ",").map(String.init)
        let shrinkMax = Int(environment["SHRINK"] ?? "0") ?? 0
        for name in names {
            var profile = SimulationScript.Profile.calm
            profile.faultPercent = 15
            switch name {
            case "calm": profile.faultPercent = 0
            case "mid":
                profile.faultPercent = 0
                profile.midRoundPercent = 25
            case "all": profile = SimulationScript.Profile()
            default:
                profile.allowsCrashes = name == "crash"
                profile.allowsUnmounts = name == "unmount"
                profile.allowsStaleness = name == "stale"
                profile.allowsClockSteps = name == "clock"
                profile.allowsLostEvents = name == "events"
                profile.allowsErrors = name == "errors"
                profile.faultPercent = 60
                profile.syncPercent = 25
            }
            var failed: [UInt64] = []
            let start = Date()
            for seed in first..<first + count {
                let setup = EngineSimulationSetup.make()
                let script = SimulationScript(seed: seed, machines: 4, steps: steps, profile: profile)
                var lines = Simulation.failures(of: script, setup: setup)
                guard !lines.isEmpty else { continue }
                failed.append(seed)
                if failed.count <= shrinkMax {
                    lines = Simulation.shrunkFailures(of: script, setup: setup, triesMax: 120)
                }
                print("==== \(name) seed \(seed)")
                for line in lines { print(line.prefix(400)) }
                fflush(nil)
            }
            let seconds = Date().timeIntervalSince(start)
            print("#### \(name): \(failed.count) of \(count) failed: \(failed) in \(Int(seconds)) s")
        }
    }
}
