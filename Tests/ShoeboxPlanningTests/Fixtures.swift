import ShoeboxModel
import ShoeboxPlanning

/// Short names for the values of tests.
func zone(_ number: UInt8) -> ZoneID { ZoneID(digest(number)) }
func digest(_ number: UInt8) -> Digest32 { Digest32(high: 0, low: UInt128(number)) }
func digest(_ number: Int) -> Digest32 { Digest32(high: 0, low: UInt128(number)) }
func account(_ number: UInt8) -> AccountID { AccountID(digest(number)) }
func replica(_ number: Int) -> ReplicaID { ReplicaID(UInt128(number)) }
func id(_ number: Int, in zoneNumber: UInt8 = 1) -> RecordID {
    RecordID(zone: zone(zoneNumber), name: RecordName(UInt128(number)))
}
let top = id(0)
func stamp(at wall: UInt64, by number: Int = 1) -> HybridTimestamp {
    HybridTimestamp(wallMilliseconds: wall, counter: 0, replica: replica(number))
}
func path(_ text: String) -> RelativePath { RelativePath(text) ?? .root }
func name(_ text: String) -> FileName { path(text).last ?? path("unnamed").names[0] }

func folder(
    _ number: Int, in parent: RecordID = top, _ text: String, at wall: UInt64 = 1, live: Bool = true,
    zone zoneNumber: UInt8 = 1
) -> PlacedRecord {
    PlacedRecord(
        id: id(number, in: zoneNumber), kind: .folder, parent: parent, parentStamp: stamp(at: wall), name: name(text),
        nameStamp: stamp(at: wall), authorLabel: "bob", isLive: live)
}

func file(
    _ number: Int, in parent: RecordID = top, _ text: String, at wall: UInt64 = 1, content: UInt8? = nil,
    live: Bool = true, by label: String = "bob"
) -> PlacedRecord {
    PlacedRecord(
        id: id(number), kind: .file, parent: parent, parentStamp: stamp(at: wall), name: name(text),
        nameStamp: stamp(at: wall), authorLabel: label, isLive: live, contentHash: digest(content ?? UInt8(number)))
}

/// A base entry of a file or, for a path that ends in `/`, a directory; its inode is its number.
func entry(
    _ number: Int, _ text: String, in parent: RecordID = top, content: Int? = nil, birth: Int64 = 7, size: UInt64 = 9
) -> BaseEntry {
    let isFolder = text.hasSuffix("/")
    return BaseEntry(
        id: id(number), parent: parent, path: path(text), kind: isFolder ? .folder : .file,
        stamp: FileStamp(size: size, modifiedNanoseconds: 5, inode: UInt64(number), birthNanoseconds: birth),
        contentHash: isFolder ? nil : digest(content ?? number))
}

/// A local entry of a file or, for a path that ends in `/`, a directory.
func found(
    _ text: String, inode: UInt64, content: Int? = nil, modified: Int64 = 5, birth: Int64 = 7, size: UInt64 = 9
) -> LocalEntry {
    let isFolder = text.hasSuffix("/")
    return LocalEntry(
        path: path(text), kind: isFolder ? .folder : .file,
        stamp: FileStamp(size: size, modifiedNanoseconds: modified, inode: inode, birthNanoseconds: birth),
        contentHash: isFolder ? nil : content.map(digest))
}

/// A layout as text: paths with their records and contents, for comparison with literals.
func shown(_ layout: Layout) -> [String: RecordID] {
    let all = paths(of: layout, roots: [top: .root])
    var result: [String: RecordID] = [:]
    for (id, path) in all where layout.nodes[id] != nil { result[path.description] = id }
    return result
}
