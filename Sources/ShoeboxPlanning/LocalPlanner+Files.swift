import ShoeboxModel

// Which file is which.

extension LocalPlanner {
    /// What a file is known by.
    private func identity(_ entry: LocalEntry) -> FileIdentity { carried[entry.path] ?? entry.stamp.identity }

    private mutating func followSidecars() {
        guard !sidecars.isEmpty else { return }
        let known = Dictionary(recordOf.values.map { (base[$0].id, base[$0].stamp.identity) }) { first, _ in first }
        var taken = Set(local.lazy.filter { $0.kind == .file }.map(\.stamp.identity))
        for entry in local where entry.kind == .file && recordOf[entry.stamp.identity] == nil {
            guard let own = sidecars[entry.path].flatMap({ known[$0] }), own.birthNanoseconds != 0,
                taken.insert(own).inserted
            else { continue }
            carried[entry.path] = own
        }
    }

    /// Records that made way for the file of another one, which came with its sidecar and whose own place went to a third,
    /// and whose own file is nowhere.
    private mutating func replaced() -> Set<Int> {
        guard !sidecars.isEmpty else { return [] }
        let present = Set(local.lazy.filter { $0.kind == .file }.map { [self] in identity($0) })
        var result: Set<Int> = []
        for (index, entry) in base.enumerated() where entry.kind == .file && !isParked(entry) {
            guard let path = expectedPath(entry), let there = localByPath[path], local[there].kind == .file,
                let other = recordOf[identity(local[there])], other != index, sidecars[path] == base[other].id,
                !present.contains(entry.stamp.identity), let former = expectedPath(base[other]),
                let third = localByPath[former], identity(local[third]) != base[other].stamp.identity
            else { continue }
            result.insert(index)
        }
        return result
    }

    mutating func matchFiles() {
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
            if let other = recordOf[identity(local[there])] {
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
}
