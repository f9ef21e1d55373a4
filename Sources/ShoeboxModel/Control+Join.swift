extension Control {
    /// What holds when two controls of one zone were written without knowing of each other.
    ///
    /// Commutative, associative and idempotent. For each account the higher generation counts; of one generation the
    /// more restrictive, so that no removal is undone by somebody who did not know of it.
    public func joined(with other: Control) -> Control {
        var result = self
        result.kind = ZoneKind(rawValue: min(kind.rawValue, other.kind.rawValue)) ?? kind
        result.title = greater(title, other.title)
        result.owner = min(owner, other.owner)
        result.ownerLabel = greater(ownerLabel, other.ownerLabel)
        result.publicPermission = min(publicPermission, other.publicPermission)
        result.isSealed = isSealed || other.isSealed
        result.isStopped = isStopped || other.isStopped
        result.endPolicy = endPolicy == other.endPolicy ? endPolicy : .remove
        result.participants.merge(other.participants) { $0.joined(with: $1) }
        result.founder = [founder, other.founder].compactMap { $0 }.min { $0.account < $1.account }
        result.offer = offer == other.offer ? offer : nil
        result.joinDevicesAndLinks(of: other)
        return result
    }
}

extension Participant {
    /// Of two entries of one account the one of the higher generation; of equal ones, what both allow.
    public func joined(with other: Participant) -> Participant {
        if self == other { return self }
        if generation != other.generation { return generation > other.generation ? self : other }
        var result = self
        result.account = min(account, other.account)
        result.label = greater(label, other.label)
        let roles: [Role] = [.participant, .admin, .owner]
        result.role = roles.first { $0 == role || $0 == other.role } ?? .participant
        result.permission = min(permission, other.permission)
        let statuses: [ParticipantStatus] = [.removed, .accepted, .pending, .unknown]
        result.status = statuses.first { $0 == status || $0 == other.status } ?? .removed
        result.isPublic = isPublic && other.isPublic
        result.hasLeft = result.status == .removed && hasLeft(ifRemoved: self) && hasLeft(ifRemoved: other)
        result.hasDeclined = result.status == .removed && hasDeclined && other.hasDeclined
        result.joinKey = joinKey == other.joinKey ? joinKey : nil
        for replica in Set(intervals.keys).union(other.intervals.keys) {
            result.intervals[replica] = intersection(counted(replica), other.counted(replica))
        }
        return result
    }

    /// A removal by somebody else outweighs a leave; an entry that removes nobody says nothing of either.
    private func hasLeft(ifRemoved entry: Participant) -> Bool { entry.status != .removed || entry.hasLeft }
}

/// The segments that lie in an interval of each list, oldest first; never an empty interval.
private func intersection(_ left: [Interval], _ right: [Interval]) -> [Interval] {
    var result: [Interval] = []
    for first in left {
        for second in right {
            let from = max(first.from, second.from)
            let ends = [first.to, second.to].compactMap { $0 }
            let to = ends.min { ($0.sequence, $0.hash) < ($1.sequence, $1.hash) }
            if to.map({ $0.sequence > from }) ?? true {
                result.append(
                    Interval(
                        from: from, to: to, isOwnOnly: first.isOwnOnly || second.isOwnOnly,
                        isOwners: first.isOwners && second.isOwners))
            }
        }
    }
    return Set(result).sorted { left, right in
        (left.from, left.to?.sequence ?? .max, left.scope.rawValue)
            < (right.from, right.to?.sequence ?? .max, right.scope.rawValue)
    }
}

/// The greater text by bytes: a choice that every replica makes alike.
private func greater(_ left: String, _ right: String) -> String {
    left.utf8.lexicographicallyPrecedes(right.utf8) ? right : left
}
