import ShoeboxModel
import ShoeboxTestSupport
import Testing

private let owner = AccountID(Digest32(high: 0, low: 1))
private let (dora, emil) = (AccountID(Digest32(high: 0, low: 2)), AccountID(Digest32(high: 0, low: 3)))
private let people = (10..<14).map { AccountID(Digest32(high: 0, low: UInt128($0))) }
private let mallory = AccountID(Digest32(high: 0, low: 99))

/// Somebody's device: it knows some files, and writes new ones by what they mean to it.
private struct Writer {
    var account: AccountID
    var known: [Digest32: ControlNode] = [:]

    var outcome: ControlOutcome? { resolveControls(known.values, owner: owner) }

    /// Makes the next file: it names the tips, unless told otherwise.
    func node(
        _ control: Control, number: Int, over tips: [ControlNode]? = nil
    ) -> ControlNode {
        let tips = tips ?? outcome?.tips ?? []
        return ControlNode(
            hash: Digest32(high: 7, low: UInt128(number)), version: (tips.map(\.version).max() ?? 0) + 1,
            parents: Set(tips.map(\.hash)), signer: account, control: control)
    }

    /// As `write`; the change must change something.
    mutating func add(_ number: Int, _ change: (inout Control) -> Void) throws -> ControlNode {
        guard let made = write(number, change) else { throw Unchanged() }
        return made
    }

    private struct Unchanged: Error {}

    mutating func write(_ number: Int, _ change: (inout Control) -> Void) -> ControlNode? {
        guard var control = outcome?.control else { return nil }
        let before = control
        change(&control)
        guard control != before else { return nil }
        let made = node(control, number: number)
        known[made.hash] = made
        return made
    }
}

private func first(_ participants: [Participant]) -> ControlNode {
    ControlNode(
        hash: Digest32(high: 7, low: 0), version: 1, parents: [], signer: owner,
        control: Control(
            kind: .share, title: "Trip", owner: owner,
            participants: Dictionary(uniqueKeysWithValues: participants.map { ($0.account, $0) })))
}

private func admin(_ account: AccountID) -> Participant {
    Participant(account: account, label: "admin", role: .admin, permission: .readWrite, status: .accepted)
}

private func member(_ account: AccountID, _ permission: Permission = .readWrite) -> Participant {
    Participant(account: account, label: "member", permission: permission, status: .accepted)
}

@Suite struct ControlHistoryTests {
    /// Both devices start from the same file and write one each without knowing of the other.
    private func apart(
        _ start: ControlNode, _ one: (AccountID, (inout Control) -> Void), _ other: (AccountID, (inout Control) -> Void)
    ) throws -> ControlOutcome {
        var nodes = [start]
        for (number, (account, change)) in [one, other].enumerated() {
            var writer = Writer(account: account, known: [start.hash: start])
            nodes.append(try writer.add(number + 1, change))
        }
        let outcome = try #require(resolveControls(nodes, owner: owner))
        #expect(resolveControls(nodes.reversed(), owner: owner) == outcome)
        return outcome
    }

    @Test func `what one did not touch undoes nothing that another did at the same time`() throws {
        let start = first([member(people[0], .readOnly), admin(dora)])
        let outcome = try apart(
            start, (owner, { $0.participants[people[0]]?.setPermission(.readWrite, at: [:]) }),
            (dora, { $0.title = "Summer" }))
        #expect(outcome.control.permission(of: people[0]) == .readWrite && outcome.control.title == "Summer")
        #expect(outcome.tips.count == 2)
    }

    @Test func `a removal is not undone by who did not know of it, whoever that was`() throws {
        let start = first([member(people[0]), admin(dora), admin(emil)])
        for (one, other) in [(owner, owner), (owner, dora), (dora, owner), (dora, emil)] {
            let outcome = try apart(
                start, (one, { $0.participants[people[0]]?.remove(at: [:]) }),
                (other, { $0.participants[people[0]]?.setPermission(.readOnly, at: [:]) }))
            #expect(outcome.control.participants[people[0]]?.status == .removed)
        }
        // Two removals are one, and who knows of both may invite again.
        let both = try apart(
            start, (owner, { $0.participants[people[0]]?.remove(at: [:]) }),
            (dora, { $0.participants[people[0]]?.remove(at: [:]) }))
        #expect(both.control.participants[people[0]]?.status == .removed)
    }

