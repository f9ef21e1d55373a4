import ShoeboxLibrary
import ShoeboxModel
import ShoeboxPlanning
import ShoeboxStore
import ShoeboxWorld

// Where what is new or changed comes from.

extension RootScan {
    /// Adds what the files that were read may have been before.
    ///
    /// Where a file stands at one known path that came from another, and that one has changed as well, the two may have
    /// swapped places. They are judged together or not at all: each for itself would look like an edit, and what is said
    /// of the one photo would stay with the other. Where one can't be read yet, the other waits for it.
    mutating func addOrigins(to batch: inout ScanBatch, outcome: inout ScanOutcome) throws {
        // By where a file stands: the places that it may come from and that have changed.
        var sources: [RelativePath: Set<RelativePath>] = [:]
        var position = 0
        while position < batch.hashed.count {
            let hashed = batch.hashed[position...]
            position = batch.hashed.count
            // One read for all: where each of them may come from.
            let origins = try engine.store.read { [root, batch] db in
                try hashed.map { file in
                    let byInode = try db.base(inode: file.stamp.inode, root: root).filter {
                        $0.kind == .file && $0.stamp.isSameFile(as: file.stamp)
                    }
                    // A file that is known from elsewhere is that one, whatever else has the same bytes.
                    let isKnown = byInode.contains { $0.stamp.birthNanoseconds != 0 && $0.id != batch.known[file.path] }
                    let equal = isKnown ? [] : try db.base(contentHash: file.hash).filter { $0.root == root }
                    return (file.path, byInode + equal)
                }
            }
            for (path, known) in origins {
                let rows = try known + broughtSidecar(at: path, besides: known, &batch)
                for row in rows {
                    switch try shareOrigin(row, of: path, stamp: batch.local[path]?.stamp) {
                    case .counts: break
                    case .waits:
                        awaitShare(path, in: &batch, outcome: &outcome)
                        continue
                    case .isNone: continue
                    }
                    guard
                        let changed = try addOrigin(
                            row, of: batch.local[path]?.stamp, to: &batch, outcome: &outcome), changed != path
                    else { continue }
                    if batch.known[path] != nil {
                        sources[path, default: []].insert(changed)
                        try readOrigin(row, at: changed, to: &batch, outcome: &outcome)
                    } else if isMoved(row, to: path, from: changed, batch) {
                        try readOrigin(row, at: changed, to: &batch, outcome: &outcome)
                        if batch.held.contains(changed) {
                            // Whatever stands there by now, it is not this one's.
                            addBase(row, at: changed, to: &batch)
                            batch.listed.insert(changed.parent)
                        } else {
                            sources[path, default: []].insert(changed)
                        }
                    }
                }
            }
        }
        awaitUnseen(in: &batch, outcome: &outcome)
        // What stands in the place of a file that is elsewhere now, and can't be judged there yet, is no edit of that.
        for entry in batch.base.values where entry.kind == .file && entry.stamp.birthNanoseconds != 0 {
            guard let there = batch.local[entry.path], !there.stamp.isSameFile(as: entry.stamp) else { continue }
            for file in batch.unsettled where file.stamp.isSameFile(as: entry.stamp) {
                if !file.path.isBackup(of: entry.path) { sources[entry.path, default: []].insert(file.path) }
            }
        }
        try holdSwaps(sources, in: &batch, outcome: &outcome)
    }

    /// The record whose very sidecar lies beside a file, and not where it was: its file came with it. Notes that for the plan.
    private func broughtSidecar(
        at path: RelativePath, besides known: [BaseRow], _ batch: inout ScanBatch
    ) throws -> [BaseRow] {
        guard let stamp = batch.local[path]?.stamp,
            let row = try recordsBrought(with: path, stamp, &batch).first(where: { $0.root == root }),
            batch.known[path] != row.id
        else { return [] }
        batch.sidecars[path] = row.id
        return known.contains { $0.id == row.id } ? [] : [row]
    }

    /// As long as a directory can't be looked at, what stands in the place of a file that is nowhere to be seen waits: its
    /// own may be there.
    private mutating func awaitUnseen(in batch: inout ScanBatch, outcome: inout ScanOutcome) {
        let isBlind = engine.unseen.contains {
            $0.key.root == root && now < $0.value + engine.settings.blindMilliseconds
        }
        guard isBlind else { return }
        let present = Set(batch.local.values.map(\.stamp.identity))
        for entry in batch.base.values.sorted(by: { $0.path < $1.path })
        where entry.kind == .file && entry.stamp.birthNanoseconds != 0 {
            guard let there = batch.local[entry.path], !there.stamp.isSameFile(as: entry.stamp),
                !present.contains(entry.stamp.identity)
            else { continue }
            holdInPlace(entry.path, in: &batch)
            lookAgain(at: entry.path.parent, after: engine.settings.settleMilliseconds, outcome: &outcome)
        }
    }

