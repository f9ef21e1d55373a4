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

/// A control file that hands a zone over: signed by the owner, with the consent of who owns it from then on.
///
/// Both signatures are checked before; what is decided here is which hand-overs hold.
public struct Handover: Hashable, Sendable {
    /// The file.
    public var hash: Digest32
    /// Its version.
    public var version: UInt64
    /// The hand-overs before it, oldest first, by their files.
    public var lineage: [Digest32]
    /// Who signed.
    public var signer: AccountID
    /// Who owns the zone from then on.
    public var owner: AccountID

    /// A hand-over from its parts.
    public init(hash: Digest32, version: UInt64, lineage: [Digest32], signer: AccountID, owner: AccountID) {
        self.hash = hash
        self.version = version
        self.lineage = lineage
        self.signer = signer
        self.owner = owner
    }
}

/// Who owned a zone, one after the other.
public struct Succession: Hashable, Sendable {
    /// Who made the zone.
    public let founder: AccountID
    /// The hand-overs that hold, oldest first.
    public let handovers: [Handover]

    /// Nobody but who made the zone.
    public init(founder: AccountID) { (self.founder, handovers) = (founder, []) }

    /// The hand-overs that hold, of these: each by who owned the zone then.
    ///
    /// An owner who hands a zone over twice, to different people, is dishonest. Then the one counts that the reader has known
    /// (`settled`), so that nobody who has seen a hand-over is turned by a later one; else the one that leads to a wanted
    /// owner; else the one of the smallest version and hash.
    public init(
        founder: AccountID, of handovers: some Sequence<Handover>, settled: [Digest32] = [],
        wanted: (AccountID) -> Bool = { _ in false }
    ) {
        let all = Array(Set(handovers))
        var path: [Handover] = []
        func leadsToWanted(_ handover: Handover) -> Bool {
            wanted(handover.owner)
                || all.contains {
                    $0.lineage.count > handover.lineage.count && $0.lineage[handover.lineage.count] == handover.hash
                        && wanted($0.owner)
                }
        }
        // Bounded by the number of files: a lineage grows with each.
        for _ in all.indices {
            let lineage = path.map(\.hash)
            let owner = path.last?.owner ?? founder
            let next = all.filter { $0.lineage == lineage && $0.signer == owner && $0.owner != owner }
            let known = next.first { settled.count > path.count && settled[path.count] == $0.hash }
            let best = next.min {
                let (left, right) = (leadsToWanted($0), leadsToWanted($1))
                return left == right ? ($0.version, $0.hash) < ($1.version, $1.hash) : left
            }
            guard let chosen = known ?? best else { break }
            path.append(chosen)
        }
        self.founder = founder
        self.handovers = path
    }

    /// The files of the hand-overs.
    public var lineage: [Digest32] { handovers.map(\.hash) }

    /// Who owns the zone after so many hand-overs; nil for more than there were.
    public func owner(after count: Int) -> AccountID? {
        count == 0 ? founder : count <= handovers.count ? handovers[count - 1].owner : nil
    }

    /// Who owns the zone now.
    public var owner: AccountID { handovers.last?.owner ?? founder }

    /// Whether a file of this lineage is of the history that holds.
    public func holds(_ lineage: [Digest32]) -> Bool {
        lineage.count <= handovers.count && zip(lineage, handovers).allSatisfy { $0 == $1.hash }
    }
}
