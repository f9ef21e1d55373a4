import ShoeboxModel
import ShoeboxPlanning
import Testing

@Suite struct TagTests {
    @Test(arguments: [
        ("Beach", "beach"), ("  Beach \t", "beach"), ("Café", "cafe"), ("Cafe\u{301}", "cafe"), ("STRASSE", "Straße"),
        ("ΟΔΟΣ", "οδος"), ("ﬁn", "fin"), ("Zürich  See", "zurich see"), ("Ärger", "arger"),
    ])
    func `names that look alike are one`(left: String, right: String) {
        #expect(normalizedTagName(left) == normalizedTagName(right))
        #expect(normalizedTagName(normalizedTagName(left)) == normalizedTagName(left))
    }

    @Test(arguments: [("かき", "がき"), ("sea", "see"), ("कु", "कू"), ("a b", "ab")])
    func `names that are other words are two`(left: String, right: String) {
        #expect(normalizedTagName(left) != normalizedTagName(right))
    }

    private func tag(_ number: Int, _ title: String, isDeleted: Bool = false) -> RecordState? {
        let dot = Dot(replica: replica(1), counter: UInt64(number))
        var changes = [
            Change(
                record: RecordName(UInt128(number)), type: .tag, dot: dot, timestamp: stamp(at: 1), author: account(1),
                action: .set([.title: .text(title)]))
        ]
        if isDeleted {
            changes.append(
                Change(
                    record: RecordName(UInt128(number)), type: .tag, dot: Dot(replica: replica(2), counter: 1),
                    context: [replica(1): UInt64(number)], timestamp: stamp(at: 2), author: account(1), action: .delete)
            )
        }
        return RecordState(changes)
    }

    @Test func `the smallest of equal names represents, while it is live and so named`() {
        let equal = [tag(3, "Beach"), tag(1, "beach"), tag(2, "BEACH "), tag(4, "Sea")].compactMap { $0 }
        #expect(resolveTags(equal) == [RecordName(2): RecordName(1), RecordName(3): RecordName(1)])
        #expect(resolveTags(equal.reversed()) == resolveTags(equal))
        let renamed = [tag(3, "Beach"), tag(1, "Sea"), tag(2, "Beach")].compactMap { $0 }
        #expect(resolveTags(renamed) == [RecordName(3): RecordName(2)])
        let deleted = [tag(3, "Beach"), tag(1, "Beach", isDeleted: true)].compactMap { $0 }
        #expect(resolveTags(deleted) == [:])
        #expect(resolveTags([tag(1, ""), tag(2, " ")].compactMap { $0 }) == [:])
    }
}
