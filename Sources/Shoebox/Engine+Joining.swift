import ShoeboxCloud
import ShoeboxLibrary
import ShoeboxModel
import ShoeboxPlanning
import ShoeboxStore
import ShoeboxWorld

import class GRDB.Database

extension Engine {
    /// How long a share that is over waits for what is just being written in its folder, milliseconds.
    private var editsAwaitedMilliseconds: UInt64 { 30_000 }

    /// Accepts an invitation by its link. Accepting again is fine.
    func accept(link text: String) throws -> Reply {
        let link: ShareLink
        do { link = try ShareLink(parsing: text) } catch {
            throw RequestError(
                64, "That is no link to a share: \(error.message)", "Copy the whole link and put it in quotes.")
        }
        let container = try openContainer()
        guard link.container == container.id else {
            throw RequestError(
                ExitCode.notFound, "The link belongs to another container (\(link.container.prefix(12))…).",
                "Set up shoebox with that container, or ask for a link to a share in this one.")
        }
        if let zone = zones[link.zone], zone.row.isMine {
            return Reply(lines: ["'\(zone.control.title)' is your own share."], values: ["id": zone.id.description])
        }
        do {
            if case .ask = link.secret, zones[link.zone]?.row.state != .active { return try askUnlessInvited(link) }
            let keys = try link.keys
            return acceptedReply([try join(link.zone, fingerprint: link.ownerFingerprint, keys: keys)])
        } catch let error as CloudError where error.code == .notInvited {
            if let zone = try askToReturn(to: link.zone) {
                return Reply(
                    lines: [
                        "You left '\(zone.control.title)'; \(zone.control.ownerLabel) is asked to let you in again.",
                        "The photos appear as soon as a device of \(zone.control.ownerLabel) has answered; nobody has to do anything.",
                    ], values: ["id": zone.id.description])
            }
            throw RequestError(
                ExitCode.notPermitted, "The link leads to a share that you are not invited to, or no more.",
                error.remedy + " Or ask for it: shoebox accept --ask '\(link)'")
        } catch let error as CloudError where error.code == .notYet {
            throw RequestError(
                ExitCode.notFound, "The share of this link is not in the container, or not seen here yet.",
                "Check that the link is whole. If it is new, try again in a minute: some mounts show new folders late.")
        }
    }

    /// Joins, if the account is on the share's list already, else asks to be put there.
    private func askUnlessInvited(_ link: ShareLink) throws -> Reply {
        do { return acceptedReply([try join(link.zone, fingerprint: link.ownerFingerprint)]) } catch {
            guard let error = error as? CloudError, error.code == .notInvited else { throw error }
            return try ask(link)
        }
    }

    /// Asks the owner of the share that a link leads to, or joins if the account is on its list.
    func askToJoin(link text: String) throws -> Reply {
        let link: ShareLink
        do { link = try ShareLink(parsing: text) } catch {
            throw RequestError(
                64, "That is no link to a share: \(error.message)", "Copy the whole link and put it in quotes.")
        }
        guard link.container == (try openContainer().id) else {
            throw RequestError(
                ExitCode.notFound, "The link belongs to another container (\(link.container.prefix(12))…).",
                "Set up shoebox with that container, or ask for a link to a share in this one.")
        }
        return try askUnlessInvited(link)
    }

    /// Accepts invitations that wait in the inbox, by the titles of their shares or the starts of their ids; what was
    /// announced is joined by its link.
    func acceptInvitations(_ texts: [String]) throws -> Reply {
        _ = try openContainer()
        try readLettersNow()
        let rows = try texts.map(pendingInvitation)
        var joined: [ZoneInfo] = []
        for row in rows {
            guard let id = row.zone, let sender = row.account else { continue }
            // The letter names the account, no person does: so another one under a known name is refused.
            if let entry = try directory.account(sender) { try pin(entry, isNamed: false) }
            if row.isAnnouncement {
                let reply = try accept(link: row.link)
                guard let zone = zones[id], zone.row.state == .active else { return reply }
                joined.append(zone)
                continue
            }
            do { joined.append(try join(id, fingerprint: sender.fingerprint)) } catch let error as CloudError {
                guard error.code == .notInvited else { throw error }
                try store.write { db in try db.settleLetters("invitation", zone: id, .withdrawn) }
                throw RequestError(
                    ExitCode.notPermitted, "The invitation to '\(row.title)' holds no more: \(row.label) took it back.",
                    "Ask \(row.label) for another one.")
            }
        }
        return acceptedReply(joined)
    }

