import Foundation
import Glibc
import ShoeboxLibrary
import ShoeboxModel
import ShoeboxStore
import ShoeboxWorld

/// The background process: one thread that runs the engine, woken by the watcher, by commands, and by time.
///
/// It ends by a signal only, or when the local database is damaged. Whatever else fails is noted, and tried again later.
public final class Daemon {
    private let installation: Installation
    private let log: @Sendable (String) -> Void
    private let mailbox: Mailbox
    private let lock: LibraryLock
    private let doorbell: Doorbell
    private let activity: Activity
    private let engine: Engine
    private var schedule: PollSchedule
    /// What the next round looks at.
    private var mail = Mail()
    private var rings: Set<Doorbell.Ring> = []
    private var lookAgain: UInt64?
    private var offlineRoots: Set<RootKind> = []
    private var failures = 0
    private var watcher: WatcherProcess?
    /// What was last mounted within the watched folders; nil until that was asked.
    private var mountsWithin: [MountTable.Entry]?
    private lazy var watchedFolders = [installation.configuration.library, installation.configuration.shared].map {
        Installation.resolved($0) ?? $0
    }
    /// When both folders are looked at as a whole although nothing was reported, while the watcher does not see all.
    private var rescanAt: UInt64?
    /// The numbers of the watched folders that the watcher does not see all of.
    private var unwatched: Set<Int> = []
    /// The numbers of those of which events may have been lost, or are: not all is watched yet, or any more.
    private var unsure: Set<Int> = [0, 1]
    /// When the watcher tries these again, and how long it then waits for the next time: each time it looks at all directories.
    private var rewatch: (at: UInt64, pauseMilliseconds: UInt64) = (0, 60_000)
    private var toldProblems: Set<WatcherProblem> = []

    /// Takes the lock and opens everything.
    ///
    /// - Parameters:
    ///   - isVerbose: whether the log says all that happens.
    ///   - log: takes lines for the log, from any thread.
    /// - Throws: `RequestError` with `ExitCode.busy` if another process runs the engine.
    public init(_ installation: Installation, isVerbose: Bool, log: @escaping @Sendable (String) -> Void) throws {
        StopSignal.block()
        self.installation = installation
        self.log = log
        let store = try installation.openStore()
        // A short command may have it at this moment.
        lock = try LibraryLock.acquire(installation.state, patienceMilliseconds: 10_000)
        mailbox = try Mailbox()
        activity = Activity(installation.state, isDaemon: true)
        doorbell = try Doorbell(installation.state)
        engine = try installation.makeEngine(store)
        if isVerbose { engine.log = log }
        engine.isAskedToPause = { [mailbox, doorbell] in mailbox.signal != 0 || doorbell.isRung }
        schedule = PollSchedule(installation.configuration.pollMilliseconds, now: engine.world.uptimeMilliseconds())
        mail.needsScan = true
    }

    /// Runs until a signal comes; returns it. The lock is given back then.
    public func run() throws -> Int32 {
        StopSignal.wait(
            first: { [mailbox] signal in mailbox.post { $0.signal = signal } },
            last: { [lock, log] in
                log("stopping at once: a step did not end in time; nothing is lost by that")
                lock.release()
                _exit(0)
            })
        let watcher = startWatcher()
        self.watcher = watcher
        watchContainer()
        defer {
            watcher.stop()
            lock.release()
        }
        log("running as process \(getpid()) for \(installation.configuration.account)")
        while mailbox.signal == 0 {
            collect()
            guard mailbox.signal == 0 else { break }
            try work()
        }
        log("stopped")
        return mailbox.signal
    }

    // MARK: Waiting

    /// Waits until there is something to do.
    private func collect() {
        while true {
            take()
            let now = engine.world.uptimeMilliseconds()
            let hint = mail.hasHint ? schedule.hintsFrom : nil
            if mail.signal != 0 || !rings.isEmpty || mail.isLocalWork || (hint ?? .max) <= now { break }
            let due = [schedule.nextPoll, lookAgain, rescanAt, hint].compactMap { $0 }.min() ?? schedule.nextPoll
            if due <= now { return }
            mailbox.wait(orFor: doorbell.file, milliseconds: due - now)
        }
        // A burst comes as many reports; a short moment makes one round of them.
        guard mail.isLocalWork || mail.hasHint, rings.isEmpty else { return }
        for _ in 0..<3 {
            let before = mail.dirty
            mailbox.wait(orFor: doorbell.file, milliseconds: 10)
            take()
            if mail.dirty == before || mail.signal != 0 || !rings.isEmpty { return }
        }
    }

