import Shoebox
import ShoeboxCloud
import ShoeboxLibrary
import ShoeboxModel
import ShoeboxPlanning
import ShoeboxStore
import ShoeboxTestSupport
import ShoeboxWorld
import Testing

/// What looks like a deletion and may be an accident.
@Suite struct HostileDeletionTests {
    /// Rounds of everybody, until a participant's deletions would have been passed on.
    private func waitOut(_ party: Party) throws {
        try party.village.pass(4)
        party.village.world.clock.advance(milliseconds: 40_000)
        try party.village.pass(6)
        party.village.world.clock.advance(milliseconds: 40_000)
        try party.village.pass(6)
    }

    /// Bob's share has a tag, and he begins to remove its folder: the tag files are the first to go.
    private func beginRemoving(_ party: Party) throws {
        let path = party.bob.path("alice/Summer/a.jpg", .shared)
        #expect(party.bob.request(.tag(path: path, titles: ["sea"], isMember: true)).code == 0)
        try #require(try party.village.settle())
        try party.bob.machine.shared.delete("alice/Summer/.tags")
        try party.bob.round()
    }

    @Test(arguments: ["alice/Summer", "alice"])
    func `a participant who deletes the share's folder deletes nothing for others, and may have it back`(
        path: String
    ) throws {
        let party = try Party(bob: "readWrite")
        try party.bob.machine.shared.delete(path)
        try waitOut(party)
        party.expectShown()
        party.expectNamed("leaveOffered", by: [party.bob])
        #expect(party.bob.tree(.shared).isEmpty)
        let reply = party.bob.request(.restoreShare(share: "Summer"))
        #expect(reply.code == 0, "\(reply)")
        try #require(try party.village.settle())
        #expect(party.bob.tree(.shared).values.sorted() == ["aaa", "bbb"])
        #expect(party.bob.problems.isEmpty, "\(party.bob.problems)")
        try party.expectGoesOn()
    }

    @Test func `while it is open whether a share is left, nothing is said to be missing or forbidden in it`() throws {
        let party = try Party(bob: "readWrite")
        try party.bob.machine.shared.delete("alice/Summer")
        try waitOut(party)
        try party.alice.machine.library.write("Summer/while.jpg", "while")
        try party.village.pass(6)
        #expect(party.bob.problems.map(\.code) == ["leaveOffered"], "\(party.bob.problems)")
        try party.bob.machine.shared.write("alice/Summer/fresh.jpg", "fresh")
        try party.village.pass(6)
        party.expectNamed("readOnly", by: [party.bob], containing: "which was deleted here")
        #expect(Set(party.bob.problems.map(\.code)) == ["leaveOffered", "readOnly"])
        #expect(party.bob.request(.restoreShare(share: "Summer")).code == 0)
        #expect(try party.village.settle())
        party.expectShown(Party.content.merging(["while.jpg": "while", "fresh.jpg": "fresh"]) { $1 })
        #expect(party.bob.problems.isEmpty, "\(party.bob.problems)")
    }

    @Test func `a share that was brought back is offered to be left no more, whenever the process dies`() throws {
        let village = try Village(labels: ["alice", "bob"], storesMayDie: true)
        let (alice, bob) = (village.replicas[0], village.replicas[1])
        try alice.machine.library.write("Summer/a.jpg", "aaa")
        try #require(try village.settle())
        let made = alice.request(
            .shareCreate(paths: [alice.path("Summer")], title: "Summer", publicPermission: "none", isSealed: true))
        _ = alice.request(.invite(share: "Summer", accounts: ["bob"], permission: "readWrite"))
        _ = bob.request(.accept(link: made.values["link"] ?? ""))
        for call in 0..<4 {
            try #require(try village.settle())
            try bob.machine.shared.delete("alice/Summer")
            for _ in 0..<3 {
                try bob.round()
                village.world.clock.advance(milliseconds: 40_000)
            }
            #expect(bob.problems.map(\.code) == ["leaveOffered"])
            bob.machine.faults.set(.crash, after: call)
            bob.request(.restoreShare(share: "Summer"))
            bob.machine.faults.clear()
            try bob.restart()
            bob.request(.restoreShare(share: "Summer"))
            try #require(try village.settle())
            #expect(bob.tree(.shared) == ["alice/Summer/a.jpg": "aaa"], "died before call \(call)")
            #expect(bob.problems.isEmpty, "died before call \(call): \(bob.problems)")
        }
    }

