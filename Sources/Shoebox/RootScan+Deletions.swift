import ShoeboxLibrary
import ShoeboxModel
import ShoeboxPlanning
import ShoeboxStore
import ShoeboxWorld

import class GRDB.Database

// What is gone.

extension RootScan {
    /// Plans what is really gone, after all listings: what was moved has been found by now.
    mutating func takeDeletions(outcome: inout ScanOutcome) throws {
        var batch = ScanBatch()
        var moved = try engine.store.read { db in try stillGone(db) }
        for (id, item) in moved.sorted(by: { $0.key < $1.key })
        where try isThere(item.row, at: item.path, outcome: &outcome) { moved[id] = nil }
        for (id, mayPass) in try withheld() where moved[id] != nil {
            moved[id] = nil
            hasHeld = true
            // When it may be read, its watcher says so.
            guard mayPass, let path = gone[id]?.path else { continue }
            lookAgain(at: path.parent, after: errorPause, outcome: &outcome)
        }
        for id in Set(engine.missing.keys).subtracting(moved.keys) where gone[id] != nil || isRecursive {
            if engine.isShown(id, in: root) { engine.missing[id] = nil }
        }
        try forgetReturned(besides: Set(moved.keys))
        try forgetReplaced()
        try noteReturned(besides: Set(moved.keys))
        let fresh = moved.filter { engine.missing[$0.key] == nil }.sorted { $0.key < $1.key }
        do {
            for id in try engine.forgetPutAway(fresh.map(\.value.row), root) { moved[id] = nil }
            try engine.clearProblem("unreadable", path: engine.display(OwnPaths.trash, root))
        } catch let error as FileError {
            // They are looked for again before they are taken as deleted.
            for (id, item) in fresh {
                moved[id] = nil
                try putOff(OwnPaths.trash, error, lookingAt: item.path.parent, outcome: &outcome)
            }
        }
        var newest: [ZoneID: UInt64] = [:]
        for (id, _) in moved { engine.noteMissed(id, in: look, since: now) }
        engine.missedIn = engine.missedIn.filter { engine.missing[$0.key] != nil }
        for (id, since) in engine.missing { newest[id.zone] = max(newest[id.zone] ?? 0, since) }
        try noteLostTagFolders()
        // Others' shares lie in the shared folder: of them, a look at the library says nothing.
        let offered =
            root == .shared
            ? try engine.offerLeaveOfReplaced(missing: Set(moved.keys), isWhole: isRecursive && !hasUnseen) : []
        let blindUntil = blindUntil
        var sure: [(id: RecordID, row: BaseRow, path: RelativePath)] = []
        for (id, item) in moved {
            // Once a share may be left, nothing that is missing of it is a deletion.
            guard !offered.contains(id.zone), id.isZoneRoot || engine.zones[id.zone]?.row.state != .leaveOffered else {
                continue
            }
            let isForeign = engine.zones[id.zone]?.row.isMine == false
            var due =
                isForeign
                ? (newest[id.zone] ?? now) + engine.settings.foreignDeletionMilliseconds
                : engine.ownDeletionDue(since: engine.missing[id] ?? now, newest: newest[id.zone] ?? now)
            // As long as a directory can't be looked at, it may be there.
            due = max(due, blindUntil ?? due)
            // It may have gone where this look, or the one before, had been already.
            guard engine.wasSearchedFor(id, in: root, by: isRecursive ? look : nil) else {
                let next = isRecursive ? now + engine.settings.deletionMilliseconds : now
                engine.search(from: max(due, next), &outcome)
                continue
            }
            if now < due {
                outcome.again(at: due)
                engine.later[.init(root: root, path: item.path.parent)] = due
                continue
            }
            sure.append((id, item.row, item.path))
        }
        for id in try engine.forgetDeleted(sure.map(\.row)) {
            engine.missing[id] = nil
            moved[id] = nil
        }
        for (id, row, path) in sure where moved[id] != nil {
            guard try addAncestors(of: path.parent, to: &batch, outcome: &outcome) else { continue }
            addBase(row, at: path, to: &batch)
            batch.listed.insert(path.parent)
            if row.kind == .folder { try addSubtree(of: row, at: path, to: &batch) }
        }
        // Where something could not be looked at, it may be what is missing.
        // What is missing is known once all was looked at.
        let isNothingGone =
            isRecursive
            || engine.wholeLooks[root] != nil && !listedAll.isEmpty && !engine.isMissingMore(than: [], root: root)
        if isNothingGone, !hasUnseen, !holdsReplaced, moved.isEmpty { try engine.endMassDeletion(root) }
        guard !batch.base.isEmpty else { return }
        let going = Set(batch.base.values.filter { batch.local[$0.path] == nil }.map(\.id))
        let count = going.count
        let emptied = try emptiedShares(going)
        guard try engine.allowsDeletions(of: count, root: root, emptying: emptied) else { return }
        // What is held back elsewhere still waits for a word.
        if !engine.isMissingMore(than: batch.base.keys, root: root) {
            try engine.clearProblem("massDeletion", path: engine.display(.root, root))
        }
        // A person's word holds until what it was given for is taken: the folder may be away just now.
        try commit(batch, outcome: &outcome, noting: { [engine, root] db in try engine.forgetConfirmation(root, db) })
        if !outcome.isOffline {
            // Not what is asked about, or may not be deleted.
            let deleted = try engine.store.read { db in
                try going.filter { try db.record($0)?.isLive == false && db.base($0) == nil }
            }
            try engine.noteDeletions(deleted.count, root: root)
        }
        for id in moved.keys where batch.base[id] != nil { engine.missing[id] = nil }
    }