    private func take() {
        let new = mailbox.take()
        for (root, directories) in new.dirty { mail.dirty[root, default: []].formUnion(directories) }
        mail.needsScan = mail.needsScan || new.needsScan
        mail.hasHint = mail.hasHint || new.hasHint
        mail.noteSight(whole: new.whole, unsure: new.unsure)
        mail.problems += new.problems
        mail.signal = new.signal
        rings.formUnion(doorbell.take())
    }

    // MARK: Working

    /// One round, and what follows from it.
    private func work() throws {
        let now = engine.world.uptimeMilliseconds()
        var work = mail
        let rung = rings
        mail = Mail()
        rings = []
        noteSight(&work)
        if let at = rescanAt, at <= now {
            rescanAt = now + 60_000
            work.needsScan = true
            if rewatch.at <= now {
                watchAnew(unwatched)
                rewatch.pauseMilliseconds = min(600_000, rewatch.pauseMilliseconds * 2)
                rewatch.at = now + rewatch.pauseMilliseconds
            }
        }
        work.needsScan = work.needsScan || rung.contains(.scan)
        if rung.contains(.scan) { engine.lookAtOwnHeads() }
        let isDue = schedule.nextPoll <= now
        let isSilent = !work.isLocalWork && rung.isEmpty && (lookAgain ?? .max) > now
        let reaches = isDue || work.hasHint || !rung.isEmpty
        if !isSilent { activity.update { $0.isBusy = true } }
        do {
            try noteWatched(work.whole)
            try note(work.problems)
            if isDue || !rung.isEmpty {
                let isCovered = haveOtherMountsWithin()
                if try hasRootReturned() || engine.haveMountsChanged() || isCovered {
                    work.needsScan = true
                    watchAnew([0, 1])
                }
            }
            let outcome = try engine.round(
                work.needsScan ? .all : .directories(work.dirty), reachesContainer: reaches,
                // A look here, which may be one of many at a file that is open for writing, asks nothing of the container.
                pushesAtOnce: !schedule.isOffline)
            failures = 0
            activity.update { $0.isFailing = false }
            finish(outcome, startedAt: now, wasScan: work.needsScan)
            if work.hasHint {
                let end = engine.world.uptimeMilliseconds()
                schedule.noteHint(didSomething: outcome.didSomething, tookMilliseconds: end &- now, now: end)
            }
        } catch {
            try recover(error, work, startedAt: now)
        }
    }

    /// Whether something else is mounted within the watched folders than when this was last asked: no watcher tells of that.
    private func haveOtherMountsWithin() -> Bool {
        let now = MountTable.read().filter { entry in watchedFolders.contains { $0.contains(entry.point) } }
        defer { mountsWithin = now }
        return mountsWithin.map { $0 != now } ?? false
    }

    private func finish(_ outcome: RoundOutcome, startedAt: UInt64, wasScan: Bool) {
        let now = engine.world.uptimeMilliseconds()
        offlineRoots = wasScan ? outcome.offlineRoots : offlineRoots.union(outcome.offlineRoots)
        // What is due already was just looked at: a little later, so that nothing spins.
        lookAgain = outcome.lookAgain.map { max($0, now + 20) }
        if outcome.didSomething {
            ProcessMemory.giveBack()
            log(
                "taken \(outcome.taken), pushed \(outcome.pushed), fetched \(outcome.fetched), applied \(outcome.applied)"
                    + (outcome.requests > 0 ? ", requests \(outcome.requests)" : ""))
        }
        schedule.note(
            didSomething: outcome.didSomething, isOffline: outcome.isContainerOffline,
            reached: outcome.hasReached,
            tookMilliseconds: now &- startedAt, now: now)
        let isSettling = outcome.lookAgain != nil
        let readAt = engine.containerReadMilliseconds
        // In place and without a barrier: all that an idle daemon writes.
        if readAt > 0 { activity.update { $0.containerAsOf = readAt } }
        let wall = engine.world.nowMilliseconds()
        if wasScan { activity.update { $0.scannedAt = startedAt } }
        let isDone = !outcome.didSomething
        mailbox.ifEmpty { [activity] in
            activity.update { record in
                record.isSettling = isSettling
                // Only when something changed.
                if record.isBusy, isDone {
                    record.isBusy = false
                    record.asOf = wall
                }
            }
        }
    }

    /// Notes a failure and waits longer each time. What the round was about is looked at again.
    private func recover(_ error: any Error, _ work: Mail, startedAt: UInt64) throws {
        if error is StoreError { throw error }
        failures += 1
        log("a round failed: \(error)")
        do {
            try engine.report(
                "roundFailed", "A round failed: \(error)",
                "It is tried again by itself. If this stays, run 'shoebox run --verbose' and report what it says.")
        } catch {
            log("that could not be noted: \(error)")
            activity.update { $0.isFailing = true }
        }
        mail.needsScan = true
        let now = engine.world.uptimeMilliseconds()
        let pause = min(UInt64(30_000), UInt64(500) << UInt64(min(failures, 6)))
        // Nothing but a signal ends this pause: what made the round fail would make it fail again.
        let end = now + pause
        while mailbox.signal == 0, engine.world.uptimeMilliseconds() < end {
            _ = poll(nil, 0, 100)
        }
    }

