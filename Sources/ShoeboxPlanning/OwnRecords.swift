public import ShoeboxModel

// Who may only contribute changes its own records only, and every reader judges that for itself, from nothing but the set
// of changes that it has: in whatever order they come, the same ones count in the end. A record's first write is no
// proof of who made it, since anybody may claim a first write of any name. So the name of a new record is bound to the
// account that makes it: the name is a hash of the account and a number that the first write carries.

/// What a change of somebody who may only contribute must belong to in order to count.
public enum RequiredOwnership: Hashable, Sendable {
    /// To nothing: it can only be about its author's own.
    case nothing
    /// To a record that its author made.
    case record(RecordName)
    /// It never counts.
    case impossible
}

/// What a change needs its author to have made, if the author may only contribute.
///
/// A tag on a photo belongs to the photo, so the photo must be its author's. A rating's name is computed from photo and
/// account, so that it can only be its author's own.
public func requiredOwnership(of change: Change) -> RequiredOwnership {
    var photo: RecordName?
    var tag: RecordName?
    if case .set(let fields) = change.action { (photo, tag) = (fields[.photo]?.reference, fields[.tag]?.reference) }
    switch change.type {
    case .photoTag:
        // The name proves which photo is meant; a change that doesn't say it proves nothing.
        guard let photo, let tag, Derivation.photoTag(photo: photo, tag: tag) == change.record else {
            return .impossible
        }
        return .record(photo)
    case .rating:
        guard let photo, Derivation.rating(photo: photo, account: change.author) == change.record else {
            return .impossible
        }
        return .nothing
    default:
        return .record(change.record)
    }
}

/// One change of a record together with how far what its sender publishes counts.
public struct ScopedChange: Hashable, Sendable {
    /// The change.
    public var change: Change
    /// How far it counts, see `Control.scope`.
    public var scope: WriteScope
    /// A pair of both.
    public init(_ change: Change, _ scope: WriteScope) {
        self.change = change
        self.scope = scope
    }
}

/// Whether an account made a record, as far as these changes of the record tell; what was refused for other reasons is
/// not among them. Does not depend on their order.
///
/// It did if its first write proves it by the record's name. Else it must have written it first while it might write
/// anything, and nobody else may have claimed the same with such a right: who may only contribute can dispute nothing.
public func isOwnRecord(_ record: RecordName, of account: AccountID, in changes: [ScopedChange]) -> Bool {
    var isFirst = false
    var isDisputed = false
    for item in changes where item.change.record == record && item.scope > .nothing {
        // A first write that the zone's owner brought from another zone, without what was overwritten there, is one still.
        guard case .set(let fields) = item.change.action, item.change.context.isEmpty,
            item.change.forwards == nil || item.scope == .carried
        else { continue }
        if item.change.author == account {
            if case .bytes(let origin)? = fields[.origin], Derivation.record(madeBy: account, origin: origin) == record
            {
                return true
            }
            if item.scope >= .all { isFirst = true }
        } else if item.scope >= .all {
            isDisputed = true
        }
    }
    return isFirst && !isDisputed
}
