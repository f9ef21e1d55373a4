import ShoeboxModel
import ShoeboxPlanning
import ShoeboxStore
import ShoeboxWorld

import class GRDB.Database

extension Engine {
    /// The live files that may be shown in a folder, those placed there from other zones among them.
    func placedFileRows(in parent: RecordID, placements: Placements, _ db: Database) throws -> [RecordRow] {
        try placedFiles(in: [parent], placements: placements, db).compactMap { try db.record($0.id) }
    }

    /// Writes where a zone (`record` nil) or one record of it is shown in this account's tree.
    func writePlacement(
        zone: ZoneID, record: RecordName?, parent: RecordID?, name: FileName, placements: Placements,
        writer: inout HistoryWriter
    ) throws {
        guard let privateZone else { return }
        let existing =
            record.map { placements.records[RecordID(zone: zone, name: $0)] } ?? placements.zones[zone]
        let wanted = parent.flatMap { $0.isZoneRoot ? nil : $0.name }
        if let existing, existing.name == name, existing.parent == wanted { return }
        let fallback = RecordName(bytes: world.randomBytes(16)) ?? RecordName(2)
        let id = existing?.id ?? RecordID(zone: privateZone, name: fallback)
        var fields: [FieldKey: Value] = [
            .targetZone: .bytes(zone.digest.bytes), .name: .name(name),
            .parent: parent.map { $0.isZoneRoot ? .null : .reference($0.name) } ?? .null,
        ]
        if let record { fields[.targetRecord] = .reference(record) }
        try writer.write(
            id, type: .placement, .set(fields), context: try writer.db.state(of: id)?.vector ?? [:])
    }

    /// Removes a placement: what it placed shows where its own zone says.
    func removePlacement(_ row: RecordRow?, writer: inout HistoryWriter) throws {
        guard let row, let state = try writer.db.state(of: row.id) else { return }
        try writer.write(row.id, type: .placement, .delete, context: state.vector)
    }

    /// Moves a file, or a folder with all in it, that the base shows, to a folder of another zone. The base tree is
    /// re-keyed, so no file is touched.
    func moveTree(
        _ row: BaseRow, to parent: RecordID, name: FileName, placements: Placements, writer: inout HistoryWriter
    ) throws {
        let db = writer.db
        var moved = row
        moved.parent = parent
        moved.name = name
        let newID = try moveRecord(
            row.id, to: parent.zone, parent: parent, name: name, shown: row.vector, writer: &writer)
        try removePlacement(placements.records[row.id], writer: &writer)
        let children = row.kind == .folder ? try db.baseChildren(of: row.id, root: row.root) : []
        try db.removeBase(row.id)
        moved.id = newID
        writer.carried[row.id] = newID
        moved.vector = try db.state(of: newID)?.vector ?? [:]
        try db.setBase(moved)
        for child in children where !child.id.isZoneRoot && child.id.zone == row.id.zone {
            try moveTree(child, to: newID, name: child.name, placements: placements, writer: &writer)
        }
    }

    /// Moves one record with its companions to another zone: first all values verbatim there, then the mark here. In a
    /// zone of somebody else, values are written anew, since only a zone's owner may carry other replicas' dots.
    @discardableResult
    func moveRecord(
        _ id: RecordID, to zone: ZoneID, parent: RecordID?, name: FileName?, shown: VersionVector,
        writer: inout HistoryWriter
    ) throws -> RecordID {
        let db = writer.db
        let target = RecordID(zone: zone, name: id.name)
        let companions = try db.companions(of: id)
        try carry(id, to: zone, writer: &writer)
        guard let state = try db.state(of: target) else { return target }
        var fields: [FieldKey: Value] = [:]
        if let parent { fields[.parent] = parent.isZoneRoot ? .null : .reference(parent.name) }
        if let name { fields[.name] = .name(name) }
        // Always one new write: it is what a move back to a zone that the record once left is not covered by.
        if fields.isEmpty { fields[.parent] = state[.parent] ?? .null }
        try writer.write(target, type: state.type, .set(fields), context: state.vector)
        for companion in companions {
            switch companion.type {
            case .photoTag:
                // A tag that was deleted does not come back in another zone.
                guard let tag = companion.parent,
                    let tagState = try db.state(of: RecordID(zone: id.zone, name: tag)), tagState.isLive,
                    let title = tagState[.title]?.text
                else { continue }
                try setTag(title, on: target, isMember: true, writer: &writer)
            case .rating, .comment: try carry(companion.id, to: zone, writer: &writer)
            default: continue
            }
        }
        try writer.write(id, type: state.type, .moved(to: zone), context: shown)
        try db.moveSidecar(from: id, to: target)
        return target
    }

    /// Repeats a record's changes in another zone.
    private func carry(_ id: RecordID, to zone: ZoneID, writer: inout HistoryWriter) throws {
        let db = writer.db
        let target = RecordID(zone: zone, name: id.name)
        guard let state = try db.state(of: id) else { return }
        if zones[zone]?.row.isMine == true {
            for var change in try db.changes(of: id.name, in: id.zone) {
                guard case .set = change.action else { continue }
                change.movedFrom = id.zone
                try writer.insert(change, zone: zone)
            }
        } else {
            let values = state.fields.compactMapValues { $0.winner?.value }
            let context = try db.state(of: target)?.vector ?? [:]
            try writer.write(target, type: state.type, .set(values), context: context)
        }
    }
}
