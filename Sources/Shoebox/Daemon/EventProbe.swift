import Glibc
import ShoeboxLibrary
import ShoeboxModel
import ShoeboxWorld

/// Tries out what comes as an event of what is written in a directory, by the same watcher that the daemon uses.
///
/// The kernel tells of its own machine's writes on any mount, if it lets the directory be watched at all; of other
/// machines' writes it tells nothing. Every call may hang for ever, as those of `MountProbe`.
struct EventProbe {
    /// What is tried out.
    enum Place {
        /// The cloud folder, asked for news so often.
        case cloud(Configuration.PollMilliseconds)
        /// A watched folder, as the rows and the texts call it: `library`, `shared`.
        case watched(String)
    }

    let place: Place
    /// How long an event is waited for.
    var patienceMilliseconds: UInt64 = 10_000
    /// Watches a directory.
    var makeWatcher: (String) -> any Watcher

    /// A probe with a watcher of the program at that path; nil for the one beside the running program.
    init(_ place: Place, watcherPath: String?) {
        self.place = place
        makeWatcher = { WatcherProcess(roots: [$0], executable: watcherPath) }
    }

    /// What came of files that are made in a directory.
    ///
    /// - Parameters:
    ///   - writer: the directory as the one who writes sees it.
    ///   - reader: the same directory by another client; equal to `writer` for none.
    ///   - make: makes a file of a name in it; false if it can't be made.
    func run(writer: String, reader: String, make: (String) -> Bool) -> [ProbeResult] {
        let own = watch(writer) { make("watched") }
        // By another client it is measured; by one alone the kind of the mount says it.
        let other = reader == writer ? nil : watch(reader) { make("watched-there") }
        return [ownResult(own), othersResult(own, other, reader)]
    }

    /// What became of one file.
    private enum Outcome {
        /// An event came, after so many milliseconds.
        case seen(Double)
        /// None came in time, though the directory was watched.
        case silent
        /// The directory can't be watched.
        case unwatched(String)
        /// The file can't be made.
        case unwritten(String)
    }

    private func watch(_ directory: String, _ make: () -> Bool) -> Outcome {
        let watcher = makeWatcher(directory)
        defer { watcher.stop() }
        let began = LiveWorld.uptimeMilliseconds()
        // Nothing is written before it says that it watches.
        var isReady = false
        while !isReady {
            let waited = LiveWorld.uptimeMilliseconds() &- began
            guard waited < patienceMilliseconds else { return .unwatched("the watcher does not answer") }
            let report = watcher.nextDirty(timeoutMilliseconds: Int(clamping: patienceMilliseconds - waited))
            if let problem = report.problems.first { return .unwatched(problem.message) }
            if report.gone.contains(0) { return .unwatched("the directory does not show there") }
            isReady = report.rescan.contains(0)
        }
        let written = LiveWorld.uptimeMilliseconds()
        guard make() else { return .unwritten(String(cString: strerror(errno))) }
        while true {
            let waited = LiveWorld.uptimeMilliseconds() &- written
            guard waited < patienceMilliseconds else { return .silent }
            let report = watcher.nextDirty(timeoutMilliseconds: Int(clamping: patienceMilliseconds - waited))
            guard report.dirty[0] != nil || report.rescan.contains(0) else { continue }
            return .seen(Double(LiveWorld.uptimeMilliseconds() &- written))
        }
    }

    // MARK: What it means

    private func name(_ cloud: String, _ watched: String) -> String {
        switch place {
        case .cloud: cloud
        case .watched(let folder): folder + watched
        }
    }

    private var folder: String {
        switch place {
        case .cloud: "the cloud folder"
        case .watched(let folder): "the \(folder) folder"
        }
    }

    /// When news are found without events.
    private var polling: String {
        switch place {
        case .cloud(let poll):
            "News are found by asking: every \(MountProbe.text(Double(poll.active))) while there are some, up to every \(MountProbe.text(Double(poll.idle))) when not ('pollMilliseconds')."
        case .watched:
            "They are found when all of the folder is looked at: at the start of 'shoebox run', and by 'shoebox sync', which a timer can call."
        }
    }

    private func ownResult(_ outcome: Outcome) -> ProbeResult {
        let name = name("ownEvents", "Events")
        switch outcome {
        case .seen(let milliseconds):
            return ProbeResult(
                name,
                "what this machine writes in \(folder) comes as an event after \(MountProbe.text(milliseconds))",
                value: milliseconds, unit: "milliseconds", .good)
        case .silent:
            let patience = Double(patienceMilliseconds)
            return ProbeResult(
                name, "of what this machine writes in \(folder) no event comes within \(MountProbe.text(patience))",
                value: patience, unit: "milliseconds", isMore: true, .slow, advice: polling)
        case .unwatched(let reason):
            return ProbeResult(name, "\(folder) can't be watched: \(reason)", .slow, advice: polling)
        case .unwritten(let reason):
            return ProbeResult(name, "nothing can be written in \(folder): \(reason)", .slow)
        }
    }

    private func othersResult(_ own: Outcome, _ other: Outcome?, _ reader: String) -> ProbeResult {
        let name = name("othersEvents", "OthersEvents")
        switch other {
        case .seen(let milliseconds):
            return ProbeResult(
                name,
                "what another client writes in \(folder) comes as an event after \(MountProbe.text(milliseconds))",
                value: milliseconds, unit: "milliseconds", .good)
        case .silent:
            let patience = Double(patienceMilliseconds)
            return ProbeResult(
                name,
                "of what another client writes in \(folder) no event comes within \(MountProbe.text(patience))",
                value: patience, unit: "milliseconds", isMore: true, .note, advice: polling)
        case .unwatched(let reason), .unwritten(let reason):
            return ProbeResult(name, "it can't be tried: \(reason)", .note, advice: polling)
        case nil: break
        }
        let mount = AbsolutePath(reader).flatMap(Installation.resolved).flatMap(MountTable.entry(of:))
        guard let mount, mount.isLocal else {
            let kind = mount.map { ", which is mounted by '\($0.type)'" } ?? ""
            let isWatched = if case .watched = place { true } else { false }
            return ProbeResult(
                name, "no event tells of what other machines write in \(folder)\(kind)", isWatched ? .slow : .note,
                advice: polling)
        }
        guard case .seen = own else {
            return ProbeResult(
                name, "what other accounts of this machine write in \(folder) does not come as an event", .slow,
                advice: polling)
        }
        return ProbeResult(
            name,
            "what other accounts of this machine write in \(folder) comes as an event, too; no other machine writes on '\(mount.type)'",
            .good)
    }
}
