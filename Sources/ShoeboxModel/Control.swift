/// What somebody may do in a zone: each includes those before it.
public enum Permission: String, Hashable, Comparable, Sendable, CaseIterable {
    /// Nothing.
    case none
    /// See everything.
    case readOnly
    /// Also add, and change or delete what oneself added.
    case contribute
    /// Also change and delete what others added.
    case readWrite

    /// How far what is written under this permission counts.
    public var scope: WriteScope {
        switch self {
        case .none, .readOnly: .nothing
        case .contribute: .own
        case .readWrite: .all
        }
    }

    private var rank: Int { Permission.allCases.firstIndex(of: self) ?? 0 }
    public static func < (left: Self, right: Self) -> Bool { left.rank < right.rank }
}

/// How far what a replica published counts.
public enum WriteScope: Int64, Hashable, Comparable, Sendable, CaseIterable {
    /// Not at all.
    case nothing = 0
    /// New records, and changes of records that the same account made.
    case own = 1
    /// Any change of the account's own.
    case all = 2
    /// Also what others wrote, carried here from another zone: the owner's right.
    case carried = 3
    public static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
}

/// What becomes of a participant's local copies when it loses a share.
public enum EndPolicy: String, Hashable, Sendable, CaseIterable {
    /// They go to the trash; what was not published goes to the own library first.
    case remove
    /// All of them go to the own library.
    case keep
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
    /// Whether only changes of the account's own records count in it.
    public var isOwnOnly: Bool
    /// Whether the account owned the zone in it, so that what it carries of others counts too.
    public var isOwners: Bool
    /// An interval from its ends.
    public init(from: UInt64 = 0, to: Position? = nil, isOwnOnly: Bool = false, isOwners: Bool = false) {
        self.from = from
        self.to = to
        self.isOwnOnly = isOwnOnly
        self.isOwners = isOwners
    }
    /// How far what lies inside counts.
    public var scope: WriteScope { isOwnOnly ? .own : isOwners ? .carried : .all }
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
    /// Whether it joined by itself, by a public link.
    public var isPublic: Bool
    /// Of one that was removed: whether that was its own wish. It may come back without being asked again.
    public var hasLeft: Bool
    /// Of one that was removed: whether it never accepted, and said so.
    public var hasDeclined = false
    /// The key of the link that it came by; nil for one that was invited.
    public var joinKey: Digest32?
    /// Where each known replica's segments count, oldest first. A replica that is not listed counts from its start
    /// as far as the account may write now.
    public var intervals: [ReplicaID: [Interval]]

    /// A participant from its parts.
    public init(
        account: AccountID, label: String, role: Role = .participant, permission: Permission = .readOnly,
        status: ParticipantStatus = .pending, generation: UInt64 = 1, isPublic: Bool = false, hasLeft: Bool = false,
        intervals: [ReplicaID: [Interval]] = [:]
    ) {
        self.account = account
        self.label = label
        self.role = role
        self.permission = permission
        self.status = status
        self.generation = generation
        self.isPublic = isPublic
        self.hasLeft = hasLeft
        self.intervals = intervals
    }

    /// Whether the account takes part at present.
    public var takesPart: Bool { status != .removed }

    /// Whether the account may manage people at present.
    public var isAdmin: Bool { takesPart && role == .admin && permission == .readWrite }

    /// How far what the account writes at present counts.
    public var scope: WriteScope { !takesPart ? .nothing : role == .owner ? .carried : permission.scope }

    /// How far a replica's segment counts, whenever it claims to have been written.
    public func scope(of replica: ReplicaID, sequence: UInt64) -> WriteScope {
        guard let known = intervals[replica] else { return scope }
        return known.filter { $0.contains(sequence) }.map(\.scope).max() ?? .nothing
    }

    /// Whether a replica's segment counts at all.
    public func counts(_ replica: ReplicaID, sequence: UInt64) -> Bool {
        scope(of: replica, sequence: sequence) > .nothing
    }

    /// Where a replica counts: one that is not listed from its start, as far as the account may write.
    func counted(_ replica: ReplicaID) -> [Interval] {
        intervals[replica]
            ?? (scope > .nothing ? [Interval(isOwnOnly: scope == .own, isOwners: scope == .carried)] : [])
    }

    /// Takes writing away as of the given positions: what the owner accepted is the last that counts.
    ///
    /// To be called **before** `permission` or `status` change: what an account wrote that might not write at the time
    /// never comes to count by being closed.
    public mutating func close(at heads: [ReplicaID: Position]) {
        for replica in Set(heads.keys).union(intervals.keys) {
            let head = heads[replica] ?? .start
            var known = counted(replica)
            if let last = known.last, last.to == nil {
                known[known.count - 1].to = head
            }
            intervals[replica] = known
        }
    }

    /// Sets what the account may do from now on, with the intervals that follow; `heads` are the last accepted segments.
    public mutating func setPermission(_ new: Permission, at heads: [ReplicaID: Position]) {
        defer { permission = new }
        guard takesPart, new.scope != permission.scope else { return }
        if permission.scope > .nothing { close(at: heads) }
        if new.scope > .nothing { open(new.scope, after: heads) }
    }

    /// Gives the account another part in the zone, that of the owner among them, with the intervals that follow.
    mutating func change(to role: Role, _ permission: Permission, at heads: [ReplicaID: Position]) {
        if scope > .nothing { close(at: heads) }
        (self.role, self.permission) = (role, permission)
        if scope > .nothing { open(scope, after: heads) }
    }

