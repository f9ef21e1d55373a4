import ShoeboxLibrary
import ShoeboxModel
import ShoeboxPlanning
import ShoeboxStore
import ShoeboxTestSupport
import ShoeboxWorld
import Testing

@testable import Shoebox
@testable import ShoeboxCloud

/// Two versions of one replica's log, and lies about what was seen.
@Suite struct HostileForkTests {
    private func rounds(_ replica: Replica, in party: Party, _ count: Int = 3) throws {
        for _ in 0..<count {
            party.village.world.clock.advance(milliseconds: 10_500)
            try replica.round()
        }
    }

    /// Bob's log on the mount as far as it is his forger's.
    private func files(_ forger: Forger, _ party: Party) throws -> [MountPath: [UInt8]] {
        let replica = forger.identity.replica
        let paths =
            try party.village.mountFiles("zones/\(party.zone)/heads/\(replica)")
            + party.village.mountFiles("zones/\(party.zone)/log/\(replica)/")
        return paths.reduce(into: [:]) { $0[$1] = party.village.world.storage.rawRead($1) }
    }

    private func show(_ files: [MountPath: [UInt8]], insteadOf other: [MountPath: [UInt8]], _ party: Party) {
        for path in other.keys where files[path] == nil { party.village.world.storage.rawRemove(path) }
        for (path, bytes) in files { party.village.world.storage.rawWrite(path, bytes) }
    }

    /// Bob shows Alice one version of his log and Carol another; what each has seen of it is in her folder.
    ///
    /// - Parameters:
    ///   - extra: how many segments more Carol's version has.
    ///   - mine: how many segments more Alice's version has.
    private func forked(
        by permission: String = "readWrite", extra: Int = 0, mine: Int = 0
    ) throws -> (Party, alices: [MountPath: [UInt8]], carols: [MountPath: [UInt8]]) {
        let party = try Party(bob: permission)
        let forger = try Forger(party.bob, zone: party.zone, in: party.village)
        /// A photo that a contributor may add.
        func photo(_ name: String, _ text: String) throws -> Change {
            let (record, origin) = party.bob.engine.newRecord()
            var change = try forger.photo(name, text, record: record)
            if case .set(var fields) = change.action {
                fields[.origin] = origin
                change.action = .set(fields)
            }
            return change
        }
        try forger.send([try photo("both.jpg", "both")])
        let common = (forger.last, forger.cursor, forger.counter)
        let start = try files(forger, party)
        try forger.send([try photo("one.jpg", "one")])
        for number in 0..<mine { try forger.send([try photo("mine \(number).jpg", "mine \(number)")]) }
        let alices = try files(forger, party)
        try rounds(party.alice, in: party)
        #expect(party.alice.tree(.library)["Summer/one.jpg"] == "one")
        show(start, insteadOf: alices, party)
        (forger.last, forger.cursor, forger.counter) = common
        try forger.send([try photo("two.jpg", "two")])
        for number in 0..<extra { try forger.send([try photo("more \(number).jpg", "more \(number)")]) }
        let carols = try files(forger, party)
        try rounds(party.carol, in: party)
        #expect(party.carol.tree(.shared)["alice/Summer/two.jpg"] == "two")
        #expect(party.carol.tree(.shared)["alice/Summer/one.jpg"] == nil)
        return (party, alices, carols)
    }

    @Test(arguments: [0, 2])
    func `a fork shown to different readers is named when their vectors meet, and all else goes on`(extra: Int) throws {
        let (party, _, _) = try forked(extra: extra)
        try party.village.meet()
        party.expectNamed("forked", by: [party.alice, party.carol], containing: "bob")
        try party.alice.machine.library.write("Summer/later.jpg", "later")
        try party.carol.machine.shared.write("alice/Summer/hers.jpg", "hers")
        try party.village.meet()
        #expect(party.carol.tree(.shared)["alice/Summer/later.jpg"] == "later")
        #expect(party.alice.tree(.library)["Summer/hers.jpg"] == "hers")
        // It is said as long as it is so, also after a restart.
        try party.alice.restart()
        try party.village.meet()
        party.expectNamed("forked", by: [party.alice], containing: "bob")
    }

    @Test(arguments: [0, 2], [0, 2, 4])
    func `after the forger was removed all readers have what the owner had accepted`(extra: Int, mine: Int) throws {
        let (party, alices, carols) = try forked(extra: extra, mine: mine)
        try party.village.meet()
        // Both versions are there by now; Bob's head shows the longer one, of equal ones Carol's.
        show(extra >= mine ? alices.merging(carols) { $1 } : carols.merging(alices) { $1 }, insteadOf: [:], party)
        #expect(party.alice.request(.uninvite(share: "Summer", accounts: ["bob"])).code == 0)
        try party.village.meet()
        var accepted = ["both.jpg": "both", "one.jpg": "one"]
        for number in 0..<mine { accepted["mine \(number).jpg"] = "mine \(number)" }
        party.expectShown(Party.content.merging(accepted) { $1 })
        // What was refused is in the history, but for what the accepted version has under the same number.
        let refused = try party.carol.store.read { db in try db.history(after: 0, limit: .max) }
            .filter { !$0.standing.counts }
        #expect(mine > 0 || refused.count == extra)
        try party.expectGoesOn(Party.content.merging(accepted) { $1 })
    }

