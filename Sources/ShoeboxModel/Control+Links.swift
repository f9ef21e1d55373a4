/// A link by which people come to a share who were not invited.
public struct JoinLink: Hashable, Sendable {
    /// What those may do who come by it.
    public var permission: Permission
    /// The key made from the link's secret that the zone's key is wrapped for, 32 bytes; empty where somebody must be
    /// admitted first.
    public var agreementKey: [UInt8]
    /// Whether it only asks to be admitted: it has an expiry or a count, or a person decides.
    public var isRequest: Bool
    /// When it ends, milliseconds since 1970 by the clock of who admits; 0 for never.
    public var expiresMilliseconds: UInt64
    /// How many accounts it admits; 0 for any number.
    public var countMax: UInt64
    /// Whether a person decides about each.
    public var needsApproval: Bool
    /// The link's secret, so that it can be printed again; empty in plain zones, where everybody could read it.
    public var secret: [UInt8]
    /// Whether it was taken back. It stays listed, so that nobody who did not know turns it on again.
    public var isOff: Bool

    /// A link from its parts.
    public init(
        permission: Permission, agreementKey: [UInt8] = [], isRequest: Bool = false, expiresMilliseconds: UInt64 = 0,
        countMax: UInt64 = 0, needsApproval: Bool = false, secret: [UInt8] = [], isOff: Bool = false
    ) {
        self.permission = permission
        self.agreementKey = agreementKey
        self.isRequest = isRequest
        self.expiresMilliseconds = expiresMilliseconds
        self.countMax = countMax
        self.needsApproval = needsApproval
        self.secret = secret
        self.isOff = isOff
    }

    /// The same link, taken back.
    public var turnedOff: JoinLink {
        var result = self
        (result.isOff, result.secret, result.agreementKey) = (true, [], [])
        return result
    }

    /// What two entries of one link allow both.
    func joined(with other: JoinLink) -> JoinLink {
        if self == other { return self }
        var result = self
        result.permission = min(permission, other.permission)
        result.isRequest = isRequest || other.isRequest
        result.needsApproval = needsApproval || other.needsApproval
        result.expiresMilliseconds = least(expiresMilliseconds, other.expiresMilliseconds)
        result.countMax = least(countMax, other.countMax)
        result.agreementKey =
            other.agreementKey.lexicographicallyPrecedes(agreementKey) ? agreementKey : other.agreementKey
        result.secret = other.secret.lexicographicallyPrecedes(secret) ? secret : other.secret
        return isOff || other.isOff ? result.turnedOff : result
    }
}

/// The smaller of two limits, of which 0 is none.
private func least(_ left: UInt64, _ right: UInt64) -> UInt64 {
    left == 0 ? right : right == 0 ? left : min(left, right)
}

extension Participant {
    /// Whether somebody who is listed already may come by a public link: not who was put out, and not by the one that they
    /// came by before. What they said then is still there; who left comes back by asking, and is let in at once.
    func mayJoin(by joinKey: Digest32) -> Bool {
        !takesPart && (hasLeft || isPublic) && self.joinKey != joinKey
    }
}

extension Control {
    /// The links that hold, by their keys.
    public var openLinks: [Digest32: JoinLink] { isStopped ? [:] : links.filter { !$0.value.isOff } }

    /// The link by which everybody may join at once; nil while the share is not public.
    public var publicLink: (key: Digest32, link: JoinLink)? {
        guard publicPermission > .none else { return nil }
        return openLinks.filter { !$0.value.isRequest }.min { $0.key < $1.key }.map { ($0.key, $0.value) }
    }

    /// The keys of links that the zone's key is wrapped for.
    public var linkAgreementKeys: Set<[UInt8]> {
        Set(openLinks.values.map(\.agreementKey).filter { !$0.isEmpty })
    }

    /// This control with an account in it that joins by the public link. One that is listed stays as it is; so does one
    /// that was put out, but for who lost access when another link was taken back.
    public mutating func admitByLink(
        _ account: AccountID, label: String, joinKey: Digest32, at heads: [ReplicaID: Position]
    ) {
        guard let (key, link) = publicLink, key == joinKey, account != owner else { return }
        let permission = min(link.permission, publicPermission)
        guard var known = participants[account] else {
            var fresh = Participant(
                account: account, label: label, permission: .none, status: .removed, generation: 0)
            fresh.inviteAgain(permission, after: heads)
            fresh.status = .accepted
            fresh.isPublic = true
            fresh.joinKey = joinKey
            participants[account] = fresh
            return
        }
        guard known.mayJoin(by: joinKey) else { return }
        known.inviteAgain(permission, after: heads)
        known.label = label
        known.status = .accepted
        known.isPublic = true
        known.joinKey = joinKey
        participants[account] = known
    }

    /// Whether an account that takes no part may join by the public link.
    public func admitsByLink(_ account: AccountID) -> Bool {
        guard account != owner, let (key, _) = publicLink else { return false }
        return participants[account]?.mayJoin(by: key) ?? true
    }

    /// Takes in what another control says of devices, keys and links.
    mutating func joinDevicesAndLinks(of other: Control) {
        for (device, replicas) in other.retired {
            retired[device, default: [:]].merge(replicas) { left, right in
                (left.sequence, left.hash) < (right.sequence, right.hash) ? left : right
            }
        }
        keyedFor = keyedFor.filter { other.keyedFor[$0.key] == $0.value }
        links.merge(other.links) { $0.joined(with: $1) }
    }
}
