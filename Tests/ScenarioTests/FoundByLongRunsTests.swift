import Shoebox
import ShoeboxCloud
import ShoeboxLibrary
import ShoeboxModel
import ShoeboxPlanning
import ShoeboxStore
import ShoeboxTestSupport
import ShoeboxWorld
import Testing

/// What the simulation found with many seeds, as the shortest story that shows it.
@Suite struct FoundByLongRunsTests {
    @Test func `what lies in folders of one name, in folders of one name, stays when one of them is looked at`() throws
    {
        let party = try Party(bob: "readWrite")
        // Neither knows of the other's yet.
        try party.alice.machine.library.write("Summer/Lake/Boats/x.jpg", "alice's")
        try party.bob.machine.shared.write("alice/Summer/Lake/Boats/y.jpg", "bob's")
        for replica in [party.alice, party.bob] { try party.rounds(of: replica, 3, reachesContainer: false) }
        #expect(try party.village.settle())
        let both = ["Lake/Boats/x.jpg": "alice's", "Lake/Boats/y.jpg": "bob's"]
        party.expectShown(Party.content.merging(both) { $1 })
        for (name, writer) in [("z1.jpg", party.alice), ("z2.jpg", party.bob)] {
            let (disk, folder) =
                name == "z1.jpg" ? (writer.machine.library, "Summer/") : (writer.machine.shared, "alice/Summer/")
            try disk.write("\(folder)Lake/Boats/\(name)", name)
        }
        #expect(try party.village.settle())
        let all = both.merging(["Lake/Boats/z1.jpg": "z1.jpg", "Lake/Boats/z2.jpg": "z2.jpg"]) { $1 }
        party.expectShown(Party.content.merging(all) { $1 })
        for replica in [party.alice, party.bob, party.carol] {
            for disk in [replica.machine.library, replica.machine.shared] {
                #expect(!disk.tree().keys.contains { $0.hasPrefix(".shoebox/trash/") }, "\(replica.label)")
            }
        }
    }

    @Test func `two folders become one though folders of one name in them have to become one, too`() throws {
        let party = try Party(bob: "readWrite")
        try party.alice.machine.library.write("Summer/Sea/Boats/x.jpg", "x")
        #expect(try party.village.settle())
        // Neither knows of the other's yet.
        try party.alice.machine.library.write("Summer/Lake/Boats/y.jpg", "y")
        try party.bob.machine.shared.move("alice/Summer/Sea", to: "alice/Summer/Lake")
        for replica in [party.alice, party.bob] { try party.rounds(of: replica, 3, reachesContainer: false) }
        #expect(try party.village.settle())
        party.expectShown(Party.content.merging(["Lake/Boats/x.jpg": "x", "Lake/Boats/y.jpg": "y"]) { $1 })
    }

    /// Which of the two records stands for both is up to their ids.
    @Test(arguments: 1...4 as ClosedRange<UInt64>)
    func `what is still being written in a folder that becomes one with another lies with the rest in the end`(
        seed: UInt64
    ) throws {
        let party = try Party(bob: "readWrite", seed: seed)
        let disk = party.alice.machine.library
        // Neither knows of the other's yet.
        try disk.write("Summer/Lake/y.jpg", "y")
        try party.bob.machine.shared.move("alice/Summer/deep", to: "alice/Summer/Lake")
        for replica in [party.alice, party.bob] { try party.rounds(of: replica, 3, reachesContainer: false) }
        for _ in 0..<3 { _ = try party.bob.engine.round(.directories([:])) }
        try disk.write("Summer/deep/new.jpg", "new")
        for _ in 0..<6 { _ = try party.alice.engine.round(.directories([:])) }
        #expect(disk.tree().keys.contains("Summer/Lake/b.jpg"))
        #expect(try party.village.settle())
        party.expectShown(["a.jpg": "aaa", "Lake/b.jpg": "bbb", "Lake/y.jpg": "y", "Lake/new.jpg": "new"])
    }

