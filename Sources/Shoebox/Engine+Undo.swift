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
        let byRecord = Dictionary(grouping: stored) { RecordID(zone: $0.zone, name: $0.change.record) }
        // In the reverse order: what was made last goes first.
        for written in byRecord.values.sorted(by: { $0.last?.id ?? 0 > $1.last?.id ?? 0 }) {
            guard let last = written.last else { continue }
            let id = RecordID(zone: last.zone, name: last.change.record)
            if let why = try whyNotWritable(id, last.change) {
                try leave(last, why)
                continue
            }
            guard let state = try store.read({ db in try db.state(of: id) }) else { continue }
            switch try reversal(of: written, state: state, moved: moved) {
            case .nothing(let why): try leave(last, why)
            case let found:
                steps.append((id, found))
                if case .withdraw = found { try leave(last, "others have said the same, and it stays for them") }
            }
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
                + left.map { "left as it is: \($0)" },
            values: ["records": String(steps.count), "left": String(left.count)],
            remedy: left.isEmpty ? nil : "'shoebox history' shows what came after it.")
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
        case .revive: try revive(id, state, &writer)
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
