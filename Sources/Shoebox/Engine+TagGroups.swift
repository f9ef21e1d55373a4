import ShoeboxModel
import ShoeboxPlanning
import ShoeboxStore

import class GRDB.Database

/// The tags of one zone that show as one, because their names look alike.
struct TagGroup {
    /// The zone.
    var zone: ZoneID
    /// The one that represents them: the smallest.
    var tag: RecordName
    /// All of them, sorted.
    var members: [RecordName]
    /// The name that shows.
    var title: String
    /// The live photos that are in any of them, twins once.
    var photos: Set<RecordName>
}

extension Engine {
    /// The name under which the tags' place in the history is kept.
    private static let tagConsumer = "tags"

    /// The tags of a zone as people see them, sorted by what names are compared by.
    func tagGroups(in zone: ZoneID, _ db: Database) throws -> [TagGroup] {
        var titles: [RecordName: String] = [:]
        for row in try db.records(of: .tag, in: zone) { titles[row.id.name] = try db.state(of: row.id)?[.title]?.text }
        let winners = resolveTags(titles: titles.map { ($0.key, $0.value) })
        var groups: [RecordName: TagGroup] = [:]
        for (tag, title) in titles where !normalizedTagName(title).isEmpty {
            let shown = winners[tag] ?? tag
            let name = titles[shown] ?? title
            groups[shown, default: TagGroup(zone: zone, tag: shown, members: [], title: name, photos: [])].members
                .append(tag)
        }
        let representatives = try db.twinRepresentatives(in: zone)
        for join in try db.records(of: .photoTag, in: zone) {
            guard let tag = join.parent, let photo = join.subject,
                try db.record(RecordID(zone: zone, name: photo))?.isLive == true
            else { continue }
            groups[winners[tag] ?? tag]?.photos.insert(representatives[photo] ?? photo)
        }
        for tag in groups.keys { groups[tag]?.members.sort() }
        return groups.values.sorted {
            (normalizedTagName($0.title), $0.tag) < (normalizedTagName($1.title), $1.tag)
        }
    }

    /// Reads in the history which tags are new, renamed, deleted or back, and has everything written again that shows
    /// them or a tag that looked or looks alike: which of them represents the others may be another one now. Nothing
    /// of that is written into the zone, so that no replica's view can undo another's.
    ///
    /// A change that is judged anew, after the control changed, is read once more (`judgeAgain`).
    func spreadTagChanges() throws {
        let (known, newest) = try store.read { db in
            (try db.consumerToken(Self.tagConsumer), try db.newestToken())
        }
        guard newest > known else { return }
        try store.write { db in
            for (zone, tags) in try db.changedRecords(of: .tag, after: known) {
                try spread(tags, in: zone, db)
            }
            try db.setConsumerToken(Self.tagConsumer, newest)
        }
    }

    private func spread(_ changed: Set<RecordName>, in zone: ZoneID, _ db: Database) throws {
        var names: Set<String> = []
        for tag in changed {
            names.formUnion(
                try db.textsEverWritten(to: .title, of: RecordID(zone: zone, name: tag)).map(normalizedTagName))
        }
        names.remove("")
        var affected = changed
        for row in try db.records(of: .tag, in: zone) where !affected.contains(row.id.name) {
            guard let title = try db.state(of: row.id)?[.title]?.text, names.contains(normalizedTagName(title)) else {
                continue
            }
            affected.insert(row.id.name)
        }
        // One that stands alone has marked its photos when it came.
        guard affected.count > 1 else { return }
        for tag in affected.sorted() { try db.markPhotosDirty(ofTag: RecordID(zone: zone, name: tag)) }
    }

    // MARK: Commands

    /// The tag of this name that a command means.
    func tagGroup(_ title: String, _ scope: TagScope) throws -> TagGroup {
        let wanted = normalizedTagName(title)
        let candidates: [ZoneInfo]
        switch scope {
        case .any: candidates = zones.values.filter { $0.row.state == .active }
        case .library: candidates = zones.values.filter { $0.id == privateZone }
        case .share(let name): candidates = [try zoneNamed(name, mine: nil)]
        }
        let found = try store.read { db in
            try candidates.sorted(by: ZoneInfo.comesBefore).flatMap { zone in
                try tagGroups(in: zone.id, db).filter { normalizedTagName($0.title) == wanted }
            }
        }
        guard let group = found.first else {
            throw RequestError(ExitCode.notFound, "There is no tag '\(title)'.", "'shoebox tag list' shows all tags.")
        }
        guard found.count == 1 else {
            let places = found.map {
                $0.zone == privateZone ? "your library" : "'\(zones[$0.zone]?.control.title ?? "")'"
            }
            throw RequestError(
                ExitCode.notFound, "There is a tag '\(title)' in each of \(places.joined(separator: ", ")).",
                "Say which one is meant: --library, or --share SHARE.")
        }
        return group
    }

    private func mayTag(in zone: ZoneID) throws {
        guard let zone = zones[zone], can(.tag, account: account, in: zone.control), zone.mayWrite(account) else {
            throw RequestError(
                ExitCode.notPermitted, "You may only read '\(zones[zone]?.control.title ?? "")'.",
                "Ask its owner for the permission 'readWrite'.")
        }
    }