    @Test func `removing a share's folder is asked about though something that was written into it keeps it there`()
        throws
    {
        let party = try Party(bob: "readWrite")
        let disk = party.bob.machine.shared
        try beginRemoving(party)
        #expect(!disk.tree().keys.contains { $0.contains(".tags/") }, "not while the folder is being removed")
        try disk.delete("alice/Summer/a.jpg")
        try disk.delete("alice/Summer/deep/b.jpg")
        try waitOut(party)
        party.expectShown()
        party.expectNamed("leaveOffered", by: [party.bob])
        #expect(party.bob.request(.restoreShare(share: "Summer")).code == 0)
        try #require(try party.village.settleDeletions())
        #expect(party.bob.tree(.shared).values.sorted() == ["aaa", "bbb"])
        #expect(disk.tree().keys.contains { $0.contains(".tags/") })
        #expect(party.bob.problems.isEmpty, "\(party.bob.problems)")
    }

    @Test(arguments: [0, 2_000, 40_000] as [UInt64])
    func `a share with tags whose folder was removed comes back whenever that is asked for`(after wait: UInt64) throws {
        let party = try Party(bob: "readWrite")
        let disk = party.bob.machine.shared
        try beginRemoving(party)
        try disk.delete("alice/Summer")
        for _ in 0..<100 where party.bob.problems.isEmpty {
            try party.bob.round()
            party.village.world.clock.advance(milliseconds: 700)
        }
        party.expectNamed("leaveOffered", by: [party.bob])
        party.village.world.clock.advance(milliseconds: wait)
        #expect(party.bob.request(.restoreShare(share: "Summer")).code == 0)
        try #require(try party.village.settleDeletions())
        #expect(party.bob.problems.isEmpty, "\(party.bob.problems)")
        #expect(party.bob.tree(.shared).values.sorted() == ["aaa", "bbb"])
        party.expectShown()
    }

    /// What a person answers who has deleted all of somebody else's photos, and left the folders.
    enum Answer: CaseIterable { case confirm, reject, putBack }

