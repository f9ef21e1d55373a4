import Glibc
import ShoeboxModel
import ShoeboxStore
import ShoeboxWorld

/// Runs the engine in a command, by rounds, until there is nothing more to do. Whoever uses it holds the lock.
struct Synchronizer {
    let engine: Engine
    let activity: Activity

    /// Pushes what a command did, fetches what is there, and brings the folders up to date. Does not wait for files
    /// that are being written.
    func finishRequest() throws {
        // What is missing is looked for by who looks at everything.
        engine.coverage = .passing
        activity.update { $0.isBusy = true }
        // Each round moves something on; a bound all the same, so that a command always ends.
        for _ in 0..<100 {
            let outcome = try engine.round(.directories([:]))
            note(outcome, isScan: false)
            if !outcome.didSomething || outcome.isContainerOffline { break }
        }
        // What another one left unfinished needs a look at everything.
        activity.update { $0.isBusy = activity.wasBusy }
    }

    /// How long a look at something is waited for while nothing else moves: longer than deletions and equal names wait.
    static let waitMilliseconds: UInt64 = 180_000

    /// Looks at both folders as a whole, then goes on until nothing is left, or nothing moves any more for
    /// `patienceMilliseconds` although something is pending.
    func run(patienceMilliseconds: UInt64 = 20_000) throws {
        engine.coverage = .looking
        activity.update { $0.isBusy = true }
        var extent = Engine.ScanExtent.all
        var movedAt = engine.world.uptimeMilliseconds()
        // What is only waited for, such as something in the way of a file, is not waited for for ever.
        var progressAt = movedAt
        var pauseMilliseconds: UInt64 = 50
        while true {
            let startedAt = engine.world.uptimeMilliseconds()
            let isScan = if case .all = extent { true } else { false }
            let outcome = try engine.round(extent)
            if isScan { activity.update { $0.scannedAt = startedAt } }
            note(outcome, isScan: isScan)
            extent = .directories([:])
            let now = engine.world.uptimeMilliseconds()
            if outcome.didSomething {
                (movedAt, progressAt) = (now, now)
                pauseMilliseconds = 50
                if !outcome.isContainerOffline { continue }
            }
            if let again = outcome.lookAgain, now - progressAt < Self.waitMilliseconds {
                // The limit holds also where the look is due long after it.
                let due = min(max(again, now + 20), progressAt + Self.waitMilliseconds)
                pause(until: due)
                movedAt = max(movedAt, due)
                continue
            }
            if outcome.isContainerOffline { break }
            let pending = try engine.store.read { db in try PendingCounts(db, replica: engine.replica) }
            guard !pending.isNothing, now < movedAt + patienceMilliseconds else { break }
            pause(until: now + pauseMilliseconds)
            pauseMilliseconds = min(1_000, pauseMilliseconds * 2)
        }
        activity.update { $0.isBusy = false }
    }

    private func note(_ outcome: RoundOutcome, isScan: Bool) {
        activity.update { record in
            record.isSettling = outcome.lookAgain != nil
            record.containerAsOf = max(record.containerAsOf, engine.containerReadMilliseconds)
            if isScan { record.asOf = engine.world.nowMilliseconds() }
        }
    }

    private func pause(until uptime: UInt64) {
        let now = engine.world.uptimeMilliseconds()
        guard uptime > now else { return }
        _ = poll(nil, 0, Int32(clamping: uptime - now))
    }
}
