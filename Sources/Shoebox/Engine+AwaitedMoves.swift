import ShoeboxCloud
import ShoeboxModel
import ShoeboxStore
import ShoeboxWorld

import class GRDB.Database

// Who moved a folder did that with what other devices had written in sight. A device that has read the mover's word, and not
// yet theirs, would take along what they had taken out of the folder.

extension Engine {
    private func awaitedPrefix(_ zone: ZoneID) -> String { "awaitedMove.\(zone)." }

    /// Whether all of a zone is known here that a replica says it has read. What its head says by now may be more than it knew
    /// when it moved something; it is never less.
    ///
    /// - Parameter passesGivenUp: whether chains are passed over that can't be read, and that nobody will mend.
    func hasRead(
        asMuchAs mover: ReplicaID, of zone: ZoneID, passesGivenUp: Bool = false, _ db: Database
    ) throws -> Bool {
        guard mover != replica else { return true }
        let peers = try db.peers(of: zone)
        // After a start nothing is known of heads before the cloud folder is reached, nor of one that can't be read just now.
        guard let head = knownHeads[zone]?[mover] else {
            guard headsRead[zone] != nil else { return false }
            guard let peer = peers.first(where: { $0.replica == mover }), peer.cursor != nil else { return true }
            // Once its device is retired there is nothing more to wait for.
            return try zones[zone].map { try isGone(peer, in: $0, db) } ?? false
        }
        let applied = Dictionary(uniqueKeysWithValues: peers.map { ($0.replica, $0.applied.sequence) })
        return head.vector.allSatisfy { peer, position in
            peer == replica || applied[peer] ?? 0 >= position.sequence
                || passesGivenUp && givenUpChains.contains(ChainKey(zone: zone, replica: peer))
        }
    }

    /// Whether a device of this account has read more of a zone than is known here. What can never be read is waited for a day,
    /// after which somebody else publishes it. In a share that has stopped it is not: another device that has read it has brought
    /// it home and published it there, and is done with the share.
    func isBehind(in zone: ZoneID) throws -> Bool {
        let isStopped = zones[zone]?.control.isStopped == true
        let own = (knownHeads[zone] ?? [:]).values.filter { $0.account == account }
        let isBehind = try store.read { db in
            try own.contains { head in
                try !hasRead(asMuchAs: head.replica, of: zone, passesGivenUp: isStopped, db)
            }
        }
        guard isBehind else {
            behindSince[zone] = nil
            return false
        }
        let now = world.uptimeMilliseconds()
        let since = behindSince[zone] ?? now
        behindSince[zone] = since
        return now - since < settings.carryMilliseconds
    }

    /// Has a record that was moved looked at again once what its mover had read is known here, too.
    func awaitWhatIsKnown(to mover: ReplicaID, for id: RecordID, _ db: Database) throws {
        try db.setMetaText("\(awaitedPrefix(id.zone))\(id.name)", "\(mover)")
    }

    /// Has what waited for more of a zone looked at, if that was read by now.
    func followAwaited(in zone: ZoneID) throws {
        let prefix = awaitedPrefix(zone)
        let known = try store.read { db in
            try db.metaTexts(prefix: prefix).filter { _, mover in
                try ReplicaID(hex: mover).map { try hasRead(asMuchAs: $0, of: zone, db) } ?? true
            }
        }
        guard !known.isEmpty else { return }
        try store.write { db in
            for (key, _) in known {
                if let name = RecordName(text: key.dropFirst(prefix.count)) {
                    try db.markDirty(RecordID(zone: zone, name: name))
                }
                try db.setMetaText(key, nil)
            }
        }
    }
}