    /// Nothing of what a contributor may do is judged before it is known whose the photo is.
    @Test func `after a contributor was removed who had shown two versions, all keep what the owner had accepted`()
        throws
    {
        let (party, alices, carols) = try forked(by: "contribute")
        try party.village.meet()
        show(alices.merging(carols) { $1 }, insteadOf: [:], party)
        #expect(party.alice.request(.uninvite(share: "Summer", accounts: ["bob"])).code == 0)
        try party.village.meet()
        party.expectShown(Party.content.merging(["both.jpg": "both", "one.jpg": "one"]) { $1 })
    }

    @Test func `two versions side by side are named and stop that chain only`() throws {
        let party = try Party(bob: "readWrite")
        let forger = try Forger(party.bob, zone: party.zone, in: party.village)
        let start = (forger.last, forger.cursor, forger.counter)
        try forger.send([try forger.photo("one.jpg", "one")])
        let first = try files(forger, party)
        for path in first.keys where path.description.contains("/heads/") {
            party.village.world.storage.rawRemove(path)
        }
        (forger.last, forger.cursor, forger.counter) = start
        try forger.send([try forger.photo("two.jpg", "two")])
        try forger.send([try forger.photo("three.jpg", "three")])
        try party.village.meet()
        party.expectNamed("forked", by: [party.alice, party.carol], containing: "bob")
        party.expectShown()
        try party.expectGoesOn()
    }

    /// How far ahead somebody claims to have seen: a little, far, and as far as may be.
    @Test(arguments: [UInt64(1) << 20, 1 << 40, 1 << 61, Dot.counterMax])
    func `who claims to have seen the future suppresses no later edit`(claimed: UInt64) throws {
        let party = try Party(bob: "readWrite")
        let forger = try Forger(party.bob, zone: party.zone, in: party.village)
        let photo = try #require(
            try party.alice.store.read { db in try db.files(in: party.zone).first { $0.name?.text == "a.jpg" }?.id.name
            })
        let future = VersionVector(
            [party.alice, party.carol].map { Dot(replica: $0.identity.replica, counter: claimed) })
        try forger.send([
            forger.change(
                photo, .photo, .set([.caption: .text("Bob's for ever"), .name: .name(try "bobs.jpg".fileName)]),
                context: future)
        ])
        try party.village.meet()
        #expect(party.carol.sidecar("alice/Summer/bobs.jpg", .shared)?.fields.caption == "Bob's for ever")
        for (index, replica) in [party.alice, party.carol, party.alice].enumerated() {
            let path =
                replica === party.alice
                ? replica.path("Summer/bobs.jpg") : replica.path("alice/Summer/bobs.jpg", .shared)
            let reply = replica.request(.caption(path: path, text: "Number \(index)"))
            #expect(reply.code == 0, "\(reply)")
            try party.village.meet()
            #expect(party.alice.sidecar("Summer/bobs.jpg", .library)?.fields.caption == "Number \(index)")
            #expect(party.carol.sidecar("alice/Summer/bobs.jpg", .shared)?.fields.caption == "Number \(index)")
        }
        try party.alice.machine.library.move("Summer/bobs.jpg", to: "Summer/a.jpg")
        try party.village.meet()
        #expect(party.carol.tree(.shared).keys.sorted() == ["alice/Summer/a.jpg", "alice/Summer/deep/b.jpg"])
        try party.alice.machine.library.delete("Summer/a.jpg")
        try party.village.meet()
        #expect(party.carol.tree(.shared).keys.sorted() == ["alice/Summer/deep/b.jpg"])
        #expect(try party.village.settle())
    }

    @Test func `a claim beyond all numbers is refused with its change`() throws {
        let party = try Party(bob: "readWrite")
        let forger = try Forger(party.bob, zone: party.zone, in: party.village)
        let photo = try #require(try party.alice.store.read { db in try db.files(in: party.zone).first?.id.name })
        try forger.send([
            forger.change(
                photo, .photo, .set([.caption: .text("x")]),
                context: [party.alice.identity.replica: Dot.counterMax + 1])
        ])
        try party.village.meet()
        party.expectNamed("refused", by: [party.alice, party.carol], containing: "bob")
        #expect(party.alice.sidecar("Summer/a.jpg", .library)?.fields.caption == nil)
        try party.expectGoesOn()
    }
}
