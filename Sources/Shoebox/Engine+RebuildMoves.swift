import ShoeboxLibrary
import ShoeboxModel
import ShoeboxPlanning
import ShoeboxStore
import ShoeboxWorld

import class GRDB.Database

extension Engine {
    /// Finds what lies elsewhere than the container says. What lies where it was before, others have renamed or moved since: it is
    /// noted there, and goes to its place. Anything else was renamed or moved while nothing noted it, as a state directory was
    /// lost before that was published: it is noted as if it were still known at its place; the scan then
    /// finds it by its inode where it is, and takes the renaming. Without this it would come back under both names.
    ///
    /// Only for a folder that this account's shoebox has served before: anywhere else, files that happen to have the bytes
    /// of known ones say nothing of where their owner wants those.
    /// - Parameters:
    ///   - known: where each record should be.
    ///   - taken: the places that show what they should.
    func adoptMoved(_ root: RootKind, layout: Layout, known: [RecordID: RelativePath], taken: Set<RelativePath>) throws
    {
        var search = MovedSearch(engine: self, root: root, layout: layout, known: known, taken: taken)
        guard try search.findMissing() else { return }
        try search.findStrays(in: .root)
        search.pair()
        try search.note()
    }
}

/// One search for files whose place shows nothing among those that no record has.
private struct MovedSearch {
    let engine: Engine
    let root: RootKind
    let layout: Layout
    let known: [RecordID: RelativePath]
    let taken: Set<RelativePath>
    /// Files of which nothing is at their place, by their bytes.
    private var missing: [Digest32: [RecordID]] = [:]
    /// The same by the bytes that they had before.
    private var missingFormer: [Digest32: [RecordID]] = [:]
    /// Files at places that no record has, by their bytes.
    private var strays: [Digest32: [(path: RelativePath, stamp: FileStamp)]] = [:]
    private var directories: [RelativePath: FileStamp] = [:]
    /// What was found of the missing, and where.
    private var found: [RecordID: (path: RelativePath, stamp: FileStamp, hash: Digest32?)] = [:]

    init(
        engine: Engine, root: RootKind, layout: Layout, known: [RecordID: RelativePath], taken: Set<RelativePath>
    ) {
        self.engine = engine
        self.root = root
        self.layout = layout
        self.known = known
        self.taken = taken
    }

    private var files: any LocalFileSystem { engine.files(root) }

    /// - Returns: whether anything is missing.
    mutating func findMissing() throws -> Bool {
        for (id, path) in known where !taken.contains(path) {
            guard let node = layout.nodes[id], node.kind == .file, let hash = node.contentHash,
                try isMissing(path)
            else { continue }
            missing[hash, default: []].append(id)
            let former = try engine.store.read { db in
                try engine.namesInZones(of: id, db).flatMap { try db.changes(of: $0.name, in: $0.zone) }
            }.compactMap { $0.content?.contentHash }
            for hash in Set(former).subtracting([hash]) { missingFormer[hash, default: []].append(id) }
        }
        return !missing.isEmpty
    }

    /// Whether nothing is at a path. What can't be looked at for good, as behind a link, is not taken to be elsewhere.
    private func isMissing(_ path: RelativePath) throws(FileError) -> Bool {
        do { return try files.entry(at: path) == nil } catch {
            guard !engine.mayCompareLater(root, error) else { throw error }
            return false
        }
    }

    mutating func findStrays(in directory: RelativePath) throws {
        let entries: [DirectoryEntry]
        do { entries = try files.list(directory) } catch {
            guard !engine.mayCompareLater(root, error) else { throw error }
            engine.log("not searched: \(error)")
            return
        }
        for entry in entries {
            let path = directory.appending(entry.name)
            guard !engine.settings.ignore.ignores(path, isDirectory: entry.kind == .directory) else { continue }
            if entry.kind == .directory {
                if !taken.contains(path) { directories[path] = entry.stamp }
                try findStrays(in: path)
            } else if entry.kind == .file, !taken.contains(path),
                let (hash, stamp) = try engine.contentHash(path, root),
                missing[hash] != nil || missingFormer[hash] != nil
            {
                strays[hash, default: []].append((path, stamp))
            }
        }
    }

