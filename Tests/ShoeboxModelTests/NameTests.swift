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

    @Test(arguments: ["é", "雪", "😀", "x"])
    func `a name that is cut stays text`(character: String) throws {
        for shift in 0..<4 {
            let long = try #require(FileName(Self.filled(with: character, after: shift) + ".jpg"))
            let name = try #require(long.inserting(" (bob)").text)
            #expect(name.hasSuffix("\(character) (bob).jpg") && name.utf8.count > 248, "\(name)")
            let short = long.leaving(room: 13)
            #expect(short.bytes.count <= 242 && short.bytes.count > 238 && short.text?.hasSuffix(".jpg") == true)
        }
    }

    /// As many of a character as a name has room for before `.jpg`.
    private static func filled(with character: String, after shift: Int) -> String {
        let count = (251 - shift) / character.utf8.count
        return String(repeating: "a", count: shift) + String(repeating: character, count: count)
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
