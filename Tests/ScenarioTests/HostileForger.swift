import Foundation
import Shoebox
import ShoeboxFormat
import ShoeboxLibrary
import ShoeboxModel
import ShoeboxPlanning
import ShoeboxStore
import ShoeboxTestSupport
import ShoeboxWorld

@testable import ShoeboxCloud

/// Somebody who writes into a zone's folder with keys of their own, past all rules of the engine.
///
/// By default under a new replica of the account, so that the account's own engine goes on undisturbed.
final class Forger {
    let identity: Identity
    let folder: ZoneFolder
    let mount: any Mount
    var keyring: ZoneKeyring
    var last = Position.start
    var cursor = HeadCursor()
    var counter: UInt64 = 0
    var isSealed = true
    /// The control that its heads name.
    var control: ControlVersion?
    private var random: SeededGenerator

    /// - Parameter stranger: whether the keys of the zone are not known: an epoch of the forger's own takes their place.
    init(_ replica: Replica, zone: ZoneID, in village: Village, stranger: Bool = false, seed: UInt64 = 7) throws {
        random = SeededGenerator(seed: seed, part: "forger")
        var random = SeededGenerator(seed: seed, part: "forger replica")
        identity = try replica.identity.withNewReplica { random.bytes($0) }
        mount = SimulatedMount(client: "forger \(seed)", storage: village.world.storage)
        folder = ZoneFolder(zone: zone, mount: mount, accounts: AccountDirectory(mount: mount))
        keyring = ZoneKeyring()
        if stranger {
            let key = random.bytes(32)
            let epoch = EpochID(number: 1, key: key)
            try keyring.insert(key, for: epoch)
            keyring.current = epoch
        } else if let row = try replica.store.read({ db in try db.zone(zone) }) {
            keyring = try ZoneKeyring(serialized: Array(row.keyring))
        }
    }

    func bytes(_ count: Int) -> [UInt8] { random.bytes(count) }

    /// A change under the next dot of the forger's replica, or the one given.
    func change(
        _ record: RecordName, _ type: RecordType = .photo, _ action: Change.Action, context: VersionVector = [:],
        dot: Dot? = nil, author: AccountID? = nil, at milliseconds: UInt64 = 1_900_000_000_000
    ) -> Change {
        counter += 1
        return Change(
            record: record, type: type, dot: dot ?? Dot(replica: identity.replica, counter: counter), context: context,
            timestamp: HybridTimestamp(wallMilliseconds: milliseconds, counter: 0, replica: identity.replica),
            author: author ?? identity.account, action: action)
    }

    /// A new photo at the zone's root with bytes that are in the container.
    func photo(_ name: String, _ text: String, record: RecordName? = nil) throws -> Change {
        let asset = try upload(Array(text.utf8))
        return change(
            record ?? RecordName(bytes: bytes(16)) ?? RecordName(9), .photo,
            .set([.name: .name(try name.fileName), .parent: .null, .content: .asset(asset)]))
    }

    func upload(_ content: [UInt8]) throws -> AssetReference {
        try AssetStore(mount: mount).upload(
            from: BytesFile(content), size: UInt64(content.count), contentHash: sha256(content), identity: identity,
            randomBytes: bytes)
    }

    /// Publishes one segment with these changes and a head that names it.
    @discardableResult
    func send(_ changes: [Change], in zone: ZoneID? = nil) throws -> MountPath {
        let encoded = try SegmentCoder.encode(
            [SegmentTransaction(id: 1, changes: changes)], zone: zone ?? folder.zone, after: last, isSealed: isSealed,
            keyring: keyring, identity: identity, randomBytes: bytes)
        return try publish(encoded.bytes, encoded.position)
    }

    /// As `send`, with messages that no valid change gives.
    @discardableResult
    func send(wire changes: [WireChange]) throws -> MountPath {
        var body = WireSegmentBody()
        var transaction = WireTransaction()
        transaction.id = Data(count: 16)
        transaction.isLast = true
        transaction.changes = changes
        body.transactions = [transaction]
        let plain = try serialize(body)
        var header = WireSegmentHeader()
        header.zone = folder.zone.digest.wireBytes
        header.replica = identity.replica.wireBytes
        header.replicaNonce = Data(identity.replicaNonce)
        header.account = identity.account.digest.wireBytes
        header.device = identity.device.digest.wireBytes
        header.sequence = last.sequence + 1
        header.previous = last.hash.wireBytes
        header.plainCount = UInt64(plain.count)
        let epoch = keyring.current ?? EpochID(number: 1, key: [])
        header.epoch = epoch.wire
        let headerBytes = try serialize(header)
        let stored = try SealedBody.seal(
            Zlib.deflate(plain), key: keyring.key(epoch) ?? [], purpose: SegmentCoder.purpose(identity.replica),
            header: headerBytes, nonce: bytes(12))
        let file = try SignedFile.encode(.segment, header: headerBytes, body: stored, signingKey: identity.signingKey)
        return try publish(file, Position(sequence: last.sequence + 1, hash: sha256(file)))
    }

    /// Publishes the bytes of a segment, whatever they are, and names them.
    @discardableResult
    func publish(_ bytes: [UInt8], _ position: Position) throws -> MountPath {
        let path = folder.segmentPath(identity.replica, position)
        try mount.publish(path, bytes)
        last = position
        try appendHead()
        return path
    }

    /// Publishes a control over another one, and names it with the next head.
    func publish(
        _ control: Control, over parent: ControlVersion, lineage: [ControlVersion] = [],
        consent: TransferConsent? = nil
    ) throws {
        let bytes = try ControlFile.encode(
            control, zone: folder.zone, version: parent.version + 1, parents: [parent.hash], lineage: lineage,
            consent: consent, identity: identity, keyring: keyring, recipients: [], nowMilliseconds: 1,
            randomBytes: self.bytes)
        let version = ControlVersion(version: parent.version + 1, hash: sha256(bytes))
        try mount.publish("zones/\(folder.zone)/control/\(version)".mountPath, bytes)
        self.control = version
    }

    /// Appends a head that names the last segment and the control.
    func appendHead(wallMilliseconds: UInt64 = 0) throws {
        let written = try folder.appendHead(
            HeadContent(last: last, control: control, wallMilliseconds: wallMilliseconds), identity: identity,
            cursor: cursor)
        cursor = written.cursor
    }
}

/// A file in memory.
final class BytesFile: ReadableFile {
    let bytes: [UInt8]
    init(_ bytes: [UInt8]) { self.bytes = bytes }
    func stamp() throws(FileError) -> FileStamp {
        FileStamp(size: UInt64(bytes.count), modifiedNanoseconds: 0, inode: 1)
    }
    func read(at offset: UInt64, maxBytes: Int) throws(FileError) -> [UInt8] {
        offset < UInt64(bytes.count) ? Array(bytes[Int(offset)...].prefix(maxBytes)) : []
    }
}

/// A test's own data are not what they must be.
struct Unexpected: Error, CustomStringConvertible {
    var description: String
    init(_ description: String) { self.description = description }
}

extension String {
    /// This text as a file name.
    var fileName: FileName {
        get throws {
            guard let name = FileName(self) else { throw Unexpected("'\(self)' is no file name") }
            return name
        }
    }

    /// This text as a path on the mount.
    var mountPath: MountPath {
        get throws {
            guard let path = MountPath(self) else { throw Unexpected("'\(self)' is no path") }
            return path
        }
    }
}
