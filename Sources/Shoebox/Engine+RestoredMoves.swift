import ShoeboxLibrary
import ShoeboxModel
import ShoeboxPlanning
import ShoeboxStore
import ShoeboxWorld

import class GRDB.Database

extension Engine {
    /// Notes of files and folders that are not where a state that was put back knows them, and stand where others had
    /// moved or renamed them since, that they were seen there: no move of this device's user. Where they belong by now,
    /// they go to.
    func adoptMovedSince(_ root: RootKind) throws {
        var search = try MovedSinceSearch(engine: self, root: root)
        guard !search.isEmpty else { return }
        try search.look(in: .root, of: top(root))
    }

    /// A record as it is called in each zone that it was ever in.
    func namesInZones(of id: RecordID, _ db: Database) throws -> [RecordID] {
        let others = try db.zonesOfMoves(of: id.name).map { RecordID(zone: $0, name: id.name) }
        return [id] + others.filter { $0 != id }
    }

    /// Whether a record was ever said to be in a folder under a name, in whichever zones they were then.
    ///
    /// - Parameter known: what of it is left out: it was known before.
    func wasShown(
        _ id: RecordID, as name: FileName, in folder: RecordID, beyond known: VersionVector = [:], _ db: Database
    ) throws -> Bool {
        let placements = try placements(db)
        var names: Set<FileName> = []
        var isInFolder = false
        var isNews = false
        let placement = id.isZoneRoot ? placements.zones[id.zone] : placements.records[id]
        let records = id.isZoneRoot ? [] : try namesInZones(of: id, db)
        for record in records + [placement?.id].compactMap({ $0 }) {
            for change in try db.changes(of: record.name, in: record.zone) {
                guard case .set(let fields) = change.action else { continue }
                let isKnown = known.contains(change.identity)
                if let own = fields[.name]?.fileName {
                    names.insert(own)
                    if own == name, !isKnown { isNews = true }
                }
                guard let value = fields[.parent] else { continue }
                let parent = value.reference.flatMap { $0 == zones[record.zone]?.row.rootRecord ? nil : $0 }
                var shown = RecordID(zone: record.zone, name: parent ?? .zoneRoot)
                // What others share is placed at the top of another folder than the zone of placements is.
                if record == placement?.id, parent == nil, folder == top(.shared) { shown = folder }
                guard try isOneFolder(shown, folder, placements, db) else { continue }
                isInFolder = true
                if !isKnown { isNews = true }
            }
        }
        return isNews && isInFolder && names.contains(name)
    }

    /// Whether two records are one folder, which was shared or unshared between the two.
    private func isOneFolder(
        _ one: RecordID, _ other: RecordID, _ placements: Placements, _ db: Database
    ) throws -> Bool {
        guard one != other else { return true }
        switch (one.isZoneRoot, other.isZoneRoot) {
        case (false, false): return one.name == other.name
        case (true, false): return try isSharedFolder(other, as: one.zone, placements, db)
        case (false, true): return try isSharedFolder(one, as: other.zone, placements, db)
        case (true, true): return false
        }
    }
}

/// One search in a watched folder for what is not where a state that was put back knows it.
private struct MovedSinceSearch {
    let engine: Engine
    let root: RootKind
    /// What is not in its place, by what stays with it wherever it goes.
    private var absent: [FileIdentity: BaseRow] = [:]

    init(engine: Engine, root: RootKind) throws {
        self.engine = engine
        self.root = root
        let rows = try engine.store.read { db in
            try engine.zones.keys.sorted().flatMap { try db.base(in: $0) }.filter { $0.root == root && !$0.isParked }
        }
        for row in rows {
            let path = try engine.store.read { db in try db.basePath(of: row.id, top: [engine.top(root)]) }
            guard let path, try engine.compared(path, root)?.stamp.isSameFile(as: row.stamp) != true else { continue }
            absent[row.stamp.identity] = row
        }
    }

    var isEmpty: Bool { absent.isEmpty }
    private var files: any LocalFileSystem { engine.files(root) }

    /// Looks through a directory that shows a folder.
    mutating func look(in directory: RelativePath, of folder: RecordID) throws {
        let entries: [DirectoryEntry]
        do { entries = try files.list(directory) } catch {
            guard !engine.mayCompareLater(root, error) else { throw error }
            engine.log("not searched: \(error)")
            return
        }
        for entry in entries.sorted(by: { $0.name < $1.name }) where !isEmpty {
            let path = directory.appending(entry.name)
            guard !engine.settings.ignore.ignores(path, isDirectory: entry.kind == .directory) else { continue }
            try take(entry, at: path, in: folder)
            guard entry.kind == .directory,
                let row = try engine.store.read({ db in try db.base(named: entry.name, in: folder, root: root) }),
                row.kind == .folder
            else { continue }
            try look(in: path, of: row.id)
        }
    }

    private mutating func take(_ entry: DirectoryEntry, at path: RelativePath, in folder: RecordID) throws {
        guard var row = absent[entry.stamp.identity], (row.kind == .folder) == (entry.kind == .directory),
            try engine.store.read({ db in
                try engine.wasShown(row.id, as: entry.name, in: folder, beyond: row.vector, db)
            })
        else { return }
        engine.log("'\(path)' was moved there after the backup")
        absent[entry.stamp.identity] = nil
        (row.parent, row.name) = (folder, entry.name)
        let seen = row
        try engine.store.write { db in try db.setBase(seen) }
    }
}
