import ShoeboxCloud
import ShoeboxLibrary
import ShoeboxModel
import ShoeboxPlanning
import ShoeboxStore
import ShoeboxWorld

import class GRDB.Database

/// A device of an account that exists already, set up over folders that may have files: a second device, or the first one
/// after its state directory was lost. What the folders show is first compared with what the container knows, so that
/// nothing is taken for new that is known, and nothing that was deleted for everybody comes back.
extension Engine {
    private var rebuildKey: String { "rebuild" }

    /// Notes that the folders were not compared yet.
    func beginRebuild(_ db: Database) throws {
        try db.setMetaText(rebuildKey, RootKind.allCases.map { String($0.rawValue) }.joined(separator: ","))
        rebuilding = nil
    }

    /// The watched folders that must not be scanned or written yet.
    func foldersToRebuild() throws -> Set<RootKind> {
        if let rebuilding { return rebuilding }
        let found = try readFoldersToRebuild()
        rebuilding = found
        return found
    }

    private func readFoldersToRebuild() throws -> Set<RootKind> {
        let text = try store.read { db in try db.metaText(rebuildKey) } ?? ""
        return Set(text.split(separator: ",").compactMap { Int64($0).flatMap(RootKind.init) })
    }

    /// Reads the container to its end, then compares the folders that are there. Those that are not wait for the next
    /// round, and all of them while the container is away.
    func rebuild() throws {
        var waiting = try foldersToRebuild()
        guard !waiting.isEmpty else { return }
        // Shares are found by what the private zone says, and then read.
        for _ in 0..<100 {
            let before = zones.count
            let count = try fetchAll()
            try joinFromPlacements()
            if count == 0, zones.count == before { break }
        }
        guard try isReadToCompare() else { return }
        for root in waiting.sorted(by: { $0.rawValue < $1.rawValue }) where try checkRoot(root) {
            // What can't be looked at now would be taken for what it was, and for its user's edit later.
            do { try adoptExisting(root) } catch let error as FileError {
                comparisonFailed[root] = comparisonFailed[root] ?? world.uptimeMilliseconds()
                try report(
                    "unreadable", path: display(.root, root),
                    "The \(display(.root, root)) folder can't be compared with the cloud folder: \(error).",
                    "Until it is, nothing in it is taken or changed. Check the disk; it is tried again by itself.")
                continue
            }
            comparisonFailed[root] = nil
            try clearProblem("unreadable", path: display(.root, root))
            waiting.remove(root)
            let text = waiting.isEmpty ? nil : waiting.map { String($0.rawValue) }.sorted().joined(separator: ",")
            try store.write { db in
                try db.setMetaText(rebuildKey, text)
                if waiting.isEmpty {
                    try endRestoredState(db)
                    try db.setMetaText(unreadKey, nil)
                }
            }
            if waiting.isEmpty { try clearProblem("restoredState") }
            rebuilding = waiting
            log("the \(display(.root, root)) folder was compared with what is known")
        }
    }

    /// Since when the folders wait for a share that can't be read.
    private var unreadKey: String { "rebuildUnread" }
    /// How long they wait for it, milliseconds.
    private var unreadMilliseconds: UInt64 { max(settings.blindMilliseconds, 600_000) }

    /// Whether all that the watched folders may show was read, or was waited for long enough. What is only missing in what was read
    /// would be taken for new, and given to others a second time.
    private func isReadToCompare() throws -> Bool {
        guard let what = try unreadShare() else {
            try clearProblem("rebuildUnread")
            try store.write { db in try db.setMetaText(unreadKey, nil) }
            return true
        }
        guard try waited(unreadKey, for: "") < unreadMilliseconds else {
            log("\(what) can't be read; the folders are compared without it")
            try clearProblem("rebuildUnread")
            return true
        }
        try report(
            "rebuildUnread", "\(what) can't be read wholly yet, and the watched folders may hold photos of it.",
            "They are compared with the cloud folder once it can be, or ten minutes after that was first tried; until then nothing in them is taken or changed."
        )
        return false
    }

