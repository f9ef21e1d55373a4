import Foundation
import Glibc

/// Turns SIGTERM, SIGINT and SIGHUP into a call, on a thread of its own, so that a call of the kernel that hangs
/// elsewhere does not keep the process alive.
enum StopSignal {
    /// How long the process may go on after the first signal.
    static let graceSeconds = 5

    /// Blocks the signals in this thread and all that it starts. To be called before there are others.
    static func block() {
        var set = signals
        pthread_sigmask(SIG_BLOCK, &set, nil)
        signal(SIGPIPE, SIG_IGN)
    }

    /// Calls `first` at the first signal, and `last` when time is up or at the second signal.
    static func wait(first: @escaping @Sendable (Int32) -> Void, last: @escaping @Sendable () -> Void) {
        Thread.detachNewThread {
            var set = signals
            var signal: Int32 = 0
            while sigwait(&set, &signal) != 0 {}
            first(signal)
            var time = timespec(tv_sec: graceSeconds, tv_nsec: 0)
            while sigtimedwait(&set, nil, &time) < 0, errno == EINTR {}
            last()
        }
    }

    private static var signals: sigset_t {
        var set = sigset_t()
        sigemptyset(&set)
        for signal in [SIGTERM, SIGINT, SIGHUP] { sigaddset(&set, signal) }
        return set
    }
}
