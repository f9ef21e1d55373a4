import Foundation
public import GRDB
public import ShoeboxModel
public import ShoeboxPlanning

/// Which watched folder.
public enum RootKind: Int64, Sendable, CaseIterable, Hashable {
    /// The library folder.
    case library = 0
    /// The shared folder.
    case shared = 1
}

/// One row of the base tree: what a watched folder showed when last agreed on. The path is derived from the parents.
public struct BaseRow: Hashable, Sendable {
    /// Which watched folder.
    public var root: RootKind
    /// The record.
    public var id: RecordID
    /// The folder it is shown in.
    public var parent: RecordID
    /// The name it has in the local folder.
    public var name: FileName
    /// What it is.
    public var kind: NodeKind
    /// As last seen.
    public var stamp: FileStamp
    /// SHA-256 of a file's bytes.
    public var contentHash: Digest32?
    /// The dots of the record that the folder shows: the context of what the user does to it.
    public var vector: VersionVector
    /// Records of equal place and bytes that this file stands for too.
    public var twins: [RecordID]
    /// The dots of each twin that the folder shows: the context of its deletion. Of a twin that is missing here, what is known
    /// of it when the row is stored is taken.
    public var twinVectors: [RecordID: VersionVector] = [:]
    /// Whether it lies in the root's temporary folder, on its way to its place.
    public var isParked: Bool

    /// A row from its parts.
    public init(
        root: RootKind, id: RecordID, parent: RecordID, name: FileName, kind: NodeKind, stamp: FileStamp,
        contentHash: Digest32?, vector: VersionVector, twins: [RecordID] = [], isParked: Bool = false
    ) {
        self.root = root
        self.id = id
        self.parent = parent
        self.name = name
        self.kind = kind
        self.stamp = stamp
        self.contentHash = contentHash
        self.vector = vector
        self.twins = twins
        self.isParked = isParked
    }

    /// Gives the twins other records, as when they are in another zone by now.
    public mutating func renameTwins(_ renamed: (RecordID) -> RecordID) {
        twins = twins.map(renamed)
        twinVectors = Dictionary(twinVectors.map { (renamed($0.key), $0.value) }) { first, _ in first }
    }

    /// The columns that a row is made from, in this order: by position they are found several times faster.
    static let columns = """
        root, zone, record, parentZone, parent, name, kind, size, modified, inode, birth, mode, hash, vector, twins, parked,
        twinVectors
        """

    init(_ row: Row) throws {
        func bytes(_ column: Int) throws -> [UInt8] {
            try row.withUnsafeData(atIndex: column) { $0.map(Array.init) ?? [] }
        }
        func recordID(_ zone: Int, _ record: Int) throws -> RecordID {
            guard let zone = Digest32(bytes: try bytes(zone)), let record = RecordName(bytes: try bytes(record)) else {
                throw StoreError("a row of the base tree names no record")
            }
            return RecordID(zone: ZoneID(zone), name: record)
        }
        root = RootKind(rawValue: row[0]) ?? .library
        id = try recordID(1, 2)
        parent = try recordID(3, 4)
        guard let name = FileName(bytes: try bytes(5)) else { throw StoreError("column name is no file name") }
        self.name = name
        kind = (row[6] as Int64) == 0 ? .file : .folder
        stamp = FileStamp(
            size: UInt64(bitPattern: row[7]), modifiedNanoseconds: row[8], inode: UInt64(bitPattern: row[9]),
            birthNanoseconds: row[10], mode: UInt16(truncatingIfNeeded: row[11] as Int64))
        contentHash = Digest32(bytes: try bytes(12))
        vector = ColumnCoder.vector(try bytes(13))
        twins = ColumnCoder.recordIDs(try bytes(14))
        isParked = row[15]
        // A row of before there were any has none.
        for (twin, shown) in zip(twins, ColumnCoder.vectors(try bytes(16))) { twinVectors[twin] = shown }
    }
}

extension Database {
    /// Stores a row of the base tree, in place of the record's former one and of whatever stood at its place.
    public func setBase(_ row: BaseRow) throws {
        let shown = try row.twins.map { try row.twinVectors[$0] ?? state(of: $0)?.vector ?? [:] }
        try cachedStatement(
            sql: """
                INSERT OR REPLACE INTO base (root, zone, record, parentZone, parent, name, kind, size, modified, inode,
                    birth, mode, hash, vector, twins, parked, twinVectors)
                    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
                """
        ).execute(arguments: [
            row.root.rawValue, row.id.zone.data, row.id.name.data, row.parent.zone.data, row.parent.name.data,
            row.name.data, row.kind == .file ? 0 : 1, Int64(bitPattern: row.stamp.size),
            row.stamp.modifiedNanoseconds, Int64(bitPattern: row.stamp.inode), row.stamp.birthNanoseconds,
            Int64(row.stamp.mode), row.contentHash?.data, ColumnCoder.data(row.vector), ColumnCoder.data(row.twins),
            row.isParked, ColumnCoder.data(shown),
        ])
    }

