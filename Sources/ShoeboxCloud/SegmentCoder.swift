import FoundationEssentials
import ShoeboxFormat
public import ShoeboxModel

/// Segments as bytes. Pure: publishing is `ZoneFolder.publishSegment`, so that the caller can store the exact bytes first
/// and publish the same ones again after a crash.
public enum SegmentCoder {
    /// The most bytes of a segment file. A segment made of one oversized change may have this many.
    public static let bytesMax = 71_303_168

    /// The file for these transactions, and its place in the chain after `previous`.
    ///
    /// - Parameters:
    ///   - isSealed: as the zone's control says; a sealed zone needs a current key in the keyring.
    ///   - snapshotFirst: in parts of a snapshot the number of its first part; 0 for news.
    ///   - randomBytes: for a nonce of 12 bytes; never the same twice.
    /// - Throws: `.missingKey` if there is no current key; `.invalid` if the content is too large.
    public static func encode(
        _ transactions: [SegmentTransaction], zone: ZoneID, after previous: Position, isSealed: Bool,
        keyring: ZoneKeyring, identity: Identity, snapshotFirst: UInt64 = 0, randomBytes: (Int) -> [UInt8]
    ) throws(CloudError) -> (bytes: [UInt8], position: Position) {
        var body = WireSegmentBody()
        body.transactions = transactions.map { transaction in
            var wire = WireTransaction()
            wire.id = ReplicaID(transaction.id).wireBytes
            wire.isLast = transaction.isLast
            wire.changes = transaction.changes.map(\.wire)
            wire.sequences = transaction.sequences
            return wire
        }
        let plain = try serialize(body)
        guard plain.count <= Zlib.plainCountMax, SegmentShape.isAffordable(plain), previous.sequence < .max else {
            throw .invalid("A change is too large to travel: \(plain.count) bytes.")
        }
        let compressed = try Zlib.deflate(plain)
        var header = WireSegmentHeader()
        header.zone = zone.digest.wireBytes
        header.replica = identity.replica.wireBytes
        header.replicaNonce = Data(identity.replicaNonce)
        header.account = identity.account.digest.wireBytes
        header.device = identity.device.digest.wireBytes
        header.sequence = previous.sequence + 1
        header.previous = previous.hash.wireBytes
        header.plainCount = UInt64(plain.count)
        header.snapshotFirst = snapshotFirst
        var stored = compressed
        var headerBytes: [UInt8]
        if isSealed {
            guard let epoch = keyring.current, let key = keyring.key(epoch) else { throw missingKey(nil) }
            header.epoch = epoch.wire
            headerBytes = try serialize(header)
            stored = try SealedBody.seal(
                compressed, key: key, purpose: purpose(identity.replica), header: headerBytes, nonce: randomBytes(12))
        } else {
            headerBytes = try serialize(header)
        }
        let bytes = try SignedFile.encode(
            .segment, header: headerBytes, body: stored, signingKey: identity.signingKey)
        return (bytes, Position(sequence: header.sequence, hash: sha256(bytes)))
    }

    /// The message in the plain bytes of a body.
    static func parseBody(_ plain: [UInt8]) throws(CloudError) -> WireSegmentBody {
        guard SegmentShape.isAffordable(plain) else {
            throw .damaged("A segment has more than \(SegmentShape.messagesMax) parts, more than allowed.")
        }
        return try parse(WireSegmentBody.self, plain, "segment body")
    }

    /// Each replica's segments are sealed with a key of their own, so that nonces of two replicas can't meet.
    static func purpose(_ replica: ReplicaID) -> [UInt8] { Array("shoebox.segment/1".utf8) + replica.bytes }

    static func missingKey(_ epoch: EpochID?) -> CloudError {
        CloudError(
            code: .missingKey,
            message: epoch.map { "The key of epoch \($0.number) is not known." } ?? "There is no key to seal with.",
            remedy: "It comes with the zone's next control, unless this account was removed from the zone.")
    }
}

extension SegmentCoder {
    /// The epoch in which a segment of ours is sealed; nil for a plain one.
    public static func epoch(of bytes: [UInt8]) throws(CloudError) -> EpochID? {
        let wire = try parse(WireSegmentHeader.self, try SignedFile.decode(.segment, bytes).header, "segment")
        return wire.hasEpoch ? try EpochID(wire: wire.epoch) : nil
    }

