import ShoeboxLibrary
import ShoeboxModel
import ShoeboxPlanning
import ShoeboxTestSupport
import ShoeboxWorld
import Testing

struct FileApplierTests {
    let directory: TemporaryDirectory
    let record = RecordID(zone: ZoneID(Digest32(high: 1, low: 1)), name: RecordName(7))
    let log = Log()

    /// What the applier's hooks were asked, and what they do.
    final class Log: Sendable {
        let intents = Mutex<[WriteIntent]>([])
        let counter = Mutex<UInt8>(0)
        let now = Mutex<UInt64>(1_700_000_000_000)
        let meanwhile = Mutex<(@Sendable () throws -> Void)?>(nil)
    }

    init() throws {
        directory = try TemporaryDirectory()
        try directory.makeDirectory(".shoebox")
    }

    /// An applier whose records all have this content.
    private func applier(_ content: String = "new", mode: UInt16 = 0o644) -> FileApplier {
        let log = log
        return FileApplier(
            directory.files, nowMilliseconds: { log.now.withLock { $0 } },
            randomBytes: { count in
                let value = log.counter.withLock { counter in
                    counter += 1
                    return counter
                }
                return Array(repeating: value, count: count)
            },
            content: { _, _ in
                FileContent(mode: mode, modifiedNanoseconds: 1_000_000_007) { take in
                    for byte in content.utf8 { try take([byte]) }
                }
            },
            recordIntent: { intent in
                log.intents.withLock { $0.append(intent) }
                if let meanwhile = log.meanwhile.withLock({ $0 }) { try meanwhile() }
            })
    }

    private func hash(_ text: String) -> Digest32 { ContentHasher.hash(Array(text.utf8)) }
    private func stamp(_ text: String) throws -> FileStamp {
        try #require(try directory.files.entry(at: path(text))).stamp
    }
    private func trashed() throws -> [String: String] {
        let items = try applier().trashItems().map {
            ($0.originalPath?.description ?? "?", directory.text(of: $0.path.description) ?? "")
        }
        return Dictionary(items) { "\($0)|\($1)" }
    }
    private var leftovers: [String] { directory.tree(".shoebox/tmp") }

    @Test func `a new file has its bytes, mode and time, and its intent was stored before`() throws {
        let outcome = applier(mode: 0o444).apply(
            .write(record, at: path("a.jpg"), contentHash: hash("new"), replacing: nil))
        let stamp = try stamp("a.jpg")
        #expect(outcome == .done(stamp))
        #expect(directory.text(of: "a.jpg") == "new")
        #expect(stamp.mode == 0o444 && stamp.modifiedNanoseconds == 1_000_000_007)
        let intent = WriteIntent(
            record: record, path: path("a.jpg"), inode: stamp.inode, size: 3, contentHash: hash("new"))
        #expect(log.intents.withLock { $0 } == [intent])
        #expect(leftovers.isEmpty)
    }

    @Test func `the file is not there yet when the intent is stored, and not made when that fails`() throws {
        struct Full: Error {}
        let directory = directory
        log.meanwhile.withLock {
            $0 = {
                #expect(directory.text(of: "a.jpg") == nil)
                throw Full()
            }
        }
        let outcome = applier().apply(.write(record, at: path("a.jpg"), contentHash: hash("new"), replacing: nil))
        guard case .failed = outcome else {
            Issue.record("not failed: \(outcome)")
            return
        }
        #expect(directory.tree().filter { $0.hasSuffix(".jpg") }.isEmpty)
        #expect(leftovers.isEmpty)
    }

    @Test func `what was written aside shows nowhere before it is finished, and leaves nothing when it is given up`()
        throws
    {
        let applier = applier()
        var writes: [PreparedWrite] = []
        for name in ["a.jpg", "b.jpg"] {
            guard
                case .ready(let write) = applier.prepare(
                    record, at: path(name), contentHash: hash("new"), replacing: nil)
            else {
                Issue.record("not ready")
                return
            }
            writes.append(write)
        }
        #expect(leftovers.count == 2)
        #expect(directory.text(of: "a.jpg") == nil && log.intents.withLock(\.isEmpty))
        #expect(applier.finish(writes[0]) == .done(try stamp("a.jpg")))
        #expect(writes[0].intent.inode == (try stamp("a.jpg")).inode)
        applier.discard(writes[1])
        #expect(directory.text(of: "a.jpg") == "new" && directory.text(of: "b.jpg") == nil)
        #expect(leftovers.isEmpty)
    }

