import ShoeboxModel
import ShoeboxPlanning
import ShoeboxStore

extension Engine {
    /// What is to be written to take back what one transaction wrote of one record.
    enum Reversal {
        /// Writes fields in sight of what is taken back, and before them values that stay beside them, undecided.
        case write([FieldKey: Value], undecided: [(key: FieldKey, value: Value)], context: VersionVector)
        /// Deletes the record.
        case delete
        /// Deletes it as far as the transaction made it: it is gone when the others who made it, too, take that back.
        case withdraw(VersionVector)
        /// Makes the record alive again.
        case revive
        /// Leaves it as it is, and why.
        case nothing(String)
    }

    /// What people make and change.
    private static let undoable: Set<RecordType> = [.photo, .file, .folder, .tag, .photoTag, .rating, .comment]

    private static let notKnown = "what it was before is not known on this device"

    /// How what a transaction wrote of a record is taken back: so that the record is as without it, and what others wrote
    /// without having seen it shows, or stays undecided.
    ///
    /// - Parameters:
    ///   - written: the transaction's changes of the record, in their order.
    ///   - state: the record now.
    ///   - moved: the records that went from one zone to another in the same transaction.
    func reversal(
        of written: [StoredChange], state: RecordState, moved: Set<RecordName>
    ) throws -> Reversal {
        for stored in written {
            if let why = whyPartOfMove(stored, moved: moved) { return .nothing(why) }
        }
        guard let last = written.last else { return .nothing(Self.notKnown) }
        let id = RecordID(zone: last.zone, name: last.change.record)
        switch last.change.action {
        case .moved: return .nothing("a move between shares; use 'share add' or 'share remove'")
        case .delete:
            if state.isLive { return .nothing("it is there already") }
            // What was deleted before it was published may be on no machine but the one that deleted it.
            if let asset = state.fields[.content]?.winner?.value.asset, try !findBytes(asset, of: id) {
                return .nothing("its bytes are kept nowhere that can be reached from here")
            }
            return state.movedTo == nil ? .revive : .nothing("it lives in another share now")
        case .set:
            guard state.isLive else {
                return .nothing(state.movedTo == nil ? "it was deleted since" : "it lives in another share now")
            }
            let all = try store.read { db in try db.storedChanges(of: id) }
            guard let past = RecordPast(of: written.map(\.change), among: all) else { return .nothing(Self.notKnown) }
            guard let former = past.state, former.isLive else {
                if past.state?.movedTo != nil {
                    return .nothing("a move between shares; use 'share add' or 'share remove'")
                }
                guard past.isNone || past.state?.isDeleted == true else { return .nothing(Self.notKnown) }
                return reversalOfBirth(past, state)
            }
            let found = reversalOfValues(past, former: former, state)
            guard case .write(let fields, _, _) = found else { return found }
            if let asset = fields[.content]?.asset, try !findBytes(asset, of: id) {
                return .nothing("its former bytes are kept nowhere")
            }
            return fields[.content] == .null ? .nothing("it had no content before") : found
        }
    }

    /// What makes, moves and ends shares is taken back by what is meant for it, or not at all: half of it would leave the
    /// others with photos in folders that are nowhere.
    private func whyPartOfMove(_ stored: StoredChange, moved: Set<RecordName>) -> String? {
        let change = stored.change
        guard Self.undoable.contains(change.type) else { return "it keeps where a share shows" }
        guard change.movedFrom == nil, zones[stored.zone]?.row.rootRecord != change.record else {
            return "a move between shares; use 'share add', 'share remove' or 'share stop'"
        }
        // Each zone has tags of its own: what a photo brought along was made there anew.
        guard case .set(let values) = change.action else { return nil }
        let isBrought = change.type == .tag ? !moved.isEmpty : values[.photo]?.reference.map(moved.contains) == true
        return isBrought ? "a move between shares" : nil
    }

