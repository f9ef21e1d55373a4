public import ShoeboxModel

/// What somebody may want to do in a zone.
public enum SharingAction: String, Hashable, Sendable, CaseIterable {
    case read, addRecord, editRecord, deleteRecord, tag, rate, comment
    case invite, changePermission, removeParticipant, setPublic, rename, stop, transfer, leave
}

/// Whether an account may do something in a zone, by the control that is in force: the one rule that the command line,
/// the watcher, the engine and the gallery all ask.
///
/// A zone that is no share can't be shared, renamed, stopped or left. After a share was stopped only its owner may do
/// anything, and can no longer invite. What of an account's published changes counts is said by `Control.scope` and
/// `isOwnRecord`; this says the same beforehand.
/// - Parameter author: who made the record that is meant; nil if there is none, or if it is not known. Who may only
///   contribute changes, deletes and tags its own records only; a rating is everybody's own.
public func can(
    _ action: SharingAction, account: AccountID, author: AccountID? = nil, in control: Control
) -> Bool {
    let standing = Standing(of: account, in: control)
    let isAboutSharing = !contentActions.contains(action)
    if isAboutSharing, control.kind != .share { return false }
    if isAboutSharing, control.isStopped { return false }
    if standing == .contributor || standing == .publicContributor, ownActions.contains(action) {
        return author == account
    }
    return table[action]?.contains(standing) ?? false
}

/// Whether an account may do something *to another account*: an admin manages those who are no admins, and not itself.
public func can(
    _ action: SharingAction, account: AccountID, to other: AccountID, in control: Control
) -> Bool {
    guard can(action, account: account, in: control), other != control.owner else { return false }
    return account == control.owner || (other != account && !control.isAdmin(other))
}

/// What the table of permissions tells apart.
private enum Standing {
    case owner, admin, writer, contributor, reader, publicWriter, publicContributor, publicReader, nobody

    init(of account: AccountID, in control: Control) {
        let permission = control.permission(of: account)
        let participant = control.participants[account].flatMap { $0.takesPart ? $0 : nil }
        if account == control.owner {
            self = .owner
            return
        }
        let isListed = participant != nil
        switch permission {
        case .none: self = .nobody
        case .readOnly: self = isListed ? .reader : .publicReader
        case .contribute: self = isListed ? .contributor : .publicContributor
        case .readWrite: self = !isListed ? .publicWriter : participant?.role == .admin ? .admin : .writer
        }
        if control.isStopped { self = .nobody }
    }
}

private let contentActions: Set<SharingAction> = [
    .read, .addRecord, .editRecord, .deleteRecord, .tag, .rate, .comment,
]

/// What a contributor may do to its own records only.
private let ownActions: Set<SharingAction> = [.editRecord, .deleteRecord, .tag]

private let writers: Set<Standing> = [.owner, .admin, .writer, .publicWriter]
private let adders = writers.union([.contributor, .publicContributor])

/// Who may do what. A rating or a remark is a record in the zone too, so a reader can't write one.
private let table: [SharingAction: Set<Standing>] = [
    .read: adders.union([.reader, .publicReader]),
    .addRecord: adders,
    .editRecord: writers,
    .deleteRecord: writers,
    .tag: writers,
    .rate: adders,
    .comment: adders,
    .invite: [.owner, .admin],
    .changePermission: [.owner, .admin],
    .removeParticipant: [.owner, .admin],
    .setPublic: [.owner],
    .rename: [.owner, .admin],
    .stop: [.owner],
    .transfer: [.owner],
    .leave: [.admin, .writer, .contributor, .reader],
]