    /// Gives another record that the base has at a row's place a name of its own there, under which no file is: it was
    /// moved or deleted by its user just now, and the next scan finds out which.
    public func displace(by row: BaseRow) throws {
        guard let other = try base(named: row.name, in: row.parent, root: row.root), other.id != row.id else { return }
        try displace(other.id)
    }

    /// Gives a record that the base has at a place which another one takes such a name.
    public func displace(_ id: RecordID) throws {
        guard var row = try base(id), let name = FileName("displaced-\(id.name)") else { return }
        row.name = name
        try setBase(row)
    }

    /// Forgets what the folder showed of a record.
    public func removeBase(_ id: RecordID) throws {
        try cachedStatement(sql: "DELETE FROM base WHERE zone = ? AND record = ?")
            .execute(arguments: [id.zone.data, id.name.data])
        try passOnDeparture(of: id)
    }

    /// What the folder last showed of a record.
    public func base(_ id: RecordID) throws -> BaseRow? {
        try Row.fetchOne(
            cachedStatement(sql: "SELECT \(BaseRow.columns) FROM base WHERE zone = ? AND record = ?"),
            arguments: [id.zone.data, id.name.data]
        ).map(BaseRow.init)
    }

    /// What was last shown in a folder.
    public func baseChildren(of parent: RecordID, root: RootKind) throws -> [BaseRow] {
        try Row.fetchAll(
            cachedStatement(
                sql:
                    "SELECT \(BaseRow.columns) FROM base WHERE root = ? AND parentZone = ? AND parent = ? AND parked = 0"
            ),
            arguments: [root.rawValue, parent.zone.data, parent.name.data]
        ).map(BaseRow.init)
    }

    /// What was last shown under a name in a folder.
    public func base(named name: FileName, in parent: RecordID, root: RootKind) throws -> BaseRow? {
        try Row.fetchOne(
            cachedStatement(
                sql:
                    "SELECT \(BaseRow.columns) FROM base WHERE root = ? AND parentZone = ? AND parent = ? AND name = ? AND parked = 0"
            ),
            arguments: [root.rawValue, parent.zone.data, parent.name.data, name.data]
        ).map(BaseRow.init)
    }

    /// What was last shown with an inode.
    public func base(inode: UInt64, root: RootKind) throws -> [BaseRow] {
        try Row.fetchAll(
            cachedStatement(sql: "SELECT \(BaseRow.columns) FROM base WHERE root = ? AND inode = ?"),
            arguments: [root.rawValue, Int64(bitPattern: inode)]
        ).map(BaseRow.init)
    }

    /// What was last shown with certain bytes, in any watched folder; at most a few.
    public func base(contentHash: Digest32) throws -> [BaseRow] {
        try Row.fetchAll(
            cachedStatement(sql: "SELECT \(BaseRow.columns) FROM base WHERE hash = ? LIMIT 8"),
            arguments: [contentHash.data]
        ).map(BaseRow.init)
    }

    /// All that was last shown of a zone.
    public func base(in zone: ZoneID) throws -> [BaseRow] {
        try Row.fetchAll(
            cachedStatement(sql: "SELECT \(BaseRow.columns) FROM base WHERE zone = ?"), arguments: [zone.data]
        ).map(
            BaseRow.init)
    }

    /// All parked entries of a watched folder.
    public func parkedBase(root: RootKind) throws -> [BaseRow] {
        try Row.fetchAll(
            cachedStatement(sql: "SELECT \(BaseRow.columns) FROM base WHERE root = ? AND parked = 1"),
            arguments: [root.rawValue]
        )
        .map(BaseRow.init)
    }

    /// How many entries a watched folder last showed.
    public func baseCount(root: RootKind) throws -> Int {
        try Int.fetchOne(cachedStatement(sql: "SELECT count(*) FROM base WHERE root = ?"), arguments: [root.rawValue])
            ?? 0
    }

    /// The path of a folder as last shown: from its parents; nil if one of them isn't shown.
    ///
    /// - Parameter moved: folders that are known to be elsewhere by now, with their paths there.
    public func basePath(
        of id: RecordID, top: Set<RecordID>, moved: [RecordID: RelativePath] = [:]
    ) throws -> RelativePath? {
        var names: [FileName] = []
        var current = id
        while !top.contains(current) {
            if let path = moved[current] { return RelativePath(path.names + names.reversed()) }
            guard names.count < 256, let row = try base(current), !row.isParked else { return nil }
            names.append(row.name)
            current = row.parent
        }
        return RelativePath(names.reversed())
    }

    /// The folder or file that a path showed; the first of `top` for the root's own path.
    public func base(at path: RelativePath, root: RootKind, top: RecordID) throws -> RecordID? {
        var current = top
        for name in path.names {
            guard let row = try base(named: name, in: current, root: root) else { return nil }
            current = row.id
        }
        return current
    }
}

extension Database {
    /// All folders that a watched folder last showed.
    public func baseFolders(root: RootKind) throws -> [BaseRow] {
        try Row.fetchAll(
            cachedStatement(sql: "SELECT \(BaseRow.columns) FROM base WHERE root = ? AND kind = 1"),
            arguments: [root.rawValue]
        ).map(BaseRow.init)
    }
}
