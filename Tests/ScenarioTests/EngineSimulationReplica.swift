import Crypto
import ShoeboxCloud
import ShoeboxLibrary
import ShoeboxModel
import ShoeboxPlanning
import ShoeboxStore
import ShoeboxTestSupport
import ShoeboxWorld

@testable import Shoebox

/// The whole engine under simulation: rounds, crashes and restarts of one replica, and what can be found in its state.
final class EngineReplica: SimulatedReplica {
    let replica: Replica
    var machine: SimulatedMachine { replica.machine }
    /// Whether a round looks only at what a watcher would name; else at everything.
    private let isWatching: Bool
    private var needsScan = true
    /// For how many healing rounds in a row contents were missing.
    private var missingRounds = 0
    private(set) var hasTakenBackMore = false
    private var scannedAt: UInt64 = 0
    private var stateBackup: (store: Store, identity: Identity)?
    private var isStateLost = false
    /// What people tell each other, and keep.
    private let papers: SimulatedPapers
    private var lastOutcome = RoundOutcome()
    private lazy var narrator = EngineSimulationNarrator(replica)

    init(_ replica: Replica, papers: SimulatedPapers = SimulatedPapers(), isWatching: Bool = false) {
        self.replica = replica
        self.papers = papers
        self.isWatching = isWatching
    }

    func syncRound() throws -> Bool {
        narrator.tell("before")
        defer { narrator.tell("after") }
        if isStateLost || isRetired { try setUpAnew() }
        let extent = nextExtent()
        let outcome: RoundOutcome
        do { outcome = try replica.round(extent) } catch {
            needsScan = true
            throw error
        }
        needsScan = !outcome.offlineRoots.isEmpty
        lastOutcome = outcome
        return outcome.didSomething || outcome.lookAgain != nil || outcome.isContainerOffline
            || !outcome.offlineRoots.isEmpty || !replica.isQuiet || isAboutToCarry
    }

    /// Whether something is missed in the container that only this account publishes again, as it does after two minutes:
    /// who wrote it takes no part any more.
    private var isAboutToCarry: Bool {
        let engine = replica.engine
        return engine.zones.values.contains { zone in
            guard zone.row.isMine, zone.row.state == .active,
                let peers = try? replica.store.read({ db in try db.peers(of: zone.id) })
            else { return false }
            return peers.contains { peer in
                guard let account = peer.account, account != zone.control.owner,
                    zone.control.isStopped || zone.control.participants[account]?.takesPart != true,
                    let carried = try? engine.carried(of: peer.replica, in: zone.id)
                else { return false }
                let since = try? replica.store.read { db in try db.metaNumber("lost.\(zone.id).\(peer.replica)") }
                return (since ?? nil) != nil && carried < peer.applied.sequence
            }
        }
    }

    var pending: [String] {
        let last = lastOutcome
        var result: [String] = []
        if last.didSomething {
            result.append(
                "taken \(last.taken), pushed \(last.pushed), fetched \(last.fetched), applied \(last.applied), derived \(last.derived)"
            )
        }
        if let time = last.lookAgain {
            let places = replica.engine.later.keys.map { "\($0.root)/\($0.path)" }.sorted()
            result.append("looks again at \(time) at \(places)")
        }
        if last.isContainerOffline || !last.offlineRoots.isEmpty { result.append("something is away") }
        let counts = try? replica.store.read { db in
            (try db.pendingCount(), try db.dirtyCount(), try db.missingSegments())
        }
        if let counts, counts != (0, 0, 0) {
            result.append("to push \(counts.0), to show \(counts.1), segments missing \(counts.2)")
            for zone in replica.engine.zones.keys.sorted() {
                let waiting = (try? replica.store.read { db in try db.pendingChanges(in: zone, limit: 3) }) ?? []
                result += waiting.map { "to push in \("\(zone)".prefix(8)): \($0.change)" }
            }
            let zones = replica.engine.zones.keys.sorted()
            let dirty = (try? replica.store.read { db in try db.dirtyRecords(in: zones, after: nil, limit: 3) }) ?? []
            result += dirty.map { row in
                let state = try? replica.store.read { db in try db.state(of: row.id) }
                let base = try? replica.store.read { db in try db.base(row.id) }
                return "to show: \(row), state \(String(describing: state)), shown as \(String(describing: base))"
            }
        }
        guard !result.isEmpty else { return [] }
        return result + replica.logLines.suffix(3) + replica.problems.map { "\($0.code): \($0.message)" }
    }

