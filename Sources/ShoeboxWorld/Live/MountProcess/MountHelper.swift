internal import Glibc

/// The process that makes another one's calls on a mount: it may hang for ever, the other one goes on.
///
/// It holds nothing but the mount: it is started with no descriptor of the other's, reads requests from standard input,
/// writes answers to standard output, and ends when its input does.
public enum MountHelper {
    /// The argument that the executable is started with to be such a process.
    public static let argument = "mount-helper"

    /// Whether this process was started to be one.
    public static var isThisProcess: Bool { CommandLine.arguments.dropFirst() == [argument] }

    /// Answers until there are no more requests.
    public static func serve() -> Never {
        // Whoever started it is asked to stop by these, and ends it by closing its input.
        for name in [SIGINT, SIGTERM, SIGHUP, SIGPIPE] { signal(name, SIG_IGN) }
        // A process that hangs must not keep a terminal, a pipe or a directory of somebody else's busy.
        let null = open("/dev/null", O_RDWR | O_CLOEXEC)
        if null >= 0 { _ = dup2(null, 2) }
        _ = chdir("/")
        ProcessMemory.keepFreed()
        var server = MountServer()
        while let message = readMessage() {
            guard let request = MountRequest(message) else { break }
            guard let reply = server.reply(to: request) else { continue }
            guard writeMessage(reply.encoded) else { break }
        }
        // Who asked may have ended in the middle of an upload; if the mount hangs, nobody waits for this.
        server.endUpload()
        exit(0)
    }

    private static func readMessage() -> [UInt8]? {
        guard let header = readExactly(4) else { return nil }
        let count = header.enumerated().reduce(0) { $0 | Int($1.element) << (8 * $1.offset) }
        guard count <= mountMessageBytesMax else { return nil }
        return readExactly(count)
    }

    private static func readExactly(_ count: Int) -> [UInt8]? {
        var isWhole = true
        let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
            while filled < count, let base = buffer.baseAddress {
                let got = read(0, base + filled, count - filled)
                if got > 0 {
                    filled += got
                } else if got == 0 || errno != EINTR {
                    isWhole = false
                    return
                }
            }
        }
        return isWhole ? bytes : nil
    }

    private static func writeMessage(_ body: [UInt8]) -> Bool {
        var isWhole = true
        for part in [mountMessageHeader(body.count), body] {
            part.withUnsafeBytes { buffer in
                var done = 0
                while done < buffer.count, let base = buffer.baseAddress {
                    let put = write(1, base + done, buffer.count - done)
                    if put >= 0 {
                        done += put
                    } else if errno != EINTR {
                        isWhole = false
                        return
                    }
                }
            }
        }
        return isWhole
    }
}

/// The length of a message before it.
func mountMessageHeader(_ count: Int) -> [UInt8] { (0..<4).map { UInt8(truncatingIfNeeded: count >> (8 * $0)) } }

/// Makes the calls, one after another.
struct MountServer {
    private var calls: MountCalls?
    private var upload: MountUpload?
    /// Whether the upload failed, and that was answered: `finish` has nothing more to say.
    private var hasUploadFailed = false

    /// Makes a call; nil where there is nothing to answer (yet).
    mutating func reply(to request: MountRequest) -> MountReply? {
        if case .open(let root, let modes, let known) = request {
            calls = MountCalls(root: root, modes: modes, known: known)
            return MountReply(known: known, answer: .bytes([]))
        }
        guard let calls else {
            let error = FileError(code: .inputOutput, operation: "reach", path: "", reason: "no directory was named")
            return MountReply(known: nil, answer: .failure(error))
        }
        do throws(FileError) {
            guard let answer = try answer(request, calls) else { return nil }
            return MountReply(known: calls.knownIdentity, answer: answer)
        } catch {
            return MountReply(known: calls.knownIdentity, answer: .failure(error))
        }
    }

    private mutating func answer(_ request: MountRequest, _ calls: MountCalls) throws(FileError) -> MountAnswer? {
        switch request {
        case .open: return nil
        case .list(let path):
            return .names(try calls.retryingStale { () throws(FileError) in try calls.list(path) })
        case .read(let path, let offset, let maxBytes):
            return .bytes(
                try calls.retryingStale { () throws(FileError) in
                    try calls.read(path, from: offset, maxBytes: Int(maxBytes))
                })
        case .publish(let path, let bytes):
            try calls.retryingStale { () throws(FileError) in try calls.publish(path, bytes) }
        case .append(let path, let bytes):
            // Not repeated when stale: the first attempt may have written.
            try calls.append(path, bytes)
        case .remove(let path): try calls.retryingStale { () throws(FileError) in try calls.remove(path) }
        case .makeDirectory(let path):
            try calls.retryingStale { () throws(FileError) in _ = try calls.make(path) }
        case .synchronize: try calls.retryingStale { () throws(FileError) in try calls.synchronize() }
        case .resolve: return .names([try calls.resolvedRoot()])
        case .begin, .write, .finish, .discard: return try answerUpload(request, calls)
        }
        return .bytes([])
    }

    private mutating func answerUpload(_ request: MountRequest, _ calls: MountCalls) throws(FileError) -> MountAnswer? {
        switch request {
        case .begin(let path):
            endUpload()
            upload = try calls.retryingStale { () throws(FileError) in try MountUpload(path, calls) }
        case .write(let bytes):
            guard let current = upload else { return nil }
            do throws(FileError) { try current.write(bytes) } catch {
                endUpload()
                hasUploadFailed = true
                throw error
            }
            return nil
        case .finish:
            if hasUploadFailed {
                hasUploadFailed = false
                return nil
            }
            defer { endUpload() }
            guard let current = upload else {
                throw FileError(
                    code: .inputOutput, operation: "write", path: calls.root, reason: "nothing was begun")
            }
            try current.finish()
        default: endUpload()
        }
        return .bytes([])
    }

    /// Removes what was uploaded and did not come to its end.
    mutating func endUpload() {
        upload?.discard()
        upload = nil
        hasUploadFailed = false
    }
}
