import ShoeboxModel
import ShoeboxPlanning
import ShoeboxStore
import Testing

/// What is kept of what a watched folder shows.
@Suite struct BaseRowTests {
    private let zone = ZoneID(Digest32(high: 1, low: 2))
    private func id(_ number: UInt128) -> RecordID { RecordID(zone: zone, name: RecordName(number)) }

    @Test func `a photo's row comes back as it was stored, with what is shown of each twin`() throws {
        let store = try Store()
        let (one, other) = (ReplicaID(1), ReplicaID(2))
        var row = BaseRow(
            root: .library, id: id(1), parent: id(9), name: try #require(FileName("a.jpg")), kind: .file,
            stamp: FileStamp(size: 3, modifiedNanoseconds: 5, inode: 7, birthNanoseconds: 9, mode: 0o600),
            contentHash: nil, vector: [one: 4], twins: [id(2), id(3), id(4)])
        row.twinVectors = [id(2): [one: 3, other: 70_000], id(3): [:], id(4): [other: 1]]
        let written = row
        try store.write { db in try db.setBase(written) }
        #expect(try store.read { db in try db.base(id(1)) } == written)
    }

    @Test func `bytes that are cut off anywhere give the vectors that are whole`() throws {
        let vectors: [VersionVector] = [[ReplicaID(1): 3, ReplicaID(2): 70_000], [:], [ReplicaID(2): 1]]
        let bytes = try #require(ColumnCoder.data(vectors)).map { $0 }
        #expect(ColumnCoder.vectors(bytes) == vectors)
        for count in bytes.indices {
            let found = ColumnCoder.vectors(Array(bytes.prefix(count)))
            #expect(found == Array(vectors.prefix(found.count)) && found.count < 3)
        }
    }
}
