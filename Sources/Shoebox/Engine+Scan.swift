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
    /// Whether it came to nothing, and all of the folder is looked at again.
    var isPutOff = false

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
        let look = beginLook()
        let outcome = try scan(root, directories: directories, author: author, look: look)
        // Where nothing can be looked at, nothing can be found either.
        if directories == nil, !outcome.isPutOff { lastWholeLooks[root] = look }
        return outcome
    }

    private func scan(
        _ root: RootKind, directories: Set<RelativePath>?, author: String, look: Int
    ) throws -> ScanOutcome {
        var outcome = ScanOutcome()
        guard privateZone != nil || root == .shared else { return outcome }
        let before = unseen.filter { $0.key.root == root && directories?.contains($0.key.path) ?? true }
        for place in before.keys { unseen[place] = nil }
        // What still can't be seen has been so for as long as before.
        defer { unseen.merge(before.filter { unseen[$0.key] != nil }) { min($0, $1) } }
        guard try checkRoot(root) else {
            unseen[.init(root: root, path: .root)] = world.uptimeMilliseconds()
            outcome.isOffline = true
            return outcome
        }
        guard try !foldersToRebuild().contains(root) else { return outcome }
        try recover(root)
        if root == .shared { try resumeOffered() }
        guard try putAwayReturnedFirst(root, &outcome) else { return outcome }
        let identity = presentIdentity(root)
        var scan = RootScan(engine: self, root: root, author: author, look: look)
        scan.returned = try returnedContents(root)
        do { try scan.run(directories: directories, outcome: &outcome) } catch let reason as LookPutOff {
            try putOff(root, reason, &outcome)
            return outcome
        }
        if directories == nil { putOffLooks[root] = nil }
        guard !outcome.isOffline else { return outcome }
        if directories == nil, !scan.hasReturned { try reportReturned(nil, root) }
        try noteIdentity(
            identity, of: root, isWhole: directories == nil, isBlind: scan.hasUnseen,
            isHolding: scan.hasHeld)
        return outcome
    }
}
