import ShoeboxLibrary
import ShoeboxModel
import ShoeboxPlanning
public import ShoeboxStore
import ShoeboxWorld

import class GRDB.Database

/// What bringing a watched folder up to date came to.
public struct ApplyOutcomes: Sendable {
    /// Files and directories made, moved, written or removed, and sidecars written.
    public var operations = 0
    /// Records that could not be shown yet.
    public var waiting = 0
    /// Changes that the engine derived.
    public var derived = 0
    /// Where the next batch begins; nil if this was the last one.
    public var next: DirtyPosition?
}

extension Engine {
    /// Makes a watched folder show what the records say, for a batch of the records marked dirty: at most as many as the
    /// settings say, from a position on. What is in one folder comes together.
    public func apply(_ root: RootKind, after position: DirtyPosition? = nil) throws -> ApplyOutcomes {
        var outcome = ApplyOutcomes()
        guard privateZone != nil, try !foldersToRebuild().contains(root), try checkRoot(root) else { return outcome }
        // What is put into another directory than was looked at seems deleted when the right one is back.
        guard try !isUnknown(root) else { return outcome }
        // Whose folder is gone as a whole shows nothing until its user has said what is to become of it.
        let shown = zonesShown(root).filter { $0.row.state == .active }.map(\.id)
        try recover(root)
        guard try !hasDisplacedFolder(root) else {
            outcome.waiting = displacedFolders.count
            return outcome
        }
        try spreadTagChanges()
        let dirtyLayout = try store.read { db in try db.dirtyLayout(root: root) }
        try removeDeletedParked(root)
        let parked = try store.read { db in try db.parkedBase(root: root) }
        if !parked.isEmpty { try store.write { db in for row in parked { try db.markDirty(row.id) } } }
        let limit = max(1, settings.applyMax)
        var dirty = try store.read { db in try db.dirtyRecords(in: shown, after: position, limit: limit) }
        if position == nil { unsettledPaths = [] }
        guard !dirty.isEmpty || (dirtyLayout != nil && position == nil) else {
            try clearSettled(root)
            return outcome
        }
        if dirty.count == limit { outcome.next = dirty.last.map(DirtyPosition.init) }
        let followed = try followMoves(dirty)
        if followed > 0 {
            outcome.derived += followed
            let before = dirty
            dirty = try store.read { db in try before.map { try db.record($0.id) ?? $0 } }
        }
        outcome.derived += try renewRefusedFolders(dirty)
        outcome.derived += try deriveCopies(of: dirty)
        try rekeyMoved(followed > 0 ? dirty + shownElsewhere(dirty) : dirty)
        var scope = try gather(root, dirty: dirty)
        // What lies in the same folders and moved to another zone, too, but comes with a later batch.
        var movedBesides = try movedRecords(in: scope, besides: dirty)
        if try rekeyMoved(movedBesides) {
            scope = try gather(root, dirty: dirty)
            movedBesides = try movedRecords(in: scope, besides: dirty)
        }
        try adopt(&scope)
        let passing = passingCollisions(in: scope)
        let blocked = try blockedRecords(scope.ids).union(awaitedMoves(of: dirty + movedBesides)).union(passing)
        let (operations, waiting) = planApplyNamingWaiting(
            base: scope.base.values.compactMap { row in baseEntry(row, scope) }.sorted { $0.id < $1.id },
            desired: scope.layout, roots: [top(root): .root], scope: scope.ids.subtracting(blocked),
            parked: Set(scope.base.values.filter(\.isParked).map(\.id)))
        // What has no way to its place now finds one when something else, which may be in another folder, has gone.
        var failed = blocked.union(waiting)
        if !operations.isEmpty {
            failed.formUnion(try execute(operations, root: root, scope: scope, outcome: &outcome))
        }
        outcome.derived += try writeDerivedNames(
            scope.layout.derivedNames.filter { !passing.contains($0.key) }, placements: scope.placements)
        let (reunited, gone) = try settleBase(scope, failed: failed, root: root)
        failed.formUnion(gone)
        let written = try writtenRows(operations, besides: dirty) + representatives(of: dirty, besides: reunited, scope)
        if root == .shared { try followPermissions(of: dirty, root: root) }
        var unwritten = try writeSidecars(
            for: (dirty + written).filter { !failed.contains($0.id) }, root: root, outcome: &outcome)
        try unwritten.formUnion(writeTagFiles(for: dirty, root: root, unplaced: failed, outcome: &outcome))
        outcome.waiting = failed.count
        if outcome.next == nil { try clearSettled(root) }
        try store.write { db in
            try db.clearDirty(dirty.map(\.id).filter { !failed.contains($0) })
            // Also what is no more than in the way of something dirty: it is tried again.
            for id in failed.union(unwritten) { try db.markDirty(id) }
            if let dirtyLayout {
                if failed.isEmpty { try db.clearDirtyLayout(root: root, upTo: dirtyLayout) }
            } else if failed.contains(where: { $0.isZoneRoot || $0.zone == .none }) {
                try db.markLayoutDirty()
            }
        }
        return outcome
    }

