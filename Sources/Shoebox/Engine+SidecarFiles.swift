import Foundation
import ShoeboxLibrary
import ShoeboxModel
import ShoeboxPlanning
import ShoeboxStore
import ShoeboxWorld

import class GRDB.Database

// Sidecars as files: written, moved along with their photos, and put away.

extension Engine {
    /// How long the states that sidecars were written from are kept, milliseconds: 30 days.
    var sidecarStateMilliseconds: UInt64 { 30 * 86_400_000 }

    /// Writes the sidecars of shown photos that have something to say, where the file does not say it yet; returns those
    /// for which that failed, to be tried again.
    func writeSidecars(
        for rows: [RecordRow], root: RootKind, outcome: inout ApplyOutcomes
    ) throws -> Set<RecordID> {
        guard settings.sidecars != .never else { return [] }
        var failed: Set<RecordID> = []
        let applier = makeApplier(root)
        for record in rows where record.type.hasContent && record.isLive {
            let found = try store.read { db -> (BaseRow, RelativePath, PhotoDetails, SidecarRow?)? in
                guard let row = try db.base(record.id), row.root == root else { return nil }
                guard !row.isParked, let directory = try db.basePath(of: row.parent, top: [top(root)]) else {
                    // It, or a folder that it is in, is on its way to another place: it is written there.
                    failed.insert(record.id)
                    return nil
                }
                return (row, directory, try details(of: record.id, db), try db.sidecar(record.id))
            }
            guard let (row, directory, details, former) = found else { continue }
            guard !details.isEmpty || former != nil || settings.sidecars == .always else { continue }
            do {
                // Another folder may have the name by now: there it would be what is said of some other photo.
                guard try isParentKnown(directory.appending(row.name), root) else {
                    failed.insert(record.id)
                    lookAtObstacle(in: .init(root: root, path: directory.parent))
                    continue
                }
                var meant = MeantFolders(files(root))
                meant.note(directory)
                switch try writeSidecar(details, of: row, in: directory, former: former, meant, applier: applier) {
                case true?: outcome.operations += 1
                case false?: continue
                case nil: failed.insert(record.id)
                }
            } catch let error as FileError {
                failed.insert(record.id)
                try reportUnwritten(directory.appending(row.name), root: root, error)
            }
        }
        return failed
    }

