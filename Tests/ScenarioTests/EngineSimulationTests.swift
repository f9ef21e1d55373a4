import Foundation
import ShoeboxStore
import ShoeboxTestSupport
import Testing

/// The whole engine on simulated machines: users act, people share, fate strikes, and after healing nothing is lost, all
/// devices show the same, nobody has what is not theirs, and what was deleted stays deleted.
///
/// CONTRIBUTING.md says how to run more seeds, and how to repeat one.
@Suite struct EngineSimulationTests {
    static let environment = ProcessInfo.processInfo.environment

    private func number(_ name: String) -> UInt64? { Self.environment[name].flatMap(UInt64.init) }

    @Test(arguments: EngineWeather.duets, 0..<3 as Range<UInt64>)
    func `nothing is lost, all devices show the same, and what is deleted stays so`(
        weather: EngineWeather, seed: UInt64
    ) {
        #expect(weather.run(seed).shrunkFailures(triesMax: 60) == [])
    }

    @Test(
        arguments: [.sharing, .watching, .mounts, .absence, .moves, .everything] as [EngineWeather],
        [0, 2, 3] as [UInt64])
    func `whatever people share, nobody loses anything or gets what is not theirs`(
        weather: EngineWeather, seed: UInt64
    ) {
        #expect(weather.run(seed).shrunkFailures(triesMax: 60) == [])
    }

    @Test func `chains are folded while all of this goes on`() throws {
        var folded: [String: UInt64] = [:]
        var setup = EngineSimulationSetup.make()
        setup.check = { simulation in
            for case let replica as EngineReplica in simulation.replicas {
                let store = replica.replica.store
                let floors = try? store.read { db in try db.zones().map { try db.snapshot(of: $0.id).floor } }
                folded[replica.machine.name] = max(folded[replica.machine.name] ?? 0, floors?.max() ?? 0)
            }
            return []
        }
        for seed in 0..<3 as Range<UInt64> {
            #expect(Simulation.failures(of: EngineWeather.calm.run(seed).script, setup: setup) == [])
        }
        #expect(folded.values.contains { $0 > 1 }, "\(folded)")
    }

    /// Seeds that failed once, and why.
    @Test(
        arguments: [
            (EngineWeather.calm, 8),  // two moves between zones in opposite directions waited for each other
            (.calm, 100),  // the folder of an own share was replaced by a file: what was in it had no sidecars again
            (.calm, 109),
            (.crashes, 5),  // an asset's name was taken by an upload that a crash cut off
            (.errors, 3),  // a sidecar did not fit on a full disk, and was not written later
            (.midRound, 6),  // as calm 100
            (.unmounts, 2),  // a folder took the place of an unpublished photo: its deletion was forgotten
            (.storms, 222),  // a rename from another device took over the stamp of an edit that was not yet seen
            (.storms, 238),  // a sidecar whose reading failed once became a photo
            (.storms, 405),  // a share's folder was not listed for a while: the offer to leave stayed
            (.storms, 425),  // a folder was moved out of a shared one: a parked file lost its way
            (.restores, 1_100_035),  // what went along with a moved folder was taken for gone
            (.mounts, 1_200_095),  // a photo was put in place by a rename that failed: its deletion was forgotten
            (.storms, 1_200_025),  // a listing ended early, without a word: a photo counted as deleted
            (.errors, 2_000_098),  // a deletion in a renamed share folder, which then went as a whole: all comes back
        ] as [(EngineWeather, UInt64)])
    func `a seed that failed passes`(weather: EngineWeather, seed: UInt64) {
        #expect(weather.run(seed).failures == [])
    }

    @Test(.enabled(if: environment["SHOEBOX_SEEDS"] != nil))
    func `as many seeds as asked for pass`() async throws {
        let named = (Self.environment["SHOEBOX_WEATHER"] ?? "everything").split(separator: ",")
        let weathers =
            named.first == "all"
            ? EngineWeather.allCases
            : try named.map { name in
                try #require(EngineWeather(rawValue: String(name)), "the weathers are \(EngineWeather.allCases)")
            }
        let first = number("SHOEBOX_FIRST_SEED") ?? 1_000
        let count = number("SHOEBOX_SEEDS") ?? 0
        let failuresMax = Int(number("SHOEBOX_FAILURES") ?? 1)
        for weather in weathers {
            let failed = await failing(weather, first..<first + count, failuresMax: failuresMax)
            for seed in failed {
                print("seed \(seed) of \(weather) fails:")
                let tries = Int(number("SHOEBOX_TRIES") ?? 300)
                let narrates = Self.environment["SHOEBOX_NARRATE"] != nil
                for line in weather.run(seed).shrunkFailures(triesMax: tries, narrates: narrates) {
                    print("    \(line)")
                }
            }
            #expect(failed == [])
        }
    }

    /// Runs seeds on all cores, each by itself, until so many failed, and says so now and then. Returns those that failed.
    private func failing(_ weather: EngineWeather, _ seeds: Range<UInt64>, failuresMax: Int) async -> [UInt64] {
        let start = ContinuousClock.now
        let jobs = Int(number("SHOEBOX_JOBS") ?? UInt64(ProcessInfo.processInfo.activeProcessorCount))
        return await withTaskGroup(of: (seed: UInt64, failures: [String]).self) { group in
            var waiting = seeds.makeIterator()
            func begin() {
                guard let seed = waiting.next() else { return }
                group.addTask { (seed, weather.run(seed).failures) }
            }
            for _ in 0..<max(1, jobs) { begin() }
            var failed: [UInt64] = []
            var done: UInt64 = 0
            while let result = await group.next() {
                done += 1
                if !result.failures.isEmpty {
                    failed = (failed + [result.seed]).sorted()
                    print("seed \(result.seed) of \(weather): \(result.failures[0])")
                }
                if failed.count < failuresMax { begin() }
                if done % 100 == 0 { say(weather, done, since: start, failed) }
            }
            say(weather, done, since: start, failed)
            return failed
        }
    }

    private func say(_ weather: EngineWeather, _ done: UInt64, since start: ContinuousClock.Instant, _ failed: [UInt64])
    {
        let tenths = Int(Double(done) / max((ContinuousClock.now - start) / .seconds(1), 0.001) * 10)
        print("\(done) seeds of \(weather), \(tenths / 10).\(tenths % 10) a second, failed: \(failed)")
        fflush(nil)
    }

    /// Every call with its arguments and what came of it, and every byte in the container. Only with hashing that is the
    /// same in every process, as `make test` and `make simulate` have it: else collections without an order are gone
    /// through in another one each time.
    @Test(
        .enabled(if: environment["SWIFT_DETERMINISTIC_HASHING"] != nil, "set SWIFT_DETERMINISTIC_HASHING=1"),
        arguments: [.storms, .sharing, .everything] as [EngineWeather], [1] as [UInt64])
    func `the same seed gives the same run, to the last byte in the container`(
        weather: EngineWeather, seed: UInt64
    ) throws {
        let (first, second) = (try weather.run(seed).trace(), try weather.run(seed).trace())
        let difference = zip(first, second).enumerated().first { $0.element.0 != $0.element.1 }
        #expect(difference == nil && first.count == second.count, "\(difference.map { "\($0)" } ?? "")")
        #expect(first.count > 1_000)
    }
}
