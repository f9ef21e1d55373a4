import Foundation
public import GRDB
import ShoeboxFormat
public import ShoeboxModel

/// Where a stored change stands.
public enum ChangeStanding: Int64, Sendable {
    /// Made here, not yet pushed.
    case pending = 0
    /// Counts.
    case accepted = 1
    /// Arrived, but its sender had no right to write it; kept in the history only.
    case refused = 2
    /// Arrived, but is one that its sender may never write, whatever the control says; kept in the history only.
    case malformed = 3
}

extension ChangeStanding {
    /// Whether the change is a part of its record's state.
    public var counts: Bool { self == .pending || self == .accepted }
}

/// A change together with who brought it.
public struct StoredChange: Sendable {
    /// The row, in order of arrival.
    public var id: Int64
    /// The zone.
    public var zone: ZoneID
    /// The change.
    public var change: Change
    /// Whose segment brought it; for own changes the own account.
    public var account: AccountID
    /// The replica whose segment brought it.
    public var sender: ReplicaID
    /// That segment's number; 0 while pending.
    public var sequence: UInt64
    /// Whether it counts.
    public var standing: ChangeStanding
    /// The history transaction it came in with.
    public var token: Int64

    init(_ row: Row) throws {
        id = row["id"]
        zone = try row.zoneID("zone")
        do { change = try ChangeCoder.decode(row.bytes("payload")) } catch {
            throw StoreError("change \(id) does not decode: \(error)")
        }
        account = try row.accountID("account")
        sender = try row.replicaID("sender")
        sequence = UInt64(bitPattern: row["sequence"])
        standing = ChangeStanding(rawValue: row["state"]) ?? .refused
        token = row["token"]
    }
}

extension Database {
    /// Takes in one change of a zone and refreshes its record. A change that is here already is left alone, unless it
    /// was refused and now comes from somebody who may write it. Returns whether anything was stored.
    ///
    /// - Parameters:
    ///   - scope: how far what the sender published counts; `.own` is judged by `judgeOwn` afterwards.
    ///   - via: the last part of the snapshot that repeated the change; 0 if it came with its own segment.
    @discardableResult
    public func insert(
        _ change: Change, zone: ZoneID, account: AccountID, sender: ReplicaID, sequence: UInt64,
        standing: ChangeStanding, token: Int64, scope: WriteScope = .all, via: UInt64 = 0
    ) throws -> Bool {
        var standing = standing
        var needed: RecordName?
        var scope = scope
        if sequence > 0, scope < .carried, Self.isCarried(change, by: sender, account) {
            if standing == .accepted { standing = .refused }
            scope = .nothing
        }
        if standing == .accepted, scope == .own { (standing, needed) = Self.judgement(ofOwn: change) }
        if sequence > 0, standing.counts { try forgetRepeated(change, in: zone) }
        let statement = try cachedStatement(
            sql: """
                INSERT INTO change (zone, record, replica, counter, account, sender, sequence, state, token, payload,
                    scope, needs, via)
                VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
                ON CONFLICT (zone, replica, counter) DO UPDATE SET record = excluded.record, account = excluded.account,
                    sender = excluded.sender, sequence = excluded.sequence, state = excluded.state,
                    token = excluded.token, payload = excluded.payload, scope = excluded.scope, needs = excluded.needs,
                    via = excluded.via
                    WHERE (change.state >= 2 AND excluded.state < 2)
                        OR (excluded.scope > change.scope AND excluded.state <> 3)
                """)
        try statement.execute(arguments: [
            zone.data, change.record.data, change.dot.replica.data, Int64(bitPattern: change.dot.counter),
            account.data, sender.data, Int64(bitPattern: sequence), standing.rawValue, token,
            Data(ChangeCoder.encode(change)), standing == .malformed ? 0 : scope.rawValue, needed?.data,
            Int64(bitPattern: via),
        ])
        guard changesCount > 0 else { return false }
        try noteMove(change, in: zone)
        if standing.counts { try refresh(change.record, in: zone, after: change) }
        return true
    }

    /// All changes of a record that count, in order of arrival.
    public func changes(of record: RecordName, in zone: ZoneID) throws -> [Change] {
        try cachedStatement(sql: "SELECT payload FROM change WHERE zone = ? AND record = ? AND state < 2 ORDER BY id")
            .fetchPayloads(self, [zone.data, record.data])
    }

    /// All changes of a record, those that do not count too, in order of arrival.
    public func storedChanges(of id: RecordID) throws -> [StoredChange] {
        try Row.fetchAll(
            cachedStatement(sql: "SELECT * FROM change WHERE zone = ? AND record = ? ORDER BY id"),
            arguments: [id.zone.data, id.name.data]
        ).map(StoredChange.init)
    }

