import ShoeboxLibrary
import ShoeboxModel
import ShoeboxPlanning
import ShoeboxStore
import ShoeboxWorld

import class GRDB.Database

/// What is to be done after a batch of local changes was committed.
struct Aftermath {
    var problems: [Problem] = []
    /// Whether there are edits of read-only files, to be copied into the library.
    var owesCopies = false
    /// Files that were renamed or moved, with where they were: their sidecars follow.
    var moved: [(id: RecordID, folder: RecordID, name: FileName)] = []
    /// Whether files that were moved or deleted may have left sidecars.
    var hasOrphans = false
    /// What was moved to where nothing is taken: it is gone from where it was, as if it had been moved out of the folders.
    var unplaced: Set<RecordID> = []
    var log: [String] = []
}

/// Turns local changes into history inside one database transaction.
struct LocalTaker {
    let engine: Engine
    let root: RootKind
    let db: Database
    var writer: HistoryWriter
    let placements: Placements
    var created: [Int: RecordID] = [:]
    /// New folders, by number, that stay on this machine only, with all in them.
    var refused: Set<Int> = []
    /// Of these, the records that were there already.
    var adopted: Set<RecordID> = []
    var former: [RecordID: BaseRow] = [:]
    var aftermath = Aftermath()
    /// Shares whose folder is gone as a whole: nothing of them is deleted.
    var leaving: Set<ZoneID> = []
    /// What was not found where it was.
    var gone: Set<RecordID> = []
    /// What these changes take out of the folder that it is in, with where it goes; nil for what is deleted.
    private var leavingFolders: [RecordID: RelativePath?] = [:]
    /// What these changes take to another zone.
    private var crossing: [RecordID: ZoneID] = [:]
    /// Folders of the base that something came into.
    private var entered: Set<RecordID> = []
    /// What folders showed before this transaction.
    var known: [RecordID: [FileName: [RecordRow]]] = [:]
    var knownFolders: [ZoneID: [RecordRow]] = [:]

    init(engine: Engine, root: RootKind, db: Database, writer: HistoryWriter, placements: Placements) {
        self.engine = engine
        self.root = root
        self.db = db
        self.writer = writer
        self.placements = placements
    }

    /// Keeps what the base says of everything that changes. A file or folder that takes a place in the base puts out what
    /// stood there, whose own change may come later: two that swapped places, a file that a folder took the name of.
    mutating func remember(_ changes: [LocalChange]) throws {
        for change in changes {
            switch change {
            case .restamp(let id, _), .edit(let id, _, _), .place(let id, _, _, _, _), .delete(let id):
                former[id] = try db.base(id)
            case .create: continue
            }
        }
    }

    /// Takes what has to be known before anything is moved: what is saved in the private zone and goes into a share in one look is
    /// saved first. What was there before is not for the people of the share. What leaves a share is saved where it is by then, as
    /// the people of the share are not told of it any more; what was there before doesn't go into another share.
    ///
    /// - Returns: the changes that are left.
    mutating func prepare(_ changes: [LocalChange]) throws -> [LocalChange] {
        try remember(changes)
        crossing = zoneCrossings(changes).mapValues(\.zone)
        var late: [LocalChange] = []
        let left = try changes.filter { change in
            switch change {
            case .place(let id, _, _, let path, _): leavingFolders[id] = .some(path)
            case .delete(let id): leavingFolders[id] = .some(nil)
            case .edit(let id, _, _):
                guard try destination(of: id) != nil else { return true }
                // In a folder that was put back, the bytes that were there then are no edit.
                if engine.isShare(id.zone), try !engine.isPutBack(root, db) {
                    let twins = try db.base(id).map { row in
                        try row.twins.filter { try engine.isOneStill($0, with: row, db) }
                    }
                    for record in [id] + (twins ?? []) {
                        writer.rewritten[record, default: RewrittenDetails()].fields.formUnion([.content, .modified])
                    }
                    late.append(change)
                    return false
                }
                try take(change)
                former[id] = try db.base(id)
                return false
            case .restamp, .create: break
            }
            return true
        }
        return left + late
    }

    /// The other zone that a record, or a folder that it is in, goes to; nil if it stays.
    private func destination(of id: RecordID) throws -> ZoneID? {
        guard !crossing.isEmpty else { return nil }
        var next: RecordID? = id
        var seen: Set<RecordID> = []
        while let id = next, seen.insert(id).inserted {
            if let zone = crossing[id] { return zone }
            next = try db.base(id)?.parent
        }
        return nil
    }

    /// What of a folder does not go along to where it is now: what is gone from it, and what these changes take elsewhere.
    func leaving(folderAt path: RelativePath) -> Set<RecordID> {
        gone.union(
            leavingFolders.filter { _, place in place.map { !$0.isAtOrBelow(path) } ?? true }.keys)
    }

