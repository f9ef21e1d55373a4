import ShoeboxModel
import Testing

@Suite struct NameTests {
    @Test(arguments: ["", ".", "..", "a/b", "a\u{0}b", String(repeating: "x", count: 256)])
    func `what is no file name is refused`(text: String) {
        #expect(FileName(text) == nil)
    }

    @Test(arguments: [
        ("IMG_1.jpg", "IMG_1 (bob).jpg"), ("noext", "noext (bob)"), (".hidden", ".hidden (bob)"),
        ("a.tar.gz", "a.tar (bob).gz"), ("dot.", "dot. (bob)"),
    ])
    func `a suffix goes before the extension`(name: String, expected: String) {
        #expect(FileName(name)?.inserting(" (bob)").text == expected)
    }

    @Test func `a name stays below 256 bytes by losing the end of its stem`() {
        let name = FileName(String(repeating: "x", count: 251) + ".jpg")?.inserting(" (bob)")
        #expect(name?.bytes.count == 255)
        #expect(name?.text?.hasSuffix("x (bob).jpg") == true)
        let dotted = FileName("a." + String(repeating: "y", count: 253))?.inserting(" (bob)")
        #expect(dotted?.text?.hasSuffix(" (bob)") == true)
    }

    @Test func `a path can not leave its root`() {
        #expect(RelativePath("a/../b") == nil)
        #expect(RelativePath("/a//b/")?.names.count == 2)
        #expect(RelativePath("a/b")?.isAtOrBelow(RelativePath([])) == true)
    }

    @Test func `a record name reads what it writes`() {
        let name = RecordName(0x0123_4567_89ab_cdef_0011_2233_4455_6677)
        #expect(RecordName(text: name.description) == name)
        #expect(RecordName(text: name.description.uppercased()) == name)
        #expect(RecordName(text: "01234567-89ab-cdef-0011-22334455667") == nil)
        #expect(Digest32(bytes: Digest32(high: 1, low: 2).bytes) == Digest32(high: 1, low: 2))
    }
}