    /// The records that ever had one of some contents, in order, by those. Reads the whole history.
    public func records(everWithContent hashes: Set<Digest32>) throws -> [Digest32: [RecordID]] {
        var found: [Digest32: Set<RecordID>] = [:]
        let rows = try Row.fetchCursor(
            cachedStatement(sql: "SELECT zone, record, payload FROM change WHERE state < 2"))
        while let row = try rows.next() {
            let change: Change
            let payload: [UInt8] = try row.bytes("payload")
            do { change = try ChangeCoder.decode(payload) } catch {
                throw StoreError("a change does not decode: \(error)")
            }
            guard let hash = change.content?.contentHash, hashes.contains(hash) else { continue }
            found[hash, default: []].insert(
                RecordID(zone: try row.zoneID("zone"), name: try row.recordName("record")))
        }
        return found.mapValues { $0.sorted() }
    }

    /// The merged state of a record; nil if nothing is known of it.
    public func state(of id: RecordID) throws -> RecordState? {
        RecordState(try changes(of: id.name, in: id.zone))
    }

    /// Own changes of a zone that were not pushed yet, oldest first.
    public func pendingChanges(in zone: ZoneID, limit: Int) throws -> [StoredChange] {
        try Row.fetchAll(
            cachedStatement(sql: "SELECT * FROM change WHERE zone = ? AND state = 0 ORDER BY id LIMIT ?"),
            arguments: [zone.data, limit]
        ).map(StoredChange.init)
    }

    /// How many own changes wait to be pushed.
    public func pendingCount(in zone: ZoneID? = nil) throws -> Int {
        try Int.fetchOne(
            cachedStatement(
                sql: """
                    SELECT count(*) FROM change WHERE state = 0 AND (? IS NULL OR zone = ?)
                        AND zone IN (SELECT id FROM zone WHERE state = 'active')
                    """), arguments: [zone?.data, zone?.data]) ?? 0
    }

    /// Whether a zone has own changes that were not pushed and are older than a change of any zone.
    public func hasPendingChanges(in zone: ZoneID, before id: Int64) throws -> Bool {
        try Bool.fetchOne(
            cachedStatement(sql: "SELECT EXISTS (SELECT 1 FROM change WHERE zone = ? AND state = 0 AND id < ?)"),
            arguments: [zone.data, id]) ?? false
    }

    /// Whether own changes of a record that are older than a row wait to be pushed.
    public func hasPendingChanges(of record: RecordName, in zone: ZoneID, before id: Int64) throws -> Bool {
        try Bool.fetchOne(
            cachedStatement(
                sql: "SELECT EXISTS (SELECT 1 FROM change WHERE zone = ? AND record = ? AND state = 0 AND id < ?)"),
            arguments: [zone.data, record.data, id]) ?? false
    }

    /// Replaces the content of a pending change, such as an asset's location that is known now.
    public func replacePayload(of id: Int64, with change: Change) throws {
        try cachedStatement(sql: "UPDATE change SET payload = ? WHERE id = ? AND state = 0").execute(arguments: [
            Data(ChangeCoder.encode(change)), id,
        ])
    }

    /// Marks pending changes as part of a segment that is about to be published.
    public func markPushed(_ ids: [Int64], sequence: UInt64) throws {
        let statement = try cachedStatement(sql: "UPDATE change SET state = 1, sequence = ? WHERE id = ?")
        for id in ids { try statement.execute(arguments: [Int64(bitPattern: sequence), id]) }
    }

    /// The references to an asset in a zone, each with the record whose content it is; of what counts only.
    public func references(
        toAsset location: String, in zone: ZoneID
    ) throws -> [(record: RecordName, asset: AssetReference)] {
        let payloads = try Data.fetchAll(
            cachedStatement(
                sql: "SELECT payload FROM change WHERE zone = ? AND state < 2 AND instr(payload, CAST(? AS BLOB)) > 0"),
            arguments: [zone.data, location])
        return payloads.compactMap { payload in
            guard let change = try? ChangeCoder.decode(Array(payload)), case .set(let fields) = change.action,
                let asset = fields[.content]?.asset, asset.location == location
            else { return nil }
            return (change.record, asset)
        }
    }

    /// The changes of one history transaction, in the order in which they were written.
    public func changes(inTransaction token: Int64) throws -> [StoredChange] {
        try Row.fetchAll(
            cachedStatement(sql: "SELECT * FROM change WHERE token = ? ORDER BY id"), arguments: [token]
        ).map(StoredChange.init)
    }

    /// The newest changes of the history, oldest first.
    public func newestHistory(limit: Int) throws -> [StoredChange] {
        try Row.fetchAll(
            cachedStatement(sql: "SELECT * FROM change ORDER BY token DESC, id DESC LIMIT ?"), arguments: [limit]
        ).reversed().map(StoredChange.init)
    }

