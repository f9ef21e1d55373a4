import Foundation
import ShoeboxModel
import ShoeboxPlanning
import ShoeboxStore
import ShoeboxTestSupport
import ShoeboxWorld
import Testing

@testable import Shoebox
@testable import ShoeboxCloud

/// What somebody signs may say any number that fits into its field: whole engines read it, and go on.
@Suite struct WildNumberTests {
    private static let numbers: [UInt64] = [
        0, 1, 2, 3, 1 << 31, 1 << 32, 1 << 53, 1 << 62, UInt64(Int64.max) - 1, UInt64(Int64.max), 1 << 63, .max - 1,
        .max,
    ]

    /// Somebody who draws every number of what is signed.
    private struct Drawer {
        let forger: Forger
        let party: Party
        var random: SeededGenerator

        mutating func number() -> UInt64 { numbers[random.below(numbers.count)] }
        mutating func digest() -> Digest32 { sha256(random.bytes(4)) }
        mutating func position() -> Position {
            random.chance(30) ? forger.last : Position(sequence: number(), hash: digest())
        }

        mutating func sendHeads() throws {
            var content = HeadContent(last: position(), wallMilliseconds: number())
            content.floor = random.chance(50) ? 1 : number()
            if random.chance(50) { content.snapshot = position() }
            if random.chance(30) { content.control = ControlVersion(version: number(), hash: digest()) }
            if random.chance(30) { content.statement = position() }
            (content.left, content.returning) = (number(), number())
            for replica in party.village.replicas { content.vector[replica.identity.replica] = position() }
            let wire = HeadRecord.wire(
                content, zone: party.zone, identity: forger.identity, serial: max(1, number()), nextFile: number())
            let bytes = try HeadFormat.encode(wire, signingKey: forger.identity.signingKey)
            try forger.mount.append(forger.folder.headPath(forger.identity.replica, 0), bytes)
        }

        mutating func sendChanges() throws {
            var changes: [Change] = []
            for index in 0..<4 {
                var change = try forger.photo("wild \(index).jpg", "wild")
                let signed = Int64(bitPattern: number())
                if case .set(var fields) = change.action {
                    fields[.modified] = .integer(signed)
                    if index == 3, case .asset(var asset) = fields[.content] {
                        asset.size = number()
                        fields[.content] = .asset(asset)
                    }
                    change.action = .set(fields)
                }
                change.timestamp = HybridTimestamp(
                    wallMilliseconds: number(), counter: UInt16(truncatingIfNeeded: number()),
                    replica: forger.identity.replica)
                if random.chance(50) { change.dot.counter = max(1, number()) }
                if random.chance(50) {
                    change.context = VersionVector([Dot(replica: party.alice.identity.replica, counter: number())])
                }
                changes.append(change)
            }
            try forger.send(changes)
        }

        mutating func sendLetter() throws {
            let kinds = Letter.Kind.allCases
            var letter = Letter(
                kind: kinds[random.below(kinds.count)], zone: party.zone, title: "Wild", permission: .readWrite,
                generation: number())
            letter.offer = random.bytes(16)
            let alice = party.alice.identity.account
            let accounts = AccountDirectory(mount: forger.mount)
            let entry = try #require(try accounts.account(alice))
            try Inbox(of: alice, mount: forger.mount, accounts: accounts).send(
                letter, to: entry, identity: forger.identity, nowMilliseconds: number())
        }
    }

    private func draw(_ party: Party, by author: Replica, seed: UInt64) throws {
        for part in 0..<2 as Range<UInt64> {
            let forger = try Forger(author, zone: party.zone, in: party.village, seed: 7 + part)
            let random = SeededGenerator(seed: seed, part: "wild \(part)")
            var drawer = Drawer(forger: forger, party: party, random: random)
            try drawer.sendChanges()
            for _ in 0..<3 { try drawer.sendLetter() }
            try party.village.meet()
            for _ in 0..<3 { try drawer.sendHeads() }
            try party.village.meet()
        }
    }

    private func expectAnswers(_ party: Party) throws {
        for replica in [party.alice, party.carol] {
            _ = try replica.store.read { db in
                try ShareSummary.all(replica.engine, db, includesEnded: true).map(\.detailedJSON)
            }
            _ = try replica.store.read { db in try PendingCounts(db, replica: replica.identity.replica) }
            for stored in try replica.store.read({ db in try db.history(after: 0, limit: .max) }) {
                _ = StatusText.json(time: stored.change.timestamp.wallMilliseconds)
                if case .set(let fields) = stored.change.action { _ = fields.values.map(\.displayText) }
            }
        }
    }

    @Test(arguments: 0..<10 as Range<UInt64>)
    func `numbers of any size that a participant signs stop nobody`(seed: UInt64) throws {
        let party = try Party(bob: "readWrite", seed: seed + 1)
        try draw(party, by: party.bob, seed: seed)
        try expectAnswers(party)
        // What is shown is whatever counts of it; the others' photos come and go as before.
        try party.alice.machine.library.write("Summer/later.jpg", "later")
        try party.carol.machine.shared.write("alice/Summer/hers.jpg", "hers")
        try party.village.pass(8)
        #expect(party.carol.tree(.shared)["alice/Summer/later.jpg"] == "later")
        #expect(party.alice.tree(.library)["Summer/hers.jpg"] == "hers")
    }

    @Test(arguments: 0..<6 as Range<UInt64>)
    func `numbers of any size that an owner signs end no daemon, and nobody is kept in the share`(seed: UInt64) throws {
        let party = try Party(bob: "readWrite", seed: seed + 1)
        try draw(party, by: party.alice, seed: seed)
        try expectAnswers(party)
        _ = party.alice.request(.uninvite(share: "Summer", accounts: ["bob"]))
        #expect(party.carol.request(.leave(share: "Summer", keepCopy: false)).code == 0)
        try party.village.meet()
        #expect(party.carol.tree(.shared).isEmpty)
    }
}
