internal import Glibc

/// Processes that are no longer needed and have to be waited for when they end.
final class OrphanList: Sendable {
    private let processes = Mutex<[pid_t]>([])

    func withLock(_ body: (inout sending [pid_t]) -> Void) { processes.withLock { body(&$0) } }
}
