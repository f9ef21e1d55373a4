import ShoeboxCloud
import ShoeboxModel
import ShoeboxPlanning
import ShoeboxStore

import class GRDB.Database

/// Follows moves inside one database transaction.
struct MoveFollower {
    let engine: Engine
    let db: Database
    var writer: HistoryWriter
    let placements: Placements
    private var queue: [RecordID] = []
    private var queued: Set<RecordID> = []

    init(engine: Engine, db: Database, writer: HistoryWriter, placements: Placements) {
        self.engine = engine
        self.db = db
        self.writer = writer
        self.placements = placements
    }

    mutating func follow(_ ids: [RecordID]) throws {
        for id in ids { enqueue(id) }
        while let id = queue.popLast() {
            guard let row = try db.record(id) else { continue }
            guard row.type.hasPlace else {
                if let photo = row.subject { enqueue(RecordID(zone: id.zone, name: photo)) }
                continue
            }
            if row.type == .folder {
                try gatherChildren(of: id)
                gatherPlaced(in: id)
            }
            if row.type == .folder, try forwardToPlacement(id) { continue }
            if try gatherHome(id, type: row.type) { continue }
            try keepCompanions(of: id)
            if try uniteWithFolder(id) { continue }
            try followParent(id)
        }
    }

    private mutating func enqueue(_ id: RecordID) {
        if queued.insert(id).inserted { queue.append(id) }
    }

    func isWritable(_ zone: ZoneID) -> Bool { engine.zones[zone]?.mayWrite(engine.account) == true }
    func isMine(_ zone: ZoneID) -> Bool { engine.zones[zone]?.row.isMine == true }

    // MARK: One record in several zones

    /// Brings a record that several zones know of together in one; false if there is nothing to be decided.
    private mutating func gatherHome(_ id: RecordID, type: RecordType) throws -> Bool {
        let known = try db.zonesOfMoves(of: id.name)
        var candidates = known.filter(isWritable)
        guard candidates.count > 1 else { return try bringBack(id, type: type) }
        var changes: [ZoneID: [Change]] = [:]
        for zone in candidates { changes[zone] = try db.changes(of: id.name, in: zone) }
        var states = changes.compactMapValues { RecordState($0) }
        // Where nobody brought it who might take it from where it was, something else has its name, and it stays.
        let late = changes.filter { isMine($0.key) }.mapValues { writtenAfterLeaving($0, of: engine.account) }
        let untrusted = try candidates.filter { zone in
            try !isTrusted(zone, name: id.name, changes, states)
                || isMade(of: changes[zone] ?? [], by: late[zone] ?? [])
        }
        guard !untrusted.contains(id.zone) else { return false }
        for zone in untrusted { (states[zone], changes[zone]) = (nil, nil) }
        candidates.removeAll(where: untrusted.contains)
        guard candidates.count > 1 else { return try bringBack(id, type: type) }
        var ended: [ZoneID: [Change]] = [:]
        for zone in known where !isWritable(zone) { ended[zone] = try db.changes(of: id.name, in: zone) }
        let trail = ZoneTrail(changes.merging(ended) { here, _ in here }, of: engine.account)
        guard
            var home = homeZone(
                of: states, leaving: ended.compactMapValues { RecordState($0) }, untold: trail.untold,
                private: engine.privateZone)
        else {
            if try passOnDeletions(of: id.name, changes, states) { return true }
            return try bringBack(id, type: type)
        }
        var isDone = false
        for zone in candidates where zone != home && isMine(zone) {
            let old = changes[zone] ?? []
            guard let state = states[zone] else { continue }
            // What went to somebody else's share is written anew there: until the mark is seen, nothing tells what went along.
            // So does whoever else brings it to a share of one's own, also by way of other zones.
            let way = trail.way(from: zone, to: home, isAnew: !isMine(home))
            let isMarked = state.marks.contains { $0.destination == home }
            let leads = state.departures.contains { $0.destination.map(way.zones.contains) == true }
            guard !way.isUntold, leads || !way.mayBeFromAnywhere, way.isReached || isMine(home) || isMarked else {
                continue
            }
            let arrived = Set((changes[home] ?? []).map(\.identity))
            let back =
                try movedOut(state, from: zone, to: home, arrived: arrived)
                ?? backWithFolder(state, from: zone, to: home)
            if let folder = back {
                // Whoever moved it out of the folder that was shared meanwhile did not mean it to be shared.
                let there = RecordID(zone: home, name: id.name)
                try engine.moveRecord(
                    there, to: zone, parent: folder, name: nil, shown: [:], writer: &writer)
                if engine.zones[home]?.row.root == engine.zones[zone]?.row.root {
                    try db.rekeyBase(there, to: RecordID(zone: zone, name: id.name))
                }
                home = zone
                isDone = true
                continue
            }
            let others = known.filter { $0 != zone && $0 != home }
            let passed = try passedOn(old, from: zone, by: others, id.name, trail, way)
            let late = late[zone] ?? []
            // What it became, and was called, after it had left a share is not for its people, though it is dead where it was then,
            // and an older edit keeps it alive in the share. Nor is what its deleter made of it before.
            let isToldNothing = engine.isShare(home) && !state.isLive
            let isAway = isToldNothing && states[home]?.departures.isEmpty == false
            let deletions = state.marks.filter { $0.destination == nil }
            let left = old.filter { change in
                guard !passed.contains(change.identity), !late.contains(change.identity) else { return false }
                guard isToldNothing, change.action != .delete else { return true }
                return !isAway && !deletions.contains { $0.context.contains(change.identity) }
            }
            if try forward(left, to: RecordID(zone: home, name: id.name)) { isDone = true }
            if let now = try db.state(of: RecordID(zone: zone, name: id.name)), now.isLive {
                // What is not forwarded is not covered, and stays.
                let meant = old.filter { !late.contains($0.identity) }
                let context = late.isEmpty ? now.vector : RecordState(meant)?.vector ?? now.vector
                try writer.write(
                    RecordID(zone: zone, name: id.name), type: type, .moved(to: home), context: context,
                    isDerived: true)
                isDone = true
            }
            if let stale = placements.records[RecordID(zone: zone, name: id.name)] {
                try engine.removePlacement(stale, writer: &writer)
            }
            // Before that, a tag that its photo lost or got on the way may look as it was.
            if try !isAway && !(isToldNothing && state.isDeleted)
                && isTold(state, of: RecordID(zone: zone, name: id.name), movedTo: home)
            {
                try forwardCompanions(of: id.name, from: zone, to: home, by: way.zones)
            }
        }
        return isDone || home != id.zone
    }

