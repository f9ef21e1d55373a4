import ShoeboxModel
import ShoeboxPlanning

/// A watched root in memory, with inodes, a trash and a place for parked things.
struct Disk {
    struct Node: Hashable {
        var kind: NodeKind
        var inode: UInt64
        var content: Int
        var modified: Int64
        var stamp: FileStamp {
            FileStamp(size: 9, modifiedNanoseconds: modified, inode: inode, birthNanoseconds: Int64(inode))
        }
    }

    static let park = path(".parked")
    private(set) var nodes: [RelativePath: Node] = [:]
    private(set) var trash: Set<Int> = []
    private var counter: UInt64 = 0

    func isDirectory(_ path: RelativePath) -> Bool { path.isRoot || path == Self.park || nodes[path]?.kind == .folder }
    func isFree(_ path: RelativePath) -> Bool { nodes[path] == nil && isDirectory(path.parent) }
    func isEmpty(_ path: RelativePath) -> Bool { !nodes.keys.contains { $0 != path && $0.isAtOrBelow(path) } }
    var contents: Set<Int> { Set(nodes.values.filter { $0.kind == .file }.map(\.content)) }
    /// What a scanner sees, sorted; parked things are not among it.
    var visible: [(path: RelativePath, node: Node)] {
        nodes.filter { !$0.key.isAtOrBelow(Self.park) }.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
    }

    @discardableResult mutating func make(_ path: RelativePath, _ kind: NodeKind, content: Int = 0) -> Bool {
        guard isFree(path) else { return false }
        counter += 1
        nodes[path] = Node(kind: kind, inode: counter, content: content, modified: Int64(counter))
        return true
    }

    @discardableResult mutating func edit(_ path: RelativePath, content: Int) -> Bool {
        guard nodes[path]?.kind == .file else { return false }
        counter += 1
        nodes[path]?.content = content
        nodes[path]?.modified = Int64(counter)
        return true
    }

    @discardableResult mutating func rename(_ from: RelativePath, _ to: RelativePath) -> Bool {
        guard nodes[from] != nil, isFree(to), !to.isAtOrBelow(from) else { return false }
        for (path, node) in nodes where path.isAtOrBelow(from) {
            nodes[path] = nil
            nodes[RelativePath(to.names + path.names[from.names.count...])] = node
        }
        return true
    }

    mutating func delete(_ path: RelativePath) {
        for key in nodes.keys where key.isAtOrBelow(path) { nodes[key] = nil }
    }

    mutating func moveToTrash(_ path: RelativePath) {
        if let node = nodes.removeValue(forKey: path) { trash.insert(node.content) }
    }
}