    /// Whether a sidecar was written; false if there was no need, or it is to be read first, nil if it failed.
    private func writeSidecar(
        _ details: PhotoDetails, of row: BaseRow, in directory: RelativePath, former: SidecarRow?,
        _ folders: MeantFolders, applier: FileApplier
    ) throws -> Bool? {
        let files = files(row.root)
        var taken: [FileName: FileStamp] = [:]
        for candidate in SidecarName.candidates(for: row.name) {
            if let entry = try files.entry(at: directory.appending(candidate)) { taken[candidate] = entry.stamp }
        }
        // Where it lies it stays, also if what had the better name is gone by now: a photo has one sidecar.
        let (lying, free) = (
            SidecarName.candidates(for: row.name).filter { taken[$0] != nil },
            SidecarName.candidates(for: row.name).filter { taken[$0] == nil }
        )
        let candidates = try (lying.filter { $0 == former?.name } + lying.filter { $0 != former?.name } + free).filter {
            try !isKept($0, in: row.parent, row.root)
        }
        var replaced: FileStamp?
        var unknown: JSONObject = [:]
        var name: FileName?
        for candidate in candidates {
            guard let stamp = taken[candidate] else {
                name = candidate
                break
            }
            let path = directory.appending(candidate)
            let bytes = try readSidecar(path, files)
            guard former?.name == candidate, let known = former?.stamp, known.isUnchanged(from: stamp) else {
                switch SidecarDocument.read(bytes) {
                case .foreign where former?.name != candidate: continue
                case .document where try isSidecar(candidate, stamp, ofOtherThan: row): continue
                case let found:
                    // Ours, and edited since it was last read: it is read before it is written. It may be gone by then.
                    let place = WatchedPath(root: row.root, path: directory)
                    if !awaitedSidecars.contains(place) { lookAtObstacle(in: place) }
                    guard case .document = found else { return false }
                    try reportObstacle(
                        "sidecarNotWritten", at: path, "what was written into it was not read yet", row.root)
                    return nil
                }
            }
            guard case .document(let document) = SidecarDocument.read(bytes) else { return false }
            let says = try store.read { db in try db.sidecarState(rev: document.rev ?? "", of: row.id) }.flatMap(
                Self.fields)
            if says == details.sidecar, document.fields == details.sidecar, document.record == row.id.name {
                return false
            }
            unknown = document.unknown
            replaced = stamp
            name = candidate
            break
        }
        guard let name else { return false }
        if replaced == nil, details.isEmpty, settings.sidecars == .whenNeeded { return false }
        guard try isPhotoThere(row, in: directory) else { return nil }
        let rev = encodeHex(world.randomBytes(8))
        let document = SidecarDocument(record: row.id.name, rev: rev, fields: details.sidecar, unknown: unknown)
        let mode: UInt16 = may(.rate, in: row.id.zone) ? 0o644 : 0o444
        let now = world.nowMilliseconds()
        // Before the file, so that what a power cut leaves of it is known again.
        try store.write { db in
            try db.setSidecarState(
                rev: rev, of: row.id, fields: Data(document.encoded()), nowMilliseconds: now,
                keptMilliseconds: sidecarStateMilliseconds)
        }
        let outcome = applier.put(
            document.encoded(), at: directory.appending(name), replacing: replaced, mode: mode)
        switch outcome {
        case .done(let stamp):
            guard let stamp else { return false }
            let isFolderThere = folders.isThere(directory)
            guard isFolderThere, try replaced != nil || isPhotoThere(row, in: directory) else {
                // There it would be said of some other photo.
                if replaced == nil, !files.hasWriter(directory.appending(name)),
                    try files.entry(at: directory.appending(name))?.stamp.isUnchanged(from: stamp) == true
                {
                    try files.removeFile(directory.appending(name))
                }
                if !isFolderThere { lookAtObstacle(in: .init(root: row.root, path: directory)) }
                return nil
            }
            try clearProblem("sidecarNotWritten", path: display(directory.appending(name), row.root))
            try store.write { db in
                try db.setSidecar(SidecarRow(id: row.id, name: name, stamp: stamp, rev: rev))
            }
            return true
        case .stale(let reason):
            log("sidecar of '\(row.name)' not written: \(reason)")
            // It may stay open for writing for long.
            lookAtObstacle(in: .init(root: row.root, path: directory))
            try reportObstacle("sidecarNotWritten", at: directory.appending(name), reason, row.root)
            return nil
        case .failed(let error):
            try reportUnwritten(directory.appending(name), root: row.root, error)
            return nil
        }
    }

    /// Whether a file is the sidecar of another file: `X.shoebox.json` may be the one of `X`, or of `X.shoebox`.
    private func isSidecar(_ name: FileName, _ stamp: FileStamp, ofOtherThan row: BaseRow) throws -> Bool {
        try store.read { db in
            try SidecarName.photos(for: name).contains { photo in
                guard photo != row.name, let other = try db.base(named: photo, in: row.parent, root: row.root),
                    let sidecar = try db.sidecar(other.id)
                else { return false }
                return sidecar.name == name && sidecar.stamp.isUnchanged(from: stamp)
            }
        }
    }

    /// Whether a name is that of a file of its own, which others see too, or one whose absence is not noted yet. A sidecar there
    /// would be taken for what was written into that file.
    private func isKept(_ name: FileName, in folder: RecordID, _ root: RootKind) throws -> Bool {
        try store.read { db in try db.base(named: name, in: folder, root: root) }?.kind == .file
    }