    /// What the base says of a record, or said before this transaction.
    func row(_ id: RecordID) throws -> BaseRow? {
        if let row = try db.base(id) ?? former[id] { return row }
        // Its folder took it to another zone, and then another file took its place.
        guard let (old, known) = former.first(where: { $0.key != id && present($0.key) == id }) else { return nil }
        var row = known
        row.id = id
        row.parent = present(row.parent)
        row.renameTwins { $0.zone == old.zone ? RecordID(zone: id.zone, name: $0.name) : $0 }
        if let last = try db.state(of: id)?.vector[engine.replica] { row.vector.formUnion([engine.replica: last]) }
        return row
    }

    /// The record as it is now: what went to another zone with its folder is changed there.
    private func present(_ id: RecordID) -> RecordID { writer.present(id) }

    mutating func take(_ change: LocalChange) throws {
        switch change {
        case .restamp(let old, let stamp):
            let id = present(old)
            guard var row = try row(id) else { return }
            row.stamp = stamp
            try db.setBase(row)
        case .edit(let id, let hash, let stamp): try edit(present(id), hash: hash, stamp: stamp)
        case .place(let id, let folder, let name, let path, let stamp):
            try place(renewed(present(id)), in: folder, name: name, path: path, stamp: stamp)
        case .create(let number, let kind, let folder, let path, let stamp, let hash, _):
            try create(number, kind: kind, in: folder, path: path, stamp: stamp, hash: hash)
        case .delete(let id): try delete(present(id))
        }
    }

    mutating func resolve(_ folder: FolderReference) throws -> RecordID? {
        switch folder {
        case .existing(let id):
            let folder = try renewed(present(id))
            try showAgain(folder: folder)
            return folder
        case .created(let number): return created[number].map(present)
        }
    }

    /// Something comes into a directory that stayed only for what lay in it, after others had deleted the folder, moved it or given
    /// it the name of another one: it is shown where the folder's records say by now.
    private mutating func showAgain(folder: RecordID) throws {
        guard !folder.isZoneRoot, entered.insert(folder).inserted, let record = try db.record(folder),
            let base = try db.base(folder)
        else { return }
        let isInPlace =
            record.isLive && record.name == base.name
            && record.parent == (base.parent.isZoneRoot ? nil : base.parent.name)
        if !isInPlace { try db.markDirty(folder) }
    }

    func isRefused(_ folder: FolderReference) -> Bool {
        if case .created(let number) = folder { refused.contains(number) } else { false }
    }

    /// A folder as a record that others show. One that was refused has none: it is made once more where that is
    /// permitted by now, since nobody would show what is put into it.
    private mutating func renewed(_ folder: RecordID) throws -> RecordID {
        guard try engine.isUnnamed(folder, db), mayAdd(folder.zone), let row = try row(folder), row.kind == .folder
        else {
            return folder
        }
        let parent = try renewed(row.parent)
        return try engine.renew(folder, name: row.name, in: parent, writer: &writer)
    }

    func may(_ action: SharingAction, _ id: RecordID) throws -> Bool { try engine.may(action, id, db) }
    func mayAdd(_ zone: ZoneID) -> Bool { engine.may(.addRecord, in: zone) }

    // MARK: Changed

    private mutating func edit(_ id: RecordID, hash: Digest32, stamp: FileStamp) throws {
        guard var row = try row(id) else { return }
        if try db.state(of: id)?.content?.contentHash == hash {
            // These are the record's bytes already: a crash came between writing and noting them.
            row.stamp = stamp
            row.contentHash = hash
            try db.setBase(row)
            try db.markDirty(id)
            return
        }
        // In a folder that was put back, the bytes that were there then are no edit.
        if try engine.isPutBack(root, db), let shown = try engine.formerlyShown(hash, of: id, db) {
            row.stamp = stamp
            (row.contentHash, row.vector, row.twins) = (hash, shown, [])
            try db.setBase(row)
            try db.markDirty(id)
            return
        }
        guard try may(.editRecord, id) else {
            row.stamp = stamp
            row.contentHash = hash
            try db.setBase(row)
            try db.markDirty(id)
            try engine.owePrivateCopy(of: id, .notPermitted, db)
            aftermath.owesCopies = true
            return
        }
        try giveUpCopies(of: id)
        // What only a twin said is this photo's from now on, as the bytes are no longer the twin's.
        try engine.inherit(from: row.twins, id, writer: &writer)
        let type = try db.record(id)?.type ?? .file
        let change = try writer.write(
            id, type: type,
            .set([
                .content: .asset(AssetReference(contentHash: hash, size: stamp.size)),
                .modified: .integer(stamp.modifiedNanoseconds),
            ]), context: row.vector)
        // One that others changed or moved meanwhile is no twin any more.
        for twin in row.twins where try engine.isOneStill(twin, with: row, db) {
            try deleteRecord(twin, context: try db.state(of: twin)?.vector ?? [:])
        }
        row.vector.insert(change.dot)
        row.stamp = stamp
        row.contentHash = hash
        row.twins = []
        try db.setBase(row)
    }

