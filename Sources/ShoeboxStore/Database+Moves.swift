public import GRDB
public import ShoeboxModel

extension Database {
    /// Keeps which zones a change says that its record lives, or lived, in.
    func noteMove(_ change: Change, in zone: ZoneID) throws {
        var others: [ZoneID] = []
        if case .moved(let destination) = change.action { others.append(destination) }
        if let origin = change.movedFrom { others.append(origin) }
        for other in others where other != zone {
            for one in [zone, other] {
                try cachedStatement(sql: "INSERT OR IGNORE INTO zoneMove VALUES (?, ?)")
                    .execute(arguments: [change.record.data, one.data])
            }
        }
    }

    /// The zones that a record was ever said to move from or to, in order; empty for one that never moved.
    public func zonesOfMoves(of record: RecordName) throws -> [ZoneID] {
        try Row.fetchAll(
            cachedStatement(sql: "SELECT zone FROM zoneMove WHERE record = ? ORDER BY zone"), arguments: [record.data]
        ).map { try $0.zoneID("zone") }
    }

    /// Joins, ratings and comments of a photo, those that show nothing too.
    public func allCompanions(of id: RecordID) throws -> [RecordRow] {
        try Row.fetchAll(
            cachedStatement(
                sql: """
                    SELECT * FROM record INDEXED BY recordByPhoto
                    WHERE zone = ? AND photo = ? AND type IN ('PhotoTag', 'Rating', 'Comment')
                    ORDER BY record
                    """), arguments: [id.zone.data, id.name.data]
        ).map(RecordRow.init)
    }

    /// The live files and folders that say they are in a folder (nil: the zone's root).
    public func placedChildren(in zone: ZoneID, parent: RecordName?) throws -> [RecordRow] {
        try Row.fetchAll(
            cachedStatement(
                sql: """
                    SELECT * FROM record INDEXED BY recordByParent WHERE zone = ? AND parent IS ? AND live = 1
                        AND type IN ('Photo', 'File', 'Folder') ORDER BY record
                    """), arguments: [zone.data, parent?.data]
        ).map(RecordRow.init)
    }

    /// Says that what the folder showed of one record is another's from now on; `parent` is the folder it is shown in, nil
    /// for the same as before. What is shown in a folder is in the new one. An entry of the new record's stays.
    public func rekeyBase(
        _ old: RecordID, to new: RecordID, parent: RecordID? = nil, vector: VersionVector? = nil,
        isReparked: Bool = false
    ) throws {
        // What is parked lies under a name made from its record until it is put where it belongs.
        guard old != new, var row = try base(old), !row.isParked || isReparked, try base(new) == nil else { return }
        let departure = try departure(of: old)
        try removeDeparture(of: old)
        try removeBase(old)
        row.id = new
        if let parent { row.parent = parent }
        if let vector { row.vector = vector }
        try setBase(row)
        try cachedStatement(
            sql: "UPDATE OR REPLACE base SET parentZone = ?, parent = ? WHERE parentZone = ? AND parent = ?"
        ).execute(arguments: [new.zone.data, new.name.data, old.zone.data, old.name.data])
        try moveSidecar(from: old, to: new)
        if var departure {
            departure.id = new
            try setDeparture(departure)
        }
        try rekeyDeparture(to: old, as: new)
    }
}
