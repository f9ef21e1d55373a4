import Foundation
public import GRDB
public import ShoeboxModel
import ShoeboxPlanning

/// One record's row: what of its merged state the engine looks things up by.
public struct RecordRow: Sendable {
    /// The record.
    public var id: RecordID
    /// Its kind.
    public var type: RecordType
    /// Whether it shows.
    public var isLive: Bool
    /// The folder it says it is in; nil for the zone's root.
    public var parent: RecordName?
    /// When the parent was written.
    public var parentStamp: HybridTimestamp?
    /// Its file name.
    public var name: FileName?
    /// When the name was written.
    public var nameStamp: HybridTimestamp?
    /// Who wrote the name.
    public var nameAuthor: AccountID?
    /// SHA-256 of the content.
    public var contentHash: Digest32?
    /// Bytes of the content.
    public var size: UInt64
    /// Whether the content is available in the container.
    public var isLocated: Bool
    /// The photo of a join, rating or comment; the record that a placement places.
    public var subject: RecordName?

    init(_ row: Row) throws {
        id = RecordID(zone: try row.zoneID("zone"), name: try row.recordName("record"))
        type = RecordType(rawValue: row["type"])
        isLive = row["live"]
        parent = RecordName(bytes: row.bytes("parent"))
        parentStamp = ColumnCoder.timestamp(row.bytes("parentStamp"))
        name = FileName(bytes: row.bytes("name"))
        nameStamp = ColumnCoder.timestamp(row.bytes("nameStamp"))
        nameAuthor = row.digest("nameAuthor").map(AccountID.init)
        contentHash = row.digest("hash")
        size = UInt64(bitPattern: (row["size"] as Int64?) ?? 0)
        isLocated = row["located"]
        subject = RecordName(bytes: row.bytes("photo"))
    }
}

extension FieldKey {
    /// `Value.boolean` on the folder that is the root of a shared zone: what lies in it shows at the zone's root.
    public static let root = FieldKey(rawValue: "root")
    /// `Value.bytes`: the zone that a Placement places.
    public static let targetZone = FieldKey(rawValue: "targetZone")
    /// `Value.reference`: the record that a Placement places; absent where it places the zone itself.
    public static let targetRecord = FieldKey(rawValue: "targetRecord")
}

/// Where a batch of dirty records ended.
public struct DirtyPosition: Sendable {
    /// The zone.
    public var zone: ZoneID
    /// The last record's parent as its column holds it; empty for none.
    var parent: Data
    /// The last record.
    public var record: RecordName

    /// Behind a record.
    public init(_ row: RecordRow) {
        zone = row.id.zone
        parent = row.parent?.data ?? Data()
        record = row.id.name
    }
}

extension Database {
    /// Writes a record's row from its changes, and marks what shows it differently now: the record itself, and for a
    /// join, rating, comment or placement the record it speaks of.
    func refresh(_ record: RecordName, in zone: ZoneID, after change: Change?) throws {
        let existing = try Row.fetchOne(
            cachedStatement(sql: "SELECT type, photo FROM record WHERE zone = ? AND record = ?"),
            arguments: [zone.data, record.data])
        let state: RecordState?
        if let change, existing == nil, change.context.isEmpty {
            state = RecordState([change])
        } else {
            state = RecordState(try changes(of: record, in: zone))
        }
        guard let state else {
            try cachedStatement(sql: "UPDATE record SET live = 0, dirty = 1 WHERE zone = ? AND record = ?").execute(
                arguments: [zone.data, record.data])
            // Nothing of it counts any more, so that only the row can tell what it spoke of.
            switch existing.flatMap({ RecordType(rawValue: $0["type"] as String) }) {
            case .photoTag, .rating, .comment:
                if let photo = existing.flatMap({ RecordName(bytes: $0.bytes("photo")) }) {
                    try markDirty(RecordID(zone: zone, name: photo))
                }
            case .tag: try markPhotosDirty(ofTag: RecordID(zone: zone, name: record))
            case .placement: try markLayoutDirty()
            default: break
            }
            return
        }
        try write(state, zone: zone)
        switch state.type {
        case .photoTag, .rating, .comment:
            if let photo = state[.photo]?.reference { try markDirty(RecordID(zone: zone, name: photo)) }
        case .tag:
            try markPhotosDirty(ofTag: RecordID(zone: zone, name: record))
        case .placement:
            if case .bytes(let bytes) = state[.targetZone], let target = Digest32(bytes: bytes) {
                if let name = state[.targetRecord]?.reference {
                    try markDirty(RecordID(zone: ZoneID(target), name: name))
                }
                try markLayoutDirty()
            }
        default: break
        }
    }

