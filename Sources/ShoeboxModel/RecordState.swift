/// One value of a field together with who wrote it.
public struct FieldValue: Hashable, Sendable {
    /// The value.
    public var value: Value
    /// The change that wrote it.
    public var dot: Dot
    /// When, for the order among siblings.
    public var timestamp: HybridTimestamp
    /// Who.
    public var author: AccountID
    /// Whether the engine derived it.
    public var isDerived: Bool

    /// Whether this value comes before another as a field's winner; a total order over the values of one field.
    static func winsOver(_ left: FieldValue, _ right: FieldValue) -> Bool {
        (left.timestamp, left.dot) > (right.timestamp, right.dot)
    }
}

/// The values of one field that no write has superseded, and all that writes have covered.
public struct FieldState: Hashable, Sendable {
    /// The siblings, the winner first; never two of one dot.
    public private(set) var values: [FieldValue] = []
    /// The union of the contexts of every write of this field.
    public private(set) var covered = VersionVector()
    /// What people wrote and no person has overwritten; a derived write in between hides a value, but does not take
    /// away that somebody wrote it.
    private(set) var personal: [Dot] = []
    /// The union of the contexts of the writes that people made of this field.
    private var coveredByPeople = VersionVector()

    /// The winner; nil when every write seen was superseded by one not seen (never so in a complete set).
    public var winner: FieldValue? { values.first }
    /// The siblings whose value differs from the winner's and that a person wrote.
    public var losers: [FieldValue] {
        guard let winner else { return [] }
        var seen: [Value] = [winner.value]
        return values.dropFirst().filter { candidate in
            guard !candidate.isDerived, !seen.contains(where: { $0.isSame(as: candidate.value) }) else { return false }
            seen.append(candidate.value)
            return true
        }
    }

    /// Whether what a change wrote here still makes a difference: it shows, or was written at once with what shows, or is a
    /// person's and only hidden by a derived one.
    public func counts(_ dot: Dot) -> Bool { values.contains { $0.dot == dot } || personal.contains(dot) }

    /// Merges one more write. A value is superseded exactly when a write of the field has its dot in its context.
    mutating func merge(_ value: FieldValue, context: VersionVector) {
        covered.formUnion(context)
        values.removeAll { covered.contains($0.dot) }
        if !value.isDerived {
            coveredByPeople.formUnion(context)
            personal.removeAll(where: coveredByPeople.contains)
            if !coveredByPeople.contains(value.dot), !personal.contains(value.dot) {
                let index = personal.firstIndex { $0 > value.dot } ?? personal.endIndex
                personal.insert(value.dot, at: index)
            }
        }
        guard !covered.contains(value.dot) else { return }
        if let same = values.firstIndex(where: { $0.dot == value.dot }) {
            // A repeated delivery, or a fork: one dot with two values, of which all replicas must take the same.
            guard values[same] != value, "\(value)" < "\(values[same])" else { return }
            values.remove(at: same)
        }
        let index = values.firstIndex { FieldValue.winsOver(value, $0) } ?? values.endIndex
        values.insert(value, at: index)
    }
}

/// The merged state of one record: a pure function of the set of its accepted changes.
///
/// `merge` in any order, with any repetition, gives equal values. Mind what contexts are: vectors of this record, so a
/// dot of this replica's that lies below the counter in a context was shown to the author.
public struct RecordState: Hashable, Sendable {
    /// A mark: a deletion or a move, with what its author was shown.
    public struct Mark: Hashable, Sendable {
        /// The change that made it.
        public var dot: Dot
        /// What its author was shown.
        public var context: VersionVector
        /// When.
        public var timestamp: HybridTimestamp
        /// Who.
        public var author: AccountID
        /// Where to, for a move; nil for a deletion.
        public var destination: ZoneID?
        /// Whether the engine made it, not a person.
        public var isDerived: Bool
    }

    /// The record.
    public let name: RecordName
    /// Its kind: the smallest by text, if a hostile writer gave it two.
    public private(set) var type: RecordType
    /// The fields.
    public private(set) var fields: [FieldKey: FieldState] = [:]
    /// Deletions and moves, sorted by dot.
    public private(set) var marks: [Mark] = []
    /// Every dot merged: what someone who is shown this state has been shown.
    public private(set) var vector = VersionVector()
    /// The union of the contexts of all writes of fields; a move in it has been followed by a return.
    private var shownToWriters = VersionVector()
    /// The zones that the record was said to come from.
    public private(set) var origins: Set<ZoneID> = []
    /// The union of the contexts of all changes that brought it here; a move in it has been followed by a return, whatever
    /// others wrote here since who knew of the move.
    private var shownToMovers = VersionVector()

