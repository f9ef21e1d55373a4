public import Foundation
public import GRDB
public import ShoeboxModel

/// What this replica knows of one zone.
public struct ZoneRow: Sendable {
    /// How this account stands to the zone.
    public enum State: String, Sendable {
        /// Synced.
        case active
        /// The share's folder is gone as a whole; waiting for the user to leave or to restore.
        case leaveOffered
        /// The user left.
        case left
        /// The owner stopped the share, or removed this account.
        case ended
    }

    /// The zone.
    public var id: ZoneID
    /// What kind.
    public var kind: ZoneKind
    /// Which watched folder shows it.
    public var root: RootKind
    /// Whether it is synced.
    public var state: State
    /// Whether the account owns it.
    public var isMine: Bool
    /// The keys, as `ZoneKeyring` serializes them.
    public var keyring: Data
    /// The newest control, as the cloud layer serializes it.
    public var control: Data
    /// The newest control's version.
    public var controlVersion: UInt64
    /// The newest control's hash.
    public var controlHash: Digest32
    /// The folder whose content shows at the zone's root.
    public var rootRecord: RecordName?
    /// The last own segment.
    public var last: Position
    /// Where the own head file is written on.
    public var headCursor: Data?
    /// Whether the own head should be appended to.
    public var isHeadDirty: Bool
    /// When all heads were last read, milliseconds since 1970; 0 for never.
    public var asOf: UInt64

    /// A row from its parts.
    public init(
        id: ZoneID, kind: ZoneKind, root: RootKind, state: State = .active, isMine: Bool, keyring: Data, control: Data,
        controlVersion: UInt64, controlHash: Digest32, rootRecord: RecordName? = nil, last: Position = .start,
        headCursor: Data? = nil, isHeadDirty: Bool = true, asOf: UInt64 = 0
    ) {
        self.id = id
        self.kind = kind
        self.root = root
        self.state = state
        self.isMine = isMine
        self.keyring = keyring
        self.control = control
        self.controlVersion = controlVersion
        self.controlHash = controlHash
        self.rootRecord = rootRecord
        self.last = last
        self.headCursor = headCursor
        self.isHeadDirty = isHeadDirty
        self.asOf = asOf
    }

    init(_ row: Row) throws {
        id = try row.zoneID("id")
        kind = ZoneKind(rawValue: row["kind"]) ?? .share
        root = RootKind(rawValue: row["scope"]) ?? .shared
        state = State(rawValue: row["state"]) ?? .ended
        isMine = row["isMine"]
        keyring = row["keyring"]
        control = row["control"]
        controlVersion = UInt64(bitPattern: row["controlVersion"])
        controlHash = row.digest("controlHash") ?? Position.start.hash
        rootRecord = RecordName(bytes: row.bytes("rootRecord"))
        last = Position(
            sequence: UInt64(bitPattern: row["lastSequence"]), hash: row.digest("lastHash") ?? Position.start.hash)
        headCursor = row["headCursor"]
        isHeadDirty = row["headDirty"]
        asOf = UInt64(bitPattern: row["asOf"])
    }
}

/// What this replica knows of another replica's part in a zone.
public struct PeerRow: Sendable {
    /// The replica.
    public var replica: ReplicaID
    /// Its account, once a valid head was read.
    public var account: AccountID?
    /// Where its head file is read on.
    public var cursor: Data?
    /// The last segment that its head names.
    public var head: Position
    /// The last segment that was applied here: this replica's part of the zone's change token.
    public var applied: Position
    /// When its head was written, by its own clock.
    public var headTime: UInt64

    /// A row from its parts.
    public init(
        replica: ReplicaID, account: AccountID? = nil, cursor: Data? = nil, head: Position = .start,
        applied: Position = .start, headTime: UInt64 = 0
    ) {
        self.replica = replica
        self.account = account
        self.cursor = cursor
        self.head = head
        self.applied = applied
        self.headTime = headTime
    }
}

extension Database {
    /// All zones known, in a fixed order.
    public func zones() throws -> [ZoneRow] {
        try Row.fetchAll(cachedStatement(sql: "SELECT * FROM zone ORDER BY id")).map(ZoneRow.init)
    }

    /// One zone.
    public func zone(_ id: ZoneID) throws -> ZoneRow? {
        try Row.fetchOne(cachedStatement(sql: "SELECT * FROM zone WHERE id = ?"), arguments: [id.data])
            .map(ZoneRow.init)
    }

