/// When a mount is tried again on which calls hang, each in a helper of its own.
///
/// A new helper makes the call half a minute after the last one overstayed. On some mounts no signal ends a call, and one of a
/// mount that was made anew in the same place never returns: once as many hang as may, the oldest is given up for each further
/// try, less and less often, so that helpers don't add up.
struct MountPatience {
    /// How many helpers may hang at once.
    static let hangingMax = 3
    private static let probeSeconds = 30.0
    private static let retrySeconds = 300.0
    private static let retrySecondsMax = 21_600.0

    private var overstayedAt = 0.0
    /// How many helpers were given up since the last answer.
    private var givenUp = 0

    /// Notes that a call overstayed; `now` in seconds since the machine started.
    mutating func overstayed(at now: Double) { overstayedAt = now }

    /// Notes that a call came back in time.
    mutating func answered() { givenUp = 0 }

    /// Whether another helper may try it.
    ///
    /// - Parameter hanging: how many helpers hang, at least one.
    func isDue(at now: Double, hanging: Int) -> Bool {
        now - overstayedAt >= pauseSeconds(hanging: hanging)
    }

    /// Whether the oldest helper is to be given up to make room for the one that tries; it counts as done then.
    mutating func givesUpOldest(hanging: Int) -> Bool {
        guard hanging >= Self.hangingMax else { return false }
        givenUp += 1
        return true
    }

    private func pauseSeconds(hanging: Int) -> Double {
        guard hanging >= Self.hangingMax else { return Self.probeSeconds }
        return (0..<givenUp).reduce(Self.retrySeconds) { pause, _ in min(2 * pause, Self.retrySecondsMax) }
    }
}
