import ShoeboxModel
import ShoeboxStore
import ShoeboxTestSupport
import ShoeboxWorld
import Testing

@testable import Shoebox
@testable import ShoeboxCloud

/// The file that names what a device published, overwritten or gone: everybody who had read it says so, until that device mends it.
@Suite struct DamagedHeadTests {
    /// The file before it does not lead there any more.
    @Test func `a head that went on in its next file before the mount was put back to a backup is read there`() throws {
        let party = try Party(bob: "readWrite")
        let storage = party.village.world.storage
        let directory = "zones/\(party.zone)/heads/\(party.alice.identity.replica)"
        let (first, next) = (try #require(MountPath(directory + ".0")), try #require(MountPath(directory + ".1")))
        let backup = try #require(storage.rawRead(first))
        // As after many thousand changes, while the others are away.
        storage.rawWrite(first, backup + [UInt8](repeating: 0, count: 1_048_576))
        try party.alice.machine.library.write("Summer/new.jpg", "new")
        try party.rounds(of: party.alice, 4)
        try #require(storage.rawRead(next) != nil)
        storage.rawWrite(first, backup)
        storage.rawRemove(next)
        try party.alice.machine.library.write("Summer/later.jpg", "later")
        try party.rounds(of: party.alice, 4)
        for _ in 0..<4 {
            try party.village.pass(2)
            party.village.world.clock.advance(milliseconds: 20_000)
        }
        try #require(try party.village.settle())
        party.expectShown(Party.content.merging(["new.jpg": "new", "later.jpg": "later"]) { $1 })
        for replica in party.village.replicas { #expect(replica.problems.isEmpty, "\(replica.problems)") }
    }

    enum Damage: CaseIterable { case rubbish, shorterRubbish, longerRubbish, emptied, gone, putBack }

    @Test(arguments: Damage.allCases, [false, true])
    func `a head that lost what it named is named, until its device names all of that again`(
        damage: Damage, isRestarted: Bool
    ) throws {
        let party = try Party(bob: "readWrite", others: ["dave"])
        let storage = party.village.world.storage
        func heads() throws -> [(path: MountPath, bytes: [UInt8])] {
            try party.village.mountFiles("zones/\(party.zone)/heads/\(party.carol.identity.replica)").map {
                ($0, try #require(storage.rawRead($0)))
            }
        }
        try party.carol.machine.shared.write("alice/Summer/early.jpg", "early")
        try party.village.pass(8)
        let old = try heads()
        try party.carol.machine.shared.write("alice/Summer/hers.jpg", "hers")
        try party.village.pass(8)
        for (path, bytes) in try heads() {
            switch damage {
            case .rubbish: storage.rawWrite(path, bytes.indices.map { UInt8(truncatingIfNeeded: $0 &* 7 &+ 1) })
            case .shorterRubbish: storage.rawWrite(path, Array("rubbish".utf8))
            case .longerRubbish: storage.rawWrite(path, [UInt8](repeating: 7, count: bytes.count + 4_711))
            case .emptied: storage.rawWrite(path, [])
            case .gone: storage.rawRemove(path)
            case .putBack: storage.rawWrite(path, try #require(old.first { $0.path == path }).bytes)
            }
        }
        if isRestarted { try party.alice.restart() }
        for number in 0..<14 {
            try party.alice.round()
            // Some mounts show what was there before for a while.
            if number == 5, !isRestarted { #expect(party.alice.problems.isEmpty, "\(party.alice.problems)") }
            party.village.world.clock.advance(milliseconds: 10_500)
        }
        #expect(party.alice.tree(.library)["Summer/hers.jpg"] == "hers")
        // What is put back is read after a restart, and its chain is found to be longer.
        let code = damage == .putBack && isRestarted ? "rolledBack" : "headLost"
        #expect(party.alice.problems.map(\.code) == [code], "\(party.alice.problems)")
        // As its daemon does, which looks now and then.
        try party.carol.restart()
        #expect(party.alice.request(.invite(share: "Summer", accounts: ["dave"], permission: "readOnly")).code == 0)
        let dave = party.village.replicas[3]
        #expect(dave.request(.accept(link: party.link)).code == 0)
        try party.village.meet()
        for replica in party.village.replicas { #expect(replica.problems.isEmpty, "\(replica.problems)") }
        #expect(dave.tree(.shared)["alice/Summer/hers.jpg"] == "hers")
        #expect(dave.tree(.shared)["alice/Summer/early.jpg"] == "early")
    }

    @Test(arguments: [false, true])
    func `a head that is seen again as it was is not lost, also where nothing is new in it`(isRestarted: Bool) throws {
        let party = try Party(bob: "readWrite")
        let storage = party.village.world.storage
        let paths = try party.village.mountFiles("zones/\(party.zone)/heads/\(party.carol.identity.replica)")
        try party.carol.machine.shared.write("alice/Summer/hers.jpg", "hers")
        try party.village.pass(8)
        let whole = try paths.map { ($0, try #require(storage.rawRead($0))) }
        for path in paths { storage.rawRemove(path) }
        if isRestarted { try party.alice.restart() }
        for _ in 0..<14 {
            try party.alice.round()
            party.village.world.clock.advance(milliseconds: 10_500)
        }
        #expect(party.alice.problems.map(\.code) == ["headLost"], "\(party.alice.problems)")
        for (path, bytes) in whole { storage.rawWrite(path, bytes) }
        for _ in 0..<3 {
            try party.alice.round()
            party.village.world.clock.advance(milliseconds: 10_500)
        }
        #expect(party.alice.problems.isEmpty, "\(party.alice.problems)")
    }
}