    /// Gives a tag another name, with all that show as it; a name that another tag has makes them one.
    func renameTag(_ title: String, to new: String, _ scope: TagScope) throws -> Reply {
        try Self.checkTagName(new)
        let group = try tagGroup(title, scope)
        try mayTag(in: group.zone)
        let other = try store.read { db in try tagGroups(in: group.zone, db) }
            .first { normalizedTagName($0.title) == normalizedTagName(new) && $0.tag != group.tag }
        let count = try store.write { db -> Int in
            var writer = try HistoryWriter(db, engine: self, author: "cli")
            try rename(group, to: new, writer: &writer)
            try writer.finish()
            return writer.count
        }
        let joined = other.map { " It is one with '\($0.title)' now." } ?? ""
        return Reply(
            lines: [
                count == 0
                    ? "nothing to change"
                    : group.title == new
                        ? "'\(new)' it is, for everybody.\(joined)"
                        : "'\(group.title)' is called '\(new)' now.\(joined)"
            ],
            values: ["changes": String(count)])
    }

    /// Writes a new name into each tag of a group: one that kept the old name would come back under it. The name that it has decides
    /// between those that were given at once.
    func rename(_ group: TagGroup, to title: String, writer: inout HistoryWriter) throws {
        for tag in group.members {
            let id = RecordID(zone: group.zone, name: tag)
            guard let state = try writer.db.state(of: id), let field = state.fields[.title],
                field.winner?.value.text != title || !field.losers.isEmpty
            else { continue }
            try writer.write(id, type: .tag, .set([.title: .text(title)]), context: state.vector)
        }
    }

    /// Deletes a tag, with all that show as it, so that none of them comes back in its place. Photos stay. One of the same
    /// name that somebody made at the same time, and that is not seen here yet, stays too.
    func deleteTag(_ title: String, _ scope: TagScope) throws -> Reply {
        let group = try tagGroup(title, scope)
        try mayTag(in: group.zone)
        try store.write { db in
            var writer = try HistoryWriter(db, engine: self, author: "cli")
            for tag in group.members {
                let id = RecordID(zone: group.zone, name: tag)
                try writer.write(id, type: .tag, .delete, context: try db.state(of: id)?.vector ?? [:])
            }
            try writer.finish()
        }
        return Reply(
            lines: ["The tag '\(group.title)' is deleted; \(group.photos.count) photos had it, and stay."],
            values: ["photos": String(group.photos.count)])
    }

    /// Refuses what can't be a tag's name.
    static func checkTagName(_ title: String) throws {
        guard !normalizedTagName(title).isEmpty, title.utf8.count <= 200 else {
            throw RequestError(64, "A tag's name has 1 to 200 bytes, and more than white space.", "Choose another one.")
        }
    }
}

extension Engine {
    /// A photo's record and those of its twins, the same bytes dropped at the same place by others: together they show
    /// as one photo. The record itself comes first.
    func united(_ id: RecordID, _ db: Database) throws -> [RecordID] {
        let twins = try db.base(id)?.twins ?? []
        return [id] + twins.filter { $0.zone == id.zone && $0 != id }
    }

    /// The context of what is done to a twin with the photo that stands for it: what the folder shows of it, and all that this
    /// device wrote itself.
    func shown(of twin: RecordID, _ row: BaseRow, _ db: Database) throws -> VersionVector {
        let known = try db.state(of: twin)?.vector ?? [:]
        guard let shown = row.twinVectors[twin] else { return known }
        return shown.union([replica: known[replica]])
    }

    /// Whether a twin has the bytes that the folder shows, and the place that the photo has that stands for it: nobody changed
    /// or moved it alone meanwhile.
    func isOneStill(_ twin: RecordID, with row: BaseRow, _ db: Database) throws -> Bool {
        guard let state = try db.state(of: twin),
            state.fields[.content]?.values.allSatisfy({ $0.value.asset?.contentHash == row.contentHash }) != false
        else { return false }
        // Not with what this device wrote itself: its user may have moved the twin alone, where it showed by itself.
        let shown = row.twinVectors[twin] ?? state.vector
        let photo = try db.state(of: row.id)
        return [FieldKey.parent, .name].allSatisfy { key in
            let isKnown = state.fields[key]?.values.allSatisfy { shown.contains($0.dot) } != false
            return isKnown || state[key] == photo?[key]
        }
    }

    /// Writes into a photo's own record what only its twins say, before they are given up. Others' ratings can be
    /// written by nobody else, and stay in the history.
    func inherit(from twins: [RecordID], _ id: RecordID, writer: inout HistoryWriter) throws {
        guard !twins.isEmpty else { return }
        let shown = try details(of: id, writer.db)
        var own = PhotoDetails()
        try collect(&own, [id], writer.db)
        for title in shown.tags { try setTag(title, on: id, isMember: true, writer: &writer) }
        if shown.caption != own.caption { try setFields([.caption: .text(shown.caption)], on: id, writer: &writer) }
        for (key, json) in shown.custom.sorted(by: { $0.key < $1.key }) where own.custom[key] != json {
            try setFields([.custom(key): .text(json)], on: id, writer: &writer)
        }
        if shown.rating != own.ratings[account] ?? 0 { try setRating(shown.rating, on: id, writer: &writer) }
    }
}
