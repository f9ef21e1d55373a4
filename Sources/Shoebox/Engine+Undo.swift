import ShoeboxCloud
import ShoeboxLibrary
import ShoeboxModel
import ShoeboxPlanning
import ShoeboxStore
import ShoeboxWorld

import class GRDB.Database

/// One content that a photo had at some time.
struct ContentVersion {
    /// The content, with its place in the container where one is known.
    var asset: AssetReference
    /// The modification time that was written with it, nanoseconds.
    var modified: Int64?
    /// Who wrote it.
    var author: AccountID
    /// When, milliseconds since 1970, by the author's clock.
    var timeMilliseconds: UInt64
}

extension Engine {
    /// Every content that a record ever had and that counts or once did, the newest first; equal bytes once. What it had
    /// before it came into a share stayed where it was then, and whoever can read that has it still.
    func contentVersions(of id: RecordID, _ db: Database) throws -> [ContentVersion] {
        var result: [ContentVersion] = []
        let places = Set(try db.zonesOfMoves(of: id.name)).union([id.zone])
        let changes = try places.sorted().flatMap { try db.changes(of: id.name, in: $0) }
        for change in changes.sorted(by: { $0.timestamp > $1.timestamp }) {
            guard case .set(let fields) = change.action, let asset = fields[.content]?.asset else { continue }
            if let same = result.firstIndex(where: { $0.asset.contentHash == asset.contentHash }) {
                if result[same].asset.location == nil { result[same].asset = asset }
                continue
            }
            result.append(
                ContentVersion(
                    asset: asset, modified: fields[.modified]?.integer, author: change.author,
                    timeMilliseconds: change.timestamp.wallMilliseconds))
        }
        return result
    }

    /// The record that is, or was, at a path: one that is shown, else the one that was deleted last.
    private func recordEver(at reference: PathReference) throws -> RecordID {
        if let known = try knownRecord(at: reference) { return known }
        return try record(at: reference)
    }

    /// As far as the database knows, without a look at the folders: the record that is shown at a path, else of those that
    /// were deleted there the last one.
    func knownRecord(at reference: PathReference) throws -> RecordID? {
        guard let path = reference.path, let name = path.last else { return nil }
        return try store.read { db in
            let top = top(reference.root)
            if let shown = try db.base(at: path, root: reference.root, top: top) { return shown }
            guard let parent = try formerFolder(path.parent, reference.root, db) else { return nil }
            let isTop = parent.isZoneRoot
            var found = try db.deletedFiles(named: name, in: parent.zone, parent: isTop ? nil : parent.name)
            if isTop, let root = zones[parent.zone]?.row.rootRecord {
                found += try db.deletedFiles(named: name, in: parent.zone, parent: root)
            }
            let dated = try found.map { (id: $0, time: try deletionTime($0, db)) }
            return dated.max { $0.time < $1.time }?.id
        }
    }

    /// The folder that a path shows, or showed: one that went with its last photo is still known by its record.
    private func formerFolder(_ path: RelativePath, _ root: RootKind, _ db: Database) throws -> RecordID? {
        if let shown = try db.base(at: path, root: root, top: top(root)) { return shown }
        guard let name = path.last, let parent = try formerFolder(path.parent, root, db) else { return nil }
        let parents = [parent.isZoneRoot ? nil : parent.name, zones[parent.zone]?.row.rootRecord]
        return try db.folders(in: parent.zone).first { row in
            row.name == name && (row.parent == parents[0] || (parent.isZoneRoot && row.parent == parents[1]))
        }?.id
    }

    private func deletionTime(_ id: RecordID, _ db: Database) throws -> HybridTimestamp {
        try db.state(of: id)?.marks.map(\.timestamp).max() ?? .zero
    }

    private func requireWritable(_ id: RecordID) throws {
        guard zones[id.zone]?.mayWrite(account) == true else {
            throw RequestError(
                ExitCode.notPermitted, "You may only read '\(zones[id.zone]?.control.title ?? "")'.",
                "Ask the owner for 'readWrite', or copy the photo into your library.")
        }
    }

    /// Where the bytes of a content are: in a watched folder, in the container, or in the trash, from where they are taken
    /// when the folders are brought up to date. False if they are nowhere.
    private func findBytes(_ asset: AssetReference, of id: RecordID) throws -> Bool {
        if asset.location != nil { return true }
        if try !localSources(of: asset.contentHash).isEmpty { return true }
        for root in RootKind.allCases {
            guard try checkRoot(root) else { continue }
            for item in try makeApplier(root).trashItems() where item.record == id && item.size == asset.size {
                guard let (hash, _) = try? ContentHasher.hash(item.path, files(root)), hash == asset.contentHash else {
                    continue
                }
                trashSources[hash] = .init(root: root, path: item.path)
                return true
            }
        }
        return false
    }

