import ShoeboxModel
import ShoeboxPlanning
import ShoeboxStore
import ShoeboxWorld

import class GRDB.Database

extension Engine {
    /// Makes folders anew whose making was refused, as this account had no permission then, where something of its own that
    /// counts lies in them: that was on its way already when the permission came back, and nobody would show it in a folder
    /// that nobody knows. Returns how many changes that made.
    func renewRefusedFolders(_ rows: [RecordRow]) throws -> Int {
        let folders = try store.read { db in
            try Set(rows.compactMap { folder(toLookAtFor: $0) }).filter { try isRefusedAndUsed($0, db) }
        }
        guard !folders.isEmpty else { return 0 }
        return try store.write { db in
            var writer = try HistoryWriter(db, engine: self, author: "rename")
            for folder in folders.sorted() where try isRefusedAndUsed(folder, db) {
                _ = try renew(folder, writer: &writer)
            }
            try writer.finish()
            return writer.count
        }
    }

    private func folder(toLookAtFor row: RecordRow) -> RecordID? {
        guard may(.addRecord, in: row.id.zone) else { return nil }
        if row.type == .folder, !row.isLive { return row.id }
        guard row.isLive, row.type.hasPlace, row.nameAuthor == account, let parent = row.parent else { return nil }
        return RecordID(zone: row.id.zone, name: parent)
    }

    /// Whether this device shows a folder of which nothing is left, and there is something of this account's in it.
    private func isRefusedAndUsed(_ folder: RecordID, _ db: Database) throws -> Bool {
        try db.base(folder) != nil && isUnnamed(folder, db) && !ownChildren(of: folder, db).isEmpty
    }

    private func ownChildren(of folder: RecordID, _ db: Database) throws -> [RecordRow] {
        try db.placedChildren(in: folder.zone, parent: folder.name).filter { $0.nameAuthor == account }
    }

    /// The folder as a record that others show: one that was refused is made once more.
    private func renew(_ folder: RecordID, writer: inout HistoryWriter) throws -> RecordID {
        let db = writer.db
        guard try isUnnamed(folder, db), let row = try db.base(folder), row.kind == .folder else { return folder }
        return try renew(folder, name: row.name, in: try renew(row.parent, writer: &writer), writer: &writer)
    }

    /// Makes a folder once more that was refused, with what is this account's own in it.
    func renew(
        _ folder: RecordID, name: FileName, in parent: RecordID, writer: inout HistoryWriter
    ) throws -> RecordID {
        let db = writer.db
        let children = try ownChildren(of: folder, db)
        let (id, shown) = try makeFolder(in: parent, name: name, writer: &writer)
        try db.rekeyBase(folder, to: id, vector: shown)
        writer.carry(folder, to: id)
        for child in children {
            try writer.write(
                child.id, type: child.type, .set([.parent: id.parentValue]),
                context: try db.state(of: child.id)?.vector ?? [:])
        }
        return id
    }
}