    /// Whether a file has a record of its own, also where it was just moved to: it says nothing of a photo beside it.
    func isKept(_ path: RelativePath, _ entry: DirectoryEntry, _ root: RootKind) throws -> Bool {
        let folder = try store.read { db in try db.base(at: path.parent, root: root, top: top(root)) }
        if let folder, try isKept(entry.name, in: folder, root) { return true }
        return try isMovedFile(entry, at: path, root)
    }

    /// Whether what has the name of a sidecar is a file of its own that was moved there, as with the folder or the photo that it
    /// lay beside. Who gives that name to a file of another one, with a sidecar's contents, has made a sidecar.
    func isMovedFile(_ entry: DirectoryEntry, at path: RelativePath, _ root: RootKind) throws -> Bool {
        guard entry.stamp.birthNanoseconds != 0 else { return false }
        let former = try store.read { db in try db.base(inode: entry.stamp.inode, root: root) }.filter {
            $0.kind == .file && $0.stamp.isUnchanged(from: entry.stamp)
        }
        guard !former.isEmpty else { return false }
        if former.contains(where: { !SidecarName.photos(for: $0.name).isEmpty }) { return true }
        guard case .foreign = SidecarDocument.read(try readSidecar(path, files(root))) else { return false }
        return true
    }

    /// Has the photo get another sidecar whose own one lay under this name, where something else lies now.
    func forgetSidecar(called name: FileName, in folder: RecordID?, _ root: RootKind) throws {
        guard let folder else { return }
        try store.write { db in
            for photo in SidecarName.photos(for: name) {
                guard let row = try db.base(named: photo, in: folder, root: root), row.kind == .file,
                    try db.sidecar(row.id)?.name == name
                else { continue }
                try db.removeSidecar(row.id)
                try db.markDirty(row.id)
            }
        }
    }

    /// Whether a photo is where it was last seen: a person may have moved it just now, sidecar and all. If not, it is looked for.
    private func isPhotoThere(_ row: BaseRow, in directory: RelativePath) throws -> Bool {
        let entry = try files(row.root).entry(at: directory.appending(row.name))
        if entry?.kind == .file, entry?.stamp.isSameFile(as: row.stamp) == true { return true }
        // Something else may stand in its place for long, such as a symbolic link.
        if missing[row.id] == nil {
            lookAtObstacle(in: .init(root: row.root, path: directory))
            try reportObstacle(
                at: directory.appending(row.name), "it is not there, or another file is", row.root, zone: row.id.zone)
        }
        return false
    }

    /// The bytes of what has the name of a sidecar; none if it is too long for one, or must not be read.
    ///
    /// - Throws: when it can't be read now.
    func readSidecar(_ path: RelativePath, _ files: any LocalFileSystem) throws -> [UInt8] {
        do { return try files.readAll(path, maxBytes: SidecarDocument.bytesMax + 1) } catch {
            guard error.mayPass else { return [] }
            throw error
        }
    }

    func reportUnwritten(_ path: RelativePath, root: RootKind, _ error: FileError) throws {
        let shown = display(path, root)
        unsettledPaths.insert(shown)
        try report(
            "sidecarNotWritten", path: shown, "The sidecar of '\(shown)' cannot be written: \(error.reason).",
            "Make the folder writable, or free some space; it is tried again with the next change.")
    }

    /// Moves a record's sidecar file to the trash, if it is as last seen or can't be read.
    @discardableResult
    func removeSidecarFile(of id: RecordID, besides path: RelativePath, root: RootKind) throws -> ApplyOutcome {
        guard let row = try store.read({ db in try db.sidecar(id) }) else { return .done(nil) }
        let sidecar = path.parent.appending(row.name)
        do { try removeOtherSidecars(of: id, than: sidecar, root: root) } catch let error as FileError {
            return .failed(error)
        }
        return trashSidecar(sidecar, expecting: row.stamp, record: id, root: root)
    }

