import ShoeboxLibrary
import ShoeboxModel
import ShoeboxPlanning
import ShoeboxStore
import ShoeboxTestSupport
import ShoeboxWorld
import Testing

@testable import Shoebox

/// What is said of a photo that goes from one share of somebody's to another one goes along, and nothing that was said of it before.
@Suite struct SaidBetweenSharesTests {
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
        let (party, dan) = try Party.twoShares()
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
        let (party, dan) = try Party.twoShares()
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

    @Test(arguments: [1, 2], [false, true])
    func `nor is it when the sidecar can't be read as the photo goes to a share, by itself or in its folder`(
        failures: Int, isFolder: Bool
    ) throws {
        let party = try Party(bob: "readWrite")
        let (alice, village, disk) = (party.alice, party.village, party.alice.machine.library)
        try #require(alice.request(.caption(path: alice.path("Private/c.jpg"), text: "for me")).code == 0)
        try #require(try village.settle())
        let before = String(decoding: try disk.read("Private/c.jpg.json"), as: UTF8.self)
        try disk.write("Private/c.jpg.json", before.replacing("for me", with: "for all"))
        let place = isFolder ? "Summer/Private/c.jpg" : "Summer/c.jpg"
        let count = Mutex(0)
        alice.machine.faults.setRule { operation in
            guard operation.name == "open", operation.path.hasSuffix(place + ".json") else { return nil }
            return count.withLock { count in
                count += 1
                return count <= failures ? .fail(.inputOutput) : nil
            }
        }
        if isFolder {
            try disk.move("Private", to: "Summer/Private")
        } else {
            try disk.move("Private/c.jpg.json", to: place + ".json")
            try disk.move("Private/c.jpg", to: place)
        }
        for _ in 0..<10 {
            village.world.clock.advance(milliseconds: 5_000)
            try alice.round(.directories([.library: disk.takeDirty()]))
        }
        try #require(count.withLock { $0 } > failures)
        try #require(try village.settle())
        #expect(party.bob.tree(.shared)["alice/" + place] == "ccc")
        #expect(party.bob.sidecar("alice/" + place, .shared)?.fields.caption == "for all")
        for stored in try party.bob.store.read({ db in try db.history(after: 0, limit: .max) }) {
            guard case .set(let fields) = stored.change.action else { continue }
            #expect(!fields.values.contains { $0.text == "for me" }, "\(stored.change)")
        }
    }

    /// Who moves the photo alone leaves its sidecar to Shoebox.
    @Test(arguments: [false, true])
    func `nor is it when the sidecar was edited and stays behind as the photo goes to a share`(isRenamed: Bool) throws {
        let party = try Party(bob: "readWrite")
        let (alice, village, disk) = (party.alice, party.village, party.alice.machine.library)
        let photo = alice.path("Private/c.jpg")
        try #require(alice.request(.caption(path: photo, text: "for me")).code == 0)
        try #require(alice.request(.tag(path: photo, titles: ["secret"], isMember: true)).code == 0)
        try #require(try village.settle())
        let before = try disk.text("Private/c.jpg.json")
        try disk.write(
            "Private/c.jpg.json", before.replacing("for me", with: "for all").replacing("\"secret\"", with: "\"Lake\""))
        let place = isRenamed ? "Summer/deep/new.jpg" : "Summer/c.jpg"
        try disk.move("Private/c.jpg", to: place)
        try #require(try village.settle())
        let fields = party.bob.sidecar("alice/" + place, .shared)?.fields
        #expect(fields?.caption == "for all" && fields?.tags == ["Lake"], "\(fields as Any)")
        #expect(alice.sidecar(place, .library)?.fields == fields)
        for stored in try party.bob.store.read({ db in try db.history(after: 0, limit: .max) }) {
            guard case .set(let fields) = stored.change.action else { continue }
            #expect(!fields.values.contains { ["for me", "secret"].contains($0.text ?? "") }, "\(stored.change)")
        }
    }

