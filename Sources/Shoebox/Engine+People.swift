import ShoeboxCloud
import ShoeboxModel
import ShoeboxPlanning
import ShoeboxStore
import ShoeboxWorld

import class GRDB.Database

extension Engine {
    /// Makes a zone on the mount and in the local database.
    func makeZone(_ control: Control) throws -> ZoneInfo {
        let (zone, file) = try publishZone(control)
        try store.write { db in try setPublished(zone, file: file, db) }
        try reloadZones()
        return zone
    }

    /// Stores a zone that was published a moment ago, and its control's file with it: the container may be put back to
    /// before that at any time, and nobody else has read it yet.
    func setPublished(_ zone: ZoneInfo, file: [UInt8]?, _ db: Database) throws {
        try db.setZone(zone.row)
        guard let file else { return }
        let version = Position(sequence: zone.row.controlVersion, hash: zone.row.controlHash)
        try db.keepControl(version, bytes: file, of: zone.id)
    }

    /// Makes a zone on the mount only: until the local database has its row, together with what shall be in it, it is an
    /// empty folder that nobody knows of. Returns the control's file, too; nil if the mount does not show it yet.
    func publishZone(_ control: Control) throws -> (zone: ZoneInfo, file: [UInt8]?) {
        _ = try openContainer()
        let (folder, keyring, verified) = try ZoneFolder.create(
            control, identity: identity, mount: world.mount, accounts: directory,
            nowMilliseconds: world.nowMilliseconds(), randomBytes: world.randomBytes)
        let row = ZoneRow(
            id: folder.zone, kind: control.kind, root: .library, isMine: true,
            keyring: try keyring.column, control: try ControlCoder.encode(verified.control).column,
            controlVersion: verified.version.version, controlHash: verified.version.hash)
        let zone = ZoneInfo(row: row, control: verified.control, keyring: keyring)
        return (zone, try folder.controlBytes(verified.version))
    }

    /// Changes who takes part in a zone, as its owner or an admin: reads the newest control, changes it, publishes the result.
    func changeControl(
        of zone: ZoneInfo, newEpoch: Bool = false, consent: TransferConsent? = nil, keepsPassedOver: Bool = false,
        _ change: (inout Control) throws -> Void
    ) throws {
        _ = try openContainer()
        let folder = zoneFolder(zone.id)
        var keyring = zone.keyring
        let known = ControlVersion(version: zone.row.controlVersion, hash: zone.row.controlHash)
        let named = try namedControls(zone.id)
        try offerControls(zone, folder)
        let reading = try reader(of: zone.id)
        var current = try folder.currentControl(
            named: named.owners, hinted: named.admins, known: [known], identity: reading, keyring: &keyring)
        if zone.row.isMine, current.problems.contains(where: { $0.code == .damaged }) {
            // One that is damaged is as good as lost.
            try offerControls(zone, folder, checksBytes: true)
            keyring = zone.keyring
            current = try folder.currentControl(
                named: named.owners, hinted: named.admins, known: [known], identity: reading, keyring: &keyring)
        }
        try reportRefused(current.problems, in: zone.id)
        var control = current.control
        // Only that: what somebody has replaced since would be restored where it was more restrictive.
        if keepsPassedOver, current.problems.contains(where: { $0.path.hasSuffix("/\(known)") }) {
            control = control.joined(with: zone.control)
        }
        try change(&control)
        // Also where nothing changes: several controls become one, a key that others have gives way to a new one.
        guard control != current.control || needsMending(current) else {
            if let newest = current.newest, newest != known || control != zone.control {
                try keep(control, version: newest, keyring: keyring, in: zone.id)
            }
            return
        }
        try setControlPending(zone.id, true)
        let (verified, bytes) = try folder.publishControl(
            control, replacing: current, keyring: &keyring, newEpoch: newEpoch,
            consent: control.owner == current.control.owner ? nil : consent, identity: identity,
            nowMilliseconds: world.nowMilliseconds(), randomBytes: world.randomBytes)
        try keep(verified.control, version: verified.version, keyring: keyring, file: bytes, in: zone.id)
        try setControlPending(zone.id, false)
        // Before the next one replaces it; where that fails, with the next poll.
        do { try keepControlFiles(of: zone.id, folder: folder) } catch { log("a control is kept later: \(error)") }
    }

