import FoundationEssentials
import ShoeboxFormat
import ShoeboxModel
import ShoeboxWorld
import Testing

@testable import ShoeboxCloud

struct SegmentTests {
    @Test func `a chain is read forward, in pages, from wherever one is`() throws {
        let cast = try Cast()
        let chain = try cast.chain(cast.ann, 7)
        let page = try cast.read(cast.ann, to: chain[6].position)
        #expect(page.end == .complete && page.segments.map(\.position) == chain.map(\.position))
        #expect(page.segments[2].transactions == [SegmentTransaction(id: 7, changes: [cast.change(cast.ann, 3)])])
        #expect(page.segments.allSatisfy { $0.account == cast.ann.account && $0.device == cast.ann.device })
        let tail = try cast.read(cast.ann, after: chain[5].position, to: chain[6].position)
        #expect(tail.end == .complete && tail.segments.map(\.position) == [chain[6].position])
        let part = try cast.folder.readSegments(
            of: cast.ann.replica, after: .start, upTo: cast.head(cast.ann, at: chain[6].position), isSealed: true,
            keyring: cast.annRing, segmentsMax: 3)
        #expect(part.end == .more && part.segments.count == 3)
        #expect(try cast.read(cast.ann, after: chain[6].position, to: chain[6].position).end == .complete)
    }

