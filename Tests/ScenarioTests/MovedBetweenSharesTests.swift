import ShoeboxLibrary
import ShoeboxModel
import ShoeboxPlanning
import ShoeboxStore
import ShoeboxTestSupport
import ShoeboxWorld
import Testing

@testable import Shoebox

/// A participant's photo that goes from one share of somebody's to another one takes nothing of its past along.
@Suite struct MovedBetweenSharesTests {
    @Test(arguments: [(false, false), (true, false), (false, true), (true, true)], [false, true])
    func `what was overwritten in one share is not told to the people of another one that the photo goes to`(
        how: (isSwap: Bool, isByWay: Bool), isAtOnce: Bool
    ) throws {
        let (isSwap, isByWay) = how
        let party = try Party(bob: "readWrite")
        let (alice, bob, carol, village) = (party.alice, party.bob, party.carol, party.village)
        try alice.machine.library.write("Lake/p.jpg", "formerly")
        try #require(try village.settle())
        for title in isByWay ? ["Lake", "Way"] : ["Lake"] {
            if title == "Way" { try alice.machine.library.write("Way/w.jpg", "www") }
            try #require(try village.settle())
            let made = alice.request(
                .shareCreate(paths: [alice.path(title)], title: title, publicPermission: "none", isSealed: true))
            try #require(alice.request(.invite(share: title, accounts: ["bob"], permission: "readWrite")).code == 0)
            try #require(bob.request(.accept(link: made.values["link"] ?? "")).code == 0)
        }
        try #require(try village.settle())
        let disk = bob.machine.shared
        try disk.write("alice/Lake/p.jpg", "new", saving: .replacing)
        if !isAtOnce { try #require(try village.settle()) }
        if isByWay {
            try disk.move("alice/Lake/p.jpg", to: "alice/Way/p.jpg")
            try #require(try village.settle())
            try disk.write("alice/Way/p.jpg", "newest", saving: .replacing)
            if !isAtOnce { try #require(try village.settle()) }
        }
        let place = isByWay ? "alice/Way/p.jpg" : "alice/Lake/p.jpg"
        if isSwap {
            try disk.move("alice/Summer/a.jpg", to: "alice/sw.jpg")
            try disk.move(place, to: "alice/Summer/a.jpg")
            try disk.move("alice/sw.jpg", to: place)
        } else {
            try disk.move(place, to: "alice/Summer/p.jpg")
        }
        try #require(try village.settle())
        let last = isByWay ? "newest" : "new"
        #expect(carol.tree(.shared).values.contains(last), "\(carol.tree(.shared))")
        #expect(!isByWay || !carol.tree(.shared).values.contains("new"), "\(carol.tree(.shared))")
        #expect(!carol.tree(.shared).values.contains("formerly"), "\(carol.tree(.shared))")
        for stored in try carol.store.read({ db in try db.history(after: 0, limit: .max) }) {
            guard case .set(let fields) = stored.change.action else { continue }
            for value in fields.values { #expect(value.asset?.size != UInt64("formerly".utf8.count)) }
        }
    }

    @Test(arguments: [false, true])
    func `what is saved in a photo that its owner has just taken out of a share is not told to its people`(
        hasEditOfOthers: Bool
    ) throws {
        let party = try Party(bob: "readWrite")
        let (alice, bob, village) = (party.alice, party.bob, party.village)
        let disk = alice.machine.library
        if hasEditOfOthers { try bob.machine.shared.write("alice/Summer/a.jpg", "from bob", saving: .replacing) }
        try disk.move("Summer/a.jpg", to: "Private/a.jpg")
        try disk.write("Private/a.jpg", "secretly!", saving: .inPlace)
        try party.rounds(of: alice, 4)
        try #require(try village.settle())
        let shown = alice.tree(.library)
        #expect(shown.filter { !$0.key.hasPrefix("Summer/") }.values.contains("secretly!"), "\(shown)")
        #expect(!bob.tree(.shared).values.contains("secretly!"), "\(bob.tree(.shared))")
        for stored in try bob.store.read({ db in try db.history(after: 0, limit: .max) }) {
            guard case .set(let fields) = stored.change.action else { continue }
            for value in fields.values {
                #expect(value.asset?.size != UInt64("secretly!".utf8.count))
            }
        }
    }

    @Test(arguments: ["alice", "carol"], [false, true])
    func `what is saved in a photo on its way to another share is told there, and what it was before is not`(
        mover: String, isFolder: Bool
    ) throws {
        let (party, dan) = try Party.twoShares()
        let (alice, bob, carol, village) = (party.alice, party.bob, party.carol, party.village)
        let isOwner = mover == "alice"
        let disk = isOwner ? alice.machine.library : carol.machine.shared
        let top = isOwner ? "" : "alice/"
        let (old, new) = isFolder ? ("Summer/deep", "Other/deep") : ("Summer/deep/b.jpg", "Other/b.jpg")
        let place = isFolder ? "Other/deep/b.jpg" : "Other/b.jpg"
        try disk.move(top + old, to: top + new)
        try disk.write(top + place, "meanwhile", saving: .inPlace)
        try party.rounds(of: isOwner ? alice : carol, 4)
        try #require(try village.settle())
        #expect(dan.tree(.shared)["alice/" + place] == "meanwhile", "\(dan.tree(.shared))")
        #expect(alice.tree(.library)[place] == "meanwhile", "\(alice.tree(.library))")
        #expect(bob.tree(.shared) == ["alice/Summer/a.jpg": "aaa"], "\(bob.tree(.shared))")
        #expect(try !Party.sizes(knownTo: bob).contains(9))
        // It is as long as the other photos of the share; Dan knows of none of these.
        #expect(try Party.sizes(knownTo: dan) == [3, 9])
        let contents = try dan.store.read { db in try db.history(after: 0, limit: .max) }
            .compactMap { stored -> String? in
                guard case .set(let fields) = stored.change.action else { return nil }
                return fields[.content]?.asset?.contentHash.description
            }
        let hash = try #require(try firstContentHash(bob))
        #expect(!contents.contains(hash))
    }

    @Test func `nor is it of a photo that two people had put there at once`() throws {
        let (party, dan) = try Party.twoShares()
        let (alice, bob, village) = (party.alice, party.bob, party.village)
        try alice.machine.library.write("Summer/twin.jpg", "twins of both")
        try bob.machine.shared.write("alice/Summer/twin.jpg", "twins of both")
        for replica in [alice, bob] { _ = try replica.engine.round(.all) }
        village.world.clock.advance(milliseconds: 700)
        try #require(try village.settle())
        #expect(bob.tree(.shared).values.count { $0 == "twins of both" } == 1)
        try alice.machine.library.move("Summer/twin.jpg", to: "Other/twin.jpg")
        try alice.machine.library.write("Other/twin.jpg", "cropped", saving: .inPlace)
        try party.rounds(of: alice, 4)
        try #require(try village.settle())
        #expect(dan.tree(.shared)["alice/Other/twin.jpg"] == "cropped", "\(dan.tree(.shared))")
        #expect(try !Party.sizes(knownTo: dan).contains(13))
        #expect(try !Party.sizes(knownTo: bob).contains(7))
    }

    /// Carol moves a photo of which Bob's newer bytes, or words, are known to her device, but not shown to her yet.
    @Test(arguments: ["content", "caption"], [false, true])
    func `what others made of a photo that is saved on its way to another share is not lost`(
        news: String, isOwner: Bool
    ) throws {
        let (party, _) = try Party.twoShares()
        let (alice, bob, carol, village) = (party.alice, party.bob, party.carol, party.village)
        let mover = isOwner ? alice : carol
        let disk = isOwner ? alice.machine.library : carol.machine.shared
        let top = isOwner ? "" : "alice/"
        if news == "content" {
            try bob.machine.shared.write("alice/Summer/a.jpg", "from bob", saving: .replacing)
        } else {
            try #require(
                bob.request(.caption(path: bob.path("alice/Summer/a.jpg", .shared), text: "from bob")).code == 0)
        }
        try party.rounds(of: bob, 4)
        mover.machine.faults.setRule { operation in
            operation.path.hasPrefix("assets/") ? .fail(.inputOutput) : nil
        }
        try party.rounds(of: mover, 2)
        try disk.move(top + "Summer/a.jpg", to: top + "Other/a.jpg")
        try disk.write(top + "Other/a.jpg", "meanwhile", saving: .inPlace)
        try party.rounds(of: mover, 4)
        mover.machine.faults.setRule(nil)
        try #require(try village.settle())
        let shown = alice.tree(.library)
        #expect(shown.values.contains("meanwhile"), "\(shown)")
        if news == "content" {
            #expect(shown.values.contains("from bob"), "\(shown)")
        } else {
            #expect(shown.keys.contains { alice.sidecar($0, .library)?.fields.caption == "from bob" }, "\(shown)")
        }
    }

    @Test(
        arguments: ["Private/secret.jpg", "Other/secret.jpg", "Other/secret.jpg by Private"], ["", "caption", "edit"])
    func
        `what a photo was named, and became, after it had left a share is not told there when its past comes back to life`(
            way: String, later: String
        ) throws
    {
        let (party, _) = try Party.twoShares()
        let (alice, bob, village) = (party.alice, party.bob, party.village)
        let disk = alice.machine.library
        let place = way.hasPrefix("Other") ? "Other/secret.jpg" : "Private/secret.jpg"
        if way.hasSuffix("by Private") {
            try disk.move("Summer/a.jpg", to: "Private/secret.jpg")
            try party.rounds(of: alice, 4)
            try disk.move("Private/secret.jpg", to: place)
        } else {
            try disk.move("Summer/a.jpg", to: place)
        }
        try party.rounds(of: alice, 4)
        try makeSecret(place, party)
        try disk.delete(place)
        for _ in 0..<60 {
            _ = try alice.round()
            village.world.clock.advance(milliseconds: 1_000)
        }
        // Bob has seen nothing of all that.
        try bob.machine.shared.write("alice/Summer/a.jpg", "from bob", saving: .replacing)
        try party.rounds(of: bob, 4, reachesContainer: false)
        try #require(try village.settle())
        #expect(alice.tree(.library).values.contains("from bob"), "\(alice.tree(.library))")
        // Whoever goes on with it knows by then that it had left.
        let name = try #require(bob.tree(.shared).first { $0.value == "from bob" }?.key)
        if later == "caption" {
            #expect(bob.request(.caption(path: bob.path(name, .shared), text: "of bob")).code == 0)
        } else if later == "edit" {
            try bob.machine.shared.write(name, "from bob again", saving: .replacing)
        }
        try #require(try village.settle())
        #expect(alice.tree(.library).values.contains(later == "edit" ? "from bob again" : "from bob"))
        try expectNoSecret(party)
    }

    @Test func `of a contributor's photo that was edited twice at once nothing is lost on the way to another share`()
        throws
    {
        var party = try Party(bob: "contribute")
        let bob = party.bob
        let second = try party.village.addDevice(of: bob, name: "bob2")
        try #require(try party.village.settle())
        try bob.machine.library.write("Mine/m.jpg", "mmm")
        try bob.machine.shared.write("alice/Summer/new.jpg", "first")
        try #require(try party.village.settle())
        try #require(
            bob.request(
                .shareCreate(paths: [bob.path("Mine")], title: "Mine", publicPermission: "none", isSealed: true)
            ).code == 0)
        try #require(try party.village.settle())
        // Alice is away.
        func pass(_ rounds: Int) throws {
            for _ in 0..<rounds {
                for replica in [bob, second] { try replica.round() }
                party.village.world.clock.advance(milliseconds: 700)
            }
        }
        try bob.machine.shared.write("alice/Summer/new.jpg", "by one", saving: .replacing)
        try second.machine.shared.write("alice/Summer/new.jpg", "by the other", saving: .replacing)
        try pass(10)
        try bob.machine.shared.move("alice/Summer/new.jpg", to: "between.jpg")
        try bob.machine.shared.move("between.jpg", to: "Mine/new.jpg", on: bob.machine.library)
        try #require(try party.village.settleDeletions())
        let all = [bob, second].flatMap { Array($0.tree(.library).values) + Array($0.tree(.shared).values) }
        #expect(all.contains("by one") && all.contains("by the other"), "\(all)")
    }

    /// Alice takes an album out of the share, works on it, and is away; Bob, who edited a photo in it before he knew, goes on.
    @Test(arguments: [1, 2, 3, 4] as [UInt64], ["move", "remove", "toShare", "there and back"])
    func
        `what somebody writes of a photo whose album has left, knowing of that, brings nothing of it back to the share`(
            seed: UInt64, how: String
        ) throws
    {
        let party = try Party(bob: "readWrite", seed: seed)
        let (alice, bob, village) = (party.alice, party.bob, party.village)
        let disk = alice.machine.library
        if how == "there and back" {
            try disk.move("Summer/deep", to: "Private/deep")
            try #require(try village.settle())
            try disk.move("Private/deep", to: "Summer/deep")
            try #require(try village.settle())
        }
        try bob.machine.shared.write("alice/Summer/deep/b.jpg", "from bob", saving: .replacing)
        try party.rounds(of: bob, 4, reachesContainer: false)
        var place = "Private/deep/b.jpg"
        if how == "remove" {
            let removed = alice.request(.shareRemove(share: "Summer", paths: [alice.path("Summer/deep/b.jpg")]))
            try #require(removed.code == 0, "\(removed)")
            try party.rounds(of: alice, 4)
            place = try #require(alice.tree(.library).first { $0.value == "bbb" }?.key)
        } else {
            try disk.move("Summer/deep", to: "Private/deep")
            try party.rounds(of: alice, 4)
        }
        try makeSecret(place, party)
        if how == "toShare" {
            try #require(
                alice.request(
                    .shareCreate(
                        paths: [alice.path("Private/deep")], title: "Deep", publicPermission: "none", isSealed: true)
                ).code == 0)
            try party.rounds(of: alice, 4)
        }
        // Alice is away.
        for _ in 0..<8 {
            for replica in [bob, party.carol] { try replica.round() }
            village.world.clock.advance(milliseconds: 700)
        }
        if let name = bob.tree(.shared).first(where: { $0.value == "from bob" })?.key {
            #expect(bob.request(.caption(path: bob.path(name, .shared), text: "of bob")).code == 0)
            for _ in 0..<4 { try bob.round() }
        }
        try #require(try village.settle())
        #expect(alice.tree(.library)[place] != nil, "\(alice.tree(.library))")
        #expect(alice.tree(.library).values.contains("a secret, later"), "\(alice.tree(.library))")
        #expect(alice.tree(.library).values.contains("from bob"), "\(alice.tree(.library))")
        try expectNoSecret(party)
    }

