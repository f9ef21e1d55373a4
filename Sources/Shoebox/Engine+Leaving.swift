import ShoeboxCloud
import ShoeboxModel
import ShoeboxStore
import ShoeboxWorld

import class GRDB.Database

// A participant can't change the control: it says in its own head that it gives its invitation back, or wants it again,
// and a device of the owner answers. Both are said until they are said for sure.

extension Engine {
    private func leavingKey(_ zone: ZoneID) -> String { "leaving.\(zone)" }
    private func returningKey(_ zone: ZoneID) -> String { "returning.\(zone)" }
    /// As what (its generation) this account last said that it leaves.
    private func leftKey(_ zone: ZoneID) -> String { "left.\(zone)" }
    /// As what this account entered again before anybody had answered its leave; and when, wall milliseconds.
    private func cameBackKey(_ zone: ZoneID) -> String { "cameBack.\(zone)" }
    private func cameBackTimeKey(_ zone: ZoneID) -> String { "cameBackAt.\(zone)" }

    /// The records that a change says something of. A tag or a rating is a record of its own, and goes with its photo.
    func records(of change: Change) -> [RecordName] {
        guard case .set(let fields) = change.action, let photo = fields[.photo]?.reference else {
            return [change.record]
        }
        return [change.record, photo]
    }

    /// By the replica that says it: how far it has this replica's segments.
    private func acknowledgedKey(_ zone: ZoneID, _ other: ReplicaID) -> String {
        "acknowledged.\(zone).\(replica).\(other)"
    }

    /// The newest heads of those who can put this account out.
    private func judgingHeads(in zone: ZoneInfo) -> [HeadRecord] {
        (knownHeads[zone.id] ?? [:]).values.filter { head in
            (head.account == zone.control.owner || zone.control.isAdmin(head.account))
                && zone.control.retired[head.device.digest] == nil
        }
    }

    /// What a head says, if it goes by a control that is known here. One that goes by a newer one, which put this account out,
    /// also names what was read after that, and refused.
    private func acknowledged(by head: HeadRecord, in zone: ZoneInfo) -> UInt64? {
        guard head.control.map({ $0.version <= zone.row.controlVersion }) ?? true else { return nil }
        return head.vector[replica]?.sequence
    }

    /// Keeps how far the devices of the owner and of admins say that they have this replica's segments.
    func noteAcknowledged(in zone: ZoneInfo) throws {
        guard !zone.row.isMine else { return }
        for head in judgingHeads(in: zone) {
            let chain = ChainKey(zone: zone.id, replica: head.replica)
            guard let newest = acknowledged(by: head, in: zone), newest > acknowledged[chain] ?? 0 else { continue }
            let key = acknowledgedKey(zone.id, head.replica)
            if try store.read({ db in try db.metaNumber(key) ?? 0 }) < Int64(clamping: newest) {
                try store.write { db in try db.setMetaNumber(key, Int64(clamping: newest)) }
            }
            acknowledged[chain] = newest
        }
    }

    /// Records with bytes, words, tags or ratings that this replica published and that some device of the owner or an admin had
    /// not said it has: it may be the one that put this account out, before it had read them. One that has not written for a
    /// month is not asked. Where something lies is no reason to keep it.
    func unacknowledged(in zone: ZoneInfo, _ db: Database) throws -> [RecordName] {
        let now = world.nowMilliseconds()
        let month: UInt64 = 30 * 86_400_000
        // A head may name any time at all.
        let heads = judgingHeads(in: zone).filter { head in
            let written = head.content.wallMilliseconds
            return written > now || now - written < month
        }
        let acknowledged =
            try heads.map { head in
                let before = UInt64(clamping: try db.metaNumber(acknowledgedKey(zone.id, head.replica)) ?? 0)
                return max(before, self.acknowledged(by: head, in: zone) ?? 0)
            }.min() ?? UInt64(0)
        let places: Set<FieldKey> = [.name, .parent]
        return try db.publishedChanges(in: zone.id, by: replica, after: acknowledged).flatMap { stored in
            guard case .set(let fields) = stored.change.action, !places.isSuperset(of: fields.keys) else {
                return [RecordName]()
            }
            return records(of: stored.change)
        }
    }

    /// Notes that the others are to be told of a leave, in the transaction that ends the share here.
    func noteLeave(of zone: ZoneInfo, _ db: Database) throws {
        guard let generation = zone.control.participants[account]?.generation else { return }
        try db.setMetaText(leavingKey(zone.id), String(generation))
        try db.setMetaText(leftKey(zone.id), String(generation))
        try db.setMetaText(returningKey(zone.id), nil)
        try db.setMetaText(cameBackKey(zone.id), nil)
    }

    /// Notes that this account enters a share again; was that before its leave, which others may have read, was answered, the
    /// answer may still come.
    func noteComingBack(as participant: Participant?, to zone: ZoneID, _ db: Database) throws {
        let isUnanswered = try participant.map { try db.metaNumber(leftKey(zone)) == Int64(clamping: $0.generation) }
        let wasSaid = try db.metaText(leavingKey(zone)) == nil
        let generation = isUnanswered == true && wasSaid ? participant?.generation : nil
        try db.setMetaText(cameBackKey(zone), generation.map { String($0) })
        try db.setMetaText(cameBackTimeKey(zone), generation.map { _ in String(world.nowMilliseconds()) })
        try db.setMetaText(leftKey(zone), nil)
    }

