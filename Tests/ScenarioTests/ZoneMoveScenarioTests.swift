import ShoeboxCloud
import ShoeboxLibrary
import ShoeboxModel
import ShoeboxPlanning
import ShoeboxStore
import ShoeboxTestSupport
import Testing

@testable import Shoebox

/// What one device of an owner does to a photo while another one moves it to another zone: by sharing it or the folder it
/// is in, adding it to a share, taking it out, or stopping the share.
@Suite struct ZoneMoveScenarioTests {
    /// Alice with two devices, and Bob; `Trip` has two photos.
    private func village() throws -> (Village, alice: Replica, second: Replica, bob: Replica) {
        let (village, alice, second) = try Village.twoDevices(
            ["Trip/a.jpg": "aaa", "Trip/b.jpg": "bbb", "Home/c.jpg": "ccc"], others: ["bob"])
        return (village, alice, second, village.replicas[1])
    }

    /// Shares some paths with Bob, who accepts; the second device hears nothing of it.
    private func share(_ paths: [String], _ village: Village, _ alice: Replica, _ bob: Replica) throws {
        let made = alice.request(
            .shareCreate(
                paths: paths.map { alice.path($0) }, title: "Trip", publicPermission: "none", isSealed: true))
        try #require(made.code == 0, "\(made)")
        try #require(alice.request(.invite(share: "Trip", accounts: ["bob"], permission: "readWrite")).code == 0)
        try #require(bob.request(.accept(link: made.values["link"] ?? "")).code == 0)
        try settle(village, [alice, bob])
    }

    /// Rounds of some replicas only.
    private func settle(_ village: Village, _ replicas: [Replica]) throws {
        for _ in 0..<12 {
            for replica in replicas { try replica.round() }
            village.world.clock.advance(milliseconds: 700)
        }
    }

    /// Everybody's rounds; the devices of the owner show the same in the end, and nobody has a problem.
    private func finish(_ village: Village, _ alice: Replica, _ second: Replica) throws {
        for _ in 0..<50 { try village.settle(rounds: 1) }
        try #require(try village.settle())
        #expect(treeDifference(second.files(.library), alice.files(.library)) == [])
        for replica in village.replicas {
            #expect(replica.problems.isEmpty, "\(replica.machine.name) \(replica.problems)")
        }
    }

    /// Edits of bytes and fields of a photo on a device that is away.
    private func edit(_ path: String, _ replica: Replica) throws {
        try replica.machine.library.write(path, "edited")
        #expect(replica.request(.caption(path: replica.path(path), text: "late")).code == 0)
        #expect(replica.request(.tag(path: replica.path(path), titles: ["Sea"], isMember: true)).code == 0)
        #expect(replica.request(.rate(path: replica.path(path), value: 4)).code == 0)
    }

    private func expectEdited(_ path: String, _ replica: Replica, _ root: RootKind = .library) {
        #expect(replica.tree(root)[path] == "edited", "\(replica.machine.name) \(replica.tree(root))")
        let sidecar = replica.sidecar(path, root)?.fields
        #expect(
            sidecar?.caption == "late" && sidecar?.tags == ["Sea"],
            "\(replica.machine.name) \(String(describing: sidecar))")
        if replica.label == "alice" { #expect(sidecar?.rating == 4, "\(replica.machine.name)") }
    }

    @Test(arguments: [["Trip"], ["Trip/a.jpg"], ["Trip/a.jpg", "Home/c.jpg"]])
    func `edits of a photo that was shared meanwhile end in the share`(paths: [String]) throws {
        let (village, alice, second, bob) = try village()
        try edit("Trip/a.jpg", second)
        try share(paths, village, alice, bob)
        try finish(village, alice, second)
        for replica in [alice, second] {
            #expect(replica.tree(.library).count == 3)
            expectEdited("Trip/a.jpg", replica)
        }
        expectEdited("alice/Trip/a.jpg", bob, .shared)
    }

    @Test func `edits of a photo that was added to a share meanwhile end in the share`() throws {
        let (village, alice, second, bob) = try village()
        try share(["Home/c.jpg"], village, alice, bob)
        try edit("Trip/a.jpg", second)
        try #require(alice.request(.shareAdd(share: "Trip", paths: [alice.path("Trip/a.jpg")])).code == 0)
        try settle(village, [alice, bob])
        try finish(village, alice, second)
        for replica in [alice, second] { expectEdited("Trip/a.jpg", replica) }
        expectEdited("alice/Trip/a.jpg", bob, .shared)
    }