    private func hasRootReturned() throws -> Bool {
        if failures == 0, openedAfterFailure { try clearFailure() }
        guard !offlineRoots.isEmpty else { return false }
        for root in offlineRoots where try engine.checkRoot(root) { return true }
        return false
    }

    private var openedAfterFailure: Bool { engine.openProblems.contains { $0.hasPrefix("roundFailed|") } }
    private func clearFailure() throws { try engine.clearProblem("roundFailed") }

    /// Has folders watched anew. Until they are, some of what happens in them is told by nobody.
    private func watchAnew(_ numbers: Set<Int>) {
        unsure.formUnion(numbers)
        engine.coverage = .looking
        watcher?.watchAnew(numbers)
    }

    /// Notes whether each change in the folders is told. What is missing from one directory may otherwise be in any other one.
    private func noteSight(_ work: inout Mail) {
        unsure.formUnion(work.unsure)
        // Its own word for a look at everything may come a moment later.
        if !unsure.isDisjoint(with: work.whole) { work.needsScan = true }
        unsure.subtract(work.whole)
        engine.coverage = unsure.isEmpty ? .watched : .looking
    }

    /// Takes back that the watcher does not see everything.
    private func noteWatched(_ whole: Set<Int>) throws {
        guard !whole.isEmpty else { return }
        guard unwatched.subtracting(whole).isEmpty else { return unwatched.subtract(whole) }
        try engine.clearProblem("watcher")
        unwatched = []
        rescanAt = nil
        rewatch = (0, 60_000)
        toldProblems = []
    }

    /// Notes what keeps the watcher from seeing everything; until it does, the folders are looked at now and then.
    private func note(_ problems: [WatcherProblem]) throws {
        for problem in problems {
            if case .restarted = problem {
                log(problem.message)
                continue
            }
            unwatched.formUnion(problem.root.map { [$0] } ?? [0, 1])
            rescanAt = rescanAt ?? engine.world.uptimeMilliseconds() + 60_000
            guard !toldProblems.contains(problem) else { continue }
            log(problem.message)
            try engine.report(
                "watcher", problem.message,
                "The folders are looked at every minute until then; run 'shoebox sync' to have it done now.")
            toldProblems.insert(problem)
        }
    }

    // MARK: Watching

    /// Starts watching both folders.
    private func startWatcher() -> WatcherProcess {
        let configuration = installation.configuration
        let watcher = WatcherProcess(
            roots: [configuration.library.text, configuration.shared.text], executable: configuration.watcherPath?.text)
        let roots: [RootKind] = [.library, .shared]
        Thread.detachNewThread { [mailbox, activity] in
            while mailbox.signal == 0 {
                let report = watcher.nextDirty(timeoutMilliseconds: 3_600_000)
                if report.isEmpty { continue }
                activity.update { $0.isBusy = true }
                mailbox.post { mail in
                    for (index, directories) in report.dirty where roots.indices.contains(index) {
                        mail.dirty[roots[index], default: []].formUnion(directories)
                    }
                    for index in report.gone where roots.indices.contains(index) {
                        mail.dirty[roots[index], default: []].insert(.root)
                    }
                    if !report.rescan.isEmpty { mail.needsScan = true }
                    mail.noteSight(
                        whole: report.whole.subtracting(report.problems.compactMap(\.root)), unsure: report.unsure)
                    mail.problems += report.problems
                }
            }
        }
        return watcher
    }

    /// Watches the container too, in a process of its own, where that can show what others write: on a local file
    /// system. The thread may hang on a dead mount and hold nothing up.
    private func watchContainer() {
        let container = installation.configuration.container
        let executable = installation.configuration.watcherPath?.text
        // Another one than the engine's: that one is used by one thread.
        let mount = installation.world().mount
        Thread.detachNewThread { [mailbox] in
            let resolved =
                if let mount = mount as? ProcessMount {
                    // Where it can't be told now, what others write is found by polling.
                    (try? mount.resolvedRoot()).flatMap { AbsolutePath($0) }
                } else {
                    Installation.resolved(container)
                }
            guard let resolved, MountTable.isLocal(resolved) else { return }
            let watcher = WatcherProcess(roots: [container.appending("zones").text], executable: executable)
            while mailbox.signal == 0 {
                let report = watcher.nextDirty(timeoutMilliseconds: 3_600_000)
                if !report.dirty.isEmpty || !report.rescan.isEmpty { mailbox.post { $0.hasHint = true } }
            }
        }
    }
}
