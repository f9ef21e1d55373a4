import ShoeboxLibrary
import ShoeboxModel
import ShoeboxPlanning
import ShoeboxStore
import ShoeboxWorld

import class GRDB.Database

/// One listed directory and what of it differs from the base.
struct Listing {
    var path: RelativePath
    /// The folder that the base shows here; nil for a directory that is new.
    var id: RecordID?
    /// New or changed entries.
    var candidates: [DirectoryEntry] = []
    /// Entries of the base that are not there.
    var missing: [BaseRow] = []
    /// Rows of the base whose entry changed.
    var changed: [BaseRow] = []
    /// JSON files that may be sidecars.
    var sidecars: [DirectoryEntry] = []
}

/// A directory that was listed and compared with the base, in which something needs a look.
struct Found {
    var place: ScanPlace
    var result: Result<(DirectoryListing, DirectoryComparison), FileError>
}

/// What a batch of listings hands to the planner.
struct ScanBatch {
    var base: [RecordID: BaseEntry] = [:]
    /// Of those, what is only there as something may have come from it, and is not at its place: whether it was deleted is
    /// asked where its folder was looked at.
    var origins: Set<RecordID> = []
    var local: [RelativePath: LocalEntry] = [:]
    var listed: Set<RelativePath> = []
    /// Files that were read, to look for where they come from.
    var hashed: [(path: RelativePath, stamp: FileStamp, hash: Digest32)] = []
    /// Paths at which the base has a file, and which one.
    var known: [RelativePath: RecordID] = [:]
    /// Paths that are left out, as what stands there can't be judged yet.
    var held: Set<RelativePath> = []
    /// Folders that are left out with all that is in them.
    var heldFolders: Set<RelativePath> = []
    /// Whether there is any sidecar that could be beside something else.
    var hasSidecars = false
    /// By file: the records, of both watched folders, whose very sidecar lies beside it, and not where it was any more.
    var brought: [RelativePath: [BaseRow]] = [:]
    /// Files beside which lies the very sidecar of a record that had another place, and which record.
    var sidecars: [RelativePath: RecordID] = [:]
    /// Directories in the place of folders that were found elsewhere: nobody may have listed them yet.
    var besides: Set<RelativePath> = []
    /// Files that are left out since somebody may still be writing them, or since they could not be read.
    var unsettled: [(path: RelativePath, stamp: FileStamp)] = []
}

/// One pass over a watched folder.
struct RootScan {
    let engine: Engine
    let root: RootKind
    let author: String
    /// The number of this look.
    let look: Int
    let files: any LocalFileSystem
    let lister: any DirectoryLister
    let now: UInt64
    var pending: [Listing] = []
    /// The new or changed files in those.
    var pendingFiles: Set<FileIdentity> = []
    var candidateCount = 0
    /// Directories in the place of folders that the base knows there and that are other ones, to be listed after everything
    /// else: by then it is known which of those folders are elsewhere.
    var replacing: [ScanPlace] = []
    /// Whether another directory was found in a share's place. It is not taken for the share before all is listed: the share may
    /// be elsewhere, and what is in the directory private.
    var holdsShare = false
    /// Directories that were put on the list once more, in that order.
    var relisted: [RelativePath] = []
    /// Where known folders were listed.
    var listedAt: [RecordID: RelativePath] = [:]
    /// How many batches were taken.
    var batchCount = 0
    /// The folders of the base that directories are known to be since the last one.
    var folders: [RelativePath: RecordID?] = [:]
    /// Whether another file stands where the base has one.
    var hasReplacedFiles = false
    /// Base rows that were not found, with the path they had.
    var gone: [RecordID: (row: BaseRow, path: RelativePath)] = [:]
    /// What was found elsewhere, or under another name.
    var placed: Set<RecordID> = []
    var listedAll: Set<RelativePath> = []
    var isRecursive = false
    /// Whether a directory could not be looked at: what is in it is neither there nor missing.
    var hasUnseen = false
    /// Whether a file that can't be judged yet was left out.
    var hasHeld = false
    /// Contents that were deleted since, by where they lie again, where the folder may be a backup on another disk.
    var returned: [RelativePath: Set<Digest32>] = [:]
    /// Whether any was found.
    var hasReturned = false
    /// Whether a file stands where a folder was with more in it than may go without a word of its user.
    var holdsReplaced = false
    /// Folders that a file took the place of, with the path they had: what was in them is gone with them.
    var replacedFolders: [(row: BaseRow, path: RelativePath)] = []
    /// Folders that were found renamed or moved, with where they are now: what the base has in them is to be looked for there.
    var movedTo: [RecordID: RelativePath] = [:]
    /// Paths, as people know them, of which something is still wrong.
    var troubled: Set<String> = []
    /// Folders of tag files that were seen, with their zones.
    var tagFolders: [(folder: RelativePath, zone: ZoneID)] = []
    var foundSidecars: [(directory: RelativePath, entries: [DirectoryEntry])] = []
    /// Known folders whose listing was seen whole, and the names in each that a sidecar may have.
    var listedFolders: Set<RecordID> = []
    var sidecarNames: [RecordID: Set<FileName>] = [:]