    /// Keeps a control that was read or written, and judges again what had arrived under another one.
    ///
    /// - Parameter file: the bytes of one that was written a moment ago: nobody else may have read it yet, and the container
    ///   may be put back to before that at any time. Without them nobody could read what is written with its key.
    func keep(
        _ raw: Control, version: ControlVersion, keyring: ZoneKeyring, file: [UInt8]? = nil, in zone: ZoneID
    ) throws {
        let keyringData = try keyring.column
        let control = try store.read { db in try withJoined(raw, zone: zone, db) }
        let couldAdd = may(.addRecord, in: zone)
        var demotions: [Problem] = []
        try store.write { db in
            guard var row = try db.zone(zone) else { return }
            row.control = try ControlCoder.encode(raw).column
            row.controlVersion = version.version
            row.controlHash = version.hash
            row.keyring = keyringData
            row.isHeadDirty = true
            row.isMine = control.owner == account
            try db.setZone(row)
            if let file {
                try db.keepControl(Position(sequence: version.version, hash: version.hash), bytes: file, of: zone)
            }
            let devices = try db.devices()
            let affected = try db.judgeAgain(in: zone) { control.scope($0, $1, sequence: $2, device: devices[$1]) }
            if !affected.isEmpty {
                log("\(affected.count) records are judged anew under the control \(version.version)")
            }
            let lost = try giveUpWhatCountsNoMore(in: zone, under: control, refused: affected, db)
            // What this account may do shows in the modes of its files.
            let former = zones[zone]?.control.permission(of: account)
            if former != control.permission(of: account) { try db.markAllDirty(in: zone) }
            if lost > 0 { demotions = [demotion(in: zone, under: control, lost: lost)] }
            try note(demotions, db)
        }
        try reloadZones()
        if !couldAdd, may(.addRecord, in: zone) { try lookAtAll(of: zone) }
        announce(demotions)
        try giveOwedNotices()
        // Where there is a copy of a photo, that is what its user is told.
        try makeOwedCopies()
    }

    private func demotion(in zone: ZoneID, under control: Control, lost: Int) -> Problem {
        Problem(
            code: "demoted", zone: zone,
            message:
                "In '\(control.title)', \(permissionText(under: control)) now, \(lost) changes that were not published count no more.",
            remedy:
                "Changed photos are copied to 'Private copies of \(control.title)' in your library; the rest stays in 'shoebox history'."
        )
    }

    /// An account by label, `label#fingerprint`, or fingerprint.
    func findAccount(_ text: String) throws -> AccountEntry {
        let parts = text.split(separator: "#", maxSplits: 1).map(String.init)
        let wanted = parts.first ?? text
        let fingerprint = parts.count == 2 ? parts[1] : nil
        let all = try directory.accounts().filter { $0.account != account }
        let matching = all.filter { entry in
            let isNamed =
                entry.label == wanted || entry.account.fingerprint == wanted || entry.account.description == wanted
            return isNamed && (fingerprint == nil || entry.account.fingerprint.hasPrefix(fingerprint ?? ""))
        }
        guard let found = matching.first else {
            let known = all.map(\.label).sorted().joined(separator: ", ")
            throw RequestError(
                ExitCode.notFound, "There is no account '\(text)' in this container.",
                "They must run 'shoebox init' with this container first. "
                    + (known.isEmpty ? "So far nobody else has." : "Accounts there: \(known)."))
        }
        guard matching.count == 1 else {
            let choices = matching.map { "\($0.label)#\($0.account.fingerprint)" }.joined(separator: ", ")
            throw RequestError(
                ExitCode.notFound, "\(matching.count) accounts are called '\(wanted)'.",
                "Ask for the fingerprint ('shoebox account show' prints it) and use one of: \(choices)")
        }
        try pin(found, isNamed: fingerprint != nil || wanted != found.label)
        return found
    }

    /// What somebody is given: a permission, and whether to manage people.
    private struct Grant {
        var permission: Permission
        var role: Role

        init(_ text: String) throws {
            guard text != "admin" else {
                (permission, role) = (.readWrite, .admin)
                return
            }
            guard let permission = Permission(rawValue: text), permission != .none else {
                throw RequestError(64, "'\(text)' is no permission.", "Use readOnly, contribute, readWrite or admin.")
            }
            (self.permission, role) = (permission, .participant)
        }

        var text: String { role == .admin ? "admin" : permission.rawValue }

        /// Whether a participant has this already.
        func isHeld(by participant: Participant) -> Bool {
            participant.permission == permission && participant.role == role
        }
    }

