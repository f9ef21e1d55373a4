import ShoeboxModel
import ShoeboxPlanning
import ShoeboxStore
import ShoeboxWorld

import class GRDB.Database

extension Engine {
    /// The live files that may be shown in a folder, those placed there from other zones among them.
    func placedFileRows(in parent: RecordID, placements: Placements, _ db: Database) throws -> [RecordRow] {
        try placedFiles(in: [parent], placements: placements, db).compactMap { try db.record($0.id) }
    }

    /// Writes where a zone (`record` nil) or one record of it is shown in this account's tree.
    func writePlacement(
        zone: ZoneID, record: RecordName?, parent: RecordID?, name: FileName, placements: Placements,
        writer: inout HistoryWriter
    ) throws {
        guard let privateZone else { return }
        let existing =
            record.map { placements.records[RecordID(zone: zone, name: $0)] } ?? placements.zones[zone]
        // A folder that went to a share is named by what it was before.
        let parent = parent.map { parent in
            placements.moved.filter { $0.value == parent }.keys.min() ?? parent
        }
        let wanted = parent.flatMap { $0.isZoneRoot ? nil : $0.name }
        if let existing, existing.name == name, existing.parent == wanted { return }
        let fallback = RecordName(bytes: world.randomBytes(16)) ?? RecordName(2)
        let id = existing?.id ?? RecordID(zone: privateZone, name: fallback)
        var fields: [FieldKey: Value] = [
            .targetZone: .bytes(zone.digest.bytes), .name: .name(name),
            .parent: parent?.parentValue ?? .null,
        ]
        if let record { fields[.targetRecord] = .reference(record) }
        try writer.write(
            id, type: .placement, .set(fields), context: try writer.db.state(of: id)?.vector ?? [:])
    }

    /// Removes a placement: what it placed shows where its own zone says.
    func removePlacement(_ row: RecordRow?, writer: inout HistoryWriter) throws {
        guard let row, let state = try writer.db.state(of: row.id) else { return }
        try writer.write(row.id, type: .placement, .delete, context: state.vector)
    }

    /// Moves a file, or a folder with all in it, that the base shows, to a folder of another zone. The base tree is
    /// re-keyed, so no file is touched.
    ///
    /// - Parameters:
    ///   - isEdit: whether a person moved this very thing, and not only shares, or no longer shares, what it is in.
    ///   - gone: what of it doesn't go along.
    @discardableResult
    func moveTree(
        _ row: BaseRow, to parent: RecordID, name: FileName?, isEdit: Bool = false, staysAt place: RecordID? = nil,
        leaving gone: LeftBehind? = nil, placements: Placements, writer: inout HistoryWriter
    ) throws -> RecordID {
        let db = writer.db
        let children = row.kind == .folder ? try db.baseChildren(of: row.id, root: row.root) : []
        let twins = try row.twins.filter { try isOneStill($0, with: row, db) }
        let (id, shown) =
            try isShell(row, of: parent.zone, db)
            ? makeFolder(in: parent, name: name ?? row.name, writer: &writer)
            : moveRecord(
                row.id, to: parent.zone, parent: parent, name: name, shown: row.vector, isEdit: isEdit,
                writer: &writer)
        try removePlacement(placements.records[row.id], writer: &writer)
        if id != row.id { writer.carry(row.id, to: id) }
        // Records that the file stands for as well would show in the old place again.
        var twinVectors: [RecordID: VersionVector] = [:]
        for twin in twins where twin.zone == row.id.zone && twin != row.id {
            let there = try moveRecord(
                twin, to: parent.zone, parent: parent, name: name, shown: try db.state(of: twin)?.vector ?? [:],
                isEdit: isEdit, writer: &writer)
            twinVectors[there.id] = there.shown
            try removePlacement(placements.records[twin], writer: &writer)
        }
        if id != row.id, let other = try db.base(id) { try lookAgain(at: other, db) }
        var moved = row
        try db.removeBase(row.id)
        if id != row.id { try db.rekeyDeparture(to: row.id, as: id) }
        moved.id = id
        // One that others changed or moved meanwhile is no twin any more.
        moved.twins = twins
        moved.renameTwins { $0.zone == row.id.zone ? RecordID(zone: parent.zone, name: $0.name) : $0 }
        moved.twinVectors.merge(twinVectors) { _, there in there }
        moved.parent = place ?? parent
        moved.name = name ?? row.name
        moved.vector = shown
        try db.setBase(moved)
        try moveChildren(
            children, of: row.id.zone, to: id, leaving: gone, placements: placements, writer: &writer)
        return id
    }

