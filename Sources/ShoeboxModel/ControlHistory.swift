/// One control file, as what its place in the history says.
public struct ControlNode: Hashable, Sendable {
    /// The file's hash, by which others name it as their parent.
    public var hash: Digest32
    /// Greater than that of every parent.
    public var version: UInt64
    /// The files that its author had merged; not all of them need be known.
    public var parents: Set<Digest32>
    /// Who signed.
    public var signer: AccountID
    /// What it says: all of it, not only what it changes.
    public var control: Control
    /// The hand-overs of the zone before it, oldest first, by their files.
    public var lineage: [Digest32]

    /// A node from its parts.
    public init(
        hash: Digest32, version: UInt64, parents: Set<Digest32>, signer: AccountID, control: Control,
        lineage: [Digest32] = []
    ) {
        self.lineage = lineage
        self.hash = hash
        self.version = version
        self.parents = parents
        self.signer = signer
        self.control = control
    }
}

/// Why a control file counts for nothing.
public enum ControlRefusal: Hashable, Sendable {
    /// It names files that are not known (yet), so that its author's standing can't be judged.
    case waiting
    /// Its author was neither the owner nor an admin by what it names, or it changes what an admin may not.
    case notPermitted
    /// Its author is no admin, or not the owner, any more, and no device of the owner had merged it before that.
    case withdrawn
    /// Its numbers do not fit together, or it is of another owner.
    case malformed
}

/// What the controls of a zone mean together.
public struct ControlOutcome: Hashable, Sendable {
    /// What is in force.
    public var control: Control
    /// The files that count and that no other file that counts has merged, by version and hash; the parents of the next.
    public var tips: [ControlNode]
    /// The files that count for nothing.
    public var refused: [Digest32: ControlRefusal]
    /// The files that count.
    public var counted: Set<Digest32>
}

/// What a set of control files means: a pure function of the set, whatever the order in which they came to be known.
///
/// A file *writes* what it says otherwise than the files before it (its ancestors) do. Of each thing, the title, one
/// participant, the writes count that no other one has seen, joined (`Control.joined`) if there are several; so what
/// somebody did not touch undoes nothing that somebody else did at the same time.
///
/// The owner's files count. An admin's counts if the admin was one by the files it names, if it changes nothing but what an
/// admin may, and if its standing was not taken away meanwhile: either a device of the owner merged it while the signer was
/// an admin, or the signer is one by all that the owner's devices have written. So what somebody signs with old parents
/// after having been put down counts for nothing, whatever times it claims; times decide nothing here. Only the owner
/// makes and unmakes admins, which is why the owner's files alone say who was one.
///
/// Who the owner is, is said by the hand-overs (`Succession`). Of what a former owner signed counts what the hand-over had
/// merged, and then what an admin may, if it is one.
///
/// The set may leave out what lies before a file of the owner through which all paths to older files lead.
public func resolveControls(
    _ nodes: some Sequence<ControlNode>, succession: Succession
) -> ControlOutcome? {
    var resolver = ControlResolver(nodes, succession)
    return resolver.resolve()
}

/// The same for a zone that was never handed over.
public func resolveControls(_ nodes: some Sequence<ControlNode>, owner: AccountID) -> ControlOutcome? {
    resolveControls(nodes, succession: Succession(founder: owner))
}

