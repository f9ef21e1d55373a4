import FoundationEssentials
import ShoeboxFormat
public import ShoeboxModel
import SwiftProtobuf

/// What a replica says of its place in a zone; verified when it was read.
public struct HeadRecord: Hashable, Sendable {
    /// The replica.
    public var replica: ReplicaID
    /// Its account.
    public var account: AccountID
    /// Its device.
    public var device: DeviceID
    /// Its number among the replica's records in the zone, from 1.
    public var serial: UInt64
    /// What it says.
    public var content: HeadContent
    /// The last segment published; `.start` for none.
    public var last: Position { content.last }
    /// The first segment still kept.
    public var floor: UInt64 { content.floor }
    /// The newest control it knows.
    public var control: ControlVersion? { content.control }
    /// What it has applied of each replica.
    public var vector: [ReplicaID: Position] { content.vector }
}

/// What a replica's head says: the part that its writer decides.
public struct HeadContent: Hashable, Sendable {
    /// The last segment published; `.start` for none.
    public var last: Position
    /// The first segment still kept; 1 while nothing was folded.
    public var floor: UInt64
    /// The last part of the snapshot that begins at the floor; nil while nothing was folded.
    public var snapshot: Position?
    /// The newest control known.
    public var control: ControlVersion?
    /// The newest statement of the own account.
    public var statement: Position?
    /// The writer's wall clock, milliseconds since 1970.
    public var wallMilliseconds: UInt64
    /// What was applied of each replica.
    public var vector: [ReplicaID: Position]
    /// What the writer found absent or damaged, sorted; at most `wantedMax`: locations of assets, and chains as
    /// `log/<replica>`.
    public var wanted: [String] = []
    /// The most assets that a head asks for at a time.
    public static let wantedMax = 64
    /// A chain of which a segment is wanted, as `wanted` says it.
    public static func wantedChain(of replica: ReplicaID) -> String { "log/\(replica)" }
    /// Whether this is something that a head may ask for.
    static func isWantable(_ text: String) -> Bool {
        if AssetStore.locationIsValid(text) { return true }
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 2, parts[0] == "log", let replica = ReplicaID(hex: parts[1]) else { return false }
        return wantedChain(of: replica) == text
    }
    /// The generation of the account's own invitation that it gives back; 0 for none.
    public var left: UInt64 = 0
    /// The generation of the invitation that it gave back and wants again; 0 for none.
    public var returning: UInt64 = 0
    /// Up to where the writer has published, in its own chain, what counts of chains that the container had lost.
    public var carried: [ReplicaID: Position] = [:]

    /// Content from its parts.
    public init(
        last: Position, floor: UInt64 = 1, snapshot: Position? = nil, control: ControlVersion? = nil,
        statement: Position? = nil,
        wallMilliseconds: UInt64, vector: [ReplicaID: Position] = [:], wanted: [String] = [], left: UInt64 = 0,
        returning: UInt64 = 0, carried: [ReplicaID: Position] = [:]
    ) {
        self.last = last
        self.floor = floor
        self.snapshot = snapshot
        self.control = control
        self.statement = statement
        self.wallMilliseconds = wallMilliseconds
        self.vector = vector
        self.wanted = wanted
        self.left = left
        self.returning = returning
        self.carried = carried
    }
}

/// How far a replica's head file was read. Stored with what was learnt from it, so that a poll is one small read.
public struct HeadCursor: Hashable, Sendable, LosslessStringConvertible {
    /// Which file: the `n` of `heads/<replica>.<n>`.
    public var file: UInt64
    /// Bytes read of it; a multiple of 512.
    public var offset: UInt64
    /// The greatest serial seen; 0 for none.
    public var serial: UInt64
    /// By what the block before the offset is known again, see `HeadFormat.mark`; nil if it was not read.
    public var mark: UInt32?

    /// A cursor from its parts; without any, the start of the first file.
    public init(file: UInt64 = 0, offset: UInt64 = 0, serial: UInt64 = 0, mark: UInt32? = nil) {
        self.file = file
        self.offset = offset
        self.serial = serial
        self.mark = mark
    }

    /// `file.offset.serial`, and with a mark `file.offset.serial.mark`.
    public var description: String { "\(file).\(offset).\(serial)" + (mark.map { ".\($0)" } ?? "") }

    /// The cursor that `description` gave; nil for other text.
    public init?(_ description: String) {
        let parts = description.split(separator: ".", omittingEmptySubsequences: false).map { UInt64($0) }
        guard parts.count == 3 || parts.count == 4, let file = parts[0], let offset = parts[1], let serial = parts[2],
            offset.isMultiple(of: HeadFormat.block), offset < UInt64(Int64.max)
        else { return nil }
        var mark: UInt32?
        if parts.count == 4 {
            guard let known = parts[3].flatMap({ UInt32(exactly: $0) }) else { return nil }
            mark = known
        }
        self.init(file: file, offset: offset, serial: serial, mark: mark)
    }
}

