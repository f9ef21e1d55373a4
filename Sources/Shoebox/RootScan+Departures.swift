import ShoeboxLibrary
import ShoeboxModel
import ShoeboxPlanning
import ShoeboxStore
import ShoeboxWorld

import class GRDB.Database

// Files that were moved between the two watched folders: the own library, and others' shares. Each is planned by itself, and
// what goes from one to another is a new record there. But what takes the place of such a file is no edit of it.

extension RootScan {
    /// Notes which of some new or changed files had a place in the other watched folder that they have left. An editor may
    /// have saved such a photo since: then the sidecar that came along tells. It is stored before anything comes of it: the
    /// process may end before the other folder is planned.
    func noteArrivals(
        _ entries: ArraySlice<DirectoryEntry>, in directory: RelativePath, _ batch: inout ScanBatch
    ) throws {
        guard hasOther else { return }
        var left: [DepartureRow] = []
        var stayed: [RecordID] = []
        for entry in entries where entry.kind == .file && entry.stamp.birthNanoseconds != 0 {
            let path = directory.appending(entry.name)
            for row in try formerRows(of: entry, at: path, &batch) {
                let former = row.stamp.identity
                if try hasLeft(place(of: row), former, from: root.other) {
                    left.append(.init(id: row.id, former: former, root: root, path: path, file: entry.stamp.identity))
                } else {
                    stayed.append(row.id)
                }
            }
        }
        try note(left, butNot: stayed)
    }

    /// What the other watched folder last showed of a file that is in this one.
    private func formerRows(
        of entry: DirectoryEntry, at path: RelativePath, _ batch: inout ScanBatch
    ) throws -> [BaseRow] {
        let rows = try engine.store.read { [root] db in
            try db.base(inode: entry.stamp.inode, root: root.other).filter {
                $0.kind == .file && $0.stamp.isSameFile(as: entry.stamp)
            }
        }
        return try rows.isEmpty
            ? recordsBrought(with: path, entry.stamp, &batch).filter { $0.root == root.other } : rows
    }

    private func note(_ left: [DepartureRow], butNot stayed: [RecordID]) throws {
        guard !left.isEmpty || !stayed.isEmpty else { return }
        let (fresh, outdated) = try engine.store.read { db in
            let fresh = try left.filter { departure in
                var known = try db.departure(of: departure.id)
                known?.record = nil
                return known != departure
            }
            return (fresh, try stayed.filter { try db.departure(of: $0) != nil })
        }
        guard !fresh.isEmpty || !outdated.isEmpty else { return }
        try engine.store.write { db in
            for departure in fresh { try db.setDeparture(departure) }
            for id in outdated { try db.removeDeparture(of: id) }
        }
    }

    /// The records, of both watched folders, whose very sidecar lies beside a file, and not where it was any more.
    func recordsBrought(
        with path: RelativePath, _ stamp: FileStamp, _ batch: inout ScanBatch
    ) throws -> [BaseRow] {
        if let known = batch.brought[path] { return known }
        // In its place, its sidecar is where it belongs.
        let isInPlace = batch.known[path].flatMap { batch.base[$0] }?.stamp.isSameFile(as: stamp) == true
        guard batch.hasSidecars, !isInPlace else { return [] }
        let rows = try recordsOfSidecar(beside: path)
        batch.brought[path] = rows
        return rows
    }

    private func recordsOfSidecar(beside path: RelativePath) throws -> [BaseRow] {
        guard let name = path.last, let hint = engine.sidecarHint(for: path, root: root) else { return [] }
        // What can't be looked at tells nothing.
        let found = SidecarName.candidates(for: name).compactMap { candidate in
            try? files.entry(at: path.parent.appending(candidate))
        }
        let rows = try engine.store.read { db in
            try engine.zones.keys.sorted().compactMap { zone -> (row: BaseRow, sidecar: SidecarRow)? in
                let id = RecordID(zone: zone, name: hint)
                guard let row = try db.base(id), row.kind == .file, !row.isParked,
                    let sidecar = try db.sidecar(id), sidecar.stamp.birthNanoseconds != 0,
                    found.contains(where: { $0.stamp.isSameFile(as: sidecar.stamp) })
                else { return nil }
                return (row, sidecar)
            }
        }
        return try rows.filter { row, sidecar in
            let former = try place(of: row)?.parent.appending(sidecar.name)
            return hasLeft(former, sidecar.stamp.identity, from: row.root)
        }.map(\.row)
    }

    /// Notes what became of files that came from the other watched folder.
    func noteTaken() throws {
        let taken = try engine.store.read { db in
            try db.departures(to: root).filter { $0.record == nil }.compactMap { departure -> DepartureRow? in
                guard let id = try db.base(at: departure.path, root: root, top: engine.top(root)),
                    let row = try db.base(id), row.stamp.identity == departure.file
                else { return nil }
                var result = departure
                result.record = row.id
                return result
            }
        }
        guard !taken.isEmpty else { return }
        try engine.store.write { db in
            for departure in taken {
                try db.setDeparture(departure)
                // What went there and came back is what it was.
                if let record = departure.record, try db.departure(of: record)?.record == departure.id {
                    try db.removeDeparture(of: record)
                }
            }
        }
    }

