/// Checks of bytes that may or may not be UTF-8.
package enum UTF8Text {
    /// Where the first sequence starts that is not UTF-8 (RFC 3629: no overlong forms, no surrogates); nil if all is.
    package static func firstInvalidOffset(in bytes: [UInt8]) -> Int? {
        var index = 0
        while index < bytes.count {
            let length = sequenceLength(in: bytes, at: index)
            if length == 0 { return index }
            index += length
        }
        return nil
    }

    /// The bytes of the sequence that starts at an index; 0 if it is not valid.
    private static func sequenceLength(in bytes: [UInt8], at index: Int) -> Int {
        let first = bytes[index]
        let length: Int
        let secondAllowed: ClosedRange<UInt8>
        switch first {
        case 0x00...0x7F: return 1
        case 0xC2...0xDF: (length, secondAllowed) = (2, 0x80...0xBF)
        case 0xE0: (length, secondAllowed) = (3, 0xA0...0xBF)
        case 0xED: (length, secondAllowed) = (3, 0x80...0x9F)
        case 0xE1...0xEF: (length, secondAllowed) = (3, 0x80...0xBF)
        case 0xF0: (length, secondAllowed) = (4, 0x90...0xBF)
        case 0xF1...0xF3: (length, secondAllowed) = (4, 0x80...0xBF)
        case 0xF4: (length, secondAllowed) = (4, 0x80...0x8F)
        default: return 0
        }
        guard index + length <= bytes.count, secondAllowed ~= bytes[index + 1] else { return 0 }
        for byte in bytes[(index + 2)..<(index + length)] where byte & 0xC0 != 0x80 { return 0 }
        return length
    }
}
