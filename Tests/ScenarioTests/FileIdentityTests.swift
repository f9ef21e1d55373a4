import Foundation
import Shoebox
import ShoeboxLibrary
import ShoeboxModel
import ShoeboxPlanning
import ShoeboxStore
import ShoeboxTestSupport
import ShoeboxWorld
import Testing

/// Which file is which record's, when the user and other devices rename, replace and edit at once.
@Suite struct FileIdentityTests {
    @Test func `a photo that another device renames while it is edited keeps the edit`() throws {
        let (village, alice, second) = try Village.twoDevices(["a.jpg": "one"])
        try alice.machine.library.move("a.jpg", to: "b.jpg")
        try alice.round()
        // Saved a moment ago: it is not taken in the round that renames it.
        try second.machine.library.write(
            "a.jpg", "edited", atNanoseconds: Int64(second.machine.clock.wallMilliseconds) * 1_000_000)
        try second.round()
        try #require(try village.settle())
        #expect(alice.tree(.library) == ["b.jpg": "edited"])
        #expect(second.tree(.library) == ["b.jpg": "edited"])
    }

    @Test func `a sidecar that can't be read once is no photo of its own`() throws {
        let (village, alice, second) = try Village.twoDevices(["a.jpg": "one"])
        try alice.machine.library.write("a.jpg.json", #"{"format": "shoebox.sidecar/1", "caption": "sea"}"#)
        alice.machine.faults.setRule { operation in
            operation.name == "open" && operation.path == "a.jpg.json" ? .fail(.inputOutput) : nil
        }
        try alice.round()
        #expect(alice.problems.map(\.code) == ["unreadable"])
        alice.machine.faults.setRule(nil)
        try #require(try village.settle())
        #expect(alice.problems.isEmpty, "\(alice.problems)")
        #expect(second.sidecar("a.jpg", .library)?.fields.caption == "sea")
        #expect(second.tree(.library) == ["a.jpg": "one"])
    }

    @Test(arguments: [("entry", "Summer"), ("entry", "Private"), ("open", "Summer/a.jpg"), ("open", "Private/b.jpg")])
    func `photos that swapped names have swapped them, also if one of the two can't be looked at for a while`(
        call: String, path: String
    ) throws {
        let (village, alice, second) = try Village.twoDevices(["Summer/a.jpg": "one", "Private/b.jpg": "two"])
        _ = alice.request(.caption(path: alice.path("Summer/a.jpg"), text: "of one"))
        try #require(try village.settle())
        try alice.machine.library.move(
            try #require(RelativePath("Summer/a.jpg")), to: try #require(RelativePath("Private/b.jpg")),
            mode: .exchange)
        alice.machine.faults.setRule { operation in
            operation.name == call && operation.path == path ? .fail(.inputOutput) : nil
        }
        for _ in 0..<3 {
            try alice.round()
            village.world.clock.advance(milliseconds: 2_000)
        }
        // A file that is known just as it is need not be read.
        #expect(alice.problems.map(\.code) == (call == "entry" ? ["unreadable"] : []))
        alice.machine.faults.setRule(nil)
        try finish(village, alice, second)
        #expect(second.tree(.library) == ["Summer/a.jpg": "two", "Private/b.jpg": "one"])
        #expect(second.sidecar("Private/b.jpg", .library)?.fields.caption == "of one")
        #expect(second.sidecar("Summer/a.jpg", .library)?.fields.caption == nil)
    }

    @Test func `what is said of a photo that swapped names stays with it, also if its sidecar can't be moved`() throws {
        let (village, alice, second) = try Village.twoDevices(["Summer/a.jpg": "one", "Private/b.jpg": "two"])
        #expect(alice.request(.caption(path: alice.path("Summer/a.jpg"), text: "of one")).code == 0)
        try #require(try village.settle())
        try alice.machine.library.move(
            try #require(RelativePath("Summer/a.jpg")), to: try #require(RelativePath("Private/b.jpg")),
            mode: .exchange)
        alice.machine.faults.set(.fail(.inputOutput), next: "rename")
        try finish(village, alice, second)
        for replica in [alice, second] {
            #expect(replica.sidecar("Private/b.jpg", .library)?.fields.caption == "of one")
            #expect(replica.sidecar("Summer/a.jpg", .library)?.fields.caption == nil)
        }
    }

    @Test func `a photo whose time its server sets after it was taken is published, though no watcher tells`() throws {
        let (village, alice, second) = try Village.twoDevices(["a.jpg": "one"])
        alice.machine.mount.unmount()
        try alice.machine.library.write("b.jpg", "two")
        try village.pass(6)
        try #require(alice.tree(.library).count == 2)
        try alice.machine.library.touch("b.jpg", atNanoseconds: 1_700_000_000_000_000_000)
        _ = alice.machine.library.takeDirty()
        alice.machine.mount.mount()
        try village.pass(10)
        #expect(second.tree(.library)["b.jpg"] == "two")
    }

    @Test(arguments: [false, true])
    func `a photo whose time its server sets later goes with the share that has ended, and one that was edited is kept`(
        isEdited: Bool
    ) throws {
        let party = try Party(bob: "readWrite")
        let disk = party.bob.machine.shared
        #expect(party.alice.request(.stop(share: "Summer")).code == 0)
        try party.alice.round()
        if isEdited { try disk.write("alice/Summer/a.jpg", "AAA") }
        try disk.touch("alice/Summer/a.jpg", atNanoseconds: 1_700_000_000_000_000_000)
        _ = disk.takeDirty()
        for _ in 0..<6 {
            try party.bob.round()
            _ = disk.takeDirty()
        }
        let kept =
            party.bob.tree(.shared).values.filter { $0 == "AAA" }
            + party.bob.tree(.library).values.filter { $0 == "AAA" }
        #expect(isEdited ? !kept.isEmpty : party.bob.tree(.shared)["alice/Summer/a.jpg"] == nil)
        #expect(party.bob.tree(.shared)["alice/Summer/deep/b.jpg"] == nil)
    }

    @Test func `photos that seem to have swapped names don't wait for ever for one that can't be read`() throws {
        let (village, alice, second) = try Village.twoDevices(["a.jpg": "one", "b.jpg": "two"])
        try alice.machine.library.move(
            try #require(RelativePath("a.jpg")), to: try #require(RelativePath("b.jpg")), mode: .exchange)
        try alice.machine.library.touch("a.jpg", atNanoseconds: 1_600_000_000_000_000_000)
        alice.machine.faults.setRule { operation in
            operation.name == "open" && operation.path == "a.jpg" ? .fail(.inputOutput) : nil
        }
        try alice.round()
        #expect(try village.settle())
        #expect(second.tree(.library)["b.jpg"] == "two")
        village.world.clock.advance(milliseconds: 40_000)
        #expect(try village.settle())
        #expect(second.tree(.library)["b.jpg"] == "one")
        alice.machine.faults.setRule(nil)
        try finish(village, alice, second)
        #expect(second.tree(.library) == ["a.jpg": "two", "b.jpg": "one"])
    }

    @Test func `what belongs into a folder that could not be made waits for it, and comes whole`() throws {
        let (village, alice, second) = try Village.twoDevices(["a.jpg": "one"])
        try alice.machine.library.write("Summer/deep/b.jpg", "two")
        for _ in 0..<2 {
            try alice.round()
            village.world.clock.advance(milliseconds: 2_000)
        }
        #expect(alice.request(.caption(path: alice.path("Summer/deep/b.jpg"), text: "deep")).code == 0)
        for _ in 0..<2 { try alice.round() }
        // It was made, and nobody was told.
        second.machine.faults.set(.failAfter(.inputOutput), next: "makeDirectory")
        try second.round()
        #expect(second.logLines.filter { $0.contains("cannot apply") }.count == 1, "\(second.logLines)")
        try finish(village, alice, second)
        #expect(second.tree(.library) == ["a.jpg": "one", "Summer/deep/b.jpg": "two"])
        #expect(second.sidecar("Summer/deep/b.jpg", .library)?.fields.caption == "deep")
    }

    @Test func `a folder that can't be looked at once is looked at again`() throws {
        let (village, alice, second) = try Village.twoDevices(["Summer/a.jpg": "one"])
        try alice.machine.library.write("Summer/b.jpg", "two")
        let summer = try #require(RelativePath("Summer"))
        alice.machine.faults.setRule { operation in
            operation.name == "entry" && operation.path == "Summer" ? .fail(.inputOutput) : nil
        }
        try alice.round(.directories([.library: [summer]]))
        alice.machine.faults.setRule(nil)
        village.world.clock.advance(milliseconds: 12_000)
        // Nothing else says that something is new there.
        try alice.round(.directories([:]))
        try second.round()
        #expect(second.tree(.library) == ["Summer/a.jpg": "one", "Summer/b.jpg": "two"])
    }

    @Test func `a JSON file from elsewhere takes its name, and the sidecar that was there goes on under its other one`()
        throws
    {
        let (village, alice, second) = try Village.twoDevices(["a.jpg": "one"])
        _ = second.request(.caption(path: second.path("a.jpg"), text: "sea"))
        try second.round()
        try alice.machine.library.write("a.jpg.json", #"{"title": "of another program"}"#)
        try #require(try village.settle())
        for replica in [alice, second] {
            #expect(
                replica.tree(.library, sidecars: true)["a.jpg.json"] == #"{"title": "of another program"}"#,
                "\(replica.tree(.library, sidecars: true).keys)")
            let own = replica.tree(.library, sidecars: true)["a.jpg.shoebox.json"] ?? ""
            #expect(own.contains("sea"), "\(replica.machine.name): \(own)")
        }
        // Also when the other one is gone a photo has one sidecar: two would say different things.
        try alice.machine.library.delete("a.jpg.json")
        for _ in 0..<4 { _ = try village.settleDeletions() }
        for (replica, text) in [(second, "lake"), (alice, "hill")] {
            _ = replica.request(.caption(path: replica.path("a.jpg"), text: text))
            try #require(try village.settle())
            for replica in [alice, second] {
                let sidecars = replica.tree(.library, sidecars: true).filter { $0.key.hasSuffix(".json") }
                #expect(
                    sidecars.count == 1 && sidecars.allSatisfy { $0.value.contains(text) },
                    "\(replica.machine.name): \(sidecars)")
            }
        }
    }

    @Test(arguments: [false, true], [false, true])
    func `two sidecars of one photo come to rest`(isEdited: Bool, isCommand: Bool) throws {
        let (village, alice, second) = try Village.twoDevices(["a.jpg": "one"])
        _ = second.request(.caption(path: second.path("a.jpg"), text: "sea"))
        try #require(try village.settle())
        let text = try alice.machine.library.text("a.jpg.json")
        try alice.machine.library.write(
            "a.jpg.shoebox.json", isEdited ? text.replacingOccurrences(of: "sea", with: "lake") : text)
        try #require(try village.settle())
        for (replica, former, text) in [(second, isEdited ? "lake" : "sea", "hill"), (alice, "hill", "wood")] {
            if isCommand {
                _ = replica.request(.caption(path: replica.path("a.jpg"), text: text))
            } else {
                let disk = replica.machine.library
                try disk.write("a.jpg.json", disk.text("a.jpg.json").replacingOccurrences(of: former, with: text))
            }
            try #require(try village.settle(), "\(text)")
        }
        for replica in [alice, second] {
            #expect(try replica.machine.library.text("a.jpg.json").contains("wood"))
        }
    }

    /// Rounds of everybody until deletions are due and all is quiet; the devices show the same.
    private func finish(_ village: Village, _ alice: Replica, _ second: Replica) throws {
        for _ in 0..<8 { try village.settle(rounds: 1) }
        try #require(try village.settle())
        #expect(treeDifference(second.files(.library), alice.files(.library)) == [])
        #expect(alice.problems.isEmpty && second.problems.isEmpty, "\(alice.problems) \(second.problems)")
    }

    @Test(arguments: [false, true])
    func `a photo that a folder takes the place of is deleted and no more, and back`(isSeenInBetween: Bool) throws {
        let (village, alice, second) = try Village.twoDevices(["a.jpg": "one", "b.jpg": "two"])
        try alice.machine.library.delete("a.jpg")
        if isSeenInBetween { try alice.round() }
        try alice.machine.library.write("a.jpg/x.jpg", "inside")
        if isSeenInBetween { try alice.round() }
        try finish(village, alice, second)
        #expect(alice.tree(.library) == ["a.jpg/x.jpg": "inside", "b.jpg": "two"])
        #expect(second.machine.library.tree().values.contains(Array("one".utf8)), "the trash has it")
        try second.machine.library.delete("a.jpg")
        if isSeenInBetween { try second.round() }
        try second.machine.library.write("a.jpg", "again")
        try finish(village, alice, second)
        #expect(alice.tree(.library) == ["a.jpg": "again", "b.jpg": "two"])
        #expect(alice.machine.library.tree().values.contains(Array("inside".utf8)), "the trash has it")
    }

    @Test(arguments: ["Hill/deep/copy.jpg", "Hill/copy.jpg", "Aside/copy.jpg", "copy.jpg"])
    func `a copy of a photo in a folder that is renamed at the same time is a photo of its own`(copy: String) throws {
        let (village, alice, second) = try Village.twoDevices([
            "Trip/deep/a.jpg": "one", "Trip/deep/b.jpg": "two", "Aside/c": "c",
        ])
        _ = alice.request(.caption(path: alice.path("Trip/deep/a.jpg"), text: "of a"))
        try #require(try village.settle())
        try alice.machine.library.move("Trip", to: "Hill")
        try alice.machine.library.write(copy, "one", atNanoseconds: 1)
        // As the watcher has it, which looks at nothing twice.
        try alice.round()
        try second.round()
        #expect(second.tree(.library) == alice.tree(.library))
        #expect(second.sidecar("Hill/deep/a.jpg", .library)?.fields.caption == "of a")
        try #require(try village.settle())
        #expect(
            second.tree(.library) == ["Hill/deep/a.jpg": "one", "Hill/deep/b.jpg": "two", "Aside/c": "c", copy: "one"])
    }

