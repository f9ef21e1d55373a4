import ShoeboxLibrary
import ShoeboxModel
import ShoeboxPlanning
import ShoeboxStore
import ShoeboxWorld

extension Engine {
    /// The watched folders of which deletions are held back because they are so many.
    var heldRoots: [RootKind] {
        RootKind.allCases.filter { root in
            openProblems.contains { $0.hasPrefix("massDeletion|") && $0.hasSuffix("|\(display(.root, root))") }
        }
    }

    /// Lets the deletions pass that are held back now.
    func confirmDeletions() throws -> Reply {
        // A word given in advance would be taken for the next accident.
        let held = heldRoots
        guard !held.isEmpty else { return Reply(lines: ["No deletions are held back."]) }
        let given = String(world.nowMilliseconds())
        try store.write { db in for root in held { try db.setMetaText(confirmedKey(root), given) } }
        try clearProblem("massDeletion")
        // No watcher tells of what is gone for a while: without this, they would wait for the next look at everything.
        let now = world.uptimeMilliseconds()
        for root in held {
            for id in Set(missing.keys).union(replaced.keys) where isShown(id, in: root) {
                guard let path = try store.read({ db in try db.basePath(of: id, top: [top(root)]) }) else { continue }
                later[.init(root: root, path: path.parent)] = now
            }
        }
        return Reply(lines: [
            "The deletions go on with the next scan.",
            "Should that turn out to be wrong: 'shoebox history' shows them with a number, and 'shoebox undo' with that brings all back.",
        ])
    }

    /// How long deletions that were taken count with later ones, milliseconds.
    private var recentMilliseconds: UInt64 { 600_000 }

    /// Notes that so many deletions were taken; those that a person confirmed are not held against later ones.
    func noteDeletions(_ count: Int, root: RootKind) throws {
        guard !confirmedNow.contains(root) else {
            try useConfirmation(root)
            confirmedNow.remove(root)
            recentDeletions[root] = nil
            return
        }
        recentDeletions[root, default: []].append((world.uptimeMilliseconds(), count))
    }

    /// When something of an own zone that is missing is taken for deleted: once nothing more has gone missing for a while,
    /// so that what is deleted file by file is seen as a whole; but not for ever.
    func ownDeletionDue(since: UInt64, newest: UInt64) -> UInt64 {
        min(newest + settings.deletionMilliseconds, since + 10 * settings.deletionMilliseconds)
    }

    /// Whether so many deletions may be taken at once. Guards against what looks like an accident.
    ///
    /// - Parameter emptied: shares of others of which nothing would be left.
    func allowsDeletions(of count: Int, root: RootKind, emptying emptied: [ZoneID] = []) throws -> Bool {
        // What goes piece by piece is one deletion, too: what went a while ago counts as still known.
        let now = world.uptimeMilliseconds()
        let recent = (recentDeletions[root] ?? []).filter { now < $0.uptime + recentMilliseconds }
        recentDeletions[root] = recent
        let taken = recent.reduce(0) { $0 + $1.count }
        let known = try store.read { db in try db.baseCount(root: root) } + taken
        let found = try sameness(of: root)
        let isReplaced = found != .same
        // What an older or partial copy lacks was deleted by nobody.
        let isLacked = found.mayLack && count > 0
        let count = count + taken
        let limit = isReplaced ? 50 : settings.massDeletionPercent
        // What waits goes on to wait when some of it is put back: a person is asked, and is not done yet.
        let isWaiting = try count > taken && heldRoots.contains(root) && !isConfirmed(root)
        let isMass =
            isLacked || (isReplaced || count > settings.massDeletionCount) && count * 100 > known * limit
        guard isMass || isWaiting || !emptied.isEmpty else { return true }
        if try isConfirmed(root) {
            confirmedNow.insert(root)
            return true
        }
        if !isMass, !emptied.isEmpty {
            let titles = emptied.map { "'\(zones[$0]?.control.title ?? "")'" }.joined(separator: ", ")
            try report(
                "massDeletion", path: display(.root, root),
                "Everything in \(titles) is gone from the shared folder; nothing of that is passed on.",
                "If it should be deleted for everybody, run 'shoebox sync --confirm-deletions'; if not, put the files back, or have them back from the container with 'shoebox sync --reject-deletions'. 'shoebox share leave' leaves a share."
            )
            return false
        }
        let name = root == .library ? "library" : "shared"
        if found == .putBack {
            try report(
                "massDeletion", path: display(.root, root),
                "The \(name) folder was put back to an earlier state, and \(count) of \(known) files and folders are not in it; nothing of that is passed on.",
                "To have them back from the container, run 'shoebox sync --reject-deletions'. If they should be deleted for everybody, run 'shoebox sync --confirm-deletions'."
            )
            return false
        }
        guard !isReplaced else {
            try report(
                "massDeletion", path: display(.root, root),
                "The \(name) folder is another directory than it was, and \(count) of \(known) files and folders are not in it; nothing of that is passed on, and nothing new is put there.",
                "Mount the right one, or put the files back. If this one is to be the \(name) folder from now on, as from a backup, run 'shoebox sync --accept-folder': they come back from the container. If they should be deleted for everybody, run 'shoebox sync --confirm-deletions'."
            )
            return false
        }
        try report(
            "massDeletion", path: display(.root, root),
            "\(count) of \(known) files and folders are gone from the \(name) folder; nothing of that is passed on.",
            "If that was meant, run 'shoebox sync --confirm-deletions'; if not, put the files back, or have them back from the container with 'shoebox sync --reject-deletions'."
        )
        return false
    }

