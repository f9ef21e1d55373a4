import ShoeboxModel
import ShoeboxPlanning
import ShoeboxStore

import class GRDB.Database

extension Engine {
    /// What is to be written to take back what one transaction wrote of one record.
    enum Reversal {
        /// Writes fields in sight of what is taken back, and before them values that stay beside them, undecided.
        case write([FieldKey: Value], undecided: [(key: FieldKey, value: Value)], context: VersionVector)
        /// Deletes the record.
        case delete
        /// Deletes it as far as the transaction made it: it is gone when the others who made it, too, take that back.
        case withdraw(VersionVector)
        /// Makes the record alive again: where it was, or beside the folder that it was in, if that was shared since.
        case revive(beside: SharedSince?)
        /// Leaves it as it is, and why.
        case nothing(String)
    }

    /// What is known of a transaction while it is taken back, record by record.
    struct Undoing {
        /// The records that went from one zone to another in it.
        var moved: Set<RecordName>
        /// All that was written in it.
        var dots: Set<Dot>
        /// The records that are gone by what is taken back.
        var going: Set<RecordID> = []
        /// The folders that are back by it.
        var returning: Set<RecordID> = []
        /// What lies in the trash, listed once for all.
        let trash: TrashContents
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
    func reversal(of written: [StoredChange], state: RecordState, _ undoing: Undoing) throws -> Reversal {
        for stored in written {
            if let why = whyPartOfMove(stored, moved: undoing.moved) { return .nothing(why) }
        }
        guard let last = written.last else { return .nothing(Self.notKnown) }
        let id = RecordID(zone: last.zone, name: last.change.record)
        switch last.change.action {
        case .moved: return .nothing("a move between shares; use 'share add' or 'share remove'")
        case .delete: return try reversalOfDeletion(written, of: id, state, undoing)
        case .set:
            guard state.isLive else {
                return .nothing(state.movedTo == nil ? "it was deleted since" : "it lives in another share now")
            }
            let all = try store.read { db in try db.storedChanges(of: id) }
            guard let past = RecordPast(of: written.map(\.change), among: all) else { return .nothing(Self.notKnown) }
            let changes = all.filter(\.standing.counts).map(\.change)
            guard let former = past.state, former.isLive else {
                if past.state?.movedTo != nil {
                    return .nothing("a move between shares; use 'share add' or 'share remove'")
                }
                guard past.isNone || past.state?.isDeleted == true else { return .nothing(Self.notKnown) }
                return try reversalOfBirth(past, state, changes, undoing)
            }
            // Somebody deleted it at the same time, and this alone keeps it.
            if RecordState(changes.filter { !past.own.contains($0.identity) })?.isDeleted == true {
                return reversalToNothing(state, in: id.zone)
            }
            let found = reversalOfValues(past, former: former, state, changes)
            guard case .write(let fields, _, _) = found else { return found }
            if let asset = fields[.content]?.asset, try !findBytes(asset, of: id, in: undoing.trash) {
                return .nothing("its former bytes are kept nowhere")
            }
            if let folder = fields[.parent]?.reference,
                let shared = try store.read({ db in
                    try sharedSince(folder, in: id.zone, returning: undoing.returning, db)
                })
            {
                return .nothing(try sharedSinceText(shared))
            }
            return fields[.content] == .null ? .nothing("it had no content before") : found
        }
    }

