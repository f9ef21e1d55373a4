public import ShoeboxWorld

extension FileError.Code {
    /// The process that made the call is dead, in the simulation: it gets this from every call until it is restarted.
    public static let simulatedCrash = FileError.Code(rawValue: "simulatedCrash")
}

/// Counts, logs and breaks the calls that one simulated machine makes on its files and its mount.
///
/// Calls are numbered from 0 over all parts of the machine, so "crash between any two operations" is a loop over one
/// number. What a user does (`SimulatedDisk.write` and the like) is not counted and never fails here.
public final class SimulatedFaults: Sendable {
    /// One call.
    public struct Operation: Hashable, Sendable, CustomStringConvertible {
        /// The call's number, from 0.
        public var number: Int
        /// Which part of the machine: `library`, `shared` or `mount`.
        public var part: String
        /// The call, such as `rename`.
        public var name: String
        /// The path, for people.
        public var path: String
        /// What came of it: how many bytes or entries were read, or the error's code; nil for done.
        public var result: String?
        /// `12 library rename a.jpg`, and what came of it.
        public var description: String { "\(number) \(part) \(name) \(path)" + (result.map { ": \($0)" } ?? "") }
    }

    /// What goes wrong with a call.
    public enum Effect: Hashable, Sendable {
        /// The call fails and nothing has happened.
        case fail(FileError.Code)
        /// The call happens, and fails nevertheless: the answer was lost.
        case failAfter(FileError.Code)
        /// The call fails with ESTALE, as on a network mount whose server has forgotten the file, and nothing happened.
        case stale
        /// A write or append happens for its first bytes only, and fails. Other calls fail as with `fail`.
        case torn(keeping: Int, FileError.Code)
        /// The process dies before the call happens.
        case crash
        /// The process dies after the call has happened.
        case crashAfter
        /// The process dies in the middle of a write or append. Other calls: as with `crash`.
        case crashTorn(keeping: Int)
    }

    /// What the simulated part has to do after its work.
    struct Outcome: Sendable {
        /// Bytes of a write that still happen; nil for all.
        var keeping: Int?
        /// Thrown when the work is done.
        var error: FileError?

        /// Throws what was chosen for after the work.
        func finish() throws(FileError) { if let error { throw error } }
    }

    private struct State: Sendable {
        var count = 0
        var log: [Operation] = []
        var effects: [Int: Effect] = [:]
        var effectsByName: [String: Effect] = [:]
        var hooks: [Int: @Sendable () -> Void] = [:]
        var hooksByName: [String: (calls: Int, hook: @Sendable () -> Void)] = [:]
        var hooksOnChange: [(changes: Int, hook: @Sendable () -> Void)] = []
        var rule: (@Sendable (Operation) -> Effect?)?
        var isCrashed = false
        var crashes = 0
    }

    private let state = Mutex(State())

    /// Nothing fails yet.
    public init() {}

    /// How many calls were made; the number of the next one.
    public var operationCount: Int { state.withLock { $0.count } }
    /// The calls made so far, the last 10 000 of them.
    public var log: [Operation] { state.withLock { $0.log } }
    /// Whether the process is dead.
    public var isCrashed: Bool { state.withLock { $0.isCrashed } }
    /// How often the process died.
    public var crashCount: Int { state.withLock { $0.crashes } }

    /// Breaks the call of a number.
    public func set(_ effect: Effect, at number: Int) { state.withLock { $0.effects[number] = effect } }

    /// Breaks the call that comes after `calls` more calls; 0 is the next one.
    public func set(_ effect: Effect, after calls: Int) { state.withLock { $0.effects[$0.count + calls] = effect } }

    /// Breaks the next call of a name, such as `rename`.
    public func set(_ effect: Effect, next name: String) { state.withLock { $0.effectsByName[name] = effect } }

    /// Asks a rule for each call; nil from it lets the call be. A nil rule ends that. The rule must not call the
    /// simulated machine.
    public func setRule(_ rule: (@Sendable (Operation) -> Effect?)?) { state.withLock { $0.rule = rule } }

    /// Runs a closure just before the call of a number; it may do anything to the simulated world.
    public func run(at number: Int, _ hook: @escaping @Sendable () -> Void) {
        state.withLock { $0.hooks[number] = hook }
    }

    /// Runs a closure just before the call of a name that comes after `calls` more calls of it.
    public func run(before name: String, after calls: Int, _ hook: @escaping @Sendable () -> Void) {
        state.withLock { $0.hooksByName[name] = (calls, hook) }
    }

    /// Runs a closure just before the process renames, makes or removes something in one of its folders, after some more such
    /// changes; several before one change run in the order in which they were set.
    public func run(beforeChange changes: Int, _ hook: @escaping @Sendable () -> Void) {
        state.withLock { $0.hooksOnChange.append((changes, hook)) }
    }

    /// The calls that change what is where in a folder.
    private static let changes: Set = ["rename", "makeDirectory", "removeFile", "removeDirectory"]