    /// Whether a person's word for what is held back is given, and is not so old that it was meant for something else: where a
    /// part of the folder can't be looked at, it is not known when that is over.
    private func isConfirmed(_ root: RootKind) throws -> Bool {
        guard let text = try store.read({ db in try db.metaText(confirmedKey(root)) }) else { return false }
        let given = UInt64(text) ?? 0
        let now = world.nowMilliseconds()
        return max(given, now) - min(given, now) < confirmedMilliseconds
    }

    /// How long a word for deletions holds, milliseconds.
    private var confirmedMilliseconds: UInt64 { 86_400_000 }

    /// Whether something else is missing from a watched folder, or has something in its place, than these.
    func isMissingMore(than known: some Collection<RecordID>, root: RootKind) -> Bool {
        let known = Set(known)
        return missing.keys.contains { !known.contains($0) && isShown($0, in: root) }
            || replaced.keys.contains { !known.contains($0) && isShown($0, in: root) }
    }

    /// Has what is gone written again: it was no deletion.
    func rejectDeletions() throws -> Reply {
        let held = heldRoots
        guard !held.isEmpty else { return Reply(lines: ["No deletions are held back."]) }
        for root in held {
            guard try checkRoot(root), try sameness(of: root) != .other else { throw otherFolderError(root) }
        }
        let count = try bringBackGone(from: held)
        return Reply(
            lines: ["\(count) files and folders come back from the container."],
            values: ["restored": String(count)])
    }

    private func otherFolderError(_ root: RootKind) -> RequestError {
        RequestError(
            ExitCode.failed,
            "The \(display(.root, root)) folder is not the one that was there before.",
            "Mount the right one; meanwhile nothing is deleted. If this one is to be it from now on, run 'shoebox sync --accept-folder'."
        )
    }

    /// Has what is gone from watched folders written again, and returns how much that is. What lies on a disk that is not mounted
    /// just now is not gone.
    func bringBackGone(from roots: [RootKind]) throws -> Int {
        var gone: [RecordID] = []
        for root in roots {
            let files = files(root)
            var covered: [RecordID: Bool] = [:]
            for zone in zones.keys.sorted() {
                for row in try store.read({ db in try db.base(in: zone) }) where row.root == root && !row.isParked {
                    let path = try store.read { db in try db.basePath(of: row.id, top: [top(root)]) }
                    guard let path, isAbsent(path, files), try !isCovered(row.parent, root, &covered) else { continue }
                    gone.append(row.id)
                }
            }
        }
        try store.write { db in
            for id in gone {
                try db.removeBase(id)
                try db.markDirty(id)
            }
            try db.markLayoutDirty()
        }
        for id in gone { missing[id] = nil }
        for root in roots { try clearProblem("massDeletion", path: display(.root, root)) }
        return gone.count
    }

