import ShoeboxModel
import ShoeboxWorld
import Testing

@testable import ShoeboxCloud

struct TextTests {
    @Test func `a link survives printing, and every cut of it is refused with a reason`() throws {
        let cast = try Cast()
        let link = ShareLink(
            container: String(repeating: "0a", count: 16), zone: cast.folder.zone,
            ownerFingerprint: cast.ann.account.fingerprint)
        let text = link.description
        #expect(try ShareLink(parsing: text) == link)
        #expect(try ShareLink(parsing: " \(text)\n") == link)
        for count in 0..<text.count {
            #expect(code { _ = try ShareLink(parsing: String(text.prefix(count))) } == .invalid, "\(count)")
        }
        for wrong in [text + "0", text + " x", text.uppercased(), text.replacing("#", with: "/"), "http" + text] {
            #expect(code { _ = try ShareLink(parsing: wrong) } == .invalid, "\(wrong)")
        }
    }

    @Test func `every file of a container can be inspected, sealed parts only with the key`() throws {
        let cast = try Cast()
        try cast.push(cast.ann, after: .start, caption: "secret lake")
        _ = try cast.folder.appendHead(
            HeadContent(last: .start, wallMilliseconds: 1), identity: cast.ann, cursor: HeadCursor())
        _ = try AssetStore(mount: cast.mount).upload(
            from: MemoryFile([1]), size: 1, contentHash: sha256([1]), identity: cast.ann, randomBytes: cast.source.bytes
        )
        var (closed, open) = ("", "")
        for (path, bytes) in cast.mount.all {
            closed += try inspect(bytes)
            open += try inspect(bytes, keyring: cast.annRing)
            #expect(try inspect(bytes).hasPrefix("{\"format\":\"shoebox."), "\(path)")
        }
        #expect(!closed.contains("secret lake") && !closed.contains("Lake"))
        #expect(open.contains("secret lake") && open.contains("Lake"))
        #expect(code { _ = try inspect([1, 2, 3]) } == .damaged)
    }

    /// Bytes that are near to valid ones, or just any.
    @Test(arguments: 0..<150 as Range<UInt64>)
    func `no decoder traps on any bytes`(seed: UInt64) throws {
        var random = Seeded(seed)
        let cast = try Cast(seed: 3)
        let segment = try cast.push(cast.ann, after: .start)
        _ = try cast.folder.appendHead(
            HeadContent(last: segment.position, wallMilliseconds: 1), identity: cast.ann, cursor: HeadCursor())
        var inputs = Array(cast.mount.all.sorted { $0.key < $1.key }.map(\.value))
        inputs.append(try cast.ann.serialized())
        inputs.append(try cast.annRing.serialized())
        inputs.append(random.bytes(Int(random.next() % 600)))
        for var bytes in inputs {
            for _ in 0...Int(random.next() % 4) where !bytes.isEmpty {
                let index = Int(random.next() % UInt64(bytes.count))
                switch random.next() % 3 {
                case 0: bytes[index] = UInt8(truncatingIfNeeded: random.next())
                case 1: bytes.removeSubrange(index...)
                default: bytes.insert(contentsOf: random.bytes(Int(random.next() % 9)), at: index)
                }
            }
            _ = try? inspect(bytes, keyring: cast.annRing)
            _ = try? Identity(serialized: bytes)
            _ = try? ZoneKeyring(serialized: bytes)
            _ = try? AccountStatement(bytes)
            _ = try? Identity.restored(fromRecoveryFile: bytes, nowMilliseconds: 1, randomBytes: cast.source.bytes)
            var ring = cast.annRing
            _ = try? ControlFile(bytes).open(keyring: &ring)
            _ = try? SegmentFile(bytes, zone: cast.folder.zone, replica: cast.ann.replica)
                .open(replica: cast.ann.replica, keyring: ring, isSealed: true)
            for record in HeadFormat.scan(bytes).records {
                _ = try? HeadRecord.decode(record, zone: cast.folder.zone, replica: cast.ann.replica)
            }
            cast.mount[cast.folder.headPath(cast.ann.replica, 0)] = bytes
            let reading = try cast.folder.readHead(cast.ann.replica, from: HeadCursor())
            #expect(reading.newest?.last ?? segment.position == segment.position)
            _ = try? AssetFormat(header: Array(bytes.prefix(32)), key: random.bytes(32))
            _ = try? Zlib.inflate(bytes, plainCount: random.next() % 1_000_000)
            cast.mount[.of("container.json")] = bytes
            _ = try? Container.open(mount: cast.mount)
            _ = try? ShareLink(parsing: String(decoding: bytes, as: UTF8.self))
        }
    }
}
