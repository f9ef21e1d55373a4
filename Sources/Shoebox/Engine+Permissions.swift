import ShoeboxModel
import ShoeboxPlanning
import ShoeboxStore
import ShoeboxWorld

import class GRDB.Database

extension Engine {
    /// Whether this account may do something to a record now: `can`, with who made the record where that matters.
    func may(_ action: SharingAction, _ id: RecordID, _ db: Database) throws -> Bool {
        guard let zone = zones[id.zone], zone.row.state == .active else { return false }
        if can(action, account: account, in: zone.control) { return true }
        // Only who made the record may, or nobody: looked up only if it makes a difference.
        guard can(action, account: account, author: account, in: zone.control) else { return false }
        return try db.isOwn(id, of: account)
    }

    /// Whether this account may do something in a zone that is to no record of others.
    func may(_ action: SharingAction, in zone: ZoneID) -> Bool {
        guard let zone = zones[zone], zone.row.state == .active else { return false }
        return can(action, account: account, in: zone.control)
    }

    /// A name for a new record and the field that proves who made it.
    func newRecord() -> (name: RecordName, origin: Value) {
        let origin = world.randomBytes(16)
        return (Derivation.record(madeBy: account, origin: origin), .bytes(origin))
    }

    /// What somebody may do, for messages.
    func permissionText(_ zone: ZoneID) -> String { permissionText(under: zones[zone]?.control) }

    /// The same, under a control.
    func permissionText(under control: Control?) -> String {
        switch control?.permission(of: account) {
        case .contribute: "in which you may only change what you added"
        default: "which you may only read"
        }
    }
}
