import ShoeboxLibrary
import ShoeboxPlanning
import ShoeboxStore
import ShoeboxTestSupport
import ShoeboxWorld
import Testing

@testable import Shoebox

/// Somebody takes something from one share of an owner to another one which has just been stopped.
@Suite struct StoppedBeforeArrivalTests {
    @Test(arguments: [false, true], [1, 2] as [UInt64])
    func
        `what is taken to a share that has just been stopped is where it was, with its tags, and in the library of who took it`(
            isFolder: Bool, seed: UInt64
        ) throws
    {
        let (party, _) = try Party.twoShares(seed: seed)
        let (alice, bob, carol, village) = (party.alice, party.bob, party.carol, party.village)
        let photo = carol.path("alice/Summer/deep/b.jpg", .shared)
        try #require(carol.request(.tag(path: photo, titles: ["lake"], isMember: true)).code == 0)
        try #require(carol.request(.rate(path: photo, value: 4)).code == 0)
        try #require(try village.settle())
        try #require(alice.request(.stop(share: "Other")).code == 0)
        try party.rounds(of: alice, 3)
        let (old, new) = isFolder ? ("Summer/deep", "Other/deep") : ("Summer/deep/b.jpg", "Other/b.jpg")
        try carol.machine.shared.move("alice/" + old, to: "alice/" + new)
        if !isFolder { try carol.machine.shared.move("alice/\(old).json", to: "alice/\(new).json") }
        try party.rounds(of: carol, 4, reachesContainer: false)
        try #require(try village.settle())
        #expect(alice.tree(.library)["Summer/deep/b.jpg"] == "bbb", "\(alice.tree(.library))")
        for other in [bob, carol] {
            #expect(other.tree(.shared)["alice/Summer/deep/b.jpg"] == "bbb", "\(other.label): \(other.tree(.shared))")
            let fields = other.sidecar("alice/Summer/deep/b.jpg", .shared)?.fields
            #expect(fields?.tags == ["lake"], "\(other.label)")
        }
        #expect(carol.tree(.library).values.contains("bbb"), "\(carol.tree(.library))")
        #expect(village.replicas.filter { !$0.isQuiet }.map(\.label) == [])
    }
}
