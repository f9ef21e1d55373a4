// SPDX-License-Identifier: GPL-2.0-only

/// One watched directory: a name, and where it hangs. A rename changes one node, however much is below.
final class Node {
    let watch: Int32
    var name: [UInt8]
    weak var parent: Node?
    var children: [[UInt8]: Node] = [:]
    /// The root that it belongs to, itself for a root; nil once it is cut off.
    weak var root: Root?

    init(watch: Int32, name: [UInt8], parent: Node?, root: Root) {
        self.watch = watch
        self.name = name
        self.parent = parent
        self.root = root
    }

    /// The path from the root, `/` between names; nil if this doesn't hang on its root any more.
    var path: [UInt8]? {
        var names: [[UInt8]] = []
        var node = self
        while let parent = node.parent {
            names.append(node.name)
            node = parent
            // No tree is that deep: a cycle would be a mistake of ours.
            if names.count > 100_000 { return nil }
        }
        guard node === root?.node else { return nil }
        return Array(names.reversed().joined(separator: [UInt8(ascii: "/")]))
    }

    /// This and everything below.
    var subtree: [Node] {
        var result = [self]
        var index = 0
        while index < result.count {
            result.append(contentsOf: result[index].children.values)
            index += 1
        }
        return result
    }

    /// Whether another one is this, or below it.
    func holds(_ other: Node) -> Bool {
        var node: Node? = other
        var count = 0
        while let next = node, count < 100_000 {
            if next === self { return true }
            (node, count) = (next.parent, count + 1)
        }
        return false
    }

    func detach() {
        if let parent, parent.children[name] === self { parent.children[name] = nil }
        parent = nil
    }
}

/// A directory that was asked for.
final class Root {
    let index: Int
    let path: [UInt8]
    var node: Node?
    /// Whether the watch limit was reached, and how many directories were counted then.
    var isLimited = false

    init(index: Int, path: [UInt8]) {
        self.index = index
        self.path = path
    }
}
