import Foundation
import ShoeboxCloud
import ShoeboxModel
import ShoeboxPlanning
import ShoeboxStore
import ShoeboxWorld

// Reading controls: what is new in who may do what, and what follows from it for this account.

extension Engine {
    /// How long a control is looked for that an admin's head names.
    private var hintsAwaitedMilliseconds: UInt64 { 600_000 }

    /// The controls that heads of the owner name, and those that admins' heads do. What a retired device names is no more
    /// than a hint, whoever its owner is: it may say that there is what there never was.
    func namedControls(_ id: ZoneID) throws -> (owners: [ControlVersion], admins: [ControlVersion]) {
        guard let control = zones[id]?.control else { return ([], []) }
        let heads = (knownHeads[id] ?? [:]).values
        let owners = heads.filter { $0.account == control.owner }
        let isRetired = { (head: HeadRecord) in
            self.directory.cached(head.account)?.devices[head.device]?.isRetired == true
        }
        return (
            owners.filter { !isRetired($0) }.compactMap(\.control),
            owners.filter(isRetired).compactMap(\.control)
                + heads.filter { control.isAdmin($0.account) }.compactMap(\.control)
        )
    }

    /// Says in the local database that a control is about to be published, so that it is looked for if this process dies
    /// before it is stored.
    private func pendingControlKey(_ zone: ZoneID) -> String { "controlPending.\(zone)" }

    func setControlPending(_ zone: ZoneID, _ isPending: Bool) throws {
        try store.write { db in try db.setMetaText(pendingControlKey(zone), isPending ? "1" : nil) }
    }

    /// Takes up controls that were not known; notices a removal or the end of a share.
    func readNewerControl(_ id: ZoneID, folder: ZoneFolder) throws {
        guard let zone = zones[id] else { return }
        standingRead[id] = world.uptimeMilliseconds()
        let known = ControlVersion(version: zone.row.controlVersion, hash: zone.row.controlHash)
        if judgedControls[id] == nil {
            try noteOwnNamedControl(zone, folder: folder)
            judgedControls[id] = []
        }
        var named = try namedControls(id)
        if let own = ownNamedControls[id] { named.admins.append(own) }
        let unseen = Set(named.owners + named.admins).subtracting(judgedControls[id] ?? []).subtracting([known])
        let isPending = try store.read { db in try db.metaText(pendingControlKey(id)) } != nil
        guard !unseen.isEmpty || isPending else { return }
        var keyring = zone.keyring
        do {
            let current = try folder.currentControl(
                named: named.owners.filter { unseen.contains($0) || $0 == known }, hinted: named.admins, known: [known],
                identity: try reader(of: id), keyring: &keyring)
            // That another device has given it away, or that it is closed to this one, is to be judged by what the account says
            // of its devices and keys now.
            let isClosed = current.problems.contains { $0.code == .notInvited }
            if zone.row.isMine, current.control.owner != account || isClosed {
                guard try takesUpAccount() else { return }
            }
            judgedControls[id, default: []].formUnion(unseen.subtracting(awaited(of: unseen, current.problems)))
            if let newest = current.newest,
                newest != known || current.control != zone.control || keyring != zone.keyring
            {
                try keep(current.control, version: newest, keyring: keyring, in: id)
            }
            let isAwaited = ownNamedControls[id].map { own in
                current.problems.contains { $0.code == .notYet && $0.path.hasSuffix("/\(own)") }
            }
            noteMending(id, current)
            // Also if this process ends before it has taken the zone up.
            let isToRemember = untakenUp.contains(id)
            if isAwaited != true {
                ownNamedControls[id] = nil
                if isPending != isToRemember { try setControlPending(id, isToRemember) }
            }
            try noteReadable(id)
            try clearProblem("controlRefused", zone: id)
            try reportRefused(current.problems, in: id)
        } catch let error as CloudError {
            try noteControlError(error, zone, folder: folder, named: named.owners + named.admins)
            return
        }
        try clearProblem("controlDamaged", zone: id)
    }

    /// Of these versions those that are not seen yet: a mount may show a new file late. They are looked for again, not for ever.
    private func awaited(of versions: Set<ControlVersion>, _ problems: [CloudError]) -> Set<ControlVersion> {
        let names = Set(problems.filter { $0.code == .notYet }.compactMap { $0.path.split(separator: "/").last })
        let now = world.uptimeMilliseconds()
        let result = versions.filter { version in
            guard names.contains(Substring(version.description)) else { return false }
            let since = hintsAwaited[version] ?? now
            hintsAwaited[version] = since
            return now < since + hintsAwaitedMilliseconds
        }
        // Also those that heads name no more.
        hintsAwaited = hintsAwaited.filter { now < $0.value + hintsAwaitedMilliseconds }
        return result
    }