    private func write(_ state: RecordState, zone: ZoneID) throws {
        let parent = state.fields[.parent]?.winner
        let name = state.fields[.name]?.winner
        // A join's tag stands in the parent column, a placement's target in the photo column: one row shape, one index.
        let parentName: RecordName? =
            state.type == .photoTag ? state[.tag]?.reference : parent?.value.reference
        let subject: RecordName? =
            state.type == .placement ? state[.targetRecord]?.reference : state[.photo]?.reference
        let hash: Data? =
            if state.type == .placement, case .bytes(let bytes) = state[.targetZone] { Data(bytes) } else {
                state.content?.contentHash.data
            }
        try cachedStatement(
            sql: """
                INSERT INTO record (zone, record, type, live, dirty, parent, parentStamp, name, nameStamp, nameAuthor,
                    hash, size, located, photo, conflicts)
                VALUES (?, ?, ?, ?, 1, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
                ON CONFLICT (zone, record) DO UPDATE SET type = excluded.type, live = excluded.live, dirty = 1,
                    parent = excluded.parent, parentStamp = excluded.parentStamp, name = excluded.name,
                    nameStamp = excluded.nameStamp, nameAuthor = excluded.nameAuthor, hash = excluded.hash,
                    size = excluded.size, located = excluded.located, photo = excluded.photo,
                    conflicts = excluded.conflicts
                """
        ).execute(arguments: [
            zone.data, state.name.data, state.type.rawValue, isShown(state), parentName?.data,
            parent.map { ColumnCoder.data($0.timestamp) }, name?.value.fileName?.data,
            name.map { ColumnCoder.data($0.timestamp) }, name?.author.data, hash,
            state.content.map { Int64(bitPattern: $0.size) },
            state.type == .placement ? state[.root]?.boolean == true : state.content?.location != nil, subject?.data,
            state.fields.values.reduce(0) { $0 + $1.losers.count },
        ])
        if state.type == .folder, state[.root]?.boolean == true {
            try cachedStatement(sql: "UPDATE zone SET rootRecord = min(coalesce(rootRecord, ?2), ?2) WHERE id = ?1")
                .execute(arguments: [zone.data, state.name.data])
        }
    }

    /// A membership or rating that was taken back is live as a record, and shows nothing. Nor does a file whose bytes count
    /// for nobody, and of which only a name does that somebody else gave it: who has its bytes would show it, and nobody
    /// else could.
    private func isShown(_ state: RecordState) -> Bool {
        guard state.isLive else { return false }
        if state.type.hasContent { return state.content != nil }
        return state.type != .photoTag || state[.member]?.boolean != false
    }

    /// Marks a record as one that the folder may show wrongly.
    public func markDirty(_ id: RecordID) throws {
        try cachedStatement(sql: "UPDATE record SET dirty = 1 WHERE zone = ? AND record = ?")
            .execute(arguments: [id.zone.data, id.name.data])
    }

    /// Whether no other live record of the zone has the same parent and name.
    public func isAlone(_ id: RecordID, parent: RecordName?, name: FileName) throws -> Bool {
        try Bool.fetchOne(
            cachedStatement(
                sql: """
                    SELECT NOT EXISTS (SELECT 1 FROM record INDEXED BY recordByParent WHERE zone = ? AND parent IS ? AND name = ? AND live = 1
                        AND record <> ?)
                    """), arguments: [id.zone.data, parent?.data, name.data, id.name.data]) ?? false
    }

