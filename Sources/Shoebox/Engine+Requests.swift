import ShoeboxCloud
import ShoeboxLibrary
import ShoeboxModel
import ShoeboxPlanning
import ShoeboxStore
import ShoeboxWorld

import class GRDB.Database

extension Engine {
    /// Does what commands left in the database; returns how many.
    public func performRequests() throws -> Int {
        let requests = try store.read { db in try db.openRequests() }
        for request in requests {
            let reply: Reply
            do { reply = perform(try Request(decoding: request.body)) } catch {
                reply = Reply(
                    code: ExitCode.failed, lines: ["the request cannot be read: \(error)"],
                    remedy: "Use the same version of shoebox for the daemon and the command.")
            }
            let text = try reply.encoded()
            try store.write { db in try db.answerRequest(request.id, result: text) }
        }
        return requests.count
    }

    /// Does one thing; a failure is a reply too.
    public func perform(_ request: Request) -> Reply {
        do { return try carryOut(request) } catch let error as RequestError {
            return Reply(code: error.code, lines: [error.message], remedy: error.remedy)
        } catch let error as CloudError {
            return Reply(
                code: error.code == .offline ? ExitCode.offline : ExitCode.failed, lines: [error.message],
                remedy: error.remedy)
        } catch {
            return Reply(
                code: ExitCode.failed, lines: ["\(error)"], remedy: "Run 'shoebox status' to see what is wrong.")
        }
    }

    private func carryOut(_ request: Request) throws -> Reply {
        switch request {
        case .shareCreate(let paths, let title, let permission, let isSealed, let onEnd):
            try createShare(paths, title: title, publicPermission: permission, isSealed: isSealed, onEnd: onEnd)
        case .shareAdd(let share, let paths): try addToShare(try zoneNamed(share, mine: true), paths)
        case .shareRemove(let share, let paths): try removeFromShare(try zoneNamed(share, mine: true), paths)
        case .shareTitle(let share, let title): try retitle(try zoneNamed(share, for: .rename), title)
        case .invite(let share, let accounts, let permission):
            try invite(try zoneNamed(share, for: .invite), accounts, permission: permission)
        case .permission(let share, let account, let permission):
            try setPermission(try zoneNamed(share, for: .changePermission), account, permission)
        case .uninvite(let share, let accounts): try uninvite(try zoneNamed(share, for: .removeParticipant), accounts)
        case .stop(let share): try stopShare(try zoneNamed(share, mine: true, isPastFine: true))
        case .transfer(let share, let account, let stays):
            try offerTransfer(try zoneNamed(share, mine: true), account, stays: stays)
        case .transferWithdraw(let share): try withdrawTransfer(try zoneNamed(share, mine: true))
        case .transferAnswer(let share, let accepts):
            try answerTransfer(try zoneNamed(share, mine: nil), accepts: accepts)
        case .leave(let share, let keepCopy):
            try leave(try zoneNamed(share, mine: nil, isPastFine: true), keepCopy: keepCopy)
        case .accept(let link): try accept(link: link)
        case .acceptAllPending: try acceptAllPending()
        case .ask(let link): try askToJoin(link: link)
        case .acceptInvitations(let names): try acceptInvitations(names)
        case .decline(let names): try decline(names)
        case .setPublic(let share, let permission, let renews, let announces):
            try setPublic(try zoneNamed(share, mine: true), permission, renews: renews, announces: announces)
        case .makeLink(let share, let permission, let expires, let count, let asks):
            try makeLink(
                try zoneNamed(share, mine: true), permission: permission, expiresMilliseconds: expires, count: count,
                asks: asks)
        case .answerRequests(let share, let accounts, let permission):
            try answerRequests(try zoneNamed(share, for: .invite), accounts, permission: permission)
        case .tag(let path, let titles, let isMember):
            try edit(path, .tag, author: "cli") { id, writer in
                for title in titles {
                    try Self.checkTagName(title)
                    try self.setTag(title, on: id, isMember: isMember, writer: &writer)
                }
            }
        case .tagRename(let title, let newTitle, let scope): try renameTag(title, to: newTitle, scope)
        case .tagDelete(let title, let scope): try deleteTag(title, scope)
        case .rate(let path, let value):
            try edit(path, .rate, author: "cli") { id, writer in
                guard (0...5).contains(value) else {
                    throw RequestError(64, "A rating is 1 to 5, or 0 to take it back.", "Give a number from 0 to 5.")
                }
                try self.setRating(value, on: id, writer: &writer)
            }
        case .caption(let path, let text):
            try edit(path, .editRecord, author: "cli") { id, writer in
                try self.setFields([.caption: .text(text)], on: id, writer: &writer)
            }
        case .verifyAccount(let name, let isCompared): try verifyAccount(name, isCompared: isCompared)
        case .deviceApprove(let code): try approveDevice(code: code)
        case .deviceAdmit(let device): try admitDevice(device)
        case .deviceRetire(let name): try retireDevice(name)
        case .deviceRetired(let devices):
            try finishRetiring(devices.compactMap { Digest32(hex: $0).map(DeviceID.init) })
        case .confirmDeletions: try confirmDeletions()
        case .rejectDeletions: try rejectDeletions()
        case .acceptFolders: try acceptFolders()
        case .compact: try compactNow()
        case .restoreVersion(let path, let version): try restoreVersion(path, version: version)
        case .undo(let token): try undo(token)
        case .resolveConflict(let path, let field, let choice):
            try resolveConflict(path, field: field, choice: choice)
        case .repair(let zones, let assets, let files): try repair(zones: zones, assets: assets, files: files)
        case .recreateContainer: try recreateContainer()
        case .restoreTrash(let paths): try restoreFromTrash(paths)
        case .restoreContent(let path): try restoreContent(path)
        case .restoreShare(let share): try restoreShare(try zoneNamed(share, mine: nil))
        }
    }

