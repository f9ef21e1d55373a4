public import ShoeboxModel

/// What a user did in a watched root since the base, by the rules of identity.
///
/// 1. A file's path that is still occupied by a file keeps its record: an edit; unless two or more records swapped
///    their files or bytes among their paths, which are moves, or the record's own file is elsewhere and that of another
///    record has taken its place, as in a chain of renames, or a new one has; but what an editor put aside is no move.
///    Where the record's own file has left the root, what took its place is that of another record, or new. A file that
///    nobody knows is that of the record whose own sidecar came along with it, if that has no other: an editor has saved it
///    on the way. And what came with its sidecar to the place of a file that is nowhere, while its own place went to another
///    one, is no edit of that.
/// 2. A file that is gone from its path is where a file with the same inode and birth time is (without birth times: and
///    with equal bytes).
/// 3. Else where the only file with equal bytes is; of several such records, the one of the same name. Empty files tell
///    nothing.
///
/// What else is missing is deleted, what else is there is new. A directory is known by inode and birth time, else by
/// path; a renamed one is one change, and what is in it did not move. Absence of knowledge is never deletion: only a
/// directory that is in `listed`, or lies below one that is gone from a listed one, can lack something.
///
/// When a mounted zone's directory is gone, its deletion is reported and none of what was in it.
/// - Parameters:
///   - base: what was last agreed on, all of the watched root.
///   - local: what was found; for directories in `listed` everything, for others what is known.
///   - listed: the directories whose listings in `local` are complete.
///   - roots: the tops of the tree and their directories. A root is never deleted: without its directory all below it
///     is unknown.
///   - parked: records whose files an unfinished plan has put aside; they, and what is in them, are left alone.
///   - departed: records whose own file was found outside of this root. What stands in its place is another one's file.
///   - sidecars: for files beside which lies the very sidecar of a record that had another place, that record.
public func planLocal(
    base: [BaseEntry], local: [LocalEntry], listed: Set<RelativePath>, roots: [RecordID: RelativePath],
    parked: Set<RecordID> = [], departed: Set<RecordID> = [], sidecars: [RelativePath: RecordID] = [:]
) -> LocalPlan {
    var planner = LocalPlanner(
        base: base, local: local, listed: listed, roots: roots, parked: parked, departed: departed, sidecars: sidecars)
    return planner.plan()
}

/// The steps of `planLocal`, in the order of the methods.
private struct LocalPlanner {
    private let base: [BaseEntry]
    private let local: [LocalEntry]
    private let listed: Set<RelativePath>
    private let roots: [RecordID: RelativePath]
    private let parked: Set<RecordID>
    private let departed: Set<RecordID>
    private let sidecars: [RelativePath: RecordID]
    /// What files that nobody knows are known by: the identity of the record whose sidecar came along.
    private var carried: [RelativePath: FileIdentity] = [:]

    private var baseFolders: [RelativePath: Int] = [:]
    private var rootIDs: [RelativePath: RecordID] = [:]
    private var localByPath: [RelativePath: Int] = [:]
    /// The local entry that a base entry was found to be, and the other way round.
    private var found: [Int?]
    private var owner: [Int?]
    /// Whether a base entry is known to be gone from where it would be.
    private var isMissing: [Bool]
    /// What `currentPath` has answered; to be emptied when directories are matched.
    private var currentPaths: [RelativePath: RelativePath?] = [:]
    private var result = LocalPlan()