    /// Whether the history has transactions before a token.
    public func hasHistory(before token: Int64) throws -> Bool {
        try Bool.fetchOne(
            cachedStatement(sql: "SELECT EXISTS (SELECT 1 FROM change WHERE token < ?)"), arguments: [token]) ?? false
    }

    /// Changes after a history token, oldest first.
    public func history(after token: Int64, limit: Int) throws -> [StoredChange] {
        try Row.fetchAll(
            cachedStatement(sql: "SELECT * FROM change WHERE token > ? ORDER BY token, id LIMIT ?"),
            arguments: [token, limit]
        ).map(StoredChange.init)
    }
}

extension Statement {
    /// Decodes the single payload column of every row.
    fileprivate func fetchPayloads(_ db: Database, _ arguments: StatementArguments) throws -> [Change] {
        try Data.fetchAll(self, arguments: arguments).map { data in
            do { return try ChangeCoder.decode(Array(data)) } catch {
                throw StoreError("a change does not decode: \(error)")
            }
        }
    }
}

extension Database {
    /// Says that a record's content is available in the container.
    public func setLocated(_ id: RecordID) throws {
        try cachedStatement(sql: "UPDATE record SET located = 1 WHERE zone = ? AND record = ?").execute(arguments: [
            id.zone.data, id.name.data,
        ])
    }

    /// Takes back that changes were published after a segment: they are published once more. What is of records that were
    /// deleted since is not, or it would bring them back; their deletions are.
    public func unpublish(of sender: ReplicaID, in zone: ZoneID, after sequence: UInt64) throws {
        let rows = try Row.fetchAll(
            cachedStatement(
                sql: "SELECT * FROM change WHERE zone = ? AND sender = ? AND replica = ? AND sequence > ? AND state = 1"
            ),
            arguments: [zone.data, sender.data, sender.data, Int64(bitPattern: sequence)])
        for stored in try rows.map(StoredChange.init) {
            if case .set = stored.change.action,
                try record(RecordID(zone: zone, name: stored.change.record))?.isLive != true
            {
                continue
            }
            try cachedStatement(sql: "UPDATE change SET state = 0, sequence = 0 WHERE id = ?").execute(
                arguments: [stored.id])
        }
    }

    /// Gives every change that was not pushed a dot of another replica, and says so in every context that knows it.
    ///
    /// A context must not go on naming the old replica's numbers: they are somebody else's changes by now, not seen here.
    public func renumber(from old: ReplicaID, to fresh: ReplicaID) throws {
        // What was built and never named by a head was not published as far as anyone can tell.
        try cachedStatement(
            sql: """
                UPDATE change SET state = 0, sequence = 0 WHERE state = 1 AND sender = ?1 AND EXISTS
                    (SELECT 1 FROM outbox WHERE outbox.zone = change.zone AND outbox.sequence = change.sequence
                        AND outbox.sequence > coalesce(
                            (SELECT sequence FROM published WHERE published.zone = outbox.zone), 0))
                """
        ).execute(arguments: [old.data])
        // Numbers are given over all zones, and one zone may have published a greater number than another still waits with:
        // what decides is each change itself, and for contexts how far a record's own changes were published.
        let known = try Row.fetchAll(
            cachedStatement(sql: "SELECT zone, record, counter FROM change WHERE replica = ? AND state <> 0"),
            arguments: [old.data])
        var published: Set<UInt64> = []
        var limits: [RecordID: UInt64] = [:]
        for row in known {
            let counter = UInt64(bitPattern: row["counter"] as Int64)
            let id = RecordID(zone: try row.zoneID("zone"), name: try row.recordName("record"))
            published.insert(counter)
            limits[id] = max(limits[id] ?? 0, counter)
        }
        func renumbered(_ dot: Dot) -> Dot {
            dot.replica == old && !published.contains(dot.counter) ? Dot(replica: fresh, counter: dot.counter) : dot
        }
        func renumbered(_ vector: VersionVector, of id: RecordID) -> VersionVector {
            let seen = vector[old]
            let limit = limits[id] ?? 0
            guard seen > limit else { return vector }
            var result = VersionVector(vector.entries.filter { $0.replica != old })
            if limit > 0 { result.insert(Dot(replica: old, counter: limit)) }
            result.insert(Dot(replica: fresh, counter: seen))
            return result
        }
        for row in try Row.fetchAll(cachedStatement(sql: "SELECT * FROM change WHERE state = 0")) {
            let stored = try StoredChange(row)
            var change = stored.change
            change.dot = renumbered(change.dot)
            change.forwards = change.forwards.map { renumbered($0) }
            change.context = renumbered(change.context, of: RecordID(zone: stored.zone, name: change.record))
            try cachedStatement(sql: "UPDATE change SET replica = ?, sender = ?, payload = ? WHERE id = ?").execute(
                arguments: [
                    change.dot.replica.data, fresh.data, Data(ChangeCoder.encode(change)), stored.id,
                ])
        }
        for row in try Row.fetchAll(cachedStatement(sql: "SELECT \(BaseRow.columns) FROM base")).map(BaseRow.init) {
            var row = row
            row.vector = renumbered(row.vector, of: row.id)
            for (twin, shown) in row.twinVectors { row.twinVectors[twin] = renumbered(shown, of: twin) }
            try setBase(row)
        }
        for zone in try zones() {
            var zone = zone
            // The old chain is somebody else's from now on, read on from where it is known.
            try setPeer(PeerRow(replica: old, head: zone.last, applied: zone.last), in: zone.id)
            zone.last = .start
            zone.headCursor = nil
            zone.isHeadDirty = true
            try setZone(zone)
            try setFormerChainUnread(true, in: zone.id)
            for table in ["outbox", "published", "snapshot"] {
                try cachedStatement(sql: "DELETE FROM \(table) WHERE zone = ?").execute(arguments: [zone.id.data])
            }
        }
    }
}

