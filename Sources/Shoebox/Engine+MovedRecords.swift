import ShoeboxLibrary
import ShoeboxModel
import ShoeboxPlanning
import ShoeboxStore

import class GRDB.Database

extension Engine {
    /// Finishes what moves between zones left open: what somebody wrote in the old zone without knowing of the move goes
    /// on to the new one, and what was put into a folder while that was shared follows it. Returns how many changes that
    /// made; any device of the owner may do it, and several that do make one edit.
    func followMoves(_ rows: [RecordRow]) throws -> Int {
        let names = try store.read { db in try rows.filter { try mayFollow($0, db) }.map(\.id) }
        guard !names.isEmpty else { return 0 }
        return try store.write { db in
            var follower = MoveFollower(
                engine: self, db: db, writer: try HistoryWriter(db, engine: self, author: "move"),
                placements: try placements(db))
            try follower.follow(names)
            try follower.writer.finish()
            return follower.writer.count
        }
    }

    /// Whether anything may have to be done for a record: it moved once, or says that it is in a folder that did. Cheap,
    /// and right for nearly all records.
    private func mayFollow(_ row: RecordRow, _ db: Database) throws -> Bool {
        guard zones[row.id.zone]?.row.isMine == true, row.type != .placement,
            row.type.hasPlace || row.subject != nil
        else { return false }
        if !(try db.zonesOfMoves(of: row.type.hasPlace ? row.id.name : row.subject ?? row.id.name)).isEmpty {
            return true
        }
        guard row.isLive, row.type.hasPlace, let parent = row.parent else { return false }
        return !(try db.zonesOfMoves(of: parent)).isEmpty
    }

    /// Whether a record that was taken out of an own zone is live there only by what others wrote who had seen it leave: it is
    /// theirs, in that share, and neither follows the one that left nor has that one follow it.
    func isOthersAgain(_ id: RecordID, _ db: Database) throws -> Bool {
        guard zones[id.zone]?.row.isMine == true else { return false }
        let changes = try db.changes(of: id.name, in: id.zone)
        return isMade(of: changes, by: writtenAfterLeaving(changes, of: account))
    }

    /// Says in the base tree that what the folder shows of a record that moved to another zone is the record there, so
    /// that nothing is done to the file: another device of the account shared or unshared it. Returns whether that was said
    /// of any.
    @discardableResult
    func rekeyMoved(_ rows: [RecordRow]) throws -> Bool {
        var isAny = false
        for row in rows where !row.isLive && row.type.hasPlace {
            guard !(try store.read { db in try db.zonesOfMoves(of: row.id.name) }).isEmpty else { continue }
            let isReparked = try repark(row)
            let target = try store.write { db -> RecordID? in
                guard let target = try movedTarget(of: row, db) else { return nil }
                // Values travel with their dots, but into somebody else's zone, where they are written anew.
                let isSame = zones[target.zone]?.row.isMine == true
                let vector = isSame ? nil : try vectorShown(of: row.id, at: target, db)
                try db.rekeyBase(
                    row.id, to: target, vector: target.isZoneRoot ? [:] : vector, isReparked: isReparked)
                try db.markDirty(target)
                try db.markLayoutDirty()
                return target
            }
            guard let target else { continue }
            isAny = true
            // What is gone from the folder, or has something else in its place, is so under its new name.
            if let since = missing.removeValue(forKey: row.id) {
                (missing[target], missedIn[target]) = (since, missedIn.removeValue(forKey: row.id))
            }
            if let since = replaced.removeValue(forKey: row.id) { replaced[target] = since }
        }
        return isAny
    }

    /// What of a moved record in somebody else's zone the folder shows already: the bytes that it had, under whatever change, and
    /// what brought it there. An edit or a deletion by somebody who has not seen what else was made of it knows nothing of that.
    private func vectorShown(of id: RecordID, at target: RecordID, _ db: Database) throws -> VersionVector? {
        guard let base = try db.base(id) else { return nil }
        let former = try Set(db.changes(of: id.name, in: id.zone).map(\.identity))
        var shown = base.vector
        var overwritten: VersionVector = [:]
        var unseen: [(dot: Dot, isContent: Bool)] = []
        for change in try db.changes(of: target.name, in: target.zone) {
            guard case .set(let fields) = change.action else { continue }
            let content = fields[.content]?.asset?.contentHash
            let isArrival = content == nil && change.movedFrom != nil && !former.contains(change.identity)
            if content.map({ $0 == base.contentHash }) ?? (isArrival || fields.isEmpty) {
                shown.insert(change.dot)
                shown.insert(change.identity)
                if content != nil { overwritten.formUnion(change.context) }
            } else {
                unseen.append((change.identity, content != nil))
            }
        }
        shown.formUnion(overwritten)
        for (dot, isContent) in unseen where !base.vector.contains(dot) && !(isContent && overwritten.contains(dot)) {
            shown = shown.below(dot)
        }
        return shown
    }