    init(
        base: [BaseEntry], local: [LocalEntry], listed: Set<RelativePath>, roots: [RecordID: RelativePath],
        parked: Set<RecordID>, departed: Set<RecordID>, sidecars: [RelativePath: RecordID]
    ) {
        self.base = base.sorted { $0.path < $1.path }
        self.local = local.sorted { $0.path < $1.path }
        self.listed = listed
        self.roots = roots
        self.parked = parked
        self.departed = departed
        self.sidecars = sidecars
        found = self.base.map { _ in nil }
        owner = self.local.map { _ in nil }
        isMissing = self.base.map { _ in false }
        for (index, entry) in self.base.enumerated() where entry.kind == .folder {
            baseFolders[entry.path] = index
        }
        for (id, path) in roots { rootIDs[path] = min(id, rootIDs[path] ?? id) }
        for (index, entry) in self.local.enumerated() { localByPath[entry.path] = index }
    }

    mutating func plan() -> LocalPlan {
        matchFolders()
        matchFiles()
        report()
        return result
    }

    // MARK: Directories

    private mutating func claim(_ baseIndex: Int, _ localIndex: Int) {
        found[baseIndex] = localIndex
        owner[localIndex] = baseIndex
    }

    private mutating func matchFolders() {
        // By inode first, wherever a directory went: paths below it are understood only then.
        var byIdentity: [FileIdentity: Int] = [:]
        for (index, entry) in local.enumerated() where entry.kind == .folder && entry.stamp.birthNanoseconds != 0 {
            byIdentity[entry.stamp.identity] = index
        }
        for (index, entry) in base.enumerated()
        where entry.kind == .folder && !isParked(entry) && entry.stamp.birthNanoseconds != 0 {
            guard let candidate = byIdentity[entry.stamp.identity], owner[candidate] == nil else { continue }
            claim(index, candidate)
        }
        // Then by path, parents before children: `base` is in the order of paths.
        for (index, entry) in base.enumerated() where entry.kind == .folder && found[index] == nil {
            guard !isParked(entry), let path = expectedPath(entry) else { continue }
            if let there = localByPath[path], local[there].kind == .folder, owner[there] == nil { claim(index, there) }
        }
        // A file system without birth times gives an inode to the next directory at once: a renamed one must still hold
        // something that it held.
        var byInode: [UInt64: Int] = [:]
        for (index, entry) in local.enumerated() where entry.kind == .folder && owner[index] == nil {
            byInode[entry.stamp.inode] = index
        }
        var baseNames: [RelativePath: Set<FileName>] = [:]
        var localNames: [RelativePath: Set<FileName>] = [:]
        if !byInode.isEmpty {
            for entry in base {
                if let last = entry.path.last { baseNames[entry.path.parent, default: []].insert(last) }
            }
            for entry in local {
                if let last = entry.path.last { localNames[entry.path.parent, default: []].insert(last) }
            }
        }
        for (index, entry) in base.enumerated()
        where entry.kind == .folder && found[index] == nil && entry.stamp.birthNanoseconds == 0 && !isParked(entry) {
            guard isObservedMissing(entry), let there = byInode[entry.stamp.inode], owner[there] == nil,
                local[there].stamp.birthNanoseconds == 0
            else { continue }
            let before = baseNames[entry.path] ?? []
            if before.isDisjoint(with: localNames[local[there].path] ?? []), !before.isEmpty { continue }
            claim(index, there)
            currentPaths.removeAll()
        }
        currentPaths.removeAll()
        for (index, entry) in base.enumerated() where entry.kind == .folder && found[index] == nil {
            isMissing[index] = !isParked(entry) && isObservedMissing(entry)
        }
        currentPaths.removeAll()
    }

    private func isParked(_ entry: BaseEntry) -> Bool { parked.contains(entry.id) }

    /// Where a directory of the base is now; nil when it is gone or parked. One of which nothing is known is where it
    /// was, under its parent's present path.
    private mutating func currentPath(ofDirectory path: RelativePath) -> RelativePath? {
        if rootIDs[path] != nil, baseFolders[path] == nil { return path }
        if let known = currentPaths[path] { return known }
        var answer: RelativePath?
        if let index = baseFolders[path] {
            if let there = found[index] {
                answer = local[there].path
            } else if !isParked(base[index]), !isMissing[index] {
                answer = expectedPath(base[index]).flatMap { isListedAndAbsent($0) || isTaken($0) ? nil : $0 }
            }
        } else if let last = path.last {
            let plain = currentPath(ofDirectory: path.parent)?.appending(last)
            answer = plain.flatMap { isListedAndAbsent($0) ? nil : $0 }
        } else {
            answer = path
        }
        currentPaths[path] = .some(answer)
        return answer
    }

