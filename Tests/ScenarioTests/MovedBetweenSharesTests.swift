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

    /// Who shares what: Alice shares `Summer` with Bob and Carol, and `Other` with Carol and Dan.
    private func twoShares(seed: UInt64 = 1) throws -> (Party, dan: Replica) {
        let party = try Party(bob: "readWrite", seed: seed, others: ["dan"])
        let (alice, village) = (party.alice, party.village)
        try alice.machine.library.write("Other/o.jpg", "ooo")
        try #require(try village.settle())
        let made = alice.request(
            .shareCreate(paths: [alice.path("Other")], title: "Other", publicPermission: "none", isSealed: true))
        let dan = village.replicas[3]
        for other in [party.carol, dan] {
            try #require(
                alice.request(.invite(share: "Other", accounts: [other.label], permission: "readWrite")).code == 0)
            try #require(other.request(.accept(link: made.values["link"] ?? "")).code == 0)
        }
        try #require(try village.settle())
        return (party, dan)
    }

    private func sizes(knownTo replica: Replica) throws -> Set<UInt64> {
        let stored = try replica.store.read { db in try db.history(after: 0, limit: .max) }
        return Set(
            stored.flatMap { stored -> [UInt64] in
                guard case .set(let fields) = stored.change.action else { return [] }
                return fields.values.compactMap { $0.asset?.size }
            })
    }

    @Test(arguments: ["alice", "carol"], [false, true])
    func `what is saved in a photo on its way to another share is told there, and what it was before is not`(
        mover: String, isFolder: Bool
    ) throws {
        let (party, dan) = try twoShares()
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
        #expect(try !sizes(knownTo: bob).contains(9))
        // It is as long as the other photos of the share; Dan knows of none of these.
        #expect(try sizes(knownTo: dan) == [3, 9])
        let contents = try dan.store.read { db in try db.history(after: 0, limit: .max) }
            .compactMap { stored -> String? in
                guard case .set(let fields) = stored.change.action else { return nil }
                return fields[.content]?.asset?.contentHash.description
            }
        let hash = try #require(try contentHash(of: "Summer/deep/b.jpg", "bbb", bob))
        #expect(!contents.contains(hash))
    }

    /// The hash of a content that somebody was shown.
    private func contentHash(of path: String, _ text: String, _ replica: Replica) throws -> String? {
        try replica.store.read { db in try db.history(after: 0, limit: .max) }.compactMap { stored -> String? in
            guard case .set(let fields) = stored.change.action, fields[.name]?.fileName == FileName("b.jpg") else {
                return nil
            }
            return fields[.content]?.asset?.contentHash.description
        }.first
    }

    @Test(arguments: [false, true], [false, true])
    func `what is written into the sidecar of a photo that its owner has just taken out of a share is not told there`(
        isFolder: Bool, isNew: Bool
    ) throws {
        let party = try Party(bob: "readWrite")
        let (alice, bob, village) = (party.alice, party.bob, party.village)
        let disk = alice.machine.library
        if !isNew {
            try #require(alice.request(.caption(path: alice.path("Summer/deep/b.jpg"), text: "for all")).code == 0)
        }
        try #require(
            alice.request(.tag(path: alice.path("Summer/deep/b.jpg"), titles: ["Lake"], isMember: true)).code == 0)
        try #require(try village.settle())
        let (old, new) = isFolder ? ("Summer/deep", "Private/deep") : ("Summer/deep/b.jpg", "Private/b.jpg")
        let place = isFolder ? "Private/deep/b.jpg" : "Private/b.jpg"
        try disk.move(old, to: new)
        if !isFolder { try disk.move("Summer/deep/b.jpg.json", to: "Private/b.jpg.json") }
        let document = try #require(try? disk.read(place + ".json")).reduce(into: "") { text, byte in
            text.unicodeScalars.append(UnicodeScalar(byte))
        }
        let changed =
            isNew
            ? document.replacing("\"Lake\"", with: "\"Lake\", \"secret\"")
            : document.replacing("for all", with: "secret")
        try #require(changed != document)
        try disk.write(place + ".json", changed)
        try party.rounds(of: alice, 4)
        try #require(try village.settle())
        let fields = try #require(alice.sidecar(place, .library)?.fields)
        #expect(isNew ? fields.tags?.contains("secret") == true : fields.caption == "secret", "\(fields)")
        for stored in try bob.store.read({ db in try db.history(after: 0, limit: .max) }) {
            guard case .set(let fields) = stored.change.action else { continue }
            #expect(!fields.values.contains { $0.text == "secret" }, "\(fields)")
        }
    }

    @Test(arguments: ["alice", "carol"], [false, true])
    func
        `what is changed in the sidecar of a photo on its way to another share is told there, and what it said before is not`(
            mover: String, isFolder: Bool
        ) throws
    {
        let (party, dan) = try twoShares()
        let (alice, bob, carol, village) = (party.alice, party.bob, party.carol, party.village)
        let isOwner = mover == "alice"
        let machine = isOwner ? alice : carol
        let (disk, top) = isOwner ? (alice.machine.library, "") : (carol.machine.shared, "alice/")
        let photo = machine.path(top + "Summer/deep/b.jpg", isOwner ? .library : .shared)
        try #require(machine.request(.caption(path: photo, text: "for bob")).code == 0)
        try #require(machine.request(.tag(path: photo, titles: ["Lake", "bobs"], isMember: true)).code == 0)
        try #require(try village.settle())
        let (old, new) = isFolder ? ("Summer/deep", "Other/deep") : ("Summer/deep/b.jpg", "Other/b.jpg")
        let place = isFolder ? "Other/deep/b.jpg" : "Other/b.jpg"
        try disk.move(top + old, to: top + new)
        if !isFolder { try disk.move(top + "Summer/deep/b.jpg.json", to: top + "Other/b.jpg.json") }
        let document = String(decoding: try disk.read(top + place + ".json"), as: UTF8.self)
        let changed = document.replacing("for bob", with: "for dan").replacing("\"bobs\"", with: "\"dans\"")
        try disk.write(top + place + ".json", changed)
        try party.rounds(of: machine, 4)
        try #require(try village.settle())
        for (replica, folder, root) in [(alice, "", RootKind.library), (dan, "alice/", .shared)] {
            let fields = try #require(replica.sidecar(folder + place, root)?.fields, "\(replica.label)")
            #expect(fields.caption == "for dan" && Set(fields.tags ?? []) == ["Lake", "dans"], "\(fields)")
        }
        for (replica, secrets) in [(bob, ["for dan", "dans"]), (dan, ["for bob", "bobs"])] {
            for stored in try replica.store.read({ db in try db.history(after: 0, limit: .max) }) {
                guard case .set(let fields) = stored.change.action else { continue }
                #expect(!fields.values.contains { secrets.contains($0.text ?? "") }, "\(replica.label): \(fields)")
            }
        }
    }

    @Test(arguments: [false, true])
    func `nor is it when the photo comes from the library, with its sidecar changed at once or before`(
        isAtOnce: Bool
    ) throws {
        let (party, dan) = try twoShares()
        let (alice, carol, village) = (party.alice, party.carol, party.village)
        let (shared, own) = (carol.machine.shared, carol.machine.library)
        try own.write("Mine/b.jpg", "bbb of carol")
        try #require(try village.settle())
        let photo = carol.path("Mine/b.jpg")
        try #require(carol.request(.caption(path: photo, text: "for bob")).code == 0)
        try #require(carol.request(.tag(path: photo, titles: ["Lake", "bobs"], isMember: true)).code == 0)
        try #require(try village.settle())
        let document = String(decoding: try own.read("Mine/b.jpg.json"), as: UTF8.self)
        let changed = document.replacing("for bob", with: "for dan").replacing("\"bobs\"", with: "\"dans\"")
        try #require(changed != document)
        try own.write("Mine/b.jpg.json", changed)
        if !isAtOnce { try party.rounds(of: carol, 4) }
        try own.move("Mine/b.jpg.json", to: "alice/Other/b.jpg.json", on: shared)
        try own.move("Mine/b.jpg", to: "alice/Other/b.jpg", on: shared)
        try party.rounds(of: carol, 4)
        try #require(try village.settle())
        for (replica, folder, root) in [(alice, "", RootKind.library), (dan, "alice/", .shared)] {
            let fields = try #require(replica.sidecar(folder + "Other/b.jpg", root)?.fields, "\(replica.label)")
            #expect(fields.caption == "for dan" && Set(fields.tags ?? []) == ["Lake", "dans"], "\(fields)")
        }
        for stored in try dan.store.read({ db in try db.history(after: 0, limit: .max) }) {
            guard case .set(let fields) = stored.change.action else { continue }
            #expect(!fields.values.contains { ["for bob", "bobs"].contains($0.text ?? "") }, "\(stored.change)")
        }
    }

    @Test func `nor is it of a photo that two people had put there at once`() throws {
        let (party, dan) = try twoShares()
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
        #expect(try !sizes(knownTo: dan).contains(13))
        #expect(try !sizes(knownTo: bob).contains(7))
    }

    /// Carol moves a photo of which Bob's newer bytes, or words, are known to her device, but not shown to her yet.
    @Test(arguments: ["content", "caption"], [false, true])
    func `what others made of a photo that is saved on its way to another share is not lost`(
        news: String, isOwner: Bool
    ) throws {
        let (party, _) = try twoShares()
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
        let (party, _) = try twoShares()
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

    /// Carol takes a photo from share to share, on and on, or by way of what is hers; Alice, whose shares they are, reads the last
    /// one first.
    @Test(arguments: ["Way", "Mine", "Way by Mine"], [(false, false), (true, false), (false, true), (true, true)])
    func `what a photo was in one share is not repeated in another one that it came to by way of a third`(
        by way: String, how: (isUnread: Bool, isSaved: Bool)
    ) throws {
        let (isUnread, isSaved) = how
        let (party, dan) = try twoShares()
        let (alice, carol, village) = (party.alice, party.carol, party.village)
        try alice.machine.library.write("Way/w.jpg", "www")
        try carol.machine.library.write("Mine/m.jpg", "mmm")
        try #require(try village.settle())
        let made = alice.request(
            .shareCreate(paths: [alice.path("Way")], title: "Way", publicPermission: "none", isSealed: true))
        try #require(alice.request(.invite(share: "Way", accounts: ["carol"], permission: "readWrite")).code == 0)
        try #require(carol.request(.accept(link: made.values["link"] ?? "")).code == 0)
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
        if isSaved { #expect(try sizes(knownTo: dan) == [3, 16]) }
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
        var (party, dan) = try twoShares()
        let (alice, carol) = (party.alice, party.carol)
        try alice.machine.library.write("Lake/p.jpg", "formerly")
        try #require(try party.village.settle())
        let second = try party.village.addDevice(of: alice, name: "alice2")
        try #require(try party.village.settle())
        let made = alice.request(
            .shareCreate(paths: [alice.path("Lake")], title: "Lake", publicPermission: "none", isSealed: true))
        try #require(alice.request(.invite(share: "Lake", accounts: ["carol"], permission: "readWrite")).code == 0)
        try #require(carol.request(.accept(link: made.values["link"] ?? "")).code == 0)
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
        #expect(try !sizes(knownTo: dan).contains(8))
    }

    @Test(arguments: 1...6 as ClosedRange<UInt64>)
    func `of a photo that goes to another share, back, and there again, each share is told what is said in it`(
        seed: UInt64
    ) throws {
        let (party, dan) = try twoShares(seed: seed)
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
        let (party, _) = try twoShares()
        let (alice, bob, carol, village) = (party.alice, party.bob, party.carol, party.village)
        try bob.machine.library.write("Bobs/x.jpg", "xxx")
        try #require(try village.settle())
        let made = bob.request(
            .shareCreate(paths: [bob.path("Bobs")], title: "Bobs", publicPermission: "none", isSealed: true))
        try #require(bob.request(.invite(share: "Bobs", accounts: ["carol"], permission: "readWrite")).code == 0)
        try #require(carol.request(.accept(link: made.values["link"] ?? "")).code == 0)
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
        let (party, dan) = try twoShares()
        let (alice, bob, carol, village) = (party.alice, party.bob, party.carol, party.village)
        try bob.machine.library.write("Bobs/x.jpg", "xxx of bob")
        try #require(try village.settle())
        let made = bob.request(
            .shareCreate(paths: [bob.path("Bobs")], title: "Bobs", publicPermission: "none", isSealed: true))
        try #require(bob.request(.invite(share: "Bobs", accounts: ["carol"], permission: "readWrite")).code == 0)
        try #require(carol.request(.accept(link: made.values["link"] ?? "")).code == 0)
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
        var (party, dan) = try twoShares(seed: seed)
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
        var (party, _) = try twoShares()
        let (alice, bob) = (party.alice, party.bob)
        let second = try party.village.addDevice(of: alice, name: "alice2")
        try bob.machine.shared.write("alice/Summer/a.jpg", "by bob", saving: .replacing)
        try #require(try party.village.settle())
        let share = "\(party.zone)"
        alice.machine.faults.setRule { operation in
            operation.part == "mount" && operation.path.contains(share) ? .fail(.inputOutput) : nil
        }
        try alice.machine.library.move("Summer/a.jpg", to: "Private/a.jpg")
        for _ in 0..<4 {
            _ = try? alice.round()
            party.village.world.clock.advance(milliseconds: 700)
        }
        for _ in 0..<90 {
            for replica in [second, bob] { try replica.round() }
            party.village.world.clock.advance(milliseconds: 700)
        }
        let shown = second.tree(.library)
        #expect(shown["Private/a.jpg"] == "by bob" && shown["Summer/a.jpg"] == nil, "\(shown)")
        #expect(bob.tree(.shared)["alice/Summer/a.jpg"] == nil, "\(bob.tree(.shared))")
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