    /// The record that a watched folder shows at a path.
    func record(at reference: PathReference) throws -> RecordID {
        guard let path = reference.path, !path.isRoot else {
            throw RequestError(
                ExitCode.notFound, "The path is the watched folder itself.", "Name a file or folder in it.")
        }
        guard let id = try shownRecord(at: path, reference.root) else {
            throw RequestError(
                ExitCode.notFound,
                "There is no photo or folder '\(display(path, reference.root))' that shoebox knows of.",
                "Check the path; a file that is still being written is taken a moment after it is closed.")
        }
        return id
    }

    /// A photo that its user has just removed is not to be edited, and come back by that.
    private func refuseIfGone(_ reference: PathReference) throws {
        guard let path = reference.path, try checkRoot(reference.root), files(reference.root).isAbsent(path) else {
            return
        }
        throw RequestError(
            ExitCode.notFound, "There is no photo '\(display(path, reference.root))' any more.",
            "If it should be there, 'shoebox restore' brings it back.")
    }

    /// Makes an edit of one photo's record or companions, where the account may.
    private func edit(
        _ reference: PathReference, _ action: SharingAction, author: String,
        _ body: (RecordID, inout HistoryWriter) throws -> Void
    ) throws -> Reply {
        let id = try record(at: reference)
        guard let row = try store.read({ db in try db.record(id) }), row.type.hasContent else {
            throw RequestError(ExitCode.notFound, "That is a folder, not a photo.", "Name a photo.")
        }
        try refuseIfGone(reference)
        guard try store.read({ db in try may(action, id, db) }) else {
            throw RequestError(
                ExitCode.notPermitted,
                "The photo is in '\(zones[id.zone]?.control.title ?? "")', \(permissionText(id.zone)).",
                "Ask its owner for the permission 'readWrite'.")
        }
        try readSidecar(of: id, at: reference)
        let count = try store.write { db -> Int in
            var writer = try HistoryWriter(db, engine: self, author: author)
            try body(id, &writer)
            try writer.finish()
            return writer.count
        }
        return Reply(lines: count == 0 ? ["nothing to change"] : ["done"], values: ["changes": String(count)])
    }

