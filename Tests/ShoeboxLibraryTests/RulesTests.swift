import ShoeboxLibrary
import ShoeboxModel
import Testing

struct IgnoreRulesTests {
    @Test(arguments: [
        ".nfs0001", ".fuse_hidden1", "@eaDir/IMG.jpg/thumb.jpg", ".DS_Store", "a/Thumbs.db", "~$letter.docx",
        ".IMG.jpg.swp", "film.mp4.part", "film.crdownload", ".Trash-1000/files/a.jpg", ".shoebox/root.json",
        "album/.shoebox", "._IMG.jpg", ".tmp-12", "lost+found/x",
    ])
    func `what systems leave lying about is ignored`(text: String) {
        #expect(IgnoreRules.standard.ignores(path(text), isDirectory: false))
    }

    @Test(arguments: [
        "IMG_1.jpg", "IMG_1.jpg.json", ".tags/Lake.json", "a/b/c.mov", "part", "IMG.jpg_original", "notes.txt",
        ".hidden.jpg", "lost+found", "shoebox",
    ])
    func `photos and the user's own files are not`(text: String) {
        #expect(!IgnoreRules.standard.ignores(path(text), isDirectory: false))
    }

    @Test(arguments: [
        ("*.raw", "a.raw", false, true), ("*.raw", "a.raw.jpg", false, false), ("exports/", "exports", true, true),
        ("exports/", "exports", false, false), ("exports/", "exports/a.jpg", false, true),
        ("2024/tmp", "2024/tmp", false, true), ("2024/tmp", "x/2024/tmp", false, false),
        ("IMG_[0-9].jpg", "IMG_5.jpg", false, true), ("IMG_[!0-9].jpg", "IMG_5.jpg", false, false),
        ("a\\*b", "a*b", false, true), ("a\\*b", "axb", false, false), ("[", "[", false, true), ("", "a", false, false),
        ("*a*a*a*a*a*a*a*b", String(repeating: "a", count: 200), false, false),
    ])
    func `patterns fit names, directories and paths`(pattern: String, text: String, isDirectory: Bool, fits: Bool) {
        #expect(IgnoreRules(patterns: [pattern]).ignores(path(text), isDirectory: isDirectory) == fits)
    }

    @Test func `a later pattern takes out what an earlier one put in, but never our own directory`() {
        let rules = IgnoreRules(patterns: ["*.part", "!keep.part", "!.shoebox"])
        #expect(rules.ignores(path("a.part"), isDirectory: false))
        #expect(!rules.ignores(path("keep.part"), isDirectory: false))
        #expect(rules.ignores(path(".shoebox"), isDirectory: true))
    }

    @Test func `names that are no text are compared by bytes`() {
        let bytes = FileName(bytes: [0xFF] + Array(".part".utf8))
        #expect(IgnoreRules.standard.ignores(RelativePath([bytes].compactMap { $0 }), isDirectory: false))
    }

    @Test(arguments: [
        ("a.JPG", MediaKind.photo), ("a.heic", .photo), ("a.mov", .photo), ("a.txt", .file), ("jpg", .file),
    ])
    func `the extension tells photos from files`(text: String, kind: MediaKind) {
        #expect(MediaKind(name(text)) == kind)
    }
}

struct SettleTrackerTests {
    let file = path("a.jpg")
    func stamp(_ size: UInt64) -> FileStamp { FileStamp(size: size, modifiedNanoseconds: 1, inode: 1) }

    @Test func `a file settles when it was unchanged for long enough`() {
        var tracker = SettleTracker(settleMilliseconds: 500)
        #expect(
            tracker.observe(file, stamp: stamp(1), nowMilliseconds: 1000, hasWriter: false)
                == .lookAgain(atMilliseconds: 1500))
        #expect(
            tracker.observe(file, stamp: stamp(2), nowMilliseconds: 1400, hasWriter: false)
                == .lookAgain(atMilliseconds: 1900))
        #expect(tracker.due(atMilliseconds: 1899).isEmpty)
        #expect(tracker.due(atMilliseconds: 1900) == [file])
        #expect(tracker.observe(file, stamp: stamp(2), nowMilliseconds: 1900, hasWriter: false) == .settled)
        #expect(tracker.count == 0 && tracker.nextLookMilliseconds == nil)
    }

    @Test func `a file with a writer never settles, and is looked at ever less often`() {
        var tracker = SettleTracker(settleMilliseconds: 500)
        var now: UInt64 = 0
        var pauses: [UInt64] = []
        for _ in 0..<8 {
            guard
                case .lookAgain(let next) = tracker.observe(
                    file, stamp: stamp(1), nowMilliseconds: now, hasWriter: true)
            else {
                Issue.record("settled with a writer")
                return
            }
            pauses.append(next - now)
            now = next
        }
        #expect(pauses == pauses.sorted())
        #expect(pauses.last == SettleTracker.writerPauseMillisecondsMax)
        // The wait counts from the last look that found a writer.
        let verdict = tracker.observe(file, stamp: stamp(1), nowMilliseconds: now - 9_600, hasWriter: false)
        #expect(verdict == .lookAgain(atMilliseconds: now - 9_500))
        #expect(tracker.observe(file, stamp: stamp(1), nowMilliseconds: now, hasWriter: false) == .settled)
    }

    @Test func `forgetting a folder forgets what is in it`() {
        var tracker = SettleTracker()
        _ = tracker.observe(path("d/a"), stamp: stamp(1), nowMilliseconds: 0, hasWriter: false)
        _ = tracker.observe(path("da"), stamp: stamp(1), nowMilliseconds: 0, hasWriter: false)
        tracker.forgetAll(below: path("d"))
        #expect(!tracker.isWaiting(for: path("d/a")) && tracker.isWaiting(for: path("da")))
    }
}