    /// Marks every record with a place in a zone.
    public func markAllDirty(in zone: ZoneID) throws {
        try cachedStatement(sql: "UPDATE record SET dirty = 1 WHERE zone = ?").execute(arguments: [zone.data])
    }

    /// Says that folders themselves may show wrongly, in both watched folders, whatever records are dirty.
    public func markLayoutDirty() throws {
        try setMetaNumber("layoutGeneration", (metaNumber("layoutGeneration") ?? 0) + 1)
    }

    /// The number of the latest `markLayoutDirty`; nil if this watched folder has shown what came of it.
    public func dirtyLayout(root: RootKind) throws -> Int64? {
        let newest = try metaNumber("layoutGeneration") ?? 0
        return try newest > metaNumber("layoutShown.\(root.rawValue)") ?? 0 ? newest : nil
    }

    /// Says that a watched folder shows its folders as they were to be at a number.
    public func clearDirtyLayout(root: RootKind, upTo generation: Int64) throws {
        try setMetaNumber("layoutShown.\(root.rawValue)", generation)
    }

    /// Says that the folder shows these records as they are.
    public func clearDirty(_ ids: some Sequence<RecordID>) throws {
        let statement = try cachedStatement(sql: "UPDATE record SET dirty = 0 WHERE zone = ? AND record = ?")
        for id in ids { try statement.execute(arguments: [id.zone.data, id.name.data]) }
    }

    /// Dirty records of some zones, behind a position, at most so many: zone by zone in the given order, and what is in
    /// one folder together.
    public func dirtyRecords(in zones: [ZoneID], after position: DirtyPosition?, limit: Int) throws -> [RecordRow] {
        var result: [RecordRow] = []
        // A zone that is gone meanwhile has nothing that would come behind it: begin anew.
        let start = position.flatMap { position in zones.firstIndex(of: position.zone) }
        for zone in zones[(start ?? 0)...] where result.count < limit {
            let from = start != nil && zone == position?.zone ? position : nil
            result += try Row.fetchAll(
                cachedStatement(
                    sql: """
                        SELECT * FROM record INDEXED BY recordDirty
                        WHERE dirty = 1 AND zone = ? AND (coalesce(parent, x''), record) > (?, ?)
                        ORDER BY coalesce(parent, x''), record LIMIT ?
                        """),
                arguments: [zone.data, from?.parent ?? Data(), from?.record.data ?? Data(), limit - result.count]
            ).map(RecordRow.init)
        }
        return result
    }

    /// Marks the live files in a folder (nil: the zone's root).
    public func markFilesDirty(in zone: ZoneID, parent: RecordName?) throws {
        try cachedStatement(
            sql: """
                UPDATE record INDEXED BY recordByParent SET dirty = 1
                WHERE zone = ? AND parent IS ? AND live = 1 AND dirty = 0 AND type IN ('Photo', 'File')
                """
        ).execute(arguments: [zone.data, parent?.data])
    }

    /// How many records the folders may show wrongly.
    public func dirtyCount(in zone: ZoneID? = nil) throws -> Int {
        try Int.fetchOne(
            cachedStatement(
                sql: """
                    SELECT count(*) FROM record INDEXED BY recordDirty WHERE dirty = 1 AND (? IS NULL OR zone = ?)
                        AND zone IN (SELECT id FROM zone WHERE state = 'active')
                    """), arguments: [zone?.data, zone?.data]) ?? 0
    }

    /// A record's row.
    public func record(_ id: RecordID) throws -> RecordRow? {
        try Row.fetchOne(
            cachedStatement(sql: "SELECT * FROM record WHERE zone = ? AND record = ?"),
            arguments: [id.zone.data, id.name.data]
        ).map(RecordRow.init)
    }