    private func isTaken(_ path: RelativePath) -> Bool { localByPath[path].map { owner[$0] != nil } ?? false }

    private func isListedAndAbsent(_ path: RelativePath) -> Bool {
        guard listed.contains(path.parent), !path.isRoot else { return false }
        return localByPath[path].map { local[$0].kind != .folder } ?? true
    }

    /// Where an entry would be if only the directories above it had moved; nil when the one that holds it is gone.
    private mutating func expectedPath(_ entry: BaseEntry) -> RelativePath? {
        guard let last = entry.path.last else { return entry.path }
        return currentPath(ofDirectory: entry.path.parent)?.appending(last)
    }

    /// Whether an entry can't be where it would be, as far as its kind goes: its directory is listed without it, or is
    /// itself gone from a listed one. Below a root without a directory, or below something parked, nothing is known.
    private mutating func isObservedMissing(_ entry: BaseEntry) -> Bool {
        guard let path = expectedPath(entry) else { return !isUnknown(directory: entry.path.parent) }
        if let there = localByPath[path] { return local[there].kind != entry.kind || owner[there] != nil }
        return listed.contains(path.parent)
    }

    /// Whether a directory is nowhere only because it, or one that it lay in, is parked.
    private func isUnknown(directory path: RelativePath) -> Bool {
        var current = path
        while !current.isRoot {
            if let index = baseFolders[current] {
                if isParked(base[index]) { return true }
                if found[index] != nil { return false }
            }
            current = current.parent
        }
        return false
    }

    // MARK: Files

    /// What a file is known by.
    private func identity(_ entry: LocalEntry) -> FileIdentity { carried[entry.path] ?? entry.stamp.identity }

    private mutating func followSidecars() {
        guard !sidecars.isEmpty else { return }
        var known: [RecordID: FileIdentity] = [:]
        var identities: Set<FileIdentity> = []
        for entry in base where entry.kind == .file && !isParked(entry) && entry.stamp.birthNanoseconds != 0 {
            known[entry.id] = entry.stamp.identity
            identities.insert(entry.stamp.identity)
        }
        var taken = Set(local.lazy.filter { $0.kind == .file }.map(\.stamp.identity))
        for entry in local where entry.kind == .file && !identities.contains(entry.stamp.identity) {
            guard let own = sidecars[entry.path].flatMap({ known[$0] }), taken.insert(own).inserted else { continue }
            carried[entry.path] = own
        }
    }

    /// Records that made way for the file of another one, which came with its sidecar and whose own place went to a third,
    /// and whose own file is nowhere.
    private mutating func replaced() -> Set<Int> {
        guard !sidecars.isEmpty else { return [] }
        var records: [FileIdentity: Int] = [:]
        for (index, entry) in base.enumerated() where entry.kind == .file && !isParked(entry) {
            records[entry.stamp.identity] = index
        }
        let present = Set(local.lazy.filter { $0.kind == .file }.map { [self] in identity($0) })
        var result: Set<Int> = []
        for (index, entry) in base.enumerated() where entry.kind == .file && !isParked(entry) {
            guard let path = expectedPath(entry), let there = localByPath[path], local[there].kind == .file,
                let other = records[identity(local[there])], other != index, sidecars[path] == base[other].id,
                !present.contains(entry.stamp.identity), let former = expectedPath(base[other]),
                let third = localByPath[former], identity(local[third]) != base[other].stamp.identity
            else { continue }
            result.insert(index)
        }
        return result
    }

