public import ShoeboxModel

/// A record that the engine derives, to be written once by whoever may write, unless it was ever born before.
///
/// Its change takes this timestamp and author, an empty context and `isDerived`; its dot is the writer's own. Births of
/// one record by several replicas merge into one, and a deletion covers all of them.
public struct DerivedBirth: Hashable, Sendable {
    /// The derived name.
    public var record: RecordName
    /// The kind of the record it was derived from.
    public var type: RecordType
    /// Its first values.
    public var fields: [FieldKey: Value]
    /// When the values it keeps were written.
    public var timestamp: HybridTimestamp
    /// Who wrote them.
    public var author: AccountID

    /// A birth from its parts.
    public init(
        record: RecordName, type: RecordType, fields: [FieldKey: Value], timestamp: HybridTimestamp, author: AccountID
    ) {
        self.record = record
        self.type = type
        self.fields = fields
        self.timestamp = timestamp
        self.author = author
    }
}

/// The copies that keep what lost in the content conflicts of a record, in the order of the losers.
///
/// Empty for a record that is deleted, lives elsewhere, or has no conflict. A caller writes each only if its record has
/// no change at all yet: one that was born and deleted stays deleted.
public func conflictCopies(of state: RecordState, authorLabel: (AccountID) -> String) -> [DerivedBirth] {
    guard state.isLive, state.type.hasContent, let name = state.fileName, let content = state.fields[.content] else {
        return []
    }
    return content.losers.compactMap { loser in
        guard let asset = loser.value.asset else { return nil }
        var fields: [FieldKey: Value] = [
            .content: loser.value,
            .parent: state[.parent] ?? .null,
            .name: .name(
                Derivation.conflictCopyFileName(
                    of: name, label: authorLabel(loser.author), wallMilliseconds: loser.timestamp.wallMilliseconds)),
        ]
        // The modification time that was written together with the losing bytes belongs to them.
        if let modified = state.fields[.modified]?.values.first(where: { $0.dot == loser.dot }) {
            fields[.modified] = modified.value
        }
        return DerivedBirth(
            record: Derivation.conflictCopy(of: state.name, contentHash: asset.contentHash), type: state.type,
            fields: fields, timestamp: loser.timestamp, author: loser.author)
    }
}
