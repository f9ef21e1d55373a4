import ShoeboxLibrary
import ShoeboxModel
import ShoeboxPlanning
import ShoeboxStore
import ShoeboxWorld

import class GRDB.Database

// A command means what lies under the path that it names now. Under the name of what was moved away another thing may lie,
// and what was moved may be anywhere: that is looked for before the command is done.

extension Engine {
    /// What a process that watched nothing so far has to look at before it does something with what lies at some paths.
    public func extent(toTell references: [PathReference]) throws -> ScanExtent {
        var directories: [RootKind: Set<RelativePath>] = [:]
        for reference in references {
            guard let path = reference.path else { continue }
            // What lies beside many of one directory is looked at once.
            let isFirst = directories[reference.root, default: []].insert(path.parent).inserted
            guard try isAsKnown(path, reference.root, withSiblings: isFirst) else { return .all }
            for new in try newFiles(at: [reference]) {
                directories[reference.root, default: []].insert(new.path.parent)
            }
        }
        return .directories(directories)
    }

    /// The record that is shown at a path; nil if there is none, or if it is not clear yet which one it is.
    func shownRecord(at path: RelativePath, _ root: RootKind) throws -> RecordID? {
        func shown() throws -> RecordID? {
            try store.read { db in try db.base(at: path, root: root, top: top(root)) }
        }
        let isAsKnown = try isAsKnown(path, root)
        if isAsKnown, let id = try shown() { return id }
        // What was dropped a moment ago is known only after a look.
        _ =
            try isAsKnown
            ? scan(root, directories: [path.parent], author: "scan") : scan(root, author: "scan")
        let key = WatchedPath(root: root, path: path)
        guard unsettled[key] == nil, displaced[key] == nil, let id = try shown() else { return nil }
        // A folder in the place of a photo, or the other way, is not what was known there, whatever became of that.
        guard let kind = try? files(root).entry(at: path)?.kind, let row = try store.read({ db in try db.base(id) }),
            kind != row.kind.fileKind
        else { return id }
        return nil
    }

    /// Whether all that the base tree has at a path, on the way there and below it is there, and is the same thing. What is
    /// new does not count; what was moved there does.
    ///
    /// - Parameter withSiblings: whether that has to hold for what lies beside it, too.
    private func isAsKnown(_ path: RelativePath, _ root: RootKind, withSiblings: Bool = false) throws -> Bool {
        try store.read { db in
            var row = try db.base(top(root))
            var parent = top(root)
            var way = RelativePath.root
            for name in path.names {
                if withSiblings, way == path.parent {
                    guard try isAsKnown(childrenOf: parent, at: way, root, db, isDeep: false) else { return false }
                }
                way = way.appending(name)
                row = try db.base(named: name, in: parent, root: root)
                let entry = try? files(root).entry(at: way)
                guard let row else { return try !isMoved(entry, root, db) }
                guard isThere(row, entry) else { return false }
                parent = row.id
            }
            guard row?.kind == .folder else { return true }
            return try isAsKnown(childrenOf: parent, at: path, root, db, isDeep: true)
        }
    }

    private func isAsKnown(
        childrenOf folder: RecordID, at path: RelativePath, _ root: RootKind, _ db: Database, isDeep: Bool
    ) throws -> Bool {
        // What can't be listed is reported by the look itself.
        guard let entries = try? files(root).list(path) else { return true }
        let byName = Dictionary(entries.map { ($0.name, $0) }) { first, _ in first }
        for row in try db.baseChildren(of: folder, root: root) {
            guard isThere(row, byName[row.name]) else { return false }
            guard isDeep, row.kind == .folder else { continue }
            guard try isAsKnown(childrenOf: row.id, at: path.appending(row.name), root, db, isDeep: true) else {
                return false
            }
        }
        return true
    }

    /// Takes what lies at some paths in as it is now, before others are shown it: what was written over, or taken out of a sidecar,
    /// a moment ago is not for them.
    ///
    /// - Returns: how many files are there that could not be taken yet, as they are still being written, or can't be read.
    /// - Throws: where what is known was changed, and that can't be taken yet.
    @discardableResult
    func takeAsItIs(_ references: [PathReference]) throws -> Int {
        let changed = try changedFiles(at: references) + newFiles(at: references)
        guard !changed.isEmpty else { return 0 }
        for (root, paths) in Dictionary(grouping: changed, by: \.root) {
            _ = try scan(root, directories: Set(paths.map(\.path.parent)), author: "scan")
        }
        guard let left = try changedFiles(at: references).min(by: { $0.path < $1.path }) else {
            return try newFiles(at: references).count
        }
        let shown = display(left.path, left.root)
        throw RequestError(
            ExitCode.busy, "'\(shown)' has changed, and was not taken yet: others would be shown what it was before.",
            openProblems.contains("unreadable||\(shown)")
                ? "It cannot be read: make it readable, or move it elsewhere first." : "Try again in a moment.")
    }