    @Test func `a photo that was put into a folder of its own name is the same photo`() throws {
        let (village, alice, second) = try Village.twoDevices(["a.jpg": "one"])
        _ = alice.request(.rate(path: alice.path("a.jpg"), value: 5))
        try finish(village, alice, second)
        try alice.machine.library.move("a.jpg", to: "aside/a.jpg")
        try alice.machine.library.delete("a.jpg.json")
        try alice.machine.library.move("aside", to: "a.jpg")
        try finish(village, alice, second)
        #expect(second.tree(.library) == ["a.jpg/a.jpg": "one"])
        #expect(second.sidecar("a.jpg/a.jpg", .library)?.fields.rating == 5)
        #expect(alice.machine.library.tree().values.filter { $0 == Array("one".utf8) }.count == 1)
    }

    @Test func `photos that left a folder before a file took its name are the same photos`() throws {
        let (village, alice, second) = try Village.twoDevices([
            "Sea/a.jpg": "one", "Sea/b.jpg": "two", "c.jpg": "three",
        ])
        _ = alice.request(.rate(path: alice.path("Sea/a.jpg"), value: 5))
        try finish(village, alice, second)
        try alice.machine.library.move("Sea/a.jpg", to: "a.jpg")
        try alice.machine.library.delete("Sea")
        try alice.machine.library.write("Sea", "a file")
        try finish(village, alice, second)
        #expect(second.tree(.library) == ["Sea": "a file", "a.jpg": "one", "c.jpg": "three"])
        #expect(second.sidecar("a.jpg", .library)?.fields.rating == 5)
    }

