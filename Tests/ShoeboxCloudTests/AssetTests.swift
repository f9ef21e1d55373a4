import ShoeboxModel
import ShoeboxWorld
import Testing

@testable import ShoeboxCloud

struct AssetTests {
    static let frame = 131_072
    let cast: Cast
    let store: AssetStore

    init() throws {
        cast = try Cast()
        store = AssetStore(mount: cast.mount)
    }

    func upload(_ content: [UInt8]) throws -> AssetReference {
        try store.upload(
            from: MemoryFile(content), size: UInt64(content.count), contentHash: sha256(content), identity: cast.ann,
            randomBytes: cast.source.bytes)
    }

    func download(_ reference: AssetReference) throws -> [UInt8] {
        var result: [UInt8] = []
        try store.download(reference) { result += $0 }
        return result
    }

    func path(_ reference: AssetReference) throws -> MountPath {
        try #require(MountPath("assets/" + (reference.location ?? "")))
    }

    func content(_ count: Int) -> [UInt8] { (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 9) } }

    @Test(arguments: [0, 1, 5_000, frame - 1, frame, frame + 1, 3 * frame, 3 * frame + 77])
    func `content of any size comes back, and is not to be seen in the file`(count: Int) throws {
        let content = content(count)
        let reference = try upload(content)
        #expect(reference.size == UInt64(count) && AssetStore.locationIsValid(reference.location ?? ""))
        #expect(try download(reference) == content)
        let file = try #require(cast.mount[path(reference)])
        #expect(
            count < 16
                || !String(decoding: file, as: UTF8.self).contains(String(decoding: content.prefix(16), as: UTF8.self)))
        #expect(reference.location?.contains(sha256(content).description) == false)
    }

    @Test func `a name that is taken is left alone`() throws {
        let content = content(100)
        let first = try upload(content)
        cast.mount[try path(first)] = [1, 2, 3]
        let second = try upload(content)
        #expect(second.location != first.location)
        #expect(try download(second) == content)
        #expect(cast.mount[try path(first)] == [1, 2, 3])
    }

    @Test func `a file that changes while it is read is not published`() throws {
        let content = content(200_000)
        var longer = content
        longer.append(1)
        var other = content
        other[150_000] ^= 1
        let before = cast.mount.all.count
        for (bytes, size) in [(longer, 200_000), (content, 200_001), (other, 200_000), ([], 200_000)] {
            #expect(
                code {
                    _ = try store.upload(
                        from: MemoryFile(bytes), size: UInt64(size), contentHash: sha256(content),
                        identity: cast.ann, randomBytes: cast.source.bytes)
                } == .changedWhileReading)
        }
        #expect(cast.mount.all.count == before)
    }

    @Test func `frames swapped, cut, repeated or appended, and any bit changed, are damage`() throws {
        let content = content(3 * Self.frame)
        let reference = try upload(content)
        let file = try #require(cast.mount[path(reference)])
        let step = Self.frame + 16
        let frames = (0..<3).map { Array(file[32 + $0 * step..<32 + ($0 + 1) * step]) }
        let header = Array(file.prefix(32))
        var variants: [[UInt8]] = [
            header + frames[1] + frames[0] + frames[2], header + frames[0] + frames[1], header + frames[0] + frames[2],
            file + [0], file + frames[2], Array(file.dropLast()), header, Array(file.prefix(31)), [],
            header + frames[0] + frames[1] + frames[1],
        ]
        for index in [0, 15, 16, 17, 23, 24, 31, 32, 40_000, 32 + Self.frame, 32 + step, file.count - 1] {
            var bytes = file
            bytes[index] ^= 1
            variants.append(bytes)
        }
        for (index, bytes) in variants.enumerated() {
            cast.mount[try path(reference)] = bytes
            #expect(code { _ = try download(reference) } == .damaged, "variant \(index)")
        }
        cast.mount[try path(reference)] = file
        var wrong = reference
        wrong.size -= 1
        #expect(code { try store.verify(wrong) } == .damaged)
        wrong = reference
        wrong.contentHash = sha256([1])
        #expect(code { try store.verify(wrong) } == .damaged)
        wrong = reference
        wrong.size = .max
        #expect(code { try store.verify(wrong) } == .damaged)
        wrong = reference
        wrong.key = []
        #expect(code { try store.verify(wrong) } == .damaged)
        try store.verify(reference)
    }

    @Test func `what is absent is not yet`() throws {
        var reference = try upload([1])
        cast.mount[try path(reference)] = nil
        #expect(code { try store.verify(reference) } == .notYet)
        reference.location = nil
        #expect(code { try store.verify(reference) } == .notYet)
    }

    @Test(arguments: [
        "", "/", "..", "../..", "ab", "ab/", "/etc/passwd", "ab/../../x", "zones/ab",
        "ab/" + String(repeating: "a", count: 64),
        "aa/ab" + String(repeating: "a", count: 62) + "-" + String(repeating: "0", count: 32),
        "aa/" + String(repeating: "a", count: 64) + "-" + String(repeating: "0", count: 31),
        "aa/" + String(repeating: "a", count: 64) + "-" + String(repeating: "0", count: 32) + "-..",
        "AA/" + String(repeating: "A", count: 64) + "-" + String(repeating: "0", count: 32),
        "aa/" + String(repeating: "a", count: 64) + "-" + String(repeating: "0", count: 32) + "\n",
    ])
    func `no other location becomes a path`(location: String) {
        #expect(!AssetStore.locationIsValid(location))
        let reference = AssetReference(
            contentHash: sha256([]), size: 0, location: location, key: [UInt8](repeating: 1, count: 32))
        #expect(code { try store.verify(reference) } == .damaged)
    }
}
