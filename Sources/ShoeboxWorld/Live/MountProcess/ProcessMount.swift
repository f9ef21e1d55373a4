internal import Glibc

/// A directory on any mount as a container, reached through helper processes.
///
/// On some mounts not even SIGKILL ends a call whose server is gone, and a process with such a call in it does not end
/// either. So each call is made by a helper, which holds no lock, no database and no descriptor of this process; a call
/// that overstays its deadline throws `.timedOut`. While it goes on, all calls throw `.offline` at once; when it ends,
/// or after a while, with a new helper, as `MountPatience` says, it is tried again. Otherwise as `LiveMount`.
public final class ProcessMount: Mount {
    private struct State {
        var idle: [MountConnection] = []
        /// Helpers whose call overstayed, the oldest first.
        var stuck: [MountConnection] = []
        /// When such a mount is tried again.
        var patience = MountPatience()
        /// Which directory the root was when it was last known to be the right one.
        var known: RootIdentity?
    }

    /// The absolute path of the container.
    public let root: String
    private let modes: MountModes
    private let executable: String
    private let deadlineSeconds: Double
    private let synchronizeSeconds: Double
    private let state = Mutex(State())

    private static let pieceBytes = 262_144
    private static let readBytesMax = 8 << 20

    /// The container at an absolute path. Touches nothing yet: the first call sees whether it is there.
    ///
    /// `executable` becomes a helper when it is started with `MountHelper.argument`. `synchronizeSeconds` is the deadline
    /// of what waits for a disk.
    public init(
        root: String, modes: MountModes = .group, executable: String, deadlineSeconds: Double = 20,
        synchronizeSeconds: Double = 120
    ) {
        self.root = root
        self.modes = modes
        self.executable = executable
        self.deadlineSeconds = deadlineSeconds
        self.synchronizeSeconds = synchronizeSeconds
    }

    /// As `Mount` says.
    public func list(_ directory: MountPath) throws(FileError) -> [String] {
        guard case .names(let names) = try call(.list(directory), "list", directory) else {
            throw misunderstood("list", directory)
        }
        return names
    }

    /// As `Mount` says.
    public func read(_ path: MountPath, from offset: UInt64, maxBytes: Int) throws(FileError) -> [UInt8] {
        var result: [UInt8] = []
        while result.count < maxBytes {
            let (position, overflow) = offset.addingReportingOverflow(UInt64(result.count))
            if overflow { break }
            let step = min(Self.readBytesMax, maxBytes - result.count)
            let request = MountRequest.read(path, offset: position, maxBytes: UInt32(step))
            guard case .bytes(let piece) = try call(request, "read", path) else { throw misunderstood("read", path) }
            if result.isEmpty { result = piece } else { result += piece }
            if piece.count < step { break }
        }
        return result
    }

    /// As `Mount` says. The helper reads the next piece while one is taken.
    public func read(
        _ path: MountPath, from offset: UInt64, count: UInt64, pieceBytes: Int,
        into take: (_ piece: [UInt8]) throws -> Void
    ) throws {
        let piecesMax = (mountMessageBytesMax - 1024) / 2
        guard pieceBytes > 0, pieceBytes <= piecesMax, !offset.addingReportingOverflow(count).overflow else {
            throw FileError(errno: EINVAL, operation: "read", path: shown(path))
        }
        var asked: UInt64 = 0
        /// The sizes of the pieces that are on their way.
        var pending: [Int] = []
        let connection = try acquire("read", path)
        defer { release(connection) }
        func ask() throws(FileError) {
            while pending.count < 2, asked < count {
                let wanted = Int(min(UInt64(pieceBytes), count - asked))
                let request = MountRequest.read(path, offset: offset + asked, maxBytes: UInt32(wanted))
                try send(request, on: connection, "read", path)
                asked += UInt64(wanted)
                pending.append(wanted)
            }
        }
        /// Takes the answers that nobody needs, so that the next call gets its own.
        func drain() throws(FileError) {
            while connection.isUsable, !pending.isEmpty {
                pending.removeFirst()
                _ = try receive(on: connection, deadlineSeconds, "read", path)
            }
        }
        try ask()
        while let wanted = pending.first {
            pending.removeFirst()
            let piece: [UInt8]
            do throws(FileError) {
                let reply = try receive(on: connection, deadlineSeconds, "read", path)
                switch reply.answer {
                case .bytes(let bytes): piece = bytes
                case .failure(let error): throw error
                case .names: throw misunderstood("read", path)
                }
                if piece.count == wanted { try ask() }
            } catch {
                try drain()
                throw error
            }
            do {
                if !piece.isEmpty { try take(piece) }
            } catch {
                try drain()
                throw error
            }
            if piece.count < wanted { return try drain() }
        }
    }