    /// Accepts every invitation that is found in the container.
    func acceptAllPending() throws -> Reply {
        _ = try openContainer()
        try readLettersNow()
        var joined: [ZoneInfo] = []
        var unread: CloudError?
        // Of those that were left, or have ended, only what somebody has invited to since.
        let again = Set(try store.read { db in try pendingInvitations(db) }.filter { !$0.isAnnouncement }.map(\.zone))
        for id in try ZoneFolder.zones(on: world.mount) where zones[id] == nil || again.contains(id) {
            // An own share that nobody placed is one of which the making was cut off.
            do { joined.append(try join(id, fingerprint: nil, isInvited: true)) } catch let error as CloudError {
                // Others' private zones and shares of others: not for this account.
                if error.code == .offline { throw error }
                if error.mayBeReadLater { unread = error }
                continue
            } catch let error as RequestError {
                log("not accepted: \(error)")
                continue
            }
        }
        guard !joined.isEmpty else {
            // Whether one is waiting can't be said.
            if let unread { throw unread }
            return Reply(lines: ["No invitation is waiting."])
        }
        var reply = acceptedReply(joined)
        if let unread {
            reply.lines.append("Not all shares could be read: \(unread.message) Run it again for the others.")
        }
        return reply
    }

    private func acceptedReply(_ joined: [ZoneInfo]) -> Reply {
        Reply(
            lines: joined.map { zone in
                let what =
                    switch zone.control.permission(of: account) {
                    case .readWrite: "read and write"
                    case .contribute: "read, add, and change what you added"
                    default: "read only"
                    }
                return "Accepted '\(zone.control.title)' from \(zone.control.ownerLabel) (\(what)): \(place(zone))"
            } + ["The photos appear in the shared folder; 'shoebox status' shows how far it is."],
            values: [
                "id": joined.map(\.id.description).joined(separator: ","),
                "path": joined.map(place).joined(separator: ","),
            ])
    }

    /// Where a share shows, or will.
    private func place(_ zone: ZoneInfo) -> String {
        let mount = RecordID(zone: zone.id, name: .zoneRoot)
        let shown = try? store.read { db in try db.basePath(of: mount, top: [top(zone.row.root)]) }
        if zone.row.state == .active, let shown { return display(shown, zone.row.root) }
        return "shared/\(FileName(safe: zone.control.founderOrOwner.label))/\(FileName(safe: zone.control.title))"
    }