    /// Says which file each missing record became: of equal ones those of the same name first, then in order.
    mutating func pair() {
        pair(missing)
        pair(missingFormer)
        pairFolders()
    }

    private mutating func pair(_ wanted: [Digest32: [RecordID]]) {
        for (hash, records) in wanted.sorted(by: { $0.key < $1.key }) {
            var rest = strays[hash] ?? []
            var open = records.filter { found[$0] == nil }.sorted { (known[$0] ?? .root) < (known[$1] ?? .root) }
            for isSameName in [true, false] {
                open.removeAll { id in
                    let index = rest.firstIndex { stray in
                        (!isSameName || stray.path.last == known[id]?.last) && isOneZone(id, stray.path)
                    }
                    guard let index else { return false }
                    let stray = rest.remove(at: index)
                    found[id] = (stray.path, stray.stamp, hash)
                    return true
                }
            }
            strays[hash] = rest
        }
    }

    /// Whether a file at a path may be that record without going to other people: in the own library always, among what
    /// others share within the same share.
    private func isOneZone(_ id: RecordID, _ path: RelativePath) -> Bool {
        guard root == .shared else { return true }
        let mount = known[RecordID(zone: id.zone, name: .zoneRoot)]
        return mount.map { path.names.starts(with: $0.names) } ?? false
    }

    /// A folder that is not there became the one in which most of what was in it was found.
    private mutating func pairFolders() {
        let absent = known.filter { layout.nodes[$0.key]?.kind == .folder && !taken.contains($0.value) }
        var free = directories
        var votes: [RecordID: [RelativePath: Int]] = [:]
        for (id, place) in found {
            guard let parent = layout.nodes[id]?.parent else { continue }
            votes[parent, default: [:]][place.path.parent, default: 0] += 1
        }
        // The deepest first: a folder of folders became the one in which those were found.
        for (id, path) in absent.sorted(by: { ($1.value.names.count, $0.value) < ($0.value.names.count, $1.value) }) {
            let best = (votes[id] ?? [:]).filter { free[$0.key] != nil }
                .max { ($0.value, $1.key) < ($1.value, $0.key) }?.key
            guard let best, let stamp = free.removeValue(forKey: best), let parent = layout.nodes[id]?.parent else {
                continue
            }
            engine.log("'\(path)' was found again as '\(best)'")
            found[id] = (best, stamp, nil)
            votes[parent, default: [:]][best.parent, default: 0] += 1
        }
    }

    /// The folder in which something was found, if the record was said to be there before under this very name.
    private func formerParent(_ id: RecordID, at place: RelativePath, _ db: Database) throws -> RecordID? {
        guard let name = place.last, let parent = try db.base(at: place.parent, root: root, top: engine.top(root)),
            parent.zone == id.zone
        else { return nil }
        return try engine.wasShown(id, as: name, in: parent, db) ? parent : nil
    }

    /// Notes what was found: at the place it has, where it was known there before; else at the one it should have, or, where
    /// the folder of that is gone, at the one it has now.
    func note() throws {
        try engine.store.write { db in
            for (id, place) in found.sorted(by: { (known[$0.key] ?? .root) < (known[$1.key] ?? .root) }) {
                guard let node = layout.nodes[id], var name = known[id]?.last, try db.base(id) == nil else { continue }
                var parent = node.parent
                if let former = try formerParent(id, at: place.path, db), let last = place.path.last {
                    (parent, name) = (former, last)
                } else if try parent != engine.top(root) && db.base(parent) == nil {
                    let top = engine.top(root)
                    guard let now = try db.base(at: place.path.parent, root: root, top: top), let last = place.path.last
                    else { continue }
                    (parent, name) = (now, last)
                }
                guard try db.base(named: name, in: parent, root: root) == nil else { continue }
                try db.setBase(
                    BaseRow(
                        root: root, id: id, parent: parent, name: name, kind: node.kind, stamp: place.stamp,
                        contentHash: place.hash,
                        vector: place.hash == node.contentHash
                            ? db.state(of: id)?.vector ?? [:]
                            : place.hash.flatMap { try engine.formerlyShown($0, of: id, db) } ?? [:],
                        twins: place.hash == node.contentHash ? node.twins : []))
            }
        }
    }
}
