import Glibc

/// A FIFO that wakes the daemon: a byte in it says that a command left something in the database.
final class Doorbell {
    /// What a byte asks for.
    enum Ring: UInt8, Sendable {
        /// There is a request in the database.
        case request = 0x72
        /// Both watched folders are to be looked at as a whole.
        case scan = 0x73
    }

    /// The descriptor to wait on.
    let file: Int32

    /// Opens the doorbell for listening, making it if need be.
    init(_ state: StateDirectory) throws {
        let path = state.doorbell.text
        var status = stat()
        if lstat(path, &status) == 0, status.st_mode & S_IFMT != S_IFIFO { unlink(path) }
        if mkfifo(path, 0o600) != 0, errno != EEXIST { throw Self.failure(state) }
        // For writing too: else it would be at its end whenever nobody has it open.
        file = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC)
        guard file >= 0 else { throw Self.failure(state) }
    }

    /// Whether somebody rang and `take` was not called since.
    var isRung: Bool {
        var files = [pollfd(fd: file, events: Int16(POLLIN), revents: 0)]
        return poll(&files, 1, 0) > 0
    }

    deinit { close(file) }

    /// What was asked for since the last call.
    func take() -> Set<Ring> {
        var result: Set<Ring> = []
        var buffer = [UInt8](repeating: 0, count: 512)
        while true {
            let count = read(file, &buffer, buffer.count)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return result }
            for byte in buffer[..<count] { result.insert(Ring(rawValue: byte) ?? .request) }
        }
    }

    /// Wakes the daemon; false if none listens.
    static func ring(_ state: StateDirectory, _ ring: Ring) -> Bool {
        let file = open(state.doorbell.text, O_WRONLY | O_NONBLOCK | O_CLOEXEC)
        guard file >= 0 else { return false }
        defer { close(file) }
        var byte = ring.rawValue
        // A full pipe rings as well.
        return write(file, &byte, 1) == 1 || errno == EAGAIN
    }

    private static func failure(_ state: StateDirectory) -> RequestError {
        RequestError(
            ExitCode.failed, "cannot open \(state.doorbell): \(String(cString: strerror(errno)))",
            "The state directory must be on a local file system that has FIFOs.")
    }
}