    /// Takes what a folder showed along to where the folder is now: what was of its zone goes with it, and what is of
    /// another share stays that share's.
    func moveChildren(
        _ children: [BaseRow], of zone: ZoneID, to folder: RecordID, leaving gone: LeftBehind?,
        placements: Placements, writer: inout HistoryWriter
    ) throws {
        for child in children {
            if child.id.zone == zone, !child.id.isZoneRoot {
                if let gone, gone.ids.contains(child.id) {
                    try leaveBehind(child, of: folder, at: gone.place, writer: &writer)
                } else {
                    try moveTree(child, to: folder, name: nil, leaving: gone, placements: placements, writer: &writer)
                }
            } else if child.id.zone == folder.zone, !child.id.isZoneRoot,
                placements.zones[folder.zone]?.isLocated == true
            {
                try unite(child, with: folder, placements: placements, writer: &writer)
            } else {
                try keep(child, in: folder, writer.db)
            }
        }
    }

    /// Has a file looked at that the base knows no longer: another one came from another zone that has a record of the same name,
    /// as two zones have where a conflict copy was made in both.
    private func lookAgain(at row: BaseRow, _ db: Database) throws {
        guard let folder = try db.basePath(of: row.parent, top: [top(row.root)]) else { return }
        later[.init(root: row.root, path: folder)] = world.uptimeMilliseconds()
    }

    /// Whether a folder went to a zone before, and shows there: this one stands only for what others put into it since.
    private func isShell(_ row: BaseRow, of zone: ZoneID, _ db: Database) throws -> Bool {
        try row.kind == .folder && db.base(RecordID(zone: zone, name: row.id.name)) != nil
    }

    /// Makes a folder, with a name that proves whose it is.
    func makeFolder(
        in parent: RecordID, name: FileName, writer: inout HistoryWriter
    ) throws -> (id: RecordID, shown: VersionVector) {
        let (record, origin) = newRecord()
        let id = RecordID(zone: parent.zone, name: record)
        let change = try writer.write(
            id, type: .folder,
            .set([.name: .name(name), .parent: parent.parentValue, .origin: origin]))
        return (id, VersionVector([change.dot]))
    }

    /// What was added to the share, and lay in a folder that goes to that share now, lies in the folder there, for all.
    private func unite(
        _ child: BaseRow, with folder: RecordID, placements: Placements, writer: inout HistoryWriter
    ) throws {
        let db = writer.db
        var child = child
        child.parent = folder
        if zones[folder.zone]?.row.isMine == true, let placement = placements.records[child.id],
            let record = try db.record(child.id), let state = try db.state(of: child.id)
        {
            var fields: [FieldKey: Value] = [.parent: .reference(folder.name)]
            if record.name != child.name { fields[.name] = .name(child.name) }
            let change = try writer.write(child.id, type: record.type, .set(fields), context: state.vector)
            child.vector.insert(change.dot)
            try removePlacement(placement, writer: &writer)
        }
        try db.setBase(child)
    }

    /// Says of what lies in a folder that moved to another zone, and is another share's, that it is in that folder still.
    func keep(_ child: BaseRow, in folder: RecordID, _ db: Database) throws {
        var child = child
        child.parent = folder
        try db.setBase(child)
    }

