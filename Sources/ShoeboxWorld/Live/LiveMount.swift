/// A directory on any mount as a container.
///
/// Every call runs on a thread of its own pool with a deadline, so that a hung mount never blocks a caller for longer.
/// A call that overstays throws `.timedOut` and is left behind; while three are, all calls throw `.offline` at once.
/// Never makes the root itself, and follows no symbolic link below it.
public final class LiveMount: Mount {
    private let calls: MountCalls
    private let threads: DeadlineThreads
    private let deadlineSeconds: Double
    private let synchronizeSeconds: Double

    /// How many bytes are gathered before they are handed to a thread, when a file is written in pieces.
    private static let pieceBytes = 262_144

    /// The container at an absolute path. Touches nothing yet: the first call sees whether it is there.
    ///
    /// `synchronizeSeconds` is the deadline of `synchronize`, which may have to wait for other programs' writes.
    public init(
        root: String, modes: MountModes = .group, deadlineSeconds: Double = 20, synchronizeSeconds: Double = 120
    ) {
        calls = MountCalls(root: root, modes: modes)
        threads = DeadlineThreads()
        self.deadlineSeconds = deadlineSeconds
        self.synchronizeSeconds = synchronizeSeconds
    }

    /// The absolute path of the container.
    public var root: String { calls.root }

    /// As `Mount` says.
    public func list(_ directory: MountPath) throws(FileError) -> [String] {
        try run("list", directory) { calls throws(FileError) in
            try calls.retryingStale { () throws(FileError) in try calls.list(directory) }
        }
    }

    /// As `Mount` says.
    public func read(_ path: MountPath, from offset: UInt64, maxBytes: Int) throws(FileError) -> [UInt8] {
        try run("read", path) { calls throws(FileError) in
            try calls.retryingStale { () throws(FileError) in
                try calls.read(path, from: offset, maxBytes: maxBytes)
            }
        }
    }

    /// As `Mount` says.
    public func publish(_ path: MountPath, _ bytes: [UInt8]) throws(FileError) {
        try run("write", path) { calls throws(FileError) in
            try calls.retryingStale { () throws(FileError) in try calls.publish(path, bytes) }
        }
    }

    /// As `Mount` says.
    public func publish(
        _ path: MountPath, writing body: ((_ chunk: [UInt8]) throws -> Void) throws -> Void
    ) throws {
        let upload = try run("write", path) { calls throws(FileError) in
            try calls.retryingStale { () throws(FileError) in try MountUpload(path, calls) }
        }
        do {
            var pending: [UInt8] = []
            func flush() throws(FileError) {
                let piece = pending
                pending = []
                try run("write", path) { _ throws(FileError) in try upload.write(piece) }
            }
            try body { chunk in
                pending += chunk
                if pending.count >= Self.pieceBytes { try flush() }
            }
            if !pending.isEmpty { try flush() }
            try run("write", path) { _ throws(FileError) in try upload.finish() }
        } catch {
            // Nobody waits for the cleaning up: the mount may be what failed. A call that is late still uses the upload;
            // its temporary file stays, under a name that no listing shows.
            if (error as? FileError)?.code != .timedOut { threads.runDetached { upload.discard() } }
            throw error
        }
    }

    /// As `Mount` says.
    public func append(_ path: MountPath, _ bytes: [UInt8]) throws(FileError) {
        // Not repeated when stale: the first attempt may have written.
        try run("append to", path) { calls throws(FileError) in try calls.append(path, bytes) }
    }

    /// As `Mount` says.
    public func remove(_ path: MountPath) throws(FileError) {
        try run("remove", path) { calls throws(FileError) in
            try calls.retryingStale { () throws(FileError) in try calls.remove(path) }
        }
    }

    /// As `Mount` says.
    public func makeDirectory(_ path: MountPath) throws(FileError) {
        try run("create", path) { calls throws(FileError) in
            try calls.retryingStale { () throws(FileError) in _ = try calls.make(path) }
        }
    }

    /// As `Mount` says.
    public func synchronize() throws(FileError) {
        let calls = calls
        try threads.run(deadlineSeconds: synchronizeSeconds, operation: "sync", path: root) { () throws(FileError) in
            try calls.retryingStale { () throws(FileError) in try calls.synchronize() }
        }
    }

    private func run<Value: Sendable>(
        _ operation: String, _ path: MountPath, _ call: @escaping @Sendable (MountCalls) throws(FileError) -> Value
    ) throws(FileError) -> Value {
        let calls = calls
        return try threads.run(
            deadlineSeconds: deadlineSeconds, operation: operation, path: calls.shown(path)
        ) { () throws(FileError) in try call(calls) }
    }
}
