import ShoeboxLibrary
import ShoeboxModel
import ShoeboxPlanning
import ShoeboxStore
import ShoeboxWorld

import class GRDB.Database

extension Engine {
    /// Brings the base tree and a watched folder back in step after the process or the machine died, once for each
    /// folder and process, before anything in it is looked at.
    ///
    /// What was put aside is known to be aside again, so that nobody takes it for deleted; bytes that were renamed into
    /// place are noted as what they are, or, if a power cut tore them, put away and written again; sidecars that a power
    /// cut took or tore are written again. Everything can be repeated, after a crash in the middle, too.
    func recover(_ root: RootKind) throws {
        guard !recovered.contains(root) else { return }
        passedOver = passedOver.filter { $0.root != root }
        makeApplier(root).closeDirectories()
        var isWhole = try recoverParked(root)
        do { _ = try recoverExchanges(root) } catch let error as FileError {
            log("the trash of the \(display(.root, root)) folder can't be looked at yet: \(error)")
            isWhole = isWhole && !error.mayPass
        }
        if try !recoverMade(root) { isWhole = false }
        if try !recoverIntents(root) { isWhole = false }
        if root == .library { try settleCopies() }
        let key = bootKey(root)
        if try store.read({ db in try db.metaText(key) }) != world.bootID {
            if try recoverSidecars(root), try recoverCutOff(root) {
                try store.write { db in try db.setMetaText(key, world.bootID) }
            } else {
                isWhole = false
            }
        }
        // What could not be looked at just now is put back by the next round.
        if isWhole { recovered.insert(root) }
    }

    /// Ends replacements that were cut off between two steps.
    ///
    /// - Returns: what is in its place again.
    func recoverExchanges(_ root: RootKind) throws -> Set<RelativePath> {
        let back = try makeApplier(root).recoverExchanges { path, stamp in
            try store.read { db in
                guard let id = try db.base(at: path, root: root, top: top(root)), let row = try db.base(id),
                    row.kind == .file, !row.isParked
                else { return false }
                // Some file systems number their files anew now and then.
                let isAlike =
                    row.stamp.size == stamp.size && row.stamp.modifiedNanoseconds == stamp.modifiedNanoseconds
                return isAlike || row.stamp.isSameFile(as: stamp)
            }
        }
        for path in back {
            log("'\(display(path, root))' is in its place again: it was being replaced when that was interrupted")
            later[.init(root: root, path: path.parent)] = world.uptimeMilliseconds()
        }
        return back
    }

    /// Where the boot is stored after which the sidecars of a watched folder were looked at.
    func bootKey(_ root: RootKind) -> String { "boot.\(root.rawValue)" }

    private func makingKey(_ id: RecordID) -> String { "making.\(id.zone).\(id.name)" }

    /// Notes that the directory in which a share, or all of an owner's, shows is about to be made.
    func noteMaking(_ id: RecordID, at path: RelativePath, in parent: RecordID, root: RootKind) throws {
        let text = "\(root.rawValue):\(parent.zone):\(parent.name):\(encodeHex(path.bytes))"
        try store.write { db in try db.setMetaText(makingKey(id), text) }
    }

    /// The directory that was made is noted.
    func forgetMaking(_ id: RecordID, _ db: Database) throws {
        guard id.isZoneRoot || id.zone == .none else { return }
        try db.setMetaText(makingKey(id), nil)
    }

    /// Directories of shares that were made when the process died: without this, they and what is in them would be taken for
    /// the user's own. False if one can't be looked at, and is to be tried again.
    private func recoverMade(_ root: RootKind) throws -> Bool {
        var isWhole = true
        for (key, text) in try store.read({ db in try db.metaTexts(prefix: "making.") }) {
            let names = key.split(separator: ".")
            let parts = text.split(separator: ":", omittingEmptySubsequences: false).map(String.init)
            guard names.count == 3, parts.count == 4, parts[0] == String(root.rawValue),
                let zone = ZoneID(hex: names[1]), let name = RecordName(text: names[2]),
                let parentZone = ZoneID(hex: parts[1]), let parentName = RecordName(text: parts[2]),
                let path = decodeHex(parts[3]).flatMap(PathReference.relativePath), let last = path.last
            else { continue }
            let id = RecordID(zone: zone, name: name)
            let parent = RecordID(zone: parentZone, name: parentName)
            let entry: DirectoryEntry?
            do { entry = try existing(path, root) } catch {
                passOver(error, at: path, root)
                isWhole = false
                continue
            }
            try store.write { db in
                try db.setMetaText(key, nil)
                guard let entry, entry.kind == .directory, try db.base(id) == nil,
                    try parent == top(root) || db.base(parent) != nil,
                    try db.base(named: last, in: parent, root: root) == nil
                else { return }
                try db.setBase(
                    BaseRow(
                        root: root, id: id, parent: parent, name: last, kind: .folder, stamp: entry.stamp,
                        contentHash: nil, vector: [:]))
                try db.markLayoutDirty()
            }
        }
        return isWhole
    }

