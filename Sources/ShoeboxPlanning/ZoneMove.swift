public import ShoeboxModel

/// The changes that move one record to another zone: first `arrival` is written in the new zone, then `mark` in the old
/// one, so that at every instant the record is in one of the two.
public struct ZoneMove: Hashable, Sendable {
    /// For the new zone: what was known of the record, and last one new change with its place there.
    public var arrival: [Change]
    /// For the old zone: where the record went, with what the mover was shown there.
    public var mark: Change
}

/// Plans the move of one record to another zone.
///
/// Values travel with their dots, contexts, timestamps and authors, so that sharing and stopping make nothing look
/// newer than it is. The new change's context takes in all that both zones have of the record: an earlier `moved` mark
/// in the new zone is void by it, and the record is back there.
/// - Parameters:
///   - changes: all accepted changes of the record in the old zone; only what the mover was shown.
///   - existing: all accepted changes of the record in the new zone; empty unless it was there before.
///   - from: the old zone.
///   - to: the new one.
///   - fields: the place in the new zone, `parent` and `name`; empty for a record without one.
///   - rewriting: what is written anew in the new zone at once, besides.
///   - isDerived: whether nobody edited the record by this, as when its folder was shared: a deletion by somebody who
///     knew nothing of the move then counts all the same.
///   - leavesPast: whether what was overwritten stays behind, as others read the new zone: see `withoutPast`.
///   - leavesLosers: whether contents that lost stay behind, too; they must have their copies by then.
///   - nextDot: makes the identity of the next new change.
/// - Returns: nil for no changes, or changes of another record.
public func planZoneMove(
    of changes: [Change], existing: [Change] = [], from: ZoneID, to: ZoneID, fields: [FieldKey: Value],
    rewriting: Set<FieldKey> = [], timestamp: HybridTimestamp, author: AccountID, isDerived: Bool = false,
    leavesPast: Bool = false, leavesLosers: Bool = false, nextDot: () -> Dot
) -> ZoneMove? {
    guard let old = RecordState(changes) else { return nil }
    var shown = old.vector
    if let present = RecordState(existing) { shown.formUnion(present.vector) }
    let known = Set(existing.map(\.identity))
    var arrival = changes.filter { $0.record == old.name && !$0.action.isMove && !known.contains($0.identity) }
    arrival.sort { $0.dot < $1.dot }
    if leavesPast, let state = RecordState(changes + existing) {
        // Who renames it on the way overwrites the name that it had.
        let renewed = rewriting.union(isDerived ? [] : Set(fields.keys))
        arrival = arrival.map { change in
            withoutPast(
                change, renewed, leavesLosers: leavesLosers, in: state, timestamp: timestamp, author: author,
                nextDot: nextDot)
        }
    }
    for index in arrival.indices { arrival[index].movedFrom = from }
    arrival.append(
        Change(
            record: old.name, type: old.type, dot: nextDot(), context: shown, timestamp: timestamp, author: author,
            action: .set(fields), isDerived: isDerived, movedFrom: from))
    let mark = Change(
        record: old.name, type: old.type, dot: nextDot(), context: old.vector, timestamp: timestamp, author: author,
        action: .moved(to: to), isDerived: isDerived)
    return ZoneMove(arrival: arrival, mark: mark)
}

/// A change as those are to see it who were not let into the zone that it was made in: without what was overwritten
/// there.
///
/// Where something is left out it has a dot of its own and `forwards` the original's, so that what two devices leave
/// out by what each of them knows is one change all the same. One of which nothing is left only says that it is known:
/// whoever sees both zones must not take it for an edit that has still to be brought, and nobody learns whose it was,
/// nor when.
/// - Parameters:
///   - renewed: what the move itself writes anew.
///   - state: of the record, with all that is known of it.
///   - timestamp: when it is brought.
///   - author: who brings it.
private func withoutPast(
    _ change: Change, _ renewed: Set<FieldKey>, leavesLosers: Bool, in state: RecordState, timestamp: HybridTimestamp,
    author: AccountID,
    nextDot: () -> Dot
) -> Change {
    guard case .set(let fields) = change.action else { return change }
    var kept = fields.present(of: change.identity, in: state).filter { $0.key == .parent || !renewed.contains($0.key) }
    // A content that lost shows in a copy, which goes where its user takes it.
    if leavesLosers, let shown = state.fields[.content]?.winner, !shown.value.isSame(as: fields[.content] ?? .null) {
        kept[.content] = nil
        if fields[.content] != nil { kept[.modified] = nil }
    }
    guard kept.count < fields.count else { return change }
    var rest = change
    rest.action = .set(kept)
    rest.forwards = change.identity
    rest.dot = nextDot()
    if kept.isEmpty { (rest.timestamp, rest.author) = (timestamp, author) }
    return rest
}

