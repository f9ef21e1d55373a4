import ShoeboxLibrary
import ShoeboxModel
import ShoeboxPlanning
import ShoeboxStore
import ShoeboxWorld

import class GRDB.Database

/// What a watched folder is to the one that was there before.
enum RootSameness {
    /// The same directory.
    case same
    /// The same one under another device number, as a disk may get one each time.
    case moved
    /// The same one, or looking so, as it was some time ago: a snapshot or a backup was put back.
    case putBack
    /// Another one: another disk, or a copy.
    case other

    /// Whether what it lacks may have been deleted by nobody.
    var mayLack: Bool { self == .putBack || self == .other }
}

extension Engine {
    /// What a watched folder is to the one at the last whole look at it: it may be a copy, another disk, or an empty mount
    /// point into which somebody put the marker.
    func sameness(of root: RootKind) throws -> RootSameness {
        let (known, origin, isPutBack) = try store.read { db in
            (
                try db.metaText(identityKey(root)), try db.metaText(originKey(root)),
                try db.metaText(putBackKey(root)) != nil
            )
        }
        let kept: RootSameness = isPutBack ? .putBack : .same
        guard let known, try known != identityText(files(root).identity()) else { return kept }
        // What an earlier version noted has no origin.
        guard let origin else { return isPutBack ? .putBack : .moved }
        guard try !origin.isEmpty && origin == originText(root) else { return .other }
        return isPutBack ? .putBack : .moved
    }

    /// Whether a watched folder is another directory, or can't be told to be the known one now.
    func isUnknown(_ root: RootKind) throws -> Bool {
        do { return try sameness(of: root) == .other } catch let error as FileError {
            log("the \(display(.root, root)) folder can't be looked at: \(error)")
            return true
        }
    }

    /// Which directory a watched folder is now; nil if that can't be told.
    func presentIdentity(_ root: RootKind) -> RootIdentity? {
        do { return try files(root).identity() } catch { return nil }
    }

    /// Keeps which directory a watched folder is, once nothing that was in it is missing; where it may lack something, only if
    /// the last look at all of it was at this one, and saw all of it.
    ///
    /// - Parameters:
    ///   - found: which one it was before the look; if it is another one after it, the next look tells.
    ///   - isWhole: whether all of it was looked at.
    ///   - isBlind: whether something in it could not be looked at: what is missing may be there.
    ///   - isHolding: whether a file was left out that can't be judged yet.
    func noteIdentity(
        _ found: RootIdentity?, of root: RootKind, isWhole: Bool, isBlind: Bool, isHolding: Bool
    ) throws {
        guard let found, presentIdentity(root) == found else { return }
        if isWhole { wholeLooks[root] = isBlind ? nil : found }
        let now = identityText(found)
        let origin: String
        do { origin = try originText(root) } catch { return }
        let known = try store.read { db in
            (
                identity: try db.metaText(identityKey(root)), origin: try db.metaText(originKey(root)),
                isPutBack: try db.metaText(putBackKey(root)) != nil
            )
        }
        guard now != known.identity || origin != known.origin || known.isPutBack else {
            return try clearProblem("rootReplaced", path: display(.root, root))
        }
        if known.identity == nil {
            guard isWhole else { return }
        } else {
            if try sameness(of: root).mayLack {
                guard !isHolding else {
                    // Until all is judged: what an older file holds is no edit.
                    wholeLooks[root] = nil
                    lookAtAllAgain(root)
                    return
                }
                guard wholeLooks[root] == found else {
                    if isWhole { try reportReplaced(root) }
                    return
                }
            }
            guard !isMissingAnything(root), !heldRoots.contains(root) else { return }
        }
        try store.write { db in
            try db.setMetaText(identityKey(root), now)
            try db.setMetaText(originKey(root), origin)
            try db.setMetaText(putBackKey(root), nil)
        }
        wholeLooksAgain[root] = nil
        try clearProblem("rootReplaced", path: display(.root, root))
    }

    /// Has all of a watched folder looked at again, where a look at some directories is not enough; less and less often, as each
    /// look may be long.
    private func lookAtAllAgain(_ root: RootKind) {
        let now = world.uptimeMilliseconds()
        if let again = wholeLooksAgain[root], now < again.due { return }
        let pause = min(wholeLooksAgain[root].map { 2 * $0.pause } ?? settings.deletionMilliseconds, 300_000)
        wholeLooksAgain[root] = (due: now + pause, pause: pause)
        later[.init(root: root, path: .root)] = now + pause
    }

    /// Whether all of a watched folder is to be looked at, and not only some directories.
    func isWholeLookDue(_ root: RootKind) -> Bool {
        let now = world.uptimeMilliseconds()
        return [wholeLooksAgain[root]?.due, putOffLooks[root]?.due].contains { due in due.map { $0 <= now } ?? false }
    }

    private func reportReplaced(_ root: RootKind) throws {
        let name = display(.root, root)
        guard try sameness(of: root) == .other else {
            return try report(
                "rootReplaced", path: name,
                "The \(name) folder was put back to an earlier state, and a part of it can't be read; each deletion in it waits for a word.",
                "Make readable what 'shoebox status' names, and run 'shoebox sync'.")
        }
        try report(
            "rootReplaced", path: name,
            "The \(name) folder is another directory than it was, and a part of it can't be read; nothing new is put there.",
            "Mount the right one; or make readable what 'shoebox status' names, and run 'shoebox sync'.")
    }

