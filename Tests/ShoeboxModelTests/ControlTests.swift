import ShoeboxModel
import ShoeboxTestSupport
import Testing

private let owner = AccountID(Digest32(high: 0, low: 1))
private let bob = AccountID(Digest32(high: 0, low: 2))
private let carol = AccountID(Digest32(high: 0, low: 3))
private func hash(_ number: UInt64) -> Digest32 { Digest32(high: 0, low: UInt128(number)) }
private func head(_ number: UInt64) -> Position { Position(sequence: number, hash: hash(number)) }
private let laptop = ReplicaID(11)
private let desktop = ReplicaID(12)

private func share(_ participants: [Participant]) -> Control {
    Control(
        kind: .share, title: "Trip", owner: owner,
        participants: Dictionary(uniqueKeysWithValues: participants.map { ($0.account, $0) }))
}

@Suite struct ControlTests {
    @Test func `what a removed participant writes later never counts, whatever it claims`() {
        var participant = Participant(account: bob, label: "bob", permission: .readWrite, status: .accepted)
        participant.remove(at: [laptop: head(5)])
        let control = share([participant])
        #expect((1...5).allSatisfy { control.counts(bob, laptop, sequence: $0) })
        #expect(!control.counts(bob, laptop, sequence: 6))
        #expect(!control.counts(bob, desktop, sequence: 1))
        #expect(control.counts(owner, desktop, sequence: 9))
        #expect(!control.counts(carol, desktop, sequence: 1))
    }

    @Test func `what a reader wrote does not count after promotion nor after removal`() {
        var participant = Participant(account: bob, label: "bob", permission: .readOnly, status: .accepted)
        participant.setPermission(.readWrite, at: [laptop: head(4)])
        #expect(!participant.counts(laptop, sequence: 4))
        #expect(participant.counts(laptop, sequence: 5))
        var reader = Participant(account: bob, label: "bob", permission: .readOnly, status: .accepted)
        reader.remove(at: [laptop: head(4)])
        #expect(!reader.counts(laptop, sequence: 2))
        reader.inviteAgain(.readWrite, after: [laptop: head(6)])
        #expect(!reader.counts(laptop, sequence: 6))
        #expect(reader.counts(laptop, sequence: 7))
        #expect(reader.generation == 2)
    }

    @Test func `demoted and promoted again, the time between never counts`() {
        var participant = Participant(account: bob, label: "bob", permission: .readWrite, status: .accepted)
        participant.setPermission(.readOnly, at: [laptop: head(3)])
        participant.setPermission(.readWrite, at: [laptop: head(8)])
        #expect((1...12).filter { participant.counts(laptop, sequence: $0) } == [1, 2, 3, 9, 10, 11, 12])
    }

