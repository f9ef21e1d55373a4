public import ShoeboxModel

/// Says when a file that changed can be taken: unchanged for a while, and open for writing nowhere.
///
/// A pure state machine: it is told what was seen and when (milliseconds of a clock that only moves on), and says what
/// to do. One entry for each file that is waited for; bounded by what the caller observes and forgets.
public struct SettleTracker: Sendable {
    /// What to do with a file.
    public enum Verdict: Hashable, Sendable {
        /// Take it now; it is forgotten.
        case settled
        /// Look at it again at this time.
        case lookAgain(atMilliseconds: UInt64)
    }

    private struct Waiting {
        var stamp: FileStamp
        var sinceMilliseconds: UInt64
        var lookAtMilliseconds: UInt64
        /// Looks in a row that found a writer.
        var writerLooks: UInt64
    }

    /// How long a file must be seen unchanged.
    public let settleMilliseconds: UInt64
    /// The longest pause between two looks at a file that somebody has open for writing.
    public static let writerPauseMillisecondsMax: UInt64 = 10_000

    private var waiting: [RelativePath: Waiting] = [:]

    /// A tracker that waits for nothing yet.
    public init(settleMilliseconds: UInt64 = 500) { self.settleMilliseconds = settleMilliseconds }

    /// Takes note of what a file looks like now.
    ///
    /// The first observation starts the wait, each change starts it anew. A file with a writer is never settled, however
    /// long it stays the same: a paused download is no photo.
    public mutating func observe(
        _ path: RelativePath, stamp: FileStamp, nowMilliseconds now: UInt64, hasWriter: Bool
    ) -> Verdict {
        var entry =
            waiting[path]
            ?? Waiting(stamp: stamp, sinceMilliseconds: now, lookAtMilliseconds: now, writerLooks: 0)
        if !entry.stamp.isUnchanged(from: stamp) {
            entry.stamp = stamp
            entry.sinceMilliseconds = now
        }
        if hasWriter {
            entry.sinceMilliseconds = now
            entry.writerLooks = min(entry.writerLooks + 1, 16)
            let pause = min(Self.writerPauseMillisecondsMax, max(1, settleMilliseconds) << (entry.writerLooks - 1))
            entry.lookAtMilliseconds = saturated(now, plus: max(pause, settleMilliseconds))
        } else {
            entry.writerLooks = 0
            let due = saturated(entry.sinceMilliseconds, plus: settleMilliseconds)
            if now >= due {
                waiting[path] = nil
                return .settled
            }
            entry.lookAtMilliseconds = due
        }
        waiting[path] = entry
        return .lookAgain(atMilliseconds: entry.lookAtMilliseconds)
    }

    /// Stops waiting for a file that is gone or ignored.
    public mutating func forget(_ path: RelativePath) { waiting[path] = nil }

    /// Stops waiting for everything at or below a path.
    public mutating func forgetAll(below path: RelativePath) {
        waiting = waiting.filter { !$0.key.isAtOrBelow(path) }
    }

    /// When the next file wants to be looked at; nil if none is waited for.
    public var nextLookMilliseconds: UInt64? { waiting.values.map(\.lookAtMilliseconds).min() }

    /// The files that want to be looked at by now, sorted.
    public func due(atMilliseconds now: UInt64) -> [RelativePath] {
        waiting.filter { $0.value.lookAtMilliseconds <= now }.keys.sorted()
    }

    /// How many files are waited for.
    public var count: Int { waiting.count }
    /// Whether a file is waited for.
    public func isWaiting(for path: RelativePath) -> Bool { waiting[path] != nil }

    private func saturated(_ time: UInt64, plus pause: UInt64) -> UInt64 {
        let (sum, overflow) = time.addingReportingOverflow(pause)
        return overflow ? .max : sum
    }
}
