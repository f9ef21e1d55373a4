import ShoeboxCloud
import ShoeboxModel
import ShoeboxPlanning
import ShoeboxStore
import ShoeboxWorld

import class GRDB.Database

extension Engine {
    /// Makes one share of several that devices of this account made of one folder without knowing of each other: the one
    /// with the smallest zone id stays, with everything and everybody of the others, and those are stopped.
    ///
    /// Every device does it that sees them; each step can be repeated.
    func uniteTwinShares() throws {
        for (first, others) in try twinShares() {
            for other in others {
                // One of them may have been stopped for the other, by a device of which this one has yet to hear.
                let concerned = [privateZone, first, other].compactMap { $0 }
                do { for zone in concerned { try fetchAnew(zone) } } catch let error as CloudError
                    where error.concernsOneZone
                {
                    log("twins are united later: \(error.message)")
                    continue
                }
                guard try !concerned.contains(where: isBehind) else { continue }
                guard try twinShares().contains(where: { $0.0 == first && $0.1.contains(other) }),
                    let one = zones[first], let two = zones[other]
                else { continue }
                try takeOverParticipants(of: two, into: one)
                try takeOverContent(of: two, into: one)
                try sendContinuations(of: two, in: first)
                guard let present = zones[other] else { continue }
                try stop(present)
                log("'\(two.control.title)' was shared by two devices at once: it is one share now")
            }
        }
    }

    /// Own shares of one folder: the one that stays, and the others.
    private func twinShares() throws -> [(ZoneID, [ZoneID])] {
        let shares = zones.values.filter {
            $0.row.isMine && $0.row.kind == .share && $0.row.state == .active && !$0.control.isStopped
        }
        guard shares.count > 1 else { return [] }
        return try store.read { db in
            let placements = try placements(db)
            var groups: [RecordName: [ZoneID]] = [:]
            for zone in shares {
                guard let placement = placements.zones[zone.id], placement.isLocated,
                    let folder = try db.state(of: placement.id)?[.photo]?.reference
                else { continue }
                groups[folder, default: []].append(zone.id)
            }
            return groups.values.filter { $0.count > 1 }.map { group in
                let sorted = group.sorted()
                return (sorted[0], Array(sorted.dropFirst()))
            }.sorted { $0.0 < $1.0 }
        }
    }

    /// Invites whoever takes part in one share to another; who is in both keeps what they may do there.
    private func takeOverParticipants(of other: ZoneInfo, into zone: ZoneInfo) throws {
        let missing = other.control.participants.values.filter { participant in
            participant.status != .removed && participant.permission != .none && participant.role != .owner
                && zone.control.participants[participant.account] == nil
        }
        guard !missing.isEmpty else { return }
        var positions: [AccountID: [ReplicaID: Position]] = [:]
        for participant in missing { positions[participant.account] = try heads(of: participant.account, in: zone.id) }
        try changeControl(of: zone) { control in
            for participant in missing where control.participants[participant.account] == nil {
                var fresh = Participant(
                    account: participant.account, label: participant.label, permission: .none, status: .removed,
                    generation: 0)
                fresh.inviteAgain(participant.permission, after: positions[participant.account] ?? [:])
                control.participants[participant.account] = fresh
            }
        }
    }

    /// Moves what is only in one share to another.
    func takeOverContent(of other: ZoneInfo, into zone: ZoneInfo) throws {
        let rows: [RecordRow] = try store.read { db in
            try db.folders(in: other.id).filter(\.isLive) + db.files(in: other.id)
        }
        guard !rows.isEmpty else { return }
        _ = try followMoves(rows)
        try store.write { db in
            var writer = try HistoryWriter(db, engine: self, author: "move")
            let going = Set(rows.map(\.id.name))
            for row in rows where try db.record(row.id)?.isLive == true {
                // What lies in a folder that does not go along, as it was deleted where it went before, lies at the top.
                let hasFolder = try row.parent.map {
                    try going.contains($0) || db.record(RecordID(zone: zone.id, name: $0))?.isLive == true
                }
                let parent = hasFolder == false ? RecordID(zone: zone.id, name: .zoneRoot) : nil
                try moveRecord(row.id, to: zone.id, parent: parent, name: nil, shown: [:], writer: &writer)
            }
            try writer.finish()
        }
    }

    /// The share that stays of those that were made of one folder at once, for one that was stopped because of that: the
    /// folder went to both. Nil for any other.
    func unitedWith(_ zone: ZoneID, _ db: Database) throws -> ZoneID? {
        let placements = try placements(db)
        guard let own = try placement(of: zone, placements, db),
            let shared = try db.state(of: own.id)?[.photo]?.reference
        else { return nil }
        for (other, placement) in placements.zones.sorted(by: { $0.key < $1.key }) {
            guard other != zone, let info = zones[other], info.row.isMine, info.row.state == .active,
                !info.control.isStopped, placement.isLocated,
                let folder = try db.state(of: placement.id)?[.photo]?.reference, folder == shared,
                let state = try db.state(of: RecordID(zone: placement.id.zone, name: folder)),
                state.marks.contains(where: { $0.destination == zone })
            else { continue }
            return other
        }
        return nil
    }
}