    @Test func `between two permissions each segment counts as far as its own time allowed`() {
        var participant = Participant(account: bob, label: "bob", permission: .readWrite, status: .accepted)
        participant.setPermission(.contribute, at: [laptop: head(3)])
        participant.setPermission(.readWrite, at: [laptop: head(6)])
        participant.setPermission(.contribute, at: [laptop: head(8)])
        participant.remove(at: [laptop: head(9)])
        #expect(
            (1...10).map { participant.scope(of: laptop, sequence: $0) }
                == [.all, .all, .all, .own, .own, .own, .all, .all, .own, .nothing])
        var contributor = Participant(account: bob, label: "bob", permission: .contribute, status: .accepted)
        #expect(contributor.scope(of: desktop, sequence: 1) == .own)
        contributor.setPermission(.readOnly, at: [:])
        #expect(contributor.scope(of: desktop, sequence: 1) == .nothing)
    }

    @Test func `who left may come back by itself, who was removed may not`() {
        var left = Participant(account: bob, label: "bob", permission: .readWrite, status: .accepted)
        left.remove(at: [:], byOwnWish: true)
        var removed = Participant(account: bob, label: "bob", permission: .readWrite, status: .accepted)
        removed.remove(at: [:])
        #expect(left.joined(with: removed).hasLeft == false && removed.joined(with: left).hasLeft == false)
        var open = share([removed])
        open.publicPermission = .readWrite
        #expect(open.permission(of: bob) == .none)
        open.participants[bob] = left
        #expect(open.permission(of: bob) == .readWrite)
    }

    @Test func `an invitation by who does not know of a removal does not undo it`() {
        let before = share([Participant(account: bob, label: "bob", permission: .readWrite, status: .accepted)])
        var removed = before
        removed.participants[bob]?.remove(at: [laptop: head(5)])
        var invited = before
        invited.participants[carol] = Participant(account: carol, label: "carol")
        let joined = removed.joined(with: invited)
        #expect(joined.permission(of: bob) == .none)
        #expect(joined.participants[carol] != nil)
        #expect(!joined.counts(bob, laptop, sequence: 6))
        #expect(joined.counts(bob, laptop, sequence: 5))
    }

    @Test func `an invitation after the removal counts`() {
        var removed = Participant(account: bob, label: "bob", permission: .readWrite, status: .accepted)
        removed.remove(at: [laptop: head(5)])
        var again = removed
        again.inviteAgain(.readOnly, after: [laptop: head(5)])
        #expect(removed.joined(with: again) == again)
        #expect(again.joined(with: removed) == again)
    }

    /// What random owner's devices make of one share.
    private func randomControl(_ generator: inout SeededGenerator) -> Control {
        var control = share([])
        for account in [bob, carol] {
            var participant = Participant(
                account: account, label: "p\(generator.below(3))",
                permission: Permission.allCases[1 + generator.below(3)], status: .accepted)
            var position: UInt64 = 0
            for _ in 0..<generator.below(5) {
                position += UInt64(generator.below(4))
                let heads = [generator.chance(50) ? laptop : desktop: head(position)]
                switch generator.below(3) {
                case 0: participant.remove(at: heads, byOwnWish: generator.chance(30))
                case 1: participant.inviteAgain(Permission.allCases[1 + generator.below(3)], after: heads)
                default:
                    if participant.takesPart {
                        participant.setPermission(Permission.allCases[1 + generator.below(3)], at: heads)
                        participant.role = generator.chance(30) ? .admin : .participant
                    }
                }
            }
            if generator.chance(85) { control.participants[account] = participant }
        }
        control.title = "t\(generator.below(3))"
        control.isStopped = generator.chance(10)
        control.publicPermission = Permission.allCases[generator.below(4)]
        control.endPolicy = generator.chance(50) ? .keep : .remove
        return control
    }

    @Test(arguments: 0..<300 as Range<UInt64>)
    func `joining is commutative, associative and idempotent, and restores nothing`(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        let (a, b, c) = (randomControl(&generator), randomControl(&generator), randomControl(&generator))
        let joined = a.joined(with: b)
        #expect(joined == b.joined(with: a))
        #expect(joined.joined(with: c) == a.joined(with: b.joined(with: c)))
        #expect(a.joined(with: a) == a)
        #expect(joined.joined(with: a) == joined.joined(with: b))
        for account in [bob, carol] {
            guard let left = a.participants[account], let right = b.participants[account],
                left.generation == right.generation, let both = joined.participants[account]
            else { continue }
            if left.status == .removed || right.status == .removed { #expect(both.status == .removed) }
            for replica in [laptop, desktop, ReplicaID(13)] {
                for sequence in 0...20 as ClosedRange<UInt64> {
                    let expected = min(
                        left.scope(of: replica, sequence: sequence), right.scope(of: replica, sequence: sequence))
                    #expect(both.scope(of: replica, sequence: sequence) == expected)
                }
            }
        }
    }

    @Test(arguments: 0..<200 as Range<UInt64>)
    func `readers agree after a removal, however late and backdated segments come`(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        var participant = Participant(account: bob, label: "bob", permission: .readWrite, status: .accepted)
        let accepted = UInt64(generator.below(10))
        var segments: [(sequence: UInt64, change: Change)] = []
        for sequence in 1...15 as ClosedRange<UInt64> {
            // Backdated: the times say nothing of when a segment was written.
            let wall = UInt64(generator.below(1 << 40))
            segments.append(
                (
                    sequence,
                    Change(
                        record: RecordName(5), type: .photo, dot: Dot(replica: laptop, counter: sequence),
                        timestamp: HybridTimestamp(wallMilliseconds: wall, counter: 0, replica: laptop), author: bob,
                        action: .set([.caption: .text("\(sequence)")]))
                ))
        }
        let early = segments.filter { participant.counts(laptop, sequence: $0.sequence) }
        #expect(early.count == 15)
        participant.remove(at: [laptop: head(accepted)])
        let control = share([participant])
        let states = (0..<3).map { _ in
            RecordState(
                segments.shuffled(using: &generator).filter { control.counts(bob, laptop, sequence: $0.sequence) }
                    .map(\.change))
        }
        #expect(states[0] == states[1] && states[1] == states[2])
        #expect(states[0]?.fields[.caption]?.values.count ?? 0 == Int(accepted))
    }
}
