import ShoeboxLibrary
import ShoeboxModel
import ShoeboxPlanning
import ShoeboxStore
import ShoeboxWorld

import class GRDB.Database

extension Engine {
    /// Turns what a user did into history, in one transaction: changes with the base's context, and the base tree.
    ///
    /// - Parameters:
    ///   - gone: what was not found where it was, whether or not it is deleted or found elsewhere by these changes.
    ///   - rewriting: what sidecars say anew of photos that go to another share; it is read where they are then.
    ///   - note: what is noted in the same transaction.
    /// - Returns: how many changes that were, and what of it was moved to where nothing is taken.
    func take(
        _ changes: [LocalChange], root: RootKind, author: String, gone: Set<RecordID> = [],
        rewriting: [RecordID: RewrittenDetails] = [:], noting note: (Database) throws -> Void = { _ in }
    ) throws -> (count: Int, unplaced: Set<RecordID>) {
        guard !changes.isEmpty else { return (0, []) }
        var aftermath = Aftermath()
        var returning: [ZoneInfo] = []
        let count = try store.write { db -> Int in
            var taker = LocalTaker(
                engine: self, root: root, db: db, writer: try HistoryWriter(db, engine: self, author: author),
                placements: try placements(db))
            for change in changes {
                if case .delete(let id) = change, root == .shared, id.isZoneRoot,
                    zones[id.zone]?.row.isMine != true
                {
                    taker.leaving.insert(id.zone)
                }
                if case .delete(let id) = change, id.zone == .none {
                    for zone in zonesShown(.shared)
                    where Self.ownerFolderName(zone.control) == id.name && !zone.row.isMine {
                        taker.leaving.insert(zone.id)
                    }
                }
            }
            for case .delete(let id) in changes where root == .library && id.isZoneRoot {
                guard let zone = zones[id.zone], zone.row.kind == .share else { continue }
                returning.append(zone)
            }
            taker.gone = gone
            taker.writer.rewritten = rewriting
            for change in try taker.prepare(changes) { try taker.take(change) }
            try taker.showDisplaced()
            try taker.writer.finish()
            try note(db)
            aftermath = taker.aftermath
            aftermath.problems += returning.map(Self.shareFolderBack)
            try self.note(aftermath.problems, db)
            return taker.writer.count
        }
        announce(aftermath.problems)
        if aftermath.owesCopies { try makeOwedCopies() }
        for item in aftermath.moved { try followWithSidecar(item.id, from: item.folder, item.name, root: root) }
        if aftermath.hasOrphans { try removeOrphans() }
        for line in aftermath.log { log(line) }
        if count > 0 { log("took \(count) changes (\(author))") }
        return (count, aftermath.unplaced)
    }

    private static func shareFolderBack(_ zone: ZoneInfo) -> Problem {
        Problem(
            code: "shareFolderBack", zone: zone.id,
            message:
                "The folder of your share '\(zone.control.title)' was deleted as a whole; it comes back, as others have it too.",
            remedy:
                "'shoebox share stop' ends the share. To delete its photos for everybody, delete them in the folder.")
    }
}

extension Engine {
    /// Takes back the offer to leave a share whose folder is there again, the same one with all that was in it: it was
    /// not listed, or its user moved it back.
    func resumeOffered() throws {
        for zone in zones.values where zone.row.root == .shared && zone.row.state == .leaveOffered {
            let mount = RecordID(zone: zone.id, name: .zoneRoot)
            let found = try store.read { db -> (BaseRow, RelativePath, [BaseRow])? in
                guard let row = try db.base(mount), let path = try db.basePath(of: mount, top: [top(.shared)]) else {
                    return nil
                }
                return (row, path, try db.baseChildren(of: mount, root: .shared))
            }
            guard let (row, path, children) = found, let entry = try? files(.shared).entry(at: path),
                entry.kind == .directory, let list = try? files(.shared).list(path)
            else { continue }
            let listed = Dictionary(list.map { ($0.name, $0.stamp) }) { first, _ in first }
            // Where something was mounted over it, the base may have taken that for it: the very files tell.
            let isSame = entry.stamp.isSameFile(as: row.stamp)
            guard isSame || !children.isEmpty,
                children.allSatisfy({ child in
                    listed[child.name].map { isSame || $0.isSameFile(as: child.stamp) } ?? false
                })
            else { continue }
            try store.write { db in
                guard var row = try db.zone(zone.id) else { return }
                row.state = .active
                try db.setZone(row)
                try db.markAllDirty(in: zone.id)
                try db.markLayoutDirty()
            }
            missing = missing.filter { $0.key.zone != zone.id && $0.key.zone != .none }
            try clearProblem("leaveOffered", zone: zone.id)
            try reloadZones()
            try lookAtFolders(of: zone.id)
        }
    }

    /// Has all folders looked at that a zone shows: while they were away, nobody watched them.
    private func lookAtFolders(of zone: ZoneID) throws {
        let paths = try store.read { db in
            try db.base(in: zone).filter { $0.kind == .folder && !$0.isParked }.compactMap {
                try db.basePath(of: $0.id, top: [top($0.root)])
            }
        }
        for path in paths { later[.init(root: .shared, path: path)] = world.uptimeMilliseconds() }
    }

    /// Notes that the folder of somebody else's share is gone as a whole: nothing of it is deleted, and its user is asked.
    func offerLeave(_ zone: ZoneID, _ db: Database) throws -> Problem? {
        guard var row = try db.zone(zone), row.state == .active || row.state == .leaveOffered else { return nil }
        row.state = .leaveOffered
        try db.setZone(row)
        let title = zones[zone]?.control.title ?? ""
        return Problem(
            code: "leaveOffered", zone: zone,
            message: "The folder of the share '\(title)' was deleted. Nothing of it was deleted for others.",
            remedy:
                "'shoebox share leave \(zone.description.prefix(12))' leaves the share; 'shoebox restore \(zone.description.prefix(12))' brings the folder back."
        )
    }
}