    /// Leaves a file that was judged out of the plan for the sake of others: it is not gone from where it was before it came here.
    private mutating func holdInPlace(_ path: RelativePath, in batch: inout ScanBatch) {
        if let stamp = batch.local[path]?.stamp, stamp.birthNanoseconds != 0 {
            engine.withheld[stamp.identity] = .init(place: .init(root: root, path: path), mayPass: true)
        }
        hold(path, in: &batch)
    }

    /// What equal bytes in a share say of a file outside of it.
    private enum ShareOrigin { case counts, waits, isNone }

    /// When the folder of a share is gone as a whole, as when it was copied elsewhere and removed, nothing was taken out of
    /// the share: its folder comes back with all in it. That is waited for a little, since a folder goes file by file. What
    /// was moved is another matter: that is the same file.
    private func shareOrigin(_ row: BaseRow, of path: RelativePath, stamp: FileStamp?) throws -> ShareOrigin {
        guard engine.zones[row.id.zone]?.row.kind == .share, stamp?.isSameFile(as: row.stamp) != true else {
            return .counts
        }
        let mount = RecordID(zone: row.id.zone, name: .zoneRoot)
        let (folder, place) = try engine.store.read { [root] db -> (RelativePath?, RelativePath?) in
            guard let shown = try db.base(mount), shown.root == root else { return (nil, nil) }
            let top: Set = [engine.top(root)]
            return (try db.basePath(of: mount, top: top), try db.basePath(of: row.id, top: top))
        }
        guard let folder, let place, !path.isAtOrBelow(folder) else { return .counts }
        if files.isAbsent(folder) { return .isNone }
        guard files.isAbsent(place) else { return .counts }
        // Shorter than a deletion waits: then it is a move, and not something gone and something new.
        let since = engine.displaced[.init(root: root, path: path)] ?? now
        return now < since + engine.settings.deletionMilliseconds / 2 ? .waits : .counts
    }

    /// Leaves a file out of the plan until it is known what becomes of the share that its bytes were in.
    private mutating func awaitShare(_ path: RelativePath, in batch: inout ScanBatch, outcome: inout ScanOutcome) {
        let key = Engine.WatchedPath(root: root, path: path)
        let since = engine.displaced[key] ?? now
        engine.displaced[key] = since
        hold(path, in: &batch)
        let due = since + engine.settings.deletionMilliseconds / 2
        outcome.again(at: due)
        engine.later[.init(root: root, path: path.parent)] = due
    }

    /// Adds a base entry that something of this stamp may come from, with the proof that it is gone, or still there. Returns its
    /// path where another file stands there than did, or where that can't be told.
    @discardableResult
    mutating func addOrigin(
        _ row: BaseRow, of stamp: FileStamp?, to batch: inout ScanBatch, outcome: inout ScanOutcome
    ) throws -> RelativePath? {
        guard !row.isParked,
            let parentPath = try engine.store.read({ [movedTo] db in
                try db.basePath(of: row.parent, top: [engine.top(root)], moved: movedTo)
            })
        else { return nil }
        let path = parentPath.appending(row.name)
        if batch.base[row.id] != nil || batch.local[path] != nil || batch.held.contains(path) {
            let isSame = batch.local[path]?.stamp.isUnchanged(from: row.stamp) ?? false
            let isThere = batch.held.contains(path) || batch.local[path]?.kind == .file
            return row.kind == .file && isThere && !isSame ? path : nil
        }
        let isFound = row.stamp.birthNanoseconds != 0 && stamp?.isSameFile(as: row.stamp) == true
        let entry: DirectoryEntry?
        do { entry = try files.entry(at: path) } catch {
            // A file stands where one of its folders was; or it can't be looked at: but a directory is in one place only.
            guard error.isAbsence || (row.kind == .folder && isFound) else { return path }
            entry = nil
        }
        // Where a link stands, or something else that is no file or folder, nothing is known to be gone, unless it is found.
        if !isFound, entry?.kind.isFileOrFolder == false || (entry == nil && files.isBehindLink(path)) { return nil }
        if let entry, entry.kind == row.kind.fileKind {
            // Still there and the same: it can be copied from, and is not moved. A file that has changed speaks for itself; a
            // directory in the place of another one does not keep that from being found.
            let isAnotherFolder =
                row.kind == .folder && row.stamp.birthNanoseconds != 0 && !entry.stamp.isSameFile(as: row.stamp)
            guard entry.stamp.isUnchanged(from: row.stamp) || isAnotherFolder else {
                return row.kind == .file ? path : nil
            }
            batch.local[path] = LocalEntry(path: path, kind: row.kind, stamp: entry.stamp)
            if isAnotherFolder { batch.besides.insert(path) }
            addBase(row, at: path, to: &batch)
        } else {
            batch.listed.insert(parentPath)
            addBase(row, at: path, to: &batch)
            batch.origins.insert(row.id)
        }
        _ = try addAncestors(of: parentPath, to: &batch, outcome: &outcome)
        return nil
    }