    /// A share that this account takes part in and that was not read to its end; nil if there is none.
    private func unreadShare() throws -> String? {
        for id in try store.read({ db in try placements(db).zones.keys.sorted() }) where zones[id] == nil {
            return "A share (\(id.description.prefix(12)))"
        }
        for zone in zones.values.sorted(by: ZoneInfo.comesBefore) where try isUnread(zone) {
            return zone.row.kind == .privateZone ? "The library's zone" : "'\(zone.control.title)'"
        }
        return nil
    }

    /// Whether something of a zone that is named there was not read.
    private func isUnread(_ zone: ZoneInfo) throws -> Bool {
        guard zone.row.state == .active else { return false }
        guard let read = headsRead[zone.id], read.isWhole, !read.hasUnknown else { return true }
        return try store.read { db in try db.peers(of: zone.id) }.contains { peer in
            peer.replica != replica && peer.applied.sequence < peer.head.sequence
                && !givenUpChains.contains(ChainKey(zone: zone.id, replica: peer.replica))
        }
    }

    /// Whether a record that is not where it was any more may be in another zone that this account reads, and has not read yet.
    private func mayBeElsewhere(_ id: RecordID) throws -> Bool {
        guard let zone = try store.read({ db in try db.state(of: id) })?.movedTo else { return false }
        if let known = zones[zone] {
            let other = RecordID(zone: zone, name: id.name)
            return try isUnread(known) && store.read { db in try db.record(other) } == nil
        }
        // What others took to where this account reads nothing is gone for it.
        let isPlaced = try store.read { db in try placements(db).zones[zone] } != nil
        return isPlaced || zones[id.zone]?.row.kind == .privateZone
    }

    /// What is at a path of a folder that is compared; nil also for what can't be looked at for good, such as below a file.
    /// - Throws: an error that may pass.
    func compared(_ path: RelativePath, _ root: RootKind) throws(FileError) -> DirectoryEntry? {
        do { return try files(root).entry(at: path) } catch {
            guard !mayCompareLater(root, error) else { throw error }
            return nil
        }
    }

    /// Whether a comparison that meets an error is put off: the error may pass, and has not been there for long. One bad
    /// sector must not keep everything else away for ever.
    func mayCompareLater(_ root: RootKind, _ error: FileError) -> Bool {
        // A full disk changes nothing, however long it is full.
        guard error.code != .full else { return true }
        let since = comparisonFailed[root] ?? world.uptimeMilliseconds()
        return error.mayPass && world.uptimeMilliseconds() < since + settings.blindMilliseconds
    }

    /// Notes in the base tree every file and folder that is what the records say; puts away what was deleted.
    private func adoptExisting(_ root: RootKind) throws {
        let (layout, known) = try places(root)
        let isRestored = try isRestoredState()
        if isRestored { try adoptRestored(root, layout: layout, known: known) }
        var taken: Set<RelativePath> = []
        for (id, path) in known.sorted(by: { $0.value < $1.value }) {
            // What a state that was put back knows of its folder stands.
            if isRestored, try isKnownPlace(path, root) || store.read({ db in try db.base(id) }) != nil {
                taken.insert(path)
                continue
            }
            guard let node = layout.nodes[id], let row = try adoptable(node, at: path, root) else { continue }
            taken.insert(path)
            guard try store.read({ db in try db.base(id) }) == nil else { continue }
            try store.write { db in try db.setBase(row) }
        }
        try putAwayDeleted(root, known: known, taken: taken)
        guard try !isRestored && store.read({ db in try db.metaText(servedKey(root)) }) != nil else { return }
        try adoptMoved(root, layout: layout, known: known, taken: taken)
    }