extension Database {
    /// Gives up edits of a record's bytes that were not published and whose bytes are gone: they stay in the history, and
    /// the bytes before them count again. The first bytes of a record stay while others have no other ones of it.
    ///
    /// - Parameter hash: which bytes are gone; nil for all edits that were not published.
    public func refuseUnpublishedContent(of id: RecordID, hash: Digest32? = nil) throws {
        func content(_ change: Change) -> (asset: AssetReference, isAlone: Bool)? {
            guard case .set(let fields) = change.action, let asset = fields[.content]?.asset else { return nil }
            return (asset, Set(fields.keys).isSubset(of: [.content, .modified]))
        }
        guard try changes(of: id.name, in: id.zone).contains(where: { content($0)?.asset.location != nil }) else {
            return
        }
        let rows = try Row.fetchAll(
            cachedStatement(sql: "SELECT * FROM change WHERE zone = ? AND record = ? AND state = 0"),
            arguments: [id.zone.data, id.name.data])
        var isChanged = false
        for stored in try rows.map(StoredChange.init) {
            guard let found = content(stored.change), found.asset.location == nil,
                found.isAlone ? hash == nil || found.asset.contentHash == hash : found.asset.contentHash == hash
            else { continue }
            isChanged = true
            guard found.isAlone else {
                // Others have other bytes of the record: what else is said of it counts.
                guard case .set(let fields) = stored.change.action else { continue }
                var rest = stored.change
                rest.action = .set(fields.filter { $0.key != .content && $0.key != .modified })
                try replacePayload(of: stored.id, with: rest)
                continue
            }
            try cachedStatement(sql: "UPDATE change SET state = 2 WHERE id = ?").execute(arguments: [stored.id])
        }
        if isChanged { try refresh(id.name, in: id.zone, after: nil) }
    }

    /// Gives up a record of which nothing was published: its changes stay in the history, and count no more.
    public func refuseUnpublished(_ id: RecordID) throws {
        let known = try changes(of: id.name, in: id.zone)
        guard !known.isEmpty else { return }
        let pending =
            try Int.fetchOne(
                cachedStatement(sql: "SELECT COUNT(*) FROM change WHERE zone = ? AND record = ? AND state = 0"),
                arguments: [id.zone.data, id.name.data]) ?? 0
        guard pending == known.count else { return }
        try cachedStatement(sql: "UPDATE change SET state = 2 WHERE zone = ? AND record = ? AND state = 0")
            .execute(arguments: [id.zone.data, id.name.data])
        try refresh(id.name, in: id.zone, after: nil)
    }

    /// Gives up a zone's changes that were not pushed: they stay in the history, and count no more.
    public func refusePending(in zone: ZoneID) throws {
        let records = try Data.fetchAll(
            cachedStatement(sql: "SELECT DISTINCT record FROM change WHERE zone = ? AND state = 0"),
            arguments: [zone.data])
        try cachedStatement(sql: "UPDATE change SET state = 2 WHERE zone = ? AND state = 0").execute(arguments: [
            zone.data
        ])
        for record in records.compactMap({ RecordName(bytes: $0) }) { try refresh(record, in: zone, after: nil) }
    }
}

extension Database {
    /// Pending changes of records whose folder shows other bytes than the record has now.
    public func pendingOfDifferingContent(in zone: ZoneID) throws -> [StoredChange] {
        try Row.fetchAll(
            cachedStatement(
                sql: """
                    SELECT change.* FROM change JOIN record USING (zone, record) JOIN base USING (zone, record)
                    WHERE change.zone = ? AND change.state = 0 AND base.hash IS NOT record.hash
                    """), arguments: [zone.data]
        ).map(StoredChange.init)
    }
}
