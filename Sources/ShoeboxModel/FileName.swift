/// One component of a path, as bytes: never empty, no `/`, no NUL, not `.` or `..`, at most 255 bytes.
///
/// Names compare by bytes, so "é" composed and "é" decomposed are two names, and a name need not be valid UTF-8.
public struct FileName: Hashable, Comparable, Sendable, CustomStringConvertible {
    /// The bytes.
    public let bytes: [UInt8]

    /// A valid name; nil when the bytes are none.
    public init?(bytes: some Collection<UInt8>) {
        let bytes = Array(bytes)
        guard !bytes.isEmpty, bytes.count <= 255, !bytes.contains(0), !bytes.contains(UInt8(ascii: "/")),
            bytes != [UInt8(ascii: ".")], bytes != [UInt8(ascii: "."), UInt8(ascii: ".")]
        else { return nil }
        self.bytes = bytes
    }

    /// A valid name from text; nil when the text is none.
    public init?(_ text: some StringProtocol) { self.init(bytes: Array(text.utf8)) }

    /// The name for people: control characters and invalid UTF-8 escaped as `\xNN`, so that one name is one line.
    public var description: String { escapeForDisplay(bytes) }

    /// The name as text; nil when it is not valid UTF-8.
    public var text: String? { String(validating: bytes, as: UTF8.self) }

    /// The position of the dot of the extension; nil without one (a leading dot starts no extension).
    private var extensionDot: Int? {
        guard let dot = bytes.lastIndex(of: UInt8(ascii: ".")), dot > 0, dot < bytes.count - 1 else { return nil }
        return dot
    }

    /// The bytes before the extension's dot.
    public var stem: [UInt8] { extensionDot.map { Array(bytes[..<$0]) } ?? bytes }
    /// The extension without its dot, in lower case; empty without one.
    public var lowercasedExtension: String {
        extensionDot.map { String(decoding: bytes[($0 + 1)...], as: UTF8.self).lowercased() } ?? ""
    }

    /// This name with text put before its extension: `IMG_1.jpg` becomes `IMG_1 (bob).jpg`. Cut to 255 bytes at the stem.
    public func inserting(_ suffix: String) -> FileName {
        // What is too long to be an extension is a part of the stem, which may be cut.
        let dot = extensionDot.flatMap { bytes.count - $0 <= 32 ? $0 : nil } ?? bytes.count
        let addition = Array(suffix.utf8).filter { $0 != 0 && $0 != UInt8(ascii: "/") }
        let room = max(1, 255 - addition.count - (bytes.count - dot))
        return FileName(bytes: Self.cut(bytes[..<dot], to: room) + addition + bytes[dot...]) ?? self
    }

    /// This name with room for more bytes after it, cut at the end of its stem if need be.
    public func leaving(room: Int) -> FileName {
        guard bytes.count > 255 - room else { return self }
        let dot = extensionDot.flatMap { bytes.count - $0 <= 32 ? $0 : nil } ?? bytes.count
        let rest = max(1, 255 - room - (bytes.count - dot))
        return FileName(bytes: Self.cut(bytes[..<dot], to: rest) + bytes[dot...]) ?? self
    }

    /// The first bytes, without a part of a character at their end: some file systems take no such names.
    private static func cut(_ bytes: ArraySlice<UInt8>, to count: Int) -> ArraySlice<UInt8> {
        guard bytes.count > count else { return bytes }
        var end = bytes.startIndex + count
        // A character has three bytes after its first one at most.
        for _ in 0..<3 where end > bytes.startIndex + 1 && bytes[end] & 0xC0 == 0x80 { end -= 1 }
        return bytes[..<end]
    }

    /// This name with bytes put after it; nil when that is too long.
    public func appending(_ suffix: String) -> FileName? { FileName(bytes: bytes + Array(suffix.utf8)) }

    public static func < (left: Self, right: Self) -> Bool { left.bytes.lexicographicallyPrecedes(right.bytes) }

    public func hash(into hasher: inout Hasher) {
        bytes.withUnsafeBytes { hasher.combine(bytes: $0) }
    }
}

/// A path below some root: zero or more names; the empty path is the root itself. It can't leave its root.
public struct RelativePath: Hashable, Comparable, Sendable, CustomStringConvertible {
    /// The names, outermost first.
    public var names: [FileName]

    /// A path from its names.
    public init(_ names: [FileName] = []) { self.names = names }

    /// A path from text such as `2024/IMG_1.jpg`; nil if a component is not a valid name. Empty text is the root.
    public init?(_ text: some StringProtocol) {
        var names: [FileName] = []
        for part in text.utf8.split(separator: UInt8(ascii: "/")) {
            guard let name = FileName(bytes: Array(part)) else { return nil }
            names.append(name)
        }
        self.names = names
    }

    /// The root itself.
    public static let root = RelativePath()
    /// Whether this is the root itself.
    public var isRoot: Bool { names.isEmpty }
    /// The last name; nil for the root.
    public var last: FileName? { names.last }
    /// The path of the directory that holds this; the root for the root.
    public var parent: RelativePath { RelativePath(Array(names.dropLast())) }
    /// The path of an entry in this directory.
    public func appending(_ name: FileName) -> RelativePath { RelativePath(names + [name]) }
    /// Whether this is that path or lies below it.
    public func isAtOrBelow(_ other: RelativePath) -> Bool { names.starts(with: other.names) }
    /// The bytes with `/` between names.
    public var bytes: [UInt8] { Array(names.map(\.bytes).joined(separator: [UInt8(ascii: "/")])) }
    /// The path for people, escaped as `FileName.description`.
    public var description: String { names.map(\.description).joined(separator: "/") }

    public static func < (left: Self, right: Self) -> Bool { left.names.lexicographicallyPrecedes(right.names) }
}

/// Text for people from bytes of any kind: one line, valid, with `\xNN` for what is neither printable nor UTF-8.
public func escapeForDisplay(_ bytes: [UInt8]) -> String {
    var result = ""
    var decoder = UTF8.ForwardParser()
    var iterator = bytes.makeIterator()
    loop: while true {
        switch decoder.parseScalar(from: &iterator) {
        case .valid(let encoded):
            let scalar = UTF8.decode(encoded)
            if scalar.value < 0x20 || scalar.value == 0x7f || (0x80..<0xa0).contains(scalar.value) {
                for byte in String(scalar).utf8 { result += "\\x" + encodeHex([byte]) }
            } else {
                result.unicodeScalars.append(scalar)
            }
        case .error(let length):
            result += String(repeating: "\u{fffd}", count: max(1, length))
        case .emptyInput: break loop
        }
    }
    return result
}
