import Foundation
public import GRDB
import ShoeboxFormat
public import ShoeboxModel
import ShoeboxPlanning

// Which of the changes that arrived count. How far a sender's segments do is said by the control (`WriteScope`); of what
// counts only for the account's own records, `isOwnRecord` says whether it does, by all that is known of the record now.
// Own pending changes are not judged, malformed ones stay what they are.

extension Database {
    /// Whether a sender says what somebody else wrote: only the owner of a zone may, who carries it from another zone.
    public static func isCarried(_ change: Change, by sender: ReplicaID, _ account: AccountID) -> Bool {
        change.dot.replica != sender || change.author != account
            || change.forwards.map { $0.replica != sender } ?? false
    }

    /// How a change of somebody who may only contribute stands before its record was looked at, and which record decides.
    static func judgement(ofOwn change: Change) -> (standing: ChangeStanding, needed: RecordName?) {
        switch requiredOwnership(of: change) {
        case .nothing: (.accepted, nil)
        case .record(let name): (.refused, name)
        case .impossible: (.refused, nil)
        }
    }

    /// Judges again what counts only for records of its author's own, after something of these records arrived or came to
    /// count differently. Refreshes and returns the records that show differently for it.
    @discardableResult
    public func judgeOwn(_ records: some Sequence<RecordName>, in zone: ZoneID) throws -> Set<RecordName> {
        guard
            try Bool.fetchOne(
                cachedStatement(
                    sql: "SELECT EXISTS (SELECT 1 FROM change INDEXED BY changeByNeed WHERE zone = ? AND scope = 1)"),
                arguments: [zone.data]) == true
        else { return [] }
        var affected: Set<RecordName> = []
        // A tag that arrives after its photo is judged by that, of which nothing new arrives.
        var deciding = Set(records)
        for record in records { deciding.formUnion(try recordsDeciding(on: record, in: zone)) }
        for needed in deciding.sorted() {
            let rows = try Row.fetchAll(
                cachedStatement(
                    sql: """
                        SELECT id, record, account, state, payload FROM change
                        WHERE zone = ? AND needs = ? AND scope = 1 AND state IN (1, 2)
                        """), arguments: [zone.data, needed.data])
            guard !rows.isEmpty else { continue }
            let known = try scopedChanges(of: needed, in: zone)
            var verdicts: [AccountID: Bool] = [:]
            for row in rows {
                let author = try row.accountID("account")
                let isOwn = verdicts[author] ?? isOwnRecord(needed, of: author, in: known)
                verdicts[author] = isOwn
                let wanted: ChangeStanding = isOwn ? .accepted : .refused
                guard (row["state"] as Int64) != wanted.rawValue else { continue }
                try cachedStatement(sql: "UPDATE change SET state = ? WHERE id = ?").execute(arguments: [
                    wanted.rawValue, row["id"] as Int64,
                ])
                if isOwn { try forgetRepeated(try Self.change(row), in: zone) }
                affected.insert(try row.recordName("record"))
            }
        }
        for record in affected { try refresh(record, in: zone, after: nil) }
        try rewindTags(to: affected, in: zone)
        return affected
    }

    /// The records that decide whether changes of a record count, where their authors may only contribute.
    private func recordsDeciding(on record: RecordName, in zone: ZoneID) throws -> [RecordName] {
        try Data.fetchAll(
            cachedStatement(
                sql: """
                    SELECT DISTINCT needs FROM change INDEXED BY changeByRecord
                    WHERE zone = ? AND record = ? AND scope = 1 AND needs IS NOT NULL
                    """), arguments: [zone.data, record.data]
        ).compactMap { RecordName(bytes: $0) }
    }

