import GRDB
import ShoeboxCloud
public import ShoeboxModel
public import ShoeboxStore

/// One share as a list shows it.
public struct ShareSummary: Sendable {
    /// The zone.
    public var id: ZoneID
    /// The title.
    public var title: String
    /// The owner's label.
    public var owner: String
    /// The owner's fingerprint.
    public var ownerFingerprint: String
    /// How this account takes part.
    public var role: Role
    /// What this account may do.
    public var permission: Permission
    /// How this account stands to it.
    public var state: ZoneRow.State
    /// Whether it is sealed.
    public var isSealed: Bool
    /// What people may do who were not invited.
    public var publicPermission: Permission
    /// What becomes of participants' copies when it ends for them.
    public var endPolicy: EndPolicy
    /// Where it is shown: `library/…` or `shared/…`; nil while it is nowhere.
    public var path: String?
    /// How many photos are in it.
    public var photos: Int
    /// What is on its way.
    public var pending: PendingCounts
    /// As of when the share is known, milliseconds since 1970; 0 for never.
    public var asOf: UInt64
    /// That the owner offers a share to somebody.
    public struct Offer: Sendable {
        /// The receiver's label.
        public var account: String
        /// The receiver's fingerprint.
        public var fingerprint: String
        /// Whether this account is the receiver.
        public var isMine: Bool
        /// Whether this account has accepted: a device of the owner finishes it.
        public var isAccepted: Bool
    }
    /// Everyone ever invited, by label.
    public var participants: [Participant]
    /// When each participant was last seen, by the clocks of its devices, milliseconds since 1970.
    public var lastSeen: [AccountID: UInt64]
    /// To whom it is offered; nil for nobody.
    public var offer: Offer?
    /// The control.
    var control: Control
    /// The link that leads to it; nil before the container was reached.
    public var link: String?
}

extension ShareSummary {
    /// Whether whoever has the link may accept without being invited: a sealed share gives them no key.
    public var admitsEverybody: Bool { !isSealed && publicPermission > .none }

    init(_ zone: ZoneInfo, engine: Engine, _ db: Database) throws {
        let control = zone.control
        id = zone.id
        title = control.title
        owner = control.ownerLabel
        ownerFingerprint = control.owner.fingerprint
        role = zone.row.isMine ? .owner : control.participants[engine.account]?.role ?? .participant
        permission = control.permission(of: engine.account)
        state = zone.row.state
        isSealed = control.isSealed
        publicPermission = control.publicPermission
        endPolicy = control.endPolicy
        let mount = RecordID(zone: zone.id, name: .zoneRoot)
        path = try db.basePath(of: mount, top: [engine.top(zone.row.root)]).flatMap { path in
            try db.base(mount) == nil ? nil : engine.display(path, zone.row.root)
        }
        photos =
            try Int.fetchOne(
                db, sql: "SELECT count(*) FROM record WHERE zone = ? AND live = 1 AND type = 'Photo'",
                arguments: [zone.id.data]) ?? 0
        pending = try PendingCounts(db, replica: engine.replica, zone: zone.id)
        asOf = zone.row.asOf
        self.control = control
        lastSeen = [:]
        for peer in try db.peers(of: zone.id) {
            if let account = peer.account { lastSeen[account] = max(lastSeen[account] ?? 0, peer.headTime) }
        }
        participants = control.participants.values.filter { $0.account != control.owner }
            .sorted { ($0.label, $0.account) < ($1.label, $1.account) }
        offer = try control.openOffer.map { offer in
            Offer(
                account: control.participants[offer.account]?.label ?? "", fingerprint: offer.account.fingerprint,
                isMine: offer.account == engine.account, isAccepted: try engine.hasConsented(to: offer, in: id, db))
        }
        link = try db.metaText("container") == nil ? nil : engine.shareLink(zone, db)
    }

    /// All shares, by title; those that were left or have ended only if asked for.
    static func all(_ engine: Engine, _ db: Database, includesEnded: Bool) throws -> [ShareSummary] {
        try engine.zones.values
            .filter { $0.row.kind == .share && (includesEnded || [.active, .leaveOffered].contains($0.row.state)) }
            .map { try ShareSummary($0, engine: engine, db) }
            .sorted { ($0.title, $0.id) < ($1.title, $1.id) }
    }

    /// The labels of those who lose access if it is made public, or private, as asked.
    public func losers(publicPermission: Permission, renews: Bool) -> [String] {
        Engine.losers(of: control, publicPermission: publicPermission, renews: renews).map(\.label)
    }

    /// As `--json` prints it.
    public var json: JSONObject {
        [
            "id": .string(id.description), "title": .string(title), "owner": .string(owner),
            "ownerFingerprint": .string(ownerFingerprint), "role": .string(role.rawValue),
            "permission": .string(permission.rawValue), "state": .string(state.rawValue),
            "isSealed": .bool(isSealed), "public": .string(publicPermission.rawValue),
            "onEnd": .string(endPolicy.rawValue),
            "path": path.map(JSONValue.string) ?? .null, "photos": .integer(Int64(photos)),
            "pendingPush": .integer(Int64(pending.push)), "pendingFetch": .integer(Int64(pending.fetch)),
            "pendingApply": .integer(Int64(pending.apply)), "asOf": StatusText.json(time: asOf),
            "offeredTo": offer.map { .string("\($0.account)#\($0.fingerprint)") } ?? .null,
        ]
    }

    /// As `share show --json` prints it.
    public var detailedJSON: JSONObject {
        var object = json
        object["link"] = link.map(JSONValue.string) ?? .null
        object["participants"] = .array(
            participants.map { participant in
                .object([
                    "account": .string(participant.label), "fingerprint": .string(participant.account.fingerprint),
                    "role": .string(participant.role.rawValue), "permission": .string(participant.permission.rawValue),
                    "status": .string(participant.hasDeclined ? "declined" : participant.status.rawValue),
                    "hasLeft": .bool(participant.hasLeft), "isPublic": .bool(participant.isPublic),
                    "lastSeen": StatusText.json(time: lastSeen[participant.account] ?? 0),
                ])
            })
        return object
    }

    /// What there is to say of an offer; nil for none.
    public var offerText: String? {
        guard let offer else { return nil }
        if !offer.isMine { return "offered to \(offer.account)" }
        return offer.isAccepted
            ? "accepted: it is yours as soon as a device of \(owner) has answered"
            : "\(owner) offers it to you: shoebox share transfer '\(title)' --accept"
    }

    /// As a list for people shows it.
    public var line: String {
        var parts = [title, "\(photos) photos", "from \(owner)", permission.rawValue]
        if state != .active { parts.append(state.rawValue) }
        if let path { parts.append(path) }
        if let text = offerText { parts.append(text) }
        return parts.joined(separator: "  ")
    }
}

extension Participant {
    /// How far an invitation got, for people and scripts: what became of it in the end, where it did not last.
    public var statusText: String {
        status == .removed ? hasDeclined ? "declined" : hasLeft ? "left" : status.rawValue : status.rawValue
    }
}