    /// Takes what was written into the sidecar of a photo and not read yet, so that what a command says of the photo is said after that.
    private func readSidecar(of id: RecordID, at reference: PathReference) throws {
        let (base, sidecar) = try store.read { db in (try db.base(id), try db.sidecar(id)) }
        guard let path = reference.path, let base,
            let entry = try? files(reference.root).entry(at: path), entry.stamp.isSameFile(as: base.stamp)
        else { return }
        let written = try sidecars(beside: path, reference.root, unlike: sidecar, passingOver: true).filter {
            try !isKept(path.parent.appending($0.entry.name), $0.entry, reference.root)
        }
        _ = try readSidecars(written.map(\.entry), in: path.parent, root: reference.root, author: "scan")
    }

    /// A share in which this account may do something to people or title.
    func zoneNamed(_ text: String, for action: SharingAction) throws -> ZoneInfo {
        let zone = try zoneNamed(text, mine: nil)
        // What has ended is said by whoever tries.
        guard !zone.row.isMine, !can(action, account: account, in: zone.control) else { return zone }
        throw RequestError(
            ExitCode.notPermitted,
            "Only the owner, \(zone.control.ownerLabel), or an admin can do that with '\(zone.control.title)'.",
            "Ask the owner, or leave the share with 'shoebox share leave'.")
    }

    /// A share by its id, the start of its id, or its title.
    ///
    /// - Parameter isPastFine: whether the title of a share that was stopped or left is understood too, where no other has it.
    func zoneNamed(_ text: String, mine: Bool?, isPastFine: Bool = false) throws -> ZoneInfo {
        let shares = zones.values.filter { $0.row.kind == .share }
        let matching = shares.filter { $0.id.description == text }
        let byTitle = shares.filter { $0.control.title == text && $0.row.state != .left && $0.row.state != .ended }
        let byPrefix = text.count >= 6 ? shares.filter { $0.id.description.hasPrefix(text) } : []
        let past = shares.filter {
            $0.control.title == text && isPastFine && (mine == nil || $0.row.isMine == mine)
        }
        // Of several the order is the same each time, so that each is reached in turn as messages about it are taken away.
        let byPastTitle = past.sorted { hasEnded($0) && !hasEnded($1) || hasEnded($0) == hasEnded($1) && $0.id < $1.id }
            .prefix(1)
        guard let found = [matching, byTitle, byPrefix, Array(byPastTitle)].first(where: { !$0.isEmpty }) else {
            throw RequestError(
                ExitCode.notFound, "There is no share '\(text)'.", "'shoebox share list' shows all shares.")
        }
        guard found.count == 1, let zone = found.first else {
            throw RequestError(
                ExitCode.notFound, "\(found.count) shares are called '\(text)'.",
                "Use the id: " + found.map { String($0.id.description.prefix(12)) }.sorted().joined(separator: ", "))
        }
        if let mine, zone.row.isMine != mine {
            throw RequestError(
                ExitCode.notPermitted,
                "Only the owner, \(zone.control.ownerLabel), can do that with '\(zone.control.title)'.",
                "Ask the owner, or leave the share with 'shoebox share leave'.")
        }
        return zone
    }

    /// Whether the end of a share is still reported.
    private func hasEnded(_ zone: ZoneInfo) -> Bool { openProblems.contains { $0.hasPrefix("ended|\(zone.id)|") } }

