extension String {
    /// One line as a terminal may show it. Names and titles are other people's: what would end the line, colour it, turn it
    /// around or hide in it is written as its number.
    var printable: String {
        guard unicodeScalars.contains(where: \.misleads) else { return self }
        return unicodeScalars.reduce(into: "") { result, scalar in
            if scalar.misleads {
                result += "\\u{\(String(scalar.value, radix: 16))}"
            } else {
                result.unicodeScalars.append(scalar)
            }
        }
    }
}

extension Unicode.Scalar {
    /// Whether it is a control character, a line separator, changes the direction of what follows, or shows nothing.
    fileprivate var misleads: Bool {
        switch value {
        case 0x09: false
        case 0x200B, 0x2028...0x202E, 0x2060, 0x2066...0x2069, 0xFEFF: true
        default: properties.generalCategory == .control
        }
    }
}
