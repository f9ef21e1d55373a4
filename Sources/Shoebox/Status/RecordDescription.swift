import GRDB
public import ShoeboxModel
import ShoeboxPlanning
import ShoeboxStore

/// Everything about one file or folder, as `show` prints it.
public struct RecordDescription: Sendable {
    /// What a list shows of it.
    public var entry: TreeEntry
    /// SHA-256 of the content; nil for a folder.
    public var contentHash: Digest32?
    /// Every account's rating, by label.
    public var ratings: [(account: String, value: Int)]
    /// Who can see it, with what they may do.
    public var audience: [(account: String, permission: Permission)]
    /// Values of others that nobody has decided between.
    public var conflicts: [ConflictDescription]
    /// Changes of this record that others can't see yet.
    public var pendingChanges: Int

    /// As `--json` prints it.
    public var json: JSONObject {
        var object = entry.json
        object["contentHash"] = contentHash.map { .string($0.description) } ?? .null
        object["ratings"] = .array(
            ratings.map { .object(["account": .string($0.account), "value": .integer(Int64($0.value))]) })
        object["custom"] = .object(
            JSONObject(
                entry.details.custom.sorted { $0.key < $1.key }.map { key, text in
                    JSONObject.Member(key, (try? JSONText.parse(text)) ?? .string(text))
                }))
        object["audience"] = .array(
            audience.map {
                .object(["account": .string($0.account), "permission": .string($0.permission.rawValue)])
            })
        object["conflicts"] = .array(conflicts.map { .object($0.json) })
        object["pendingChanges"] = .integer(Int64(pendingChanges))
        return object
    }
}

/// One value of a field that another one won over although neither knew of the other.
public struct ConflictDescription: Sendable {
    /// Where the record is shown; nil for nowhere.
    public var path: String?
    /// The name of the tag that it is about, in which `tag rename` decides; nil for what has a path.
    public var tag: String?
    /// The share that the tag is in; nil for the library, and for what has a path.
    public var share: String?
    /// Where the copy is shown that holds the other content; nil if there is none, as somebody deleted it.
    public var copyPath: String?
    /// The record.
    public var id: RecordID
    /// The field.
    public var field: String
    /// The value that shows.
    public var shown: String
    /// Who wrote it.
    public var shownAuthor: String
    /// When, milliseconds since 1970, by its author's clock; 0 if nothing shows.
    public var shownTimeMilliseconds: UInt64
    /// The value that does not.
    public var other: String
    /// Its number among the values of the field that do not show, from 1.
    public var number: Int
    /// Who wrote the other value.
    public var author: String
    /// When, milliseconds since 1970, by the author's clock.
    public var timeMilliseconds: UInt64
    /// What stays the same of the value that shows, as long as nobody decides: 8 hexadecimal digits.
    public var shownID: String
    /// The same of the other one.
    public var otherID: String
    /// What is known of the record.
    var seen: VersionVector

    /// As `--json` prints it.
    public var json: JSONObject {
        [
            "path": path.map(JSONValue.string) ?? .null, "tag": tag.map(JSONValue.string) ?? .null,
            "share": share.map(JSONValue.string) ?? .null, "copy": copyPath.map(JSONValue.string) ?? .null,
            "record": .string(id.name.description),
            "zone": .string(id.zone.description), "field": .string(field), "shown": .string(shown),
            "shownAuthor": .string(shownAuthor), "shownTime": StatusText.json(time: shownTimeMilliseconds),
            "other": .string(other), "number": .integer(Int64(number)), "author": .string(author),
            "time": StatusText.json(time: timeMilliseconds), "shownID": .string(shownID), "otherID": .string(otherID),
        ]
    }
}

extension TreeListing {
    /// Everything about one file or folder.
    ///
    /// - Throws: `RequestError` with `ExitCode.notFound` if nothing is known of the path.
    public func description(of reference: PathReference) throws -> RecordDescription {
        guard let entry = try entries(at: reference).first, entry.reference == reference else {
            throw RequestError(
                ExitCode.notFound, "That is a watched folder itself, not something in it.",
                "Name a file or folder in it.")
        }
        return try engine.store.read { db in
            let zone = engine.zones[entry.id.zone]
            var audience: [(account: String, permission: Permission)] = []
            if let control = zone?.control {
                audience.append((engine.name(of: control.owner, in: control), .readWrite))
                for account in control.readers.subtracting([control.owner]).sorted() {
                    audience.append((engine.name(of: account, in: control), control.permission(of: account)))
                }
                if control.admitsEverybody {
                    audience.append(("everyone with the link", control.publicPermission))
                }
            }
            return RecordDescription(
                entry: entry, contentHash: try db.base(entry.id)?.contentHash,
                ratings: entry.details.ratings.sorted { $0.key < $1.key }.map { account, value in
                    (zone.map { engine.name(of: account, in: $0.control) } ?? account.fingerprint, value)
                }, audience: audience, conflicts: try engine.conflicts(of: entry.id, path: entry.path, db),
                pendingChanges: try Int.fetchOne(
                    db, sql: "SELECT count(*) FROM change WHERE zone = ? AND record = ? AND state = 0",
                    arguments: [entry.id.zone.data, entry.id.name.data]) ?? 0)
        }
    }