    @Test(arguments: Answer.allCases)
    func `who deletes all that somebody else shares is asked, and may mean it`(answer: Answer) throws {
        let party = try Party(bob: "readWrite")
        let (bob, disk) = (party.bob, party.bob.machine.shared)
        let paths = ["alice/Summer/a.jpg", "alice/Summer/deep/b.jpg"]
        for path in paths { try disk.delete(path) }
        try waitOut(party)
        party.expectShown()
        party.expectNamed("massDeletion", by: [bob], containing: "Everything in 'Summer' is gone")
        switch answer {
        case .confirm: #expect(bob.request(.confirmDeletions).code == 0)
        case .reject: #expect(bob.request(.rejectDeletions).code == 0)
        case .putBack:
            for (path, bytes) in zip(paths, ["aaa", "bbb"]) { try disk.write(path, bytes) }
            // As the watcher tells of it; nobody looks at everything.
            let folders = try ["alice/Summer", "alice/Summer/deep"].map { try #require(RelativePath($0)) }
            for _ in 0..<4 {
                _ = try bob.engine.round(.directories([.shared: Set(folders)]))
                party.village.world.clock.advance(milliseconds: 2_000)
            }
            #expect(bob.problems.isEmpty, "\(bob.problems)")
        }
        try waitOut(party)
        let isDeleted = answer == .confirm
        #expect(party.alice.tree(.library)["Summer/a.jpg"] == (isDeleted ? nil : "aaa"))
        #expect(bob.tree(.shared).values.sorted() == (isDeleted ? [] : ["aaa", "bbb"]))
        #expect(bob.problems.isEmpty, "\(bob.problems)")
    }

    @Test(arguments: ["readOnly", "contribute"])
    func `who may not delete what somebody else shares is not asked, and has it back`(permission: String) throws {
        let party = try Party(bob: permission)
        for path in ["alice/Summer/a.jpg", "alice/Summer/deep/b.jpg"] { try party.bob.machine.shared.delete(path) }
        try waitOut(party)
        party.expectShown()
        #expect(party.bob.tree(.shared).values.sorted() == ["aaa", "bbb"])
        #expect(!party.bob.problems.map(\.code).contains("massDeletion"), "\(party.bob.problems)")
    }

    @Test func `leaving after the folder was deleted leaves`() throws {
        let party = try Party(bob: "readWrite")
        try party.bob.machine.shared.delete("alice/Summer")
        try waitOut(party)
        let reply = party.bob.request(.leave(share: "Summer", keepCopy: false))
        #expect(reply.code == 0, "\(reply)")
        try waitOut(party)
        party.expectShown()
        #expect(party.bob.tree(.shared).isEmpty)
        #expect(party.bob.problems.isEmpty, "\(party.bob.problems)")
    }

    @Test func `an empty folder in place of the share's deletes nothing for others`() throws {
        let party = try Party(bob: "readWrite")
        try party.bob.machine.shared.delete("alice/Summer")
        try party.bob.machine.shared.makeDirectories(try #require(RelativePath("alice/Summer")))
        try waitOut(party)
        party.expectShown()
    }

    @Test
    func `an empty folder in place of the share's deletes nothing for others, also if it can't be listed at first`()
        throws
    {
        let party = try Party(bob: "readWrite")
        try party.bob.machine.shared.delete("alice/Summer")
        try party.bob.machine.shared.makeDirectories(try #require(RelativePath("alice/Summer")))
        party.bob.machine.faults.setRule { operation in
            operation.name == "list" && operation.path == "alice/Summer" ? .fail(.inputOutput) : nil
        }
        try party.bob.round()
        party.bob.machine.faults.setRule(nil)
        try waitOut(party)
        party.expectShown()
    }

    @Test(arguments: ["list", "entry", "open"])
    func `a word for deletions that were held back holds until they are taken, whatever can't be read`(
        call: String
    ) throws {
        let village = try Village(labels: ["alice"])
        let alice = village.replicas[0]
        alice.tune = { $0.massDeletionCount = 1 }
        for number in 0..<8 { try alice.machine.library.write("Album/\(number).jpg", "photo \(number)") }
        try #require(try village.settle())
        try alice.machine.library.delete("Album")
        for _ in 0..<3 {
            try alice.round()
            village.world.clock.advance(milliseconds: 40_000)
        }
        #expect(alice.problems.map(\.code) == ["massDeletion"])
        #expect(alice.request(.confirmDeletions).code == 0)
        // The last call of its name in a round comes when all was decided.
        let first = alice.machine.faults.operationCount
        let before = village.world.snapshot()
        let state = try alice.store.backup()
        try alice.round()
        let calls = alice.machine.faults.log.filter { $0.number >= first && $0.name == call && $0.part == "library" }
        #expect(!calls.isEmpty)
        for number in calls.map({ $0.number - first }) {
            village.world.restore(before)
            try alice.restart(store: try state.backup(), identity: alice.identity)
            alice.machine.faults.set(.fail(.inputOutput), after: number)
            for _ in 0..<4 {
                // A round that fails is followed by another one.
                do { try alice.round() } catch { continue }
                village.world.clock.advance(milliseconds: 40_000)
            }
            #expect(alice.problems.isEmpty, "\(call) \(number): \(alice.problems)")
            let left = try alice.store.read { db in try db.baseCount(root: .library) }
            #expect(left == 0, "\(call) \(number)")
        }
    }

    @Test func `a deletion in somebody else's share waits, and is taken back by putting the file back`() throws {
        let party = try Party(bob: "readWrite")
        let bytes = try party.bob.machine.shared.read("alice/Summer/a.jpg")
        try party.bob.machine.shared.delete("alice/Summer/a.jpg")
        try party.village.pass(6)
        party.village.world.clock.advance(milliseconds: 20_000)
        try party.village.pass(2)
        party.expectShown()
        try party.bob.machine.shared.write(try #require(RelativePath("alice/Summer/a.jpg")), bytes: bytes)
        try waitOut(party)
        party.expectShown()
        try party.bob.machine.shared.delete("alice/Summer/a.jpg")
        try waitOut(party)
        party.expectShown(["deep/b.jpg": "bbb"])
    }

    @Test func `the folder of an own share that its owner deletes as a whole comes back, and that is said`() throws {
        let party = try Party(bob: "readWrite")
        for number in 0..<4 { try party.alice.machine.library.write("Other/\(number).jpg", "other \(number)") }
        try #require(try party.village.settle())
        let before = party.alice.tree(.library)
        try party.alice.machine.library.delete("Summer")
        try party.village.pass(8)
        #expect(party.alice.tree(.library) == before)
        let said = party.alice.problems.filter { $0.code == "shareFolderBack" }
        #expect(said.count == 1 && said.first?.remedy.contains("share stop") == true, "\(party.alice.problems)")
        #expect(party.carol.tree(.shared).count == 2)
    }

    @Test func `many deletions at once wait for a word, and end when the files are back`() throws {
        let village = try Village(labels: ["alice"])
        let alice = village.replicas[0]
        let laptop = try { () throws -> Replica in
            var copy = village
            return try copy.addDevice(of: alice, name: "laptop")
        }()
        var both = village
        both.replicas = [alice, laptop]
        for number in 0..<130 { try alice.machine.library.write("Album/\(number).jpg", "photo \(number)") }
        try #require(try both.settle())
        let before = alice.machine.library.snapshot()
        for number in 0..<120 { try alice.machine.library.delete("Album/\(number).jpg") }
        try both.pass(8)
        #expect(laptop.tree(.library).count == 130)
        #expect(alice.problems.map(\.code) == ["massDeletion"])
        alice.machine.library.restore(before)
        try both.pass(8)
        #expect(alice.problems.isEmpty, "\(alice.problems)")
        #expect(laptop.tree(.library).count == 130)
        try alice.machine.library.delete("Album")
        try both.pass(8)
        #expect(laptop.tree(.library).count == 130)
        #expect(alice.problems.map(\.code) == ["massDeletion"])
        #expect(alice.request(.confirmDeletions).code == 0)
        try #require(try both.settle())
        #expect(laptop.tree(.library).isEmpty)
        #expect(alice.problems.isEmpty, "\(alice.problems)")
    }

    /// A daemon looks only where its watcher has seen something, and has looked there already.
    @Test func `deletions that were confirmed go on at once, not with the next look at everything`() throws {
        let village = try Village(labels: ["alice"])
        let alice = village.replicas[0]
        for number in 0..<130 { try alice.machine.library.write("Album/\(number).jpg", "photo \(number)") }
        try #require(try village.settle())
        for number in 0..<120 { try alice.machine.library.delete("Album/\(number).jpg") }
        try village.pass(8)
        #expect(alice.problems.map(\.code) == ["massDeletion"])
        try alice.round(.directories([:]))
        #expect(alice.problems.map(\.code) == ["massDeletion"])
        #expect(alice.request(.confirmDeletions).code == 0)
        #expect(try alice.round(.directories([:])).taken == 120)
        #expect(alice.problems.isEmpty, "\(alice.problems)")
    }

    @Test(arguments: [3, 40])
    func `many deletions one after the other wait for a word like many at once`(atATime: Int) throws {
        var village = try Village(labels: ["alice"])
        let alice = village.replicas[0]
        let laptop = try village.addDevice(of: alice, name: "laptop")
        for number in 0..<150 { try alice.machine.library.write("Album/\(number).jpg", "photo \(number)") }
        try #require(try village.settle())
        // Slowly, as by a program that takes a while for each: each of these would be few.
        for start in stride(from: 0, to: 144, by: atATime) {
            for number in start..<min(144, start + atATime) { try alice.machine.library.delete("Album/\(number).jpg") }
            try village.pass(atATime == 3 ? 1 : 5)
        }
        try village.pass(20)
        #expect(alice.problems.map(\.code) == ["massDeletion"])
        #expect(laptop.tree(.library).count >= 50, "\(laptop.tree(.library).count)")
        #expect(alice.request(.rejectDeletions).code == 0)
        try village.pass(4)
        #expect(alice.tree(.library) == laptop.tree(.library) && alice.problems.isEmpty, "\(alice.problems)")
        // What somebody has confirmed is not held against the next deletion.
        for number in 0..<150 { try? alice.machine.library.delete("Album/\(number).jpg") }
        try alice.machine.library.write("other.jpg", "other")
        try village.pass(20)
        #expect(alice.request(.confirmDeletions).code == 0)
        try #require(try village.settle())
        #expect(laptop.tree(.library) == ["other.jpg": "other"])
        try alice.machine.library.delete("other.jpg")
        try #require(try village.settle())
        #expect(laptop.tree(.library).isEmpty && alice.problems.isEmpty, "\(alice.problems)")
    }

    /// What `mv` does from one file system to another.
    @Test(arguments: [0, 1, 2])
    func `the folder of a share that is copied elsewhere and removed takes nothing out of the share`(early: Int) throws
    {
        let party = try Party(bob: "readWrite")
        let disk = party.alice.machine.library
        let files = disk.tree().filter { $0.key.hasPrefix("Summer/") }.sorted { $0.key < $1.key }
        let photos = party.bob.tree(.shared)
        #expect(files.count >= 2 && photos.count >= 2)
        _ = disk.takeDirty()
        for (path, bytes) in files { try disk.write(#require(RelativePath("Album/\(path)")), bytes: bytes) }
        // Some of it is gone when the engine looks for the first time.
        for (path, _) in files.prefix(early) { try disk.delete(path) }
        try party.alice.round(.directories([.library: disk.takeDirty()]))
        try disk.delete("Summer")
        for _ in 0..<6 {
            party.village.world.clock.advance(milliseconds: 400)
            try party.alice.round(.directories([.library: disk.takeDirty()]))
        }
        #expect(try party.village.settleDeletions())
        #expect(party.bob.tree(.shared) == photos)
        #expect(!party.bob.machine.shared.tree().keys.contains { $0.hasPrefix(".shoebox/trash/") })
        let shown = party.alice.tree(.library)
        for (path, _) in files where !path.hasSuffix(".json") {
            #expect(shown[path] != nil && shown["Album/\(path)"] == shown[path], "\(path)")
        }
    }

    @Test func `a word for deletions that were taken back holds for no later ones`() throws {
        var village = try Village(labels: ["alice"])
        let alice = village.replicas[0]
        let laptop = try village.addDevice(of: alice, name: "laptop")
        for number in 0..<130 { try alice.machine.library.write("Album/\(number).jpg", "photo \(number)") }
        try #require(try village.settle())
        #expect(alice.request(.confirmDeletions).lines == ["No deletions are held back."])
        let before = alice.machine.library.snapshot()
        try alice.machine.library.delete("Album")
        try village.pass(4)
        #expect(alice.request(.confirmDeletions).code == 0)
        alice.machine.library.restore(before)
        try village.pass(4)
        try alice.machine.library.delete("Album")
        try village.pass(8)
        #expect(laptop.tree(.library).count == 130)
        #expect(alice.problems.map(\.code) == ["massDeletion"])
    }

    @Test func `deletions are rejected though a part of the folder can't be looked at`() throws {
        var village = try Village(labels: ["alice"])
        let alice = village.replicas[0]
        let laptop = try village.addDevice(of: alice, name: "laptop")
        for number in 0..<130 { try alice.machine.library.write("Album/\(number).jpg", "photo \(number)") }
        for name in ["a", "b"] { try alice.machine.library.write("Closed/\(name).jpg", "closed \(name)") }
        try #require(try village.settle())
        let files = alice.tree(.library)
        alice.machine.library.setUnreadable(try #require(RelativePath("Closed")))
        try alice.machine.library.delete("Album")
        try village.pass(8)
        #expect(Set(alice.problems.map(\.code)) == ["massDeletion", "unreadable"])
        #expect(alice.request(.rejectDeletions).values["restored"] == "131")
        try village.pass(8)
        alice.machine.library.setUnreadable(try #require(RelativePath("Closed")), false)
        try #require(try village.settle())
        for replica in [alice, laptop] { #expect(replica.tree(.library) == files, "\(replica.label)") }
        #expect(alice.problems.isEmpty, "\(alice.problems)")
    }

    /// Where something can't be looked at, it may be what is missing, so that it never shows that nothing is.
    @Test func `a word for deletions that were taken back holds for none of the next day, whatever can't be read`()
        throws
    {
        var village = try Village(labels: ["alice"])
        let alice = village.replicas[0]
        let laptop = try village.addDevice(of: alice, name: "laptop")
        for number in 0..<130 { try alice.machine.library.write("Album/\(number).jpg", "photo \(number)") }
        try alice.machine.library.write("Closed/other.jpg", "other")
        try #require(try village.settle())
        alice.machine.library.setUnreadable(try #require(RelativePath("Closed")))
        let before = alice.machine.library.snapshot()
        try alice.machine.library.delete("Album")
        try village.pass(8)
        #expect(alice.request(.confirmDeletions).lines != ["No deletions are held back."])
        alice.machine.library.restore(before)
        try village.pass(8)
        village.world.clock.advance(milliseconds: 86_400_000)
        try village.pass(2)
        try alice.machine.library.delete("Album")
        try village.pass(8)
        #expect(laptop.tree(.library).count == 131)
        #expect(Set(alice.problems.map(\.code)) == ["massDeletion", "unreadable"])
    }
}
