import Glibc

/// Follows the links of paths without ever touching a mount whose server may be gone: every command looks at its
/// configuration first, and must not hang on that.
struct LinkResolver {
    /// Mount points of file systems that are not of this machine.
    private let remote: [AbsolutePath]
    /// As many as the kernel follows.
    private static let linksMax = 40

    init() { remote = MountTable.read().filter { !$0.isLocal }.map(\.point) }

    /// The path with links followed as far as it exists, and as far as the first mount of another machine's files.
    func resolved(_ path: AbsolutePath) -> AbsolutePath {
        var done = AbsolutePath.root
        var rest = Self.components(path.text[...])
        var links = 0
        while let component = rest.popLast() {
            if component == ".." {
                done = done.parent
                continue
            }
            let next = done.appending("./\(component)")
            if isRemote(next) { return rest.reversed().reduce(next) { $0.appending("./\($1)") } }
            var buffer = [CChar](repeating: 0, count: 4_096)
            let count = readlink(next.text, &buffer, buffer.count)
            guard count > 0, count < buffer.count, links < Self.linksMax else {
                done = next
                continue
            }
            links += 1
            let target = String(decoding: buffer.prefix(count).map { UInt8(bitPattern: $0) }, as: UTF8.self)
            if target.utf8.first == UInt8(ascii: "/") { done = .root }
            rest += Self.components(target[...])
        }
        return done
    }

    private func isRemote(_ path: AbsolutePath) -> Bool { remote.contains(path) }

    /// The components that mean something, the last first.
    private static func components(_ text: Substring) -> [String] {
        text.utf8.split(separator: UInt8(ascii: "/")).map { String(decoding: $0, as: UTF8.self) }
            .filter { $0 != "." }.reversed()
    }
}
