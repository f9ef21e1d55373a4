import Glibc
import ShoeboxLibrary
import ShoeboxModel
import ShoeboxStore
import ShoeboxWorld

/// What came in for the daemon since it last looked.
struct Mail: Sendable {
    /// Directories to look at.
    var dirty: [RootKind: Set<RelativePath>] = [:]
    /// Whether both watched folders are to be looked at as a whole.
    var needsScan = false
    /// Whether something moved in the container.
    var hasHint = false
    /// The numbers of the watched folders that the watcher sees all of again; what is in `problems` came later.
    var whole: Set<Int> = []
    /// What keeps the watcher from seeing everything.
    var problems: [WatcherProblem] = []
    /// The numbers of the watched folders of which not everything was told; what is in `whole` came later.
    var unsure: Set<Int> = []
    /// The signal that asks to stop; 0 for none.
    var signal: Int32 = 0

    /// Whether there is something to do in the watched folders.
    var isLocalWork: Bool { needsScan || !dirty.isEmpty }
    /// Whether there is nothing at all.
    var isEmpty: Bool { !isLocalWork && !hasHint && problems.isEmpty && signal == 0 }

    /// Notes what the watcher says of what it sees and does not see.
    mutating func noteSight(whole: Set<Int>, unsure: Set<Int>) {
        self.unsure.formUnion(unsure)
        self.whole = self.whole.subtracting(unsure).union(whole)
    }
}

/// Where threads leave what the daemon's own thread is to see. Safe from any thread.
final class Mailbox: Sendable {
    private let mail = Mutex(Mail())
    private let readEnd: Int32
    private let writeEnd: Int32

    /// An empty mailbox.
    init() throws {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else {
            throw RequestError(
                ExitCode.failed, "cannot make a pipe: \(String(cString: strerror(errno)))",
                "Close some programs: too many files are open.")
        }
        for end in ends {
            _ = fcntl(end, F_SETFL, O_NONBLOCK)
            _ = fcntl(end, F_SETFD, FD_CLOEXEC)
        }
        readEnd = ends[0]
        writeEnd = ends[1]
    }

    deinit {
        close(readEnd)
        close(writeEnd)
    }

    /// Leaves something and wakes who waits.
    func post(_ change: (inout Mail) -> Void) {
        mail.withLock { change(&$0) }
        var byte: UInt8 = 0
        // A full pipe wakes as well.
        _ = write(writeEnd, &byte, 1)
    }

    /// Takes everything out.
    func take() -> Mail {
        var buffer = [UInt8](repeating: 0, count: 512)
        while read(readEnd, &buffer, buffer.count) > 0 {}
        return mail.withLock { mail in
            // A wish to stop stays.
            let taken = mail
            mail = Mail()
            mail.signal = taken.signal
            return taken
        }
    }

    /// The signal that asks to stop; 0 for none.
    var signal: Int32 { mail.withLock { $0.signal } }

    /// Runs a body if nothing is there, while nothing can come in.
    func ifEmpty(_ body: () -> Void) { mail.withLock { if $0.isEmpty { body() } } }

    /// Waits until something is there, another descriptor can be read, or the time is over; nil waits without end.
    func wait(orFor other: Int32, milliseconds: UInt64?) {
        var files = [
            pollfd(fd: readEnd, events: Int16(POLLIN), revents: 0),
            pollfd(fd: other, events: Int16(POLLIN), revents: 0),
        ]
        _ = poll(&files, 2, milliseconds.map { Int32(clamping: $0) } ?? -1)
    }
}
