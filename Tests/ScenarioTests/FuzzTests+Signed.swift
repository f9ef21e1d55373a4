import ShoeboxFormat
import ShoeboxModel
import ShoeboxTestSupport
import ShoeboxWorld
import Testing

@testable import ShoeboxCloud

/// What somebody who takes part can sign: heads, headers of segments, and what they say they had published.
extension FuzzTests {
    static func signedTarget(_ name: String, _ share: FuzzedShare) throws -> Target? {
        let (identity, zone, replica) = (share.identity, share.zone, share.identity.replica)
        switch name {
        case "signedHead": return try headTarget(share)
        case "signedHeader":
            let news = try SignedFile.decode(.segment, try #require(share.log.first))
            let snapshot = try snapshot(of: share)
            return Target(name: name, corpus: [news.header, snapshot.header]) { header in
                let wire = try? parse(WireSegmentHeader.self, header, "segment")
                let body = wire.map { $0.snapshotFirst > 0 } == true ? snapshot.body : news.body
                guard
                    let bytes = try? SignedFile.encode(
                        .segment, header: header, body: body, signingKey: identity.signingKey)
                else { return }
                open(bytes, zone, replica)
            }
        case "snapshot":
            let snapshot = try snapshot(of: share)
            let header = try parse(WireSegmentHeader.self, snapshot.header, "segment")
            let plain = try Zlib.inflate(snapshot.body, plainCount: header.plainCount)
            return Target(name: name, corpus: [plain]) { body in
                var wire = header
                wire.plainCount = UInt64(body.count)
                guard let compressed = try? Zlib.deflate(body), let signed = sign(wire, body: compressed, identity)
                else { return }
                open(signed, zone, replica)
            }
        default: return nil
        }
    }

    static func sign(_ header: WireSegmentHeader, body: [UInt8], _ identity: Identity) -> [UInt8]? {
        guard let bytes = try? serialize(header) else { return nil }
        return try? SignedFile.encode(.segment, header: bytes, body: body, signingKey: identity.signingKey)
    }

    /// All that the owner has published, as a snapshot of it.
    private static func snapshot(of share: FuzzedShare) throws -> SignedFile {
        var last = Position.start
        var transaction = SegmentTransaction(id: 9, changes: [])
        for bytes in share.log {
            let file = try SegmentFile(bytes, zone: share.zone, replica: share.identity.replica)
            let segment = try file.open(replica: share.identity.replica, keyring: ZoneKeyring(), isSealed: false)
            if last.sequence < segment.position.sequence { last = segment.position }
            for change in segment.transactions.flatMap(\.changes) {
                transaction.changes.append(change)
                transaction.sequences.append(segment.position.sequence)
            }
        }
        let encoded = try SegmentCoder.encode(
            [transaction, SegmentTransaction(id: 10, changes: [])], zone: share.zone, after: last, isSealed: false,
            keyring: ZoneKeyring(), identity: share.identity, snapshotFirst: last.sequence + 1,
            randomBytes: FuzzedShare.randomBytes)
        return try SignedFile.decode(.segment, encoded.bytes)
    }

    /// Heads, and the reading of a chain up to where they say it goes.
    private static func headTarget(_ share: FuzzedShare) throws -> Target? {
        let (identity, storage, folder) = (share.identity, share.storage, share.folder)
        let replica = identity.replica
        let path = folder.headPath(replica, 0)
        let mine = try #require(storage.rawRead(path))
        var payloads = HeadFormat.scan(mine).records.suffix(4).map(\.payload)
        // One that has folded what it published, asks for something, and goes on in another file.
        var wire = try parse(WireHead.self, try #require(payloads.last), "head")
        (wire.floor, wire.snapshot, wire.nextFile) = (wire.last.sequence, wire.last, 1)
        (wire.left, wire.returning) = (3, 2)
        wire.wanted = [HeadContent.wantedChain(of: replica)]
        payloads.append(try serialize(wire))
        return Target(name: "signedHead", corpus: payloads) { payload in
            guard let bytes = try? HeadFormat.encode(payload: payload, signingKey: identity.signingKey) else { return }
            storage.rawWrite(path, bytes)
            guard let head = try? folder.readHead(replica, from: HeadCursor()).newest else { return }
            precondition(
                head.vector.count <= payload.count / 32 && head.content.wanted.count <= HeadContent.wantedMax,
                "a head says no more than it has bytes for")
            let before = Position(sequence: head.last.sequence &- 1, hash: head.last.hash)
            for start in [.start, before, head.last] {
                _ = try? folder.readSegments(
                    of: replica, after: start, upTo: head, isSealed: false, keyring: ZoneKeyring())
            }
        }
    }
}
