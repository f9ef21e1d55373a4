import ShoeboxCloud
import ShoeboxModel
import ShoeboxStore
import ShoeboxWorld

import class GRDB.Database

// A replica folds its own chain, in four steps of which each may be the last one before a crash:
// 1. A snapshot is added to the chain, like any segments: what of all before it still makes a difference.
// 2. Once it is published, and a device of the owner has read it, the head's floor is raised to its first part.
// 3. At the earliest an hour after that head was written, the segments below the floor are removed.
// Why nobody reads another state than before: Documentation/Design/Compaction.md.

extension Engine {
    /// Takes the next step of folding in every zone where that pays.
    func compactAll() throws {
        for zone in zones.values.sorted(by: ZoneInfo.comesBefore) where zone.mayWrite(account) {
            do { try compact(zone) } catch let error as CloudError {
                guard error.concernsOneZone else { throw error }
                log("the chain in '\(zone.control.title)' is folded later: \(error)")
            }
        }
    }

    /// Folds every own chain that gets shorter by it, as a person has asked; what was folded is removed later.
    func compactNow() throws -> Reply {
        try openContainer()
        try pushAll()
        var lines: [String] = []
        for zone in zones.values.sorted(by: ZoneInfo.comesBefore) where zone.mayWrite(account) {
            let before = try store.read { db in try db.snapshot(of: zone.id) }
            let length = (zones[zone.id]?.row.last.sequence ?? 0) - (before.floor - 1)
            try compact(zone, isAsked: true)
            try pushAll()
            let after = try store.read { db in try db.snapshot(of: zone.id) }
            guard after.nextFloor > before.nextFloor else { continue }
            let title = zone.control.title.isEmpty ? "the library" : "'\(zone.control.title)'"
            lines.append(
                "\(title): \(length) segments folded into \(after.next.sequence - after.nextFloor + 1)")
        }
        try compactAll()
        try pushAll()
        return Reply(
            lines: lines.isEmpty ? ["Nothing would get smaller by it."] : lines,
            values: ["folded": String(lines.count)])
    }

    private func compact(_ zone: ZoneInfo, isAsked: Bool = false) throws {
        let (row, snapshot, isPublished) = try store.read { db in
            (try db.zone(zone.id), try db.snapshot(of: zone.id), try db.outbox(of: zone.id).isEmpty)
        }
        guard let row, row.last.sequence > 0, isPublished else { return }
        // After coming back to a share, the own chain is read again: of one that is known in part, the rest would be gone for good.
        guard try store.read({ db in try ownApplied(row.last, in: zone.id, db) }) == row.last else { return }
        // What was carried here while this account owned the zone would count for nobody who comes later, if somebody repeated
        // it who owns the zone no more.
        let intervals = zone.control.participants[account]?.intervals[replica] ?? []
        guard zone.row.isMine || !intervals.contains(where: \.isOwners) else { return }
        if snapshot.nextFloor > 0 { return try raiseFloor(snapshot, of: zone) }
        if snapshot.tidied < snapshot.floor {
            guard try removeFolded(snapshot, of: zone) || isAsked else { return }
        }
        guard try pays(row, snapshot, zone, isAsked: isAsked), try checkOwnChain(zone.id) else { return }
        try makeSnapshot(row, of: zone)
    }

    /// The last own segment that the owner's devices have read, for all that is known: nothing up to it is ever refused.
    private func settled(_ zone: ZoneInfo) -> UInt64 {
        guard !zone.row.isMine else { return .max }
        let heads = (knownHeads[zone.id] ?? [:]).values.filter { $0.account == zone.control.owner }
        return heads.compactMap { $0.vector[replica]?.sequence }.max() ?? 0
    }

    // MARK: 1. The snapshot

