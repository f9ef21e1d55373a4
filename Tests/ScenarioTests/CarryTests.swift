import ShoeboxCloud
import ShoeboxLibrary
import ShoeboxModel
import ShoeboxPlanning
import ShoeboxStore
import ShoeboxTestSupport
import ShoeboxWorld
import Testing

@testable import Shoebox

/// What a device had published that never comes again, and that the container has lost, the owner's devices publish.
@Suite struct CarryTests {
    private static let day: UInt64 = 86_400_000
    private static let whole = Party.content.merging(["bob.jpg": "by bob"]) { $1 }

    /// Bob writes a photo and a caption, and is never seen again.
    ///
    /// - Parameter isFolding: whether his chain is folded before, into parts of two changes.
    private func withoutBob(isFolding: Bool = false) throws -> (party: Party, here: Village) {
        let party = try Party(bob: "readWrite", others: ["dave"])
        if isFolding { party.bob.tune = { $0.segmentChangesMax = 2 } }
        try party.bob.machine.shared.write("alice/Summer/bob.jpg", "by bob")
        try #require(try party.village.settle())
        for number in 0..<(isFolding ? 12 : 0) {
            let path = party.bob.path("alice/Summer/a.jpg", .shared)
            try #require(party.bob.request(.caption(path: path, text: "draft \(number)")).code == 0)
            try party.bob.round()
        }
        for (path, text) in [("alice/Summer/bob.jpg", "mine"), ("alice/Summer/a.jpg", "seen by bob")] {
            let reply = party.bob.request(.caption(path: party.bob.path(path, .shared), text: text))
            #expect(reply.code == 0, "\(reply)")
        }
        try #require(try party.village.settle())
        if isFolding {
            for _ in 0..<2 {
                try #require(party.bob.request(.compact).code == 0)
                try #require(try party.village.settle())
                party.village.world.clock.advance(milliseconds: 3_600_001)
                try #require(try party.village.settle())
            }
            try #require(try party.bob.store.read { db in try db.snapshot(of: party.zone) }.tidied > 1)
        }
        var here = party.village
        here.replicas.remove(at: 1)
        return (party, here)
    }

    private func lose(_ prefixes: [String], _ party: Party) throws {
        for prefix in prefixes {
            let paths = try party.village.mountFiles("zones/\(party.zone)/\(prefix)/\(party.bob.identity.replica)")
            try #require(!paths.isEmpty)
            for path in paths { party.village.world.storage.rawRemove(path) }
        }
    }

    /// What Dave is shown, invited now.
    private func newcomer(_ party: Party, _ here: Village) throws -> (files: [String: String], captions: [String?]) {
        let dave = party.village.replicas[3]
        #expect(party.alice.request(.invite(share: "Summer", accounts: ["dave"], permission: "readOnly")).code == 0)
        #expect(dave.request(.accept(link: party.link)).code == 0)
        try here.meet()
        try here.pass(3)
        let captions = ["bob.jpg", "a.jpg"].map { dave.sidecar("alice/Summer/\($0)", .shared)?.fields.caption }
        return (dave.tree(.shared), captions)
    }

    private func expectWhole(_ seen: (files: [String: String], captions: [String?])) {
        #expect(seen.files == Dictionary(uniqueKeysWithValues: Self.whole.map { ("alice/Summer/" + $0, $1) }))
        #expect(seen.captions == ["mine", "seen by bob"])
    }