    @Test func `publishing the same bytes again is fine`() throws {
        let cast = try Cast()
        let segment = try cast.push(cast.ann, after: .start)
        try cast.folder.publishSegment(segment.bytes, at: segment.position, replica: cast.ann.replica)
        #expect(
            code { try cast.folder.publishSegment([1], at: segment.position, replica: cast.ann.replica) } == .invalid)
    }

    @Test func `what isn't seen is not yet, with what came before it`() throws {
        let cast = try Cast()
        let chain = try cast.chain(cast.ann, 4)
        cast.mount[chain[2].path] = nil
        let page = try cast.read(cast.ann, to: chain[3].position)
        #expect(page.end.name == "notYet" && page.segments.count == 2)
        cast.mount[chain[2].path] = chain[2].bytes
        cast.mount[chain[3].path] = nil
        #expect(try cast.read(cast.ann, after: chain[2].position, to: chain[3].position).end.name == "notYet")
    }

    @Test func `below the floor reading begins with the snapshot, which must be one`() throws {
        let cast = try Cast()
        let chain = try cast.chain(cast.ann, 3)
        let snapshot = try SegmentCoder.encode(
            [SegmentTransaction(id: 5, changes: [cast.change(cast.ann, 1)], sequences: [2])], zone: cast.folder.zone,
            after: chain[2].position, isSealed: true, keyring: cast.annRing, identity: cast.ann, snapshotFirst: 4,
            randomBytes: cast.source.bytes)
        try cast.folder.publishSegment(snapshot.bytes, at: snapshot.position, replica: cast.ann.replica)
        func page(_ after: Position, to position: Position? = nil, floor: UInt64) throws -> SegmentPage {
            try cast.folder.readSegments(
                of: cast.ann.replica, after: after,
                upTo: cast.head(cast.ann, at: position ?? snapshot.position, floor: floor), isSealed: true,
                keyring: cast.annRing)
        }
        for start in [Position.start, chain[0].position, chain[1].position] {
            let page = try page(start, floor: 4)
            #expect(page.end == .complete && page.segments.map(\.position) == [snapshot.position])
            #expect(page.segments.first?.snapshotFirst == 4)
            #expect(page.segments.first?.transactions.first?.sequences == [2])
        }
        // Who had read all before it goes on as ever.
        #expect(try page(chain[2].position, floor: 4).segments.count == 1)
        #expect(try page(.start, floor: 1).segments.count == 4)
        // What lies before the floor can't be read up to somewhere below it.
        #expect(try page(.start, to: chain[1].position, floor: 4).end == .expired)
        #expect(try page(.start, floor: 3).end.name == "damaged")
        #expect(try cast.folder.removeSegments(of: cast.ann.replica, below: 4) == 3)
        #expect(try page(chain[0].position, floor: 4).end == .complete)
        #expect(throws: CloudError.self, "numbers that the snapshot does not stand for") {
            let wrong = try SegmentCoder.encode(
                [SegmentTransaction(id: 5, changes: [cast.change(cast.ann, 1)], sequences: [4])],
                zone: cast.folder.zone,
                after: chain[2].position, isSealed: true, keyring: cast.annRing, identity: cast.ann, snapshotFirst: 4,
                randomBytes: cast.source.bytes)
            _ = try SegmentFile(wrong.bytes, zone: cast.folder.zone, replica: cast.ann.replica)
                .open(replica: cast.ann.replica, keyring: cast.annRing, isSealed: true)
        }
    }

    @Test func `a head behind is rolled back`() throws {
        let cast = try Cast()
        let chain = try cast.chain(cast.ann, 3)
        #expect(try cast.read(cast.ann, after: chain[2].position, to: chain[1].position).end.name == "rolledBack")
        let other = Position(sequence: 3, hash: chain[0].position.hash)
        #expect(try cast.read(cast.ann, after: other, to: chain[2].position).end.name == "fork")
    }

    @Test func `any bit changed, and any cut, is damage that blocks this chain only`() throws {
        let cast = try Cast()
        let chain = try cast.chain(cast.ann, 2)
        let bobs = try cast.push(cast.bob, after: .start)
        for index in stride(from: 0, to: chain[1].bytes.count, by: 3) {
            var bytes = chain[1].bytes
            bytes[index] ^= 1 << UInt8(index % 8)
            cast.mount[chain[1].path] = bytes
            let page = try cast.read(cast.ann, to: chain[1].position)
            #expect(page.end.name == "damaged" && page.segments.count == 1, "byte \(index)")
            // Put under the name of its own hash, the signature gives it away.
            #expect(throws: CloudError.self, "byte \(index)") {
                let file = try SegmentFile(bytes, zone: cast.folder.zone, replica: cast.ann.replica)
                _ = try file.open(replica: cast.ann.replica, keyring: cast.annRing, isSealed: true)
            }
            cast.mount[chain[1].path] = Array(chain[1].bytes.prefix(index))
            #expect(try cast.read(cast.ann, to: chain[1].position).end.name == "damaged")
        }
        #expect(try cast.read(cast.bob, to: bobs.position).end == .complete)
    }

    @Test func `a segment replayed under another number, replica or zone is refused`() throws {
        let cast = try Cast()
        let chain = try cast.chain(cast.ann, 2)
        let place = Position(sequence: 3, hash: chain[1].position.hash)
        cast.mount[cast.folder.segmentPath(cast.ann.replica, place)] = chain[1].bytes
        #expect(try cast.read(cast.ann, after: chain[1].position, to: place).end.name == "damaged")
        cast.mount[cast.folder.segmentPath(cast.bob.replica, chain[0].position)] = chain[0].bytes
        #expect(try cast.read(cast.bob, to: chain[0].position).end.name == "damaged")
        let other = try ZoneFolder.create(
            cast.first.control, identity: cast.ann, mount: cast.mount, accounts: cast.accounts, nowMilliseconds: 3,
            randomBytes: cast.source.bytes)
        cast.mount[other.folder.segmentPath(cast.ann.replica, chain[0].position)] = chain[0].bytes
        let page = try other.folder.readSegments(
            of: cast.ann.replica, after: .start, upTo: cast.head(cast.ann, at: chain[0].position), isSealed: true,
            keyring: cast.annRing)
        #expect(page.end.name == "damaged")
    }

    @Test func `a stranger with valid keys of her own can't write under another's replica`() throws {
        let cast = try Cast()
        // Mallory even knows the zone's key here. She claims Ann's replica, with her own device and then with Ann's name.
        let (bytes, _) = try SegmentCoder.encode(
            [], zone: cast.folder.zone, after: .start, isSealed: true, keyring: cast.annRing, identity: cast.mallory,
            randomBytes: cast.source.bytes)
        let file = try SignedFile.decode(.segment, bytes)
        var wire = try SegmentFile(bytes, zone: cast.folder.zone, replica: cast.mallory.replica).wire
        for claimsNonce in [false, true] {
            wire.replica = cast.ann.replica.wireBytes
            if claimsNonce { wire.replicaNonce = .init(cast.ann.replicaNonce) }
            let forged = try SignedFile.encode(
                .segment, header: serialize(wire), body: file.body, signingKey: cast.mallory.signingKey)
            let position = Position(sequence: 1, hash: sha256(forged))
            cast.mount[cast.folder.segmentPath(cast.ann.replica, position)] = forged
            #expect(try cast.read(cast.ann, to: position).end.name == "damaged")
        }
        // Her own replica, but in Ann's name: her device is none of Ann's.
        wire.replica = cast.mallory.replica.wireBytes
        wire.replicaNonce = .init(cast.mallory.replicaNonce)
        wire.account = cast.ann.account.digest.wireBytes
        let forged = try SignedFile.encode(
            .segment, header: serialize(wire), body: file.body, signingKey: cast.mallory.signingKey)
        let position = Position(sequence: 1, hash: sha256(forged))
        cast.mount[cast.folder.segmentPath(cast.mallory.replica, position)] = forged
        let page = try cast.read(cast.mallory, to: position)
        #expect(page.end.name == "notYet" && page.segments.isEmpty)
    }

    @Test func `two valid segments for one number are a fork, strangers' files beside a valid one are not`() throws {
        let cast = try Cast()
        let chain = try cast.chain(cast.ann, 3)
        let junk = cast.folder.segmentPath(cast.ann.replica, Position(sequence: 2, hash: chain[0].position.hash))
        cast.mount[junk] = [1, 2, 3]
        #expect(try cast.read(cast.ann, to: chain[2].position).end == .complete)
        let twin = try cast.push(cast.ann, after: chain[0].position, caption: "sea")
        let page = try cast.read(cast.ann, to: chain[2].position)
        #expect(page.end.name == "fork" && page.segments.count == 1)
        cast.mount[chain[1].path] = nil
        #expect(try cast.read(cast.ann, to: chain[2].position).end.name == "fork")
        #expect(try cast.read(cast.ann, after: twin.position, to: chain[2].position).end.name == "fork")
    }

    @Test func `a plain segment in a sealed zone is refused`() throws {
        let cast = try Cast()
        let (bytes, position) = try SegmentCoder.encode(
            [], zone: cast.folder.zone, after: .start, isSealed: false, keyring: cast.annRing, identity: cast.bob,
            randomBytes: cast.source.bytes)
        try cast.folder.publishSegment(bytes, at: position, replica: cast.bob.replica)
        #expect(try cast.read(cast.bob, to: position).end.name == "damaged")
    }

    @Test func `a body that inflates to more than it says, or than is allowed, is refused`() throws {
        let bomb = try Zlib.deflate([UInt8](repeating: 0, count: 1_000_000))
        #expect(try Zlib.inflate(bomb, plainCount: 1_000_000).count == 1_000_000)
        for count in [0, 10, 999_999, 1_000_001, UInt64(Zlib.plainCountMax) + 1, .max] as [UInt64] {
            #expect(code { _ = try Zlib.inflate(bomb, plainCount: count) } == .damaged, "\(count)")
        }
        #expect(try Zlib.inflate(Zlib.deflate([]), plainCount: 0) == [])
        #expect(code { _ = try Zlib.inflate([], plainCount: 0) } == .damaged)
    }

    @Test(arguments: 0..<30 as Range<UInt64>)
    func `splitting keeps every change in order, within the limits, and marks the last part`(seed: UInt64) throws {
        let cast = try Cast()
        var random = Seeded(seed)
        var counter: UInt64 = 0
        let transactions = (0..<Int.random(in: 0...6, using: &random)).map { id in
            let count = [0, 1, 5, 399, 400, 401, 1_000].randomElement(using: &random) ?? 0
            let size = count < 10 ? Int.random(in: 0...1_500_000, using: &random) : 10
            return SegmentTransaction(
                id: UInt128(id), isLast: true,
                changes: (0..<count).map { _ in
                    counter += 1
                    return cast.change(cast.ann, counter, String(repeating: "a", count: size))
                })
        }
        let segments = SegmentBuilder.split(transactions)
        for segment in segments {
            let changes = segment.flatMap(\.changes)
            #expect(changes.count <= SegmentBuilder.changesMax)
            let bytes = changes.map { ChangeCoder.encode($0).count }.reduce(0, +)
            #expect(bytes <= SegmentBuilder.changeBytesMax || changes.count == 1)
            #expect(!segment.isEmpty)
        }
        let parts = segments.flatMap { $0 }
        for transaction in transactions {
            let mine = parts.filter { $0.id == transaction.id }
            #expect(mine.flatMap(\.changes) == transaction.changes)
            #expect(mine.map(\.isLast) == Array(repeating: false, count: max(0, mine.count - 1)) + [true])
        }
    }
}
