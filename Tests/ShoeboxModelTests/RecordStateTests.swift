import ShoeboxModel
import ShoeboxTestSupport
import Testing

private let record = RecordName(77)
private let ann = AccountID(Digest32(high: 0, low: 1))

private func change(
    _ replica: UInt128, _ counter: UInt64, _ action: Change.Action, after context: VersionVector = [:],
    at wall: UInt64 = 1, derived: Bool = false, forwards: Dot? = nil
) -> Change {
    let replica = ReplicaID(replica)
    return Change(
        record: record, type: .photo, dot: Dot(replica: replica, counter: counter), context: context,
        timestamp: HybridTimestamp(wallMilliseconds: wall, counter: 0, replica: replica), author: ann, action: action,
        isDerived: derived, forwards: forwards)
}

private func caption(_ text: String) -> Change.Action { .set([.caption: .text(text)]) }

@Suite struct RecordStateTests {
    static let a = ReplicaID(1)
    static let b = ReplicaID(2)

    @Test(arguments: [
        // b over a, c over b: nobody sees a rival of c, in whatever order, even without b.
        (
            [
                change(1, 1, caption("a")), change(2, 1, caption("b"), after: [a: 1]),
                change(1, 2, caption("c"), after: [a: 1, b: 1]),
            ], ["c"]
        ),
        ([change(1, 1, caption("a")), change(1, 2, caption("c"), after: [a: 1, b: 1])], ["c"]),
        // Neither saw the other: the greater time wins, the other is kept.
        ([change(1, 1, caption("a"), at: 9), change(2, 1, caption("b"), at: 5)], ["a", "b"]),
        // A wild clock loses to who has seen it.
        ([change(1, 1, caption("a"), at: .max), change(2, 1, caption("b"), after: [a: 1], at: 0)], ["b"]),
        // Two forwards of one edit are that edit.
        (
            [
                change(3, 1, caption("f"), forwards: Dot(replica: a, counter: 4)),
                change(2, 9, caption("f"), forwards: Dot(replica: a, counter: 4)),
            ], ["f"]
        ),
        // One dot with two values, a fork: all take the same.
        ([change(1, 1, caption("x"), at: 3), change(1, 1, caption("y"), at: 3)], ["x"]),
    ])
    func `values supersede what their authors had seen, in any order`(changes: [Change], expected: [String]) {
        for seed in 0..<8 as Range<UInt64> {
            var generator = SeededGenerator(seed: seed)
            let state = RecordState((changes + changes).shuffled(using: &generator))
            #expect(state?.fields[.caption]?.values.compactMap(\.value.text) == expected)
        }
    }

    @Test func `siblings of equal value are no conflict`() {
        let state = RecordState([change(1, 1, caption("same")), change(2, 1, caption("same"))])
        #expect(state?.fields[.caption]?.losers.isEmpty == true)
    }

    @Test func `a derived name over an unseen edit does not let the deletion take the edit`() {
        let changes = [
            change(1, 1, caption("a")), change(1, 2, .delete, after: [Self.a: 1]),
            change(2, 1, caption("b"), after: [Self.a: 1]),
            change(3, 1, caption("derived"), after: [Self.a: 1, Self.b: 1], derived: true),
        ]
        #expect(RecordState(changes)?.isLive == true)
    }

    @Test func `a record that was only derived stays deleted, whoever derives it again`() {
        var changes = (1...4).map { change(UInt128($0), 1, caption("copy"), derived: true) }
        #expect(RecordState(changes)?.isLive == true)
        changes.append(change(2, 2, .delete, after: [Self.b: 1]))
        #expect(RecordState(changes)?.isLive == false)
        changes.append(change(9, 1, caption("mine"), after: [Self.b: 1]))
        #expect(RecordState(changes)?.isLive == true)
    }

    @Test func `a deletion takes every forward of an edit that it has seen`() {
        let dot = Dot(replica: Self.a, counter: 4)
        let changes = [
            change(3, 1, caption("f"), forwards: dot),
            change(2, 1, .delete, after: [Self.a: 4, ReplicaID(3): 1]),
            change(5, 1, caption("f"), forwards: dot),
        ]
        #expect(RecordState(changes)?.isDeleted == true)
    }

