/// Reads one JSON text from its first byte to its last.
struct JSONParser {
    /// A value, or the key of a member, whose place is asked for.
    struct Wanted {
        var path: [JSONStep]
        var isKey: Bool
    }

    let bytes: [UInt8]
    /// The next byte to read.
    var index = 0
    private let wanted: Wanted?
    /// The way to what is being read; kept only when a place is wanted.
    private var path: [JSONStep] = []
    /// Where what was wanted starts.
    private(set) var foundOffset: Int?

    init(_ bytes: [UInt8], wanted: Wanted?) {
        self.bytes = bytes
        self.wanted = wanted
    }

    static func hasByteOrderMark(_ bytes: [UInt8]) -> Bool { bytes.starts(with: [0xEF, 0xBB, 0xBF]) }

    mutating func parseDocument() throws(JSONTextError) -> JSONValue {
        if let invalid = UTF8Text.firstInvalidOffset(in: bytes) {
            throw error(
                "a byte that is not UTF-8", at: invalid, "Save the file as UTF-8.")
        }
        if Self.hasByteOrderMark(bytes) { index = 3 }
        skipSpace()
        guard index < bytes.count else {
            throw error("the text is empty", at: index, "Write at least {}.")
        }
        let value = try parseValue(depth: 0)
        skipSpace()
        guard index == bytes.count else {
            throw error(
                "more text after the end of the value", at: index, "Remove what follows, or a bracket too many.")
        }
        return value
    }

    private mutating func parseValue(depth: Int) throws(JSONTextError) -> JSONValue {
        note(isKey: false)
        guard index < bytes.count else { throw endError("a value is missing") }
        switch bytes[index] {
        case UInt8(ascii: "{"): return .object(try parseObject(depth: depth + 1))
        case UInt8(ascii: "["): return .array(try parseArray(depth: depth + 1))
        case UInt8(ascii: "\""): return .string(try parseString())
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): return .number(try parseNumber())
        case UInt8(ascii: "t") where takeWord("true"): return .bool(true)
        case UInt8(ascii: "f") where takeWord("false"): return .bool(false)
        case UInt8(ascii: "n") where takeWord("null"): return .null
        default: throw unexpected("a value")
        }
    }

    private mutating func parseObject(depth: Int) throws(JSONTextError) -> JSONObject {
        let start = try open(depth: depth)
        var members: [JSONObject.Member] = []
        var seen: Set<[UInt8]> = []
        skipSpace()
        if take("}") { return JSONObject() }
        while true {
            skipSpace()
            let keyStart = index
            guard index < bytes.count else { throw unclosed("{", start) }
            guard bytes[index] == UInt8(ascii: "\"") else {
                if bytes[index] == UInt8(ascii: "}") { throw trailingComma() }
                throw unexpected("a key in double quotes")
            }
            let key = try parseString()
            guard seen.insert(Array(key.utf8)).inserted else {
                throw error("the key \"\(key)\" is there twice", at: keyStart, "Remove one of the two.")
            }
            skipSpace()
            guard index < bytes.count else { throw unclosed("{", start) }
            guard take(":") else {
                throw error("a colon is missing after \"\(key)\"", at: index, "Write \"\(key)\": and the value.")
            }
            skipSpace()
            if wanted != nil {
                path.append(.key(key))
                note(isKey: true, at: keyStart)
            }
            let value = try parseValue(depth: depth)
            members.append(JSONObject.Member(key, value))
            if wanted != nil { path.removeLast() }
            if try !takeSeparator(before: "}", opened: "{", start) { return JSONObject(unique: members) }
        }
    }

    private mutating func parseArray(depth: Int) throws(JSONTextError) -> [JSONValue] {
        let start = try open(depth: depth)
        var elements: [JSONValue] = []
        skipSpace()
        if take("]") { return elements }
        while true {
            skipSpace()
            guard index < bytes.count else { throw unclosed("[", start) }
            if bytes[index] == UInt8(ascii: "]") { throw trailingComma() }
            if wanted != nil { path.append(.index(elements.count)) }
            elements.append(try parseValue(depth: depth))
            if wanted != nil { path.removeLast() }
            if try !takeSeparator(before: "]", opened: "[", start) { return elements }
        }
    }

    /// Takes the opening bracket; where it was.
    private mutating func open(depth: Int) throws(JSONTextError) -> Int {
        guard depth <= JSONText.depthMax else {
            throw error(
                "lists and objects are nested more than \(JSONText.depthMax) deep", at: index, "Make it flatter.")
        }
        index += 1
        return index - 1
    }

    /// Takes the comma between two items (true), or the closing bracket (false).
    private mutating func takeSeparator(
        before close: Unicode.Scalar, opened: String, _ start: Int
    ) throws(JSONTextError) -> Bool {
        skipSpace()
        guard index < bytes.count else { throw unclosed(opened, start) }
        if take(close) { return false }
        if take(",") { return true }
        if bytes[index] == UInt8(ascii: "/") || bytes[index] == UInt8(ascii: "#") { throw unexpected("a comma") }
        throw error("a comma or \(close) is missing", at: index, "Put a comma between the two, or close the \(opened).")
    }

    private mutating func parseNumber() throws(JSONTextError) -> JSONNumber {
        let start = index
        switch Self.numberEnd(in: bytes, from: start) {
        case .success(let end):
            index = end
            return JSONNumber(checked: String(decoding: bytes[start..<end], as: UTF8.self))
        case .failure(let bad):
            throw error(
                bad.message, at: bad.offset, "Write it like 12, -3 or 0.5.")
        }
    }

    /// Why and where a number is not one.
    struct BadNumber: Error, Hashable {
        var offset: Int
        var message: String
    }

    /// Where the number that starts at an offset ends.
    static func numberEnd(in bytes: [UInt8], from start: Int) -> Result<Int, BadNumber> {
        var index = start
        func digits() -> Int {
            let before = index
            while index < bytes.count, UInt8(ascii: "0")...UInt8(ascii: "9") ~= bytes[index] { index += 1 }
            return index - before
        }
        func take(_ allowed: [UInt8]) -> Bool {
            guard index < bytes.count, allowed.contains(bytes[index]) else { return false }
            index += 1
            return true
        }
        let dot = [UInt8(ascii: ".")]
        let exponent = [UInt8(ascii: "e"), UInt8(ascii: "E")]
        let signs = [UInt8(ascii: "+"), UInt8(ascii: "-")]
        _ = take([UInt8(ascii: "-")])
        let whole = index
        switch digits() {
        case 0: return .failure(BadNumber(offset: index, message: "a number without digits"))
        case 2... where bytes[whole] == UInt8(ascii: "0"):
            return .failure(BadNumber(offset: whole, message: "a number with a leading zero"))
        default: break
        }
        if take(dot), digits() == 0 {
            return .failure(BadNumber(offset: index, message: "no digit after the decimal point"))
        }
        if take(exponent) {
            _ = take(signs)
            if digits() == 0 { return .failure(BadNumber(offset: index, message: "a number with an empty exponent")) }
        }
        return .success(index)
    }
}