    /// Where everything belongs in a watched folder, as the records say.
    private func places(_ root: RootKind) throws -> (Layout, [RecordID: RelativePath]) {
        try store.read { db in
            let placements = try placements(db)
            let folders = try placedFolders(root, placements: placements, db)
            let parents = Set(folders.map(\.id)).union([top(root)])
            let files = try placedFiles(in: parents, placements: placements, db)
            let layout = layOut(folders + files, roots: [top(root)])
            return (layout, paths(of: layout, roots: [top(root): .root]))
        }
    }

    /// Puts away what is in a folder that was put back, and was deleted since.
    func putAwayReturned(_ root: RootKind) throws {
        let known = try places(root).1
        try putAwayDeleted(root, known: known, taken: Set(known.values))
    }

    private func servedKey(_ root: RootKind) -> String { "served.\(root.rawValue)" }

    /// Notes that a folder that is yet to be compared was served by a shoebox of this account before, as its marker says.
    func noteServed(_ root: RootKind) throws {
        guard try foldersToRebuild().contains(root) else { return }
        try store.write { db in try db.setMetaText(servedKey(root), "1") }
    }

    /// What the base says of a node whose place shows just that, or bytes that it had before others overwrote them; nil if it
    /// shows something else, or nothing.
    func adoptable(_ node: LayoutNode, at path: RelativePath, _ root: RootKind) throws -> BaseRow? {
        guard let name = path.last, let entry = try compared(path, root),
            entry.kind == node.kind.fileKind
        else { return nil }
        var row = BaseRow(
            root: root, id: node.id, parent: node.parent, name: name, kind: node.kind, stamp: entry.stamp,
            contentHash: node.contentHash, vector: try store.read { db in try db.state(of: node.id) }?.vector ?? [:],
            twins: node.twins)
        guard node.kind == .file else { return row }
        guard let found = try contentHash(path, root) else { return nil }
        row.stamp = found.stamp
        guard found.hash != node.contentHash else { return row }
        guard let shown = try store.read({ db in try formerlyShown(found.hash, of: node.id, db) }) else { return nil }
        (row.contentHash, row.vector, row.twins) = (found.hash, shown, [])
        return row
    }

    /// What was shown of a record with bytes that it had once, as far as that is known; nil if it never had them.
    func formerlyShown(_ hash: Digest32, of id: RecordID, _ db: Database) throws -> VersionVector? {
        // What it had before it went into a share is known where it was then.
        for record in try namesInZones(of: id, db) {
            let change = try db.changes(of: record.name, in: record.zone).first { $0.content?.contentHash == hash }
            if let change { return change.context.union(VersionVector([change.identity])) }
        }
        return nil
    }

    /// What a file of a folder that is compared holds; nil for one that can't be read for good, or is just being written.
    /// - Throws: an error that may pass: what was not read would be taken for new, or for its user's edit.
    func contentHash(_ path: RelativePath, _ root: RootKind) throws(FileError) -> (hash: Digest32, stamp: FileStamp)? {
        do { return try ContentHasher.hash(path, files(root)) } catch {
            guard !mayCompareLater(root, error) else { throw error }
            log("not compared: \(error)")
            return nil
        }
    }

    /// A file that was deleted, where it was shown.
    private struct DeletedFile {
        var row: RecordRow
        var hash: Digest32
        var path: RelativePath
        /// Where its zone is shown.
        var start: RelativePath
    }

    /// The files that were deleted, and those that went to another zone which was read.
    private func deletedFiles(_ root: RootKind, known: [RecordID: RelativePath]) throws -> [DeletedFile] {
        var result: [DeletedFile] = []
        for zone in zonesShown(root) {
            let mount = RecordID(zone: zone.id, name: .zoneRoot)
            guard let start = zone.row.kind == .privateZone ? .root : known[mount] else { continue }
            let (folders, files) = try store.read { db in
                (try db.folders(in: zone.id), try db.deletedFiles(in: zone.id))
            }
            var rows: [RecordName: RecordRow] = [:]
            for folder in folders { rows[folder.id.name] = folder }
            for file in files {
                guard let name = file.name, let hash = file.contentHash,
                    let parent = path(of: file.parent, below: start, zone: zone, known: known, rows: rows),
                    try !mayBeElsewhere(file.id)
                else { continue }
                result.append(DeletedFile(row: file, hash: hash, path: parent.appending(name), start: start))
            }
        }
        return result
    }

