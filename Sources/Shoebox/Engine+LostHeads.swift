import ShoeboxCloud
import ShoeboxModel
import ShoeboxStore
import ShoeboxWorld

// Heads that do not show any more what was read of them. The own ones are mended (`checkOwnHead`); of others' it is said, as
// who comes now would learn nothing of what that device published.

extension Engine {
    /// A head that shows less than was read of it.
    struct LostHead: Hashable {
        /// When it is said (uptime).
        var due: UInt64
        /// When it was read last (uptime).
        var readAt: UInt64
    }

    /// How often a head is read for which it was said, milliseconds: each time from its start, with all signatures.
    private var lostHeadMilliseconds: UInt64 { 10_000 }

    /// Whether a head that has been lost for long was just read.
    func isLostAndJustRead(_ chain: ChainKey, now: UInt64) -> Bool {
        guard let lost = lostHeads[chain] else { return false }
        return now >= lost.due && now < lost.readAt + lostHeadMilliseconds
    }

    /// Notes that a head has nothing any more of what was read of it before, or takes that back.
    ///
    /// Some mounts show an older file for a while: where this process has read it before, that is waited for.
    func noteLost(
        _ reading: HeadReading, from cursor: HeadCursor, of peer: PeerRow, before stored: HeadCursor, in id: ZoneID
    ) throws {
        let chain = ChainKey(zone: id, replica: peer.replica)
        guard reading.isReplaced || cursor.offset == 0, stored.offset > 0, reading.seen?.serial ?? 0 < stored.serial,
            let zone = zones[id], let account = peer.account, zone.control.knows(account),
            // What another one has published again is that one's.
            try store.read({ db in
                try db.hasPublished(in: id, by: peer.replica, after: reading.seen?.last.sequence ?? 0)
            })
        else { return try noteFound(chain) }
        let now = world.uptimeMilliseconds()
        let due = lostHeads[chain]?.due ?? (reading.isReplaced ? now + unseenMilliseconds : now)
        lostHeads[chain] = LostHead(due: due, readAt: now)
        let problem = Problem(
            code: "headLost", path: "zones/\(id)/heads/\(peer.replica)", zone: id,
            message:
                "What \(label(of: account)) published in \(zone.row.kind == .privateZone ? "the private zone" : "'\(zone.control.title)'") is not named any more in the cloud folder: the file that does was damaged, or put back to a backup.",
            remedy:
                "What was read here is kept. That device names it again when it runs; if it does not, the owner's device does, after a day. Until then, people who are new in the share do not get it."
        )
        guard now >= due, !openProblems.contains(problem.key) else { return }
        try report(problem) { _ in }
    }

    /// Takes back that a head is lost.
    func noteFound(_ chain: ChainKey) throws {
        lostHeads[chain] = nil
        try clearProblems("headLost", in: chain.zone, below: "/heads/\(chain.replica)")
    }
}