    /// The last accepted segments of an account's replicas.
    func heads(of account: AccountID, in zone: ZoneID) throws -> [ReplicaID: Position] {
        let peers = try store.read { db in try db.peers(of: zone) }
        return Dictionary(
            peers.filter { $0.account == account }.map { ($0.replica, $0.applied) },
            uniquingKeysWith: { first, _ in first })
    }

    /// Reads what is new, replicas that were never seen before included: what they wrote until now is judged by what their
    /// account may do until now.
    func fetchAnew(_ id: ZoneID) throws {
        // What is missing in the container is put into it again, but not into another one.
        try openContainer()
        replicasListed[id] = nil
        try fetch(id)
    }

    /// Throws unless this account may do something to that one: an admin manages nobody who is an admin, and makes none.
    private func require(
        _ action: SharingAction, to other: AccountID, _ grant: Grant? = nil, in zone: ZoneInfo
    ) throws {
        guard zone.row.state == .active, !zone.control.isStopped else { throw endedError(zone) }
        let isAllowed = can(action, account: account, to: other, in: zone.control)
        guard isAllowed, grant?.role != .admin || zone.row.isMine else {
            throw RequestError(
                ExitCode.notPermitted,
                "Only the owner, \(zone.control.ownerLabel), does that to an admin, or makes somebody one.",
                "Ask \(zone.control.ownerLabel).")
        }
    }

    /// Invites accounts to a share; inviting again renews the invitation.
    func invite(_ zone: ZoneInfo, _ accounts: [String], permission text: String) throws -> Reply {
        guard zone.row.state == .active, !zone.control.isStopped else { throw endedError(zone) }
        try refuseIfPublic(zone)
        let grant = try Grant(text)
        let entries = try accounts.map(findAccount)
        for entry in entries where entry.account == zone.control.owner {
            throw RequestError(
                ExitCode.failed, "\(entry.label) is the owner of '\(zone.control.title)'.", "Invite somebody else.")
        }
        for entry in entries { try require(.invite, to: entry.account, grant, in: zone) }
        let present = Set(zone.control.guests.map(\.account))
        guard present.union(entries.map(\.account)).count <= settings.participantsMax else {
            throw RequestError(
                ExitCode.failed,
                "'\(zone.control.title)' would have more than \(settings.participantsMax) participants, which is the limit.",
                "Take out who is not needed with 'shoebox share uninvite', or raise limits.participantsMax in the configuration."
            )
        }
        try fetchAnew(zone.id)
        var positions: [AccountID: [ReplicaID: Position]] = [:]
        for entry in entries { positions[entry.account] = try heads(of: entry.account, in: zone.id) }
        try changeControl(of: zone) { control in
            for entry in entries {
                let known = positions[entry.account] ?? [:]
                var participant =
                    control.participants[entry.account]
                    ?? Participant(
                        account: entry.account, label: entry.label, permission: .none, status: .removed, generation: 0)
                let takesPart = participant.takesPart && participant.generation > 0
                if takesPart, grant.isHeld(by: participant) { continue }
                participant.label = entry.label
                if takesPart {
                    participant.setPermission(grant.permission, at: known)
                } else {
                    participant.inviteAgain(grant.permission, after: known)
                }
                participant.role = grant.role
                control.participants[entry.account] = participant
            }
        }
        pushSoon()
        let link = try shareLink(zone)
        return Reply(
            lines: entries.map { "invited \($0.label) (\($0.account.fingerprint)), \(grant.text)" } + [
                "They accept with: shoebox accept '\(link)'", "or: shoebox accept --all-pending",
            ], values: ["link": link, "id": zone.id.description])
    }

    /// Changes what a participant may do.
    func setPermission(_ zone: ZoneInfo, _ name: String, _ text: String) throws -> Reply {
        let grant = try Grant(text)
        let id = try participant(name, in: zone)
        try require(.changePermission, to: id, grant, in: zone)
        try fetchAnew(zone.id)
        let present = zones[zone.id] ?? zone
        guard present.control.participants[id]?.takesPart == true else {
            throw RequestError(
                ExitCode.failed, "\(label(of: id)) takes no part in '\(present.control.title)' now.",
                "'shoebox share invite' lets them in again, and says what they may do.")
        }
        let known = try heads(of: id, in: zone.id)
        try changeControl(of: zone) { control in
            guard var participant = control.participants[id], participant.takesPart, !grant.isHeld(by: participant)
            else {
                return
            }
            participant.setPermission(grant.permission, at: known)
            participant.role = grant.role
            control.participants[id] = participant
        }
        pushSoon()
        return Reply(lines: ["\(label(of: id)) has \(grant.text) now"])
    }

