import ShoeboxModel
import ShoeboxPlanning
import ShoeboxStore

import class GRDB.Database

/// Everything that one plan of file operations is made from.
struct ApplyScope {
    var ids: Set<RecordID> = []
    var layout = Layout()
    var paths: [RecordID: RelativePath] = [:]
    var base: [RecordID: BaseRow] = [:]
    var basePaths: [RecordID: RelativePath] = [:]
    var rows: [RecordID: RecordRow] = [:]
    var placements = Placements()
    /// Folders whose files were not gathered: they are looked at after the folder was made.
    var postponed: Set<RecordID> = []
}

extension Engine {
    /// Collects the folders of a tree and the files of the folders that dirty records are, or were shown, in.
    func gather(_ root: RootKind, dirty: [RecordRow]) throws -> ApplyScope {
        try store.read { db in
            var gatherer = try ScopeGatherer(engine: self, root: root, dirty: dirty, db)
            return try gatherer.gather()
        }
    }
}

/// Which folders have to be looked at for some dirty records, and what is in them.
private struct ScopeGatherer {
    let engine: Engine
    let root: RootKind
    let dirty: [RecordRow]
    let db: Database
    var scope = ApplyScope()
    /// All folders that the records say.
    let folders: [PlacedRecord]
    /// All folders that the watched folder shows.
    let shown: [RecordID: BaseRow]
    /// Where folders show if all of them show, whether they are live or not: which are one, and which have to give way.
    let whole: Layout
    /// Folders of one place are one, and so are those of one name in them: what is in either may collide with what is in the
    /// other, and lies in the folder that stands for all of them.
    var samePlace: [RecordID: [RecordID]] = [:]
    /// The folders whose files are looked at.
    var parents: Set<RecordID> = []

    init(engine: Engine, root: RootKind, dirty: [RecordRow], _ db: Database) throws {
        (self.engine, self.root, self.dirty, self.db) = (engine, root, dirty, db)
        scope.placements = try engine.placements(db)
        folders = try engine.placedFolders(root, placements: scope.placements, db)
        shown = Dictionary(try db.baseFolders(root: root).map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
        let all = folders.map { folder in
            var folder = folder
            folder.isLive = true
            return folder
        }
        whole = layOut(all, roots: [engine.top(root)])
        for folder in folders { samePlace[standing(for: folder.id), default: []].append(folder.id) }
    }

    mutating func gather() throws -> ApplyScope {
        try addParentsOfDirty()
        addChangedFolders()
        addFoldersOfOnePlace()
        let files = try layOutWhole()
        try completeBase(with: files)
        scope.paths = paths(of: scope.layout, roots: [engine.top(root): .root])
        for id in scope.base.keys { scope.basePaths[id] = basePath(id) }
        for row in dirty { scope.rows[row.id] = row }
        scope.postponed.subtract(parents)
        return scope
    }

    private func standing(for id: RecordID) -> RecordID { whole.redirects[id] ?? id }

    /// The folders that dirty records are in, and were shown in.
    private mutating func addParentsOfDirty() throws {
        for row in dirty where row.type.hasPlace {
            scope.ids.insert(row.id)
            parents.insert(engine.shownParent(row, placements: scope.placements))
            if let base = try db.base(row.id) { parents.insert(base.parent) }
        }
    }

    /// A folder that isn't live shows while something in it does, and one that is to be made may have waited for its parent
    /// with all that is in it. Of one that is simply made, or stays as it is, the files can come after it: a first mirror is
    /// as many folders as batches.
    private mutating func addChangedFolders() {
        let changed = Set(dirty.filter { $0.type == .folder }.map(\.id))
        for folder in folders {
            let row = shown[folder.id]
            guard !folder.isLive || row == nil || changed.contains(folder.id) else { continue }
            let stays = row.map { $0.parent == folder.parent && $0.name == folder.name && !$0.isParked } ?? true
            if folder.isLive, stays, samePlace[standing(for: folder.id)]?.count == 1 {
                if row == nil { scope.postponed.insert(folder.id) }
            } else {
                parents.insert(folder.id)
            }
        }
        // A folder of which nothing is known here, such as one that its zone does not show any more.
        parents.formUnion(changed.subtracting(folders.map(\.id)))
    }

    /// Of folders that are one in a folder that became one, none has changed, but several may still show.
    private mutating func addFoldersOfOnePlace() {
        for group in samePlace.values where group.count > 1 {
            let isUnfinished = group.count(where: { shown[$0] != nil }) > 1
            if isUnfinished || !parents.isDisjoint(with: group) { parents.formUnion(group) }
        }
        // Which name is free for a folder that has to give way is said by the files beside it, too.
        parents.formUnion(whole.derivedNames.keys.compactMap { whole.nodes[$0]?.parent })
    }

    /// Lays out what is in the folders, and returns the files. What lies in one of them and belongs elsewhere goes there,
    /// though it may come with a later batch itself: that folder is looked at, too.
    private mutating func layOutWhole() throws -> [PlacedRecord] {
        while true {
            let files = try engine.placedFiles(in: parents, placements: scope.placements, db)
            scope.layout = layOut(folders + files, roots: [engine.top(root)])
            for parent in parents {
                for row in try db.baseChildren(of: parent, root: root) { scope.base[row.id] = row }
            }
            let elsewhere = try parentsElsewhere()
            guard !elsewhere.isSubset(of: parents) else { return files }
            parents.formUnion(elsewhere)
        }
    }

    /// The folders in which files belong that lie in those that are looked at, and have no place there.
    private func parentsElsewhere() throws -> Set<RecordID> {
        var result: Set<RecordID> = []
        for row in scope.base.values where row.kind == .file && scope.layout.nodes[row.id] == nil {
            guard let record = try db.record(row.id), record.isLive else { continue }
            result.insert(engine.shownParent(record, placements: scope.placements))
        }
        return result
    }

    private mutating func completeBase(with files: [PlacedRecord]) throws {
        scope.ids.formUnion(scope.base.keys)
        scope.ids.formUnion(folders.map(\.id))
        // A folder of which no record is left, as of a share that was brought home, goes when it is empty.
        let known = Set(folders.map(\.id))
        for row in shown.values where root == .library && !known.contains(row.id) && !row.id.isZoneRoot {
            scope.ids.insert(row.id)
        }
        // The folder of an owner of whom nothing is shared any more goes with the last share.
        scope.ids.formUnion(shown.keys.filter { $0.zone == .none && !$0.isZoneRoot })
        scope.ids.formUnion(files.map(\.id))
        for row in shown.values { scope.base[row.id] = row }
        for id in scope.ids where scope.base[id] == nil {
            if let row = try db.base(id), row.root == root { scope.base[id] = row }
        }
        for row in try db.parkedBase(root: root) { scope.base[row.id] = row }
    }

    private func basePath(_ id: RecordID) -> RelativePath? {
        var names: [FileName] = []
        var current = id
        while current != engine.top(root) {
            guard names.count < 256, let row = scope.base[current] else { return nil }
            names.append(row.name)
            current = row.parent
        }
        return RelativePath(names.reversed())
    }
}
