import ShoeboxLibrary
import ShoeboxModel
import ShoeboxPlanning
import ShoeboxStore
import ShoeboxWorld

import class GRDB.Database

extension Engine {
    /// Forgets files that are gone, and lie in the trash of their folder: this device has put them there, though the state does
    /// not know it, as it was put back to before it left a share. They are no deletions of its user's, and what the records
    /// still show comes back.
    ///
    /// - Parameter gone: what was not found, the files in folders that are gone not by themselves.
    /// - Returns: which of it is forgotten.
    /// - Throws: when the trash can't be looked at.
    func forgetPutAway(_ gone: [BaseRow], _ root: RootKind) throws -> Set<RecordID> {
        guard !gone.isEmpty else { return [] }
        let applier = makeApplier(root)
        let back = try recoverExchanges(root)
        let there = try store.read { db in
            try gone.filter { row in try db.basePath(of: row.id, top: [top(root)]).map(back.contains) ?? false }
        }
        let trashed = try applier.trashedFiles()
        guard !trashed.isEmpty else { return Set(there.map(\.id)) }
        let putAway = try store.read { db in
            try gone.filter { row in !there.contains { $0.id == row.id } }
                .map { row in try [row] + rows(in: row, db) }.filter { rows in
                    // What others deleted is gone for good, and its sidecar follows it as always.
                    try rows.contains { row in
                        guard let item = item(of: row, in: trashed), try db.record(row.id)?.isLive == true else {
                            return false
                        }
                        return try applier.isItem(item, of: row.id, from: db.basePath(of: row.id, top: [top(root)]))
                    }
                }
        }
        guard !putAway.isEmpty else { return Set(there.map(\.id)) }
        try forget(Array(putAway.joined()))
        log("\(putAway.count) files or folders are gone as they were put into the trash")
        // No key path: the runtime copies overlapping memory for one through an optional.
        return Set(putAway.compactMap { $0.first?.id }).union(there.map(\.id))
    }

    /// Forgets that files and folders which are gone are shown.
    private func forget(_ rows: [BaseRow]) throws {
        try store.write { db in
            // While it is known where they were.
            for row in rows { try oweRemoval(ofSidecarBeside: row, db) }
            for row in rows {
                try db.removeBase(row.id)
                try db.removeSidecar(row.id)
                try db.markDirty(row.id)
            }
            try db.markLayoutDirty()
        }
    }

    /// Forgets of what is gone what others have deleted, too: nobody needs to be asked about it, and nothing is there to be
    /// removed.
    ///
    /// - Returns: what is forgotten, the files in folders with it.
    func forgetDeleted(_ gone: [BaseRow]) throws -> Set<RecordID> {
        guard !gone.isEmpty else { return [] }
        var dead: [BaseRow] = []
        /// Adds what is dead; whether that is all of it.
        func add(_ row: BaseRow, _ db: Database) throws -> Bool {
            var isWhole = true
            if row.kind == .folder {
                for child in try db.baseChildren(of: row.id, root: row.root) {
                    isWhole = try add(child, db) && isWhole
                }
            }
            guard isWhole, row.twins.isEmpty, !row.isParked, !row.id.isZoneRoot, row.id.zone != .none,
                let state = try db.state(of: row.id), state.isDeleted, state.movedTo == nil
            else { return false }
            dead.append(row)
            return true
        }
        try store.read { db in for row in gone { _ = try add(row, db) } }
        guard !dead.isEmpty else { return [] }
        try forget(dead)
        return Set(dead.map(\.id))
    }

    private func item(of row: BaseRow, in trashed: [FileIdentity: RelativePath]) -> RelativePath? {
        row.kind == .file && row.stamp.birthNanoseconds != 0 ? trashed[row.stamp.identity] : nil
    }

    /// All that the state knows in a folder, however deep; nothing in a file.
    private func rows(in folder: BaseRow, _ db: Database) throws -> [BaseRow] {
        guard folder.kind == .folder else { return [] }
        return try db.baseChildren(of: folder.id, root: folder.root).flatMap { [$0] + (try rows(in: $0, db)) }
    }
}
