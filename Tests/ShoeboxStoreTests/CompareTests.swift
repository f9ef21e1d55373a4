import ShoeboxModel
import ShoeboxPlanning
import ShoeboxStore
import Testing

/// What a scan is told of a directory, beside what the base tree says of it.
@Suite struct CompareTests {
    private let zone = ZoneID(Digest32(high: 1, low: 2))
    private var folder: RecordID { RecordID(zone: zone, name: RecordName(7)) }

    private func stamp(_ inode: UInt64, size: UInt64 = 3) -> FileStamp {
        FileStamp(size: size, modifiedNanoseconds: 5, inode: inode, birthNanoseconds: 9, mode: 0o600)
    }

    private func name(_ text: String) throws -> FileName { try #require(FileName(text)) }

    /// A store whose folder shows these names; files unless they end in `/`. Inodes count from 1.
    private func store(_ names: [String], parked: Set<String> = []) throws -> Store {
        let store = try Store()
        try store.write { db in
            for (index, text) in names.enumerated() {
                let isFolder = text.hasSuffix("/")
                let number = UInt64(index + 1)
                try db.setBase(
                    BaseRow(
                        root: .library, id: RecordID(zone: zone, name: RecordName(UInt128(100 + index))),
                        parent: folder,
                        name: try name(isFolder ? String(text.dropLast()) : text), kind: isFolder ? .folder : .file,
                        stamp: stamp(number), contentHash: nil, vector: [:], isParked: parked.contains(text)))
            }
        }
        return store
    }

    /// Names that need a look, each with `+` if the base has it, and after `|` those that are missing.
    private func compare(_ store: Store, _ listing: DirectoryListing, root: RootKind = .library) throws -> String {
        let found = try store.read { db in try db.compare(listing, with: folder, root: root) }
        let entries = try found.entries.map { item in
            (try #require(listing.name(at: item.index))).description + (item.glance == nil ? "" : "+")
        }
        return entries.joined(separator: " ") + "|" + found.missing.map(\.name.description).joined(separator: " ")
    }

    private func listing(_ items: [(String, FileKind, FileStamp)]) throws -> DirectoryListing {
        DirectoryListing(try items.map { (try name($0.0), $0.1, $0.2) })
    }

    @Test func `files that are as the base has them need no look`() throws {
        let store = try store(["a.jpg", "b.jpg", "c.jpg"])
        let same = try listing([("c.jpg", .file, stamp(3)), ("a.jpg", .file, stamp(1)), ("b.jpg", .file, stamp(2))])
        #expect(try compare(store, same) == "|")
    }

    @Test func `new, changed and missing names are told apart, wherever they stand in the order`() throws {
        let store = try store(["b", "d", "f", "h"])
        let found = try listing([
            ("a", .file, stamp(50)), ("b", .file, stamp(1)), ("c", .file, stamp(51)), ("d", .file, stamp(2, size: 4)),
            ("g", .file, stamp(52)), ("h", .file, stamp(4)), ("i", .file, stamp(53)),
        ])
        #expect(try compare(store, found) == "a c d+ g i|f")
        #expect(try compare(store, listing([])) == "|b d f h")
        #expect(try compare(try self.store([]), found) == "a b c d g h i|")
    }

    @Test(arguments: [
        FileStamp(size: 4, modifiedNanoseconds: 5, inode: 1, birthNanoseconds: 9, mode: 0o600),
        FileStamp(size: 3, modifiedNanoseconds: 6, inode: 1, birthNanoseconds: 9, mode: 0o600),
        FileStamp(size: 3, modifiedNanoseconds: 5, inode: 2, birthNanoseconds: 9, mode: 0o600),
        FileStamp(size: 3, modifiedNanoseconds: 5, inode: 1, birthNanoseconds: 8, mode: 0o600),
    ])
    func `any difference of size, time, inode or birth needs a look`(stamp: FileStamp) throws {
        #expect(try compare(try store(["a"]), listing([("a", .file, stamp)])) == "a+|")
    }

    @Test func `a name that is the beginning of another is another name`() throws {
        let store = try store(["a", "a.b", "ab"])
        #expect(try compare(store, listing([("a.b", .file, stamp(2))])) == "|a ab")
        #expect(
            try compare(store, listing([("a", .file, stamp(1)), ("ab", .file, stamp(3)), ("abc", .file, stamp(9))]))
                == "abc|a.b")
    }

    @Test func `directories, and whatever takes another kind's place, need a look`() throws {
        let store = try store(["album/", "photo"])
        let same = try listing([("album", .directory, stamp(1)), ("photo", .file, stamp(2))])
        #expect(try compare(store, same) == "album+|")
        let found = try store.read { db in try db.compare(same, with: folder, root: .library) }
        #expect(found.entries.first?.glance?.folder == RecordID(zone: zone, name: RecordName(100)))
        let other = try listing([("album", .file, stamp(1)), ("photo", .symbolicLink, stamp(2))])
        #expect(try compare(store, other) == "album+ photo+|")
    }

    @Test func `what is parked, or is shown in the other watched folder, is neither there nor missing`() throws {
        let store = try store(["a", "b"], parked: ["a"])
        #expect(try compare(store, listing([("a", .file, stamp(1)), ("b", .file, stamp(2))])) == "a|")
        #expect(try compare(store, listing([("b", .file, stamp(2))]), root: .shared) == "b|")
    }

    @Test func `names are bytes, in their order`() throws {
        let store = try store(["\u{e9}", "e\u{301}", "Z", "z"])
        let found = try listing([
            ("z", .file, stamp(4)), ("\u{e9}", .file, stamp(1)), ("Z", .file, stamp(3)), ("e\u{301}", .file, stamp(2)),
        ])
        #expect(try compare(store, found) == "|")
    }

    @Test func `a listing has each name once, in order`() throws {
        let twice = try listing([("b", .file, stamp(1)), ("a", .file, stamp(2)), ("b", .file, stamp(3))])
        #expect((0..<3).map { twice.name(at: $0)?.description } == ["a", "b", nil])
    }
}
