import ShoeboxCloud
import ShoeboxModel
import ShoeboxStore
import ShoeboxWorld

// Segments that a head names and that are not in the container, or are damaged there. Who wrote them is asked for them by the own
// head. Where that device never comes again, one of the zone's owner publishes what it has read of them, and says so.

extension Engine {
    /// Names a segment that a head names and that does not come, once a slow mount can't be the cause.
    func noteWaiting(for chain: ChainKey, _ error: CloudError?) throws {
        let prefix = "\(logPath(chain.replica, chain.zone))/"
        guard let error else {
            try clearProblems("segmentMissing", in: chain.zone, below: prefix)
            givenUpChains.remove(chain)
            try want(chain, false)
            return
        }
        guard try isOverdue(chain), error.path.hasPrefix(prefix) else { return }
        try want(chain, true)
        try report(
            "segmentMissing", path: error.path, zone: chain.zone,
            "A file of '\(zones[chain.zone]?.control.title ?? "")' that should be in the cloud folder is not there: \(error.message)",
            givenUpChains.contains(chain)
                ? goneRemedy
                : "The device that wrote it is asked to publish it again, and it is taken as soon as it is there; everything else goes on. If that device is gone for good, put the file back from a backup, or let a device of the owner run 'shoebox verify --repair'."
        )
    }

    /// Asks for a segment whose bytes are not what they must be, once a mount that shows half of it can't be the cause.
    func noteDamaged(_ chain: ChainKey) throws {
        if try isOverdue(chain) { try want(chain, true) }
    }

    /// What to do about a segment whose writer takes no part any more.
    private var goneRemedy: String {
        "Who wrote it takes no part any more, and keeps what was not taken here as a private copy. If another device of the owner has read it, it comes from there; nothing waits for it."
    }

    /// Whether a segment has been waited for longer than a mount may show an old state. If its writer will not publish it again,
    /// it is not pending any longer; should it come all the same, it is taken. In a share that has stopped no writer need: another
    /// device of the owner that has brought home what it had written there is done with the share.
    func isOverdue(_ chain: ChainKey) throws -> Bool {
        let known = try store.read { db in try db.peers(of: chain.zone) }.first { $0.replica == chain.replica }
        let position = known?.applied.sequence ?? 0
        guard try waited("overdue.\(chain.zone).\(chain.replica)", for: "\(position)") >= unseenMilliseconds else {
            return false
        }
        guard let zone = zones[chain.zone], var peer = known,
            try zone.control.isStopped || store.read({ db in try isGone(peer, in: zone, db) })
        else {
            givenUpChains.remove(chain)
            return true
        }
        guard givenUpChains.insert(chain).inserted || peer.head != peer.applied else { return true }
        peer.head = peer.applied
        try store.write { db in try db.setPeer(peer, in: chain.zone) }
        log("nothing of \(chain.replica) in '\(zone.control.title)' is waited for after \(peer.applied.sequence)")
        return true
    }

    /// Passes over segments that can't be read, up to where a device of the zone's owner has published in its own chain what
    /// counts of them, if all of that was read here. False if there are none.
    ///
    /// - Parameters:
    ///   - peer: the replica whose chain can't be read on.
    ///   - head: the newest head of that replica.
    func takeCarried(_ peer: inout PeerRow, head: HeadRecord, zone: ZoneInfo) throws -> Bool {
        let subject = peer.replica
        let owners = (knownHeads[zone.id] ?? [:]).values.filter {
            $0.account == zone.control.owner && $0.replica != replica && !isHeld($0, in: zone)
        }
        guard subject != replica, !owners.isEmpty else { return false }
        let applied = Dictionary(
            try store.read { db in try db.peers(of: zone.id) }.map { ($0.replica, $0.applied.sequence) },
            uniquingKeysWith: { first, _ in first })
        let carried = owners.filter { applied[$0.replica] ?? 0 >= $0.last.sequence }
            .compactMap { $0.content.carried[subject] }
            .filter { $0.sequence > peer.applied.sequence && $0.sequence <= head.last.sequence }
        guard let last = carried.max(by: { $0.sequence < $1.sequence }) else { return false }
        peer.applied = last
        let row = peer
        try store.write { db in
            try db.setPosition(last, of: subject, in: zone.id)
            try db.setPeer(row, in: zone.id)
        }
        try noteWaiting(for: ChainKey(zone: zone.id, replica: subject), nil)
        log("of \(subject) in '\(zone.control.title)' the owner has published what counts up to \(last.sequence)")
        return true
    }
}
