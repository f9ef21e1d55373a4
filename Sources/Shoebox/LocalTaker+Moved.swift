import ShoeboxLibrary
import ShoeboxModel
import ShoeboxPlanning
import ShoeboxStore
import ShoeboxWorld

import class GRDB.Database

// Files and folders that were renamed, moved, or taken from one zone to another.

extension LocalTaker {
    mutating func place(
        _ id: RecordID, in folder: FolderReference, name: FileName, path: RelativePath, stamp: FileStamp
    ) throws {
        guard let parent = try resolve(folder) else {
            if isRefused(folder) { try leave(id) }
            return
        }
        guard var row = try row(id) else { return }
        let oldParent = row.parent
        let oldName = row.name
        if row.kind == .file {
            // In another zone the record has the same name.
            let isCarried = parent.zone != id.zone && placements.records[id] == nil && mayAdd(parent.zone)
            // If the sidecar does not come along, another one is written there.
            try engine.oweRemoval(ofSidecarBeside: row, db)
            aftermath.hasOrphans = true
            let now = isCarried ? RecordID(zone: parent.zone, name: id.name) : id
            aftermath.moved.append((now, oldParent, oldName))
        }
        row.parent = parent
        row.name = name
        row.stamp = stamp
        let isPlaced = placements.records[id] != nil && root == .library
        if id.zone == .none {
            try db.setBase(row)
            try db.markLayoutDirty()
        } else if id.isZoneRoot {
            try db.setBase(row)
            guard parent == oldParent || (root == .library && parent.zone == engine.privateZone) else {
                try db.markLayoutDirty()
                let title = engine.zones[id.zone]?.control.title ?? ""
                refuse(
                    "undone", path,
                    "The folder of the share '\(title)' can't be moved to '\(engine.display(path, root))'; it goes back to its place.",
                    root == .library
                        ? "Move it to a folder that is not shared, or move a folder that it lies in."
                        : "It can have another name where it is.", zone: id.zone)
                return
            }
            try engine.writePlacement(
                zone: id.zone, record: nil, parent: root == .library ? parent : nil, name: name, placements: placements,
                writer: &writer)
        } else if isPlaced, parent.zone == engine.privateZone || parent == oldParent {
            try db.setBase(row)
            try engine.writePlacement(
                zone: id.zone, record: id.name, parent: parent, name: name, placements: placements, writer: &writer)
            if name != oldName, try may(.editRecord, id), try db.record(id)?.name == oldName {
                try rename(id, [.name: .name(name)], &row)
                try db.setBase(row)
            }
        } else if parent.zone == id.zone {
            guard try may(.editRecord, id) else {
                try db.setBase(row)
                try db.markDirty(id)
                refuse(
                    "undone", path,
                    "'\(engine.display(path, root))' was moved in a share \(engine.permissionText(id.zone)); it goes back to its place.",
                    "Copy it into your library instead.", zone: id.zone)
                return
            }
            var fields: [FieldKey: Value] = [:]
            if parent != oldParent { fields[.parent] = parent.parentValue }
            if name != oldName { fields[.name] = .name(name) }
            // Into the folder of the share that it was put in from another place: there it shows for all from now on.
            if isPlaced { try engine.removePlacement(placements.records[id], writer: &writer) }
            if !fields.isEmpty { try rename(id, fields, &row) }
            try db.setBase(row)
        } else {
            try moveAcross(row, to: parent, name: name, path: path, oldParent: oldParent, oldName: oldName)
        }
    }

    /// Something went into a folder that is taken by no share. There it stays, as everything in that folder does. What may not
    /// be deleted is shown again where it was; of the rest it is decided as of any other deletion.
    private mutating func leave(_ id: RecordID) throws {
        aftermath.unplaced.insert(id)
        guard id.zone != .none, !id.isZoneRoot, try !may(.deleteRecord, id) else { return }
        if let row = try db.base(id) { try showAllAgain(row) }
    }

