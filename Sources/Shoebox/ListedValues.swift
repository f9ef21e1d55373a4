import Foundation
import ShoeboxModel
import ShoeboxPlanning
import ShoeboxStore
import ShoeboxWorld

import class GRDB.Database

/// What a command has printed on this device of values between which a person may choose. A number that they give later
/// means the value that had it then, whatever has arrived since; and what they were not shown, they do not decide on.
struct ListedValues: Codable {
    /// The values in the order of the list, by what is the same of each as long as it is there.
    var values: [String]
    /// What was known of the record, as the database writes vectors.
    private var vector: Data
    /// When it was printed, milliseconds since 1970: of many lists the oldest are forgotten.
    var timeMilliseconds: UInt64

    init(_ values: [String], seen: VersionVector, timeMilliseconds: UInt64) {
        (self.values, vector, self.timeMilliseconds) = (values, ColumnCoder.data(seen), timeMilliseconds)
    }

    /// What was known of the record when the list was printed.
    var seen: VersionVector { ColumnCoder.vector(Array(vector)) }

    /// In which list: of a record's versions, or of the undecided values of a field.
    enum Place: Hashable {
        case versions(RecordID)
        case conflict(RecordID, FieldKey)

        /// The key in the database.
        fileprivate var key: String {
            switch self {
            case .versions(let id): "\(Self.versionsPrefix)\(id.zone).\(id.name)"
            case .conflict(let id, let field): "\(Self.conflictPrefix(of: id))\(field.rawValue)"
            }
        }

        fileprivate static let versionsPrefix = "listed.versions."
        fileprivate static let conflictsPrefix = "listed.conflict."
        fileprivate static func conflictPrefix(of id: RecordID) -> String { "\(conflictsPrefix)\(id.zone).\(id.name)." }
    }
}

extension Engine {
    /// How many photos' lists of versions are remembered.
    private static let listedVersionsMax = 64

    /// What was printed last in some place; nil if nothing was.
    func listed(_ place: ListedValues.Place, _ db: Database) throws -> ListedValues? {
        guard let text = try db.metaText(place.key) else { return nil }
        return try JSONDecoder().decode(ListedValues.self, from: Data(text.utf8))
    }

    /// Remembers what is printed of the undecided values of one record, or of all for nil, in place of what was before.
    func noteListed(_ conflicts: [ConflictDescription], of id: RecordID?) throws {
        let groups = Dictionary(grouping: conflicts) {
            ListedValues.Place.conflict($0.id, FieldKey(rawValue: $0.field))
        }
        let now = world.nowMilliseconds()
        try store.write { db in
            let prefix = id.map(ListedValues.Place.conflictPrefix) ?? ListedValues.Place.conflictsPrefix
            for (key, _) in try db.metaTexts(prefix: prefix) { try db.setMeta(key, nil) }
            for (place, group) in groups {
                guard let first = group.first else { continue }
                let others = group.sorted { $0.number < $1.number }.map(\.otherID)
                try note(
                    ListedValues([first.shownID] + others, seen: first.seen, timeMilliseconds: now), place, db)
            }
        }
    }

    /// Remembers what is printed of the versions of a record.
    func noteListed(_ versions: [VersionEntry], of id: RecordID, seen: VersionVector) throws {
        let now = world.nowMilliseconds()
        try store.write { db in
            let hashes = versions.map(\.contentHash.description)
            try note(ListedValues(hashes, seen: seen, timeMilliseconds: now), .versions(id), db)
            let all = try db.metaTexts(prefix: ListedValues.Place.versionsPrefix)
            guard all.count > Self.listedVersionsMax else { return }
            let dated = try all.map {
                ($0.key, try JSONDecoder().decode(ListedValues.self, from: Data($0.text.utf8)).timeMilliseconds)
            }.sorted { ($0.1, $0.0) < ($1.1, $1.0) }
            for (key, _) in dated.prefix(all.count - Self.listedVersionsMax) { try db.setMeta(key, nil) }
        }
    }

    private func note(_ values: ListedValues, _ place: ListedValues.Place, _ db: Database) throws {
        try db.setMeta(place.key, try JSONEncoder().encode(values))
    }

    /// What a choice covers: what its list was made of, and what was written on this device since; all that is known for
    /// no list.
    func decided(_ listed: ListedValues?, of state: RecordState) -> VersionVector {
        guard let listed else { return state.vector }
        return listed.seen.union([replica: state.vector[replica]])
    }
}
