import ShoeboxModel
import ShoeboxTestSupport
import Testing

/// What a snapshot leaves out makes no difference to anybody.
@Suite struct FoldingTests {
    private static let record = RecordName(77)
    private static let ann = AccountID(Digest32(high: 0, low: 1))
    private static let keys: [FieldKey] = [.caption, .name, .parent]

    /// Three replicas that write, delete and move one record, each seeing only a part of what the others wrote.
    private func history(_ generator: inout SeededGenerator) -> [Change] {
        var all: [Change] = []
        var known: [[Change]] = [[], [], []]
        for step in 0..<40 {
            let author = Int.random(in: 0..<3, using: &generator)
            if Int.random(in: 0..<3, using: &generator) == 0 {
                // Reads everything of somebody.
                let other = ReplicaID(UInt128(Int.random(in: 1...3, using: &generator)))
                for change in all where change.dot.replica == other && !known[author].contains(change) {
                    known[author].append(change)
                }
            }
            let replica = ReplicaID(UInt128(author + 1))
            var context = RecordState(known[author])?.vector ?? VersionVector()
            // Now and then somebody writes from a stale folder, or claims to have seen nothing.
            if Int.random(in: 0..<6, using: &generator) == 0 {
                context = RecordState(known[author].dropLast(3))?.vector ?? VersionVector()
            }
            let action: Change.Action
            switch Int.random(in: 0..<12, using: &generator) {
            case 0, 1: action = .delete
            case 2: action = .moved(to: ZoneID(Digest32(high: 0, low: UInt128(step % 2 + 5))))
            case 3: action = .set([:])
            default:
                var fields: [FieldKey: Value] = [:]
                for key in Self.keys where Bool.random(using: &generator) { fields[key] = .text("\(step)") }
                action = .set(fields)
            }
            let change = Change(
                record: Self.record, type: .photo, dot: Dot(replica: replica, counter: UInt64(step + 1)),
                context: context,
                timestamp: HybridTimestamp(
                    wallMilliseconds: UInt64.random(in: 0..<9, using: &generator), counter: 0, replica: replica),
                author: Self.ann, action: action, isDerived: Int.random(in: 0..<5, using: &generator) == 0,
                movedFrom: Int.random(in: 0..<15, using: &generator) == 0 ? ZoneID(Digest32(high: 0, low: 7)) : nil,
                forwards: Int.random(in: 0..<15, using: &generator) == 0
                    ? Dot(replica: ReplicaID(9), counter: UInt64(step + 1)) : nil)
            all.append(change)
            known[author].append(change)
        }
        return all
    }

    @Test(arguments: 0..<500 as Range<UInt64>)
    func `with a folded chain, whole or not yet all of the others', a record is what it is with all of it`(seed: UInt64)
        throws
    {
        var generator = SeededGenerator(seed: seed)
        let all = history(&generator)
        let replica = ReplicaID(1)
        // What of the chain is folded, and which of it counts for good.
        let own = all.filter { $0.dot.replica == replica }
        let cut = own.randomElement(using: &generator)?.dot.counter ?? 0
        let items = own.filter { $0.dot.counter <= cut }.map {
            PublishedChange($0, sequence: $0.dot.counter, isSettled: Int.random(in: 0..<8, using: &generator) > 0)
        }
        let kept = folded(items.shuffled(using: &generator), of: replica)
        let later = own.filter { $0.dot.counter > cut }
        for _ in 0..<8 {
            let others = all.filter { $0.dot.replica != replica && Int.random(in: 0..<3, using: &generator) > 0 }
            let news = later.prefix(Int.random(in: 0...max(later.count, 0), using: &generator))
            // Of what is not settled, some is refused by everybody.
            let refused = Set(items.filter { !$0.isSettled && Bool.random(using: &generator) }.map(\.change.dot))
            let whole = items.map(\.change).filter { !refused.contains($0.dot) } + others + news
            let part = kept.map(\.change).filter { !refused.contains($0.dot) } + others + news
            guard let expected = RecordState(whole) else { continue }
            let found = try #require(RecordState(part.shuffled(using: &generator)))
            #expect(found.isSame(as: expected))
            #expect(found.isLive == expected.isLive && found.movedTo == expected.movedTo)
            #expect(found.isDeleted == expected.isDeleted && found.fields == expected.fields)
        }
        // Folding again what is folded changes nothing more.
        #expect(folded(kept, of: replica) == kept)
    }

    @Test func `of many edits of one field the first shell and the last value are left`() {
        let replica = ReplicaID(1)
        let items = (1...50 as ClosedRange<UInt64>).map { number in
            PublishedChange(
                Change(
                    record: Self.record, type: .photo, dot: Dot(replica: replica, counter: number),
                    context: number == 1 ? [:] : [replica: number - 1],
                    timestamp: HybridTimestamp(wallMilliseconds: number, counter: 0, replica: replica),
                    author: Self.ann, action: .set([.caption: .text("\(number)")])), sequence: number, isSettled: true)
        }
        let kept = folded(items, of: replica)
        #expect(kept.map(\.change.dot.counter) == [1, 50] && kept.map(\.sequence) == [1, 50])
        #expect(kept.first?.change.action == .set([:]))
        // What somebody may still refuse takes nothing away.
        var open = items
        open[49].isSettled = false
        #expect(folded(open, of: replica).map(\.change.dot.counter) == [1, 49, 50])
    }

    @Test func `a state that lacks an edit is not the same`() {
        let replica = ReplicaID(1)
        func change(_ number: UInt64, _ action: Change.Action, _ context: VersionVector) -> Change {
            Change(
                record: Self.record, type: .photo, dot: Dot(replica: replica, counter: number), context: context,
                timestamp: HybridTimestamp(wallMilliseconds: number, counter: 0, replica: replica), author: Self.ann,
                action: action)
        }
        let name = change(1, .set([.name: .text("a")]), [:])
        let caption = change(2, .set([.caption: .text("b")]), [replica: 1])
        let gone = change(3, .delete, [replica: 2])
        let goneAgain = change(4, .delete, [replica: 3])
        for (left, right, isSame) in [
            ([name, caption], [name], false), ([name, gone], [name], false),
            ([name, caption, gone, goneAgain], [name, caption, goneAgain], true),
        ] {
            #expect(RecordState(left)?.isSame(as: RecordState(right)!) == isSame)
        }
    }
}