    @Test func `edits of a photo that was taken out of a share meanwhile stay with the owner`() throws {
        let (village, alice, second, bob) = try village()
        try share(["Trip"], village, alice, bob)
        try finish(village, alice, second)
        try edit("Trip/a.jpg", second)
        try #require(alice.request(.shareRemove(share: "Trip", paths: [alice.path("Trip/a.jpg")])).code == 0)
        try settle(village, [alice, bob])
        #expect(bob.tree(.shared) == ["alice/Trip/b.jpg": "bbb"])
        try finish(village, alice, second)
        for replica in [alice, second] { expectEdited("a.jpg", replica) }
        #expect(bob.tree(.shared) == ["alice/Trip/b.jpg": "bbb"])
    }

    @Test func `a participant's edits of a photo that was taken out meanwhile reach the owner, and it stays out`()
        throws
    {
        let (village, alice, second, bob) = try village()
        try share(["Trip"], village, alice, bob)
        try finish(village, alice, second)
        try bob.machine.shared.write("alice/Trip/a.jpg", "edited")
        #expect(bob.request(.caption(path: bob.path("alice/Trip/a.jpg", .shared), text: "late")).code == 0)
        try #require(alice.request(.shareRemove(share: "Trip", paths: [alice.path("Trip/a.jpg")])).code == 0)
        try settle(village, [alice, second])
        try finish(village, alice, second)
        for replica in [alice, second] {
            #expect(replica.tree(.library)["a.jpg"] == "edited")
            #expect(replica.sidecar("a.jpg", .library)?.fields.caption == "late")
        }
        #expect(bob.tree(.shared) == ["alice/Trip/b.jpg": "bbb"])
    }

