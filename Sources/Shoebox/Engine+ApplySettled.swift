import ShoeboxLibrary
import ShoeboxModel
import ShoeboxPlanning
import ShoeboxStore
import ShoeboxWorld

import class GRDB.Database

// What is left to note and to do for files that are in their places.

extension Engine {
    /// Says in the base tree what the folder shows now, for records that needed nothing done to their file.
    ///
    /// - Returns: those that have other twins than before; and those that have news of others', such as a caption, while they
    ///   are gone from their places: by the time that this is taken for a deletion or a move, nobody was shown that. They wait,
    ///   as those do of which there are other bytes.
    func settleBase(
        _ scope: ApplyScope, failed: Set<RecordID>, root: RootKind
    ) throws -> (reunited: Set<RecordID>, gone: Set<RecordID>) {
        try store.write { db in
            var reunited: Set<RecordID> = []
            var gone: Set<RecordID> = []
            for id in scope.ids where !failed.contains(id) {
                guard let node = scope.layout.nodes[id], var row = try db.base(id), row.root == root, !row.isParked,
                    row.contentHash == node.contentHash, row.kind == node.kind, row.parent == node.parent,
                    row.name == node.name
                else { continue }
                let vector = try db.state(of: id)?.vector ?? row.vector
                var twinVectors: [RecordID: VersionVector] = [:]
                for twin in node.twins { twinVectors[twin] = try db.state(of: twin)?.vector ?? [:] }
                guard vector != row.vector || node.twins != row.twins || twinVectors != row.twinVectors else {
                    continue
                }
                let isNews =
                    !row.vector.contains(vector)
                    || twinVectors.contains { row.twinVectors[$0.key]?.contains($0.value) != true }
                if isNews, try isGone(row, db) {
                    gone.insert(id)
                    continue
                }
                if row.twins != node.twins { reunited.insert(id) }
                row.vector = vector
                row.twins = node.twins
                row.twinVectors = twinVectors
                try db.setBase(row)
            }
            return (reunited, gone)
        }
    }

    /// Whether nothing stands where a photo or folder is known, or a folder in a photo's place or the other way, so that this
    /// will be taken for a deletion or a move.
    private func isGone(_ row: BaseRow, _ db: Database) throws -> Bool {
        guard let path = try db.basePath(of: row.id, top: [top(row.root)]),
            !settings.ignore.ignores(path, isDirectory: row.kind == .folder)
        else { return false }
        do {
            guard let entry = try files(row.root).entry(at: path) else { return true }
            return entry.kind.isFileOrFolder && entry.kind != row.kind.fileKind
        } catch {
            // What can't be looked at for good is never taken for deleted.
            return error.isAbsence || error.mayPass
        }
    }

    /// The photos whose sidecars say something else now because of a twin: one that changed, came or went.
    func representatives(
        of dirty: [RecordRow], besides reunited: Set<RecordID>, _ scope: ApplyScope
    ) throws -> [RecordRow] {
        let known = Set(dirty.map(\.id))
        var wanted = reunited
        for node in scope.layout.nodes.values where node.kind == .file && !node.twins.isEmpty {
            if !known.isDisjoint(with: node.twins) { wanted.insert(node.id) }
        }
        return try store.read { db in
            try wanted.subtracting(known).sorted().compactMap { try db.record($0) }
        }
    }

    /// Makes files in other people's shares writable or not, as this account may change them or not.
    func followPermissions(of dirty: [RecordRow], root: RootKind) throws {
        for record in dirty where record.type.hasContent && record.isLive && zones[record.id.zone]?.row.isMine == false
        {
            let found = try store.read { db -> (row: BaseRow, path: RelativePath, isWritable: Bool)? in
                guard let row = try db.base(record.id), row.root == root, !row.isParked,
                    let parent = try db.basePath(of: row.parent, top: [top(root)])
                else { return nil }
                return (row, parent.appending(row.name), try may(.editRecord, record.id, db))
            }
            guard let (shown, path, isWritable) = found else { continue }
            var row = shown
            let isAsWanted = (row.stamp.mode & 0o222 != 0) == isWritable
            if !isAsWanted, let mode = setMode(isWritable: isWritable, at: path, root, seen: row.stamp) {
                row.stamp.mode = mode
                let noted = row
                try store.write { db in try db.setBase(noted) }
            }
            let (sidecar, maySpeak) = try store.read { db in
                (try db.sidecar(record.id), try may(.rate, record.id, db))
            }
            guard let sidecar else { continue }
            _ = setMode(isWritable: maySpeak, at: path.parent.appending(sidecar.name), root, seen: sidecar.stamp)
        }
    }

    /// The permission bits that a file has from now on; nil if it is not as last seen.
    private func setMode(isWritable: Bool, at path: RelativePath, _ root: RootKind, seen: FileStamp) -> UInt16? {
        do {
            guard let stamp = try files(root).entry(at: path)?.stamp, stamp.isUnchanged(from: seen) else { return nil }
            let mode = isWritable ? stamp.mode | 0o200 : stamp.mode & ~0o222
            if mode != stamp.mode { try files(root).setMode(path, mode) }
            return mode
        } catch {
            log("the permission bits of '\(path)' stay: \(error)")
            return nil
        }
    }
}
