import ShoeboxFormat
import ShoeboxModel
import ShoeboxWorld
import Testing

@testable import ShoeboxCloud

struct HeadTests {
    let cast: Cast
    let path: MountPath

    init() throws {
        cast = try Cast()
        path = cast.folder.headPath(cast.ann.replica, 0)
    }

    func content(_ sequence: UInt64, vector: [ReplicaID: Position] = [:]) -> HeadContent {
        HeadContent(
            last: Position(sequence: sequence, hash: Digest32(high: 1, low: UInt128(sequence))),
            control: cast.first.version, wallMilliseconds: 5, vector: vector)
    }

    func append(_ numbers: ClosedRange<UInt64>) throws -> HeadCursor {
        var cursor = HeadCursor()
        for number in numbers {
            cursor = try cast.folder.appendHead(content(number), identity: cast.ann, cursor: cursor).cursor
        }
        return cursor
    }

    func read(_ cursor: HeadCursor = HeadCursor()) throws -> HeadReading {
        try cast.folder.readHead(cast.ann.replica, from: cursor)
    }

    @Test func `the newest record is read, and then nothing until there is news`() throws {
        let vector = [cast.bob.replica: Position(sequence: 9, hash: Digest32(high: 3, low: 3))]
        var (record, cursor) = try cast.folder.appendHead(
            content(1, vector: vector), identity: cast.ann, cursor: HeadCursor())
        let first = try read()
        #expect(first.newest == record && first.cursor == cursor && first.problems.isEmpty)
        #expect(try read(first.cursor).newest == nil)
        (record, cursor) = try cast.folder.appendHead(content(2), identity: cast.ann, cursor: cursor)
        let second = try read(first.cursor)
        #expect(second.newest == record && second.newest?.last.sequence == 2 && second.newest?.serial == 2)
        #expect(try cast.folder.replicas() == [cast.ann.replica: HeadCursor(file: 0)])
        #expect(HeadCursor(second.cursor.description) == second.cursor)
        #expect(HeadCursor("1.2.3") == nil && HeadCursor("1.512") == nil)
    }

    @Test func `a head that isn't there is no news`() throws {
        #expect(try read() == HeadReading(newest: nil, cursor: HeadCursor(), problems: []))
    }

    @Test func `an append torn at any byte is passed over by the next one`() throws {
        let cursor = try append(1...1)
        let whole = try #require(cast.mount[path])
        _ = try cast.folder.appendHead(content(2), identity: cast.ann, cursor: cursor)
        let second = try #require(cast.mount[path])
        for cut in stride(from: whole.count, to: second.count, by: 37) {
            cast.mount[path] = Array(second.prefix(cut))
            let torn = try read()
            #expect(torn.newest?.last.sequence == 1, "cut at \(cut)")
            _ = try cast.folder.appendHead(content(3), identity: cast.ann, cursor: cursor)
            #expect(try read(torn.cursor).newest?.last.sequence == 3, "cut at \(cut)")
            #expect(try read().newest?.last.sequence == 3, "cut at \(cut)")
        }
    }

    /// A record as long as that its signature lies in two blocks: its payload is whole while the signature is not.
    private func appendLong(_ number: UInt64, _ cursor: HeadCursor) throws -> HeadCursor {
        let vector = [cast.bob.replica: Position(sequence: 1 << 40, hash: Digest32(high: 3, low: 3))]
        var content = content(number, vector: vector)
        content.wanted = [cast.bob.replica, cast.mallory.replica].map(HeadContent.wantedChain)
        content.statement = content.last
        content.snapshot = content.last
        content.floor = number
        return try cast.folder.appendHead(content, identity: cast.ann, cursor: cursor).cursor
    }