    /// Of what one zone has of a record, what went along to other zones on its way: it is brought from there, unless it is overwritten
    /// there. Brought from the first it would be shown to all who may read the last. Who is not the owner of both wrote there anew
    /// what it was told, so that of the original nothing is to be found.
    private func passedOn(
        _ old: [Change], from zone: ZoneID, by others: [ZoneID], _ name: RecordName, _ trail: ZoneTrail,
        _ way: ZoneTrail.Way
    ) throws -> Set<Dot> {
        var passed: Set<Dot> = []
        for other in others {
            let marks = old.filter { $0.action == .moved(to: other) }
            guard !marks.isEmpty else { continue }
            let there = try db.changes(of: name, in: other)
            let known = Set(there.map(\.identity))
            // So did what went to a zone that can't be read, or was not read yet, if the record came home from there.
            let hasArrived = trail.hasArrived(in: other, from: zone) || way.zones.contains(other)
            for change in old
            where (hasArrived || known.contains(change.identity))
                && marks.contains(where: { $0.context.contains(change.identity) })
            { passed.insert(change.identity) }
        }
        return passed
    }

    /// Repeats own deletions in the zone that a record went to, where it is no more: from there it went on to one that may not
    /// be known here yet, and whoever sees both takes them there. Whether there were any.
    private mutating func passOnDeletions(
        of name: RecordName, _ changes: [ZoneID: [Change]], _ states: [ZoneID: RecordState]
    ) throws -> Bool {
        var isDone = false
        for (zone, state) in states where isMine(zone) && state.marks.contains(where: { $0.destination == nil }) {
            for destination in Set(state.openMoves.compactMap(\.destination))
            where states[destination]?.isDeleted == false {
                let deletions = (changes[zone] ?? []).filter { $0.action == .delete }
                if try forward(deletions, to: RecordID(zone: destination, name: name)) { isDone = true }
            }
        }
        return isDone
    }

    /// Whether somebody brought a record to a zone who might take it from where it says that it was, or whose mark counts
    /// there: without that, whoever may write in one share could have the owner take records out of others.
    private func isTrusted(
        _ zone: ZoneID, name: RecordName, _ changes: [ZoneID: [Change]], _ states: [ZoneID: RecordState]
    ) throws -> Bool {
        let claims = (changes[zone] ?? []).filter { $0.movedFrom != nil && $0.forwards == nil }
        return try claims.isEmpty
            || claims.contains { claim in
                guard let from = claim.movedFrom, claim.author != engine.account, isMine(from),
                    let control = engine.zones[from]?.control, let state = states[from], state.isLive,
                    !state.marks.contains(where: { $0.destination == zone })
                else { return true }
                if can(.deleteRecord, account: claim.author, in: control) { return true }
                return try can(.deleteRecord, account: claim.author, author: claim.author, in: control)
                    && db.isOwn(RecordID(zone: from, name: name), of: claim.author)
            }
    }