    @Test(arguments: [false, true])
    func `a folder that was renamed is the same, with all that is in it, when something was put deep into it at once`(
        isRenamedInside: Bool
    ) throws {
        let (village, alice, second) = try Village.twoDevices([
            "Sea/a.jpg": "one", "Sea/deep/b.jpg": "two", "Sea/deep/down/c.jpg": "three",
        ])
        func history() throws -> [StoredChange] {
            try alice.store.read { db in try db.history(after: 0, limit: .max) }
        }
        let before = try history().count
        try alice.machine.library.move("Sea", to: "Lake")
        if isRenamedInside { try alice.machine.library.move("Lake/deep", to: "Lake/low") }
        let folder = isRenamedInside ? "Lake/low" : "Lake/deep"
        try alice.machine.library.write("\(folder)/down/d.jpg", "new")
        try finish(village, alice, second)
        #expect(
            second.tree(.library) == [
                "Lake/a.jpg": "one", "\(folder)/b.jpg": "two", "\(folder)/down/c.jpg": "three",
                "\(folder)/down/d.jpg": "new",
            ])
        // A name for each folder, and the photo.
        let made = try history().dropFirst(before).map(\.change)
        #expect(made.count == (isRenamedInside ? 3 : 2), "\(made)")
    }

    @Test(arguments: [false, true])
    func `two photos that swap names keep what is said of each`(withSidecars: Bool) throws {
        let (village, alice, second) = try Village.twoDevices(["a.jpg": "one", "b.jpg": "two"])
        _ = alice.request(.caption(path: alice.path("a.jpg"), text: "of one"))
        _ = alice.request(.caption(path: alice.path("b.jpg"), text: "of two"))
        try finish(village, alice, second)
        for suffix in withSidecars ? ["", ".json"] : [""] {
            try alice.machine.library.move(
                try #require(RelativePath("a.jpg\(suffix)")), to: try #require(RelativePath("b.jpg\(suffix)")),
                mode: .exchange)
        }
        try finish(village, alice, second)
        for replica in [alice, second] {
            #expect(replica.tree(.library) == ["a.jpg": "two", "b.jpg": "one"])
            #expect(replica.sidecar("a.jpg", .library)?.fields.caption == "of two", "\(replica.machine.name)")
            #expect(replica.sidecar("b.jpg", .library)?.fields.caption == "of one", "\(replica.machine.name)")
        }
    }

    /// Each is looked for among all that has the same bytes, and what is listed between them is taken by itself.
    @Test func `equal files that are moved into far folders keep what is said of each`() throws {
        var village = try Village(labels: ["alice"])
        let alice = village.replicas[0]
        let laptop = try village.addDevice(of: alice, name: "laptop")
        let disk = alice.machine.library
        for name in ["1", "2"] { try disk.write("Album/\(name).jpg", "equal") }
        try #require(try village.settle())
        for name in ["1", "2"] {
            #expect(alice.request(.caption(path: alice.path("Album/\(name).jpg"), text: "photo \(name)")).code == 0)
        }
        try #require(try village.settle())
        let records = try alice.store.read { db in try db.newestToken() }
        try disk.move("Album/1.jpg", to: "B/1.jpg")
        for folder in ["C", "D", "E"] {
            for number in 0..<8 { try disk.write("\(folder)/\(number).jpg", "\(folder) \(number)") }
        }
        try disk.move("Album/2.jpg", to: "Z/2.jpg")
        try #require(try village.settle())
        #expect(try alice.store.read { db in try db.newestToken() } > records)
        for replica in [alice, laptop] {
            #expect(replica.sidecar("B/1.jpg", .library)?.fields.caption == "photo 1", "\(replica.label)")
            #expect(replica.sidecar("Z/2.jpg", .library)?.fields.caption == "photo 2", "\(replica.label)")
        }
    }

    /// What one of the two is must not be taken from its bytes.
    @Test func `a private photo with the bytes of one that is moved within a share stays private`() throws {
        let party = try Party(bob: "readWrite")
        let (alice, disk) = (party.alice, party.alice.machine.library)
        try disk.write("Summer/deep/twin.jpg", "equal")
        try disk.write("Private/twin.jpg", "equal")
        try #require(try party.village.settle())
        for (path, text) in [("Summer/deep/twin.jpg", "for all"), ("Private/twin.jpg", "for nobody")] {
            #expect(alice.request(.caption(path: alice.path(path), text: text)).code == 0)
        }
        try #require(try party.village.settle())
        try disk.move("Summer/deep/twin.jpg", to: "Summer/twin.jpg")
        try disk.move("Private/twin.jpg", to: "Private/Old/twin.jpg")
        try #require(try party.village.settle())
        #expect(alice.sidecar("Summer/twin.jpg", .library)?.fields.caption == "for all")
        #expect(alice.sidecar("Private/Old/twin.jpg", .library)?.fields.caption == "for nobody")
        for replica in [party.bob, party.carol] {
            #expect(replica.sidecar("alice/Summer/twin.jpg", .shared)?.fields.caption == "for all", "\(replica.label)")
            let zone = try replica.store.read { db in try db.records(of: .photo, in: party.zone) }
            #expect(zone.count == 3, "\(replica.label)")
        }
    }
}