/// The edits of a record that were made in its old zone by somebody who did not know of the move, as changes for its
/// home.
///
/// Each has the original's context, timestamp and author, and `forwards` its dot, by which several forwards of one edit
/// are one. A parent folder is left behind unless the home has it: the record would vanish from the tree. Deletions are
/// forwarded too; they cover what their author was shown and no more.
/// - Parameters:
///   - old: all accepted changes of the record in the old zone.
///   - home: all accepted changes of the record in its home.
///   - zone: the home.
///   - leavesPast: whether what was overwritten meanwhile stays behind, as others read the home.
///   - hasFolder: whether the home has a folder record of this name.
///   - nextDot: makes the identity of the next new change.
/// - Returns: in the order of the original dots; empty when all has arrived.
public func forwardedEdits(
    old: [Change], home: [Change], zone: ZoneID, leavesPast: Bool = false,
    hasFolder: (RecordName) -> Bool = { _ in false }, nextDot: () -> Dot
) -> [Change] {
    let arrived = Set(home.map(\.identity))
    let marks = old.filter { $0.action == .moved(to: zone) }
    let missing = old.filter { change in
        !change.action.isMove && !arrived.contains(change.identity)
            && !marks.contains { $0.context.contains(change.identity) }
    }
    let state = leavesPast && !missing.isEmpty ? RecordState(old + home) : nil
    return missing.sorted { $0.identity < $1.identity }.compactMap { change in
        var forwarded = change
        if case .set(var fields) = change.action {
            if let parent = fields[.parent]?.reference, !hasFolder(parent) { fields[.parent] = nil }
            // The old zone's root says nothing about the new one.
            if fields[.parent] == .null { fields[.parent] = nil }
            guard !fields.isEmpty else { return nil }
            forwarded.action = .set(state.map { fields.present(of: change.identity, in: $0) } ?? fields)
        }
        forwarded.forwards = change.identity
        forwarded.movedFrom = nil
        forwarded.dot = nextDot()
        return forwarded
    }
}

/// What others wrote of a record in a zone after they had been shown that it had left, and had not come back: that says
/// nothing of the record where it is by now, where they may have no say.
///
/// What was brought from another zone was written in sight of what that had.
/// - Parameters:
///   - changes: all accepted changes of the record in the zone.
///   - account: whose zone it is.
/// - Returns: their identities; what somebody wrote who saw nothing but such a change is one, too.
public func writtenAfterLeaving(_ changes: [Change], of account: AccountID) -> Set<Dot> {
    let marks = changes.filter(\.action.isMove).map(\.identity)
    guard !marks.isEmpty else { return [] }
    func isCandidate(_ change: Change) -> Bool {
        guard change.author != account, case .set = change.action, change.forwards == nil, change.movedFrom == nil
        else {
            return false
        }
        return marks.contains(where: change.context.contains)
    }
    var others: [Change] = []
    var candidates: [Change] = []
    for change in changes { if isCandidate(change) { candidates.append(change) } else { others.append(change) } }
    // Whoever writes that often into one photo means no photo.
    guard candidates.count * changes.count <= 1 << 18 else { return Set(candidates.map(\.identity)) }
    var result: Set<Dot> = []
    for change in byCause(candidates) {
        if RecordState(others.filter { change.context.contains($0.identity) })?.movedTo != nil {
            result.insert(change.identity)
        } else {
            others.append(change)
        }
    }
    return result
}

/// Whether a record shows nothing without some of its changes: it is theirs, also once it is deleted again.
public func isMade(of changes: [Change], by some: Set<Dot>) -> Bool {
    !some.isEmpty && RecordState(changes.filter { !some.contains($0.identity) })?.isLive != true
}

/// Changes in an order in which each comes after those that its author had been shown, whatever their clocks say; where they
/// claim to have seen each other, the older ones come first.
private func byCause(_ changes: [Change]) -> [Change] {
    var left = changes.sorted { ($0.timestamp, $0.identity) < ($1.timestamp, $1.identity) }
    var result: [Change] = []
    while !left.isEmpty {
        let index = left.firstIndex { change in
            !left.contains { $0.identity != change.identity && change.context.contains($0.identity) }
        }
        result.append(left.remove(at: index ?? 0))
    }
    return result
}