    /// Whether it is not known yet what became of a folder whose name another one has: shown by their records, both would become
    /// one, and what they have of equal names would be renamed.
    private func hasDisplacedFolder(_ root: RootKind) throws -> Bool {
        let now = world.uptimeMilliseconds()
        for (id, since) in displacedFolders {
            let isDisplaced = try store.read { db in try db.base(id) }?.name.description.hasPrefix("displaced-") == true
            if !isDisplaced || now >= since + settings.displacedMilliseconds { displacedFolders[id] = nil }
        }
        return try store.read { db in try displacedFolders.keys.contains { try db.base($0)?.root == root } }
    }

    /// Moves what is aside and is not to be shown in this folder any more to the trash: its place may be somebody else's by
    /// now. It was deleted meanwhile, or taken to where this account can't follow it, or is shown there already.
    private func removeDeletedParked(_ root: RootKind) throws {
        let gone = try store.read { db in
            try db.parkedBase(root: root).compactMap { base -> RecordRow? in
                guard base.kind == .file, let row = try db.record(base.id), !row.isLive else { return nil }
                // It goes on to where it was moved to.
                return try movedTarget(of: row, db) == nil ? row : nil
            }
        }
        guard !gone.isEmpty else { return }
        let awaited = try awaitedMoves(of: gone).union(blockedRecords(Set(gone.map(\.id))))
        for id in gone.map(\.id) where !awaited.contains(id) {
            guard case .done = makeApplier(root).trashParked(id) else { continue }
            try store.write { db in
                try oweRemoval(ofSidecarOf: id, db)
                try db.removeBase(id)
                try db.removeSidecar(id)
            }
        }
    }

    /// Takes back what was said of files that could not be brought up to date, where nothing is left to do: by another
    /// way, such as a rename that happened though it failed, or a user who did it.
    private func clearSettled(_ root: RootKind) throws {
        let prefix = display(.root, root) + "/"
        for key in openProblems {
            let parts = key.split(separator: "|", maxSplits: 2, omittingEmptySubsequences: false).map(String.init)
            guard parts.count == 3,
                Self.unappliedCodes.contains(parts[0]),
                parts[2].hasPrefix(prefix), !unsettledPaths.contains(parts[2])
            else { continue }
            // What is to be put away of a share that was left is not among the records any more.
            let zone = ZoneID(hex: parts[1])
            if let state = zone.flatMap({ zones[$0] })?.row.state, state == .left || state == .ended { continue }
            try clearProblem(parts[0], path: parts[2], zone: zone)
        }
    }

    /// What the folder shows of records in zones that they were just found to have left.
    private func shownElsewhere(_ rows: [RecordRow]) throws -> [RecordRow] {
        try store.read { db in
            try rows.filter { $0.isLive && $0.type.hasPlace }.flatMap { row in
                try db.zonesOfMoves(of: row.id.name).compactMap { zone in
                    let id = RecordID(zone: zone, name: row.id.name)
                    guard zone != row.id.zone, try db.base(id) != nil else { return nil }
                    return try db.record(id).flatMap { $0.isLive ? nil : $0 }
                }
            }
        }
    }

