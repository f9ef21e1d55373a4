internal import ShoeboxWorld

/// The one true time of a simulated world; nothing but a test moves it.
public final class SimulatedClock: Sendable {
    private let now: Mutex<UInt64>

    /// A clock that stands at a time until it is advanced.
    public init(milliseconds: UInt64 = 1_700_000_000_000) { now = Mutex(milliseconds) }

    /// Milliseconds since 1970, as a perfect clock would say.
    public var milliseconds: UInt64 { now.withLock { $0 } }

    /// Sets the time, back too: for a world that is put back to what it was.
    func set(milliseconds: UInt64) { now.withLock { $0 = milliseconds } }

    /// Lets time pass.
    public func advance(milliseconds: UInt64) { now.withLock { $0 &+= milliseconds } }
}

/// The clock of one machine: true time, off by a skew that a test may change at any time.
public final class SimulatedMachineClock: Sendable {
    private struct State: Sendable {
        var skewMilliseconds: Int64
        var bootedAt: UInt64
    }

    /// The time that this clock is off from.
    public let trueTime: SimulatedClock
    private let state: Mutex<State>

    /// A clock of a machine that boots now.
    public init(_ trueTime: SimulatedClock, skewMilliseconds: Int64 = 0) {
        self.trueTime = trueTime
        state = Mutex(State(skewMilliseconds: skewMilliseconds, bootedAt: trueTime.milliseconds))
    }

    /// Milliseconds since 1970 as this machine believes; never below 0.
    public var wallMilliseconds: UInt64 {
        let skew = state.withLock { $0.skewMilliseconds }
        let now = trueTime.milliseconds
        return skew < 0 ? now - min(now, skew.magnitude) : now &+ skew.magnitude
    }

    /// Milliseconds since this machine booted; only moves on.
    public var uptimeMilliseconds: UInt64 {
        let booted = state.withLock { $0.bootedAt }
        let now = trueTime.milliseconds
        return now - min(now, booted)
    }

    /// How far the wall clock is ahead of true time; negative when behind.
    public var skewMilliseconds: Int64 { state.withLock { $0.skewMilliseconds } }

    /// Sets the wall clock forward, or back for negative numbers. The uptime does not notice.
    public func step(milliseconds: Int64) {
        state.withLock { $0.skewMilliseconds = $0.skewMilliseconds.addingReportingOverflow(milliseconds).partialValue }
    }

    /// Sets how far the wall clock is ahead of true time.
    public func setSkew(milliseconds: Int64) { state.withLock { $0.skewMilliseconds = milliseconds } }

    /// Starts the uptime from 0.
    public func reboot() {
        let now = trueTime.milliseconds
        state.withLock { $0.bootedAt = now }
    }
}
