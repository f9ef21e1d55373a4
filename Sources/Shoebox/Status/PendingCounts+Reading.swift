import GRDB
import ShoeboxModel
import ShoeboxStore

extension PendingCounts {
    /// Counts what is on its way, in one zone or, with nil, in all that are synced.
    ///
    /// - Parameter replica: this replica, whose segments may wait in the outbox.
    init(_ db: Database, replica: ReplicaID, zone: ZoneID? = nil) throws {
        let isSynced = "(? IS NULL OR zone.id = ?) AND zone.state = 'active'"
        self.init()
        push = try Self.count(
            db, zone,
            """
            SELECT count(*) FROM zone JOIN change INDEXED BY changePending ON change.zone = zone.id
            WHERE \(isSynced) AND change.state = 0
            """)
        push += try Self.count(
            db, zone,
            """
            SELECT count(*) FROM zone CROSS JOIN outbox ON outbox.zone = zone.id
                CROSS JOIN change INDEXED BY changeBySender ON change.zone = zone.id AND change.sender = ?3
                AND change.sequence = outbox.sequence
                AND outbox.sequence > coalesce((SELECT sequence FROM published WHERE published.zone = zone.id), 0)
            WHERE (?1 IS NULL OR zone.id = ?2) AND zone.state = 'active' AND change.state = 1
            """, [replica.data])
        fetch = try db.missingSegments(in: zone)
        apply = try Self.count(
            db, zone,
            """
            SELECT count(*) FROM zone JOIN record INDEXED BY recordDirty ON record.zone = zone.id
            WHERE \(isSynced) AND record.dirty = 1
            """)
        if zone == nil { requests = try db.openRequests().count }
    }

    private static func count(
        _ db: Database, _ zone: ZoneID?, _ sql: String, _ more: StatementArguments = []
    ) throws -> Int {
        try Int.fetchOne(db, sql: sql, arguments: [zone?.data, zone?.data] + more) ?? 0
    }
}