    /// The record that what the folder shows of a moved one is to be known as; nil if there is none, or it is shown already.
    func movedTarget(of row: RecordRow, _ db: Database) throws -> RecordID? {
        guard let base = try db.base(row.id), let zone = try presentZone(of: row.id, db),
            zones[zone]?.row.root == base.root
        else { return nil }
        var target = RecordID(zone: zone, name: row.id.name)
        if try db.record(target)?.isLive != true {
            guard row.type == .folder, try isSharedFolder(row.id, as: zone, placements(db), db) else { return nil }
            target = RecordID(zone: zone, name: .zoneRoot)
        }
        return try db.base(target) == nil ? target : nil
    }

    /// Has what was put aside for a record that was moved to another zone lie aside for it there; false if nothing is aside
    /// for it, or that can't be done now.
    private func repark(_ row: RecordRow) throws -> Bool {
        let found = try store.read { db -> (target: RecordID, root: RootKind)? in
            guard let base = try db.base(row.id), base.isParked, let target = try movedTarget(of: row, db) else {
                return nil
            }
            return (target, base.root)
        }
        guard let (target, root) = found else { return false }
        // What a crash leaves between this and what is noted is put back where it came from.
        recovered.remove(root)
        let outcome = makeApplier(root).repark(row.id, as: target)
        if case .done = outcome { return true }
        log("it stays aside: \(outcome)")
        return false
    }

    /// Where a record that was moved to another zone is by now, as far as that is known: it may have been moved on from there.
    func presentZone(of id: RecordID, _ db: Database) throws -> ZoneID? {
        var seen: Set<ZoneID> = [id.zone]
        var found: ZoneID?
        var next = try db.state(of: id)?.movedTo
        while let zone = next, seen.insert(zone).inserted {
            found = zone
            let state = try db.state(of: RecordID(zone: zone, name: id.name))
            next = state?.isLive == true ? nil : state?.movedTo
        }
        // The way may lead through a share that is not known here, or not followed any more, as it was stopped at once for
        // another one. One that the account still places somewhere is only not joined yet.
        guard let last = found, try isUnfollowed(RecordID(zone: last, name: id.name), db) else { return found }
        var known: ZoneID?
        for zone in zones.keys.sorted() where zone != id.zone && zones[zone]?.row.isMine == true {
            guard let state = try db.state(of: RecordID(zone: zone, name: id.name)), state.movedTo == nil else {
                continue
            }
            if state.isLive { return zone }
            known = known ?? zone
        }
        // What was deleted there before it stopped was deleted at home, too, by who stopped it.
        if known == nil, try db.state(of: id)?.isDeleted == true { return nil }
        return known ?? last
    }

    /// Whether a record went to a zone of which nothing is read here, so that it is not known where it went from there.
    private func isUnfollowed(_ id: RecordID, _ db: Database) throws -> Bool {
        guard let zone = zones[id.zone] else { return try !isPlaced(id.zone, db) }
        return try zone.row.state == .ended && db.state(of: id) == nil
    }

    /// Whether the account has a place for a zone, which this device may not have joined yet.
    func isPlaced(_ zone: ZoneID, _ db: Database) throws -> Bool {
        guard let privateZone else { return false }
        return try db.records(of: .placement, in: privateZone).contains {
            $0.contentHash.map(ZoneID.init) == zone
        }
    }

    /// Records whose files stay where they are for now: they moved to a zone, or to a place in it, that is not known here
    /// yet. Their bytes come from there, and would only go to the trash and come back.
    func awaitedMoves(of rows: [RecordRow]) throws -> Set<RecordID> {
        try store.read { db in
            var result: Set<RecordID> = []
            for row in rows where !row.isLive && row.type.hasPlace {
                // Where others' photos went is not for this account to know.
                guard zones[row.id.zone]?.row.isMine == true, !(try db.zonesOfMoves(of: row.id.name)).isEmpty,
                    try db.base(row.id) != nil, let zone = try presentZone(of: row.id, db)
                else { continue }
                guard let there = zones[zone]?.row else {
                    // Where somebody else took it, this account may never be let in.
                    if try isOwnMove(of: row.id.name, to: zone, db) { result.insert(row.id) }
                    continue
                }
                // Nothing comes from where the account is no more.
                guard there.isMine || ![.left, .ended].contains(there.state) else { continue }
                guard try db.record(RecordID(zone: zone, name: row.id.name)) == nil else { continue }
                // A folder that became a share as a whole has no record there.
                if row.type == .folder, try isSharedFolder(row.id, as: zone, placements(db), db) { continue }
                result.insert(row.id)
            }
            return result
        }
    }

    /// Whether a device of this account moved a record to a zone, from whichever it was in.
    func isOwnMove(of record: RecordName, to zone: ZoneID, _ db: Database) throws -> Bool {
        try db.zonesOfMoves(of: record).contains { from in
            try db.changes(of: record, in: from).contains { $0.action == .moved(to: zone) && $0.author == account }
        }
    }

    /// Whether a folder became a share as a whole: the zone is shown in its place. It may have come from another share.
    func isSharedFolder(_ id: RecordID, as zone: ZoneID, _ placements: Placements, _ db: Database) throws -> Bool {
        guard let placement = placements.zones[zone], placement.isLocated,
            let state = try db.state(of: placement.id)
        else { return false }
        return state[.photo]?.reference == id.name
    }
}