    @Test(arguments: [["log", "heads"], ["heads"], ["log"]])
    func `what only a device had published that is gone comes from the owner, after a day`(lost: [String]) throws {
        let (party, here) = try withoutBob()
        try lose(lost, party)
        // A missing segment is not missed by those who have read it, but found by a verification.
        if lost == ["log"] {
            let report = try party.alice.engine.verify()
            #expect(report.faults.contains { $0.isMendable }, "\(report.faults)")
            #expect(party.alice.request(try #require(report.repair)).code == 0)
            try here.meet()
            return expectWhole(try newcomer(party, here))
        }
        try here.meet()
        here.world.clock.advance(milliseconds: 3_600_000)
        try here.meet()
        #expect(try party.alice.engine.carried(of: party.bob.identity.replica, in: party.zone) == 0, "not so soon")
        here.world.clock.advance(milliseconds: Self.day)
        try here.meet()
        try here.meet()
        expectWhole(try newcomer(party, here))
        party.expectShown(Self.whole)
        for replica in [party.alice, party.carol] { #expect(replica.problems.isEmpty, "\(replica.problems)") }
        // Bob comes back all the same: he says the same again, and goes on.
        try party.bob.restart()
        try party.bob.machine.shared.write("alice/Summer/late.jpg", "back")
        try party.village.meet()
        here.world.clock.advance(milliseconds: 700_000)
        try party.village.meet()
        party.expectShown(Self.whole.merging(["late.jpg": "back"]) { $1 })
        for replica in party.village.replicas { #expect(replica.problems.isEmpty, "\(replica.problems)") }
    }

    @Test func `what could still be read when the rest was published again may be lost after that, too`() throws {
        let (party, here) = try withoutBob()
        let log = try party.village.mountFiles("zones/\(party.zone)/log/\(party.bob.identity.replica)")
            .sorted { "\($0)" < "\($1)" }
        try #require(log.count > 1)
        party.village.world.storage.rawRemove(log[log.count - 1])
        #expect(party.alice.request(try #require(try party.alice.engine.verify().repair)).code == 0)
        try here.meet()
        for path in log.dropLast() { party.village.world.storage.rawRemove(path) }
        expectWhole(try newcomer(party, here))
    }

    @Test(arguments: [true, false])
    func `where its account takes no part any more, or a person asks, it comes at once`(isRemoved: Bool) throws {
        let (party, here) = try withoutBob()
        if isRemoved { #expect(party.alice.request(.uninvite(share: "Summer", accounts: ["bob"])).code == 0) }
        try lose(["log", "heads"], party)
        try party.alice.restart()
        if !isRemoved {
            let report = try party.alice.engine.verify()
            #expect(report.faults.contains { $0.code == "headBehind" && $0.isMendable }, "\(report.faults)")
            #expect(party.alice.request(try #require(report.repair)).code == 0)
            #expect(try party.alice.engine.verify().faults.isEmpty)
        }
        try here.meet()
        here.world.clock.advance(milliseconds: 121_000)
        try here.meet()
        expectWhole(try newcomer(party, here))
    }

    @Test(arguments: [0, 1])
    func `of a snapshot that lost a part, and nobody publishes again, the owner publishes what it stood for`(
        part: Int
    ) throws {
        let (party, here) = try withoutBob(isFolding: true)
        let chain = "zones/\(party.zone)/log/\(party.bob.identity.replica)/"
        let files = try party.village.mountFiles(chain).sorted { "\($0)" < "\($1)" }
        try #require(files.count == 2, "\(files)")
        party.village.world.storage.rawRemove(files[part])
        let report = try party.alice.engine.verify()
        #expect(report.faults.contains { $0.isMendable }, "\(report.faults)")
        #expect(party.alice.request(try #require(report.repair)).code == 0)
        try here.meet()
        expectWhole(try newcomer(party, here))
    }

    @Test func `a segment that only a newcomer misses, of a device that is gone, comes from the owner after a day`()
        throws
    {
        let (party, here) = try withoutBob()
        try lose(["log"], party)
        let dave = party.village.replicas[3]
        _ = try newcomer(party, here)
        here.world.clock.advance(milliseconds: 121_000)
        try here.meet()
        #expect(dave.problems.contains { $0.code == "segmentMissing" }, "\(dave.problems)")
        #expect(!dave.isQuiet)
        for _ in 0..<2 {
            here.world.clock.advance(milliseconds: Self.day)
            try here.meet()
            try here.meet()
        }
        party.expectShown(Self.whole)
        #expect(dave.tree(.shared)["alice/Summer/bob.jpg"] == "by bob")
        #expect(dave.sidecar("alice/Summer/a.jpg", .shared)?.fields.caption == "seen by bob")
        for replica in here.replicas {
            #expect(replica.problems.isEmpty, "\(replica.problems)")
            #expect(replica.isQuiet)
        }
        // What he writes after all comes behind it.
        try party.bob.restart()
        try party.bob.machine.shared.write("alice/Summer/late.jpg", "back")
        for _ in 0..<3 {
            try party.village.meet()
            here.world.clock.advance(milliseconds: 130_000)
        }
        #expect(try party.village.settle())
        party.expectShown(Self.whole.merging(["late.jpg": "back"]) { $1 })
        #expect(dave.tree(.shared)["alice/Summer/late.jpg"] == "back")
        for replica in party.village.replicas { #expect(replica.problems.isEmpty, "\(replica.problems)") }
    }

    @Test(arguments: [true, false])
    func
        `what the container lost before the share was stopped comes from who read it, and is not waited for if nobody did`(
            wasRead: Bool
        ) throws
    {
        let party = try Party(bob: "readWrite")
        var village = party.village
        let laptop = try village.addDevice(of: party.alice, name: "laptop")
        try #require(try village.settle())
        try party.bob.machine.shared.write("alice/Summer/bob.jpg", "by bob")
        try party.rounds(of: party.bob, 3)
        if wasRead {
            try party.rounds(of: party.alice, 2)
            try party.rounds(of: party.bob, 2)
        }
        try lose(["log"], party)
        #expect(laptop.request(.stop(share: "Summer")).code == 0)
        for _ in 0..<8 {
            try village.meet()
            village.world.clock.advance(milliseconds: 61_000)
        }
        let expected = wasRead ? "by bob" : nil
        for device in [party.alice, laptop] {
            #expect(device.tree(.library)["Summer/a.jpg"] == "aaa")
            #expect(device.tree(.library)["Summer/bob.jpg"] == expected)
            #expect(device.isQuiet)
            if wasRead { #expect(device.problems.isEmpty, "\(device.problems)") }
        }
        // Whether it was read he need not have heard.
        if !wasRead { #expect(party.bob.tree(.library)["Kept from Summer/bob.jpg"] == "by bob") }
    }

    @Test func `a container that is lost as a whole is filled again without a device that is gone`() throws {
        let (party, here) = try withoutBob()
        let storage = party.village.world.storage
        for path in storage.tree().keys { storage.rawRemove(try path.mountPath) }
        for name in storage.rawList(.root) { storage.rawRemove(try name.mountPath) }
        for replica in here.replicas { try replica.restart() }
        #expect(party.alice.request(.recreateContainer).code == 0)
        for _ in 0..<3 {
            try here.meet()
            here.world.clock.advance(milliseconds: Self.day)
        }
        try here.meet()
        expectWhole(try newcomer(party, here))
        var village = here
        let laptop = try village.addDevice(of: party.alice, name: "laptop")
        try village.meet()
        try village.pass(3)
        #expect(laptop.tree(.library) == party.alice.tree(.library))
        #expect(laptop.sidecar("Summer/bob.jpg", .library)?.fields.caption == "mine")
    }
}
