import ShoeboxModel
import ShoeboxPlanning
import ShoeboxTestSupport
import Testing

@Suite struct OwnRecordsTests {
    static let ann = account(1)
    static let bob = account(2)
    static let cyd = account(3)
    static let origin = [UInt8](repeating: 7, count: 16)
    static let bobs = Derivation.record(madeBy: bob, origin: origin)

    private func change(
        _ record: RecordName, by author: AccountID, _ counter: UInt64, type: RecordType = .photo,
        _ fields: [FieldKey: Value] = [.caption: .text("x")], context: VersionVector = [:]
    ) -> Change {
        let replica = ReplicaID(UInt128(author.digest.low) + 1)
        return Change(
            record: record, type: type, dot: Dot(replica: replica, counter: counter), context: context,
            timestamp: HybridTimestamp(wallMilliseconds: counter, counter: 0, replica: replica), author: author,
            action: .set(fields))
    }

    @Test func `a first write proves whose a record is, and nobody can copy the proof`() {
        let birth = ScopedChange(change(Self.bobs, by: Self.bob, 1, [.origin: .bytes(Self.origin)]), .own)
        let copied = ScopedChange(change(Self.bobs, by: Self.cyd, 1, [.origin: .bytes(Self.origin)]), .own)
        let claimed = ScopedChange(change(Self.bobs, by: Self.ann, 1), .all)
        for changes in [[birth, copied, claimed], [claimed, copied, birth]] {
            #expect(isOwnRecord(Self.bobs, of: Self.bob, in: changes))
            #expect(!isOwnRecord(Self.bobs, of: Self.cyd, in: changes))
        }
    }

    @Test func `who wrote first while it might write everything goes on owning what it made`() {
        let record = RecordName(50)
        let birth = ScopedChange(change(record, by: Self.bob, 1), .all)
        #expect(isOwnRecord(record, of: Self.bob, in: [birth]))
        // A contributor's claim takes nothing away and gives nothing; what was refused is no claim at all.
        let claims = [
            ScopedChange(change(record, by: Self.cyd, 1), .own),
            ScopedChange(change(record, by: Self.ann, 1), .nothing),
        ]
        #expect(isOwnRecord(record, of: Self.bob, in: claims + [birth]))
        #expect(!isOwnRecord(record, of: Self.cyd, in: claims + [birth]))
        // Two who might write everything, both first: it is neither's.
        let other = ScopedChange(change(record, by: Self.ann, 1), .all)
        #expect(!isOwnRecord(record, of: Self.bob, in: [birth, other]))
        // An edit is no first write.
        let edit = ScopedChange(change(record, by: Self.cyd, 2, context: [birth.change.dot.replica: 1]), .all)
        #expect(!isOwnRecord(record, of: Self.cyd, in: [birth, edit]))
    }

    @Test func `a tag belongs to its photo, a rating to who rates`() {
        let (photo, tag) = (RecordName(60), RecordName(61))
        let fields: [FieldKey: Value] = [.photo: .reference(photo), .tag: .reference(tag), .member: .boolean(true)]
        let join = Derivation.photoTag(photo: photo, tag: tag)
        #expect(requiredOwnership(of: change(join, by: Self.bob, 1, type: .photoTag, fields)) == .record(photo))
        // A join that says another photo than its name does, or none.
        let elsewhere = Derivation.photoTag(photo: RecordName(62), tag: tag)
        #expect(requiredOwnership(of: change(elsewhere, by: Self.bob, 1, type: .photoTag, fields)) == .impossible)
        #expect(requiredOwnership(of: change(join, by: Self.bob, 1, type: .photoTag, [:])) == .impossible)
        let rating = Derivation.rating(photo: photo, account: Self.bob)
        let value: [FieldKey: Value] = [.photo: .reference(photo), .value: .integer(5)]
        #expect(requiredOwnership(of: change(rating, by: Self.bob, 1, type: .rating, value)) == .nothing)
        #expect(requiredOwnership(of: change(rating, by: Self.cyd, 1, type: .rating, value)) == .impossible)
        #expect(requiredOwnership(of: change(photo, by: Self.bob, 1)) == .record(photo))
    }
}