    /// Brings a record back that left a zone for one in which its arrival counts for nothing, or for an own one that was stopped
    /// before it arrived there; false if it did not.
    private mutating func bringBackRefused(_ id: RecordID, type: RecordType) throws -> Bool {
        guard isMine(id.zone), isWritable(id.zone), let state = try db.state(of: id), !state.isLive,
            let away = state.movedTo, let zone = engine.zones[away]?.row,
            try db.state(of: RecordID(zone: away, name: id.name)) == nil
        else { return false }
        switch zone.state {
        case .active:
            let movers = Set(state.openMoves.filter { $0.destination == away }.map(\.dot.replica))
            let isRefused = try movers.contains { mover in
                try !db.refusedChanges(of: RecordID(zone: away, name: id.name), by: mover).isEmpty
            }
            guard isRefused else { return false }
        case .ended:
            // Not over what own devices only followed: one that can't read of the stop would have it leave again, and again.
            let isMeant = state.openMoves.contains { !$0.isDerived || $0.author != engine.account }
            guard zone.isMine, isMeant, try isNowhere(id.name, but: away) else { return false }
        default: return false
        }
        try writer.write(
            id, type: type, .set([:]), context: state.vector, isDerived: true,
            timestamp: engine.after([state.fields[.name], state.fields[.parent]], &writer))
        for row in try db.allCompanions(of: id) where !row.isLive {
            _ = try bringBackRefused(row.id, type: row.type)
        }
        return true
    }

    /// Whether a record is nowhere, as all that own devices know tells: it may have been brought home by one from a share that has
    /// stopped, have gone on to where this device can't look, or been deleted there.
    private func isNowhere(_ name: RecordName, but stopped: ZoneID) throws -> Bool {
        var states: [ZoneID: RecordState] = [:]
        for zone in try db.zonesOfMoves(of: name) { states[zone] = try db.state(of: RecordID(zone: zone, name: name)) }
        let isKnown = states.values.allSatisfy { state in
            !state.isLive && state.movedTo != nil
                && state.openMoves.compactMap(\.destination).allSatisfy { $0 == stopped || states[$0] != nil }
        }
        guard isKnown, let home = engine.privateZone, let heads = engine.knownHeads[home] else { return false }
        return try heads.values.allSatisfy { head in
            try head.account != engine.account || engine.hasRead(asMuchAs: head.replica, of: home, db)
        }
    }

    /// Brings a record back that every zone says is in another one, and what belongs to it; false if it is no such one.
    private mutating func bringBack(_ id: RecordID, type: RecordType) throws -> Bool {
        if try bringBackRefused(id, type: type) { return true }
        var changes: [ZoneID: [Change]] = [:]
        // One that was stopped says where its records went, too.
        for zone in try db.zonesOfMoves(of: id.name) { changes[zone] = try db.changes(of: id.name, in: zone) }
        guard let home = strandedHome(of: changes, privateZone: engine.privateZone), isMine(home), isWritable(home),
            let state = RecordState(changes[home] ?? [])
        else { return false }
        try writer.write(
            RecordID(zone: home, name: id.name), type: type, .set([:]), context: state.vector, isDerived: true,
            timestamp: engine.after([state.fields[.name], state.fields[.parent]], &writer))
        for row in try db.allCompanions(of: RecordID(zone: home, name: id.name)) where !row.isLive {
            _ = try bringBack(row.id, type: row.type)
        }
        return true
    }

    func isCovered(_ dot: Dot, _ state: RecordState) -> Bool {
        state.marks.contains { $0.destination != nil && $0.context.contains(dot) }
    }

