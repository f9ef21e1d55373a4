import Glibc
public import ShoeboxModel
public import ShoeboxStore

extension StatusReport {
    /// The state of an account that was set up, from its local database. The container is not touched.
    public init(_ installation: Installation) throws {
        let engine = try installation.makeEngine(try installation.openStore())
        try self.init(reading: engine, state: installation.state, assumesDaemon: true)
    }

    /// The state as an engine's database has it.
    ///
    /// - Parameter assumesDaemon: whether the lock tells of a daemon; false when this process holds it.
    init(reading engine: Engine, state directory: StateDirectory, assumesDaemon: Bool) throws {
        let holder = assumesDaemon ? LibraryLock.holder(of: directory) : nil
        // First the activity, then the database: what leaves the one is in the other by then.
        let activity = Activity.read(directory)
        let isOurs = holder != nil && activity?.process == holder
        // What another one left unfinished is unfinished still.
        let isBusy = holder != nil && !isOurs ? true : activity?.isBusy ?? true
        let stored = try engine.store.read { db in
            StoredStatus(
                pending: try PendingCounts(db, replica: engine.replica), problems: try db.problems(),
                shares: try ShareSummary.all(engine, db, includesEnded: false),
                asOf: try db.metaNumber("asOf").map { UInt64(bitPattern: $0) } ?? 0,
                away: try db.metaText("containerOffline"))
        }
        pending = stored.pending
        problems = stored.problems
        if directory.isFull {
            // Said here: what is full can't hold it.
            problems.append(
                Problem(
                    code: "stateFull", path: directory.path.text,
                    message: "The disk of the state directory is full; nothing new can be noted, sent or fetched.",
                    remedy: "Free some space there; nothing is lost, and everything goes on by itself."))
        }
        shares = stored.shares
        asOf = max(stored.asOf, activity?.containerAsOf ?? 0)
        let looked = stored.asOf > 0
        container = stored.away.map { ContainerState(rawValue: $0) ?? .unreachable } ?? (looked ? .available : .unknown)
        // Of two looks the earlier one counts: what the container has, and what the folders show.
        let folders = activity?.asOf ?? 0
        if !isOurs || !(activity?.isDaemon ?? false) { asOf = min(asOf, folders) }
        isSettling = isBusy || activity?.isSettling ?? true
        daemon = holder.flatMap { $0 > 0 && (activity?.isDaemon ?? true) ? $0 : nil }
        account = engine.settings.label
        fingerprint = engine.account.fingerprint
        recoveryFile = nil
        let waiting = try InvitationListing(reading: engine)
        (invitations, requests) = (waiting.invitations, waiting.requests)
        // A full one is there, and is read.
        let isAway = stored.away != nil && container != .full
        let isOffline =
            isAway || problems.contains { ["rootOffline", "rootForeign", "folderOffline"].contains($0.code) }
        state =
            isOffline
            ? .offline
            : problems.contains(where: { $0.code != "offline" && !$0.isInformation })
                ? .attention : pending.isNothing && !isSettling && looked && folders > 0 ? .inSync : .pending
        let recovery = directory.recoveryFile(account: engine.settings.label)
        if access(recovery.text, F_OK) == 0 { recoveryFile = recovery.text }
    }

    /// As `--json` prints it.
    public var json: JSONObject {
        [
            "state": .string(state.rawValue), "container": .string(container.rawValue),
            "asOf": StatusText.json(time: asOf),
            "pendingPush": .integer(Int64(pending.push)), "pendingFetch": .integer(Int64(pending.fetch)),
            "pendingApply": .integer(Int64(pending.apply)), "pendingRequests": .integer(Int64(pending.requests)),
            "isSettling": .bool(isSettling),
            "problems": .array(problems.map { .object($0.json) }), "shares": .array(shares.map { .object($0.json) }),
            "invitations": .array(invitations.map { .object($0.json) }),
            "requests": .array(requests.map { .object($0.json) }),
            "account": .string(account), "fingerprint": .string(fingerprint),
            "daemon": daemon.map { .integer(Int64($0)) } ?? .null,
            "recoveryFile": recoveryFile.map(JSONValue.string) ?? .null,
        ]
    }

    /// As a person reads it.
    public var lines: [String] {
        var result = [headline]
        var counts: [String] = []
        if pending.push > 0 { counts.append("\(pending.push) to send") }
        if pending.fetch > 0 { counts.append("\(pending.fetch) to fetch") }
        if pending.apply > 0 { counts.append("\(pending.apply) to write into the folders") }
        if pending.requests > 0 { counts.append("\(pending.requests) commands to do") }
        if isSettling { counts.append(asOf == 0 ? "a first look at the folders" : "files being looked at") }
        if !counts.isEmpty { result.append("pending: " + counts.joined(separator: ", ")) }
        result.append(daemon.map { "daemon: process \($0)" } ?? "no daemon is running: 'shoebox run' starts it")
        for share in shares {
            var line =
                "share '\(share.title)' from \(share.owner): \(share.photos) photos, \(share.permission.rawValue)"
            if share.state != .active { line += ", \(share.state.rawValue)" }
            if !share.pending.isNothing {
                line += ", \(share.pending.push) to send, \(share.pending.fetch + share.pending.apply) to come"
            }
            result.append(line + ", as of \(StatusText.local(share.asOf))")
            if let text = share.offerText { result.append("  \(text)") }
        }
        for problem in problems {
            result.append(
                (problem.isInformation ? "note: " : "problem: ") + (problem.path.map { "\($0): " } ?? "")
                    + problem.message)
            result.append("  hint: \(problem.remedy)")
        }
        for entry in invitations {
            result.append(
                (entry.isAnnouncement ? "public: " : "invitation: ")
                    + "'\(entry.title)' from \(entry.label) (\(entry.fingerprint)): shoebox accept \(entry.zone.prefix(12))"
            )
        }
        for entry in requests {
            result.append(
                "\(entry.label) (\(entry.fingerprint)) asks to be admitted to '\(entry.title)': shoebox share requests")
        }
        if recoveryFile != nil {
            result.append(
                "reminder: without its devices nobody can restore the account yet: 'shoebox account export --recovery FILE'"
            )
        }
        return result
    }

    private var headline: String {
        let time = StatusText.local(asOf)
        return switch state {
        case .inSync where daemon == nil: "\(account): was in sync as of \(time); no daemon is running"
        case .inSync: "\(account): in sync as of \(time)"
        case .pending: "\(account): not in sync yet, as of \(time)"
        case .offline: "\(account): offline, as of \(time)"
        case .attention: "\(account): needs attention, as of \(time)"
        }
    }
}

/// What the local database says, read in one transaction.
private struct StoredStatus {
    var pending: PendingCounts
    var problems: [Problem]
    var shares: [ShareSummary]
    var asOf: UInt64
    var away: String?
}

extension Problem {
    /// As `--json` prints it.
    public var json: JSONObject {
        [
            "code": .string(code), "path": path.map(JSONValue.string) ?? .null,
            "zone": zone.map { .string($0.description) } ?? .null, "message": .string(message),
            "remedy": .string(remedy), "isInformation": .bool(isInformation),
        ]
    }
}
