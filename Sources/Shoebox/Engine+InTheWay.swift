import ShoeboxLibrary
import ShoeboxModel
import ShoeboxPlanning
import ShoeboxStore
import ShoeboxWorld

import class GRDB.Database

// What a user put where they may not add, into the shared folder or a share that they have handed over, stays on this
// machine and is in no record, as do files that are left out. They must not keep what the records say from being shown,
// for ever, because they have the same name.

extension Engine {
    /// Gives what stands where something has to go another name, beside it, if no scan would ever take it: in others'
    /// shares a file or folder of the user's, and anywhere a folder that is shown no more, in which something of the user's
    /// is left. Nothing happens to what the base knows, what may be added, or what is still being written.
    func moveAside(for operation: FileOperation, root: RootKind, shown: Layout) throws {
        guard let path = operation.path, let name = path.last,
            let found = try files(root).entry(at: path)
        else { return }
        // A folder of the name is as good as one that is made.
        if case .makeDirectory = operation, found.kind == .directory { return }
        guard try !reportsAlias(of: name, found, at: path, for: operation.record, root) else { return }
        let (isOutOfReach, former, left) = try store.read { db -> (Bool, BaseRow?, [RecordID]?) in
            guard let parent = try db.base(at: path.parent, root: root, top: top(root)) else {
                return (false, nil, nil)
            }
            let isOutOfReach =
                root == .shared && parent.zone == .none
                || zones[parent.zone]?.row.state == .active && !may(.addRecord, in: parent.zone)
            guard let row = try db.base(named: name, in: parent, root: root) else { return (isOutOfReach, nil, nil) }
            return (isOutOfReach, row, found.kind == .directory ? try leftFolders(row, shown, db) : nil)
        }
        let mayMove =
            if let former {
                try left != nil && (isOutOfReach || holdsLeftoversOnly(path, folder: former.id, root: root))
            } else {
                isOutOfReach
            }
        guard mayMove, found.kind != .file || !files(root).hasWriter(path) else { return }
        for number in 1...100 {
            let target = path.parent.appending(name.inserting(number == 1 ? " (only here)" : " (only here \(number))"))
            guard try files(root).entry(at: target) == nil else { continue }
            try files(root).rename(path, to: target, mode: .failIfExists)
            if let left { try store.write { db in for id in left { try db.removeBase(id) } } }
            // It is looked at, and named in `status`, under its new name.
            later[.init(root: root, path: path.parent)] = world.uptimeMilliseconds()
            return log("'\(display(path, root))' gives way to the share's and is '\(display(target, root))' now")
        }
    }

    /// Whether what answers to a name is known under another one beside it, which its disk does not tell from that. That one stays,
    /// and it is said that both can't be shown.
    private func reportsAlias(
        of name: FileName, _ found: DirectoryEntry, at path: RelativePath, for record: RecordID, _ root: RootKind
    ) throws -> Bool {
        let rows = try store.read { db -> [BaseRow] in
            guard let parent = try db.base(at: path.parent, root: root, top: top(root)) else { return [] }
            return try db.base(inode: found.stamp.inode, root: root).filter {
                $0.parent == parent && $0.name != name && !$0.isParked && found.stamp.isSameFile(as: $0.stamp)
            }
        }
        // It is about to get this very name.
        guard !rows.contains(where: { $0.id == record }) else { return true }
        // What can't be listed now is no alias: the operation finds its place taken, and is tried again.
        guard let other = rows.first?.name, let listed = try? files(root).list(path.parent).map(\.name),
            listed.contains(other),
            !listed.contains(name)
        else { return false }
        let shown = display(path, root)
        unsettledPaths.insert(shown)
        try report(
            "notApplied", path: shown, zone: record.zone,
            "'\(shown)' can't be shown beside '\(other)': this disk does not tell their names apart.",
            "Rename one of them, on a device that shows both.")
        return true
    }

    /// A folder that no record shows any more, and in which its user put something since, is the user's, and not known
    /// yet: one of a share that has ended, which is a folder of the library like any other, and one that was refused.
    func giveBack(_ folder: RecordID, at path: RelativePath, root: RootKind) throws {
        guard let zone = zones[folder.zone] else { return }
        let isOver = root == .library && zone.row.state != .active
        let mayGive = try store.read { db in
            try (isOver || isUnnamed(folder, db)) && db.baseChildren(of: folder, root: root).isEmpty
        }
        guard mayGive, try !holdsLeftoversOnly(path, folder: folder, root: root) else { return }
        try store.write { db in try db.removeBase(folder) }
        later[.init(root: root, path: path.parent)] = world.uptimeMilliseconds()
    }

    /// Whether nothing is left of what was said of a folder: it was refused, as what made it came without permission.
    func isUnnamed(_ folder: RecordID, _ db: Database) throws -> Bool {
        guard !folder.isZoneRoot, folder.zone != .none, try db.record(folder)?.isLive != true else { return false }
        return try db.state(of: folder)?.fileName == nil
    }

    /// A folder that all records have left, with those in it; nil if some record still shows there.
    private func leftFolders(_ row: BaseRow, _ shown: Layout, _ db: Database) throws -> [RecordID]? {
        guard row.kind == .folder, shown.nodes[row.id] == nil else { return nil }
        var result = [row.id]
        for child in try db.baseChildren(of: row.id, root: row.root) {
            guard let inside = try leftFolders(child, shown, db) else { return nil }
            result += inside
        }
        return result
    }

    /// Whether no scan takes anything of what is in a folder: files that are left out, sidecars without their photo,
    /// tag files where no zone has them.
    private func holdsLeftoversOnly(_ path: RelativePath, folder: RecordID, root: RootKind) throws -> Bool {
        try files(root).list(path).allSatisfy { entry in
            let isDirectory = entry.kind == .directory
            if settings.ignore.ignores(path.appending(entry.name), isDirectory: isDirectory) { return true }
            if isDirectory, entry.name == OwnPaths.tags.last {
                return try holdsTagFilesOnly(path.appending(entry.name), root)
            }
            if isDirectory {
                // Of what is in it, all that is a record has left it, too.
                let inside = try store.read { db in try db.base(named: entry.name, in: folder, root: root) }
                guard let inside, inside.stamp.isSameFile(as: entry.stamp) else { return false }
                return try holdsLeftoversOnly(path.appending(entry.name), folder: inside.id, root: root)
            }
            guard entry.kind == .file else { return true }
            guard !SidecarName.photos(for: entry.name).isEmpty else { return false }
            switch try sidecarStanding(entry, in: path, folder: folder, root: root) {
            case .own, .unchanged: return true
            case .foreign, .unreadable: return false
            }
        }
    }

    /// Has the whole folder of a share looked at again: what lies in it may be taken now, and was not before.
    func lookAtAll(of zone: ZoneID) throws {
        let now = world.uptimeMilliseconds()
        let found = try store.read { db in
            try db.base(in: zone).filter { $0.kind == .folder }.compactMap { row in
                try db.basePath(of: row.id, top: [top(row.root)]).map { WatchedPath(root: row.root, path: $0) }
            }
        }
        for place in found { later[place] = now }
    }
}
