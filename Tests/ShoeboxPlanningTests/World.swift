import ShoeboxModel
import ShoeboxPlanning
import ShoeboxTestSupport

/// One replica's loop over a disk and a set of records, with the engine's part in its simplest form.
struct World {
    var disk = Disk()
    var records: [RecordID: PlacedRecord] = [:]
    /// Counts the writes of each record; a deletion counts only for who was shown the latest.
    var versions: [RecordID: Int] = [:]
    var base: [BaseEntry] = []
    var shownVersions: [RecordID: Int] = [:]
    var parked: Set<RecordID> = []
    var everything: Set<Int> = []
    /// Contents that somebody who had them before their eyes overwrote or deleted.
    var given: Set<Int> = []
    private var recordCounter = 0
    private var contentCounter = 0
    private var wall: UInt64 = 0

    mutating func newContent() -> Int {
        contentCounter += 1
        everything.insert(contentCounter)
        return contentCounter
    }

    mutating func tick() -> HybridTimestamp {
        wall += 1
        return stamp(at: wall)
    }

    mutating func addRecord(_ kind: NodeKind, in parent: RecordID, _ name: FileName, content: Int) -> RecordID {
        recordCounter += 1
        let time = tick()
        let record = id(recordCounter)
        records[record] = PlacedRecord(
            id: record, kind: kind, parent: parent, parentStamp: time, name: name, nameStamp: time,
            authorLabel: "bob", contentHash: kind == .file ? digest(content) : nil)
        versions[record] = 1
        return record
    }

    mutating func placeRecord(_ record: RecordID, in parent: RecordID, _ name: FileName) {
        let time = tick()
        records[record]?.parent = parent
        records[record]?.parentStamp = time
        records[record]?.name = name
        records[record]?.nameStamp = time
        touch(record)
    }

    mutating func touch(_ record: RecordID) {
        versions[record, default: 0] += 1
        records[record]?.isLive = true
    }

    // MARK: What people do

    mutating func perturbLocally(_ generator: inout SeededGenerator) {
        let all = disk.visible
        let names = ["a", "b", "c", "d"]
        let directories = [RelativePath.root] + all.filter { $0.node.kind == .folder }.map(\.path)
        let place = directories[generator.below(directories.count)].appending(name(names[generator.below(4)]))
        let some = all.isEmpty ? nil : all[generator.below(all.count)]
        switch generator.below(10) {
        case 0, 1:
            let content = newContent()
            if !disk.make(place, .file, content: content) { everything.remove(content) }
        case 2: disk.make(place, .folder)
        case 3, 4:
            guard let some, some.node.kind == .file else { return }
            let content = newContent()
            if disk.edit(some.path, content: content) { given.insert(some.node.content) }
        case 5, 6, 7: if let some { disk.rename(some.path, place) }
        case 8:
            guard let some, all.count > 1 else { return }
            let other = all[generator.below(all.count)]
            let aside = path("aside")
            if disk.rename(some.path, aside) {
                if disk.rename(other.path, some.path) { disk.rename(aside, other.path) }
                disk.rename(aside, some.path)
            }
        default:
            guard let some else { return }
            for (path, node) in all where path.isAtOrBelow(some.path) && node.kind == .file {
                given.insert(node.content)
            }
            disk.delete(some.path)
        }
    }

    mutating func perturbRemotely(_ generator: inout SeededGenerator) {
        let names = ["a", "b", "c", "d"]
        let sorted = records.keys.sorted()
        let folders = [top] + sorted.filter { records[$0]?.kind == .folder }
        let parent = folders[generator.below(folders.count)]
        let text = name(names[generator.below(4)])
        let some = sorted.isEmpty ? nil : sorted[generator.below(sorted.count)]
        switch generator.below(9) {
        case 0: _ = addRecord(.file, in: parent, text, content: newContent())
        case 1: _ = addRecord(.folder, in: parent, text, content: 0)
        case 2, 3:
            guard let some, let hash = records[some]?.contentHash else { return }
            given.insert(Int(hash.low))
            let content = newContent()
            records[some]?.contentHash = digest(content)
            touch(some)
        case 4, 5, 6: if let some { placeRecord(some, in: parent, text) }
        default:
            guard let some else { return }
            if let hash = records[some]?.contentHash { given.insert(Int(hash.low)) }
            records[some]?.isLive = false
        }
    }

    // MARK: The loop

