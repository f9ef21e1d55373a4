/// A path from the root of the machine's file system, such as the container's or a watched folder's.
///
/// Always starts with `/`, has no empty component, no `.` and no `..`, and doesn't end in `/` unless it is the root.
public struct AbsolutePath: Hashable, Comparable, Sendable, CustomStringConvertible {
    /// The path as text.
    public let text: String

    /// A path from text that starts with `/`; `.` and `..` are resolved by the text alone. nil for any other text, and
    /// for text with NUL in it.
    public init?(_ text: some StringProtocol) {
        guard text.utf8.first == UInt8(ascii: "/"), !text.utf8.contains(0) else { return nil }
        var parts: [String] = []
        // By bytes: a combining mark right after a slash would make another character of it.
        for bytes in text.utf8.split(separator: UInt8(ascii: "/")) {
            let part = String(decoding: bytes, as: UTF8.self)
            if part == ".." { _ = parts.popLast() } else if part != "." { parts.append(part) }
        }
        self.text = "/" + parts.joined(separator: "/")
    }

    private init(unchecked text: String) { self.text = text }

    /// The root of the file system.
    public static let root = AbsolutePath(unchecked: "/")

    /// This path with more after it: `a/b`, `../a`; an absolute path replaces this one. The root if there is NUL in it.
    public func appending(_ relative: some StringProtocol) -> AbsolutePath {
        AbsolutePath(relative) ?? AbsolutePath("\(text)/\(relative)") ?? .root
    }

    /// The directory that holds this; the root for the root.
    public var parent: AbsolutePath { appending("..") }

    /// The last component; empty for the root.
    public var last: String {
        text.utf8.split(separator: UInt8(ascii: "/")).last.map { String(decoding: $0, as: UTF8.self) } ?? ""
    }

    /// Whether the other path is this one or lies below it, by the text alone.
    public func contains(_ other: AbsolutePath) -> Bool {
        self == .root || text == other.text || other.text.utf8.starts(with: "\(text)/".utf8)
    }

    /// The path as text.
    public var description: String { text }
    /// By their text.
    public static func < (left: Self, right: Self) -> Bool { left.text < right.text }
}