    @Test func `a photo that was overwritten and moved out of a share before it was published stays`() throws {
        let party = try Party(bob: "readWrite")
        let disk = party.alice.machine.library
        try disk.write("Summer/n.jpg", "first")
        for _ in 0..<2 {
            _ = try party.alice.engine.scan(.library, author: "scan")
            party.village.world.clock.advance(milliseconds: 10_000)
        }
        try disk.write("Summer/n.jpg", "second bytes")
        try disk.move("Summer/n.jpg", to: "aside.jpg")
        try disk.move("Private/c.jpg", to: "Summer/n.jpg")
        try disk.move("aside.jpg", to: "Private/c.jpg")
        // Long enough for what is given up when its bytes don't come back.
        for _ in 0..<20 {
            for replica in [party.alice, party.bob] { try replica.round() }
            party.village.world.clock.advance(milliseconds: 10_000)
        }
        #expect(try party.village.settle())
        #expect(party.alice.tree(.library)["Private/c.jpg"] == "second bytes")
        #expect(party.alice.tree(.library)["Summer/n.jpg"] == "ccc")
        #expect(party.bob.tree(.shared)["alice/Summer/n.jpg"] == "ccc")
        #expect(!disk.tree().keys.contains { $0.hasPrefix(".shoebox/trash/") })
    }

    @Test(arguments: [("read", FileError.Code.inputOutput), ("open", .denied)])
    func `a photo that can't be read when it is to be published is named, and keeps nothing else back`(
        call: String, code: FileError.Code
    ) throws {
        let party = try Party(bob: "readWrite")
        for name in ["x.jpg", "y.jpg"] { try party.alice.machine.library.write("Summer/\(name)", name) }
        try party.rounds(of: party.alice, 3, reachesContainer: false)
        party.alice.machine.faults.setRule { operation in
            operation.name == call && operation.path == "Summer/x.jpg" ? .fail(code) : nil
        }
        for _ in 0..<3 { try party.village.pass(1) }
        #expect(party.bob.tree(.shared)["alice/Summer/y.jpg"] == "y.jpg")
        #expect(party.alice.problems.map(\.code) == ["notPublished"], "\(party.alice.problems)")
        #expect(party.alice.problems.first?.path == "library/Summer/x.jpg")
        party.alice.machine.faults.setRule(nil)
        #expect(try party.village.settle())
        party.expectShown(Party.content.merging(["x.jpg": "x.jpg", "y.jpg": "y.jpg"]) { $1 })
        #expect(party.alice.problems.isEmpty, "\(party.alice.problems)")
    }

    @Test func `more photos that can't be read than are published in one go keep nothing else back`() throws {
        let party = try Party(bob: "readWrite")
        party.alice.tune = { $0.pushMax = 2 }
        for name in ["x1.jpg", "x2.jpg", "x3.jpg"] { try party.alice.machine.library.write("Summer/\(name)", name) }
        try party.rounds(of: party.alice, 3, reachesContainer: false)
        try party.alice.machine.library.write("Summer/y.jpg", "y.jpg")
        try party.rounds(of: party.alice, 3, reachesContainer: false)
        party.alice.machine.faults.setRule { operation in
            operation.name == "read" && operation.path.hasPrefix("Summer/x") ? .fail(.inputOutput) : nil
        }
        try party.village.pass(3)
        #expect(party.bob.tree(.shared)["alice/Summer/y.jpg"] == "y.jpg")
        party.alice.machine.faults.setRule(nil)
        #expect(try party.village.settle())
        #expect(party.bob.tree(.shared)["alice/Summer/x3.jpg"] == "x3.jpg")
        #expect(party.alice.problems.isEmpty, "\(party.alice.problems)")
    }

    @Test func `a photo of a share that can't be read keeps nothing back of where another one was moved from`() throws {
        var party = try Party(bob: "readWrite")
        let (alice, disk) = (party.alice, party.alice.machine.library)
        let laptop = try party.village.addDevice(of: alice, name: "laptop")
        for name in ["x.jpg", "y.jpg"] { try disk.write("Summer/\(name)", name) }
        try party.rounds(of: alice, 3, reachesContainer: false)
        try disk.move("Private/c.jpg", to: "Summer/c.jpg")
        try party.rounds(of: alice, 3, reachesContainer: false)
        try disk.write("Private/later.jpg", "later")
        try party.rounds(of: alice, 3, reachesContainer: false)
        alice.machine.faults.setRule { operation in
            operation.name == "read" && operation.path == "Summer/x.jpg" ? .fail(.inputOutput) : nil
        }
        try party.village.pass(4)
        #expect(laptop.tree(.library)["Private/later.jpg"] == "later")
        #expect(laptop.tree(.library).values.contains("ccc"))
        alice.machine.faults.setRule(nil)
        #expect(try party.village.settle())
        for replica in [alice, laptop] {
            #expect(replica.tree(.library)["Private/c.jpg"] == nil, "\(replica.label)")
            #expect(replica.tree(.library)["Summer/c.jpg"] == "ccc", "\(replica.label)")
        }
        #expect(alice.problems.isEmpty, "\(alice.problems)")
    }

