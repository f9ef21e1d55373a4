internal import CFileSystem
internal import Dispatch
internal import Foundation
internal import Glibc
internal import ShoeboxModel

/// A watcher in a process of its own: `shoebox-watch`, which this starts, and starts again when it ends.
///
/// A root's first report is a `rescan` once it is watched. After a restart every root is reported so again, as events may
/// be lost. The process ends with this one, however this one ends: it reads from a socket that then closes.
///
/// Unchecked because `state` is used only while `condition` is locked; the rest never changes.
public final class WatcherProcess: Watcher, @unchecked Sendable {
    private struct State {
        var report = WatcherReport()
        var isAwake = false
        var isStopped = false
        /// The socket to the process; -1 while there is none.
        var input: Int32 = -1
        var process: pid_t = 0
        var gone: Set<Int> = []
        /// Roots in which something could not be watched since they were last asked for.
        var troubled: Set<Int> = []
        var lastTrySeconds: Double = 0
    }

    private let condition = NSCondition()
    private var state = State()
    private let executable: String
    private let roots: [[UInt8]]
    private static let retrySeconds: Double = 2

    /// Starts watching directories, by absolute paths; reports number them from 0 in this order.
    ///
    /// `executable` is the path of `shoebox-watch`, by default the one beside the running executable. That it can't be
    /// started is a problem in the reports, not an error: everything works without, by looking now and then.
    public init(roots: [String], executable: String? = nil) {
        self.roots = roots.map { Array($0.utf8) }
        self.executable = executable ?? Self.executableBesideThis()
        Thread.detachNewThread { [weak self] in
            var pauseSeconds = 0.0
            // Nothing is kept alive by the thread while it waits: who drops the watcher ends it.
            while let run = self?.start(afterSeconds: pauseSeconds) {
                switch run {
                case .stopped: return
                case .failed: pauseSeconds = min(30, max(1, pauseSeconds * 2))
                case .started(let process, let output):
                    let began = ProcessInfo.processInfo.systemUptime
                    Self.readLines(from: output) { [weak self] line in self?.take(line) }
                    close(output)
                    kill(process, SIGKILL)
                    var status: Int32 = 0
                    while waitpid(process, &status, 0) < 0, errno == EINTR {}
                    self?.ended(status)
                    // One that ran for a while is started again at once.
                    let ranLong = ProcessInfo.processInfo.systemUptime - began > 10
                    pauseSeconds = ranLong || pauseSeconds == 0 ? 0.01 : min(30, max(1, pauseSeconds * 2))
                }
            }
        }
    }

    deinit { if state.input >= 0 { close(state.input) } }

    /// As `Watcher` says.
    public func nextDirty(timeoutMilliseconds: Int) -> WatcherReport {
        condition.lock()
        defer { condition.unlock() }
        let deadline = ProcessInfo.processInfo.systemUptime + Double(max(0, timeoutMilliseconds)) / 1000
        while state.report.isEmpty, !state.isAwake, !state.isStopped {
            retryGone()
            let left = deadline - ProcessInfo.processInfo.systemUptime
            if left <= 0 { break }
            // In steps, as the condition waits by the wall clock, which may be set back.
            let step = state.gone.isEmpty ? min(left, 60) : min(left, Self.retrySeconds)
            _ = condition.wait(until: Date(timeIntervalSinceNow: step))
        }
        state.isAwake = false
        if state.isStopped { return WatcherReport() }
        let report = state.report
        state.report = WatcherReport()
        return report
    }

    /// As `Watcher` says.
    public func wake() {
        condition.withLock {
            state.isAwake = true
            condition.broadcast()
        }
    }

    /// Watches roots anew, by their numbers; all without. A watch stays on the directory that was there before something was
    /// mounted over it.
    public func watchAnew(_ numbers: Set<Int>? = nil) {
        condition.withLock {
            for index in roots.indices where numbers?.contains(index) ?? true { sendRoot(index) }
        }
    }

    /// As `Watcher` says.
    public func stop() {
        condition.withLock {
            state.isStopped = true
            if state.input >= 0 { close(state.input) }
            state.input = -1
            condition.broadcast()
        }
    }

    /// The process id of the watcher that runs now; nil for none.
    package var processID: Int32? { condition.withLock { state.process > 0 ? state.process : nil } }

    /// `shoebox-watch` in the directory of the running executable.
    public static func executableBesideThis() -> String {
        var buffer = [CChar](repeating: 0, count: 4096)
        let count = readlink("/proc/self/exe", &buffer, buffer.count)
        guard count > 0 else { return "shoebox-watch" }
        let path = String(decoding: buffer.prefix(count).map { UInt8(bitPattern: $0) }, as: UTF8.self)
        return path.split(separator: "/").dropLast().reduce("") { "\($0)/\($1)" } + "/shoebox-watch"
    }

