import ShoeboxLibrary
import ShoeboxModel
import ShoeboxPlanning
import ShoeboxStore
import ShoeboxWorld

import class GRDB.Database

// A sidecar that was written for one record and lies beside the photo of another: it was copied, or went along to another watched
// folder. What was said of its record since is not in it yet, as when a person calls a command and moves the files at once.

extension Engine {
    /// What the sidecar of another record says, as far as that is still said of it; of the very file that was its sidecar, and is
    /// there no more, what is said of it by now. What a person wrote into the file counts as it stands.
    func fieldsByNow(_ document: SidecarDocument, _ db: Database) throws -> SidecarFields {
        guard let name = document.record, let rev = document.rev else { return document.fields }
        for id in zones.keys.sorted().map({ RecordID(zone: $0, name: name) }) {
            guard let shown = try db.sidecarState(rev: rev, of: id).flatMap(Self.fields) else { continue }
            // Who puts an older one beside a photo, as from a backup, means what it says.
            let now = world.nowMilliseconds()
            guard try !db.isSidecarState(rev, of: id, outdatedBefore: now - min(now, 60_000)) else { break }
            return updatedFields(
                document.fields, shown: shown, current: try details(of: id, db).sidecar,
                isMoved: try hasLostSidecar(id, of: rev, db))
        }
        return document.fields
    }

    /// Of a photo that is back from the other watched folder with a sidecar that it got there: what that says by now, and what it said
    /// when the photo left. What others have said of it meanwhile is not known there, and is not taken back.
    func fieldsBroughtBack(
        _ document: SidecarDocument, of id: RecordID, _ db: Database
    ) throws -> (file: SidecarFields, shown: SidecarFields)? {
        guard let name = document.record, name != id.name, let sidecar = try db.sidecar(id) else { return nil }
        let others = zones.keys.sorted().map { RecordID(zone: $0, name: name) }
        let other = try db.departure(of: id)?.record ?? others.first { try db.departure(of: $0)?.record == id }
        guard let other, other.name == name,
            let left = try db.sidecarState(rev: sidecar.rev, of: id).flatMap(Self.fields)
        else { return nil }
        // What was said just before it left is in no sidecar of it, and in the first that it got there.
        let first = try db.firstSidecarState(of: other).flatMap(Self.fields) ?? SidecarFields()
        func along(_ fields: SidecarFields, _ other: RecordID) throws -> SidecarFields {
            func isSaid(_ edit: SidecarEdit) throws -> Bool { try wasSaid(edit, of: other, db) }
            var result = fields
            result.caption = try fields.caption.flatMap { try isSaid(.setCaption($0)) ? $0 : nil }
            result.tags = try fields.tags?.filter { try isSaid(.addTag($0)) }
            result.rating = try fields.rating.flatMap { try isSaid(.setRating($0)) ? $0 : nil }
            result.custom = try fields.custom.filter { try isSaid(.setCustom(key: $0.key, json: $0.value)) }
            return result
        }
        var shown = try along(first, id)
        let known = try along(left, other)
        shown.caption = shown.caption ?? known.caption
        shown.rating = shown.rating ?? known.rating
        shown.custom.merge(known.custom) { first, _ in first }
        shown.tags = (shown.tags ?? []) + (known.tags ?? [])
        // What is said no more is left out of a sidecar.
        var file = try fieldsByNow(document, db)
        let now = try details(of: other, db).sidecar
        if now.caption == nil { file.caption = file.caption ?? "" }
        if now.rating == nil { file.rating = file.rating ?? 0 }
        for key in shown.custom.keys where now.custom[key] == nil { file.custom[key] = file.custom[key] ?? "null" }
        return (file, shown)
    }

    /// Whether what was last written as the sidecar of a record is gone from beside its photo.
    private func hasLostSidecar(_ id: RecordID, of rev: String, _ db: Database) throws -> Bool {
        guard let sidecar = try db.sidecar(id), sidecar.rev == rev, let row = try db.base(id), !row.isParked,
            let folder = try db.basePath(of: row.parent, top: [top(row.root)])
        else { return false }
        do throws(FileError) {
            guard let entry = try files(row.root).entry(at: folder.appending(sidecar.name)) else { return true }
            return !entry.stamp.isSameFile(as: sidecar.stamp)
        } catch { return error.isAbsence }
    }
}