    /// Opens a zone that this account was invited to and takes it up.
    ///
    /// - Parameters:
    ///   - keys: of the link that the account comes by; a public one makes it a participant by itself.
    ///   - isInvited: whether only what others share is entered.
    func join(
        _ id: ZoneID, fingerprint: String?, keys: JoinLinkKeys? = nil, isInvited: Bool = false
    ) throws -> ZoneInfo {
        try finishWithdrawals()
        let folder = zoneFolder(id)
        var keyring = zones[id]?.keyring ?? ZoneKeyring()
        let reading = try keys.map { try identity.opening(with: $0) } ?? reader(of: id)
        let current = try folder.currentControl(
            named: [], known: [], expecting: fingerprint, identity: reading, keyring: &keyring)
        let owner = current.control.owner
        if owner != account, let entry = try directory.account(owner) {
            try pin(entry, isNamed: owner.fingerprint == fingerprint)
        }
        guard !current.control.isStopped else {
            throw RequestError(
                ExitCode.notFound, "The share '\(current.control.title)' was stopped by its owner.",
                "Ask \(current.control.ownerLabel) to share again.")
        }
        if let keys { try joinByLink(keys, current.control, in: folder) }
        let control = try store.read { db in try withJoined(current.control, zone: id, db) }
        let takesPart = owner == account ? !isInvited : control.participants[account]?.takesPart == true
        guard takesPart, control.permission(of: account) > .none, let newest = current.newest else {
            throw CloudError(
                code: .notInvited, message: "You are not invited to '\(current.control.title)'.",
                remedy: "Ask \(current.control.ownerLabel) to invite you.")
        }
        let isMine = owner == account
        let root: RootKind = current.control.kind == .share ? root(of: current.control) : .library
        let keyringData = try keyring.column
        try store.write { db in
            var row =
                try db.zone(id)
                ?? ZoneRow(
                    id: id, kind: current.control.kind, root: root, isMine: isMine,
                    keyring: keyringData, control: try ControlCoder.encode(current.control).column,
                    controlVersion: newest.version, controlHash: newest.hash)
            row.state = .active
            row.isMine = isMine
            row.keyring = keyringData
            row.control = try ControlCoder.encode(current.control).column
            row.controlVersion = newest.version
            row.controlHash = newest.hash
            row.isHeadDirty = true
            try db.setZone(row)
            try db.markAllDirty(in: id)
            try db.markLayoutDirty()
            try db.setMetaText(withdrawalKey(id), nil)
            try db.setMetaText(askedKey(id), nil)
            try db.settleLetters("invitation", zone: id, .accepted)
            try db.settleLetters(Letter.Kind.announced.rawValue, zone: id, .accepted)
            // What was put into the folder that became this share follows it only now.
            // In one step: an active share whose placement is gone is one that another device has left.
            if root == .shared { try placeIfMissing(id, current.control, db) }
            if root == .library, let placement = try placements(db).zones[id],
                let folder = try db.state(of: placement.id)?[.photo]?.reference
            {
                try db.markDirty(RecordID(zone: placement.id.zone, name: folder))
            }
            try noteComingBack(as: control.participants[account], to: id, db)
            try forgetLeave(of: id, db)
        }
        try reloadZones()
        guard let zone = zones[id] else { throw offlineError }
        log("joined '\(zone.control.title)'")
        try clearProblem("ended", zone: id)
        try clearProblem("leaveOffered", zone: id)
        try noteReadable(id)
        return zone
    }

    /// Tells the account's other devices that it takes part in a share, if nothing tells it.
    func placeIfMissing(_ id: ZoneID, _ control: Control, _ db: Database) throws {
        let placements = try placements(db)
        guard placements.zones[id] == nil else { return }
        var writer = try HistoryWriter(db, engine: self, author: "cli")
        try writePlacement(
            zone: id, record: nil, parent: nil, name: FileName(safe: control.title), placements: placements,
            writer: &writer)
        try writer.finish()
    }

    /// Publishes that the account joins by a public link, unless it is on the list already.
    private func joinByLink(_ keys: JoinLinkKeys, _ control: Control, in folder: ZoneFolder) throws {
        guard control.owner != account, control.participants[account]?.takesPart != true else { return }
        guard control.publicLink?.key == keys.joinKey else {
            throw CloudError(
                code: .notInvited, message: "The link to '\(control.title)' holds no more.",
                remedy: "Ask \(control.ownerLabel) for the new link.")
        }
        guard !isFull(control) else {
            throw RequestError(
                ExitCode.failed, "'\(control.title)' is full: it has \(settings.participantsMax) participants.",
                "Ask \(control.ownerLabel) to take out who is not needed.")
        }
        try folder.publishJoin(keys, identity: identity, nowMilliseconds: world.nowMilliseconds())
        try world.mount.synchronize()
        try keepLink(keys, of: folder.zone)
        try store.write { db in
            _ = try db.addJoin(folder.zone, account: account, joinKey: keys.joinKey, label: settings.label)
        }
    }