    /// Reads controls of a zone that this state does not know, before anything is published there: if this replica died between
    /// storing one and naming it in its head, and its state was then put back, nothing else leads to it, and who was removed
    /// by it would be told more.
    func lookForUnnamedControls(_ zone: ZoneInfo) throws {
        guard zone.row.kind == .share, mayWriteControl(zone) else { return }
        let folder = zoneFolder(zone.id)
        let known = try store.read { db in try db.keptControls(of: zone.id) }.map { kept in
            ControlVersion(version: kept.version.sequence, hash: kept.version.hash).description
        }
        guard try !folder.controlNames().subtracting(known).isEmpty else { return }
        try setControlPending(zone.id, true)
        try readNewerControl(zone.id, folder: folder)
    }

    /// Notes which control the own head names, if it says more than this state knows that it said: a state that was put back
    /// to a backup may not know that control, the next record of the head names an older one, and then nobody would look
    /// for it.
    func noteOwnNamedControl(_ zone: ZoneInfo, _ newest: HeadRecord?) throws {
        let known = ControlVersion(version: zone.row.controlVersion, hash: zone.row.controlHash)
        guard let named = newest?.control, named != known, named.version >= known.version, mayWriteControl(zone) else {
            return
        }
        try setControlPending(zone.id, true)
        ownNamedControls[zone.id] = named
    }

    private func noteOwnNamedControl(_ zone: ZoneInfo, folder: ZoneFolder) throws {
        guard let cursor = zone.row.headCursor.flatMap({ HeadCursor(String(decoding: $0, as: UTF8.self)) }) else {
            return
        }
        try noteOwnNamedControl(zone, folder.readHead(replica, from: cursor).newest)
    }

    private func noteControlError(
        _ error: CloudError, _ zone: ZoneInfo, folder: ZoneFolder, named: [ControlVersion]
    ) throws {
        if error.code == .notInvited {
            let known = ControlVersion(version: zone.row.controlVersion, hash: zone.row.controlHash)
            // A zone that was handed over while nobody looked is an own one no more.
            guard try !zone.row.isMine || folder.presentOwner(after: known) != account else { throw error }
            // First what tells of devices that were retired: they hand nothing over.
            guard try takesUpAccount() else { throw Self.noKey(of: zone) }
            if zone.row.isMine { try keepHandover(of: zone, after: known, folder: folder) }
            guard try hasLeft(zone) || !awaitsKeys(of: zone) else { throw Self.noKey(of: zone) }
            let signature = try folder.newestSignature(
                of: named, after: known, admins: Set(zone.control.participants.keys.filter(zone.control.isAdmin)))
            return try end(zone.id, signature)
        }
        if error.isTransient, error.code != .offline { return }
        guard error.concernsOneZone else { throw error }
        // The container was put back to before a control that this replica, maybe no other, has: it reads it with the next poll.
        if error.code == .rolledBack, try offerControls(zone, folder) > 0 {
            try setControlPending(zone.id, true)
            return log("a control of '\(zone.control.title)' was gone from the container; it is offered again")
        }
        // What is there already goes on under the control that is known; the owner's next one heals it.
        try report("controlDamaged", path: error.path, zone: zone.id, error.message, error.remedy)
    }

    private static func noKey(of zone: ZoneInfo) -> CloudError {
        CloudError(
            code: .notInvited, message: "this device has no key for it",
            remedy:
                "Another device of your account may have made new keys: they are taken up as soon as they are seen here. If you were taken out of the share, that is said within minutes.",
            path: "zones/\(zone.id)")
    }

    /// Takes up that another device of the account has handed a zone over, where what came after that can't be read. That holds
    /// then whatever becomes of the other device.
    private func keepHandover(of zone: ZoneInfo, after known: ControlVersion, folder: ZoneFolder) throws {
        guard let version = try folder.handover(by: account, after: known) else { return }
        var keyring = zone.keyring
        let handover: VerifiedControl
        do {
            handover = try folder.readControl(
                version, owner: account, identity: try reader(of: zone.id), keyring: &keyring)
        } catch let error as CloudError where error.concernsOneZone {
            return log("the hand-over of '\(zone.control.title)' can't be read: \(error)")
        }
        try keep(handover.control, version: version, keyring: keyring, in: zone.id)
        try setControlPending(zone.id, true)
    }

