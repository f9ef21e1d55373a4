import ShoeboxCloud
import ShoeboxLibrary
import ShoeboxModel
import ShoeboxPlanning
import ShoeboxStore
import ShoeboxTestSupport
import ShoeboxWorld
import Testing

@testable import Shoebox

/// What is done at once, and is too much for a segment, goes out in several.
@Suite struct TransactionPartsTests {
    private static let photo = "alice/Summer/a.jpg"

    /// Bob gives three tags at once, which takes a segment for each change; the names of the last of these.
    private func tagInParts(_ party: Party, last count: UInt64) throws -> Set<String> {
        let bob = party.bob
        bob.tune = { $0.segmentChangesMax = 1 }
        func last() throws -> UInt64 {
            try bob.store.read { db in try db.zone(party.zone) }?.last.sequence ?? 0
        }
        let before = try last()
        let tagged = bob.request(
            .tag(path: bob.path(Self.photo, .shared), titles: ["Lake", "Sea", "Ice"], isMember: true))
        try #require(tagged.code == 0, "\(tagged)")
        try party.rounds(of: bob, 2)
        let end = try last() + 1
        try #require(end > before + 1 + count)
        let numbers = end - count..<end
        return try bob.store.read { db in
            Set(
                try numbers.compactMap { number in
                    try db.position(number, of: bob.identity.replica, in: party.zone).map(ZoneFolder.segmentName)
                })
        }
    }

    /// Hides files from a machine, as a mount does that shows late what is new.
    private func hide(_ names: Set<String>, from replica: Replica) {
        replica.machine.faults.setRule { operation in
            operation.part == "mount" && names.contains { operation.path.hasSuffix($0) } ? .fail(.absent) : nil
        }
    }

    private func tags(_ replica: Replica, _ path: String, _ root: RootKind) -> Set<String> {
        Set(replica.sidecar(path, root)?.fields.tags ?? [])
    }

    @Test(arguments: [1, 2] as [UInt64])
    func `what is done at once shows nowhere before all of it is there`(hiddenCount: UInt64) throws {
        let party = try Party(bob: "readWrite")
        let hidden = try tagInParts(party, last: hiddenCount)
        hide(hidden, from: party.alice)
        try party.rounds(of: party.alice, 4)
        #expect(tags(party.alice, "Summer/a.jpg", .library) == [])
        party.alice.machine.faults.setRule(nil)
        try party.rounds(of: party.alice, 4)
        #expect(tags(party.alice, "Summer/a.jpg", .library) == ["Lake", "Sea", "Ice"])
    }

    @Test(arguments: [false, true], [1, 2] as [UInt64])
    func `of what is done at once by somebody who is removed before all of it was seen nothing counts`(
        carolSawIt: Bool, hiddenCount: UInt64
    ) throws {
        let party = try Party(bob: "readWrite")
        let (alice, carol) = (party.alice, party.carol)
        let hidden = try tagInParts(party, last: hiddenCount)
        if carolSawIt {
            try party.rounds(of: carol, 4)
            try #require(tags(carol, "alice/Summer/a.jpg", .shared) == ["Lake", "Sea", "Ice"])
        }
        hide(hidden, from: alice)
        try party.rounds(of: alice, 4)
        let removed = alice.request(.uninvite(share: "Summer", accounts: ["bob"]))
        try #require(removed.code == 0, "\(removed)")
        alice.machine.faults.setRule(nil)
        try #require(try party.village.settle())
        #expect(tags(alice, "Summer/a.jpg", .library) == [])
        #expect(tags(carol, "alice/Summer/a.jpg", .shared) == [])
        party.expectShown()
    }
}
