// SPDX-License-Identifier: GPL-2.0-only
internal import Glibc

/// What comes in: one command a line, see `Documentation/Format/WatcherProtocol.md`.
enum Command {
    /// Watch the directory at an absolute path as the root of this number, anew if the number is in use.
    case root(Int, path: [UInt8])
    /// Stop watching a root.
    case drop(Int)
    /// End.
    case quit

    /// The command of a line; nil for one that is not known.
    init?(_ line: ArraySlice<UInt8>) {
        let words = line.split(separator: UInt8(ascii: " ")).map { String(decoding: $0, as: UTF8.self) }
        switch (words.first, words.count) {
        case ("root", 3):
            guard let index = Int(words[1]), index >= 0, let path = Hex.decode(words[2]),
                path.first == UInt8(ascii: "/")
            else { return nil }
            self = .root(index, path: path)
        case ("drop", 2):
            guard let index = Int(words[1]) else { return nil }
            self = .drop(index)
        case ("quit", 1): self = .quit
        default: return nil
        }
    }
}

/// What goes out.
enum Message {
    case hello
    case ready(Int, directories: Int)
    case dirty(Int, path: [UInt8])
    case rescan(Int)
    case lost(Int)
    case gone(Int)
    case limit(Int, needed: Int)
    case problem(Int, text: String)

    var line: String {
        switch self {
        case .hello: "hello shoebox-watch/1"
        case .ready(let root, let directories): "ready \(root) \(directories)"
        case .dirty(let root, let path): "dirty \(root) \(path.isEmpty ? "-" : Hex.encode(path))"
        case .rescan(let root): "rescan \(root)"
        case .lost(let root): "lost \(root)"
        case .gone(let root): "gone \(root)"
        case .limit(let root, let needed): "limit \(root) \(needed)"
        case .problem(let root, let text): "problem \(root) \(Hex.encode(Array(text.utf8)))"
        }
    }
}

/// Bytes as lower-case hexadecimal digits, so that any name is one word.
enum Hex {
    static func encode(_ bytes: [UInt8]) -> String {
        let digits = Array("0123456789abcdef".utf8)
        return String(decoding: bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
    }

    static func decode(_ text: String) -> [UInt8]? {
        let digits = text.utf8.map { byte -> UInt8? in
            switch byte {
            case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
            case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
            default: nil
            }
        }
        guard digits.count.isMultiple(of: 2), !digits.contains(nil) else { return nil }
        return stride(from: 0, to: digits.count, by: 2).map { (digits[$0] ?? 0) << 4 | (digits[$0 + 1] ?? 0) }
    }
}

/// Standard output; messages are gathered and written together.
struct Output {
    private var pending: [UInt8] = []

    mutating func send(_ message: Message) {
        pending += message.line.utf8
        pending.append(UInt8(ascii: "\n"))
    }

    /// Writes what is gathered; false if nobody reads any more.
    mutating func flush() -> Bool {
        defer { pending = [] }
        return pending.withUnsafeBytes { buffer in
            var done = 0
            while done < buffer.count, let base = buffer.baseAddress {
                let put = Glibc.write(1, base + done, buffer.count - done)
                if put > 0 {
                    done += put
                } else if errno != EINTR {
                    return false
                }
            }
            return true
        }
    }
}
