public import ShoeboxModel

/// A link to a zone, to be sent to whom one invites: `shoebox://<container>/<zone>#<owner's fingerprint>`. No secret.
public struct ShareLink: Hashable, Sendable, CustomStringConvertible {
    /// The container's id, 32 hexadecimal digits.
    public var container: String
    /// The zone; its id binds its owner and everything that the owner signs.
    public var zone: ZoneID
    /// The owner's fingerprint, for people to compare, as `AccountID.fingerprint`.
    public var ownerFingerprint: String

    /// A link from its parts.
    public init(container: String, zone: ZoneID, ownerFingerprint: String) {
        self.container = container
        self.zone = zone
        self.ownerFingerprint = ownerFingerprint
    }

    /// The link.
    public var description: String { "shoebox://\(container)/\(zone)#\(ownerFingerprint)" }

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
        let groups = parts[1].split(separator: "-", omittingEmptySubsequences: false)
        guard groups.count == 4, groups.allSatisfy({ $0.utf8.count == 4 && decodeHex($0) != nil }) else {
            throw .invalid("A fingerprint is four groups of four hexadecimal digits: perhaps the link was cut.")
        }
        self.init(container: String(path[0]), zone: zone, ownerFingerprint: String(parts[1]))
    }
}
