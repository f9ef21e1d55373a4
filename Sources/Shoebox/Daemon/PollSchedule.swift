/// When the container is asked for news: often while there are some, ever less often when not, and later still while
/// it cannot be reached.
struct PollSchedule: Sendable {
    private let activeMilliseconds: UInt64
    private let idleMilliseconds: UInt64
    /// Quiet polls before it gets slower: half a minute at the default pace.
    private static let patience = 30
    private var interval: UInt64
    private var quietPolls = 0
    private var quickRounds = 0
    /// Hints in a row that led to nothing, and when the last one was followed.
    private var emptyHints = 0
    private var hintFollowed: UInt64 = 0
    /// When to ask next (uptime, milliseconds).
    private(set) var nextPoll: UInt64
    /// From when on the next hint that something was written in the container is followed (uptime, milliseconds).
    private(set) var hintsFrom: UInt64 = 0
    /// Whether the container could not be reached the last time.
    private(set) var isOffline = false

    /// A schedule that asks at once.
    init(_ poll: Configuration.PollMilliseconds, now: UInt64) {
        activeMilliseconds = UInt64(clamping: max(20, poll.active))
        idleMilliseconds = UInt64(clamping: max(poll.active, poll.idle))
        interval = activeMilliseconds
        nextPoll = now
    }

    /// Notes what a round came to.
    ///
    /// - Parameters:
    ///   - reached: whether the round tried to reach the container.
    ///   - tookMilliseconds: how long the round took; a mount that hangs is asked less often, though not so
    ///     rarely that its return goes unnoticed: while a call on it hangs, asking costs nothing.
    mutating func note(didSomething: Bool, isOffline: Bool, reached: Bool, tookMilliseconds: UInt64, now: UInt64) {
        if reached, isOffline {
            interval = self.isOffline ? min(idleMilliseconds, interval &* 2) : activeMilliseconds
            self.isOffline = true
            nextPoll = now + max(interval, min(idleMilliseconds, tookMilliseconds))
            return
        }
        if reached { self.isOffline = false }
        if didSomething {
            (emptyHints, hintsFrom) = (0, 0)
            quietPolls = 0
            interval = activeMilliseconds
            quickRounds += 1
            // Another round at once, as one step makes the next possible; in the end something must come to rest.
            guard !self.isOffline else { return }
            nextPoll = quickRounds <= 50 ? now : now + activeMilliseconds
            return
        }
        quickRounds = 0
        guard reached else { return }
        quietPolls += 1
        if quietPolls > Self.patience { interval = min(idleMilliseconds, interval &* 2) }
        nextPoll = now + interval
    }

    /// Notes what a round came to that a hint had led to. Own writing gives hints, too: what fails and is tried again with each
    /// would else go on without a pause.
    ///
    /// - Parameter tookMilliseconds: how long the round took; no more than half of the time goes into such.
    mutating func noteHint(didSomething: Bool, tookMilliseconds: UInt64, now: UInt64) {
        emptyHints = didSomething || now > hintFollowed + tookMilliseconds + 5_000 ? 0 : emptyHints + 1
        hintFollowed = now
        let pause = max(
            min(activeMilliseconds, 10 << UInt64(min(emptyHints, 16))), min(idleMilliseconds, tookMilliseconds))
        hintsFrom = emptyHints == 0 ? now : now + pause
    }
}