    /// Repeats in a record's home what its old zone has of it and the home has not; whether there was anything.
    @discardableResult
    mutating func forward(
        _ old: [Change], to target: RecordID
    ) throws -> Bool {
        let home = try db.changes(of: target.name, in: target.zone)
        var hasAny = false
        var dots: [Dot] = []
        let parents = Set(
            old.compactMap { change -> RecordName? in
                if case .set(let fields) = change.action { fields[.parent]?.reference } else { nil }
            })
        let folders = try parents.filter { name in
            let folder = try db.record(RecordID(zone: target.zone, name: name))
            return folder?.type == .folder && folder?.isLive == true
        }
        let edits = forwardedEdits(
            old: old, home: home, zone: target.zone, leavesPast: engine.isShare(target.zone),
            hasFolder: folders.contains,
            nextDot: {
                let dot = Dot(replica: engine.replica, counter: UInt64(dots.count + 1))
                dots.append(dot)
                return dot
            })
        for edit in edits {
            var edit = edit
            if case .delete = edit.action {
                // What is the account's own again, others can't delete; nor does it delete for others here.
                guard isMine(target.zone), edit.author == engine.account else { continue }
            }
            guard try dropUnfoundContent(&edit) else { continue }
            hasAny = true
            if isMine(target.zone) {
                edit.dot = writer.nextDot()
                try writer.insert(edit, zone: target.zone)
            } else if case .set(let fields) = edit.action, !fields.isEmpty {
                // Over what this account wrote there, and over nobody else's.
                let own = home.filter { $0.author == engine.account }.map(\.dot)
                try writer.write(
                    target, type: edit.type, edit.action, context: VersionVector(own), timestamp: edit.timestamp)
            }
            try placeLate(edit, target: target)
        }
        return hasAny
    }

    /// Takes out of an edit a content that was written over before anybody else had its bytes: it went out without them, and
    /// nobody can show it. False if nothing is left.
    private func dropUnfoundContent(_ edit: inout Change) throws -> Bool {
        guard let asset = edit.content, asset.location == nil, case .set(var fields) = edit.action,
            engine.trashSources[asset.contentHash] == nil, try db.asset(asset.contentHash) == nil,
            try db.base(contentHash: asset.contentHash).isEmpty
        else { return true }
        (fields[.content], fields[.modified]) = (nil, nil)
        edit.action = .set(fields)
        return !fields.isEmpty
    }

    /// A photo of a selection lies where its placement says: a late renaming or moving of it is one of the placement.
    private mutating func placeLate(_ edit: Change, target: RecordID) throws {
        guard let placement = placements.records[target], let name = placement.name,
            let privateZone = engine.privateZone,
            target.zone != privateZone
        else { return }
        let late = try late(edit)
        guard late.name != nil || late.parent != nil else { return }
        var folder = RecordID(zone: privateZone, name: placement.parent ?? .zoneRoot)
        if let parent = late.parent { folder = RecordID(zone: privateZone, name: parent.reference ?? .zoneRoot) }
        try engine.writePlacement(
            zone: target.zone, record: target.name, parent: folder, name: late.name ?? name, placements: placements,
            writer: &writer)
    }

    private func late(_ edit: Change) throws -> (name: FileName?, parent: Value?) {
        // The forwarded edit has lost a folder that the home does not have.
        guard let privateZone = engine.privateZone, let dot = edit.forwards,
            let original = try db.changes(of: edit.record, in: privateZone).first(where: { $0.identity == dot }),
            case .set(let fields) = original.action
        else { return (nil, nil) }
        return (fields[.name]?.fileName, fields[.parent])
    }

    // MARK: Folders

    /// What was put into a folder that moved follows it, whichever of both was known first.
    private mutating func gatherChildren(of id: RecordID) throws {
        for zone in try db.zonesOfMoves(of: id.name) where isMine(zone) {
            guard let state = try db.state(of: RecordID(zone: zone, name: id.name)), state.movedTo != nil else {
                continue
            }
            for child in try db.placedChildren(in: zone, parent: id.name) { enqueue(child.id) }
        }
    }

    /// What of a share is placed in a folder that moved to that share.
    private mutating func gatherPlaced(in folder: RecordID) {
        guard let there = placements.moved[folder] else { return }
        let placed = placements.records.filter { $0.key.zone == there.zone && $0.value.parent == folder.name }
        for id in placed.keys.sorted() { enqueue(id) }
    }

    /// A photo of a shared folder that is placed in a folder which went to that share lies there for all, and needs no
    /// placement. False if it is no such one.
    private mutating func uniteWithFolder(_ id: RecordID) throws -> Bool {
        guard let placement = placements.records[id], isMine(id.zone), placements.zones[id.zone]?.isLocated == true,
            let record = try db.record(id), record.isLive,
            let state = try db.state(of: id)
        else { return false }
        let folder = placements.folder(of: placement)
        guard folder.zone == id.zone else { return false }
        var fields: [FieldKey: Value] = [.parent: folder.parentValue]
        if let name = placement.name { fields[.name] = .name(name) }
        fields = fields.filter { (state[$0.key] ?? .null) != $0.value }
        if !fields.isEmpty {
            try writer.write(
                id, type: record.type, .set(fields), context: state.vector, isDerived: true,
                timestamp: engine.after([state.fields[.name], state.fields[.parent]], &writer))
        }
        try engine.removePlacement(placement, writer: &writer)
        return true
    }