    @Test func `a sidecar that can't be read for good keeps nothing away from a share`() throws {
        let party = try Party(bob: "readWrite")
        let (alice, village, disk) = (party.alice, party.village, party.alice.machine.library)
        for number in 0..<5 { try disk.write("Album/\(number).jpg", "photo \(number)") }
        try #require(try village.settle())
        alice.machine.faults.setRule { operation in
            operation.name == "open" && operation.path.hasSuffix(".jpg.json") ? .fail(.inputOutput) : nil
        }
        for number in 0..<5 { try disk.write("Album/\(number).jpg.json", #"{"format": "shoebox.sidecar/1"}"#) }
        try disk.move("Album", to: "Summer/Album")
        try disk.write("Private/d.jpg", "ddd")
        for _ in 0..<10 {
            village.world.clock.advance(milliseconds: 5_000)
            try alice.round(.directories([.library: disk.takeDirty()]))
        }
        _ = try village.settle()
        for number in 0..<5 {
            #expect(party.bob.tree(.shared)["alice/Summer/Album/\(number).jpg"] == "photo \(number)")
        }
        #expect(Set(alice.problems.map(\.code)) == ["unreadable"])
        alice.machine.faults.clear()
        try #require(try village.settle())
        #expect(alice.problems.isEmpty, "\(alice.problems)")
    }

    @Test(arguments: [false, true], [false, true])
    func `nor is it when the photo lay in the library for a moment, and was given other words there`(
        isAtOnce: Bool, isCopied: Bool
    ) throws {
        let (party, dan) = try Party.twoShares()
        let (alice, bob, carol, village) = (party.alice, party.bob, party.carol, party.village)
        let (shared, own) = (carol.machine.shared, carol.machine.library)
        let photo = carol.path("alice/Summer/deep/b.jpg", .shared)
        try #require(carol.request(.caption(path: photo, text: "for bob")).code == 0)
        try #require(carol.request(.tag(path: photo, titles: ["Lake", "bobs"], isMember: true)).code == 0)
        try #require(try village.settle())
        func move(_ source: String, _ from: SimulatedDisk, _ target: String, _ to: SimulatedDisk) throws {
            for suffix in ["", ".json"] {
                if isCopied {
                    try to.write(target + suffix, String(decoding: try from.read(source + suffix), as: UTF8.self))
                    try from.delete(source + suffix)
                } else {
                    try from.move(source + suffix, to: target + suffix, on: to)
                }
            }
        }
        try move("alice/Summer/deep/b.jpg", shared, "b.jpg", own)
        try party.rounds(of: carol, 4)
        let former = try #require(carol.sidecar("b.jpg", .library)?.fields)
        try #require(former.caption == "for bob" && Set(former.tags ?? []) == ["Lake", "bobs"], "\(former)")
        let document = String(decoding: try own.read("b.jpg.json"), as: UTF8.self)
        let changed = document.replacing("for bob", with: "for dan").replacing("\"bobs\"", with: "\"dans\"")
        try own.write("b.jpg.json", changed)
        if !isAtOnce { try party.rounds(of: carol, 2) }
        try #require(carol.tree(.shared)["alice/Summer/deep/b.jpg"] == nil && bob.tree(.shared).values.contains("bbb"))
        try move("b.jpg", own, "alice/Other/b.jpg", shared)
        try party.rounds(of: carol, 4)
        try #require(try village.settle())
        for (replica, folder, root) in [(alice, "", RootKind.library), (dan, "alice/", .shared)] {
            let fields = try #require(replica.sidecar(folder + "Other/b.jpg", root)?.fields, "\(replica.label)")
            #expect(fields.caption == "for dan" && Set(fields.tags ?? []) == ["Lake", "dans"], "\(fields)")
        }
        for (replica, secrets) in [(bob, ["for dan", "dans"]), (dan, ["for bob", "bobs"])] {
            for stored in try replica.store.read({ db in try db.history(after: 0, limit: .max) }) {
                guard case .set(let fields) = stored.change.action else { continue }
                #expect(!fields.values.contains { secrets.contains($0.text ?? "") }, "\(replica.label): \(fields)")
            }
        }
    }

    @Test func `nor is it when a photo of one's own lay in a share of somebody's before it goes into one of one's own`()
        throws
    {
        let (party, dan) = try Party.twoShares()
        let (carol, village) = (party.carol, party.village)
        let (shared, own) = (carol.machine.shared, carol.machine.library)
        for path in ["Own/o.jpg", "Mine/n.jpg"] { try own.write(path, path) }
        try #require(try village.settle())
        try #require(carol.request(.caption(path: carol.path("Mine/n.jpg"), text: "for me")).code == 0)
        let made = carol.request(
            .shareCreate(paths: [carol.path("Own")], title: "Own", publicPermission: "none", isSealed: true))
        try #require(carol.request(.invite(share: "Own", accounts: ["dan"], permission: "readWrite")).code == 0)
        try #require(dan.request(.accept(link: made.values["link"] ?? "")).code == 0)
        try #require(try village.settle())
        for suffix in ["", ".json"] {
            try own.move("Mine/n.jpg" + suffix, to: "alice/Summer/n.jpg" + suffix, on: shared)
        }
        try party.rounds(of: carol, 1)
        let document = String(decoding: try shared.read("alice/Summer/n.jpg.json"), as: UTF8.self)
        try #require(document.contains("for me"))
        try shared.write("alice/Summer/n.jpg.json", document.replacing("for me", with: "for all"))
        try party.rounds(of: carol, 1)
        for suffix in ["", ".json"] {
            try shared.move("alice/Summer/n.jpg" + suffix, to: "Own/n.jpg" + suffix, on: own)
        }
        try party.rounds(of: carol, 4)
        try #require(try village.settle())
        #expect(dan.sidecar("carol/Own/n.jpg", .shared)?.fields.caption == "for all", "\(dan.tree(.shared))")
        for stored in try dan.store.read({ db in try db.history(after: 0, limit: .max) }) {
            guard case .set(let fields) = stored.change.action else { continue }
            #expect(!fields.values.contains { $0.text == "for me" }, "\(stored.change)")
        }
    }

    @Test(arguments: [false, true])
    func `nor is it of a photo that is renamed in an album which goes to another share, and changed there`(
        isOverLibrary: Bool
    ) throws {
        let (party, dan) = try Party.twoShares()
        let (carol, village) = (party.carol, party.village)
        let (shared, own) = (carol.machine.shared, carol.machine.library)
        let photo = carol.path("alice/Summer/deep/b.jpg", .shared)
        try #require(carol.request(.caption(path: photo, text: "for bob")).code == 0)
        try #require(carol.request(.tag(path: photo, titles: ["Lake", "bobs"], isMember: true)).code == 0)
        try #require(try village.settle())
        var (disk, place) = (shared, "alice/Summer/deep")
        if isOverLibrary {
            for suffix in ["", ".json"] {
                try shared.move(place + "/b.jpg" + suffix, to: "deep/b.jpg" + suffix, on: own)
            }
            (disk, place) = (own, "deep")
            try party.rounds(of: carol, 4)
            try #require(carol.sidecar("deep/b.jpg", .library)?.fields.caption == "for bob")
        }
        for suffix in ["", ".json"] { try disk.move(place + "/b.jpg" + suffix, to: place + "/c.jpg" + suffix) }
        let document = String(decoding: try disk.read(place + "/c.jpg.json"), as: UTF8.self)
        let changed = document.replacing("for bob", with: "for dan").replacing("\"bobs\"", with: "\"dans\"")
        try disk.write(place + "/c.jpg.json", changed)
        if isOverLibrary {
            try party.rounds(of: carol, 2)
            for suffix in ["", ".json"] {
                try own.move("deep/c.jpg" + suffix, to: "alice/Other/deep/c.jpg" + suffix, on: shared)
            }
        } else {
            try shared.move(place, to: "alice/Other/deep")
        }
        try party.rounds(of: carol, 4)
        try #require(try village.settle())
        let fields = try #require(dan.sidecar("alice/Other/deep/c.jpg", .shared)?.fields, "\(dan.tree(.shared))")
        #expect(fields.caption == "for dan" && Set(fields.tags ?? []) == ["Lake", "dans"], "\(fields)")
        for stored in try dan.store.read({ db in try db.history(after: 0, limit: .max) }) {
            guard case .set(let fields) = stored.change.action else { continue }
            #expect(!fields.values.contains { ["for bob", "bobs"].contains($0.text ?? "") }, "\(stored.change)")
        }
    }

    @Test func `what is said of a photo that has come back from the library goes along to another share`() throws {
        let (party, dan) = try Party.twoShares()
        let (carol, village) = (party.carol, party.village)
        let (shared, own) = (carol.machine.shared, carol.machine.library)
        try #require(
            carol.request(.caption(path: carol.path("alice/Summer/deep/b.jpg", .shared), text: "old")).code == 0)
        try #require(try village.settle())
        for suffix in ["", ".json"] {
            try shared.move("alice/Summer/deep/b.jpg" + suffix, to: "b.jpg" + suffix, on: own)
        }
        try party.rounds(of: carol, 4)
        for suffix in ["", ".json"] {
            try own.move("b.jpg" + suffix, to: "alice/Summer/deep/b.jpg" + suffix, on: shared)
        }
        try party.rounds(of: carol, 4)
        try #require(
            carol.request(.caption(path: carol.path("alice/Summer/deep/b.jpg", .shared), text: "new")).code == 0)
        try party.rounds(of: carol, 2)
        try shared.move("alice/Summer/deep/b.jpg", to: "alice/Other/b.jpg")
        try party.rounds(of: carol, 4)
        try #require(try village.settle())
        #expect(dan.sidecar("alice/Other/b.jpg", .shared)?.fields.caption == "new", "\(dan.tree(.shared))")
    }

