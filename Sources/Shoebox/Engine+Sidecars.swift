import Foundation
import ShoeboxLibrary
import ShoeboxModel
import ShoeboxPlanning
import ShoeboxStore
import ShoeboxWorld

import class GRDB.Database

extension Engine {
    /// What a file with a sidecar's name is.
    enum SidecarStanding {
        /// Ours, and as last seen.
        case unchanged
        /// Ours, to be read.
        case own
        /// An ordinary file.
        case foreign
        /// Not to be told now: reading it failed.
        case unreadable(FileError)
    }

    /// Tells sidecars from ordinary JSON files without reading those that are known.
    func sidecarStanding(_ entry: DirectoryEntry, in directory: RelativePath, folder: RecordID?, root: RootKind) throws
        -> SidecarStanding
    {
        var isKnown = false
        if let folder {
            let known = try store.read { db in
                try SidecarName.photos(for: entry.name).compactMap { photo -> SidecarRow? in
                    guard let row = try db.base(named: photo, in: folder, root: root), row.kind == .file else {
                        return nil
                    }
                    return try db.sidecar(row.id)
                }
            }
            if known.contains(where: { $0.name == entry.name && $0.stamp.isUnchanged(from: entry.stamp) }) {
                return .unchanged
            }
            isKnown = known.contains { $0.name == entry.name && !$0.rev.isEmpty }
        }
        let path = directory.appending(entry.name)
        let bytes: [UInt8]
        do { bytes = try files(root).readAll(path, maxBytes: SidecarDocument.bytesMax) } catch {
            if isKnown { return .own }
            // Only what is too large to be a sidecar is known to be none.
            return error.code == .badName ? .foreign : .unreadable(error)
        }
        switch SidecarDocument.read(bytes) {
        case .document, .newer: return .own
        case .broken: return .own
        case .foreign: return isKnown ? .own : .foreign
        }
    }

    /// The record that the sidecar beside a new file names.
    func sidecarHint(for path: RelativePath, root: RootKind) -> RecordName? {
        guard let name = path.last else { return nil }
        for candidate in SidecarName.candidates(for: name) {
            guard
                let bytes = try? files(root).readAll(
                    path.parent.appending(candidate), maxBytes: SidecarDocument.bytesMax),
                case .document(let document) = SidecarDocument.read(bytes)
            else { continue }
            return document.record
        }
        return nil
    }