    /// Remembers that these were printed, all that are undecided, or all of one record: numbers that are given later are of
    /// this list.
    public func noteListed(_ conflicts: [ConflictDescription], of id: RecordID? = nil) throws {
        try engine.noteListed(conflicts, of: id)
    }

    /// Every value that lost to another one although neither knew of the other, and on which somebody can decide: of photos and
    /// folders that show, and names of tags. Of what is left, or has ended, nobody can.
    public func conflicts() throws -> [ConflictDescription] {
        try engine.store.read { db in
            try db.conflictedRecords().flatMap { row -> [ConflictDescription] in
                guard engine.zones[row.id.zone]?.row.state == .active else { return [] }
                if row.type == .tag { return try engine.titleConflicts(of: row.id, db) }
                guard row.type.hasPlace, let path = try engine.shownPath(of: row.id, db) else { return [] }
                return try engine.conflicts(of: row.id, path: path, db)
            }.sorted {
                ($0.path ?? "", $0.tag ?? "", $0.field, $0.number) < ($1.path ?? "", $1.tag ?? "", $1.field, $1.number)
            }
        }
    }
}

extension Control {
    /// Whether whoever has the link may accept without being invited: a sealed share gives them no key.
    var admitsEverybody: Bool { !isSealed && publicPermission > .none }
}

extension Engine {
    /// An account as a person knows it.
    func name(of account: AccountID, in control: Control) -> String {
        if account == self.account { return settings.label }
        if account == control.owner { return control.ownerLabel }
        // Of what came from another zone, its people may have written.
        return control.participants[account]?.label ?? label(of: account)
    }

    /// Where something is shown, as people know it.
    fileprivate func shownPath(of id: RecordID, _ db: Database) throws -> String? {
        let root = zones[id.zone]?.row.root ?? .library
        return try db.basePath(of: id, top: [top(root)]).map { display($0, root) }
    }

    /// The names that were given to a tag at once.
    fileprivate func titleConflicts(of id: RecordID, _ db: Database) throws -> [ConflictDescription] {
        try conflicts(of: id, path: nil, db).filter { $0.field == FieldKey.title.rawValue }.map { conflict in
            var conflict = conflict
            conflict.tag = conflict.shown
            conflict.share = isShare(id.zone) ? zones[id.zone]?.control.title : nil
            return conflict
        }
    }

    fileprivate func conflicts(of id: RecordID, path: String?, _ db: Database) throws -> [ConflictDescription] {
        guard let state = try db.state(of: id) else { return [] }
        let control = zones[id.zone]?.control
        func person(_ account: AccountID) -> String {
            control.map { name(of: account, in: $0) } ?? account.fingerprint
        }
        return try state.fields.sorted { $0.key < $1.key }.flatMap { key, field in
            try field.losers.enumerated().map { index, loser in
                let copy = try loser.value.asset.map { asset in
                    let name = Derivation.conflictCopy(of: id.name, contentHash: asset.contentHash)
                    return try shownPath(of: RecordID(zone: id.zone, name: name), db)
                }
                return ConflictDescription(
                    path: path, copyPath: copy ?? nil, id: id, field: key.rawValue,
                    shown: field.winner?.value.displayText ?? "",
                    shownAuthor: field.winner.map { person($0.author) } ?? "",
                    shownTimeMilliseconds: field.winner?.timestamp.wallMilliseconds ?? 0,
                    other: loser.value.displayText, number: index + 1, author: person(loser.author),
                    timeMilliseconds: loser.timestamp.wallMilliseconds,
                    shownID: field.winner.map { Derivation.valueID(of: $0.dot) } ?? "",
                    otherID: Derivation.valueID(of: loser.dot), seen: state.vector)
            }
        }
    }
}

extension Value {
    /// The value as a person reads it; bytes and contents by their size and hash.
    var displayText: String {
        switch self {
        case .null: ""
        case .boolean(let flag): flag ? "yes" : "no"
        case .integer(let number): String(number)
        case .number(let number): "\(number)"
        case .text(let text): text
        case .bytes(let bytes): "\(bytes.count) bytes"
        case .name(let name): name.description
        case .reference(let name): name.description
        case .asset(let asset): "\(asset.size) bytes, SHA-256 \(asset.contentHash)"
        case .list(let values): values.map(\.displayText).joined(separator: ", ")
        }
    }
}
