/// Who made a zone that is somebody else's now.
public struct Founder: Hashable, Sendable {
    /// Who.
    public var account: AccountID
    /// Its label, for people and for the folders that show the zone.
    public var label: String

    /// A founder from its parts.
    public init(account: AccountID, label: String) {
        self.account = account
        self.label = label
    }
}

/// That the owner offers the zone to somebody. It gives nothing by itself: the receiver consents, and then the owner hands
/// the zone over.
public struct TransferOffer: Hashable, Sendable {
    /// To whom.
    public var account: AccountID
    /// What the owner keeps: `readWrite` for an admin.
    public var permission: Permission
    /// Whether the owner stays as an admin.
    public var staysAdmin: Bool
    /// 16 random bytes that the consent repeats, so that one consent is good for one offer.
    public var number: [UInt8]

    /// An offer from its parts.
    public init(account: AccountID, permission: Permission, staysAdmin: Bool, number: [UInt8]) {
        self.account = account
        self.permission = staysAdmin ? .readWrite : permission
        self.staysAdmin = staysAdmin
        self.number = number
    }
}

extension Control {
    /// Who made the zone, and under whose name others show it.
    public var founderOrOwner: Founder { founder ?? Founder(account: owner, label: ownerLabel) }

    /// Whether an account was the owner before somebody else was.
    public func wasOwner(_ account: AccountID) -> Bool {
        guard account != owner else { return false }
        return account == founder?.account
            || participants[account]?.intervals.values.contains { $0.contains(where: \.isOwners) } == true
    }

    /// The offer that can be accepted: one to somebody who takes part.
    public var openOffer: TransferOffer? {
        guard let offer, !isStopped, kind == .share, offer.account != owner,
            let receiver = participants[offer.account], receiver.takesPart, receiver.permission > .none
        else { return nil }
        return offer
    }

    /// This control with the zone handed over as it was offered: everybody, the titles and the links stay as they are, the
    /// former owner stays as it chose.
    ///
    /// - Parameter heads: the last accepted segments of both: what either wrote up to there counts as it did.
    public mutating func handOver(_ offer: TransferOffer, at heads: [AccountID: [ReplicaID: Position]]) {
        guard var receiver = participants[offer.account] else { return }
        founder = founderOrOwner
        var former =
            participants[owner]
            ?? Participant(
                account: owner, label: ownerLabel, role: .owner, permission: .readWrite, status: .accepted,
                generation: 0)
        former.label = ownerLabel
        former.generation = former.generation == .max ? .max : former.generation + 1
        former.change(to: offer.staysAdmin ? .admin : .participant, offer.permission, at: heads[owner] ?? [:])
        receiver.change(to: .owner, .readWrite, at: heads[offer.account] ?? [:])
        receiver.status = .accepted
        (receiver.isPublic, receiver.joinKey) = (false, nil)
        participants[owner] = former
        participants[offer.account] = receiver
        (owner, ownerLabel) = (offer.account, receiver.label)
        self.offer = nil
    }
}