    /// Names controls that count for nothing.
    func reportRefused(_ problems: [CloudError], in id: ZoneID) throws {
        let title = zones[id]?.control.title ?? ""
        for problem in problems where problem.code != .notYet {
            guard [.notPermitted, .damaged, .notInvited].contains(problem.code) else {
                log("a control of '\(title)' counts for nothing: \(problem)")
                continue
            }
            try report(
                "controlRefused", path: problem.path, zone: id,
                "A control of '\(title)' counts for nothing: \(problem.message)",
                "Nothing was changed by it. "
                    + (zones[id]?.row.isMine == true
                        ? "Ask who has write access to the cloud folder."
                        : "Ask the owner, or who has write access to the cloud folder."))
        }
    }

    /// Names controls that participants' heads name and that count for nothing: such a head gives its author away.
    func judgeControlsOfOthers(_ id: ZoneID, folder: ZoneFolder, heads: [ReplicaID: HeadRecord]) throws {
        guard let zone = zones[id] else { return }
        for head in heads.values.sorted(by: { $0.replica < $1.replica })
        where head.account != zone.control.owner && zone.control.knows(head.account) {
            guard let named = head.control, named.hash != zone.row.controlHash,
                judgedHeads[head.replica] != head.serial, judgedControls[id]?.contains(named) != true
            else { continue }
            let isHandover =
                try zone.control.wasOwner(head.account) && judgeHandover(named, by: head, zone, folder: folder)
            guard !isHandover, named.version >= zone.row.controlVersion else { continue }
            judgedHeads[head.replica] = head.serial
            var keyring = zone.keyring
            let reading = try reader(of: id)
            do {
                _ = try folder.readControl(
                    named, owner: zone.control.owner,
                    admins: Set(zone.control.participants.keys.filter(zone.control.isAdmin)),
                    identity: reading, keyring: &keyring)
            } catch {
                if error.code == .offline { throw error }
                guard error.code == .notPermitted || error.code == .damaged else { continue }
                try report(
                    "controlRefused", path: error.path, zone: id,
                    "\(label(of: head.account)) names a control of '\(zone.control.title)' that counts for nothing: \(error.message)",
                    "Nothing was changed by it. Ask \(label(of: head.account)), or who has write access to the cloud folder."
                )
            }
        }
    }

    /// Names a former owner who has handed the zone to somebody else as well. False for what is no hand-over.
    private func judgeHandover(
        _ named: ControlVersion, by head: HeadRecord, _ zone: ZoneInfo, folder: ZoneFolder
    ) throws -> Bool {
        guard let receiver = try folder.receiver(by: named) else {
            if named.version < zone.row.controlVersion { judgedHeads[head.replica] = head.serial }
            return false
        }
        judgedHeads[head.replica] = head.serial
        guard receiver != zone.control.owner, !zone.control.wasOwner(receiver) else { return true }
        let owner = zone.control.ownerLabel
        try report(
            "controlRefused", path: "zones/\(zone.id)/control/\(named)", zone: zone.id,
            "\(label(of: head.account)) has handed '\(zone.control.title)' to somebody else as well; it belongs to \(owner), and that counts for nothing.",
            "Nothing was changed by it. Ask \(label(of: head.account)), or who has write access to the cloud folder.")
        return true
    }

    // MARK: The end of a share for this account

