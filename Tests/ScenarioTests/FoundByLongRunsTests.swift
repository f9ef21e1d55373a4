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

    @Test func `a photo that can't be read when it is to be published is named, and keeps nothing else back`() throws {
        let party = try Party(bob: "readWrite")
        for name in ["x.jpg", "y.jpg"] { try party.alice.machine.library.write("Summer/\(name)", name) }
        try party.rounds(of: party.alice, 3, reachesContainer: false)
        party.alice.machine.faults.setRule { operation in
            operation.name == "read" && operation.path == "Summer/x.jpg" ? .fail(.inputOutput) : nil
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
                entry.kind == .file && !path.description.hasPrefix(".shoebox/root")
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
        #expect(try village.settle())
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

    /// One device moves a photo out of a share, another makes a photo in it and the third deletes that; then it is stopped.
    @Test func `what was deleted in a share that another device brought home is shown by none`() {
        let script = SimulationScript(
            seed: 50_098,
            steps: [
                .command(machine: 2, root: .shared, .remove(share: 844, file: 863)),
                .user(machine: 3, root: .library, .makeFolder(in: 650, name: 390)),
                .user(machine: 3, root: .library, .write(folder: 471, name: 5, bytes: 195)), .sync(machine: 3),
                .sync(machine: 2), .userDuring(machine: 2, afterCalls: 16, root: .library, .delete(file: 99)),
                .sync(machine: 2), .sync(machine: 2), .sync(machine: 2),
                .command(machine: 0, root: .library, .stop(share: 328)),
            ])
        #expect(EngineRun(script: script).failures == [])
    }

    @Test func `deletions that are held back stay so while fewer are taken elsewhere`() throws {
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

    /// The deletion waits to be sure of it when the photo, and all beside it, go to the private library.
    @Test func `what was deleted just before another device stopped the share is deleted`() {
        let script = SimulationScript(
            seed: 83_029,
            steps: [
                .user(machine: 6, root: .library, .write(folder: 163, name: 549, bytes: 14)), .sync(machine: 6),
                .user(machine: 6, root: .library, .delete(file: 862)),
                .command(machine: 0, root: .library, .stop(share: 392)),
            ])
        #expect(EngineRun(script: script).failures == [])
    }

    /// Two devices share a folder at once, and a third one hears of one of the shares only after it gave way to the other.
    @Test func `what moved through a share that a device never joined is followed`() {
        let script = SimulationScript(
            seed: 86_057,
            steps: [
                .command(machine: 0, root: .library, .share(folder: 232)), .sync(machine: 2),
                .fault(machine: 2, .call(after: 13, .crash)), .sync(machine: 0),
                .user(machine: 1, root: .library, .makeFolder(in: 512, name: 970)),
                .user(machine: 1, root: .library, .writeMany(folder: 142, count: 10, bytes: 194)),
                .user(machine: 3, root: .shared, .delete(file: 395)), .sync(machine: 0),
                .user(machine: 3, root: .shared, .caption(file: 414)), .sync(machine: 1),
                .user(machine: 2, root: .shared, .breakSidecar(file: 399)), .sync(machine: 1),
                .user(machine: 1, root: .library, .makeFolder(in: 779, name: 602)),
                .command(machine: 0, root: .library, .restoreTrash),
                .command(machine: 0, root: .library, .leave(share: 78, keepsCopy: false)),
                .command(machine: 1, root: .library, .leave(share: 831, keepsCopy: true)),
                .command(machine: 3, root: .library, .permit(share: 292, account: 650, .readWrite)),
                .user(machine: 0, root: .shared, .makeFolder(in: 233, name: 6)), .sync(machine: 3),
                .command(machine: 3, root: .library, .accept), .sync(machine: 2),
                .user(machine: 3, root: .shared, .write(folder: 39, name: 31, bytes: 127)), .sync(machine: 3),
                .user(machine: 0, root: .library, .move(file: 867, folder: 852)),
                .fault(machine: 1, .powerCut(.random(seed: 17258516903130127306))),
                .user(machine: 3, root: .shared, .write(folder: 221, name: 139, bytes: 24)),
                .userDuring(machine: 3, afterCalls: 22, root: .library, .copy(file: 291, name: 167)), .sync(machine: 1),
                .fault(machine: 3, .call(after: 57, .crash)), .user(machine: 1, root: .library, .delete(file: 299)),
                .sync(machine: 2), .command(machine: 0, root: .shared, .restoreVersion(file: 602)),
                .user(machine: 3, root: .shared, .tag(file: 0)), .sync(machine: 2), .sync(machine: 0),
                .user(machine: 3, root: .shared, .overwrite(file: 148, .inPlace, bytes: 76)),
                .command(machine: 1, root: .shared, .share(folder: 244)), .sync(machine: 3),
                .user(machine: 3, root: .library, .write(folder: 984, name: 433, bytes: 120)),
                .command(machine: 1, root: .shared, .invite(share: 560, account: 619, .readWrite)),
                .user(machine: 0, root: .shared, .moveFolder(folder: 852, into: 975, name: 62)),
                .command(machine: 3, root: .library, .share(folder: 43)), .sync(machine: 0),
                .command(machine: 0, root: .library, .permit(share: 799, account: 669, .admin)),
            ])
        #expect(EngineRun(script: script).failures == [])
    }

    /// The caption was replaced before anything of it was written, and then the share ended.
    @Test func `a caption that its writer replaced at once is not missed where a copy is kept`() {
        let script = SimulationScript(
            seed: 86_056,
            steps: [
                .command(machine: 4, root: .shared, .caption(file: 988)),
                .command(machine: 3, root: .shared, .stop(share: 68)),
                .command(machine: 4, root: .shared, .caption(file: 428)),
            ])
        #expect(EngineRun(script: script, isVillage: true).failures == [])
    }

    @Test func `a file shows in place of a folder that was shared, had tags, and was stopped`() {
        let script = SimulationScript(
            seed: 88_021,
            steps: [
                .command(machine: 3, root: .library, .tagTwice(file: 622)), .sync(machine: 3), .sync(machine: 0),
                .command(machine: 4, root: .shared, .stop(share: 86)), .sync(machine: 0),
                .userDuring(machine: 0, afterCalls: 51, root: .library, .folderToFile(folder: 528)),
                .sync(machine: 0),
            ])
        #expect(EngineRun(script: script, isVillage: true).failures == [])
    }

    @Test func `a folder that left a share and became one of its own is shown as that one by every device`() {
        let script = SimulationScript(
            seed: 94_025,
            steps: [
                .user(machine: 0, root: .library, .fileToFolder(file: 522)), .sync(machine: 0), .sync(machine: 0),
                .sync(machine: 2), .user(machine: 2, root: .library, .moveFolder(folder: 104, into: 488, name: 30)),
                .command(machine: 2, root: .library, .share(folder: 6)),
            ])
        #expect(EngineRun(script: script, isVillage: true).failures == [])
    }

    @Test func `what a share's people deleted as folders goes though another device has stopped the share meanwhile`() {
        let script = SimulationScript(
            seed: 99_049,
            steps: [
                .user(machine: 1, root: .shared, .writeDeep(folder: 800, name: 703, bytes: 173)), .sync(machine: 1),
                .sync(machine: 3), .sync(machine: 0), .command(machine: 3, root: .library, .undo), .sync(machine: 3),
                .command(machine: 2, root: .library, .stop(share: 599)),
            ])
        #expect(EngineRun(script: script).failures == [])
    }

    @Test func `what was taken back before anybody heard of it is not missed where a share ended`() {
        let script = SimulationScript(
            seed: 99_098,
            steps: [
                .command(machine: 1, root: .shared, .tagTwice(file: 289)),
                .command(machine: 0, root: .library, .stop(share: 134)), .command(machine: 1, root: .library, .undo),
            ])
        #expect(EngineRun(script: script).failures == [])
    }

    @Test func `a copy made in a share that another device stops, and of which it shares a part, is there on both`() {
        let script = SimulationScript(
            seed: 101_109,
            steps: [
                .user(machine: 3, root: .library, .copy(file: 350, name: 490)),
                .command(machine: 0, root: .library, .stop(share: 823)),
                .command(machine: 0, root: .library, .share(folder: 847)),
            ])
        #expect(EngineRun(script: script).failures == [])
    }

    @Test func `a photo put into a folder that was deleted, of a share that was stopped meanwhile, comes home`() {
        let script = SimulationScript(
            seed: 101_101,
            steps: [
                .user(machine: 0, root: .library, .writeDeep(folder: 278, name: 498, bytes: 150)), .sync(machine: 0),
                .sync(machine: 3), .sync(machine: 4), .user(machine: 4, root: .library, .deleteFolder(folder: 698)),
                .user(machine: 3, root: .library, .write(folder: 98, name: 841, bytes: 96)), .sync(machine: 4),
                .sync(machine: 5), .command(machine: 4, root: .library, .stop(share: 145)),
            ])
        #expect(EngineRun(script: script).failures == [])
    }

    @Test func `a photo of a share, in a folder that goes to that share, lies in that folder for all`() {
        let script = SimulationScript(
            seed: 100_097,
            steps: [
                .user(machine: 0, root: .library, .inMoved(folder: 283, into: 489, name: 41, .write, pick: 612)),
                .user(
                    machine: 0, root: .library,
                    .inMoved(folder: 621, into: 759, name: 98, .overwriteAndRename, pick: 84)),
                .command(machine: 0, root: .library, .add(share: 993, file: 632)),
                .user(
                    machine: 0, root: .library, .inMoved(folder: 551, into: 100, name: 25, .moveFolderOut, pick: 230)),
            ])
        #expect(EngineRun(script: script).failures == [])
    }

    @Test func `what others put into a folder taken out of a share comes home with the share, and is known there`() {
        let script = SimulationScript(
            seed: 100_293,
            steps: [
                .user(machine: 1, root: .shared, .writeDeep(folder: 186, name: 777, bytes: 160)),
                .user(machine: 0, root: .library, .inMoved(folder: 603, into: 759, name: 72, .moveFileIn, pick: 793)),
                .sync(machine: 1), .sync(machine: 0), .sync(machine: 0),
                .command(machine: 0, root: .library, .stop(share: 286)),
            ])
        #expect(EngineRun(script: script).failures == [])
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

    /// The process dies as it has published the key, and the container is put back to before that.
    @Test func `a key that went with the container is published again by who writes with it`() {
        let script = SimulationScript(
            seed: 99_106,
            steps: [
                .command(machine: 1, root: .shared, .leave(share: 880, keepsCopy: false)),
                .fault(machine: 0, .call(after: 41, .crash)), .backUpStorage, .sync(machine: 1), .sync(machine: 0),
                .user(machine: 0, root: .library, .write(folder: 166, name: 207, bytes: 21)), .restoreStorage,
            ])
        #expect(EngineRun(script: script).failures == [])
    }

    @Test func `a share that was stopped just before the container was put back to a backup stays stopped`() {
        let script = SimulationScript(
            seed: 60_042,
            steps: [
                .backUpStorage, .user(machine: 4, root: .library, .write(folder: 401, name: 184, bytes: 148)),
                .sync(machine: 4), .sync(machine: 1), .command(machine: 5, root: .library, .stop(share: 664)),
                .sync(machine: 4), .restoreStorage,
            ])
        #expect(EngineRun(script: script).failures == [])
    }

    /// On one device a photo waits aside to swap places with another, whose folder is gone; on another it is deleted.
    @Test func `a photo that is deleted while it is aside does not come back`() {
        let script = SimulationScript(
            seed: 60_052,
            steps: [
                .user(machine: 2, root: .library, .swap(file: 849, with: 53)),
                .user(machine: 0, root: .library, .folderToFile(folder: 336)), .sync(machine: 2),
                .user(machine: 2, root: .library, .delete(file: 914)),
            ])
        #expect(EngineRun(script: script, isVillage: false).failures == [])
    }

    /// First its user is asked whether so many deletions were meant, then whether the share is left.
    @Test func `a share's folder that was deleted just after photos came into it comes back when its user asks`() {
        let script = SimulationScript(
            seed: 121_119,
            steps: [
                .user(machine: 3, root: .library, .writeMany(folder: 413, count: 4, bytes: 39)),
                .sync(machine: 3), .sync(machine: 4),
                .fault(machine: 0, .call(after: 30, .torn(keeping: 0, .full))),
                .user(machine: 4, root: .shared, .deleteShareFolder(share: 208)),
            ])
        #expect(EngineRun(script: script).failures == [])
    }
}