/// Whether an admin may turn one control into another: people who are no admins, and the title; nothing of the owner's, of
/// the admins' or of its own; no interval that was closed is opened again; a new generation only for who was removed.
public func isPermitted(_ new: Control, after old: Control, to admin: AccountID) -> Bool {
    var frame = new
    // Whom the key was wrapped for is no choice of the author's.
    (frame.title, frame.participants, frame.keyedFor) = (old.title, old.participants, old.keyedFor)
    guard frame == old, !old.isStopped, old.kind == .share, old.isAdmin(admin) else { return false }
    guard Set(old.participants.keys).isSubset(of: new.participants.keys) else { return false }
    return new.participants.allSatisfy { account, participant in
        guard participant != old.participants[account] else { return true }
        guard account != old.owner, account != admin, participant.account == account, participant.role == .participant
        else { return false }
        // Nobody becomes somebody who was the owner once.
        for (replica, intervals) in participant.intervals {
            let owned = intervals.filter(\.isOwners).count
            guard owned == old.participants[account]?.intervals[replica]?.filter(\.isOwners).count ?? 0 else {
                return false
            }
        }
        guard let former = old.participants[account] else {
            return participant.generation == 1 && participant.status == .pending
        }
        guard !former.isAdmin else { return false }
        let isInvitedAgain =
            former.status == .removed && participant.takesPart && former.generation < .max
            && participant.generation == former.generation + 1
        guard
            participant.generation == former.generation && !(former.status == .removed && participant.takesPart)
                || isInvitedAgain
        else { return false }
        return former.intervals.allSatisfy { replica, intervals in
            guard let now = participant.intervals[replica], now.count >= intervals.count else { return false }
            return zip(intervals, now).allSatisfy { before, after in
                before == after
                    || (before.to == nil && before.from == after.from && before.scope == after.scope)
            }
        }
    }
}

extension Control {
    /// This control with what an admin may change, changed as from one control to another.
    fileprivate func changed(as new: Control, from old: Control) -> Control {
        var result = self
        if new.title != old.title { result.title = new.title }
        for (account, participant) in new.participants where old.participants[account] != participant {
            result.participants[account] = participant
        }
        return result
    }
}

/// The work of `resolveControls`.
private struct ControlResolver {
    /// What one file can write without touching the rest.
    private enum Register: Hashable {
        case title, publicPermission, isStopped, endPolicy, offer
        case participant(AccountID)
        case link(Digest32)
    }

    private let succession: Succession
    /// By version, then by hash: ancestors before descendants.
    private let ordered: [ControlNode]
    private let byHash: [Digest32: ControlNode]
    private var ancestors: [Digest32: Set<Digest32>] = [:]
    private var writes: [Digest32: Set<Register>] = [:]
    /// Which accounts the owner's file makes or unmakes admins.
    private var roleWrites: [Digest32: Set<AccountID>] = [:]
    /// Files whose author was allowed to write them, by their own ancestors.
    private var authorised: Set<Digest32> = []
    private var refused: [Digest32: ControlRefusal] = [:]
    /// Hand-overs that another one counts for, to the same account.
    private var twins: Set<Digest32> = []
    private var admins: [Set<Digest32>: Set<AccountID>] = [:]

    init(_ nodes: some Sequence<ControlNode>, _ succession: Succession) {
        self.succession = succession
        var byHash: [Digest32: ControlNode] = [:]
        for node in nodes { byHash[node.hash] = node }
        self.byHash = byHash
        ordered = byHash.values.sorted { ($0.version, $0.hash) < ($1.version, $1.hash) }
    }

    mutating func resolve() -> ControlOutcome? {
        for node in ordered {
            var past = node.parents.filter { byHash[$0] != nil }
            for parent in past { past.formUnion(ancestors[parent] ?? []) }
            ancestors[node.hash] = past
        }
        for node in ordered { judge(node) }
        let all = Set(authorised)
        let counted = counted(among: all)
        for hash in all.subtracting(counted) { refused[hash] = .withdrawn }
        guard let control = state(of: all) else { return nil }
        let merged = counted.reduce(into: Set<Digest32>()) { $0.formUnion(ancestors[$1] ?? []) }
        return ControlOutcome(
            control: control, tips: ordered.filter { counted.contains($0.hash) && !merged.contains($0.hash) },
            refused: refused, counted: counted)
    }