    /// Takes what people and other programs changed in sidecars into the history; returns how many changes that were.
    func readSidecars(
        _ entries: [DirectoryEntry], in directory: RelativePath, root: RootKind, author: String
    ) throws -> Int {
        guard let folder = try store.read({ db in try db.base(at: directory, root: root, top: top(root)) }) else {
            return 0
        }
        var count = 0
        for entry in entries {
            let path = directory.appending(entry.name)
            let row = try store.read { db in
                try SidecarName.photos(for: entry.name).lazy.compactMap {
                    try db.base(named: $0, in: folder, root: root)
                }.first { $0.kind == .file }
            }
            // A sidecar whose photo is not here (any more) is left where it is.
            guard let row else { continue }
            // Whose it is follows from what becomes of the photo.
            guard !isUndecided(row, at: directory.appending(row.name)) else { continue }
            let shown = display(path, root)
            let bytes: [UInt8]
            do { bytes = try files(root).readAll(path, maxBytes: SidecarDocument.bytesMax) } catch {
                guard error.code != .absent else { continue }
                guard !error.mayPass else {
                    try report(
                        "unreadable", path: shown, "The sidecar '\(shown)' cannot be read: \(error.reason).",
                        "It is read again by itself. Until then the last good values stay; if this stays, check the disk."
                    )
                    later[.init(root: root, path: directory)] =
                        world.uptimeMilliseconds() + settings.errorPauseMilliseconds
                    continue
                }
                try report(
                    "sidecarBroken", path: shown, "The sidecar '\(shown)' cannot be read: \(error.reason).",
                    "Make it readable, or delete it and it is written anew. Until then the last good values stay.")
                continue
            }
            try clearProblem("unreadable", path: shown)
            switch SidecarDocument.read(bytes, wasOurs: true) {
            case .document(let document):
                try clearProblem("sidecarBroken", path: shown)
                guard try !store.read({ db in try isOrphan(entry, beside: row.id, db) }) else { continue }
                guard try isUnderstood(document, of: row.id) else {
                    awaitedSidecars.insert(.init(root: root, path: directory))
                    continue
                }
                if let other = try ownerElsewhere(of: document, entry, beside: row, in: directory) {
                    // Both photos get one that says what is said of them.
                    try store.write { db in
                        try oweRemoval(of: entry.name, entry.stamp, of: other, in: row.parent, root, db)
                        try db.removeSidecar(other)
                        for id in [other, row.id] { try db.markDirty(id) }
                    }
                    try removeOrphans()
                    continue
                }
                count += try take(document, entry: entry, of: row, path: shown, author: author)
            case .broken(let problem):
                try report(
                    "sidecarBroken", path: shown, "The sidecar '\(shown)' cannot be read: \(problem).",
                    problem.remedy + " Until then the last good values stay, and the file is left alone.")
            case .newer(let format):
                try report(
                    "sidecarNewer", path: shown, "The sidecar '\(shown)' is of a newer version (\(format)).",
                    "Update shoebox to edit this photo's tags in the file; it is left alone.")
            case .foreign:
                try report(
                    "sidecarBroken", path: shown,
                    "The sidecar '\(shown)' is no sidecar any more: its format is missing.",
                    "Put '\"format\": \"\(SidecarDocument.format)\"' back, or delete the file and it is written anew.")
            }
        }
        return count
    }

    /// Whether another file stands in the place of a known one, and it was not judged yet what that means: it may still be
    /// written, wait for a look elsewhere, or could not be read.
    private func isUndecided(_ row: BaseRow, at path: RelativePath) -> Bool {
        guard row.stamp.birthNanoseconds != 0 else { return false }
        do throws(FileError) {
            // Where nothing stands, there is nothing to be judged.
            guard let entry = try files(row.root).entry(at: path) else { return false }
            return entry.kind == .file && !entry.stamp.isSameFile(as: row.stamp)
        } catch {
            guard error.mayPass else { return false }
            later[.init(root: row.root, path: path.parent)] = world.uptimeMilliseconds() + settings.settleMilliseconds
            return true
        }
    }

    /// Sidecars that are gone from directories whose photos are still there are written anew: deleting one deletes
    /// nothing of what it says.
    ///
    /// - Parameters:
    ///   - listed: the directories that were listed.
    ///   - seen: the names in them that a sidecar may have.
    ///   - besides: records whose files are gone, too.
    func forgetLostSidecars(
        listed: Set<RecordID>, seen: [RecordID: Set<FileName>], besides: Set<RecordID>, root: RootKind
    ) throws {
        guard settings.sidecars != .never else { return }
        let unseen = try store.read { db -> [(id: RecordID, path: RelativePath)] in
            guard try db.hasSidecars() else { return [] }
            return try listed.sorted().flatMap { folder -> [(id: RecordID, path: RelativePath)] in
                guard let path = try db.basePath(of: folder, top: [top(root)]) else { return [] }
                return try db.sidecarNames(in: folder, root: root)
                    .filter { !besides.contains($0.id) && seen[folder]?.contains($0.name) != true }
                    .map { (id: $0.id, path: path.appending($0.name)) }
            }
        }
        let lost = try unseen.filter { id, path in
            // It may have followed its photo since the directory was listed, or have gone with it elsewhere.
            guard files(root).isAbsent(path), let row = try store.read({ db in try db.base(id) }) else { return false }
            return !isUndecided(row, at: path.parent.appending(row.name))
        }.filter { id, path in isLostForLong(id, in: path.parent, root) }.map(\.id)
        guard !lost.isEmpty else { return }
        try store.write { db in
            for id in lost {
                try db.removeSidecar(id)
                try db.markDirty(id)
            }
        }
    }