    /// Moves one record with its companions to another zone: first its values with their dots there, then the mark here.
    /// What was overwritten doesn't go into a share. In a zone of somebody else, values are written anew, since only a
    /// zone's owner may carry other replicas' dots.
    ///
    /// What of the record was not shown to the person who moves it (`isEdit`) stays for `followMoves` to forward.
    /// - Parameters:
    ///   - parent: the folder there; nil for the one that the record names.
    ///   - name: nil for the same as before.
    ///   - shown: what of the record the folder shows.
    /// - Returns: the record there, and what of it the folder shows.
    @discardableResult
    func moveRecord(
        _ id: RecordID, to zone: ZoneID, parent: RecordID?, name: FileName?, shown: VersionVector,
        isEdit: Bool = false, writer: inout HistoryWriter
    ) throws -> (id: RecordID, shown: VersionVector) {
        let db = writer.db
        let target = RecordID(zone: zone, name: id.name)
        let all = try db.changes(of: id.name, in: id.zone)
        let isMine = zones[zone]?.row.isMine == true
        // Of what another device took elsewhere already, only what was shown goes along: the rest is where that took it.
        let isLimited = try isMine && (isEdit || db.state(of: id)?.movedTo != nil)
        let known = isLimited ? all.filter { shown.contains($0.identity) } : all
        let isWhole = RecordState(known).map { state in
            !state.fields.isEmpty && (isEdit || state.content != nil || !all.contains { $0.content != nil })
        }
        let changes = isWhole == true ? known : all
        guard let state = RecordState(changes) else { return (target, shown) }
        let existing = try db.changes(of: id.name, in: zone)
        if isMine, !existing.isEmpty, try isOthersAgain(id, db) || isOthersAgain(target, db),
            let content = state.content
        {
            var apart = target
            // One that came before, and went on from there, is another one.
            repeat {
                apart.name = Derivation.conflictCopy(of: apart.name, contentHash: content.contentHash)
            } while try db.state(of: apart)?.movedTo != nil
            return try moveApart(
                id, state, to: apart, parent: parent, name: name, isEdit: isEdit, writer: &writer)
        }
        let before = RecordState(changes + existing) ?? state
        var fields: [FieldKey: Value] = [:]
        if let parent {
            if before[.parent] ?? .null != parent.parentValue { fields[.parent] = parent.parentValue }
        }
        if let name, before.fileName != name { fields[.name] = .name(name) }
        let timestamp =
            isEdit ? writer.nextTimestamp() : after([before.fields[.name], before.fields[.parent]], &writer)
        let rewritten = writer.rewritten[id]?.fields ?? []
        // Of who may not make copies where it was, all goes along.
        let leavesLosers = isShare(zone) && zones[id.zone]?.mayWrite(account) == true
        if leavesLosers { try keepConflictCopies(of: before, had: state, in: id.zone, writer: &writer) }
        guard isMine else {
            // What is written anew says all, whatever it was there before.
            var values = state.fields.filter { !rewritten.contains($0.key) }.compactMapValues { $0.winner?.value }
            if let parent { values[.parent] = parent.parentValue }
            if let name { values[.name] = .name(name) }
            let arrival = try writer.write(
                target, type: state.type, .set(values), context: RecordState(existing)?.vector ?? [:],
                movedFrom: id.zone)
            try moveCompanions(of: id, to: zone, writer: &writer)
            // What was saved over without having been shown is not covered, so that it is forwarded.
            let isUnseen =
                isEdit
                && rewritten.contains { state.fields[$0]?.values.contains { !shown.contains($0.dot) } == true }
            try writer.write(
                id, type: state.type, .moved(to: zone),
                context: isUnseen ? shown.union([replica: state.vector[replica]]) : state.vector,
                isDerived: !isEdit)
            try db.moveSidecar(from: id, to: target)
            let vector = try db.state(of: target)?.vector ?? [:]
            // Bytes that the folder does not show yet went along; what is saved before it does is no edit of them.
            let hasUnseenBytes =
                values[.content] != nil
                && state.fields[.content]?.winner.map { !shown.contains($0.dot) } == true
            return (target, hasUnseenBytes ? vector.below(arrival.dot) : vector)
        }
        guard
            let move = planZoneMove(
                of: changes, existing: existing, from: id.zone, to: zone, fields: fields,
                rewriting: rewritten, timestamp: timestamp, author: account, isDerived: !isEdit,
                leavesPast: isShare(zone), leavesLosers: leavesLosers,
                nextDot: { writer.nextDot() }),
            let arrival = move.arrival.last?.dot
        else { return (target, shown) }
        for change in move.arrival { try writer.insert(change, zone: zone) }
        try moveCompanions(of: id, to: zone, writer: &writer)
        try writer.insert(move.mark, zone: id.zone)
        try db.moveSidecar(from: id, to: target)
        return (target, shown.union([arrival.replica: arrival.counter]))
    }

