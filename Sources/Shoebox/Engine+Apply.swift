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

/// Everything that one plan of file operations is made from.
private struct ApplyScope {
    var ids: Set<RecordID> = []
    var layout = Layout()
    var paths: [RecordID: RelativePath] = [:]
    var base: [RecordID: BaseRow] = [:]
    var basePaths: [RecordID: RelativePath] = [:]
    var rows: [RecordID: RecordRow] = [:]
    var placements = Placements()
    /// Folders whose files were not gathered: they are looked at after the folder was made.
    var postponed: Set<RecordID> = []
}

extension Engine {
    /// Makes a watched folder show what the records say, for a batch of the records marked dirty: at most as many as the
    /// settings say, from a position on. What is in one folder comes together.
    public func apply(_ root: RootKind, after position: DirtyPosition? = nil) throws -> ApplyOutcomes {
        var outcome = ApplyOutcomes()
        guard privateZone != nil, try !foldersToRebuild().contains(root), try checkRoot(root) else { return outcome }
        let shown = zonesShown(root).map(\.id)
        try recover(root)
        try spreadTagChanges()
        let dirtyLayout = try store.read { db in try db.dirtyLayout(root: root) }
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
        outcome.derived += try deriveCopies(of: dirty)
        try rekeyMoved(dirty)
        var scope = try store.read { db in try gather(root, dirty: dirty, db) }
        try adopt(&scope)
        let blocked = try blockedRecords(scope.ids).union(awaitedMoves(of: dirty))
        let (operations, waiting) = planApplyNamingWaiting(
            base: scope.base.values.compactMap { row in baseEntry(row, scope) }.sorted { $0.id < $1.id },
            desired: scope.layout, roots: [top(root): .root], scope: scope.ids.subtracting(blocked),
            parked: Set(scope.base.values.filter(\.isParked).map(\.id)))
        // What has no way to its place now finds one when something else, which may be in another folder, has gone.
        var failed = blocked.union(waiting)
        if !operations.isEmpty {
            failed.formUnion(try execute(operations, root: root, scope: scope, outcome: &outcome))
        }
        outcome.derived += try writeDerivedNames(scope.layout.derivedNames, placements: scope.placements)
        let reunited = try settleBase(scope, failed: failed, root: root)
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

    /// Takes back what was said of files that could not be brought up to date, where nothing is left to do: by another
    /// way, such as a rename that happened though it failed, or a user who did it.
    private func clearSettled(_ root: RootKind) throws {
        let prefix = display(.root, root) + "/"
        for key in openProblems {
            let parts = key.split(separator: "|", maxSplits: 2, omittingEmptySubsequences: false).map(String.init)
            guard parts.count == 3,
                ["notApplied", "diskFull", "contentMissing", "sidecarNotWritten"].contains(parts[0]),
                parts[2].hasPrefix(prefix), !unsettledPaths.contains(parts[2])
            else { continue }
            // What is to be put away of a share that was left is not among the records any more.
            let zone = ZoneID(hex: parts[1])
            if let state = zone.flatMap({ zones[$0] })?.row.state, state == .left || state == .ended { continue }
            try clearProblem(parts[0], path: parts[2], zone: zone)
        }
    }

    /// Collects the folders of a tree and the files of the folders that dirty records are, or were shown, in.
    private func gather(_ root: RootKind, dirty: [RecordRow], _ db: Database) throws -> ApplyScope {
        var scope = ApplyScope()
        scope.placements = try placements(db)
        let folders = try placedFolders(root, placements: scope.placements, db)
        var parents: Set<RecordID> = []
        for row in dirty where row.type.hasPlace {
            scope.ids.insert(row.id)
            parents.insert(shownParent(row, placements: scope.placements))
            if let base = try db.base(row.id) { parents.insert(base.parent) }
        }
        let shownFolders = Dictionary(
            try baseFolders(root, db).map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
        // Folders of one place are one: what is in either may collide with what is in the other.
        var samePlace: [FolderPlace: [RecordID]] = [:]
        for folder in folders { samePlace[FolderPlace(folder), default: []].append(folder.id) }
        // A folder that isn't live shows while something in it does, and one that is to be made may have waited for its
        // parent with all that is in it. Of one that is simply made, or stays as it is, the files can come after it: a
        // first mirror is as many folders as batches.
        let dirtyFolders = Set(dirty.filter { $0.type == .folder }.map(\.id))
        for folder in folders {
            let shown = shownFolders[folder.id]
            guard !folder.isLive || shown == nil || dirtyFolders.contains(folder.id) else { continue }
            let stays = shown.map { $0.parent == folder.parent && $0.name == folder.name && !$0.isParked } ?? true
            if folder.isLive, stays, samePlace[FolderPlace(folder)]?.count == 1 {
                if shown == nil { scope.postponed.insert(folder.id) }
            } else {
                parents.insert(folder.id)
            }
        }
        // A folder of which nothing is known here, such as one that its zone does not show any more.
        parents.formUnion(dirtyFolders.subtracting(folders.map(\.id)))
        for group in samePlace.values where group.count > 1 && !parents.isDisjoint(with: group) {
            parents.formUnion(group)
        }
        let files = try placedFiles(in: parents, placements: scope.placements, db)
        scope.layout = layOut(folders + files, roots: [top(root)])
        scope.paths = paths(of: scope.layout, roots: [top(root): .root])
        scope.ids.formUnion(folders.map(\.id))
        // The folder of an owner of whom nothing is shared any more goes with the last share.
        scope.ids.formUnion(shownFolders.keys.filter { $0.zone == .none && !$0.isZoneRoot })
        scope.ids.formUnion(files.map(\.id))
        for parent in parents {
            for row in try db.baseChildren(of: parent, root: root) {
                scope.base[row.id] = row
                scope.ids.insert(row.id)
            }
        }
        for row in shownFolders.values { scope.base[row.id] = row }
        for id in scope.ids where scope.base[id] == nil {
            if let row = try db.base(id), row.root == root { scope.base[id] = row }
        }
        for row in try db.parkedBase(root: root) { scope.base[row.id] = row }
        for id in scope.base.keys { scope.basePaths[id] = basePath(id, scope, root) }
        for row in dirty { scope.rows[row.id] = row }
        scope.postponed.subtract(parents)
        return scope
    }

    /// Says that the files of a folder that was just made have to be looked at.
    private func markFilesDirty(in folder: RecordID, _ scope: ApplyScope, _ db: Database) throws {
        guard folder.zone != .none else { return }
        try db.markFilesDirty(in: folder.zone, parent: folder.isZoneRoot ? nil : folder.name)
        if folder.isZoneRoot, let rootRecord = zones[folder.zone]?.row.rootRecord {
            try db.markFilesDirty(in: folder.zone, parent: rootRecord)
        }
        guard folder.zone == privateZone else { return }
        for (id, placement) in scope.placements.records where (placement.parent ?? .zoneRoot) == folder.name {
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

    private func baseFolders(_ root: RootKind, _ db: Database) throws -> [BaseRow] {
        try db.baseFolders(root: root)
    }

    private func basePath(_ id: RecordID, _ scope: ApplyScope, _ root: RootKind) -> RelativePath? {
        var names: [FileName] = []
        var current = id
        while current != top(root) {
            guard names.count < 256, let row = scope.base[current] else { return nil }
            names.append(row.name)
            current = row.parent
        }
        return RelativePath(names.reversed())
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
                guard ids.contains(id), let content = Self.content(of: stored.change), content.location == nil else {
                    continue
                }
                blocked.insert(id)
            }
        }
        return blocked
    }

    // MARK: Doing it

    /// How many files, and bytes of them, are written aside before they go to their places together: what a commit of
    /// the database costs is shared by them, and what a crash leaves aside stays little.
    private static var asideMax: Int { 64 }
    private static var asideBytesMax: UInt64 { 16 << 20 }

    private func storeIntents(_ intents: [WriteIntent], root: RootKind) throws {
        try store.write { db in
            for intent in intents {
                try db.addIntent(
                    root: root, path: intent.path, id: intent.record, inode: intent.inode, size: intent.size,
                    contentHash: intent.contentHash, boot: world.bootID)
            }
        }
    }

    /// Carries out a plan; returns the records for which it could not be done now.
    private func execute(
        _ operations: [FileOperation], root: RootKind, scope: ApplyScope, outcome: inout ApplyOutcomes
    ) throws -> Set<RecordID> {
        var failed: Set<RecordID> = []
        var done: [(operation: FileOperation, stamp: FileStamp?)] = []
        let applier = makeApplier(root)
        var knownParents: [RelativePath: Bool] = [:]
        // Files that were written aside: their intents are stored at once, then all go to their places.
        var aside: [(operation: FileOperation, write: PreparedWrite)] = []
        var asideBytes: UInt64 = 0
        // Directories that this very plan made or moved are as they should be, whatever the base says of their paths.
        var placed: Set<RelativePath> = []
        // Photos that are gone from where they were, and whose sidecars are not.
        var unfollowed: Set<RecordID> = []

        func note(_ operation: FileOperation, _ result: ApplyOutcome) throws {
            let id = operation.record
            switch result {
            case .done(let stamp):
                done.append((operation, stamp))
                switch operation {
                case .makeDirectory(_, let path), .move(_, _, let path), .unpark(_, let path): placed.insert(path)
                default: break
                }
                if try !followWithSidecar(operation, root: root) { unfollowed.insert(operation.record) }
                for code in ["notApplied", "contentMissing", "contentDamaged", "diskFull", "notInShare"] {
                    try clearProblem(code, path: operation.path.map { display($0, root) })
                }
            case .stale(let reason):
                // A directory stays while something of the user's is in it that is no record, such as a broken sidecar.
                if case .removeDirectory = operation { return }
                // What is in the way is the user's: the next scan takes it, then the plan is made anew.
                failed.insert(id)
                log("not applied yet: \(reason)")
                if let path = operation.path {
                    later[.init(root: root, path: path.parent)] = world.uptimeMilliseconds()
                }
            case .failed(let error):
                failed.insert(id)
                try reportFailure(operation, error, root: root)
            }
        }
        func putInPlace() throws {
            guard !aside.isEmpty else { return }
            let batch = aside
            aside = []
            asideBytes = 0
            do { try storeIntents(batch.map(\.write.intent), root: root) } catch {
                for item in batch { applier.discard(item.write) }
                throw error
            }
            for item in batch { try note(item.operation, applier.finish(item.write)) }
        }

        for operation in operations {
            let id = operation.record
            if isAskedToPause() {
                // The rest is planned again.
                failed.insert(id)
                continue
            }
            guard !failed.contains(id) else { continue }
            if let path = operation.path, !operation.isRemoval {
                let parent = path.parent
                let isPlaced = parent.names.indices.contains {
                    placed.contains(RelativePath(Array(parent.names[...$0])))
                }
                if !isPlaced, knownParents[parent] == nil {
                    do { knownParents[parent] = try isParentKnown(path, root) } catch let error as FileError {
                        log("not applied yet: \(error)")
                        knownParents[parent] = false
                    }
                }
                guard isPlaced || knownParents[parent] == true else {
                    failed.insert(id)
                    later[.init(root: root, path: parent.parent)] = world.uptimeMilliseconds()
                    continue
                }
            }
            try makeWay(for: operation, root: root, scope)
            switch operation {
            case .write(let id, let path, let hash, let replaced):
                switch applier.prepare(id, at: path, contentHash: hash, replacing: replaced) {
                case .ready(let write):
                    aside.append((operation, write))
                    asideBytes += write.intent.size
                case .over(let result): try note(operation, result)
                }
                if aside.count >= Self.asideMax || asideBytes >= Self.asideBytesMax { try putInPlace() }
            case .makeDirectory(let id, let path):
                // What a share shows in is never taken for a folder that its user made: that would be somebody else's.
                if id.isZoneRoot || id.zone == .none, let parent = scope.layout.nodes[id]?.parent {
                    try noteMaking(id, at: path, in: parent, root: root)
                }
                try note(operation, applier.apply(operation))
            default:
                // Only writes can wait: what moves may be what one of them waits for.
                try putInPlace()
                try note(operation, applier.apply(operation))
            }
        }
        try putInPlace()
        outcome.operations += done.count
        guard !done.isEmpty else { return failed }
        // The base tree is noted behind the barrier: after a power cut it never claims what the folder lost. What a crash
        // leaves unnoted is found again by the intents, and by the scan as what the records say already.
        let intents = try store.read { db in try db.intents() }
        var isDurable = true
        do { try files(root).synchronize() } catch {
            isDurable = false
            log("cannot make the \(root) folder durable: \(error)")
        }
        do {
            try store.write { db in
                for item in done {
                    let id = item.operation.record
                    if unfollowed.contains(id) { try oweRemoval(ofSidecarOf: id, db) }
                    try noteDone(item.operation, stamp: item.stamp, root: root, scope: scope, db)
                }
                if isDurable, let last = intents.last { try db.clearIntents(of: root, upTo: last.rowID) }
            }
        } catch {
            // What the folder shows and nobody noted is found again as after a crash.
            recovered.remove(root)
            throw error
        }
        return failed
    }

    private func makeWay(for operation: FileOperation, root: RootKind, _ scope: ApplyScope) throws {
        switch operation {
        case .makeDirectory(_, let path), .move(_, _, let path), .unpark(_, let path), .write(_, let path, _, nil):
            // If that fails, the operation finds its place taken, and is tried again.
            do {
                try makeWay(at: path, root: root)
                try moveAside(for: operation, root: root, shown: scope.layout)
            } catch let error as FileError {
                log("'\(path)' stays in the way: \(error)")
            }
        case .write, .park, .remove, .removeDirectory: return
        }
    }

    /// False if the sidecar of a photo that is gone, or elsewhere now, is still where it was.
    private func followWithSidecar(_ operation: FileOperation, root: RootKind) throws -> Bool {
        let id = operation.record
        do {
            if case .remove(_, let path, _) = operation,
                case .failed(let error) = try removeSidecarFile(of: id, besides: path, root: root)
            {
                throw error
            }
            if case .move(_, let old, let new) = operation {
                try moveSidecarFile(of: id, from: old, to: new, root: root)
            }
        } catch let error as FileError {
            // The photo itself is where it should be, and that must be noted.
            log("the sidecar stays where it was: \(error)")
            return false
        }
        return true
    }

    /// Updates the base tree after one operation.
    private func noteDone(
        _ operation: FileOperation, stamp: FileStamp?, root: RootKind, scope: ApplyScope, _ db: Database
    ) throws {
        let id = operation.record
        let vector = try db.state(of: id)?.vector ?? [:]
        let node = scope.layout.nodes[id]
        switch operation {
        case .makeDirectory(_, let path), .write(_, let path, _, _):
            if case .makeDirectory = operation { try forgetMaking(id, db) }
            guard let node, let stamp, let name = path.last else { return }
            var hash: Digest32?
            if case .write(_, _, let written, _) = operation { hash = written }
            let row = BaseRow(
                root: root, id: id, parent: node.parent, name: name, kind: node.kind, stamp: stamp, contentHash: hash,
                vector: vector, twins: node.twins)
            try db.displace(by: row)
            try db.setBase(row)
            if scope.postponed.contains(id) { try markFilesDirty(in: id, scope, db) }
        case .move(_, _, let path), .unpark(_, let path):
            guard var row = try db.base(id), let name = path.last else { return }
            // What the layout no longer shows was only put back where it was.
            if let node { row.parent = node.parent }
            row.name = name
            row.isParked = false
            if let stamp { row.noteMoved(stamp) }
            try db.displace(by: row)
            try db.setBase(row)
        case .park:
            guard var row = try db.base(id) else { return }
            row.isParked = true
            if let stamp { row.noteMoved(stamp) }
            try db.setBase(row)
        case .remove, .removeDirectory:
            try db.removeBase(id)
            try db.removeSidecar(id)
        }
    }

    /// Says in the base tree what the folder shows now, for records that needed nothing done to their file.
    ///
    /// Returns those that have other twins than before.
    private func settleBase(
        _ scope: ApplyScope, failed: Set<RecordID>, root: RootKind
    ) throws -> Set<RecordID> {
        try store.write { db in
            var reunited: Set<RecordID> = []
            for id in scope.ids where !failed.contains(id) {
                guard let node = scope.layout.nodes[id], var row = try db.base(id), row.root == root, !row.isParked,
                    row.contentHash == node.contentHash, row.kind == node.kind, row.parent == node.parent,
                    row.name == node.name
                else { continue }
                let vector = try db.state(of: id)?.vector ?? row.vector
                guard vector != row.vector || node.twins != row.twins else { continue }
                if row.twins != node.twins { reunited.insert(id) }
                row.vector = vector
                row.twins = node.twins
                try db.setBase(row)
            }
            return reunited
        }
    }

    /// The photos whose sidecars say something else now because of a twin: one that changed, came or went.
    private func representatives(
        of dirty: [RecordRow], besides reunited: Set<RecordID>, _ scope: ApplyScope
    ) throws -> [RecordRow] {
        let known = Set(dirty.map(\.id))
        var wanted = reunited
        for node in scope.layout.nodes.values where node.kind == .file && !node.twins.isEmpty {
            if !known.isDisjoint(with: node.twins) { wanted.insert(node.id) }
        }
        return try store.read { db in
            try wanted.subtracting(known).sorted().compactMap { try db.record($0) }
        }
    }

    /// Makes files in other people's shares writable or not, as this account may change them or not.
    private func followPermissions(of dirty: [RecordRow], root: RootKind) throws {
        for record in dirty where record.type.hasContent && record.isLive && zones[record.id.zone]?.row.isMine == false
        {
            let found = try store.read { db -> (row: BaseRow, path: RelativePath, isWritable: Bool)? in
                guard let row = try db.base(record.id), row.root == root, !row.isParked,
                    let parent = try db.basePath(of: row.parent, top: [top(root)])
                else { return nil }
                return (row, parent.appending(row.name), try may(.editRecord, record.id, db))
            }
            guard let (shown, path, isWritable) = found else { continue }
            var row = shown
            let wanted = isWritable ? row.stamp.mode | 0o200 : row.stamp.mode & ~0o222
            guard wanted != row.stamp.mode else { continue }
            guard setMode(wanted, at: path, of: row) else { continue }
            row.stamp.mode = wanted
            let noted = row
            try store.write { db in try db.setBase(noted) }
        }
    }

    /// Whether the permission bits of a file that is as last seen could be set.
    private func setMode(_ mode: UInt16, at path: RelativePath, of row: BaseRow) -> Bool {
        do {
            guard try files(row.root).entry(at: path)?.stamp.isUnchanged(from: row.stamp) == true else { return false }
            try files(row.root).setMode(path, mode)
            return true
        } catch {
            log("the permission bits of '\(row.name)' stay: \(error)")
            return false
        }
    }

    /// Notes that an operation could not be carried out, and why.
    func reportFailure(_ operation: FileOperation, _ error: FileError, root: RootKind) throws {
        guard let path = operation.path else { return }
        let shown = display(path, root)
        unsettledPaths.insert(shown)
        log("cannot apply \(operation): \(error)")
        let id = operation.record
        if error.code == .absent, case .write = operation {
            try report(
                "contentMissing", path: shown, zone: id.zone,
                "The content of '\(shown)' is not there yet: \(error.reason).",
                "It comes by itself when whoever has it is online.")
        } else if error.code == .contentDamaged {
            try report(
                "contentDamaged", path: shown, zone: id.zone,
                "The content of '\(shown)' in the container is not what it must be: \(error.reason).",
                "Nothing was replaced by it. Whoever has the photo uploads it again by itself, when their shoebox runs; else restore the file in the cloud folder from a backup."
            )
        } else if error.code == .full {
            try report(
                "diskFull", path: shown, "There is no space left for '\(shown)'.",
                "Free some space in the \(root == .library ? "library" : "shared") folder; nothing is lost, it goes on by itself."
            )
        } else {
            try report(
                "notApplied", path: shown, zone: id.zone,
                "'\(shown)' could not be brought up to date: \(error.reason).",
                "It is tried again; if it stays, check the disk and the permissions of the folder.")
        }
    }
}

extension BaseRow {
    /// Takes the stamp that a file or directory has after it was renamed. What its user wrote into a file meanwhile was not
    /// looked at yet: the next scan must see that it changed.
    mutating func noteMoved(_ moved: FileStamp) {
        guard kind == .folder || moved.isUnchanged(from: stamp) else { return }
        stamp = moved
    }
}

/// A folder's place, as records name it.
private struct FolderPlace: Hashable {
    var parent: RecordID
    var name: FileName

    init(_ folder: PlacedRecord) {
        parent = folder.parent
        name = folder.name
    }
}

extension FileOperation {
    /// The record it is for.
    var record: RecordID {
        switch self {
        case .makeDirectory(let id, _), .move(let id, _, _), .park(let id, _), .unpark(let id, _),
            .write(let id, _, _, _), .remove(let id, _, _), .removeDirectory(let id, _):
            id
        }
    }

    /// Whether it puts nothing anywhere.
    fileprivate var isRemoval: Bool {
        switch self {
        case .remove, .removeDirectory, .park: true
        case .makeDirectory, .move, .unpark, .write: false
        }
    }

    /// The path it ends at.
    var path: RelativePath? {
        switch self {
        case .makeDirectory(_, let path), .move(_, _, let path), .unpark(_, let path), .write(_, let path, _, _),
            .remove(_, let path, _), .removeDirectory(_, let path), .park(_, let path):
            path
        }
    }
}