    @Test(arguments: [false, true])
    func `what is said of a photo goes along when it is carried over the library by itself`(
        isSidecarLate: Bool
    ) throws {
        let (party, dan) = try Party.twoShares()
        let (carol, village) = (party.carol, party.village)
        let (shared, own) = (carol.machine.shared, carol.machine.library)
        let photo = carol.path("alice/Summer/deep/b.jpg", .shared)
        try #require(carol.request(.caption(path: photo, text: "said")).code == 0)
        try #require(carol.request(.tag(path: photo, titles: ["Lake"], isMember: true)).code == 0)
        try #require(try village.settle())
        try shared.move("alice/Summer/deep/b.jpg", to: "b.jpg", on: own)
        try party.rounds(of: carol, 4)
        try #require(carol.tree(.library)["b.jpg"] == "bbb")
        if isSidecarLate {
            try shared.move("alice/Summer/deep/b.jpg.json", to: "alice/Other/b.jpg.json")
        }
        try own.move("b.jpg", to: "alice/Other/b.jpg", on: shared)
        try party.rounds(of: carol, 4)
        try #require(try village.settle())
        let fields = try #require(dan.sidecar("alice/Other/b.jpg", .shared)?.fields, "\(dan.tree(.shared))")
        #expect(fields.caption == "said" && fields.tags == ["Lake"], "\(fields)")
    }
}