    /// The state before any change.
    public init(name: RecordName, type: RecordType) {
        self.name = name
        self.type = type
    }

    /// The state after these changes of one record; nil for none.
    public init?(_ changes: some Collection<Change>) {
        guard let first = changes.first else { return nil }
        self.init(name: first.record, type: first.type)
        for change in changes { merge(change) }
    }

    /// Takes in one change of this record; others are ignored.
    public mutating func merge(_ change: Change) {
        guard change.record == name else { return }
        if change.type.rawValue.utf8.lexicographicallyPrecedes(type.rawValue.utf8) { type = change.type }
        vector.insert(change.dot)
        vector.insert(change.identity)
        let context = change.context.below(change.identity)
        if let origin = change.movedFrom {
            origins.insert(origin)
            shownToMovers.formUnion(context)
        }
        switch change.action {
        case .set(let values):
            shownToWriters.formUnion(context)
            for (key, value) in values {
                fields[key, default: FieldState()].merge(
                    FieldValue(
                        value: value, dot: change.identity, timestamp: change.timestamp, author: change.author,
                        isDerived: change.isDerived),
                    context: context)
            }
        case .delete: insertMark(change, destination: nil)
        case .moved(let zone): insertMark(change, destination: zone)
        }
    }

    private mutating func insertMark(_ change: Change, destination: ZoneID?) {
        let mark = Mark(
            dot: change.identity, context: change.context, timestamp: change.timestamp, author: change.author,
            destination: destination, isDerived: change.isDerived)
        if let same = marks.firstIndex(where: { $0.dot == mark.dot }) {
            guard marks[same] != mark, "\(mark)" < "\(marks[same])" else { return }
            marks.remove(at: same)
        }
        let index = marks.firstIndex { $0.dot > mark.dot } ?? marks.endIndex
        marks.insert(mark, at: index)
    }

    /// The values that a deletion must cover to hold: all that a person wrote, in any field.
    private var vitalDots: [Dot] { fields.values.flatMap(\.personal) }

    /// Whether one mark of the given kind covers every value that a person wrote.
    private func isCovered(by candidates: [Mark]) -> Bool {
        guard !candidates.isEmpty else { return false }
        let vital = vitalDots
        return candidates.contains { mark in vital.allSatisfy(mark.context.contains) }
    }

    /// The greatest counter of a replica that any change of this record claims to have seen. Who lies about it covers what
    /// that replica has yet to write.
    public func mostClaimed(of replica: ReplicaID) -> UInt64 {
        let contexts = fields.values.map(\.covered) + marks.map(\.context) + [shownToWriters]
        return contexts.reduce(0) { max($0, $1[replica]) }
    }

    /// Whether the authors of writes were shown the same, as in another state.
    func hasShownTheSame(as other: RecordState) -> Bool {
        shownToWriters == other.shownToWriters && shownToMovers == other.shownToMovers
    }

    /// Whether a deletion covers all that was written: an edit that no deleter had seen revives the record whole.
    public var isDeleted: Bool { isCovered(by: marks.filter { $0.destination == nil }) }

    /// The moves that nobody followed by a return.
    public var openMoves: [Mark] { marks.filter { $0.destination != nil && !shownToWriters.contains($0.dot) } }

    /// The moves after which nobody brought the record back.
    public var departures: [Mark] { marks.filter { $0.destination != nil && !shownToMovers.contains($0.dot) } }

    /// The zone that this record lives in now, when a move covers all that was written here; the smallest of several.
    public var movedTo: ZoneID? {
        let moves = openMoves
        return isCovered(by: moves) ? moves.compactMap(\.destination).min() : nil
    }

    /// Whether the record was moved to that zone and has come back: somebody who knew of the move wrote here again.
    public func hasReturned(from zone: ZoneID) -> Bool {
        marks.contains { $0.destination == zone && shownToWriters.contains($0.dot) }
    }

    /// Whether somebody who wrote here had been shown all that another state of the record takes in, as in another zone.
    public func isWritten(knowing other: RecordState) -> Bool { shownToWriters.contains(other.vector) }

    /// Whether the record shows here: it has a value, is not deleted and did not move away.
    public var isLive: Bool { fields.values.contains { $0.winner != nil } && !isDeleted && movedTo == nil }

    /// The winning value of a field; nil if it was never written.
    public subscript(key: FieldKey) -> Value? { fields[key]?.winner?.value }

    /// The last component of the record's place; nil for a record without one.
    public var fileName: FileName? { self[.name]?.fileName }
    /// The folder the record lies in; nil for the zone's root.
    public var parent: RecordName? { self[.parent]?.reference }
    /// The bytes of the file; nil for a record without one.
    public var content: AssetReference? { self[.content]?.asset }
}
