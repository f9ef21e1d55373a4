import ShoeboxModel
import ShoeboxStore

// Tags, ratings and remarks go with their photo.

extension MoveFollower {
    mutating func forwardCompanions(
        of photo: RecordName, from zone: ZoneID, to home: ZoneID, by way: Set<ZoneID>
    ) throws {
        for row in try db.allCompanions(of: RecordID(zone: zone, name: photo)) {
            guard let state = try db.state(of: row.id), !state.isDeleted else { continue }
            // What went along to where the owner can't look, and the photo did not come from, is said here, too.
            let isElsewhere = state.openMoves.allSatisfy { move in
                move.destination.map { !way.contains($0) && !isMine($0) } == true
            }
            guard state.isLive || isElsewhere else { continue }
            let old = try db.changes(of: row.id.name, in: zone)
            // What was only kept there for those who stayed has gone along already, and nobody says it anew.
            let meant = RecordState(old.filter { !$0.isDerived || $0.action != .set([:]) })
            let wasKept = meant.map { meant in
                !meant.isLive && meant.openMoves.contains { $0.destination.map(way.contains) == true }
            }
            guard wasKept != true else { continue }
            if row.type == .photoTag {
                try forwardMembership(state, of: photo, from: zone, to: home)
            } else {
                try forward(old, to: RecordID(zone: home, name: row.id.name))
            }
            try writer.write(
                row.id, type: row.type, .moved(to: home),
                context: try db.state(of: row.id)?.vector ?? state.vector, isDerived: true)
        }
    }

    /// A tag of the old zone is another record in the home, found by its title.
    private mutating func forwardMembership(
        _ state: RecordState, of photo: RecordName, from zone: ZoneID, to home: ZoneID
    ) throws {
        guard let tag = state[.tag]?.reference, let title = try engine.tagTitles(in: zone, db)[tag] else { return }
        try engine.setTag(
            title, on: RecordID(zone: home, name: photo), isMember: state[.member]?.boolean != false, writer: &writer)
    }

    /// Keeps what is said of a photo where an edit keeps it, that whoever took it elsewhere had not seen: to where its owner can't
    /// look, which is no concern of those who stay.
    mutating func keepCompanions(of photo: RecordID) throws {
        guard isMine(photo.zone), isWritable(photo.zone), let state = try db.state(of: photo), state.isLive else {
            return
        }
        let away = try Set(state.departures.compactMap(\.destination).filter { try isOutOfSight($0, of: photo.name) })
        guard !away.isEmpty else { return }
        for row in try db.allCompanions(of: photo) where !row.isLive {
            guard let companion = try db.state(of: row.id), companion.movedTo != nil,
                companion.openMoves.allSatisfy({ $0.destination.map(away.contains) == true })
            else { continue }
            try writer.write(row.id, type: row.type, .set([:]), context: companion.vector, isDerived: true)
        }
    }

    /// Whether the owner has no part in a zone: not one that another device of the account made, or has joined.
    private func isOutOfSight(_ zone: ZoneID, of photo: RecordName) throws -> Bool {
        if let known = engine.zones[zone]?.row { return !known.isMine && [.left, .ended].contains(known.state) }
        return try !engine.isPlaced(zone, db) && !engine.isOwnMove(of: photo, to: zone, db)
    }
}
