import Foundation
public import GRDB
internal import GRDBSQLite
public import ShoeboxModel
public import ShoeboxPlanning

/// As much of a row of the base tree as tells whether a file has changed.
public struct BaseGlance: Sendable {
    /// The record of a folder; nil for a file, whose record is looked up only when it has changed.
    public var folder: RecordID?
    /// What it is.
    public var kind: NodeKind
    /// Bytes as last seen.
    public var size: UInt64
    /// Modification time as last seen, nanoseconds.
    public var modifiedNanoseconds: Int64
    /// The inode as last seen.
    public var inode: UInt64
    /// The birth time as last seen, nanoseconds.
    public var birthNanoseconds: Int64

    /// Whether a stamp is of the same file.
    public func isSameFile(as stamp: FileStamp) -> Bool {
        inode == stamp.inode && birthNanoseconds == stamp.birthNanoseconds
    }

    /// Whether a stamp says that nothing has changed.
    public func isUnchanged(from stamp: FileStamp) -> Bool {
        isSameFile(as: stamp) && size == stamp.size && modifiedNanoseconds == stamp.modifiedNanoseconds
    }
}

/// What of a directory needs a look: everything but files that are as the base tree has them.
public struct DirectoryComparison: Sendable {
    /// An entry of the listing, by its position, and what the base has under its name.
    public struct Entry: Sendable {
        /// The position in the listing's entries.
        public var index: Int
        /// What the base has under that name; nil for nothing.
        public var glance: BaseGlance?
    }

    /// New, changed or special entries, and all directories, in the order of names.
    public var entries: [Entry] = []
    /// What the base has and the directory doesn't, in the order of names.
    public var missing: [(name: FileName, glance: BaseGlance)] = []

    /// A comparison with nothing: everything is new.
    public init(allOf listing: DirectoryListing) {
        entries = listing.entries.indices.map { Entry(index: $0, glance: nil) }
    }

    fileprivate init() {}
}

extension Database {
    /// Compares a listing with what was last shown in a folder.
    ///
    /// Both are in the order of names, so one pass does it; for a file that has not changed no value is made. Columns are
    /// read through SQLite's own functions: a scan of a hundred thousand files spends most of its time here.
    public func compare(
        _ listing: DirectoryListing, with parent: RecordID, root: RootKind
    ) throws -> DirectoryComparison {
        // The columns are those of the index `baseGlance`, so that no row is looked up.
        let statement = try cachedStatement(
            sql: """
                SELECT name, kind, size, modified, inode, birth, zone, record FROM base INDEXED BY baseGlance
                WHERE root = ? AND parentZone = ? AND parent = ? AND parked = 0 ORDER BY name
                """)
        try statement.setArguments([root.rawValue, parent.zone.data, parent.name.data])
        let row = statement.sqliteStatement
        defer { sqlite3_reset(row) }
        var result = DirectoryComparison()
        try listing.names.withUnsafeBytes { names in
            var index = 0
            while true {
                let code = sqlite3_step(row)
                if code == SQLITE_DONE { break }
                guard code == SQLITE_ROW else {
                    throw DatabaseError(resultCode: ResultCode(rawValue: code), message: lastErrorMessage)
                }
                let nameCount = Int(sqlite3_column_bytes(row, 0))
                guard nameCount > 0, let nameBytes = sqlite3_column_blob(row, 0) else {
                    throw StoreError("a row of the base tree has no name")
                }
                let name = UnsafeRawBufferPointer(start: nameBytes, count: nameCount)
                var isThere = false
                while index < listing.entries.count {
                    let entry = listing.entries[index]
                    let order = Self.order(
                        UnsafeRawBufferPointer(rebasing: names[entry.nameStart..<entry.nameStart + entry.nameCount]),
                        name)
                    if order > 0 { break }
                    if order == 0 {
                        isThere = true
                        break
                    }
                    result.entries.append(.init(index: index, glance: nil))
                    index += 1
                }
                var glance = BaseGlance(
                    folder: nil, kind: sqlite3_column_int64(row, 1) == 0 ? .file : .folder,
                    size: UInt64(bitPattern: sqlite3_column_int64(row, 2)),
                    modifiedNanoseconds: sqlite3_column_int64(row, 3),
                    inode: UInt64(bitPattern: sqlite3_column_int64(row, 4)),
                    birthNanoseconds: sqlite3_column_int64(row, 5))
                if isThere, glance.kind == .file, listing.entries[index].kind == .file,
                    glance.isUnchanged(from: listing.entries[index].stamp)
                {
                    index += 1
                    continue
                }
                if glance.kind == .folder { glance.folder = try Self.recordID(row, 6, 7) }
                if isThere {
                    result.entries.append(.init(index: index, glance: glance))
                    index += 1
                } else {
                    guard let name = FileName(bytes: Array(name)) else {
                        throw StoreError("a row of the base tree has a name that can't be")
                    }
                    result.missing.append((name, glance))
                }
            }
            while index < listing.entries.count {
                result.entries.append(.init(index: index, glance: nil))
                index += 1
            }
        }
        return result
    }

    /// Negative if the left name comes first, as SQLite and `FileName` order names; 0 if they are one.
    private static func order(_ left: UnsafeRawBufferPointer, _ right: UnsafeRawBufferPointer) -> Int {
        let common = min(left.count, right.count)
        if common > 0, let first = left.baseAddress, let second = right.baseAddress {
            let order = memcmp(first, second, common)
            if order != 0 { return Int(order) }
        }
        return left.count - right.count
    }

    private static func recordID(_ row: OpaquePointer, _ zone: Int32, _ record: Int32) throws -> RecordID {
        func bytes(_ column: Int32) -> [UInt8] {
            guard let start = sqlite3_column_blob(row, column) else { return [] }
            return Array(UnsafeRawBufferPointer(start: start, count: Int(sqlite3_column_bytes(row, column))))
        }
        guard let zone = Digest32(bytes: bytes(zone)), let record = RecordName(bytes: bytes(record)) else {
            throw StoreError("a folder of the base tree has no record")
        }
        return RecordID(zone: ZoneID(zone), name: record)
    }
}
