import ShoeboxCloud
import ShoeboxModel
import ShoeboxStore
import ShoeboxWorld

/// A replica of which somebody has seen more than is to be seen here.
struct UnseenPart {
    /// Since when (uptime).
    var since: UInt64
    /// What was seen.
    var position: Position
}

/// A chain in a zone.
struct ChainKey: Hashable {
    var zone: ZoneID
    var replica: ReplicaID
}

extension Engine {
    /// How long a mount may show an old state before that is named, milliseconds: the slowest of those measured takes 75 s.
    var unseenMilliseconds: UInt64 { 120_000 }

    /// Compares what the others have applied, by their heads, with what was applied here. Nobody but its replica can make two
    /// segments of one number; if it shows one to some and another to others, each of them sees a whole chain, and only
    /// their vectors tell. A replica of which somebody has seen more than the container shows was cut short.
    func compareVectors(_ id: ZoneID, heads: [ReplicaID: HeadRecord]) throws {
        guard let zone = zones[id] else { return }
        let peers = try store.read { db in try db.peers(of: id) }
        var forked: [ReplicaID: AccountID] = [:]
        var unseen: [ReplicaID: (Position, by: AccountID)] = [:]
        try store.read { db in
            for head in heads.values.sorted(by: { $0.replica < $1.replica }) where zone.control.knows(head.account) {
                for (subject, position) in head.vector where subject != head.replica && subject != replica {
                    // What this device was before it went on as a new replica is known to have been put back.
                    guard let peer = peers.first(where: { $0.replica == subject }),
                        peer.account.map(zone.control.knows) == true, heads[subject]?.device != identity.device
                    else { continue }
                    if position.sequence <= peer.applied.sequence {
                        let known =
                            position.sequence == peer.applied.sequence
                            ? peer.applied : try db.position(position.sequence, of: subject, in: id)
                        if let known, known != position { forked[subject] = head.account }
                    } else if (heads[subject]?.last ?? .start).sequence < position.sequence,
                        position.sequence > unseen[subject]?.0.sequence ?? 0
                    {
                        unseen[subject] = (position, head.account)
                    }
                }
            }
        }
        for (subject, other) in forked { try reportFork(subject, seenBy: other, in: zone, peers: peers) }
        try reportUnseen(unseen, in: zone, peers: peers)
        for peer in peers
        where forked[peer.replica] == nil && !forkedChains.contains(.init(zone: id, replica: peer.replica)) {
            try clearProblem("forked", path: logPath(peer.replica, id), zone: id)
        }
    }

    func logPath(_ replica: ReplicaID, _ zone: ZoneID) -> String { "zones/\(zone)/log/\(replica)" }

    private func reportFork(
        _ subject: ReplicaID, seenBy other: AccountID, in zone: ZoneInfo, peers: [PeerRow]
    ) throws {
        let author = peers.first { $0.replica == subject }?.account
        try report(
            "forked", path: logPath(subject, zone.id), zone: zone.id,
            "\(author.map(label(of:)) ?? "Somebody") has shown \(label(of: other)) other changes in '\(zone.control.title)' under the same numbers than are known here (replica \(subject)).",
            "If they run two copies of one state directory, one of these has to be set up anew. Otherwise take them out of the share; what the owner has seen of them is what counts then."
        )
    }

    private func reportUnseen(
        _ unseen: [ReplicaID: (Position, by: AccountID)], in zone: ZoneInfo, peers: [PeerRow]
    ) throws {
        let now = world.uptimeMilliseconds()
        for peer in peers {
            let key = ChainKey(zone: zone.id, replica: peer.replica)
            guard let (position, other) = unseen[peer.replica] else {
                if unseenParts.removeValue(forKey: key) != nil {
                    try clearProblem("cutShort", path: logPath(peer.replica, zone.id), zone: zone.id)
                }
                continue
            }
            let part = unseenParts[key] ?? UnseenPart(since: now, position: position)
            unseenParts[key] = part
            guard now >= part.since + unseenMilliseconds else { continue }
            try report(
                "cutShort", path: logPath(peer.replica, zone.id), zone: zone.id,
                "\(label(of: other)) has seen changes of \(peer.account.map(label(of:)) ?? "a replica") in '\(zone.control.title)' that the cloud folder does not show here: number \(position.sequence), while \(peer.applied.sequence) are known.",
                "If the cloud folder was restored from a backup, their next change heals it. Otherwise ask who has write access to it."
            )
        }
    }

    // MARK: What the owner has accepted

    /// Up to which segment the chains count of who may not write any more, and of devices that are retired.
    private func pins(in zone: ZoneInfo, heads: [ReplicaID: HeadRecord]) -> [(ReplicaID, Position)] {
        var result: [ReplicaID: Position] = [:]
        func add(_ subject: ReplicaID, _ last: Position) {
            if last.sequence > result[subject]?.sequence ?? 0 { result[subject] = last }
        }
        for participant in zone.control.participants.values {
            for (subject, intervals) in participant.intervals where heads[subject]?.account == participant.account {
                let last = intervals.compactMap(\.to).max { $0.sequence < $1.sequence }
                if let last { add(subject, last) }
            }
        }
        for (device, replicas) in zone.control.retired {
            for (subject, last) in replicas where heads[subject]?.device.digest == device {
                add(subject, last)
            }
        }
        return result.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
    }

    /// How long an accepted version that can't be read is not looked at again, milliseconds.
    private var pinsPauseMilliseconds: UInt64 { 120_000 }

    /// Sees to it that, of whoever may not write any more, exactly what the owner has accepted counts: of a chain that was
    /// shown in two versions the one that the control names by its hash. What was taken from the other one is refused.
    func followPinnedChains(_ id: ZoneID, folder: ZoneFolder, heads: [ReplicaID: HeadRecord]) throws {
        guard let zone = zones[id] else { return }
        let now = world.uptimeMilliseconds()
        let peers = try store.read { db in try db.peers(of: id) }
        for (subject, last) in pins(in: zone, heads: heads) where subject != replica {
            guard var peer = peers.first(where: { $0.replica == subject }), let head = heads[subject] else { continue }
            let known = try store.read { db in try db.position(last.sequence, of: subject, in: id) }
            let chain = ChainKey(zone: id, replica: subject)
            guard known != last, pinsTried[chain].map({ $0.last != last || now >= $0.again }) ?? true else { continue }
            // Read on as always, unless what was read goes on in another way.
            let isOnTheWay = peer.applied.sequence < last.sequence && head.last.sequence >= last.sequence
            if known == nil, isOnTheWay, !forkedChains.contains(chain) { continue }
            // To look takes long, and what is missing may be shown late.
            pinsTried[chain] = (last, now + pinsPauseMilliseconds)
            // Read first, so that nothing is given up before all of the accepted version is seen to be there.
            var pinned = head
            pinned.content.last = last
            guard try readable(pinned, in: zone, folder: folder, isPinned: true) == nil else { continue }
            log("the chain of \(subject) in '\(zone.control.title)' is read again as its owner accepted it")
            try store.write { db in try db.giveUpChain(of: subject, in: id) }
            peer.applied = .start
            _ = try readChain(peer, head: pinned, zone: zone, folder: folder, isPinned: true)
            let applied = try store.read { db in try db.peers(of: id) }.first { $0.replica == subject }?.applied
                .sequence
            if applied ?? 0 >= last.sequence { pinsTried[chain] = (last, .max) }
        }
    }
}
