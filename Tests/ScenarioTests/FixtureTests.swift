import Foundation
import ShoeboxModel
import Testing

struct FixtureTests {
    static let photos = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        .appendingPathComponent("fixtures/photos")

    static func bytes(_ path: String) throws -> [UInt8] {
        try Array(Data(contentsOf: photos.appendingPathComponent(path)))
    }

    @Test(arguments: ["plain", "rated", "unknown-keys", "byte-order-mark", "windows-lines"])
    func `a good sidecar is read, and nothing of it is lost when it is written`(name: String) throws {
        let value = try JSONText.parse(Self.bytes("sidecars/good/\(name).jpg.json"))
        #expect(value.object?["format"]?.text == "shoebox.sidecar/1")
        #expect(try JSONText.parse(JSONText.encode(value)) == value)
    }

    @Test func `a number that no type holds keeps its digits`() throws {
        let value = try JSONText.parse(Self.bytes("sidecars/good/unknown-keys.jpg.json"))
        let text = String(decoding: JSONText.encode(value, indented: false), as: UTF8.self)
        #expect(text.contains(#""big":12345678901234567890,"exact":0.1,"null":null"#))
    }

    @Test(arguments: [
        ("empty", "line 1, column 1: the text is empty"),
        ("cut", "line 3, column 13: the string is never closed"),
        ("trailing-comma", "line 3, column 16: a comma before the closing bracket"),
        ("comment", "line 2, column 3: a comment"),
        ("repeated-key", "line 1, column 49: the key \"caption\" is there twice"),
        ("not-utf-8", "line 1, column 45: a byte that is not UTF-8"),
        ("deep", "line 1, column 101: lists and objects are nested more than 64 deep"),
    ])
    func `a sidecar that is not JSON is refused with its place`(name: String, expected: String) throws {
        let bytes = try Self.bytes("sidecars/bad/\(name).jpg.json")
        let error = #expect(throws: JSONTextError.self) { try JSONText.parse(bytes) }
        #expect(error?.description == expected)
    }
}
