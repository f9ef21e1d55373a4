import ShoeboxLibrary
import ShoeboxModel
import ShoeboxPlanning
import ShoeboxStore
import ShoeboxWorld

import class GRDB.Database

// Files and folders that were not there before, or are known again.

extension LocalTaker {
    mutating func create(
        _ number: Int, kind: NodeKind, in folder: FolderReference, path: RelativePath, stamp: FileStamp, hash: Digest32?
    ) throws {
        guard let name = path.last else { return }
        guard let parent = try resolve(folder) else {
            if isRefused(folder) { refused.insert(number) }
            return
        }
        guard parent.zone != .none else {
            if kind == .file, InvitationFile.isNamed(name) { return try engine.noteInvitationFile(path, db) }
            refused.insert(number)
            refuse(
                "notInShare", path,
                "'\(engine.display(path, root))' lies beside the shares, not in one; it stays on this machine only.",
                "Move it into a share's folder, or into your library.")
            return
        }
        // What the record says already, as after the local state was lost, needs no permission.
        if try adopt(number, kind: kind, parent: parent, name: name, stamp: stamp, hash: hash) { return }
        guard mayAdd(parent.zone) else {
            // What has ended is no more than a folder here: it is given back when it is brought up to date.
            if root == .library, let zone = engine.zones[parent.zone], zone.row.state != .active {
                return try db.markLayoutDirty()
            }
            refused.insert(number)
            guard engine.zones[parent.zone]?.row.state != .leaveOffered else {
                refuse(
                    "readOnly", path,
                    "'\(engine.display(path, root))' lies in the folder of '\(engine.zones[parent.zone]?.control.title ?? "")', which was deleted here; it stays on this machine only.",
                    "'shoebox restore \(parent.zone.description.prefix(12))' brings the share back, and passes it on; or move it into your library.",
                    zone: parent.zone)
                return
            }
            refuse(
                "readOnly", path,
                "'\(engine.display(path, root))' was added to a share that you may only read; it stays on this machine only.",
                "Move it into your library, or ask the owner for 'readWrite'.", zone: parent.zone)
            return
        }
        let type: RecordType = kind == .folder ? .folder : MediaKind(name).recordType
        var fields: [FieldKey: Value] = [.name: .name(name), .parent: parent.parentValue]
        let id = RecordID(zone: parent.zone, name: try newName(path: path, kind: kind, in: parent.zone, &fields))
        if let hash {
            fields[.content] = .asset(AssetReference(contentHash: hash, size: stamp.size))
            fields[.modified] = .integer(stamp.modifiedNanoseconds)
        }
        let context = try db.state(of: id)?.vector ?? [:]
        let change = try writer.write(id, type: type, .set(fields), context: context)
        created[number] = id
        try db.setBase(
            BaseRow(
                root: root, id: id, parent: parent, name: name, kind: kind, stamp: stamp, contentHash: hash,
                vector: context.union([change.dot.replica: change.dot.counter])))
        // The folder shows it as it is: nothing is left to do, unless another record claims the place.
        if kind == .folder || engine.settings.sidecars != .always, context.isEmpty,
            try db.isAlone(id, parent: parent.isZoneRoot ? nil : parent.name, name: name)
        {
            try db.clearDirty([id])
        }
    }

    /// The name that the sidecar beside a new file hints at, if no live record holds it anywhere; else a new one, with the
    /// field that proves whose it is: without it nobody believes a contributor.
    private func newName(
        path: RelativePath, kind: NodeKind, in zone: ZoneID, _ fields: inout [FieldKey: Value]
    ) throws -> RecordName {
        if kind == .file, engine.zones[zone]?.mayWrite(engine.account) == true,
            let hint = engine.sidecarHint(for: path, root: root),
            try !engine.zones.keys.contains(where: { try db.record(RecordID(zone: $0, name: hint)) != nil })
        {
            return hint
        }
        let (name, origin) = engine.newRecord()
        fields[.origin] = origin
        return name
    }

    /// A live record of the same place and bytes that the folder shows nothing of yet, such as after the local state
    /// was lost: the file is that record's. So are folders of the same place.
    private mutating func adopt(
        _ number: Int, kind: NodeKind, parent: RecordID, name: FileName, stamp: FileStamp, hash: Digest32?
    ) throws -> Bool {
        for row in try adoptable(in: parent)[name] ?? [] where (row.type == .folder) == (kind == .folder) {
            guard row.contentHash == hash, try db.base(row.id) == nil, let state = try db.state(of: row.id),
                try !isTwin(row.id, in: parent, name: name)
            else { continue }
            created[number] = row.id
            adopted.insert(row.id)
            try db.setBase(
                BaseRow(
                    root: root, id: row.id, parent: parent, name: name, kind: kind, stamp: stamp, contentHash: hash,
                    vector: state.vector))
            return true
        }
        return false
    }

    /// Whether a record is one with what the base has at a place, or had before this transaction: where that goes, it goes.
    private func isTwin(_ id: RecordID, in parent: RecordID, name: FileName) throws -> Bool {
        if let shown = try db.base(named: name, in: parent, root: root),
            try db.base(shown.id)?.twins.contains(id) == true
        {
            return true
        }
        return former.values.contains { $0.twins.contains(id) }
    }

    /// What a folder shows by its records as they were before this transaction, by name.
    private mutating func adoptable(in parent: RecordID) throws -> [FileName: [RecordRow]] {
        if let known = known[parent] { return known }
        // A folder that this transaction made has nothing that could be adopted; one that it adopted has.
        guard adopted.contains(parent) || !created.values.contains(parent) else { return [:] }
        let rootRecord = engine.zones[parent.zone]?.row.rootRecord
        let folders = try foldersOf(parent.zone).filter { $0.isLive && $0.id.name != rootRecord }
        let rows = try folders + engine.placedFileRows(in: parent, placements: placements, db)
        var result: [FileName: [RecordRow]] = [:]
        for row in rows where engine.shownParent(row, placements: placements) == parent {
            if let name = placements.records[row.id]?.name ?? row.name { result[name, default: []].append(row) }
        }
        known[parent] = result
        return result
    }

    private mutating func foldersOf(_ zone: ZoneID) throws -> [RecordRow] {
        if let known = knownFolders[zone] { return known }
        let rows = try db.folders(in: zone)
        knownFolders[zone] = rows
        return rows
    }
}
