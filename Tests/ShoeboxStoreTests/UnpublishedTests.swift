import ShoeboxModel
import ShoeboxStore
import Testing

/// What waits to be published and can't be, or was already.
@Suite struct UnpublishedTests {
    private let id = RecordID(zone: ZoneID(Digest32(high: 1, low: 2)), name: RecordName(7))
    private let author = AccountID(Digest32(high: 3, low: 4))
    private let own = ReplicaID(1)
    private let former = ReplicaID(2)

    private func photo(
        _ dot: Dot, bytes: UInt128, location: String? = nil, context: VersionVector = [:], name: String? = nil
    ) throws -> Change {
        let asset = AssetReference(contentHash: Digest32(high: 9, low: bytes), size: 3, location: location)
        var fields: [FieldKey: Value] = [.content: .asset(asset)]
        if let name { fields[.name] = .name(try #require(FileName(name))) }
        return Change(
            record: id.name, type: .photo, dot: dot, context: context,
            timestamp: HybridTimestamp(wallMilliseconds: dot.counter, counter: 0, replica: former), author: author,
            action: .set(fields))
    }

    private func store(pending: Change, fetched: [Change]) throws -> Store {
        let store = try Store()
        try store.write { db in
            let token = try db.beginHistory(author: "test", timeMilliseconds: 1)
            try db.insert(
                pending, zone: id.zone, account: author, sender: own, sequence: 0, standing: .pending, token: token)
            for change in fetched {
                try db.insert(
                    change, zone: id.zone, account: author, sender: former, sequence: 1, standing: .accepted,
                    token: token)
            }
        }
        return store
    }

    @Test func `a photo's first bytes, if they are gone, do not wait where others have other bytes of it`() throws {
        let pending = try photo(Dot(replica: own, counter: 4), bytes: 1, name: "a.jpg")
        let other = try photo(Dot(replica: former, counter: 9), bytes: 2, location: "ab/there")
        let store = try store(pending: pending, fetched: [other])
        try store.write { db in try db.refuseUnpublishedContent(of: id, hash: Digest32(high: 9, low: 1)) }
        let left = try store.read { db in try db.pendingChanges(in: id.zone, limit: 10) }.map(\.change)
        #expect(left.map(\.action) == [.set([.name: .name(try #require(FileName("a.jpg")))])])
        let state = try #require(try store.read { db in try db.state(of: id) })
        #expect(state.fields[.content]?.values.map(\.value) == [.asset(try #require(other.content))])
        #expect(try store.read { db in try db.record(id) }?.contentHash == Digest32(high: 9, low: 2))
    }

    @Test func `a photo's first bytes stay where nobody has any`() throws {
        let pending = try photo(Dot(replica: own, counter: 4), bytes: 1, name: "a.jpg")
        let store = try store(pending: pending, fetched: [])
        try store.write { db in try db.refuseUnpublishedContent(of: id, hash: Digest32(high: 9, low: 1)) }
        #expect(try store.read { db in try db.pendingChanges(in: id.zone, limit: 10) }.map(\.change) == [pending])
    }

    /// What the container has under the number that the waiting one has: the same, or another act.
    @Test(arguments: [UInt64(4), 5])
    func `what waits is forgotten when it comes from the container, and nothing else is`(counter: UInt64) throws {
        let pending = try photo(Dot(replica: own, counter: 4), bytes: 1, name: "a.jpg")
        var published = pending
        published.dot = Dot(replica: former, counter: 4)
        published.timestamp = HybridTimestamp(wallMilliseconds: counter, counter: 0, replica: former)
        let store = try store(pending: pending, fetched: [published])
        let left = try store.read { db in try db.pendingChanges(in: id.zone, limit: 10) }.map(\.change)
        #expect(left == (counter == 4 ? [] : [pending]))
        #expect(try store.read { db in try db.changes(of: id.name, in: id.zone) }.contains(published))
    }
}
