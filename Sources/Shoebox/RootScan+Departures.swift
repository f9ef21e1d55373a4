import ShoeboxLibrary
import ShoeboxModel
import ShoeboxPlanning
import ShoeboxStore
import ShoeboxWorld

// Files that were moved between the two watched folders: the own library, and others' shares. Each is planned by itself, and
// what goes from one to another is a new record there. But what takes the place of such a file is no edit of it.

/// Where the file of a record was found in the other watched folder.
struct Departure {
    /// The file that the record had then. With another one in its place since, as when it was written anew, it is here again.
    var former: FileIdentity
    /// Its place there.
    var place: Engine.WatchedPath
    /// The file that was found.
    var file: FileIdentity
    /// What it became there, once that is in the history.
    var record: RecordID?
}

extension RootScan {
    /// Notes which of some new or changed files had a place in the other watched folder that they have left. An editor may
    /// have saved such a photo since: then the sidecar that came along tells.
    func noteArrivals(_ entries: ArraySlice<DirectoryEntry>, in directory: RelativePath) throws {
        guard hasOther else { return }
        for entry in entries where entry.kind == .file && entry.stamp.birthNanoseconds != 0 {
            let path = directory.appending(entry.name)
            var rows = try engine.store.read { [root] db in
                try db.base(inode: entry.stamp.inode, root: root.other).filter {
                    $0.kind == .file && $0.stamp.isSameFile(as: entry.stamp)
                }
            }
            if rows.isEmpty { rows = try recordsOfSidecar(beside: path) }
            for row in rows {
                let former = row.stamp.identity
                engine.departed[row.id] =
                    try hasLeft(place(of: row), former)
                    ? Departure(former: former, place: .init(root: root, path: path), file: entry.stamp.identity) : nil
            }
        }
    }

    /// The records of the other watched folder whose very sidecar lies beside a file in this one, and not there any more.
    private func recordsOfSidecar(beside path: RelativePath) throws -> [BaseRow] {
        guard let name = path.last, let hint = engine.sidecarHint(for: path, root: root) else { return [] }
        // What can't be looked at tells nothing.
        let found = SidecarName.candidates(for: name).compactMap { candidate in
            try? files.entry(at: path.parent.appending(candidate))
        }
        let rows = try engine.store.read { db in
            try engine.zones.keys.sorted().compactMap { zone -> (row: BaseRow, sidecar: SidecarRow)? in
                let id = RecordID(zone: zone, name: hint)
                guard let row = try db.base(id), row.root == root.other, row.kind == .file,
                    let sidecar = try db.sidecar(id), sidecar.stamp.birthNanoseconds != 0,
                    found.contains(where: { $0.stamp.isSameFile(as: sidecar.stamp) })
                else { return nil }
                return (row, sidecar)
            }
        }
        return try rows.filter { row, sidecar in
            try hasLeft(place(of: row)?.parent.appending(sidecar.name), sidecar.stamp.identity)
        }.map(\.row)
    }

    /// Notes what became of files that came from the other watched folder.
    func noteTaken() throws {
        let open = engine.departed.filter { $0.value.place.root == root && $0.value.record == nil }
        guard !open.isEmpty else { return }
        try engine.store.read { db in
            for (id, departure) in open {
                let row = try db.base(at: departure.place.path, root: root, top: engine.top(root))
                guard let row = try row.flatMap({ try db.base($0) }), row.stamp.identity == departure.file else {
                    continue
                }
                engine.departed[id]?.record = row.id
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

    /// The records of a batch whose own files are in the other watched folder. Where this account may not delete, what takes
    /// the place of a file is not taken anyway.
    func departed(_ batch: ScanBatch) throws -> Set<RecordID> {
        let some = engine.departed.filter { id, departure in
            departure.place.root != root && batch.base[id]?.stamp.identity == departure.former
        }
        guard !some.isEmpty else { return [] }
        return try engine.store.read { db in
            Set(
                try some.filter { id, departure in
                    guard try engine.may(.deleteRecord, id, db) else { return false }
                    guard let record = departure.record else {
                        return isFile(departure.file, at: departure.place.path, in: departure.place.root)
                    }
                    // It may have gone elsewhere in there; if it is gone, it may be back.
                    return try db.base(record) != nil && engine.missing[record] == nil
                }.keys)
        }
    }

    private var hasOther: Bool { !engine.zonesShown(.shared).isEmpty }

    private func place(of row: BaseRow) throws -> RelativePath? {
        try engine.store.read { db in try db.basePath(of: row.id, top: [engine.top(row.root)]) }
    }

    /// Whether a file is known not to be any more where it was in the other watched folder.
    private func hasLeft(_ former: RelativePath?, _ identity: FileIdentity) -> Bool {
        guard let former else { return false }
        do { return try engine.files(root.other).entry(at: former)?.stamp.identity != identity } catch {
            return error.isAbsence
        }
    }

    /// Whether a file is known to be at a path; what can't be looked at may be anything.
    private func isFile(_ identity: FileIdentity, at path: RelativePath, in root: RootKind) -> Bool {
        (try? engine.files(root).entry(at: path))?.stamp.identity == identity
    }
}

extension RootKind {
    /// The other watched folder.
    var other: RootKind { self == .library ? .shared : .library }
}
