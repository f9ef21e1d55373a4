import ShoeboxModel
import ShoeboxTestSupport
import ShoeboxWorld
import Testing

/// Every knob of the simulated disk bites.
@Suite struct SimulatedDiskTests {
    let clock = SimulatedMachineClock(SimulatedClock())
    let disk: SimulatedDisk

    init() { disk = SimulatedDisk(clock: clock) }

    /// Writes a file through the engine's side, aside and renamed into place.
    private func putByEngine(_ name: String, _ text: String, durably: Bool = false) throws {
        let aside = try path("aside")
        let file = try disk.files.create(aside)
        try file.write(Array(text.utf8))
        _ = try file.finish(mode: nil, modifiedNanoseconds: nil, durably: durably)
        try disk.files.rename(aside, to: try path(name), mode: .replace)
    }

    @Test func `an inode is used again at once, with another birth`() throws {
        try disk.write("a", "1")
        let first = try #require(try disk.stamp("a"))
        try disk.delete("a")
        try disk.write("b", "1")
        let second = try #require(try disk.stamp("b"))
        #expect(first.inode == second.inode)
        #expect(first.birthNanoseconds != second.birthNanoseconds)
    }

    @Test func `an inode is not used again while a handle is open`() throws {
        try disk.write("a", "1")
        let inode = try #require(try disk.stamp("a")).inode
        var file: (any ReadableFile)? = try disk.files.open(try path("a"))
        try disk.delete("a")
        try disk.write("b", "1")
        #expect(try disk.stamp("b")?.inode != inode)
        #expect(try file?.read(at: 0, maxBytes: 9) == Array("1".utf8))
        file = nil
        try disk.write("c", "1")
        #expect(try disk.stamp("c")?.inode == inode)
    }

    @Test(
        arguments: [
            (.losingNothing, ["old": "old", "new": "new"]),
            (.losingEverything, ["old": "old"]),
            (.emptyingFiles, ["old": "old", "new": ""]),
            (.tearingFiles, ["old": "old", "new": "n"]),
            (.keepingFirst(0), ["old": "old"]),
            (.keepingFirst(1), ["old": "old", "aside": ""]),
        ] as [(SimulatedPowerCut, [String: String])])
    func `a power cut takes what it is told to`(cut: SimulatedPowerCut, expected: [String: String]) throws {
        try putByEngine("old", "old")
        try disk.files.synchronize()
        try putByEngine("new", "new")
        disk.crash(cut)
        #expect(treeDifference(disk.tree(), expected) == [])
    }

    @Test func `bytes written durably outlive a power cut when the name does`() throws {
        try putByEngine("new", "new", durably: true)
        disk.crash(.emptyingFiles)
        #expect(treeDifference(disk.tree(), ["new": "new"]) == [])
        try putByEngine("next", "next", durably: true)
        disk.crash(.losingEverything)
        #expect(treeDifference(disk.tree(), ["new": "new"]) == [])
    }

    @Test func `a lost replacement brings the old file back`() throws {
        try putByEngine("a", "old")
        try disk.files.synchronize()
        try putByEngine("a", "new")
        #expect(try disk.text("a") == "new")
        disk.crash(.losingEverything)
        #expect(try disk.text("a") == "old")
    }

    @Test func `random power cuts differ by seed only, and keep what was synchronised`() throws {
        func outcome(_ seed: UInt64) throws -> [String: [UInt8]] {
            let disk = SimulatedDisk(clock: SimulatedMachineClock(SimulatedClock()))
            try disk.write("kept", "kept")
            for number in 0..<6 {
                let file = try disk.files.create(try path("f\(number)"))
                try file.write(Array("content \(number)".utf8))
                _ = try file.finish(mode: nil, modifiedNanoseconds: nil, durably: false)
            }
            disk.crash(.random(seed: seed))
            return disk.tree()
        }
        var outcomes: Set<[String: [UInt8]]> = []
        for seed in 0..<20 as Range<UInt64> {
            let tree = try outcome(seed)
            #expect(try outcome(seed) == tree)
            #expect(tree["kept"] == Array("kept".utf8))
            outcomes.insert(tree)
        }
        #expect(outcomes.count > 10)
    }

    @Test func `a user's writes survive, and endanger nothing of others' more`() throws {
        try putByEngine("mine", "mine")
        try disk.write("yours", "yours")
        disk.crash(.losingEverything)
        // The names went with the user's fsync, the engine's bytes did not.
        #expect(treeDifference(disk.tree(), ["mine": "", "yours": "yours"]) == [])
    }

    @Test func `handles die with the power`() throws {
        try disk.write("a", "1")
        let file = try disk.files.open(try path("a"))
        disk.crash(.losingNothing)
        #expect(code { _ = try file.read(at: 0, maxBytes: 1) } == .inputOutput)
    }

    @Test func `a replaced root is another, empty directory`() throws {
        try disk.write("a", "1")
        let identity = try disk.files.identity()
        disk.unmount(.replaced)
        #expect(try disk.files.identity() != identity)
        #expect(try disk.files.list(.root).isEmpty)
        try putByEngine("b", "stray")
        #expect(treeDifference(disk.replacementTree, ["b": "stray"]) == [])
        disk.mount()
        #expect(try disk.files.identity() == identity)
        #expect(treeDifference(disk.tree(), ["a": "1"]) == [])
    }