    /// Until when nothing counts as gone, as what is missing may be in a directory that can't be looked at (uptime).
    var blindUntil: UInt64? {
        engine.unseen.filter { $0.key.root == root }.values.map { $0 + engine.settings.blindMilliseconds }
            .filter { now < $0 }.max()
    }

    /// What is not gone, as its file is elsewhere in the watched folders, though it can't be judged there yet, and the folders
    /// that it was in; with whether that may be over without anybody telling.
    func withheld() throws -> [RecordID: Bool] {
        var result: [RecordID: Bool] = [:]
        for (identity, file) in engine.withheld {
            do {
                guard try engine.files(file.place.root).entry(at: file.place.path)?.stamp.identity == identity else {
                    engine.withheld[identity] = nil
                    continue
                }
            } catch { if error.isAbsence { engine.withheld[identity] = nil } }
            try engine.store.read { [root] db in
                for row in try db.base(inode: identity.inode, root: root)
                where row.stamp.identity == identity {
                    var next: BaseRow? = row
                    var seen: Set<RecordID> = []
                    while let row = next, seen.insert(row.id).inserted {
                        result[row.id] = file.mayPass || result[row.id] == true
                        next = try db.base(row.parent)
                    }
                }
            }
        }
        return result
    }

    /// What was missing and is in its folder again is not missing any more.
    private func forgetReturned(besides moved: Set<RecordID>) throws {
        let candidates = engine.missing.keys.filter { !moved.contains($0) && gone[$0] == nil }
        guard !candidates.isEmpty else { return }
        let returned = try engine.store.read { db in
            try candidates.filter { id in
                // Others have deleted it, too, and it was forgotten for that.
                guard let row = try db.base(id) else { return true }
                return row.root == root && listedFolders.contains(row.parent)
            }
        }
        for id in returned { engine.missing[id] = nil }
    }

    /// What is shown no more has nothing in its place.
    private func forgetReplaced() throws {
        let known = engine.replaced.keys
        guard !known.isEmpty else { return }
        for id in try engine.store.read({ db in try known.filter { try db.base($0) == nil } }) {
            engine.replaced[id] = nil
        }
    }

