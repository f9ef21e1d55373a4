internal import ShoeboxModel

/// One line from `shoebox-watch`; see `Documentation/Format/WatcherProtocol.md`.
enum WatcherMessage: Hashable, Sendable {
    case hello
    case ready(Int)
    case dirty(Int, RelativePath)
    case rescan(Int)
    case lost(Int)
    case gone(Int)
    case limit(Int, directoriesNeeded: Int)
    case problem(Int, String)

    /// The version of the protocol that is spoken here, as the first line names it.
    static let greeting = "shoebox-watch/1"

    /// The message of a line without its end; nil for one that is not known, to be passed over.
    init?(_ line: some Collection<UInt8>) {
        let words = String(decoding: Array(line), as: UTF8.self)
            .split(separator: " ", omittingEmptySubsequences: false)
        guard let kind = words.first else { return nil }
        if kind == "hello" {
            guard words.dropFirst().first.map(String.init) == Self.greeting else { return nil }
            self = .hello
            return
        }
        guard words.count >= 2, let root = Int(words[1]) else { return nil }
        switch kind {
        case "ready": self = .ready(root)
        case "dirty":
            guard words.count == 3 else { return nil }
            if words[2] == "-" {
                self = .dirty(root, .root)
                return
            }
            guard let bytes = decodeHex(words[2]), let path = RelativePath(bytes: bytes) else { return nil }
            self = .dirty(root, path)
        case "rescan": self = .rescan(root)
        case "lost": self = .lost(root)
        case "gone": self = .gone(root)
        case "limit":
            guard words.count == 3, let needed = Int(words[2]) else { return nil }
            self = .limit(root, directoriesNeeded: needed)
        case "problem":
            guard words.count == 3, let bytes = decodeHex(words[2]) else { return nil }
            self = .problem(root, String(decoding: bytes, as: UTF8.self))
        default: return nil
        }
    }
}