    /// What lies in the temporary folder, against what the base says does; false if something is to be tried again.
    private func recoverParked(_ root: RootKind) throws -> Bool {
        let applier = makeApplier(root)
        let aside = try applier.parkedRecords()
        var strays: Set<RecordID> = []
        try store.write { db in
            for (id, stamp) in aside {
                guard var row = try db.base(id), row.root == root else {
                    strays.insert(id)
                    continue
                }
                row.isParked = true
                row.noteMoved(stamp)
                try db.setBase(row)
                try db.markDirty(id)
            }
            for var row in try db.parkedBase(root: root) where aside[row.id] == nil {
                // It reached its place, and nobody noted it: the scan finds it there by its inode, as gone from here.
                row.isParked = false
                if try db.base(named: row.name, in: row.parent, root: root) != nil,
                    let name = FileName("displaced-\(row.id.name)")
                {
                    row.name = name
                }
                try db.setBase(row)
                try db.markDirty(row.id)
            }
        }
        let failures = applier.recoverTemporaries(keeping: Set(aside.keys).subtracting(strays))
        for error in failures { log("left in the temporary folder: \(error)") }
        return !failures.contains(where: \.mayPass)
    }

    /// Files that were about to be renamed into place when the process died; false if one can't be looked at, and is to be
    /// tried again.
    private func recoverIntents(_ root: RootKind) throws -> Bool {
        let intents = try store.read { db in try db.intents().filter { $0.root == root } }
        var left: Set<Int64> = []
        for intent in intents {
            let entry: DirectoryEntry?
            var read: (hash: Digest32, stamp: FileStamp)?
            do {
                entry = try existing(intent.path, root)
                if let entry, entry.kind == .file, entry.stamp.inode == intent.inode {
                    read = try ContentHasher.hash(intent.path, files(root))
                }
            } catch {
                passOver(error, at: intent.path, root)
                left.insert(intent.rowID)
                continue
            }
            if let entry, let (hash, stamp) = read {
                if hash == intent.contentHash {
                    try store.write { db in try noteWritten(intent, stamp: stamp, db) }
                } else if intent.boot != world.bootID {
                    // Torn by a power cut: what was meant comes again, from the container or a file that has it.
                    log("'\(display(intent.path, root))' was torn by a power cut and is written again")
                    guard putAwayTorn(intent.path, entry.stamp, of: intent.id, root) else {
                        // Else it would be taken for what its user wrote.
                        passedOver.insert(WatchedPath(root: root, path: intent.path))
                        left.insert(intent.rowID)
                        continue
                    }
                    try store.write { db in try forgetShown(intent, db) }
                }
            } else if intent.boot != world.bootID {
                // The power cut took the rename. If that was noted already, the file is not deleted but missing.
                try store.write { db in
                    guard try db.base(intent.id)?.stamp.inode == intent.inode else { return }
                    try forgetShown(intent, db)
                }
            }
        }
        unrecovered = unrecovered.subtracting(intents.map(\.rowID)).union(left)
        let done = intents.map(\.rowID).filter { !left.contains($0) }
        if !done.isEmpty {
            // What is noted now is not to be taken for deleted after a power cut.
            do { try files(root).synchronize() } catch {
                log("cannot make the \(root) folder durable: \(error)")
                return false
            }
            try store.write { db in try db.clearIntents(done) }
        }
        return left.isEmpty
    }

    /// What is at a path; nil also where a folder on the way is none.
    private func existing(_ path: RelativePath, _ root: RootKind) throws(FileError) -> DirectoryEntry? {
        do { return try files(root).entry(at: path) } catch {
            guard error.isAbsence else { throw error }
            return nil
        }
    }

    /// Goes on where something can't be looked at: what was begun there is gone on with when it can be, and until then is left
    /// alone, also if it can be looked at a moment later.
    private func passOver(_ error: FileError, at path: RelativePath, _ root: RootKind) {
        passedOver.insert(WatchedPath(root: root, path: path))
        log("what was begun at '\(display(path, root))' is gone on with when it can be looked at: \(error)")
    }

    /// Puts what a power cut has torn into the trash; false if that is to be tried again.
    private func putAwayTorn(_ path: RelativePath, _ stamp: FileStamp, of id: RecordID, _ root: RootKind) -> Bool {
        switch makeApplier(root).trash(path, expecting: stamp, record: id) {
        case .done: return true
        case .stale(let reason): log("'\(display(path, root))' has changed meanwhile: \(reason)")
        case .failed(let error): log("'\(display(path, root))', torn by a power cut, stays for now: \(error)")
        }
        return false
    }

