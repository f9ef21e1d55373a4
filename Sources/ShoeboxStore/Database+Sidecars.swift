public import Foundation
public import GRDB
public import ShoeboxModel

/// The sidecar last written for, or read of, a record.
public struct SidecarRow: Sendable {
    /// The record.
    public var id: RecordID
    /// The sidecar's file name, beside the record's file.
    public var name: FileName
    /// The sidecar file as last seen.
    public var stamp: FileStamp
    /// The state it was written from; empty if it isn't ours.
    public var rev: String
    /// A row from its parts.
    public init(id: RecordID, name: FileName, stamp: FileStamp, rev: String) {
        self.id = id
        self.name = name
        self.stamp = stamp
        self.rev = rev
    }
}

/// Bytes that were renamed into place but are not known to be durable yet.
public struct IntentRow: Sendable {
    /// The row.
    public var rowID: Int64
    /// Which watched folder.
    public var root: RootKind
    /// Where.
    public var path: RelativePath
    /// The record.
    public var id: RecordID
    /// The file.
    public var inode: UInt64
    /// Its bytes.
    public var size: UInt64
    /// SHA-256 of them.
    public var contentHash: Digest32
    /// The boot during which it was written.
    public var boot: String
}

extension Database {
    /// The sidecar of a record.
    public func sidecar(_ id: RecordID) throws -> SidecarRow? {
        try Row.fetchOne(
            cachedStatement(sql: "SELECT * FROM sidecar WHERE zone = ? AND record = ?"),
            arguments: [id.zone.data, id.name.data]
        ).map { row in
            SidecarRow(id: id, name: try row.fileName("name"), stamp: row.fileStamp(), rev: row["rev"])
        }
    }

    /// Whether there is any sidecar at all.
    public func hasSidecars() throws -> Bool {
        try Bool.fetchOne(cachedStatement(sql: "SELECT EXISTS (SELECT 1 FROM sidecar WHERE zone >= x'')")) ?? false
    }

    /// The names of the sidecars of the photos that are shown in a directory of a watched folder.
    public func sidecarNames(in folder: RecordID, root: RootKind) throws -> [(id: RecordID, name: FileName)] {
        try Row.fetchAll(
            cachedStatement(
                sql: """
                    SELECT sidecar.zone, sidecar.record, sidecar.name FROM base CROSS JOIN sidecar USING (zone, record)
                    WHERE root = ? AND parentZone = ? AND parent = ? AND parked = 0
                    """),
            arguments: [root.rawValue, folder.zone.data, folder.name.data]
        ).map { row in
            (
                RecordID(zone: try row.zoneID("zone"), name: try row.recordName("record")),
                try row.fileName("name")
            )
        }
    }

    /// Stores what is known of a record's sidecar.
    public func setSidecar(_ row: SidecarRow) throws {
        try cachedStatement(sql: "INSERT OR REPLACE INTO sidecar VALUES (?, ?, ?, ?, ?, ?, ?, ?)").execute(arguments: [
            row.id.zone.data, row.id.name.data, row.name.data, Int64(bitPattern: row.stamp.size),
            row.stamp.modifiedNanoseconds, Int64(bitPattern: row.stamp.inode), row.stamp.birthNanoseconds, row.rev,
        ])
    }

    /// Forgets a record's sidecar.
    public func removeSidecar(_ id: RecordID) throws {
        try cachedStatement(sql: "DELETE FROM sidecar WHERE zone = ? AND record = ?").execute(arguments: [
            id.zone.data, id.name.data,
        ])
    }

    /// Says that the sidecar of one record, and the states it was written from, are another record's now.
    public func moveSidecar(from old: RecordID, to new: RecordID) throws {
        for table in ["sidecar", "sidecarState"] {
            try cachedStatement(
                sql: "UPDATE OR REPLACE \(table) SET zone = ?, record = ? WHERE zone = ? AND record = ?"
            ).execute(arguments: [new.zone.data, new.name.data, old.zone.data, old.name.data])
        }
    }

