public import ShoeboxModel

/// The steps that make a watched root show a layout.
///
/// A renamed directory is one step; swaps and cycles go through parking. Files go to the trash before the directories
/// that held them, directories come before what is in them, and each step's preconditions hold if the earlier ones
/// succeeded. A step that fails makes later ones fail on their preconditions, harmlessly; the plan is then derived again.
///
/// Left as they are: records outside of `scope`, dormant ones, what could reach its place only over something that stays
/// (a directory that is not empty, say), and everything in the root that has no entry. A file without a content hash
/// (still pending) replaces and becomes nothing.
/// - Parameters:
///   - base: what is in the watched root. Entries whose place and bytes another record represents now are taken as
///     `adoptRepresentatives` has them; apply that to what is stored, too.
///   - desired: the tree that the records make.
///   - roots: the tops of the tree and their directories, which exist.
///   - scope: the records that may be touched; nil for all.
///   - parked: records of `base` whose files an unfinished plan has put aside. One that the layout no longer shows is
///     put back at its old path, or at a free name there or at the top, to be removed like any other by the next plan;
///     so is a folder that is to go into something which is still in it, where its old path is free.
public func planApply(
    base: [BaseEntry], desired: Layout, roots: [RecordID: RelativePath], scope: Set<RecordID>? = nil,
    parked: Set<RecordID> = []
) -> [FileOperation] {
    planApplyNamingWaiting(base: base, desired: desired, roots: roots, scope: scope, parked: parked).operations
}

/// As `planApply`, with the records of `scope` that can't reach their places now: they are to be planned again when what
/// is in their way has gone.
public func planApplyNamingWaiting(
    base: [BaseEntry], desired: Layout, roots: [RecordID: RelativePath], scope: Set<RecordID>? = nil,
    parked: Set<RecordID> = []
) -> (operations: [FileOperation], waiting: Set<RecordID>) {
    let adopted = adoptRepresentatives(base: base, layout: desired)
    let renamed = Dictionary(zip(base.map(\.id), adopted.map(\.id)), uniquingKeysWith: { first, _ in first })
    let parked = Set(parked.map { renamed[$0] ?? $0 })
    var untouchable: Set<RecordID> = []
    // What can't be done at all must not be begun, or it would stay parked: plan again without it. Each round excludes
    // at least one record.
    while true {
        var planner = ApplyPlanner(
            base: adopted, desired: desired, roots: roots, scope: scope, parked: parked, untouchable: untouchable)
        let stuck = planner.run()
        if stuck.isEmpty { return (planner.operations, untouchable) }
        untouchable.formUnion(stuck)
    }
}

/// Carries out a plan on a model of the tree while making it, so that every path is as of its step.
private struct ApplyPlanner {
    private struct Slot: Hashable {
        var parent: RecordID
        var name: FileName
    }
    private enum Need: Hashable {
        case free(Slot)
        case present(RecordID)
        case empty(RecordID)
        /// A folder that would lie in itself waits for another folder to leave it.
        case folderMoves
    }
    private enum Task: Hashable {
        case make(RecordID)
        case move(RecordID)
        case write(RecordID)
        case restore(RecordID)
        case removeDirectory(RecordID)

        var id: RecordID {
            switch self {
            case .make(let id), .move(let id), .write(let id), .restore(let id), .removeDirectory(let id): id
            }
        }
    }

    private let entries: [RecordID: BaseEntry]
    private let desired: Layout
    private let roots: [RecordID: RelativePath]
    private let isTouched: (RecordID) -> Bool

    /// Where things are in the model; parked ones and those that don't exist have no slot.
    private var slots: [RecordID: Slot] = [:]
    private var occupants: [Slot: RecordID] = [:]
    private var childCounts: [RecordID: Int] = [:]
    private var parked: Set<RecordID>
    private var wasPutBack: Set<RecordID> = []
    private var waiting: [Need: [Task]] = [:]
    private var blockedBy: [Task: Need] = [:]
    private var ready: [Task] = []
    /// A task that waits and is parked may be ready twice, and is done once.
    private var done: Set<Task> = []
    private(set) var operations: [FileOperation] = []