    /// The shares of others of which nothing would be left: who removes a folder, and does not get to the end of it as
    /// something was just written into it, did not mean that. What this account may not delete comes back anyway.
    private func emptiedShares(_ going: Set<RecordID>) throws -> [ZoneID] {
        guard root == .shared else { return [] }
        let files = try engine.store.read { db in
            try going.filter { id in
                guard engine.zones[id.zone]?.row.isMine == false, try db.base(id)?.kind == .file else { return false }
                return try engine.may(.deleteRecord, id, db)
            }
        }
        return try Set(files.map(\.zone)).sorted().filter { zone in
            let mount = RecordID(zone: zone, name: .zoneRoot)
            let owner = try engine.store.read { db in try db.base(mount)?.parent }
            // Where the folder itself is gone, its user is asked about that.
            guard !going.contains(mount), owner.map(going.contains) != true else { return false }
            return try files.count(where: { $0.zone == zone }) > 1 && engine.isEmptied(zone, missing: going)
        }
    }

    /// Where the folder of the tag files of somebody else's share is gone, too, somebody has removed the share's folder as a
    /// whole, or tried to.
    private func noteLostTagFolders() throws {
        guard root == .shared else { return }
        for folder in listedFolders where folder.isZoneRoot && !tagFolders.contains(where: { $0.zone == folder.zone }) {
            guard engine.zones[folder.zone]?.row.isMine == false, try engine.hasTagFiles(folder.zone) else { continue }
            try engine.noteReplaced(folder.zone)
        }
    }

    /// Whether something is there that its directory's listing left out, or that can't be looked at now. On some mounts a
    /// listing ends early and says nothing of it: no photo is deleted on the word of a listing alone.
    private mutating func isThere(
        _ row: BaseRow, at path: RelativePath, outcome: inout ScanOutcome
    ) throws -> Bool {
        guard !engine.passedOver.contains(.init(root: root, path: path)) else {
            hasUnseen = true
            lookAgain(at: path.parent, after: errorPause, outcome: &outcome)
            return true
        }
        let found: DirectoryEntry?
        do { found = try files.entry(at: path) } catch {
            if error.isAbsence { return false }
            try putOff(path.parent, error, lookingAt: path.parent, outcome: &outcome)
            return true
        }
        guard let found else { return false }
        if !found.stamp.isSameFile(as: row.stamp) {
            // Where names differ by case only, what was just renamed answers to its former name, too.
            let isOther = try engine.store.read { db in try db.base(inode: found.stamp.inode, root: root) }.contains {
                $0.id != row.id && $0.parent == row.parent && $0.stamp.isSameFile(as: found.stamp)
            }
            if isOther { return false }
        }
        hasUnseen = true
        lookAgain(at: path.parent, after: errorPause, outcome: &outcome)
        let folder = engine.display(path.parent, root)
        troubled.insert(folder)
        try engine.report(
            "unreadable", path: folder,
            "The listing of the folder '\(folder)' left out '\(row.name)', which is in it.",
            "Nothing in it is taken as deleted. It is looked at again by itself; if this stays, check the disk or mount that it is on."
        )
        return true
    }

    /// What is gone and was not found elsewhere, with where it is missing.
    private func stillGone(_ db: Database) throws -> [RecordID: (row: BaseRow, path: RelativePath)] {
        var result: [RecordID: (row: BaseRow, path: RelativePath)] = [:]
        for (id, item) in gone {
            // A row that has changed since was found elsewhere, or its folder went to another zone without it.
            guard let row = try db.base(id) else { continue }
            if row == item.row {
                // Another directory may have been listed as its folder, before that was found elsewhere.
                let folder = try db.basePath(of: row.parent, top: [engine.top(root)], moved: movedTo)
                result[id] = (row, folder?.appending(row.name) ?? item.path)
            } else if !placed.contains(id), let path = try db.basePath(of: id, top: [engine.top(root)]) {
                result[id] = (row, path)
            }
        }
        return result
    }

    func addSubtree(of row: BaseRow, at path: RelativePath, to batch: inout ScanBatch) throws {
        for child in try engine.store.read({ db in try db.baseChildren(of: row.id, root: root) })
        where batch.base[child.id] == nil {
            let childPath = path.appending(child.name)
            addBase(child, at: childPath, to: &batch)
            if child.kind == .folder { try addSubtree(of: child, at: childPath, to: &batch) }
        }
    }
}