    private mutating func matchFiles() {
        followSidecars()
        let replaced = replaced()
        var occupied: [Int: Int] = [:]
        for (index, entry) in base.enumerated() where entry.kind == .file && !isParked(entry) {
            if let path = expectedPath(entry), let there = localByPath[path], local[there].kind == .file {
                let isGone = departed.contains(entry.id) || replaced.contains(index)
                if isGone, identity(local[there]) != entry.stamp.identity {
                    isMissing[index] = true
                } else {
                    occupied[index] = there
                }
            } else {
                isMissing[index] = isObservedMissing(entry)
            }
        }
        var moved = swaps(occupied)
        moved.merge(chains(occupied, besides: moved)) { swapped, _ in swapped }
        for (index, there) in occupied { claim(index, moved[index] ?? there) }
        matchByInode()
        matchByContent()
    }

    /// For each record that swapped places with others, the file that is its own now.
    private func swaps(_ occupied: [Int: Int]) -> [Int: Int] {
        let changed = occupied.filter { index, there in !isOwn(local[there], base[index]) }
        guard changed.count > 1 else { return [:] }
        var byIdentity: [FileIdentity: Int] = [:]
        var byContent: [Digest32: Int?] = [:]
        for index in changed.keys.sorted() {
            byIdentity[base[index].stamp.identity] = index
            // Nil where several records had the same bytes: those tell nothing.
            if let hash = base[index].contentHash, base[index].stamp.size > 0 {
                byContent[hash] = .some(byContent[hash] == nil ? index : nil)
            }
        }
        // Whose file lies at each changed path: a one-to-one map, of which every cycle is a swap.
        var source: [Int: Int] = [:]
        var taken: Set<Int> = []
        for (index, there) in changed.sorted(by: { $0.key < $1.key }) {
            let entry = local[there]
            var origin: Int?
            if let known = byIdentity[identity(entry)], known != index,
                entry.stamp.birthNanoseconds != 0 || entry.contentHash == base[known].contentHash
            {
                origin = known
            } else if let hash = entry.contentHash, let known = byContent[hash] ?? nil, known != index {
                origin = known
            }
            if let origin, taken.insert(origin).inserted { source[index] = origin }
        }
        var result: [Int: Int] = [:]
        for start in source.keys.sorted() where result[start] == nil {
            var chain = [start]
            while let last = chain.last, let next = source[last], next != start, chain.count <= source.count {
                chain.append(next)
            }
            guard let last = chain.last, source[last] == start else { continue }
            for index in chain { if let origin = source[index] { result[origin] = changed[index] } }
        }
        return result
    }

    /// For each record that made way for the file of another one, and whose own file is elsewhere, that file: `c` became
    /// `d`, `b` became `c`, and `a` became `b`, or something new is `a`. What was put over a file that is nowhere else is an
    /// edit of that, and so is what was written where an editor had put the file aside.
    private func chains(_ occupied: [Int: Int], besides swapped: [Int: Int]) -> [Int: Int] {
        let changed = occupied.filter { index, there in
            swapped[index] == nil && identity(local[there]) != base[index].stamp.identity
                && !isOwn(local[there], base[index])
        }
        guard !changed.isEmpty else { return [:] }
        var records: [FileIdentity: Int] = [:]
        for (index, entry) in base.enumerated() where entry.kind == .file && !isParked(entry) {
            records[entry.stamp.identity] = index
        }
        var places: [FileIdentity: Int] = [:]
        for (index, entry) in local.enumerated() where entry.kind == .file { places[identity(entry)] = index }
        func place(of index: Int) -> Int? {
            guard let there = places[base[index].stamp.identity], isFile(local[there], of: base[index]) else {
                return nil
            }
            return there
        }
        let occupant = Dictionary(occupied.map { ($0.value, $0.key) }, uniquingKeysWith: min)
        var result: [Int: Int] = [:]
        for (start, there) in changed.sorted(by: { $0.key < $1.key }) where result[start] == nil {
            if let other = records[identity(local[there])] {
                guard other != start, isFile(local[there], of: base[other]) else { continue }
            } else {
                guard let place = place(of: start), !local[place].path.isBackup(of: local[there].path) else {
                    continue
                }
            }
            var chain: [Int: Int] = [:]
            var next: Int? = start
            while let index = next, chain[index] == nil, result[index] == nil {
                guard changed[index] != nil, let place = place(of: index) else { break }
                chain[index] = place
                next = occupant[place]
            }
            // It ends where nothing was, or where another one has been followed to.
            if next.map({ chain[$0] != nil || result[$0] != nil }) ?? true { result.merge(chain) { $1 } }
        }
        return result
    }