/// The zone that a record lives in, of all zones that have changes of it; nil when it is live in none.
///
/// The zone that a move went to counts as soon as it is seen, before the mark in the old zone is. What is written where the
/// record was, also by who knows that it left, brings it back no more than that: it follows to where the moves lead. After two
/// moves of one record the private zone is its home if it was taken out there, so that nothing private is told; else that
/// which a person meant, not one that only followed a folder or a share that was stopped; of two of a kind the private one,
/// and else the smaller zone id. The record in the other zone is then to be moved there.
///
/// - Parameters:
///   - states: of the record, in each zone that it may live in.
///   - ended: of the record, in zones that it can't live in any more, for where it went from there.
///   - untold: where it went from zones that don't say so yet.
///   - privateZone: the account's own.
public func homeZone(
    of states: [ZoneID: RecordState], leaving ended: [ZoneID: RecordState] = [:],
    untold: [ZoneID: Set<ZoneID>] = [:], private privateZone: ZoneID? = nil
) -> ZoneID? {
    let live = states.filter { $0.value.isLive }
    /// The zones that moves out of one lead to, on and on.
    func destinations(of zone: ZoneID) -> Set<ZoneID> {
        var reached: Set<ZoneID> = []
        var queue = [zone]
        while let next = queue.popLast() {
            let told = ((states[next] ?? ended[next])?.departures ?? []).compactMap(\.destination)
            for destination in untold[next, default: []].union(told)
            where reached.insert(destination).inserted { queue.append(destination) }
        }
        return reached
    }
    let reached = Dictionary(uniqueKeysWithValues: live.keys.map { ($0, destinations(of: $0)) })
    /// Whether the record left this zone for another that has it, and has not come back since.
    func isLeft(_ zone: ZoneID, _ state: RecordState) -> Bool {
        live.contains { other, otherState in
            guard other != zone else { return false }
            let (leads, leadsBack) = (reached[zone]?.contains(other) == true, reached[other]?.contains(zone) == true)
            if leads != leadsBack { return leads }
            guard otherState.origins.contains(zone) else { return false }
            guard state.origins.contains(other), state.hasReturned(from: other) else { return true }
            // It was there and back again, perhaps several times: who wrote last knew of the other, and not the other way
            // round. The mark that says so may not be seen yet.
            return otherState.isWritten(knowing: state) && !state.isWritten(knowing: otherState)
        }
    }
    let candidates = live.filter { !isLeft($0.key, $0.value) }.keys
    let meant = Set(
        (Array(states.values) + ended.values).flatMap(\.departures).filter { !$0.isDerived }.compactMap(\.destination))
    if let privateZone, candidates.contains(privateZone) {
        // Also with its folder; but what only came home from a share that has ended is where its user took it.
        let isTakenOut = states.values.contains { $0.departures.contains { $0.destination == privateZone } }
        if isTakenOut || meant.contains(privateZone) || meant.isDisjoint(with: candidates) { return privateZone }
    }
    return candidates.filter(meant.contains).min() ?? candidates.min() ?? live.keys.min()
}

/// The zone that a record has to come back to since each zone says that it is in another one: two devices moved it, and
/// only one of them knew that it had come back. Nil if it is live or was deleted, or may be where this device can't look.
///
/// - Parameters:
///   - changes: all accepted changes of the record in each zone that it was ever in, as far as they are known.
///   - privateZone: the one to prefer.
public func strandedHome(of changes: [ZoneID: [Change]], privateZone: ZoneID?) -> ZoneID? {
    let states = changes.compactMapValues { RecordState($0) }
    guard
        states.values.allSatisfy({ state in
            !state.isLive && state.movedTo != nil
                && state.openMoves.allSatisfy { $0.destination.map { states[$0] != nil } ?? false }
        })
    else { return nil }
    var ends: Set<ZoneID> = []
    var ways: Set<ZoneID> = []
    for (zone, state) in states {
        for mark in state.openMoves {
            guard let destination = mark.destination, destination != zone else { continue }
            ends.insert(destination)
            // Who moved it back knew that it had come from there.
            let isBack = changes[zone]?.contains {
                $0.movedFrom == destination && $0.forwards == nil && mark.context.contains($0.dot)
            }
            if isBack == true { ways.insert(destination) }
        }
    }
    let homes = ways.isEmpty ? ends : ways
    return homes.first { $0 == privateZone } ?? homes.min()
}

extension [FieldKey: Value] {
    /// Of what a change wrote, what still makes a difference. Where a record lay is an id that tells nothing, and its
    /// origin has to stay with it.
    fileprivate func present(of dot: Dot, in state: RecordState) -> Self {
        filter { key, _ in key == .origin || key == .parent || state.fields[key]?.counts(dot) == true }
    }
}

extension Change.Action {
    /// Whether this says that the record lives elsewhere.
    var isMove: Bool { if case .moved = self { true } else { false } }
}