    /// Removes participants: what the owner has accepted of theirs stays, nothing later counts, and they can't read
    /// what is written from now on.
    func uninvite(_ zone: ZoneInfo, _ names: [String]) throws -> Reply {
        try refuseIfPublic(zone)
        let ids = try names.map { try participant($0, in: zone) }
        for id in ids { try require(.removeParticipant, to: id, in: zone) }
        try fetchAnew(zone.id)
        var positions: [AccountID: [ReplicaID: Position]] = [:]
        for id in ids { positions[id] = try heads(of: id, in: zone.id) }
        try changeControl(of: zone, newEpoch: true) { control in
            for id in ids {
                // Who left by themselves could come back without being asked.
                guard var participant = control.participants[id], participant.takesPart || participant.hasLeft else {
                    continue
                }
                participant.remove(at: positions[id] ?? [:])
                control.participants[id] = participant
            }
        }
        pushSoon()
        return Reply(lines: ids.map { "\(label(of: $0)) was removed from '\(zone.control.title)'" })
    }

    func participant(_ name: String, in zone: ZoneInfo) throws -> AccountID {
        let wanted = name.split(separator: "#", maxSplits: 1).map(String.init)
        let found = zone.control.participants.values.filter { participant in
            (participant.label == wanted.first || participant.account.fingerprint == name)
                && (wanted.count < 2 || participant.account.fingerprint.hasPrefix(wanted[1]))
        }
        guard found.count == 1, let participant = found.first else {
            throw RequestError(
                ExitCode.notFound, "'\(name)' is not one participant of '\(zone.control.title)'.",
                "'shoebox share show' lists them with their fingerprints.")
        }
        return participant.account
    }

    /// Changes a share's title.
    func retitle(_ zone: ZoneInfo, _ title: String) throws -> Reply {
        guard !title.isEmpty, title.utf8.count <= 200 else {
            throw RequestError(64, "A title has 1 to 200 bytes.", "Choose another one.")
        }
        try changeControl(of: zone) { $0.title = title }
        pushSoon()
        return Reply(lines: ["The share is called '\(title)' now."])
    }

    /// Stops a share: the owner keeps everything, ids too; the others lose access.
    func stopShare(_ zone: ZoneInfo) throws -> Reply {
        if zone.row.state == .ended { return Reply(lines: ["'\(zone.control.title)' was stopped already."]) }
        try fetchAnew(zone.id)
        if let privateZone { try fetchAnew(privateZone) }
        _ = try scan(.library, author: "scan")
        try stop(zone)
        try finishStopped()
        pushSoon()
        return Reply(
            lines: [
                "'\(zone.control.title)' is stopped. All its photos are where they were in your library; others lose access."
            ])
    }

    private func stopsKey(_ zone: ZoneID) -> String { "stops.\(zone)" }

    /// Says in an own share that it is stopped, and here that it was this device that did that.
    func stop(_ zone: ZoneInfo) throws {
        let isFirst = try store.read { db in try db.metaText(stopsKey(zone.id)) == nil } && !zone.control.isStopped
        try store.write { db in try db.setMetaText(stopsKey(zone.id), "1") }
        do { try changeControl(of: zone) { $0.isStopped = true } } catch {
            if isFirst, zones[zone.id]?.control.isStopped != true {
                try store.write { db in try db.setMetaText(stopsKey(zone.id), nil) }
            }
            throw error
        }
    }