    @Test func `an append torn in its signature does not hide the one behind it`() throws {
        let cursor = try append(1...1)
        let start = Int(cursor.offset)
        _ = try appendLong(2, cursor)
        let long = try #require(cast.mount[path])
        let used = try #require(long.lastIndex { $0 != 0 }) + 1 - start
        try #require(used % 512 < 64, "the signature ends in a block of its own: \(used)")
        for cut in start + used - 64..<start + used {
            cast.mount[path] = Array(long.prefix(cut))
            let torn = try read()
            let appended = try appendLong(3, cursor)
            let whole = try #require(cast.mount[path])
            #expect(try read(torn.cursor).newest?.last.sequence == 3, "cut at \(cut)")
            #expect(try read().cursor == appended, "cut at \(cut)")
            #expect(try read().newest?.last.sequence == 3, "cut at \(cut)")
            // A reader that comes while it is being appended.
            for seen in stride(from: cut, to: whole.count, by: 31) {
                cast.mount[path] = Array(whole.prefix(seen))
                let early = try read(torn.cursor)
                cast.mount[path] = whole
                #expect(try (early.newest ?? read(early.cursor).newest)?.last.sequence == 3, "cut at \(cut), \(seen)")
            }
        }
    }

    @Test func `an append torn in its padding does not make the one behind it old`() throws {
        let cursor = try append(1...1)
        let start = Int(cursor.offset)
        _ = try appendLong(2, cursor)
        let long = try #require(cast.mount[path])
        let used = try #require(long.lastIndex { $0 != 0 }) + 1
        for cut in stride(from: used, through: long.count, by: 29) {
            cast.mount[path] = Array(long.prefix(cut))
            let torn = try read()
            _ = try appendLong(3, cursor)
            let whole = try #require(cast.mount[path])
            #expect(try (read(torn.cursor).newest ?? torn.newest)?.last.sequence == 3, "cut at \(cut)")
            // A reader that comes while it is being appended.
            for seen in stride(from: start, through: whole.count, by: 31) {
                cast.mount[path] = Array(whole.prefix(seen))
                let early = try read()
                cast.mount[path] = whole
                let late = try read(early.cursor).newest ?? early.newest
                #expect(late?.last.sequence == 3, "cut at \(cut), \(seen)")
            }
        }
    }

    @Test func `records within records are not taken for so many`() throws {
        // From the end to the beginning: each says that it is as long as all that follows.
        var bytes: [UInt8] = []
        for _ in 0..<400 {
            var record = HeadFormat.magic
            let payload = bytes.isEmpty ? [UInt8](repeating: 1, count: 432) : [UInt8](repeating: 1, count: 496) + bytes
            guard payload.count + 80 <= HeadFormat.payloadMax else { break }
            record += bigEndian(UInt64(payload.count)).suffix(4)
            record += sha256(payload).bytes.prefix(4)
            record += payload
            bytes = record
        }
        bytes += [UInt8](repeating: 0, count: 1024 - bytes.count % 512)
        #expect(bytes.count > 100_000)
        #expect(HeadFormat.scan(bytes).records.count <= 3)
    }

    @Test func `a record whose end is seen as zeros at first is seen when it has come`() throws {
        let cursor = try append(1...1)
        let reader = try read().cursor
        _ = try appendLong(2, cursor)
        let whole = try #require(cast.mount[path])
        for end in Int(cursor.offset)..<whole.count {
            cast.mount[path] = whole.prefix(end) + [UInt8](repeating: 0, count: whole.count - end)
            let early = try read(reader)
            cast.mount[path] = whole
            #expect(try (early.newest ?? read(early.cursor).newest)?.last.sequence == 2, "zeros from \(end) on")
        }
    }

    @Test func `a record half seen is seen when the rest has come`() throws {
        let cursor = try append(1...1)
        let reader = try read().cursor
        _ = try cast.folder.appendHead(content(2), identity: cast.ann, cursor: cursor)
        let whole = try #require(cast.mount[path])
        cast.mount[path] = Array(whole.prefix(whole.count - 300))
        let half = try read(reader)
        #expect(half.newest == nil)
        cast.mount[path] = whole
        #expect(try read(half.cursor).newest?.last.sequence == 2)
    }

    @Test func `any bit changed in the newest record leaves the one before`() throws {
        let cursor = try append(1...2)
        let bytes = try #require(cast.mount[path])
        let start = Int(cursor.offset) / 2
        let used = bytes.lastIndex { $0 != 0 } ?? 0
        for index in start...used {
            var damaged = bytes
            damaged[index] ^= 1 << UInt8(index % 8)
            cast.mount[path] = damaged
            #expect(try read().newest?.last.sequence == 1, "byte \(index)")
        }
    }

