import ShoeboxModel
import ShoeboxStore

/// What a transaction's author had been shown of a record before, by the contexts of what was written: in which order
/// changes arrived here says nothing, as somebody's edit of a photo may come before the photo.
struct RecordPast {
    /// The record's zone.
    let zone: ZoneID
    /// Who wrote the transaction.
    let author: AccountID
    /// The dots of what the transaction wrote.
    let own: Set<Dot>
    /// The fields that it wrote, in order.
    let keys: [FieldKey]
    /// The record as its author was shown it; nil if nothing that was shown is known here.
    let state: RecordState?
    /// Whether the author had been shown nothing of the record: it was made by this.
    let isNone: Bool
    /// All that the author had been shown.
    private let shown: VersionVector
    /// Whether all that was shown has arrived here.
    private let isWhole: Bool
    private let first: Change
    /// Every change of the record that is known here, those that do not count too, by each of its dots.
    private let known: [Dot: Change]

    /// - Parameters:
    ///   - written: the transaction's changes of the record, in their order; at least one.
    ///   - all: every change of the record that is stored.
    init?(of written: [Change], among all: [StoredChange]) {
        guard let first = written.first, let zone = all.first?.zone else { return nil }
        let own = Set(written.map(\.identity))
        let shown = written.reduce(VersionVector()) { $0.union($1.context.below($1.identity)) }
        (self.zone, author, self.first, self.own, self.shown) = (zone, first.author, first, own, shown)
        keys = Set(
            written.flatMap { change -> [FieldKey] in
                if case .set(let fields) = change.action { Array(fields.keys) } else { [] }
            }
        ).sorted()
        isNone = first.context.below(first.identity).isEmpty
        let before = all.filter { stored in
            let dot = stored.change.identity
            return stored.standing.counts && !own.contains(dot) && shown.contains(dot)
        }
        state = RecordState(before.map(\.change))
        var known: [Dot: Change] = [:]
        for stored in all {
            known[stored.change.dot] = stored.change
            known[stored.change.identity] = stored.change
        }
        self.known = known
        isWhole = shown.entries.allSatisfy(VersionVector(known.keys).contains)
    }

    /// Whether the author had been shown what was written under a dot.
    func contains(_ dot: Dot) -> Bool { shown.contains(dot) }

    /// Whether who wrote something had been shown the transaction.
    func isFollowed(by dot: Dot) -> Bool { known[dot]?.context.contains(first.identity) == true }

    /// Whether something that was written at a time to another record may have been written in sight of the transaction, or
    /// without any: of what was made by it, nobody spoke before.
    func mayPrecede(_ timestamp: HybridTimestamp) -> Bool { isNone || first.timestamp < timestamp }

    /// Whether what a field showed before is known here. A snapshot leaves out what a device wrote over itself: then a number
    /// is missing among those that the device's changes name one after the other.
    func isKnown(_ key: FieldKey) -> Bool {
        guard isWhole else { return false }
        let replica = first.identity.replica
        var counter = first.context.below(first.identity)[replica]
        while counter > 0 {
            guard let before = known[Dot(replica: replica, counter: counter)] else { return false }
            if case .set(let fields) = before.action, fields[key] != nil { return true }
            counter = min(before.context[replica], counter - 1)
        }
        return true
    }
}
