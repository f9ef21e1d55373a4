/// How many messages there are in the bytes of a segment's body, counted before any memory is taken for them: an empty one
/// has two bytes there, a few of them once compressed, and some hundred when it is read. Pure.
///
/// Whatever else is wrong with the bytes is for the parser to say.
struct SegmentShape {
    /// The most messages in a body, at all depths: as many as `SegmentBuilder.changeBytesMax` has room for, as none that is
    /// valid has fewer than four bytes.
    static let messagesMax = SegmentBuilder.changeBytesMax / 4
    /// As deep as the parser goes.
    private static let depthMax = 100

    /// The messages that hold others, with what lies at which field of them. See `change.proto` and `container.proto`.
    private enum Kind {
        case body, transaction, change, fieldSet, field, value, list
        /// One that holds none.
        case leaf
        /// Numbers, packed.
        case numbers

        func part(_ field: UInt64) -> Kind? {
            switch (self, field) {
            case (.body, 1): .transaction
            case (.transaction, 3): .change
            case (.transaction, 4): .numbers
            case (.change, 3), (.change, 4), (.change, 5), (.change, 12): .leaf
            case (.change, 7): .fieldSet
            case (.fieldSet, 1): .field
            case (.field, 2): .value
            case (.value, 9): .leaf
            case (.value, 10): .list
            case (.list, 1): .value
            default: nil
            }
        }
    }

    private let bytes: [UInt8]
    private var count = 0

    /// Whether no more messages than `messagesMax` would have to be read.
    static func isAffordable(_ body: [UInt8]) -> Bool {
        var shape = SegmentShape(bytes: body)
        return shape.walk(.body, body.indices, depth: 0)
    }

    private init(bytes: [UInt8]) { self.bytes = bytes }

    private mutating func walk(_ kind: Kind, _ range: Range<Int>, depth: Int) -> Bool {
        guard depth <= Self.depthMax else { return false }
        if kind == .numbers {
            // Each ends with a byte below 128.
            for byte in bytes[range] where byte < 0x80 { count += 1 }
            return count <= Self.messagesMax
        }
        var at = range.lowerBound
        while at < range.upperBound {
            guard let tag = number(&at, range.upperBound) else { return true }
            let field = tag >> 3
            switch tag & 7 {
            case 0:
                guard number(&at, range.upperBound) != nil else { return true }
                if kind == .transaction, field == 4 { count += 1 }
            case 1: at += 8
            case 2:
                guard let length = number(&at, range.upperBound), length <= UInt64(range.upperBound - at) else {
                    return true
                }
                let inside = at..<at + Int(length)
                at = inside.upperBound
                guard let part = kind.part(field) else { continue }
                if part != .numbers { count += 1 }
                guard part == .leaf || walk(part, inside, depth: depth + 1) else { return false }
            case 5: at += 4
            // Groups, which no message of ours has.
            default: return false
            }
            guard count <= Self.messagesMax else { return false }
        }
        return true
    }

    private func number(_ at: inout Int, _ end: Int) -> UInt64? {
        var result: UInt64 = 0
        for shift in stride(from: UInt64(0), to: 70, by: 7) {
            guard at < end else { return nil }
            let byte = bytes[at]
            at += 1
            result |= UInt64(byte & 0x7f) << shift
            if byte < 0x80 { return result }
        }
        return nil
    }
}
