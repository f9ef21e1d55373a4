internal import ShoeboxModel

/// A pattern over bytes: `*` any bytes, `?` any one byte, `[a-z]` and `[!a-z]` one of a set, `\` takes the next as it is.
struct Glob: Hashable, Sendable {
    private enum Part: Hashable, Sendable {
        case byte(UInt8)
        case anyByte
        case anyBytes
        case oneOf([ClosedRange<UInt8>], isNegated: Bool)
    }

    private let parts: [Part]

    /// The pattern; a `[` that is never closed stands for itself.
    init(_ pattern: some Collection<UInt8>) {
        let bytes = Array(pattern)
        var parts: [Part] = []
        var index = 0
        while index < bytes.count {
            let byte = bytes[index]
            index += 1
            switch byte {
            case UInt8(ascii: "*"):
                if parts.last != .anyBytes { parts.append(.anyBytes) }
            case UInt8(ascii: "?"): parts.append(.anyByte)
            case UInt8(ascii: "\\") where index < bytes.count:
                parts.append(.byte(bytes[index]))
                index += 1
            case UInt8(ascii: "["):
                if let (set, next) = Self.parseSet(bytes, from: index) {
                    parts.append(set)
                    index = next
                } else {
                    parts.append(.byte(byte))
                }
            default: parts.append(.byte(byte))
            }
        }
        self.parts = parts
    }

    private static func parseSet(_ bytes: [UInt8], from start: Int) -> (Part, next: Int)? {
        var index = start
        var isNegated = false
        if index < bytes.count, bytes[index] == UInt8(ascii: "!") || bytes[index] == UInt8(ascii: "^") {
            isNegated = true
            index += 1
        }
        var ranges: [ClosedRange<UInt8>] = []
        let first = index
        while index < bytes.count {
            let low = bytes[index]
            if low == UInt8(ascii: "]"), index > first { return (.oneOf(ranges, isNegated: isNegated), index + 1) }
            if index + 2 < bytes.count, bytes[index + 1] == UInt8(ascii: "-"), bytes[index + 2] != UInt8(ascii: "]") {
                let high = bytes[index + 2]
                if low <= high { ranges.append(low...high) }
                index += 3
            } else {
                ranges.append(low...low)
                index += 1
            }
        }
        return nil
    }

    /// Whether the whole of the bytes fits. Takes at most parts × bytes steps, whatever the pattern.
    func matches(_ bytes: [UInt8]) -> Bool {
        var part = 0
        var index = 0
        // The latest `*`, and where it would go on if it took one byte more; an earlier one never needs another try.
        var star: (part: Int, index: Int)?
        while index < bytes.count {
            if part < parts.count, parts[part] == .anyBytes {
                star = (part, index)
                part += 1
            } else if part < parts.count, fits(parts[part], bytes[index]) {
                part += 1
                index += 1
            } else if let last = star {
                star = (last.part, last.index + 1)
                part = last.part + 1
                index = last.index + 1
            } else {
                return false
            }
        }
        return parts[part...].allSatisfy { $0 == .anyBytes }
    }

    private func fits(_ part: Part, _ byte: UInt8) -> Bool {
        switch part {
        case .byte(let wanted): wanted == byte
        case .anyByte: true
        case .anyBytes: false
        case .oneOf(let ranges, let isNegated): ranges.contains { $0.contains(byte) } != isNegated
        }
    }
}
