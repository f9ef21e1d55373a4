import ShoeboxModel
import ShoeboxWorld

/// The inodes of one simulated file system, as they are now and as they would be after a power cut.
///
/// Nodes are keyed by serial numbers that are never used again; inode numbers are reused at once, as ext4 does. All
/// changes of names and attributes go through a journal, so that a power cut can keep any prefix of them; the bytes of
/// files are outside it, as with ext4's delayed allocation.
struct SimulatedVolume: Sendable {
    struct Node: Sendable {
        var kind: FileKind
        var bytes: [UInt8] = []
        var children: [FileName: Int] = [:]
        var inode: UInt64
        var birth: Int64
        var modified: Int64
        var mode: UInt16
        /// Where the node is linked; nil for the root and for what was unlinked.
        var parent: Int?
        var name: FileName?

        var stamp: FileStamp {
            let size = kind == .directory ? 4096 : UInt64(bytes.count)
            return FileStamp(
                size: size, modifiedNanoseconds: modified, inode: inode, birthNanoseconds: birth, mode: mode)
        }
    }

    enum JournalEntry: Sendable {
        case put(Int, Node)
        case link(directory: Int, FileName, Int)
        case unlink(directory: Int, FileName)
        case mode(Int, UInt16)
        case modified(Int, Int64)
    }

    static let root = 0

    var device: UInt64
    var nodes: [Int: Node]
    var durable: [Int: Node]
    var journal: [[JournalEntry]] = []
    var openCounts: [Int: Int] = [:]
    var writerCounts: [Int: Int] = [:]
    /// Handles from an earlier epoch are dead.
    var epoch = 0
    /// Set before each operation.
    var nowNanoseconds: Int64 = 0
    /// As `nowNanoseconds`, cut to the granularity of modification times.
    var modifiedNow: Int64 = 0
    var operation = "use"
    var path = ""
    private var freeInodes: [UInt64] = []
    private let firstInode: UInt64
    private var nextInode: UInt64
    private var nextSerial = 1

    init(device: UInt64, nowNanoseconds: Int64) {
        self.device = device
        // Other numbers on each: a file may go from one to another, as between two folders of one file system.
        firstInode = device << 32 | 12
        nextInode = firstInode
        let root = Node(
            kind: .directory, inode: 2, birth: nowNanoseconds, modified: nowNanoseconds, mode: 0o755)
        nodes = [Self.root: root]
        durable = nodes
    }

    // MARK: Errors and finding

    func error(_ code: FileError.Code, _ reason: String = "") -> FileError {
        FileError(
            code: code, operation: operation, path: path, errno: code.usualErrno,
            reason: reason.isEmpty ? "simulated \(code.rawValue)" : reason)
    }

    /// The node of a path; nil if a name is missing. A component that is no directory is `.unexpectedKind`.
    func find(_ path: RelativePath) throws(FileError) -> Int? {
        var serial = Self.root
        for name in path.names {
            guard let node = nodes[serial] else { return nil }
            guard node.kind == .directory else {
                var error = error(.unexpectedKind, "a component is no directory")
                if node.kind == .symbolicLink { error.errno = 40 }
                throw error
            }
            guard let child = node.children[name] else { return nil }
            serial = child
        }
        return serial
    }

    func require(_ path: RelativePath) throws(FileError) -> Int {
        guard let serial = try find(path), nodes[serial] != nil else { throw error(.absent) }
        return serial
    }

    func node(_ serial: Int) throws(FileError) -> Node {
        guard let node = nodes[serial] else { throw error(.inputOutput, "stale file handle") }
        return node
    }

    /// The directory that holds a path, and the path's last name.
    func place(_ path: RelativePath) throws(FileError) -> (directory: Int, name: FileName) {
        guard let name = path.last else { throw error(.unexpectedKind, "the root itself can't be changed") }
        let directory = try require(path.parent)
        guard try node(directory).kind == .directory else { throw error(.unexpectedKind, "the parent is no directory") }
        return (directory, name)
    }

    /// Where a node is linked now; nil if it was unlinked.
    func path(of serial: Int) -> RelativePath? {
        var names: [FileName] = []
        var current = serial
        while current != Self.root {
            guard let node = nodes[current], let parent = node.parent, let name = node.name else { return nil }
            names.append(name)
            current = parent
        }
        return RelativePath(names.reversed())
    }