    private mutating func showAllAgain(_ row: BaseRow) throws {
        for child in try db.baseChildren(of: row.id, root: root)
        where child.id.zone == row.id.zone && !child.id.isZoneRoot {
            try showAllAgain(child)
        }
        try showAgain(row)
    }

    /// What went into such a folder, and whose place something else has taken: that is no deletion, and it is shown again.
    func showDisplaced() throws {
        for id in aftermath.unplaced.sorted() where try db.base(id) == nil && !id.isZoneRoot && id.zone != .none {
            try db.markDirty(id)
        }
    }

    private mutating func rename(_ id: RecordID, _ fields: [FieldKey: Value], _ row: inout BaseRow) throws {
        // What the record says already is no edit: a crash came between moving the file and noting it.
        let state = try db.state(of: id)
        let fields = fields.filter { state?[$0.key] != $0.value }
        guard !fields.isEmpty else { return try db.markDirty(id) }
        let type = try db.record(id)?.type ?? .file
        let shown = row
        let twins = try row.twins.filter { try engine.isOneStill($0, with: shown, db) }
        let change = try writer.write(id, type: type, .set(fields), context: row.vector)
        row.vector.insert(change.dot)
        for twin in twins where try may(.editRecord, twin) {
            if let other = try db.record(twin) {
                try writer.write(
                    twin, type: other.type, .set(fields), context: try db.state(of: twin)?.vector ?? [:])
            }
        }
    }

    /// A file or folder was moved into the folder of another zone: the record moves there with all below it.
    private mutating func moveAcross(
        _ row: BaseRow, to parent: RecordID, name: FileName, path: RelativePath, oldParent: RecordID, oldName: FileName
    ) throws {
        guard parent.zone != .none, mayAdd(parent.zone), try mayMoveAll(row), try isBelievedIn(parent.zone, row) else {
            var back = row
            back.parent = parent
            try db.setBase(back)
            try db.markDirty(row.id)
            refuse(
                "undone", path,
                "'\(engine.display(path, root))' was moved out of or into a share where you may not do that; it goes back.",
                "Copy it instead of moving it.", zone: row.id.zone)
            return
        }
        let leaving = leaving(folderAt: path)
        try engine.moveTree(
            row, to: parent, name: name, isEdit: true, leaving: LeftBehind(ids: leaving, place: oldParent),
            placements: placements, writer: &writer)
        if !leaving.isEmpty { aftermath.hasOrphans = true }
        let title = engine.zones[parent.zone]?.control.title ?? ""
        if engine.zones[parent.zone]?.row.kind == .share {
            aftermath.log.append("'\(engine.display(path, root))' is shared in '\(title)' now")
        }
    }

    /// Whether a file, or a folder with all in it, may be taken out of its zone.
    private func mayMoveAll(_ row: BaseRow) throws -> Bool {
        guard try may(.deleteRecord, row.id) else { return false }
        guard row.kind == .folder, !may(everythingIn: row.id.zone) else { return true }
        return try db.baseChildren(of: row.id, root: row.root).allSatisfy { child in
            let isInside = child.id.zone == row.id.zone && !child.id.isZoneRoot
            return try !isInside || mayMoveAll(child)
        }
    }

    private func may(everythingIn zone: ZoneID) -> Bool { engine.may(.deleteRecord, in: zone) }

    /// Whether the others will take what is moved into a zone for this account's own, where that is asked for: it keeps
    /// its name, which must prove that.
    private func isBelievedIn(_ zone: ZoneID, _ row: BaseRow) throws -> Bool {
        guard !may(everythingIn: zone) else { return true }
        guard case .bytes(let origin)? = try db.state(of: row.id)?[.origin],
            Derivation.record(madeBy: engine.account, origin: origin) == row.id.name
        else { return false }
        guard row.kind == .folder else { return true }
        return try db.baseChildren(of: row.id, root: row.root).allSatisfy { child in
            let isInside = child.id.zone == row.id.zone && !child.id.isZoneRoot
            return try !isInside || isBelievedIn(zone, child)
        }
    }
}
