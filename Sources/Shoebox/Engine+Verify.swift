import Foundation
import GRDB
import ShoeboxCloud
import ShoeboxLibrary
import ShoeboxModel
import ShoeboxPlanning
import ShoeboxStore
import ShoeboxWorld

extension Engine {
    /// Reads everything and checks every hash, signature, chain and reference: the zones' folders in the container, the
    /// files of the watched folders against what is known of them, and the local database. Changes nothing.
    ///
    /// - Parameter progress: called with what comes next.
    public func verify(progress: (String) -> Void = { _ in }) throws -> VerifyReport {
        var verifier = Verifier(engine: self)
        progress("the local database")
        try verifier.checkDatabase()
        if try verifier.checkContainer() {
            var seen: Set<String> = []
            for zone in zones.values.sorted(by: ZoneInfo.comesBefore)
            where [.active, .leaveOffered].contains(zone.row.state) {
                let title = zone.control.title
                progress(title.isEmpty ? "the private zone" : "the share '\(title)'")
                try verifier.check(zone, seen: &seen)
            }
            progress("earlier contents, and those of deleted photos")
            try verifier.checkVersions(seen: &seen)
            try verifier.checkInbox()
        }
        for root in RootKind.allCases {
            progress("the \(display(.root, root)) folder")
            try verifier.check(root)
        }
        return verifier.report
    }
}

extension Engine {
    /// An error as one of the container; any other is thrown. In a function of its own: a compiler of today fails on
    /// filters in a `catch`.
    static func cloudError(_ error: any Error) throws -> CloudError {
        if let error = error as? CloudError { return error }
        if let error = error as? FileError { return CloudError(error) }
        throw error
    }

    /// As `cloudError`, for what may be wrong with a file; that the mount is away, or fails, is thrown.
    static func faultOnly(_ error: any Error) throws -> CloudError {
        let found = try cloudError(error)
        if found.code == .offline || found.code == .mount { throw found }
        return found
    }
}

/// One verification. What a mount that goes away in the middle leaves unchecked is said by `isOffline`.
struct Verifier {
    let engine: Engine
    var report = VerifyReport()
    /// Contents of which the container has a sound file, wherever.
    var soundContents: Set<Digest32> = []
    let trash: TrashContents
    private var checkedAccounts: Set<AccountID> = []

    init(engine: Engine) {
        self.engine = engine
        trash = TrashContents(engine)
    }

    mutating func note(
        _ code: String, _ path: String, zone: ZoneID? = nil, _ message: String, _ remedy: String,
        mendable: Bool = false,
        location: String? = nil, reference: PathReference? = nil
    ) {
        report.faults.append(
            VerifyReport.Fault(
                code: code, path: path, zone: zone, message: message,
                remedy: mendable ? "Run 'shoebox verify --repair': this device has what is missing." : remedy,
                isMendable: mendable, location: location, reference: reference))
    }

    private mutating func note(_ code: String, _ error: CloudError, _ path: String, zone: ZoneID?, mendable: Bool) {
        note(
            code, error.path.isEmpty ? path : error.path, zone: zone, error.message,
            error.code == .damaged && zone != nil
                ? "This device can't mend it: run 'shoebox verify --repair' on a device of who wrote it. Everything else goes on."
                : error.remedy, mendable: mendable)
    }

    /// Whether an error ends all looking at the container.
    mutating func isOver(_ error: CloudError) -> Bool {
        guard error.code == .offline || error.code == .mount else { return false }
        report.isOffline = true
        return true
    }

    mutating func checkDatabase() throws {
        let results = try engine.store.read { db in try String.fetchAll(db, sql: "PRAGMA quick_check(10)") }
        for line in results where line != "ok" {
            note(
                "database", "shoebox.sqlite", line,
                "Move the state directory's database away and run 'shoebox init' again with the same values; everything comes back from the folders and the container."
            )
        }
    }

    mutating func checkContainer() throws -> Bool {
        do {
            try engine.openContainer()
            return true
        } catch {
            let error = try Engine.cloudError(error)
            report.isOffline = error.code == .offline || error.code == .mount || error.code == .notAContainer
            note("container", error, "container.json", zone: nil, mendable: false)
            if error.code == .notAContainer || error.cause?.code == .offline {
                report.faults[report.faults.count - 1].remedy =
                    "Mount the right folder; work goes on by itself then. If the container is lost for good, 'shoebox verify --repair --new-container' makes it anew, in an empty folder, from what the devices hold."
            }
            return false
        }
    }