    /// Whether a file is the one of a record, whatever it holds; where birth times say nothing, with its bytes.
    private func isFile(_ entry: LocalEntry, of record: BaseEntry) -> Bool {
        identity(entry) == record.stamp.identity
            && (entry.stamp.birthNanoseconds != 0
                || entry.contentHash != nil && entry.contentHash == record.contentHash && entry.stamp.size > 0)
    }

    /// Whether a file at a record's path is the one that was there, with the same bytes.
    private func isOwn(_ entry: LocalEntry, _ record: BaseEntry) -> Bool {
        if entry.stamp.isUnchanged(from: record.stamp) { return true }
        return entry.contentHash != nil && entry.contentHash == record.contentHash
    }

    private mutating func matchByInode() {
        var free: [FileIdentity: [Int]] = [:]
        for (index, entry) in local.enumerated() where entry.kind == .file && owner[index] == nil {
            free[identity(entry), default: []].append(index)
        }
        for (index, entry) in base.enumerated() where entry.kind == .file && isMissing[index] && found[index] == nil {
            let key = entry.stamp.identity
            guard let candidates = free[key] else { continue }
            let match = candidates.first { candidate in
                owner[candidate] == nil
                    && (key.birthNanoseconds != 0
                        || (local[candidate].contentHash != nil && local[candidate].contentHash == entry.contentHash))
            }
            if let match { claim(index, match) }
        }
    }

    private mutating func matchByContent() {
        var free: [Digest32: [Int]] = [:]
        for (index, entry) in local.enumerated()
        where entry.kind == .file && owner[index] == nil && entry.stamp.size > 0 {
            if let hash = entry.contentHash { free[hash, default: []].append(index) }
        }
        var missing: [Digest32: [Int]] = [:]
        for (index, entry) in base.enumerated() where entry.kind == .file && isMissing[index] && found[index] == nil {
            if let hash = entry.contentHash, free[hash] != nil { missing[hash, default: []].append(index) }
        }
        for hash in missing.keys.sorted() {
            guard let records = missing[hash], let files = free[hash] else { continue }
            if records.count == 1 {
                let name = base[records[0]].path.last
                claim(records[0], files.first { local[$0].path.last == name } ?? files[0])
                continue
            }
            for record in records {
                let name = base[record].path.last
                guard records.filter({ base[$0].path.last == name }).count == 1 else { continue }
                let sameName = files.filter { local[$0].path.last == name }
                if sameName.count == 1, owner[sameName[0]] == nil { claim(record, sameName[0]) }
            }
        }
    }

    // MARK: Report

