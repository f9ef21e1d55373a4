public import ShoeboxModel

/// Says which directories of the watched roots to look at. What it says is a hint where to look, never what happened.
public protocol Watcher: AnyObject, Sendable {
    /// What came in since the last call; waits for something until the time is over, then gives an empty report.
    func nextDirty(timeoutMilliseconds: Int) -> WatcherReport
    /// Ends a call of `nextDirty` that is waiting, or the next one, early.
    func wake()
    /// Ends watching for good. Reports are empty from then on.
    func stop()
}

/// Where to look.
public struct WatcherReport: Hashable, Sendable {
    /// Directories whose entries may have changed, by the number of the root; not what is below them.
    public var dirty: [Int: Set<RelativePath>] = [:]
    /// Roots all of which may have changed: at the start, after lost events, after the watcher had to be started again.
    public var rescan: Set<Int> = []
    /// Roots of which events were lost: until they are in `whole`, nothing tells of all that happens in them.
    public var lost: Set<Int> = []
    /// Roots that are gone: deleted, renamed or unmounted. They are tried again until they are back.
    public var gone: Set<Int> = []
    /// Roots all of which are watched since they were last asked for: what was a problem before is none now, and what was
    /// lost is looked at with the `rescan` that comes with it or after it.
    public var whole: Set<Int> = []
    /// What keeps the watcher from seeing everything; it came after `whole`.
    public var problems: [WatcherProblem] = []

    /// Roots of which not everything was told, or is told from now on, unless they are in `whole`, which came after that.
    public var unsure: Set<Int> {
        problems.reduce(lost.union(gone)) { $0.union($1.root.map { [$0] } ?? [0, 1]) }
    }

    /// An empty report.
    public init() {}

    /// Whether there is nothing in it.
    public var isEmpty: Bool {
        dirty.isEmpty && rescan.isEmpty && lost.isEmpty && gone.isEmpty && whole.isEmpty && problems.isEmpty
    }
}

/// What keeps a watcher from seeing everything. A periodic look at the whole root makes up for it.
public enum WatcherProblem: Hashable, Sendable {
    /// The kernel's limit is reached; the root has that many directories, each of which needs a watch.
    case watchLimit(root: Int, directoriesNeeded: Int)
    /// A directory can't be watched.
    case unwatchable(root: Int, message: String)
    /// The watcher ended and was started again.
    case restarted(message: String)
    /// The watcher can't be started; it is tried again.
    case notRunning(message: String)

    /// The number of the root that it is about; nil for all.
    public var root: Int? {
        switch self {
        case .watchLimit(let root, _), .unwatchable(let root, _): root >= 0 ? root : nil
        case .restarted, .notRunning: nil
        }
    }

    /// What is wrong and what to do now, for people.
    public var message: String {
        switch self {
        case .watchLimit(_, let needed):
            "too few inotify watches: this folder needs \(needed); raise them with "
                + "'sysctl fs.inotify.max_user_watches=\(max(524_288, needed &* 2))'"
        case .unwatchable(_, let message): message
        case .restarted(let message): "the watcher was started again: \(message)"
        case .notRunning(let message): "the watcher does not run: \(message)"
        }
    }
}
