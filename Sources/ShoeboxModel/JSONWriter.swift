/// Writes values as JSON text; the options are those of `JSONText.encode`.
struct JSONWriter {
    let isIndented: Bool
    let sortsKeys: Bool
    /// What is written so far.
    var bytes: [UInt8] = []

    init(isIndented: Bool, sortsKeys: Bool) {
        self.isIndented = isIndented
        self.sortsKeys = sortsKeys
    }

    mutating func write(_ value: JSONValue, level: Int) {
        switch value {
        case .null: bytes += "null".utf8
        case .bool(let value): bytes += (value ? "true" : "false").utf8
        case .number(let number): bytes += number.text.utf8
        case .string(let text): write(text)
        case .array(let elements):
            write(elements, between: ("[", "]"), level: level) { writer, element in
                writer.write(element, level: level + 1)
            }
        case .object(let object):
            let members =
                sortsKeys
                ? object.members.sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) } : object.members
            write(members, between: ("{", "}"), level: level) { writer, member in
                writer.write(member.key)
                writer.bytes += (writer.isIndented ? ": " : ":").utf8
                writer.write(member.value, level: level + 1)
            }
        }
    }

    private mutating func write<Item>(
        _ items: [Item], between brackets: (Unicode.Scalar, Unicode.Scalar), level: Int,
        each: (inout JSONWriter, Item) -> Void
    ) {
        bytes.append(UInt8(ascii: brackets.0))
        for (index, item) in items.enumerated() {
            if index > 0 { bytes.append(UInt8(ascii: ",")) }
            breakLine(level: level + 1)
            each(&self, item)
        }
        if !items.isEmpty { breakLine(level: level) }
        bytes.append(UInt8(ascii: brackets.1))
    }

    private mutating func breakLine(level: Int) {
        guard isIndented else { return }
        bytes.append(UInt8(ascii: "\n"))
        bytes += repeatElement(UInt8(ascii: " "), count: level * 2)
    }

    private mutating func write(_ text: String) {
        bytes.append(UInt8(ascii: "\""))
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "\""): bytes += #"\""#.utf8
            case UInt8(ascii: "\\"): bytes += #"\\"#.utf8
            case UInt8(ascii: "\n"): bytes += #"\n"#.utf8
            case UInt8(ascii: "\r"): bytes += #"\r"#.utf8
            case UInt8(ascii: "\t"): bytes += #"\t"#.utf8
            case 0x00...0x1F:
                let digits = String(byte, radix: 16)
                bytes += (#"\u00"# + (digits.count < 2 ? "0" : "") + digits).utf8
            default: bytes.append(byte)
            }
        }
        bytes.append(UInt8(ascii: "\""))
    }
}