    @Test func `a file that appeared after the bytes were written aside is kept`() throws {
        guard
            case .ready(let write) = applier().prepare(
                record, at: path("a.jpg"), contentHash: hash("new"), replacing: nil)
        else {
            Issue.record("not ready")
            return
        }
        try directory.write("user's", to: "a.jpg")
        #expect(applier().finish(write) == .stale("'a.jpg' is taken"))
        #expect(directory.text(of: "a.jpg") == "user's")
        #expect(leftovers.isEmpty)
    }

    @Test func `wrong bytes are not written`() throws {
        let outcome = applier("other").apply(
            .write(record, at: path("a.jpg"), contentHash: hash("new"), replacing: nil))
        guard case .failed(let error) = outcome else {
            Issue.record("not failed: \(outcome)")
            return
        }
        #expect(error.path == "a.jpg")
        #expect(directory.text(of: "a.jpg") == nil)
        #expect(leftovers.isEmpty && log.intents.withLock(\.isEmpty))
    }

    @Test func `a file that appeared meanwhile is kept`() throws {
        let directory = directory
        log.meanwhile.withLock { $0 = { try directory.write("user's", to: "a.jpg") } }
        let outcome = applier().apply(.write(record, at: path("a.jpg"), contentHash: hash("new"), replacing: nil))
        #expect(outcome == .stale("'a.jpg' is taken"))
        #expect(directory.text(of: "a.jpg") == "user's")
    }

    @Test func `what is replaced is in the trash`() throws {
        try directory.write("old", to: "a.jpg")
        let before = try stamp("a.jpg")
        let outcome = applier().apply(.write(record, at: path("a.jpg"), contentHash: hash("new"), replacing: before))
        #expect(outcome == .done(try stamp("a.jpg")))
        #expect(directory.text(of: "a.jpg") == "new")
        #expect(try trashed() == ["a.jpg": "old"])
        #expect(try applier().trashItems().first?.record == record)
        #expect(leftovers.isEmpty)
    }

    @Test func `a file edited after the plan is not replaced`() throws {
        try directory.write("old", to: "a.jpg")
        let before = try stamp("a.jpg")
        try directory.write("edited by the user", to: "a.jpg")
        let outcome = applier().apply(.write(record, at: path("a.jpg"), contentHash: hash("new"), replacing: before))
        #expect(outcome == .stale("'a.jpg' has changed"))
        #expect(directory.text(of: "a.jpg") == "edited by the user")
    }

    @Test func `a file edited while the new bytes were written is not replaced`() throws {
        try directory.write("old", to: "a.jpg")
        let before = try stamp("a.jpg")
        let directory = directory
        log.meanwhile.withLock { $0 = { try directory.write("edited meanwhile", to: "a.jpg") } }
        let outcome = applier().apply(.write(record, at: path("a.jpg"), contentHash: hash("new"), replacing: before))
        #expect(outcome == .stale("'a.jpg' has changed"))
        #expect(directory.text(of: "a.jpg") == "edited meanwhile")
        #expect(try trashed().isEmpty)
        #expect(leftovers.isEmpty)
    }

    @Test func `a removed file is not lost, and comes back`() throws {
        try directory.makeDirectory("d")
        try directory.write("photo", to: "d/a.jpg")
        #expect(applier().apply(.remove(record, at: path("d/a.jpg"), expecting: try stamp("d/a.jpg"))) == .done(nil))
        #expect(directory.text(of: "d/a.jpg") == nil)
        #expect(try trashed() == ["d/a.jpg": "photo"])
        #expect(applier().apply(.removeDirectory(record, at: path("d"))) == .done(nil))
        let item = try #require(try applier().trashItems().first)
        guard case .done = applier().restore(item, to: path("d/a.jpg")) else {
            Issue.record("not restored")
            return
        }
        #expect(directory.text(of: "d/a.jpg") == "photo")
        #expect(try applier().trashItems().isEmpty)
    }

