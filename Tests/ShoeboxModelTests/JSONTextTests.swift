import ShoeboxModel
import ShoeboxTestSupport
import Testing

struct JSONTextTests {
    @Test(arguments: [
        ("{}", "{}"),
        (" [ ] ", "[]"),
        ("\u{FEFF}{\"a\":1}", "{\"a\":1}"),
        ("{\"b\": [1, 2.50, -0, 1e-7], \"a\": {\"c\": null}}", "{\"b\":[1,2.50,-0,1e-7],\"a\":{\"c\":null}}"),
        (#""\u0041\u00e9\ud83d\ude00\/\"\\\n\b""#, #""Aé😀/\"\\\n\u0008""#),
        ("\"a/b\"", "\"a/b\""),
        ("[true,false]", "[true,false]"),
        ("123456789012345678901234567890", "123456789012345678901234567890"),
    ])
    func `a text is read and written again`(text: String, compact: String) throws {
        let value = try JSONText.parse(text)
        #expect(String(decoding: JSONText.encode(value, indented: false), as: UTF8.self) == compact)
        #expect(try JSONText.parse(JSONText.encode(value)) == value)
    }

    @Test(arguments: [
        ("", "line 1, column 1: the text is empty"),
        ("{\"a\": 1,}", "line 1, column 9: a comma before the closing bracket"),
        ("[1 2]", "line 1, column 4: a comma or ] is missing"),
        ("{\n  \"a\" 1\n}", "line 2, column 7: a colon is missing after \"a\""),
        ("{\n  \"é\": 1, 'b': 2}", "line 2, column 11: a single quote"),
        ("{\"a\": 1, \"a\": 2}", "line 1, column 10: the key \"a\" is there twice"),
        ("{\"a\": // one\n1}", "line 1, column 7: a comment"),
        ("{\"a\": 1 // one\n}", "line 1, column 9: a comment"),
        ("{a: 1}", "line 1, column 2: a where a key in double quotes belongs"),
        ("{\"a\": yes}", "line 1, column 7: yes where a value belongs"),
        ("{\"a\": nullable}", "line 1, column 7: nullable where a value belongs"),
        ("{\"a\": 1", "line 1, column 8: the text ends, and the { of line 1, column 1 is not closed"),
        ("[[1]", "line 1, column 5: the text ends, and the [ of line 1, column 1 is not closed"),
        ("[1,", "line 1, column 4: the text ends, and the [ of line 1, column 1 is not closed"),
        ("{\"a\":", "line 1, column 6: the text ends where a value is missing"),
        ("\"abc", "line 1, column 1: the string is never closed"),
        ("\"abc\\", "line 1, column 6: the text ends where a string ends in a backslash"),
        ("[\n\"abc\n\"]", "line 2, column 1: the string is not closed on its line"),
        ("\"a\u{1}\"", "line 1, column 3: a control character in a string"),
        ("\"\\x\"", "line 1, column 2: an unknown escape after a backslash"),
        ("\"\\u12\"", "line 1, column 2: \\u without four hexadecimal digits"),
        ("\"\\ud800\"", "line 1, column 2: half of a surrogate pair"),
        ("\"\\ud800\\u0041\"", "line 1, column 2: half of a surrogate pair"),
        ("\"\\udc00\"", "line 1, column 2: half of a surrogate pair"),
        ("01", "line 1, column 1: a number with a leading zero"),
        ("1.", "line 1, column 3: no digit after the decimal point"),
        ("-", "line 1, column 2: a number without digits"),
        ("1e+", "line 1, column 4: a number with an empty exponent"),
        ("{} {}", "line 1, column 4: more text after the end of the value"),
        ("[}", "line 1, column 2: } where a value belongs"),
        ("[€]", "line 1, column 2: € where a value belongs"),
    ])
    func `what is not JSON is refused with its place`(text: String, expected: String) {
        let error = #expect(throws: JSONTextError.self) { try JSONText.parse(text) }
        #expect(error?.description == expected)
        #expect(error?.remedy.isEmpty == false)
    }

    @Test(
        arguments: [
            ([0x22, 0xFF, 0x22], 1), ([0x22, 0xC0, 0x80, 0x22], 1), ([0x22, 0xED, 0xA0, 0x80, 0x22], 1),
            ([0x22, 0x61, 0xE2, 0x82], 2), ([0x22, 0xF4, 0x90, 0x80, 0x80, 0x22], 1),
        ] as [([UInt8], Int)])
    func `bytes that are not UTF-8 are refused with their place`(bytes: [UInt8], offset: Int) {
        let error = #expect(throws: JSONTextError.self) { try JSONText.parse(bytes) }
        #expect(error?.position.offset == offset)
    }

    @Test func `nesting is bounded`() throws {
        func nested(_ depth: Int) -> String {
            String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
        }
        _ = try JSONText.parse(nested(JSONText.depthMax))
        #expect(throws: JSONTextError.self) { try JSONText.parse(nested(JSONText.depthMax + 1)) }
        #expect(throws: JSONTextError.self) {
            try JSONText.parse(String(repeating: "{\"a\":", count: 1_000_000))
        }
    }