    func isAtOrBelow(_ serial: Int, _ ancestor: Int) -> Bool {
        var current: Int? = serial
        while let here = current {
            if here == ancestor { return true }
            current = nodes[here]?.parent
        }
        return false
    }

    /// Every path with its node, but the root.
    func walk() -> [(path: RelativePath, serial: Int, node: Node)] {
        var result: [(path: RelativePath, serial: Int, node: Node)] = []
        var open: [(RelativePath, Int)] = [(.root, Self.root)]
        while let (path, serial) = open.popLast() {
            guard let node = nodes[serial] else { continue }
            if !path.isRoot { result.append((path, serial, node)) }
            for (name, child) in node.children { open.append((path.appending(name), child)) }
        }
        return result.sorted { $0.path < $1.path }
    }

    var usedBytes: Int { nodes.values.reduce(0) { $0 + $1.bytes.count } }

    // MARK: Changes

    mutating func makeNode(
        _ kind: FileKind, at path: RelativePath, mode: UInt16, bytes: [UInt8] = []
    ) throws(FileError) -> Int {
        let (directory, name) = try place(path)
        guard try node(directory).children[name] == nil else { throw error(.exists) }
        let node = Node(
            kind: kind, bytes: bytes, inode: takeInode(), birth: nowNanoseconds, modified: modifiedNow, mode: mode)
        let serial = nextSerial
        nextSerial += 1
        // A link's target is part of its inode, so it is journalled; a file's bytes are not.
        var journalled = node
        if kind == .file { journalled.bytes = [] }
        nodes[serial] = node
        change([.put(serial, journalled), .link(directory: directory, name, serial), .modified(directory, modifiedNow)])
        return serial
    }

    mutating func rename(_ source: RelativePath, _ target: RelativePath, _ mode: RenameMode) throws(FileError) {
        let from = try place(source)
        let to = try place(target)
        guard let moved = try node(from.directory).children[from.name] else { throw error(.absent) }
        let movedKind = try node(moved).kind
        let existing = try node(to.directory).children[to.name]
        // The order of these checks is that of Linux's renameat2.
        if mode == .failIfExists, existing != nil { throw error(.exists) }
        if mode == .exchange, existing == nil { throw error(.absent) }
        if isAtOrBelow(to.directory, moved) { throw error(.badName, "a directory can't be moved into itself") }
        if let existing, isAtOrBelow(from.directory, existing) {
            if mode == .exchange { throw error(.badName, "a directory can't be moved into itself") }
            throw error(.exists, "the target directory is not empty")
        }
        if existing == moved { return }
        let touched: [JournalEntry] = [.modified(from.directory, modifiedNow), .modified(to.directory, modifiedNow)]
        switch mode {
        case .exchange:
            guard let existing else { throw error(.absent) }
            change(
                [.link(directory: from.directory, from.name, existing), .link(directory: to.directory, to.name, moved)]
                    + touched)
        case .failIfExists, .replace:
            if let existing {
                let old = try node(existing)
                if old.kind == .directory {
                    guard movedKind == .directory else { throw error(.unexpectedKind, "the target is a directory") }
                    guard old.children.isEmpty else { throw error(.exists, "the target directory is not empty") }
                } else if movedKind == .directory {
                    throw error(.unexpectedKind, "the target is no directory")
                }
            }
            var group: [JournalEntry] = [.unlink(directory: from.directory, from.name)]
            group.append(.link(directory: to.directory, to.name, moved))
            change(group + touched)
            if let existing { dropIfUnused(existing) }
        }
    }

    mutating func removeFile(_ path: RelativePath) throws(FileError) {
        let (directory, name) = try place(path)
        guard let serial = try node(directory).children[name] else { throw error(.absent) }
        guard try node(serial).kind != .directory else { throw error(.unexpectedKind, "it is a directory") }
        change([.unlink(directory: directory, name), .modified(directory, modifiedNow)])
        dropIfUnused(serial)
    }

    /// Takes a file out without giving its inode free: it goes on elsewhere.
    mutating func takeFile(_ path: RelativePath) throws(FileError) -> Node {
        let taken = try node(try require(path))
        guard taken.kind == .file else { throw error(.unexpectedKind, "it is no regular file") }
        try removeFile(path)
        freeInodes.removeAll { $0 == taken.inode }
        return taken
    }