    /// Whether the sidecar of a record, beside a photo, is open for writing in another program: it can't be put away yet.
    func isSidecarBeingWritten(of id: RecordID, besides path: RelativePath, root: RootKind) throws -> Bool {
        guard let row = try store.read({ db in try db.sidecar(id) }) else { return false }
        return files(root).hasWriter(path.parent.appending(row.name))
    }

    /// Moves to the trash what lies beside a sidecar that is to go, under the other name that it may have, and was written for
    /// the same record, such as a copy that a person made: it would be taken for what the next photo of that name says.
    func removeOtherSidecars(of id: RecordID, than path: RelativePath, root: RootKind) throws {
        guard let name = path.last else { return }
        let names = SidecarName.photos(for: name).flatMap(SidecarName.candidates).filter { $0 != name }
        for other in names.map(path.parent.appending) {
            guard let entry = try present(other, root), entry.kind == .file, !files(root).hasWriter(other),
                try isSidecar(other, of: id, files(root))
            else { continue }
            if case .failed(let error) = makeApplier(root).trash(other, expecting: entry.stamp, record: id) {
                log("another sidecar of a photo that is gone stays: \(error)")
            }
        }
    }

    /// Whether a file is a sidecar of this record, as far as it can be read.
    private func isSidecar(_ path: RelativePath, of id: RecordID, _ files: any LocalFileSystem) throws -> Bool {
        guard case .document(let document) = SidecarDocument.read(try readSidecar(path, files)) else { return false }
        return document.record == id.name
    }

    /// Moves the sidecar of a photo that goes, or has gone, to the trash. One that was edited since it was last seen stays,
    /// to be read; but not one that was broken: nobody will mend it for a photo that is gone.
    func trashSidecar(
        _ path: RelativePath, expecting stamp: FileStamp, record: RecordID? = nil, root: RootKind
    ) -> ApplyOutcome {
        let applier = makeApplier(root)
        let outcome = applier.trash(path, expecting: stamp, record: record)
        guard case .stale = outcome else { return outcome }
        do {
            guard let entry = try files(root).entry(at: path), entry.kind == .file, !files(root).hasWriter(path),
                case .broken = SidecarDocument.read(
                    try files(root).readAll(path, maxBytes: SidecarDocument.bytesMax), wasOurs: true)
            else { return outcome }
            return applier.trash(path, expecting: entry.stamp, record: record)
        } catch {
            // Whether it is broken is to be found out yet.
            return error.mayPass ? .failed(error) : outcome
        }
    }

    /// Moves a record's sidecar file along with its photo, if its new place is free; false if that is taken. One that was
    /// edited since it was last read is the photo's all the same, and is read at its new place.
    @discardableResult
    func moveSidecarFile(of id: RecordID, from old: RelativePath, to new: RelativePath, root: RootKind) throws -> Bool {
        guard var row = try store.read({ db in try db.sidecar(id) }), let name = new.last else { return true }
        let targets = SidecarName.candidates(for: name)
        guard let preferred = targets.first else { return true }
        let files = files(root)
        let source = old.parent.appending(row.name)
        guard source != new.parent.appending(preferred), let entry = try files.entry(at: source), entry.kind == .file
        else { return true }
        let isAsSeen = entry.stamp.isUnchanged(from: row.stamp)
        if !isAsSeen {
            guard try mayBeSidecar(source, of: id, files) else { return true }
        }
        // Where another program's file has the better name, it has the other one.
        let target = try targets.first { try !isForeign(new.parent.appending($0), root) }
        guard let target else { return false }
        let destination = new.parent.appending(target)
        guard source != destination else { return true }
        guard try files.entry(at: destination) == nil else { return false }
        try files.rename(source, to: destination, mode: .failIfExists)
        row.name = target
        // Not what was written into it since: that is still to be read.
        if let found = try files.entry(at: destination)?.stamp, found.isUnchanged(from: row.stamp) { row.stamp = found }
        let moved = row
        try store.write { db in try db.setSidecar(moved) }
        if !isAsSeen { later[.init(root: root, path: new.parent)] = world.uptimeMilliseconds() }
        return true
    }

