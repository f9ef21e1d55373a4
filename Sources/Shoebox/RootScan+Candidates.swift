import ShoeboxLibrary
import ShoeboxModel
import ShoeboxPlanning
import ShoeboxStore
import ShoeboxWorld

import class GRDB.Database

// What is new or changed: read, hashed, and looked for where it comes from.

extension RootScan {
    /// How many files are hashed together: few, so that each is read soon after it was seen to be left alone.
    private static var hashedAtOnce: Int { 8 }

    /// Plans and commits what the listings so far showed to be new or changed; missing entries only where they turned up
    /// elsewhere.
    mutating func flush(outcome: inout ScanOutcome) throws {
        defer {
            pending = []
            pendingFiles = []
            candidateCount = 0
            hasReplacedFiles = false
            replacedFolders = []
            batchCount += 1
            folders = [:]
        }
        guard !pending.isEmpty else { return }
        var batch = ScanBatch()
        batch.hasSidecars = try engine.store.read { db in try db.hasSidecars() }
        for listing in pending {
            guard try addAncestors(of: listing.path, to: &batch, outcome: &outcome) else { continue }
            batch.listed.insert(listing.path)
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
        try addOrigins(to: &batch, outcome: &outcome)
        dropMoved(&batch, outcome: &outcome)
        try commit(batch, outcome: &outcome)
    }

    /// A directory is in one place. One that was listed in two was moved between the listings, and is where it is now: else
    /// it would be a new one besides, and what happens in it later would be looked for in the wrong one of both.
    private mutating func dropMoved(_ batch: inout ScanBatch, outcome: inout ScanOutcome) {
        var places: [FileIdentity: [LocalEntry]] = [:]
        for entry in batch.local.values where entry.kind == .folder && entry.stamp.birthNanoseconds != 0 {
            places[entry.stamp.identity, default: []].append(entry)
        }
        for entries in places.values where entries.count > 1 {
            let present = entries.filter { entry in
                (try? files.entry(at: entry.path))?.stamp.isSameFile(as: entry.stamp) == true
            }
            let former = entries.map(\.path).filter { path in !present.contains { $0.path == path } }
            for path in former {
                // On its way elsewhere: nothing is said of it now.
                if present.isEmpty { hold(path, in: &batch) }
                for below in batch.local.keys where below.isAtOrBelow(path) { batch.local[below] = nil }
                engine.later[.init(root: root, path: path.parent)] = now
                outcome.again(at: now)
            }
        }
    }

    func addBase(_ row: BaseRow, at path: RelativePath, to batch: inout ScanBatch) {
        batch.base[row.id] = BaseEntry(
            id: row.id, parent: row.parent, path: path, kind: row.kind, stamp: row.stamp,
            contentHash: row.contentHash, twins: row.twins)
        if row.kind == .file { batch.known[path] = row.id }
        batch.origins.remove(row.id)
    }

    /// The folders on the way to a directory, so that the planner knows what lies in what; false if one of them can't be
    /// looked at, and then nothing below it is to be planned: it is looked at again.
    mutating func addAncestors(
        of path: RelativePath, to batch: inout ScanBatch, outcome: inout ScanOutcome
    ) throws -> Bool {
        // The folder of the base that was reached, under whatever name; nil below one that is new.
        var parent: RecordID? = engine.top(root)
        var current = RelativePath.root
        for name in path.names {
            current = current.appending(name)
            let row = try parent.flatMap { id in
                try engine.store.read { db in try db.base(named: name, in: id, root: root) }
            }
            parent = row?.id
            if let row, row.kind == .folder, batch.base[row.id] != nil,
                batch.local[current]?.stamp.isSameFile(as: row.stamp) == true
            {
                continue
            }
            let entry: DirectoryEntry?
            do { entry = try files.entry(at: current) } catch {
                guard error.isAbsence else {
                    try putOff(current, error, lookingAt: path, outcome: &outcome)
                    return false
                }
                entry = nil
            }
            guard let entry, entry.kind == .directory else { continue }
            if let row, row.kind == .folder, entry.stamp.isSameFile(as: row.stamp) {
                guard batch.base[row.id] == nil else { continue }
                addBase(row, at: current, to: &batch)
                batch.local[current] = LocalEntry(path: current, kind: .folder, stamp: entry.stamp)
                continue
            }
            // In the place of a folder another one may be that the base knows: what is in it is that one's.
            let moved = try movedFolder(entry)?.id
            if let moved { parent = moved }
            guard row == nil || moved != nil, batch.local[current] == nil else { continue }
            batch.local[current] = LocalEntry(path: current, kind: .folder, stamp: entry.stamp)
            // New on this way: it is a candidate of its parent's listing. Its own listing may come in a later batch.
            batch.listed.insert(current.parent)
            try addFolderOrigins(of: entry, at: current, to: &batch, outcome: &outcome)
        }
        return true
    }

    /// Notes that a folder can't be looked at, and looks at a directory in it again after a while.
    mutating func putOff(
        _ folder: RelativePath, _ error: FileError, lookingAt path: RelativePath, outcome: inout ScanOutcome
    ) throws {
        hasUnseen = true
        try reportUnreadableFolder(folder, error)
        // When it may be read again, its watcher says so.
        guard error.mayPass else { return }
        lookAgain(at: path, after: errorPause, outcome: &outcome)
        // That it can be read again shows where it is listed.
        if !folder.isRoot, folder != path, !folder.isAtOrBelow(OwnPaths.directory) {
            lookAgain(at: folder.parent, after: errorPause, outcome: &outcome)
        }
        let place = Engine.WatchedPath(root: root, path: path)
        engine.unseen[place] = engine.unseen[place] ?? now
    }

    /// How long to wait before what failed is tried again, milliseconds.
    var errorPause: UInt64 {
        engine.settings.errorPauseMilliseconds
    }

    /// Sees to it that a directory is looked at again after so many milliseconds.
    func lookAgain(at directory: RelativePath, after pause: UInt64, outcome: inout ScanOutcome) {
        outcome.again(at: now + pause)
        // Something else in it may wait for a shorter time.
        let place = Engine.WatchedPath(root: root, path: directory)
        engine.later[place] = min(engine.later[place] ?? .max, now + pause)
    }

    /// Adds the folders of the base that a directory may have been before.
    private mutating func addFolderOrigins(
        of entry: DirectoryEntry, at path: RelativePath, to batch: inout ScanBatch, outcome: inout ScanOutcome
    ) throws {
        let byInode = try engine.store.read { db in try db.base(inode: entry.stamp.inode, root: root) }
        for row in byInode where row.kind == .folder && row.stamp.isSameFile(as: entry.stamp) {
            guard try addOrigin(row, of: entry.stamp, to: &batch, outcome: &outcome) != nil else { continue }
            // It may be that one, and is no new one until that is known.
            hold(path, in: &batch)
            hasUnseen = true
            lookAgain(at: path.parent, after: errorPause, outcome: &outcome)
        }
    }

    /// Adds new or changed entries, read and hashed, together with what of the base they may have been before.
    mutating func add(
        _ entries: ArraySlice<DirectoryEntry>, in directory: RelativePath, to batch: inout ScanBatch,
        outcome: inout ScanOutcome
    ) throws {
        var settled: [RelativePath] = []
        let stamps = Dictionary(entries.map { (directory.appending($0.name), $0.stamp) }) { $1 }
        try noteArrivals(entries, in: directory, &batch)
        for entry in entries {
            let path = directory.appending(entry.name)
            if engine.passedOver.contains(.init(root: root, path: path)) {
                hold(path, in: &batch)
                lookAgain(at: directory, after: errorPause, outcome: &outcome)
                continue
            }
            if entry.kind != .file {
                batch.local[path] = LocalEntry(path: path, kind: .folder, stamp: entry.stamp)
                try addFolderOrigins(of: entry, at: path, to: &batch, outcome: &outcome)
            } else if try isSettled(
                entry, at: path, of: batch.known[path].flatMap { batch.base[$0] }, outcome: &outcome)
            {
                settled.append(path)
            } else {
                troubled.insert(engine.display(path, root))
                withhold(path, entry.stamp, mayPass: true, in: &batch)
            }
        }
        for (path, result) in zip(settled, ContentHasher.hashAll(settled, files)) {
            switch result {
            case .hashed(let hash, let stamp): try add(path, hash: hash, stamp: stamp, to: &batch)
            case .failed(let error):
                if let stamp = stamps[path] {
                    if error.code != .absent, let hash = try formerHash(stamp) {
                        try add(path, hash: hash, stamp: stamp, to: &batch)
                        continue
                    }
                    withhold(
                        path, stamp, mayPass: error.mayPass || error.code == .changedWhileReading, in: &batch)
                } else {
                    hold(path, in: &batch)
                }
                if error.code == .changedWhileReading {
                    lookAgain(at: directory, after: engine.settings.settleMilliseconds, outcome: &outcome)
                } else if error.code != .absent {
                    if error.mayPass { lookAgain(at: directory, after: errorPause, outcome: &outcome) }
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
        engine.withheld[stamp.identity] = nil
        if stamp.size == 0 {
            let isHere = batch.base.values.contains { $0.path == path && $0.kind == .file && $0.stamp.size > 0 }
            // A photo that was cut to zero bytes is never pushed, under whichever name: it is what a power cut leaves behind.
            let former = try isHere ? nil : shownBefore(stamp)
            if isHere || former != nil {
                troubled.insert(engine.display(path, root))
                try reportEmptied(path, former: former)
                if isHere { hold(path, in: &batch) } else { withhold(path, stamp, mayPass: false, in: &batch) }
                return
            }
        }
        if returned[path]?.contains(hash) == true {
            // Nobody has put it there for others to see; where it goes, its user says.
            hasReturned = true
            try engine.reportReturned(path, root)
            hold(path, in: &batch)
            return
        }
        batch.local[path] = LocalEntry(path: path, kind: .file, stamp: stamp, contentHash: hash)
        batch.hashed.append((path, stamp, hash))
    }

    /// Leaves a file out of the plan that can't be judged here. What had its place before it came here is not judged without
    /// it, and it is not gone from where it was.
    private mutating func withhold(
        _ path: RelativePath, _ stamp: FileStamp, mayPass: Bool, in batch: inout ScanBatch
    ) {
        hold(path, in: &batch)
        batch.unsettled.append((path, stamp))
        if stamp.birthNanoseconds != 0 {
            engine.withheld[stamp.identity] = .init(place: .init(root: root, path: path), mayPass: mayPass)
        }
    }

    /// The content of a file that can't be read, and that the base knows from elsewhere just as it is.
    private func formerHash(_ stamp: FileStamp) throws -> Digest32? {
        guard stamp.birthNanoseconds != 0 else { return nil }
        return try engine.store.read { [root] db in
            try db.base(inode: stamp.inode, root: root).first {
                $0.kind == .file && !$0.isParked && stamp.isUnchanged(from: $0.stamp)
            }?.contentHash
        }
    }

    mutating func reportUnreadableFolder(_ folder: RelativePath, _ error: FileError) throws {
        let shown = engine.display(folder, root)
        troubled.insert(shown)
        try engine.report(
            "unreadable", path: shown, "The folder '\(shown)' cannot be read: \(error.reason).",
            "Nothing in it is taken as deleted. Make it readable; it is looked at again by itself.")
    }

    func reportUnreadable(_ path: RelativePath, _ error: FileError) throws {
        try engine.report(
            "unreadable", path: engine.display(path, root),
            "'\(engine.display(path, root))' cannot be read: \(error.reason).",
            "It is not shared until it can be read; everything else goes on. Check its permissions and the disk.")
    }

    /// Leaves what stands at a path out of the plan: it is neither changed nor gone, nor is what it may have been before.
    mutating func hold(_ path: RelativePath, in batch: inout ScanBatch) {
        hasHeld = true
        let there = batch.local[path]
        // What is known to be another file of the batch is not this one, though its bytes are the same.
        let others = Set(
            batch.local.values.filter { $0.path != path && $0.stamp.birthNanoseconds != 0 }.map(\.stamp.identity))
        for (id, entry) in batch.base {
            let isHere = entry.path == path
            let isFromHere =
                batch.local[entry.path] == nil
                && (there?.stamp.isSameFile(as: entry.stamp) == true
                    || entry.contentHash != nil && there?.contentHash == entry.contentHash
                        && !others.contains(entry.stamp.identity))
            if isHere || isFromHere { batch.base[id] = nil }
        }
        batch.local[path] = nil
        batch.held.insert(path)
    }

    /// Whether a file has been left alone for long enough, and nobody has it open for writing; and, where it stands in the
    /// place of another one, whether that one has been looked for.
    private func isSettled(
        _ entry: DirectoryEntry, at path: RelativePath, of record: BaseEntry?, outcome: inout ScanOutcome
    ) throws -> Bool {
        let settle = engine.settings.settleMilliseconds
        let otherLooks = engine.looks[root.other] ?? 0
        let key = Engine.WatchedPath(root: root, path: path)
        let wall = Int64(clamping: engine.world.nowMilliseconds())
        let age = wall - entry.stamp.modifiedNanoseconds / 1_000_000
        // What was noted here may be of another file, in whose place this one is now.
        let known = engine.unsettled[key].flatMap { $0.stamp.isSameFile(as: entry.stamp) ? $0 : nil }
        let isOld = age > Int64(settle) && age < 315_360_000_000 * 10
        let isReplaced = record.map { mayHaveDeparted($0, with: entry) } ?? false
        let isQuiet: Bool =
            if let known, known.stamp == entry.stamp {
                now >= known.since + settle && (!isReplaced || known.otherLooks < otherLooks)
            } else {
                // Long untouched by its own account: nobody is in the middle of writing it.
                known == nil && isOld && !isReplaced
            }
        let hasGoneOn = try isQuiet && isReplaced && record.map { try self.hasGoneOn($0) } ?? false
        let isHeld = (isQuiet || known != nil) && files.hasWriter(path)
        if isQuiet && !hasGoneOn && !isHeld || settle == 0 && !isReplaced {
            // What is in no record is looked at each time: with a modification time to come, the wait would begin again.
            if isOld { engine.unsettled[key] = nil }
            return true
        }
        let heldSince = isHeld ? known?.heldSince ?? now : nil
        if known?.stamp != entry.stamp || isQuiet {
            engine.unsettled[key] = .init(stamp: entry.stamp, since: now, otherLooks: otherLooks)
        }
        engine.unsettled[key]?.heldSince = heldSince
        if let heldSince, now >= heldSince + 60_000 {
            let shown = engine.display(path, root)
            try engine.report(
                "beingWritten", path: shown, "A program has '\(shown)' open for writing.",
                "It is taken as soon as that is closed. If it stays open for good, as the database of a program does, put it into 'ignore'."
            )
        }
        // Its watcher says when it is closed. Where there is none, it is looked at after as long as it has been open so far.
        let pause = heldSince.map { max(settle, min(now - $0, Self.heldMilliseconds)) } ?? settle
        lookAgain(at: path.parent, after: pause, outcome: &outcome)
        return false
    }

    /// The longest time between two looks at a file that is open for writing, milliseconds.
    private static var heldMilliseconds: UInt64 { 10_000 }

    /// What went along with its folder is not gone, though another directory under the folder's old name has it not.
    private mutating func dropCarried(outcome: inout ScanOutcome) {
        for (id, item) in gone {
            guard let path = movedTo[item.row.parent]?.appending(item.row.name) else { continue }
            do throws(FileError) {
                if try files.entry(at: path)?.stamp.isSameFile(as: item.row.stamp) == true { gone[id] = nil }
            } catch {
                // What can't be looked at may be there: the next look at that folder tells.
                guard !error.isAbsence else { continue }
                gone[id] = nil
                hasUnseen = true
                lookAgain(at: path.parent, after: errorPause, outcome: &outcome)
            }
        }
    }

    /// Leaves folders out of the plan that go into a share while a photo in them has changed, and can't be judged yet: the people of
    /// the share would be told what it was before. They don't wait for ever.
    ///
    /// - Returns: photos that do not go along then.
    private mutating func holdCrossings(
        _ changes: [LocalChange], in batch: inout ScanBatch, outcome: inout ScanOutcome
    ) throws -> Set<RecordID> {
        var left: Set<RecordID> = []
        var waiting: [Engine.WatchedPath: UInt64] = [:]
        for item in try engine.unjudgedCrossings(changes) {
            let place = Engine.WatchedPath(root: root, path: item.folder)
            let since = engine.heldCrossings[place] ?? now
            waiting[place] = since
            guard now < since + engine.settings.foreignDeletionMilliseconds else {
                if item.stamp?.isSameFile(as: item.photo.stamp) == true { left.insert(item.photo.id) }
                continue
            }
            batch.heldFolders.insert(item.folder)
            for path in [item.place.parent, item.folder.parent] {
                lookAgain(at: path, after: engine.settings.settleMilliseconds, outcome: &outcome)
            }
        }
        for crossing in zoneCrossings(changes).values {
            let place = Engine.WatchedPath(root: root, path: crossing.path)
            engine.heldCrossings[place] = waiting[place]
            if let stamp = batch.local[crossing.path]?.stamp { engine.withheld[stamp.identity] = nil }
        }
        for folder in batch.heldFolders {
            let below = batch.local.values.filter { $0.path.isAtOrBelow(folder) }.sorted { $0.path > $1.path }
            // What came into it from elsewhere is not gone from there.
            for entry in below {
                hold(entry.path, in: &batch)
                guard entry.stamp.birthNanoseconds != 0 else { continue }
                engine.withheld[entry.stamp.identity] = .init(
                    place: .init(root: root, path: entry.path), mayPass: true)
            }
            for (id, entry) in batch.base where entry.path.isAtOrBelow(folder) { batch.base[id] = nil }
        }
        return left
    }

    /// A folder whose place another known folder has now is missing, like any other: it may yet turn up, and all in it goes with
    /// it. So it is not deleted at once, and has a name of its own in the base until it is known what became of it.
    private mutating func displaceReplaced(
        _ plan: inout LocalPlan, _ batch: ScanBatch, outcome: inout ScanOutcome
    ) throws {
        var places: [RelativePath: RecordID] = [:]
        for case .place(let id, _, _, let path, _) in plan.changes { places[path] = id }
        let displaced = plan.changes.compactMap { change -> BaseEntry? in
            guard case .delete(let id) = change, !id.isZoneRoot, id.zone != .none, let entry = batch.base[id],
                entry.kind == .folder, let other = places[entry.path], batch.base[other]?.kind == .folder
            else { return nil }
            return entry
        }
        guard !displaced.isEmpty else { return }
        let ids = Set(displaced.map(\.id))
        plan.changes.removeAll { if case .delete(let id) = $0 { ids.contains(id) } else { false } }
        try engine.store.write { db in for id in ids.sorted() { try db.displace(id) } }
        for entry in displaced {
            engine.displacedFolders[entry.id] = now
            lookAgain(at: entry.path.parent, after: engine.settings.settleMilliseconds, outcome: &outcome)
        }
    }

    /// What lies in a directory that nothing is known of yet is looked at again; not for ever.
    private func lookAgainAtUnplaced(_ path: RelativePath, outcome: inout ScanOutcome) {
        let key = Engine.WatchedPath(root: root, path: path.parent)
        let count = engine.unplacedLooks[key] ?? 0
        guard count < 3 else { return }
        engine.unplacedLooks[key] = count + 1
        lookAgain(at: path.parent, after: errorPause, outcome: &outcome)
    }

    /// Checks that the folder is still the one it was, then turns the plan into history.
    ///
    /// - Parameter note: what is noted together with it.
    mutating func commit(
        _ batch: ScanBatch, outcome: inout ScanOutcome, noting note: (Database) throws -> Void = { _ in }
    ) throws {
        guard try engine.checkRoot(root) else {
            outcome.isOffline = true
            return
        }
        dropCarried(outcome: &outcome)
        let departed = try departed(batch)
        func makePlan(_ batch: ScanBatch) -> LocalPlan {
            planLocal(
                base: batch.base.values.sorted { $0.id < $1.id },
                local: batch.local.values.sorted { $0.path < $1.path },
                listed: batch.listed, roots: [engine.top(root): .root], departed: departed, sidecars: batch.sidecars)
        }
        var batch = batch
        var plan = makePlan(batch)
        let left = try holdCrossings(plan.changes, in: &batch, outcome: &outcome)
        if !batch.heldFolders.isEmpty { plan = makePlan(batch) }
        plan.changes.removeAll { change in
            guard case .delete(let id) = change else { return false }
            return batch.origins.contains(id) && !departed.contains(id)
        }
        try displaceReplaced(&plan, batch, outcome: &outcome)
        for path in plan.unplaced { lookAgainAtUnplaced(path, outcome: &outcome) }
        outcome.changes += try engine.readCrossingSidecars(plan.changes, root: root, author: author)
        let taken = try engine.take(
            plan.changes, root: root, author: author, gone: left.union(gone.keys),
            rewriting: engine.rewrittenByCrossings(plan.changes), noting: note)
        outcome.changes += taken.count
        for case .place(let id, _, _, _, _) in plan.changes where !taken.unplaced.contains(id) {
            placed.insert(id)
            engine.missing[id] = nil
        }
        // Known by now, such a one seems quiet to who lists what it is in.
        for path in batch.besides where !listedAll.contains(path) { lookAgain(at: path, after: 0, outcome: &outcome) }
        try noteTaken()
    }
}
