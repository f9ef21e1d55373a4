import GRDB
public import ShoeboxModel
import ShoeboxPlanning
import ShoeboxStore

/// One transaction of the history: what changed at once, and who brought it.
public struct HistoryEntry: Sendable {
    /// One changed record.
    public struct Item: Sendable {
        /// The record.
        public var record: RecordID
        /// What it is, as a person knows it: where it shows, or showed; for what belongs to a photo, that photo.
        public var subject: String
        /// Its kind.
        public var type: RecordType
        /// `set`, `delete` or `moved`.
        public var action: String
        /// The fields that were set, with their new values; contents by size and hash.
        public var fields: [(key: String, value: String)]
        /// What those fields showed before, as far as was known then; none for a field that was not set.
        public var former: [String: String]
        /// When it was written, milliseconds since 1970, by its author's clock.
        public var writtenMilliseconds: UInt64
        /// Whose change it is.
        public var account: String
        /// Whether it counts: `pending`, `accepted` or `refused`.
        public var standing: String
        /// Whether the engine derived it.
        public var isDerived: Bool
    }

    /// The token: reading on from it gives what came after.
    public var token: Int64
    /// When, milliseconds since 1970.
    public var timeMilliseconds: UInt64
    /// What brought it: `watcher`, `scan`, `cli`, `fetch:<zone>`, ….
    public var author: String
    /// The same for people: a zone by its share's title.
    public var source: String
    /// What changed.
    public var items: [Item]

    /// As `--json` prints it.
    public var json: JSONObject {
        [
            "token": .integer(token), "time": StatusText.json(time: timeMilliseconds), "author": .string(author),
            "changes": .array(
                items.map { item in
                    .object([
                        "record": .string(item.record.name.description), "zone": .string(item.record.zone.description),
                        "subject": .string(item.subject), "type": .string(item.type.rawValue),
                        "action": .string(item.action),
                        "fields": .object(
                            JSONObject(item.fields.map { JSONObject.Member($0.key, .string($0.value)) })),
                        "former": .object(
                            JSONObject(
                                item.former.sorted { $0.key < $1.key }.map {
                                    JSONObject.Member($0.key, .string($0.value))
                                })), "written": StatusText.json(time: item.writtenMilliseconds),
                        "account": .string(item.account), "standing": .string(item.standing),
                        "isDerived": .bool(item.isDerived),
                    ])
                }),
        ]
    }
}

extension TreeListing {
    /// The history after a token, oldest first, up to about `limit` changes, whole transactions only; nil for the newest
    /// of all. With the token to read on from, and whether there are more: newer ones after a token, older ones for nil.
    public func history(
        after token: Int64?, limit: Int = 10_000
    ) throws -> (entries: [HistoryEntry], token: Int64, isCut: Bool) {
        try engine.store.read { db in
            let found = try changes(after: token, limit: limit, db)
            return (try entries(of: found.changes, db), found.changes.last?.token ?? token ?? 0, found.isCut)
        }
    }

    private func changes(
        after token: Int64?, limit: Int, _ db: Database
    ) throws -> (changes: [StoredChange], isCut: Bool) {
        let stored = try token.map { try db.history(after: $0, limit: limit) } ?? db.newestHistory(limit: limit)
        // The transaction at that end may go on.
        guard stored.count == limit, let end = (token == nil ? stored.first : stored.last)?.token else {
            return (stored, false)
        }
        let whole = stored.filter { $0.token != end }
        let changes = whole.isEmpty ? try db.changes(inTransaction: end) : whole
        guard let newest = changes.last?.token, let oldest = changes.first?.token else { return (changes, false) }
        let isCut = token == nil ? try db.hasHistory(before: oldest) : try !db.history(after: newest, limit: 1).isEmpty
        return (changes, isCut)
    }

    private func entries(of stored: [StoredChange], _ db: Database) throws -> [HistoryEntry] {
        var result: [HistoryEntry] = []
        let former = try formerValues(of: stored, db)
        for change in stored where !isEmptyForward(change.change) {
            if result.last?.token != change.token {
                let row = try Row.fetchOne(
                    db, sql: "SELECT time, author FROM historyTransaction WHERE token = ?",
                    arguments: [change.token])
                result.append(
                    HistoryEntry(
                        token: change.token, timeMilliseconds: UInt64(bitPattern: (row?["time"] as Int64?) ?? 0),
                        author: row?["author"] ?? "", source: engine.source(row?["author"] ?? ""), items: []))
            }
            result[result.count - 1].items.append(try item(change, former: former[change.id] ?? [:], db))
        }
        return result
    }