    @Test func `what a participant takes to a share that the owner is not in goes for all who are not`() throws {
        let party = try Party(bob: "readWrite")
        try party.bob.machine.library.write("More/m.jpg", "mmm")
        try #require(try party.village.settle())
        let made = party.bob.request(
            .shareCreate(paths: [party.bob.path("More")], title: "More", publicPermission: "none", isSealed: true))
        try #require(made.code == 0, "\(made)")
        try #require(
            party.bob.request(.invite(share: "More", accounts: ["carol"], permission: "readWrite")).code == 0)
        try #require(party.carol.request(.accept(link: made.values["link"] ?? "")).code == 0)
        try #require(try party.village.settle())
        try party.carol.machine.shared.move("alice/Summer/a.jpg", to: "bob/More/moved.jpg")
        #expect(try party.village.settleDeletions())
        #expect(party.alice.isQuiet)
        #expect(party.alice.tree(.library) == ["Private/c.jpg": "ccc", "Summer/deep/b.jpg": "bbb"])
        #expect(
            party.carol.tree(.shared) == [
                "alice/Summer/deep/b.jpg": "bbb", "bob/More/m.jpg": "mmm", "bob/More/moved.jpg": "aaa",
            ])
        #expect(party.alice.machine.library.tree().values.contains(Array("aaa".utf8)))
        #expect(party.bob.tree(.library) == ["More/m.jpg": "mmm", "More/moved.jpg": "aaa"])
    }

    @Test func `edits of a photo whose share was stopped meanwhile stay with the owner`() throws {
        let (village, alice, second, bob) = try village()
        try share(["Trip"], village, alice, bob)
        try finish(village, alice, second)
        try edit("Trip/a.jpg", second)
        try second.machine.library.write("Trip/new.jpg", "new")
        try #require(alice.request(.stop(share: "Trip")).code == 0)
        try settle(village, [alice])
        for _ in 0..<50 { try village.settle(rounds: 1) }
        for replica in [alice, second] {
            expectEdited("Trip/a.jpg", replica)
            #expect(replica.tree(.library)["Trip/new.jpg"] == "new")
            #expect(replica.tree(.library).count == 4, "\(replica.tree(.library))")
        }
        #expect(bob.tree(.shared) == [:])
    }

    @Test func `what is dropped into a folder while it is being shared becomes part of the share`() throws {
        let (village, alice, second, bob) = try village()
        try second.machine.library.write("Trip/new.jpg", "new")
        try second.machine.library.write("Trip/Sea/deep.jpg", "deep")
        try second.round()
        try second.machine.library.move("Home/c.jpg", to: "Trip/c.jpg")
        try share(["Trip"], village, alice, bob)
        try finish(village, alice, second)
        let inside = ["a.jpg": "aaa", "b.jpg": "bbb", "c.jpg": "ccc", "new.jpg": "new", "Sea/deep.jpg": "deep"]
        for replica in [alice, second] {
            #expect(
                replica.tree(.library) == Dictionary(uniqueKeysWithValues: inside.map { ("Trip/\($0.key)", $0.value) }))
        }
        #expect(
            bob.tree(.shared) == Dictionary(uniqueKeysWithValues: inside.map { ("alice/Trip/\($0.key)", $0.value) }))
    }

    @Test func `a photo that was deleted without knowing that it is shared is deleted, and stays so`() throws {
        let (village, alice, second, bob) = try village()
        try second.machine.library.delete("Trip/a.jpg")
        try second.round()
        village.world.clock.advance(milliseconds: 2_000)
        try share(["Trip"], village, alice, bob)
        #expect(bob.tree(.shared).count == 2)
        try finish(village, alice, second)
        for replica in [alice, second] {
            #expect(replica.tree(.library).keys.sorted() == ["Home/c.jpg", "Trip/b.jpg"])
        }
        #expect(bob.tree(.shared) == ["alice/Trip/b.jpg": "bbb"])
    }

    @Test func `a photo that was moved out of a folder while that was shared is not shared`() throws {
        let (village, alice, second, bob) = try village()
        try second.machine.library.move("Trip/a.jpg", to: "Home/a.jpg")
        try share(["Trip"], village, alice, bob)
        try finish(village, alice, second)
        for replica in [alice, second] {
            #expect(replica.tree(.library).keys.sorted() == ["Home/a.jpg", "Home/c.jpg", "Trip/b.jpg"])
        }
        #expect(bob.tree(.shared) == ["alice/Trip/b.jpg": "bbb"])
    }

    @Test func `a folder that was renamed while it was shared has its new name, and is shared`() throws {
        let (village, alice, second, bob) = try village()
        try second.machine.library.move("Trip", to: "Tour")
        try share(["Trip"], village, alice, bob)
        try finish(village, alice, second)
        for replica in [alice, second] {
            #expect(replica.tree(.library).keys.sorted() == ["Home/c.jpg", "Tour/a.jpg", "Tour/b.jpg"])
        }
        try second.machine.library.write("Tour/new.jpg", "new")
        try finish(village, alice, second)
        #expect(bob.tree(.shared).keys.sorted() == ["alice/Trip/a.jpg", "alice/Trip/b.jpg", "alice/Trip/new.jpg"])
    }

    @Test func `no file is moved or fetched on the owner's other devices when a folder is shared`() throws {
        let (village, alice, second, bob) = try village()
        let before = try second.machine.library.stamp("Trip/a.jpg")
        let calls = second.machine.faults.operationCount
        try share(["Trip"], village, alice, bob)
        try finish(village, alice, second)
        #expect(try second.machine.library.stamp("Trip/a.jpg") == before)
        let changing = second.machine.faults.log.filter {
            $0.number >= calls && $0.part == "library" && ["rename", "create", "write", "remove"].contains($0.name)
                && !"\($0)".contains(".shoebox/token.json")
        }
        #expect(changing.isEmpty, "\(changing)")
        #expect(second.machine.library.tree().keys.filter { $0.hasPrefix(".shoebox/trash") }.isEmpty)
    }

    @Test func `a subfolder that is moved out of a shared folder is moved on the other devices, too`() throws {
        let (village, alice, second, bob) = try village()
        try alice.machine.library.write("Trip/Sea/deep.jpg", "deep")
        try share(["Trip"], village, alice, bob)
        try finish(village, alice, second)
        try alice.machine.library.move("Trip/Sea", to: "Hill")
        try finish(village, alice, second)
        #expect(second.tree(.library)["Hill/deep.jpg"] == "deep")
        #expect(bob.tree(.shared).keys.sorted() == ["alice/Trip/a.jpg", "alice/Trip/b.jpg"])
    }

    @Test func `what is put into a new folder within one that is taken out of a share at once is seen by nobody else`()
        throws
    {
        let (village, alice, second, bob) = try village()
        try alice.machine.library.write("Trip/Sea/deep.jpg", "deep")
        try share(["Trip"], village, alice, bob)
        try finish(village, alice, second)
        let disk = alice.machine.library
        try disk.move("Trip/Sea", to: "Hill")
        try disk.write("Hill/New/mine.jpg", "mine")
        village.world.clock.advance(milliseconds: 60_000)
        _ = try alice.engine.scan(.library, author: "scan")
        // Were it taken into the share and carried from there, that would wait for these bytes for ever.
        try disk.write("Hill/New/mine.jpg", "mine too")
        try finish(village, alice, second)
        #expect(second.tree(.library)["Hill/New/mine.jpg"] == "mine too")
        #expect(second.tree(.library)["Hill/deep.jpg"] == "deep")
        #expect(bob.tree(.shared).keys.sorted() == ["alice/Trip/a.jpg", "alice/Trip/b.jpg"])
        let shared = try bob.engine.zones.values.filter { $0.row.kind == .share }.map(\.id).flatMap { zone in
            try bob.engine.store.read { db in try db.records(of: .photo, in: zone).compactMap(\.name) }
        }
        #expect(!shared.contains { $0.text == "mine.jpg" }, "\(shared)")
    }

    @Test func `a folder that two devices share at once is one share in the end, with everybody in it`() throws {
        var (village, alice, second, bob) = try village()
        let (carolIdentity, _) = try Identity.create(
            label: "carol", deviceLabel: "carol", nowMilliseconds: 1_700_000_000_000,
            randomBytes: { [UInt8](repeating: 7, count: $0) })
        let carol = try Replica(machine: village.world.addMachine("carol"), label: "carol", identity: carolIdentity)
        try carol.setUp()
        village.replicas.append(carol)
        try share(["Trip"], village, alice, bob)
        let made = second.request(
            .shareCreate(paths: [second.path("Trip")], title: "Tour", publicPermission: "none", isSealed: true))
        try #require(made.code == 0, "\(made)")
        try #require(second.request(.invite(share: "Tour", accounts: ["carol"], permission: "readWrite")).code == 0)
        try #require(carol.request(.accept(link: made.values["link"] ?? "")).code == 0)
        try settle(village, [carol])
        try bob.machine.shared.write("alice/Trip/bob.jpg", "of bob")
        try carol.machine.shared.write("alice/Tour/carol.jpg", "of carol")
        // What a participant has not published when their share ends stays with them.
        try settle(village, [bob, carol])
        for _ in 0..<60 { try village.settle(rounds: 1) }
        try #require(try village.settle())
        // Who took part in either goes on in the one that stays, without being asked.
        village.world.clock.advance(milliseconds: 11_000)
        for _ in 0..<30 { try village.settle(rounds: 1) }
        try #require(try village.settle())
        #expect(treeDifference(second.files(.library), alice.files(.library)) == [])
        let inside = ["a.jpg": "aaa", "b.jpg": "bbb", "bob.jpg": "of bob", "carol.jpg": "of carol"]
        var library = ["Home/c.jpg": "ccc"]
        for (name, text) in inside { library["Trip/\(name)"] = text }
        #expect(alice.tree(.library) == library)
        let shares = alice.engine.zones.values.filter { $0.row.kind == .share && $0.row.state == .active }
        #expect(shares.count == 1)
        let title = shares.first?.control.title ?? ""
        for other in [bob, carol] {
            #expect(
                other.tree(.shared)
                    == Dictionary(uniqueKeysWithValues: inside.map { ("alice/\(title)/\($0.key)", $0.value) }),
                "\(other.label)")
        }
    }

    @Test func `a photo that two devices share at once is in one share in the end, with the edits of both`() throws {
        let (village, alice, second, bob) = try village()
        try share(["Trip/a.jpg", "Home/c.jpg"], village, alice, bob)
        #expect(alice.request(.caption(path: alice.path("Trip/a.jpg"), text: "late")).code == 0)
        let made = second.request(
            .shareCreate(
                paths: [second.path("Trip/a.jpg"), second.path("Trip/b.jpg")], title: "Other", publicPermission: "none",
                isSealed: true))
        try #require(made.code == 0, "\(made)")
        try edit("Trip/a.jpg", second)
        try finish(village, alice, second)
        let homes = try alice.store.read { db in
            try alice.engine.zones.keys.filter { zone in
                try db.files(in: zone).contains { $0.name == FileName("a.jpg") }
            }
        }
        #expect(homes.count == 1)
        #expect(alice.tree(.library) == ["Trip/a.jpg": "edited", "Trip/b.jpg": "bbb", "Home/c.jpg": "ccc"])
    }

    /// The new zone is published first: for a moment, others see a photo in both, and no mark.
    @Test(arguments: ["c.jpg", "Home"], [true, false])
    func `what goes into a share is there though another device sees one half of it before the other`(
        what: String, isOwn: Bool
    ) throws {
        let (village, alice, second, bob) = try village()
        try alice.machine.library.write("c.jpg", "ccc of the top")
        try settle(village, [alice, second])
        let owner = isOwn ? alice : bob
        try owner.machine.library.write("Inbox/i.jpg", "iii")
        try settle(village, [owner])
        let made = owner.request(
            .shareCreate(
                paths: [owner.path("Inbox")], title: "Inbox", publicPermission: "none", isSealed: true))
        let zone = try #require(ZoneID(hex: made.values["id"] ?? ""))
        let guest = isOwn ? bob : alice
        #expect(owner.request(.invite(share: "Inbox", accounts: [guest.label], permission: "readWrite")).code == 0)
        #expect(guest.request(.accept(link: made.values["link"] ?? "")).code == 0)
        try settle(village, village.replicas)
        let source = alice.machine.library
        if isOwn {
            let from = try #require(RelativePath(what))
            try source.move(from, to: #require(RelativePath("Inbox/\(what)")))
        } else {
            // From the library to somebody else's share it is copied and deleted, as by a file manager.
            let files = source.tree().filter { $0.key == what || $0.key.hasPrefix("\(what)/") }
            for (path, bytes) in files {
                try alice.machine.shared.write(#require(RelativePath("bob/Inbox/\(path)")), bytes: bytes)
            }
            try source.delete(#require(RelativePath(what)))
        }
        for _ in 0..<4 {
            _ = try alice.engine.round(.all, reachesContainer: false)
            village.world.clock.advance(milliseconds: 700)
        }
        try alice.engine.push(zone)
        for _ in 0..<3 {
            try second.round()
            village.world.clock.advance(milliseconds: 700)
        }
        try finish(village, alice, second)
        let content = what == "Home" ? ["Inbox/Home/c.jpg": "ccc"] : ["Inbox/c.jpg": "ccc of the top"]
        for (path, text) in content {
            #expect(second.tree(isOwn ? .library : .shared)[isOwn ? path : "bob/\(path)"] == text)
            #expect(bob.tree(isOwn ? .shared : .library)[isOwn ? "alice/\(path)" : path] == text)
        }
        #expect(second.tree(.library)[what] == nil)
    }

    @Test func `each photo has its own caption where one takes another's name in a folder that is being shared`() throws
    {
        let (village, alice, second, bob) = try village()
        #expect(alice.request(.caption(path: alice.path("Trip/a.jpg"), text: "of the first")).code == 0)
        try settle(village, [alice, second])
        try share(["Trip"], village, alice, bob)
        let disk = second.machine.library
        try disk.move("Trip/a.jpg", to: "Home/a.jpg")
        try disk.delete("Trip/a.jpg.json")
        try disk.write("Trip/a.jpg", "another")
        try disk.write("Trip/a.jpg.json", #"{"format": "shoebox.sidecar/1", "caption": "of another"}"#)
        try finish(village, alice, second)
        for replica in [alice, second] {
            #expect(replica.tree(.library)["Home/a.jpg"] == "aaa")
            #expect(replica.tree(.library)["Trip/a.jpg"] == "another")
            #expect(replica.sidecar("Trip/a.jpg", .library)?.fields.caption == "of another")
            #expect(replica.sidecar("Home/a.jpg", .library)?.fields.caption == "of the first")
            #expect(!replica.machine.library.tree().keys.contains { $0.contains("trash/") && $0.hasSuffix("-a.jpg") })
        }
        #expect(bob.sidecar("alice/Trip/a.jpg", .shared)?.fields.caption == "of another")
    }

    @Test(arguments: [false, true])
    func `a photo that was deleted just before its share was found stopped is deleted`(isSharedAnew: Bool) throws {
        let (village, alice, second, bob) = try village()
        try share(["Trip"], village, alice, bob)
        try settle(village, village.replicas)
        #expect(alice.request(.stop(share: "Trip")).code == 0)
        try settle(village, [alice])
        if isSharedAnew {
            let paths = [alice.path("Trip")]
            let made = alice.request(
                .shareCreate(paths: paths, title: "Trip2", publicPermission: "none", isSealed: true))
            try #require(made.code == 0, "\(made)")
            try settle(village, [alice])
        }
        try second.machine.library.delete("Trip/a.jpg")
        _ = try second.engine.scan(.library, author: "scan")
        village.world.clock.advance(milliseconds: 60_000)
        #expect(try second.engine.scan(.library, author: "scan").changes > 0)
        try settle(village, village.replicas)
        for replica in [alice, second] {
            #expect(replica.tree(.library) == ["Trip/b.jpg": "bbb", "Home/c.jpg": "ccc"], "\(replica.machine.name)")
        }
    }

    @Test(arguments: [false, true])
    func `a folder that others renamed and left has its new name where something came into it`(isDeleted: Bool) throws {
        let party = try Party(bob: "readWrite")
        let disk = party.alice.machine.library
        try disk.move("Summer/deep", to: "Summer/Hill")
        try settle(party.village, [party.alice])
        if isDeleted { try disk.delete("Summer/Hill") } else { try disk.move("Summer/Hill", to: "Hill") }
        try settle(party.village, [party.alice])
        party.village.world.clock.advance(milliseconds: 60_000)
        try settle(party.village, [party.alice])
        // Somebody is still writing this when bob's device hears of all that.
        try party.bob.machine.shared.write("alice/Summer/deep/new.jpg", "new")
        for _ in 0..<4 { _ = try party.bob.engine.round(.directories([:])) }
        #expect(party.bob.tree(.shared)["alice/Summer/deep/b.jpg"] == nil)
        try #require(try party.village.settle())
        #expect(party.alice.tree(.library)["Summer/Hill/new.jpg"] == "new")
        for replica in [party.bob, party.carol] {
            #expect(
                replica.tree(.shared) == ["alice/Summer/a.jpg": "aaa", "alice/Summer/Hill/new.jpg": "new"],
                "\(replica.label)")
        }
    }

    @Test(arguments: [false, true])
    func `a photo that is renamed while its share is found stopped is one photo`(isHalfSeen: Bool) throws {
        let (village, alice, second, bob) = try village()
        try share(["Trip"], village, alice, bob)
        try settle(village, village.replicas)
        #expect(alice.request(.stop(share: "Trip")).code == 0)
        try settle(village, [alice])
        // Renamed after its last look, so that it is not noticed before all has been fetched.
        try second.machine.library.move("Trip/a.jpg", to: "Trip/a2.jpg")
        if isHalfSeen {
            try second.engine.reloadZones()
            if let zone = second.engine.privateZone { _ = try second.engine.fetch(zone) }
            for _ in 0..<3 { _ = try second.engine.apply(.library) }
        }
        _ = try second.engine.round(.directories([:]))
        try settle(village, village.replicas)
        #expect(second.tree(.library) == alice.tree(.library))
        #expect(alice.tree(.library) == ["Trip/a2.jpg": "aaa", "Trip/b.jpg": "bbb", "Home/c.jpg": "ccc"])
    }

    @Test(arguments: ["Summer/c.jpg", "Summer/deep/z.jpg"])
    func `a photo that was put into a share, and is moved into the folder of that, stays there for all`(
        place: String
    ) throws {
        let party = try Party(bob: "readWrite")
        let added = party.alice.request(.shareAdd(share: "Summer", paths: [party.alice.path("Private/c.jpg")]))
        try #require(added.code == 0, "\(added)")
        try #require(try party.village.settle())
        try party.alice.machine.library.move("Private/c.jpg", to: place)
        try #require(try party.village.settle())
        let expected = Party.content.merging([String(place.dropFirst(7)): "ccc"]) { $1 }
        let own = Dictionary(uniqueKeysWithValues: expected.map { ("Summer/\($0)", $1) })
        #expect(party.alice.tree(.library) == own)
        #expect(party.bob.tree(.shared) == Dictionary(uniqueKeysWithValues: own.map { ("alice/\($0)", $1) }))
        #expect(party.alice.problems.isEmpty, "\(party.alice.problems)")
    }
}