    /// Whether a sidecar is gone for as long as a photo is before that counts as deleted. Somebody may be just removing the
    /// whole folder: what is written into it then keeps it from going, and it looks as if only its photos had been deleted.
    private func isLostForLong(_ id: RecordID, in directory: RelativePath, _ root: RootKind) -> Bool {
        let now = world.uptimeMilliseconds()
        let isForeign = zones[id.zone]?.row.isMine == false
        let wait = isForeign ? settings.foreignDeletionMilliseconds : settings.deletionMilliseconds
        var since = lostSidecars[id] ?? now
        // It was there again in between.
        if now > since + 2 * wait + settings.foreignDeletionMilliseconds { since = now }
        lostSidecars[id] = since
        let newest = missing.filter { $0.key.zone == id.zone }.values.max() ?? since
        let due = max(since, newest) + wait
        guard now < due else {
            lostSidecars[id] = nil
            return true
        }
        let place = WatchedPath(root: root, path: directory)
        later[place] = min(later[place] ?? .max, due)
        return false
    }

    private func refusedEdit(of path: String, in zone: ZoneID) -> Problem {
        Problem(
            code: "undone", path: path, zone: zone,
            message:
                "'\(path)' was edited in '\(zones[zone]?.control.title ?? "")', \(permissionText(zone)); the sidecar is written again as it was, yours is in the trash.",
            remedy: "Ask the owner for 'readWrite' to change what the others see of these photos.")
    }

    func take(
        _ document: SidecarDocument, entry: DirectoryEntry, of row: BaseRow, path: String, author: String
    ) throws -> Int {
        let id = row.id
        let rev = document.record == id.name ? document.rev : nil
        func edits(_ db: Database) throws -> (all: [SidecarEdit], permitted: [SidecarEdit]) {
            let all = try self.edits(in: document, called: entry.name, of: id, db)
            return (all, try all.filter { try may($0.action, id, db) })
        }
        let asked = try store.read { db in try edits(db) }
        let isRefused = asked.permitted.count < asked.all.count
        // What does not count is not lost: the file goes to the trash before anything else is noted, and another is
        // written. It is said before it is done: once the file is gone, nothing finds the edit again.
        if isRefused {
            let refusal = refusedEdit(of: path, in: id.zone)
            try report(refusal) { _ in }
            guard try putAway(entry, beside: row, record: id) else {
                try clearProblem(refusal.code, path: path, zone: id.zone)
                return 0
            }
        }
        var count = 0
        try store.write { db in
            let permitted = try edits(db).permitted
            if !permitted.isEmpty {
                var writer = try HistoryWriter(db, engine: self, author: author)
                try apply(permitted.filter(\.isAcceptable), to: id, writer: &writer)
                try writer.finish()
                count = writer.count
            }
            if isRefused {
                try db.removeSidecar(id)
            } else {
                try noteRead(document, called: entry.name, of: id, db)
                try db.setSidecar(SidecarRow(id: id, name: entry.name, stamp: entry.stamp, rev: rev ?? ""))
                if rev == nil {
                    try db.setSidecarState(
                        rev: "", of: id, fields: Data(document.encoded()), nowMilliseconds: world.nowMilliseconds(),
                        keptMilliseconds: sidecarStateMilliseconds)
                }
            }
            // What the file says and what the record says may differ now: it is written again if so.
            try db.markDirty(id)
        }
        if document.fields.rating.map({ !(0...5).contains($0) }) == true {
            try report(
                "sidecarValue", path: path, "The rating in '\(path)' is not a number from 1 to 5; it is ignored.",
                "Write 1 to 5, or 0 for none.")
        } else {
            try clearProblem("sidecarValue", path: path)
        }
        return count
    }

