import Foundation
public import GRDB
public import ShoeboxModel
public import ShoeboxPlanning

/// As much of a row of the base tree as tells whether a file has changed: what a scan of a hundred thousand files reads.
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

extension Database {
    /// What was last shown in a folder, by name; columns are read by their position, which is several times faster.
    public func glances(in parent: RecordID, root: RootKind) throws -> [FileName: BaseGlance] {
        let cursor = try Row.fetchCursor(
            cachedStatement(
                sql: """
                    SELECT name, kind, size, modified, inode, birth, CASE kind WHEN 1 THEN zone END,
                        CASE kind WHEN 1 THEN record END FROM base
                    WHERE root = ? AND parentZone = ? AND parent = ? AND parked = 0
                    """), arguments: [root.rawValue, parent.zone.data, parent.name.data])
        var result: [FileName: BaseGlance] = [:]
        while let row = try cursor.next() {
            guard let name = try row.withUnsafeData(atIndex: 0, { $0.flatMap { FileName(bytes: [UInt8]($0)) } }) else {
                throw StoreError("a row of the base tree has no name")
            }
            let isFile = (row[1] as Int64) == 0
            var folder: RecordID?
            if !isFile {
                guard let zone = Digest32(bytes: [UInt8](row[6] as Data)),
                    let record = RecordName(bytes: [UInt8](row[7] as Data))
                else { throw StoreError("a folder of the base tree has no record") }
                folder = RecordID(zone: ZoneID(zone), name: record)
            }
            result[name] = BaseGlance(
                folder: folder, kind: isFile ? .file : .folder, size: UInt64(bitPattern: row[2] as Int64),
                modifiedNanoseconds: row[3], inode: UInt64(bitPattern: row[4] as Int64), birthNanoseconds: row[5])
        }
        return result
    }
}