    /// Stores a zone.
    public func setZone(_ zone: ZoneRow) throws {
        try cachedStatement(
            sql: """
                INSERT OR REPLACE INTO zone (id, kind, scope, state, isMine, keyring, control, controlVersion,
                    controlHash, rootRecord, lastSequence, lastHash, headCursor, headDirty, asOf)
                VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
                """
        ).execute(arguments: [
            zone.id.data, zone.kind.rawValue, zone.root.rawValue, zone.state.rawValue, zone.isMine, zone.keyring,
            zone.control, Int64(bitPattern: zone.controlVersion), zone.controlHash.data, zone.rootRecord?.data,
            Int64(bitPattern: zone.last.sequence), zone.last.hash.data, zone.headCursor, zone.isHeadDirty,
            Int64(bitPattern: zone.asOf),
        ])
    }

    /// Forgets a zone's records, changes and positions. The row itself stays, so that it is not taken for a new one, and
    /// what this replica has published or was about to: its head goes on naming that.
    public func forgetRecords(of zone: ZoneID) throws {
        for table in [
            "change", "record", "base", "sidecar", "sidecarState", "peer", "staged", "intent", "position",
        ] {
            try cachedStatement(sql: "DELETE FROM \(table) WHERE zone = ?").execute(arguments: [zone.data])
        }
    }

    /// The peers of a zone.
    public func peers(of zone: ZoneID) throws -> [PeerRow] {
        try Row.fetchAll(
            cachedStatement(sql: "SELECT * FROM peer WHERE zone = ? ORDER BY replica"), arguments: [zone.data]
        )
        .map { row in
            PeerRow(
                replica: try row.replicaID("replica"), account: row.digest("account").map(AccountID.init),
                cursor: row["cursor"],
                head: Position(
                    sequence: UInt64(bitPattern: row["headSequence"]),
                    hash: row.digest("headHash") ?? Position.start.hash),
                applied: Position(
                    sequence: UInt64(bitPattern: row["sequence"]), hash: row.digest("hash") ?? Position.start.hash),
                headTime: UInt64(bitPattern: row["headTime"]))
        }
    }

    /// Stores a peer of a zone.
    public func setPeer(_ peer: PeerRow, in zone: ZoneID) throws {
        try cachedStatement(
            sql: """
                INSERT OR REPLACE INTO peer (zone, replica, account, cursor, headSequence, headHash, sequence, hash,
                    headTime) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
                """
        ).execute(arguments: [
            zone.data, peer.replica.data, peer.account?.data, peer.cursor, Int64(bitPattern: peer.head.sequence),
            peer.head.hash.data, Int64(bitPattern: peer.applied.sequence), peer.applied.hash.data,
            Int64(bitPattern: peer.headTime),
        ])
    }

    /// Segments that heads name and that were not applied here yet; a billion for each chain at most, as a head may name any
    /// number.
    public func missingSegments(in zone: ZoneID? = nil) throws -> Int {
        try Int.fetchOne(
            cachedStatement(
                sql: """
                    SELECT coalesce(sum(min(max(headSequence - sequence, 0), 1000000000)), 0)
                    FROM peer JOIN zone ON zone.id = peer.zone
                    WHERE zone.state = 'active' AND (? IS NULL OR peer.zone = ?)
                    """), arguments: [zone?.data, zone?.data]) ?? 0
    }
}

extension Row {
    /// The columns `sequence` and `hash`.
    fileprivate var position: Position {
        Position(sequence: UInt64(bitPattern: self["sequence"]), hash: digest("hash") ?? Position.start.hash)
    }
}

/// A part of a transaction that did not arrive whole yet.
public struct StagedPart: Sendable {
    /// The transaction.
    public var bundle: Data
    /// The account that sent it.
    public var account: AccountID
    /// The segment it came in.
    public var sequence: UInt64
    /// The changes, as the cloud layer serializes them.
    public var payload: Data
}

extension Database {
    /// Keeps a part of a transaction until its last part arrives.
    public func stage(
        bundle: Data, zone: ZoneID, replica: ReplicaID, sequence: UInt64, account: AccountID, payload: Data
    ) throws {
        try cachedStatement(
            sql: "INSERT INTO staged (zone, replica, sequence, bundle, account, payload) VALUES (?, ?, ?, ?, ?, ?)"
        ).execute(arguments: [zone.data, replica.data, Int64(bitPattern: sequence), bundle, account.data, payload])
    }

