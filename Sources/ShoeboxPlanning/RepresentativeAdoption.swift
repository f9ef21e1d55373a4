import ShoeboxModel

/// The base with each entry under the record that represents it in the layout.
///
/// When twins meet, the one that represents them may not be the one whose file is there. Nothing is to be done to the
/// file then: the entry is only the other record's from now on. Nothing is dropped: an entry whose representative has
/// an entry of its own stays as it is, and is surplus.
/// - Returns: the entries in the same order, with `twins` as in the layout where it has the record.
public func adoptRepresentatives(base: [BaseEntry], layout: Layout) -> [BaseEntry] {
    var representatives = layout.redirects
    for node in layout.nodes.values where node.kind == .file {
        for twin in node.twins where layout.nodes[twin] == nil { representatives[twin] = node.id }
    }
    var owned = Set(base.map(\.id))
    var renamed: [RecordID: RecordID] = [:]
    let adopted = base.map { entry in
        var entry = entry
        let old = entry.id
        if let representative = representatives[entry.id], layout.nodes[entry.id] == nil,
            layout.nodes[representative]?.kind == entry.kind, owned.insert(representative).inserted
        {
            entry.id = representative
            renamed[old] = representative
        }
        if let node = layout.nodes[entry.id] { entry.twins = node.twins }
        return entry
    }
    return adopted.map { entry in
        var entry = entry
        entry.parent = renamed[entry.parent] ?? entry.parent
        return entry
    }
}