    /// What the daemon would look at now, from what its watcher told it.
    private func nextExtent() -> Engine.ScanExtent {
        let roots: [(RootKind, SimulatedDisk)] = [(.library, machine.library), (.shared, machine.shared)]
        let now = machine.clock.uptimeMilliseconds
        var dirty: [RootKind: Set<RelativePath>] = [:]
        var isPartial = false
        for (root, disk) in roots {
            if disk.takeOverflow() { needsScan = true }
            dirty[root] = disk.takeDirty()
            if disk.isBeyondWatchLimit { isPartial = true }
        }
        if isPartial, now >= scannedAt + 60_000 { needsScan = true }
        replica.engine.coverage = isPartial ? .looking : .watched
        guard isWatching, !needsScan else {
            scannedAt = now
            return .all
        }
        return .directories(dirty)
    }

    func changesMissed() throws -> Int {
        guard isWatching, !needsScan else { return 0 }
        defer { narrator.tell("missed") }
        return try replica.round(.all).taken
    }

    func crash() {}

    func restart() throws {
        needsScan = true
        try replica.restart()
    }

    // MARK: The state directory

    private var gate: @Sendable () throws -> Void {
        let faults = machine.faults
        return { try faults.pass("store", "write") }
    }

    func backUpState() {
        guard !isStateLost, let copy = try? replica.store.backup() else { return }
        stateBackup = (copy, replica.identity)
    }

    func restoreState() -> Bool {
        guard let stateBackup, let copy = try? stateBackup.store.backup(gate: gate) else { return false }
        isStateLost = false
        do { try replica.restart(store: copy, identity: stateBackup.identity) } catch { return false }
        machine.kill()
        return true
    }

    func knowsFile(with content: [UInt8]) -> Bool {
        let hash = Digest32(bytes: Array(SHA256.hash(data: content)))
        guard let hash, let files = try? replica.store.read({ db in try db.base(contentHash: hash) }) else {
            return true
        }
        return !files.isEmpty
    }

    var hasUnpublished: Bool { (try? replica.store.read { db in try db.pendingCount() > 0 }) ?? false }

    func loseState() { isStateLost = true }

    /// Whether this device was told that its account has retired it.
    private var isRetired: Bool { replica.problems.contains { $0.code == "deviceRetired" } }

    /// As `init --import --take-over` does: a device of its own, over the folders as they are.
    private func setUpAnew() throws {
        let world = machine.world
        let identity: Identity
        if isRetired, let file = papers.recoveryFiles[replica.label] {
            // What was said there by commands is in the folders before anybody gets to it.
            if !isStateLost { for _ in 0..<3 { _ = try replica.round(nextExtent()) } }
            // A retired device admits none.
            let directory = AccountDirectory(mount: world.mount)
            _ = try directory.refresh(replica.identity.account)
            let statements = directory.statements(of: replica.identity.account)
            identity = try Identity.restored(
                fromRecoveryFile: file, more: statements, deviceLabel: machine.name,
                nowMilliseconds: world.nowMilliseconds(), randomBytes: world.randomBytes)
        } else {
            identity = try replica.identity.makeSecondDevice(
                deviceLabel: machine.name, nowMilliseconds: world.nowMilliseconds(), randomBytes: world.randomBytes
            ).identity
        }
        try replica.restart(store: try Store(gate: gate), identity: identity)
        try replica.engine.setUp(host: machine.name, takeOver: true)
        needsScan = true
        isStateLost = false
    }

    // MARK: People

    func perform(_ request: SimulationRequest) -> Bool? {
        let asked = request
        guard !isStateLost, let request = engineRequest(request) else { return false }
        // As a command does it; what fails then is tried again by the next round.
        do { try replica.engine.compareState() } catch { if machine.faults.isCrashed { return nil } }
        let reply = replica.request(request)
        if machine.faults.isCrashed { return nil }
        if let link = reply.values["link"], case .open(let share, _?) = asked { papers.links[share] = (link, false) }
        if let link = reply.values["link"], case .makeLink(let share, _, _) = asked {
            papers.links[share] = (link, true)
        }
        return reply.code == 0
            ? true : reply.code == ExitCode.reported ? nil : reply.code == ExitCode.failed ? nil : false
    }