    /// Whether a share may be closed to this account only because it had left it: it came back, within the last day, before
    /// that was answered.
    func mayBeClosedByLeave(_ zone: ZoneInfo) throws -> Bool {
        guard let participant = zone.control.participants[account] else { return false }
        return try store.read { db in
            guard try db.metaNumber(cameBackKey(zone.id)) == Int64(clamping: participant.generation),
                let time = try db.metaNumber(cameBackTimeKey(zone.id))
            else { return false }
            return world.nowMilliseconds() < UInt64(clamping: time) + 86_400_000
        }
    }

    /// Notes that this account asks to be let in again as soon as the share is put away here.
    func noteReturn(to zone: ZoneInfo) throws {
        guard let generation = zone.control.participants[account]?.generation else { return }
        try store.write { db in
            try db.setMetaText(returningKey(zone.id), String(generation))
            guard var row = try db.zone(zone.id) else { return }
            row.isHeadDirty = true
            try db.setZone(row)
        }
    }

    /// Notes that what was said of leaves is said once more, as the container may have lost it: an owner that never read it
    /// would wait for what this account published, and for what it acknowledges, instead of speaking for it.
    func sayLeftAgain() throws {
        let placed = try store.read { db in try placements(db) }.zones
        for zone in zones.values.sorted(by: ZoneInfo.comesBefore)
        where zone.row.state == .left && placed[zone.id] == nil
            && zone.control.participants[account]?.takesPart == true
        {
            try store.write { db in
                guard try db.metaText(returningKey(zone.id)) == nil else { return }
                try noteLeave(of: zone, db)
            }
        }
    }

    /// Asks to be let in again to a share that this account left, if it did; what was left meanwhile is said no more.
    func askToReturn(to id: ZoneID) throws -> ZoneInfo? {
        guard let zone = zones[id], zone.row.state == .left,
            let generation = zone.control.participants[account]?.generation
        else { return nil }
        try store.write { db in
            try db.setMetaText(returningKey(id), String(generation))
            try db.setMetaText(leavingKey(id), nil)
            guard var row = try db.zone(id) else { return }
            row.isHeadDirty = true
            try db.setZone(row)
        }
        try announceStanding()
        return zone
    }

    /// Asks no more to be let in again, and says so.
    func takeBackReturn(to zone: ZoneInfo) throws {
        try store.write { db in
            guard try db.metaText(returningKey(zone.id)) != nil else { return }
            try noteLeave(of: zone, db)
        }
    }

    /// Forgets what was to be said of a zone that is entered anew.
    func forgetLeave(of zone: ZoneID, _ db: Database) throws {
        try db.setMetaText(leavingKey(zone), nil)
        try db.setMetaText(returningKey(zone), nil)
    }

    /// Says in the own head of each zone that was left that it was, or that this account wants to come back.
    func announceStanding() throws {
        for zone in zones.values where zone.row.state == .left {
            let (left, returning) = try store.read { db in
                (try db.metaNumber(leavingKey(zone.id)) ?? 0, try db.metaNumber(returningKey(zone.id)) ?? 0)
            }
            guard left > 0 || returning > 0, let row = try store.read({ db in try db.zone(zone.id) }) else { continue }
            // Said once; whoever asks to return goes on looking for the answer.
            guard left > 0 || row.isHeadDirty else { continue }
            // A head names nothing that is not there: what was built before, or what the mount has lost since, goes first.
            guard try checkOwnHead(zone, isIdle: false) else { continue }
            let folder = zoneFolder(zone.id)
            for item in try store.read({ db in try db.outbox(of: zone.id) }) {
                try folder.publishSegment(item.bytes, at: item.position, replica: replica)
            }
            try world.mount.synchronize()
            try appendHead(
                row, folder: folder, left: UInt64(bitPattern: left),
                returning: UInt64(bitPattern: returning))
            try store.write { db in
                try db.setMetaText(leavingKey(zone.id), nil)
            }
        }
    }

    /// Says that nothing of the own chain in a zone is known here any more, so that it is read again on coming back: the
    /// own photos are in it.
    func setOwnChainUnread(_ isUnread: Bool, in zone: ZoneID, _ db: Database) throws {
        try db.setMetaText("ownChainUnread.\(zone)", isUnread ? "1" : nil)
    }

    /// How far the own chain is known after a head names its end.
    func ownApplied(_ last: Position, in zone: ZoneID, _ db: Database) throws -> Position {
        guard try db.metaText("ownChainUnread.\(zone)") != nil else { return last }
        return try db.peers(of: zone).first { $0.replica == replica }?.applied ?? .start
    }

    /// Enters shares again that this account had left and asked for, once the owner has answered.
    func finishReturns() throws {
        for zone in zones.values where zone.row.state == .left {
            guard try store.read({ db in try db.metaText(returningKey(zone.id)) }) != nil else { continue }
            do { _ = try join(zone.id, fingerprint: nil) } catch {
                guard let error = error as? CloudError else { continue }
                if error.code == .offline { throw error }
            }
        }
    }
}
