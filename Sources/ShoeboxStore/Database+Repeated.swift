import Foundation
public import GRDB
public import ShoeboxModel

// A state that was put back to a backup has changes waiting that were published since under the id that the replica had.
// Published once more, under the new id, they would be edits at the same time as all that followed them.

extension Database {
    private static func formerChainKey(_ zone: ZoneID) -> String { "formerChainUnread.\(zone)" }

    /// Whether a zone has yet to be read since this replica took another id: until then nobody knows what of the changes
    /// that wait was published, and none is.
    public func isFormerChainUnread(in zone: ZoneID) throws -> Bool { try metaText(Self.formerChainKey(zone)) != nil }

    /// Notes that, or that the zone was read as far as that is possible now.
    public func setFormerChainUnread(_ isUnread: Bool, in zone: ZoneID) throws {
        try setMetaText(Self.formerChainKey(zone), isUnread ? "1" : nil)
    }

    /// Forgets the own pending change that one from the container repeats. What was made with the one in sight was made with the
    /// other, too: the contexts of other own pending changes, and what the file shows, say so. What somebody else made, and
    /// is carried to another zone, is said by others in the same words, and stays as it is.
    func forgetRepeated(_ change: Change, in zone: ZoneID) throws {
        let rows = try Row.fetchAll(
            cachedStatement(
                sql: """
                    SELECT * FROM change WHERE zone = ? AND record = ? AND state = 0 AND counter = ? AND replica <> ?
                        AND replica = sender
                    """),
            arguments: [
                zone.data, change.record.data, Int64(bitPattern: change.dot.counter), change.dot.replica.data,
            ])
        let repeated = try rows.map(StoredChange.init).filter { $0.change.repeats(change) }
        for stored in repeated {
            try cachedStatement(sql: "DELETE FROM change WHERE id = ?").execute(arguments: [stored.id])
            let id = RecordID(zone: zone, name: change.record)
            func known(_ vector: VersionVector) -> VersionVector {
                guard vector.contains(stored.change.dot) else { return vector }
                var result = vector
                result.insert(change.dot)
                return result
            }
            let others = try Row.fetchAll(
                cachedStatement(
                    sql: "SELECT * FROM change WHERE zone = ? AND record = ? AND state = 0 AND replica = sender"),
                arguments: [zone.data, change.record.data])
            for other in try others.map(StoredChange.init) {
                var later = other.change
                later.context = known(later.context)
                try replacePayload(of: other.id, with: later)
            }
            if var row = try base(id) {
                row.vector = known(row.vector)
                try setBase(row)
            }
        }
    }
}

extension Change {
    /// Whether another change is the same act under another number: no two have one timestamp, but for derived ones, which are
    /// counted from that of their cause. Of a folded one less is said, and where the bytes are is known of a published one.
    fileprivate func repeats(_ other: Change) -> Bool {
        guard type == other.type, timestamp == other.timestamp, author == other.author, !isDerived, !other.isDerived
        else { return false }
        guard case .set(let own) = action, case .set(let fields) = other.action else { return action == other.action }
        return fields.allSatisfy { key, value in
            guard let asset = value.asset else { return own[key] == value }
            return own[key]?.asset?.contentHash == asset.contentHash
        }
    }
}