    /// Where files were shown that were deleted since, with the bytes that they had.
    func deletedContents(_ root: RootKind) throws -> [RelativePath: Set<Digest32>] {
        var result: [RelativePath: Set<Digest32>] = [:]
        for file in try deletedFiles(root, known: places(root).1) { result[file.path, default: []].insert(file.hash) }
        return result
    }

    /// Files whose record was deleted, with the bytes that it had, go to the trash; the folders that they leave empty go.
    /// Anything else is the user's, and the scan takes it as new.
    private func putAwayDeleted(
        _ root: RootKind, known: [RecordID: RelativePath], taken: Set<RelativePath>
    ) throws {
        let applier = makeApplier(root)
        var emptied: Set<RelativePath> = []
        for file in try deletedFiles(root, known: known) {
            let path = file.path
            guard try !taken.contains(path) && !isKnownPlace(path, root),
                let entry = try compared(path, root), entry.kind == .file,
                entry.stamp.size == file.row.size, let found = try contentHash(path, root), found.hash == file.hash
            else { continue }
            // First, as nobody looks for it once the photo is gone.
            try putAwaySidecar(of: file.row.id, at: path, root, applier)
            switch applier.trash(path, expecting: found.stamp, record: file.row.id) {
            case .done:
                var folder = path.parent
                while !folder.isRoot, folder != file.start, !taken.contains(folder), emptied.insert(folder).inserted {
                    folder = folder.parent
                }
            case .stale(let reason): log("left as it is: \(reason)")
            case .failed(let error):
                guard !mayCompareLater(root, error) else { throw error }
                log("left as it is: \(error)")
            }
        }
        for path in emptied.sorted(by: { $0.names.count > $1.names.count }) {
            // One that still holds something of the user's stays.
            do { try files(root).removeDirectory(path) } catch { log("left as it is: \(error)") }
        }
    }

    /// The sidecar of a photo that is to be put away goes with it; one that names another photo stays.
    /// - Throws: an error that may pass; nobody looks for it after the photo.
    private func putAwaySidecar(
        of id: RecordID, at path: RelativePath, _ root: RootKind, _ applier: FileApplier
    ) throws {
        guard let name = path.last else { return }
        for candidate in SidecarName.candidates(for: name) {
            let place = path.parent.appending(candidate)
            guard let entry = try compared(place, root), entry.kind == .file else { continue }
            let bytes: [UInt8]
            do { bytes = try files(root).readAll(place, maxBytes: SidecarDocument.bytesMax) } catch {
                guard !mayCompareLater(root, error) else { throw error }
                continue
            }
            guard case .document(let document) = SidecarDocument.read(bytes), document.record == id.name
            else { continue }
            if case .failed(let error) = applier.trash(place, expecting: entry.stamp, record: id) {
                guard !mayCompareLater(root, error) else { throw error }
                log("the sidecar stays where it was: \(error)")
            }
        }
    }

    /// Where a folder is, or was when it was last shown.
    private func path(
        of folder: RecordName?, below start: RelativePath, zone: ZoneInfo, known: [RecordID: RelativePath],
        rows: [RecordName: RecordRow]
    ) -> RelativePath? {
        var names: [FileName] = []
        var current = folder
        while let name = current, name != zone.row.rootRecord {
            if let path = known[RecordID(zone: zone.id, name: name)] {
                return names.reversed().reduce(path) { $0.appending($1) }
            }
            guard names.count < 256, let row = rows[name], let own = row.name else { return nil }
            names.append(own)
            current = row.parent
        }
        return names.reversed().reduce(start) { $0.appending($1) }
    }
}