    /// What the fields that each change sets showed when it arrived, by the change's row.
    private func formerValues(of stored: [StoredChange], _ db: Database) throws -> [Int64: [String: String]] {
        var result: [Int64: [String: String]] = [:]
        let wanted = Set(stored.map(\.id))
        let records = Set(stored.map { RecordID(zone: $0.zone, name: $0.change.record) })
        for record in records {
            var state: RecordState?
            for change in try db.storedChanges(of: record) {
                if wanted.contains(change.id), case .set(let fields) = change.change.action, let state {
                    var values: [String: String] = [:]
                    for key in fields.keys { values[key.rawValue] = state[key]?.displayText }
                    result[change.id] = values
                }
                guard change.standing.counts else { continue }
                if state == nil { state = RecordState(name: record.name, type: change.change.type) }
                state?.merge(change.change)
            }
        }
        return result
    }

    /// Whether a change only says that something is known, as of what stayed behind in another zone.
    private func isEmptyForward(_ change: Change) -> Bool { change.forwards != nil && change.action == .set([:]) }

    private func item(
        _ stored: StoredChange, former: [String: String], _ db: Database
    ) throws -> HistoryEntry.Item {
        let control = engine.zones[stored.zone]?.control
        var fields: [(key: String, value: String)] = []
        let action: String
        switch stored.change.action {
        case .set(let values):
            action = "set"
            fields = values.sorted { $0.key < $1.key }.map { ($0.key.rawValue, $0.value.displayText) }
        case .delete: action = "delete"
        case .moved: action = "moved"
        }
        let standing =
            switch stored.standing {
            case .pending: "pending"
            case .accepted: "accepted"
            case .refused, .malformed: "refused"
            }
        return HistoryEntry.Item(
            record: RecordID(zone: stored.zone, name: stored.change.record),
            subject: try engine.subject(
                RecordID(zone: stored.zone, name: stored.change.record), type: stored.change.type, db),
            type: stored.change.type, action: action,
            fields: fields, former: former, writtenMilliseconds: stored.change.timestamp.wallMilliseconds,
            account: control.map { engine.name(of: stored.change.author, in: $0) } ?? stored.change.author.fingerprint,
            standing: standing, isDerived: stored.change.isDerived)
    }

    /// All tags, those with names that look alike as one: title, how many photos have it, and the titles of the shares
    /// that have such a tag, with "" for the library.
    public func tags() throws -> [(title: String, photos: Int, places: [String])] {
        try engine.store.read { db in
            var found: [String: (title: String, photos: Int, places: [String])] = [:]
            for zone in engine.zones.values.sorted(by: ZoneInfo.comesBefore) where zone.row.state == .active {
                for group in try engine.tagGroups(in: zone.id, db) {
                    var entry = found[normalizedTagName(group.title)] ?? (group.title, 0, [])
                    entry.photos += group.photos.count
                    entry.places.append(zone.row.kind == .share ? zone.control.title : "")
                    found[normalizedTagName(group.title)] = entry
                }
            }
            return found.sorted { $0.key < $1.key }.map(\.value)
        }
    }

    /// The tag that a command means: its name as it shows, how many photos have it, and whether others see it.
    ///
    /// - Throws: `RequestError` with `ExitCode.notFound`, also when several places have such a tag.
    public func tag(named title: String, in scope: TagScope) throws -> (title: String, photos: Int, isShared: Bool) {
        let group = try engine.tagGroup(title, scope)
        return (group.title, group.photos.count, engine.zones[group.zone]?.row.kind == .share)
    }

    /// The shares of the account, by title.
    public func shares(includesEnded: Bool) throws -> [ShareSummary] {
        try engine.store.read { db in try ShareSummary.all(engine, db, includesEnded: includesEnded) }
    }

    /// A share by its id, the start of its id, or its title.
    ///
    /// - Throws: `RequestError` with `ExitCode.notFound`.
    public func share(named text: String) throws -> ShareSummary {
        let zone = try engine.zoneNamed(text, mine: nil)
        return try engine.store.read { db in try ShareSummary(zone, engine: engine, db) }
    }

    /// A file of a container as JSON, opened with the keys that this account has.
    ///
    /// - Throws: `RequestError` if it can't be read; `CloudError` if it is no file of a container.
    public func inspect(_ file: AbsolutePath) throws -> JSONValue {
        guard let bytes = try LocalFile.read(file, maxBytes: 256 << 20) else {
            throw RequestError(ExitCode.notFound, "There is no file \(file).", "Check the path.")
        }
        var best = try inspectFile(bytes, nil)
        for zone in engine.zones.values.sorted(by: { $0.id < $1.id }) {
            // A key of another zone does not open it; that is no damage.
            guard let opened = try? inspectFile(bytes, zone.keyring) else { continue }
            if opened.utf8.count > best.utf8.count { best = opened }
        }
        return try JSONText.parse(best)
    }
}
