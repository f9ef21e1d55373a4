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

/// One listed directory and what of it differs from the base.
private struct Listing {
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
private struct Found {
    var path: RelativePath
    var id: RecordID?
    var result: Result<(DirectoryListing, DirectoryComparison), FileError>
}

/// What a batch of listings hands to the planner.
private struct ScanBatch {
    var base: [RecordID: BaseEntry] = [:]
    var local: [RelativePath: LocalEntry] = [:]
    var listed: Set<RelativePath> = []
    /// Files that were read, to look for where they come from.
    var hashed: [(stamp: FileStamp, hash: Digest32)] = []
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
}

/// One pass over a watched folder.
private struct RootScan {
    let engine: Engine
    let root: RootKind
    let author: String
    let files: any LocalFileSystem
    let lister: any DirectoryLister
    let now: UInt64
    var pending: [Listing] = []
    var candidateCount = 0
    /// Base rows that were not found, with the path they had.
    var gone: [RecordID: (row: BaseRow, path: RelativePath)] = [:]
    var listedAll: Set<RelativePath> = []
    var isRecursive = false
    /// Folders that a file took the place of, with the path they had: what was in them is gone with them.
    var replacedFolders: [(row: BaseRow, path: RelativePath)] = []
    /// Paths, as people know them, of which something is still wrong.
    var troubled: Set<String> = []
    /// Folders of tag files that were seen, with their zones.
    var tagFolders: [(folder: RelativePath, zone: ZoneID)] = []
    var foundSidecars: [(directory: RelativePath, entries: [DirectoryEntry])] = []
    /// Known folders whose listing was seen whole, and the names in each that a sidecar may have.
    var listedFolders: Set<RecordID> = []
    var sidecarNames: [RecordID: Set<FileName>] = [:]

    init(engine: Engine, root: RootKind, author: String) {
        self.engine = engine
        self.root = root
        self.author = author
        files = engine.files(root)
        lister = files.makeLister()
        now = engine.world.uptimeMilliseconds()
    }