    /// The known photos and sidecars at some paths, or below, that are not as they were last seen. Of what can't be told for good,
    /// as it was cut to nothing or is no sidecar any more, what it was before is what it says.
    private func changedFiles(at references: [PathReference]) throws -> [WatchedPath] {
        try store.read { db in
            try references.flatMap { reference -> [WatchedPath] in
                guard let path = reference.path,
                    let id = try db.base(at: path, root: reference.root, top: top(reference.root)),
                    let row = try db.base(id)
                else { return [] }
                return try changedFiles(of: row, at: path, db)
            }
        }.filter { place in
            let shown = display(place.path, place.root)
            return !["emptied", "sidecarBroken", "sidecarNewer"].contains { openProblems.contains("\($0)||\(shown)") }
        }
    }

    private func changedFiles(of row: BaseRow, at path: RelativePath, _ db: Database) throws -> [WatchedPath] {
        func isChanged(_ path: RelativePath, _ stamp: FileStamp) -> Bool {
            // What is not there is gone, and does not go along; what can't be looked at just now may have changed.
            do throws(FileError) {
                guard let entry = try files(row.root).entry(at: path), entry.kind == .file else { return false }
                return !entry.stamp.isUnchanged(from: stamp)
            } catch { return error.mayPass }
        }
        if row.kind == .folder {
            return try db.baseChildren(of: row.id, root: row.root).filter { !$0.isParked }.flatMap {
                try changedFiles(of: $0, at: path.appending($0.name), db)
            }
        }
        var result: [WatchedPath] = []
        if isChanged(path, row.stamp) { result.append(.init(root: row.root, path: path)) }
        if let sidecar = try db.sidecar(row.id) {
            let place = path.parent.appending(sidecar.name)
            if isChanged(place, sidecar.stamp) { result.append(.init(root: row.root, path: place)) }
        }
        return result
    }

    /// The files in some folders that the base does not know, and that a look would take.
    private func newFiles(at references: [PathReference]) throws -> [WatchedPath] {
        try store.read { db in
            try references.flatMap { reference -> [WatchedPath] in
                guard let path = reference.path else { return [] }
                let id = try db.base(at: path, root: reference.root, top: top(reference.root))
                return try newFiles(in: path, reference.root, of: id, db)
            }
        }
    }

    private func newFiles(
        in path: RelativePath, _ root: RootKind, of id: RecordID?, _ db: Database
    ) throws -> [WatchedPath] {
        // What is no folder is known, or not found; what can't be listed is reported by the look itself.
        guard let entries = try? files(root).list(path) else { return [] }
        let known = try id.map { try db.baseChildren(of: $0, root: root) } ?? []
        let byName = Dictionary(known.map { ($0.name, $0) }) { first, _ in first }
        return try entries.flatMap { entry -> [WatchedPath] in
            let (place, row) = (path.appending(entry.name), byName[entry.name])
            guard !settings.ignore.ignores(place, isDirectory: entry.kind == .directory),
                entry.name != OwnPaths.tags.last
            else { return [] }
            switch entry.kind {
            case .directory:
                guard row?.kind != .file, try row != nil || !isMountPoint(place, root) else { return [] }
                return try newFiles(in: place, root, of: row?.id, db)
            case .file:
                guard row == nil, SidecarName.photos(for: entry.name).isEmpty else { return [] }
                return [.init(root: root, path: place)]
            default: return []
            }
        }
    }

    /// Whether this is known under another name, or in another folder: what it left behind there has to be looked at, too.
    private func isMoved(_ entry: DirectoryEntry?, _ root: RootKind, _ db: Database) throws -> Bool {
        guard let entry else { return false }
        return try db.base(inode: entry.stamp.inode, root: root).contains { isThere($0, entry) }
    }

    private func isThere(_ row: BaseRow, _ entry: DirectoryEntry?) -> Bool {
        guard let entry, entry.kind == row.kind.fileKind else { return false }
        return entry.stamp.isSameFile(as: row.stamp)
    }
}