    /// The letters to this account, of which the container keeps all: what is in one counts only if it was read before.
    mutating func checkInbox() throws {
        guard !report.isOffline else { return }
        let inbox = Inbox(of: engine.account, mount: engine.world.mount, accounts: engine.directory)
        let remedy =
            "Nothing of it counts. If you wait for an invitation, or for an answer, ask for it again; the file can be removed."
        // What was read before is what it was, whatever became of the device that wrote it.
        let understood = try engine.store.read { db in try db.understoodLetters() }
        var damaged = 0
        do {
            for (hash, name) in try inbox.list().sorted(by: { $0.value < $1.value }) {
                do { _ = try inbox.read(hash, name: name, identity: engine.identity) } catch {
                    let error = try Engine.faultOnly(error)
                    // A sender whose statements are not there yet is nobody's fault.
                    guard error.code != .notYet, try !understood.contains(hash) || !inbox.isWhole(hash, name: name)
                    else {
                        continue
                    }
                    damaged += 1
                    // Anybody with the cloud folder can fill it with what is none.
                    if damaged <= 5 { note("letter", error.path, error.message, remedy) }
                }
            }
            if damaged > 5 {
                note(
                    "letter", "accounts/\(engine.account)/inbox", "\(damaged - 5) more files are no letters to you.",
                    remedy)
            }
        } catch {
            let error = try Engine.cloudError(error)
            if !isOver(error) { note("letter", error, "accounts/\(engine.account)/inbox", zone: nil, mendable: false) }
        }
    }

    // MARK: A zone

    mutating func check(_ zone: ZoneInfo, seen: inout Set<String>) throws {
        guard !report.isOffline else { return }
        report.counts.zones += 1
        let folder = engine.zoneFolder(zone.id)
        do {
            try checkAccounts(zone)
            try checkControls(zone, folder)
            try checkChains(zone, folder)
            try checkAssets(zone, seen: &seen)
        } catch {
            let error = try Engine.cloudError(error)
            if !isOver(error) { note("zone", error, "zones/\(zone.id)", zone: zone.id, mendable: false) }
        }
    }

    private mutating func checkControls(_ zone: ZoneInfo, _ folder: ZoneFolder) throws {
        let names = try folder.controlNames()
        var kept: Set<String> = []
        func isKept(_ error: CloudError) -> Bool {
            zone.row.isMine && error.code == .damaged && kept.contains(error.path)
        }
        for control in try engine.store.read({ db in try db.keptControls(of: zone.id) }) {
            let version = ControlVersion(version: control.version.sequence, hash: control.version.hash)
            let path = "zones/\(zone.id)/control/\(version)"
            kept.insert(path)
            guard !names.contains(version.description) else { continue }
            note(
                "control", path, zone: zone.id,
                "A control that was seen before is gone.", "", mendable: true)
        }
        var keyring = zone.keyring
        do {
            let current = try folder.currentControl(identity: engine.identity, keyring: &keyring)
            for problem in current.problems where problem.code != .notYet {
                // The zone's own control was found beside it: it may be anybody's, and then nobody can mend it.
                note(
                    "control", problem.path.isEmpty ? "zones/\(zone.id)/control" : problem.path, zone: zone.id,
                    problem.message,
                    "Nothing of it counts. If it was the owner's, their 'shoebox verify --repair' writes it again; if not, who has write access to the cloud folder put it there, and it can be removed.",
                    mendable: isKept(problem))
            }
        } catch {
            let error = try Engine.faultOnly(error)
            let isKnown = report.faults.contains { $0.code == "control" && $0.zone == zone.id && $0.isMendable }
            // Without the own account's statements nothing that it signed can be read.
            let isUnsigned = error.code == .notYet && report.faults.contains { $0.code == "account" && $0.isMendable }
            if !isKnown {
                note("control", error, "zones/\(zone.id)/control", zone: zone.id, mendable: isUnsigned || isKept(error))
            }
        }
    }

    private mutating func checkAccounts(_ zone: ZoneInfo) throws {
        for account in Set([zone.control.owner] + zone.control.participants.keys)
        where checkedAccounts.insert(account).inserted {
            guard try engine.directory.refresh(account) == nil else { continue }
            note(
                "account", "accounts/\(account)", zone: account == engine.account ? zone.id : nil,
                "The statements of \(engine.label(of: account)) are gone, or damaged.",
                "They come back when a device of \(engine.label(of: account)) runs.",
                mendable: account == engine.account)
        }
    }

