import Foundation
public import GRDB
public import ShoeboxModel

/// Where the file of a record was found in the other watched folder.
public struct DepartureRow: Hashable, Sendable {
    /// The record whose file left.
    public var id: RecordID
    /// The file that the record had then. With another one in its place since, as when it was written anew, it is here again.
    public var former: FileIdentity
    /// The watched folder that it is in now: the other one, or, if it came back from there, the same.
    public var root: RootKind
    /// Its place there.
    public var path: RelativePath
    /// The file that was found.
    public var file: FileIdentity
    /// What it became there, once that is in the history.
    public var record: RecordID?

    /// A row from its parts.
    public init(
        id: RecordID, former: FileIdentity, root: RootKind, path: RelativePath, file: FileIdentity,
        record: RecordID? = nil
    ) {
        self.id = id
        self.former = former
        self.root = root
        self.path = path
        self.file = file
        self.record = record
    }
}

extension Schema {
    /// Files that went from one watched folder to the other: each of them is planned by itself, one after the other.
    static let departures = """
        CREATE TABLE departure (
            zone BLOB NOT NULL, record BLOB NOT NULL, formerInode INTEGER NOT NULL, formerBirth INTEGER NOT NULL,
            root INTEGER NOT NULL, path BLOB NOT NULL, inode INTEGER NOT NULL, birth INTEGER NOT NULL,
            newZone BLOB, newRecord BLOB,
            PRIMARY KEY (zone, record)
        ) WITHOUT ROWID;
        """
}

extension Database {
    /// Where a record's file was found in the other watched folder; nil if it was not.
    public func departure(of id: RecordID) throws -> DepartureRow? {
        try Row.fetchOne(
            cachedStatement(sql: "SELECT * FROM departure WHERE zone = ? AND record = ?"),
            arguments: [id.zone.data, id.name.data]
        ).map(DepartureRow.init)
    }

    /// The files that went to a watched folder, in the order of the records that they had.
    public func departures(to root: RootKind) throws -> [DepartureRow] {
        try Row.fetchAll(
            cachedStatement(sql: "SELECT * FROM departure WHERE root = ? ORDER BY zone, record"),
            arguments: [root.rawValue]
        ).map(DepartureRow.init)
    }

    /// Notes where a record's file was found. It is forgotten together with what its folder showed of the record.
    public func setDeparture(_ row: DepartureRow) throws {
        try cachedStatement(sql: "INSERT OR REPLACE INTO departure VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)").execute(
            arguments: [
                row.id.zone.data, row.id.name.data, Int64(bitPattern: row.former.inode), row.former.birthNanoseconds,
                row.root.rawValue, Data(row.path.bytes), Int64(bitPattern: row.file.inode), row.file.birthNanoseconds,
                row.record?.zone.data, row.record?.name.data,
            ])
    }

    /// Forgets that a record's file was found elsewhere.
    public func removeDeparture(of id: RecordID) throws {
        try cachedStatement(sql: "DELETE FROM departure WHERE zone = ? AND record = ?")
            .execute(arguments: [id.zone.data, id.name.data])
    }

    /// Forgets where the file of a record was found that is shown no more; what had become that record before went on with
    /// it, perhaps to another place in the folder that it had come from.
    func passOnDeparture(of id: RecordID) throws {
        guard let onward = try departure(of: id) else { return }
        try cachedStatement(
            sql: """
                UPDATE departure SET root = ?, path = ?, inode = ?, birth = ?, newZone = ?, newRecord = ?
                    WHERE newZone = ? AND newRecord = ?
                """
        ).execute(arguments: [
            onward.root.rawValue, Data(onward.path.bytes), Int64(bitPattern: onward.file.inode),
            onward.file.birthNanoseconds, onward.record?.zone.data, onward.record?.name.data, id.zone.data,
            id.name.data,
        ])
        try removeDeparture(of: id)
    }

    /// Says that what a file became elsewhere is another record from now on.
    public func rekeyDeparture(to old: RecordID, as new: RecordID) throws {
        try cachedStatement(
            sql: "UPDATE departure SET newZone = ?, newRecord = ? WHERE newZone = ? AND newRecord = ?"
        ).execute(arguments: [new.zone.data, new.name.data, old.zone.data, old.name.data])
    }
}

extension DepartureRow {
    init(_ row: Row) throws {
        id = RecordID(zone: try row.zoneID("zone"), name: try row.recordName("record"))
        former = FileIdentity(inode: UInt64(bitPattern: row["formerInode"]), birthNanoseconds: row["formerBirth"])
        root = RootKind(rawValue: row["root"]) ?? .library
        path = row.relativePath("path")
        file = FileIdentity(inode: UInt64(bitPattern: row["inode"]), birthNanoseconds: row["birth"])
        record =
            row["newZone"] == nil
            ? nil : RecordID(zone: try row.zoneID("newZone"), name: try row.recordName("newRecord"))
    }
}