/// The bytes of head files. Pure.
///
/// A record starts at a multiple of 512: magic (8 bytes), count of payload bytes (4, big-endian), the first 4 bytes of the
/// payload's SHA-256, the payload (a protobuf `Head`), the signature (64), then zeros up to a multiple of 512.
enum HeadFormat {
    static let block: UInt64 = 512
    static let magic = Array("SBHEAD1\n".utf8)
    static let payloadMax = 262_144
    /// The most bytes of a record, padding included.
    static let recordBytesMax = 16 + payloadMax + 64 + Int(block)
    /// A file that has grown to this size is continued in the next one.
    static let fileBytesMax: UInt64 = 1_048_576

    /// A record found in bytes; its checksum is right, its signature is not checked yet.
    struct Found: Equatable {
        var payload: [UInt8]
        var signature: [UInt8]
        /// Where it lies, padding included.
        var range: Range<Int>
    }

    static func signedBytes(_ payload: [UInt8]) -> [UInt8] { Array("shoebox.head/1\n".utf8) + payload }

    /// A record's bytes, padded.
    static func encode(_ wire: WireHead, signingKey: [UInt8]) throws(CloudError) -> [UInt8] {
        try encode(payload: serialize(wire), signingKey: signingKey)
    }

    /// As the other `encode`, of a payload that is bytes already.
    static func encode(payload: [UInt8], signingKey: [UInt8]) throws(CloudError) -> [UInt8] {
        guard payload.count <= payloadMax else { throw .invalid("A head names too many replicas.") }
        var bytes = magic
        bytes += bigEndian(UInt64(payload.count)).suffix(4)
        bytes += sha256(payload).bytes.prefix(4)
        bytes += payload
        bytes += try sign(signedBytes(payload), with: signingKey)
        return bytes + padding(UInt64(bytes.count))
    }

    /// Zeros up to the next multiple of 512.
    static func padding(_ count: UInt64) -> [UInt8] {
        [UInt8](repeating: 0, count: Int((block - count % block) % block))
    }

    /// By what a block is known again: the first 4 bytes of its SHA-256. What lies in it is signed; this only tells whether it
    /// is still there.
    static func mark(_ block: some Collection<UInt8>) -> UInt32 {
        sha256(Array(block)).bytes.prefix(4).reduce(0) { $0 << 8 | UInt32($1) }
    }

    /// The records in bytes that begin at a multiple of 512, by where they begin. `skipped` counts blocks between them that
    /// are neither zeros nor part of one: torn, or damaged.
    ///
    /// The checksum is over the payload alone: of a record torn in its signature the next one, which begins in the next
    /// block, takes the rest, so the blocks of a record's signature are looked at, too. Only a signature tells which is one.
    static func scan(_ bytes: [UInt8]) -> (records: [Found], skipped: Int) {
        let step = Int(block)
        var records: [Found] = []
        var (skipped, pendingSkips, end) = (0, 0, 0)
        var offset = 0
        while offset < bytes.count {
            if let found = record(in: bytes, at: offset) {
                records.append(found)
                skipped += pendingSkips
                (pendingSkips, end) = (0, max(end, found.range.upperBound))
                let signature = offset + 16 + found.payload.count
                offset = max(offset + step, signature / step * step)
                continue
            }
            if offset >= end, bytes[offset..<min(offset + step, bytes.count)].contains(where: { $0 != 0 }) {
                pendingSkips += 1
            }
            offset += step
        }
        return (records, skipped)
    }

    /// The records by falling serial, of equal ones the later first: one that an intruder copied to the end of the file
    /// is old all the same. Signatures are checked from the first on, and mostly only the first one's.
    static func newestFirst(_ records: [Found]) -> [Found] {
        records.enumerated().map { index, found in
            (serial: (try? WireHead(serializedBytes: found.payload).serial) ?? 0, index: index, found: found)
        }
        .sorted { ($0.serial, $0.index) > ($1.serial, $1.index) }.map(\.found)
    }