extension JSONParser {
    mutating func skipSpace() {
        while index < bytes.count {
            switch bytes[index] {
            case UInt8(ascii: " "), UInt8(ascii: "\t"), UInt8(ascii: "\n"), UInt8(ascii: "\r"): index += 1
            default: return
            }
        }
    }

    mutating func take(_ scalar: Unicode.Scalar) -> Bool {
        guard index < bytes.count, bytes[index] == UInt8(ascii: scalar) else { return false }
        index += 1
        return true
    }

    mutating func takeWord(_ word: String) -> Bool {
        guard bytes[index...].starts(with: word.utf8) else { return false }
        let end = index + word.utf8.count
        if end < bytes.count, Self.isWordByte(bytes[end]) { return false }
        index = end
        return true
    }

    private static func isWordByte(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: "_") || UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte
            || UInt8(ascii: "a")...UInt8(ascii: "z") ~= byte | 0x20
    }

    mutating func note(isKey: Bool, at offset: Int? = nil) {
        guard let wanted, foundOffset == nil, wanted.isKey == isKey, wanted.path == path else { return }
        foundOffset = offset ?? index
    }

    func error(_ message: String, at offset: Int, _ remedy: String) -> JSONTextError {
        JSONTextError(message: message, position: JSONPosition(offset: offset, in: bytes), remedy: remedy)
    }

    func endError(_ message: String) -> JSONTextError {
        error("the text ends where \(message)", at: bytes.count, "Complete it, or take it from a backup.")
    }

    func unclosed(_ bracket: String, _ start: Int) -> JSONTextError {
        let place = JSONPosition(offset: start, in: bytes)
        return error("the text ends, and the \(bracket) of \(place) is not closed", at: bytes.count, "Close it.")
    }

    func trailingComma() -> JSONTextError {
        error("a comma before the closing bracket", at: index, "Remove the comma before it.")
    }

    func unexpected(_ expected: String) -> JSONTextError {
        let found = bytes[index]
        switch found {
        case UInt8(ascii: "/"), UInt8(ascii: "#"):
            return error("a comment", at: index, "JSON has no comments; remove it.")
        case UInt8(ascii: "'"):
            return error("a single quote", at: index, "Strings and keys take double quotes.")
        case _ where Self.isWordByte(found):
            var end = index
            while end < bytes.count, Self.isWordByte(bytes[end]), end - index < 40 { end += 1 }
            let word = String(decoding: bytes[index..<end], as: UTF8.self)
            return error(
                "\(word) where \(expected) belongs", at: index,
                "Put text into double quotes; the only bare words are true, false and null.")
        default:
            var end = index + 1
            while end < bytes.count, bytes[end] & 0xC0 == 0x80 { end += 1 }
            let text = String(decoding: bytes[index..<end], as: UTF8.self)
            let shown = found < 0x20 || found == 0x7F ? "a control character" : text
            return error("\(shown) where \(expected) belongs", at: index, "Remove it, or put \(expected) before it.")
        }
    }
}
