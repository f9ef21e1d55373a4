public import ShoeboxWorld

/// The truth behind a simulated network mount: what the server holds. Clients see it through `SimulatedMount`.
///
/// Names that start with `.tmp-` are temporary ones: clients' listings never show them.
public final class SimulatedMountStorage: Sendable {
    struct File: Sendable {
        var bytes: [UInt8]
        /// Who published it or first appended to it; empty for what a test wrote.
        var author: String
        var publishedAt: UInt64
        /// Lengths over time, for clients that see appended bytes late.
        var growth: [(time: UInt64, length: Int)]
        /// Bytes that survive a crash of the server; nil if not even the name does.
        var durableLength: Int?
        var durableBytes: [UInt8]? { durableLength.map { Array(bytes.prefix($0)) } }
    }

    struct Event: Sendable {
        var time: UInt64
        var name: String
        var isAdded: Bool
        var author: String
    }

    struct Contents: Sendable {
        var files: [MountPath: File] = [:]
        var directories: [MountPath: Event] = [.root: Event(time: 0, name: "", isAdded: true, author: "")]
        /// For each directory, what appeared and went, oldest first.
        var events: [MountPath: [Event]] = [:]
    }

    struct State: Sendable {
        var contents = Contents()
        var capacityBytes: Int?
        var violations: [SimulatedMountViolation] = []
        var everKnown: Set<MountPath> = []
        var temporaryCount = 0
    }

    /// A state of the storage, to come back to: a backup.
    public struct Snapshot: Sendable {
        let contents: Contents
        let everKnown: Set<MountPath>
    }

    /// The time by which news travels.
    public let clock: SimulatedClock
    private let state = Mutex(State())

    /// An empty directory.
    public init(clock: SimulatedClock) { self.clock = clock }

    func locked<T>(_ body: (inout State) throws(FileError) -> T) throws(FileError) -> T {
        var result: Result<T, FileError>?
        state.withLock { state in
            do throws(FileError) { result = .success(try body(&state)) } catch { result = .failure(error) }
        }
        guard let result else { throw FileError(code: .inputOutput, operation: "use", path: "") }
        return try result.get()
    }

    func control<T>(_ body: (inout State) -> T) -> T { state.withLock { body(&$0) } }

    /// Broken rules of the contract so far. A test of a correct engine expects none.
    public var violations: [SimulatedMountViolation] { control { $0.violations } }

    func forgetViolations() { control { $0.violations = [] } }

    /// Limits the bytes that all files may have together; nil for no limit.
    public func setCapacity(bytes: Int?) { control { $0.capacityBytes = bytes } }

    /// The bytes of all files together.
    public var usedBytes: Int { control { $0.usedBytes } }

    /// What is in the storage now.
    public func snapshot() -> Snapshot { control { Snapshot(contents: $0.contents, everKnown: $0.everKnown) } }

    /// Puts the storage back to an earlier state, as restoring a backup does. Clients keep what they remember.
    public func restore(_ snapshot: Snapshot) {
        control { state in
            state.contents = snapshot.contents
            state.everKnown = snapshot.everKnown
        }
    }

    /// What becomes of files that were published and never synchronised when the server's power fails.
    public enum ServerLoss: Hashable, Sendable {
        /// They are gone.
        case vanishing
        /// Their names are there, their bytes not.
        case emptying
        /// Their names are there, and the first half of their bytes.
        case tearing
    }

    /// Cuts the server's power. Synchronised files, and appended bytes whose call returned, are kept.
    public func crashServer(_ loss: ServerLoss = .vanishing) {
        let now = clock.milliseconds
        control { state in
            for (path, file) in state.contents.files.sorted(by: { $0.key < $1.key }) {
                if let durable = file.durableBytes {
                    state.contents.files[path]?.bytes = durable
                    state.contents.files[path]?.growth = [(now, durable.count)]
                    continue
                }
                switch loss {
                case .vanishing:
                    state.remove(path, author: "", now: now)
                    state.everKnown.remove(path)
                case .emptying: state.contents.files[path]?.bytes = []
                case .tearing: state.contents.files[path]?.bytes = Array(file.bytes.prefix(file.bytes.count / 2))
                }
                guard let left = state.contents.files[path]?.bytes.count else { continue }
                state.contents.files[path]?.growth = [(now, left)]
                state.contents.files[path]?.durableLength = left
            }
        }
    }
}

/// A rule of the mount's contract that a client broke.
public struct SimulatedMountViolation: Hashable, Sendable, CustomStringConvertible {
    /// Which rule.
    public enum Rule: Hashable, Sendable {
        /// A name was published a second time with other bytes.
        case publishedOver
        /// A file that another client made was appended to.
        case appendedToForeign
        /// A file that another client made was removed.
        case removedForeign
        /// A name was asked for that never existed.
        case askedForUnknown
        /// A name was published again after it had been removed.
        case reusedName
    }
    /// Which rule.
    public var rule: Rule
    /// Who broke it.
    public var client: String
    /// At which path.
    public var path: MountPath
    /// One line for people.
    public var description: String { "\(client) broke \(rule) at '\(path)'" }
}
