import Foundation
public import GRDB
import ShoeboxFormat
public import ShoeboxModel

/// How far this replica is with folding its own chain in a zone.
public struct SnapshotRow: Hashable, Sendable {
    /// The first segment that the own head says is kept; 1 while nothing was folded.
    public var floor: UInt64 = 1
    /// The last part of the snapshot at the floor.
    public var snapshot: Position = .start
    /// The first and the last part of a snapshot that is made, and that the head doesn't name yet; 0 for none.
    public var nextFloor: UInt64 = 0
    /// See `nextFloor`.
    public var next: Position = .start
    /// When the head with the floor was appended, milliseconds since 1970; 0 for not yet.
    public var raisedMilliseconds: UInt64 = 0
    /// The floor below which segments were removed.
    public var tidied: UInt64 = 1
    /// How many changes the newest snapshot has.
    public var changes: UInt64 = 0
    /// The last own segment when it was last looked whether folding pays.
    public var weighed: UInt64 = 0
    /// Nothing was folded.
    public init() {}
}

extension Database {
    /// How far this replica is with folding its chain in a zone.
    public func snapshot(of zone: ZoneID) throws -> SnapshotRow {
        guard
            let row = try Row.fetchOne(
                cachedStatement(sql: "SELECT * FROM snapshot WHERE zone = ?"), arguments: [zone.data])
        else { return SnapshotRow() }
        func number(_ column: String) -> UInt64 { UInt64(bitPattern: row[column] as Int64) }
        var result = SnapshotRow()
        result.floor = number("floor")
        result.snapshot = Position(
            sequence: number("sequence"), hash: row.digest("hash") ?? Position.start.hash)
        result.nextFloor = number("nextFloor")
        result.next = Position(
            sequence: number("nextSequence"), hash: row.digest("nextHash") ?? Position.start.hash)
        result.raisedMilliseconds = number("raised")
        result.tidied = number("tidied")
        result.changes = number("changes")
        result.weighed = number("weighed")
        return result
    }

    /// Stores how far this replica is with folding its chain in a zone.
    public func setSnapshot(_ row: SnapshotRow, of zone: ZoneID) throws {
        func number(_ value: UInt64) -> Int64 { Int64(bitPattern: value) }
        try cachedStatement(
            sql: """
                INSERT OR REPLACE INTO snapshot (zone, floor, sequence, hash, nextFloor, nextSequence, nextHash, raised,
                    tidied, changes, weighed) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
                """
        ).execute(arguments: [
            zone.data, number(row.floor), number(row.snapshot.sequence), row.snapshot.hash.data,
            number(row.nextFloor), number(row.next.sequence), row.next.hash.data, number(row.raisedMilliseconds),
            number(row.tidied), number(row.changes), number(row.weighed),
        ])
    }

    /// Drops the bytes of own segments below a number: they are in a snapshot.
    public func dropKeptSegments(of zone: ZoneID, below floor: UInt64) throws {
        try cachedStatement(sql: "DELETE FROM outbox WHERE zone = ? AND sequence < ?").execute(arguments: [
            zone.data, Int64(bitPattern: floor),
        ])
    }

    /// How many changes a replica has published after a segment, as far as they are known here.
    public func publishedCount(in zone: ZoneID, by sender: ReplicaID, after sequence: UInt64) throws -> Int {
        try Int.fetchOne(
            cachedStatement(
                sql: """
                    SELECT count(*) FROM change
                    WHERE zone = ? AND sender = ? AND sequence > ? AND state IN (1, 2)
                    """), arguments: [zone.data, sender.data, Int64(bitPattern: sequence)]) ?? 0
    }

    /// The records of which a replica has published changes up to a segment, sorted, and how many changes of each.
    public func publishedRecords(
        in zone: ZoneID, by sender: ReplicaID, upTo sequence: UInt64
    ) throws -> [(record: RecordName, count: Int)] {
        try Row.fetchAll(
            cachedStatement(
                sql: """
                    SELECT record, count(*) AS number FROM change
                    WHERE zone = ? AND sender = ? AND sequence > 0 AND sequence <= ? AND state IN (1, 2)
                    GROUP BY record ORDER BY record
                    """), arguments: [zone.data, sender.data, Int64(bitPattern: sequence)]
        ).map { (try $0.recordName("record"), $0["number"]) }
    }