    /// Takes the account out of the zone; what the owner accepted of it is the last that counts.
    public mutating func remove(at heads: [ReplicaID: Position], byOwnWish: Bool = false) {
        if scope > .nothing { close(at: heads) }
        status = .removed
        // Who left comes back with what it had.
        if !byOwnWish { permission = .none }
        role = .participant
        hasLeft = byOwnWish
    }

    /// Invites an account again that was removed, under a new generation; others are unchanged.
    public mutating func inviteAgain(_ new: Permission, after heads: [ReplicaID: Position]) {
        guard status == .removed else { return }
        if new.scope > .nothing { open(new.scope, after: heads) }
        status = .pending
        permission = new
        role = .participant
        isPublic = false
        hasLeft = false
        hasDeclined = false
        joinKey = nil
        generation = generation == .max ? .max : generation + 1
    }

    /// Lets writing count from now on: what was written before the given positions while it was not allowed never does.
    ///
    /// To be called while no interval is open.
    private mutating func open(_ scope: WriteScope, after heads: [ReplicaID: Position]) {
        for replica in Set(heads.keys).union(intervals.keys) {
            var known = intervals[replica] ?? []
            if known.last.map({ $0.to != nil }) ?? true {
                // Where no head is known, at least what was closed stays closed.
                known.append(
                    Interval(
                        from: max(heads[replica]?.sequence ?? 0, known.last?.to?.sequence ?? 0),
                        isOwnOnly: scope == .own, isOwners: scope == .carried))
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
    /// Who owns the zone: who made it, or to whom it was handed over. Always writes, always counts.
    public var owner: AccountID
    /// The owner's label, for people.
    public var ownerLabel: String
    /// What people may do who were not invited.
    public var publicPermission: Permission
    /// Whether segments and assets are sealed.
    public var isSealed: Bool
    /// Whether the owner stopped the share.
    public var isStopped: Bool
    /// What becomes of the participants' copies when the share ends for them.
    public var endPolicy: EndPolicy
    /// Everyone ever invited; the owner is among them only where the zone was handed over.
    public var participants: [AccountID: Participant]
    /// Who made the zone, where it is not the owner any more.
    public var founder: Founder?
    /// To whom the owner offers the zone; nil for nobody.
    public var offer: TransferOffer?
    /// Devices that their accounts retired, by their keys: the last segment of each of their replicas that counts. Of
    /// a replica that is not listed nothing does.
    public var retired: [Digest32: [ReplicaID: Position]] = [:]
    /// The agreement key of each reader that the zone's key was wrapped for; set where a control is published.
    public var keyedFor: [AccountID: Digest32] = [:]
    /// The links by which people come who were not invited, by their keys.
    public var links: [Digest32: JoinLink] = [:]

    /// A control from its parts.
    public init(
        kind: ZoneKind, title: String = "", owner: AccountID, ownerLabel: String = "",
        publicPermission: Permission = .none, isSealed: Bool = true, isStopped: Bool = false,
        endPolicy: EndPolicy = .remove, participants: [AccountID: Participant] = [:]
    ) {
        self.kind = kind
        self.title = title
        self.owner = owner
        self.ownerLabel = ownerLabel
        self.publicPermission = publicPermission
        self.isSealed = isSealed
        self.isStopped = isStopped
        self.endPolicy = endPolicy
        self.participants = participants
    }

    /// What an account may do at present: what it is listed with; one that is not listed, or left, what everybody may.
    /// Who was removed stays out, whatever everybody may.
    public func permission(of account: AccountID) -> Permission {
        if account == owner { return .readWrite }
        guard !isStopped else { return .none }
        guard let participant = participants[account] else { return publicPermission }
        if participant.takesPart { return participant.permission }
        return participant.hasLeft ? publicPermission : .none
    }

    /// Whether an account may manage people at present.
    public func isAdmin(_ account: AccountID) -> Bool { participants[account]?.isAdmin == true }

    /// How far a segment counts: the owner's always do, others' as the intervals of its account say; those of a retired
    /// device up to where it was retired.
    ///
    /// - Parameter device: who signed it; nil if that is not known, and then a retired device is known by its replicas.
    public func scope(
        _ account: AccountID, _ replica: ReplicaID, sequence: UInt64, device: Digest32? = nil
    ) -> WriteScope {
        let pins = device.flatMap { retired[$0] } ?? retired.values.first { $0[replica] != nil }
        if let pins, sequence > pins[replica]?.sequence ?? 0 { return .nothing }
        if let participant = participants[account] { return participant.scope(of: replica, sequence: sequence) }
        return account == owner ? .carried : .nothing
    }

    /// Whether a segment counts at all.
    public func counts(_ account: AccountID, _ replica: ReplicaID, sequence: UInt64) -> Bool {
        scope(account, replica, sequence: sequence) > .nothing
    }

    /// Everyone who takes part at present besides the owner.
    public var guests: [Participant] { participants.values.filter { $0.takesPart && $0.account != owner } }

    /// Everyone who may read: the owner and whoever was not removed.
    public var readers: Set<AccountID> {
        var result: Set = [owner]
        guard !isStopped else { return result }
        for participant in participants.values where participant.takesPart && participant.permission > .none {
            result.insert(participant.account)
        }
        return result
    }
}