    /// Moves what others made of a record that had left to where that record is: as one of its own, the same on every device, so
    /// that it takes nothing's place.
    private func moveApart(
        _ id: RecordID, _ state: RecordState, to target: RecordID, parent: RecordID?, name: FileName?, isEdit: Bool,
        writer: inout HistoryWriter
    ) throws -> (id: RecordID, shown: VersionVector) {
        // One that came before, and was deleted there, is alive again: this one is.
        if try writer.db.record(target)?.isLive != true {
            var fields = state.fields.compactMapValues { $0.winner?.value }
            fields[.origin] = nil
            if let parent { fields[.parent] = parent.parentValue }
            if let name { fields[.name] = .name(name) }
            try writer.write(
                target, type: state.type, .set(fields), context: try writer.db.state(of: target)?.vector ?? [:],
                isDerived: !isEdit, timestamp: isEdit ? nil : after([state.fields[.content]], &writer))
        }
        try writer.write(
            id, type: state.type, .moved(to: target.zone), context: state.vector, isDerived: !isEdit)
        try writer.db.moveSidecar(from: id, to: target)
        return (target, try writer.db.state(of: target)?.vector ?? [:])
    }

    /// Makes the copies of what lost in a record's conflicts, where there are none yet: into a share only what shows goes along.
    ///
    /// - Parameters:
    ///   - state: with all that is known of the record.
    ///   - old: what the zone that it leaves has: what only the other one has is told there alone.
    private func keepConflictCopies(
        of state: RecordState, had old: RecordState, in zone: ZoneID, writer: inout HistoryWriter
    ) throws {
        guard state.fields[.content]?.losers.isEmpty == false else { return }
        for birth in conflictCopies(of: state, authorLabel: label(of:)) {
            let copy = RecordID(zone: zone, name: birth.record)
            guard try writer.db.record(copy) == nil, let content = birth.fields[.content],
                old.fields[.content]?.values.contains(where: { $0.value.isSame(as: content) }) == true
            else { continue }
            try writer.write(copy, type: birth.type, .set(birth.fields), isDerived: true, timestamp: birth.timestamp)
        }
    }

    /// Whether others than this account's devices may read a zone.
    func isShare(_ zone: ZoneID) -> Bool { zones[zone]?.row.kind == .share }

    /// A time just after these fields were written, for what is derived from them; now, if they never were.
    func after(_ causes: [FieldState?], _ writer: inout HistoryWriter) -> HybridTimestamp {
        guard let cause = causes.compactMap({ $0?.winner?.timestamp }).max() else { return writer.nextTimestamp() }
        return HybridTimestamp(
            wallMilliseconds: cause.wallMilliseconds, counter: cause.counter == .max ? .max : cause.counter + 1,
            replica: cause.replica)
    }

    /// Takes the tags, ratings and remarks of a photo along to another zone. Each leaves its mark, so that what is written
    /// later without knowing of the move is told from what went along.
    private func moveCompanions(of id: RecordID, to zone: ZoneID, writer: inout HistoryWriter) throws {
        let db = writer.db
        let target = RecordID(zone: zone, name: id.name)
        let rewritten = writer.rewritten[id] ?? RewrittenDetails()
        let ownRating = Derivation.rating(photo: id.name, account: account)
        for row in try db.allCompanions(of: id) {
            guard let state = try db.state(of: row.id), state.isLive else { continue }
            if rewritten.isRated, row.id.name == ownRating {
                try writer.write(row.id, type: row.type, .moved(to: zone), context: state.vector, isDerived: true)
            } else if row.type == .photoTag {
                if let tag = state[.tag]?.reference, state[.member]?.boolean != false,
                    let title = try tagTitles(in: id.zone, db)[tag],
                    !rewritten.tags.contains(normalizedTagName(title))
                {
                    try setTag(title, on: target, isMember: true, writer: &writer)
                }
                try writer.write(
                    row.id, type: row.type, .moved(to: zone), context: state.vector, isDerived: true)
            } else if zones[zone]?.row.isMine == true {
                try moveRecord(row.id, to: zone, parent: nil, name: nil, shown: [:], writer: &writer)
            } else if state.fields.values.allSatisfy({ $0.winner?.author == account }) {
                // Nobody can speak for others in somebody else's zone.
                let values = state.fields.compactMapValues { $0.winner?.value }
                let there = RecordID(zone: zone, name: row.id.name)
                try writer.write(
                    there, type: row.type, .set(values), context: try db.state(of: there)?.vector ?? [:],
                    movedFrom: id.zone)
                try writer.write(
                    row.id, type: row.type, .moved(to: zone), context: state.vector, isDerived: true)
            }
        }
    }
}