    /// As `Mount` says.
    public func publish(_ path: MountPath, _ bytes: [UInt8]) throws(FileError) {
        _ = try call(.publish(path, bytes), "write", path)
    }

    /// As `Mount` says. Bytes are on their way while the next ones are made.
    public func publish(
        _ path: MountPath, writing body: ((_ chunk: [UInt8]) throws -> Void) throws -> Void
    ) throws {
        let connection = try acquire("write", path)
        defer { release(connection) }
        try send(.begin(path), on: connection, "write", path)
        connection.isBeginning = true
        do {
            var pending: [UInt8] = []
            func flush() throws(FileError) {
                let piece = pending
                pending = []
                try put(piece, on: connection, path)
            }
            try body { chunk in
                pending += chunk
                if pending.count >= Self.pieceBytes { try flush() }
            }
            if !pending.isEmpty { try flush() }
            while connection.isBeginning { try takeNews(on: connection, path) }
        } catch {
            discard(on: connection)
            throw error
        }
        _ = try exchange(connection, .finish, "write", path, deadline: synchronizeSeconds)
    }

    /// As `Mount` says.
    public func append(_ path: MountPath, _ bytes: [UInt8]) throws(FileError) {
        _ = try call(.append(path, bytes), "append to", path)
    }

    /// As `Mount` says.
    public func remove(_ path: MountPath) throws(FileError) { _ = try call(.remove(path), "remove", path) }

    /// As `Mount` says.
    public func makeDirectory(_ path: MountPath) throws(FileError) {
        _ = try call(.makeDirectory(path), "create", path)
    }

    /// As `Mount` says.
    public func synchronize() throws(FileError) {
        _ = try call(.synchronize, "sync", .root, deadline: synchronizeSeconds)
    }

    /// The container's path with its links followed.
    public func resolvedRoot() throws(FileError) -> String {
        guard case .names(let names) = try call(.resolve, "find", .root), let path = names.first else {
            throw misunderstood("find", .root)
        }
        return path
    }

    /// The helpers that are waiting for a call now; for tests.
    package var idleProcesses: [Int32] { state.withLock { $0.idle.map(\.process) } }

    // MARK: Calls

    private func call(
        _ request: MountRequest, _ operation: String, _ path: MountPath, deadline: Double? = nil
    ) throws(FileError) -> MountAnswer {
        let connection = try acquire(operation, path)
        defer { release(connection) }
        return try exchange(connection, request, operation, path, deadline: deadline)
    }

    /// Sends a request and waits for its answer. A connection that has none in time is given up.
    private func exchange(
        _ connection: MountConnection, _ request: MountRequest, _ operation: String, _ path: MountPath,
        deadline: Double? = nil
    ) throws(FileError) -> MountAnswer {
        try send(request, on: connection, operation, path)
        let reply = try receive(on: connection, deadline ?? deadlineSeconds, operation, path)
        if case .failure(let error) = reply.answer { throw error }
        return reply.answer
    }

    private func send(
        _ request: MountRequest, on connection: MountConnection, _ operation: String, _ path: MountPath,
        deadline: Double? = nil
    ) throws(FileError) {
        let seconds = deadline ?? deadlineSeconds
        do throws(MountConnection.Failure) {
            try connection.send(request, until: MountConnection.now + seconds)
        } catch {
            throw given(up: connection, error, seconds, operation, path)
        }
    }

    private func receive(
        on connection: MountConnection, _ seconds: Double, _ operation: String, _ path: MountPath
    ) throws(FileError) -> MountReply {
        let reply: MountReply
        do throws(MountConnection.Failure) {
            reply = try connection.receive(until: MountConnection.now + seconds)
        } catch {
            throw given(up: connection, error, seconds, operation, path)
        }
        if let known = reply.known { state.withLock { $0.known = known } }
        return reply
    }

