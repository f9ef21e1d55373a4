import Shoebox
import ShoeboxLibrary
import ShoeboxModel
import ShoeboxPlanning
import ShoeboxStore
import ShoeboxTestSupport
import ShoeboxWorld
import Testing

/// What others deleted or replaced, and how it comes back or goes for good.
@Suite struct TrashTests {
    private static let day: UInt64 = 86_400_000

    private func trash(_ replica: Replica, _ root: RootKind) -> [String] {
        let disk = root == .library ? replica.machine.library : replica.machine.shared
        return disk.tree().filter { $0.key.contains(".shoebox/trash/") && !$0.key.hasSuffix(".json") }
            .map { String(decoding: $0.value, as: UTF8.self) }.sorted()
    }

    @Test func `what a participant deleted comes back for everybody, with its tags`() throws {
        let party = try Party(bob: "readWrite")
        #expect(
            party.alice.request(
                .tag(path: party.alice.path("Summer/deep/b.jpg"), titles: ["Beach"], isMember: true)
            ).code == 0)
        #expect(party.alice.request(.caption(path: party.alice.path("Summer/deep/b.jpg"), text: "The lake")).code == 0)
        try #require(try party.village.settle())
        try party.bob.machine.shared.delete("alice/Summer/deep")
        try party.village.pass(4)
        party.village.world.clock.advance(milliseconds: 40_000)
        try party.village.pass(6)
        party.expectShown(["a.jpg": "aaa"])
        #expect(trash(party.alice, .library) == ["bbb"])
        let assets = party.village.assetNames
        // By the folder's name, and by everything there is.
        let reply = party.alice.request(.restoreTrash(paths: [party.alice.path("Summer/deep")]))
        #expect(reply.code == 0, "\(reply)")
        try #require(try party.village.settle())
        party.expectShown()
        #expect(party.bob.tree(.shared) == ["alice/Summer/a.jpg": "aaa", "alice/Summer/deep/b.jpg": "bbb"])
        for (replica, path, root) in [
            (party.alice, "Summer/deep/b.jpg", RootKind.library), (party.bob, "alice/Summer/deep/b.jpg", .shared),
        ] {
            #expect(replica.sidecar(path, root)?.fields.tags == ["Beach"], "\(replica.label)")
            #expect(replica.sidecar(path, root)?.fields.caption == "The lake", "\(replica.label)")
        }
        #expect(trash(party.alice, .library).isEmpty)
        #expect(party.village.assetNames == assets, "nothing was uploaded again")
        #expect(party.alice.request(.restoreTrash(paths: [])).code == ExitCode.notFound)
    }

    @Test func `what a contributor added comes back from the trash as what it was, with what others said of it`() throws
    {
        let party = try Party(bob: "contribute")
        let (bob, carol) = (party.bob, party.carol)
        try bob.machine.shared.write("alice/Summer/his.jpg", "his")
        try #require(try party.village.settle())
        let path = carol.path("alice/Summer/his.jpg", .shared)
        #expect(carol.request(.rate(path: path, value: 5)).code == 0)
        #expect(carol.request(.caption(path: path, text: "by carol")).code == 0)
        try #require(try party.village.settle())
        try carol.machine.shared.delete("alice/Summer/his.jpg")
        try #require(try party.village.settleDeletions())
        party.expectShown()
        let reply = bob.request(.restoreTrash(paths: [bob.path("alice/Summer/his.jpg", .shared)]))
        #expect(reply.code == 0, "\(reply)")
        try #require(try party.village.settle())
        party.expectShown(Party.content.merging(["his.jpg": "his"]) { $1 })
        let fields = carol.sidecar("alice/Summer/his.jpg", .shared)?.fields
        #expect(fields?.rating == 5 && fields?.caption == "by carol", "\(String(describing: fields))")
    }

    /// Its user deleted the photo and not the sidecar, which went to the trash after it.
    @Test(arguments: [false, true])
    func `a sidecar that its photo left behind is not put beside another photo of that name`(isNamed: Bool) throws {
        let party = try Party(bob: "readWrite")
        let (alice, disk) = (party.alice, party.alice.machine.library)
        #expect(alice.request(.caption(path: alice.path("Summer/deep/b.jpg"), text: "secret")).code == 0)
        try #require(try party.village.settle())
        try disk.delete("Summer/deep/b.jpg")
        for _ in 0..<4 { _ = try party.village.settleDeletions() }
        try party.bob.machine.shared.write("alice/Summer/deep/b.jpg", "another photo")
        try #require(try party.village.settle())
        let path = isNamed ? "Summer/deep" : "Summer"
        _ = alice.request(.restoreTrash(paths: [alice.path(path)]))
        #expect(try party.village.settle())
        for (replica, root, path) in [
            (alice, RootKind.library, "Summer/deep/b.jpg"), (party.bob, .shared, "alice/Summer/deep/b.jpg"),
        ] {
            #expect(replica.tree(root)[path] == "another photo")
            #expect(replica.sidecar(path, root)?.fields.caption == nil, "\(replica.label)")
        }
    }

    @Test(arguments: [false, true])
    func `a photo that was renamed or moved before it was deleted comes back where it was last, with its words`(
        isMoved: Bool
    ) throws {
        let (village, alice, second) = try Village.twoDevices(["Trip/a.jpg": "one", "Trip/c.jpg": "three"])
        _ = alice.request(.caption(path: alice.path("Trip/a.jpg"), text: "sea"))
        try #require(try village.settle())
        let new = isMoved ? "Other/a.jpg" : "Trip/b.jpg"
        if isMoved { try second.machine.library.makeDirectories(try #require(RelativePath("Other"))) }
        try second.machine.library.move("Trip/a.jpg", to: new)
        try second.machine.library.move("Trip/a.jpg.json", to: new + ".json")
        for _ in 0..<4 {
            try second.round()
            village.world.clock.advance(milliseconds: 20_000)
        }
        try second.machine.library.delete(new)
        for _ in 0..<4 {
            try second.round()
            village.world.clock.advance(milliseconds: 20_000)
        }
        for _ in 0..<4 { _ = try village.settleDeletions() }
        try #require(alice.tree(.library)["Trip/a.jpg"] == nil)
        #expect(alice.request(.restoreTrash(paths: [alice.path("Trip")])).code == 0)
        #expect(try village.settle())
        for replica in [alice, second] {
            let found = replica.tree(.library, sidecars: true)
            #expect(found[new] == "one", "\(found)")
            #expect(found["Trip/a.jpg.json"] == nil, "\(found)")
            #expect(replica.sidecar(new, .library)?.fields.caption == "sea")
        }
    }

    @Test(arguments: [false, true])
    func `what was said of a deleted photo is not put beside another one that has its name`(isNamed: Bool) throws {
        let party = try Party(bob: "readWrite")
        let (alice, disk) = (party.alice, party.alice.machine.library)
        let path = alice.path("Summer/deep/b.jpg")
        #expect(alice.request(.caption(path: path, text: "The lake")).code == 0)
        try #require(try party.village.settle())
        try party.bob.machine.shared.delete("alice/Summer/deep")
        for _ in 0..<4 { _ = try party.village.settleDeletions() }
        try disk.write("Summer/deep/b.jpg", "another")
        try #require(try party.village.settle())
        let reply = alice.request(.restoreTrash(paths: isNamed ? [path] : []))
        #expect(reply.code == ExitCode.failed, "\(reply)")
        try #require(try party.village.settle())
        for (replica, path, root) in [
            (alice, "Summer/deep/b.jpg", RootKind.library), (party.bob, "alice/Summer/deep/b.jpg", .shared),
        ] {
            #expect(replica.sidecar(path, root)?.fields.caption == nil, "\(replica.label)")
        }
        // Out of the way, and it is back with its own words.
        try disk.move("Summer/deep/b.jpg", to: "Summer/deep/new.jpg")
        try #require(try party.village.settle())
        #expect(alice.request(.restoreTrash(paths: isNamed ? [path] : [])).code == 0)
        try #require(try party.village.settle())
        #expect(alice.sidecar("Summer/deep/b.jpg", .library)?.fields.caption == "The lake")
        #expect(alice.sidecar("Summer/deep/new.jpg", .library)?.fields.caption == nil)
        #expect(!disk.tree().keys.contains { $0.contains(".shoebox/trash/") }, "\(disk.tree().keys)")
        // What is there by now is not taken for what it was.
        #expect(alice.request(.restoreTrash(paths: [])).code == ExitCode.notFound)
    }

    @Test func `of two photos that had one name, the later comes back without what was said of the other`() throws {
        let party = try Party(bob: "readWrite")
        let alice = party.alice
        let path = alice.path("Summer/deep/b.jpg")
        #expect(alice.request(.caption(path: path, text: "The lake")).code == 0)
        try #require(try party.village.settle())
        try party.bob.machine.shared.delete("alice/Summer/deep")
        for _ in 0..<4 { _ = try party.village.settleDeletions() }
        try alice.machine.library.write("Summer/deep/b.jpg", "another")
        try #require(try party.village.settle())
        try party.bob.machine.shared.delete("alice/Summer/deep")
        for _ in 0..<4 { _ = try party.village.settleDeletions() }
        _ = alice.request(.restoreTrash(paths: [alice.path("Summer/deep")]))
        try #require(try party.village.settle())
        #expect(alice.tree(.library)["Summer/deep/b.jpg"] == "another")
        #expect(alice.sidecar("Summer/deep/b.jpg", .library)?.fields.caption == nil)
        #expect(party.bob.sidecar("alice/Summer/deep/b.jpg", .shared)?.fields.caption == nil)
    }

    @Test func `what can't be looked at in the trash is said, and comes back when it is asked for again`() throws {
        let party = try Party(bob: "readWrite")
        try party.bob.machine.shared.delete("alice/Summer/deep")
        try party.village.pass(4)
        party.village.world.clock.advance(milliseconds: 40_000)
        try party.village.pass(6)
        party.alice.machine.faults.setRule { operation in
            operation.name == "open" && operation.path.contains("/trash/") && operation.path.hasSuffix(".json")
                ? .fail(.inputOutput) : nil
        }
        let refused = party.alice.request(.restoreTrash(paths: [party.alice.path("Summer/deep")]))
        #expect(refused.code == ExitCode.failed && refused.lines.contains { $0.contains("can't be read now") })
        party.alice.machine.faults.setRule(nil)
        #expect(party.alice.request(.restoreTrash(paths: [party.alice.path("Summer/deep")])).code == 0)
        try #require(try party.village.settle())
        party.expectShown()
    }

    @Test func `what can't be read in the trash for a moment stays there, and comes back as what it was`() throws {
        let party = try Party(bob: "readWrite")
        let (alice, photo) = (party.alice, party.alice.path("Summer/deep/b.jpg"))
        try #require(alice.request(.caption(path: photo, text: "The lake")).code == 0)
        try #require(try party.village.settle())
        try party.bob.machine.shared.delete("alice/Summer/deep")
        try party.village.pass(4)
        party.village.world.clock.advance(milliseconds: 40_000)
        try party.village.pass(6)
        try #require(trash(alice, .library) == ["bbb"])
        alice.machine.faults.setRule { operation in
            operation.name == "open" && operation.path.contains("/trash/") && !operation.path.hasSuffix(".json")
                ? .fail(.inputOutput) : nil
        }
        let refused = alice.request(.restoreTrash(paths: [photo]))
        alice.machine.faults.setRule { _ in nil }
        #expect(refused.code == ExitCode.failed && refused.lines.joined().contains("can't be read now"), "\(refused)")
        #expect(trash(alice, .library) == ["bbb"])
        #expect(alice.request(.restoreTrash(paths: [photo])).code == 0)
        try #require(try party.village.settle())
        party.expectShown()
        #expect(party.bob.sidecar("alice/Summer/deep/b.jpg", .shared)?.fields.caption == "The lake")
    }

    @Test func `a mass deletion by another device comes back whole`() throws {
        var village = try Village(labels: ["alice"])
        let alice = village.replicas[0]
        let laptop = try village.addDevice(of: alice, name: "laptop")
        for number in 0..<20 { try alice.machine.library.write("Album/\(number).jpg", "photo \(number)") }
        try #require(try village.settle())
        for number in 0..<20 {
            let path = alice.path("Album/\(number).jpg")
            #expect(alice.request(.tag(path: path, titles: ["t\(number % 3)"], isMember: true)).code == 0)
        }
        try #require(try village.settle())
        let before = laptop.tree(.library, sidecars: true)
        try laptop.machine.library.delete("Album")
        try #require(try village.settle())
        #expect(alice.tree(.library).isEmpty)
        let reply = alice.request(.restoreTrash(paths: []))
        #expect(reply.code == 0 && reply.values["restored"] == "20", "\(reply)")
        try #require(try village.settle())
        for replica in [alice, laptop] {
            #expect(replica.tree(.library).count == 20)
            for number in 0..<20 {
                #expect(replica.sidecar("Album/\(number).jpg", .library)?.fields.tags == ["t\(number % 3)"])
            }
        }
        #expect(before.count == laptop.tree(.library, sidecars: true).count)
    }

    @Test func `what is taken stays in the trash, and is said`() throws {
        let party = try Party(bob: "readWrite")
        try party.bob.machine.shared.write("alice/Summer/a.jpg", "edited by bob")
        try #require(try party.village.settle())
        #expect(trash(party.alice, .library) == ["aaa"])
        let reply = party.alice.request(.restoreTrash(paths: [party.alice.path("Summer/a.jpg")]))
        #expect(reply.code == ExitCode.failed && reply.remedy?.isEmpty == false, "\(reply)")
        #expect(trash(party.alice, .library) == ["aaa"])
        party.expectShown(["a.jpg": "edited by bob", "deep/b.jpg": "bbb"])
    }

    @Test func `a sidecar whose photo is elsewhere stays in the trash, unless it is asked for by its name`() throws {
        let party = try Party(bob: "readOnly")
        let (alice, bob) = (party.alice, party.bob)
        #expect(alice.request(.caption(path: alice.path("Summer/a.jpg"), text: "The lake")).code == 0)
        try #require(try party.village.settle())
        let own = #"{"format": "shoebox.sidecar/1", "caption": "The sea"}"#
        try bob.machine.shared.write("alice/Summer/a.jpg.json", own)
        try #require(try party.village.settle())
        try alice.machine.library.move("Summer/a.jpg", to: "Summer/z.jpg")
        try #require(try party.village.settle())
        let refused = bob.request(.restoreTrash(paths: [bob.path("alice/Summer", .shared)]))
        #expect(
            refused.code == ExitCode.failed && refused.lines.joined().contains("its photo is not there"), "\(refused)")
        #expect(bob.machine.shared.tree()["alice/Summer/a.jpg.json"] == nil)
        #expect(bob.request(.restoreTrash(paths: [bob.path("alice/Summer/a.jpg.json", .shared)])).code == 0)
        #expect(bob.machine.shared.tree()["alice/Summer/a.jpg.json"] == Array(own.utf8))
    }

    @Test func `trash goes after its days, and not because a clock was wrong for an hour`() throws {
        let party = try Party(bob: "readWrite")
        try party.bob.machine.shared.write("alice/Summer/a.jpg", "edited by bob")
        try #require(try party.village.settle())
        func later(days: UInt64) throws {
            party.village.world.clock.advance(milliseconds: days * Self.day)
            try party.village.pass(2)
        }
        try later(days: 29)
        #expect(trash(party.alice, .library) == ["aaa"])
        let wrong = party.alice.machine.clock
        wrong.step(milliseconds: Int64(365 * Self.day))
        party.village.world.clock.advance(milliseconds: 2 * 3_600_000)
        try party.village.pass(2)
        #expect(trash(party.alice, .library) == ["aaa"])
        wrong.step(milliseconds: -Int64(365 * Self.day))
        party.village.world.clock.advance(milliseconds: 2 * 3_600_000)
        try party.village.pass(2)
        #expect(trash(party.alice, .library) == ["aaa"])
        try later(days: 3)
        try later(days: 1)
        #expect(trash(party.alice, .library).isEmpty)
        party.expectShown(["a.jpg": "edited by bob", "deep/b.jpg": "bbb"])
    }

    @Test func `what is due in the trash takes nothing with it that only a wrong clock says is due`() throws {
        let party = try Party(bob: "readWrite")
        let clock = party.village.world.clock
        try party.bob.machine.shared.write("alice/Summer/a.jpg", "edited by bob")
        try #require(try party.village.settle())
        clock.advance(milliseconds: 29 * Self.day)
        try party.bob.machine.shared.write("alice/Summer/a.jpg", "edited again")
        try #require(try party.village.settle())
        clock.advance(milliseconds: 3 * Self.day)
        try party.village.pass(2)
        #expect(trash(party.alice, .library) == ["aaa", "edited by bob"])
        party.alice.machine.clock.step(milliseconds: Int64(365 * Self.day))
        clock.advance(milliseconds: Self.day)
        try party.village.pass(2)
        #expect(trash(party.alice, .library) == ["edited by bob"])
    }

    @Test(arguments: [false, true])
    func `trash of a clock that was years behind stays when that is set right in steps`(restarts: Bool) throws {
        let party = try Party(bob: "readWrite")
        let (alice, world) = (party.alice, party.village.world)
        alice.machine.clock.step(milliseconds: -Int64(40 * 365 * Self.day))
        try party.bob.machine.shared.write("alice/Summer/a.jpg", "edited by bob")
        try #require(try party.village.settle())
        #expect(trash(alice, .library) == ["aaa"])
        for _ in 0..<4 {
            alice.machine.clock.step(milliseconds: Int64(10 * 365 * Self.day))
            world.clock.advance(milliseconds: 2 * 3_600_000)
            if restarts { try alice.restart() }
            try party.village.pass(2)
        }
        #expect(trash(alice, .library) == ["aaa"])
    }

    @Test(arguments: [false, true])
    func `what went to the trash before a late clock was set is kept for as long as anything else`(isLimited: Bool)
        throws
    {
        let party = try Party(bob: "readWrite")
        let (alice, world) = (party.alice, party.village.world)
        if isLimited { alice.engine.settings.trashBytesMax = 16 }
        try party.bob.machine.shared.write("alice/Summer/deep/b.jpg", "older")
        try #require(try party.village.settle())
        alice.machine.clock.step(milliseconds: -Int64(40 * Self.day))
        try party.bob.machine.shared.write("alice/Summer/a.jpg", "edited by bob")
        try #require(try party.village.settle())
        #expect(trash(alice, .library) == ["aaa", "bbb"])
        alice.machine.clock.step(milliseconds: Int64(40 * Self.day))
        if isLimited {
            try party.bob.machine.shared.write("alice/Summer/a.jpg", "and again")
            try #require(try party.village.settle())
        }
        func wait(days: Int) throws {
            for _ in 0..<days * 6 {
                world.clock.advance(milliseconds: 4 * 3_600_000)
                try party.village.pass(1)
            }
        }
        try wait(days: 3)
        #expect(trash(alice, .library) == (isLimited ? ["aaa", "edited by bob"] : ["aaa", "bbb"]))
        guard !isLimited else { return }
        try wait(days: 26)
        #expect(trash(alice, .library).contains("aaa"))
        try wait(days: 6)
        #expect(trash(alice, .library).isEmpty)
    }

    /// Each day for three quarters of an hour.
    @Test func `the trash of a machine that is switched off each day is emptied, too`() throws {
        let party = try Party(bob: "readWrite")
        let (alice, world) = (party.alice, party.village.world)
        try party.bob.machine.shared.write("alice/Summer/a.jpg", "edited by bob")
        try #require(try party.village.settle())
        #expect(trash(alice, .library) == ["aaa"])
        for day in 0..<70 {
            alice.machine.powerCut(.losingNothing)
            try alice.restart()
            try party.village.pass(1)
            world.clock.advance(milliseconds: 60_000)
            try party.village.pass(1)
            if day < 30 { #expect(trash(alice, .library) == ["aaa"]) }
            world.clock.advance(milliseconds: Self.day - 60_000)
        }
        #expect(trash(alice, .library).isEmpty)
    }

    @Test func `of too much in the trash the oldest goes`() throws {
        let party = try Party(bob: "readWrite")
        party.alice.engine.settings.trashBytesMax = 8
        for text in ["one.", "two.", "three."] {
            try party.bob.machine.shared.write("alice/Summer/a.jpg", text)
            try #require(try party.village.settle())
        }
        #expect(trash(party.alice, .library) == ["aaa", "one.", "two."])
        party.village.world.clock.advance(milliseconds: 3_700_000)
        try party.village.pass(2)
        #expect(trash(party.alice, .library) == ["one.", "two."])
    }
}
