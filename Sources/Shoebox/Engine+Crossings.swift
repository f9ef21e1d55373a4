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
            guard let changed = try changedSidecar(sidecar, of: row.id, at: place, row.root) else { continue }
            count += try takeCrossing(changed, of: row, author: author)
        }
        return count
    }

    /// What is said anew of photos on their way into a share. In sidecars that go from one share to another that is read where they
    /// are then, and what they said before is not for the people there.
    func rewrittenByCrossings(_ changes: [LocalChange]) throws -> [RecordID: RewrittenDetails] {
        var result = try rewrittenElsewhere(changes)
        for (row, place, sidecar) in try crossingSidecars(changes, where: { isShare($0) && isShare($1) }) {
            guard let changed = try changedSidecar(sidecar, of: row.id, at: place, row.root) else { continue }
            let said = try store.read { db in
                try edits(in: changed.document, called: changed.entry.name, of: row.id, db)
            }
            for record in [row.id] + row.twins { result[record, default: RewrittenDetails()].formUnion(said) }
        }
        return result
    }

    /// What photos said that have been something else in the other watched folder, and go into a share from there: in their own folder
    /// they still show as what they were. What counts is what was made of them there, by which their sidecars are read then.
    private func rewrittenElsewhere(_ changes: [LocalChange]) throws -> [RecordID: RewrittenDetails] {
        let crossings = zoneCrossings(changes).filter { isShare($0.value.zone) }
        guard !crossings.isEmpty else { return [:] }
        let elsewhere = placedElsewhere(changes)
        let going = try store.read { db in
            try crossings.sorted { $0.key < $1.key }.flatMap { id, crossing in
                try photosGoing(with: id, to: crossing.path, besides: elsewhere, db)
            }
        }
        var result: [RecordID: RewrittenDetails] = [:]
        for (row, place) in going {
            guard let id = try interlude(of: row, at: place) else { continue }
            let sidecar = try store.read { db in try db.sidecar(id) }
            let changed = try changedSidecar(sidecar, of: id, at: place, row.root)
            let said = try store.read { db in
                try editsBetween(row.id, and: id, db)
                    + (changed.map { try edits(in: $0.document, called: $0.entry.name, of: id, db) } ?? [])
            }
            for record in [row.id] + row.twins { result[record, default: RewrittenDetails()].formUnion(said) }
        }
        return result
    }

    /// What a photo became in the other watched folder; nil if it has not been there. One that was carried to and fro by itself,
    /// and of which nothing was said there, is as if it had gone straight.
    private func interlude(of row: BaseRow, at place: RelativePath) throws -> RecordID? {
        let (departure, own) = try store.read { db in (try db.departure(of: row.id), try db.sidecar(row.id)) }
        let known = departure.flatMap { $0.former == row.stamp.identity ? $0.record : nil }
        // A sidecar that has not been read there yet tells itself what was changed.
        guard known == nil || sidecarHint(for: place, root: row.root) != row.id.name else { return nil }
        // What was copied there, and deleted where it was, is known by its sidecar alone.
        let name = try known == nil ? awaitedSidecars(beside: place, row.root, unlike: own).first?.document.record : nil
        return try store.read { db in
            guard let id = try known ?? name.flatMap({ try self.record(named: $0, like: row, db) }), id != row.id,
                try isAnythingSaid(of: id, db)
            else { return nil }
            return id
        }
    }

    /// Another record of the content of a photo, by its name.
    private func record(named name: RecordName, like row: BaseRow, _ db: Database) throws -> RecordID? {
        guard name != row.id.name else { return nil }
        var former: RecordID?
        for id in zones.keys.sorted().map({ RecordID(zone: $0, name: name) }) {
            guard let state = try db.state(of: id), state[.content]?.asset?.contentHash == row.contentHash else {
                continue
            }
            // Where it is, rather than where it was.
            if state.isLive { return id }
            former = former ?? id
        }
        return former
    }

    /// What is said otherwise of what a photo became: what is not said there has been taken away.
    private func editsBetween(_ former: RecordID, and id: RecordID, _ db: Database) throws -> [SidecarEdit] {
        let before = try details(of: former, db).sidecar
        var now = try details(of: id, db).sidecar
        now.caption = now.caption ?? ""
        now.tags = now.tags ?? []
        now.rating = now.rating ?? 0
        now.custom.merge(before.custom.mapValues { _ in "null" }) { said, _ in said }
        return sidecarEdits(file: now, shown: before)
    }

    /// Whether anything was ever said of a photo, taken back or not.
    private func isAnythingSaid(of id: RecordID, _ db: Database) throws -> Bool {
        guard let state = try db.state(of: id) else { return false }
        let isSaid = state.fields.keys.contains { $0 == .caption || $0.customKey != nil }
        return try isSaid || !db.allCompanions(of: id).isEmpty
    }

    private func crossingSidecars(
        _ changes: [LocalChange], where isMeant: (_ from: ZoneID, _ to: ZoneID) -> Bool
    ) throws -> [(BaseRow, RelativePath, SidecarRow?)] {
        let crossings = zoneCrossings(changes).filter { isMeant($0.key.zone, $0.value.zone) }
        guard !crossings.isEmpty else { return [] }
        let elsewhere = placedElsewhere(changes)
        return try store.read { db in
            try crossings.sorted { $0.key < $1.key }.flatMap { id, crossing in
                try photosGoing(with: id, to: crossing.path, besides: elsewhere, db).compactMap { row, place in
                    let sidecar = try db.sidecar(row.id)
                    // Of one that has none yet, a person may have made one where it went.
                    return try sidecar != nil || isAnythingSaid(of: row.id, db) ? (row, place, sidecar) : nil
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

    /// A sidecar that was changed.
    private struct ChangedSidecar {
        var directory: RelativePath
        var entry: DirectoryEntry
        var document: SidecarDocument
    }

    /// The sidecar of a record, or one that a person made, that lies beside a photo where that went, if it is not as last
    /// seen; where none does, the record's own one where the photo was, which follows it.
    /// - Throws: `LookPutOff` if it can't be read now. What has been so for a while is read where it is then.
    private func changedSidecar(
        _ sidecar: SidecarRow?, of id: RecordID, at place: RelativePath, _ root: RootKind
    ) throws -> ChangedSidecar? {
        let found = try awaitedSidecars(beside: place, root, unlike: sidecar).filter { entry, document in
            try (document.record ?? id.name) == id.name && isUnderstood(document, of: id)
                && !isKept(place.parent.appending(entry.name), entry, root)
        }
        // Of two, as where one was copied, the one that was written last for it says what was changed.
        if let (entry, document) = found.first(where: { $0.entry.name == sidecar?.name }) ?? found.first {
            return ChangedSidecar(directory: place.parent, entry: entry, document: document)
        }
        return try sidecar.flatMap { try sidecarLeft($0, of: id, root) }
    }

    /// The sidecar of a photo that went without it, if it was changed where it is.
    private func sidecarLeft(_ known: SidecarRow, of id: RecordID, _ root: RootKind) throws -> ChangedSidecar? {
        let former = try store.read { db -> RelativePath? in
            guard let row = try db.base(id), row.root == root else { return nil }
            return try db.basePath(of: row.parent, top: [top(root)])
        }
        guard let former else { return nil }
        let path = former.appending(known.name)
        return try awaiting(.init(root: root, path: path), in: root) { () throws(FileError) -> ChangedSidecar? in
            guard let entry = try files(root).entry(at: path), entry.kind == .file,
                !entry.stamp.isUnchanged(from: known.stamp),
                case .document(let document) = SidecarDocument.read(
                    try files(root).readAll(path, maxBytes: SidecarDocument.bytesMax)),
                document.record == id.name
            else { return nil }
            return ChangedSidecar(directory: former, entry: entry, document: document)
        } ?? nil
    }

    /// The sidecars beside a place to which a photo goes; none if they have been unreadable for a while.
    private func awaitedSidecars(
        beside place: RelativePath, _ root: RootKind, unlike known: SidecarRow?
    ) throws(LookPutOff) -> [(entry: DirectoryEntry, document: SidecarDocument)] {
        try awaiting(.init(root: root, path: place), in: root) { () throws(FileError) in
            try sidecars(beside: place, root, unlike: known)
        } ?? []
    }

    /// The sidecars beside a place, without the one that is as it was last seen, and without what is none or can't be read for good.
    ///
    /// - Parameter isPassedOver: whether what can't be read just now is passed over, too.
    /// - Throws: an error that may pass.
    func sidecars(
        beside place: RelativePath, _ root: RootKind, unlike known: SidecarRow?, passingOver isPassedOver: Bool = false
    ) throws(FileError) -> [(entry: DirectoryEntry, document: SidecarDocument)] {
        guard let name = place.last else { return [] }
        var result: [(entry: DirectoryEntry, document: SidecarDocument)] = []
        for candidate in SidecarName.candidates(for: name) {
            let path = place.parent.appending(candidate)
            do throws(FileError) {
                guard let entry = try files(root).entry(at: path), entry.kind == .file,
                    known.map({ entry.stamp.isUnchanged(from: $0.stamp) }) != true,
                    case .document(let document) = SidecarDocument.read(
                        try files(root).readAll(path, maxBytes: SidecarDocument.bytesMax))
                else { continue }
                result.append((entry, document))
            } catch { guard isPassedOver || !error.mayPass else { throw error } }
        }
        return result
    }

    private func takeCrossing(_ sidecar: ChangedSidecar, of row: BaseRow, author: String) throws -> Int {
        let path = display(sidecar.directory.appending(sidecar.entry.name), row.root)
        let count = try take(sidecar.document, entry: sidecar.entry, of: row, path: path, author: author)
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