    @Test func `a changed file is not removed, an absent one is fine`() throws {
        try directory.write("photo", to: "a.jpg")
        let before = try stamp("a.jpg")
        try directory.write("changed photo", to: "a.jpg")
        #expect(applier().apply(.remove(record, at: path("a.jpg"), expecting: before)) == .stale("'a.jpg' has changed"))
        #expect(directory.text(of: "a.jpg") == "changed photo")
        #expect(applier().apply(.remove(record, at: path("none"), expecting: before)) == .done(nil))
    }

    @Test func `a folder goes only when nobody's file is in it`() throws {
        try directory.makeDirectory("d")
        try directory.write("x", to: "d/.DS_Store")
        try directory.write("x", to: "d/notes.txt")
        #expect(applier().apply(.removeDirectory(record, at: path("d"))) == .stale("something is still in 'd'"))
        try directory.remove("d/notes.txt")
        #expect(applier().apply(.removeDirectory(record, at: path("d"))) == .done(nil))
        #expect(try directory.files.entry(at: path("d")) == nil)
    }

    @Test func `two files swap by parking one`() throws {
        try directory.write("1", to: "a")
        try directory.write("2", to: "b")
        let other = RecordID(zone: record.zone, name: RecordName(8))
        for operation: FileOperation in [
            .park(record, from: path("a")), .move(other, from: path("b"), to: path("a")),
            .unpark(record, to: path("b")),
        ] {
            guard case .done = applier().apply(operation) else {
                Issue.record("\(operation)")
                return
            }
        }
        #expect(directory.text(of: "a") == "2" && directory.text(of: "b") == "1")
        #expect(leftovers.isEmpty)
    }

    @Test func `what was put aside stays there until it can be read where it belongs`() throws {
        let machine = SimulatedWorld(seed: 1).addMachine("a")
        try machine.library.write("Album/a.jpg", "one")
        try machine.library.makeDirectories(path(".shoebox"))
        let files = machine.world.library
        let applier = FileApplier(
            files, nowMilliseconds: { 1 }, randomBytes: { Array(repeating: 1, count: $0) },
            content: { _, _ in throw FileError(code: .absent, operation: "read", path: "") }, recordIntent: { _ in })
        _ = applier.apply(.park(record, from: path("Album/a.jpg")))
        #expect(machine.library.tree()["Album/a.jpg"] == nil)
        machine.faults.set(.fail(.inputOutput), next: "open")
        #expect(applier.recoverTemporaries().count == 1)
        #expect(try applier.trashItems().isEmpty)
        #expect(applier.recoverTemporaries().isEmpty)
        #expect(machine.library.tree()["Album/a.jpg"] == Array("one".utf8))
    }

    @Test func `a crash while a file is parked loses nothing`() throws {
        try directory.write("1", to: "a")
        _ = applier().apply(.park(record, from: path("a")))
        try directory.write("half", to: ".shoebox/tmp/new-0000000000000000")
        #expect(applier().recoverTemporaries().isEmpty)
        #expect(directory.text(of: "a") == "1")
        _ = applier().apply(.park(record, from: path("a")))
        try directory.write("another", to: "a")
        #expect(applier().recoverTemporaries().isEmpty)
        #expect(directory.text(of: "a") == "another")
        #expect(try trashed() == ["a": "1"])
        #expect(leftovers.isEmpty)
    }

    /// Where the file system can't swap two names in one step.
    @Test(arguments: ["a.jpg", "deep/a long name.swap", "gone/a.jpg"], [1, 2])
    func `an exchange that was cut off between its steps is taken back, or ended`(name: String, steps: Int) throws {
        try directory.makeDirectory("deep")
        let photo = path(name)
        try directory.makeDirectory("gone")
        try directory.write("old", to: name)
        #expect(applier().apply(.remove(record, at: photo, expecting: try stamp(name))) == .done(nil))
        let item = try #require(try applier().trashItems().first).path.description
        // As it was before the last step, or the two last ones.
        try directory.rename(item, to: item + ".swap")
        if steps == 1 {
            try directory.write("new", to: item)
            if name.hasPrefix("gone") { try directory.remove("gone") }
        } else {
            try directory.write("new", to: name)
        }
        // Whoever has deleted it since, or shows another one there, has not the old one in mind.
        if steps == 2 {
            #expect(try applier().recoverExchanges { _, _ in false }.isEmpty)
            #expect(directory.text(of: name) == "new" && directory.text(of: item) == "old")
            return
        }
        let shown = try stamp(item + ".swap")
        let back = try applier().recoverExchanges { $0 == photo && $1.isSameFile(as: shown) }
        // Without its folder it stays where it is.
        guard !name.hasPrefix("gone") else {
            #expect(back.isEmpty && directory.text(of: item + ".swap") == "old")
            return
        }
        #expect(back == [photo] && directory.text(of: name) == "old")
        #expect(try applier().recoverExchanges { _, _ in true }.isEmpty)
    }

