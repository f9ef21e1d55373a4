internal import ShoeboxModel

// What a process that makes calls on a mount is asked and answers. Both ends are the same executable, so that this is
// no format to keep: each message is its length (4 bytes, little-endian) and its fields one after the other. What
// doesn't parse ends the connection, whichever end sees it.

/// A call that a helper is asked to make.
enum MountRequest: Equatable {
    /// First, once: which directory, with which modes, and what its identity was last.
    case open(root: String, modes: MountModes, known: RootIdentity?)
    case list(MountPath)
    case read(MountPath, offset: UInt64, maxBytes: UInt32)
    case publish(MountPath, [UInt8])
    /// Begins an upload; at most one at a time.
    case begin(MountPath)
    /// The next bytes of the upload. The only request without an answer: what goes wrong is said by `finish`.
    case write([UInt8])
    case finish
    case discard
    case append(MountPath, [UInt8])
    case remove(MountPath)
    case makeDirectory(MountPath)
    case synchronize
    /// The root's path with its links followed.
    case resolve
}

/// What a helper answers.
enum MountAnswer: Equatable {
    case bytes([UInt8])
    case names([String])
    case failure(FileError)
}

/// An answer, with the root's identity as the helper knows it by now.
struct MountReply: Equatable {
    var known: RootIdentity?
    var answer: MountAnswer
}

/// The most bytes of a message: more than a listing of a million names.
let mountMessageBytesMax = 128 << 20

extension MountRequest {
    /// The fields, without the length.
    var encoded: [UInt8] {
        var message = MessageWriter()
        switch self {
        case .open(let root, let modes, let known):
            message.put(UInt8(0))
            message.put(root)
            message.put(UInt32(modes.directory))
            message.put(UInt32(modes.file))
            message.put(known)
        case .list(let path): message.put(1, path)
        case .read(let path, let offset, let maxBytes):
            message.put(2, path)
            message.put(offset)
            message.put(maxBytes)
        case .publish(let path, let bytes):
            message.put(3, path)
            message.bytes += bytes
        case .begin(let path): message.put(4, path)
        case .write(let bytes):
            message.put(UInt8(5))
            message.bytes += bytes
        case .finish: message.put(UInt8(6))
        case .discard: message.put(UInt8(7))
        case .append(let path, let bytes):
            message.put(8, path)
            message.bytes += bytes
        case .remove(let path): message.put(9, path)
        case .makeDirectory(let path): message.put(10, path)
        case .synchronize: message.put(UInt8(11))
        case .resolve: message.put(UInt8(12))
        }
        return message.bytes
    }

    /// A request from its fields; nil if it is none.
    init?(_ bytes: [UInt8]) {
        var message = MessageReader(bytes)
        guard let kind: UInt8 = message.take() else { return nil }
        switch kind {
        case 0:
            guard let root = message.takeText(), let directory: UInt32 = message.take(),
                let file: UInt32 = message.take(), let known = message.takeIdentity()
            else { return nil }
            let modes = MountModes(
                directory: UInt16(truncatingIfNeeded: directory), file: UInt16(truncatingIfNeeded: file))
            self = .open(root: root, modes: modes, known: known.identity)
        case 5: self = .write(message.takeRest())
        case 6: self = .finish
        case 7: self = .discard
        case 11: self = .synchronize
        case 12: self = .resolve
        default:
            guard let path = message.takePath() else { return nil }
            switch kind {
            case 1: self = .list(path)
            case 2:
                guard let offset: UInt64 = message.take(), let maxBytes: UInt32 = message.take() else { return nil }
                self = .read(path, offset: offset, maxBytes: maxBytes)
            case 3: self = .publish(path, message.takeRest())
            case 4: self = .begin(path)
            case 8: self = .append(path, message.takeRest())
            case 9: self = .remove(path)
            case 10: self = .makeDirectory(path)
            default: return nil
            }
        }
        guard message.isAtEnd else { return nil }
    }
}