    // MARK: The process

    private enum Run {
        case started(process: pid_t, output: Int32)
        case failed
        case stopped
    }

    private func start(afterSeconds pause: Double) -> Run {
        condition.lock()
        defer { condition.unlock() }
        if pause > 0, !state.isStopped { _ = condition.wait(until: Date(timeIntervalSinceNow: pause)) }
        if state.isStopped { return .stopped }
        var input: Int32 = -1
        var output: Int32 = -1
        var process: pid_t = 0
        let error = shoebox_spawn(executable, nil, &input, &output, &process)
        guard error == 0 else {
            let reason = strerror(-error).map { String(cString: $0) } ?? "error \(-error)"
            note(.notRunning(message: "cannot start '\(executable)': \(reason)"))
            condition.broadcast()
            return .failed
        }
        state.input = input
        state.process = process
        state.gone = []
        for index in roots.indices { sendRoot(index) }
        return .started(process: process, output: output)
    }

    private func ended(_ status: Int32) {
        condition.withLock {
            if state.input >= 0 { close(state.input) }
            state.input = -1
            state.process = 0
            guard !state.isStopped else { return }
            let signal = status & 0x7F
            let how = signal == 0 ? "it ended with code \(status >> 8 & 0xFF)" : "it was ended by signal \(signal)"
            note(.restarted(message: how))
            state.report.whole = []
            // Now, and again when it watches: nothing that happens in between is missed by either.
            state.report.rescan.formUnion(roots.indices)
            condition.broadcast()
        }
    }

    private func sendRoot(_ index: Int) {
        let line = Array("root \(index) \(encodeHex(roots[index]))\n".utf8)
        state.troubled.remove(index)
        // If it fails the process is gone, which its reader sees.
        if state.input >= 0 { _ = shoebox_send(state.input, line, line.count) }
    }

    /// Asks for roots that are gone, now and then: they may be mounted again.
    private func retryGone() {
        let now = ProcessInfo.processInfo.systemUptime
        guard !state.gone.isEmpty, now - state.lastTrySeconds >= Self.retrySeconds else { return }
        state.lastTrySeconds = now
        for index in state.gone.sorted() { sendRoot(index) }
    }

    private static func readLines(from output: Int32, _ take: ([UInt8]) -> Void) {
        var buffer = [UInt8](repeating: 0, count: 65_536)
        var rest: [UInt8] = []
        while true {
            let got = read(output, &buffer, buffer.count)
            if got < 0, errno == EINTR { continue }
            guard got > 0 else { return }
            rest += buffer.prefix(got)
            var start = 0
            while let end = rest[start...].firstIndex(of: UInt8(ascii: "\n")) {
                take(Array(rest[start..<end]))
                start = end + 1
            }
            rest.removeFirst(start)
            // A path is no longer than a few thousand bytes; without an end of line this is no watcher.
            guard rest.count < 1 << 20 else { return }
        }
    }

    private func take(_ line: [UInt8]) {
        guard let message = WatcherMessage(line) else { return }
        condition.withLock {
            switch message {
            case .hello: return
            case .ready(let root):
                state.gone.remove(root)
                if !state.troubled.contains(root) { state.report.whole.insert(root) }
            case .dirty(let root, let path):
                guard !state.report.rescan.contains(root) else { return }
                state.report.dirty[root, default: []].insert(path)
            case .rescan(let root):
                state.report.rescan.insert(root)
                state.report.dirty[root] = nil
            case .lost(let root):
                state.report.lost.insert(root)
                state.report.whole.remove(root)
            case .gone(let root):
                state.report.whole.remove(root)
                if state.gone.insert(root).inserted {
                    state.report.gone.insert(root)
                    state.lastTrySeconds = ProcessInfo.processInfo.systemUptime
                }
            case .limit(let root, let needed):
                note(.watchLimit(root: root, directoriesNeeded: needed), in: root)
            case .problem(let root, let text): note(.unwatchable(root: root, message: text), in: root)
            }
            condition.broadcast()
        }
    }

    private func note(_ problem: WatcherProblem, in root: Int) {
        state.troubled.insert(root)
        state.report.whole.remove(root)
        note(problem)
    }

    private func note(_ problem: WatcherProblem) {
        if state.report.problems.count < 100, !state.report.problems.contains(problem) {
            state.report.problems.append(problem)
        }
    }
}
