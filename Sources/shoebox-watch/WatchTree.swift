// SPDX-License-Identifier: GPL-2.0-only
internal import CFileSystem
internal import Glibc

/// The tree of watches. Events only say where to look; what is found there counts.
///
/// The library's own tables of names are never used: they go wrong when directories are renamed. Watches are set on the
/// library's descriptor, through directories that are opened first, so that a watch is always on what is then listed.
struct WatchTree {
    private static let mask: UInt32 =
        UInt32(IN_CREATE) | UInt32(IN_CLOSE_WRITE) | UInt32(IN_MOVED_FROM) | UInt32(IN_MOVED_TO) | UInt32(IN_DELETE)
        | UInt32(IN_ATTRIB) | UInt32(IN_DELETE_SELF) | UInt32(IN_MOVE_SELF) | 0x0100_0000 /* IN_ONLYDIR */
        | 0x0400_0000 /* IN_EXCL_UNLINK */
    private static let ignored = Array(".shoebox".utf8)

    private let inotify: Int32
    private(set) var roots: [Int: Root] = [:]
    private var nodes: [Int32: Node] = [:]
    private var output: Output

    /// Directories that something happened in, by watch.
    private var dirty: Set<Int32> = []
    /// Names in watched directories that may be, or have been, directories.
    private var names: [Int32: Set<[UInt8]>] = [:]
    /// Directories that were taken from their places and may have been moved to another one.
    private var detached: [Int32: Node] = [:]
    private var overflowed = false

    init(inotify: Int32, output: Output) {
        self.inotify = inotify
        self.output = output
    }

    mutating func flush() -> Bool { output.flush() }

    // MARK: Commands

    mutating func add(_ index: Int, path: [UInt8]) {
        drop(index)
        let root = Root(index: index, path: path)
        roots[index] = root
        scan(root)
    }

    mutating func drop(_ index: Int) {
        guard let root = roots.removeValue(forKey: index), let node = root.node else { return }
        root.node = nil
        remove(node)
    }

    // MARK: Events

    mutating func take(watch: Int32, mask: UInt32, name: [UInt8]) {
        if mask & UInt32(IN_Q_OVERFLOW) != 0 {
            overflowed = true
            return
        }
        guard let node = nodes[watch] else { return }
        if mask & UInt32(IN_IGNORED) != 0 {
            // The kernel has dropped the watch: the directory is deleted, or its file system unmounted.
            if let root = root(at: node) {
                lose(root)
            } else {
                node.detach()
                for inner in node.subtree.dropFirst() where inner.parent === node { detached[inner.watch] = inner }
                nodes[watch] = nil
                detached[watch] = nil
            }
            return
        }
        if mask & (UInt32(IN_UNMOUNT) | UInt32(IN_DELETE_SELF) | UInt32(IN_MOVE_SELF)) != 0 {
            if let root = root(at: node) { lose(root) }
            return
        }
        if name == Self.ignored { return }
        dirty.insert(watch)
        if mask & 0x4000_0000 /* IN_ISDIR */ != 0, !name.isEmpty { names[watch, default: []].insert(name) }
    }

    private func root(at node: Node) -> Root? { node.root.flatMap { $0.node === node ? $0 : nil } }

    /// Looks at what the events pointed to, and reports. To be called when the queue is empty.
    mutating func settle() {
        if overflowed {
            overflowed = false
            dirty = []
            names = [:]
            // At once: to watch a large tree anew takes its time.
            for index in roots.keys.sorted() { output.send(.lost(index)) }
            _ = output.flush()
            for root in roots.values.sorted(by: { $0.index < $1.index }) { scan(root) }
        }
        let pending = names
        names = [:]
        for (watch, names) in pending {
            guard let node = nodes[watch], let root = node.root else { continue }
            guard let top = open(root) else {
                // What is new in it is found when it is asked for again.
                lose(root)
                continue
            }
            for name in names { look(at: name, in: node, root, top) }
            close(top)
        }
        for node in detached.values where node.parent == nil { remove(node) }
        detached = [:]
        let reported = dirty
        dirty = []
        for watch in reported {
            guard let node = nodes[watch], let root = node.root, let path = node.path else { continue }
            output.send(.dirty(root.index, path: path))
        }
    }

