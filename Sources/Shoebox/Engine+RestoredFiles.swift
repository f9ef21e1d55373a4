import ShoeboxLibrary
import ShoeboxModel
import ShoeboxPlanning
import ShoeboxStore
import ShoeboxWorld

import class GRDB.Database

/// What a state that was put back to a backup says of files that its device has changed since, as others wanted it: none of
/// that is an edit of its user's. See Documentation/Design/Rebuild.md.
extension Engine {
    /// A file that is not as its record was last seen, nor as that ever was.
    struct UnknownFile {
        /// What the state knows there.
        var row: BaseRow
        var path: RelativePath
        var hash: Digest32
        var stamp: FileStamp
    }

    /// Notes what the files of a folder that the state knows are by now.
    func adoptRestored(_ root: RootKind, layout: Layout, known: [RecordID: RelativePath]) throws {
        try rekeyRestored(root)
        try adoptMovedSince(root)
        let unknown = try adoptRewritten(root)
        try adoptReplaced(root, layout: layout, known: known)
        if try adoptFormer(unknown) { try rekeyRestored(root) }
    }

    /// What went to another zone after the backup is known as what it is there: its file is found by its inode, and is no
    /// second one of its name.
    private func rekeyRestored(_ root: RootKind) throws {
        let moved = try store.read { db in
            try knownFiles(root, db).compactMap { try db.record($0.id) }.filter { !$0.isLive }
        }
        try rekeyMoved(moved)
    }

    private func knownFiles(_ root: RootKind, _ db: Database) throws -> [BaseRow] {
        try zones.keys.sorted().flatMap { try db.base(in: $0) }.filter { $0.root == root }
    }

    /// Notes of files that are not as they were last seen, and hold what their record held at some time, that they were
    /// seen so. Returns the others.
    private func adoptRewritten(_ root: RootKind) throws -> [UnknownFile] {
        let rows = try store.read { db in
            try knownFiles(root, db).filter { $0.kind == .file && !$0.isParked }
        }
        var unknown: [UnknownFile] = []
        for row in rows {
            guard let path = try store.read({ db in try db.basePath(of: row.id, top: [top(root)]) }),
                let entry = try compared(path, root), entry.kind == .file,
                !entry.stamp.isUnchanged(from: row.stamp), let found = try contentHash(path, root)
            else { continue }
            guard let vector = try store.read({ db in try formerlyShown(found.hash, of: row.id, db) }) else {
                unknown.append(UnknownFile(row: row, path: path, hash: found.hash, stamp: found.stamp))
                continue
            }
            var seen = row
            seen.stamp = found.stamp
            seen.contentHash = found.hash
            (seen.vector, seen.twins) = (vector, [])
            let shown = seen
            try store.write { db in
                try db.setBase(shown)
                // It gives way to what the record says by now.
                try db.markDirty(shown.id)
            }
        }
        return unknown
    }

    /// Notes of files that stand where another one is known, and are what the container says belongs there, that they were
    /// put there after the backup, and of folders where a file is known, and the other way. They are no edits of what was
    /// there: where that is now is looked for like anything else.
    private func adoptReplaced(_ root: RootKind, layout: Layout, known: [RecordID: RelativePath]) throws {
        for (id, path) in known.sorted(by: { $0.value < $1.value }) {
            guard let node = layout.nodes[id],
                let former = try store.read({ db in
                    try db.base(at: path, root: root, top: top(root)).flatMap { try db.base($0) }
                }),
                former.id != id, former.kind == .file || node.kind == .file, !former.isParked,
                !former.twins.contains(id),
                let entry = try compared(path, root), !entry.stamp.isSameFile(as: former.stamp),
                let row = try adoptable(node, at: path, root)
            else { continue }
            try store.write { db in
                for gone in try shown(in: former, db) + [former.id, id] {
                    try db.removeBase(gone)
                    try db.removeSidecar(gone)
                }
                try db.setBase(row)
            }
        }
    }

    /// All that the state knows in a folder, however deep; nothing in a file.
    private func shown(in folder: BaseRow, _ db: Database) throws -> [RecordID] {
        guard folder.kind == .folder else { return [] }
        return try db.baseChildren(of: folder.id, root: folder.root).flatMap { [$0.id] + (try shown(in: $0, db)) }
    }

    /// Notes of files that stand where another one is known, and are one that had this very place for a while, that they
    /// were put there after the backup, though they belong elsewhere again. Returns whether there were any.
    private func adoptFormer(_ unknown: [UnknownFile]) throws -> Bool {
        // A file that was written over is an edit, whatever it holds now.
        let unknown = try unknown.filter { file in
            guard !file.stamp.isSameFile(as: file.row.stamp), file.row.twins.isEmpty else { return false }
            return try store.read { db in try db.base(file.row.id)?.stamp == file.row.stamp }
        }
        guard !unknown.isEmpty else { return false }
        let holders = try store.read { db in try db.records(everWithContent: Set(unknown.map(\.hash))) }
        var isAny = false
        for file in unknown.sorted(by: { $0.path < $1.path }) {
            guard let name = file.path.last else { continue }
            let id = try store.read { db in
                try (holders[file.hash] ?? []).first { id in
                    guard id.name != file.row.id.name, zones[id.zone]?.row.root == file.row.root,
                        try wasShown(id, as: name, in: file.row.parent, db)
                    else { return false }
                    return try !isInPlace(id.name, file.row.root, db)
                }
            }
            guard let id else { continue }
            log("'\(file.path)' is what was there after the backup")
            try store.write { db in
                // Where the other one is now is looked for like anything else.
                for known in try [file.row.id] + namesInZones(of: id, db) {
                    try db.removeBase(known)
                    try db.removeSidecar(known)
                }
                try db.setBase(
                    BaseRow(
                        root: file.row.root, id: id, parent: file.row.parent, name: name, kind: .file,
                        stamp: file.stamp, contentHash: file.hash,
                        vector: try formerlyShown(file.hash, of: id, db) ?? [:]))
                for known in [file.row.id, id] { try db.markDirty(known) }
            }
            isAny = true
        }
        return isAny
    }

    /// Whether a file is where the state knows it, in whichever zone.
    private func isInPlace(_ name: RecordName, _ root: RootKind, _ db: Database) throws -> Bool {
        try zones.keys.contains { zone in
            guard let row = try db.base(RecordID(zone: zone, name: name)), row.root == root, !row.isParked,
                let path = try db.basePath(of: row.id, top: [top(root)])
            else { return false }
            // What can't be looked at now stands as it is known.
            do { return try files(root).entry(at: path)?.stamp.isSameFile(as: row.stamp) == true } catch { return true }
        }
    }

    /// Whether something is known to have been shown at a path.
    func isKnownPlace(_ path: RelativePath, _ root: RootKind) throws -> Bool {
        try store.read { db in try db.base(at: path, root: root, top: top(root)) } != nil
    }
}