    /// Says what a file writes, and whether its author might write it. Its ancestors are judged before.
    private mutating func judge(_ node: ControlNode) {
        let known = node.parents.filter { byHash[$0] != nil }
        // Exactly the next one, as far as it can be told: nothing would come after the greatest of all.
        let versions = known.compactMap { byHash[$0]?.version }
        guard versions.allSatisfy({ $0 < node.version }),
            known.count < node.parents.count || versions.max().map({ $0 == node.version - 1 }) ?? true
        else {
            refused[node.hash] = .malformed
            return
        }
        guard succession.holds(node.lineage) else {
            refused[node.hash] = .withdrawn
            return
        }
        guard node.control.owner == owner(by: node) else {
            refused[node.hash] = .malformed
            return
        }
        let valid = (ancestors[node.hash] ?? []).intersection(authorised)
        let before = state(of: valid)
        if isOwners(node) {
            // Of what a former owner signed counts only what lies before the file by which it handed the zone over.
            let end = node.lineage.count < succession.handovers.count ? succession.handovers[node.lineage.count] : nil
            guard end == nil || end?.hash == node.hash || ancestors[end?.hash ?? node.hash]?.contains(node.hash) == true
            else {
                refused[node.hash] = .withdrawn
                if succession.isHandover(node.hash, after: node.lineage.count) {
                    noteWrites(of: node, before: before, valid)
                    twins.insert(node.hash)
                }
                return
            }
            if let before, (before.kind, before.isSealed) != (node.control.kind, node.control.isSealed) {
                refused[node.hash] = .malformed
                return
            }
            noteWrites(of: node, before: before, valid)
        } else {
            guard let before, known.count == node.parents.count, known.allSatisfy({ refused[$0] != .waiting }) else {
                refused[node.hash] = .waiting
                return
            }
            guard adminsByOwner(in: valid).contains(node.signer),
                let seen = seen(by: node, valid), seen.retired == before.retired,
                isPermitted(node.control, after: seen, to: node.signer),
                seen == before
                    || isPermitted(before.changed(as: node.control, from: seen), after: before, to: node.signer)
            else {
                refused[node.hash] = .notPermitted
                return
            }
            writes[node.hash] = changed(from: seen, to: node.control)
        }
        authorised.insert(node.hash)
    }

    /// Notes what a file of the owner writes.
    private mutating func noteWrites(of node: ControlNode, before: Control?, _ valid: Set<Digest32>) {
        let present = Set(node.control.participants.values.filter(\.isAdmin).map(\.account))
        roleWrites[node.hash] = adminsByOwner(in: valid).symmetricDifference(present)
        writes[node.hash] = changed(from: before, to: node.control)
    }

    /// What the author of a file has seen: also what a hand-over says that is passed over for another one to the same
    /// account. It says nothing of what the author may do.
    private mutating func seen(by node: ControlNode, _ valid: Set<Digest32>) -> Control? {
        state(of: valid.union((ancestors[node.hash] ?? []).intersection(twins)))
    }

    /// Whether the file is signed by who owned the zone then.
    private func isOwners(_ node: ControlNode) -> Bool { node.signer == succession.owner(after: node.lineage.count) }

    /// How many hand-overs lie behind somebody who has seen the file.
    private func depth(_ node: ControlNode) -> Int {
        let count = node.lineage.count
        return succession.isHandover(node.hash, after: count) ? count + 1 : count
    }

    /// Who owns the zone by a file.
    private func owner(by node: ControlNode) -> AccountID? { succession.owner(after: depth(node)) }

    private func changed(from old: Control?, to new: Control) -> Set<Register> {
        var result: Set<Register> = []
        if old?.offer != new.offer { result.insert(.offer) }
        if old?.title != new.title { result.insert(.title) }
        if old?.publicPermission != new.publicPermission { result.insert(.publicPermission) }
        if old?.isStopped != new.isStopped { result.insert(.isStopped) }
        if old?.endPolicy != new.endPolicy { result.insert(.endPolicy) }
        for (account, participant) in new.participants where old?.participants[account] != participant {
            result.insert(.participant(account))
        }
        for (key, link) in new.links where old?.links[key] != link { result.insert(.link(key)) }
        return result
    }

    /// Of these files, with all their ancestors among them, those that count.
    private mutating func counted(among files: Set<Digest32>) -> Set<Digest32> {
        var result: Set<Digest32> = []
        for hash in files {
            guard let node = byHash[hash] else { continue }
            if isOwners(node) || stands(node, among: files) { result.insert(hash) }
        }
        return result
    }