    /// Every change of a record that is not malformed, with how far its sender's count; own pending ones count.
    private func scopedChanges(
        of record: RecordName, in zone: ZoneID, pendingScope: WriteScope = .all
    ) throws -> [ScopedChange] {
        try Row.fetchAll(
            cachedStatement(
                sql: "SELECT payload, scope, state FROM change WHERE zone = ? AND record = ? AND state <> 3"),
            arguments: [zone.data, record.data]
        ).map { row in
            do {
                let isPending = (row["state"] as Int64) == ChangeStanding.pending.rawValue
                return ScopedChange(
                    try ChangeCoder.decode(row.bytes("payload")),
                    isPending ? pendingScope : WriteScope(rawValue: row["scope"]) ?? .nothing)
            } catch { throw StoreError("a change of record \(record) does not decode: \(error)") }
        }
    }

    private static func change(_ row: Row) throws -> Change {
        do { return try ChangeCoder.decode(row.bytes("payload")) } catch {
            throw StoreError("a change does not decode: \(error)")
        }
    }

    /// How many of the changes that came in with a history transaction, or with later ones, are refused, of those with this
    /// scope.
    public func refusedCount(since token: Int64, in zone: ZoneID, scope: WriteScope) throws -> Int {
        try Int.fetchOne(
            cachedStatement(
                sql: """
                    SELECT count(*) FROM change INDEXED BY changeByToken
                    WHERE token >= ? AND zone = ? AND scope = ? AND state = 2
                    """),
            arguments: [token, zone.data, scope.rawValue]) ?? 0
    }

    /// Whether an account made a record, so that it may change it even where it may only contribute.
    public func isOwn(_ id: RecordID, of account: AccountID) throws -> Bool {
        isOwnRecord(id.name, of: account, in: try scopedChanges(of: id.name, in: id.zone))
    }

    /// Own changes that were not pushed, and would count for nobody if they were now.
    public func pendingNotCounting(in zone: ZoneID, of account: AccountID, scope: WriteScope) throws -> [StoredChange] {
        guard scope < .carried else { return [] }
        let pending = try pendingChanges(in: zone, limit: .max)
        guard scope > .nothing else { return pending }
        return try pending.filter { stored in
            if Self.isCarried(stored.change, by: stored.sender, account) { return true }
            guard scope == .own else { return false }
            return switch requiredOwnership(of: stored.change) {
            case .nothing: false
            case .impossible: true
            case .record(let name):
                // As the others will judge it: what is pending has no right of an earlier time.
                !isOwnRecord(
                    name, of: account,
                    in: try scopedChanges(of: name, in: zone, pendingScope: .own))
            }
        }
    }

    /// Gives up own changes that were not pushed: they stay in the history, and count no more.
    public func refuse(_ pending: [Int64], in zone: ZoneID) throws {
        var records: Set<RecordName> = []
        for id in pending {
            guard
                let record = try Data.fetchOne(
                    cachedStatement(sql: "SELECT record FROM change WHERE id = ? AND state = 0"), arguments: [id])
            else { continue }
            try cachedStatement(sql: "UPDATE change SET state = 2 WHERE id = ?").execute(arguments: [id])
            if let name = RecordName(bytes: record) { records.insert(name) }
        }
        for record in records { try refresh(record, in: zone, after: nil) }
    }

    /// The changes that a replica published after a segment, of what counts.
    public func publishedChanges(in zone: ZoneID, by sender: ReplicaID, after sequence: UInt64) throws -> [StoredChange]
    {
        try Row.fetchAll(
            cachedStatement(sql: "SELECT * FROM change WHERE zone = ? AND sender = ? AND sequence > ? AND state = 1"),
            arguments: [zone.data, sender.data, Int64(bitPattern: sequence)]
        ).map(StoredChange.init)
    }

    /// Whether a replica published something after a segment that counts, and that nobody else has published again.
    public func hasPublished(in zone: ZoneID, by sender: ReplicaID, after sequence: UInt64) throws -> Bool {
        try Bool.fetchOne(
            cachedStatement(
                sql: "SELECT EXISTS (SELECT 1 FROM change WHERE zone = ? AND sender = ? AND sequence > ? AND state = 1)"
            ), arguments: [zone.data, sender.data, Int64(bitPattern: sequence)]) ?? false
    }

