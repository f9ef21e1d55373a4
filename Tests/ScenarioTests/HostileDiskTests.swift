import Shoebox
import ShoeboxCloud
import ShoeboxLibrary
import ShoeboxModel
import ShoeboxPlanning
import ShoeboxStore
import ShoeboxTestSupport
import ShoeboxWorld
import Testing

/// Disks that are mounted over, taken away, exchanged or named anew: what is not there for that is not deleted.
@Suite struct HostileDiskTests {
    /// Cameras give the same names again.
    @Test(arguments: [true, false], ["lost+found/x", "a.jpg", "deep/b.jpg"])
    func `another disk mounted over an album, or taken from it, deletes nothing`(
        isMountedOver: Bool, foreign: String
    ) throws {
        var village = try Village(labels: ["alice"])
        let alice = village.replicas[0]
        let laptop = try village.addDevice(of: alice, name: "laptop")
        let disk = alice.machine.library
        let album = try #require(RelativePath("Album"))
        if !isMountedOver { disk.setMountPoints([album]) }
        try disk.write("Album/a.jpg", "aaa")
        try disk.write("Album/deep/b.jpg", "bbb")
        try disk.write("c.jpg", "ccc")
        try #require(try village.settle())
        let before = disk.snapshot()
        // Another directory stands in the album's place, with something foreign in it.
        try disk.delete("Album")
        try disk.write("Album/\(foreign)", "foreign")
        disk.setMountPoints(isMountedOver ? [album] : [])
        try village.pass(6)
        #expect(alice.problems.map(\.code) == ["folderOffline"])
        #expect(laptop.tree(.library) == ["Album/a.jpg": "aaa", "Album/deep/b.jpg": "bbb", "c.jpg": "ccc"])
        // What comes meanwhile is not written onto the wrong disk.
        try laptop.machine.library.write("Album/new.jpg", "new")
        try village.pass(6)
        #expect(alice.tree(.library) == ["Album/\(foreign)": "foreign", "c.jpg": "ccc"])
        disk.restore(before)
        disk.setMountPoints(isMountedOver ? [] : [album])
        try #require(try village.settle())
        #expect(alice.problems.isEmpty, "\(alice.problems)")
        for replica in [alice, laptop] {
            #expect(
                replica.tree(.library) == [
                    "Album/a.jpg": "aaa", "Album/deep/b.jpg": "bbb", "Album/new.jpg": "new", "c.jpg": "ccc",
                ])
        }
        // And a folder that is removed and made again by its user is what it looks like.
        disk.setMountPoints([])
        try disk.delete("Album/deep")
        try disk.makeDirectories(try #require(RelativePath("Album/deep")))
        try #require(try village.settle())
        #expect(laptop.tree(.library)["Album/deep/b.jpg"] == nil)
    }

    @Test(arguments: [true, false])
    func `where it can't be told for a moment what is mounted, nothing is taken as deleted`(isMountedOver: Bool) throws
    {
        var village = try Village(labels: ["alice"])
        let alice = village.replicas[0]
        let laptop = try village.addDevice(of: alice, name: "laptop")
        let disk = alice.machine.library
        let album = try #require(RelativePath("Album"))
        func failForAMoment() {
            let calls = Mutex(0)
            alice.machine.faults.setRule { operation in
                guard operation.part == "library", operation.name == "device" else { return nil }
                return calls.withLock { number in
                    number += 1
                    return number <= 3 ? .fail(.inputOutput) : nil
                }
            }
        }
        if !isMountedOver { disk.setMountPoints([album]) }
        try disk.write("Album/a.jpg", "aaa")
        try disk.write("Album/deep/b.jpg", "bbb")
        failForAMoment()
        try village.pass(12)
        try #require(try village.settle())
        let before = disk.snapshot()
        try disk.delete("Album")
        try disk.write("Album/foreign.jpg", "foreign")
        disk.setMountPoints(isMountedOver ? [album] : [])
        failForAMoment()
        try village.pass(20)
        #expect(laptop.tree(.library) == ["Album/a.jpg": "aaa", "Album/deep/b.jpg": "bbb"])
        #expect(alice.problems.map(\.code) == ["folderOffline"])
        disk.restore(before)
        disk.setMountPoints(isMountedOver ? [] : [album])
        try #require(try village.settle())
        #expect(laptop.tree(.library) == alice.tree(.library) && alice.problems.isEmpty, "\(alice.problems)")
    }

