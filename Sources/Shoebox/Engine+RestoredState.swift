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
}