    @Test func `a photo whose copy can't be read comes from the container`() throws {
        let party = try Party(bob: "readWrite")
        try party.bob.machine.library.write("mine.jpg", "the same")
        #expect(try party.village.settle())
        party.bob.machine.faults.setRule { operation in
            operation.name == "read" && operation.path == "mine.jpg" ? .fail(.inputOutput) : nil
        }
        try party.alice.machine.library.write("Summer/x.jpg", "the same")
        #expect(try party.village.settle())
        party.expectShown(Party.content.merging(["x.jpg": "the same"]) { $1 })
    }

    @Test func `a folder that was away when its state was found to be a copy is served when it is back`() throws {
        let party = try Party(bob: "readWrite")
        let (copy, identity) = (try party.alice.store.backup(), party.alice.identity)
        _ = party.alice.request(.caption(path: party.alice.path("Summer/a.jpg"), text: "after the copy"))
        #expect(try party.village.settle())
        try party.alice.restart(store: copy, identity: identity)
        _ = party.alice.request(.rate(path: party.alice.path("Summer/a.jpg"), value: 3))
        party.alice.machine.faults.setRule { $0.part == "library" ? .fail(.inputOutput) : nil }
        try party.rounds(of: party.alice, 3)
        #expect(party.alice.identity.replica != identity.replica)
        #expect(party.alice.problems.map(\.code).contains("rootOffline"))
        party.alice.machine.faults.setRule(nil)
        try party.alice.machine.library.write("Summer/new.jpg", "new")
        #expect(try party.village.settle())
        party.expectShown(Party.content.merging(["new.jpg": "new"]) { $1 })
        #expect(!party.alice.problems.contains { $0.code.hasPrefix("root") }, "\(party.alice.problems)")
    }