    init(engine: Engine, root: RootKind, author: String, look: Int) {
        self.engine = engine
        self.root = root
        self.author = author
        self.look = look
        files = engine.files(root)
        lister = files.makeLister()
        now = engine.world.uptimeMilliseconds()
    }

    mutating func run(directories: Set<RelativePath>?, outcome: inout ScanOutcome) throws {
        var worklist: [ScanPlace] = []
        if let directories {
            // What waits to be judged together with something else is looked at with it.
            let oldest = engine.settings.foreignDeletionMilliseconds
            let waiting = engine.displaced.filter { $0.key.root == root && now < $0.value + oldest }.map(
                \.key.path.parent)
            for path in directories.union(directories.isEmpty ? [] : waiting).sorted() {
                worklist.append(try nearestKnown(path, outcome: &outcome))
            }
        } else {
            isRecursive = true
            worklist = [ScanPlace(path: .root, id: engine.top(root), isDeep: true)]
        }
        while true {
            if worklist.isEmpty {
                guard let next = replacing.popLast() else { break }
                worklist.append(next)
            }
            guard let found = try passQuiet(&worklist) else { continue }
            try examine(found, worklist: &worklist, outcome: &outcome)
            // Where another file took the place of a known one, that may be in a directory that was not listed yet.
            let takeMax = engine.settings.takeMax * (hasReplacedFiles || !replacing.isEmpty ? 64 : 1)
            let waits = holdsShare || worklist.contains(where: \.isMoved) || replacing.contains(where: \.isMoved)
            if candidateCount >= takeMax, !waits { try flush(outcome: &outcome) }
        }
        try flush(outcome: &outcome)
        try takeDeletions(outcome: &outcome)
        for found in tagFolders {
            do {
                outcome.changes += try engine.readTagFiles(
                    in: found.folder, zone: found.zone, root: root, author: author)
            } catch let error as FileError {
                // Gone between, or not to be read: its photos are scanned all the same.
                guard !error.isAbsence else { continue }
                try putOff(found.folder, error, lookingAt: found.folder.parent, outcome: &outcome)
            }
        }
        for folder in listedFolders where folder.isZoneRoot && !tagFolders.contains(where: { $0.zone == folder.zone }) {
            let path = try engine.store.read { db in try db.basePath(of: folder, top: [engine.top(root)]) }
            if let path { try engine.renewTagFiles(in: folder.zone, at: path, root) }
        }
        try clearTroubles()
        for found in foundSidecars {
            outcome.changes += try engine.readSidecars(found.entries, in: found.directory, root: root, author: author)
        }
        try engine.forgetLostSidecars(
            listed: listedFolders, seen: sidecarNames, besides: Set(gone.keys), root: root)
    }

    /// Takes back the problems of entries that were listed now and are well, or are gone.
    private func clearTroubles() throws {
        guard !engine.openProblems.isEmpty else { return }
        let listed = Set(listedAll.map { engine.display($0, root) })
        let top = engine.display(.root, root)
        for code in [
            "notAFile", "unreadable", "notPublished", "emptied", "sidecarBroken", "sidecarNewer", "sidecarIsFile",
            "beingWritten",
            "folderOffline",
        ] {
            for key in engine.openProblems where key.hasPrefix("\(code)||\(top)") {
                let path = String(key.dropFirst(code.utf8.count + 2))
                guard path == top || path.hasPrefix(top + "/"), !troubled.contains(path),
                    try code != "sidecarIsFile" || !isOwnFile(path)
                else { continue }
                let parent = path.lastIndex(of: "/").map { String(path[..<$0]) } ?? ""
                if try isRecursive || listed.contains(path) || listed.contains(parent) || isGone(path, below: listed) {
                    try engine.clearProblem(code, path: path)
                }
            }
        }
    }

