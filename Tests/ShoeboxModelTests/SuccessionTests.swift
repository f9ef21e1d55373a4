import ShoeboxModel
import ShoeboxTestSupport
import Testing

private let ann = AccountID(Digest32(high: 0, low: 1))
private let bob = AccountID(Digest32(high: 0, low: 2))
private let carol = AccountID(Digest32(high: 0, low: 3))
private let dan = AccountID(Digest32(high: 0, low: 4))

private func digest(_ number: UInt128) -> Digest32 { Digest32(high: 0, low: number) }

private func handover(
    _ number: UInt128, after lineage: [UInt128] = [], from signer: AccountID = ann, to owner: AccountID = bob,
    isDoubtful: Bool = false, isTakenUp: Bool = false
) -> Handover {
    Handover(
        hash: digest(number), version: 5, lineage: lineage.map(digest), signer: signer, owner: owner,
        isDoubtful: isDoubtful, isTakenUp: isTakenUp)
}

private func succession(_ handovers: [Handover], settled: [UInt128] = []) -> Succession {
    let results = handovers.permutations().map { Succession(founder: ann, of: $0, settled: settled.map(digest)) }
    #expect(Set(results).count == 1, "it depends on the order")
    return results[0]
}

/// Who owned a zone, where several files say it.
struct SuccessionTests {
    @Test func `two hand-overs to the same person are one, and the new owner says by which of them all go`() {
        let both = [handover(1), handover(2, isTakenUp: true)]
        for settled in [[], [1], [2]] as [[UInt128]] {
            let result = succession(both, settled: settled)
            #expect(result.lineage == [digest(2)] && result.owner == bob && result.isTakenUp)
            #expect(result.holds([digest(1)]) && result.holds([digest(2)]) && !result.holds([digest(3)]))
            #expect(result.isHandover(digest(1), after: 0) && !result.isHandover(digest(1), after: 1))
        }
        // Until then everybody stays with what was known; two of the new owner's devices come to the same.
        #expect(succession([handover(1), handover(2)], settled: [2]).lineage == [digest(2)])
        #expect(!succession([handover(1), handover(2)], settled: [2]).isTakenUp)
        #expect(
            succession([handover(1, isTakenUp: true), handover(2, isTakenUp: true)], settled: [2]).lineage
                == [digest(1)])
    }

    @Test func `what was handed on after either of them holds for all`() {
        let all = [
            handover(1, isTakenUp: true), handover(2), handover(3, after: [2], from: bob, to: carol),
            handover(4, after: [1], from: bob, to: carol), handover(5, after: [2, 4], from: carol, to: dan),
        ]
        for settled in [[], [1], [2], [2, 3], [1, 3], [2, 4, 5]] as [[UInt128]] {
            let result = succession(all, settled: settled)
            #expect(result.owner == dan && result.handovers.count == 3, "\(settled)")
        }
    }

    @Test func `who owned it before turns nobody by another hand-over, by what they sign together neither`() {
        // The founder and the second owner together: a smaller one, which the second owner claims to have taken up.
        let all = [
            handover(2, isTakenUp: true), handover(3, after: [2], from: bob, to: carol, isTakenUp: true),
            handover(1, isTakenUp: true), handover(4, after: [1], from: bob, to: carol),
        ]
        for settled in [[], [1], [2], [2, 3]] as [[UInt128]] {
            #expect(succession(all, settled: settled).lineage == [digest(2), digest(3)], "\(settled)")
        }
    }

    @Test func `of hand-overs to two people each reader stays with the one that was known`() {
        let both = [handover(1), handover(2, to: carol, isTakenUp: true)]
        #expect(succession(both, settled: [1]).owner == bob)
        #expect(succession(both, settled: [2]).owner == carol)
        #expect(succession(both).owner == bob)
        #expect(Succession(founder: ann, of: both) { $0 == carol }.owner == carol)
    }

    @Test func `a hand-over by a retired device holds only beside another one to the same person`() {
        let doubtful = handover(1, isDoubtful: true, isTakenUp: true)
        #expect(succession([doubtful]).owner == ann)
        #expect(succession([doubtful, handover(2, to: carol)]).owner == carol)
        let both = succession([doubtful, handover(2)])
        #expect(both.lineage == [digest(1)] && both.holds([digest(2)]))
        // Who has known it stays with it.
        #expect(succession([doubtful, handover(2, to: carol)], settled: [1]).owner == bob)
    }
}