    /// Takes the kept parts of a transaction, in order, out of the database.
    public func unstage(bundle: Data, zone: ZoneID, replica: ReplicaID) throws -> [StagedPart] {
        let rows = try Row.fetchAll(
            cachedStatement(sql: "SELECT * FROM staged WHERE zone = ? AND replica = ? AND bundle = ? ORDER BY id"),
            arguments: [zone.data, replica.data, bundle])
        try cachedStatement(sql: "DELETE FROM staged WHERE zone = ? AND replica = ? AND bundle = ?").execute(
            arguments: [zone.data, replica.data, bundle])
        return try rows.map { row in
            StagedPart(
                bundle: row["bundle"], account: try row.accountID("account"),
                sequence: UInt64(bitPattern: row["sequence"]), payload: row["payload"])
        }
    }

    /// Goes through the kept parts of a transaction, in order, and drops them.
    public func unstage(bundle: Data, zone: ZoneID, replica: ReplicaID, each body: (StagedPart) throws -> Void) throws {
        let arguments: StatementArguments = [zone.data, replica.data, bundle]
        let rows = try Row.fetchCursor(
            self, sql: "SELECT * FROM staged WHERE zone = ? AND replica = ? AND bundle = ? ORDER BY id",
            arguments: arguments)
        while let row = try rows.next() {
            try body(
                StagedPart(
                    bundle: row["bundle"], account: try row.accountID("account"),
                    sequence: UInt64(bitPattern: row["sequence"]), payload: row["payload"]))
        }
        try cachedStatement(sql: "DELETE FROM staged WHERE zone = ? AND replica = ? AND bundle = ?").execute(
            arguments: arguments)
    }

    /// The first segment of a replica of which a part of a transaction is kept that has not arrived as a whole; nil for none.
    public func firstStaged(in zone: ZoneID, by replica: ReplicaID) throws -> UInt64? {
        try Int64.fetchOne(
            cachedStatement(sql: "SELECT min(sequence) FROM staged WHERE zone = ? AND replica = ?"),
            arguments: [zone.data, replica.data]
        ).map { max(1, UInt64(bitPattern: $0)) }
    }

    /// Takes back segments that were built and that nobody can have seen: what is in them is pending again.
    ///
    /// - Parameter seen: the last one that stays; nil for the last one that the own head names.
    /// - Returns: false, and nothing is changed, if some of them say something else than news of this replica's.
    public func takeBackOutbox(
        of zone: ZoneID, after seen: Position? = nil, by replica: ReplicaID
    ) throws -> Bool {
        guard var row = try self.zone(zone) else { return false }
        let published = UInt64(
            bitPattern: try Int64.fetchOne(
                cachedStatement(sql: "SELECT sequence FROM published WHERE zone = ?"), arguments: [zone.data]) ?? 0)
        let kept = max(published, seen?.sequence ?? 0)
        let last: Position? = kept == 0 ? .start : try position(kept, of: replica, in: zone)
        let arguments: StatementArguments = [zone.data, replica.data, Int64(bitPattern: kept)]
        let isOther = try Bool.fetchOne(
            cachedStatement(
                sql: """
                    SELECT EXISTS (SELECT 1 FROM change
                        WHERE zone = ?1 AND sender = ?2 AND sequence > ?3 AND (replica <> ?2 OR state <> 1))
                    """), arguments: arguments)
        guard let last, isOther == false, try snapshot(of: zone).snapshot.sequence <= kept else { return false }
        try cachedStatement(
            sql: "UPDATE change SET state = 0, sequence = 0 WHERE zone = ?1 AND sender = ?2 AND sequence > ?3"
        ).execute(arguments: arguments)
        try cachedStatement(sql: "DELETE FROM position WHERE zone = ?1 AND replica = ?2 AND sequence > ?3").execute(
            arguments: arguments)
        try cachedStatement(sql: "DELETE FROM outbox WHERE zone = ? AND sequence > ?").execute(
            arguments: [zone.data, Int64(bitPattern: kept)])
        row.last = last
        try setZone(row)
        return true
    }

    /// Segments that were built, and perhaps published, but not named by the own head yet.
    public func outbox(of zone: ZoneID) throws -> [(position: Position, bytes: [UInt8])] {
        try Row.fetchAll(
            cachedStatement(
                sql: """
                    SELECT * FROM outbox
                    WHERE zone = ?1 AND sequence > coalesce((SELECT sequence FROM published WHERE zone = ?1), 0)
                    ORDER BY sequence
                    """), arguments: [zone.data]
        ).map { row in (row.position, row.bytes("bytes")) }
    }