    @Test func `who is invited again by somebody who knew of the removal is in`() throws {
        let start = first([member(people[0]), admin(dora)])
        var writer = Writer(account: dora, known: [start.hash: start])
        let removal = try writer.add(1) { $0.participants[people[0]]?.remove(at: [:]) }
        let again = try writer.add(2) { $0.participants[people[0]]?.inviteAgain(.readOnly, after: [:]) }
        var late = Writer(account: owner, known: [start.hash: start])
        let other = try late.add(3) { $0.participants[people[0]]?.remove(at: [:]) }
        // The later removal of the first invitation does not reach the second one.
        for nodes in [start, removal, again, other].permutations() {
            #expect(resolveControls(nodes, owner: owner)?.control.permission(of: people[0]) == .readOnly)
        }
    }

    @Test func `an admin changes people and the title, and nothing else`() throws {
        let start = first([member(people[0]), admin(dora), admin(emil)])
        let changes: [(Bool, (inout Control) -> Void)] = [
            (true, { $0.title = "x" }),
            (true, { $0.participants[people[0]]?.remove(at: [:]) }),
            (true, { $0.participants[people[0]]?.setPermission(.readOnly, at: [:]) }),
            (true, { $0.participants[people[1]] = Participant(account: people[1], label: "new") }),
            (false, { $0.isStopped = true }),
            (false, { $0.publicPermission = .readWrite }),
            (false, { $0.endPolicy = .keep }),
            (false, { $0.isSealed = false }),
            (false, { $0.ownerLabel = "x" }),
            (false, { $0.participants[people[0]]?.role = .admin }),
            (false, { $0.participants[emil]?.remove(at: [:]) }),
            (false, { $0.participants[emil]?.setPermission(.readOnly, at: [:]) }),
            (false, { $0.participants[dora]?.label = "me" }),
            (false, { $0.participants[owner] = Participant(account: owner, label: "owner") }),
            (false, { $0.participants[people[0]] = nil }),
            (false, { $0.participants[people[0]]?.generation = .max }),
            (false, { $0.participants[people[1]] = Participant(account: people[1], label: "new", generation: 9) }),
            (false, { $0.participants[people[1]] = member(people[2]) }),
        ]
        for (index, (isAllowed, change)) in changes.enumerated() {
            var control = start.control
            change(&control)
            let node = Writer(account: dora).node(control, number: 1, over: [start])
            let outcome = try #require(resolveControls([start, node], owner: owner))
            #expect((outcome.control == control) == isAllowed, "change \(index)")
            #expect((outcome.refused[node.hash] == nil) == isAllowed, "change \(index)")
            // A member may change nothing, a stranger neither.
            for account in [people[0], mallory] {
                let node = Writer(account: account).node(control, number: 1, over: [start])
                #expect(resolveControls([start, node], owner: owner)?.control == start.control)
            }
        }
    }

    @Test func `what was closed for somebody can't be opened by an admin`() throws {
        var closed = member(people[0])
        closed.setPermission(.readOnly, at: [ReplicaID(5): Position(sequence: 4, hash: start.hash)])
        let start = first([closed, admin(dora)])
        var control = start.control
        control.participants[people[0]]?.intervals[ReplicaID(5)] = [Interval()]
        let node = Writer(account: dora).node(control, number: 1, over: [start])
        #expect(resolveControls([start, node], owner: owner)?.refused[node.hash] == .notPermitted)
    }
    private let start = first([])