    @Test(arguments: [true, false])
    func `what lies on a disk that is away goes along when its folder is shared`(isSelection: Bool) throws {
        var village = try Village(labels: ["alice"])
        let alice = village.replicas[0]
        let laptop = try village.addDevice(of: alice, name: "laptop")
        let disk = alice.machine.library
        let album = try #require(RelativePath("Trip/Album"))
        disk.setMountPoints([album])
        let files = ["Trip/Album/a.jpg": "aaa", "Trip/Album/deep/b.jpg": "bbb", "Trip/c.jpg": "ccc"]
        for (path, text) in files { try disk.write(path, text) }
        try disk.write("x.jpg", "xxx")
        try #require(try village.settle())
        let before = disk.snapshot()
        // The disk is away, and where it was is an empty directory.
        try disk.delete("Trip/Album")
        try disk.makeDirectories(album)
        disk.setMountPoints([])
        let paths = isSelection ? [alice.path("Trip"), alice.path("x.jpg")] : [alice.path("Trip")]
        let reply = alice.request(
            .shareCreate(paths: paths, title: "Trip", publicPermission: "none", isSealed: true))
        #expect(reply.code == 0, "\(reply)")
        try village.pass(8)
        let all = files.merging(["x.jpg": "xxx"]) { $1 }
        #expect(laptop.tree(.library) == all)
        disk.restore(before)
        disk.setMountPoints([album])
        try #require(try village.settle())
        for replica in [alice, laptop] { #expect(replica.tree(.library) == all, "\(replica.label)") }
        let zone = try #require(try alice.store.read { db in try db.zones() }.first { $0.kind == .share })
        let shared = try alice.store.read { db in try db.base(in: zone.id) }.filter { $0.kind == .file }
        #expect(shared.count == (isSelection ? 4 : 3))
    }

    @Test(arguments: [false, true])
    func `setting up again over another folder, with a part of what is known, is refused, and deletes nothing`(
        takesOver: Bool
    ) throws {
        var village = try Village(labels: ["alice"])
        let alice = village.replicas[0]
        let laptop = try village.addDevice(of: alice, name: "laptop")
        let disk = alice.machine.library
        let files = ["a.jpg": "a", "b.jpg": "b", "c.jpg": "c", "d.jpg": "d"]
        for (path, text) in files { try disk.write(path, text) }
        try #require(try village.settle())
        disk.unmount(.replaced)
        for name in ["a", "b", "c"] { try disk.write("\(name).jpg", name) }
        try alice.restart()
        #expect(throws: RequestError.self) { try alice.engine.setUp(host: "alice", takeOver: takesOver) }
        for _ in 0..<3 {
            try village.pass(6)
            village.world.clock.advance(milliseconds: 40_000)
        }
        #expect(laptop.tree(.library) == files)
        #expect(alice.problems.map(\.code) == ["rootOffline"])
        disk.mount()
        try alice.engine.setUp(host: "alice", takeOver: takesOver)
        try #require(try village.settle())
        #expect(alice.problems.isEmpty && laptop.tree(.library) == files, "\(alice.problems)")
    }

    @Test func `a marker that the user put into an empty folder deletes nothing`() throws {
        var village = try Village(labels: ["alice"])
        let alice = village.replicas[0]
        let laptop = try village.addDevice(of: alice, name: "laptop")
        let disk = alice.machine.library
        for name in ["a", "b", "c"] { try disk.write("\(name).jpg", name) }
        try #require(try village.settle())
        let marker = try disk.read(".shoebox/root.json")
        disk.unmount(.replaced)
        try disk.write(try #require(RelativePath(".shoebox/root.json")), bytes: marker)
        try village.pass(8)
        #expect(laptop.tree(.library).count == 3)
        #expect(alice.problems.map(\.code) == ["massDeletion"])
        disk.mount()
        try #require(try village.settle())
        #expect(alice.problems.isEmpty && laptop.tree(.library).count == 3, "\(alice.problems)")
    }

    /// Puts another directory in a watched one's place, with its marker and these files.
    private func putCopy(in disk: SimulatedDisk, of files: [String: String]) throws {
        let marker = try disk.read(".shoebox/root.json")
        disk.unmount(.replaced)
        for (path, text) in files.sorted(by: { $0.key < $1.key }) { try disk.write(path, text) }
        try disk.write(try #require(RelativePath(".shoebox/root.json")), bytes: marker)
    }

    @Test(arguments: ["confirmed", "rejected", "mounted"])
    func `a copy of the library, marker and all, that lacks one file deletes nothing without a word`(end: String) throws
    {
        var village = try Village(labels: ["alice"])
        let alice = village.replicas[0]
        let laptop = try village.addDevice(of: alice, name: "laptop")
        let disk = alice.machine.library
        let files = ["a.jpg": "a", "b.jpg": "b", "c.jpg": "c", "d.jpg": "d"]
        for (path, text) in files { try disk.write(path, text) }
        try #require(try village.settle())
        try putCopy(in: disk, of: files.filter { $0.key != "d.jpg" })
        try alice.restart()
        try village.pass(8)
        #expect(laptop.tree(.library) == files)
        #expect(alice.problems.map(\.code) == ["massDeletion"], "\(alice.problems)")
        var expected = files
        switch end {
        case "confirmed":
            #expect(alice.request(.confirmDeletions).code == 0)
            expected["d.jpg"] = nil
        case "rejected":
            // What is put into the wrong folder is not where its user looks for it.
            #expect(alice.request(.rejectDeletions).code != 0)
            try disk.write("d.jpg", "d")
        default: disk.mount()
        }
        try #require(try village.settle())
        #expect(alice.problems.isEmpty && laptop.tree(.library) == expected, "\(alice.problems)")
        guard end != "mounted" else {
            #expect(alice.tree(.library) == expected)
            return
        }
        let copy = disk.replacementTree.filter { !$0.key.hasPrefix(".") }
        #expect(copy == expected.mapValues { Array($0.utf8) })
        // It is the library from now on.
        try disk.delete("a.jpg")
        try #require(try village.settle())
        expected["a.jpg"] = nil
        #expect(alice.problems.isEmpty && laptop.tree(.library) == expected, "\(alice.problems)")
    }

    /// As when a disk died, and the folder is restored to a new one.
    @Test(arguments: ["accepted", "taken out"])
    func `a backup of the library on another disk brings nothing back that was deleted since, and gets what it lacks`(
        end: String
    ) throws {
        var village = try Village(labels: ["alice"])
        let alice = village.replicas[0]
        let laptop = try village.addDevice(of: alice, name: "laptop")
        let disk = alice.machine.library
        let backup = ["a.jpg": "a", "Album/gone.jpg": "gone", "c.jpg": "c"]
        for (path, text) in backup { try disk.write(path, text) }
        try #require(try village.settle())
        try laptop.machine.library.delete("Album/gone.jpg")
        try disk.write("new.jpg", "new")
        for _ in 0..<4 { _ = try village.settleDeletions() }
        var files = ["a.jpg": "a", "c.jpg": "c", "new.jpg": "new"]
        try #require(laptop.tree(.library) == files && alice.tree(.library) == files)
        try putCopy(in: disk, of: backup)
        try alice.restart()
        try disk.write("own.jpg", "made there")
        for _ in 0..<4 {
            try village.pass(4)
            village.world.clock.advance(milliseconds: 20_000)
        }
        files["own.jpg"] = "made there"
        #expect(laptop.tree(.library) == files)
        #expect(Set(alice.problems.map(\.code)) == ["massDeletion", "rootReturned"], "\(alice.problems)")
        if end == "accepted" {
            let reply = alice.request(.acceptFolders)
            #expect(reply.code == 0 && reply.values["restored"] == "1", "\(reply)")
        } else {
            try disk.delete("Album/gone.jpg")
            try disk.write("new.jpg", "new")
        }
        for _ in 0..<4 { _ = try village.settleDeletions() }
        try #require(try village.settle())
        #expect(alice.problems.isEmpty && laptop.tree(.library) == files, "\(alice.problems)")
        let copy = disk.replacementTree.filter { !$0.key.hasPrefix(".") && !$0.key.hasSuffix(".json") }
        #expect(copy == files.mapValues { Array($0.utf8) })
        let isInTrash = disk.replacementTree.contains {
            $0.key.contains(".shoebox/trash/") && $0.value == Array("gone".utf8)
        }
        #expect(isInTrash == (end == "accepted"))
        // It is the library from now on.
        #expect(alice.request(.acceptFolders).values["restored"] == nil)
        try disk.delete("a.jpg")
        for _ in 0..<4 { _ = try village.settleDeletions() }
        files["a.jpg"] = nil
        #expect(alice.problems.isEmpty && laptop.tree(.library) == files, "\(alice.problems)")
    }

    @Test func `folders that were exchanged are not served`() throws {
        let party = try Party(bob: "readWrite")
        let (bob, disk) = (party.bob, party.bob.machine.shared)
        let marker = try disk.text(".shoebox/root.json")
        try disk.write(".shoebox/root.json", marker.replacing("\"shared\"", with: "\"private\""))
        try disk.write("alice/Summer/new.jpg", "new")
        try party.village.pass(8)
        #expect(bob.problems.map(\.code) == ["rootForeign"], "\(bob.problems)")
        #expect(party.alice.tree(.library)["Summer/new.jpg"] == nil)
        try disk.write(".shoebox/root.json", marker)
        try #require(try party.village.settle())
        #expect(bob.problems.isEmpty && party.alice.tree(.library)["Summer/new.jpg"] == "new", "\(bob.problems)")
    }

    /// What equal bytes could come from is looked for where they are found.
    @Test func `a copy of the library that lacks one of two equal files deletes nothing without a word`() throws {
        var village = try Village(labels: ["alice"])
        let alice = village.replicas[0]
        let laptop = try village.addDevice(of: alice, name: "laptop")
        let disk = alice.machine.library
        let files = ["Album/a.jpg": "equal", "Best/a.jpg": "equal", "b.jpg": "b"]
        for (path, text) in files { try disk.write(path, text) }
        try #require(try village.settle())
        try putCopy(in: disk, of: files.filter { $0.key != "Best/a.jpg" })
        try alice.restart()
        try village.pass(8)
        #expect(laptop.tree(.library) == files)
        #expect(alice.problems.map(\.code) == ["massDeletion"], "\(alice.problems)")
        disk.mount()
        try #require(try village.settle())
        #expect(laptop.tree(.library) == files && alice.tree(.library) == files)
    }

    /// As when it was moved to another disk, while no daemon ran; after the start only what a watcher names is looked at.
    @Test func `a whole copy of the folder of shares gets what others do`() throws {
        let party = try Party(bob: "readWrite")
        let (bob, disk) = (party.bob, party.bob.machine.shared)
        try #require(try party.village.settle())
        try putCopy(in: disk, of: bob.tree(.shared))
        try bob.restart()
        try party.alice.machine.library.write("Summer/a.jpg", "edited since")
        try party.alice.machine.library.write("Summer/new.jpg", "new")
        for round in 0..<120 {
            try bob.round(round == 0 ? .all : .directories([.shared: disk.takeDirty()]))
            try party.alice.round()
            party.village.world.clock.advance(milliseconds: 700)
        }
        // What is in the copy, and not in the folder that it was made of.
        #expect(String(decoding: try disk.read("alice/Summer/a.jpg"), as: UTF8.self) == "edited since")
        #expect(String(decoding: try disk.read("alice/Summer/new.jpg"), as: UTF8.self) == "new")
        #expect(bob.problems.isEmpty, "\(bob.problems)")
    }

    @Test func `a copy of the library that can't be wholly looked at is not taken for the library`() throws {
        var village = try Village(labels: ["alice"])
        let alice = village.replicas[0]
        let laptop = try village.addDevice(of: alice, name: "laptop")
        let disk = alice.machine.library
        let files = ["2024/a.jpg": "a", "2024/b.jpg": "b", "c.jpg": "c"]
        for (path, text) in files { try disk.write(path, text) }
        try #require(try village.settle())
        try putCopy(in: disk, of: files.filter { $0.key != "2024/b.jpg" })
        let folder = try #require(RelativePath("2024"))
        disk.setUnreadable(folder)
        try alice.restart()
        try village.pass(8)
        #expect(Set(alice.problems.map(\.code)) == ["unreadable", "rootReplaced"], "\(alice.problems)")
        disk.setUnreadable(folder, false)
        try village.pass(8)
        #expect(laptop.tree(.library) == files)
        #expect(alice.problems.contains { $0.code == "massDeletion" }, "\(alice.problems)")
        disk.mount()
        try #require(try village.settle())
        #expect(alice.problems.isEmpty && laptop.tree(.library) == files, "\(alice.problems)")
    }

    @Test(arguments: [false, true])
    func `a library that was put back to a snapshot deletes nothing of what came after it`(isConfirmed: Bool) throws {
        var village = try Village(labels: ["alice"])
        let alice = village.replicas[0]
        let laptop = try village.addDevice(of: alice, name: "laptop")
        let disk = alice.machine.library
        for name in ["a", "b", "c"] { try disk.write("\(name).jpg", name) }
        try #require(try village.settle())
        let snapshot = disk.snapshot()
        try disk.write("new.jpg", "new")
        try #require(try village.settle())
        var files = laptop.tree(.library)
        #expect(files.count == 4)
        disk.restore(snapshot)
        try alice.restart()
        try village.pass(8)
        #expect(laptop.tree(.library) == files)
        #expect(alice.problems.map(\.code) == ["massDeletion"], "\(alice.problems)")
        if isConfirmed { files["new.jpg"] = nil }
        #expect(alice.request(isConfirmed ? .confirmDeletions : .rejectDeletions).code == 0)
        try #require(try village.settle())
        for replica in [alice, laptop] { #expect(replica.tree(.library) == files, "\(replica.label)") }
        // As always from now on.
        try disk.delete("a.jpg")
        try #require(try village.settle())
        #expect(alice.problems.isEmpty && laptop.tree(.library)["a.jpg"] == nil, "\(alice.problems)")
    }

    @Test func `a library that was put back to a snapshot takes back nothing of what others did since`() throws {
        var village = try Village(labels: ["alice"])
        let alice = village.replicas[0]
        let laptop = try village.addDevice(of: alice, name: "laptop")
        let disk = alice.machine.library
        for path in ["Album/a.jpg", "Album/b.jpg", "c.jpg"] { try disk.write(path, path) }
        try #require(try village.settle())
        let snapshot = disk.snapshot()
        try laptop.machine.library.write("Album/a.jpg", "edited since")
        try laptop.machine.library.delete("Album/b.jpg")
        try #require(try village.settle())
        let files = ["Album/a.jpg": "edited since", "c.jpg": "c.jpg"]
        #expect(alice.tree(.library) == files)
        disk.restore(snapshot)
        try alice.restart()
        try disk.write("own.jpg", "written after that")
        try #require(try village.settle())
        for replica in [alice, laptop] {
            #expect(
                replica.tree(.library) == files.merging(["own.jpg": "written after that"]) { $1 }, "\(replica.label)")
        }
        #expect(alice.problems.isEmpty, "\(alice.problems)")
        // As always from now on.
        try disk.write("Album/a.jpg", "Album/a.jpg")
        try #require(try village.settle())
        #expect(laptop.tree(.library)["Album/a.jpg"] == "Album/a.jpg")
    }

    /// What stands in another file's place is looked for in both folders first.
    /// What goes wrong with a file that is to be put away.
    enum Trouble: CaseIterable {
        case none, anything, reading, trash

        func strikes(_ operation: SimulatedFaults.Operation) -> Bool {
            switch self {
            case .none: false
            case .anything: operation.path.hasSuffix("gone.jpg")
            case .reading: operation.path.hasSuffix("gone.jpg") && ["open", "read"].contains(operation.name)
            case .trash: operation.path.hasPrefix(".shoebox/trash") && !Deed.isLook(operation.name)
            }
        }
    }

    @Test(arguments: Trouble.allCases)
    func `a folder of shares that was put back takes back nothing of what others did since`(trouble: Trouble) throws {
        let party = try Party(bob: "readWrite")
        let (bob, disk) = (party.bob, party.bob.machine.shared)
        try party.alice.machine.library.write("Summer/deep/gone.jpg", "gone")
        try #require(try party.village.settle())
        let snapshot = disk.snapshot()
        try party.alice.machine.library.write("Summer/a.jpg", "edited since")
        try party.alice.machine.library.delete("Summer/deep/gone.jpg")
        try #require(try party.village.settle())
        let content = ["a.jpg": "edited since", "deep/b.jpg": "bbb"]
        party.expectShown(content)
        disk.restore(snapshot)
        try bob.restart()
        bob.machine.faults.setRule { operation in
            operation.part == "shared" && trouble.strikes(operation)
                ? .fail(trouble == .trash ? .full : .inputOutput) : nil
        }
        try party.village.pass(4)
        party.expectShown(content)
        bob.machine.faults.setRule(nil)
        for _ in 0..<3 {
            try party.village.pass(4)
            party.village.world.clock.advance(milliseconds: 40_000)
        }
        try #require(try party.village.settle())
        party.expectShown(content)
        #expect(bob.tree(.shared) == ["alice/Summer/a.jpg": "edited since", "alice/Summer/deep/b.jpg": "bbb"])
        #expect(bob.problems.isEmpty, "\(bob.problems)")
    }

    @Test func `a question about the library does not keep what others share from coming`() throws {
        let party = try Party(bob: "readWrite")
        let bob = party.bob
        bob.tune = { $0.massDeletionCount = 1 }
        for number in 0..<8 { try bob.machine.library.write("Album/\(number).jpg", "photo \(number)") }
        try #require(try party.village.settle())
        try bob.machine.library.delete("Album")
        try party.village.pass(8)
        #expect(bob.problems.map(\.code) == ["massDeletion"], "\(bob.problems)")
        bob.machine.shared.changeDevice()
        try bob.restart()
        try party.alice.machine.library.write("Summer/new.jpg", "new")
        try party.village.pass(8)
        #expect(bob.problems.map(\.code) == ["massDeletion"], "\(bob.problems)")
        #expect(bob.tree(.shared)["alice/Summer/new.jpg"] == "new")
    }

    /// Only the first look is at everything, as a daemon's.
    @Test
    func `a library that has another device number after a restart goes on, though something was deleted meanwhile`()
        throws
    {
        var village = try Village(labels: ["alice"])
        let alice = village.replicas[0]
        let laptop = try village.addDevice(of: alice, name: "laptop")
        let disk = alice.machine.library
        for name in ["a", "b", "c"] { try disk.write("\(name).jpg", name) }
        try #require(try village.settle())
        disk.changeDevice()
        try disk.delete("a.jpg")
        try laptop.machine.library.write("new.jpg", "new")
        try laptop.round()
        try alice.restart()
        try alice.round(.all)
        for _ in 0..<8 {
            village.world.clock.advance(milliseconds: 2_000)
            try laptop.round()
            try alice.round(.directories([:]))
        }
        for replica in [alice, laptop] {
            #expect(replica.tree(.library) == ["b.jpg": "b", "c.jpg": "c", "new.jpg": "new"], "\(replica.label)")
        }
        #expect(alice.problems.isEmpty, "\(alice.problems)")
    }
}
