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

    /// What a photo showed when it left for the other watched folder, from where it is back with a sidecar that it got there, as far
    /// as it came along: what others have said of it meanwhile is not known there, and is not taken back.
    func shownBefore(_ document: SidecarDocument, of id: RecordID, _ db: Database) throws -> SidecarFields? {
        guard let name = document.record, name != id.name, let sidecar = try db.sidecar(id) else { return nil }
        let others = zones.keys.sorted().map { RecordID(zone: $0, name: name) }
        let other = try db.departure(of: id)?.record ?? others.first { try db.departure(of: $0)?.record == id }
        guard let other, other.name == name,
            var shown = try db.sidecarState(rev: sidecar.rev, of: id).flatMap(Self.fields)
        else { return nil }
        func cameAlong(_ edit: SidecarEdit) throws -> Bool { try wasSaid(edit, of: other, db) }
        shown.caption = try shown.caption.flatMap { try cameAlong(.setCaption($0)) ? $0 : nil }
        shown.tags = try shown.tags?.filter { try cameAlong(.addTag($0)) }
        shown.rating = try shown.rating.flatMap { try cameAlong(.setRating($0)) ? $0 : nil }
        shown.custom = try shown.custom.filter { try cameAlong(.setCustom(key: $0.key, json: $0.value)) }
        return shown
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
