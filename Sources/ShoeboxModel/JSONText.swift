/// JSON as text: a strict parser that says where it stopped, and a writer whose output is stable.
///
/// The parser follows RFC 8259 to the letter (no comments, no trailing commas, no repeated keys), is bounded in depth,
/// and traps on no input. It skips a byte order mark at the start, which some editors leave there.
public enum JSONText {
    /// How deep arrays and objects may nest.
    public static let depthMax = 64

    /// The one value that the text holds.
    ///
    /// Throws with the place of the first byte that can't be right. Text that isn't UTF-8 is refused.
    public static func parse(_ bytes: [UInt8]) throws(JSONTextError) -> JSONValue {
        var parser = JSONParser(bytes, wanted: nil)
        return try parser.parseDocument()
    }

    /// The one value that the text holds.
    public static func parse(_ text: String) throws(JSONTextError) -> JSONValue { try parse(Array(text.utf8)) }

    /// Where the value at a path starts; nil if the text has no such value, or doesn't parse.
    ///
    /// With `ofKey`, where the key of that object member starts. Parses the text anew: meant for messages about a value
    /// that parsed and turned out to be wrong.
    public static func position(of path: [JSONStep], ofKey: Bool = false, in bytes: [UInt8]) -> JSONPosition? {
        var parser = JSONParser(bytes, wanted: JSONParser.Wanted(path: path, isKey: ofKey))
        guard (try? parser.parseDocument()) != nil else { return nil }
        return parser.foundOffset.map { JSONPosition(offset: $0, in: bytes) }
    }

    /// The text of a value; equal values in equal order give equal bytes.
    ///
    /// UTF-8, no escaped slashes, nothing escaped that needn't be. `indented` puts each member and element on its own
    /// line, two spaces a level, and ends the text with a newline. Keys keep their order, or are sorted by their bytes.
    public static func encode(_ value: JSONValue, indented: Bool = true, sortedKeys: Bool = false) -> [UInt8] {
        var writer = JSONWriter(isIndented: indented, sortsKeys: sortedKeys)
        writer.write(value, level: 0)
        if indented { writer.bytes.append(UInt8(ascii: "\n")) }
        return writer.bytes
    }
}

/// One step from a JSON value to one inside it.
public enum JSONStep: Hashable, Sendable {
    /// To the member of an object.
    case key(String)
    /// To the element of an array, from 0.
    case index(Int)
}

/// A place in a text.
public struct JSONPosition: Hashable, Sendable, CustomStringConvertible {
    /// Bytes before it.
    public let offset: Int
    /// The line, from 1.
    public let line: Int
    /// The column, from 1, in Unicode scalars.
    public let column: Int

    /// The place of a byte; an offset past the end is taken as the end.
    public init(offset: Int, in bytes: [UInt8]) {
        let offset = min(max(offset, 0), bytes.count)
        var line = 1
        var column = 1
        var start = 0
        if JSONParser.hasByteOrderMark(bytes) { start = min(3, offset) }
        for byte in bytes[start..<offset] {
            if byte == UInt8(ascii: "\n") {
                line += 1
                column = 1
            } else if byte & 0xC0 != 0x80 {
                column += 1
            }
        }
        self.offset = offset
        self.line = line
        self.column = column
    }

    /// As messages say it: `line 3, column 14`.
    public var description: String { "line \(line), column \(column)" }
}

/// Why a text is not JSON.
public struct JSONTextError: Error, Hashable, Sendable, CustomStringConvertible {
    /// What is wrong there, as a clause: `a comma is missing`.
    public var message: String
    /// Where.
    public var position: JSONPosition
    /// What to do now, as a sentence.
    public var remedy: String

    /// An error from its parts.
    public init(message: String, position: JSONPosition, remedy: String) {
        self.message = message
        self.position = position
        self.remedy = remedy
    }

    /// Place and reason: `line 3, column 14: a comma is missing`.
    public var description: String { "\(position): \(message)" }
}
