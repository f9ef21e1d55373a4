import ShoeboxCloud
import ShoeboxLibrary
import ShoeboxModel
import ShoeboxPlanning
import ShoeboxStore
import ShoeboxWorld

import class GRDB.Database

// Bytes that a person wrote into a share where they don't count: one copy a record goes into the own library, then the
// original comes back. That a copy is owed is stored in the transaction that makes the bytes not count, so that no crash
// comes between; until it is made, nothing touches the file.

/// Why a file's bytes do not count for the others.
enum PrivateCopyReason: String {
    /// Edited where this account may not edit.
    case notPermitted
    /// Edited while it was permitted, and not published before that ended.
    case notPublished
    /// Published after the owner had closed the account's interval, without knowing that.
    case refused
}

private let owedPrefix = "copyOwed."
/// Whether copies were made of which a power cut may still take the bytes.
private let unsettledKey = "copiesUnsettled"

extension Engine {
    private func owedKey(_ id: RecordID) -> String { "\(owedPrefix)\(id.zone).\(id.name)" }
    /// Where the last copy of a record was put, and the hash of its bytes.
    private func copyKey(_ id: RecordID) -> String { "copy:\(id)" }
    private func copyHashKey(_ id: RecordID) -> String { "copyHash:\(id)" }

    /// Where the last copy of a record was put.
    func placeOfLastCopy(of id: RecordID, _ db: Database) throws -> RelativePath? {
        guard let text = try db.metaText(copyKey(id)) else { return nil }
        guard text.hasPrefix("/") else { return RelativePath(text) }
        var reference = PathReference(root: .library, path: RelativePath())
        reference.pathHex = String(text.dropFirst())
        return reference.path
    }

    /// Notes that a copy of what the folder shows of a record is owed to its user.
    func owePrivateCopy(of id: RecordID, _ reason: PrivateCopyReason, _ db: Database) throws {
        try db.setMetaText(owedKey(id), reason.rawValue)
    }

    /// The records whose bytes are to be copied before anything is done to their files.
    func owedCopies(_ db: Database) throws -> [RecordID: PrivateCopyReason] {
        var result: [RecordID: PrivateCopyReason] = [:]
        for (key, text) in try db.metaTexts(prefix: owedPrefix) {
            guard let id = Self.owedRecord(key.dropFirst(owedPrefix.count)) else { continue }
            result[id] = PrivateCopyReason(rawValue: text) ?? .notPermitted
        }
        return result
    }

    /// The record of a key of something owed, written as its zone and name with a full stop between.
    static func owedRecord(_ text: Substring) -> RecordID? {
        let parts = text.split(separator: ".")
        guard parts.count == 2, let zone = ZoneID(hex: parts[0]), let name = RecordName(text: parts[1]) else {
            return nil
        }
        return RecordID(zone: zone, name: name)
    }

    /// Makes the copies that are owed, as far as that can be done now.
    func makeOwedCopies() throws {
        let owed = try store.read { db in try owedCopies(db) }
        for (id, reason) in owed.sorted(by: { $0.key < $1.key }) {
            guard let row = try store.read({ db in try db.base(id) }), zones[id.zone] != nil else {
                try store.write { db in try db.setMetaText(owedKey(id), nil) }
                continue
            }
            guard try checkRoot(row.root), try checkRoot(.library) else { continue }
            let title = zones[id.zone]?.control.title ?? "share"
            do {
                // What is not there was moved, or is deleted: once that is taken, it is copied, or not owed any more.
                guard try keepCopyInLibrary(row, folder: "Private copies of \(title)", isOwed: true) else {
                    try lookAgain(in: row.parent, row.root)
                    continue
                }
                try settleCopies()
            } catch let error as FileError {
                // Until the copy is made, the edited file stays: nowhere else are its bytes. A folder of copies that was
                // renamed in this moment is made anew.
                if error.isAbsence {
                    log("'\(row.name)' is not copied yet: \(error)")
                } else {
                    try reportUncopied(row, error)
                }
                continue
            }
            restoreAfter[id] = world.uptimeMilliseconds() + settings.restoreMilliseconds
            for code in ["diskFull", "notApplied"] {
                try clearProblem(code, path: row.name.description, zone: id.zone)
            }
            // Said before it counts as done, so that nobody finds an edit gone and no word of where it is.
            try reportPrivateCopy(row, title: title, reason)
            try store.write { db in
                try db.setMetaText(owedKey(id), nil)
                try db.markDirty(id)
            }
        }
    }

    /// Has a folder looked at in which something is not what it was when it was last taken.
    private func lookAgain(in folder: RecordID, _ root: RootKind) throws {
        guard let path = try store.read({ db in try db.basePath(of: folder, top: [top(root)]) }) else { return }
        let place = WatchedPath(root: root, path: path)
        later[place] = later[place] ?? world.uptimeMilliseconds() + 200
    }

