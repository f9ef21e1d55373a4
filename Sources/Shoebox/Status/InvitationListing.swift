public import ShoeboxModel
import ShoeboxStore

/// What waits for this account's answer: invitations, and people who ask to be admitted to its shares.
public struct InvitationListing: Sendable {
    /// One invitation or request.
    public struct Entry: Sendable {
        /// The share's id.
        public var zone: String
        /// The share's title.
        public var title: String
        /// The other account's label.
        public var label: String
        /// The other account's fingerprint.
        public var fingerprint: String
        /// What is offered, or what the link gives.
        public var permission: Permission
        /// When it was written, by the other's clock, milliseconds since 1970.
        public var written: UInt64
        /// Whether it was announced to every account of the container, and nobody was asked.
        public var isAnnouncement = false

        /// As `--json` prints it.
        public var json: JSONObject {
            [
                "id": .string(zone), "title": .string(title), "account": .string(label),
                "fingerprint": .string(fingerprint), "permission": .string(permission.rawValue),
                "written": StatusText.json(time: written), "public": .bool(isAnnouncement),
            ]
        }
    }

    /// Invitations to others' shares, and public shares that were announced.
    public let invitations: [Entry]
    /// People who ask to be admitted to own shares.
    public let requests: [Entry]

    /// What an installation's database knows; the container is not touched.
    public init(_ installation: Installation) throws {
        try self.init(reading: installation.makeEngine(try installation.openStore()))
    }

    init(reading engine: Engine) throws {
        (invitations, requests) = try engine.store.read { db in
            (
                try engine.pendingInvitations(db).map { row in
                    Entry(
                        zone: row.zone?.description ?? "", title: row.title, label: row.label,
                        fingerprint: row.account?.fingerprint ?? "", permission: row.permission, written: row.written,
                        isAnnouncement: row.isAnnouncement)
                },
                try engine.pendingRequests(db).map { row in
                    let zone = row.zone.flatMap { engine.zones[$0] }
                    return Entry(
                        zone: row.zone?.description ?? "", title: zone?.control.title ?? "", label: row.label,
                        fingerprint: row.account?.fingerprint ?? "",
                        permission: row.joinKey.flatMap { zone?.control.links[$0]?.permission } ?? .readOnly,
                        written: row.written)
                }
            )
        }
    }
}