    /// A share is over for this account: unpublished edits go to the own library, or everything by the share's policy,
    /// then the files to the trash.
    private func end(_ id: ZoneID, _ signature: ControlSignature?) throws {
        guard let zone = zones[id], zone.row.state == .active || zone.row.state == .leaveOffered else { return }
        let isStopped = signature?.isStopped ?? zone.control.isStopped
        let who = signature.map { label(of: $0.signer) } ?? zone.control.ownerLabel
        let when = signature.map { " at \(Self.minuteText($0.wallMilliseconds))" } ?? ""
        // The owner's answer to a leave that this account took back just before.
        let isCrossed = try !isStopped && mayBeClosedByLeave(zone)
        let what =
            isStopped
            ? "was stopped by \(who)\(when)"
            : isCrossed
                ? "is closed to you: \(who) removed you\(when), or had not heard yet that you came back after you left"
                : hasLeft(zone) ? "was left by you on another device" : "is closed to you: \(who) removed you\(when)"
        // What lies in the own library stays there.
        let keeps = zone.control.endPolicy == .keep || zone.row.root == .library
        // Said first, so that it is said even if the process dies while the files are put away.
        try report(
            "ended", zone: id,
            "The share '\(zone.control.title)' \(what). Its files go to the trash of the \(zone.row.root == .shared ? "shared folder" : "library"); what was never in it stays where it is.",
            (keeps
                ? "Copies of all its files go to 'Kept from \(zone.control.title)' in your library."
                : "What you had not yet published goes to 'Kept from \(zone.control.title)' in your library.")
                + (isCrossed ? " \(who) is asked to let you in again." : " Ask \(who) if you need access.")
                + " 'shoebox share leave \(id.description.prefix(12))' takes this message away."
        )
        // First, so that it is asked even if the process dies in between.
        if isCrossed { try noteReturn(to: zone) }
        do {
            try withdraw(zone, state: isCrossed ? .left : .ended, keepCopy: keeps, isFollowing: isCrossed)
            if zones[id]?.row.state != zone.row.state { try noteReadable(id) }
        } catch is RequestError { return } catch let error as FileError {
            // Nothing else waits for it, and the container is not what fails.
            try report(
                error.code == .full ? "diskFull" : "notApplied", path: "Kept from \(zone.control.title)", zone: id,
                "What is to be kept of '\(zone.control.title)' cannot be copied into your library: \(error)",
                "It stays in the \(zone.row.root == .shared ? "shared folder" : "library") until then, and is tried again by itself. Check the disk and the permissions, or free some space."
            )
        }
    }

    /// Whether another device of this account has said that the account leaves.
    private func hasLeft(_ zone: ZoneInfo) -> Bool {
        guard let generation = zone.control.participants[account]?.generation else { return false }
        return (knownHeads[zone.id] ?? [:]).values.contains { $0.account == account && $0.content.left == generation }
    }

    /// A time to the minute, in UTC.
    private static func minuteText(_ milliseconds: UInt64) -> String {
        let seconds = min(milliseconds / 1_000, 253_402_300_799)
        let text = Date(timeIntervalSince1970: TimeInterval(seconds)).ISO8601Format()
        return text.prefix(16).replacing("T", with: " ") + " UTC"
    }

    /// What the control that is known asks of this account: asked again in each round, so that nothing is left undone when
    /// the process died, or the shared folder was away, just after the control was read.
    func obeyControl(_ id: ZoneID) throws {
        guard let zone = zones[id], !zone.row.isMine, [.active, .leaveOffered].contains(zone.row.state) else { return }
        if zone.control.isStopped || zone.control.permission(of: account) == .none {
            try end(id, nil)
        } else {
            try clearProblem("ended", zone: id)
        }
    }

    // MARK: Answering

    private func mayWriteControl(_ zone: ZoneInfo) -> Bool {
        zone.row.state == .active && (zone.row.isMine || can(.invite, account: account, in: zone.control))
    }

    /// Whether controls were written apart, or somebody who may not read has the newest key, or this account owns the zone
    /// and has not signed since that it took it over.
    func needsMending(_ current: CurrentControl) -> Bool {
        current.tips.count > 1 || !current.isEpochClean || isToTakeUp(current)
    }

    private func isToTakeUp(_ current: CurrentControl) -> Bool {
        current.control.owner == account && !current.isTakenUp
    }

    /// Notes that a control is to be written although nothing changes by it.
    private func noteMending(_ id: ZoneID, _ current: CurrentControl) {
        untakenUp.remove(id)
        guard let zone = zones[id], mayWriteControl(zone), needsMending(current) else {
            unmended[id] = nil
            return
        }
        if isToTakeUp(current) { untakenUp.insert(id) }
        unmended[id] = unmended[id] ?? world.uptimeMilliseconds()
    }

