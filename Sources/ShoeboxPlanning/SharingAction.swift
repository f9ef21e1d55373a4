public import ShoeboxModel

/// What somebody may want to do in a zone.
public enum SharingAction: String, Hashable, Sendable, CaseIterable {
    case read, addRecord, editRecord, deleteRecord, tag, rate, comment
    case invite, changePermission, removeParticipant, setPublic, rename, stop, leave
}

/// Whether an account may do something in a zone, by the control that is in force: the one rule that the command line,
/// the watcher, the engine and the gallery all ask.
///
/// A zone that is no share can't be shared, renamed, stopped or left. After a share was stopped only its owner may do
/// anything, and can no longer invite.
public func can(_ action: SharingAction, account: AccountID, in control: Control) -> Bool {
    let standing = Standing(of: account, in: control)
    let isAboutSharing = !contentActions.contains(action)
    if isAboutSharing, control.kind != .share { return false }
    if isAboutSharing, control.isStopped { return false }
    return table[action]?.contains(standing) ?? false
}

/// What the table of permissions tells apart.
private enum Standing {
    case owner, admin, writer, reader, publicWriter, publicReader, nobody

    init(of account: AccountID, in control: Control) {
        let permission = control.permission(of: account)
        let participant = control.participants[account].flatMap { $0.status == .removed ? nil : $0 }
        if account == control.owner {
            self = .owner
        } else if control.isStopped || permission == .none {
            self = .nobody
        } else if let participant {
            self = permission == .readOnly ? .reader : participant.role == .admin ? .admin : .writer
        } else {
            self = permission == .readOnly ? .publicReader : .publicWriter
        }
    }
}

private let contentActions: Set<SharingAction> = [
    .read, .addRecord, .editRecord, .deleteRecord, .tag, .rate, .comment,
]

private let writers: Set<Standing> = [.owner, .admin, .writer, .publicWriter]

/// Who may do what. A rating or a remark is a record in the zone too, so a reader can't write one.
private let table: [SharingAction: Set<Standing>] = [
    .read: writers.union([.reader, .publicReader]),
    .addRecord: writers,
    .editRecord: writers,
    .deleteRecord: writers,
    .tag: writers,
    .rate: writers,
    .comment: writers,
    .invite: [.owner, .admin],
    .changePermission: [.owner, .admin],
    .removeParticipant: [.owner, .admin],
    .setPublic: [.owner],
    .rename: [.owner, .admin],
    .stop: [.owner],
    .leave: [.admin, .writer, .reader],
]
