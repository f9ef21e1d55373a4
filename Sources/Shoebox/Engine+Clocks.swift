import ShoeboxCloud
import ShoeboxModel
import ShoeboxStore
import ShoeboxWorld

/// Names devices whose clock is far from this one's: their edits win, or lose, against what others write at the same time.
/// Nothing is held back for it.
extension Engine {
    /// As far as the clock of a received change may move the own one.
    private static let toleranceMilliseconds: UInt64 = 600_000

    /// When a zone's heads were last read, by both clocks.
    struct HeadsRead: Hashable {
        var uptime: UInt64
        var wall: UInt64
        /// Whether each of them could be read.
        var isWhole: Bool
        /// Whether there are some of which nothing is known yet, as nothing whole could be found in them.
        var hasUnknown: Bool
    }

    /// For how long something is waited for, milliseconds of the machine's running time; 0 if this is the first time. Each process
    /// goes on with what the one before it has noted: one that is started now and then would never wait long enough.
    ///
    /// - Parameters:
    ///   - key: where that is stored.
    ///   - subject: what is waited for; for anything else the time begins anew, as it does with each start of the machine.
    func waited(_ key: String, for subject: String) throws -> UInt64 {
        let now = world.uptimeMilliseconds()
        let start = "\(world.bootID) \(subject) "
        if let noted = try store.read({ db in try db.metaText(key) }), noted.hasPrefix(start),
            let since = UInt64(noted.dropFirst(start.count)), since <= now
        {
            return now - since
        }
        try store.write { db in try db.setMetaText(key, start + "\(now)") }
        return 0
    }

    /// Compares the time that a head says it was written with this clock.
    ///
    /// One that lies ahead can't have been written then. One that lies behind may have been, a while ago; but not if it was
    /// not there when the heads were read a moment before.
    ///
    /// - Parameters:
    ///   - isNews: whether an older record of this head was read before.
    ///   - last: when the heads of the zone were read before, by this process.
    func noteClock(of head: HeadRecord, isNews: Bool, last: HeadsRead?) throws {
        guard head.replica != replica, head.content.wallMilliseconds > 0 else { return }
        let now = world.nowMilliseconds()
        let said = head.content.wallMilliseconds
        let device = directory.cached(head.account)?.devices[head.device]?.label ?? ""
        let path = "\(label(of: head.account))\(device.isEmpty ? "" : " (\(device))")"
        let isRecent = last.map {
            world.uptimeMilliseconds() < $0.uptime + 60_000 && now >= $0.wall && now < $0.wall + 120_000
        }
        let isAhead = said > now && said - now > Self.toleranceMilliseconds
        let isBehind = isNews && isRecent == true && now > said && now - said > 2 * Self.toleranceMilliseconds
        guard isAhead || isBehind else {
            if isNews { try clearProblem("clock", path: path) }
            return
        }
        let distance = Self.text(isAhead ? said - now : now - said)
        try report(
            "clock", path: path,
            "The clock of that device is \(distance) \(isAhead ? "ahead of" : "behind") this one's.",
            "Set the clock that is wrong. Nothing is lost by it; where two people write one thing at once, the later time is what shows."
        )
    }

    private static func text(_ milliseconds: UInt64) -> String {
        let minutes = milliseconds / 60_000
        if minutes < 120 { return "\(minutes) minutes" }
        return minutes < 2 * 1_440 ? "\(minutes / 60) hours" : "\(minutes / 1_440) days"
    }
}
