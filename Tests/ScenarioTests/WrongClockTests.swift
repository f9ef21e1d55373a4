import Shoebox
import ShoeboxLibrary
import ShoeboxModel
import ShoeboxPlanning
import ShoeboxStore
import ShoeboxTestSupport
import Testing

/// A device whose clock is wrong is named by the others, and its edits are neither lost nor in the way.
@Suite struct WrongClockTests {
    @Test(arguments: [31_536_000_000, -31_536_000_000, 7_200_000] as [Int64])
    func `a clock that is far off is named, and no more when it is right`(stepMilliseconds: Int64) throws {
        let party = try Party(bob: "readWrite")
        try party.village.pass(4)
        party.bob.machine.clock.step(milliseconds: stepMilliseconds)
        #expect(
            party.bob.request(.caption(path: party.bob.path("alice/Summer/a.jpg", .shared), text: "From bob")).code == 0
        )
        try party.village.pass(6)
        for replica in [party.alice, party.carol] {
            let found = replica.problems.filter { $0.code == "clock" }
            #expect(found.count == 1 && found.first?.path?.hasPrefix("bob") == true, "\(replica.problems)")
            #expect(found.first?.message.contains(stepMilliseconds > 0 ? "ahead" : "behind") == true, "\(found)")
            #expect(found.first?.isInformation == true)
        }
        #expect(party.alice.sidecar("Summer/a.jpg", .library)?.fields.caption == "From bob")
        // Who has seen it replaces it, whatever the clocks say.
        #expect(party.alice.request(.caption(path: party.alice.path("Summer/a.jpg"), text: "From alice")).code == 0)
        try party.village.pass(6)
        #expect(party.bob.sidecar("alice/Summer/a.jpg", .shared)?.fields.caption == "From alice")
        party.bob.machine.clock.step(milliseconds: -stepMilliseconds)
        #expect(
            party.bob.request(.caption(path: party.bob.path("alice/Summer/a.jpg", .shared), text: "Right again")).code
                == 0)
        try party.village.pass(6)
        for replica in [party.alice, party.carol] {
            #expect(!replica.problems.contains { $0.code == "clock" }, "\(replica.label): \(replica.problems)")
        }
        #expect(party.alice.sidecar("Summer/a.jpg", .library)?.fields.caption == "Right again")
    }
}