    /// Whether another program's file lies somewhere, or one of its own, whatever is in it.
    private func isForeign(_ path: RelativePath, _ root: RootKind) throws -> Bool {
        guard let entry = try files(root).entry(at: path), entry.kind == .file else { return false }
        if try isKept(path, entry, root) { return true }
        guard case .foreign = SidecarDocument.read(try readSidecar(path, files(root))) else { return false }
        return true
    }

    /// Whether a file is a sidecar of this record. One that can't be read now may be: what is in it goes along with its photo
    /// and is told there, where it would be taken for what the next photo of that name says.
    private func mayBeSidecar(_ path: RelativePath, of id: RecordID, _ files: any LocalFileSystem) throws -> Bool {
        do { return try isSidecar(path, of: id, files) } catch let error as FileError { return error.mayPass }
    }

    /// Takes an own sidecar out of the way of a file that another device has under its name: such as the JSON file that
    /// came with a photo from elsewhere. It goes on under the other name that a sidecar may have; where that is taken, too, in the
    /// trash.
    func makeWay(at path: RelativePath, root: RootKind) throws {
        guard let wanted = path.last, !SidecarName.photos(for: wanted).isEmpty else { return }
        let found = try store.read { db -> (SidecarRow, FileName)? in
            guard let folder = try db.base(at: path.parent, root: root, top: top(root)) else { return nil }
            for photo in SidecarName.photos(for: wanted) {
                guard let base = try db.base(named: photo, in: folder, root: root), base.kind == .file,
                    let row = try db.sidecar(base.id), row.name == wanted
                else { continue }
                return (row, photo)
            }
            return nil
        }
        guard let (row, photo) = found, let entry = try files(root).entry(at: path), entry.kind == .file else { return }
        for candidate in SidecarName.candidates(for: photo) where candidate != wanted {
            let target = path.parent.appending(candidate)
            guard try files(root).entry(at: target) == nil else { continue }
            try files(root).rename(path, to: target, mode: .failIfExists)
            let moved = SidecarRow(id: row.id, name: candidate, stamp: row.stamp, rev: row.rev)
            try store.write { db in try db.setSidecar(moved) }
            return
        }
        // Files of others have both names. What a sidecar says is known, unless it was edited since it was last read.
        guard entry.stamp.isUnchanged(from: row.stamp) else { return }
        // First: of what is noted to be a sidecar, and has other contents, its user is asked to mend it.
        try store.write { db in try db.removeSidecar(row.id) }
        guard case .done = makeApplier(root).trash(path, expecting: row.stamp, record: row.id) else {
            return try store.write { db in try db.setSidecar(row) }
        }
        log("'\(display(path, root))' has no room: what is said of the photo is in no JSON file until it is renamed")
    }

    /// The same for a photo that its user renamed or moved without its sidecar. `folder` and `name` are where it was.
    func followWithSidecar(_ id: RecordID, from folder: RecordID, _ name: FileName, root: RootKind) throws {
        let paths = try store.read { db -> (RelativePath, RelativePath)? in
            guard let row = try db.base(id), row.kind == .file, try db.sidecar(id) != nil,
                let former = try db.basePath(of: folder, top: [top(root)]),
                let present = try db.basePath(of: row.parent, top: [top(root)])
            else { return nil }
            return (former.appending(name), present.appending(row.name))
        }
        guard let (old, new) = paths else { return }
        do { try moveSidecarFile(of: id, from: old, to: new, root: root) } catch let error as FileError {
            log("the sidecar of '\(name)' stays behind: \(error)")
        }
    }
}