    /// Leaves somebody else's share; its files go to the trash, or with `keepCopy` into the library.
    func leave(_ zone: ZoneInfo, keepCopy: Bool) throws -> Reply {
        guard !zone.row.isMine else {
            throw RequestError(
                ExitCode.notPermitted, "'\(zone.control.title)' is your own share.",
                "'shoebox share stop' ends it for everyone; you keep the photos.")
        }
        if zone.row.state == .ended {
            try clearProblem("ended", zone: zone.id)
            return Reply(lines: ["'\(zone.control.title)' had ended already; 'shoebox status' says so no more."])
        }
        if zone.row.state == .left {
            try takeBackReturn(to: zone)
            try clearProblem("ended", zone: zone.id)
            return Reply(lines: ["You left '\(zone.control.title)' already."])
        }
        try withdraw(zone, state: .left, keepCopy: keepCopy)
        return Reply(
            lines: ["You left '\(zone.control.title)'. The photos stay with their owner and the others."]
                + (keepCopy ? ["Your copies are in the library, in 'Kept from \(zone.control.title)'."] : []))
    }

    /// Takes a share out of the shared folder: edits that nobody else has, and with `keepCopy` everything, go to the
    /// library first; the rest goes to the trash.
    ///
    /// The zone is no longer synced before the first file is moved: what is missing then is no deletion of the user's,
    /// however the process ends. `finishWithdrawals` goes on from there.
    ///
    /// - Parameter isFollowing: whether another device of the account has left, and has told so.
    func withdraw(_ zone: ZoneInfo, state: ZoneRow.State, keepCopy: Bool, isFollowing: Bool = false) throws {
        let root = zone.row.root
        if try checkRoot(root) { _ = try scan(root, author: "scan") }
        if state == .ended || isFollowing, try awaitsEdits(in: zone) { return }
        endings[zone.id] = nil
        if state == .left, !isFollowing { try publishBeforeLeaving(zone) }
        let base = try store.read { db in try db.base(in: zone.id) }
        let untold = try store.read { db in try db.untoldChanges(in: zone.id, by: replica) }
        let unpushed: Set<RecordName> = try store.read { db in
            let pending = try db.pendingChanges(in: zone.id, limit: .max).flatMap { records(of: $0.change) }
            // What counts for nobody, and was not copied yet, as the library was away.
            let owed = try owedCopies(db).keys.filter { $0.zone == zone.id }.map(\.name)
            // Of somebody who was put out, also what no device of the owner had taken in.
            let shown = Dictionary(base.map { ($0.id.name, $0.contentHash) }) { first, _ in first }
            let refused = untold.filter { stored in
                // An edit in whose place others' content is again has its private copy.
                guard let edit = stored.change.content, let hash = shown[stored.change.record] else { return true }
                return hash == edit.contentHash
            }.flatMap { records(of: $0.change) }
            return Set(
                pending + owed + refused + (state == .ended || isFollowing ? try unacknowledged(in: zone, db) : []))
        }
        if !base.isEmpty {
            // Without the folder nothing can be put away: try again when it is there.
            guard try checkRoot(root) else { throw offlineError }
            let isCopying = base.contains { $0.kind == .file && (keepCopy || unpushed.contains($0.id.name)) }
            guard try !isCopying || checkRoot(.library) else { throw offlineError }
            for row in base where row.kind == .file && (keepCopy || unpushed.contains(row.id.name)) {
                let details = try store.read { db in try detailsToKeep(of: row.id, untold, db) }
                if try keepCopyInLibrary(row, folder: "Kept from \(zone.control.title)", saying: details) {
                    try keepDetails(details, of: row)
                }
            }
            try settleCopies()
        }
        try store.write { db in
            guard var row = try db.zone(zone.id) else { return }
            row.state = state
            row.isMine = false
            try db.setZone(row)
            try keepWhereTheyWere(try db.pendingChanges(in: zone.id, limit: .max), notComingTo: zone.id, db)
            if state == .left, !isFollowing { try noteLeave(of: zone, db) }
            if let generation = zone.control.participants[account]?.generation {
                try db.settleLetters("invitation", zone: zone.id, upTo: generation, .accepted)
            }
            try db.setMetaText(withdrawalKey(zone.id), "1")
        }
        try reloadZones()
        try finishWithdrawals()
    }