    /// The changes of a record that a replica published, or was to publish, and that are refused.
    public func refusedChanges(of id: RecordID, by sender: ReplicaID) throws -> [StoredChange] {
        try Row.fetchAll(
            cachedStatement(sql: "SELECT * FROM change WHERE zone = ? AND record = ? AND sender = ? AND state = 2"),
            arguments: [id.zone.data, id.name.data, sender.data]
        ).map(StoredChange.init)
    }

    /// What a replica wrote in a zone and never published, as it would have counted for nobody; in the order in which it was written.
    public func untoldChanges(in zone: ZoneID, by sender: ReplicaID) throws -> [StoredChange] {
        try Row.fetchAll(
            cachedStatement(
                sql: "SELECT * FROM change WHERE zone = ? AND sender = ? AND sequence = 0 AND state = 2 ORDER BY id"),
            arguments: [zone.data, sender.data]
        ).map(StoredChange.init)
    }

    /// Judges every change of a zone again after its control changed; returns the records whose changes now count
    /// differently.
    public func judgeAgain(
        in zone: ZoneID, scope: (AccountID, ReplicaID, UInt64) -> WriteScope
    ) throws -> Set<RecordName> {
        var affected: Set<RecordName> = []
        var rescoped: Set<RecordName> = []
        let senders = try Row.fetchAll(
            cachedStatement(
                sql: """
                    SELECT DISTINCT account, sender, sequence, via, scope FROM change
                    WHERE zone = ? AND sequence > 0 AND state IN (1, 2)
                    """), arguments: [zone.data])
        for sender in senders {
            let (who, replica) = (try sender.accountID("account"), try sender.replicaID("sender"))
            let via = UInt64(bitPattern: sender["via"] as Int64)
            var wanted = scope(who, replica, UInt64(bitPattern: sender["sequence"] as Int64))
            if via > 0 { wanted = min(wanted, scope(who, replica, via)) }
            guard (sender["scope"] as Int64) != wanted.rawValue else { continue }
            let rows = try Row.fetchAll(
                cachedStatement(
                    sql: """
                        SELECT * FROM change WHERE zone = ? AND sender = ? AND sequence = ? AND account = ?
                            AND via = ? AND scope = ? AND state IN (1, 2)
                        """),
                arguments: [
                    zone.data, sender["sender"] as Data, sender["sequence"] as Int64, sender["account"] as Data,
                    sender["via"] as Int64, sender["scope"] as Int64,
                ])
            for stored in try rows.map(StoredChange.init) {
                let mayCount = wanted == .carried || !Self.isCarried(stored.change, by: stored.sender, stored.account)
                let (standing, needed): (ChangeStanding, RecordName?) =
                    switch mayCount ? wanted : .nothing {
                    case .carried, .all: (.accepted, nil)
                    case .nothing: (.refused, nil)
                    case .own: Self.judgement(ofOwn: stored.change)
                    }
                try cachedStatement(sql: "UPDATE change SET state = ?, scope = ?, needs = ? WHERE id = ?").execute(
                    arguments: [
                        standing.rawValue, (mayCount ? wanted : .nothing).rawValue, needed?.data, stored.id,
                    ])
                rescoped.insert(stored.change.record)
                if standing != stored.standing { affected.insert(stored.change.record) }
                if let needed { rescoped.insert(needed) }
            }
        }
        for record in affected { try refresh(record, in: zone, after: nil) }
        try rewindTags(to: affected, in: zone)
        return affected.union(try judgeOwn(rescoped, in: zone))
    }

    /// Has the reader of tags read the changes of some records again, because they count differently now.
    private func rewindTags(to records: Set<RecordName>, in zone: ZoneID) throws {
        var oldest = Int64.max
        for record in records {
            let first = try Int64.fetchOne(
                cachedStatement(sql: "SELECT min(token) FROM change WHERE zone = ? AND record = ?"),
                arguments: [zone.data, record.data])
            oldest = min(oldest, first ?? .max)
        }
        guard oldest < .max else { return }
        try cachedStatement(sql: "UPDATE consumer SET token = min(token, ?) WHERE name = 'tags'").execute(arguments: [
            oldest - 1
        ])
    }
}