    // MARK: Looking

    /// Compares one name of a watched directory with the tree, and watches what is new below it.
    private mutating func look(at name: [UInt8], in parent: Node, _ root: Root, _ top: Int32) {
        guard let parentPath = parent.path else { return }
        let path = parentPath.isEmpty ? name : parentPath + [UInt8(ascii: "/")] + name
        let before = parent.children[name]
        walk(path, name, parent, root, top)
        if let before, parent.children[name] !== before, before.parent === parent || before.parent == nil {
            // Gone from here, or another directory has the name now.
            before.parent = nil
            detached[before.watch] = before
        }
    }

    /// Watches and lists a directory and all below it, and marks all of them as dirty.
    ///
    /// Watched first, listed then: whatever is made later gives an event, whatever was made earlier is in the listing.
    private mutating func walk(_ path: [UInt8], _ name: [UInt8], _ parent: Node?, _ root: Root, _ top: Int32) {
        var stack: [(path: [UInt8], name: [UInt8], parent: Node?)] = [(path, name, parent)]
        while let next = stack.popLast() {
            if let parent = next.parent, nodes[parent.watch] !== parent { continue }
            let file = shoebox_open_beneath(top, cString(next.path), O_RDONLY | O_DIRECTORY | O_NONBLOCK, 0)
            guard file >= 0 else {
                if let parent = next.parent { parent.children[next.name]?.detachInto(&detached) }
                // Gone, or no directory after all; anything else is worth saying.
                if ![ENOENT, ENOTDIR, ELOOP].contains(-file) { report(-file, next.path, root) }
                continue
            }
            defer { close(file) }
            let watch = shoebox_watch(inotify, file, Self.mask)
            guard watch >= 0 else {
                report(-watch, next.path, root)
                continue
            }
            if let known = nodes[watch], let parent = next.parent, known.holds(parent) {
                // Mounted into itself. To go on would be to go round for ever, and to lose the watches of all that is in it.
                let text = "'\(String(decoding: next.path, as: UTF8.self))' is a folder that it lies in"
                output.send(.problem(root.index, text: text))
                continue
            }
            let node = attach(watch, next.name, next.parent, root)
            dirty.insert(watch)
            var listing = shoebox_listing()
            let error = shoebox_list(file, 0, &listing)
            guard error == 0 else {
                report(-error, next.path, root)
                continue
            }
            defer { shoebox_listing_free(&listing) }
            var found: Set<[UInt8]> = []
            for entry in UnsafeBufferPointer(start: listing.entries, count: listing.count)
            where UInt32(entry.stat.kind) == SHOEBOX_DIRECTORY.rawValue {
                let name = Array(
                    UnsafeBufferPointer(start: listing.names + entry.name_offset, count: Int(entry.name_length)))
                if name == Self.ignored { continue }
                found.insert(name)
                stack.append((next.path.isEmpty ? name : next.path + [UInt8(ascii: "/")] + name, name, node))
            }
            for child in node.children.values where !found.contains(child.name) { child.detachInto(&detached) }
        }
    }

    /// The node of a watch, made or moved to its place. What had the place before is cut off.
    private mutating func attach(_ watch: Int32, _ name: [UInt8], _ parent: Node?, _ root: Root) -> Node {
        let node: Node
        if let known = nodes[watch] {
            node = known
            if known.parent !== parent || known.name != name { known.detach() }
        } else {
            node = Node(watch: watch, name: name, parent: nil, root: root)
            nodes[watch] = node
        }
        detached[watch] = nil
        node.name = name
        if node.root !== root {
            for inner in node.subtree { inner.root = root }
        }
        if let parent {
            if let other = parent.children[name], other !== node { other.detachInto(&detached) }
            node.parent = parent
            parent.children[name] = node
        }
        return node
    }