    private mutating func checkChains(_ zone: ZoneInfo, _ folder: ZoneFolder) throws {
        let known = try engine.store.read { db in try db.peers(of: zone.id) }
        var heads: [ReplicaID: HeadRecord] = [:]
        for (replica, cursor) in try folder.replicas() {
            let reading = try folder.readHead(replica, from: cursor)
            report.counts.heads += 1
            heads[replica] = reading.newest
            for problem in reading.problems where problem.code != .notYet && reading.newest == nil {
                note(
                    "head", problem, "zones/\(zone.id)/heads/\(replica)", zone: zone.id,
                    mendable: replica == engine.replica)
            }
        }
        let own = engine.replica
        let behind = heads[own]?.last.sequence ?? 0
        if zone.row.headCursor != nil, behind < zone.row.last.sequence || heads[own] == nil {
            let isPushing = try engine.store.read { db in try db.outbox(of: zone.id) }.isEmpty == false
            if !isPushing || heads[own] == nil {
                note(
                    "headBehind", "zones/\(zone.id)/heads/\(own)", zone: zone.id,
                    heads[own] == nil
                        ? "The own head is not there, or cannot be read."
                        : "The own head is at \(behind), not at \(zone.row.last.sequence): the mount was put back.", "",
                    mendable: true)
            }
        }
        for peer in known where peer.replica != own && peer.applied.sequence > heads[peer.replica]?.last.sequence ?? 0 {
            guard try engine.carried(of: peer.replica, in: zone.id) < peer.applied.sequence else { continue }
            note(
                "headBehind", "zones/\(zone.id)/heads/\(peer.replica)", zone: zone.id,
                "The head of \(peer.account.map(engine.label(of:)) ?? "a replica") is at \(heads[peer.replica]?.last.sequence ?? 0), and was at \(peer.applied.sequence) before.",
                "It comes back when that device runs.", mendable: zone.row.isMine)
        }
        for (replica, head) in heads.sorted(by: { $0.key < $1.key }) where zone.control.knows(head.account) {
            try checkChain(replica, head, zone, folder)
        }
    }

    private mutating func checkChain(
        _ replica: ReplicaID, _ head: HeadRecord, _ zone: ZoneInfo, _ folder: ZoneFolder
    ) throws {
        var position = Position.start
        while true {
            let page = try folder.readSegments(
                of: replica, after: position, upTo: head, isSealed: zone.control.isSealed, keyring: zone.keyring)
            report.counts.segments += page.segments.count
            report.counts.changes += page.segments.reduce(0) {
                $0 + $1.transactions.reduce(0) { $0 + $1.changes.count }
            }
            position = page.segments.last?.position ?? position
            switch page.end {
            case .complete, .expired: return
            case .more: continue
            case .notYet(let error), .missingKey(let error), .damaged(let error), .fork(let error),
                .rolledBack(let error):
                let applied = try engine.store.read { db in try db.peers(of: zone.id) }
                    .first { $0.replica == replica }?.applied.sequence
                let isKnown = position.sequence < applied ?? 0
                // What was lost of another replica's chain is in the owner's own by now.
                if try engine.carried(of: replica, in: zone.id) > position.sequence { return }
                note(
                    "segment", error, "zones/\(zone.id)/log/\(replica)", zone: zone.id,
                    mendable: replica == engine.replica || (isKnown && zone.row.isMine && page.end.isLoss))
                return
            }
        }
    }

    // MARK: A watched folder

    mutating func check(_ root: RootKind) throws {
        let files = engine.files(root)
        let name = engine.display(.root, root)
        let marker: RootMarker?
        do { marker = try readMarker(files) } catch {
            let reason = (error as? FileError)?.reason ?? "\(error)"
            note("root", name, "The folder cannot be read: \(reason).", "Mount or repair it.")
            return
        }
        guard let marker, marker.replica == engine.replica else {
            return note(
                "root", name, "The folder is not the one that was set up.", "Mount the right folder there.")
        }
        for zone in engine.zones.values.sorted(by: ZoneInfo.comesBefore) {
            for row in try engine.store.read({ db in try db.base(in: zone.id) })
            where row.root == root && row.kind == .file && !row.isParked {
                guard
                    let parent = try engine.store.read({ db in
                        try db.basePath(of: row.parent, top: [engine.top(root)])
                    })
                else { continue }
                try check(row, at: parent.appending(row.name), files, root)
            }
        }
    }

    /// Not with the type of its error: a compiler of today fails on it.
    private func readMarker(_ files: any LocalFileSystem) throws -> RootMarker? { try RootMarker.read(from: files) }

    /// A file that looks untouched and holds other bytes: its disk is failing, or somebody set its time back.
    private mutating func check(
        _ row: BaseRow, at path: RelativePath, _ files: any LocalFileSystem, _ root: RootKind
    ) throws {
        let shown = engine.display(path, root)
        do {
            guard let entry = try files.entry(at: path), entry.stamp.isUnchanged(from: row.stamp) else {
                report.counts.unscanned += 1
                return
            }
            let (hash, stamp) = try ContentHasher.hash(path, files)
            report.counts.files += 1
            report.counts.fileBytes += stamp.size
            guard hash != row.contentHash, stamp.isUnchanged(from: row.stamp) else { return }
            let state = try engine.store.read { db in try db.state(of: row.id) }
            let isThere = state?.content?.location != nil && state?.content?.contentHash == row.contentHash
            note(
                "file", shown, zone: row.id.zone,
                "Its bytes changed while its size and its time did not: the disk may be failing.",
                "Restore it from a backup, or save it again if it is right as it is.", mendable: isThere,
                reference: PathReference(root: root, path: path))
        } catch {
            guard let error = error as? FileError else { throw error }
            guard error.code != .absent, error.code != .changedWhileReading else {
                report.counts.unscanned += 1
                return
            }
            note("file", shown, zone: row.id.zone, "It cannot be read: \(error.reason).", "Check the disk.")
        }
    }
}