    /// The own segments of a zone that are kept, in order, without their bytes.
    public func keptSegments(of zone: ZoneID) throws -> [Position] {
        try Row.fetchAll(
            cachedStatement(sql: "SELECT sequence, hash FROM outbox WHERE zone = ? ORDER BY sequence"),
            arguments: [zone.data]
        ).map(\.position)
    }

    /// The bytes of an own segment; nil if it is not kept.
    public func keptSegment(_ position: Position, of zone: ZoneID) throws -> [UInt8]? {
        try Row.fetchOne(
            cachedStatement(sql: "SELECT bytes FROM outbox WHERE zone = ? AND sequence = ? AND hash = ?"),
            arguments: [zone.data, Int64(bitPattern: position.sequence), position.hash.data]
        ).map { $0.bytes("bytes") }
    }

    /// Keeps a control of a zone, byte for byte; `sequence` is its version.
    public func keepControl(_ version: Position, bytes: [UInt8], of zone: ZoneID) throws {
        try cachedStatement(sql: "INSERT OR IGNORE INTO keptControl VALUES (?, ?, ?, ?)").execute(arguments: [
            zone.data, Int64(bitPattern: version.sequence), version.hash.data, Data(bytes),
        ])
    }

    /// The controls of a zone that are kept, in order of their versions.
    public func keptControls(of zone: ZoneID) throws -> [(version: Position, bytes: [UInt8])] {
        try Row.fetchAll(
            cachedStatement(
                sql: "SELECT version AS sequence, hash, bytes FROM keptControl WHERE zone = ? ORDER BY version, hash"),
            arguments: [zone.data]
        ).map { ($0.position, $0.bytes("bytes")) }
    }

    /// Keeps a segment until the own head names it.
    public func setOutbox(_ position: Position, bytes: [UInt8], zone: ZoneID) throws {
        try cachedStatement(sql: "INSERT OR REPLACE INTO outbox VALUES (?, ?, ?, ?)").execute(arguments: [
            zone.data, Int64(bitPattern: position.sequence), position.hash.data, Data(bytes),
        ])
    }

    /// Notes that the own head names the segments up to a number. They are kept, in case that the mount loses them.
    public func clearOutbox(of zone: ZoneID, upTo sequence: UInt64) throws {
        try cachedStatement(sql: "INSERT OR REPLACE INTO published VALUES (?, ?)").execute(arguments: [
            zone.data, Int64(bitPattern: sequence),
        ])
    }
}

extension Database {
    /// Notes which segment of its number was applied.
    public func setPosition(_ position: Position, of replica: ReplicaID, in zone: ZoneID) throws {
        try cachedStatement(sql: "INSERT OR REPLACE INTO position VALUES (?, ?, ?, ?)")
            .execute(arguments: [
                zone.data, replica.data, Int64(bitPattern: position.sequence), position.hash.data,
            ])
    }

    /// The segment of a number that was applied; nil if none was.
    public func position(_ sequence: UInt64, of replica: ReplicaID, in zone: ZoneID) throws -> Position? {
        try Row.fetchOne(
            cachedStatement(sql: "SELECT hash FROM position WHERE zone = ? AND replica = ? AND sequence = ?"),
            arguments: [zone.data, replica.data, Int64(bitPattern: sequence)]
        )?.digest("hash").map { Position(sequence: sequence, hash: $0) }
    }

    /// Gives up all that was taken from one replica's chain, which is about to be read again in another version: it stays
    /// in the history, and counts again only where that version has it too.
    public func giveUpChain(of replica: ReplicaID, in zone: ZoneID) throws {
        let arguments: StatementArguments = [zone.data, replica.data]
        let records = try Data.fetchAll(
            cachedStatement(sql: "SELECT DISTINCT record FROM change WHERE zone = ? AND sender = ? AND sequence > 0"),
            arguments: arguments)
        try cachedStatement(
            sql: "UPDATE change SET state = 3, scope = 0 WHERE zone = ? AND sender = ? AND sequence > 0"
        ).execute(
            arguments: arguments)
        try cachedStatement(sql: "DELETE FROM position WHERE zone = ? AND replica = ?").execute(arguments: arguments)
        try cachedStatement(sql: "DELETE FROM staged WHERE zone = ? AND replica = ?").execute(arguments: arguments)
        for record in records.compactMap({ RecordName(bytes: $0) }) { try refresh(record, in: zone, after: nil) }
    }
}