    private func engineRequest(_ request: SimulationRequest) -> Request? {
        func reference(_ root: SimulationStep.Root, _ path: RelativePath) -> PathReference {
            PathReference(root: root == .library ? .library : .shared, path: path)
        }
        switch request {
        case .share(let paths, let title):
            return .shareCreate(
                paths: paths.map { reference(.library, $0) }, title: title, publicPermission: "none", isSealed: true)
        case .invite(let share, let account, let grant):
            return .invite(share: share, accounts: [account], permission: grant.rawValue)
        case .permit(let share, let account, let grant):
            return .permission(share: share, account: account, permission: grant.rawValue)
        case .revoke(let share, let account): return .uninvite(share: share, accounts: [account])
        case .accept: return .acceptAllPending
        case .leave(let share, let keepsCopy): return .leave(share: share, keepCopy: keepsCopy)
        case .stop(let share): return .stop(share: share)
        case .add(let share, let path): return .shareAdd(share: share, paths: [reference(.library, path)])
        case .remove(let share, let path): return .shareRemove(share: share, paths: [reference(.library, path)])
        case .tag(let root, let path, let words):
            return .tag(path: reference(root, path), titles: words, isMember: true)
        case .rate(let root, let path, let stars): return .rate(path: reference(root, path), value: stars)
        case .caption(let root, let path, let word): return .caption(path: reference(root, path), text: word)
        case .undo:
            let last = try? replica.store.read { db in try db.history(after: 0, limit: .max).last?.token }
            return (last ?? nil).map { .undo(token: $0) }
        case .restoreTrash(let root, let path): return .restoreTrash(paths: path.map { [reference(root, $0)] } ?? [])
        case .restoreVersion(let root, let path): return .restoreVersion(path: reference(root, path), version: "2")
        case .offer(let share, let account, let grant):
            return .transfer(share: share, account: account, stays: grant.rawValue)
        case .withdrawOffer(let share): return .transferWithdraw(share: share)
        case .answerOffer(let share, let accepts): return .transferAnswer(share: share, accepts: accepts)
        case .open(let share, let grant):
            return .setPublic(share: share, permission: grant?.rawValue ?? "none", renews: false)
        case .makeLink(let share, let grant, let asks):
            return .makeLink(share: share, permission: grant.rawValue, expiresMilliseconds: 0, count: 0, asks: asks)
        case .come(let share):
            guard let (link, isToAsk) = papers.links[share] else { return nil }
            return isToAsk ? .ask(link: link) : .accept(link: link)
        case .answerRequest(let share, let account, let admits):
            return .answerRequests(share: share, accounts: [account], permission: admits ? "" : nil)
        case .retire(let machine): return .deviceRetire(name: machine)
        }
    }

    func answer() -> Bool {
        guard !isStateLost else { return false }
        let problems = replica.problems
        var asked = false
        if problems.contains(where: { $0.code == "rootForeign" }) {
            // An older state, from before the folders were set up anew: `init --take-over`, as the message says.
            do { try replica.engine.setUp(host: machine.name, takeOver: true) } catch { return false }
            needsScan = true
            asked = true
        }
        var requests: [Request] = []
        if problems.contains(where: { $0.code == "massDeletion" }) { requests.append(.confirmDeletions) }
        for problem in problems where problem.code == "emptied" {
            // `restore`, as the message says.
            for root in RootKind.allCases {
                let folder = replica.engine.display(.root, root) + "/"
                guard let shown = problem.path, shown.hasPrefix(folder),
                    let path = RelativePath(String(shown.dropFirst(folder.count)))
                else { continue }
                requests.append(.restoreContent(path: PathReference(root: root, path: path)))
            }
        }
        for problem in problems where problem.code == "leaveOffered" {
            if let zone = problem.zone { requests.append(.restoreShare(share: "\(zone)")) }
        }
        for request in requests where [ExitCode.done, ExitCode.reported].contains(replica.request(request).code) {
            asked = true
        }
        giveUpLostContents(problems.contains { $0.code == "contentMissing" })
        return asked
    }