    private func forgetShown(_ intent: IntentRow, _ db: Database) throws {
        try db.removeBase(intent.id)
        try db.markDirty(intent.id)
    }

    /// Notes a file that was written and not noted. What it shows of the record is its bytes only.
    private func noteWritten(_ intent: IntentRow, stamp: FileStamp, _ db: Database) throws {
        try db.markDirty(intent.id)
        if var row = try db.base(intent.id), row.root == intent.root {
            guard row.contentHash != intent.contentHash || row.stamp != stamp else { return }
            guard try db.basePath(of: row.parent, top: [top(intent.root)])?.appending(row.name) == intent.path else {
                return
            }
            row.stamp = stamp
            row.contentHash = intent.contentHash
            try db.setBase(row)
            return
        }
        guard let name = intent.path.last, zones[intent.id.zone]?.row.root == intent.root,
            let parent = try db.base(at: intent.path.parent, root: intent.root, top: top(intent.root)),
            try db.base(named: name, in: parent, root: intent.root) == nil
        else { return }
        try db.setBase(
            BaseRow(
                root: intent.root, id: intent.id, parent: parent, name: name, kind: .file, stamp: stamp,
                contentHash: intent.contentHash, vector: [:]))
    }

    /// Sidecars as a power cut left them: one that is gone, or holds only the start of what was written, is made again.
    /// False if one could not be looked at, and is to be tried again.
    private func recoverSidecars(_ root: RootKind) throws -> Bool {
        var isWhole = true
        for row in try store.read({ db in try db.sidecars() }) {
            let found = try store.read { db -> (path: RelativePath, photo: BaseRow, written: [UInt8])? in
                guard let base = try db.base(row.id), base.root == root, !base.isParked,
                    let directory = try db.basePath(of: base.parent, top: [top(root)])
                else { return nil }
                return (
                    directory.appending(row.name), base,
                    try db.sidecarState(rev: row.rev, of: row.id).map(Array.init) ?? []
                )
            }
            guard let found, !row.rev.isEmpty else { continue }
            let (entry, photo): (DirectoryEntry?, DirectoryEntry?)
            do {
                entry = try existing(found.path, root)
                photo = try entry == nil ? existing(found.path.parent.appending(found.photo.name), root) : nil
            } catch {
                if error.mayPass { isWhole = false }
                continue
            }
            if let entry {
                guard !entry.stamp.isUnchanged(from: row.stamp) || entry.stamp.size < found.written.count else {
                    continue
                }
                let bytes: [UInt8]
                do { bytes = try files(root).readAll(found.path, maxBytes: SidecarDocument.bytesMax) } catch {
                    if error.mayPass { isWhole = false }
                    continue
                }
                guard bytes.count < found.written.count, found.written.starts(with: bytes) else { continue }
                guard putAwayTorn(found.path, entry.stamp, of: row.id, root) else {
                    isWhole = false
                    continue
                }
            } else {
                // Where the photo is not there either, the sidecar is where that is.
                guard let photo, photo.stamp.isSameFile(as: found.photo.stamp) else { continue }
            }
            try store.write { db in
                try db.removeSidecar(row.id)
                try db.markDirty(row.id)
            }
        }
        return isWhole
    }

    /// Sidecars of which a power cut left the start, and that were not noted yet: they are made again. False if one could
    /// not be looked at, and is to be tried again.
    private func recoverCutOff(_ root: RootKind) throws -> Bool {
        var isWhole = true
        for id in try store.read({ db in try db.recordsWithSidecarStates() }) {
            let found = try store.read { db -> (photo: BaseRow, directory: RelativePath, known: SidecarRow?)? in
                guard let photo = try db.base(id), photo.root == root, !photo.isParked,
                    let directory = try db.basePath(of: photo.parent, top: [top(root)])
                else { return nil }
                return (photo, directory, try db.sidecar(id))
            }
            guard let found else { continue }
            for name in SidecarName.candidates(for: found.photo.name) {
                let path = found.directory.appending(name)
                do {
                    guard let entry = try files(root).entry(at: path), entry.kind == .file else { continue }
                    if let known = found.known, known.name == name, entry.stamp.isUnchanged(from: known.stamp) {
                        continue
                    }
                    let bytes = try files(root).readAll(path, maxBytes: SidecarDocument.bytesMax)
                    let states = try store.read { db in try db.sidecarStates(of: id) }
                    guard states.contains(where: { $0.count > bytes.count && $0.starts(with: bytes) }) else { continue }
                    guard putAwayTorn(path, entry.stamp, of: id, root) else {
                        isWhole = false
                        continue
                    }
                    try store.write { db in try db.markDirty(id) }
                } catch let error as FileError {
                    if error.mayPass { isWhole = false }
                }
            }
        }
        return isWhole
    }
}