    /// Kills the process now: every call throws `.simulatedCrash` until `restart`.
    public func crash() {
        state.withLock {
            if !$0.isCrashed { $0.crashes += 1 }
            $0.isCrashed = true
        }
    }

    /// Lets calls work again. What was set for later calls stays.
    public func restart() { state.withLock { $0.isCrashed = false } }

    /// Forgets all effects, hooks and the rule; a crash stays one.
    public func clear() {
        state.withLock {
            $0.effects = [:]
            $0.effectsByName = [:]
            $0.hooks = [:]
            $0.hooksByName = [:]
            $0.hooksOnChange = []
            $0.rule = nil
        }
    }

    /// Counts a step that the process takes outside of its files and mount, such as a transaction in its database, so
    /// that it may die just before it. Errors other than death are not for such steps, and are left out.
    public func pass(_ part: String, _ name: String) throws(FileError) { _ = try attempt(part, name) }

    /// As `pass`, and says whether the step is to fail in its own way.
    public func attempt(_ part: String, _ name: String) throws(FileError) -> Bool {
        do throws(FileError) {
            _ = try begin(part, name, "")
            return true
        } catch {
            guard error.code != .simulatedCrash else { throw error }
            return false
        }
    }

    /// Notes in the log what came of the call that was begun last.
    func noteResult(_ text: String) {
        state.withLock { state in
            guard !state.log.isEmpty else { return }
            state.log[state.log.count - 1].result = text
        }
    }

    /// Runs a call and notes in the log how much it gave, or how it failed.
    func tracing<T>(_ count: (T) -> Int?, _ call: () throws(FileError) -> T) throws(FileError) -> T {
        do throws(FileError) {
            let result = try call()
            if let count = count(result) { noteResult(String(count)) }
            return result
        } catch {
            noteResult(error.code.rawValue)
            throw error
        }
    }

    /// To be called at the start of each call.
    func begin(_ part: String, _ name: String, _ path: String) throws(FileError) -> Outcome {
        let dead = FileError(
            code: .simulatedCrash, operation: name, path: path, reason: "the process is dead in this simulation")
        let (operation, hooks): (Operation?, [@Sendable () -> Void]) = state.withLock { state in
            guard !state.isCrashed else { return (nil, []) }
            let operation = Operation(number: state.count, part: part, name: name, path: path)
            state.count += 1
            if state.log.count >= 10_000 { state.log.removeFirst(5_000) }
            state.log.append(operation)
            if let due = state.hooksByName[name] {
                state.hooksByName[name] = due.calls > 0 ? (due.calls - 1, due.hook) : nil
                if due.calls == 0 { return (operation, [due.hook]) }
            }
            var hooks = state.hooks.removeValue(forKey: operation.number).map { [$0] } ?? []
            if part != "mount", Self.changes.contains(name) {
                hooks += state.hooksOnChange.filter { $0.changes == 0 }.map(\.hook)
                state.hooksOnChange = state.hooksOnChange.filter { $0.changes > 0 }.map { ($0.changes - 1, $0.hook) }
            }
            return (operation, hooks)
        }
        guard let operation else { throw dead }
        for hook in hooks { hook() }
        let effect: Effect? = state.withLock { state in
            if state.isCrashed { return .crash }
            let effect =
                state.effects.removeValue(forKey: operation.number) ?? state.effectsByName.removeValue(forKey: name)
                ?? state.rule?(operation)
            switch effect {
            case .crash, .crashAfter, .crashTorn:
                state.isCrashed = true
                state.crashes += 1
            default: break
            }
            return effect
        }
        let isWrite = ["write", "append"].contains(name)
        switch effect {
        case nil: return Outcome()
        case .fail(let code): throw error(code, name, path)
        case .failAfter(let code): return Outcome(error: error(code, name, path))
        case .torn(let keeping, let code):
            guard isWrite else { throw error(code, name, path) }
            return Outcome(keeping: max(0, keeping), error: error(code, name, path))
        case .stale:
            throw FileError(
                code: .inputOutput, operation: name, path: path, errno: 116, reason: "simulated stale file handle")
        case .crash: throw dead
        case .crashAfter: return Outcome(error: dead)
        case .crashTorn(let keeping):
            guard isWrite else { throw dead }
            return Outcome(keeping: max(0, keeping), error: dead)
        }
    }

    private func error(_ code: FileError.Code, _ name: String, _ path: String) -> FileError {
        FileError(code: code, operation: name, path: path, errno: code.usualErrno, reason: "simulated \(code.rawValue)")
    }
}

extension FileError.Code {
    /// The errno on Linux that most often lies beneath a code; 0 for none.
    var usualErrno: Int32 {
        switch self {
        case .absent: 2
        case .inputOutput: 5
        case .denied: 13
        case .exists: 17
        case .unexpectedKind: 20
        case .badName: 22
        case .full: 28
        case .timedOut: 110
        default: 0
        }
    }
}