    /// Whether at least half of what readers read of the own chain makes no difference any more, or it has got long and is
    /// made of small segments.
    private func pays(_ row: ZoneRow, _ snapshot: SnapshotRow, _ zone: ZoneInfo, isAsked: Bool) throws -> Bool {
        let length = row.last.sequence - (snapshot.floor - 1)
        if !isAsked {
            guard length >= settings.compactSegmentsMin,
                row.last.sequence >= snapshot.weighed + max(1, settings.compactSegmentsMin / 4)
            else { return false }
        }
        let settled = settled(zone)
        let (total, live) = try store.read { db in
            var live = 0
            for (name, count) in try db.publishedRecords(in: zone.id, by: replica, upTo: row.last.sequence) {
                guard count > 1 else {
                    live += count
                    continue
                }
                live +=
                    folded(
                        try db.publishedChanges(
                            of: RecordID(zone: zone.id, name: name), by: replica, upTo: row.last.sequence,
                            settled: settled), of: replica
                    ).count
            }
            let news = try db.publishedCount(in: zone.id, by: replica, after: snapshot.snapshot.sequence)
            return (Int(clamping: snapshot.changes) + news, live)
        }
        let parts = UInt64(live / max(1, settings.segmentChangesMax) + 1)
        let isLong = length >= settings.compactSegmentsMax && length >= 4 * parts
        if live > 0, isAsked ? live < total || length > 2 * parts : live * 2 <= total || isLong { return true }
        try store.write { db in
            var fresh = try db.snapshot(of: zone.id)
            fresh.weighed = row.last.sequence
            try db.setSnapshot(fresh, of: zone.id)
        }
        return false
    }

    /// Adds a snapshot of all own segments to the chain; it is published with the next push, byte for byte.
    private func makeSnapshot(_ row: ZoneRow, of zone: ZoneInfo) throws {
        let settled = settled(zone)
        let before = row.last.sequence
        let id = world.randomBytes(16).reduce(UInt128(0)) { $0 << 8 | UInt128($1) }
        try store.write { db in
            guard var current = try db.zone(zone.id), current.last == row.last else { return }
            var parts = SnapshotParts(id: id, after: row.last, zone: zone, engine: self)
            for (name, _) in try db.publishedRecords(in: zone.id, by: replica, upTo: before) {
                let changes = try db.publishedChanges(
                    of: RecordID(zone: zone.id, name: name), by: replica, upTo: before, settled: settled)
                for item in folded(changes, of: replica) { try parts.add(item, db) }
            }
            guard parts.count > 0 else { return }
            try parts.flush(isLast: true, db)
            current.last = parts.last
            current.isHeadDirty = true
            try db.setZone(current)
            var snapshot = try db.snapshot(of: zone.id)
            snapshot.nextFloor = before + 1
            snapshot.next = parts.last
            snapshot.changes = UInt64(parts.count)
            snapshot.weighed = parts.last.sequence
            try db.setSnapshot(snapshot, of: zone.id)
        }
        zones[zone.id]?.row = try store.read { db in try db.zone(zone.id) } ?? row
        log("folded \(before) segments of '\(zone.control.title)'")
    }

    // MARK: 2. The floor

    private func raiseFloor(_ snapshot: SnapshotRow, of zone: ZoneInfo) throws {
        guard settled(zone) >= snapshot.next.sequence, try isThere(snapshot.nextFloor, snapshot.next, in: zone) else {
            return
        }
        try store.write { db in
            var fresh = try db.snapshot(of: zone.id)
            (fresh.floor, fresh.snapshot) = (fresh.nextFloor, fresh.next)
            (fresh.nextFloor, fresh.next) = (0, .start)
            fresh.raisedMilliseconds = 0
            try db.setSnapshot(fresh, of: zone.id)
            // At once with it: a floor that no head says would keep what lies below it for ever.
            try markHeadDirty(zone.id, db)
        }
        zones[zone.id]?.row.isHeadDirty = true
    }

    /// Notes when the own head first said which segments it keeps.
    func noteFloorSaid(_ floor: UInt64, in zone: ZoneID, _ db: Database) throws {
        var fresh = try db.snapshot(of: zone)
        guard fresh.floor > 1, fresh.floor == floor, fresh.raisedMilliseconds == 0 else { return }
        fresh.raisedMilliseconds = world.nowMilliseconds()
        try db.setSnapshot(fresh, of: zone)
    }

