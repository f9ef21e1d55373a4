/// How two file trees differ, one line for each path, sorted; empty if they are equal.
///
/// Lines start with `-` for what is expected and missing, `+` for what is there and not expected, and `~` for other
/// bytes. Use it as `#expect(treeDifference(disk.tree(), [...]) == [])`, so that a failure prints the lines.
public func treeDifference(_ actual: [String: [UInt8]], _ expected: [String: [UInt8]]) -> [String] {
    var lines: [String] = []
    for path in Set(actual.keys).union(expected.keys).sorted() {
        switch (expected[path], actual[path]) {
        case (let wanted?, let found?) where wanted != found:
            lines.append("~ \(path): expected \(describeBytes(wanted)), found \(describeBytes(found))")
        case (let wanted?, nil): lines.append("- \(path): \(describeBytes(wanted))")
        case (nil, let found?): lines.append("+ \(path): \(describeBytes(found))")
        default: break
        }
    }
    return lines
}

/// As the other `treeDifference`, with text for the expected bytes.
public func treeDifference(_ actual: [String: [UInt8]], _ expected: [String: String]) -> [String] {
    treeDifference(actual, expected.mapValues { Array($0.utf8) })
}

/// Bytes as a short line: quoted text if they are printable, else hexadecimal digits, and the count if they are cut.
public func describeBytes(_ bytes: [UInt8], limit: Int = 60) -> String {
    let start = Array(bytes.prefix(limit))
    let tail = bytes.count > limit ? "… (\(bytes.count) bytes)" : ""
    if let text = String(validating: start, as: UTF8.self), text.unicodeScalars.allSatisfy({ $0.value >= 0x20 }) {
        return "\"\(text)\"\(tail)"
    }
    let digits = Array("0123456789abcdef")
    return start.map { "\(digits[Int($0 >> 4)])\(digits[Int($0 & 15)])" }.joined() + tail
}
