/// A change that a replica has published, with what a snapshot of its chain has to know of it.
public struct PublishedChange: Hashable, Sendable {
    /// The change.
    public var change: Change
    /// The number of the segment that it was first published in; this decides whether it counts, wherever it is repeated.
    public var sequence: UInt64
    /// Whether it counts, without limit and for good: nobody can come to refuse it any more.
    public var isSettled: Bool
    /// A change with these.
    public init(_ change: Change, sequence: UInt64, isSettled: Bool) {
        self.change = change
        self.sequence = sequence
        self.isSettled = isSettled
    }
}

/// What is left of a replica's own changes of one record once those are left out that its own later ones make superfluous.
///
/// With what is left, the record's state is the same as with all of them, together with any set of changes of others,
/// known or not: `RecordState.isSame(as:)`. So a reader of the one and a reader of the other never differ, also later.
/// Deletions and moves stay, and so does the first write, by which a record is told to be somebody's own.
///
/// - Parameters:
///   - changes: the replica's published changes of one record, in any order.
///   - replica: the replica.
/// - Returns: what is left, by number of the change; written fields may be fewer than they were.
public func folded(_ changes: [PublishedChange], of replica: ReplicaID) -> [PublishedChange] {
    let sorted = changes.sorted { ($0.change.dot, $0.sequence) < ($1.change.dot, $1.sequence) }
    guard sorted.count > 1 else { return sorted }
    var result: [PublishedChange] = []
    result.reserveCapacity(sorted.count)
    for (index, item) in sorted.enumerated() {
        let later = sorted[(index + 1)...].filter { supersedes($0, item, of: replica) }
        guard !later.isEmpty else {
            result.append(item)
            continue
        }
        switch item.change.action {
        case .moved: result.append(item)
        case .delete:
            let isRepeated = later.contains { other in
                guard case .delete = other.change.action else { return false }
                return true
            }
            if !isRepeated { result.append(item) }
        case .set(let fields):
            let rest = fields.filter { key, _ in
                key == .origin
                    || !later.contains { other in
                        guard case .set(let written) = other.change.action, written[key] != nil else { return false }
                        return !other.change.isDerived || item.change.isDerived
                    }
            }
            guard !rest.isEmpty || item.change.context.isEmpty else { continue }
            // What ties two records says both or nothing.
            let isTie = item.change.type == .photoTag || item.change.type == .rating
            var left = item
            if !isTie { left.change.action = .set(rest) }
            result.append(left)
        }
    }
    return result
}

/// Whether what one change wrote needs not be told any more where the other one is known, field by field: it was shown to
/// the other one's author, with all that its own author was shown.
private func supersedes(_ later: PublishedChange, _ item: PublishedChange, of replica: ReplicaID) -> Bool {
    let (new, old) = (later.change, item.change)
    guard later.isSettled, item.isSettled, new.record == old.record, new.type == old.type,
        new.dot.replica == replica, old.dot.replica == replica, new.dot.counter > old.dot.counter,
        new.forwards == nil, old.forwards == nil, old.movedFrom == nil
    else { return false }
    if case .delete = old.action, case .delete = new.action { return new.context.contains(old.context) }
    let context = new.context.below(new.dot)
    guard context.contains(old.dot), context.contains(old.context.below(old.dot)) else { return false }
    if case .set = new.action { return true }
    return false
}

extension RecordState {
    /// Whether this state and another one of the same record are the same to everybody, now and whatever is merged into
    /// both: equal but for deletions that another deletion makes superfluous.
    public func isSame(as other: RecordState) -> Bool {
        func essential(_ marks: [Mark]) -> Set<MarkEssence> {
            var result: Set<MarkEssence> = []
            for mark in marks {
                let isCovered = marks.contains { other in
                    mark.destination == nil && other.destination == nil && other.context != mark.context
                        && other.context.contains(mark.context)
                }
                guard !isCovered else { continue }
                result.insert(
                    MarkEssence(
                        dot: mark.destination == nil ? nil : mark.dot, context: mark.context,
                        destination: mark.destination))
            }
            return result
        }
        return name == other.name && type == other.type && fields == other.fields && vector == other.vector
            && origins == other.origins && hasShownTheSame(as: other)
            && essential(marks) == essential(other.marks)
    }
}

/// What of a mark decides anything.
private struct MarkEssence: Hashable {
    var dot: Dot?
    var context: VersionVector
    var destination: ZoneID?
}