    @Test func `a move is void for who comes back knowing of it`() {
        let zone = ZoneID(Digest32(high: 0, low: 9))
        var changes = [change(1, 1, caption("a")), change(1, 2, .moved(to: zone), after: [Self.a: 1])]
        #expect(RecordState(changes)?.movedTo == zone)
        #expect(RecordState(changes)?.isLive == false)
        changes.append(change(1, 3, .set([:]), after: [Self.a: 2]))
        #expect(RecordState(changes)?.movedTo == nil)
        #expect(RecordState(changes)?.isLive == true)
        #expect(RecordState(changes)?.hasReturned(from: zone) == true)
    }

    /// A replica of the property test: what it has, and for each change what its author had.
    private struct Author {
        var known: [Int] = []
        var clock = HybridClock()
        var counter: UInt64 = 0
    }

    /// One thing a replica does.
    struct Step: Sendable, CustomStringConvertible {
        var author: Int
        var kind: Int
        var peer: Int
        var wall: UInt64
        var description: String { "\(author) does \(kind) with \(peer) at \(wall)" }
    }

    @Test(arguments: 0..<400 as Range<UInt64>)
    func `any order, repetition and batching gives one state, and no deletion takes what was not seen`(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        let fiftyYears = 50 * 365 * 86_400_000
        let steps = (0..<40).map { _ in
            Step(
                author: generator.below(4), kind: generator.below(10), peer: generator.below(4),
                wall: UInt64(fiftyYears + generator.below(2 * fiftyYears)))
        }
        guard let problem = problem(steps, seed: seed) else { return }
        let script = shrink(steps) { self.problem($0, seed: seed) != nil }
        Issue.record("\(problem) after \(script)")
    }

    private func problem(_ steps: [Step], seed: UInt64) -> String? {
        var changes: [Change] = []
        var seen: [Set<Int>] = []
        var authors = [Author](repeating: Author(), count: 4)
        for (number, step) in steps.enumerated() {
            let known = authors[step.author].known
            if step.kind < 4 {
                // All that the peer has, which is a prefix of every replica's chain.
                for index in authors[step.peer].known where !authors[step.author].known.contains(index) {
                    authors[step.author].known.append(index)
                }
                continue
            }
            let context = VersionVector(known.map { changes[$0].dot })
            let replica = ReplicaID(UInt128(step.author + 1))
            authors[step.author].counter += 1
            let action: Change.Action =
                switch step.kind {
                case 4, 5: .delete
                case 6: .set([.name: .text("n\(number)"), .caption: .text("c\(number)")])
                case 7: .set([.name: .text("n\(number)")])
                default: caption("c\(number)")
                }
            changes.append(
                Change(
                    record: record, type: .photo, dot: Dot(replica: replica, counter: authors[step.author].counter),
                    context: context,
                    timestamp: authors[step.author].clock.next(nowMilliseconds: step.wall, replica: replica),
                    author: ann, action: action, isDerived: step.kind == 8))
            seen.append(Set(known))
            authors[step.author].known.append(changes.count - 1)
        }
        guard let state = RecordState(changes) else { return nil }
        var generator = SeededGenerator(seed: seed)
        for _ in 0..<4 {
            let doubled = (changes + changes.filter { _ in generator.chance(40) }).shuffled(using: &generator)
            var other = RecordState(name: record, type: .photo)
            for change in doubled { other.merge(change) }
            if other != state { return "the order makes a difference" }
        }
        // The oracle knows sets, not vectors: a person's write lives while no person overwrote it.
        func keys(_ index: Int) -> Set<FieldKey> {
            if case .set(let fields) = changes[index].action { Set(fields.keys) } else { [] }
        }
        var vital: Set<Int> = []
        for index in changes.indices where !changes[index].isDerived {
            for key in keys(index) {
                let isOverwritten = changes.indices.contains {
                    !changes[$0].isDerived && seen[$0].contains(index) && keys($0).contains(key)
                }
                if !isOverwritten { vital.insert(index) }
            }
        }
        let isDeleted = changes.indices.contains { changes[$0].action == .delete && vital.isSubset(of: seen[$0]) }
        if isDeleted != state.isDeleted { return "deleted: \(state.isDeleted), but it should be \(isDeleted)" }
        for key in [FieldKey.caption, .name] {
            let expected = changes.indices.filter { index in
                keys(index).contains(key)
                    && !changes.indices.contains { seen[$0].contains(index) && keys($0).contains(key) }
            }
            let actual = Set(state.fields[key]?.values.map(\.dot) ?? [])
            if actual != Set(expected.map { changes[$0].dot }) { return "wrong values of \(key)" }
        }
        return nil
    }
}
