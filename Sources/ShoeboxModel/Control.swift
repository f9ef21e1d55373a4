/// What somebody may do in a zone.
public enum Permission: String, Hashable, Comparable, Sendable, CaseIterable {
    case none, readOnly, readWrite
    private var rank: Int { Permission.allCases.firstIndex(of: self) ?? 0 }
    public static func < (left: Self, right: Self) -> Bool { left.rank < right.rank }
}

/// Somebody's standing in a zone.
public enum Role: String, Hashable, Sendable, CaseIterable { case owner, admin, participant }

/// How far an invitation got.
public enum ParticipantStatus: String, Hashable, Sendable, CaseIterable { case unknown, pending, accepted, removed }

/// A place in a replica's chain of segments in one zone.
public struct Position: Hashable, Sendable {
    /// The segment's number, from 1; 0 is the start, before any segment.
    public var sequence: UInt64
    /// The segment's hash; zero at the start.
    public var hash: Digest32
    /// A position from its parts.
    public init(sequence: UInt64, hash: Digest32) {
        self.sequence = sequence
        self.hash = hash
    }
    /// Before the first segment.
    public static let start = Position(sequence: 0, hash: Digest32(high: 0, low: 0))
}

/// From where to where a replica's segments in a zone count.
public struct Interval: Hashable, Sendable {
    /// The number of the last segment that does not count yet; 0 to count from the first.
    public var from: UInt64
    /// The last segment that counts; nil while the interval is open.
    public var to: Position?
    /// An interval from its ends.
    public init(from: UInt64 = 0, to: Position? = nil) {
        self.from = from
        self.to = to
    }
    /// Whether a segment of this number lies inside.
    public func contains(_ sequence: UInt64) -> Bool { sequence > from && to.map { sequence <= $0.sequence } ?? true }
}

/// One account's part in a zone.
public struct Participant: Hashable, Sendable {
    /// Who.
    public var account: AccountID
    /// The account's label when it was invited; for people only.
    public var label: String
    /// Standing.
    public var role: Role
    /// What it may do now.
    public var permission: Permission
    /// How far the invitation got.
    public var status: ParticipantStatus
    /// Raised by each invitation; of two contradicting entries the higher one counts.
    public var generation: UInt64
    /// Where each known replica's segments count, oldest first. A replica that is not listed counts from its start
    /// as long as the account may write, and not at all otherwise.
    public var intervals: [ReplicaID: [Interval]]

    /// A participant from its parts.
    public init(
        account: AccountID, label: String, role: Role = .participant, permission: Permission = .readOnly,
        status: ParticipantStatus = .pending, generation: UInt64 = 1, intervals: [ReplicaID: [Interval]] = [:]
    ) {
        self.account = account
        self.label = label
        self.role = role
        self.permission = permission
        self.status = status
        self.generation = generation
        self.intervals = intervals
    }

    /// Whether the account may write at present.
    public var mayWrite: Bool { status != .removed && permission == .readWrite }

    /// Whether a replica's segment counts, whenever it claims to have been written.
    public func counts(_ replica: ReplicaID, sequence: UInt64) -> Bool {
        guard let known = intervals[replica] else { return mayWrite }
        return known.contains { $0.contains(sequence) }
    }

    /// Takes writing away as of the given positions: what the owner accepted is the last that counts.
    ///
    /// To be called **before** `permission` or `status` change: what an account wrote that might not write at the time
    /// never comes to count by being closed.
    public mutating func close(at heads: [ReplicaID: Position]) {
        for replica in Set(heads.keys).union(intervals.keys) {
            let head = heads[replica] ?? .start
            var known = intervals[replica] ?? (mayWrite ? [Interval()] : [])
            if let last = known.last, last.to == nil {
                known[known.count - 1].to = head
            }
            intervals[replica] = known
        }
    }

    /// Sets what the account may do from now on, with the intervals that follow; `heads` are the last accepted segments.
    public mutating func setPermission(_ new: Permission, at heads: [ReplicaID: Position]) {
        let could = mayWrite
        if could, new != .readWrite { close(at: heads) }
        if !could, new == .readWrite, status != .removed { open(after: heads) }
        permission = new
    }

    /// Takes the account out of the zone; what the owner accepted of it is the last that counts.
    public mutating func remove(at heads: [ReplicaID: Position]) {
        if mayWrite { close(at: heads) }
        status = .removed
        permission = .none
    }

    /// Invites an account again that was removed, under a new generation; others are unchanged.
    public mutating func inviteAgain(_ new: Permission, after heads: [ReplicaID: Position]) {
        guard status == .removed else { return }
        if new == .readWrite { open(after: heads) }
        status = .pending
        permission = new
        generation = generation == .max ? .max : generation + 1
    }

    /// Lets writing count from now on: what was written before the given positions while it was not allowed never does.
    ///
    /// To be called while the account may not write yet.
    public mutating func open(after heads: [ReplicaID: Position]) {
        for replica in Set(heads.keys).union(intervals.keys) {
            var known = intervals[replica] ?? []
            if known.last.map({ $0.to != nil }) ?? true {
                // Where no head is known, at least what was closed stays closed.
                known.append(Interval(from: max(heads[replica]?.sequence ?? 0, known.last?.to?.sequence ?? 0)))
            }
            intervals[replica] = known
        }
    }
}

/// What kind of zone.
public enum ZoneKind: String, Hashable, Sendable, CaseIterable { case privateZone, share, publicZone }

/// Who takes part in a zone and how: the content of one control file.
public struct Control: Hashable, Sendable {
    /// What kind of zone.
    public var kind: ZoneKind
    /// The share's title; empty for a private zone.
    public var title: String
    /// Who made the zone. Always writes, always counts.
    public var owner: AccountID
    /// The owner's label, for people.
    public var ownerLabel: String
    /// What people may do who were not invited.
    public var publicPermission: Permission
    /// Whether segments and assets are sealed.
    public var isSealed: Bool
    /// Whether the owner stopped the share.
    public var isStopped: Bool
    /// Everyone ever invited, the owner not among them.
    public var participants: [AccountID: Participant]

    /// A control from its parts.
    public init(
        kind: ZoneKind, title: String = "", owner: AccountID, ownerLabel: String = "",
        publicPermission: Permission = .none, isSealed: Bool = true, isStopped: Bool = false,
        participants: [AccountID: Participant] = [:]
    ) {
        self.kind = kind
        self.title = title
        self.owner = owner
        self.ownerLabel = ownerLabel
        self.publicPermission = publicPermission
        self.isSealed = isSealed
        self.isStopped = isStopped
        self.participants = participants
    }

    /// What an account may do at present.
    public func permission(of account: AccountID) -> Permission {
        if account == owner { return .readWrite }
        guard !isStopped, let participant = participants[account], participant.status != .removed else {
            return isStopped ? .none : publicPermission
        }
        return max(participant.permission, publicPermission)
    }

    /// Whether a segment counts: it is the owner's, or lies in an interval of its account.
    public func counts(_ account: AccountID, _ replica: ReplicaID, sequence: UInt64) -> Bool {
        account == owner || participants[account]?.counts(replica, sequence: sequence) == true
    }

    /// Everyone who may read: the owner and whoever was not removed.
    public var readers: Set<AccountID> {
        var result: Set = [owner]
        guard !isStopped else { return result }
        for participant in participants.values
        where participant.status != .removed && participant.permission > .none { result.insert(participant.account) }
        return result
    }
}