    /// The fields that a sidecar was written from, as JSON text; nil when they are not known (any more).
    public func sidecarState(rev: String, of id: RecordID) throws -> Data? {
        try Data.fetchOne(
            cachedStatement(sql: "SELECT fields FROM sidecarState WHERE rev = ? AND zone = ? AND record = ?"),
            arguments: [rev, id.zone.data, id.name.data])
    }

    /// What the first sidecar of a record was written from, as far as it is known.
    public func firstSidecarState(of id: RecordID) throws -> Data? {
        try Data.fetchOne(
            cachedStatement(
                sql:
                    "SELECT fields FROM sidecarState WHERE zone = ? AND record = ? AND rev <> '' AND instr(rev, ' ') = 0 ORDER BY created LIMIT 1"
            ),
            arguments: [id.zone.data, id.name.data])
    }

    /// Whether a state that a sidecar was written from was followed by another one before a time, milliseconds since 1970.
    public func isSidecarState(_ rev: String, of id: RecordID, outdatedBefore time: UInt64) throws -> Bool {
        try Bool.fetchOne(
            cachedStatement(
                sql: """
                    SELECT EXISTS (SELECT 1 FROM sidecarState
                        WHERE zone = ?1 AND record = ?2 AND instr(rev, ' ') = 0 AND created < ?3 AND created >
                        (SELECT created FROM sidecarState WHERE rev = ?4 AND zone = ?1 AND record = ?2))
                    """),
            arguments: [id.zone.data, id.name.data, Int64(bitPattern: time), rev]) ?? false
    }

    /// The records for which sidecars were written.
    public func recordsWithSidecarStates() throws -> [RecordID] {
        try Row.fetchAll(cachedStatement(sql: "SELECT DISTINCT zone, record FROM sidecarState ORDER BY zone, record"))
            .map { row in RecordID(zone: try row.zoneID("zone"), name: try row.recordName("record")) }
    }

    /// All that the sidecars of a record were written from.
    public func sidecarStates(of id: RecordID) throws -> [Data] {
        try Data.fetchAll(
            cachedStatement(sql: "SELECT fields FROM sidecarState WHERE zone = ? AND record = ? ORDER BY rev"),
            arguments: [id.zone.data, id.name.data])
    }

    /// The name among the states for what was last read, in one boot of the machine, of a sidecar that names a state.
    public static func readState(of rev: String, in file: String, boot: String) -> String {
        "\(rev) \(boot) \(file)"
    }

    /// Keeps the fields that a sidecar is written from, or (an empty `rev`) that were read last of one that a person made, or (a name
    /// of `readState`) of one that a person changed, and forgets those that were followed by another one so long ago.
    public func setSidecarState(
        rev: String, of id: RecordID, fields: Data, nowMilliseconds: UInt64, keptMilliseconds: UInt64
    ) throws {
        try cachedStatement(sql: "INSERT OR REPLACE INTO sidecarState VALUES (?, ?, ?, ?, ?)").execute(arguments: [
            rev, id.zone.data, id.name.data, fields, Int64(bitPattern: nowMilliseconds),
        ])
        let oldest = Int64(bitPattern: nowMilliseconds) - Int64(bitPattern: keptMilliseconds)
        // Not by its own age: one that was shown for a year, and until now, is what an editor holds open.
        try cachedStatement(
            sql: """
                DELETE FROM sidecarState WHERE zone = ?1 AND record = ?2
                    AND rev <> COALESCE((SELECT rev FROM sidecar WHERE zone = ?1 AND record = ?2), '')
                    AND EXISTS (SELECT 1 FROM sidecarState AS later
                        WHERE later.zone = ?1 AND later.record = ?2 AND later.rev <> '' AND instr(later.rev, ' ') = 0
                        AND later.created > sidecarState.created AND later.created < ?3)
                """
        ).execute(arguments: [id.zone.data, id.name.data, oldest])
    }

    /// Notes that a file is about to be renamed into place.
    public func addIntent(
        root: RootKind, path: RelativePath, id: RecordID, inode: UInt64, size: UInt64, contentHash: Digest32,
        boot: String
    ) throws {
        try cachedStatement(
            sql: """
                INSERT INTO intent (root, path, zone, record, inode, size, hash, boot) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
                """
        ).execute(arguments: [
            root.rawValue, Data(path.bytes), id.zone.data, id.name.data, Int64(bitPattern: inode),
            Int64(bitPattern: size), contentHash.data, boot,
        ])
    }