    /// Writes the one control that several mean, and a key that nobody else has. The replica with the smallest id does it at
    /// once, so that two don't go on doing it against each other; the others, if it is not done after a minute. Only the
    /// owner's take a zone up.
    private func mendControl(_ id: ZoneID) throws {
        guard let since = unmended[id], let zone = zones[id], mayWriteControl(zone) else { return }
        let heads = (knownHeads[id] ?? [:]).values.filter { head in
            head.account == zone.control.owner || !untakenUp.contains(id) && zone.control.isAdmin(head.account)
        }
        let first = heads.map(\.replica).min()
        guard first.map({ replica <= $0 }) ?? true || world.uptimeMilliseconds() >= since + 60_000 else { return }
        try changeControl(of: zone) { _ in }
        unmended[id] = nil
        let isTakingUp = untakenUp.remove(id) != nil
        log(
            isTakingUp
                ? "took '\(zone.control.title)' over"
                : "wrote one control for '\(zone.control.title)' in place of several")
    }

    /// Whether this replica answers what was asked first at a time: a device of the owner at once, one of an admin if nobody
    /// has done it after a minute, so that they don't all write the same.
    func isItsTurn(_ question: String) -> Bool {
        let zone = question.split(separator: " ").first.flatMap { ZoneID(hex: $0) }.flatMap { zones[$0] }
        if zone?.row.isMine == true { return true }
        let now = world.uptimeMilliseconds()
        let since = unanswered[question] ?? now
        unanswered[question] = since
        return now >= since + 60_000
    }

    /// What participants ask of the owner's and the admins' devices by their heads: whose replica wrote one has accepted; who left is
    /// taken out, with a new key for those who remain; who left and accepts again comes back.
    func answerParticipants(_ id: ZoneID) throws {
        do {
            try mendControl(id)
            guard let zone = zones[id], zone.row.kind == .share, mayWriteControl(zone), !zone.control.isStopped else {
                return
            }
            try answerLeaves(zone)
            try answerJoinRequests(id)
        } catch let error as CloudError {
            guard error.isTransient, error.code != .offline else { throw error }
            log("not answered yet: \(error)")
        }
    }

    /// Whether a head shows that its account has taken up its invitation. Of one that was removed before, the heads of that
    /// time are still there: only one that goes by the present control does.
    private func hasAccepted(_ head: HeadRecord, _ participant: Participant, _ zone: ZoneInfo) -> Bool {
        guard head.content.left == 0 else { return false }
        return participant.generation <= 1 || (head.control?.version ?? 0) >= zone.row.controlVersion
    }

    private func answerLeaves(_ zone: ZoneInfo) throws {
        let heads = (knownHeads[zone.id] ?? [:]).values
        var leaving: Set<AccountID> = []
        var returning: Set<AccountID> = []
        var accepted: Set<AccountID> = []
        for participant in zone.control.participants.values
        where can(.removeParticipant, account: account, to: participant.account, in: zone.control) {
            let theirs = heads.filter { $0.account == participant.account }
            let left = theirs.filter { $0.content.left == participant.generation }.map(\.content.wallMilliseconds).max()
            let back = theirs.filter { $0.content.returning == participant.generation }.map(\.content.wallMilliseconds)
                .max()
            if participant.takesPart {
                if let left, back.map({ $0 < left }) ?? true {
                    leaving.insert(participant.account)
                } else if participant.status == .pending, theirs.contains(where: { hasAccepted($0, participant, zone) })
                {
                    accepted.insert(participant.account)
                }
            } else if participant.hasLeft, back != nil {
                returning.insert(participant.account)
            }
        }
        guard !leaving.union(returning).union(accepted).isEmpty else {
            unanswered = unanswered.filter { !$0.key.hasPrefix("\(zone.id) standing") }
            return
        }
        guard isItsTurn("\(zone.id) standing") else { return }
        if !leaving.isEmpty { try fetchChains(of: zone.id) }
        var positions: [AccountID: [ReplicaID: Position]] = [:]
        for account in leaving.union(returning) { positions[account] = try self.heads(of: account, in: zone.id) }
        try changeControl(of: zone, newEpoch: !leaving.isEmpty) { control in
            for account in leaving {
                control.participants[account]?.remove(at: positions[account] ?? [:], byOwnWish: true)
            }
            for account in returning {
                guard let permission = control.participants[account]?.permission else { continue }
                control.participants[account]?.inviteAgain(permission, after: positions[account] ?? [:])
                control.participants[account]?.status = .accepted
            }
            for account in accepted where control.participants[account]?.status == .pending {
                control.participants[account]?.status = .accepted
            }
        }
        for (accounts, what) in [(leaving, "left"), (returning, "came back to"), (accepted, "accepted")] {
            for account in accounts { log("\(label(of: account)) \(what) '\(zone.control.title)'") }
        }
    }
}