    /// Watches a whole root anew and says that all of it may have changed.
    private mutating func scan(_ root: Root) {
        guard let top = open(root) else {
            lose(root)
            return
        }
        defer { close(top) }
        let old = root.node
        root.isLimited = false
        let watch = shoebox_watch(inotify, top, Self.mask)
        guard watch >= 0 else {
            report(-watch, [], root)
            output.send(.rescan(root.index))
            return
        }
        if let other = nodes[watch], other.root !== root || other.parent != nil {
            output.send(.problem(root.index, text: "the folder lies within another watched one, or is the same"))
        }
        let node = attach(watch, [], nil, root)
        root.node = node
        if let old, old !== node { remove(old) }
        walk([], [], nil, root, top)
        for node in detached.values where node.parent == nil { remove(node) }
        detached = [:]
        // All of it is to be looked at anyway.
        let all = node.subtree
        for inner in all { dirty.remove(inner.watch) }
        output.send(.ready(root.index, directories: all.count))
        output.send(.rescan(root.index))
    }

    private func open(_ root: Root) -> Int32? {
        let file = cString(root.path).withUnsafeBufferPointer { path in
            path.baseAddress.map { Glibc.open($0, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NONBLOCK) } ?? -1
        }
        return file >= 0 ? file : nil
    }

    /// A root that is deleted, renamed or unmounted is watched no more until it is asked for again.
    private mutating func lose(_ root: Root) {
        if let node = root.node {
            root.node = nil
            remove(node)
        }
        output.send(.gone(root.index))
    }

    /// Ends the watches on a directory and all below it.
    private mutating func remove(_ node: Node) {
        for inner in node.subtree where nodes[inner.watch] === inner {
            nodes[inner.watch] = nil
            dirty.remove(inner.watch)
            names[inner.watch] = nil
            _ = inotify_rm_watch(inotify, inner.watch)
        }
        node.detach()
    }

    private mutating func report(_ error: Int32, _ path: [UInt8], _ root: Root) {
        if error == ENOSPC {
            guard !root.isLimited else { return }
            root.isLimited = true
            output.send(.limit(root.index, needed: countDirectories(root)))
            return
        }
        let reason = strerror(error).map { String(cString: $0) } ?? "error \(error)"
        let shown = path.isEmpty ? "the folder itself" : "'\(String(decoding: path, as: UTF8.self))'"
        output.send(.problem(root.index, text: "cannot watch \(shown): \(reason)"))
    }

    /// How many watches a root needs; what can't be read is left out.
    private func countDirectories(_ root: Root) -> Int {
        guard let top = open(root) else { return 0 }
        defer { close(top) }
        var count = 0
        var stack: [[UInt8]] = [[]]
        while let path = stack.popLast() {
            count += 1
            let file = shoebox_open_beneath(top, cString(path), O_RDONLY | O_DIRECTORY, 0)
            guard file >= 0 else { continue }
            defer { close(file) }
            var listing = shoebox_listing()
            guard shoebox_list(file, 0, &listing) == 0 else { continue }
            defer { shoebox_listing_free(&listing) }
            for entry in UnsafeBufferPointer(start: listing.entries, count: listing.count)
            where UInt32(entry.stat.kind) == SHOEBOX_DIRECTORY.rawValue {
                let name = Array(
                    UnsafeBufferPointer(start: listing.names + entry.name_offset, count: Int(entry.name_length)))
                if name != Self.ignored { stack.append(path.isEmpty ? name : path + [UInt8(ascii: "/")] + name) }
            }
        }
        return count
    }
}

extension Node {
    /// Cuts this off its place, to be dropped unless it turns up at another one.
    fileprivate func detachInto(_ detached: inout [Int32: Node]) {
        detach()
        detached[watch] = self
    }
}

/// A path as C takes it.
func cString(_ bytes: [UInt8]) -> [CChar] { bytes.map { CChar(bitPattern: $0) } + [0] }
