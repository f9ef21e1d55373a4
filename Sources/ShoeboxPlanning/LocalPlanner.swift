import ShoeboxModel

/// The steps of `planLocal`, in the order of the methods.
struct LocalPlanner {
    let base: [BaseEntry]
    let local: [LocalEntry]
    let listed: Set<RelativePath>
    let roots: [RecordID: RelativePath]
    let parked: Set<RecordID>
    let departed: Set<RecordID>
    let sidecars: [RelativePath: RecordID]
    /// What files that nobody knows are known by: the identity of the record whose sidecar came along.
    var carried: [RelativePath: FileIdentity] = [:]

    var baseFolders: [RelativePath: Int] = [:]
    /// The same folders by their records. What lies in one that was renamed may be known by where that is now, which is where
    /// another one was.
    var folderOf: [RecordID: Int] = [:]
    var rootIDs: [RelativePath: RecordID] = [:]
    var localByPath: [RelativePath: Int] = [:]
    /// The base entries of files that are not parked, by what they were known by.
    var recordOf: [FileIdentity: Int] = [:]
    /// The local entry that a base entry was found to be, and the other way round.
    var found: [Int?]
    var owner: [Int?]
    /// Whether a base entry is known to be gone from where it would be.
    var isMissing: [Bool]
    /// What `currentPath` has answered; to be emptied when directories are matched.
    var currentPaths: [Int: RelativePath?] = [:]
    var result = LocalPlan()

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
            folderOf[entry.id] = index
        }
        for (index, entry) in self.base.enumerated() where entry.kind == .file && !parked.contains(entry.id) {
            recordOf[entry.stamp.identity] = index
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

    mutating func claim(_ baseIndex: Int, _ localIndex: Int) {
        found[baseIndex] = localIndex
        owner[localIndex] = baseIndex
    }

    mutating func matchFolders() {
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
        var baseNames: [Int: Set<FileName>] = [:]
        var localNames: [RelativePath: Set<FileName>] = [:]
        if !byInode.isEmpty {
            for entry in base {
                if let last = entry.path.last, let folder = folder(holding: entry) {
                    baseNames[folder, default: []].insert(last)
                }
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
            let before = baseNames[index] ?? []
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

    func isParked(_ entry: BaseEntry) -> Bool { parked.contains(entry.id) }

    /// Where a folder of the base is now; nil when it is gone or parked. One of which nothing is known is where it was, under
    /// its parent's present path.
    mutating func currentPath(ofFolder index: Int) -> RelativePath? {
        if let known = currentPaths[index] { return known }
        // Of folders that lie in one another none is anywhere.
        currentPaths[index] = .some(nil)
        var answer: RelativePath?
        if let there = found[index] {
            answer = local[there].path
        } else if !isParked(base[index]), !isMissing[index] {
            answer = expectedPath(base[index]).flatMap { isListedAndAbsent($0) || isTaken($0) ? nil : $0 }
        }
        currentPaths[index] = .some(answer)
        return answer
    }

    /// Where a directory is now that was at a path, whether the base has a folder there or not.
    private mutating func currentPath(ofDirectory path: RelativePath) -> RelativePath? {
        if let index = baseFolders[path] { return currentPath(ofFolder: index) }
        guard rootIDs[path] == nil, let last = path.last else { return path }
        let plain = currentPath(ofDirectory: path.parent)?.appending(last)
        return plain.flatMap { isListedAndAbsent($0) ? nil : $0 }
    }

    private func isTaken(_ path: RelativePath) -> Bool { localByPath[path].map { owner[$0] != nil } ?? false }

    private func isListedAndAbsent(_ path: RelativePath) -> Bool {
        guard listed.contains(path.parent), !path.isRoot else { return false }
        return localByPath[path].map { local[$0].kind != .folder } ?? true
    }

    /// Where an entry would be if only the directories above it had moved; nil when the one that holds it is gone.
    mutating func expectedPath(_ entry: BaseEntry) -> RelativePath? {
        guard let last = entry.path.last else { return entry.path }
        let folder =
            if let index = folderOf[entry.parent] { currentPath(ofFolder: index) } else {
                currentPath(ofDirectory: entry.path.parent)
            }
        return folder?.appending(last)
    }

    /// Whether an entry can't be where it would be, as far as its kind goes: its directory is listed without it, or is
    /// itself gone from a listed one. Below a root without a directory, or below something parked, nothing is known.
    mutating func isObservedMissing(_ entry: BaseEntry) -> Bool {
        guard let path = expectedPath(entry) else { return !isInParked(entry) }
        if let there = localByPath[path] { return local[there].kind != entry.kind || owner[there] != nil }
        return listed.contains(path.parent)
    }

    /// The folder of the base that holds an entry; nil below a root, and below what the base does not know.
    private func folder(holding entry: BaseEntry) -> Int? {
        if let index = folderOf[entry.parent] { return index }
        var path = entry.path.parent
        while !path.isRoot {
            if let index = baseFolders[path] { return index }
            path = path.parent
        }
        return nil
    }

    /// Whether an entry is nowhere only because a folder that it lay in is parked.
    private func isInParked(_ entry: BaseEntry) -> Bool {
        var next = folder(holding: entry)
        var count = 0
        while let index = next, found[index] == nil, count <= base.count {
            if isParked(base[index]) { return true }
            next = folder(holding: base[index])
            count += 1
        }
        return false
    }
}