    /// Reads a changed file that another one came from, if it was not read yet.
    private mutating func readOrigin(
        _ row: BaseRow, at path: RelativePath, to batch: inout ScanBatch, outcome: inout ScanOutcome
    ) throws {
        guard batch.local[path] == nil, !batch.held.contains(path) else { return }
        let entry: DirectoryEntry?
        do { entry = try files.entry(at: path) } catch { entry = nil }
        guard let entry, entry.kind == .file,
            try addAncestors(of: path.parent, to: &batch, outcome: &outcome)
        else {
            batch.held.insert(path)
            return
        }
        addBase(row, at: path, to: &batch)
        try add([entry], in: path.parent, to: &batch, outcome: &outcome)
    }

    /// Whether a file that has another name now was moved, and what stands under its former one is another; not so where
    /// an editor put it aside.
    private func isMoved(
        _ row: BaseRow, to path: RelativePath, from former: RelativePath, _ batch: ScanBatch
    ) -> Bool {
        guard let entry = batch.local[path], entry.stamp.isSameFile(as: row.stamp), !path.isBackup(of: former) else {
            return false
        }
        return row.stamp.birthNanoseconds != 0 || (entry.contentHash == row.contentHash && entry.stamp.size > 0)
    }

    /// Leaves files out of the plan that came from where something stands that can't be judged yet, and those that came
    /// from where they stand. They don't wait for ever: then they are edits.
    private mutating func holdSwaps(
        _ sources: [RelativePath: Set<RelativePath>], in batch: inout ScanBatch, outcome: inout ScanOutcome
    ) throws {
        var held: Set<RelativePath> = []
        var isComplete = false
        while !isComplete {
            isComplete = true
            for (path, places) in sources where !held.contains(path) && !places.isDisjoint(with: batch.held) {
                let key = Engine.WatchedPath(root: root, path: path)
                let since = engine.displaced[key] ?? now
                guard now < since + engine.settings.foreignDeletionMilliseconds else { continue }
                engine.displaced[key] = since
                held.insert(path)
                holdInPlace(path, in: &batch)
                // Less and less often: each look reads what may be a large file.
                let pause = max(now - since, engine.settings.settleMilliseconds, engine.settings.deletionMilliseconds)
                outcome.again(at: now + pause)
                engine.later[.init(root: root, path: path.parent)] = now + pause
                isComplete = false
            }
        }
        // Those that are judged now wait anew another time.
        for path in batch.local.keys where !held.contains(path) {
            engine.displaced[.init(root: root, path: path)] = nil
        }
    }
}

extension LocalFileSystem {
    /// Whether nothing is at a path. What can't be looked at may be there.
    func isAbsent(_ path: RelativePath) -> Bool {
        do { return try entry(at: path) == nil } catch { return error.isAbsence }
    }

    /// Whether one of the folders on the way to something is a link, or something else that is no file or folder, by now.
    func isBehindLink(_ path: RelativePath) -> Bool {
        var way = path.parent
        while !way.isRoot {
            if let entry = try? entry(at: way) { return !entry.kind.isFileOrFolder }
            way = way.parent
        }
        return false
    }
}

extension FileKind {
    /// Whether it is a file or a folder. Where another thing stands, as a link to another disk, what was there is not known to be
    /// gone.
    var isFileOrFolder: Bool { self == .file || self == .directory }
}

extension NodeKind {
    /// What it is in a watched folder.
    var fileKind: FileKind { self == .folder ? .directory : .file }
}

extension FileError {
    /// Whether nothing is there, nor can be: one of the folders on the way is none.
    var isAbsence: Bool { code == .absent || code == .unexpectedKind }
}
