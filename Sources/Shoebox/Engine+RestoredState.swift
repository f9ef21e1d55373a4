import ShoeboxCloud
import ShoeboxLibrary
import ShoeboxModel
import ShoeboxPlanning
import ShoeboxStore
import ShoeboxWorld

// A state that was put back to a backup knows less of its own folders than they show. What it does not know there is no
// edit of its user's; see Documentation/Design/Rebuild.md.

extension Engine {
    private var restoredKey: String { "restoredState" }

    /// Whether the folders are compared with a state that was put back, and not with none.
    func isRestoredState() throws -> Bool { try store.read { db in try db.metaText(restoredKey) } != nil }

    func endRestoredState() throws { try store.write { db in try db.setMetaText(restoredKey, nil) } }

    /// Looks, before the folders are looked at for the first time, whether the own heads say more than this state knows.
    /// Then the container is read first, and the folders compared with all that it says. While it is away, nothing tells.
    func noticeRestoredState(reachesContainer: Bool) throws {
        guard reachesContainer, !isStateCompared, privateZone != nil else { return }
        do {
            try openContainer()
            for zone in zones.values.sorted(by: ZoneInfo.comesBefore)
            where zone.row.state == .active && zone.row.headCursor != nil {
                guard try isOlderThanOwnHead(zone) || isContradicted(zone) else { continue }
                log("this state is older than what this replica published in '\(zone.control.title)'")
                try store.write { db in try db.setMetaText(restoredKey, "1") }
                try beginRebuild()
                break
            }
            isStateCompared = true
        } catch is CloudError {
            log("whether this state was put back is looked at when the container is there")
        } catch is FileError {
            log("whether this state was put back is looked at when the container is there")
        }
    }

    /// Compares the folders with the container before anything of them is taken, if the state was put back, or made anew: for
    /// a command, which looks at what it is about without reaching the container first.
    public func compareState() throws {
        try reloadZones()
        try noticeRestoredState(reachesContainer: true)
        if try !foldersToRebuild().isEmpty { _ = try round(.directories([:])) }
    }

    /// Asked before the first number is given: others may have other segments under the own numbers.
    private func isContradicted(_ zone: ZoneInfo) throws -> Bool {
        guard let heads = try readHeads(zone.id, folder: zoneFolder(zone.id)) else { return false }
        return try !checkOwnVectors(zone.id, heads: heads)
    }

    /// What a crash leaves between writing a head and noting it says nothing that this state does not know.
    private func isOlderThanOwnHead(_ zone: ZoneInfo) throws -> Bool {
        guard let cursor = zone.row.headCursor.flatMap({ HeadCursor(String(decoding: $0, as: UTF8.self)) }),
            let newest = try zoneFolder(zone.id).readHead(replica, from: cursor).newest
        else { return false }
        let (outbox, peers) = try store.read { db in (try db.outbox(of: zone.id), try db.peers(of: zone.id)) }
        if newest.last != zone.row.last, !outbox.contains(where: { $0.position == newest.last }) { return true }
        let applied = Dictionary(peers.map { ($0.replica, $0.applied.sequence) }) { max($0, $1) }
        return newest.vector.contains { $0.key != replica && $0.value.sequence > applied[$0.key] ?? 0 }
    }

    /// Notes of files that are not as they were last seen, and hold what their record held at some time, that they were
    /// seen so.
    func adoptRewritten(_ root: RootKind) throws {
        let rows = try store.read { db in
            try zones.keys.sorted().flatMap { try db.base(in: $0) }.filter {
                $0.root == root && $0.kind == .file && !$0.isParked
            }
        }
        for row in rows {
            guard let path = try store.read({ db in try db.basePath(of: row.id, top: [top(root)]) }),
                let entry = try? files(root).entry(at: path), entry.kind == .file,
                !entry.stamp.isUnchanged(from: row.stamp), let found = contentHash(path, root),
                try store.read({ db in try formerlyShown(found.hash, of: row.id, db) }) != nil
            else { continue }
            var seen = row
            seen.stamp = found.stamp
            seen.contentHash = found.hash
            let shown = seen
            try store.write { db in try db.setBase(shown) }
        }
    }

    /// What went to another zone after the backup is known as what it is there: its file is found by its inode, and is no
    /// second one of its name.
    func rekeyRestored(_ root: RootKind) throws {
        let moved = try store.read { db in
            try zones.keys.sorted().flatMap { try db.base(in: $0) }.filter { $0.root == root }.compactMap {
                try db.record($0.id)
            }.filter { !$0.isLive }
        }
        try rekeyMoved(moved)
    }

    /// Notes of files that stand where another one is known, and are what the container says belongs there, that they were
    /// put there after the backup. They are no edits of what was there: where that is now is looked for like anything else.
    func adoptReplaced(_ root: RootKind, layout: Layout, known: [RecordID: RelativePath]) throws {
        for (id, path) in known.sorted(by: { $0.value < $1.value }) {
            guard let node = layout.nodes[id], node.kind == .file,
                let former = try store.read({ db in
                    try db.base(at: path, root: root, top: top(root)).flatMap { try db.base($0) }
                }),
                former.id != id, former.kind == .file, !former.isParked, !former.twins.contains(id),
                // What can't be looked at now stands as it is known.
                let entry = try? files(root).entry(at: path), !entry.stamp.isSameFile(as: former.stamp),
                let row = try adoptable(node, at: path, root)
            else { continue }
            try store.write { db in
                for gone in [former.id, id] {
                    try db.removeBase(gone)
                    try db.removeSidecar(gone)
                }
                try db.setBase(row)
            }
        }
    }

    /// Whether something is known to have been shown at a path.
    func isKnownPlace(_ path: RelativePath, _ root: RootKind) throws -> Bool {
        try store.read { db in try db.base(at: path, root: root, top: top(root)) } != nil
    }
}