    private func reportPrivateCopy(_ row: BaseRow, title: String, _ reason: PrivateCopyReason) throws {
        let copy = try store.read { db in try placeOfLastCopy(of: row.id, db) }
        let folder = copy?.parent.last.map { "\($0)" } ?? "Private copies of \(title)"
        let what =
            switch reason {
            case .notPermitted:
                "'\(row.name)' was changed in '\(title)', \(permissionText(row.id.zone)). Your version is"
            case .notPublished:
                "Your change of '\(row.name)' in '\(title)' was not published before your permission was changed. It is"
            case .refused:
                "Your change of '\(row.name)' in '\(title)' came after your permission was changed, and counts for nobody. It is"
            }
        try report(
            "undone", path: row.name.description, zone: row.id.zone,
            "\(what) in '\(folder)' in your library.",
            "The original comes back. Ask the owner for 'readWrite' to change it for everyone.")
    }

    /// Says that an edit that counts for nobody could not be copied into the library.
    private func reportUncopied(_ row: BaseRow, _ error: FileError) throws {
        try report(
            error.code == .full ? "diskFull" : "notApplied", path: row.name.description, zone: row.id.zone,
            "Your version of '\(row.name)', in a share \(permissionText(row.id.zone)), cannot be copied into your library: \(error.reason).",
            "It stays in the shared folder until then. Free some space in the library folder; it is tried again by itself."
        )
    }

    /// Makes the copies in the library durable. Before the original gives way, and, after a crash, before the library is
    /// looked at: nobody else writes them again, and a copy that a power cut emptied would be taken for an edit.
    func settleCopies() throws {
        guard try store.read({ db in try db.metaText(unsettledKey) }) != nil else { return }
        try world.library.synchronize()
        try store.write { db in try db.setMetaText(unsettledKey, nil) }
    }

    /// Copies a shown file into a folder at the top of the library, under its own name; a former copy of the same
    /// record there that nobody has touched is replaced, into the trash. False if the file is not there. Safe from a
    /// power cut after `settleCopies`.
    ///
    /// - Parameter isOwed: whether just the bytes that were taken are meant, and not those of another file that has their
    ///   place by now.
    /// - Parameter details: what is to be said of it there; a copy of the same bytes of which something else is said is
    ///   another one.
    /// - Throws: `FileError`, `.offline` if one of the folders is not there.
    @discardableResult
    func keepCopyInLibrary(
        _ row: BaseRow, folder: String, isOwed: Bool = false, saying details: PhotoDetails = PhotoDetails()
    ) throws -> Bool {
        guard let parent = try store.read({ db in try db.basePath(of: row.parent, top: [top(row.root)]) }) else {
            return false
        }
        guard try checkRoot(.library) else {
            throw FileError(
                code: .offline, operation: "copy", path: folder, reason: "the library folder is not there")
        }
        let source = parent.appending(row.name)
        guard let (file, hash, stamp) = try openIfThere(source, files(row.root)) else { return false }
        if isOwed, hash != row.contentHash, !stamp.isSameFile(as: row.stamp) { return false }
        try store.write { db in try db.setMetaText(unsettledKey, "1") }
        guard let (target, replaced) = try placeOfCopy(of: row, hash, in: try folderOfCopies(folder), saying: details)
        else {
            return true
        }
        var copier = FileApplier(
            world.library, nowMilliseconds: world.nowMilliseconds, randomBytes: world.randomBytes,
            content: { _, _ in
                FileContent(mode: 0o644, modifiedNanoseconds: stamp.modifiedNanoseconds) { take in
                    try stream(file, into: take)
                }
            }, recordIntent: { _ in })
        copier.isDurable = true
        let outcome = copier.apply(.write(row.id, at: target, contentHash: hash, replacing: replaced))
        if case .failed(let error) = outcome { throw error }
        if case .stale(let reason) = outcome {
            throw FileError(code: .exists, operation: "copy", path: target.description, reason: reason)
        }
        try noteCopy(of: row.id, hash, at: target)
        return true
    }

    /// Where a copy of a record goes: in the place of the last one, if nobody has touched that since, and else under the
    /// first name that is free. `replaced` is what is there. Nil if some such file has the bytes already, from a command
    /// that failed or died before that was noted.
    private func placeOfCopy(
        of row: BaseRow, _ hash: Digest32, in directory: RelativePath, saying details: PhotoDetails
    ) throws -> (target: RelativePath, replaced: FileStamp?)? {
        let former = try store.read { db in
            (path: try placeOfLastCopy(of: row.id, db), hash: try db.metaText(copyHashKey(row.id)))
        }
        let last = former.path
        var number = 0
        while true {
            let mark = row.id.name.description.prefix(8)
            let suffix =
                switch number {
                case 0: ""
                case 1: " (\(mark))"
                default: " (\(mark) \(number))"
                }
            let name = (details.isEmpty ? row.name : SidecarName.leavingRoom(row.name, besides: suffix)).inserting(
                suffix)
            let target = number == 0 && last?.parent == directory ? last ?? directory : directory.appending(name)
            number += 1
            guard let entry = try world.library.entry(at: target) else { return (target, nil) }
            guard entry.kind == .file else { continue }
            let (present, stamp) = try ContentHasher.hash(target, world.library)
            if present == hash {
                guard try says(details, of: target) else { continue }
                try noteCopy(of: row.id, hash, at: target)
                return nil
            }
            // One that its user went on with, or put there, is no copy of this record's any more. A power cut empties one.
            guard stamp.size == 0 || (target == last && former.hash == present.description) else { continue }
            if try says(details, of: target) { return (target, stamp) }
        }
    }