    @Test func `what a former admin signs counts only as far as the owner had merged it`() throws {
        let start = first([member(people[0]), admin(dora)])
        var dora = Writer(account: dora, known: [start.hash: start])
        let merged = try dora.add(1) { $0.title = "by dora" }
        var laptop = Writer(account: owner, known: [start.hash: start, merged.hash: merged])
        let demotion = try laptop.add(2) { $0.participants[dora.account]?.setPermission(.readOnly, at: [:]) }
        // Backdated: signed after the demotion, over what was there when she was an admin.
        var evil = start.control
        evil.participants[mallory] = Participant(account: mallory, label: "mallory", permission: .readWrite)
        let backdated = [start, merged].enumerated().map { index, parent in
            dora.node(evil, number: 10 + index, over: [parent])
        }
        for nodes in ([start, merged, demotion] + backdated).permutations() {
            let outcome = try #require(resolveControls(nodes, owner: owner))
            #expect(outcome.control.participants[mallory] == nil && outcome.control.title == "by dora")
            #expect(outcome.tips == [demotion])
            #expect(backdated.allSatisfy { outcome.refused[$0.hash] != nil })
        }
        // Over the demotion itself she may do nothing at all.
        let over = dora.node(evil, number: 20, over: [demotion])
        #expect(
            resolveControls([start, merged, demotion, over], owner: owner)?.refused[over.hash] == .notPermitted)
    }

    @Test func `an honest admin who built on a withdrawn file keeps what it did itself`() throws {
        let start = first([member(people[0]), admin(dora), admin(emil)])
        let dora = Writer(account: dora, known: [start.hash: start])
        var evil = start.control
        evil.participants[mallory] = Participant(account: mallory, label: "mallory", permission: .readWrite)
        let bad = dora.node(evil, number: 1)
        var emil = Writer(account: emil, known: [start.hash: start, bad.hash: bad])
        let removal = try emil.add(2) { $0.participants[people[0]]?.remove(at: [:]) }
        var laptop = Writer(account: owner, known: [start.hash: start])
        let demotion = try laptop.add(3) { $0.participants[dora.account]?.remove(at: [:]) }
        for nodes in [start, bad, removal, demotion].permutations() {
            let outcome = try #require(resolveControls(nodes, owner: owner))
            #expect(outcome.control.participants[mallory] == nil)
            #expect(outcome.control.participants[people[0]]?.status == .removed)
        }
    }

    @Test func `an admin's file whose parents are not seen waits`() throws {
        let start = first([member(people[0]), admin(dora)])
        var dora = Writer(account: dora, known: [start.hash: start])
        let one = try dora.add(1) { $0.title = "one" }
        let two = try dora.add(2) { $0.title = "two" }
        let outcome = try #require(resolveControls([start, two], owner: owner))
        #expect(outcome.control.title == "Trip" && outcome.refused == [two.hash: .waiting])
        #expect(resolveControls([two, one, start], owner: owner)?.control.title == "two")
    }

    @Test
    func
        `a hand-over is the same in any order, and what the former owner signs around it counts as far as it had merged`()
        throws
    {
        let start = first([member(people[0]), member(people[1]), admin(dora)])
        let before = try {
            var laptop = Writer(account: owner, known: [start.hash: start])
            return try laptop.add(1) { $0.title = "before" }
        }()
        func handOver(_ number: Int, to account: AccountID, over tips: [ControlNode]) -> (ControlNode, Handover) {
            var control = tips[0].control
            let offer = TransferOffer(
                account: account, permission: .readWrite, staysAdmin: false, number: Array(repeating: 1, count: 16))
            control.handOver(offer, at: [:])
            let node = Writer(account: owner).node(control, number: number, over: tips)
            return (
                node,
                Handover(hash: node.hash, version: node.version, lineage: [], signer: owner, owner: account)
            )
        }
        let (handed, handover) = handOver(2, to: people[0], over: [before])
        let (second, other) = handOver(3, to: people[1], over: [before])
        var late = before.control
        late.participants[people[1]]?.remove(at: [:])
        let backdated = Writer(account: owner).node(late, number: 4, over: [before])
        // An admin who has not heard of it, and the new owner.
        var title = before.control
        title.participants[people[1]]?.setPermission(.readOnly, at: [:])
        let honest = Writer(account: dora).node(title, number: 5, over: [before])
        var next = handed.control
        next.title = "after"
        var mine = Writer(account: people[0]).node(next, number: 6, over: [handed])
        mine.lineage = [handed.hash]
        let nobody = Handover(
            hash: Digest32(high: 9, low: 9), version: 2, lineage: [], signer: mallory, owner: mallory)
        for handovers in [handover, other, nobody].permutations() {
            let succession = Succession(founder: owner, of: handovers, settled: [handed.hash])
            #expect(succession.owner == people[0] && succession.lineage == [handed.hash])
            #expect(Succession(founder: owner, of: handovers) { $0 == people[1] }.owner == people[1])
        }
        let succession = Succession(founder: owner, of: [handover, other], settled: [handed.hash])
        for nodes in [before, handed, second, backdated, honest, mine].permutations() {
            let outcome = try #require(resolveControls([start] + nodes, succession: succession))
            #expect(outcome.control.owner == people[0] && outcome.control.title == "after")
            #expect(outcome.control.participants[people[0]]?.role == .owner)
            #expect(outcome.control.permission(of: owner) == .readWrite && !outcome.control.isAdmin(owner))
            #expect(outcome.control.permission(of: people[1]) == .readOnly)
            #expect(outcome.refused[backdated.hash] == .withdrawn && outcome.refused[second.hash] != nil)
        }
    }

    @Test func `nobody signs a version that no other can follow`() throws {
        let start = first([member(people[0]), admin(dora)])
        var control = start.control
        control.title = "last"
        var greatest = Writer(account: dora).node(control, number: 1, over: [start])
        greatest.version = .max
        let outcome = try #require(resolveControls([start, greatest], owner: owner))
        #expect(outcome.refused == [greatest.hash: .malformed] && outcome.tips == [start])
    }

    /// Two devices of the owner hand over to the same person; the second one's file is the one that the new owner goes by.
    private func twins(
        over before: ControlNode, _ change: (inout Control) -> Void = { _ in }
    ) -> (first: ControlNode, second: ControlNode, taken: ControlNode, succession: Succession) {
        func handOver(_ number: Int, _ control: Control) -> ControlNode {
            var control = control
            let offer = TransferOffer(
                account: people[0], permission: .readWrite, staysAdmin: false, number: Array(repeating: 1, count: 16))
            control.handOver(offer, at: [:])
            return Writer(account: owner).node(control, number: number, over: [before])
        }
        var changed = before.control
        change(&changed)
        let (first, second) = (handOver(21, changed), handOver(22, before.control))
        var control = second.control
        control.title = "taken over"
        var taken = Writer(account: people[0]).node(control, number: 23, over: [second])
        taken.lineage = [second.hash]
        let handovers = [first, second].map { node in
            Handover(
                hash: node.hash, version: node.version, lineage: [], signer: owner, owner: people[0],
                isTakenUp: node.hash == second.hash)
        }
        return (first, second, taken, Succession(founder: owner, of: handovers, settled: [first.hash]))
    }

    @Test func `what an admin wrote who has seen the other one of two hand-overs counts`() throws {
        let start = first([member(people[0]), member(people[1]), admin(dora), admin(emil)])
        let made = twins(over: start)
        var removal = made.first.control
        removal.participants[people[1]]?.remove(at: [:])
        var written = Writer(account: dora).node(removal, number: 30, over: [made.first])
        written.lineage = [made.first.hash]
        for nodes in [made.first, made.second, made.taken, written].permutations() {
            let outcome = try #require(resolveControls([start] + nodes, succession: made.succession))
            #expect(outcome.control.owner == people[0] && outcome.control.title == "taken over")
            #expect(outcome.control.participants[people[1]]?.status == .removed)
            #expect(outcome.refused == [made.first.hash: .withdrawn])
            #expect(Set(outcome.tips.map(\.hash)) == [made.taken.hash, written.hash])
        }
    }

    @Test func `a former owner makes nobody what they are not by another hand-over, not through an admin either`()
        throws
    {
        let start = first([member(people[0]), member(people[1]), admin(dora), admin(emil)])
        let made = twins(over: start) { control in
            control.participants[emil]?.role = .participant
            control.participants[mallory] = Participant(
                account: mallory, label: "mallory", role: .admin, permission: .readWrite, status: .accepted)
        }
        var removal = made.first.control
        removal.participants[emil]?.remove(at: [:])
        var invitation = made.first.control
        invitation.participants[people[2]] = Participant(account: people[2], label: "n", permission: .readWrite)
        for (signer, control) in [(dora, removal), (mallory, invitation)] {
            var written = Writer(account: signer).node(control, number: 30, over: [made.first])
            written.lineage = [made.first.hash]
            let outcome = try #require(
                resolveControls([start, made.first, made.second, made.taken, written], succession: made.succession))
            #expect(outcome.refused == [made.first.hash: .withdrawn, written.hash: .notPermitted])
            #expect(outcome.control.isAdmin(emil) && outcome.control.participants[mallory] == nil)
            #expect(outcome.control.participants[people[2]] == nil)
        }
    }

    /// Two devices of the owner and two admins, who hear of each other by chance, and one of whom may turn bad.
    @Test(arguments: 0..<150 as Range<UInt64>)
    func `every reader comes to the same, no removal is undone, and no former admin gets anybody in`(seed: UInt64)
        throws
    {
        var generator = SeededGenerator(seed: seed)
        let start = first(people.prefix(3).map { member($0) } + [admin(dora), admin(emil)])
        var writers = [owner, owner, dora, emil].map { Writer(account: $0, known: [start.hash: start]) }
        var all: [Digest32: ControlNode] = [start.hash: start]
        var number = 1
        /// Removals: by which file, of whom, and the generation that they end.
        var removals: [(file: Digest32, person: AccountID, generation: UInt64)] = []
        for _ in 0..<14 {
            let index = generator.below(writers.count)
            if generator.chance(40) {
                // Hears of everything that somebody else knows: knowledge has no holes.
                let other = generator.below(writers.count)
                writers[index].known.merge(writers[other].known) { first, _ in first }
                continue
            }
            let person = people[generator.below(people.count)]
            var removed: UInt64?
            let kind = generator.below(writers[index].account == owner ? 6 : 4)
            let account = writers[index].account
            let made = writers[index].write(number) { control in
                let isAdmin = control.isAdmin(account) || account == owner
                guard isAdmin else { return }
                switch kind {
                case 0:
                    guard let generation = control.participants[person]?.generation,
                        control.participants[person]?.takesPart == true
                    else { return }
                    control.participants[person]?.remove(at: [:])
                    removed = generation
                case 1:
                    if control.participants[person] == nil {
                        control.participants[person] = Participant(account: person, label: "n")
                    } else {
                        control.participants[person]?.inviteAgain(.readWrite, after: [:])
                    }
                case 2:
                    if control.participants[person]?.takesPart == true {
                        control.participants[person]?.setPermission(
                            Permission.allCases[1 + generator.below(3)], at: [:])
                    }
                case 3: control.title = "t\(generator.below(5))"
                default:
                    let who = generator.chance(50) ? dora : emil
                    let makes = generator.chance(40)
                    guard control.participants[who]?.takesPart == true else { return }
                    control.participants[who]?.role = makes ? .admin : .participant
                }
            }
            guard let made else { continue }
            all[made.hash] = made
            number += 1
            if let removed { removals.append((made.hash, person, removed)) }
        }
        // Both admins are put down by the laptop, which has heard of everything or not; then they sign, backdated, over
        // anything that ever was.
        if generator.chance(50) { writers[0].known = all }
        for who in [dora, emil] {
            if let made = writers[0].write(
                number,
                {
                    $0.participants[who]?.setPermission(.readOnly, at: [:]); $0.participants[who]?.role = .participant
                })
            {
                all[made.hash] = made
                number += 1
            }
        }
        let honest = try #require(resolveControls(all.values, owner: owner))
        for parent in all.values.sorted(by: { $0.hash < $1.hash }) {
            var evil = parent.control
            evil.participants[mallory] = Participant(account: mallory, label: "mallory", permission: .readWrite)
            for who in [dora, emil, people[0], mallory] {
                let node = Writer(account: who).node(evil, number: 1_000 + number, over: [parent])
                all[node.hash] = node
                number += 1
            }
        }
        let outcome = try #require(resolveControls(all.values, owner: owner))
        #expect(outcome.control == honest.control && outcome.tips == honest.tips)
        #expect(outcome.control.participants[mallory] == nil)
        for _ in 0..<3 {
            #expect(resolveControls(all.values.shuffled(using: &generator), owner: owner) == outcome)
        }
        for removal in removals where outcome.counted.contains(removal.file) {
            let present = try #require(outcome.control.participants[removal.person])
            #expect(!present.takesPart || present.generation > removal.generation, "\(removal) is undone")
        }
        // The owner's next file merges all that counts, and then there is one tip.
        var last = Writer(account: owner, known: all)
        let merged = try last.add(9_999) { $0.title = "end" }
        #expect(last.outcome?.tips == [merged] && last.outcome?.control == merged.control)
    }
}

extension Array {
    /// Every order of the elements.
    func permutations() -> [[Element]] {
        guard count > 1 else { return [self] }
        return indices.flatMap { index in
            var rest = self
            let picked = rest.remove(at: index)
            return rest.permutations().map { [picked] + $0 }
        }
    }
}