    /// Gives a photo a content that it had before, for everybody; what the file holds now goes to the trash. One that was
    /// deleted is alive again.
    ///
    /// - Parameter version: the number in the list of versions, from 1, or the beginning of a content's hash; nil for the
    ///   one that the record has.
    func restoreVersion(_ reference: PathReference, version: String?) throws -> Reply {
        let id = try recordEver(at: reference)
        let (state, versions) = try store.read { db in
            (try db.state(of: id), try contentVersions(of: id, db))
        }
        guard let state, state.type.hasContent else {
            throw RequestError(ExitCode.notFound, "That is no photo or file.", "Name a file.")
        }
        let shown = reference.path.map { display($0, reference.root) } ?? ""
        guard let version else {
            if state.isLive { return try restoreContent(reference) }
            try requireWritable(id)
            try store.write { db in
                var writer = try HistoryWriter(db, engine: self, author: "cli")
                try revive(id, state, &writer)
                try writer.finish()
            }
            return Reply(lines: ["'\(shown)' comes back for everybody."])
        }
        let found: ContentVersion?
        if let number = Int(version), version.utf8.count < 6 {
            found = versions.indices.contains(number - 1) ? versions[number - 1] : nil
        } else {
            let matching = versions.filter { $0.asset.contentHash.description.hasPrefix(version.lowercased()) }
            found = matching.count == 1 ? matching.first : nil
        }
        guard let found else {
            throw RequestError(
                ExitCode.notFound, "'\(shown)' has no version '\(version)'.",
                "'shoebox restore --list' with the path shows all versions.")
        }
        try requireWritable(id)
        guard try findBytes(found.asset, of: id) else {
            throw RequestError(
                ExitCode.notFound, "The bytes of that version are kept nowhere.",
                "It was replaced before it was published. Another device may have it in its trash.")
        }
        var fields: [FieldKey: Value] = [.content: .asset(found.asset)]
        if let modified = found.modified { fields[.modified] = .integer(modified) }
        let count = try store.write { db in
            var writer = try HistoryWriter(db, engine: self, author: "cli")
            if !state.isLive || state.content?.contentHash != found.asset.contentHash {
                try writer.write(id, type: state.type, .set(fields), context: state.vector)
            }
            try writer.finish()
            try db.markDirty(id)
            return writer.count
        }
        guard count > 0 else { return Reply(lines: ["'\(shown)' has that content already."]) }
        let time = StatusText.local(found.timeMilliseconds)
        return Reply(
            lines: [
                state.isLive
                    ? "'\(shown)' gets the content of \(time); the present one goes to the trash."
                    : "'\(shown)' comes back for everybody, with the content of \(time)."
            ],
            values: ["contentHash": found.asset.contentHash.description])
    }

    /// Writes a value of a deleted record again as it is, by which all of it is alive.
    private func revive(_ id: RecordID, _ state: RecordState, _ writer: inout HistoryWriter) throws {
        let keys: [FieldKey] = [.content, .name, .parent] + state.fields.keys.sorted()
        guard let key = keys.first(where: { state.fields[$0]?.winner != nil }), let value = state[key] else { return }
        try writer.write(id, type: state.type, .set([key: value]), context: state.vector)
    }

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
            case .nothing(let why): left.append("\(try describe(change)): \(why)")
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
                    try writer.write(step.id, type: state.type, .set(fields), context: state.vector)
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
            guard state.isLive else { return .nothing("it was deleted since") }
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

    // MARK: Conflicts

    /// Decides between values that were written at once: the one that is kept is written again by somebody who has seen
    /// all of them.
    ///
    /// - Parameter choice: 0 for the value that shows, else the number of another one, in the order of the list.
    func resolveConflict(_ reference: PathReference, field: String, choice: Int) throws -> Reply {
        let id = try record(at: reference)
        guard let state = try store.read({ db in try db.state(of: id) }),
            let key = state.fields.keys.first(where: { $0.rawValue == field }), let values = state.fields[key],
            !values.losers.isEmpty, let winner = values.winner
        else {
            throw RequestError(
                ExitCode.notFound, "Nothing is undecided about '\(field)' there.", "'shoebox conflicts' lists all.")
        }
        guard choice == 0 || values.losers.indices.contains(choice - 1) else {
            throw RequestError(
                ExitCode.notFound, "There is no value \(choice): the other values are 1 to \(values.losers.count).",
                "'shoebox conflicts' lists them.")
        }
        try requireWritable(id)
        let kept = choice == 0 ? winner : values.losers[choice - 1]
        var fields: [FieldKey: Value] = [key: kept.value]
        if key == .content {
            if let asset = kept.value.asset, try !findBytes(asset, of: id) {
                throw RequestError(
                    ExitCode.notFound, "The bytes of that version are not here yet.", "Try again when they have come.")
            }
            fields[.modified] = state.fields[.modified]?.values.first { $0.dot == kept.dot }?.value ?? state[.modified]
        }
        try store.write { db in
            var writer = try HistoryWriter(db, engine: self, author: "cli")
            try writer.write(id, type: state.type, .set(fields), context: state.vector)
            try writer.finish()
            try db.markDirty(id)
        }
        return Reply(lines: ["'\(kept.value.displayText)' it is, for everybody."])
    }
}