    /// Brings home what is in own shares that were stopped; safe to repeat after a crash at any step.
    func finishStopped() throws {
        for zone in zones.values
        where zone.row.isMine && zone.row.kind == .share && zone.row.state == .active && zone.control.isStopped {
            if let other = try store.read({ db in try unitedWith(zone.id, db) }), let one = zones[other] {
                try takeOverContent(of: zone, into: one)
            }
            // What was made by somebody else lies in the shared folder, and stays there, for its owner alone.
            guard zone.row.root == .library else { continue }
            // Whoever stops it says what was deleted there, and may have yet to hear what was taken out before.
            if let privateZone, try store.read({ db in try db.metaText(stopsKey(zone.id)) }) != nil,
                try isBehind(in: zone.id) || isBehind(in: privateZone)
            {
                continue
            }
            try bringHome(zone)
            // What was said here of photos that another device had brought home already follows them, and what was deleted here
            // is deleted there.
            let late = try store.read { db in
                let said = try [RecordType.photoTag, .rating, .comment].flatMap { try db.records(of: $0, in: zone.id) }
                let gone = try [RecordType.photo, .file, .folder].flatMap {
                    try db.records(of: $0, in: zone.id, isLive: false)
                }
                return try said
                    + gone.filter { row in
                        guard let marks = try db.state(of: row.id)?.marks else { return false }
                        return marks.contains { $0.destination == nil } && marks.contains { $0.destination != nil }
                    }
            }
            _ = try followMoves(late + stranded(in: zone))
            try passHomeDeletions(in: zone)
            try pushAll()
            guard try !showsDeleted(in: zone.id) else { continue }
            try store.write { db in
                guard var row = try db.zone(zone.id) else { return }
                row.state = .ended
                try db.setZone(row)
                try db.setMetaText(stopsKey(zone.id), nil)
            }
            for code in ["segmentDamaged", "segmentMissing"] { try clearProblems(code, in: zone.id, below: "/log/") }
            try reloadZones()
            _ = try followMoves(neverArrived(in: zone))
        }
        try removeStrayTagFiles()
    }

    /// What went from a share that has stopped to another one that has, as the library knows it: it may have been brought home
    /// from there before, by a device that did not know that it would come, and be nowhere.
    private func stranded(in zone: ZoneInfo) throws -> [RecordRow] {
        guard let privateZone else { return [] }
        return try store.read { db in
            try [RecordType.photo, .file, .folder].flatMap { try db.records(of: $0, in: zone.id, isLive: false) }
                .compactMap { row in
                    guard let next = try db.state(of: row.id)?.movedTo, let other = zones[next],
                        other.row.kind == .share, other.control.isStopped
                    else { return nil }
                    return try db.record(RecordID(zone: privateZone, name: row.id.name))
                }
        }
    }

    /// What others took to a share before they heard that it has stopped, and never comes there any more.
    private func neverArrived(in zone: ZoneInfo) throws -> [RecordRow] {
        try store.read { db in
            try zones.keys.filter { zones[$0]?.row.isMine == true }.sorted().flatMap { from in
                try [RecordType.photo, .file, .folder].flatMap { try db.records(of: $0, in: from, isLive: false) }
                    .filter { row in
                        try db.state(of: row.id)?.movedTo == zone.id
                            && db.state(of: RecordID(zone: zone.id, name: row.id.name)) == nil
                    }
            }
        }
    }

    /// Repeats at home what was deleted in a share that has stopped. A device of this account that never took part in it knows
    /// only that the photo went there, and would go on showing it. Whoever only obeys the stop may not have heard yet of what
    /// another device took out before; the one that stops the share reads everything anew first.
    private func passHomeDeletions(in zone: ZoneInfo) throws {
        guard let privateZone else { return }
        try store.write { db in
            guard try db.metaText(stopsKey(zone.id)) != nil else { return }
            var writer = try HistoryWriter(db, engine: self, author: "cli")
            for type in [RecordType.photo, .file, .folder] {
                for row in try db.records(of: type, in: zone.id, isLive: false) {
                    let home = RecordID(zone: privateZone, name: row.id.name)
                    // What another device took out, or brought home, is where that says.
                    guard let there = try db.state(of: row.id), there.isDeleted, there.openMoves.isEmpty,
                        let state = try db.state(of: home), state.movedTo == zone.id, !state.isDeleted
                    else { continue }
                    try writer.write(home, type: type, .delete, context: state.vector, isDerived: true)
                }
            }
            try writer.finish()
        }
    }

    /// Whether photos are still in the folder that somebody had deleted before the share was stopped: once it has ended,
    /// nobody would take them away any more.
    private func showsDeleted(in zone: ZoneID) throws -> Bool {
        let shown = try store.read { db in
            try db.base(in: zone).map(\.id).filter { id in
                guard let record = try db.record(id), record.type.hasContent, !record.isLive else { return false }
                return try db.state(of: id)?.movedTo == nil
            }
        }
        guard !shown.isEmpty else { return false }
        try store.write { db in for id in shown { try db.markDirty(id) } }
        return true
    }
}
