extension JSONParser {
    mutating func parseString() throws(JSONTextError) -> String {
        let start = index
        index += 1
        var run = index
        var escaped: [UInt8]?
        while index < bytes.count {
            switch bytes[index] {
            case UInt8(ascii: "\""):
                let tail = bytes[run..<index]
                index += 1
                return String(decoding: escaped.map { $0 + tail } ?? Array(tail), as: UTF8.self)
            case UInt8(ascii: "\\"):
                var text = escaped ?? []
                text += bytes[run..<index]
                text += String(try parseEscape()).utf8
                escaped = text
                run = index
            case 0x00..<0x20:
                let isLineEnd = bytes[index] == UInt8(ascii: "\n") || bytes[index] == UInt8(ascii: "\r")
                throw error(
                    isLineEnd ? "the string is not closed on its line" : "a control character in a string",
                    at: isLineEnd ? start : index,
                    isLineEnd ? "Close it with a double quote; a line break is written \\n." : "Write it as \\u00….")
            default: index += 1
            }
        }
        throw error("the string is never closed", at: start, "Close it with a double quote.")
    }

    private mutating func parseEscape() throws(JSONTextError) -> Unicode.Scalar {
        let start = index
        index += 1
        guard index < bytes.count else { throw endError("a string ends in a backslash") }
        let kind = bytes[index]
        index += 1
        switch kind {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): return Unicode.Scalar(kind)
        case UInt8(ascii: "n"): return "\n"
        case UInt8(ascii: "r"): return "\r"
        case UInt8(ascii: "t"): return "\t"
        case UInt8(ascii: "b"): return "\u{8}"
        case UInt8(ascii: "f"): return "\u{C}"
        case UInt8(ascii: "u"): return try parseUnicodeEscape(start)
        default:
            throw error("an unknown escape after a backslash", at: start, "A backslash itself is written \\\\.")
        }
    }

    private mutating func parseUnicodeEscape(_ start: Int) throws(JSONTextError) -> Unicode.Scalar {
        let first = try parseHexDigits(start)
        if let scalar = Unicode.Scalar(first) { return scalar }
        // Half of a pair: the other half must follow at once, or there is no such character.
        if 0xD800..<0xDC00 ~= first, index + 1 < bytes.count, bytes[index] == UInt8(ascii: "\\"),
            bytes[index + 1] == UInt8(ascii: "u")
        {
            index += 2
            let second = try parseHexDigits(start)
            if 0xDC00..<0xE000 ~= second,
                let scalar = Unicode.Scalar(0x10000 + ((first - 0xD800) << 10) + (second - 0xDC00))
            {
                return scalar
            }
        }
        throw error("half of a surrogate pair", at: start, "Write the character itself, in UTF-8.")
    }

    private mutating func parseHexDigits(_ start: Int) throws(JSONTextError) -> UInt32 {
        var value: UInt32 = 0
        for _ in 0..<4 {
            guard index < bytes.count, let digit = Character(Unicode.Scalar(bytes[index])).hexDigitValue else {
                throw error("\\u without four hexadecimal digits", at: start, "Write it like \\u00e9.")
            }
            value = value << 4 | UInt32(digit)
            index += 1
        }
        return value
    }
}
