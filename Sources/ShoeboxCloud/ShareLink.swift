public import ShoeboxModel

/// A link to a zone, to be sent to whom one invites: `shoebox://<container>/<zone>#<owner's fingerprint>`, and for
/// people who are not invited a secret behind it: `/join/<64 digits>` or `/ask/<64 digits>`. Without one it is no secret.
public struct ShareLink: Hashable, Sendable, CustomStringConvertible {
    /// What lets people in who were not invited.
    public enum Secret: Hashable, Sendable {
        /// Whoever has it joins.
        case join([UInt8])
        /// Whoever has it may ask.
        case ask([UInt8])

        /// The 32 bytes.
        public var bytes: [UInt8] {
            switch self {
            case .join(let bytes), .ask(let bytes): bytes
            }
        }
    }

    /// The container's id, 32 hexadecimal digits.
    public var container: String
    /// The zone; its id binds its owner and everything that the owner signs.
    public var zone: ZoneID
    /// The owner's fingerprint, for people to compare, as `AccountID.fingerprint`.
    public var ownerFingerprint: String
    /// The secret; nil in a link for who was invited.
    public var secret: Secret?

    /// A link from its parts.
    public init(container: String, zone: ZoneID, ownerFingerprint: String, secret: Secret? = nil) {
        self.container = container
        self.zone = zone
        self.ownerFingerprint = ownerFingerprint
        self.secret = secret
    }

    /// The link.
    public var description: String {
        let end =
            switch secret {
            case nil: ""
            case .join(let bytes): "/join/\(encodeHex(bytes))"
            case .ask(let bytes): "/ask/\(encodeHex(bytes))"
            }
        return "shoebox://\(container)/\(zone)#\(ownerFingerprint)\(end)"
    }

    /// The keys of the secret; nil if it has none.
    public var keys: JoinLinkKeys? {
        get throws(CloudError) {
            guard let secret else { return nil }
            return try JoinLinkKeys(secret: secret.bytes)
        }
    }

    /// A link from text, spaces around it ignored; `.invalid` with the reason for anything else.
    public init(parsing text: String) throws(CloudError) {
        let trimmed = text.drop { $0.isWhitespace }
        let link = trimmed.prefix { !$0.isWhitespace }
        guard trimmed.dropFirst(link.count).allSatisfy(\.isWhitespace) else {
            throw .invalid("A link has no spaces in it.")
        }
        guard link.hasPrefix("shoebox://") else { throw .invalid("A link begins with 'shoebox://'.") }
        let parts = link.dropFirst(10).split(separator: "#", omittingEmptySubsequences: false)
        guard parts.count == 2 else {
            throw .invalid("A link ends with '#' and the owner's fingerprint: perhaps it was cut.")
        }
        let path = parts[0].split(separator: "/", omittingEmptySubsequences: false)
        guard path.count == 2, decodeHex(path[0])?.count == 16 else {
            throw .invalid("A link names a container by 32 hexadecimal digits.")
        }
        guard let zone = ZoneID(hex: path[1]) else { throw .invalid("A link names a zone by 64 hexadecimal digits.") }
        let end = parts[1].split(separator: "/", omittingEmptySubsequences: false)
        let groups = end[0].split(separator: "-", omittingEmptySubsequences: false)
        guard groups.count == 4, groups.allSatisfy({ $0.utf8.count == 4 && decodeHex($0) != nil }) else {
            throw .invalid("A fingerprint is four groups of four hexadecimal digits: perhaps the link was cut.")
        }
        var secret: Secret?
        if end.count > 1 {
            guard end.count == 3, ["join", "ask"].contains(end[1]), let bytes = decodeHex(end[2]), bytes.count == 32
            else {
                throw .invalid("The secret of a link has 64 hexadecimal digits: perhaps the link was cut.")
            }
            secret = end[1] == "join" ? .join(bytes) : .ask(bytes)
        }
        self.init(container: String(path[0]), zone: zone, ownerFingerprint: String(end[0]), secret: secret)
    }
}