    private func openIfThere(
        _ path: RelativePath, _ files: any LocalFileSystem
    ) throws(FileError) -> (file: any ReadableFile, hash: Digest32, stamp: FileStamp)? {
        do {
            let (hash, stamp) = try ContentHasher.hash(path, files)
            return (try files.open(path), hash, stamp)
        } catch {
            guard error.isAbsence else { throw error }
            return nil
        }
    }

    /// The folder at the top of the library in which copies are kept: of its name, or, where a file stands, or a folder that is
    /// shared by now, of the first free one of `Name 2`, `Name 3`….
    private func folderOfCopies(_ name: String) throws -> RelativePath {
        var number = 1
        while true {
            let directory = RelativePath([FileName(safe: number == 1 ? name : "\(name) \(number)")])
            guard let entry = try world.library.entry(at: directory) else {
                try world.library.makeDirectory(directory)
                return directory
            }
            if entry.kind == .directory, try !isShared(directory) { return directory }
            number += 1
        }
    }

    /// Whether a folder of the library is that of a share: copies are for their user alone.
    private func isShared(_ directory: RelativePath) throws -> Bool {
        try store.read { db in try db.base(at: directory, root: .library, top: top(.library)) }.map { isShare($0.zone) }
            ?? false
    }

    private func noteCopy(of id: RecordID, _ hash: Digest32, at path: RelativePath) throws {
        // In hexadecimal, as a name may be no text.
        let text = "/" + PathReference(root: .library, path: path).pathHex
        try store.write { db in
            try db.setMetaText(copyKey(id), text)
            try db.setMetaText(copyHashKey(id), hash.description)
        }
        later[.init(root: .library, path: path.parent)] = world.uptimeMilliseconds()
    }

    // MARK: After a change of what this account may do

    /// After a control came into force: own changes that count no more, published or not, stay in the history; bytes among
    /// them that the folder still shows are owed to the user. In the transaction that stores the control.
    ///
    /// - Parameter refused: records of which changes count differently under the new control.
    /// - Returns: how many unpublished changes were given up.
    func giveUpWhatCountsNoMore(
        in zone: ZoneID, under control: Control, refused: Set<RecordName>, _ db: Database
    ) throws -> Int {
        for name in refused {
            let id = RecordID(zone: zone, name: name)
            let changes = try db.refusedChanges(of: id, by: replica).map(\.change)
            try oweNotices(of: changes, in: zone, .refused, db)
            guard let row = try db.base(id), row.kind == .file, let hash = row.contentHash,
                changes.contains(where: { $0.content?.contentHash == hash })
            else { continue }
            try owePrivateCopy(of: id, .refused, db)
        }
        // Who was put out keeps what is unpublished in another way: with all of the share, see `withdraw`.
        guard control.permission(of: account) > .none, !control.isStopped else { return 0 }
        let lost = try db.pendingNotCounting(
            in: zone, of: account,
            scope: account == control.owner ? .carried : control.permission(of: account).scope)
        for stored in lost where stored.change.content != nil {
            let id = RecordID(zone: zone, name: stored.change.record)
            if try db.base(id)?.kind == .file { try owePrivateCopy(of: id, .notPublished, db) }
        }
        try oweNotices(of: lost.map(\.change), in: zone, .notPublished, db)
        try db.refuse(lost.map(\.id), in: zone)
        try keepWhereTheyWere(lost, notComingTo: zone, db)
        return lost.count
    }

    /// What was to come to a zone from another one, and never arrives there, has not left that.
    ///
    /// - Parameter lost: changes of the zone that are never published.
    func keepWhereTheyWere(_ lost: [StoredChange], notComingTo zone: ZoneID, _ db: Database) throws {
        let coming = Dictionary(grouping: lost.filter { $0.change.movedFrom != nil }) { $0.change.movedFrom }
        for case (let from?, let arrivals) in coming {
            let names = Set(arrivals.map(\.change.record))
            let marks = try db.pendingChanges(in: from, limit: .max).filter {
                $0.change.action == .moved(to: zone) && names.contains($0.change.record)
            }
            try db.refuse(marks.map(\.id), in: from)
        }
    }
}