    /// Everything renamed into place and not known to be durable.
    public func intents() throws -> [IntentRow] {
        try Row.fetchAll(cachedStatement(sql: "SELECT * FROM intent ORDER BY id")).compactMap { row in
            guard let hash = row.digest("hash") else { return nil }
            return IntentRow(
                rowID: row["id"], root: RootKind(rawValue: row["root"]) ?? .library, path: row.relativePath("path"),
                id: RecordID(zone: try row.zoneID("zone"), name: try row.recordName("record")),
                inode: UInt64(bitPattern: row["inode"]), size: UInt64(bitPattern: row["size"]), contentHash: hash,
                boot: row["boot"])
        }
    }

    /// Forgets intents, by their rows: what they were for is durable.
    public func clearIntents(_ rowIDs: some Sequence<Int64>) throws {
        let statement = try cachedStatement(sql: "DELETE FROM intent WHERE id = ?")
        for rowID in rowIDs { try statement.execute(arguments: [rowID]) }
    }

    /// Every sidecar known.
    public func sidecars() throws -> [SidecarRow] {
        try Row.fetchAll(cachedStatement(sql: "SELECT * FROM sidecar ORDER BY zone, record")).map { row in
            SidecarRow(
                id: RecordID(zone: try row.zoneID("zone"), name: try row.recordName("record")),
                name: try row.fileName("name"), stamp: row.fileStamp(), rev: row["rev"])
        }
    }

    /// The asset that this replica wrote or verified for certain bytes.
    public func asset(_ contentHash: Digest32) throws -> AssetReference? {
        try Row.fetchOne(
            cachedStatement(sql: "SELECT * FROM asset WHERE hash = ?"), arguments: [contentHash.data]
        ).map { row in
            AssetReference(
                contentHash: contentHash, size: UInt64(bitPattern: row["size"]), location: row["location"],
                key: row.bytes("key"))
        }
    }

    /// Notes an asset that this replica wrote or verified.
    public func setAsset(_ asset: AssetReference) throws {
        guard let location = asset.location else { return }
        try cachedStatement(sql: "INSERT OR REPLACE INTO asset VALUES (?, ?, ?, ?)").execute(arguments: [
            asset.contentHash.data, Int64(bitPattern: asset.size), location, Data(asset.key),
        ])
    }

    /// Forgets an asset that turned out to be missing or damaged.
    public func removeAsset(_ contentHash: Digest32) throws {
        try cachedStatement(sql: "DELETE FROM asset WHERE hash = ?").execute(arguments: [contentHash.data])
    }
}

extension Database {
    /// Leaves a request for whoever runs the engine; returns its number.
    public func addRequest(_ body: String, nowMilliseconds: UInt64) throws -> Int64 {
        try cachedStatement(sql: "INSERT INTO request (created, body) VALUES (?, ?)").execute(arguments: [
            Int64(bitPattern: nowMilliseconds), body,
        ])
        return lastInsertedRowID
    }

    /// Requests that nobody has answered, oldest first.
    public func openRequests() throws -> [(id: Int64, body: String)] {
        try Row.fetchAll(cachedStatement(sql: "SELECT id, body FROM request WHERE result IS NULL ORDER BY id"))
            .map { ($0["id"], $0["body"]) }
    }

    /// Answers a request. Answers older than the newest hundred are forgotten.
    public func answerRequest(_ id: Int64, result: String) throws {
        try cachedStatement(sql: "UPDATE request SET result = ? WHERE id = ?").execute(arguments: [result, id])
        try cachedStatement(sql: "DELETE FROM request WHERE result IS NOT NULL AND id < ?").execute(arguments: [
            id - 100
        ])
    }

    /// The answer to a request; nil while there is none.
    public func requestResult(_ id: Int64) throws -> String? {
        try String.fetchOne(cachedStatement(sql: "SELECT result FROM request WHERE id = ?"), arguments: [id])
    }
}
