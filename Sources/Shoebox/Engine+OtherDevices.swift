import ShoeboxCloud
import ShoeboxModel
import ShoeboxStore
import ShoeboxWorld

// The devices of an account take part in the same shares. What one accepts it places in the private zone, what it leaves it
// takes out there; the others follow that, whatever the owner of the share has heard of it.

extension Engine {
    /// Takes up shares that another device of this account accepted or made, and leaves those that it left.
    func joinFromPlacements() throws {
        let shown: Placements = try store.read { db in try placements(db) }
        for id in shown.zones.keys.sorted() where try isAcceptedElsewhere(id) {
            do { _ = try join(id, fingerprint: nil) } catch let error as CloudError where error.concernsOneZone {
                continue
            } catch is RequestError { continue }
        }
        try placeOwnAgain(shown)
        try leaveFromPlacements(shown)
    }

    /// Places a share of others again that is this account's own since: another device left it and did not know that yet.
    private func placeOwnAgain(_ shown: Placements) throws {
        guard let privateZone else { return }
        for zone in zones.values.sorted(by: ZoneInfo.comesBefore)
        where zone.row.root == .shared && zone.row.isMine && zone.row.kind == .share && zone.row.state == .active
            && shown.zones[zone.id] == nil
        {
            let wasPlaced = try store.read { db in try !db.formerPlacements(of: zone.id, in: privateZone).isEmpty }
            guard wasPlaced else { continue }
            try store.write { db in try placeIfMissing(zone.id, zone.control, db) }
            log("'\(zone.control.title)' is taken part in again: it was handed to you, and left on another device")
        }
    }

    /// Whether a share with a placement is not taken part in here. One that was left here, or had ended, is asked for once
    /// a minute: whoever placed it again may have come before the owner's answer.
    private func isAcceptedElsewhere(_ id: ZoneID) throws -> Bool {
        guard let zone = zones[id] else { return true }
        guard zone.row.root == .shared, [.left, .ended].contains(zone.row.state),
            try store.read({ db in try db.metaText(withdrawalKey(id)) }) == nil
        else { return false }
        let now = world.uptimeMilliseconds()
        if let last = returnsTried[id], now < last + 60_000 { return false }
        returnsTried[id] = now
        return true
    }

    private func leaveFromPlacements(_ shown: Placements) throws {
        guard let privateZone else { return }
        for zone in zones.values.sorted(by: ZoneInfo.comesBefore)
        where zone.row.root == .shared && !zone.row.isMine && zone.row.kind == .share
            && [.active, .leaveOffered].contains(zone.row.state) && shown.zones[zone.id] == nil
        {
            let wasPlaced = try store.read { db in try !db.formerPlacements(of: zone.id, in: privateZone).isEmpty }
            guard wasPlaced else { continue }
            // Where a folder is away, it is done when that is back.
            do { try withdraw(zone, state: .left, keepCopy: false, isFollowing: true) } catch is RequestError {
                continue
            } catch let error as FileError {
                log("'\(zone.control.title)' is not left yet: \(error)")
                continue
            }
            log("left '\(zone.control.title)', as another device of the account did")
        }
    }
}
