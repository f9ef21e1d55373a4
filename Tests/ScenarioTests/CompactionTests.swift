import Foundation
import ShoeboxLibrary
import ShoeboxModel
import ShoeboxPlanning
import ShoeboxStore
import ShoeboxTestSupport
import ShoeboxWorld
import Testing

@testable import Shoebox
@testable import ShoeboxCloud

/// Chains are folded, and nobody sees another state for it.
@Suite struct CompactionTests {
    /// Every so manieth call: all of them take minutes. `SHOEBOX_THOROUGH=1` in the environment tries each.
    private static let every = ProcessInfo.processInfo.environment["SHOEBOX_THOROUGH"] == nil ? 13 : 1
    static let hour: UInt64 = 3_600_000
    static let day: UInt64 = 24 * hour

    /// Alice's share with Bob in it, and no folding until a test wants it.
    private func town(storesMayDie: Bool = false) throws -> Town { try Town(storesMayDie: storesMayDie) }

    struct Town {
        var village: Village
        let alice: Replica
        let bob: Replica
        let zone: ZoneID
        let link: String

        init(storesMayDie: Bool = false) throws {
            village = try Village(labels: ["alice", "bob"], storesMayDie: storesMayDie)
            (alice, bob) = (village.replicas[0], village.replicas[1])
            for name in ["a", "b", "c"] { try alice.machine.library.write("Summer/\(name).jpg", name) }
            try alice.machine.library.write("own.jpg", "own")
            try #require(try village.settle())
            let made = alice.request(
                .shareCreate(paths: [alice.path("Summer")], title: "Summer", publicPermission: "none", isSealed: true))
            try #require(made.code == 0)
            try #require(
                alice.request(.invite(share: "Summer", accounts: ["bob"], permission: "readWrite")).code == 0)
            link = made.values["link"] ?? ""
            try #require(bob.request(.accept(link: link)).code == 0)
            zone = try #require(ZoneID(hex: made.values["id"] ?? ""))
            try #require(try village.settle())
        }

        /// - Parameter always: whether also chains of which most still counts.
        func fold(_ replicas: [Replica], after segments: UInt64 = 6, always: Bool = true) {
            for replica in replicas {
                replica.tune = {
                    $0.compactSegmentsMin = segments
                    if always { $0.compactSegmentsMax = segments }
                    $0.compactGraceMilliseconds = CompactionTests.hour
                }
            }
        }

        /// One edit of Alice's or Bob's, of many kinds.
        func edit(_ number: Int) throws {
            let name = ["a", "b", "c"][number % 3] + ".jpg"
            let (who, path, root): (Replica, String, RootKind) =
                number % 2 == 0 ? (alice, "Summer/\(name)", .library) : (bob, "alice/Summer/\(name)", .shared)
            switch number % 10 {
            case 0, 1:
                try (number % 2 == 0 ? who.machine.library : who.machine.shared).write(path, "\(name) \(number)")
            case 2, 3:
                let tag = Request.tag(path: who.path(path, root), titles: ["Beach"], isMember: number % 20 < 10)
                try #require(who.request(tag).code == 0)
            case 4, 5: try #require(who.request(.rate(path: who.path(path, root), value: number % 5 + 1)).code == 0)
            default: try #require(who.request(.caption(path: who.path(path, root), text: "day \(number)")).code == 0)
            }
        }

        /// The files of a replica's chain.
        func chain(_ replica: Replica) throws -> [MountPath] {
            try village.mountFiles("zones/\(zone)/log/\(replica.identity.replica)/")
        }

        /// Every record of the share, as a replica knows it.
        func states(_ replica: Replica) throws -> [RecordName: RecordState] {
            try replica.store.read { db in
                var result: [RecordName: RecordState] = [:]
                for stored in try db.history(after: -1, limit: .max) where stored.zone == zone {
                    let name = stored.change.record
                    if result[name] == nil { result[name] = try db.state(of: RecordID(zone: zone, name: name)) }
                }
                return result
            }
        }

