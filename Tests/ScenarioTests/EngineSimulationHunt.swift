import Foundation
import ShoeboxModel
import ShoeboxStore
import ShoeboxTestSupport
import Testing

@testable import Shoebox

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
                if environment["TRACE"] != nil { trace(script, setup) }
                fflush(nil)
            }
            let seconds = Date().timeIntervalSince(start)
            print("#### \(name): \(failed.count) of \(count) failed: \(failed) in \(Int(seconds)) s")
        }
    }

    private func trace(_ script: SimulationScript, _ setup: SimulationSetup) {
        do {
            let simulation = try Simulation(seed: script.seed, setup: setup)
            let engines = simulation.replicas.compactMap { ($0 as? EngineReplica)?.replica }
            var lines = engines.map(\.logLines.count)
            func logs() {
                for (index, engine) in engines.enumerated() {
                    var seen: Set<String> = []
                    for line in engine.logLines[lines[index]...] where seen.insert(line).inserted {
                        print("        \(engine.machine.name): \(line)")
                    }
                    lines[index] = engine.logLines.count
                }
            }
            for (number, step) in script.steps.enumerated() {
                let before = simulation.ledger.entries.count
                simulation.run([step])
                print(
                    "\(number): \("\(step)".split(separator: "ShoeboxTestSupport.").joined().split(separator: "SimulationStep.").joined())"
                )
                for entry in simulation.ledger.entries[before...] { print("    wrote \(entry)") }
                logs()
                if case .user(let machine, let root, _) = step {
                    let disk =
                        root == .library ? simulation.machine(machine).library : simulation.machine(machine).shared
                    print("    \(disk.tree(without: ".shoebox").keys.sorted())")
                }
            }
            print("healing")
            simulation.heal()
            logs()
            print("checking")
            simulation.check()
            print(simulation.failures)
            logs()
            for engine in engines {
                simulation.world.clock.advance(milliseconds: 15_000)
                print(try engine.round(), engine.engine.later, engine.engine.missing, engine.engine.unsettled)
                print("\(engine.machine.name) quiet \(engine.isQuiet) problems \(engine.problems.map(\.message))")
                for root in [engine.machine.library, engine.machine.shared] {
                    print("    \(root.tree().keys.sorted())")
                }
                try engine.store.read { db in
                    print(
                        "    pending \(try db.pendingCount()) dirty \(try db.dirtyCount()) missing \(try db.missingSegments())"
                    )
                    for zone in try db.zones() {
                        for row in try db.dirtyRecords(in: [zone.id], limit: 20) {
                            print(
                                "    dirty \(row.type) \(row.id.name) \(row.name?.description ?? "") live \(row.isLive)"
                            )
                        }
                        for change in try db.pendingChanges(in: zone.id, limit: 20) {
                            print("    pending \(change.change)")
                        }
                    }
                }
            }
        } catch { print(error) }
    }
}