    @Test func `a folder that another device shares, or shares no more, stays as it is, file by file`() throws {
        var village = try Village(seed: 1, labels: ["alice"])
        let alice = village.replicas[0]
        for number in 0..<9 {
            try alice.machine.library.write("Trip/IMG_\(number).jpg", "photo \(number)")
            try alice.machine.library.write("Trip/Sea/IMG_\(number).jpg", "photo \(number) of the sea")
        }
        let laptop = try village.addDevice(of: alice, name: "laptop")
        #expect(try village.settle())
        func files() -> [RelativePath: UInt64] {
            laptop.machine.library.entries().filter { path, entry in
                // What says whose folder it is, and how far it was kept, is no file of its user's.
                entry.kind == .file && ![".shoebox/root.json", ".shoebox/token.json"].contains(path.description)
            }.mapValues { $0.stamp.inode }
        }
        let before = files()
        #expect(before.count == 18)
        let trip = alice.path("Trip")
        #expect(
            alice.request(.shareCreate(paths: [trip], title: "Trip", publicPermission: "none", isSealed: true)).code
                == 0
        )
        #expect(try village.settle())
        #expect(files() == before)
        #expect(alice.request(.stop(share: "Trip")).code == 0)
        #expect(try village.settle())
        #expect(files() == before)
    }

    /// Two photos swapped names on another device, and one of them is deleted here by the name that it had.
    @Test(arguments: [
        SimulationScript(
            seed: 20_158,
            steps: [
                .user(machine: 1, root: .shared, .write(folder: 372, name: 249, bytes: 105)),
                .user(machine: 2, root: .library, .delete(file: 357)), .sync(machine: 1), .sync(machine: 2),
                .user(machine: 2, root: .library, .tag(file: 0)),
                .user(machine: 1, root: .shared, .swap(file: 319, with: 690)),
                .user(machine: 1, root: .shared, .caption(file: 105)),
                .user(machine: 2, root: .library, .delete(file: 297)),
            ]),
        SimulationScript(
            seed: 20_070,
            steps: [
                .user(machine: 2, root: .library, .copy(file: 462, name: 589)),
                .user(machine: 2, root: .library, .tag(file: 868)),
                .user(machine: 2, root: .library, .delete(file: 413)),
                .user(machine: 3, root: .shared, .folderToFile(folder: 8)), .sync(machine: 3), .sync(machine: 3),
                .sync(machine: 3), .sync(machine: 0), .user(machine: 0, root: .library, .folderToFile(folder: 183)),
                .user(machine: 0, root: .library, .tag(file: 341)), .sync(machine: 2),
                .user(machine: 0, root: .library, .write(folder: 944, name: 580, bytes: 144)), .sync(machine: 0),
                .sync(machine: 0), .user(machine: 0, root: .library, .deleteFolder(folder: 411)),
                .user(machine: 0, root: .library, .swap(file: 587, with: 129)),
                .user(machine: 2, root: .library, .beginWriting(folder: 348, name: 428, bytes: 74)),
                .sync(machine: 2), .user(machine: 2, root: .library, .delete(file: 371)),
            ]),
    ])
    func `who takes the place of a photo that left its sidecar there gets one of its own`(script: SimulationScript) {
        #expect(EngineRun(script: script, isVillage: false).failures == [])
    }

    @Test func `an edit that counts for nobody is kept beside a file that stands where its folder would`() throws {
        let party = try Party(bob: "readOnly")
        try party.bob.machine.library.write("Private copies of Summer", "a file")
        try party.bob.machine.shared.write("alice/Summer/a.jpg", "bob's edit")
        #expect(try party.village.settle())
        #expect(
            party.bob.tree(.library) == [
                "Private copies of Summer": "a file", "Private copies of Summer 2/a.jpg": "bob's edit",
            ])
        party.expectNamed("undone", by: [party.bob], containing: "'Private copies of Summer 2'")
        party.expectShown()
    }

    @Test func `a photo that was deleted just before its share was stopped on another device goes everywhere`() throws {
        var party = try Party(bob: "readWrite")
        let laptop = try party.village.addDevice(of: party.alice, name: "laptop")
        #expect(try party.village.settle())
        try laptop.machine.library.delete("Summer/deep/b.jpg")
        try party.rounds(of: laptop, 6)
        // Alice knows of the deletion, and stops the share; a third device hears of both at once.
        #expect(party.alice.request(.stop(share: "Summer")).code == 0)
        #expect(try party.village.settleDeletions())
        for replica in [party.alice, laptop] {
            #expect(
                replica.tree(.library) == ["Summer/a.jpg": "aaa", "Private/c.jpg": "ccc"], "\(replica.machine.name)")
        }
    }

    @Test func `a folder of tag files that was deleted is written again`() throws {
        let village = try Village(labels: ["alice"])
        let alice = village.replicas[0]
        try alice.machine.library.write("a.jpg", "one")
        #expect(try village.settle())
        #expect(alice.request(.tag(path: alice.path("a.jpg"), titles: ["Lake"], isMember: true)).code == 0)
        #expect(try village.settle())
        let before = alice.machine.library.tree().filter { $0.key.hasPrefix(".tags/") }
        #expect(before.count == 1)
        try alice.machine.library.delete(".tags")
        try #require(try village.settle())
        // Not at once: it would keep a folder that is just being removed from going.
        #expect(alice.machine.library.tree().keys.allSatisfy { !$0.hasPrefix(".tags/") })
        village.world.clock.advance(milliseconds: 31_000)
        try #require(try village.settle())
        #expect(alice.machine.library.tree().filter { $0.key.hasPrefix(".tags/") } == before)
        #expect(alice.sidecar("a.jpg", .library)?.fields.tags == ["Lake"])
    }

    @Test func `a file that takes the name which a folder was given to give way shows, and the folder gives way again`()
        throws
    {
        let (village, alice, laptop) = try Village.twoDevices(["x.jpg": "x"], second: "laptop")
        // Neither knows of the other's yet.
        for device in [alice, laptop] {
            try device.machine.library.write("Trip/\(device.machine.name).jpg", device.machine.name)
            for _ in 0..<3 {
                _ = try device.engine.round(.all, reachesContainer: false)
                village.world.clock.advance(milliseconds: 700)
            }
            let made = device.request(
                .shareCreate(paths: [device.path("Trip")], title: "Trip", publicPermission: "none", isSealed: true))
            try #require(made.code == 0, "\(made)")
        }
        try #require(try village.settle())
        try #require(laptop.tree(.library).keys.contains { $0.hasPrefix("Trip (alice)/") }, "\(laptop.tree(.library))")
        try laptop.machine.library.delete("Trip (alice)")
        try laptop.machine.library.write("Trip (alice)", "a file")
        #expect(try village.settleDeletions())
        #expect(alice.isQuiet && laptop.isQuiet)
        #expect(treeDifference(laptop.files(.library), alice.files(.library)) == [])
        #expect(Set(alice.tree(.library).values).isSuperset(of: ["x", "a file", "alice", "laptop"]))
    }

    @Test func `deletions that are held back stay so when a few more come`() throws {
        var files = ["Few/a.jpg": "a.jpg", "Few/b.jpg": "b.jpg"]
        for number in 0..<10 { files["Many/\(number).jpg"] = "many \(number)" }
        let (village, alice, laptop) = try Village.twoDevices(files) { $0.massDeletionCount = 4 }
        /// As with a watcher, which tells of a folder once.
        func rounds(in folder: String) throws {
            let path = try #require(RelativePath(folder))
            for directories in [[.library: [path]], [:], [:], [:]] as [[RootKind: Set<RelativePath>]] {
                try alice.round(.directories(directories))
                village.world.clock.advance(milliseconds: 20_000)
            }
        }
        for number in 0..<10 { try alice.machine.library.delete("Many/\(number).jpg") }
        try rounds(in: "Many")
        #expect(alice.problems.map(\.code) == ["massDeletion"])
        try alice.machine.library.delete("Few/a.jpg")
        // So that the few are none of the many.
        village.world.clock.advance(milliseconds: 3_600_000)
        try rounds(in: "Few")
        #expect(alice.problems.map(\.code) == ["massDeletion"])
        #expect(alice.request(.confirmDeletions).code == 0)
        for _ in 0..<6 {
            try alice.round(.directories([:]))
            village.world.clock.advance(milliseconds: 20_000)
        }
        for _ in 0..<4 { try laptop.round() }
        #expect(laptop.tree(.library) == ["Few/b.jpg": "b.jpg"])
        #expect(alice.problems.isEmpty)
    }

    @Test func `a folder that stands for what others put into it is one of its own when it is moved`() throws {
        let party = try Party(bob: "readWrite")
        let (hers, bobs) = (party.alice.machine.library, party.bob.machine.shared)
        try hers.write("Summer/Sea/x.jpg", "x")
        #expect(try party.village.settle())
        // Bob does not know yet that the folder was taken out of the share.
        try hers.move("Summer/Sea", to: "Lake")
        try bobs.write("alice/Summer/Sea/Late/y.jpg", "y")
        for replica in [party.alice, party.bob] { try party.rounds(of: replica, 3, reachesContainer: false) }
        #expect(try party.village.settle())
        #expect(party.alice.tree(.library)["Summer/Sea/Late/y.jpg"] == "y")
        _ = hers.takeDirty()
        try hers.move("Summer/Sea", to: "Hill")
        for _ in 0..<10 {
            try party.alice.round(.directories([.library: hers.takeDirty()]))
            party.village.world.clock.advance(milliseconds: 700)
        }
        #expect(try party.village.settleDeletions())
        let shown = party.alice.tree(.library)
        #expect(shown["Lake/x.jpg"] == "x" && shown["Hill/Late/y.jpg"] == "y" && shown.count == 5, "\(shown)")
    }

    @Test func `a sidecar that is deleted just after its photo moved into a share is written again`() throws {
        let (village, alice, laptop) = try Village.twoDevices(["a.jpg": "a", "Trip/b.jpg": "b"])
        let trip = alice.path("Trip")
        alice.request(.shareCreate(paths: [trip], title: "Trip", publicPermission: "none", isSealed: true))
        alice.request(.caption(path: alice.path("a.jpg"), text: "word"))
        #expect(try village.settle())
        let disk = laptop.machine.library
        _ = disk.takeDirty()
        try disk.move("a.jpg", to: "Trip/a.jpg")
        try laptop.round(.directories([.library: disk.takeDirty()]))
        try disk.delete("Trip/a.jpg.json")
        for _ in 0..<4 {
            try laptop.round(.directories([.library: disk.takeDirty()]))
            village.world.clock.advance(milliseconds: 700)
        }
        #expect(try disk.text("Trip/a.jpg.json").contains("word"))
    }
}