    /// The hash of the first content of a photo `b.jpg` that somebody was shown.
    private func firstContentHash(_ replica: Replica) throws -> String? {
        try replica.store.read { db in try db.history(after: 0, limit: .max) }.compactMap { stored -> String? in
            guard case .set(let fields) = stored.change.action, fields[.name]?.fileName == FileName("b.jpg") else {
                return nil
            }
            return fields[.content]?.asset?.contentHash.description
        }.first
    }

    /// Alice makes another photo of the one at a place, with another caption and a tag, none of which is for the share.
    private func makeSecret(_ place: String, _ party: Party) throws {
        let alice = party.alice
        try alice.machine.library.write(place, "a secret, later", saving: .replacing)
        try party.rounds(of: alice, 4)
        #expect(alice.request(.caption(path: alice.path(place), text: "secret words")).code == 0)
        #expect(alice.request(.tag(path: alice.path(place), titles: ["secret tag"], isMember: true)).code == 0)
        try party.rounds(of: alice, 4)
    }

    /// Checks that nothing of what `makeSecret` made, nor the name `secret.jpg`, was ever told in the share.
    private func expectNoSecret(_ party: Party, sourceLocation: SourceLocation = #_sourceLocation) throws {
        for stored in try party.bob.store.read({ db in try db.history(after: 0, limit: .max) })
        where stored.zone == party.zone {
            let change = stored.change
            #expect(change.type != .tag, "\(change)", sourceLocation: sourceLocation)
            guard case .set(let fields) = change.action else { continue }
            #expect(fields[.name]?.fileName != FileName("secret.jpg"), "\(change)", sourceLocation: sourceLocation)
            #expect(fields[.content]?.asset?.size != 15, "\(change)", sourceLocation: sourceLocation)
            if case .text(let text)? = fields[.caption] {
                #expect(text != "secret words", "\(change)", sourceLocation: sourceLocation)
            }
        }
    }
}