    /// Whether something in the folder of a share that is over changed just now and is not taken yet, as a photo that an
    /// editor saved while no daemon ran: it is waited for, but not for ever, and no message and no copy is lost by it.
    private func awaitsEdits(in zone: ZoneInfo) throws -> Bool {
        let root = zone.row.root
        guard
            let folder = try store.read({ db in
                try db.basePath(of: RecordID(zone: zone.id, name: .zoneRoot), top: [top(root)])
            })
        else { return false }
        let now = world.uptimeMilliseconds()
        let since = endings[zone.id] ?? now
        guard now < since + editsAwaitedMilliseconds else { return false }
        for (key, known) in unsettled where key.root == root && key.path.isAtOrBelow(folder) {
            guard let entry = try files(root).entry(at: key.path), entry.stamp == known.stamp else { continue }
            endings[zone.id] = since
            return true
        }
        return false
    }

    /// What was not published yet, or what the container has lost of the own photos, goes there while it is still shown
    /// here: afterwards nobody has it.
    private func publishBeforeLeaving(_ zone: ZoneInfo) throws {
        do {
            _ = try openContainer()
            if try checkOwnHead(zone, isIdle: false) { _ = try pushAll() }
        } catch {
            guard error is CloudError || error is FileError || error is RequestError else { throw error }
            log("not published before leaving: \(error)")
        }
    }

    func withdrawalKey(_ zone: ZoneID) -> String { "withdraw.\(zone)" }

    /// Goes on with what `withdraw` began before the process died.
    func finishWithdrawals() throws {
        for zone in zones.values where zone.row.state == .left || zone.row.state == .ended {
            // Of one share that can't be put away now, the next round tries again, and nothing else waits for it.
            do { try finishWithdrawal(zone.id) } catch let error as FileError {
                log("'\(zone.control.title)' is not put away yet: \(error)")
            }
        }
    }

    /// Puts away what is still shown of a share that was left or has ended, then forgets it. Safe to repeat.
    private func finishWithdrawal(_ id: ZoneID) throws {
        guard try store.read({ db in try db.metaText(withdrawalKey(id)) }) != nil else { return }
        let base = try store.read { db in try db.base(in: id) }
        if !base.isEmpty {
            guard let zone = zones[id], try checkRoot(zone.row.root) else { return }
            // What can't be removed now is still the share's: were it forgotten, it would be taken for the user's own.
            let areTagFilesGone = try removeTagFiles(of: zone)
            guard try removeShown(base, from: zone.row.root), areTagFilesGone else { return }
            // A power cut must not bring back what nobody would know again.
            try files(zone.row.root).synchronize()
        }
        try store.write { db in
            try db.forgetRecords(of: id)
            try setOwnChainUnread(true, in: id, db)
            var writer = try HistoryWriter(db, engine: self, author: "cli")
            // All of them: two devices may have placed it.
            for row in try privateZone.map({ try db.records(of: .placement, in: $0) }) ?? []
            where row.contentHash == id.digest {
                try removePlacement(row, writer: &writer)
            }
            try writer.finish()
            try db.markLayoutDirty()
            try db.setMetaText(withdrawalKey(id), nil)
            try db.clearProblems(code: "leaveOffered", zone: id)
        }
        // Of what could not be shown nothing is shown any more.
        for code in Self.unappliedCodes { try clearProblem(code, zone: id) }
        try reloadZones()
    }