    /// Puts a file in a place where none is, with the inode and times that it had elsewhere. Returns its serial.
    mutating func putFile(_ file: Node, at path: RelativePath) throws(FileError) -> Int {
        let serial = try makeNode(.file, at: path, mode: file.mode, bytes: file.bytes)
        if let made = nodes[serial]?.inode { freeInodes.append(made) }
        nodes[serial]?.inode = file.inode
        nodes[serial]?.birth = file.birth
        nodes[serial]?.modified = file.modified
        if let node = nodes[serial] { change([.put(serial, node)]) }
        return serial
    }

    mutating func removeDirectory(_ path: RelativePath) throws(FileError) {
        let (directory, name) = try place(path)
        guard let serial = try node(directory).children[name] else { throw error(.absent) }
        let node = try node(serial)
        guard node.kind == .directory else { throw error(.unexpectedKind, "it is no directory") }
        guard node.children.isEmpty else { throw error(.exists, "the directory is not empty") }
        change([.unlink(directory: directory, name), .modified(directory, modifiedNow)])
        dropIfUnused(serial)
    }

    mutating func setMode(_ serial: Int, _ mode: UInt16) { change([.mode(serial, mode)]) }
    mutating func setModified(_ serial: Int, _ nanoseconds: Int64) { change([.modified(serial, nanoseconds)]) }

    /// Sets a file's bytes in place: the same inode, with a new modification time.
    mutating func setBytes(_ serial: Int, _ bytes: [UInt8]) {
        nodes[serial]?.bytes = bytes
        change([.modified(serial, modifiedNow)])
    }

    mutating func appendBytes(_ serial: Int, _ bytes: [UInt8]) {
        nodes[serial]?.bytes += bytes
        change([.modified(serial, modifiedNow)])
    }

    mutating func open(_ serial: Int, writing: Bool) {
        openCounts[serial, default: 0] += 1
        if writing { writerCounts[serial, default: 0] += 1 }
    }

    mutating func close(_ serial: Int, writing: Bool) {
        openCounts[serial, default: 1] -= 1
        if openCounts[serial] == 0 { openCounts[serial] = nil }
        if writing {
            writerCounts[serial, default: 1] -= 1
            if writerCounts[serial] == 0 { writerCounts[serial] = nil }
        }
        dropIfUnused(serial)
    }

    private mutating func change(_ group: [JournalEntry]) {
        for entry in group { Self.apply(entry, to: &nodes) }
        journal.append(group)
    }

    static func apply(_ entry: JournalEntry, to nodes: inout [Int: Node]) {
        switch entry {
        case .put(let serial, let node): if nodes[serial] == nil { nodes[serial] = node }
        case .link(let directory, let name, let serial):
            if let old = nodes[directory]?.children[name], nodes[old]?.parent == directory, nodes[old]?.name == name {
                nodes[old]?.parent = nil
                nodes[old]?.name = nil
            }
            nodes[directory]?.children[name] = serial
            nodes[serial]?.parent = directory
            nodes[serial]?.name = name
        case .unlink(let directory, let name):
            if let old = nodes[directory]?.children.removeValue(forKey: name) {
                nodes[old]?.parent = nil
                nodes[old]?.name = nil
            }
        case .mode(let serial, let mode): nodes[serial]?.mode = mode
        case .modified(let serial, let nanoseconds): nodes[serial]?.modified = nanoseconds
        }
    }

    private mutating func takeInode() -> UInt64 {
        if let free = freeInodes.popLast() { return free }
        nextInode += 1
        return nextInode - 1
    }

    private mutating func dropIfUnused(_ serial: Int) {
        guard serial != Self.root, let node = nodes[serial], node.parent == nil, openCounts[serial] == nil else {
            return
        }
        nodes[serial] = nil
        freeInodes.append(node.inode)
    }

    /// After a power cut: the inode numbers in use are those of the nodes; a number held twice is renewed.
    mutating func rebuildInodes() {
        var used: Set<UInt64> = []
        freeInodes = []
        for serial in nodes.keys.sorted() {
            guard let inode = nodes[serial]?.inode else { continue }
            if used.insert(inode).inserted { continue }
            let fresh = takeInode()
            nodes[serial]?.inode = fresh
            used.insert(fresh)
        }
        freeInodes = (firstInode..<nextInode).filter { !used.contains($0) }.reversed()
    }
}
