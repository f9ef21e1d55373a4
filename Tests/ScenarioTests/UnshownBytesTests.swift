import ShoeboxStore
import ShoeboxTestSupport
import ShoeboxWorld
import Testing

@testable import Shoebox

/// Bytes that went along with a moved photo and that its mover had not been shown.
@Suite struct UnshownBytesTests {
    @Test(arguments: [1, 2, 3], [false, true])
    func `who saves a photo after moving it, before what others made of it shows, writes over none of that`(
        rounds: Int, isInPlace: Bool
    ) throws {
        let (party, dan) = try Party.twoShares()
        let (alice, carol, village) = (party.alice, party.carol, party.village)
        let disk = carol.machine.shared
        try alice.machine.library.write("Summer/a.jpg", "by alice", saving: .replacing)
        try party.rounds(of: alice, 6)
        // She hears of it, and its bytes don't come.
        carol.machine.faults.setRule { operation in
            operation.part == "mount" && operation.path.hasPrefix("assets/") ? .fail(.inputOutput) : nil
        }
        try party.rounds(of: carol, 3)
        #expect(carol.tree(.shared)["alice/Summer/a.jpg"] == "aaa")
        #expect(try Party.sizes(knownTo: carol).contains(8))
        try disk.move("alice/Summer/a.jpg", to: "alice/Other/a.jpg")
        try party.rounds(of: carol, rounds)
        #expect(carol.tree(.shared)["alice/Other/a.jpg"] == "aaa")
        try disk.write("alice/Other/a.jpg", "by carol, as well", saving: isInPlace ? .inPlace : .replacing)
        carol.machine.faults.setRule { _ in nil }
        try party.rounds(of: carol, 6)
        try #require(try village.settle())
        for (replica, tree) in [(alice, alice.tree(.library)), (dan, dan.tree(.shared))] {
            let texts = Set(tree.values)
            #expect(texts.isSuperset(of: ["by alice", "by carol, as well"]), "\(replica.label): \(tree)")
        }
    }
}
