import ShoeboxCloud
import ShoeboxModel
import ShoeboxPlanning
import ShoeboxStore
import ShoeboxWorld

import class GRDB.Database

extension Engine {
    /// Takes back what a transaction of the history changed, as far as nobody has changed it since.
    func undo(_ token: Int64) throws -> Reply {
        let stored = try store.read { db in try db.changes(inTransaction: token) }.filter(\.standing.counts)
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
        func leave(_ change: StoredChange, _ why: String) throws {
            let id = RecordID(zone: change.zone, name: change.change.record)
            let subject = try store.read { db in try self.subject(id, type: change.change.type, db) }
            // A photo that moved has changes in both places, and one reason.
            let line = "\(subject): \(why)"
            if said.insert(line).inserted { left.append(line) }
        }
        var steps: [(id: RecordID, reversal: Reversal)] = []
        var undoing = Undoing(
            moved: moved, dots: Set(stored.map(\.change.identity)), trash: TrashContents(self))
        for written in inUndoingOrder(stored) {
            guard let last = written.last else { continue }
            let id = RecordID(zone: last.zone, name: last.change.record)
            if let why = try whyNotWritable(id, last.change) {
                try leave(last, why)
                continue
            }
            guard let state = try store.read({ db in try db.state(of: id) }) else { continue }
            let found = try reversal(of: written, state: state, undoing)
            switch found {
            case .nothing(let why):
                try leave(last, why)
                continue
            case .withdraw: try leave(last, "others have said the same, and it stays for them")
            case .delete: undoing.going.insert(id)
            case .write(let fields, _, _): if fields[.member]?.boolean == false { undoing.going.insert(id) }
            case .revive: if state.type == .folder { undoing.returning.insert(id) }
            }
            steps.append((id, found))
        }
        try store.write { db in
            var writer = try HistoryWriter(db, engine: self, author: "undo")
            for step in steps { try write(step.reversal, of: step.id, &writer) }
            try writer.finish()
            for step in steps { try db.markDirty(step.id) }
        }
        guard !steps.isEmpty else {
            throw RequestError(
                ExitCode.failed,
                "Nothing of transaction \(token) could be taken back: \(left.prefix(5).joined(separator: "; ")).",
                "'shoebox history' shows what came after it.")
        }
        return Reply(
            code: left.isEmpty ? 0 : ExitCode.reported,
            lines: ["Taken back: \(steps.count) \(steps.count == 1 ? "record" : "records")."]
                + (try besideLines(steps.map(\.reversal))) + left.map { "left as it is: \($0)" },
            values: ["records": String(steps.count), "left": String(left.count)],
            remedy: left.isEmpty ? nil : "'shoebox history' shows what came after it.")
    }

    /// The changes of each record in the order in which they are taken back: first what ties records, so that it is known of a tag
    /// what is still in it; then folders that are to come back, so that what was in them comes back into them; else what was made
    /// last goes first.
    private func inUndoingOrder(_ stored: [StoredChange]) -> [[StoredChange]] {
        func rank(_ change: Change?) -> Int {
            switch change?.type {
            case .photoTag, .rating: 0
            case .folder where change?.action == .delete: 1
            default: 2
            }
        }
        return Dictionary(grouping: stored) { RecordID(zone: $0.zone, name: $0.change.record) }.values.sorted {
            let ranks = (rank($0.last?.change), rank($1.last?.change))
            return ranks.0 == ranks.1 ? $0.last?.id ?? 0 > $1.last?.id ?? 0 : ranks.0 < ranks.1
        }
    }

    /// Where what comes back is, if it is not where it was.
    private func besideLines(_ reversals: [Reversal]) throws -> [String] {
        let shared = reversals.compactMap { reversal -> SharedSince? in
            if case .revive(let beside) = reversal { beside } else { nil }
        }
        return try Dictionary(grouping: shared, by: \.folder).sorted { $0.key < $1.key }.compactMap { _, group in
            try group.first.map { try besideText("Of that, \(group.count) came back", $0) }
        }
    }

    /// Writes what takes a record back, as it is after what was written before.
    private func write(_ reversal: Reversal, of id: RecordID, _ writer: inout HistoryWriter) throws {
        let db = writer.db
        guard let state = try db.state(of: id) else { return }
        switch reversal {
        case .write(let fields, let undecided, let context):
            // The context names no number that is still to be given: these stay beside what shows.
            for (key, value) in undecided {
                try writer.write(id, type: state.type, .set([key: value]), context: context)
            }
            let change = try writer.write(id, type: state.type, .set(fields), context: context)
            // What no file shows is shown by being said: who moves the photo now has seen it.
            if fields.keys.allSatisfy({ $0 == .caption || $0.customKey != nil }), var base = try db.base(id) {
                base.vector.insert(change.dot)
                try db.setBase(base)
            }
        case .delete: try writer.write(id, type: state.type, .delete, context: state.vector)
        case .withdraw(let context): try writer.write(id, type: state.type, .delete, context: context)
        case .revive(let beside): try revive(id, state, beside: beside?.place, &writer)
        case .nothing: return
        }
    }

    /// Why this account may not take back what was written of a record; nil if it may.
    private func whyNotWritable(_ id: RecordID, _ change: Change) throws -> String? {
        guard let zone = zones[id.zone] else { return "its share is not known here" }
        let title = zone.control.title
        switch zone.row.state {
        case .active: break
        case .leaveOffered:
            return "the folder of '\(title)' was deleted here; 'shoebox restore' with that title brings it back"
        case .left: return "you have left its share"
        case .ended: return "its share has ended"
        }
        let isPermitted = try store.read { db -> Bool in
            switch change.type {
            case .rating: may(.rate, in: id.zone)
            case .comment: may(.comment, in: id.zone)
            case .photoTag:
                try db.state(of: id)?[.photo]?.reference.map {
                    try may(.tag, RecordID(zone: id.zone, name: $0), db)
                } ?? false
            default: try may(.editRecord, id, db)
            }
        }
        guard isPermitted else { return "it is in '\(title)', \(permissionText(id.zone))" }
        return change.type == .rating && change.author != account ? "it is somebody else's rating" : nil
    }
}
