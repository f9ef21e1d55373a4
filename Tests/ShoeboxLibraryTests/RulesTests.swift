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