    /// Whether nothing in a segment of ours goes on in the next one.
    public static func endsWhole(
        _ bytes: [UInt8], zone: ZoneID, replica: ReplicaID, keyring: ZoneKeyring
    ) throws(CloudError) -> Bool {
        let file = try SegmentFile(bytes, zone: zone, replica: replica)
        return try file.open(replica: replica, keyring: keyring, isSealed: file.epoch != nil).transactions
            .allSatisfy(\.isLast)
    }
}

/// A segment file whose header is read and checked, and whose body is not opened yet.
struct SegmentFile {
    var file: SignedFile
    var wire: WireSegmentHeader
    var position: Position
    var previous: Position
    var account: AccountID
    var device: DeviceID
    var epoch: EpochID?
    /// See `Segment.snapshotFirst`.
    var snapshotFirst: UInt64 { wire.snapshotFirst }
    /// How many bytes its body is inflated to.
    var plainCount: UInt64 { wire.plainCount }

    /// The header of a file that must be of this zone and replica. Checks all but that the device is the account's.
    init(_ bytes: [UInt8], zone: ZoneID, replica: ReplicaID) throws(CloudError) {
        file = try SignedFile.decode(.segment, bytes)
        wire = try parse(WireSegmentHeader.self, file.header, "segment")
        account = AccountID(try digest(wire.account, "segment.account"))
        device = DeviceID(try digest(wire.device, "segment.device"))
        epoch = wire.hasEpoch ? try EpochID(wire: wire.epoch) : nil
        guard wire.sequence > 0 else { throw .damaged("A segment has the number 0.") }
        guard wire.snapshotFirst <= wire.sequence, wire.snapshotFirst != 1 else {
            throw .damaged("A part of a snapshot names a first part that can't be.")
        }
        position = Position(sequence: wire.sequence, hash: file.hash)
        previous = Position(sequence: wire.sequence - 1, hash: try digest(wire.previous, "segment.previous"))
        guard wire.sequence > 1 || previous == .start else {
            throw .damaged("The first segment of a chain names one before it.")
        }
        guard wire.zone == zone.digest.wireBytes, wire.replica == replica.wireBytes else {
            throw .damaged("A segment is of another zone or replica than the directory it lies in.")
        }
        guard wire.replicaNonce.count == 16,
            ReplicaID.certified(device: device, nonce: Array(wire.replicaNonce)) == replica
        else { throw .damaged("A segment is signed by a device that the replica doesn't belong to.") }
        guard file.isSigned(.segment, by: device) else { throw .damaged("The signature of a segment is wrong.") }
    }

    /// The content. `.missingKey` if the epoch's key isn't known; a zone's control says whether plain is allowed.
    func open(replica: ReplicaID, keyring: ZoneKeyring, isSealed: Bool) throws(CloudError) -> Segment {
        guard isSealed == (epoch != nil) else {
            throw .damaged("A segment is plain in a sealed zone, or sealed in a plain one.")
        }
        var compressed = file.body
        if let epoch {
            guard let key = keyring.key(epoch) else { throw SegmentCoder.missingKey(epoch) }
            compressed = try SealedBody.open(
                compressed, key: key, purpose: SegmentCoder.purpose(replica), header: file.header)
        }
        let plain = try Zlib.inflate(compressed, plainCount: wire.plainCount)
        let body = try SegmentCoder.parseBody(plain)
        var transactions: [SegmentTransaction] = []
        transactions.reserveCapacity(body.transactions.count)
        for entry in body.transactions {
            guard let id = ReplicaID(bytes: entry.id) else { throw .damaged("A transaction's id has not 16 bytes.") }
            var changes: [Change] = []
            changes.reserveCapacity(entry.changes.count)
            for change in entry.changes {
                do { changes.append(try Change(wire: change)) } catch { throw .damaged(error) }
            }
            var sequences: [UInt64] = []
            if wire.snapshotFirst > 0 {
                sequences = entry.sequences
                guard sequences.count == changes.count,
                    sequences.allSatisfy({ $0 > 0 && $0 < wire.snapshotFirst })
                else { throw .damaged("A snapshot doesn't say which segments its changes come from.") }
            }
            transactions.append(
                SegmentTransaction(id: id.value, isLast: entry.isLast, changes: changes, sequences: sequences))
        }
        return Segment(
            position: position, previous: previous, replica: replica, account: account, device: device, epoch: epoch,
            snapshotFirst: wire.snapshotFirst, transactions: transactions)
    }
}