    /// Bytes may be gone for good: published to a container that was put back, and deleted by who had them. After a while
    /// somebody asks around and takes back what wrote them, as the message says; not all at once.
    private func giveUpLostContents(_ isMissing: Bool) {
        missingRounds = isMissing ? missingRounds + 1 : 0
        let turn = machine.name.utf8.reduce(0) { ($0 * 7 + Int($1)) % 11 }
        guard missingRounds == 30 + 3 * turn else { return }
        let changes = (try? replica.store.read { db in try db.history(after: 0, limit: .max) }) ?? []
        for stored in changes {
            let id = RecordID(zone: stored.zone, name: stored.change.record)
            guard case .set(let fields) = stored.change.action, let asset = fields[.content]?.asset,
                let state = try? replica.store.read({ db in try db.state(of: id) }), state.isLive,
                state.content?.contentHash == asset.contentHash, !isKept(asset)
            else { continue }
            let others = changes.filter { $0.token == stored.token && $0.change.record != stored.change.record }
            if !others.isEmpty { hasTakenBackMore = true }
            replica.request(.undo(token: stored.token))
        }
    }

    /// Whether a content is in the container or in the folders here.
    private func isKept(_ asset: AssetReference) -> Bool {
        if (try? replica.store.read { db in try !db.base(contentHash: asset.contentHash).isEmpty }) == true {
            return true
        }
        guard asset.location != nil else { return false }
        do { try AssetStore(mount: machine.world.mount).download(asset) { _ in } } catch { return false }
        return true
    }

    // MARK: What users wrote

    var hasComparedState: Bool {
        replica.engine.isStateCompared && (try? replica.engine.foldersToRebuild().isEmpty) == true
    }

    func findContent(_ entry: SimulationLedger.Entry) -> Bool {
        let changes = (try? replica.store.read { db in try db.history(after: 0, limit: .max) }) ?? []
        if entry.kind == .content {
            let hash = Digest32(bytes: Array(SHA256.hash(data: entry.bytes)))
            return changes.lazy.flatMap { Self.values($0.change) }.compactMap(\.asset)
                .contains { $0.contentHash == hash && isInContainer($0, entry.bytes) }
        }
        let word = String(decoding: entry.bytes, as: UTF8.self)
        return changes.contains { stored in
            Self.values(stored.change).contains { $0.text == word }
        }
    }

    static func values(_ change: Change) -> [Value] {
        guard case .set(let fields) = change.action else { return [] }
        return Array(fields.values)
    }

    private func isInContainer(_ asset: AssetReference, _ bytes: [UInt8]) -> Bool {
        guard asset.location != nil else { return false }
        var found: [UInt8] = []
        do { try AssetStore(mount: machine.world.mount).download(asset) { found += $0 } } catch { return false }
        return found == bytes
    }

    // MARK: Trees

    /// The library and the shared folder of the account, and each share as this side shows it.
    var trees: [String: [String: [UInt8]]] {
        var result: [String: [String: [UInt8]]] = [:]
        for root in RootKind.allCases {
            let tree = tree(root, includesRatings: false)
            var agreed = self.tree(root, includesRatings: true)
            // What somebody drops where it counts for nobody else stays on that machine.
            agreed = agreed.filter {
                !$0.value.suffix(Self.unknown.utf8.count).elementsEqual(Self.unknown.utf8) || mayWrite(at: $0.key, root)
            }
            result["\(root == .library ? "library" : "shared folder") of \(replica.label)"] = agreed
            for zone in replica.engine.zones.values where zone.row.kind == .share && zone.row.root == root {
                // What has ended is no matter of all; what is selected shows elsewhere at who made the share.
                if isWatching, zone.row.state != .active { continue }
                if isWatching, zone.row.isMine || root == .library, !showsAsFolder(zone) { continue }
                guard let prefix = prefix(of: zone) else { continue }
                let inside = tree.filter { $0.key.hasPrefix(prefix) && (!isWatching || isOf(zone, $0.key, root)) }
                result["share \(zone.control.title)"] = Dictionary(
                    uniqueKeysWithValues: inside.map { (String($0.key.dropFirst(prefix.count)), $0.value) })
            }
        }
        return result
    }

    private static let unknown = " (not known)"

    /// Where a share shows, with a slash; nil if it doesn't.
    private func prefix(of zone: ZoneInfo) -> String? {
        let mount = RecordID(zone: zone.id, name: .zoneRoot)
        let path = try? replica.store.read { db in
            try db.basePath(of: mount, top: [replica.engine.top(zone.row.root)])
        }
        return (path ?? nil).map { "\($0)/" }
    }