    /// Takes what is on the disk into the records; returns how many changes there were.
    mutating func scan() -> Int {
        let local = disk.visible.map { path, node in
            LocalEntry(
                path: path, kind: node.kind, stamp: node.stamp,
                contentHash: node.kind == .file ? digest(node.content) : nil)
        }
        let listed = Set([RelativePath.root] + local.filter { $0.kind == .folder }.map(\.path))
        let plan = planLocal(base: base, local: local, listed: listed, roots: [top: .root], parked: parked)
        var created: [Int: RecordID] = [:]
        func resolve(_ reference: FolderReference) -> RecordID {
            switch reference {
            case .existing(let id): id
            case .created(let number): created[number] ?? top
            }
        }
        var seen: [RecordID] = []
        for change in plan.changes {
            switch change {
            case .restamp(let id, let stamp): update(id) { $0.stamp = stamp }
            case .edit(let id, let hash, let stamp):
                let before = base.first { $0.id == id }?.contentHash
                if let theirs = records[id], let other = theirs.contentHash, other != before, other != hash {
                    // Both edited: what loses goes on as a record of its own.
                    let copy = addRecord(.file, in: theirs.parent, theirs.name, content: Int(other.low))
                    let time = tick()
                    records[copy]?.nameStamp = time
                }
                records[id]?.contentHash = hash
                let wasShown = shownVersions[id] == versions[id]
                touch(id)
                if wasShown { seen.append(id) }
                update(id) { ($0.contentHash, $0.stamp) = (hash, stamp) }
            case .place(let id, let folder, let name, let path, let stamp):
                let parent = resolve(folder)
                let wasShown = shownVersions[id] == versions[id]
                placeRecord(id, in: parent, name)
                if wasShown { seen.append(id) }
                update(id) { ($0.parent, $0.path, $0.stamp) = (parent, path, stamp) }
            case .create(let number, let kind, let folder, let path, let stamp, let hash, _):
                guard let name = path.last else { continue }
                let parent = resolve(folder)
                let id = addRecord(kind, in: parent, name, content: hash.map { Int($0.low) } ?? 0)
                created[number] = id
                base.append(
                    BaseEntry(id: id, parent: parent, path: path, kind: kind, stamp: stamp, contentHash: hash))
                seen.append(id)
            case .delete(let id):
                for record in [id] + (base.first { $0.id == id }?.twins ?? [])
                where shownVersions[record] == versions[record] { records[record]?.isLive = false }
                base.removeAll { $0.id == id }
            }
        }
        for id in seen { shownVersions[id] = versions[id] }
        repath()
        return plan.changes.count
    }

    private mutating func update(_ id: RecordID, _ body: (inout BaseEntry) -> Void) {
        for index in base.indices where base[index].id == id { body(&base[index]) }
    }

    /// Gives each entry the path that its folders have now; parked ones lie in the place for parked things.
    private mutating func repath() {
        let entries = Dictionary(base.map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
        func now(_ id: RecordID, _ depth: Int) -> RelativePath {
            guard let entry = entries[id], let last = entry.path.last, depth < 100 else { return .root }
            if parked.contains(id) { return Disk.park.appending(name("\(id.name.value)")) }
            return now(entry.parent, depth + 1).appending(last)
        }
        for index in base.indices { base[index].path = now(base[index].id, 0) }
    }

    var layout: Layout { layOut(records.values, roots: [top]) }

    mutating func planToApply() -> [FileOperation] {
        base = adoptRepresentatives(base: base, layout: layout)
        for entry in base { for id in [entry.id] + entry.twins where shownVersions[id] == nil { show(entry.id) } }
        return planApply(base: base, desired: layout, roots: [top: .root], parked: parked)
    }

    private mutating func show(_ id: RecordID) {
        shownVersions[id] = versions[id]
        for twin in layout.nodes[id]?.twins ?? [] { shownVersions[twin] = versions[twin] }
    }

    /// Does one step if its preconditions hold; the base follows.
    mutating func execute(_ operation: FileOperation) -> Bool {
        defer { repath() }
        switch operation {
        case .makeDirectory(let id, let path):
            guard let node = layout.nodes[id], parentIs(node.parent, path), disk.make(path, .folder) else {
                return false
            }
            enter(node, path)
        case .move(let id, let from, let to):
            guard let node = layout.nodes[id], isEntry(id, at: from), parentIs(node.parent, to), disk.rename(from, to)
            else { return false }
            update(id) { ($0.parent, $0.path) = (node.parent, to) }
            show(id)
        case .park(let id, let from):
            guard isEntry(id, at: from), disk.rename(from, Disk.park.appending(name("\(id.name.value)"))) else {
                return false
            }
            parked.insert(id)
        case .unpark(let id, let to):
            guard parked.contains(id), disk.rename(Disk.park.appending(name("\(id.name.value)")), to) else {
                return false
            }
            let former = base.first { $0.id == id }?.parent ?? top
            let parent = layout.nodes[id].map { parentIs($0.parent, to) ? $0.parent : former } ?? former
            parked.remove(id)
            update(id) { ($0.parent, $0.path) = (parent, to) }
            show(id)
        case .write(let id, let path, let hash, let replacing):
            guard let node = layout.nodes[id] else { return false }
            if let replacing {
                guard isEntry(id, at: path), disk.nodes[path]?.stamp == replacing else { return false }
                disk.moveToTrash(path)
            }
            guard replacing != nil || parentIs(node.parent, path), disk.make(path, .file, content: Int(hash.low))
            else { return false }
            base.removeAll { $0.id == id }
            enter(node, path)
        case .remove(let id, let path, let expecting):
            guard isEntry(id, at: path), disk.nodes[path]?.stamp == expecting else { return false }
            disk.moveToTrash(path)
            base.removeAll { $0.id == id }
        case .removeDirectory(let id, let path):
            guard isEntry(id, at: path), disk.isEmpty(path) else { return false }
            disk.delete(path)
            base.removeAll { $0.id == id }
        }
        return true
    }

    private func isEntry(_ id: RecordID, at path: RelativePath) -> Bool {
        !parked.contains(id)
            && base.contains { $0.id == id && $0.path == path && disk.nodes[path]?.inode == $0.stamp.inode }
    }

    private func parentIs(_ parent: RecordID, _ path: RelativePath) -> Bool {
        parent == top ? path.parent.isRoot : base.contains { $0.id == parent && $0.path == path.parent }
    }

    private mutating func enter(_ node: LayoutNode, _ path: RelativePath) {
        guard let made = disk.nodes[path] else { return }
        base.append(
            BaseEntry(
                id: node.id, parent: node.parent, path: path, kind: node.kind, stamp: made.stamp,
                contentHash: node.contentHash, twins: node.twins))
        show(node.id)
    }
}