    /// Records that would go with this plan as they live in another zone now, though they are not in its batch.
    private func movedRecords(in scope: ApplyScope, besides dirty: [RecordRow]) throws -> [RecordRow] {
        let known = Set(dirty.map(\.id))
        let going = scope.base.keys.filter { scope.layout.nodes[$0] == nil && !known.contains($0) && !$0.isZoneRoot }
        return try store.read { db in
            try going.sorted().compactMap { id in
                guard let row = try db.record(id), !row.isLive, try db.state(of: id)?.movedTo != nil else { return nil }
                return row
            }
        }
    }

    /// Says that the files of a folder that was just made have to be looked at.
    func markFilesDirty(in folder: RecordID, _ scope: ApplyScope, _ db: Database) throws {
        guard folder.zone != .none else { return }
        try db.markFilesDirty(in: folder.zone, parent: folder.isZoneRoot ? nil : folder.name)
        if folder.isZoneRoot, let rootRecord = zones[folder.zone]?.row.rootRecord {
            try db.markFilesDirty(in: folder.zone, parent: rootRecord)
        }
        for (id, placement) in scope.placements.records where scope.placements.folder(of: placement) == folder {
            try db.markDirty(id)
        }
    }

    /// Puts files that another record represents now under that record: twins that met, folders that merged.
    private func adopt(_ scope: inout ApplyScope) throws {
        let entries = scope.base.values.compactMap { row in baseEntry(row, scope) }.sorted { $0.id < $1.id }
        let adopted = adoptRepresentatives(base: entries, layout: scope.layout)
        for (old, new) in zip(entries, adopted) where old.id != new.id {
            guard var row = scope.base.removeValue(forKey: old.id) else { continue }
            scope.basePaths[new.id] = scope.basePaths.removeValue(forKey: old.id)
            // What the folder shows of either is what it showed of it before.
            row.twinVectors[old.id] = row.vector
            row.vector = row.twinVectors[new.id] ?? row.vector
            row.id = new.id
            row.twins = new.twins
            scope.base[new.id] = row
            scope.ids.insert(new.id)
            let children = scope.base.values.filter { $0.parent == old.id }
            for child in children { scope.base[child.id]?.parent = new.id }
            try store.write { db in
                try db.removeBase(old.id)
                try db.setBase(row)
                for var child in try db.baseChildren(of: old.id, root: row.root) {
                    child.parent = new.id
                    try db.setBase(child)
                }
            }
        }
    }

    /// The records whose files were written though nothing of them had changed: their sidecars may be missing, too.
    private func writtenRows(_ operations: [FileOperation], besides dirty: [RecordRow]) throws -> [RecordRow] {
        let known = Set(dirty.map(\.id))
        return try store.read { db in
            try operations.compactMap { operation in
                guard case .write(let id, _, _, nil) = operation, !known.contains(id) else { return nil }
                return try db.record(id)
            }
        }
    }

    private func baseEntry(_ row: BaseRow, _ scope: ApplyScope) -> BaseEntry? {
        // Where something parked came from may be gone by now; where it goes is known.
        guard let path = scope.basePaths[row.id] ?? (row.isParked ? RelativePath([row.name]) : nil) else { return nil }
        return BaseEntry(
            id: row.id, parent: row.parent, path: path, kind: row.kind, stamp: row.stamp,
            contentHash: row.contentHash, twins: row.twins)
    }

    /// Records whose file must not be touched now: bytes that were not pushed yet are nowhere else, and a read-only
    /// file that was edited comes back only after it has been left alone.
    private func blockedRecords(_ ids: Set<RecordID>) throws -> Set<RecordID> {
        let now = world.uptimeMilliseconds()
        var blocked = Set(try store.read { db in try owedCopies(db) }.keys)
        for (id, due) in restoreAfter {
            if due > now { blocked.insert(id) } else { restoreAfter[id] = nil }
        }
        for zone in zones.values where zone.row.state == .active {
            for stored in try store.read({ db in try db.pendingOfDifferingContent(in: zone.id) }) {
                let id = RecordID(zone: zone.id, name: stored.change.record)
                guard ids.contains(id), let content = stored.change.content, content.location == nil else {
                    continue
                }
                blocked.insert(id)
            }
        }
        return blocked
    }
}
