import ShoeboxCloud
public import ShoeboxModel
public import ShoeboxStore
import ShoeboxWorld

/// What one round came to.
public struct RoundOutcome: Sendable {
    /// Changes taken from the watched folders.
    public var taken = 0
    /// Changes published.
    public var pushed = 0
    /// Changes that arrived.
    public var fetched = 0
    /// Files and sidecars brought up to date.
    public var applied = 0
    /// Changes derived by the engine.
    public var derived = 0
    /// Requests of commands done.
    public var requests = 0
    /// Whether the container could not be reached.
    public var isContainerOffline = false
    /// Watched folders that were not there.
    public var offlineRoots: Set<RootKind> = []
    /// When something must be looked at again (uptime).
    public var lookAgain: UInt64?

    /// Whether the container was asked, or it was tried.
    public var hasReached = false

    /// Whether anything happened, so that another round may find more.
    public var didSomething: Bool { taken + pushed + fetched + applied + derived + requests > 0 }
}

extension Engine {
    /// What a round looks at in the watched folders.
    public enum ScanExtent: Sendable {
        /// Everything.
        case all
        /// These directories, and those that were to be looked at again by now.
        case directories([RootKind: Set<RelativePath>])
    }

    /// One round: requests, scan, push, fetch, apply, push. Any failure of one side leaves the other sides working.
    ///
    /// - Parameters:
    ///   - reachesContainer: whether the container is asked what is new.
    ///   - pushesAtOnce: whether it is also reached if something was done here that is to go there.
    public func round(
        _ extent: ScanExtent, reachesContainer: Bool = true, pushesAtOnce: Bool = false
    ) throws -> RoundOutcome {
        var outcome = RoundOutcome()
        try reloadZones()
        try checkReplica()
        try finishNewReplica()
        try noticeRestoredState(reachesContainer: reachesContainer)
        try clearOutdatedProblems()
        try finishWithdrawals()
        try giveOwedNotices()
        try makeOwedCopies()
        try removeOrphans()
        outcome.requests = try performRequests()
        try rebuildFirst(&outcome, reachesContainer: reachesContainer)
        try scanRoots(extent, &outcome)
        // What was mounted over a share's folder goes without a word of any watcher.
        if zones.values.contains(where: { $0.row.state == .leaveOffered }), try checkRoot(.shared) {
            try resumeOffered()
        }
        let reachesContainer = reachesContainer || pushesAtOnce && outcome.didSomething
        if reachesContainer { try exchange(&outcome) }
        try readAwaitedSidecars(&outcome)
        for root in RootKind.allCases { try applyAll(root, &outcome) }
        try tidyTrash()
        if reachesContainer, outcome.derived > 0, !outcome.isContainerOffline { try exchange(&outcome, pushOnly: true) }
        try writeTokens()
        for time in later.values { outcome.lookAgain = min(outcome.lookAgain ?? .max, time) }
        for time in restoreAfter.values { outcome.lookAgain = min(outcome.lookAgain ?? .max, time) }
        if coverage == .looking, let time = searchDue { outcome.lookAgain = min(outcome.lookAgain ?? .max, time) }
        if let time = nextCollision() { outcome.lookAgain = min(outcome.lookAgain ?? .max, time) }
        return outcome
    }

    /// Brings a watched folder up to date, in bounded batches, so that a first mirror stays small in memory. What can't be
    /// done is tried once in each pass and keeps nothing else from being done. Stops early, to be gone on with by the
    /// next round, if somebody waits.
    private func applyAll(_ root: RootKind, _ outcome: inout RoundOutcome) throws {
        for _ in 0..<10_000 {
            var operations = 0
            var position: DirtyPosition?
            repeat {
                if isAskedToPause() {
                    outcome.lookAgain = world.uptimeMilliseconds()
                    return
                }
                let applied = try apply(root, after: position)
                outcome.applied += applied.operations
                outcome.derived += applied.derived
                operations += applied.operations
                position = applied.next
            } while position != nil
            if operations == 0 { return }
        }
    }

    /// Compares folders that were never compared with the container, once it has been read, and then looks at all in them.
    private func rebuildFirst(_ outcome: inout RoundOutcome, reachesContainer: Bool) throws {
        let waiting = try foldersToRebuild()
        guard !waiting.isEmpty, reachesContainer else { return }
        try exchange(&outcome)
        for root in waiting.subtracting(try foldersToRebuild()) {
            let result = try scan(root, author: "scan")
            outcome.taken += result.changes
            if let again = result.lookAgain { outcome.lookAgain = min(outcome.lookAgain ?? .max, again) }
        }
    }

