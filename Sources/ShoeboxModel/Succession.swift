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
    /// Whether it holds only beside one that is not doubtful: its device was retired, and nobody is known who had taken it
    /// for valid before that.
    public var isDoubtful: Bool
    /// Whether a device of its new owner in good standing has signed something that names it.
    public var isTakenUp: Bool

    /// A hand-over from its parts.
    public init(
        hash: Digest32, version: UInt64, lineage: [Digest32], signer: AccountID, owner: AccountID,
        isDoubtful: Bool = false, isTakenUp: Bool = false
    ) {
        self.hash = hash
        self.version = version
        self.lineage = lineage
        self.signer = signer
        self.owner = owner
        self.isDoubtful = isDoubtful
        self.isTakenUp = isTakenUp
    }
}

/// Who owned a zone, one after the other.
public struct Succession: Hashable, Sendable {
    /// Who made the zone.
    public let founder: AccountID
    /// The hand-overs that hold, oldest first.
    public let handovers: [Handover]
    /// For each of them all files that hand the zone over in the same step to the same owner, it among them, with their
    /// versions: two devices of the former owner may both have done it.
    private let twins: [[Digest32: UInt64]]

    /// Nobody but who made the zone.
    public init(founder: AccountID) { (self.founder, handovers, twins) = (founder, [], []) }

    /// The hand-overs that hold, of these: each by who owned the zone then.
    ///
    /// An owner who hands a zone over twice, to different people, is dishonest. Then the one counts that the reader has known
    /// (`settled`), so that nobody who has seen a hand-over is turned by a later one; else the one that leads to a wanted
    /// owner; else the one of the smallest version and hash.
    ///
    /// Several to the same owner are one. Which of their files everybody goes by, is said by the new owner: by the next
    /// hand-over, or as long as there is none by anything that it has signed since. Until then it is the one that the
    /// reader has known. What somebody signs who owns the zone no more says nothing of it.
    public init(
        founder: AccountID, of handovers: some Sequence<Handover>, settled: [Digest32] = [],
        wanted: (AccountID) -> Bool = { _ in false }
    ) {
        let all = Array(Set(handovers))
        var steps: [[Handover]] = []
        var twins: [[Digest32: UInt64]] = []
        func isBehind(_ lineage: [Digest32], _ steps: [[Digest32: UInt64]]) -> Bool {
            lineage.count >= steps.count && zip(lineage, steps).allSatisfy { $1[$0] != nil }
        }
        // Bounded by the number of files: a lineage grows with each.
        for _ in all.indices {
            let owner = steps.last?.first?.owner ?? founder
            let next = all.filter {
                $0.lineage.count == steps.count && isBehind($0.lineage, twins) && $0.signer == owner
                    && $0.owner != owner
            }
            let known = settled.count > steps.count ? settled[steps.count] : nil
            let certain = next.filter { !$0.isDoubtful || $0.hash == known }
            let leading = Set(certain.map(\.owner)).filter { receiver in
                let step = twins + [Self.versions(next.filter { $0.owner == receiver })]
                return wanted(receiver)
                    || all.contains { $0.lineage.count > twins.count && isBehind($0.lineage, step) && wanted($0.owner) }
            }
            let best = certain.min {
                let (left, right) = (leading.contains($0.owner), leading.contains($1.owner))
                return left == right ? $0.isBefore($1) : left
            }
            guard let receiver = (next.first { $0.hash == known } ?? best)?.owner else { break }
            steps.append(next.filter { $0.owner == receiver })
            twins.append(Self.versions(next.filter { $0.owner == receiver }))
        }
        var chosen: [Handover] = []
        for (index, step) in steps.enumerated().reversed() {
            let isSettled = { (handover: Handover) in settled.count > index && settled[index] == handover.hash }
            let named = chosen.last.map { next in step.first { $0.hash == next.lineage[index] } }
            let best =
                named ?? step.filter(\.isTakenUp).min { $0.isBefore($1) } ?? step.first(where: isSettled)
                ?? step.filter { !$0.isDoubtful }.min { $0.isBefore($1) }
            if let best { chosen.append(best) }
        }
        self.founder = founder
        self.handovers = chosen.reversed()
        self.twins = twins
    }

    private static func versions(_ handovers: [Handover]) -> [Digest32: UInt64] {
        Dictionary(handovers.map { ($0.hash, $0.version) }) { first, _ in first }
    }

    /// The files of the hand-overs.
    public var lineage: [Digest32] { handovers.map(\.hash) }

    /// Who owns the zone after so many hand-overs; nil for more than there were.
    public func owner(after count: Int) -> AccountID? {
        count == 0 ? founder : count <= handovers.count ? handovers[count - 1].owner : nil
    }

    /// Who owns the zone now.
    public var owner: AccountID { handovers.last?.owner ?? founder }

    /// Whether an account owns the zone, or did.
    public func ownedBefore(_ account: AccountID) -> Bool {
        account == founder || handovers.contains { $0.owner == account }
    }

    /// Whether who owns the zone now has signed something since; so has who was never handed it.
    public var isTakenUp: Bool { handovers.last?.isTakenUp ?? true }

    /// Whether a file of this lineage is of the history that holds.
    public func holds(_ lineage: [Digest32]) -> Bool {
        lineage.count <= twins.count && zip(lineage, twins).allSatisfy { $1[$0] != nil }
    }

    /// Whether a file is the hand-over after so many others, or says the same as that one.
    public func isHandover(_ hash: Digest32, after count: Int) -> Bool { version(of: hash, after: count) != nil }

    /// The version of such a file; nil for another one.
    public func version(of hash: Digest32, after count: Int) -> UInt64? {
        count < twins.count ? twins[count][hash] : nil
    }
}

extension Handover {
    fileprivate func isBefore(_ other: Handover) -> Bool { (version, hash) < (other.version, other.hash) }
}