    /// Moves a record after the folder that it says it is in, if that moved to another zone.
    private mutating func followParent(_ id: RecordID) throws {
        guard isMine(id.zone), let row = try db.record(id), row.isLive, let parent = row.parent else { return }
        let folder = RecordID(zone: id.zone, name: parent)
        guard let state = try db.state(of: folder), state.type == .folder, let zone = state.movedTo, isWritable(zone),
            try isTold(state, of: folder, movedTo: zone)
        else { return }
        // What others put into a folder that was taken out of the share stays in the share.
        guard id.zone == engine.privateZone || row.nameAuthor == engine.account,
            try !engine.isOthersAgain(id, db)
        else { return }
        let there = RecordID(zone: zone, name: parent)
        let isFolderThere = try db.record(there)?.isLive == true
        if !isFolderThere {
            guard try engine.isSharedFolder(folder, as: zone, placements, db) else { return }
        }
        let target = isFolderThere ? there : RecordID(zone: zone, name: .zoneRoot)
        let shown = try db.base(id)?.vector ?? [:]
        let (moved, vector) = try engine.moveRecord(
            id, to: zone, parent: target, name: nil, shown: shown, writer: &writer)
        try engine.removePlacement(placements.records[id], writer: &writer)
        if engine.zones[zone]?.row.root == engine.zones[id.zone]?.row.root {
            try db.rekeyBase(id, to: moved, vector: isMine(zone) ? nil : vector)
        }
        if row.type == .folder {
            for child in try db.placedChildren(in: id.zone, parent: id.name) { enqueue(child.id) }
        }
    }

    /// Whether the device that moved a record has told that in the record's old zone, and what it had read there is known here.
    /// What it took out of a folder there before, left behind, or said of a photo, it tells no later than that: until then, the
    /// people of the new zone must not be shown what the old one says of it. Another device's word that the record went says
    /// nothing of that.
    func isTold(_ state: RecordState, of id: RecordID, movedTo zone: ZoneID) throws -> Bool {
        let here = try Set(db.changes(of: id.name, in: id.zone).map(\.identity))
        let control = engine.zones[id.zone]?.control
        let arrivals = try db.changes(of: id.name, in: zone).filter { change in
            change.movedFrom == id.zone && change.forwards == nil && !here.contains(change.identity)
                && control.map { can(.deleteRecord, account: change.author, in: $0) } ?? true
        }
        // A folder that became a share as a whole has no record there.
        let last = arrivals.max { $0.timestamp < $1.timestamp }
        let marks = state.marks.filter { mark in
            guard mark.destination == zone else { return false }
            guard let last else { return true }
            // A device that had to take another name has given one to the mark, too.
            let isOfNewName = mark.author == last.author && mark.timestamp == last.timestamp
            return isOfNewName || mark.dot.replica == last.dot.replica && mark.dot.counter > last.dot.counter
        }
        // What the mover had heard of others took part in that as well.
        if try marks.contains(where: { try engine.hasRead(asMuchAs: $0.dot.replica, of: id.zone, db) }) { return true }
        guard let mark = marks.first else { return last == nil }
        try engine.awaitWhatIsKnown(to: mark.dot.replica, for: id, db)
        return false
    }

    /// A folder that was shared as a whole is shown as its zone: a late renaming or moving of it is one of the placement.
    /// False if the folder is no such one.
    private mutating func forwardToPlacement(_ id: RecordID) throws -> Bool {
        guard id.zone == engine.privateZone, let state = try db.state(of: id) else { return false }
        let shared = try Set(state.marks.compactMap(\.destination)).filter { zone in
            guard isMine(zone), !state.hasReturned(from: zone) else { return false }
            return try engine.isSharedFolder(id, as: zone, placements, db)
        }
        guard let zone = shared.min(), let placement = placements.zones[zone] else { return false }
        guard state.isLive else { return true }
        var fields: [FieldKey: Value] = [:]
        for key in [FieldKey.name, .parent] {
            if let winner = state.fields[key]?.winner, !isCovered(winner.dot, state) { fields[key] = winner.value }
        }
        if !fields.isEmpty {
            try writer.write(
                placement.id, type: .placement, .set(fields), context: try db.state(of: placement.id)?.vector ?? [:],
                isDerived: true, timestamp: engine.after([state.fields[.name], state.fields[.parent]], &writer))
        }
        try writer.write(id, type: .folder, .moved(to: zone), context: state.vector, isDerived: true)
        return true
    }
}