    /// Whether what a problem names has gone along with a folder that it was in, which is missing from one that was listed.
    private func isGone(_ shown: String, below listed: Set<String>) -> Bool {
        // What is not shown as it is can't be looked for.
        let top = engine.display(.root, root)
        guard listed.contains(where: { shown.hasPrefix($0 + "/") }), !shown.contains("\\"), !shown.contains("\u{FFFD}"),
            let path = RelativePath(String(shown.dropFirst(top.utf8.count + 1)))
        else { return false }
        do { return try files.entry(at: path) == nil } catch { return error.isAbsence }
    }

    /// Looks at what of a directory is not as the base has it, and puts what needs a closer look aside.
    private mutating func examine(
        _ found: Found, worklist: inout [ScanPlace], outcome: inout ScanOutcome
    ) throws {
        let (path, id) = (found.place.path, found.place.id)
        let listed: DirectoryListing
        let comparison: DirectoryComparison
        switch found.result {
        case .success(let compared): (listed, comparison) = compared
        case .failure(let error):
            if error.code == .absent, !path.isRoot { return }
            try putOff(path, error, lookingAt: path, outcome: &outcome)
            return
        }
        func row(_ name: FileName, _ glance: BaseGlance?) throws -> BaseRow? {
            guard glance != nil, let id else { return nil }
            return try engine.store.read { db in try db.base(named: name, in: id, root: root) }
        }
        let before = worklist.count
        defer { lister.announce(worklist[before...].map(\.path)) }
        var listing = Listing(path: path, id: id)
        for item in comparison.entries {
            guard let name = listed.name(at: item.index) else { continue }
            let (raw, child) = (listed.entries[item.index], item.glance)
            let entry = DirectoryEntry(name: name, kind: raw.kind, stamp: raw.stamp)
            if let id, item.glance?.kind != .file, !SidecarName.photos(for: name).isEmpty {
                sidecarNames[id, default: []].insert(name)
            }
            let isIgnored = engine.settings.ignore.ignores(
                path.appending(entry.name), isDirectory: entry.kind == .directory)
            let maySpeak = entry.kind == .file && child?.kind != .file && !SidecarName.photos(for: entry.name).isEmpty
            // A photo's sidecar is written, and read, also where JSON files are ignored.
            if isIgnored, try !maySpeak || !isBesidePhoto(entry.name, in: id) { continue }
            if let zone = id?.zone, id?.isZoneRoot == true, zone != .none, entry.name == OwnPaths.tags.last {
                // What else has that name is in the way of it, and no photo.
                if entry.kind == .directory { tagFolders.append((path.appending(entry.name), zone)) }
                continue
            }
            switch entry.kind {
            case .directory:
                let entryPath = path.appending(entry.name)
                do {
                    let isTags = child == nil && entry.name == OwnPaths.tags.last
                    if isTags, try engine.holdsTagFilesOnly(entryPath, root) { continue }
                } catch {
                    try putOff(entryPath, error, lookingAt: path, outcome: &outcome)
                    continue
                }
                if let child, child.kind == .folder, child.isSameFile(as: entry.stamp) {
                    if found.place.isDeep {
                        worklist.append(
                            ScanPlace(
                                path: entryPath, id: child.folder, isDeep: true, isMoved: found.place.isMoved,
                                batch: batchCount, relist: relisted.count))
                    }
                } else {
                    let known = try row(entry.name, child)
                    if let known, try waitsForReplaced(known, by: entry, in: path, outcome: &outcome) { continue }
                    let isMount: Bool
                    do {
                        if let known, known.kind == .folder, try isElsewhere(known, at: entryPath) { continue }
                        isMount = try known == nil && engine.isMountPoint(entryPath, root)
                    } catch let error as FileError {
                        try putOff(entryPath, error, lookingAt: path, outcome: &outcome)
                        continue
                    }
                    listing.candidates.append(entry)
                    if let known {
                        listing.changed.append(known)
                        if known.id.isZoneRoot, root == .shared, engine.zones[known.id.zone]?.row.isMine == false {
                            try engine.noteReplaced(known.id.zone)
                        }
                    } else if isMount {
                        try engine.noteMountPoint(entryPath, true, root)
                    }
                    let moved = try movedFolder(entry)?.id
                    if let moved {
                        movedTo[moved] = entryPath
                        listAgain(whatWasListedAs: moved, besides: entryPath)
                    }
                    if moved == nil, child?.folder?.isZoneRoot == true { holdsShare = true }
                    let place = ScanPlace(
                        path: entryPath, id: moved ?? child?.folder, isDeep: true,
                        isMoved: moved != nil || found.place.isMoved, batch: batchCount, relist: relisted.count)
                    if moved == nil, child != nil { replacing.append(place) } else { worklist.append(place) }
                }
            case .file:
                if let child, child.kind == .file {
                    if child.isUnchanged(from: entry.stamp) { continue }
                    try judgeOwnFile(entry, in: path, folder: id)
                }
                if maySpeak {
                    var standing = try engine.sidecarStanding(entry, in: path, folder: id, root: root)
                    if case .own = standing, try engine.isMovedFile(entry, at: path.appending(entry.name), root) {
                        // Renamed over a sidecar, it is what it was, and the photo gets another one.
                        standing = .foreign
                        try engine.forgetSidecar(called: entry.name, in: id, root)
                    }
                    switch standing {
                    case .unchanged, .own:
                        if case .own = standing { listing.sidecars.append(entry) }
                        // A folder that was here is gone, and no file of its own is in its place.
                        if let known = try row(entry.name, child),
                            try !waitsForReplaced(known, by: entry, in: path, outcome: &outcome)
                        {
                            listing.changed.append(known)
                            replacedFolders.append((known, path.appending(entry.name)))
                        }
                        continue
                    case .foreign: if isIgnored { continue }
                    case .unreadable(let error):
                        guard error.code != .absent, !isIgnored else { continue }
                        let entryPath = path.appending(entry.name)
                        troubled.insert(engine.display(entryPath, root))
                        try reportUnreadable(entryPath, error)
                        // When it may be read again, its watcher says so.
                        if error.code == .changedWhileReading {
                            lookAgain(at: path, after: engine.settings.settleMilliseconds, outcome: &outcome)
                        } else if error.mayPass {
                            lookAgain(at: path, after: errorPause, outcome: &outcome)
                        }
                        continue
                    }
                }
                let known = try row(entry.name, child)
                if let known, try waitsForReplaced(known, by: entry, in: path, outcome: &outcome) { continue }
                listing.candidates.append(entry)
                pendingFiles.insert(entry.stamp.identity)
                if let known {
                    listing.changed.append(known)
                    if known.kind == .folder { replacedFolders.append((known, path.appending(entry.name))) }
                    if known.kind == .file, !entry.stamp.isSameFile(as: known.stamp) { hasReplacedFiles = true }
                }
            case .symbolicLink, .other:
                // What was known here is neither changed nor deleted: an album may have been moved to another disk.
                troubled.insert(engine.display(path.appending(entry.name), root))
                try engine.report(
                    "notAFile", path: engine.display(path.appending(entry.name), root),
                    "'\(engine.display(path.appending(entry.name), root))' is a symbolic link or a special file; it is left alone.",
                    "Put a copy of the file there if it should be shared.")
            }
        }
        for (name, child) in comparison.missing
        where !engine.settings.ignore.ignores(path.appending(name), isDirectory: child.kind == .folder) {
            if let known = try row(name, child) { listing.missing.append(known) }
        }
        for row in listing.missing { gone[row.id] = (row, path.appending(row.name)) }
        guard listedAll.contains(path) else {
            // The folder is in itself: it is to be listed once more, as what was found was compared with what is not here.
            replacedFolders.removeAll { $0.path.parent == path }
            return
        }
        for entry in listing.sidecars { troubled.insert(engine.display(path.appending(entry.name), root)) }
        if !listing.sidecars.isEmpty { foundSidecars.append((path, listing.sidecars)) }
        if !listing.candidates.isEmpty || !listing.changed.isEmpty {
            candidateCount += listing.candidates.count
            pending.append(listing)
        }
    }