    /// All folders of a zone, live or not.
    public func folders(in zone: ZoneID) throws -> [RecordRow] {
        try Row.fetchAll(
            cachedStatement(sql: "SELECT * FROM record INDEXED BY recordByType WHERE zone = ? AND type = 'Folder'"),
            arguments: [zone.data]
        ).map(RecordRow.init)
    }

    /// The live files that say they are in a folder (nil: the zone's root).
    public func files(in zone: ZoneID, parent: RecordName?) throws -> [RecordRow] {
        try Row.fetchAll(
            cachedStatement(
                sql: """
                    SELECT * FROM record INDEXED BY recordByParent WHERE zone = ?1 AND parent IS ?2 AND live = 1 AND type IN ('Photo', 'File')
                    """), arguments: [zone.data, parent?.data]
        ).map(RecordRow.init)
    }

    /// The files of a zone that are no more.
    public func deletedFiles(in zone: ZoneID) throws -> [RecordRow] {
        try Row.fetchAll(
            cachedStatement(sql: "SELECT * FROM record WHERE zone = ? AND live = 0 AND type IN ('Photo', 'File')"),
            arguments: [zone.data]
        ).map(RecordRow.init)
    }

    /// The files that are no more and had a name in a folder.
    public func deletedFiles(named name: FileName, in zone: ZoneID, parent: RecordName?) throws -> [RecordID] {
        try Row.fetchAll(
            cachedStatement(
                sql: """
                    SELECT zone, record FROM record
                    WHERE zone = ?1 AND parent IS ?2 AND name = ?3 AND live = 0 AND type IN ('Photo', 'File')
                    """), arguments: [zone.data, parent?.data, name.data]
        ).map { RecordID(zone: try $0.zoneID("zone"), name: try $0.recordName("record")) }
    }

    /// The live files that are still to be shown, of which the content was not published yet and is in no watched folder.
    public func unpublishedWithoutFile() throws -> [RecordRow] {
        try Row.fetchAll(
            cachedStatement(
                sql: """
                    SELECT * FROM record INDEXED BY recordDirty
                        WHERE dirty = 1 AND live = 1 AND located = 0 AND type IN ('Photo', 'File') AND hash IS NOT NULL
                            AND NOT EXISTS (SELECT 1 FROM base INDEXED BY baseByHash WHERE base.hash = record.hash)
                    """)
        ).map(RecordRow.init)
    }

    /// All live files of a zone.
    public func files(in zone: ZoneID) throws -> [RecordRow] {
        try Row.fetchAll(
            cachedStatement(sql: "SELECT * FROM record WHERE zone = ? AND live = 1 AND type IN ('Photo', 'File')"),
            arguments: [zone.data]
        ).map(RecordRow.init)
    }

    /// Live records of a kind in a zone, or those that were deleted or moved away.
    public func records(of type: RecordType, in zone: ZoneID, isLive: Bool = true) throws -> [RecordRow] {
        try Row.fetchAll(
            cachedStatement(
                sql: "SELECT * FROM record INDEXED BY recordByType WHERE zone = ? AND type = ? AND live = ?"),
            arguments: [zone.data, type.rawValue, isLive]
        ).map(RecordRow.init)
    }

    /// The places of its own that a share had in an account's tree and that were taken away.
    public func formerPlacements(of share: ZoneID, in zone: ZoneID) throws -> [RecordRow] {
        try Row.fetchAll(
            cachedStatement(
                sql: """
                    SELECT * FROM record INDEXED BY recordByType
                        WHERE zone = ? AND type = ? AND live = 0 AND hash = ? AND photo IS NULL
                    """),
            arguments: [zone.data, RecordType.placement.rawValue, share.data]
        ).map(RecordRow.init)
    }

    /// Live joins, ratings and comments of a photo.
    public func companions(of id: RecordID) throws -> [RecordRow] {
        try Row.fetchAll(
            cachedStatement(
                sql: "SELECT * FROM record INDEXED BY recordByPhoto WHERE zone = ? AND photo = ? AND live = 1"),
            arguments: [id.zone.data, id.name.data]
        ).map(RecordRow.init)
    }