    /// Notes what is again where it was before it became something else in the other watched folder: it has come back from there,
    /// and is what it was.
    func noteReturned(besides moved: Set<RecordID>) throws {
        let candidates = try engine.store.read { db in
            try db.departures(to: root.other).compactMap { departure -> (DepartureRow, BaseRow)? in
                guard departure.record != nil, !moved.contains(departure.id), let row = try db.base(departure.id),
                    row.root == root, !row.isParked, isRecursive || listedFolders.contains(row.parent)
                else { return nil }
                return (departure, row)
            }
        }
        for (departure, row) in candidates {
            // What was put there since is not it: then it was written anew, and never came back.
            guard let path = try place(of: row), isFile(row.stamp.identity, at: path, in: root) == true else {
                continue
            }
            let other = try engine.store.read { db in try departure.record.flatMap(db.base) }
            // Of a hard link, both are where they belong.
            let hasComeBack = try other.map { other in
                try row.stamp.identity == departure.former && other.root == root.other
                    && hasLeft(place(of: other), other.stamp.identity, from: other.root)
            }
            try engine.store.write { db in
                try db.removeDeparture(of: row.id)
                guard let other, hasComeBack == true else { return }
                try db.setDeparture(
                    .init(
                        id: other.id, former: other.stamp.identity, root: root, path: path, file: row.stamp.identity,
                        record: row.id))
            }
        }
    }

    /// Whether a file that stands in the place of another one has to wait until the other watched folder was looked at, too:
    /// what had the place may be there.
    func mayHaveDeparted(_ record: BaseEntry, with entry: DirectoryEntry) -> Bool {
        guard hasOther, record.kind == .file, record.stamp.birthNanoseconds != 0,
            !entry.stamp.isSameFile(as: record.stamp)
        else { return false }
        // In this folder it is known that it is.
        return !pendingFiles.contains(record.stamp.identity)
    }

    /// Whether the file of a record was found in the other watched folder, and has gone on from there before it was taken, as
    /// with a folder that was renamed: the next look at that folder tells where it is.
    func hasGoneOn(_ record: BaseEntry) throws -> Bool {
        let departure = try engine.store.read { db in try db.departure(of: record.id) }
        guard let departure, departure.root == root.other, departure.record == nil,
            departure.former == record.stamp.identity
        else { return false }
        let isThere = isFile(departure.file, at: departure.path, in: root.other)
        if isThere == false { try engine.store.write { db in try db.removeDeparture(of: record.id) } }
        return isThere != true
    }

    /// The records of a batch whose own files are in the other watched folder, or came from there to another place in this
    /// one. Where this account may not delete, what takes the place of a file is not taken anyway.
    func departed(_ batch: ScanBatch) throws -> Set<RecordID> {
        try engine.store.read { db in
            let some = try RootKind.allCases.flatMap(db.departures(to:)).filter { departure in
                guard let record = batch.base[departure.id], record.stamp.identity == departure.former else {
                    return false
                }
                return departure.root != root || departure.path != record.path && departure.record != record.id
            }
            let noted = try some.filter { departure in
                guard try engine.may(.deleteRecord, departure.id, db) else { return false }
                guard let record = departure.record else {
                    return try isFileOrWaits(departure.file, at: departure.path, in: departure.root)
                }
                // It may have gone elsewhere in there; if it is gone, it may be back.
                return try db.base(record) != nil && engine.missing[record] == nil
            }
            return Set(noted.map(\.id)).union(try returned(batch, db))
        }
    }

    /// The records of a batch whose own files lie again, unchanged, where they had been in the other watched folder before they
    /// came here: what came here and went back before that folder was judged.
    private func returned(_ batch: ScanBatch, _ db: Database) throws -> [RecordID] {
        guard hasOther else { return [] }
        return try batch.base.values.filter { record in
            guard record.kind == .file, record.stamp.birthNanoseconds != 0, let there = batch.local[record.path],
                there.kind == .file, !there.stamp.isSameFile(as: record.stamp),
                try engine.may(.deleteRecord, record.id, db)
            else { return false }
            return try db.base(inode: record.stamp.inode, root: root.other).contains { row in
                guard row.kind == .file, !row.isParked, row.stamp.isSameFile(as: record.stamp),
                    // A hard link has not come from there.
                    try db.departure(of: row.id)?.record == record.id,
                    let path = try db.basePath(of: row.id, top: [engine.top(row.root)])
                else { return false }
                return try isFileOrWaits(record.stamp.identity, at: path, in: root.other)
            }
        }.map(\.id)
    }

    private var hasOther: Bool { !engine.zonesShown(.shared).isEmpty }

    private func place(of row: BaseRow) throws -> RelativePath? {
        try engine.store.read { db in try db.basePath(of: row.id, top: [engine.top(row.root)]) }
    }

    /// Whether a file is not any more where it was in a watched folder. What can't be looked at now counts as gone: that matters
    /// only where another file is seen to have its place.
    private func hasLeft(_ former: RelativePath?, _ identity: FileIdentity, from root: RootKind) -> Bool {
        guard let former else { return false }
        return isFile(identity, at: former, in: root) != true
    }

    /// Whether a file is at a path in a watched folder. Without an answer, what has its place here would be taken for an edit of it.
    /// - Throws: `LookPutOff`.
    private func isFileOrWaits(
        _ identity: FileIdentity, at path: RelativePath, in other: RootKind
    ) throws(LookPutOff) -> Bool {
        let found = try engine.awaiting(.init(root: other, path: path), in: root) { () throws(FileError) in
            try engine.files(other).entry(at: path)?.stamp.identity == identity
        }
        return found == true
    }

    /// Whether a file is at a path in a watched folder; nil if that can be told another time.
    private func isFile(_ identity: FileIdentity, at path: RelativePath, in root: RootKind) -> Bool? {
        do { return try engine.files(root).entry(at: path)?.stamp.identity == identity } catch {
            return error.mayPass ? nil : false
        }
    }
}

extension RootKind {
    /// The other watched folder.
    var other: RootKind { self == .library ? .shared : .library }
}