    /// Tells a person who made a sidecar of what is a file of its own, as by writing its format into it, that it is not read: others
    /// see it as the file that it was, and it would have to be deleted for them.
    private mutating func judgeOwnFile(_ entry: DirectoryEntry, in directory: RelativePath, folder: RecordID?) throws {
        guard let folder, !SidecarName.photos(for: entry.name).isEmpty, try isBesidePhoto(entry.name, in: folder),
            // What can't be read now is looked at as the file that it was.
            let bytes = try? files.readAll(directory.appending(entry.name), maxBytes: SidecarDocument.bytesMax)
        else { return }
        let shown = engine.display(directory.appending(entry.name), root)
        if case .foreign = SidecarDocument.read(bytes) { return try engine.clearProblem("sidecarIsFile", path: shown) }
        let known = try engine.store.read { [root] db in try db.base(named: entry.name, in: folder, root: root) }
        // What somebody else shared under that name, this user has not written.
        guard let known, ContentHasher.hash(bytes) != known.contentHash else { return }
        try engine.report(
            "sidecarIsFile", path: shown,
            "'\(shown)' was put there as a file of its own: what is written into it now is not taken for what is said of the photo.",
            "Delete it, let 'shoebox sync' run, and write it again with its format; or use 'shoebox tag', 'rate' and 'caption'."
        )
    }