    /// Whether something that a watched folder showed is missing, or has something in its place; of a share that its user is
    /// asked about, nothing counts.
    private func isMissingAnything(_ root: RootKind) -> Bool {
        let isAwaited = { (id: RecordID) in
            self.isShown(id, in: root) && self.zones[id.zone]?.row.state != .leaveOffered
        }
        return missing.keys.contains(where: isAwaited) || replaced.keys.contains(where: isAwaited)
    }

    /// Notes that a watched folder was put back to an earlier state: what it lacks was deleted by nobody, bytes that a photo had
    /// once are no edit, and what was deleted since goes again.
    func notePutBack(_ root: RootKind) throws {
        try store.write { db in try db.setMetaText(putBackKey(root), "new") }
    }

    /// Puts away what is in a folder that was put back, and was deleted since, before the folder is looked at; false if that is
    /// to be tried again first.
    func putAwayReturnedFirst(_ root: RootKind, _ outcome: inout ScanOutcome) throws -> Bool {
        // On another disk, such as a backup that somebody looks at, nothing is moved.
        guard try store.read({ db in try db.metaText(putBackKey(root)) }) == "new", try sameness(of: root) == .putBack
        else { return true }
        do { try putAwayReturned(root) } catch let error as FileError {
            comparisonFailed[root] = comparisonFailed[root] ?? world.uptimeMilliseconds()
            log("the \(display(.root, root)) folder was put back, and is looked at later: \(error)")
            outcome.again(at: world.uptimeMilliseconds() + settings.settleMilliseconds)
            return false
        }
        comparisonFailed[root] = nil
        try store.write { db in try db.setMetaText(putBackKey(root), "known") }
        return true
    }

    /// Where files lie again, as far as their bytes say so, that were deleted since the backup was made that now stands in a watched
    /// folder's place. Empty if it is the directory that it was: there they are put away.
    func returnedContents(_ root: RootKind) throws -> [RelativePath: Set<Digest32>] {
        guard try store.read({ db in try isPutBack(root, db) }), try sameness(of: root) == .other else { return [:] }
        return try deletedContents(root)
    }

    /// Tells that something lies in a watched folder again that was deleted, or takes that back.
    func reportReturned(_ path: RelativePath?, _ root: RootKind) throws {
        let name = display(.root, root)
        guard let path else { return try clearProblem("rootReturned", path: name) }
        try report(
            "rootReturned", path: name,
            "The \(name) folder is another directory than it was, and has what was deleted since, such as '\(display(path, root))'; that is not taken as new.",
            "Mount the right one. If this one, as from a backup, is to be the \(name) folder from now on, run 'shoebox sync --accept-folder': what was deleted goes to its trash, and what it lacks comes back from the container."
        )
    }

    /// Takes the directories that stand in the place of watched folders for those: what they lack comes back from the container,
    /// and what was deleted since they were copied goes to their trash.
    func acceptFolders() throws -> Reply {
        var accepted: [RootKind] = []
        for root in RootKind.allCases where try checkRoot(root) && sameness(of: root) == .other {
            let (identity, origin) = (identityText(try files(root).identity()), try originText(root))
            try store.write { db in
                try db.setMetaText(identityKey(root), identity)
                try db.setMetaText(originKey(root), origin)
                try db.setMetaText(putBackKey(root), "new")
            }
            wholeLooks[root] = nil
            try clearProblem("rootReplaced", path: display(.root, root))
            try clearProblem("rootReturned", path: display(.root, root))
            accepted.append(root)
        }
        guard !accepted.isEmpty else {
            return Reply(lines: ["No watched folder is another directory than it was."])
        }
        let count = try bringBackGone(from: accepted)
        let names = accepted.map { "The \(display(.root, $0)) folder is taken as it is." }
        return Reply(
            lines: names + ["\(count) files and folders come back from the container."],
            values: ["restored": String(count)])
    }

    /// Whether a watched folder was put back, and what it lacks was not yet found out.
    func isPutBack(_ root: RootKind, _ db: Database) throws -> Bool { try db.metaText(putBackKey(root)) != nil }

    private func identityKey(_ root: RootKind) -> String { "identity.\(root.rawValue)" }
    private func originKey(_ root: RootKind) -> String { "origin.\(root.rawValue)" }
    private func putBackKey(_ root: RootKind) -> String { "putBack.\(root.rawValue)" }
    private func identityText(_ identity: RootIdentity) -> String { "\(identity.device).\(identity.inode)" }

    /// What a directory keeps when its disk is mounted anew under another device number: its inode and birth time. Empty
    /// where there is no birth time, as numbers of inodes are given on each disk.
    private func originText(_ root: RootKind) throws(FileError) -> String {
        guard let stamp = try files(root).entry(at: .root)?.stamp, stamp.birthNanoseconds != 0 else { return "" }
        return "\(stamp.inode).\(stamp.birthNanoseconds)"
    }
}