    /// The changes of a record that a replica has published up to a segment. Of those that count without limit the ones
    /// up to `settled` count for good.
    public func publishedChanges(
        of id: RecordID, by sender: ReplicaID, upTo sequence: UInt64, settled: UInt64
    ) throws -> [PublishedChange] {
        try Row.fetchAll(
            cachedStatement(
                sql: """
                    SELECT payload, sequence, state, scope FROM change
                    WHERE zone = ? AND record = ? AND sender = ? AND sequence > 0 AND sequence <= ? AND state IN (1, 2)
                    ORDER BY replica, counter
                    """),
            arguments: [id.zone.data, id.name.data, sender.data, Int64(bitPattern: sequence)]
        ).map { row in
            let number = UInt64(bitPattern: row["sequence"] as Int64)
            let isSettled =
                (row["state"] as Int64) == ChangeStanding.accepted.rawValue
                && (row["scope"] as Int64) >= WriteScope.all.rawValue && number <= settled
            do {
                return PublishedChange(
                    try ChangeCoder.decode(row.bytes("payload")), sequence: number, isSettled: isSettled)
            } catch { throw StoreError("a change of record \(id.name) does not decode: \(error)") }
        }
    }
}

extension Database {
    /// What counts of a replica's chain after a segment, in the order in which it was published.
    public func acceptedChanges(
        in zone: ZoneID, by sender: ReplicaID, after sequence: UInt64
    ) throws -> [StoredChange] {
        try Row.fetchAll(
            cachedStatement(
                sql: """
                    SELECT * FROM change WHERE zone = ? AND sender = ? AND sequence > ? AND state = 1
                    ORDER BY sequence, replica, counter
                    """), arguments: [zone.data, sender.data, Int64(bitPattern: sequence)]
        ).map(StoredChange.init)
    }

    /// Notes that another account's replica, the owner's, publishes these changes now: they count as its own do.
    public func vouch(for ids: [Int64], as account: AccountID, _ sender: ReplicaID, sequence: UInt64) throws {
        let statement = try cachedStatement(
            sql: """
                UPDATE change SET account = ?, sender = ?, sequence = ?, scope = 3, needs = NULL, via = 0 WHERE id = ?
                """)
        for id in ids {
            try statement.execute(arguments: [account.data, sender.data, Int64(bitPattern: sequence), id])
        }
    }

    /// Whether what a snapshot repeats of a record says the same as what is known of the record here: the state with all
    /// that is known, and with the snapshot in place of what its replica had published before, are the same to everybody.
    ///
    /// - Parameters:
    ///   - repeated: what the snapshot has of the record.
    ///   - first: the snapshot's first part.
    public func isRepeated(
        _ repeated: [Change], of id: RecordID, by sender: ReplicaID, before first: UInt64
    ) throws -> Bool {
        var all: [Dot: Change] = [:]
        var replaced: [Dot: Change] = [:]
        var known: [Dot: Data] = [:]
        for row in try Row.fetchAll(
            cachedStatement(
                sql: "SELECT payload, sender, sequence FROM change WHERE zone = ? AND record = ? AND state < 2"),
            arguments: [id.zone.data, id.name.data])
        {
            let change: Change
            do { change = try ChangeCoder.decode(row.bytes("payload")) } catch {
                throw StoreError("a change of record \(id.name) does not decode: \(error)")
            }
            all[change.dot] = change
            let number = UInt64(bitPattern: row["sequence"] as Int64)
            if (row["sender"] as Data) == sender.data, number > 0, number < first {
                known[change.dot] = row["payload"]
            } else {
                replaced[change.dot] = change
            }
        }
        guard !known.isEmpty else { return true }
        if known.count == repeated.count,
            repeated.allSatisfy({ known[$0.dot] == Data(ChangeCoder.encode($0)) })
        {
            return true
        }
        for change in repeated {
            if all[change.dot] == nil { all[change.dot] = change }
            replaced[change.dot] = change
        }
        guard let expected = RecordState(all.values), let found = RecordState(replaced.values) else { return false }
        return expected.isSame(as: found)
    }

    /// The records of which a replica has published changes that count before a segment.
    public func countedRecords(in zone: ZoneID, by sender: ReplicaID, before sequence: UInt64) throws -> [RecordName] {
        try Data.fetchAll(
            cachedStatement(
                sql: """
                    SELECT DISTINCT record FROM change
                    WHERE zone = ? AND sender = ? AND sequence > 0 AND sequence < ? AND state = 1 ORDER BY record
                    """), arguments: [zone.data, sender.data, Int64(bitPattern: sequence)]
        ).compactMap { RecordName(bytes: $0) }
    }
}