    @Test(arguments: 0..<300 as Range<UInt64>)
    func `no damage to a text traps, and what still parses is written stably`(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        var bytes = Array(
            #"{"caption":"Lac \u00e9té 😀","tags":["a","b\n"],"n":[-1.5e3,0,{}],"x":{"y":null,"z":true}}"#.utf8)
        for _ in 0..<Int.random(in: 1...6, using: &generator) {
            let index = Int.random(in: 0..<bytes.count, using: &generator)
            switch Int.random(in: 0..<4, using: &generator) {
            case 0: bytes[index] = UInt8.random(in: 0...255, using: &generator)
            case 1: bytes.remove(at: index)
            case 2: bytes.insert(bytes[Int.random(in: 0..<bytes.count, using: &generator)], at: index)
            default: bytes.removeLast(min(bytes.count - 1, Int.random(in: 0..<4, using: &generator)))
            }
        }
        guard let value = try? JSONText.parse(bytes) else { return }
        let written = JSONText.encode(value)
        #expect(try JSONText.parse(written) == value)
        #expect(try JSONText.encode(JSONText.parse(written)) == written)
    }

    @Test func `the writer indents, and sorts keys when asked`() throws {
        let value = try JSONText.parse(#"{"b":[1,{"d":[],"c":{}}],"a":"x"}"#)
        let plain = String(decoding: JSONText.encode(value), as: UTF8.self)
        #expect(
            plain == "{\n  \"b\": [\n    1,\n    {\n      \"d\": [],\n      \"c\": {}\n    }\n  ],\n  \"a\": \"x\"\n}\n"
        )
        let sorted = String(decoding: JSONText.encode(value, indented: false, sortedKeys: true), as: UTF8.self)
        #expect(sorted == #"{"a":"x","b":[1,{"c":{},"d":[]}]}"#)
    }

    @Test func `the place of a value and of a key is found`() throws {
        let bytes = Array("{\n  \"a\": [10, {\"b\": 20}],\n  \"c\": 3\n}".utf8)
        let path: [JSONStep] = [.key("a"), .index(1), .key("b")]
        #expect(JSONText.position(of: path, in: bytes)?.description == "line 2, column 19")
        #expect(JSONText.position(of: path, ofKey: true, in: bytes)?.description == "line 2, column 14")
        #expect(JSONText.position(of: [.key("c")], ofKey: true, in: bytes)?.description == "line 3, column 3")
        #expect(JSONText.position(of: [], in: bytes)?.description == "line 1, column 1")
        #expect(JSONText.position(of: [.key("d")], in: bytes) == nil)
    }

    @Test func `numbers give their values only when they fit`() {
        #expect(JSONNumber("3.0")?.integer == 3)
        #expect(JSONNumber("-9223372036854775808")?.integer == .min)
        #expect(JSONNumber("9223372036854775808")?.integer == nil)
        #expect(JSONNumber("0.5")?.integer == nil)
        #expect(JSONNumber("1e999")?.double == nil)
        #expect(JSONNumber("+1") == nil)
        #expect(JSONNumber("1 ") == nil)
        #expect(JSONNumber(Double.infinity) == nil)
        #expect(JSONNumber(1e300)?.double == 1e300)
    }

    /// Somebody else's fields come into a sidecar of ours; each of them once is looked for among all.
    @Test func `an object of hundreds of thousands of members is made, of equal keys the last counts`() throws {
        let count = 300_000
        var members = (0..<count).map { JSONObject.Member("key \($0)", .string("first")) }
        members.append(.init("key 7", .string("last")))
        let object = JSONObject(members)
        #expect(object.members.count == count)
        #expect(object["key 7"] == .string("last") && object.members[7].key == "key 7")
    }

    @Test func `keys keep their order and compare by bytes`() {
        var object: JSONObject = ["b": 1, "a": 2]
        object["c"] = .bool(true)
        object["b"] = nil
        object["a"] = .null
        #expect(object.keys == ["a", "c"])
        object["caf\u{E9}"] = 1
        #expect(object["cafe\u{301}"] == nil)
    }
}
