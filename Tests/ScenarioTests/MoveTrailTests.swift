import ShoeboxLibrary
import ShoeboxModel
import ShoeboxPlanning
import ShoeboxStore
import ShoeboxTestSupport
import ShoeboxWorld
import Testing

@testable import Shoebox

/// A photo that goes over three zones, or there and back, while its owner's devices know one half of that.
@Suite struct MoveTrailTests {
    /// Shares an album of the same title with somebody.
    private func share(_ title: String, of owner: Replica, with other: Replica) throws {
        let made = owner.request(
            .shareCreate(paths: [owner.path(title)], title: title, publicPermission: "none", isSealed: true))
        try #require(
            owner.request(.invite(share: title, accounts: [other.label], permission: "readWrite")).code == 0)
        try #require(other.request(.accept(link: made.values["link"] ?? "")).code == 0)
    }

    /// Carol takes a photo from share to share, on and on, or by way of what is hers; Alice, whose shares they are, reads the last
    /// one first.
    @Test(arguments: ["Way", "Mine", "Way by Mine"], [(false, false), (true, false), (false, true), (true, true)])
    func `what a photo was in one share is not repeated in another one that it came to by way of a third`(
        by way: String, how: (isUnread: Bool, isSaved: Bool)
    ) throws {
        let (isUnread, isSaved) = how
        let (party, dan) = try Party.twoShares()
        let (alice, carol, village) = (party.alice, party.carol, party.village)
        try alice.machine.library.write("Way/w.jpg", "www")
        try carol.machine.library.write("Mine/m.jpg", "mmm")
        try #require(try village.settle())
        try share("Way", of: alice, with: carol)
        try #require(try village.settle())
        let old = "alice/Summer/deep/b.jpg"
        try #require(carol.request(.caption(path: carol.path(old, .shared), text: "for bob")).code == 0)
        try #require(
            carol.request(.tag(path: carol.path(old, .shared), titles: ["Lake", "bobs"], isMember: true)).code == 0)
        try #require(try village.settle())
        let (shared, own) = (carol.machine.shared, carol.machine.library)
        let unread = "\(party.zone)"
        if isUnread {
            alice.machine.faults.setRule { operation in
                operation.part == "mount" && operation.path.contains(unread) ? .fail(.inputOutput) : nil
            }
        }
        func change(_ path: String, _ root: RootKind) throws {
            let place = carol.path(path, root)
            #expect(carol.request(.caption(path: place, text: "for dan")).code == 0)
            #expect(carol.request(.tag(path: place, titles: ["bobs"], isMember: false)).code == 0)
            if isSaved {
                let disk = root == .library ? own : shared
                try disk.write(path, "saved on the way", saving: .replacing)
            }
            try party.rounds(of: carol, 80)
        }
        if way.hasPrefix("Way") {
            try shared.move(old, to: "alice/Way/b.jpg")
            try shared.move(old + ".json", to: "alice/Way/b.jpg.json")
        } else {
            try shared.move(old, to: "Mine/b.jpg", on: own)
            try shared.move(old + ".json", to: "Mine/b.jpg.json", on: own)
        }
        try party.rounds(of: carol, 80)
        if way == "Way by Mine" {
            try shared.move("alice/Way/b.jpg", to: "Mine/b.jpg", on: own)
            try shared.move("alice/Way/b.jpg.json", to: "Mine/b.jpg.json", on: own)
            try party.rounds(of: carol, 80)
        }
        let isOwn = way != "Way"
        let between = isOwn ? "Mine/b.jpg" : "alice/Way/b.jpg"
        try change(between, isOwn ? .library : .shared)
        try (isOwn ? own : shared).move(between, to: "alice/Other/b.jpg", on: shared)
        try (isOwn ? own : shared).move(between + ".json", to: "alice/Other/b.jpg.json", on: shared)
        try party.rounds(of: carol, 80)
        for _ in 0..<8 {
            for replica in [alice, dan] { _ = try? replica.round() }
            village.world.clock.advance(milliseconds: 700)
        }
        alice.machine.faults.setRule(nil)
        try #require(try village.settle())
        let content = isSaved ? "saved on the way" : "bbb"
        #expect(dan.tree(.shared)["alice/Other/b.jpg"] == content, "\(dan.tree(.shared))")
        #expect(alice.tree(.library)["Other/b.jpg"] == content, "\(alice.tree(.library))")
        #expect(dan.sidecar("alice/Other/b.jpg", .shared)?.fields.caption == "for dan")
        #expect(dan.sidecar("alice/Other/b.jpg", .shared)?.fields.tags == ["Lake"])
        #expect(!alice.tree(.library).keys.contains { $0.hasPrefix("Summer/deep/b") }, "\(alice.tree(.library))")
        if isSaved { #expect(try Party.sizes(knownTo: dan) == [3, 16]) }
        for stored in try dan.store.read({ db in try db.history(after: 0, limit: .max) }) {
            guard case .set(let fields) = stored.change.action else { continue }
            #expect(!fields.values.contains { ["for bob", "bobs"].contains($0.text ?? "") }, "\(stored.change)")
            if isSaved, fields[.name]?.fileName == FileName("b.jpg") {
                #expect((fields[.content]?.asset?.size ?? 16) == 16, "\(stored.change)")
            }
        }
    }

    @Test(arguments: [false, true])
    func `what a photo was before its folder was shared is told by no device that has not read that share yet`(
        isStopped: Bool
    ) throws {
        var (party, dan) = try Party.twoShares()
        let (alice, carol) = (party.alice, party.carol)
        try alice.machine.library.write("Lake/p.jpg", "formerly")
        try #require(try party.village.settle())
        let second = try party.village.addDevice(of: alice, name: "alice2")
        try #require(try party.village.settle())
        try share("Lake", of: alice, with: carol)
        // Her other device is away.
        func pass(_ replicas: [Replica]) throws {
            for _ in 0..<8 {
                for replica in replicas { _ = try replica.round() }
                party.village.world.clock.advance(milliseconds: 700)
            }
        }
        try pass([alice, carol, dan])
        try alice.machine.library.write("Lake/p.jpg", "by now", saving: .replacing)
        try pass([alice, carol, dan])
        try carol.machine.shared.move("alice/Lake/p.jpg", to: "alice/Other/p.jpg")
        // Alice is away, too.
        try pass([carol, dan])
        if isStopped {
            try pass([alice, carol, dan])
            #expect(alice.request(.stop(share: "Lake")).code == 0)
            try pass([alice, carol, dan])
        }
        try pass([second, dan])
        try #require(try party.village.settle())
        #expect(dan.tree(.shared)["alice/Other/p.jpg"] == "by now", "\(dan.tree(.shared))")
        #expect(second.tree(.library)["Other/p.jpg"] == "by now", "\(second.tree(.library))")
        #expect(try !Party.sizes(knownTo: dan).contains(8))
    }

    @Test(arguments: 1...6 as ClosedRange<UInt64>)
    func `of a photo that goes to another share, back, and there again, each share is told what is said in it`(
        seed: UInt64
    ) throws {
        let (party, dan) = try Party.twoShares(seed: seed)
        let (alice, bob, carol, village) = (party.alice, party.bob, party.carol, party.village)
        let disk = carol.machine.shared
        func take(_ old: String, to new: String) throws {
            try disk.move(old, to: new)
            if (try? disk.read(old + ".json")) != nil { try disk.move(old + ".json", to: new + ".json") }
        }
        let (summer, other) = ("alice/Summer/deep/b.jpg", "alice/Other/b.jpg")
        try take(summer, to: other)
        try #require(try village.settle())
        try take(other, to: summer)
        try #require(try village.settle())
        try #require(bob.request(.caption(path: bob.path(summer, .shared), text: "for bob")).code == 0)
        try #require(try village.settle())
        try take(summer, to: other)
        let document = String(decoding: try disk.read(other + ".json"), as: UTF8.self)
        try disk.write(other + ".json", document.replacing("for bob", with: "for dan"))
        try party.rounds(of: carol, 4)
        let unread = "\(party.zone)"
        alice.machine.faults.setRule { operation in
            operation.part == "mount" && operation.path.contains(unread) ? .fail(.inputOutput) : nil
        }
        for _ in 0..<8 {
            for replica in [alice, dan] { _ = try? replica.round() }
            village.world.clock.advance(milliseconds: 700)
        }
        alice.machine.faults.setRule(nil)
        try #require(try village.settle())
        #expect(alice.tree(.library)["Other/b.jpg"] == "bbb", "\(alice.tree(.library))")
        #expect(dan.sidecar(other, .shared)?.fields.caption == "for dan")
        #expect(bob.tree(.shared)[summer] == nil, "\(bob.tree(.shared))")
        for (replica, secret) in [(bob, "for dan"), (dan, "for bob")] {
            for stored in try replica.store.read({ db in try db.history(after: 0, limit: .max) }) {
                guard case .set(let fields) = stored.change.action else { continue }
                #expect(!fields.values.contains { $0.text == secret }, "\(replica.label): \(stored.change)")
            }
        }
    }

    @Test(arguments: ["caption", "edit"])
    func
        `what was edited in a photo that its owner takes out, and another one to where the owner can't look, comes home`(
            edit: String
        ) throws
    {
        let (party, _) = try Party.twoShares()
        let (alice, bob, carol, village) = (party.alice, party.bob, party.carol, party.village)
        try bob.machine.library.write("Bobs/x.jpg", "xxx")
        try #require(try village.settle())
        try share("Bobs", of: bob, with: carol)
        try #require(try village.settle())
        try alice.machine.library.move("Summer/deep/b.jpg", to: "Private/b.jpg")
        try party.rounds(of: alice, 4, reachesContainer: false)
        let place = "alice/Summer/deep/b.jpg"
        try #require(bob.request(.tag(path: bob.path(place, .shared), titles: ["late"], isMember: true)).code == 0)
        if edit == "caption" {
            try #require(bob.request(.caption(path: bob.path(place, .shared), text: "late")).code == 0)
        } else {
            try bob.machine.shared.write(place, "by bob", saving: .replacing)
        }
        for _ in 0..<8 {
            for replica in [bob, carol] { try replica.round() }
            village.world.clock.advance(milliseconds: 700)
        }
        try carol.machine.shared.move(place, to: "bob/Bobs/b.jpg")
        try party.rounds(of: carol, 4)
        try #require(try village.settle())
        let shown = alice.tree(.library).keys.filter { $0.hasPrefix("Private/b") }
        let fields = shown.compactMap { alice.sidecar($0, .library)?.fields }
        if edit == "caption" {
            #expect(fields.contains { $0.caption == "late" }, "\(alice.tree(.library))")
        } else {
            #expect(alice.tree(.library).values.contains("by bob"), "\(alice.tree(.library))")
        }
        #expect(fields.contains { $0.tags?.contains("late") == true }, "\(fields)")
    }

    @Test func `what is edited late in a photo that came from where the owner can't look follows it all the same`()
        throws
    {
        let (party, dan) = try Party.twoShares()
        let (alice, bob, carol, village) = (party.alice, party.bob, party.carol, party.village)
        try bob.machine.library.write("Bobs/x.jpg", "xxx of bob")
        try #require(try village.settle())
        try share("Bobs", of: bob, with: carol)
        try #require(try village.settle())
        try carol.machine.shared.move("bob/Bobs/x.jpg", to: "alice/Summer/x.jpg")
        try #require(try village.settle())
        try alice.machine.library.move("Summer/x.jpg", to: "Other/x.jpg")
        try #require(try village.settle())
        let photo = dan.path("alice/Other/x.jpg", .shared)
        try #require(dan.request(.caption(path: photo, text: "late")).code == 0)
        try party.rounds(of: dan, 2, reachesContainer: false)
        try alice.machine.library.move("Other/x.jpg", to: "Summer/x.jpg")
        try party.rounds(of: alice, 4)
        try #require(try village.settle())
        #expect(alice.sidecar("Summer/x.jpg", .library)?.fields.caption == "late", "\(alice.tree(.library))")
        #expect(dan.tree(.shared)["alice/Other/x.jpg"] == nil, "\(dan.tree(.shared))")
    }

    @Test(arguments: 1...4 as ClosedRange<UInt64>)
    func `a tag that is taken off where one device took a photo does not come back from where it was`(seed: UInt64)
        throws
    {
        var (party, dan) = try Party.twoShares(seed: seed)
        let (alice, bob) = (party.alice, party.bob)
        try alice.machine.library.write("Way/w.jpg", "www")
        let second = try party.village.addDevice(of: alice, name: "alice2")
        try #require(try party.village.settle())
        let made = alice.request(
            .shareCreate(paths: [alice.path("Way")], title: "Way", publicPermission: "none", isSealed: true))
        try #require(made.code == 0)
        try #require(try party.village.settle())
        // The one device takes it to one share, knowing of the tag, and the other one to another, knowing nothing.
        try second.machine.library.move("Summer/a.jpg", to: "Way/a.jpg")
        try party.rounds(of: second, 4, reachesContainer: false)
        try #require(
            bob.request(.tag(path: bob.path("alice/Summer/a.jpg", .shared), titles: ["bobs"], isMember: true)).code == 0
        )
        func pass(_ replicas: [Replica]) throws {
            for _ in 0..<8 {
                for replica in replicas { try replica.round() }
                party.village.world.clock.advance(milliseconds: 700)
            }
        }
        try pass([bob, alice])
        try alice.machine.library.move("Summer/a.jpg", to: "Other/a.jpg")
        try pass([alice, dan])
        let photo = dan.path("alice/Other/a.jpg", .shared)
        try #require(dan.request(.tag(path: photo, titles: ["bobs"], isMember: false)).code == 0)
        try pass([dan])
        try #require(try party.village.settle())
        let shown = alice.tree(.library).keys.filter { $0.hasSuffix("/a.jpg") }
        #expect(shown.count == 1, "\(alice.tree(.library))")
        for place in shown { #expect(alice.sidecar(place, .library)?.fields.tags ?? [] == [], "\(place)") }
    }

    @Test func `a photo that a device took out of a share, and died before it could say so there, is taken out`() throws
    {
        var (party, _) = try Party.twoShares()
        let (alice, bob) = (party.alice, party.bob)
        let second = try party.village.addDevice(of: alice, name: "alice2")
        try bob.machine.shared.write("alice/Summer/a.jpg", "by bob", saving: .replacing)
        try #require(try party.village.settle())
        let share = "\(party.zone)"
        alice.machine.faults.setRule { operation in
            operation.part == "mount" && operation.path.contains(share) ? .fail(.inputOutput) : nil
        }
        let storage = party.village.world.storage
        func told() -> [String: [UInt8]] { storage.tree().filter { $0.key.contains(share) } }
        let before = told()
        try alice.machine.library.move("Summer/a.jpg", to: "Private/a.jpg")
        for _ in 0..<4 {
            _ = try? alice.round()
            party.village.world.clock.advance(milliseconds: 700)
        }
        try #require(!before.isEmpty && told() == before, "the old zone was told")
        for _ in 0..<90 {
            for replica in [second, bob] { try replica.round() }
            party.village.world.clock.advance(milliseconds: 700)
        }
        let shown = second.tree(.library)
        #expect(shown["Private/a.jpg"] == "by bob" && shown["Summer/a.jpg"] == nil, "\(shown)")
        #expect(bob.tree(.shared)["alice/Summer/a.jpg"] == nil, "\(bob.tree(.shared))")
    }
}