    /// What a person changed in the sidecar of a record.
    ///
    /// - Parameter name: the file's.
    func edits(
        in document: SidecarDocument, called name: FileName, of id: RecordID, _ db: Database
    ) throws -> [SidecarEdit] {
        let rev = document.record == id.name ? document.rev : nil
        let current = try details(of: id, db).sidecar
        let back = try document.record == id.name ? nil : fieldsBroughtBack(document, of: id, db)
        let shown = try rev.flatMap { try db.sidecarState(rev: $0, of: id) }.flatMap(Self.fields) ?? back?.shown
        var file = try document.record == id.name ? document.fields : back?.file ?? fieldsByNow(document, db)
        // One that a person made, and that has been read: it says again what it said then, and may be behind by now.
        if shown == nil, try db.sidecar(id)?.rev == "",
            let read = try db.sidecarState(rev: "", of: id).flatMap(Self.fields)
        {
            file = file.besides(read)
        }
        let edits = try sidecarEdits(file: file, shown: shown, current: current).filter { edit in
            try rev == nil || shown != nil || !wasSaid(edit, of: id, db)
        }
        guard rev != nil, let shown else { return edits }
        return try edits + editsTakenBack(document, called: name, shown: shown, of: id, db)
    }

    /// The photo whose own sidecar this is, unchanged, though another one stands beside it now, as after a swap of names in
    /// which not all could be done. A copy of a sidecar is another file, and counts for the photo that it was put beside.
    private func ownerElsewhere(
        of document: SidecarDocument, _ entry: DirectoryEntry, beside row: BaseRow, in directory: RelativePath
    ) throws -> RecordID? {
        guard let name = document.record, name != row.id.name else { return nil }
        let place = WatchedPath(root: row.root, path: directory.appending(row.name))
        return try store.read { db in
            try zones.keys.sorted().lazy.map { RecordID(zone: $0, name: name) }.first { other in
                guard let own = try db.sidecar(other), entry.stamp.isUnchanged(from: own.stamp) else { return false }
                guard let known = try db.base(other) else { return false }
                let departure = try db.departure(of: other)
                guard departure?.root != place.root || departure?.path != place.path else { return false }
                // Aside it has no place, and its sidecar has not followed yet.
                if known.isParked { return known.root == row.root }
                // Of one that is gone by now nothing is elsewhere: it was saved by an editor and moved, sidecar and all.
                guard let path = try db.basePath(of: other, top: [top(known.root)]), !files(known.root).isAbsent(path)
                else { return false }
                // From the one watched folder to the other both were moved, and the photo has become another record.
                return known.root == row.root || known.contentHash != row.contentHash
            }
        }
    }

    /// Moves an edited sidecar to the trash; false if that could not be done now, and is to be tried again.
    private func putAway(_ entry: DirectoryEntry, beside row: BaseRow, record: RecordID) throws -> Bool {
        guard let directory = try store.read({ db in try db.basePath(of: row.parent, top: [top(row.root)]) }) else {
            return false
        }
        let path = directory.appending(entry.name)
        switch makeApplier(row.root).trash(path, expecting: entry.stamp, record: record) {
        case .done: return true
        case .stale(let reason):
            log("'\(display(path, row.root))' was not put away: \(reason)")
            lookAtObstacle(in: .init(root: row.root, path: directory))
            return false
        case .failed(let error): try reportUnwritten(path, root: row.root, error)
        }
        later[.init(root: row.root, path: directory)] = world.uptimeMilliseconds() + settings.settleMilliseconds
        return false
    }

    static func fields(_ data: Data) -> SidecarFields? {
        guard case .document(let document) = SidecarDocument.read(Array(data)) else { return nil }
        return document.fields
    }
}

extension SidecarEdit {
    /// What its author must be allowed to do.
    var action: SharingAction {
        switch self {
        case .addTag, .removeTag: .tag
        case .setRating, .clearRating: .rate
        case .setCaption, .clearCaption, .setCustom, .clearCustom: .editRecord
        }
    }

    /// Whether the value is one that a record may have.
    var isAcceptable: Bool {
        switch self {
        case .setRating(let value): (0...5).contains(value)
        case .addTag(let title): title.utf8.count <= 200
        default: true
        }
    }
}
