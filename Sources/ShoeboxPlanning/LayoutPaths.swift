public import ShoeboxModel

/// Where each shown node of a layout lies.
///
/// - Parameter roots: the tops of the tree and their paths below the watched root.
/// - Returns: paths of nodes whose folders reach one of `roots`, and of `roots` themselves; twins and redirected
///   folders have none of their own.
public func paths(of layout: Layout, roots: [RecordID: RelativePath]) -> [RecordID: RelativePath] {
    var result = roots
    result.reserveCapacity(layout.nodes.count + roots.count)
    for start in layout.nodes.keys where result[start] == nil {
        var chain: [LayoutNode] = []
        var id = start
        // The bound ends a cycle, which no layout of `layOut` has.
        while result[id] == nil, let node = layout.nodes[id], chain.count <= layout.nodes.count {
            chain.append(node)
            id = node.parent
        }
        guard var path = result[id] else { continue }
        for node in chain.reversed() {
            path = path.appending(node.name)
            result[node.id] = path
        }
    }
    return result
}