    /// Whether an admin's file holds against what the owner has written of that admin.
    private mutating func stands(_ node: ControlNode, among files: Set<Digest32>) -> Bool {
        let mergers = files.filter {
            byHash[$0].map(isOwners) == true && ancestors[$0]?.contains(node.hash) == true
        }
        let first = mergers.filter { merger in
            !mergers.contains { $0 != merger && ancestors[merger]?.contains($0) == true }
        }
        guard !first.isEmpty else { return adminsByOwner(in: files).contains(node.signer) }
        return first.contains { merger in
            adminsByOwner(in: (ancestors[merger] ?? []).intersection(authorised)).contains(node.signer)
        }
    }

    /// The admins by what the owner wrote in these files: where two files contradict, it is none.
    private mutating func adminsByOwner(in files: Set<Digest32>) -> Set<AccountID> {
        let mine = files.filter { byHash[$0].map(isOwners) == true }
        if let known = admins[mine] { return known }
        var verdicts: [AccountID: Bool] = [:]
        for hash in mine {
            for account in roleWrites[hash] ?? [] {
                let isNewer = mine.contains {
                    ancestors[$0]?.contains(hash) == true && roleWrites[$0]?.contains(account) == true
                }
                guard !isNewer else { continue }
                let isAdmin = byHash[hash]?.control.isAdmin(account) == true
                verdicts[account] = isAdmin && verdicts[account] ?? true
            }
        }
        let result = Set(verdicts.filter(\.value).keys)
        admins[mine] = result
        return result
    }

    /// What these files mean; their ancestors are among them. Nil for none.
    private mutating func state(of files: Set<Digest32>) -> Control? {
        let counted = counted(among: files)
        guard
            var result = counted.compactMap({ byHash[$0] }).min(by: { ($0.version, $0.hash) < ($1.version, $1.hash) })?
                .control
        else { return nil }
        (result.participants, result.links, result.retired) = ([:], [:], [:])
        // Of the files that know of the last hand-over, the first says who owns the zone and who made it; one of an owner.
        let newest = counted.compactMap { byHash[$0] }.min {
            let (left, right) = (depth($0), depth($1))
            guard left == right else { return left > right }
            let (isLeft, isRight) = (isOwners($0), isOwners($1))
            return isLeft == isRight ? ($0.version, $0.hash) < ($1.version, $1.hash) : isLeft
        }
        if let control = newest?.control {
            (result.owner, result.ownerLabel, result.founder) = (control.owner, control.ownerLabel, control.founder)
        }
        let merged = counted.reduce(into: Set<Digest32>()) { $0.formUnion(ancestors[$1] ?? []) }
        let last = counted.subtracting(merged).compactMap { byHash[$0]?.control }
        if let first = last.first {
            var joined = first
            for control in last.dropFirst() { joined.joinDevicesAndLinks(of: control) }
            (result.retired, result.keyedFor) = (joined.retired, joined.keyedFor)
        }
        var writers: [Register: [Digest32]] = [:]
        for hash in counted { for register in writes[hash] ?? [] { writers[register, default: []].append(hash) } }
        for (register, hashes) in writers {
            let newest = hashes.filter { hash in
                !hashes.contains { ancestors[$0]?.contains(hash) == true }
            }
            let values = newest.compactMap { byHash[$0]?.control }
            guard var joined = values.first else { continue }
            for value in values.dropFirst() { joined = joined.joined(with: value) }
            switch register {
            case .title: result.title = joined.title
            case .publicPermission: result.publicPermission = joined.publicPermission
            case .isStopped: result.isStopped = joined.isStopped
            case .endPolicy: result.endPolicy = joined.endPolicy
            case .offer: result.offer = joined.offer
            case .link(let key): result.links[key] = joined.links[key]
            case .participant(let account): result.participants[account] = joined.participants[account]
            }
        }
        let admins = adminsByOwner(in: files)
        for (account, participant) in result.participants where participant.takesPart {
            result.participants[account]?.role =
                account == result.owner ? .owner : admins.contains(account) ? .admin : .participant
        }
        return result
    }
}
