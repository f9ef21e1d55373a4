public import ShoeboxModel

/// The tree that records make: a pure function of the set of them, whatever their order.
///
/// - Live folders of one zone with equal place are one: the smallest record represents, the others redirect.
/// - A folder that is not live shows while it has a shown child.
/// - A folder beats a file for a name; of files the one with the smallest (name's timestamp, record) keeps it. Files
///   with the same bytes at one place are one; others get the first free of `IMG_1 (bob).jpg`, `IMG_1 (bob 2).jpg`….
///   Folders of different zones are never one: the later name gives way in the same manner.
/// - Of a cycle of parents the folder with the greatest (parent's timestamp, record) shows at its zone's root; a mounted
///   zone in a cycle shows at the smallest of `roots`.
///
/// The input may be a part of the tree: all folders, with all files of some of them. A folder that is not live needs
/// its files among them to show.
/// - Parameters:
///   - records: everything placed; a mounted zone is a folder whose id is the zone's root. Each record once.
///   - roots: the tops of the tree, which need no record.
public func layOut(_ records: some Sequence<PlacedRecord>, roots: Set<RecordID>) -> Layout {
    var builder = LayoutBuilder(records, roots: roots)
    return builder.build()
}

private struct LayoutBuilder {
    private enum Parent: Equatable { case root(RecordID), folder(Int), unknown }

    private var records: [PlacedRecord] = []
    private let roots: Set<RecordID>
    private var indexes: [RecordID: Int] = [:]
    private var parents: [Parent] = []
    private var children: [[Int]] = []
    private var rootChildren: [RecordID: [Int]] = [:]
    private var isShown: [Bool] = []
    private var layout = Layout()

    init(_ input: some Sequence<PlacedRecord>, roots: Set<RecordID>) {
        self.roots = roots
        indexes.reserveCapacity(input.underestimatedCount)
        records.reserveCapacity(input.underestimatedCount)
        for record in input where !roots.contains(record.id) {
            if let index = indexes[record.id] {
                // Twice the same record is a caller's mistake; the choice must still not depend on the order.
                if (records[index].parentStamp, records[index].nameStamp) < (record.parentStamp, record.nameStamp) {
                    records[index] = record
                }
                continue
            }
            indexes[record.id] = records.count
            records.append(record)
        }
        parents = records.map { _ in .unknown }
        for index in records.indices { parents[index] = parent(of: records[index].parent) }
    }

    private func parent(of id: RecordID) -> Parent {
        if roots.contains(id) { return .root(id) }
        if let index = indexes[id], records[index].kind == .folder { return .folder(index) }
        return .unknown
    }

    mutating func build() -> Layout {
        breakCycles()
        children = records.map { _ in [] }
        for index in records.indices {
            switch parents[index] {
            case .root(let id): rootChildren[id, default: []].append(index)
            case .folder(let parent): children[parent].append(index)
            case .unknown: break
            }
        }
        decideShown()
        var reached = [Bool](repeating: false, count: records.count)
        layout.nodes.reserveCapacity(records.count)
        // Top down: folders that become one make their children meet, and those are looked at next.
        var queue = roots.sorted().map { ($0, rootChildren[$0] ?? []) }
        while let (folder, members) = queue.popLast() {
            for member in members { reached[member] = true }
            place(members.filter { isShown[$0] }, in: folder, into: &queue)
        }
        for index in records.indices where !reached[index] && isShown[index] {
            layout.dormant.insert(records[index].id)
        }
        return layout
    }

    // MARK: Cycles

    /// Every folder is broken out at most twice, so this ends: a mounted zone goes to a top, where no cycle passes.
    private mutating func breakCycles() {
        while true {
            let cycles = findCycles()
            if cycles.isEmpty { return }
            for cycle in cycles {
                let mounts = cycle.filter { records[$0].id.isZoneRoot }
                let candidates = mounts.isEmpty ? cycle : mounts
                let greatest = candidates.max {
                    (records[$0].parentStamp, records[$0].id) < (records[$1].parentStamp, records[$1].id)
                }
                guard let broken = greatest else { continue }
                let id = records[broken].id
                if id.isZoneRoot {
                    parents[broken] = roots.min().map(Parent.root) ?? .unknown
                } else {
                    parents[broken] = parent(of: RecordID(zone: id.zone, name: .zoneRoot))
                }
                layout.cycleBreaks.insert(id)
            }
        }
    }

    private func findCycles() -> [[Int]] {
        var visitedIn = [Int](repeating: -1, count: records.count)
        var cycles: [[Int]] = []
        for start in records.indices where records[start].kind == .folder {
            var chain: [Int] = []
            var current = start
            while visitedIn[current] == -1 {
                visitedIn[current] = start
                chain.append(current)
                guard case .folder(let next) = parents[current] else { break }
                current = next
                if visitedIn[current] == start, let first = chain.firstIndex(of: current) {
                    cycles.append(Array(chain[first...]))
                }
            }
        }
        return cycles
    }

