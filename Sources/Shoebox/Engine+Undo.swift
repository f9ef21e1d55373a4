import ShoeboxCloud
import ShoeboxLibrary
import ShoeboxModel
import ShoeboxPlanning
import ShoeboxStore
import ShoeboxWorld

import class GRDB.Database

extension Engine {
    // MARK: Undo

    /// What is to be written to take one change back.
    private enum Reversal {
        case write([FieldKey: Value])
        case delete
        case revive
        case nothing(String)
    }

    /// What people make and change.
    private static let undoable: Set<RecordType> = [.photo, .file, .folder, .tag, .photoTag, .rating, .comment]

    /// Takes back what a transaction of the history changed, as far as nobody has changed it since.
    func undo(_ token: Int64) throws -> Reply {
        let stored = try store.read { db in
            try db.history(after: max(token, 1) - 1, limit: 100_000).filter { $0.token == token && $0.standing.counts }
        }
        guard !stored.isEmpty else {
            throw RequestError(
                ExitCode.notFound, "There is no transaction \(token) with changes that count.",
                "'shoebox history' shows the transactions with their numbers.")
        }
        let moved = Set(
            stored.map(\.change).filter { change in
                if case .moved = change.action { return true }
                return change.movedFrom != nil
            }.map(\.record))
        var left: [String] = []
        var said: Set<String> = []
        var steps: [(id: RecordID, reversal: Reversal)] = []
        // In the reverse order: what was made last goes first.
        for change in stored.reversed() {
            let id = id(change)
            guard let zone = zones[change.zone], zone.mayWrite(account) else {
                let isOver = zones[change.zone]?.row.state != .active
                left.append("\(try describe(change)): \(isOver ? "its share has ended" : "you may only read there")")
                continue
            }
            guard let state = try store.read({ db in try db.state(of: id) }) else { continue }
            switch try reversal(of: change, state: state, moved: moved) {
            case .nothing(let why):
                // A photo that moved has several changes, and one reason.
                let line = "\(try describe(change)): \(why)"
                if said.insert(line).inserted { left.append(line) }
            case let found: steps.append((id, found))
            }
        }
        let records = Set(steps.map(\.id))
        try store.write { db in
            var writer = try HistoryWriter(db, engine: self, author: "undo")
            for step in steps {
                // As it is after the steps before.
                guard let state = try db.state(of: step.id) else { continue }
                switch step.reversal {
                case .write(let fields):
                    let change = try writer.write(step.id, type: state.type, .set(fields), context: state.vector)
                    // What no file shows is shown by being said: who moves the photo now has seen it.
                    if fields.keys.allSatisfy({ $0 == .caption || $0.customKey != nil }),
                        var base = try db.base(step.id)
                    {
                        base.vector.insert(change.dot)
                        try db.setBase(base)
                    }
                case .delete: try writer.write(step.id, type: state.type, .delete, context: state.vector)
                case .revive: try revive(step.id, state, &writer)
                case .nothing: continue
                }
            }
            try writer.finish()
            for id in records { try db.markDirty(id) }
        }
        guard !records.isEmpty else {
            throw RequestError(
                ExitCode.failed,
                "Nothing of transaction \(token) could be taken back: \(left.prefix(5).joined(separator: "; ")).",
                "'shoebox history' shows what came after it.")
        }
        return Reply(
            code: left.isEmpty ? 0 : ExitCode.reported,
            lines: ["Taken back: \(records.count) \(records.count == 1 ? "record" : "records")."]
                + left.map { "left as it is: \($0)" },
            values: ["records": String(records.count), "left": String(left.count)],
            remedy: left.isEmpty ? nil : "'shoebox history' shows what came after it.")
    }

    /// - Parameter moved: the records that went from one zone to another in the same transaction.
    private func reversal(
        of stored: StoredChange, state: RecordState, moved: Set<RecordName>
    ) throws -> Reversal {
        let change = stored.change
        // What makes, moves and ends shares is taken back by what is meant for it, or not at all: half of it would leave
        // the others with photos in folders that are nowhere.
        guard Self.undoable.contains(change.type) else { return .nothing("it keeps where a share shows") }
        guard change.movedFrom == nil, zones[stored.zone]?.row.rootRecord != change.record else {
            return .nothing("a move between shares; use 'share add', 'share remove' or 'share stop'")
        }
        // Each zone has tags of its own: what a photo brought along was made there anew.
        if case .set(let values) = change.action {
            let isBrought =
                change.type == .tag ? !moved.isEmpty : values[.photo]?.reference.map(moved.contains) == true
            guard !isBrought else { return .nothing("a move between shares") }
        }
        switch change.action {
        case .moved: return .nothing("a move between shares; use 'share add' or 'share remove'")
        case .delete:
            if state.isLive { return .nothing("it is there already") }
            // What was deleted before it was published may be on no machine but the one that deleted it.
            if let asset = state.fields[.content]?.winner?.value.asset, try !findBytes(asset, of: id(stored)) {
                return .nothing("its bytes are kept nowhere that can be reached from here")
            }
            return state.movedTo == nil ? .revive : .nothing("it lives in another share now")
        case .set(let values):
            guard state.isLive else {
                return .nothing(state.movedTo == nil ? "it was deleted since" : "it lives in another share now")
            }
            let before = try store.read { db in try db.storedChanges(of: id(stored)) }
                .filter { $0.id < stored.id && $0.standing.counts }.map(\.change)
            let former = RecordState(before)
            guard let former, former.isLive else {
                if former?.movedTo != nil {
                    return .nothing("a move between shares; use 'share add' or 'share remove'")
                }
                // This is how the record came to be, or came back. What others have added to it since keeps it.
                let known = Set(before.map(\.identity))
                let others = state.fields.values.contains { field in
                    field.winner.map {
                        $0.dot != change.identity && !known.contains($0.dot) && !$0.isDerived
                            && $0.author != change.author
                    } ?? false
                }
                return others ? .nothing("others have changed it since") : .delete
            }
            var fields: [FieldKey: Value] = [:]
            for key in values.keys where state.fields[key]?.winner?.dot == change.identity {
                fields[key] = former[key] ?? .null
            }
            guard !fields.isEmpty else { return .nothing("it was changed since") }
            if let asset = fields[.content]?.asset, try !findBytes(asset, of: id(stored)) {
                return .nothing("its former bytes are kept nowhere")
            }
            if fields[.content] == .null { return .nothing("it had no content before") }
            return .write(fields)
        }
    }

    private func id(_ stored: StoredChange) -> RecordID { RecordID(zone: stored.zone, name: stored.change.record) }

    private func describe(_ stored: StoredChange) throws -> String {
        try store.read { db in try subject(id(stored), type: stored.change.type, db) }
    }
}
