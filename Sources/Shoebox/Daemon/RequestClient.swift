import Glibc
import ShoeboxModel
import ShoeboxStore
import ShoeboxWorld

/// Has requests done: by this process, if nobody runs the engine, else by the daemon.
public struct RequestClient {
    private let installation: Installation
    private let store: Store

    /// A client for an account that was set up.
    public init(_ installation: Installation) throws {
        self.installation = installation
        store = try installation.openStore()
    }

    /// How long a file that is there but not known yet is waited for.
    private static let settleMilliseconds: UInt64 = 5_000

    /// Has a request done and returns the reply.
    ///
    /// - Throws: `RequestError` with `ExitCode.busy` when whoever runs the engine does not answer in time.
    public func submit(_ request: Request, timeoutMilliseconds: UInt64 = 120_000) throws -> Reply {
        let start = LiveWorld.uptimeMilliseconds()
        while true {
            let reply = try submitOnce(request, deadline: start + timeoutMilliseconds)
            // What was dropped a moment ago is taken a moment later: no reason to make a person try again.
            guard reply.code == ExitCode.notFound || reply.code == ExitCode.busy,
                LiveWorld.uptimeMilliseconds() - start < Self.settleMilliseconds,
                areThere(request.paths)
            else { return reply }
            _ = poll(nil, 0, 50)
        }
    }

    private func submitOnce(_ request: Request, deadline: UInt64) throws -> Reply {
        let body = try request.encoded()
        let id = try store.write { db in try db.addRequest(body, nowMilliseconds: LiveWorld.nowMilliseconds()) }
        var rung: UInt64 = 0
        while true {
            if let text = try store.read({ db in try db.requestResult(id) }) { return try Reply(decoding: text) }
            if let lock = try LibraryLock.attempt(installation.state) {
                defer { lock.release() }
                return try runHere(request, id: id)
            }
            let now = LiveWorld.uptimeMilliseconds()
            guard now < deadline else { throw timeout() }
            // Again now and then: the daemon may have just been started.
            if now >= rung + 500 {
                _ = Doorbell.ring(installation.state, .request)
                rung = now
            }
            _ = poll(nil, 0, 5)
        }
    }

    private func runHere(_ request: Request, id: Int64) throws -> Reply {
        let engine = try installation.makeEngine(store)
        engine.coverage = .passing
        let activity = Activity(installation.state, isDaemon: false)
        try engine.compareState()
        // Files that were dropped a moment ago are taken first: they may be what the request is about.
        let start = LiveWorld.uptimeMilliseconds()
        while !request.paths.isEmpty {
            let outcome = try engine.round(engine.extent(toTell: request.paths), reachesContainer: false)
            let now = LiveWorld.uptimeMilliseconds()
            guard let again = outcome.lookAgain, again < now + 1_000, now < start + Self.settleMilliseconds else {
                break
            }
            _ = poll(nil, 0, again > now ? Int32(clamping: again - now) : 20)
        }
        _ = try engine.performRequests()
        try Synchronizer(engine: engine, activity: activity).finishRequest()
        guard let text = try store.read({ db in try db.requestResult(id) }) else {
            throw RequestError(
                ExitCode.failed, "The request was done, but its answer was lost.",
                "Run 'shoebox status' to see what came of it.")
        }
        return try Reply(decoding: text)
    }

    /// Takes everything in, sends everything out and brings the folders up to date; returns when nothing is pending or
    /// nothing more can be done now.
    public func synchronize(timeoutMilliseconds: UInt64 = 3_600_000) throws -> StatusReport {
        let start = LiveWorld.uptimeMilliseconds()
        var rung: UInt64 = 0
        var quietSince: UInt64?
        var movedAt = start
        var counts: PendingCounts?
        while true {
            if let lock = try LibraryLock.attempt(installation.state) {
                defer { lock.release() }
                let engine = try installation.makeEngine(store)
                try Synchronizer(engine: engine, activity: Activity(installation.state, isDaemon: false)).run()
                return try StatusReport(reading: engine, state: installation.state, assumesDaemon: false)
            }
            let now = LiveWorld.uptimeMilliseconds()
            guard now - start < timeoutMilliseconds else { throw timeout() }
            let activity = Activity.read(installation.state)
            if let activity, activity.scannedAt >= start {
                let report = try StatusReport(installation)
                if report.state == .inSync || report.state == .offline { return report }
                // What needs a person does not get better by waiting; what is pending may.
                if report.isSettled { quietSince = quietSince ?? now } else { quietSince = nil }
                // While what is pending gets less, there is more to wait for.
                if counts != report.pending {
                    (counts, movedAt) = (report.pending, now)
                    quietSince = quietSince.map { _ in now }
                }
                if now - movedAt > Synchronizer.waitMilliseconds { return report }
                if let quietSince, now - quietSince > (report.pending.push > 0 ? 3_000 : 1_000) { return report }
                _ = poll(nil, 0, 50)
            } else {
                // What keeps it from storing anything, as a full disk does, is found by trying.
                if activity?.isFailing == true { try store.write { db in try db.setMetaText("tried", String(now)) } }
                if now >= rung + 500 {
                    _ = Doorbell.ring(installation.state, .scan)
                    rung = now
                }
                _ = poll(nil, 0, activity?.isFailing == true ? 500 : 10)
            }
        }
    }

    private func areThere(_ references: [PathReference]) -> Bool {
        !references.isEmpty
            && references.allSatisfy { reference in
                guard let path = reference.path else { return false }
                let root =
                    reference.root == .library ? installation.configuration.library : installation.configuration.shared
                var status = stat()
                return lstat(root.text + "/" + String(decoding: path.bytes, as: UTF8.self), &status) == 0
            }
    }

    private func timeout() -> RequestError {
        let holder = LibraryLock.holder(of: installation.state)
        return RequestError(
            ExitCode.busy,
            "The shoebox that is running"
                + (holder.map { $0 > 0 ? ", process \($0)," : "" } ?? "") + " did not answer in time.",
            "It does what was asked when it can; 'shoebox status' shows what it is waiting for.")
    }
}

extension Request {
    /// The files and folders that the request names.
    var paths: [PathReference] {
        switch self {
        case .shareCreate(let paths, _, _, _, _), .shareAdd(_, let paths), .shareRemove(_, let paths): paths
        case .tag(let path, _, _), .rate(let path, _), .caption(let path, _): [path]
        default: []
        }
    }
}
