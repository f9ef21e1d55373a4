import Shoebox
import ShoeboxModel
import ShoeboxPlanning
import ShoeboxStore
import ShoeboxTestSupport
import ShoeboxWorld
import Testing

/// A device that comes back after a year, in which chains were folded.
struct YearAwayTests {
    /// What Alice and Bob show after Bob was away for a year, in which Alice went on, with or without folding.
    private func yearAway(folds: Bool) throws -> [[String: String]] {
        var town = try CompactionTests.Town()
        let laptop = try journey(&town)
        if folds { town.fold([town.alice, town.bob]) }
        try yearAtHome(town)
        if folds { try expectFolded(town) }
        laptop.machine.mount.mount()
        try town.village.meet()
        try #require(try town.village.settleDeletions())
        for replica in town.village.replicas { #expect(replica.problems.isEmpty, "\(replica.problems)") }
        if folds {
            try town.expectSame(town.alice, laptop)
            try town.expectSame(town.alice, town.bob)
        }
        return [town.alice.tree(.library), town.bob.tree(.shared), laptop.tree(.shared)]
    }

    /// Bob's laptop, which is away and used there, while photos that it has are edited and deleted at home.
    private func journey(_ town: inout CompactionTests.Town) throws -> Replica {
        let laptop = try town.village.addDevice(of: town.bob, name: "laptop")
        for name in ["d", "e", "f", "g"] { try town.alice.machine.library.write("Summer/\(name).jpg", name) }
        try town.village.meet()
        try #require(try town.village.settle())
        // The laptop is taken along on a journey, and used there.
        laptop.machine.mount.unmount()
        let shared = laptop.machine.shared
        try shared.write("alice/Summer/new.jpg", "from the journey")
        try shared.write("alice/Summer/d.jpg", "edited on the journey")
        try shared.write("alice/Summer/e.jpg", "edited on the journey, too")
        try laptop.round()
        #expect(
            laptop.request(.caption(path: laptop.path("alice/Summer/f.jpg", .shared), text: "seen there")).code == 0)
        town.village.world.clock.advance(milliseconds: 700)
        try laptop.round()
        // At home d is edited, and e, f and g are deleted.
        try town.alice.machine.library.write("Summer/d.jpg", "edited at home")
        for name in ["e", "f", "g"] { try town.alice.machine.library.delete("Summer/\(name).jpg") }
        return laptop
    }

    /// A year in which Alice and Bob go on, without the laptop.
    private func yearAtHome(_ town: CompactionTests.Town) throws {
        var home = town.village
        home.replicas = [town.alice, town.bob]
        for number in 0..<60 {
            home.world.clock.advance(milliseconds: 6 * CompactionTests.day)
            try town.edit(number)
            for replica in home.replicas { try replica.round() }
        }
        try #require(try home.settle())
        home.world.clock.advance(milliseconds: CompactionTests.hour + 1)
        try #require(try home.settle())
    }

    private func expectFolded(_ town: CompactionTests.Town) throws {
        for replica in [town.alice, town.bob] {
            let row = try replica.store.read { db in try db.snapshot(of: town.zone) }
            #expect(row.tidied > 1, "\(replica.label): \(row)")
            let chain = try town.chain(replica).count
            #expect(chain < 10 && row.tidied + UInt64(chain) > 20, "\(replica.label): \(chain) segments of \(row)")
        }
    }

    @Test func `a device that was away for a year resurrects nothing and loses nothing, folded or not`() throws {
        let plain = try yearAway(folds: false)
        let folded = try yearAway(folds: true)
        #expect(folded == plain)
        let shown = Set(folded[1].values)
        for text in ["from the journey", "edited on the journey", "edited on the journey, too", "edited at home"] {
            #expect(shown.contains(text), "\(folded[1])")
        }
        #expect(
            folded[1].keys.contains { $0.hasSuffix("f.jpg") }, "an edit that the deleter had not seen brings it back")
        #expect(!folded[1].keys.contains { $0.hasSuffix("g.jpg") })
        #expect(folded[2] == folded[1])
    }

    @Test(arguments: [true, false])
    func `a device that was retired holds no folding back, brings nothing back a year later, and keeps its own`(
        isOwners: Bool
    ) throws {
        var town = try CompactionTests.Town()
        try town.alice.machine.library.write("Summer/gone.jpg", "gone")
        let owner = isOwners ? town.alice : town.bob
        let old = try town.village.addDevice(of: owner, name: "old")
        try town.village.meet()
        try #require(try town.village.settle())
        let (root, folder) = isOwners ? (RootKind.library, "Summer/") : (.shared, "alice/Summer/")
        let disk = isOwners ? old.machine.library : old.machine.shared
        try #require(old.tree(root)[folder + "gone.jpg"] == "gone")
        // Used on a journey, and retired at home before it has told of that.
        old.machine.mount.unmount()
        let edits = ["kept.jpg": "its own", "gone.jpg": "edited there", "b.jpg": "edited there, too"]
        for (name, text) in edits { try disk.write(folder + name, text) }
        for _ in 0..<2 {
            try old.round()
            town.village.world.clock.advance(milliseconds: 700)
        }
        let reply = owner.request(.deviceRetire(name: "old"))
        try #require(reply.code == 0, "\(reply)")
        try town.alice.machine.library.delete("Summer/gone.jpg")
        town.fold([town.alice, town.bob])
        try yearAtHome(town)
        try expectFolded(town)
        let home = [town.alice.tree(.library), town.bob.tree(.shared)]
        for tree in home { #expect(!tree.keys.contains { $0.hasSuffix("gone.jpg") || $0.hasSuffix("kept.jpg") }) }
        let own = old.tree(root)
        for (name, text) in edits { #expect(own[folder + name] == text) }
        // It is back after a year, in nobody's name.
        old.machine.mount.mount()
        for _ in 0..<2 {
            for _ in 0..<3 { try town.village.meet() }
            town.village.world.clock.advance(milliseconds: 31_000)
        }
        #expect(old.problems.contains { $0.code == "deviceRetired" }, "\(old.problems)")
        #expect(old.tree(root) == own, "what it has is not touched")
        #expect([town.alice.tree(.library), town.bob.tree(.shared)] == home, "nothing of it counts")
        for replica in [town.alice, town.bob] { #expect(replica.problems.isEmpty, "\(replica.problems)") }
        try town.expectSame(town.alice, town.bob)
        // Who comes now reads the chains as they are folded.
        let fresh = try town.village.addDevice(of: town.bob, name: "new")
        for _ in 0..<4 { try town.village.meet() }
        #expect(fresh.tree(.shared) == home[1], "\(fresh.problems)")
        try town.expectSame(town.alice, fresh)
    }
}