    /// A deletion is taken back where nothing else keeps the record dead: somebody may have deleted it again, or at the same
    /// time.
    private func reversalOfDeletion(
        _ written: [StoredChange], of id: RecordID, _ state: RecordState, _ undoing: Undoing
    ) throws -> Reversal {
        if state.isLive { return .nothing("it is there already") }
        guard state.movedTo == nil else { return .nothing("it lives in another share now") }
        let own = Set(written.filter { $0.change.action == .delete }.map(\.change.identity))
        let (rest, shared) = try store.read { db in
            (
                try db.changes(of: id.name, in: id.zone).filter { !own.contains($0.identity) },
                try state.type.hasPlace
                    ? sharedSince(state.parent, in: id.zone, returning: undoing.returning, db) : nil
            )
        }
        guard RecordState(rest)?.isLive == true else {
            let remedy = state.type.hasContent ? "; 'shoebox restore' with its path brings it back all the same" : ""
            return .nothing("it was deleted once more, since or at the same time\(remedy)")
        }
        // What was deleted before it was published may be on no machine but the one that deleted it.
        if let asset = state.fields[.content]?.winner?.value.asset,
            try !findBytes(asset, of: id, in: undoing.trash)
        {
            return .nothing("its bytes are kept nowhere that can be reached from here")
        }
        return .revive(beside: shared)
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

    /// This is how the record came to be, or came back. What others than the one who takes that back have added to it since
    /// keeps it.
    private func reversalOfBirth(
        _ past: RecordPast, _ state: RecordState, _ changes: [Change], _ undoing: Undoing
    ) throws -> Reversal {
        if state.type.isTie { return reversalOfTie(past, state) }
        let id = RecordID(zone: past.zone, name: state.name)
        if isChangedByOthers(past, state, changes) { return .nothing("others have changed it since") }
        return try store.read { db in
            if state.type == .tag, try isInUse(id, besides: undoing.going, db) {
                return .nothing("other photos are in it; 'shoebox tag delete' deletes it")
            }
            if state.type.hasContent, try isSpokenOf(id, since: past, undoing, db) {
                return .nothing("others have tagged or rated it since")
            }
            return .delete
        }
    }

    /// That a photo is in a tag, or what somebody thinks of it, is taken back if it is still due to this: as long as others
    /// say the same, it stays for them.
    private func reversalOfTie(_ past: RecordPast, _ state: RecordState) -> Reversal {
        let values = state.fields.values.flatMap(\.values)
        let standing = past.own.filter { dot in values.contains { $0.dot == dot } }
        guard !standing.isEmpty else { return .nothing("it was changed since") }
        let others = values.contains { value in
            guard !past.own.contains(value.dot), !past.contains(value.dot), !value.isDerived,
                !state.isWithdrawn(value.dot)
            else { return false }
            // Two devices of one person, too, may have put a photo into one tag, each by itself.
            return value.author != past.author || !past.isFollowed(by: value.dot)
        }
        guard others else { return reversalToNothing(state, in: past.zone) }
        guard zones[past.zone]?.mayWrite(account) == true else { return .nothing("others have changed it since") }
        guard !standing.allSatisfy(state.isWithdrawn) else { return .nothing("it was taken back already") }
        return .withdraw(VersionVector(standing))
    }

    /// A record goes as a whole. Of who may only contribute, no deletion of a tie counts, as it does not say of which photo.
    private func reversalToNothing(_ state: RecordState, in zone: ZoneID) -> Reversal {
        if state.type.isTie, zones[zone]?.mayWrite(account) != true, let fields = state.withoutTie {
            return .write(fields, undecided: [], context: state.vector)
        }
        return .delete
    }

    /// Whether something that somebody else wrote since in the record itself still counts.
    private func isChangedByOthers(_ past: RecordPast, _ state: RecordState, _ changes: [Change]) -> Bool {
        changes.contains { change in
            guard case .set(let fields) = change.action, change.author != account, !change.isDerived,
                !past.own.contains(change.identity), !past.contains(change.identity)
            else { return false }
            return fields.keys.contains { state.fields[$0]?.counts(change.identity) == true }
        }
    }

    /// Whether any photo is in a tag, besides those that are taken out of it now.
    private func isInUse(_ tag: RecordID, besides going: Set<RecordID>, _ db: Database) throws -> Bool {
        try db.records(of: .photoTag, in: tag.zone).contains { $0.parent == tag.name && !going.contains($0.id) }
    }

    /// Whether somebody else has tagged a photo, rated it or remarked on it since it was made, or came back.
    private func isSpokenOf(_ id: RecordID, since past: RecordPast, _ undoing: Undoing, _ db: Database) throws -> Bool {
        try db.companions(of: id).contains { row in
            guard let state = try db.state(of: row.id), state.type != .rating || state[.value]?.integer != nil else {
                return false
            }
            return state.fields.values.flatMap(\.values).contains { value in
                value.author != account && !value.isDerived && !undoing.dots.contains(value.dot)
                    && !state.isWithdrawn(value.dot) && past.mayPrecede(value.timestamp)
            }
        }
    }

    /// The fields as they were before, or as others wrote them at the same time.
    private func reversalOfValues(
        _ past: RecordPast, former: RecordState, _ state: RecordState, _ changes: [Change]
    ) -> Reversal {
        // A name that the engine gave as another one was taken hides what people wrote, and is nobody's change.
        let meant = RecordState(changes.filter { !$0.isDerived })
        var fields: [FieldKey: Value] = [:]
        var undecided: [(key: FieldKey, value: Value)] = []
        var context = VersionVector()
        var reason = "it was changed since"
        var others: [FieldKey: [FieldValue]] = [:]
        for key in past.keys {
            var values = state.fields[key]?.values ?? []
            var hiding: [FieldValue] = []
            if !values.contains(where: { past.own.contains($0.dot) }),
                past.own.contains(where: { state.fields[key]?.counts($0) == true })
            {
                hiding = values.filter(\.isDerived)
                values = meant?.fields[key]?.values ?? []
            }
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
            for value in own + hiding { context.insert(value.dot) }
        }
        // Where it comes back to, it has its own name again.
        if fields[.parent] != nil, fields[.name] == nil, let given = state.fields[.name]?.winner, given.isDerived,
            !past.contains(given.dot), let name = meant?[.name]
        {
            fields[.name] = name
            context.insert(given.dot)
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