    /// Has what lies below the floor removed once more, an hour from now: the container was put back to an older state.
    func tidyAgain(_ zone: ZoneID, _ db: Database) throws {
        var fresh = try db.snapshot(of: zone)
        guard fresh.floor > 1 else { return }
        fresh.raisedMilliseconds = 0
        fresh.tidied = 1
        try db.setSnapshot(fresh, of: zone)
    }

    /// Whether a snapshot lies in the container whole: nothing that it stands for is given up before it was read back.
    /// What is missing is published again.
    private func isThere(_ first: UInt64, _ last: Position, in zone: ZoneInfo) throws -> Bool {
        let folder = zoneFolder(zone.id)
        var isWhole = true
        for position in try store.read({ db in try db.keptSegments(of: zone.id) })
        where position.sequence >= first && position.sequence <= last.sequence {
            guard try !folder.isWhole(position, replica: replica),
                let bytes = try store.read({ db in try db.keptSegment(position, of: zone.id) })
            else { continue }
            isWhole = false
            if try folder.segmentNames(of: replica).contains(ZoneFolder.segmentName(position)) {
                try folder.removeSegment(position, replica: replica)
            }
            try folder.publishSegment(bytes, at: position, replica: replica)
        }
        if !isWhole { try world.mount.synchronize() }
        return isWhole
    }

    // MARK: 3. What lies below the floor

    /// Removes the segments below the floor, if nobody can still be reading them; whether that is done.
    private func removeFolded(_ snapshot: SnapshotRow, of zone: ZoneInfo) throws -> Bool {
        let now = world.nowMilliseconds()
        guard snapshot.raisedMilliseconds > 0 else { return false }
        guard now >= snapshot.raisedMilliseconds else {
            // The clock was set back: the hour begins again.
            try store.write { db in
                var fresh = try db.snapshot(of: zone.id)
                fresh.raisedMilliseconds = now
                try db.setSnapshot(fresh, of: zone.id)
            }
            return false
        }
        guard now - snapshot.raisedMilliseconds >= settings.compactGraceMilliseconds,
            try isThere(snapshot.floor, snapshot.snapshot, in: zone)
        else { return false }
        let count = try zoneFolder(zone.id).removeSegments(of: replica, below: snapshot.floor)
        try store.write { db in
            try db.dropKeptSegments(of: zone.id, below: snapshot.floor)
            var fresh = try db.snapshot(of: zone.id)
            fresh.tidied = snapshot.floor
            try db.setSnapshot(fresh, of: zone.id)
        }
        log("removed \(count) folded segments of '\(zone.control.title)'")
        return true
    }
}

/// The parts of a snapshot, as they fill.
private struct SnapshotParts {
    let id: UInt128
    let first: UInt64
    let zone: ZoneInfo
    let engine: Engine
    /// The last part that was made.
    var last: Position
    /// How many changes there are.
    var count = 0
    private var changes: [Change] = []
    private var sequences: [UInt64] = []
    private var bytes = 0

    init(id: UInt128, after previous: Position, zone: ZoneInfo, engine: Engine) {
        self.id = id
        self.zone = zone
        self.engine = engine
        first = previous.sequence + 1
        last = previous
    }

    mutating func add(_ item: PublishedChange, _ db: Database) throws {
        let size = encodePart(item.change).count + 12
        if changes.count >= engine.settings.segmentChangesMax
            || (!changes.isEmpty && bytes + size > SegmentBuilder.changeBytesMax)
        {
            try flush(isLast: false, db)
        }
        changes.append(item.change)
        sequences.append(item.sequence)
        bytes += size
        count += 1
    }

    mutating func flush(isLast: Bool, _ db: Database) throws {
        let transaction = SegmentTransaction(id: id, isLast: isLast, changes: changes, sequences: sequences)
        let segment = try SegmentCoder.encode(
            [transaction], zone: zone.id, after: last, isSealed: zone.control.isSealed, keyring: zone.keyring,
            identity: engine.identity, snapshotFirst: first, randomBytes: engine.world.randomBytes)
        try db.setOutbox(segment.position, bytes: segment.bytes, zone: zone.id)
        last = segment.position
        (changes, sequences, bytes) = ([], [], 0)
    }
}
