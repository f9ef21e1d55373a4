import ShoeboxCloud
import ShoeboxLibrary
import ShoeboxModel
import ShoeboxPlanning
import ShoeboxStore
import ShoeboxWorld

import class GRDB.Database

// A state that was put back to a backup knows less of its own folders than they show. What it does not know there is no
// edit of its user's; see Documentation/Design/Rebuild.md.

extension Engine {
    private var restoredKey: String { "restoredState" }

    /// Whether the folders are compared with a state that was put back, and not with none.
    func isRestoredState() throws -> Bool { try store.read { db in try db.metaText(restoredKey) } != nil }

    /// Notes that all folders were compared. The problem is taken back after that is stored, by the next round if need be.
    func endRestoredState(_ db: Database) throws { try db.setMetaText(restoredKey, nil) }

    /// Looks, before the folders are looked at for the first time, whether they, or the own heads, say more than this state
    /// knows. Then the container is read first, and the folders compared with all that it says.
    func noticeRestoredState(reachesContainer: Bool) throws {
        try readTokens()
        // Stored apart from what it says.
        if try !isRestoredState() { try clearProblem("restoredState") }
        guard reachesContainer, !isStateCompared, privateZone != nil else { return }
        do {
            try openContainer()
            for zone in zones.values.sorted(by: ZoneInfo.comesBefore)
            where zone.row.state == .active && zone.row.headCursor != nil {
                guard try isOlderThanOwnHead(zone) || isContradicted(zone) else { continue }
                log("this state is older than what this replica published in '\(zone.control.title)'")
                try beginComparison()
                break
            }
            isStateCompared = true
        } catch is CloudError {
            log("whether this state was put back is looked at when the container is there")
        } catch is FileError {
            log("whether this state was put back is looked at when the container is there")
        }
    }

    /// Keeps the folders as they are until they were compared with the container.
    private func beginComparison() throws {
        let restored = Problem(
            code: "restoredState",
            message: "The state directory was put back to a backup, and knows less than the watched folders show.",
            remedy:
                "They are compared with the cloud folder as soon as that can be read; until then nothing in them is taken or changed."
        )
        try report(restored) { db in
            try db.setMetaText(restoredKey, "1")
            try beginRebuild(db)
        }
    }

    // MARK: What the folders say of the state

    /// Looks at each folder, once it is there, how far the state was that last kept it. A state that was put back while the
    /// container is away is noticed by this alone.
    private func readTokens() throws {
        for root in RootKind.allCases where writtenTokens[root] == nil && privateZone != nil {
            do {
                guard try RootMarker.read(from: files(root))?.replica == replica else { continue }
                let found = try RootToken.read(from: files(root))
                let now = try store.read { db in try db.newestToken() }
                if let found, found.replica == replica, found.token > now, try foldersToRebuild().isEmpty {
                    log("the \(display(.root, root)) folder was kept by a later state: \(found.token), this is \(now)")
                    try beginComparison()
                }
                // Of the folder's own token, older than this state has written there: the folder was put back.
                let written = try store.read { db in try db.metaNumber(tokenKey(root)) }
                if let written, found.map({ $0.replica == replica && $0.token < written }) ?? true {
                    log("the \(display(.root, root)) folder was put back: \(found?.token ?? 0), not \(written)")
                    try notePutBack(root)
                }
                writtenTokens[root] = found?.replica == replica ? found?.token : -1
            } catch let error as FileError {
                log("how far the \(display(.root, root)) folder was kept is looked at later: \(error)")
            }
        }
    }

    /// Writes into each folder how far the state is that keeps it, if that is news. Not before the folder was compared: what it
    /// says would be forgotten.
    func writeTokens() throws {
        let token = try store.read { db in try db.newestToken() }
        for root in RootKind.allCases {
            guard let written = writtenTokens[root], written != token, try !foldersToRebuild().contains(root) else {
                continue
            }
            do {
                guard try RootMarker.read(from: files(root))?.replica == replica else { continue }
                try RootToken(replica: replica, token: token).write(to: files(root))
                try store.write { db in try db.setMetaText(tokenKey(root), "\(token)") }
            } catch let error as FileError {
                // It says nothing that the own heads don't, while the container is there.
                log("how far the \(display(.root, root)) folder was kept is written with the next change: \(error)")
            }
            writtenTokens[root] = token
        }
    }

    /// Under what the database says which token was last written into a watched folder.
    private func tokenKey(_ root: RootKind) -> String { "tokenWritten.\(root.rawValue)" }

    /// Compares the folders with the container before anything of them is taken, if the state was put back, or made anew: for
    /// a command, which looks at what it is about without reaching the container first.
    public func compareState() throws {
        try reloadZones()
        try checkReplica()
        try finishNewReplica()
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
            let newest = try zoneFolder(zone.id).readMovedHead(replica, from: cursor).newest
        else { return false }
        let (outbox, peers) = try store.read { db in (try db.outbox(of: zone.id), try db.peers(of: zone.id)) }
        if newest.last != zone.row.last, !outbox.contains(where: { $0.position == newest.last }) { return true }
        let applied = Dictionary(peers.map { ($0.replica, $0.applied.sequence) }) { max($0, $1) }
        return newest.vector.contains { $0.key != replica && $0.value.sequence > applied[$0.key] ?? 0 }
    }
}
