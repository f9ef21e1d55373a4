public import ShoeboxModel

/// The one control that several tips mean together. Pure; the order of the tips does not matter.
///
/// Title and labels are the greatest version's. Of one account's entries the higher generation counts, at equal
/// generation the more restrictive of each part; what each tip lets count must be let count by all. Nil for no tips.
public func joinControls(_ tips: [(version: ControlVersion, control: Control)]) -> Control? {
    let ordered = tips.sorted { $0.version > $1.version }
    guard var result = ordered.first?.control else { return nil }
    for (_, other) in ordered.dropFirst() {
        result.publicPermission = min(result.publicPermission, other.publicPermission)
        result.isStopped = result.isStopped || other.isStopped
        for (account, participant) in other.participants {
            result.participants[account] = result.participants[account].map { join($0, participant) } ?? participant
        }
    }
    return result
}

private func join(_ left: Participant, _ right: Participant) -> Participant {
    guard left.generation == right.generation else { return left.generation > right.generation ? left : right }
    var result = left
    result.permission = min(left.permission, right.permission)
    result.status = statusRank(left.status) >= statusRank(right.status) ? left.status : right.status
    if left.role != right.role { result.role = .participant }
    for replica in Set(left.intervals.keys).union(right.intervals.keys) {
        result.intervals[replica] = intersect(counted(left, replica), counted(right, replica))
    }
    return result
}

private func statusRank(_ status: ParticipantStatus) -> Int { ParticipantStatus.allCases.firstIndex(of: status) ?? 0 }

/// The intervals in which a replica counts; one that is not listed counts throughout, or not at all.
private func counted(_ participant: Participant, _ replica: ReplicaID) -> [Interval] {
    participant.intervals[replica] ?? (participant.mayWrite ? [Interval()] : [])
}

private func intersect(_ left: [Interval], _ right: [Interval]) -> [Interval] {
    var result: Set<Interval> = []
    for one in left {
        for other in right {
            let end: Position? =
                switch (one.to, other.to) {
                case (let one?, let other?): (one.sequence, one.hash) <= (other.sequence, other.hash) ? one : other
                case (let one?, nil): one
                case (nil, let other): other
                }
            let joined = Interval(from: max(one.from, other.from), to: end)
            if end.map({ $0.sequence > joined.from }) ?? true { result.insert(joined) }
        }
    }
    return result.sorted { ($0.from, $0.to?.sequence ?? .max) < ($1.from, $1.to?.sequence ?? .max) }
}