        /// Whether two replicas know the same, to the last edit and context.
        func expectSame(
            _ left: Replica, _ right: Replica, _ comment: Comment? = nil,
            sourceLocation: SourceLocation = #_sourceLocation
        ) throws {
            let (first, second) = (try states(left), try states(right))
            #expect(Set(first.keys) == Set(second.keys), comment, sourceLocation: sourceLocation)
            for (name, state) in first {
                guard let other = second[name] else { continue }
                #expect(state.isSame(as: other), comment, sourceLocation: sourceLocation)
            }
        }
    }

    /// Lets a folding that is under way come to its end.
    private func finish(_ town: Town) throws {
        try #require(try town.village.settle())
        town.village.world.clock.advance(milliseconds: Self.hour + 1)
        try #require(try town.village.settle())
    }

    @Test func `after a year of edits the log is as long as what there is, and who comes then sees the same`() throws {
        var town = try town()
        town.fold([town.alice, town.bob], always: false)
        for number in 0..<365 {
            town.village.world.clock.advance(milliseconds: Self.day)
            try town.edit(number)
            for replica in town.village.replicas { try replica.round() }
        }
        try finish(town)
        for replica in [town.alice, town.bob] {
            let last = try #require(try replica.store.read { db in try db.zone(town.zone) }?.last.sequence)
            let count = try town.chain(replica).count
            #expect(last > 150 && count < 70, "\(replica.label): \(count) of \(last)")
            let kept = try replica.store.read { db in try db.keptSegments(of: town.zone) }.count
            #expect(kept == count, "what is kept in case that the mount loses it is as much")
            #expect(replica.problems.isEmpty, "\(replica.problems)")
            #expect(try replica.engine.verify().faults.isEmpty)
        }
        let laptop = try town.village.addDevice(of: town.bob, name: "laptop")
        try town.village.meet()
        try #require(try town.village.settle())
        #expect(laptop.tree(.shared, sidecars: true).count == town.bob.tree(.shared, sidecars: true).count)
        #expect(laptop.tree(.shared) == town.bob.tree(.shared))
        for (left, right) in [(town.alice, town.bob), (town.alice, laptop)] { try town.expectSame(left, right) }
        #expect(laptop.problems.isEmpty, "\(laptop.problems)")
        // And it goes on.
        for number in 400..<420 {
            try town.edit(number)
            for replica in town.village.replicas { try replica.round() }
        }
        try #require(try town.village.settle())
        for (left, right) in [(town.alice, town.bob), (town.alice, laptop)] { try town.expectSame(left, right) }
        #expect(town.village.world.storage.violations.isEmpty, "\(town.village.world.storage.violations)")
    }

    @Test func `a person folds at once; what was folded goes an hour later`() throws {
        let town = try town()
        for number in 0..<40 {
            try town.edit(number)
            for replica in town.village.replicas { try replica.round() }
        }
        try #require(try town.village.settle())
        let before = try town.chain(town.alice).count
        let reply = town.alice.request(.compact)
        #expect(reply.code == 0 && reply.values["folded"] != "0", "\(reply)")
        let again = town.alice.request(.compact)
        #expect(again.values["folded"] == "0", "\(reply) \(again)")
        try #require(try town.village.settle())
        #expect(try town.chain(town.alice).count > before)
        town.village.world.clock.advance(milliseconds: Self.hour + 1)
        try #require(try town.village.settle())
        #expect(try town.chain(town.alice).count <= 2)
        try town.expectSame(town.alice, town.bob)
        #expect(town.bob.problems.isEmpty, "\(town.bob.problems)")
    }

    @Test func `a participant's chain is folded no sooner than the owner has read it`() throws {
        let town = try town()
        town.fold([town.bob])
        for number in stride(from: 1, to: 80, by: 2) {
            try town.edit(number)
            try town.bob.round()
        }
        town.village.world.clock.advance(milliseconds: 10 * Self.day)
        for _ in 0..<4 { try town.bob.round() }
        let row = try town.bob.store.read { db in try db.snapshot(of: town.zone) }
        #expect(row.floor == 1, "\(row)")
        try finish(town)
        #expect(try town.bob.store.read { db in try db.snapshot(of: town.zone) }.tidied > 1)
        try town.expectSame(town.alice, town.bob)
    }

    /// Bob's chain is read again by himself, as all of it was forgotten when he left.
    @Test(arguments: [false, true])
    func `a chain that is known in part, after coming back, is not folded, and what it lacks is offered again`(
        isMissing: Bool
    ) throws {
        var town = try town()
        for number in stride(from: 1, to: 40, by: 2) {
            try town.edit(number)
            try town.bob.round()
        }
        try town.bob.machine.shared.write("alice/Summer/late.jpg", "late")
        try #require(try town.village.settle())
        let before = try town.states(town.alice)
        try #require(town.bob.request(.leave(share: "Summer", keepCopy: false)).code == 0)
        try #require(try town.village.settle())
        let path = try #require(try town.chain(town.bob).sorted { "\($0)" < "\($1)" }.dropFirst(5).first)
        if isMissing {
            town.village.world.storage.rawRemove(path)
        } else {
            town.village.world.storage.rawWrite(path, [1, 2, 3])
        }
        try #require(
            town.alice.request(.invite(share: "Summer", accounts: ["bob"], permission: "readWrite")).code == 0)
        try #require(town.bob.request(.accept(link: town.link)).code == 0)
        for _ in 0..<3 {
            try town.village.pass(1)
            _ = town.bob.request(.compact)
        }
        town.village.world.clock.advance(milliseconds: 2 * Self.hour)
        try town.village.pass(3)
        town.village.world.clock.advance(milliseconds: 2 * Self.hour)
        #expect(try town.village.settle())
        let laptop = try town.village.addDevice(of: town.bob, name: "laptop")
        try town.village.meet()
        #expect(try town.village.settle())
        for replica in [town.bob, laptop] {
            #expect(replica.tree(.shared)["alice/Summer/late.jpg"] == "late")
            #expect(Set(try town.states(replica).keys) == Set(before.keys))
            try town.expectSame(town.alice, replica)
            #expect(replica.problems.isEmpty, "\(replica.problems)")
        }
    }

    enum Death: CaseIterable { case crash, crashAfter, fails }

    @Test(arguments: Death.allCases)
    func `whatever call is the last one, or fails, a folding loses nothing`(death: Death) throws {
        var number = Death.allCases.firstIndex(of: death) ?? 0
        while true {
            let comment: Comment = "\(death) at call \(number)"
            var village = try Village(labels: ["alice"], storesMayDie: true)
            let alice = village.replicas[0]
            try alice.machine.library.write("own.jpg", "own")
            try village.pass(2)
            for text in 0..<5 {
                #expect(alice.request(.caption(path: alice.path("own.jpg"), text: "\(text)")).code == 0)
                try alice.round()
            }
            alice.tune = {
                ($0.compactSegmentsMin, $0.compactSegmentsMax) = (4, 4)
                $0.compactGraceMilliseconds = Self.hour
            }
            let zone = try #require(alice.engine.privateZone)
            let faults = alice.machine.faults
            let end = faults.operationCount + number
            switch death {
            case .crash: faults.set(.crash, at: end)
            case .crashAfter: faults.set(.crashAfter, at: end)
            case .fails: faults.set(.fail(.inputOutput), at: end)
            }
            for step in 0..<5 where !faults.isCrashed {
                do { try alice.round() } catch { break }
                village.world.clock.advance(milliseconds: step == 1 ? Self.hour + 1 : 700)
            }
            let isThrough = faults.operationCount <= end
            faults.clear()
            if faults.isCrashed { try alice.restart() }
            for _ in 0..<3 {
                try village.pass(2)
                village.world.clock.advance(milliseconds: Self.hour + 1)
            }
            let row = try alice.store.read { db in try db.snapshot(of: zone) }
            #expect(row.tidied == row.floor && row.floor > 1 && row.nextFloor == 0, "\(comment): \(row)")
            #expect(try village.mountFiles("zones/\(zone)/log/\(alice.identity.replica)/").count <= 2, comment)
            let laptop = try village.addDevice(of: alice, name: "laptop")
            try village.pass(3)
            #expect(laptop.tree(.library) == ["own.jpg": "own"], comment)
            #expect(laptop.sidecar("own.jpg", .library)?.fields.caption == "4", comment)
            for replica in village.replicas {
                #expect(replica.problems.isEmpty, "\(comment) \(replica.label): \(replica.problems)")
            }
            if isThrough { break }
            number += Self.every
            try #require(number < 2_000)
        }
    }

    @Test func `segments that are folded and removed while somebody reads them, with listings a minute old`() throws {
        var number = 0
        while true {
            let town = try town()
            for number in stride(from: 0, to: 40, by: 2) {
                try town.edit(number)
                try town.alice.round()
            }
            let faults = town.bob.machine.faults
            town.bob.machine.mount.behaviour.listingDelayMilliseconds = 60_000...60_000
            town.bob.machine.mount.behaviour.negativeLookupMilliseconds = 30_000
            // The head that says so is seen late, too.
            town.bob.machine.mount.behaviour.appendDelayMilliseconds = 60_000
            town.village.world.clock.advance(milliseconds: 61_000)
            // Whatever the hour of grace is for: they vanish under the reader's hands.
            let storage = town.village.world.storage
            let paths = try town.chain(town.alice)
            let end = faults.operationCount + number
            faults.run(at: end) { for path in paths { storage.rawRemove(path) } }
            #expect(town.alice.request(.compact).values["folded"] != "0")
            let heads = try town.village.mountFiles("zones/\(town.zone)/heads/\(town.alice.identity.replica)")
            #expect(heads.count == 1)
            try town.bob.round()
            let isThrough = faults.operationCount <= end
            try town.village.pass(3)
            town.village.world.clock.advance(milliseconds: 61_000)
            try #require(try town.village.settle(), "gone at call \(number)")
            try town.expectSame(town.alice, town.bob, "gone at call \(number)")
            #expect(town.bob.problems.isEmpty, "\(town.bob.problems)")
            if isThrough { break }
            number += 3
        }
    }

    // MARK: Ill will

    /// A forger's snapshot of its own chain, with a head that names it.
    private func sendSnapshot(
        _ changes: [(Change, UInt64)], by forger: Forger, first: UInt64? = nil, floor: UInt64? = nil
    ) throws {
        let first = first ?? forger.last.sequence + 1
        let encoded = try SegmentCoder.encode(
            [SegmentTransaction(id: 9, changes: changes.map(\.0), sequences: changes.map(\.1))],
            zone: forger.folder.zone,
            after: forger.last, isSealed: true, keyring: forger.keyring, identity: forger.identity,
            snapshotFirst: first,
            randomBytes: forger.bytes)
        try forger.mount.publish(
            forger.folder.segmentPath(forger.identity.replica, encoded.position), encoded.bytes)
        forger.last = encoded.position
        let written = try forger.folder.appendHead(
            HeadContent(
                last: forger.last, floor: floor ?? first, snapshot: forger.last, wallMilliseconds: 0),
            identity: forger.identity, cursor: forger.cursor)
        forger.cursor = written.cursor
    }

    enum Forgery: CaseIterable { case leavesOut, alters, invents, honest }

    @Test(arguments: Forgery.allCases)
    func `a snapshot that says something else than was published is named by all who have read that`(
        forgery: Forgery
    ) throws {
        let party = try Party(bob: "readWrite", others: ["dave"])
        let forger = try Forger(party.bob, zone: party.zone, in: party.village)
        let one = try forger.photo("one.jpg", "one")
        let two = try forger.photo("two.jpg", "two")
        for change in [one, two] { try forger.send([change]) }
        try party.village.meet()
        let both = Party.content.merging(["one.jpg": "one", "two.jpg": "two"]) { $1 }
        party.expectShown(both)
        var other = two
        if case .set(var fields) = two.action {
            fields[.name] = .name(try "other.jpg".fileName)
            other.action = .set(fields)
        }
        let removed = try party.village.mountFiles("zones/\(party.zone)/log/\(forger.identity.replica)/")
        switch forgery {
        case .leavesOut: try sendSnapshot([(one, 1)], by: forger)
        case .alters: try sendSnapshot([(one, 1), (other, 2)].sorted { $0.0.record < $1.0.record }, by: forger)
        case .invents:
            let three = try forger.photo("three.jpg", "three")
            try sendSnapshot([(one, 1), (two, 2), (three, 1)].sorted { $0.0.record < $1.0.record }, by: forger)
        case .honest: try sendSnapshot([(one, 1), (two, 2)].sorted { $0.0.record < $1.0.record }, by: forger)
        }
        for path in removed { party.village.world.storage.rawRemove(path) }
        try party.village.meet()
        // What is invented could as well have been written now.
        party.expectShown(forgery == .invents ? both.merging(["three.jpg": "three"]) { $1 } : both)
        let readers = [party.alice, party.carol]
        if forgery == .leavesOut || forgery == .alters {
            party.expectNamed("snapshotDiffers", by: readers, containing: "bob")
        } else {
            for replica in readers { #expect(replica.problems.isEmpty, "\(replica.problems)") }
        }
        #expect(party.alice.request(.invite(share: "Summer", accounts: ["dave"], permission: "readOnly")).code == 0)
        let dave = party.village.replicas[3]
        #expect(dave.request(.accept(link: party.link)).code == 0)
        try party.village.meet()
        #expect(dave.tree(.shared).keys.contains("alice/Summer/one.jpg"), "\(dave.problems)")
        #expect(dave.tree(.shared).keys.contains("alice/Summer/other.jpg") == (forgery == .alters))
        #expect(dave.tree(.shared).keys.contains("alice/Summer/a.jpg"))
    }

    @Test func `a floor without a snapshot is refused, and everything else goes on`() throws {
        let party = try Party(bob: "readWrite", others: ["dave"])
        let forger = try Forger(party.bob, zone: party.zone, in: party.village)
        try forger.send([try forger.photo("one.jpg", "one")])
        try party.village.meet()
        let both = Party.content.merging(["one.jpg": "one"]) { $1 }
        try forger.send([try forger.photo("two.jpg", "two")])
        // The segment that the head calls a snapshot is none.
        let written = try forger.folder.appendHead(
            HeadContent(last: forger.last, floor: 2, snapshot: forger.last, wallMilliseconds: 0),
            identity: forger.identity, cursor: forger.cursor)
        forger.cursor = written.cursor
        #expect(party.alice.request(.invite(share: "Summer", accounts: ["dave"], permission: "readOnly")).code == 0)
        let dave = party.village.replicas[3]
        #expect(dave.request(.accept(link: party.link)).code == 0)
        try party.village.meet()
        party.expectShown(both.merging(["two.jpg": "two"]) { $1 })
        party.expectNamed("segmentDamaged", by: [dave], containing: "no snapshot")
        #expect(dave.tree(.shared).keys.contains("alice/Summer/a.jpg"))
        // A head that names no snapshot at all is no head.
        let bare = try forger.folder.appendHead(
            HeadContent(last: forger.last, floor: 2, wallMilliseconds: 0), identity: forger.identity,
            cursor: forger.cursor)
        forger.cursor = bare.cursor
        try party.village.meet()
        party.expectNamed("headDamaged", by: [party.carol])
        try party.village.meet()
        try party.expectGoesOn(both.merging(["two.jpg": "two"]) { $1 })
    }

    @Test func `who was put out changes nothing of the past by a snapshot`() throws {
        let party = try Party(bob: "readWrite", others: ["dave"])
        let forger = try Forger(party.bob, zone: party.zone, in: party.village)
        let one = try forger.photo("one.jpg", "one")
        try forger.send([one])
        try party.village.meet()
        #expect(party.alice.request(.uninvite(share: "Summer", accounts: ["bob"])).code == 0)
        let planted = try forger.photo("planted.jpg", "planted")
        try sendSnapshot([(one, 1), (planted, 1)].sorted { $0.0.record < $1.0.record }, by: forger)
        let removed = try party.village.mountFiles("zones/\(party.zone)/log/\(forger.identity.replica)/")
        for path in removed where path.description.contains("/0000000000000001-") {
            party.village.world.storage.rawRemove(path)
        }
        try party.village.meet()
        let both = Party.content.merging(["one.jpg": "one"]) { $1 }
        party.expectShown(both)
        #expect(party.alice.request(.invite(share: "Summer", accounts: ["dave"], permission: "readOnly")).code == 0)
        let dave = party.village.replicas[3]
        #expect(dave.request(.accept(link: party.link)).code == 0)
        for _ in 0..<3 {
            try party.village.meet()
            party.village.world.clock.advance(milliseconds: 61_000)
        }
        try party.village.meet()
        party.expectShown(both)
        // What had been accepted comes from the owner's device.
        #expect(
            dave.tree(.shared) == Dictionary(uniqueKeysWithValues: both.map { ("alice/Summer/" + $0, $1) }),
            "\(dave.problems)")
    }
}