    /// Marks a file as showing nothing of its record, so that applying puts the record's content there; what the file
    /// holds now goes to the trash.
    func restoreContent(_ reference: PathReference) throws -> Reply {
        let id = try record(at: reference)
        guard let path = reference.path, let entry = try files(reference.root).entry(at: path), entry.kind == .file
        else {
            throw RequestError(ExitCode.notFound, "There is no such photo.", "Check the path.")
        }
        let (hash, stamp) = try ContentHasher.hash(path, files(reference.root))
        let content = try store.read { db in try db.state(of: id) }?.content
        let isHere = try content.map { try $0.contentHash == hash || findBytes($0, of: id) } ?? true
        try store.write { db in
            guard var row = try db.base(id) else { return }
            row.stamp = stamp
            row.contentHash = hash
            try db.setBase(row)
            try db.markDirty(id)
        }
        try clearProblem("emptied", path: display(path, reference.root))
        guard isHere else {
            // It is given up when it is to be published; to stop here would leave it waiting for ever.
            return Reply(
                code: ExitCode.reported,
                lines: [
                    "The last content of '\(entry.name)' is kept nowhere that can be reached from here: it was gone before it was published."
                ],
                remedy:
                    "What the file had before that comes back in a while, if there is such; else put the photo there again. 'shoebox restore --list' with its path shows what it had."
            )
        }
        if content?.contentHash == hash {
            return Reply(lines: [
                "'\(entry.name)' has the content that shoebox knows of it already. Another photo, which was there before and was "
                    + "deleted, comes back with 'shoebox undo': 'shoebox history' shows the transaction."
            ])
        }
        return Reply(lines: [
            "The content that shoebox knows of '\(entry.name)' comes back; the present one goes to the trash."
        ])
    }

    /// Whether a record belongs to what a watched folder shows.
    func isShown(_ id: RecordID, in root: RootKind) -> Bool {
        id.zone == .none ? root == .shared : zones[id.zone]?.row.root == root
    }

    private func replacedKey(_ zone: ZoneID) -> String { "replaced.\(zone)" }

    /// Notes that the folder of somebody else's share is another directory than it was.
    func noteReplaced(_ zone: ZoneID) throws {
        guard try store.read({ db in try db.metaText(replacedKey(zone)) }) == nil else { return }
        try store.write { db in try db.setMetaText(replacedKey(zone), "1") }
    }

    /// Whether all files of a zone that its folder showed are missing, or the folders that they were in.
    func isEmptied(_ zone: ZoneID, missing: Set<RecordID>) throws -> Bool {
        let shown = try store.read { db in try db.base(in: zone) }.filter { !$0.id.isZoneRoot && !$0.isParked }
        let parents = Dictionary(shown.map { ($0.id, $0.parent) }) { first, _ in first }
        func isGone(_ row: BaseRow) -> Bool {
            var current: RecordID? = row.id
            for _ in 0...parents.count {
                guard let id = current else { return false }
                if missing.contains(id) { return true }
                current = parents[id]
            }
            return false
        }
        let files = shown.filter { $0.kind == .file }
        return !files.isEmpty && files.allSatisfy(isGone)
    }

    /// An empty directory in place of a share's folder is no deletion of all that was in it: offers to leave instead.
    /// Returns the shares of which that holds.
    func offerLeaveOfReplaced(missing: Set<RecordID>, isWhole: Bool) throws -> Set<ZoneID> {
        var offered: Set<ZoneID> = []
        for zone in zones.values
        where !zone.row.isMine && zone.row.root == .shared && zone.row.state == .active {
            guard try store.read({ db in try db.metaText(replacedKey(zone.id)) }) != nil else { continue }
            guard try isEmptied(zone.id, missing: missing) else {
                if isWhole { try store.write { db in try db.setMetaText(replacedKey(zone.id), nil) } }
                continue
            }
            let problems = try store.write { db in
                try db.setMetaText(replacedKey(zone.id), nil)
                let problems = try offerLeave(zone.id, db).map { [$0] } ?? []
                try note(problems, db)
                return problems
            }
            announce(problems)
            offered.insert(zone.id)
        }
        if !offered.isEmpty { try reloadZones() }
        return offered
    }
}
