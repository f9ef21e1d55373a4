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
    let deleted = deletedLosers(of: state)
    return content.losers.compactMap { loser in
        guard let asset = loser.value.asset, !deleted.contains(where: { $0.isSame(as: loser.value) }) else {
            return nil
        }
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

/// The copies that may have been made of what lost in the content conflicts of a record, and was deleted by somebody to whom
/// the record showed just that: of a photo that is deleted here and edited there the edit stays, and what was deleted is
/// gone.
public func deletedCopies(of state: RecordState) -> [RecordName] {
    deletedLosers(of: state).compactMap(\.asset).map {
        Derivation.conflictCopy(of: state.name, contentHash: $0.contentHash)
    }
}

/// The losing contents that each had a deletion by somebody to whom it was the record's content.
private func deletedLosers(of state: RecordState) -> [Value] {
    guard let content = state.fields[.content], content.values.count > 1 else { return [] }
    let all = state.marks.filter { $0.destination == nil }
    // One that another one repeats may have been folded away.
    let deletions = all.filter { mark in
        !all.contains { $0.context != mark.context && $0.context.contains(mark.context) }
    }
    let shown = Set(deletions.compactMap { mark in content.values.first { mark.context.contains($0.dot) }?.dot })
    guard !shown.isEmpty else { return [] }
    return content.losers.map(\.value).filter { value in
        // Whoever else wrote the same bytes, unseen by the deleter, wants them.
        content.values.allSatisfy { !$0.value.isSame(as: value) || shown.contains($0.dot) }
    }
}