    private func scanRoots(_ extent: ScanExtent, _ outcome: inout RoundOutcome) throws {
        let now = world.uptimeMilliseconds()
        let extent = isSearchDue ? .all : extent
        if case .all = extent { searchDue = nil }
        for root in RootKind.allCases {
            let result: ScanOutcome
            switch extent {
            case .all:
                later = later.filter { $0.key.root != root }
                result = try scan(root, author: "scan")
            case .directories(let dirty):
                var wanted = dirty[root] ?? []
                for (key, due) in later where key.root == root && due <= now {
                    wanted.insert(key.path)
                    later[key] = nil
                }
                guard !wanted.isEmpty else {
                    noteLook(at: root)
                    continue
                }
                result =
                    try isWholeLookDue(root)
                    ? scan(root, author: "scan") : scan(root, directories: wanted, author: "watcher")
            }
            noteLook(at: root)
            outcome.taken += result.changes
            if result.isOffline { outcome.offlineRoots.insert(root) }
            if let again = result.lookAgain { outcome.lookAgain = min(outcome.lookAgain ?? .max, again) }
        }
    }

    /// Counts a look at a watched folder; not one in which something could not be seen, until it has been so for a while.
    private func noteLook(at root: RootKind) {
        let now = world.uptimeMilliseconds()
        let isWhole = unseen.allSatisfy {
            $0.key.root != root || now >= $0.value + settings.blindMilliseconds
        }
        if isWhole { looks[root, default: 0] += 1 }
    }

    /// Pushes and fetches; a container that is away is a state, not an error.
    private func exchange(_ outcome: inout RoundOutcome, pushOnly: Bool = false) throws {
        do {
            outcome.hasReached = true
            try openContainer()
            guard try followAccount() else { return try noteContainerReached() }
            try keepZonesCurrent()
            try offerRest()
            var full: CloudError?
            do { outcome.pushed += try pushAll() } catch let error as CloudError where error.cause?.code == .full {
                full = error
            }
            if let noRoom { try reportFull(noRoom.error) }
            if pushOnly, full == nil { return }
            // A full container can be read, and what others delete may make room.
            if !pushOnly { outcome.fetched += try fetchAll() }
            if let full { throw full }
            try announceStanding()
            try finishReturns()
            try joinFromPlacements()
            try rebuild()
            try uniteTwinShares()
            try finishStopped()
            try exchangeLetters()
            try compactAll()
            try finishTransfers()
            try takeInvitationFiles()
            try clearOldInformation()
            // Heads that now name what was fetched, and controls that were written.
            outcome.pushed += try pushAll()
            try noteContainerReached()
            let now = world.nowMilliseconds()
            containerReadMilliseconds = now
            // A poll that finds nothing costs no write, which has to be durable: the time is stored now and then.
            let isStored = try store.read { db in
                try db.metaText("containerOffline") == nil
                    && isRecent(try db.metaNumber("asOf").map { UInt64(bitPattern: $0) } ?? 0, now: now)
            }
            guard !isStored || outcome.didSomething else { return }
            try store.write { db in
                try db.setMetaNumber("asOf", Int64(bitPattern: now))
                try db.setMetaText("containerOffline", nil)
            }
        } catch let error as CloudError {
            try noteContainerError(error, &outcome)
        } catch let error as FileError {
            try noteContainerError(
                CloudError(
                    code: error.code == .offline ? .offline : .mount, message: error.description,
                    remedy: "Check the mount.", cause: error), &outcome)
        }
    }

    private func noteContainerReached() throws {
        for code in ["offline", "containerFull", "containerWrong"] where code != "containerFull" || noRoom == nil {
            try clearProblem(code)
        }
    }

    private func reportFull(_ error: CloudError) throws {
        try report(
            "containerFull", "The cloud folder is full: \(error.sentence)",
            "Free some space there; what has no room waits here and goes out by itself.")
    }

    /// Whether a stored time is close enough to be left as it is; one that lies ahead, as after a clock step, is not.
    func isRecent(_ stored: UInt64, now: UInt64) -> Bool { stored <= now && now - stored < 60_000 }

    private func noteContainerError(_ error: CloudError, _ outcome: inout RoundOutcome) throws {
        outcome.isContainerOffline = true
        // What is there when it is back may be another one, or made anew.
        assetsSeen = []
        lookAtOwnHeads()
        let state = ContainerState(error)
        try store.write { db in try db.setMetaText("containerOffline", state.rawValue) }
        if error.cause?.code == .full {
            try reportFull(error)
        } else if [.otherContainer, .newerFormat, .damaged].contains(error.code) {
            try report("containerWrong", error.message, error.remedy)
        } else {
            try report(
                "offline", "The cloud folder cannot be reached: \(error.sentence)",
                "Mount it again; everything waits here and goes out by itself. If it is lost for good, 'shoebox verify' says what to do."
            )
        }
    }
}

extension CloudError {
    /// The message, which names the file, as the end of a sentence.
    fileprivate var sentence: String { message.hasSuffix(".") ? message : message + "." }
}