    private static func record(in bytes: [UInt8], at offset: Int) -> Found? {
        let step = Int(block)
        guard offset + 16 <= bytes.count, bytes[offset..<offset + 8].elementsEqual(magic) else { return nil }
        let count = bytes[offset + 8..<offset + 12].reduce(0) { $0 << 8 | Int($1) }
        guard count <= payloadMax else { return nil }
        let total = (16 + count + 64 + step - 1) / step * step
        guard offset + total <= bytes.count else { return nil }
        let payload = Array(bytes[offset + 16..<offset + 16 + count])
        guard bytes[offset + 12..<offset + 16].elementsEqual(sha256(payload).bytes.prefix(4)) else { return nil }
        let signature = Array(bytes[offset + 16 + count..<offset + 16 + count + 64])
        return Found(payload: payload, signature: signature, range: offset..<offset + total)
    }
}

extension HeadRecord {
    /// The record of a payload, which must be of this zone and replica; the signature and the replica's bond to the
    /// device are checked, the device's bond to the account is not. With it the next file's number, 0 for none.
    static func decode(
        _ found: HeadFormat.Found, zone: ZoneID, replica name: ReplicaID
    ) throws(CloudError) -> (record: HeadRecord, nextFile: UInt64) {
        let wire = try parse(WireHead.self, found.payload, "head")
        let device = DeviceID(try digest(wire.device, "head.device"))
        guard wire.zone == zone.digest.wireBytes, wire.replica == name.wireBytes else {
            throw .damaged("A head's record is of another zone or replica.")
        }
        guard wire.replicaNonce.count == 16,
            ReplicaID.certified(device: device, nonce: Array(wire.replicaNonce)) == name
        else { throw .damaged("A head's record is signed by a device that the replica doesn't belong to.") }
        guard isValid(found.signature, over: HeadFormat.signedBytes(found.payload), by: device) else {
            throw .damaged("The signature of a head's record is wrong.")
        }
        let control = wire.hasControl ? try wire.control.position("head.control") : nil
        let content = HeadContent(
            last: try wire.last.position("head.last"), floor: wire.floor,
            snapshot: wire.hasSnapshot ? try wire.snapshot.position("head.snapshot") : nil,
            control: control.map { ControlVersion(version: $0.sequence, hash: $0.hash) },
            statement: wire.hasStatement ? try wire.statement.position("head.statement") : nil,
            wallMilliseconds: wire.wallMilliseconds, vector: try positions(wire.vector, "head.vector"),
            wanted: wire.wanted.prefix(HeadContent.wantedMax).filter(HeadContent.isWantable), left: wire.left,
            returning: wire.returning, carried: try positions(wire.carried, "head.carried"))
        guard (content.last.sequence == 0) == (content.last == .start) else {
            throw .damaged("A head names a segment 0.")
        }
        if content.floor > 1 {
            guard let end = content.snapshot?.sequence, content.floor <= end, end <= content.last.sequence else {
                throw .damaged("A head says that segments were folded, and names no snapshot of them.")
            }
        }
        let record = HeadRecord(
            replica: name, account: AccountID(try digest(wire.account, "head.account")), device: device,
            serial: wire.serial, content: content)
        return (record, wire.nextFile)
    }

    /// The message for a record of this identity's replica.
    static func wire(
        _ content: HeadContent, zone: ZoneID, identity: Identity, serial: UInt64, nextFile: UInt64
    ) -> WireHead {
        var wire = WireHead()
        wire.zone = zone.digest.wireBytes
        wire.replica = identity.replica.wireBytes
        wire.replicaNonce = Data(identity.replicaNonce)
        wire.account = identity.account.digest.wireBytes
        wire.device = identity.device.digest.wireBytes
        wire.serial = serial
        wire.last = WirePosition(content.last)
        wire.floor = content.floor
        if let snapshot = content.snapshot { wire.snapshot = WirePosition(snapshot) }
        if let control = content.control {
            wire.control = WirePosition(Position(sequence: control.version, hash: control.hash))
        }
        if let statement = content.statement { wire.statement = WirePosition(statement) }
        wire.wallMilliseconds = content.wallMilliseconds
        wire.vector = entries(content.vector)
        wire.nextFile = nextFile
        wire.wanted = content.wanted.sorted().prefix(HeadContent.wantedMax).map { $0 }
        wire.left = content.left
        wire.returning = content.returning
        wire.carried = entries(content.carried)
        return wire
    }

    private static func positions(
        _ entries: [WireVectorEntry], _ name: String
    ) throws(CloudError) -> [ReplicaID: Position] {
        var result: [ReplicaID: Position] = [:]
        for entry in entries {
            result[try ShoeboxCloud.replica(entry.replica, name)] = try entry.position.position(name)
        }
        return result
    }

    private static func entries(_ positions: [ReplicaID: Position]) -> [WireVectorEntry] {
        positions.sorted { $0.key < $1.key }.map { replica, position in
            var entry = WireVectorEntry()
            entry.replica = replica.wireBytes
            entry.position = WirePosition(position)
            return entry
        }
    }
}