    @Test func `an old record copied to the end is no news, neither to old nor to new readers`() throws {
        let cursor = try append(1...3)
        let bytes = try #require(cast.mount[path])
        cast.mount[path] = bytes + bytes.prefix(bytes.count / 3)
        #expect(try read(cursor).newest == nil)
        #expect(try read().newest?.last.sequence == 3)
    }

    @Test func `a head of another replica, zone or signer is refused`() throws {
        _ = try append(1...1)
        let bytes = try #require(cast.mount[path])
        cast.mount[cast.folder.headPath(cast.bob.replica, 0)] = bytes
        let moved = try cast.folder.readHead(cast.bob.replica, from: HeadCursor())
        #expect(moved.newest == nil && moved.problems.map(\.code) == [.damaged])
        let other = ZoneFolder(zone: ZoneID(Digest32(high: 5, low: 5)), mount: cast.mount, accounts: cast.accounts)
        cast.mount[other.headPath(cast.ann.replica, 0)] = bytes
        #expect(try other.readHead(cast.ann.replica, from: HeadCursor()).newest == nil)
        var wire = HeadRecord.wire(content(9), zone: cast.folder.zone, identity: cast.ann, serial: 9, nextFile: 0)
        wire.device = cast.mallory.device.digest.wireBytes
        cast.mount[path] = bytes + (try HeadFormat.encode(wire, signingKey: cast.mallory.signingKey))
        #expect(try read().newest?.last.sequence == 1)
    }

    @Test func `a head of an account not seen yet is read later`() throws {
        _ = try append(1...1)
        let empty = MemoryMount()
        empty[path] = cast.mount[path]
        let folder = ZoneFolder(zone: cast.folder.zone, mount: empty, accounts: AccountDirectory(mount: empty))
        let early = try folder.readHead(cast.ann.replica, from: HeadCursor())
        #expect(early.newest == nil && early.cursor == HeadCursor() && early.problems.map(\.code) == [.notYet])
        // Nor is anything appended then: its serial could be one that was used.
        #expect(
            code { _ = try folder.appendHead(content(2), identity: cast.ann, cursor: HeadCursor()) } == .notYet)
        try folder.accounts.publish(cast.ann)
        #expect(try folder.readHead(cast.ann.replica, from: early.cursor).newest?.last.sequence == 1)
    }

    @Test func `a grown head goes on in the next file, and readers follow`() throws {
        let vector = Dictionary(
            uniqueKeysWithValues: (1...4_000).map {
                (ReplicaID(UInt128($0)), Position(sequence: 1, hash: Digest32(high: 1, low: 1)))
            })
        var cursor = HeadCursor()
        var reader = HeadCursor()
        for number in 1...12 as ClosedRange<UInt64> {
            cursor = try cast.folder.appendHead(content(number, vector: vector), identity: cast.ann, cursor: cursor)
                .cursor
            if number.isMultiple(of: 3) { reader = try read(reader).cursor }
        }
        #expect(cursor.file > 0 && reader == cursor)
        // Of the files before the last two nothing is needed.
        #expect(try read().newest == nil && cast.mount[path] == nil)
        let newcomer = try #require(try cast.folder.replicas()[cast.ann.replica])
        #expect(newcomer.file == cursor.file)
        #expect(try read(newcomer).newest?.last.sequence == 12)
        // A writer that lost its cursor goes on behind its own last record.
        let again = try cast.folder.appendHead(content(13), identity: cast.ann, cursor: HeadCursor())
        #expect(again.record.serial == cursor.serial + 1)
        #expect(try read(reader).newest?.last.sequence == 13)
    }

    @Test func `a file set back to an older state reports nothing old, and heals with the next record`() throws {
        let cursor = try append(1...4)
        let bytes = try #require(cast.mount[path])
        cast.mount[path] = Array(bytes.prefix(bytes.count / 2))
        let back = try read(cursor)
        #expect(back.newest == nil)
        _ = try cast.folder.appendHead(content(5), identity: cast.ann, cursor: cursor)
        #expect(try read(back.cursor).newest?.last.sequence == 5)
    }
}
