import ShoeboxLibrary
import ShoeboxModel
import ShoeboxPlanning
import ShoeboxStore
import ShoeboxWorld

import class GRDB.Database

/// What is gone from a folder that goes to another zone. It was deleted, or is on its way elsewhere, and must not be shown to
/// the people of that zone: it stays in its own, until it is as sure as any other deletion, or turns up.
struct LeftBehind {
    /// The base entries that are gone.
    var ids: Set<RecordID>
    /// The folder in which they are said to be missing from now on.
    var place: RecordID
}

extension Engine {
    /// Says of something that is gone that it is missing elsewhere in its zone.
    ///
    /// - Parameter folder: where the folder is now that it was in: a sidecar that lies there goes.
    func leaveBehind(_ child: BaseRow, of folder: RecordID, at place: RecordID, writer: inout HistoryWriter) throws {
        let db = writer.db
        let isThere = place.zone == child.id.zone && writer.carried[place] == nil
        var row = child
        row.parent = isThere ? place : RecordID(zone: child.id.zone, name: .zoneRoot)
        if try isTaken(row.name, in: row.parent, row.root, db) {
            row.name = row.name.inserting(" (\(child.id.name.description.prefix(8)))")
        }
        var beside = child
        beside.parent = folder
        try oweRemoval(ofSidecarBeside: beside, db)
        var fields: [FieldKey: Value] = [.parent: row.parent.parentValue]
        if row.name != child.name { fields[.name] = .name(row.name) }
        for id in [child.id] + child.twins where id.zone == child.id.zone {
            guard let record = try db.record(id), let state = try db.state(of: id) else { continue }
            let change = try writer.write(id, type: record.type, .set(fields), context: state.vector)
            if id == child.id { row.vector.insert(change.dot) }
        }
        try db.setBase(row)
        // There it is looked for, until it is taken for deleted.
        if let path = try db.basePath(of: row.parent, top: [top(row.root)]) {
            later[.init(root: row.root, path: path)] = world.uptimeMilliseconds()
        }
    }

    private func isTaken(_ name: FileName, in folder: RecordID, _ root: RootKind, _ db: Database) throws -> Bool {
        guard try db.base(named: name, in: folder, root: root) == nil,
            let path = try db.basePath(of: folder, top: [top(root)])
        else { return true }
        return !files(root).isAbsent(path.appending(name))
    }

    /// What the base has in some folders, at any depth, and the folders have not: it was deleted, or moved, a moment ago.
    /// Nothing of what is not there as a whole.
    func gone(from rows: [BaseRow]) throws -> Set<RecordID> {
        var result: Set<RecordID> = []
        for row in rows where row.kind == .folder {
            guard try checkRoot(row.root),
                let path = try store.read({ db in try db.basePath(of: row.id, top: [top(row.root)]) })
            else { continue }
            try addGone(from: row, at: path, to: &result)
        }
        return result
    }

    private func addGone(from row: BaseRow, at path: RelativePath, to result: inout Set<RecordID>) throws {
        let found: [FileName: FileKind]
        // Of what can't be listed, nothing is known to be gone.
        do {
            found = Dictionary(try files(row.root).list(path).map { ($0.name, $0.kind) }) { first, _ in first }
            guard try !holdsOtherMount(row, at: path) else { return }
        } catch let error as FileError {
            // What is gone from there must not go along: the command is repeated.
            guard !error.mayPass else { throw error }
            return
        }
        for child in try store.read({ db in try db.baseChildren(of: row.id, root: row.root) }) where !child.isParked {
            let kind = found[child.name]
            if kind != child.kind.fileKind {
                if kind?.isFileOrFolder != false { result.insert(child.id) }
            } else if child.kind == .folder {
                try addGone(from: child, at: path.appending(child.name), to: &result)
            }
        }
    }
}