    @Test func `what was replaced does not come back in place of a photo that was deleted since`() throws {
        try directory.write("old", to: "a.jpg")
        #expect(applier().apply(.remove(record, at: path("a.jpg"), expecting: try stamp("a.jpg"))) == .done(nil))
        let item = try #require(try applier().trashItems().first).path.description
        try directory.rename(item, to: item + ".swap")
        let back = try applier().recoverExchanges { _, _ in false }
        #expect(back.isEmpty && directory.text(of: "a.jpg") == nil)
        #expect(try trashed() == ["a.jpg": "old"])
    }

    @Test func `what is put away, or written aside, is closed to others`() throws {
        try directory.write("old", to: "a.jpg")
        let written = applier().apply(.write(record, at: path("b.jpg"), contentHash: hash("new"), replacing: nil))
        #expect(written == .done(try stamp("b.jpg")))
        #expect(applier().apply(.remove(record, at: path("a.jpg"), expecting: try stamp("a.jpg"))) == .done(nil))
        for name in [".shoebox/trash", ".shoebox/tmp"] {
            #expect(try stamp(name).mode == 0o700)
            // As an earlier version made it.
            try directory.files.setMode(path(name), 0o755)
        }
        applier().closeDirectories()
        for name in [".shoebox/trash", ".shoebox/tmp"] { #expect(try stamp(name).mode == 0o700) }
    }

    @Test func `moving to a taken name moves nothing`() throws {
        try directory.write("1", to: "a")
        try directory.write("2", to: "b")
        #expect(applier().apply(.move(record, from: path("a"), to: path("b"))) == .stale("'b' is taken"))
        #expect(directory.text(of: "a") == "1" && directory.text(of: "b") == "2")
    }

    @Test func `a root without its own directory is not written to`() throws {
        try directory.remove(".shoebox")
        let outcome = applier().apply(.write(record, at: path("a.jpg"), contentHash: hash("new"), replacing: nil))
        guard case .failed(let error) = outcome else {
            Issue.record("not failed: \(outcome)")
            return
        }
        #expect(error.code == .offline)
        #expect(directory.tree().isEmpty)
    }

    @Test func `sidecars are replaced only as they were seen, and leave no trash`() throws {
        guard case .done(let first?) = applier().put(Array("{}".utf8), at: path("a.json"), replacing: nil) else {
            Issue.record("not written")
            return
        }
        guard case .done(let second?) = applier().put(Array("[1]".utf8), at: path("a.json"), replacing: first) else {
            Issue.record("not replaced")
            return
        }
        #expect(try stamp("a.json") == second)
        #expect(try applier().trashItems().isEmpty)
        #expect(applier().put([], at: path("a.json"), replacing: first) == .stale("'a.json' has changed"))
        #expect(directory.text(of: "a.json") == "[1]")
    }

    @Test func `the trash is emptied by whole days`() throws {
        try directory.write("old", to: "a")
        _ = applier().trash(path("a"), expecting: nil)
        log.now.withLock { $0 += 40 * 86_400_000 }
        try directory.write("young", to: "b")
        _ = applier().trash(path("b"), expecting: nil)
        #expect(applier().emptyTrash(olderThanMilliseconds: log.now.withLock { $0 } - 30 * 86_400_000).isEmpty)
        #expect(try trashed() == ["b": "young"])
        #expect(directory.tree(".shoebox/trash").contains("2023-12-24"))
    }
}