    /// Sends the next bytes of an upload; what failed before is thrown as soon as it is known.
    private func put(_ bytes: [UInt8], on connection: MountConnection, _ path: MountPath) throws(FileError) {
        // The helper takes no more while too much of it waits for the disk, or for a slow link.
        try send(.write(bytes), on: connection, "write", path, deadline: synchronizeSeconds)
        while connection.hasNews { try takeNews(on: connection, path) }
    }

    /// Takes the next answer during an upload: that it has begun, or what failed.
    private func takeNews(on connection: MountConnection, _ path: MountPath) throws(FileError) {
        let reply = try receive(on: connection, deadlineSeconds, "write", path)
        switch reply.answer {
        case .failure(let error):
            connection.isUploadOver = true
            throw error
        case .bytes where connection.isBeginning: connection.isBeginning = false
        case .bytes, .names: throw misunderstood("write", path)
        }
    }

    /// Removes what an upload has written, once the helper has passed on what it had taken.
    private func discard(on connection: MountConnection) {
        guard connection.isUsable, !connection.isUploadOver else { return }
        do throws(MountConnection.Failure) {
            let end = MountConnection.now + synchronizeSeconds
            try connection.send(.discard, until: end)
            if connection.isBeginning, case .failure = try connection.receive(until: end).answer {
                // What never began has no pieces that could fail.
                _ = try connection.receive(until: end)
                return
            }
            // The answer to a piece that failed may come before the answer to this.
            if case .failure = try connection.receive(until: end).answer { _ = try connection.receive(until: end) }
        } catch {
            _ = given(up: connection, error, deadlineSeconds, "write", .root)
        }
    }

    // MARK: Helpers

    private func acquire(_ operation: String, _ path: MountPath) throws(FileError) -> MountConnection {
        let (found, known, isHung) = state.withLock { state -> (MountConnection?, RootIdentity?, Bool) in
            // One whose call came back after all, or that has ended: the mount answers again.
            state.stuck.removeAll { $0.hasNews }
            state.idle.removeAll { $0.hasNews }
            if !state.stuck.isEmpty {
                let now = MountConnection.now
                guard state.patience.isDue(at: now, hanging: state.stuck.count) else { return (nil, nil, true) }
                // Where a signal ends a call, this makes room for the next one.
                for connection in state.stuck { connection.kill() }
                // What no signal ends is waited for no longer: the mount may be another one by now.
                if state.patience.givesUpOldest(hanging: state.stuck.count) { state.stuck.removeFirst() }
            }
            return (state.idle.popLast(), state.known, false)
        }
        guard !isHung else {
            throw FileError(
                code: .offline, operation: operation, path: shown(path),
                reason: "the mount does not answer; earlier calls on it are still waiting")
        }
        if let found { return found }
        let connection = try MountConnection(executable: executable)
        _ = try exchange(connection, .open(root: root, modes: modes, known: known), operation, path)
        return connection
    }

    private func release(_ connection: MountConnection) {
        guard connection.isUsable else { return }
        connection.isUploadOver = false
        connection.isBeginning = false
        state.withLock { state in
            state.idle.append(connection)
            state.patience.answered()
        }
    }

    private func given(
        up connection: MountConnection, _ failure: MountConnection.Failure, _ seconds: Double, _ operation: String,
        _ path: MountPath
    ) -> FileError {
        connection.isUsable = false
        switch failure {
        case .timedOut:
            state.withLock { state in
                state.stuck.append(connection)
                state.patience.overstayed(at: MountConnection.now)
            }
            return FileError(
                code: .timedOut, operation: operation, path: shown(path),
                reason: "no answer within \(Int(seconds.rounded(.up))) seconds")
        case .broken:
            return FileError(
                code: .inputOutput, operation: operation, path: shown(path),
                reason: "the process that makes calls on the mount has ended")
        }
    }

    private func misunderstood(_ operation: String, _ path: MountPath) -> FileError {
        FileError(
            code: .inputOutput, operation: operation, path: shown(path), reason: "the answer is no answer to that")
    }

    private func shown(_ path: MountPath) -> String {
        path.components.isEmpty ? root : root + "/" + path.description
    }
}