    // MARK: Who shows

    private mutating func decideShown() {
        isShown = records.map { $0.isLive }
        for index in records.indices where records[index].isLive {
            var current = index
            while case .folder(let next) = parents[current], !isShown[next] {
                isShown[next] = true
                current = next
            }
        }
    }

    // MARK: One folder

    private struct Candidate {
        var representative: Int
        var members: [Int]
    }

    private mutating func place(_ members: [Int], in folder: RecordID, into queue: inout [(RecordID, [Int])]) {
        var folders: [FileName: [Int]] = [:]
        var files: [FileName: [Int]] = [:]
        for member in members {
            if records[member].kind == .folder {
                folders[records[member].name, default: []].append(member)
            } else {
                files[records[member].name, default: []].append(member)
            }
        }
        var taken = Set<FileName>(minimumCapacity: folders.count + files.count)
        taken.formUnion(folders.keys)
        taken.formUnion(files.keys)
        var displaced: [Candidate] = []
        for (name, group) in folders {
            var candidates = mergedFolders(group)
            show(candidates.removeFirst(), as: name, in: folder, isDerived: false, into: &queue)
            displaced += candidates
        }
        for (name, group) in files {
            var candidates = group.count == 1 ? [Candidate(representative: group[0], members: group)] : twins(group)
            if folders[name] == nil {
                show(candidates.removeFirst(), as: name, in: folder, isDerived: false, into: &queue)
            }
            displaced += candidates
        }
        displaced.sort { isOlder($0.representative, $1.representative) }
        for candidate in displaced {
            let name = freeName(for: records[candidate.representative], taken: taken)
            taken.insert(name)
            show(candidate, as: name, in: folder, isDerived: true, into: &queue)
        }
    }

    /// The folders of one name, those of one zone as one, the one that keeps the name first.
    private func mergedFolders(_ group: [Int]) -> [Candidate] {
        if group.count == 1 { return [Candidate(representative: group[0], members: group)] }
        var partitions: [RecordID: [Int]] = [:]
        for index in group {
            let id = records[index].id
            // A mounted zone is one with nothing: what lies in it is shared, what lies beside it is not.
            let isMount = id.isZoneRoot
            partitions[isMount ? id : RecordID(zone: id.zone, name: RecordName(1)), default: []].append(index)
        }
        let candidates = partitions.values.map { members in
            let sorted = members.sorted { records[$0].id < records[$1].id }
            let live = sorted.first { records[$0].isLive }
            return Candidate(representative: live ?? sorted[0], members: sorted)
        }
        return candidates.sorted { isOlder(oldest($0), oldest($1)) }
    }

    private func oldest(_ candidate: Candidate) -> Int {
        candidate.members.min(by: isOlder) ?? candidate.representative
    }

    /// The files of one name, those of equal bytes as one, the one that keeps the name first.
    private func twins(_ group: [Int]) -> [Candidate] {
        var candidates: [Candidate] = []
        var byContent: [Digest32: Int] = [:]
        for index in group.sorted(by: isOlder) {
            if let hash = records[index].contentHash {
                if let known = byContent[hash] {
                    candidates[known].members.append(index)
                    continue
                }
                byContent[hash] = candidates.count
            }
            candidates.append(Candidate(representative: index, members: [index]))
        }
        return candidates
    }

    private func isOlder(_ left: Int, _ right: Int) -> Bool {
        (records[left].nameStamp, records[left].id) < (records[right].nameStamp, records[right].id)
    }

    private mutating func show(
        _ candidate: Candidate, as name: FileName, in folder: RecordID, isDerived: Bool,
        into queue: inout [(RecordID, [Int])]
    ) {
        let record = records[candidate.representative]
        let others = candidate.members.filter { $0 != candidate.representative }.map { records[$0].id }.sorted()
        layout.nodes[record.id] = LayoutNode(
            id: record.id, parent: folder, name: name, kind: record.kind, contentHash: record.contentHash,
            twins: others)
        if isDerived { layout.derivedNames[record.id] = name }
        guard record.kind == .folder else { return }
        for other in others { layout.redirects[other] = record.id }
        queue.append((record.id, candidate.members.flatMap { children[$0] }))
    }

    private func freeName(for record: PlacedRecord, taken: Set<FileName>) -> FileName {
        let label = Derivation.fileNamePart(of: record.authorLabel)
        for number in 1...taken.count + 1 {
            let name = record.name.inserting(number == 1 ? " (\(label))" : " (\(label) \(number))")
            if !taken.contains(name) { return name }
        }
        // Only a name without room for any suffix gets here.
        return FileName(record.id.name.description) ?? record.name
    }
}
