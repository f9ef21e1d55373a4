import ShoeboxLibrary
import ShoeboxModel
import ShoeboxPlanning
import ShoeboxStore
import ShoeboxWorld

import class GRDB.Database

// What goes from one zone to another in one look with what was done to it. What a person wrote over, or took out of a sidecar, and
// then moved into a share is not for the people of that share: it is taken before the photo goes there.

/// A photo in a folder that goes into a share, which has changed without its being known yet to what.
struct UnjudgedCrossing {
    /// Where the folder is now.
    var folder: RelativePath
    /// What was last seen of the photo.
    var photo: BaseRow
    /// Where the photo is now.
    var place: RelativePath
    /// What is there; nil if that can't be looked at.
    var stamp: FileStamp?
}

extension Engine {
    /// Takes what was changed in the sidecars that go into a share along with their photos; returns how many changes that were.
    /// What leaves a share is read where it is by then: the people of the share are not told of it any more.
    func readCrossingSidecars(_ changes: [LocalChange], root: RootKind, author: String) throws -> Int {
        var count = 0
        for (row, place, sidecar) in try crossingSidecars(changes, where: { from, _ in !isShare(from) }) {
            guard let (entry, document) = try changedSidecar(sidecar, of: row, at: place) else { continue }
            count += try takeCrossing(document, entry, of: row, at: place, author: author)
        }
        return count
    }

    /// What was changed in the sidecars of photos that go from one share to another: it is read where they are then, and what
    /// they said before is not for the people there.
    func rewrittenByCrossings(_ changes: [LocalChange]) throws -> [RecordID: RewrittenDetails] {
        var result: [RecordID: RewrittenDetails] = [:]
        for (row, place, sidecar) in try crossingSidecars(changes, where: { isShare($0) && isShare($1) }) {
            guard let (_, document) = try changedSidecar(sidecar, of: row, at: place) else { continue }
            var details = RewrittenDetails()
            for edit in try store.read({ db in try edits(in: document, of: row.id, db) }) where edit.isAcceptable {
                switch edit {
                case .setCaption, .clearCaption: details.fields.insert(.caption)
                case .setCustom(let key, _), .clearCustom(let key): details.fields.insert(.custom(key))
                case .removeTag(let title): details.tags.insert(normalizedTagName(title))
                case .setRating, .clearRating: details.isRated = true
                case .addTag: break
                }
            }
            for record in [row.id] + row.twins { result[record] = details }
        }
        return result
    }

    private func crossingSidecars(
        _ changes: [LocalChange], where isMeant: (_ from: ZoneID, _ to: ZoneID) -> Bool
    ) throws -> [(BaseRow, RelativePath, SidecarRow)] {
        let crossings = zoneCrossings(changes).filter { isMeant($0.key.zone, $0.value.zone) }
        guard !crossings.isEmpty else { return [] }
        let elsewhere = placedElsewhere(changes)
        return try store.read { db in
            guard try db.hasSidecars() else { return [] }
            return try crossings.sorted { $0.key < $1.key }.flatMap { id, crossing in
                try photosGoing(with: id, to: crossing.path, besides: elsewhere, db).compactMap {
                    row, place in try db.sidecar(row.id).map { (row, place, $0) }
                }
            }
        }
    }

    /// The photos that lie in folders which go into a share, and have changed without its being known yet to what.
    func unjudgedCrossings(_ changes: [LocalChange]) throws -> [UnjudgedCrossing] {
        let crossings = zoneCrossings(changes).filter { zones[$0.value.zone]?.row.kind == .share }
        guard !crossings.isEmpty else { return [] }
        let edited = Set(
            changes.compactMap { change -> RecordID? in
                if case .edit(let id, _, _) = change { id } else { nil }
            })
        let elsewhere = placedElsewhere(changes)
        var result: [UnjudgedCrossing] = []
        try store.read { db in
            for (id, crossing) in crossings.sorted(by: { $0.key < $1.key }) where try db.base(id)?.kind == .folder {
                let photos = try photosGoing(with: id, to: crossing.path, besides: elsewhere, db)
                for (row, place) in photos where !edited.contains(row.id) {
                    var item = UnjudgedCrossing(folder: crossing.path, photo: row, place: place)
                    do {
                        // What is not there is gone, or is no photo any more.
                        guard let found = try files(row.root).entry(at: place), found.kind == .file,
                            !found.stamp.isUnchanged(from: row.stamp)
                        else { continue }
                        item.stamp = found.stamp
                    } catch let error as FileError { if error.isAbsence { continue } }
                    result.append(item)
                }
            }
        }
        return result
    }

    private func placedElsewhere(_ changes: [LocalChange]) -> Set<RecordID> {
        Set(
            changes.compactMap { change in
                switch change {
                case .place(let id, _, _, _, _), .delete(let id): id
                case .restamp, .edit, .create: nil
                }
            })
    }

    /// The sidecar that went along with a photo, if it is not as last seen. What can't be read now is read where it is then.
    private func changedSidecar(
        _ sidecar: SidecarRow, of row: BaseRow, at place: RelativePath
    ) throws -> (DirectoryEntry, SidecarDocument)? {
        guard let name = place.last else { return nil }
        for candidate in SidecarName.candidates(for: name) {
            let path = place.parent.appending(candidate)
            guard let entry = try? files(row.root).entry(at: path), entry.kind == .file,
                !entry.stamp.isUnchanged(from: sidecar.stamp),
                let bytes = try? files(row.root).readAll(path, maxBytes: SidecarDocument.bytesMax),
                case .document(let document) = SidecarDocument.read(bytes), document.record == row.id.name,
                try isUnderstood(document, of: row.id)
            else { continue }
            return (entry, document)
        }
        return nil
    }

    private func takeCrossing(
        _ document: SidecarDocument, _ entry: DirectoryEntry, of row: BaseRow, at place: RelativePath, author: String
    ) throws -> Int {
        let path = display(place.parent.appending(entry.name), row.root)
        let count = try take(document, entry: entry, of: row, path: path, author: author)
        // It is shown already, and goes along like what was there before.
        try store.write { db in
            guard var shown = try db.base(row.id), let last = try db.state(of: row.id)?.vector[replica] else {
                return
            }
            shown.vector.formUnion([replica: last])
            try db.setBase(shown)
        }
        return count
    }

    /// The photos that go to a path, or lie in a folder that does, with where they are then.
    private func photosGoing(
        with id: RecordID, to path: RelativePath, besides elsewhere: Set<RecordID>, _ db: Database
    ) throws -> [(BaseRow, RelativePath)] {
        guard let row = try db.base(id) else { return [] }
        guard row.kind == .folder else { return [(row, path)] }
        return try db.baseChildren(of: id, root: row.root).flatMap { child in
            guard !elsewhere.contains(child.id), child.id.zone == id.zone, !child.id.isZoneRoot, !child.isParked else {
                return [(BaseRow, RelativePath)]()
            }
            return try photosGoing(with: child.id, to: path.appending(child.name), besides: elsewhere, db)
        }
    }
}