    @Test func `a full disk takes the first bytes and says so`() throws {
        disk.setCapacity(bytes: 5)
        #expect(try disk.files.freeBytes() == 5)
        let file = try disk.files.create(try path("a"))
        #expect(code { try file.write(Array("too long".utf8)) } == .full)
        #expect(try disk.text("a") == "too l")
        #expect(try disk.files.freeBytes() == 0)
        #expect(code { try disk.write("b", "x") } == .full)
    }

    @Test func `an unreadable directory is denied, its neighbours are not`() throws {
        try disk.write("d/a", "1")
        try disk.write("e/a", "1")
        disk.setUnreadable(try path("d"))
        #expect(code { _ = try disk.files.list(try path("d")) } == .denied)
        #expect(code { _ = try disk.files.open(try path("d/a")) } == .denied)
        #expect(try disk.files.list(.root).count == 2)
        #expect(try disk.files.list(try path("e")).count == 1)
        disk.setUnreadable(try path("d"), false)
        #expect(try disk.files.list(try path("d")).count == 1)
    }

    @Test func `a half listing is short or breaks off`() throws {
        for name in ["a", "b", "c"] { try disk.write(name, "1") }
        disk.setHalfListed(.root, keeping: 1)
        #expect(try disk.files.list(.root).count == 1)
        disk.setHalfListed(.root, keeping: 1, failingWith: .inputOutput)
        #expect(code { _ = try disk.files.list(.root) } == .inputOutput)
        disk.setWhollyListed(.root)
        #expect(try disk.files.list(.root).count == 3)
    }

    @Test func `refused names, enforced modes and coarse times bite`() throws {
        disk.setRefusedNameBytes([UInt8(ascii: ":")])
        #expect(code { _ = try disk.files.create(try path("a:b")) } == .badName)
        try disk.write("a", "1")
        try disk.setMode("a", 0o444)
        try disk.write("a", "2")
        disk.setEnforcesModes(true)
        #expect(code { try disk.write("a", "3") } == .denied)
        disk.setModificationGranularity(nanoseconds: 2_000_000_000)
        try disk.write("b", "1")
        let before = try #require(try disk.stamp("b"))
        try disk.write("b", "2")
        #expect(try disk.stamp("b")?.isUnchanged(from: before) == true)
    }

    @Test func `times come from the machine's clock`() throws {
        clock.step(milliseconds: -86_400_000)
        try disk.write("a", "1")
        let stamp = try #require(try disk.stamp("a"))
        #expect(stamp.modifiedNanoseconds / 1_000_000 == Int64(clock.wallMilliseconds))
        try disk.write("a", "1")
        #expect(try disk.stamp("a")?.modifiedNanoseconds != stamp.modifiedNanoseconds)
    }

    @Test func `saving in place keeps the inode, replacing does not`() throws {
        try disk.write("a", "1")
        let first = try #require(try disk.stamp("a"))
        try disk.write("a", "2", saving: .inPlace)
        #expect(try disk.stamp("a")?.isSameFile(as: first) == true)
        try disk.write("a", "3", saving: .replacing)
        #expect(try disk.stamp("a")?.isSameFile(as: first) == false)
        #expect(disk.tree().count == 1)
    }

    @Test func `events mark the directories that changed`() throws {
        try disk.write("d/a", "1")
        #expect(disk.takeDirty() == [.root, try path("d")])
        #expect(disk.takeDirty().isEmpty)
        try disk.move("d", to: "e/f")
        #expect(disk.takeDirty() == [.root, try path("e"), try path("e/f")])
        try disk.files.setMode(try path("e/f/a"), 0o600)
        #expect(disk.takeDirty() == [try path("e/f")])
    }

    @Test func `events are lost as told`() throws {
        disk.setEventLoss(.all)
        try disk.write("a", "1")
        #expect(disk.takeDirty().isEmpty)
        #expect(!disk.takeOverflow())
        disk.setEventLoss(.overflow(after: 1))
        try disk.write("d/a", "1")
        #expect(disk.takeDirty() == [.root])
        #expect(disk.takeOverflow())
        try disk.write("d/b", "1")
        #expect(disk.takeDirty() == [try path("d")])
    }

    @Test func `a restored disk is as it was, and so is its clone`() throws {
        try disk.write("a", "1")
        let before = try disk.stamp("a")
        let backup = disk.snapshot()
        let file = try disk.files.open(try path("a"))
        try disk.write("a", "2")
        try disk.write("b", "2")
        disk.restore(backup)
        #expect(treeDifference(disk.tree(), ["a": "1"]) == [])
        #expect(try disk.stamp("a") == before)
        #expect(code { _ = try file.read(at: 0, maxBytes: 1) } == .inputOutput)
        let clone = SimulatedDisk(name: "shared", clock: clock)
        clone.restore(backup)
        #expect(try clone.stamp("a") == before)
        #expect(try clone.files.identity() != disk.files.identity())
    }

    @Test func `a file that is still written has a writer`() throws {
        try disk.beginWriting("a", [1])
        #expect(disk.files.hasWriter(try path("a")))
        try disk.move("a", to: "b")
        try disk.continueWriting("a", [2])
        let closed = try disk.endWriting("a")
        #expect(closed?.path.description == "b")
        #expect(closed?.bytes == [1, 2])
        #expect(!disk.files.hasWriter(try path("b")))
    }
}
