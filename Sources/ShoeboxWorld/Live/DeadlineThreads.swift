internal import Dispatch
internal import Foundation

/// A few threads of their own for calls that may never return.
///
/// On some mounts not even a signal ends a call whose server is gone. The caller waits until its deadline and then goes
/// on; the thread is written off until its call comes back. With too many written off, no call is started any more.
final class DeadlineThreads: Sendable {
    private let core: Core

    /// Threads that are started as needed: at most `threadsMax` at work, at most `stuckMax` written off besides.
    init(threadsMax: Int = 4, stuckMax: Int = 3) { core = Core(threadsMax: threadsMax, stuckMax: stuckMax) }
    deinit { core.close() }

    /// How many calls are written off now.
    var stuckCount: Int { core.state.withLock(\.stuck) }

    /// Runs a call on one of the threads and waits for it.
    ///
    /// Throws `.timedOut` when it takes longer, waiting for a free thread included; the call may still happen later.
    /// Throws `.offline` at once while too many calls are written off.
    func run<Value: Sendable>(
        deadlineSeconds: Double, operation: String, path: String,
        _ call: @escaping @Sendable () throws(FileError) -> Value
    ) throws(FileError) -> Value {
        let holder = ResultHolder<Value>()
        let job = Job {
            do throws(FileError) {
                let value = try call()
                holder.set(.success(value))
            } catch {
                holder.set(.failure(error))
            }
        }
        guard core.start(job) else {
            throw FileError(
                code: .offline, operation: operation, path: path,
                reason: "the mount does not answer; earlier calls on it are still waiting")
        }
        if job.done.wait(timeout: .now() + deadlineSeconds) == .timedOut, core.giveUp(job) {
            throw FileError(
                code: .timedOut, operation: operation, path: path,
                reason: "no answer within \(Int(deadlineSeconds.rounded(.up))) seconds")
        }
        guard let result = holder.get() else {
            throw FileError(code: .inputOutput, operation: operation, path: path, reason: "the call gave no result")
        }
        return try result.get()
    }

    /// Runs a call on one of the threads without waiting for it.
    func runDetached(_ call: @escaping @Sendable () -> Void) { _ = core.start(Job(call)) }
}

/// Where a job leaves its result; outlives the caller when the job is late.
private final class ResultHolder<Value: Sendable>: Sendable {
    private let result = Mutex<Result<Value, FileError>?>(nil)
    func set(_ value: Result<Value, FileError>) { result.withLock { $0 = value } }
    func get() -> Result<Value, FileError>? { result.withLock { $0 } }
}

/// One call. Unchecked because `phase` is read and written only while the core's state is locked.
private final class Job: @unchecked Sendable {
    enum Phase { case queued, running, done, abandoned }
    var phase = Phase.queued
    let body: @Sendable () -> Void
    let done = DispatchSemaphore(value: 0)
    init(_ body: @escaping @Sendable () -> Void) { self.body = body }
}

/// What the threads share; they keep it alive, not the pool that owns it.
private final class Core: Sendable {
    struct State {
        var queue: [Job] = []
        /// Threads that are not written off.
        var threads = 0
        /// Of these, the ones waiting for work.
        var idle = 0
        var stuck = 0
        var isClosed = false
    }

    let state = Mutex(State())
    private let work = DispatchSemaphore(value: 0)
    private let threadsMax: Int
    private let stuckMax: Int

    init(threadsMax: Int, stuckMax: Int) {
        self.threadsMax = threadsMax
        self.stuckMax = stuckMax
    }

    /// Queues a job; false if too many calls are written off.
    func start(_ job: Job) -> Bool {
        let (accepted, spawn) = state.withLock { state -> (Bool, Bool) in
            guard state.stuck < stuckMax, !state.isClosed else { return (false, false) }
            state.queue.append(job)
            return (true, Self.makeRoom(&state, threadsMax))
        }
        if spawn { spawnThread() }
        if accepted { work.signal() }
        return accepted
    }

    /// Stops waiting for a job; false if it has just finished after all.
    func giveUp(_ job: Job) -> Bool {
        let (isLate, spawn) = state.withLock { state -> (Bool, Bool) in
            switch job.phase {
            case .done, .abandoned: return (false, false)
            case .queued:
                state.queue.removeAll { $0 === job }
                job.phase = .abandoned
                return (true, false)
            case .running:
                job.phase = .abandoned
                state.stuck += 1
                state.threads -= 1
                return (true, Self.makeRoom(&state, threadsMax))
            }
        }
        if spawn { spawnThread() }
        return isLate
    }

    func close() {
        let count = state.withLock { state in
            state.isClosed = true
            return state.threads
        }
        for _ in 0..<count { work.signal() }
    }

    /// Whether a thread has to be started for what is queued; counts it already.
    private static func makeRoom(_ state: inout State, _ threadsMax: Int) -> Bool {
        guard state.queue.count > state.idle, state.threads < threadsMax else { return false }
        state.threads += 1
        state.idle += 1
        return true
    }

    private func spawnThread() { Thread.detachNewThread { self.serve() } }

    private func serve() {
        while true {
            work.wait()
            let (job, isOver) = state.withLock { state -> (Job?, Bool) in
                guard !state.queue.isEmpty else {
                    // The job was given up before a thread took it, or the pool is closed.
                    guard state.isClosed else { return (nil, false) }
                    state.threads -= 1
                    state.idle -= 1
                    return (nil, true)
                }
                state.idle -= 1
                let job = state.queue.removeFirst()
                job.phase = .running
                return (job, false)
            }
            if isOver { return }
            guard let job else { continue }
            job.body()
            let isSurplus = state.withLock { state in
                if job.phase == .abandoned {
                    state.stuck -= 1
                    guard state.threads < threadsMax, !state.isClosed else { return true }
                    state.threads += 1
                } else {
                    job.phase = .done
                }
                state.idle += 1
                return false
            }
            job.done.signal()
            if isSurplus { return }
        }
    }
}
