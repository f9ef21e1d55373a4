import ShoeboxLibrary
public import ShoeboxModel
import ShoeboxPlanning
public import ShoeboxStore
import ShoeboxWorld

import class GRDB.Database

/// What a look at a watched folder came to.
public struct ScanOutcome: Sendable {
    /// Changes taken into the history.
    public var changes = 0
    /// When to look again (uptime): something was being written, or was missing for too short a time.
    public var lookAgain: UInt64?
    /// Whether the folder itself was not there.
    public var isOffline = false

    /// Notes a time to look again.
    mutating func again(at uptime: UInt64) { lookAgain = min(lookAgain ?? .max, uptime) }
}

extension Engine {
    /// Looks at a watched folder and takes what its user did into the history.
    ///
    /// - Parameters:
    ///   - directories: those to look at; nil for all.
    ///   - author: who the history says it was: `watcher` or `scan`.
    /// Never throws for one bad file: that is reported as a problem and left as it was.
    public func scan(_ root: RootKind, directories: Set<RelativePath>? = nil, author: String) throws -> ScanOutcome {
        var outcome = ScanOutcome()
        guard privateZone != nil || root == .shared else { return outcome }
        guard try checkRoot(root) else {
            outcome.isOffline = true
            return outcome
        }
        guard try !foldersToRebuild().contains(root) else { return outcome }
        try recover(root)
        if root == .shared { try resumeOffered() }
        var scan = RootScan(engine: self, root: root, author: author)
        try scan.run(directories: directories, outcome: &outcome)
        if directories == nil { try noteIdentity(of: root) }
        return outcome
    }

    /// What to look at so that all in some directories can be told: everything, where another file lies under the name of
    /// a photo, which may be anywhere by now.
    public func extent(toTell directories: [RootKind: Set<RelativePath>]) throws -> ScanExtent {
        for (root, paths) in directories {
            for path in paths where try hasReplacedFiles(in: path, root) { return .all }
        }
        return .directories(directories)
    }

    private func hasReplacedFiles(in directory: RelativePath, _ root: RootKind) throws -> Bool {
        let shown = try store.read { db in
            try db.base(at: directory, root: root, top: top(root)).map { try db.baseChildren(of: $0, root: root) } ?? []
        }
        let stamps = Dictionary(shown.filter { $0.kind == .file }.map { ($0.name, $0.stamp) }) { first, _ in first }
        // What can't be listed is reported by the look itself.
        let entries = (try? files(root).list(directory)) ?? []
        return entries.contains { entry in
            guard entry.kind == .file, let stamp = stamps[entry.name] else { return false }
            return !entry.stamp.isSameFile(as: stamp)
        }
    }
}
