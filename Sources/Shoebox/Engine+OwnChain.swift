import Foundation
import ShoeboxCloud
import ShoeboxModel
import ShoeboxStore
import ShoeboxWorld

// Whether what this replica published is in the container as it was written: else this state directory is a copy, or one of both
// was put back to a backup.

extension Engine {
    /// Under what the database says which replica ran out of numbers.
    static let replicaExhaustedKey = "replicaExhausted"

    /// Whether the own head on the mount is what this replica last wrote. If it is ahead, this state directory is a copy
    /// or was restored, and goes on as a new replica; if it is behind, the mount was restored, and everything is
    /// offered again.
    ///
    /// - Parameter isIdle: whether nothing is to be published, so that a look now and then is enough. Else it comes first:
    ///   a record appended to an older head would look as if nothing were missing.
    func checkOwnHead(_ zone: ZoneInfo, isIdle: Bool) throws -> Bool {
        if try store.read({ db in try db.metaText(Self.replicaExhaustedKey) }) == replica.description {
            log("changes claim to have seen numbers that this replica never gave")
            try becomeNewReplica(after: zone, because: "Somebody claims to have seen changes that you have yet to make")
            try store.write { db in try db.setMetaText(Self.replicaExhaustedKey, nil) }
            return false
        }
        guard let cursorData = zone.row.headCursor,
            let cursor = HeadCursor(String(decoding: cursorData, as: UTF8.self))
        else {
            // Without an own head nothing tells that a zone was made in a container that was then put back to a backup.
            if zone.row.isMine, try offerControls(zone, zoneFolder(zone.id)) > 0 {
                log("the container lacks '\(zone.control.title)', which was made there; it is offered again")
            }
            return true
        }
        let now = world.uptimeMilliseconds()
        if isIdle, let written = ownHeadsWritten[zone.id], now < written + 600_000 { return true }
        let reading = try zoneFolder(zone.id).readMovedHead(replica, from: cursor)
        try noteOwnNamedControl(zone, reading.newest)
        if let newest = reading.newest, newest.last != zone.row.last {
            let outbox = try store.read { db in try db.outbox(of: zone.id) }
            // After a crash between appending and noting it, the head names what the outbox still holds.
            guard !outbox.contains(where: { $0.position == newest.last }) else { return true }
            try becomeNewReplica(after: zone, because: Self.restored, remedy: Self.restoredRemedy)
            return false
        }
        if reading.isReplaced {
            lookAtOwnHeads()
            try offerAgain(zone)
        }
        ownHeadsWritten[zone.id] = now
        return true
    }

    /// Looks with the next push whether the own heads are what was last written, and whether the own account is there: somebody
    /// asks whether all is well, or something else on the mount was put back.
    func lookAtOwnHeads() {
        ownHeadsWritten = [:]
        accountDue = nil
    }

    static let restored = "This library's state was copied or restored from a backup"
    static let restoredRemedy =
        "If another machine runs with the same state directory, set that one up anew with 'shoebox init'."

    /// Whether the container has no segment of this replica's that it doesn't know; else it goes on as a new replica. A
    /// process that died between publishing a segment and naming it in the head leaves such, if its state was then put
    /// back to before that: the head alone looks as it should, and the number would be given twice. Asked before any
    /// number is given; looked at once, as one process at a time writes the chain.
    func checkOwnChain(_ id: ZoneID) throws -> Bool {
        guard let zone = zones[id], !ownChainsChecked.contains(id) else { return true }
        guard try zoneFolder(id).segmentsBeyond(zone.row.last, of: replica).isEmpty else {
            try becomeNewReplica(after: zone, because: Self.restored, remedy: Self.restoredRemedy)
            return false
        }
        try lookForUnnamedControls(zone)
        ownChainsChecked.insert(id)
        return true
    }
}