    /// The tags that a photo is in, or was in as far as is known.
    public func formerTags(of id: RecordID) throws -> [RecordName] {
        try Row.fetchAll(
            cachedStatement(sql: "SELECT * FROM record WHERE zone = ? AND photo = ? AND type = ?"),
            arguments: [id.zone.data, id.name.data, RecordType.photoTag.rawValue]
        ).map(RecordRow.init).compactMap(\.parent)
    }

    /// Folders that have a live file or folder directly in them, to decide whether a dead folder shows.
    public func hasLiveFiles(in zone: ZoneID, parent: RecordName) throws -> Bool {
        try Bool.fetchOne(
            cachedStatement(
                sql: """
                    SELECT EXISTS (SELECT 1 FROM record INDEXED BY recordByParent WHERE zone = ? AND parent = ? AND live = 1
                        AND type IN ('Photo', 'File'))
                    """), arguments: [zone.data, parent.data]) ?? false
    }

    /// Records with values that nobody has decided between.
    public func conflictedRecords() throws -> [RecordRow] {
        try Row.fetchAll(cachedStatement(sql: "SELECT * FROM record WHERE conflicts > 0 AND live = 1")).map(
            RecordRow.init)
    }
}

extension Database {
    /// Every tag of a zone, deleted ones too.
    public func allTags(in zone: ZoneID) throws -> [RecordName] {
        try Data.fetchAll(
            cachedStatement(sql: "SELECT record FROM record WHERE zone = ? AND type = 'Tag' ORDER BY record"),
            arguments: [zone.data]
        ).compactMap { RecordName(bytes: $0) }
    }
}

extension Database {
    /// The newest token of the history; 0 before the first change.
    public func newestToken() throws -> Int64 {
        try Int64.fetchOne(cachedStatement(sql: "SELECT max(token) FROM change")) ?? 0
    }

    /// The records of a kind that changed after a token, by zone.
    public func changedRecords(of type: RecordType, after token: Int64) throws -> [ZoneID: Set<RecordName>] {
        let rows = try Row.fetchAll(
            cachedStatement(
                sql: """
                    SELECT DISTINCT change.zone, change.record FROM change INDEXED BY changeByToken
                        JOIN record USING (zone, record) WHERE change.token > ? AND record.type = ?
                    """), arguments: [token, type.rawValue])
        var result: [ZoneID: Set<RecordName>] = [:]
        for row in rows { result[try row.zoneID("zone"), default: []].insert(try row.recordName("record")) }
        return result
    }

    /// Every text that any change, one that counts for nothing too, wrote to a field of a record.
    public func textsEverWritten(to key: FieldKey, of id: RecordID) throws -> [String] {
        try Row.fetchAll(
            cachedStatement(sql: "SELECT * FROM change WHERE zone = ? AND record = ?"),
            arguments: [id.zone.data, id.name.data]
        ).compactMap { row in
            guard case .set(let fields) = try StoredChange(row).change.action else { return nil }
            return fields[key]?.text
        }
    }

    /// Marks a tag, and every photo that is or was in it, as one that the folder may show wrongly.
    public func markPhotosDirty(ofTag id: RecordID) throws {
        try markDirty(id)
        try cachedStatement(
            sql: """
                UPDATE record SET dirty = 1 WHERE zone = ?1 AND record IN
                    (SELECT photo FROM record INDEXED BY recordByParent WHERE zone = ?1 AND type = 'PhotoTag' AND parent = ?2)
                """
        ).execute(arguments: [id.zone.data, id.name.data])
    }

    /// The photos of a zone that show as another one, by the base tree, with that other one.
    public func twinRepresentatives(in zone: ZoneID) throws -> [RecordName: RecordName] {
        var result: [RecordName: RecordName] = [:]
        for row in try base(in: zone) {
            for twin in row.twins where twin.zone == zone { result[twin.name] = row.id.name }
        }
        return result
    }
}