    private mutating func report() {
        var created: [RelativePath: Int] = [:]
        var count = 0
        var folderIDs: [RelativePath: RecordID] = rootIDs
        for (index, entry) in base.enumerated() where entry.kind == .folder {
            if let there = found[index] {
                folderIDs[local[there].path] = entry.id
            } else if !isMissing[index], !isParked(entry), let path = currentPath(ofDirectory: entry.path) {
                if folderIDs[path] == nil { folderIDs[path] = entry.id }
            }
        }
        func reference(_ path: RelativePath) -> FolderReference? {
            if let id = folderIDs[path] { return .existing(id) }
            return created[path].map(FolderReference.created)
        }

        // A plain directory above zones, such as `<owner>/` above `<title>/`, is nobody's.
        var wayToZones: Set<RelativePath> = []
        for var path in Array(roots.values) + base.filter(\.id.isZoneRoot).map(\.path) {
            while !path.isRoot {
                path = path.parent
                wayToZones.insert(path)
            }
        }

        // `local` is in the order of paths, so parents come before children.
        for (index, entry) in local.enumerated() where entry.kind == .folder && owner[index] == nil {
            if rootIDs[entry.path] != nil { continue }
            guard let parent = reference(entry.path.parent) else {
                if wayToZones.contains(entry.path) { continue }
                result.unplaced.append(entry.path)
                continue
            }
            created[entry.path] = count
            result.changes.append(
                .create(
                    number: count, kind: .folder, in: parent, path: entry.path, stamp: entry.stamp, contentHash: nil,
                    copyOf: nil))
            count += 1
        }

        var edits: [LocalChange] = []
        var present: [Digest32: RecordID] = [:]
        let order = base.indices.filter { found[$0] != nil }.sorted {
            (found[$0].map { local[$0].path } ?? .root) < (found[$1].map { local[$0].path } ?? .root)
        }
        for index in order {
            guard let there = found[index] else { continue }
            let (record, entry) = (base[index], local[there])
            let isEdited = entry.contentHash.map { $0 != record.contentHash } ?? false
            let isUnread =
                record.kind == .file && entry.contentHash == nil && !entry.stamp.isUnchanged(from: record.stamp)
            if isUnread {
                result.unread.append(entry.path)
                continue
            }
            if record.kind == .file, let hash = entry.contentHash ?? record.contentHash, !isEdited {
                present[hash] = min(record.id, present[hash] ?? record.id)
            }
            let expected = expectedPath(record)
            var isPlaced = false
            if expected != entry.path {
                // A mounted zone may lie in a plain directory, which is no record.
                let fallback = record.id.isZoneRoot ? FolderReference.existing(record.parent) : nil
                if let parent = reference(entry.path.parent) ?? fallback, let name = entry.path.last {
                    result.changes.append(
                        .place(record.id, in: parent, name: name, path: entry.path, stamp: entry.stamp))
                    isPlaced = true
                } else {
                    result.unplaced.append(entry.path)
                    continue
                }
            }
            if record.kind == .file, isEdited, let hash = entry.contentHash {
                edits.append(.edit(record.id, contentHash: hash, stamp: entry.stamp))
            } else if !isPlaced, entry.stamp != record.stamp {
                edits.append(.restamp(record.id, entry.stamp))
            }
        }
        result.changes += edits

        for (index, entry) in local.enumerated() where entry.kind == .file && owner[index] == nil {
            guard let parent = reference(entry.path.parent) else {
                result.unplaced.append(entry.path)
                continue
            }
            guard let hash = entry.contentHash else {
                result.unread.append(entry.path)
                continue
            }
            result.changes.append(
                .create(
                    number: count, kind: .file, in: parent, path: entry.path, stamp: entry.stamp, contentHash: hash,
                    copyOf: entry.stamp.size > 0 ? present[hash] : nil))
            count += 1
        }

        // The reverse order of paths has what is in a folder before the folder.
        let goneMounts = base.indices.filter { isMissing[$0] && found[$0] == nil && base[$0].id.isZoneRoot }
            .map { base[$0].path }
        for index in base.indices.reversed() where isMissing[index] && found[index] == nil {
            let entry = base[index]
            if goneMounts.contains(where: { entry.path != $0 && entry.path.isAtOrBelow($0) }) { continue }
            result.changes.append(.delete(entry.id))
        }
        result.unread.sort()
        result.unplaced.sort()
    }
}