    /// Moves everything shown of a zone to the trash, folders that become empty with it. What has changed stays. False if
    /// something is still there that could not be moved; it is reported.
    private func removeShown(_ base: [BaseRow], from root: RootKind) throws -> Bool {
        let applier = makeApplier(root)
        var isWhole = true
        func note(_ operation: FileOperation, _ outcome: ApplyOutcome) throws {
            if case .failed(let error) = outcome {
                isWhole = false
                try reportFailure(operation, error, root: root)
            } else if case .stale(let reason) = outcome, try isBeingWritten(operation) {
                // A program goes on writing into what it has open: that waits until it is closed.
                isWhole = false
                log("not put away yet: \(reason)")
            } else if let path = operation.path {
                for code in ["notApplied", "diskFull"] { try clearProblem(code, path: display(path, root)) }
            }
        }
        func isBeingWritten(_ operation: FileOperation) throws -> Bool {
            guard case .remove(let id, let path, _) = operation else { return false }
            return try files(root).hasWriter(path) || isSidecarBeingWritten(of: id, besides: path, root: root)
        }
        let tops: Set<RecordID> = [top(root)]
        var directories: [(RecordID, RelativePath)] = []
        for row in base {
            guard
                let path = try store.read({ db in
                    try db.basePath(of: row.parent, top: tops)?.appending(row.name)
                })
            else { continue }
            if row.kind == .folder {
                directories.append((row.id, path))
                continue
            }
            var operation = FileOperation.remove(row.id, at: path, expecting: row.stamp)
            try note(operation, try removeSidecarFile(of: row.id, besides: path, root: root))
            var outcome = applier.apply(operation)
            // Some show the time that a server has set only after they were renamed.
            if case .stale = outcome, let stamp = stampByNow(row, at: path, root) {
                operation = .remove(row.id, at: path, expecting: stamp)
                outcome = applier.apply(operation)
            }
            try note(operation, outcome)
        }
        for (id, path) in directories.sorted(by: { $0.1.names.count > $1.1.names.count }) {
            try note(.removeDirectory(id, at: path), applier.apply(.removeDirectory(id, at: path)))
        }
        return isWhole
    }

    /// The stamp that a shown file has by now, if its time is another one and its bytes are what they were: a server may set the
    /// time some moments after the file was closed. Nil for what its user has changed since, or what can't be read: that stays.
    private func stampByNow(_ row: BaseRow, at path: RelativePath, _ root: RootKind) -> FileStamp? {
        let files = files(root)
        do throws(FileError) {
            guard let found = try files.entry(at: path)?.stamp, !found.isUnchanged(from: row.stamp),
                found.size == row.stamp.size
            else { return nil }
            let (hash, stamp) = try ContentHasher.hash(path, files)
            return hash == row.contentHash ? stamp : nil
        } catch {
            log("'\(display(path, root))' stays where it was: \(error)")
            return nil
        }
    }

    /// Brings back the folder of a share that was deleted as a whole.
    func restoreShare(_ zone: ZoneInfo) throws -> Reply {
        guard zone.row.state == .leaveOffered else {
            return Reply(
                lines: ["'\(zone.control.title)' is not waiting to be restored."],
                remedy: "'shoebox status' shows what waits, and what to do about it.")
        }
        try store.write { db in
            for row in try db.base(in: zone.id) where try !row.isParked && !liesElsewhere(row, db) {
                try db.removeBase(row.id)
            }
            guard var row = try db.zone(zone.id) else { return }
            row.state = .active
            try db.setZone(row)
            try db.markAllDirty(in: zone.id)
            try db.markLayoutDirty()
        }
        missing = missing.filter { $0.key.zone != zone.id }
        try clearProblem("leaveOffered", zone: zone.id)
        try reloadZones()
        return Reply(lines: ["'\(zone.control.title)' comes back into the shared folder."])
    }

    /// Whether the file of a record that has just come to a zone is still where it was before: it is no new photo there.
    private func liesElsewhere(_ row: BaseRow, _ db: Database) throws -> Bool {
        guard try liesOutside(row, db), let path = try db.basePath(of: row.id, top: [top(row.root)]) else {
            return false
        }
        do throws(FileError) {
            return try files(row.root).entry(at: path)?.stamp.isSameFile(as: row.stamp) == true
        } catch { return !error.isAbsence }
    }
}
