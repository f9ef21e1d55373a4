public import Foundation
import GRDB
public import ShoeboxModel

extension RecordName {
    /// The 16 bytes for a column.
    public var data: Data { Data(bytes) }
}
extension ZoneID {
    /// The 32 bytes for a column.
    public var data: Data { Data(digest.bytes) }
}
extension AccountID {
    /// The 32 bytes for a column.
    public var data: Data { Data(digest.bytes) }
}
extension ReplicaID {
    /// The 16 bytes for a column.
    public var data: Data { Data(bytes) }
}
extension Digest32 {
    /// The 32 bytes for a column.
    public var data: Data { Data(bytes) }
}
extension FileName {
    /// The bytes for a column.
    public var data: Data { Data(bytes) }
}

/// A row of the local database that does not hold what it must: the file is damaged.
public struct StoreError: Error, CustomStringConvertible, Sendable {
    /// What is wrong.
    public var message: String
    /// An error with a message.
    public init(_ message: String) { self.message = message }
    /// What is wrong, and what to do.
    public var description: String {
        "the local database is damaged: \(message). Move the state directory away and run 'shoebox sync': everything is rebuilt from your files and the container."
    }
}

extension Row {
    /// A column's bytes; empty for NULL.
    func bytes(_ column: String) -> [UInt8] { (self[column] as Data?).map(Array.init) ?? [] }

    /// A record name that must be there.
    func recordName(_ column: String) throws -> RecordName {
        guard let name = RecordName(bytes: bytes(column)) else {
            throw StoreError("column \(column) is no record name")
        }
        return name
    }
    /// A zone that must be there.
    func zoneID(_ column: String) throws -> ZoneID {
        guard let digest = Digest32(bytes: bytes(column)) else { throw StoreError("column \(column) is no zone") }
        return ZoneID(digest)
    }
    /// An account that must be there.
    func accountID(_ column: String) throws -> AccountID {
        guard let digest = Digest32(bytes: bytes(column)) else { throw StoreError("column \(column) is no account") }
        return AccountID(digest)
    }
    /// A replica that must be there.
    func replicaID(_ column: String) throws -> ReplicaID {
        guard let id = ReplicaID(bytes: bytes(column)) else { throw StoreError("column \(column) is no replica") }
        return id
    }
    /// A hash; nil for NULL.
    func digest(_ column: String) -> Digest32? { Digest32(bytes: bytes(column)) }
    /// A file name that must be there.
    func fileName(_ column: String) throws -> FileName {
        guard let name = FileName(bytes: bytes(column)) else { throw StoreError("column \(column) is no file name") }
        return name
    }
    /// A path in a watched folder; what is no name in it is left out.
    func relativePath(_ column: String) -> RelativePath {
        RelativePath(bytes(column).split(separator: UInt8(ascii: "/")).compactMap { FileName(bytes: Array($0)) })
    }
    /// A stamp from the columns size, modified, inode, birth and, where there is one, mode.
    func fileStamp() -> FileStamp {
        FileStamp(
            size: UInt64(bitPattern: self["size"] ?? 0), modifiedNanoseconds: self["modified"] ?? 0,
            inode: UInt64(bitPattern: self["inode"] ?? 0), birthNanoseconds: self["birth"] ?? 0,
            mode: UInt16(truncatingIfNeeded: (self["mode"] as Int64?) ?? 0o644))
    }
}

/// Timestamps and vectors as columns: fixed-size big-endian parts, so that timestamps order as bytes do.
package enum ColumnCoder {
    package static func data(_ timestamp: HybridTimestamp) -> Data {
        var bytes = (0..<8).map { UInt8(truncatingIfNeeded: timestamp.wallMilliseconds >> (56 - 8 * UInt64($0))) }
        bytes += [UInt8(timestamp.counter >> 8), UInt8(truncatingIfNeeded: timestamp.counter)]
        return Data(bytes + timestamp.replica.bytes)
    }

    package static func timestamp(_ bytes: [UInt8]) -> HybridTimestamp? {
        guard bytes.count == 26, let replica = ReplicaID(bytes: bytes[10...]) else { return nil }
        let wall = bytes[..<8].reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        return HybridTimestamp(
            wallMilliseconds: wall, counter: UInt16(bytes[8]) << 8 | UInt16(bytes[9]), replica: replica)
    }

    package static func data(_ vector: VersionVector) -> Data {
        var result = Data()
        for dot in vector.entries {
            result.append(contentsOf: dot.replica.bytes)
            result.append(contentsOf: (0..<8).map { UInt8(truncatingIfNeeded: dot.counter >> (56 - 8 * UInt64($0))) })
        }
        return result
    }

    package static func vector(_ bytes: [UInt8]) -> VersionVector {
        var result = VersionVector()
        for start in stride(from: 0, to: bytes.count - bytes.count % 24, by: 24) {
            guard let replica = ReplicaID(bytes: bytes[start..<start + 16]) else { continue }
            result.insert(
                Dot(replica: replica, counter: bytes[start + 16..<start + 24].reduce(0) { $0 << 8 | UInt64($1) }))
        }
        return result
    }

    /// Each vector with the number of its dots before it; nil for none.
    package static func data(_ vectors: [VersionVector]) -> Data? {
        guard !vectors.isEmpty else { return nil }
        var result = Data()
        for vector in vectors {
            let count = UInt32(vector.entries.count)
            result.append(contentsOf: (0..<4).map { UInt8(truncatingIfNeeded: count >> (24 - 8 * $0)) })
            result.append(data(vector))
        }
        return result
    }

    /// As many as there are whole.
    package static func vectors(_ bytes: [UInt8]) -> [VersionVector] {
        var result: [VersionVector] = []
        var start = 0
        while bytes.count - start >= 4 {
            let count = bytes[start..<start + 4].reduce(0) { $0 << 8 | Int($1) }
            start += 4
            guard count <= (bytes.count - start) / 24 else { break }
            result.append(vector(Array(bytes[start..<start + 24 * count])))
            start += 24 * count
        }
        return result
    }

    package static func data(_ ids: [RecordID]) -> Data? {
        ids.isEmpty ? nil : Data(ids.flatMap { $0.zone.digest.bytes + $0.name.bytes })
    }

    package static func recordIDs(_ bytes: [UInt8]) -> [RecordID] {
        stride(from: 0, to: bytes.count - bytes.count % 48, by: 48).compactMap { start in
            guard let zone = Digest32(bytes: bytes[start..<start + 32]),
                let name = RecordName(bytes: bytes[start + 32..<start + 48])
            else { return nil }
            return RecordID(zone: ZoneID(zone), name: name)
        }
    }
}
