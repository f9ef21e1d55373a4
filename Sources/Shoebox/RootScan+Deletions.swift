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
        let moved = try engine.store.read { db in try stillGone(db) }
        for id in Set(engine.missing.keys).subtracting(moved.keys) where gone[id] != nil || isRecursive {
            if engine.isShown(id, in: root) { engine.missing[id] = nil }
        }
        var newest: [ZoneID: UInt64] = [:]
        for (id, _) in moved {
            if engine.missing[id] == nil { engine.missing[id] = now }
        }
        for (id, since) in engine.missing { newest[id.zone] = max(newest[id.zone] ?? 0, since) }
        // Others' shares lie in the shared folder: of them, a look at the library says nothing.
        let offered =
            root == .shared
            ? try engine.offerLeaveOfReplaced(missing: Set(moved.keys), isWhole: isRecursive && !hasUnseen) : []
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
            guard try addAncestors(of: item.path.parent, to: &batch, outcome: &outcome) else { continue }
            addBase(item.row, at: item.path, to: &batch)
            batch.listed.insert(item.path.parent)
            if item.row.kind == .folder { try addSubtree(of: item.row, at: item.path, to: &batch) }
        }
        // Where something could not be looked at, it may be what is missing.
        if isRecursive, !hasUnseen, !holdsReplaced, moved.isEmpty { try engine.endMassDeletion(root) }
        guard !batch.base.isEmpty else { return }
        let count = batch.base.values.filter { batch.local[$0.path] == nil }.count
        guard try engine.allowsDeletions(of: count, root: root) else { return }
        // What is held back elsewhere still waits for a word.
        if !engine.isMissingMore(than: batch.base.keys, root: root) {
            try engine.clearProblem("massDeletion", path: engine.display(.root, root))
        }
        // A person's word holds until what it was given for is taken: the folder may be away just now.
        try commit(batch, outcome: &outcome, noting: { [engine, root] db in try engine.forgetConfirmation(root, db) })
        if !outcome.isOffline { try engine.noteDeletions(count, root: root) }
        for id in moved.keys where batch.base[id] != nil { engine.missing[id] = nil }
    }

    /// What is gone and was not found elsewhere, with where it is missing.
    private func stillGone(_ db: Database) throws -> [RecordID: (row: BaseRow, path: RelativePath)] {
        var result: [RecordID: (row: BaseRow, path: RelativePath)] = [:]
        for (id, item) in gone {
            // A row that has changed since was found elsewhere, or its folder went to another zone without it.
            guard let row = try db.base(id) else { continue }
            if row == item.row {
                result[id] = item
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
