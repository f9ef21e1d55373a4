import ShoeboxModel
import ShoeboxPlanning
import ShoeboxStore

// What was taken into a share, and does not go there after all: its user, who did not know of that, put it elsewhere.

extension MoveFollower {
    /// The folder of the private zone that a record was moved to, out of a shared folder, by somebody who did not know
    /// that it was shared; nil if that is not what happened. Of what is known in its home whoever moved it there knew,
    /// though the mark that says so may not be seen yet: the new zone is published before the old one.
    func movedOut(
        _ state: RecordState, from zone: ZoneID, to home: ZoneID, arrived: Set<Dot>
    ) throws -> RecordID? {
        guard zone == engine.privateZone, state.isLive, let winner = state.fields[.parent]?.winner, !winner.isDerived,
            placements.records[RecordID(zone: home, name: state.name)] == nil,
            engine.zones[home]?.row.kind == .share, !isCovered(winner.dot, state), !arrived.contains(winner.dot)
        else { return nil }
        guard let name = winner.value.reference else {
            return RecordID(zone: zone, name: .zoneRoot)
        }
        let folder = RecordID(zone: zone, name: name)
        guard let row = try db.record(folder), row.type == .folder, row.isLive else { return nil }
        return folder
    }

    /// The folder of the private zone that a record lay in, which had been taken into a share, and the record along with it, and is
    /// back: what was said of the record meanwhile is not told in the share first. Nil if that is not what happened.
    func backWithFolder(
        _ state: RecordState, from zone: ZoneID, to home: ZoneID
    ) throws -> RecordID? {
        let there = RecordID(zone: home, name: state.name)
        guard zone == engine.privateZone, state.isLive, engine.isShare(home), placements.records[there] == nil,
            let row = try db.record(there), row.isLive, row.nameAuthor == engine.account, let parent = row.parent,
            state[.parent]?.reference == parent, try !engine.isOthersAgain(there, db)
        else { return nil }
        let left = RecordID(zone: home, name: parent)
        guard let folder = try db.state(of: left), folder.type == .folder, folder.movedTo == zone,
            try isTold(folder, of: left, movedTo: zone)
        else { return nil }
        let here = RecordID(zone: zone, name: parent)
        return try db.record(here)?.isLive == true ? here : nil
    }
}
