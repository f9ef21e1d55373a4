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
    /// Whether its new owner has signed something that names it.
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
    /// For each of them all files that hand the zone over in the same step to the same owner, it among them: two devices of
    /// the former owner may both have done it.
    private let twins: [Set<Digest32>]

    /// Nobody but who made the zone.
    public init(founder: AccountID) { (self.founder, handovers, twins) = (founder, [], []) }

    /// The hand-overs that hold, of these: each by who owned the zone then.
    ///
    /// An owner who hands a zone over twice, to different people, is dishonest. Then the one counts that the reader has known
    /// (`settled`), so that nobody who has seen a hand-over is turned by a later one; else the one that leads to a wanted
    /// owner; else the one of the smallest version and hash.
    ///
    /// Several to the same owner are one. Which of their files everybody goes by, is said by the new owner, who has
    /// signed something after it; until then it is the one that the reader has known.
    public init(
        founder: AccountID, of handovers: some Sequence<Handover>, settled: [Digest32] = [],
        wanted: (AccountID) -> Bool = { _ in false }
    ) {
        let all = Array(Set(handovers))
        var path: [Handover] = []
        var twins: [Set<Digest32>] = []
        func isBehind(_ lineage: [Digest32], _ steps: [Set<Digest32>]) -> Bool {
            lineage.count >= steps.count && zip(lineage, steps).allSatisfy { $1.contains($0) }
        }
        // Bounded by the number of files: a lineage grows with each.
        for _ in all.indices {
            let owner = path.last?.owner ?? founder
            let next = all.filter {
                $0.lineage.count == path.count && isBehind($0.lineage, twins) && $0.signer == owner
                    && $0.owner != owner
            }
            let known = settled.count > path.count ? settled[path.count] : nil
            let certain = next.filter { !$0.isDoubtful || $0.hash == known }
            let receivers = Set(certain.map(\.owner))
            let leading = receivers.filter { receiver in
                let step = Set(next.filter { $0.owner == receiver }.map(\.hash))
                return wanted(receiver)
                    || all.contains {
                        $0.lineage.count > twins.count && isBehind($0.lineage, twins + [step]) && wanted($0.owner)
                    }
            }
            let best = certain.min {
                let (left, right) = (leading.contains($0.owner), leading.contains($1.owner))
                return left == right ? $0.isBefore($1) : left
            }
            let settledOne = next.first { $0.hash == known }
            guard let receiver = (settledOne ?? best)?.owner else { break }
            let step = next.filter { $0.owner == receiver }
            guard
                let chosen = step.filter(\.isTakenUp).min(by: { $0.isBefore($1) }) ?? settledOne
                    ?? step.filter({ !$0.isDoubtful }).min(by: { $0.isBefore($1) })
            else { break }
            path.append(chosen)
            twins.append(Set(step.map(\.hash)))
        }
        self.founder = founder
        self.handovers = path
        self.twins = twins
    }

    /// The files of the hand-overs.
    public var lineage: [Digest32] { handovers.map(\.hash) }

    /// Who owns the zone after so many hand-overs; nil for more than there were.
    public func owner(after count: Int) -> AccountID? {
        count == 0 ? founder : count <= handovers.count ? handovers[count - 1].owner : nil
    }

    /// Who owns the zone now.
    public var owner: AccountID { handovers.last?.owner ?? founder }

    /// Whether who owns the zone now has signed something since; so has who was never handed it.
    public var isTakenUp: Bool { handovers.last?.isTakenUp ?? true }

    /// Whether a file of this lineage is of the history that holds.
    public func holds(_ lineage: [Digest32]) -> Bool {
        lineage.count <= twins.count && zip(lineage, twins).allSatisfy { $1.contains($0) }
    }

    /// Whether a file is the hand-over after so many others, or says the same as that one.
    public func isHandover(_ hash: Digest32, after count: Int) -> Bool {
        count < twins.count && twins[count].contains(hash)
    }
}

extension Handover {
    fileprivate func isBefore(_ other: Handover) -> Bool { (version, hash) < (other.version, other.hash) }
}