    mutating func run(directories: Set<RelativePath>?, outcome: inout ScanOutcome) throws {
        var worklist: [(path: RelativePath, id: RecordID?)] = []
        if let directories {
            for path in directories { worklist.append(try nearestKnown(path)) }
        } else {
            isRecursive = true
            worklist = [(.root, engine.top(root))]
        }
        while !worklist.isEmpty {
            guard let found = try passQuiet(&worklist) else { continue }
            try examine(found, worklist: &worklist, outcome: &outcome)
            if candidateCount >= 512 { try flush(outcome: &outcome) }
        }
        try flush(outcome: &outcome)
        try takeDeletions(outcome: &outcome)
        for found in tagFolders {
            outcome.changes += try engine.readTagFiles(in: found.folder, zone: found.zone, root: root, author: author)
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
        for code in ["notAFile", "unreadable", "emptied", "sidecarBroken", "sidecarNewer", "folderOffline"] {
            for key in engine.openProblems where key.hasPrefix("\(code)||\(top)") {
                let path = String(key.dropFirst(code.utf8.count + 2))
                guard path == top || path.hasPrefix(top + "/"), !troubled.contains(path) else { continue }
                let parent = path.lastIndex(of: "/").map { String(path[..<$0]) } ?? ""
                if isRecursive || listed.contains(path) || listed.contains(parent) {
                    try engine.clearProblem(code, path: path)
                }
            }
        }
    }

    /// The directory itself if the base knows it and it is there, else the nearest one above. Below a directory that is
    /// another one than the base knows, nothing is looked at before that itself was.
    private func nearestKnown(_ path: RelativePath) throws -> (RelativePath, RecordID?) {
        var found: (path: RelativePath, id: RecordID) = (.root, engine.top(root))
        for name in path.names {
            let next = found.path.appending(name)
            guard
                let row = try engine.store.read({ db in try db.base(named: name, in: found.id, root: root) }),
                row.kind == .folder, let entry = try? files.entry(at: next), entry.kind == .directory,
                entry.stamp.isSameFile(as: row.stamp)
            else { break }
            found = (next, row.id)
        }
        return found
    }

    /// How many directories are compared in one read of the database: a read for each would cost more than comparing,
    /// and a long one keeps the database's log from being emptied.
    private static var quietMax: Int { 128 }

    /// Lists and compares directories up to the first in which something needs a look, which is returned; nil if there
    /// is none among so many.
    private mutating func passQuiet(_ worklist: inout [(path: RelativePath, id: RecordID?)]) throws -> Found? {
        try engine.store.read { db -> Found? in
            for _ in 0..<Self.quietMax {
                guard let next = worklist.popLast() else { return nil }
                guard !listedAll.contains(next.path) else { continue }
                let listing: DirectoryListing
                do throws(FileError) { listing = try lister.list(next.path) } catch {
                    return Found(path: next.path, id: next.id, result: .failure(error))
                }
                listedAll.insert(next.path)
                if let id = next.id { listedFolders.insert(id) }
                let comparison =
                    try next.id.map { try db.compare(listing, with: $0, root: root) }
                    ?? DirectoryComparison(allOf: listing)
                guard let folders = quietFolders(of: comparison, listing, in: next.path) else {
                    return Found(path: next.path, id: next.id, result: .success((listing, comparison)))
                }
                guard isRecursive else { continue }
                lister.announce(folders.map(\.path))
                worklist += folders
            }
            return nil
        }
    }

    /// The folders in a directory of which everything else is as the base has it; nil if something needs a look.
    private func quietFolders(
        of comparison: DirectoryComparison, _ listing: DirectoryListing, in path: RelativePath
    ) -> [(path: RelativePath, id: RecordID?)]? {
        guard comparison.missing.isEmpty else { return nil }
        var folders: [(path: RelativePath, id: RecordID?)] = []
        for item in comparison.entries {
            let entry = listing.entries[item.index]
            guard entry.kind == .directory, let glance = item.glance, glance.kind == .folder,
                glance.isSameFile(as: entry.stamp), let name = listing.name(at: item.index),
                name != OwnPaths.tags.last, !engine.settings.ignore.ignores(path.appending(name), isDirectory: true)
            else { return nil }
            folders.append((path.appending(name), glance.folder))
        }
        return folders
    }

    /// Looks at what of a directory is not as the base has it, and puts what needs a closer look aside.
    private mutating func examine(
        _ found: Found, worklist: inout [(path: RelativePath, id: RecordID?)], outcome: inout ScanOutcome
    ) throws {
        let (path, id) = (found.path, found.id)
        let listed: DirectoryListing
        let comparison: DirectoryComparison
        switch found.result {
        case .success(let compared): (listed, comparison) = compared
        case .failure(let error):
            if error.code == .absent, !path.isRoot { return }
            troubled.insert(engine.display(path, root))
            try engine.report(
                "unreadable", path: engine.display(path, root),
                "The folder '\(engine.display(path, root))' cannot be read: \(error.reason).",
                "Nothing in it is taken as deleted. Make it readable; it is looked at again by itself.")
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
            if let id, item.glance == nil, !SidecarName.photos(for: name).isEmpty {
                sidecarNames[id, default: []].insert(name)
            }
            guard !engine.settings.ignore.ignores(path.appending(entry.name), isDirectory: entry.kind == .directory)
            else { continue }
            if let zone = id?.zone, id?.isZoneRoot == true, zone != .none, entry.name == OwnPaths.tags.last {
                tagFolders.append((path.appending(entry.name), zone))
                continue
            }
            switch entry.kind {
            case .directory:
                let entryPath = path.appending(entry.name)
                if child == nil, entry.name == OwnPaths.tags.last, holdsTagFilesOnly(entryPath) { continue }
                if let child, child.kind == .folder, child.isSameFile(as: entry.stamp) {
                    if isRecursive { worklist.append((entryPath, child.folder)) }
                } else {
                    let known = try row(entry.name, child)
                    if let known, try waitsForReplaced(known, by: entry, in: path, outcome: &outcome) { continue }
                    if let known, known.kind == .folder, try isElsewhere(known, at: entryPath) { continue }
                    listing.candidates.append(entry)
                    if let known {
                        listing.changed.append(known)
                        if known.id.isZoneRoot, root == .shared, engine.zones[known.id.zone]?.row.isMine == false {
                            try engine.noteReplaced(known.id.zone)
                        }
                    } else if engine.isMountPoint(entryPath, root) {
                        try engine.noteMountPoint(entryPath, true, root)
                    }
                    let moved = try movedFolder(entry, outcome: &outcome)
                    worklist.append((entryPath, moved ?? child?.folder))
                }
            case .file:
                if let child, child.kind == .file, child.isUnchanged(from: entry.stamp) { continue }
                if child == nil, !SidecarName.photos(for: entry.name).isEmpty {
                    switch try engine.sidecarStanding(entry, in: path, folder: id, root: root) {
                    case .unchanged: continue
                    case .own:
                        listing.sidecars.append(entry)
                        continue
                    case .foreign: break
                    case .unreadable(let error):
                        guard error.code != .absent else { continue }
                        let entryPath = path.appending(entry.name)
                        troubled.insert(engine.display(entryPath, root))
                        try reportUnreadable(entryPath, error)
                        outcome.again(at: now + engine.settings.settleMilliseconds)
                        engine.later[.init(root: root, path: path)] = now + engine.settings.settleMilliseconds
                        continue
                    }
                }
                let known = try row(entry.name, child)
                if let known, try waitsForReplaced(known, by: entry, in: path, outcome: &outcome) { continue }
                listing.candidates.append(entry)
                if let known {
                    listing.changed.append(known)
                    if known.kind == .folder { replacedFolders.append((known, path.appending(entry.name))) }
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
        for entry in listing.sidecars { troubled.insert(engine.display(path.appending(entry.name), root)) }
        if !listing.sidecars.isEmpty { foundSidecars.append((path, listing.sidecars)) }
        if !listing.candidates.isEmpty {
            candidateCount += listing.candidates.count
            pending.append(listing)
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
            if known.kind == .folder {
                // As many deletions at once as any others.
                var batch = ScanBatch()
                try addSubtree(of: known, at: directory.appending(known.name), to: &batch)
                guard try batch.base.isEmpty || engine.allowsDeletions(of: batch.base.count, root: root) else {
                    return true
                }
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
        let isMount = engine.isMountPoint(path, root)
        let wasMount = try engine.wasMountPoint(path, root)
        let children = try engine.store.read { db in try db.baseChildren(of: known.id, root: root) }
        var isOurs = children.isEmpty
        if isMount || wasMount, !isOurs {
            let names: Set<FileName>
            do { names = Set(try files.list(path).map(\.name)) } catch { names = [] }
            isOurs = children.contains { names.contains($0.name) }
        }
        guard isMount || wasMount, !isOurs else {
            if isMount != wasMount { try engine.noteMountPoint(path, isMount, root) }
            return false
        }
        troubled.insert(engine.display(path, root))
        try engine.report(
            "folderOffline", path: engine.display(path, root),
            "The folder '\(engine.display(path, root))' is on another disk than it was, and nothing of what was in it is there.",
            "Mount or unmount what belongs there; nothing is taken as deleted, and it goes on by itself. If what was in it should go, remove the folder itself."
        )
        return true
    }

    /// Whether a directory is what a share that was stopped left of its tags: no files of a person's.
    private func holdsTagFilesOnly(_ path: RelativePath) -> Bool {
        guard let entries = try? files.list(path) else { return false }
        return entries.allSatisfy { entry in
            guard entry.kind == .file,
                let bytes = try? files.readAll(path.appending(entry.name), maxBytes: TagFile.bytesMax)
            else { return false }
            return TagFile(bytes) != nil
        }
    }

    /// The folder of the base that this directory was, if it was renamed or moved here; its content is compared as that.
    private func movedFolder(_ entry: DirectoryEntry, outcome: inout ScanOutcome) throws -> RecordID? {
        for row in try engine.store.read({ db in try db.base(inode: entry.stamp.inode, root: root) })
        where row.kind == .folder && row.stamp.isSameFile(as: entry.stamp) && row.stamp.birthNanoseconds != 0 {
            return row.id
        }
        return nil
    }

    /// How many files are hashed together: few, so that each is read soon after it was seen to be left alone.
    private static var hashedAtOnce: Int { 8 }

    /// Plans and commits what the listings so far showed to be new or changed; missing entries only where they turned up
    /// elsewhere.
    private mutating func flush(outcome: inout ScanOutcome) throws {
        defer {
            pending = []
            candidateCount = 0
            replacedFolders = []
        }
        guard !pending.isEmpty else { return }
        var batch = ScanBatch()
        for listing in pending {
            batch.listed.insert(listing.path)
            try addAncestors(of: listing.path, to: &batch)
            for row in listing.changed { addBase(row, at: listing.path.appending(row.name), to: &batch) }
            for (row, path) in replacedFolders where path.parent == listing.path {
                try addSubtree(of: row, at: path, to: &batch)
            }
            var rest = listing.candidates[...]
            while !rest.isEmpty {
                try add(rest.prefix(Self.hashedAtOnce), in: listing.path, to: &batch, outcome: &outcome)
                rest = rest.dropFirst(Self.hashedAtOnce)
            }
        }
        // One read for all: where each of them may come from.
        let hashed = batch.hashed
        let origins: [BaseRow] = try engine.store.read { db in
            var rows: [BaseRow] = []
            for (stamp, hash) in hashed {
                rows += try db.base(inode: stamp.inode, root: root).filter {
                    $0.kind == .file && $0.stamp.isSameFile(as: stamp)
                }
                rows += try db.base(contentHash: hash).filter { $0.root == root }
            }
            return rows
        }
        try addOrigins(origins, to: &batch)
        try commit(batch, outcome: &outcome)
    }

    private func addBase(_ row: BaseRow, at path: RelativePath, to batch: inout ScanBatch) {
        batch.base[row.id] = BaseEntry(
            id: row.id, parent: row.parent, path: path, kind: row.kind, stamp: row.stamp,
            contentHash: row.contentHash, twins: row.twins)
    }

    /// The folders on the way to a directory, so that the planner knows what lies in what.
    private func addAncestors(of path: RelativePath, to batch: inout ScanBatch) throws {
        var parent = engine.top(root)
        var current = RelativePath.root
        for name in path.names {
            current = current.appending(name)
            guard let row = try engine.store.read({ db in try db.base(named: name, in: parent, root: root) }) else {
                // New on this way: it is a candidate of its parent's listing. Its own listing may come in a later batch.
                if batch.local[current] == nil, let entry = try? files.entry(at: current), entry.kind == .directory {
                    batch.local[current] = LocalEntry(path: current, kind: .folder, stamp: entry.stamp)
                    batch.listed.insert(current.parent)
                }
                continue
            }
            parent = row.id
            if row.kind == .folder, batch.base[row.id] == nil, let entry = try? files.entry(at: current),
                entry.kind == .directory, entry.stamp.isSameFile(as: row.stamp)
            {
                addBase(row, at: current, to: &batch)
                batch.local[current] = LocalEntry(path: current, kind: .folder, stamp: entry.stamp)
            }
        }
    }

    /// Adds new or changed entries, read and hashed, together with what of the base they may have been before.
    private mutating func add(
        _ entries: ArraySlice<DirectoryEntry>, in directory: RelativePath, to batch: inout ScanBatch,
        outcome: inout ScanOutcome
    ) throws {
        var settled: [RelativePath] = []
        for entry in entries {
            let path = directory.appending(entry.name)
            if entry.kind != .file {
                batch.local[path] = LocalEntry(path: path, kind: .folder, stamp: entry.stamp)
                let byInode = try engine.store.read { db in try db.base(inode: entry.stamp.inode, root: root) }
                try addOrigins(
                    byInode.filter { $0.kind == .folder && $0.stamp.isSameFile(as: entry.stamp) }, to: &batch)
            } else if try isSettled(entry, at: path, outcome: &outcome) {
                settled.append(path)
            } else {
                troubled.insert(engine.display(path, root))
                hold(path, in: &batch)
            }
        }
        for (path, result) in zip(settled, ContentHasher.hashAll(settled, files)) {
            switch result {
            case .hashed(let hash, let stamp): try add(path, hash: hash, stamp: stamp, to: &batch)
            case .failed(let error):
                hold(path, in: &batch)
                if error.code == .changedWhileReading {
                    outcome.again(at: now + engine.settings.settleMilliseconds)
                    engine.later[.init(root: root, path: directory)] = now + engine.settings.settleMilliseconds
                } else if error.code != .absent {
                    troubled.insert(engine.display(path, root))
                    try reportUnreadable(path, error)
                }
            }
        }
    }

    private mutating func add(
        _ path: RelativePath, hash: Digest32, stamp: FileStamp, to batch: inout ScanBatch
    ) throws {
        try engine.clearProblem("unreadable", path: engine.display(path, root))
        if stamp.size == 0, try isCutToNothing(path, stamp: stamp, batch: batch) {
            troubled.insert(engine.display(path, root))
            hold(path, in: &batch)
            return
        }
        batch.local[path] = LocalEntry(path: path, kind: .file, stamp: stamp, contentHash: hash)
        batch.hashed.append((stamp, hash))
    }

    private func reportUnreadable(_ path: RelativePath, _ error: FileError) throws {
        try engine.report(
            "unreadable", path: engine.display(path, root),
            "'\(engine.display(path, root))' cannot be read: \(error.reason).",
            "It is not shared until it can be read; everything else goes on. Check its permissions and the disk.")
    }

    /// A photo that was cut to zero bytes is pushed only when the user confirms: it is what a power cut leaves behind.
    private func isCutToNothing(_ path: RelativePath, stamp: FileStamp, batch: ScanBatch) throws -> Bool {
        guard let row = batch.base.values.first(where: { $0.path == path && $0.kind == .file }),
            row.stamp.size > 0
        else { return false }
        let key = "confirmedEmpty:\(row.id)"
        if try engine.store.read({ db in try db.meta(key) }) != nil { return false }
        try engine.report(
            "emptied", path: engine.display(path, root),
            "'\(engine.display(path, root))' was cut to zero bytes; that is not passed on.",
            "Run 'shoebox restore' on it to get the former content back, or delete the file if it should go.")
        return true
    }

    /// Leaves what stands at a path out of the plan: it is neither changed nor gone.
    private mutating func hold(_ path: RelativePath, in batch: inout ScanBatch) {
        for (id, entry) in batch.base where entry.path == path { batch.base[id] = nil }
        batch.local[path] = nil
    }

    /// Adds base entries that an entry may come from: with the proof that they are gone, or still there.
    private func addOrigins(_ rows: [BaseRow], to batch: inout ScanBatch) throws {
        for row in rows where batch.base[row.id] == nil && !row.isParked {
            guard
                let parentPath = try engine.store.read({ db in
                    try db.basePath(of: row.parent, top: [engine.top(root)])
                })
            else { continue }
            let path = parentPath.appending(row.name)
            guard batch.local[path] == nil else { continue }
            let entry: DirectoryEntry?
            do { entry = try files.entry(at: path) } catch {
                // A file stands where one of its folders was.
                guard error.code == .unexpectedKind else { continue }
                entry = nil
            }
            if let entry, (entry.kind == .directory) == (row.kind == .folder) {
                // Still there and the same: it can be copied from, and is not moved. Changed: it speaks for itself later.
                guard entry.kind == (row.kind == .file ? .file : .directory), entry.stamp.isUnchanged(from: row.stamp)
                else { continue }
                batch.local[path] = LocalEntry(path: path, kind: row.kind, stamp: entry.stamp)
            } else {
                batch.listed.insert(parentPath)
            }
            addBase(row, at: path, to: &batch)
            try addAncestors(of: parentPath, to: &batch)
        }
    }

    /// Whether a file has been left alone for long enough, and nobody has it open for writing.
    private func isSettled(_ entry: DirectoryEntry, at path: RelativePath, outcome: inout ScanOutcome) throws -> Bool {
        let settle = engine.settings.settleMilliseconds
        let key = Engine.WatchedPath(root: root, path: path)
        let wall = Int64(clamping: engine.world.nowMilliseconds())
        let age = wall - entry.stamp.modifiedNanoseconds / 1_000_000
        let known = engine.unsettled[key]
        let isOld = age > Int64(settle) && age < 315_360_000_000 * 10
        let isQuiet: Bool =
            if let known, known.stamp == entry.stamp { now >= known.since + settle } else {
                // Long untouched by its own account: nobody is in the middle of writing it.
                known == nil && isOld
            }
        if settle == 0 || (isQuiet && !files.hasWriter(path)) {
            // What is in no record is looked at each time: with a modification time to come, the wait would begin again.
            if isOld { engine.unsettled[key] = nil }
            return true
        }
        if known?.stamp != entry.stamp || isQuiet { engine.unsettled[key] = .init(stamp: entry.stamp, since: now) }
        outcome.again(at: now + settle)
        engine.later[.init(root: root, path: path.parent)] = now + settle
        return false
    }

    /// Plans what is really gone, after all listings: what was moved has been found by now.
    private mutating func takeDeletions(outcome: inout ScanOutcome) throws {
        var batch = ScanBatch()
        let moved = try engine.store.read { db in
            try gone.filter { id, item in
                // A row that has changed since was found elsewhere and is no more where it was.
                guard let row = try db.base(id) else { return false }
                return row == item.row
            }
        }
        for id in Set(engine.missing.keys).subtracting(moved.keys) where gone[id] != nil || isRecursive {
            if engine.isShown(id, in: root) { engine.missing[id] = nil }
        }
        var newest: [ZoneID: UInt64] = [:]
        for (id, _) in moved {
            if engine.missing[id] == nil { engine.missing[id] = now }
        }
        for (id, since) in engine.missing { newest[id.zone] = max(newest[id.zone] ?? 0, since) }
        let offered = try engine.offerLeaveOfReplaced(missing: Set(moved.keys), isWhole: isRecursive)
        for (id, item) in moved {
            // Once a share may be left, nothing that is missing of it is a deletion.
            guard !offered.contains(id.zone), id.isZoneRoot || engine.zones[id.zone]?.row.state != .leaveOffered else {
                continue
            }
            let isForeign = engine.zones[id.zone]?.row.isMine == false
            let due =
                isForeign
                ? (newest[id.zone] ?? now) + engine.settings.foreignDeletionMilliseconds
                : engine.ownDeletionDue(since: engine.missing[id] ?? now, newest: newest[id.zone] ?? now)
            if now < due {
                outcome.again(at: due)
                engine.later[.init(root: root, path: item.path.parent)] = due
                continue
            }
            addBase(item.row, at: item.path, to: &batch)
            batch.listed.insert(item.path.parent)
            try addAncestors(of: item.path.parent, to: &batch)
            if item.row.kind == .folder { try addSubtree(of: item.row, at: item.path, to: &batch) }
        }
        if isRecursive, moved.isEmpty { try engine.endMassDeletion(root) }
        guard !batch.base.isEmpty else { return }
        let count = batch.base.values.filter { batch.local[$0.path] == nil }.count
        guard try engine.allowsDeletions(of: count, root: root) else { return }
        try commit(batch, outcome: &outcome)
        if !outcome.isOffline { engine.noteDeletions(count, root: root) }
        for id in moved.keys where batch.base[id] != nil { engine.missing[id] = nil }
    }

    private func addSubtree(of row: BaseRow, at path: RelativePath, to batch: inout ScanBatch) throws {
        for child in try engine.store.read({ db in try db.baseChildren(of: row.id, root: root) })
        where batch.base[child.id] == nil {
            let childPath = path.appending(child.name)
            addBase(child, at: childPath, to: &batch)
            if child.kind == .folder { try addSubtree(of: child, at: childPath, to: &batch) }
        }
    }

    /// Checks that the folder is still the one it was, then turns the plan into history.
    private func commit(_ batch: ScanBatch, outcome: inout ScanOutcome) throws {
        guard try engine.checkRoot(root) else {
            outcome.isOffline = true
            return
        }
        let plan = planLocal(
            base: batch.base.values.sorted { $0.id < $1.id }, local: batch.local.values.sorted { $0.path < $1.path },
            listed: batch.listed, roots: [engine.top(root): .root])
        outcome.changes += try engine.take(plan.changes, root: root, author: author)
    }
}