    init(
        base: [BaseEntry], desired: Layout, roots: [RecordID: RelativePath], scope: Set<RecordID>?,
        parked: Set<RecordID>, untouchable: Set<RecordID>
    ) {
        entries = Dictionary(base.map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
        self.desired = desired
        self.roots = roots
        self.parked = parked.intersection(base.map(\.id))
        isTouched = { id in
            !untouchable.contains(id) && scope.map { $0.contains(id) } ?? true && !desired.dormant.contains(id)
        }
        var directories: [RelativePath: RecordID] = [:]
        for (id, path) in roots { directories[path] = min(id, directories[path] ?? id) }
        for entry in base where entry.kind == .folder { directories[entry.path] = entry.id }
        for entry in entries.values where !self.parked.contains(entry.id) {
            guard let name = entry.path.last else { continue }
            let isKnown = roots[entry.parent] != nil || entries[entry.parent]?.kind == .folder
            let slot = Slot(
                parent: isKnown ? entry.parent : directories[entry.path.parent] ?? entry.parent, name: name)
            slots[entry.id] = slot
            occupants[slot] = entry.id
            childCounts[slot.parent, default: 0] += 1
        }
    }

    /// Makes the plan; returns the records whose tasks can't be done, with which the plan is void.
    mutating func run() -> Set<RecordID> {
        removeFiles()
        ready = tasks().reversed()
        settle()
        while true {
            if let id = nextToPark() {
                park(id)
            } else if let (id, slot) = nextToPutBack() {
                putBack(id, in: slot)
            } else if let (id, slot) = nextToSetBeside() {
                blockedBy[.restore(id)] = nil
                unpark(id, in: slot)
            } else {
                break
            }
            settle()
        }
        // A directory that is not empty just stays; anything else must not have been begun.
        let stuck = blockedBy.keys.filter { if case .removeDirectory = $0 { false } else { true } }
        if !stuck.isEmpty { return Set(stuck.map(\.id)) }
        replaceContents()
        return []
    }

    // MARK: What is to be done

    private mutating func removeFiles() {
        let surplus = entries.values.filter { entry in
            entry.kind == .file && desired.nodes[entry.id] == nil && isTouched(entry.id) && slots[entry.id] != nil
                && isAttached(entry.id)
        }
        for entry in surplus.map({ (path(of: $0.id), $0) }).sorted(by: { $0.0 < $1.0 }).map(\.1) {
            operations.append(.remove(entry.id, at: path(of: entry.id), expecting: entry.stamp))
            leave(entry.id)
        }
    }

    private func tasks() -> [Task] {
        let wanted = paths(of: desired, roots: roots).filter { desired.nodes[$0.key] != nil && isTouched($0.key) }
            .sorted { ($0.value.names.count, $0.value) < ($1.value.names.count, $1.value) }
        var folders: [Task] = []
        var files: [Task] = []
        var writes: [Task] = []
        for (id, _) in wanted {
            guard let node = desired.nodes[id] else { continue }
            if let entry = entries[id] {
                guard entry.kind == node.kind else { continue }
                if slots[id] != Slot(parent: node.parent, name: node.name) {
                    if node.kind == .folder { folders.append(.move(id)) } else { files.append(.move(id)) }
                }
            } else if node.kind == .folder {
                folders.append(.make(id))
            } else if node.contentHash != nil {
                writes.append(.write(id))
            }
        }
        let gone = entries.values.filter { desired.nodes[$0.id] == nil && isTouched($0.id) }
        let restores = gone.map(\.id).filter(parked.contains).sorted().map(Task.restore)
        let removals = gone.filter { $0.kind == .folder && slots[$0.id] != nil }
            .sorted { $0.path > $1.path }.map { Task.removeDirectory($0.id) }
        return restores + folders + files + removals + writes
    }

    // MARK: Doing it

    private mutating func settle() {
        while let task = ready.popLast() {
            if done.contains(task) { continue }
            if let need = firstNeed(of: task) {
                waiting[need, default: []].append(task)
                blockedBy[task] = need
            } else {
                blockedBy[task] = nil
                done.insert(task)
                perform(task)
            }
        }
    }

    private func target(of task: Task) -> Slot? {
        switch task {
        case .make(let id), .move(let id), .write(let id):
            desired.nodes[id].map { Slot(parent: $0.parent, name: $0.name) }
        case .restore(let id):
            entries[id].flatMap { entry in entry.path.last.map { Slot(parent: entry.parent, name: $0) } }
        case .removeDirectory: nil
        }
    }

    private func exists(_ id: RecordID) -> Bool { roots[id] != nil || slots[id] != nil }

    /// What keeps a task from being done; nil when it can be.
    private func firstNeed(of task: Task) -> Need? {
        // What lies in something parked has no path until that is back.
        if slots[task.id] != nil, !isAttached(task.id) { return .folderMoves }
        guard let slot = target(of: task) else {
            return childCounts[task.id, default: 0] > 0 ? .empty(task.id) : nil
        }
        guard exists(slot.parent), isAttached(slot.parent) else {
            return slots[slot.parent] == nil ? .present(slot.parent) : .folderMoves
        }
        if case .move(let id) = task, isAtOrBelow(slot.parent, id) { return .folderMoves }
        if let occupant = occupants[slot], occupant != task.id { return .free(slot) }
        return nil
    }

    private mutating func perform(_ task: Task) {
        let id = task.id
        guard let slot = target(of: task) else {
            operations.append(.removeDirectory(id, at: path(of: id)))
            leave(id)
            return
        }
        let from = slots[id] == nil ? nil : path(of: id)
        leave(id)
        enter(id, slot)
        let to = path(of: id)
        switch task {
        case .make: operations.append(.makeDirectory(id, at: to))
        case .write:
            if let hash = desired.nodes[id]?.contentHash {
                operations.append(.write(id, at: to, contentHash: hash, replacing: nil))
            }
        default:
            if parked.remove(id) != nil {
                operations.append(.unpark(id, to: to))
            } else if let from {
                operations.append(.move(id, from: from, to: to))
            }
        }
        wake(.present(id))
        if entries[id]?.kind ?? .folder == .folder { wake(.folderMoves) }
    }

    private mutating func park(_ id: RecordID) {
        operations.append(.park(id, from: path(of: id)))
        leave(id)
        parked.insert(id)
        wake(.folderMoves)
        // The move itself was waiting; being parked it may be possible now, and looks again.
        if blockedBy[.move(id)] != nil { ready.append(.move(id)) }
    }

    private mutating func leave(_ id: RecordID) {
        guard let slot = slots.removeValue(forKey: id) else { return }
        if occupants[slot] == id { occupants[slot] = nil }
        childCounts[slot.parent, default: 1] -= 1
        wake(.free(slot))
        if childCounts[slot.parent, default: 0] <= 0 { wake(.empty(slot.parent)) }
    }

    private mutating func enter(_ id: RecordID, _ slot: Slot) {
        slots[id] = slot
        occupants[slot] = id
        childCounts[slot.parent, default: 0] += 1
    }

    private mutating func wake(_ need: Need) {
        // A task that was parked in between may wait twice; only what still waits for this looks again.
        for task in (waiting.removeValue(forKey: need) ?? []).reversed() where blockedBy[task] == need {
            ready.append(task)
        }
    }

    /// Something whose leaving frees a way: the occupant of a wanted place, else any folder, else any file that waits.
    ///
    /// Never a folder while something in it waits to leave: that would be out of reach. The innermost always can.
    private func nextToPark() -> RecordID? {
        var candidates: [(rank: Int, id: RecordID)] = []
        var burdened: Set<RecordID> = []
        for case .move(let id) in blockedBy.keys {
            var current = slots[id]?.parent
            while let folder = current, burdened.insert(folder).inserted { current = slots[folder]?.parent }
        }
        for (task, need) in blockedBy {
            if case .free(let slot) = need, let occupant = occupants[slot], canPark(occupant),
                !burdened.contains(occupant)
            {
                candidates.append((0, occupant))
            }
            if case .move(let id) = task, canPark(id), !burdened.contains(id) {
                candidates.append((need == .folderMoves ? 1 : 2, id))
            }
        }
        return candidates.min { ($0.rank, $0.id) < ($1.rank, $1.id) }?.id
    }

    /// A folder that was put aside before what is to leave it did, and its old place.
    private func nextToPutBack() -> (RecordID, Slot)? {
        for id in parked.sorted() where blockedBy[.move(id)] != nil && !wasPutBack.contains(id) {
            guard childCounts[id, default: 0] > 0, let slot = target(of: .restore(id)), exists(slot.parent),
                isAttached(slot.parent), occupants[slot] == nil
            else { continue }
            return (id, slot)
        }
        return nil
    }

    /// Something that the layout shows no more and whose old place is another's by now, and a free one: what is in it could
    /// not be removed while it is aside.
    private func nextToSetBeside() -> (RecordID, Slot)? {
        for id in parked.sorted() where blockedBy[.restore(id)] != nil {
            guard let old = target(of: .restore(id)) else { continue }
            let isThere = exists(old.parent) && isAttached(old.parent)
            guard let parent = isThere ? old.parent : roots.keys.min() else { continue }
            let names = [old.name] + (2..<1_000).lazy.map { old.name.inserting(" (\($0))") }
            let free = names.lazy.map { Slot(parent: parent, name: $0) }.first { occupants[$0] == nil }
            if let free { return (id, free) }
        }
        return nil
    }

    private mutating func putBack(_ id: RecordID, in slot: Slot) {
        wasPutBack.insert(id)
        unpark(id, in: slot)
        ready.append(.move(id))
    }

    private mutating func unpark(_ id: RecordID, in slot: Slot) {
        parked.remove(id)
        enter(id, slot)
        operations.append(.unpark(id, to: path(of: id)))
        wake(.present(id))
        wake(.folderMoves)
    }

    private func canPark(_ id: RecordID) -> Bool {
        blockedBy[.move(id)] != nil && slots[id] != nil && isAttached(id)
    }

    private mutating func replaceContents() {
        let changed = entries.values.filter { entry in
            guard isTouched(entry.id), slots[entry.id] != nil, isAttached(entry.id), let node = desired.nodes[entry.id]
            else { return false }
            return node.kind == .file && entry.kind == .file && node.contentHash != nil
                && node.contentHash != entry.contentHash
        }
        for (path, entry) in changed.map({ (path(of: $0.id), $0) }).sorted(by: { $0.0 < $1.0 }) {
            guard let hash = desired.nodes[entry.id]?.contentHash else { continue }
            operations.append(.write(entry.id, at: path, contentHash: hash, replacing: entry.stamp))
        }
    }

    // MARK: Where things are

    /// Whether a thing lies in the tree, not in something parked.
    private func isAttached(_ id: RecordID) -> Bool {
        var current = id
        for _ in 0...slots.count {
            if roots[current] != nil { return true }
            guard let slot = slots[current] else { return isOutside(current) }
            current = slot.parent
        }
        return false
    }

    /// Whether a folder is neither an entry, a node nor a root: a plain directory above a mounted zone.
    private func isOutside(_ id: RecordID) -> Bool { entries[id] == nil && desired.nodes[id] == nil }

    private func isAtOrBelow(_ id: RecordID, _ ancestor: RecordID) -> Bool {
        var current = id
        for _ in 0...slots.count {
            if current == ancestor { return true }
            guard let slot = slots[current] else { return false }
            current = slot.parent
        }
        return true
    }

    private func path(of id: RecordID) -> RelativePath {
        var names: [FileName] = []
        var current = id
        for _ in 0...slots.count {
            if let root = roots[current] { return RelativePath(root.names + names.reversed()) }
            guard let slot = slots[current] else { break }
            names.append(slot.name)
            if isOutside(slot.parent), roots[slot.parent] == nil, let entry = entries[current] {
                return RelativePath(entry.path.parent.names + names.reversed())
            }
            current = slot.parent
        }
        return RelativePath(names.reversed())
    }
}
