import ShoeboxCloud
import ShoeboxModel
import ShoeboxStore
import ShoeboxWorld

// What others have of this replica, by their heads. Where state and container were put back to the same backup, nothing else
// tells that numbers are given twice; see Documentation/Design/ReplicaIDs.md.

extension Engine {
    private func confirmedKey(_ zone: ZoneID, _ other: ReplicaID) -> String { "confirmed.\(zone).\(replica).\(other)" }
    private func renewedKey(_ account: AccountID) -> String { "renewedAfter.\(account)" }
    /// How often somebody's word alone makes a new replica of this one, milliseconds.
    private var renewalMilliseconds: UInt64 { 86_400_000 }

    /// Compares what others say that they have of this replica with what it published. If they have something else, its
    /// state was put back, and it goes on as a new one.
    /// - Returns: whether all is as it should be.
    func checkOwnVectors(_ id: ZoneID, heads: [ReplicaID: HeadRecord]) throws -> Bool {
        guard let zone = zones[id], zone.row.state == .active else { return true }
        let last = zone.row.last
        guard last.sequence > 0 else { return true }
        for head in heads.values.sorted(by: { $0.replica < $1.replica })
        where head.replica != replica && zone.control.knows(head.account) {
            guard let said = head.vector[replica], said.sequence > 0 else { continue }
            var known: Position? = last
            if said.sequence != last.sequence {
                known = try store.read { db in try db.position(said.sequence, of: replica, in: id) }
            }
            if known == nil, said.sequence < last.sequence { continue }
            guard said != known else {
                try confirm(said, by: head, in: id)
                continue
            }
            guard try mayRenew(after: head.account) else { continue }
            try goOnAfterRestore(zone, contradictedBy: head)
            return false
        }
        return true
    }

    private func confirm(_ position: Position, by head: HeadRecord, in zone: ZoneID) throws {
        let chain = ChainKey(zone: zone, replica: head.replica)
        guard position.sequence > confirmed[chain] ?? 0 else { return }
        let key = confirmedKey(zone, head.replica)
        if try store.read({ db in try db.metaNumber(key) ?? 0 }) < Int64(clamping: position.sequence) {
            try store.write { db in try db.setMetaNumber(key, Int64(clamping: position.sequence)) }
        }
        confirmed[chain] = position.sequence
    }

    /// Whoever takes part could say so again and again.
    private func mayRenew(after account: AccountID) throws -> Bool {
        let now = world.nowMilliseconds()
        let before = try store.read { db in try db.metaNumber(renewedKey(account)) }.map { UInt64(clamping: $0) }
        return before.map { $0 > now || now - $0 >= renewalMilliseconds } ?? true
    }

    /// Goes on as a new replica. What was published since anybody last agreed reached nobody who kept their state, and is
    /// published once more.
    private func goOnAfterRestore(_ zone: ZoneInfo, contradictedBy head: HeadRecord) throws {
        try store.write { db in
            for row in try db.zones() {
                let prefix = "confirmed.\(row.id).\(replica)."
                let agreed = try db.metaTexts(prefix: prefix).compactMap { key, text in
                    row.id != zone.id || key == prefix + head.replica.description ? UInt64(text) : nil
                }.max()
                if let agreed { try db.unpublish(of: replica, in: row.id, after: agreed) }
            }
        }
        try reloadZones()
        try becomeNewReplica(after: zone, because: Self.restored, remedy: Self.restoredRemedy)
        let now = world.nowMilliseconds()
        try store.write { db in try db.setMetaNumber(renewedKey(head.account), Int64(clamping: now)) }
    }
}