    /// Whether a file is still one of its own that its user wrote a sidecar into: what has not changed is not looked at again.
    private func isOwnFile(_ shown: String) throws -> Bool {
        let top = engine.display(.root, root)
        guard let path = RelativePath(String(shown.dropFirst(top.utf8.count + 1))), let name = path.last else {
            return false
        }
        return try engine.store.read { [engine, root] db in
            guard let folder = try db.base(at: path.parent, root: root, top: engine.top(root)) else { return false }
            return try db.base(named: name, in: folder, root: root)?.kind == .file
        }
    }

    /// Whether a file that has the name of a sidecar lies beside a known photo.
    private func isBesidePhoto(_ name: FileName, in folder: RecordID?) throws -> Bool {
        guard let folder else { return false }
        return try engine.store.read { [root] db in
            try SidecarName.photos(for: name).contains { photo in
                try db.base(named: photo, in: folder, root: root)?.kind == .file
            }
        }
    }

    /// Whether a file stands where a folder was, or a folder where a file was, and has not for long. Until it is as sure as
    /// a deletion that the former is gone, and did not turn up elsewhere, neither is taken.
    private mutating func waitsForReplaced(
        _ known: BaseRow, by entry: DirectoryEntry, in directory: RelativePath, outcome: inout ScanOutcome
    ) throws -> Bool {
        guard (known.kind == .folder) != (entry.kind == .directory) else {
            engine.replaced[known.id] = nil
            return false
        }
        let since = engine.replaced[known.id] ?? now
        engine.replaced[known.id] = since
        let isForeign = engine.zones[known.id.zone]?.row.isMine == false
        let wait = isForeign ? engine.settings.foreignDeletionMilliseconds : engine.settings.deletionMilliseconds
        guard now < since + wait else {
            // What it was, or what was in it, may lie where it can't be judged or seen yet.
            if let mayPass = try withheld()[known.id] {
                hasHeld = true
                if mayPass { lookAgain(at: directory, after: errorPause, outcome: &outcome) }
                return true
            }
            if let end = blindUntil {
                outcome.again(at: end)
                engine.later[.init(root: root, path: directory)] = end
                return true
            }
            if known.kind == .folder {
                // As many deletions at once as any others.
                var batch = ScanBatch()
                try addSubtree(of: known, at: directory.appending(known.name), to: &batch)
                guard try batch.base.isEmpty || engine.allowsDeletions(of: batch.base.count, root: root) else {
                    holdsReplaced = true
                    return true
                }
                try engine.useConfirmation(root)
            }
            engine.replaced[known.id] = nil
            return false
        }
        outcome.again(at: since + wait)
        engine.later[.init(root: root, path: directory)] = since + wait
        return true
    }

    /// Whether what stands in a known folder's place is on another disk than the folder was, and has nothing of what was
    /// in it: something was mounted there, or what was mounted there is not. It is offline, and left alone.
    private mutating func isElsewhere(_ known: BaseRow, at path: RelativePath) throws -> Bool {
        guard try engine.holdsOtherMount(known, at: path) else {
            let isMount = try engine.isMountPoint(path, root)
            if try engine.wasMountPoint(path, root) != isMount { try engine.noteMountPoint(path, isMount, root) }
            return false
        }
        troubled.insert(engine.display(path, root))
        try engine.clearProblem("unreadable", path: engine.display(path, root))
        try engine.report(
            "folderOffline", path: engine.display(path, root),
            "The folder '\(engine.display(path, root))' is on another disk than it was, and nothing of what was in it is there.",
            "Mount or unmount what belongs there; nothing is taken as deleted, and it goes on by itself. If what was in it should go, remove the folder itself."
        )
        return true
    }

    /// The folder of the base that this directory was, if it was renamed or moved here; its content is compared as that.
    func movedFolder(_ entry: DirectoryEntry) throws -> BaseRow? {
        try engine.store.read { db in try movedFolder(entry, db) }
    }

    func movedFolder(_ entry: DirectoryEntry, _ db: Database) throws -> BaseRow? {
        try db.base(inode: entry.stamp.inode, root: root).first { row in
            row.kind == .folder && row.stamp.isSameFile(as: entry.stamp) && row.stamp.birthNanoseconds != 0
        }
    }
}