    // MARK: One that is asked back

    /// Whether a file that is known at a path is gone from there, and nobody has taken that for a deletion yet.
    func isGoneUntaken(_ id: RecordID, at reference: PathReference) throws -> Bool {
        guard let path = reference.path, try checkRoot(reference.root) else { return false }
        let (row, known) = try store.read { db in
            (try db.base(id), try db.basePath(of: id, top: [top(reference.root)]))
        }
        guard let row, row.root == reference.root, row.kind == .file, !row.isParked, known == path else { return false }
        return isAbsent(path, files(reference.root))
    }

    /// Has a file written again that is gone, with the folders that went with it: neither is deleted for anybody. What else is gone
    /// waits as before.
    func bringBackUntaken(_ id: RecordID, at reference: PathReference) throws {
        guard let path = reference.path else { return }
        let root = reference.root
        guard try sameness(of: root) != .other else { throw otherFolderError(root) }
        var covered: [RecordID: Bool] = [:]
        var folders: [(id: RecordID, path: RelativePath)] = []
        var folder = path.parent
        while !folder.isRoot, isAbsent(folder, files(root)) {
            guard let known = try store.read({ db in try db.base(at: folder, root: root, top: top(root)) }) else {
                break
            }
            guard !known.isZoneRoot, known.zone != .none else {
                throw RequestError(
                    ExitCode.failed, "The folder '\(display(folder, root))', with the share in it, is gone as a whole.",
                    "'shoebox restore' with the title of the share brings it back; 'shoebox status' says what else there is to be answered."
                )
            }
            folders.append((known, folder))
            folder = folder.parent
        }
        let above = try store.read { db in try db.base(at: folder, root: root, top: top(root)) }
        if let above, try isCovered(above, root, &covered) {
            throw RequestError(
                ExitCode.offline, "'\(display(path, root))' lies on a disk that is not there now.",
                "Mount it again; nothing on it is taken for deleted meanwhile.")
        }
        // The folders stay known as what they are, so that what else is missing from them is so still.
        for (known, place) in folders.reversed() { try makeAnew(known, at: place, root) }
        try store.write { db in
            try db.removeBase(id)
            try db.markDirty(id)
            try db.markLayoutDirty()
        }
        (missing[id], replaced[id]) = (nil, nil)
    }

    /// Makes the directory of a folder that is gone, and notes that it is this folder's.
    private func makeAnew(_ folder: RecordID, at path: RelativePath, _ root: RootKind) throws {
        switch makeApplier(root).apply(.makeDirectory(folder, at: path)) {
        case .done(let stamp):
            try store.write { db in
                guard var row = try db.base(folder), let stamp else { return }
                row.stamp = stamp
                try db.setBase(row)
            }
            (missing[folder], replaced[folder]) = (nil, nil)
        case .stale(let reason):
            throw RequestError(
                ExitCode.failed, "The folder '\(display(path, root))' could not be made again: \(reason).",
                "Move away what is there, and try again.")
        case .failed(let error): throw error
        }
    }

    /// Whether a known folder lies on another disk than it did, or in one that does.
    private func isCovered(_ folder: RecordID, _ root: RootKind, _ known: inout [RecordID: Bool]) throws -> Bool {
        if let known = known[folder] { return known }
        guard folder != top(root),
            let row = try store.read({ db in try db.base(folder) }),
            let path = try store.read({ db in try db.basePath(of: folder, top: [top(root)]) })
        else { return false }
        let result = try isCovered(row.parent, root, &known) || holdsOtherMount(row, at: path)
        known[folder] = result
        return result
    }

    /// Whether nothing is at a path. What is behind a link, or can't be looked at, is not gone.
    private func isAbsent(_ path: RelativePath, _ files: any LocalFileSystem) -> Bool {
        do { return try files.entry(at: path) == nil } catch { return error.code == .absent }
    }
}