    private mutating func delete(_ id: RecordID) throws {
        if leaving.contains(id.zone) {
            if id.isZoneRoot { try offerLeave(id.zone) }
            return
        }
        if id.zone == .none {
            for zone in engine.zonesShown(.shared)
            where Engine.ownerFolderName(zone.control) == id.name && !zone.row.isMine {
                try offerLeave(zone.id)
            }
        }
        if id.zone == .none || id.isZoneRoot {
            // The folder of an owner, or of an own share: it is shown again with all that is in it. Who wants the photos
            // gone stops the share, or deletes what is in the folder.
            if id.isZoneRoot { try forgetShown(of: id.zone) }
            try db.removeBase(id)
            try db.markLayoutDirty()
            return
        }
        guard let row = try row(id) else { return }
        guard try may(.deleteRecord, id) else {
            try showAgain(row)
            guard try db.record(id)?.isLive == true else { return }
            // One note for all of it: a folder may have held thousands.
            aftermath.problems.append(
                Problem(
                    code: "undone", zone: id.zone,
                    message:
                        "What you deleted in '\(engine.zones[id.zone]?.control.title ?? "")', \(engine.permissionText(id.zone)), comes back.",
                    remedy:
                        "'shoebox share leave' takes the share away from here; ask the owner for 'readWrite' to change it for everyone."
                ))
            return
        }
        if row.kind == .file { try giveUpUnpublished(id) }
        let twins = try row.twins.filter { try engine.isOneStill($0, with: row, db) }
        try deleteRecord(id, context: row.vector)
        for twin in twins { try deleteRecord(twin, context: try engine.shown(of: twin, row, db)) }
        if row.kind == .file {
            try engine.oweRemoval(ofSidecarBeside: row, db)
            aftermath.hasOrphans = true
        }
        try db.removeBase(id)
        try db.removeSidecar(id)
    }

    /// What is gone from where it was, and may not be, is shown again, perhaps under another name: its sidecar does not stay
    /// behind for what has its place then.
    mutating func showAgain(_ row: BaseRow) throws {
        if row.kind == .file {
            try engine.oweRemoval(ofSidecarBeside: row, db)
            aftermath.hasOrphans = true
        }
        try db.removeBase(row.id)
        try db.removeSidecar(row.id)
        try db.markDirty(row.id)
    }

    /// Gives up edits of a file whose bytes went with it before they were published, also those that were made where the
    /// record lived before it was moved.
    private func giveUpUnpublished(_ id: RecordID) throws {
        try giveUpCopies(of: id)
        for zone in engine.zones.keys.sorted() {
            try db.refuseUnpublishedContent(of: RecordID(zone: zone, name: id.name))
        }
    }

    /// Gives up the conflict copies that were to keep edits of a file's bytes, where these went before they were published:
    /// nobody has them, and the copies would wait for them for ever.
    private func giveUpCopies(of id: RecordID) throws {
        guard let state = try db.state(of: id) else { return }
        for birth in conflictCopies(of: state, authorLabel: { _ in "" }) {
            guard let asset = birth.fields[.content]?.asset, asset.location == nil,
                try db.base(contentHash: asset.contentHash).allSatisfy({ $0.id == id })
            else { continue }
            try db.refuseUnpublished(RecordID(zone: id.zone, name: birth.record))
        }
    }

    /// Forgets what the folder of a zone showed, as it is gone as a whole. Bytes that were nowhere else went with it.
    private mutating func forgetShown(of zone: ZoneID) throws {
        // What is aside was not in the folder, and goes back where it belongs; nor was what came to the zone and lies elsewhere yet.
        let rows = try db.base(in: zone).filter { try $0.root == root && !$0.isParked && !engine.liesOutside($0, db) }
        for row in rows {
            if row.kind == .file {
                // An edit whose bytes went with the folder, and were never published, gives way to the content before it;
                // what has none is gone.
                try giveUpUnpublished(row.id)
                if let record = try db.record(row.id), record.isLive, !record.isLocated {
                    try deleteRecord(row.id, context: row.vector)
                }
            }
            try db.removeBase(row.id)
            try db.removeSidecar(row.id)
        }
        try db.markAllDirty(in: zone)
    }

    private mutating func deleteRecord(_ id: RecordID, context: VersionVector) throws {
        guard let record = try db.record(id), try may(.deleteRecord, id) else { return }
        try writer.write(id, type: record.type, .delete, context: context)
    }

    private mutating func offerLeave(_ zone: ZoneID) throws {
        guard let problem = try engine.offerLeave(zone, db) else { return }
        aftermath.problems.append(problem)
    }

    mutating func refuse(
        _ code: String, _ path: RelativePath, _ message: String, _ remedy: String, zone: ZoneID? = nil
    ) {
        aftermath.problems.append(
            Problem(code: code, path: engine.display(path, root), zone: zone, message: message, remedy: remedy))
    }
}
