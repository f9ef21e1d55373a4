import ShoeboxModel
import ShoeboxPlanning
import Testing

@Suite struct DerivationTests {
    @Test func `derived names are the same for ever`() {
        // Literals: another value would part replicas of two versions.
        let photoTag = Derivation.photoTag(photo: RecordName(1), tag: RecordName(2))
        #expect(photoTag.description == "6211e13e-032d-c0c8-652f-9ead07789fd4")
        let rating = Derivation.rating(photo: RecordName(1), account: account(2))
        #expect(rating.description == "5bdab753-cb99-af70-124b-ca30052d2fa3")
        let copy = Derivation.conflictCopy(of: RecordName(1), contentHash: digest(2 as UInt8))
        #expect(copy.description == "3f4171ca-4463-b17e-2a59-1b4d150f9d54")
    }

    @Test func `other causes make other names`() {
        let names = [
            Derivation.photoTag(photo: RecordName(1), tag: RecordName(2)),
            Derivation.photoTag(photo: RecordName(2), tag: RecordName(1)),
            Derivation.rating(photo: RecordName(1), account: account(2)),
            Derivation.conflictCopy(of: RecordName(1), contentHash: digest(2 as UInt8)),
            Derivation.conflictCopy(of: RecordName(1), contentHash: digest(3 as UInt8)),
        ]
        #expect(Set(names).count == names.count)
    }

    @Test(
        arguments: [
            (0, "IMG_1 (conflict bob 1970-01-01).jpg"),
            (1_795_219_200_000 - 1, "IMG_1 (conflict bob 2026-11-20).jpg"),
            (1_795_219_200_000, "IMG_1 (conflict bob 2026-11-21).jpg"),
            (951_782_400_000, "IMG_1 (conflict bob 2000-02-29).jpg"),
            (4_107_542_400_000, "IMG_1 (conflict bob 2100-03-01).jpg"),
        ] as [(UInt64, String)])
    func `a conflict copy says who and when`(wall: UInt64, expected: String) {
        let copy = Derivation.conflictCopyFileName(of: name("IMG_1.jpg"), label: "bob", wallMilliseconds: wall)
        #expect(copy.text == expected)
    }

    @Test func `a wild clock does not trap`() {
        let copy = Derivation.conflictCopyFileName(of: name("a"), label: "", wallMilliseconds: .max)
        #expect(copy.text?.hasPrefix("a (conflict other ") == true)
    }
}

@Suite struct ConflictCopyTests {
    private let photo = RecordName(5)

    private func write(_ number: Int, content: UInt8, at wall: UInt64, seen: VersionVector = [:]) -> Change {
        Change(
            record: photo, type: .photo, dot: Dot(replica: replica(number), counter: 1), context: seen,
            timestamp: stamp(at: wall, by: number), author: account(UInt8(number)),
            action: .set([
                .content: .asset(AssetReference(contentHash: digest(content), size: 9)), .name: .name(name("a.jpg")),
                .modified: .integer(Int64(content)),
            ]))
    }

    @Test func `the bytes that lost become a record of their own, the same everywhere`() {
        let changes = [write(1, content: 1, at: 10), write(2, content: 2, at: 20), write(3, content: 2, at: 5)]
        let births = [changes, changes.reversed()].map { order in
            RecordState(order).map { conflictCopies(of: $0) { "p\($0.digest.low)" } } ?? []
        }
        #expect(births[0] == births[1])
        #expect(births[0].count == 1)
        #expect(births[0].first?.record == Derivation.conflictCopy(of: photo, contentHash: digest(1 as UInt8)))
        #expect(births[0].first?.fields[.modified] == .integer(1))
        #expect(births[0].first?.fields[.name]?.fileName?.text == "a (conflict p1 1970-01-01).jpg")
        #expect(births[0].first?.author == account(1))
    }

    @Test func `who has seen the other makes no conflict`() {
        let state = RecordState([write(1, content: 1, at: 30), write(2, content: 2, at: 20, seen: [replica(1): 1])])
        #expect(state.map { conflictCopies(of: $0) { _ in "x" } } == [])
    }

    @Test func `a deleted photo makes no copies`() {
        let gone = Change(
            record: photo, type: .photo, dot: Dot(replica: replica(4), counter: 1),
            context: [replica(1): 1, replica(2): 1], timestamp: stamp(at: 99), author: account(1), action: .delete)
        let state = RecordState([write(1, content: 1, at: 30), write(2, content: 2, at: 20), gone])
        #expect(state.map { conflictCopies(of: $0) { _ in "x" } } == [])
    }

    @Test(arguments: 2..<8)
    func `many derive one copy, one deletes it, and it stays deleted`(count: Int) {
        guard let state = RecordState([write(1, content: 1, at: 10), write(2, content: 2, at: 20)]),
            let birth = conflictCopies(of: state, authorLabel: { _ in "x" }).first
        else {
            Issue.record("no copy")
            return
        }
        var changes = (1...count).map { number in
            Change(
                record: birth.record, type: birth.type, dot: Dot(replica: replica(number), counter: 2),
                timestamp: birth.timestamp, author: birth.author, action: .set(birth.fields), isDerived: true)
        }
        #expect(RecordState(changes)?.isLive == true)
        changes.append(
            Change(
                record: birth.record, type: birth.type, dot: Dot(replica: replica(1), counter: 3),
                context: [replica(1): 2], timestamp: stamp(at: 1), author: account(1), action: .delete))
        #expect(RecordState(changes)?.isLive == false)
        #expect(RecordState(changes.reversed()) == RecordState(changes))
    }
}