extension MountReply {
    /// The fields, without the length.
    var encoded: [UInt8] {
        var message = MessageWriter()
        message.put(known)
        switch answer {
        case .bytes(let bytes):
            message.put(UInt8(0))
            message.bytes += bytes
        case .names(let names):
            message.put(UInt8(1))
            message.put(UInt32(clamping: names.count))
            for name in names { message.put(name) }
        case .failure(let error):
            message.put(UInt8(2))
            for text in [error.code.rawValue, error.operation, error.path, error.reason] { message.put(text) }
            message.put(UInt32(bitPattern: error.errno))
        }
        return message.bytes
    }

    /// A reply from its fields; nil if it is none.
    init?(_ bytes: [UInt8]) {
        var message = MessageReader(bytes)
        guard let known = message.takeIdentity(), let kind: UInt8 = message.take() else { return nil }
        self.known = known.identity
        switch kind {
        case 0: answer = .bytes(message.takeRest())
        case 1:
            // Each name has at least the four bytes of its length.
            guard let count: UInt32 = message.take(), count <= bytes.count / 4 else { return nil }
            var names: [String] = []
            for _ in 0..<count {
                guard let name = message.takeText() else { return nil }
                names.append(name)
            }
            answer = .names(names)
        case 2:
            guard let code = message.takeText(), let operation = message.takeText(), let path = message.takeText(),
                let reason = message.takeText(), let errno: UInt32 = message.take()
            else { return nil }
            answer = .failure(
                FileError(
                    code: FileError.Code(rawValue: code), operation: operation, path: path,
                    errno: Int32(bitPattern: errno), reason: reason))
        default: return nil
        }
        guard message.isAtEnd else { return nil }
    }
}

private struct MessageWriter {
    var bytes: [UInt8] = []

    mutating func put(_ value: some FixedWidthInteger) {
        withUnsafeBytes(of: value.littleEndian) { bytes.append(contentsOf: $0) }
    }
    mutating func put(_ text: String) {
        put(UInt32(clamping: text.utf8.count))
        bytes.append(contentsOf: text.utf8)
    }
    mutating func put(_ kind: UInt8, _ path: MountPath) {
        put(kind)
        put(path.description)
    }
    mutating func put(_ identity: RootIdentity?) {
        put(UInt8(identity == nil ? 0 : 1))
        put(identity?.device ?? 0)
        put(identity?.inode ?? 0)
    }
}

private struct MessageReader {
    private var rest: ArraySlice<UInt8>
    init(_ bytes: [UInt8]) { rest = bytes[...] }

    var isAtEnd: Bool { rest.isEmpty }

    mutating func take<Value: FixedWidthInteger>() -> Value? {
        let count = MemoryLayout<Value>.size
        guard rest.count >= count else { return nil }
        var value: Value = 0
        for (index, byte) in rest.prefix(count).enumerated() { value |= Value(truncatingIfNeeded: byte) << (8 * index) }
        rest = rest.dropFirst(count)
        return value
    }

    mutating func takeText() -> String? {
        guard let count: UInt32 = take(), rest.count >= Int(count) else { return nil }
        let text = String(validating: rest.prefix(Int(count)), as: UTF8.self)
        rest = rest.dropFirst(Int(count))
        return text
    }

    mutating func takePath() -> MountPath? {
        guard let text = takeText() else { return nil }
        return text.isEmpty ? .root : MountPath(text)
    }

    mutating func takeIdentity() -> (identity: RootIdentity?, Void)? {
        guard let isKnown: UInt8 = take(), let device: UInt64 = take(), let inode: UInt64 = take() else { return nil }
        return (isKnown == 1 ? RootIdentity(device: device, inode: inode) : nil, ())
    }

    mutating func takeRest() -> [UInt8] {
        defer { rest = [] }
        return Array(rest)
    }
}