    /// Whether all of an own share shows below one folder: there is no photo of it anywhere else.
    private func showsAsFolder(_ zone: ZoneInfo) -> Bool {
        guard let prefix = prefix(of: zone) else { return false }
        // One file may show a photo of the share and an equal one beside it that is in none.
        let rows =
            (try? replica.store.read { db in
                try replica.engine.zones.keys.flatMap { try db.base(in: $0) }
            }) ?? []
        return rows.allSatisfy { row in
            guard row.kind == .file, ([row.id] + row.twins).contains(where: { $0.zone == zone.id }) else { return true }
            let path = try? replica.store.read { db in
                try db.basePath(of: row.id, top: [replica.engine.top(zone.row.root)])
            }
            return (path ?? nil).map { "\($0)".hasPrefix(prefix) } ?? true
        }
    }

    private func isOf(_ zone: ZoneInfo, _ text: String, _ root: RootKind) -> Bool {
        guard let path = RelativePath(text) else { return false }
        let row = try? replica.store.read { db in
            try db.base(at: path, root: root, top: replica.engine.top(root)).flatMap { try db.base($0) }
        }
        guard let row = row ?? nil else { return false }
        return ([row.id] + row.twins).contains { $0.zone == zone.id }
    }

    private func mayWrite(at path: String, _ root: RootKind) -> Bool {
        let zone = replica.engine.zones.values.first { zone in
            zone.row.kind == .share && zone.row.root == root && zone.row.state == .active
                && (prefix(of: zone).map(path.hasPrefix) ?? false)
        }
        return zone?.mayAdd(replica.identity.account) ?? (root == .library)
    }

    /// The user's files of a root, each photo with what is known of it.
    private func tree(_ root: RootKind, includesRatings: Bool) -> [String: [UInt8]] {
        let disk = root == .library ? machine.library : machine.shared
        var result: [String: [UInt8]] = [:]
        for (path, bytes) in disk.tree() where !path.hasPrefix(".shoebox/") && !path.contains(".tags/") {
            if path.hasSuffix(".json") { continue }
            result[path] = bytes + Array(details(path, root, includesRatings: includesRatings).utf8)
        }
        return result
    }

    /// What is known of a file. A rating is each account's own: only its devices agree on it.
    private func details(_ text: String, _ root: RootKind, includesRatings: Bool) -> String {
        guard let path = RelativePath(text) else { return " (no path)" }
        let engine = replica.engine
        let found: PhotoDetails? = try? replica.store.read { db in
            guard let id = try db.base(at: path, root: root, top: engine.top(root)) else { return nil }
            return try engine.details(of: id, db)
        }
        guard let found else { return Self.unknown }
        let saysNothing = found.caption.isEmpty && found.tags.isEmpty
        var result = saysNothing ? "" : " caption: \(found.caption) tags: \(found.tags.joined(separator: ","))"
        if includesRatings, found.rating > 0 { result += " rating: \(found.rating)" }
        let disk = root == .library ? machine.library : machine.shared
        var hasSidecar = false
        for name in path.last.map(SidecarName.candidates) ?? [] {
            guard let bytes = try? disk.read(path.parent.appending(name)) else { continue }
            hasSidecar = true
            // A broken one is the user's to mend.
            guard case .document(let document) = SidecarDocument.read(bytes) else { break }
            let says = document.fields
            if says.caption ?? "" != found.caption || Set(says.tags ?? []) != Set(found.tags) {
                result += " (its sidecar says caption: \(says.caption ?? "") tags: \(says.tags ?? []))"
            }
            if includesRatings, Int(says.rating ?? 0) != found.rating {
                result += " (its sidecar says rating: \(says.rating ?? 0))"
            }
            break
        }
        if !hasSidecar, !found.isEmpty { result += " (no sidecar)" }
        return result
    }
}

/// What people tell each other, and keep, besides what goes through the container.
final class SimulatedPapers {
    /// The newest link to each share, by title, and whether one asks by it.
    var links: [String: (link: String, isToAsk: Bool)] = [:]
    /// What restores each account, by label.
    var recoveryFiles: [String: [UInt8]] = [:]
}