    /// This is how the record came to be, or came back. What others have added to it keeps it.
    private func reversalOfBirth(_ past: RecordPast, _ state: RecordState) -> Reversal {
        let values = state.fields.values.flatMap(\.values)
        let isTie = state.type.isTie
        let others = values.contains { value in
            guard !past.own.contains(value.dot), !past.contains(value.dot), !value.isDerived,
                !state.isWithdrawn(value.dot)
            else { return false }
            // Two devices of one person, too, may have put a photo into one tag, each by itself.
            return value.author != past.author || (isTie && !past.isFollowed(by: value.dot))
        }
        // Of who may only contribute, no deletion counts that does not say of which photo.
        let isFull = zones[past.zone]?.mayWrite(account) == true
        guard others else {
            if isTie, !isFull, let fields = state.withoutTie {
                return .write(fields, undecided: [], context: state.vector)
            }
            return .delete
        }
        guard isTie, isFull else { return .nothing("others have changed it since") }
        let live = past.own.filter { dot in values.contains { $0.dot == dot } }
        guard !live.isEmpty else { return .nothing("it was changed since") }
        guard !live.allSatisfy(state.isWithdrawn) else { return .nothing("it was taken back already") }
        return .withdraw(VersionVector(live))
    }

    /// The fields as they were before, or as others wrote them at the same time.
    private func reversalOfValues(_ past: RecordPast, former: RecordState, _ state: RecordState) -> Reversal {
        var fields: [FieldKey: Value] = [:]
        var undecided: [(key: FieldKey, value: Value)] = []
        var context = VersionVector()
        var reason = "it was changed since"
        var others: [FieldKey: [FieldValue]] = [:]
        for key in past.keys {
            let values = state.fields[key]?.values ?? []
            let own = values.filter { past.own.contains($0.dot) }
            guard !own.isEmpty else { continue }
            others[key] = values.filter { !past.own.contains($0.dot) }
            if let best = others[key]?.first {
                guard !own.allSatisfy({ $0.value.isSame(as: best.value) }) else {
                    reason = "others have said the same"
                    continue
                }
                fields[key] = best.value
            } else {
                guard past.isKnown(key) else {
                    reason = Self.notKnown
                    continue
                }
                fields[key] = former[key] ?? .null
                // A decision that is taken back is to be taken again.
                undecided += (former.fields[key]?.losers ?? []).reversed().map { (key, $0.value) }
            }
            for value in own { context.insert(value.dot) }
        }
        // The time of a file goes with its content.
        if past.keys.contains(.content), fields[.content] == nil { fields[.modified] = nil }
        guard !fields.isEmpty else { return .nothing(reason) }
        // A context names all earlier numbers of a device, too.
        for (key, rest) in others {
            let lost = rest.filter { context.contains($0.dot) && !$0.value.isSame(as: fields[key] ?? .null) }
            undecided += lost.reversed().map { (key, $0.value) }
        }
        // Contents that lost have their copies, and what ties two records says all or nothing.
        undecided.removeAll { !$0.key.isText }
        if state.type.isTie {
            for key in [FieldKey.photo, .tag] where fields[key] == nil { fields[key] = state[key] }
        }
        return .write(fields, undecided: undecided, context: context)
    }
}

extension RecordType {
    /// Whether a record of this kind only says something of a photo: that it is in a tag, or what somebody thinks of it.
    fileprivate var isTie: Bool { self == .photoTag || self == .rating }
}

extension FieldKey {
    /// Whether it holds words of a person.
    fileprivate var isText: Bool { self == .caption || self == .title || customKey != nil }
}

extension RecordState {
    /// Whether a deletion took back what was written under a dot.
    fileprivate func isWithdrawn(_ dot: Dot) -> Bool {
        marks.contains { $0.destination == nil && $0.context.contains(dot) }
    }

    /// The fields by which a photo is in a tag no more, or has no rating; nil if they are not known.
    fileprivate var withoutTie: [FieldKey: Value]? {
        guard let photo = self[.photo] else { return nil }
        guard type == .photoTag else { return [.photo: photo, .value: .null] }
        return self[.tag].map { [.photo: photo, .tag: $0, .member: .boolean(false)] }
    }
}
