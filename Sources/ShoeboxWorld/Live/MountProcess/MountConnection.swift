internal import CFileSystem
// `timespec` is known by this module, too, if a file compiled beside this one imports it.
internal import CDispatch
internal import Glibc

/// One helper process and the way to it. Used by one call at a time; given up when a call overstays.
///
/// Unchecked because the pool hands it from one call to the next under a lock.
final class MountConnection: @unchecked Sendable {
    /// Why a request got no answer.
    enum Failure: Error { case timedOut, broken }

    /// F_SETPIPE_SZ of Linux, which Swift does not see.
    private static let setPipeSize: Int32 = 1031

    private let input: Int32
    private let output: Int32
    /// The helper's process id.
    let process: pid_t
    private var isReaped = false
    /// Whether it can be used for another call.
    var isUsable = true
    /// Whether the upload that is going on has failed, and that was taken notice of.
    var isUploadOver = false
    /// Whether an upload was begun, and the answer to that was not taken yet.
    var isBeginning = false

    /// Starts a helper; an errno where that fails.
    init(executable: String) throws(FileError) {
        var input: Int32 = -1
        var output: Int32 = -1
        var process: pid_t = 0
        let error = shoebox_spawn(executable, MountHelper.argument, &input, &output, &process)
        guard error == 0 else { throw FileError(errno: -error, operation: "start", path: executable) }
        self.input = input
        self.output = output
        self.process = process
        for file in [input, output] { _ = fcntl(file, F_SETFL, fcntl(file, F_GETFL) | O_NONBLOCK) }
        // So that a listing or a chunk is one wake-up of either side; where it is refused, it is more.
        _ = fcntl(output, Self.setPipeSize, 1 << 20)
        var size: Int32 = 1 << 20
        _ = setsockopt(input, SOL_SOCKET, SO_SNDBUF, &size, socklen_t(MemoryLayout<Int32>.size))
    }

    /// Ends the helper by the end of its input; one that hangs ends when its call does.
    deinit {
        close(input)
        close(output)
        reap()
        if !isReaped { MountConnection.orphans.withLock { $0.append(process) } }
        MountConnection.reapOrphans()
    }

    /// Sends a request; returns before it is carried out.
    func send(_ request: MountRequest, until deadline: Double) throws(Failure) {
        let body = request.encoded
        try put(mountMessageHeader(body.count), until: deadline)
        try put(body, until: deadline)
    }

    /// Waits for the next answer.
    func receive(until deadline: Double) throws(Failure) -> MountReply {
        let header = try take(4, until: deadline)
        let count = header.enumerated().reduce(0) { $0 | Int($1.element) << (8 * $1.offset) }
        guard count <= mountMessageBytesMax else { throw .broken }
        guard let reply = MountReply(try take(count, until: deadline)) else { throw .broken }
        return reply
    }

    /// Whether an answer, or the helper's end, is there to be taken without waiting.
    var hasNews: Bool {
        var wanted = pollfd(fd: output, events: Int16(POLLIN), revents: 0)
        return poll(&wanted, 1, 0) > 0
    }

    /// Ends the helper at once, as far as the kernel lets it.
    func kill() { _ = Glibc.kill(process, SIGKILL) }

    /// Seconds since the machine started, for deadlines.
    static var now: Double {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }

    // MARK: Bytes

    private func put(_ bytes: [UInt8], until deadline: Double) throws(Failure) {
        var done = 0
        while done < bytes.count {
            let sent = bytes.withUnsafeBytes { buffer in
                buffer.baseAddress.map { Glibc.send(input, $0 + done, buffer.count - done, Int32(MSG_NOSIGNAL)) } ?? 0
            }
            if sent > 0 {
                done += sent
            } else if sent < 0, errno == EAGAIN {
                try wait(for: input, Int16(POLLOUT), until: deadline)
            } else if sent == 0 || errno != EINTR {
                throw .broken
            }
        }
    }

    private func take(_ count: Int, until deadline: Double) throws(Failure) -> [UInt8] {
        var failure: Failure?
        let result = [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
            while filled < count, let base = buffer.baseAddress {
                let got = read(output, base + filled, count - filled)
                if got > 0 {
                    filled += got
                } else if got < 0, errno == EAGAIN {
                    do throws(Failure) { try wait(for: output, Int16(POLLIN), until: deadline) } catch {
                        failure = error
                        return
                    }
                } else if got == 0 || errno != EINTR {
                    failure = .broken
                    return
                }
            }
        }
        if let failure { throw failure }
        return result
    }

    private func wait(for file: Int32, _ events: Int16, until deadline: Double) throws(Failure) {
        let left = deadline - Self.now
        guard left > 0 else { throw .timedOut }
        var wanted = pollfd(fd: file, events: events, revents: 0)
        // An interrupted wait is looked at again by the caller.
        if poll(&wanted, 1, Int32(clamping: Int(min(left, 3_600) * 1000) + 1)) == 0 { throw .timedOut }
    }

    // MARK: Processes that ended

    /// Helpers whose connection is closed and that have not ended yet.
    private static let orphans = OrphanList()

    private func reap() {
        var status: Int32 = 0
        isReaped = waitpid(process, &status, WNOHANG) != 0
    }

    private static func reapOrphans() {
        orphans.withLock { processes in
            var status: Int32 = 0
            processes.removeAll { waitpid($0, &status, WNOHANG) != 0 }
        }
    }
}
