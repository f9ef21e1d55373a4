import Foundation
import Glibc
public import ShoeboxModel
public import ShoeboxWorld

/// Measures the mount that a container lies on, from a process of its own that is left behind when the mount hangs, and
/// what this machine gives to the watcher.
public struct Doctor {
    /// The directory to try out.
    public var directory: String
    /// The same directory by another client; nil for the same path.
    public var second: String?
    /// How long all of it may take.
    public var deadlineMilliseconds: UInt64 = 180_000
    /// How long news are waited for.
    public var patienceMilliseconds: UInt64 = 10_000
    /// How much is written to measure the speed.
    public var megabytes = 32
    /// How often the container is asked for news.
    public var poll = Configuration.PollMilliseconds()
    /// The program that watches; nil for the one beside the running program.
    public var watcherPath: String?

    /// An examination of a directory.
    public init(directory: String, second: String? = nil) {
        self.directory = directory
        self.second = second
    }

    /// What was found.
    public struct Findings: Sendable {
        /// The results, in the order of the steps.
        public var results: [ProbeResult] = []
        /// The step that did not end in time; nil if all did.
        public var hung: String?
        /// Whether a container works there.
        public var isGood: Bool { hung == nil && !results.contains { $0.verdict == .bad } }

        /// As `--json` prints it.
        public var json: JSONObject {
            [
                "results": .array(
                    results.map { result in
                        .object([
                            "name": .string(result.name), "text": .string(result.text),
                            "value": result.value.map { .number(JSONNumber(UInt64(max(0, $0.rounded())))) } ?? .null,
                            "unit": .string(result.unit), "isMore": .bool(result.isMore),
                            "verdict": .string(result.verdict.rawValue),
                            "advice": .string(result.advice),
                        ])
                    }), "hung": hung.map(JSONValue.string) ?? .null, "isGood": .bool(isGood),
            ]
        }

        /// As a person reads it.
        public var lines: [String] {
            var lines: [String] = []
            for result in results {
                let mark =
                    switch result.verdict {
                    case .good: "ok  "
                    case .slow: "slow"
                    case .bad: "BAD "
                    case .note: "note"
                    }
                lines.append("\(mark)  \(result.text)")
                if !result.advice.isEmpty { lines.append("      hint: \(result.advice)") }
            }
            if let hung { lines.append("BAD   '\(hung)' did not end in time: the mount hangs") }
            return lines
        }
    }

    /// A message of the process that does it.
    private enum Message: Codable {
        case begin(String)
        case result(ProbeResult)
        case end
    }

    /// What the process that is started for it does: prints one line for each step and result.
    public func probe() {
        var probe = MountProbe(writer: directory, reader: second)
        probe.patienceMilliseconds = patienceMilliseconds
        probe.bytes = max(1, megabytes) << 20
        let events = eventProbe(.cloud(poll))
        probe.events = { events.run(writer: $0, reader: $1, make: $2) }
        probe.run(begin: { say(.begin($0)) }, report: { say(.result($0)) })
        say(.end)
    }

    /// As `probe`, for the watched folders: how many directories they have, and what comes as an event there.
    public func probeWatched(library: String, shared: String) {
        say(.begin("inotify"))
        for result in Self.inotify(roots: [library, shared]) { say(.result(result)) }
        for (name, root) in [("library", library), ("shared", shared)] {
            say(.begin(name + "Events"))
            for result in events(of: name, root) { say(.result(result)) }
        }
        say(.end)
    }

    /// What comes as an event of a file that is made in a watched folder: in a directory of its own among our temporary
    /// files, where no scan looks.
    private func events(of name: String, _ root: String) -> [ProbeResult] {
        let directory = root + "/.shoebox/tmp/doctor-" + String(UInt64.random(in: .min ... .max), radix: 16)
        if mkdir(root + "/.shoebox/tmp", 0o700) != 0, errno == ENOENT {
            return [
                ProbeResult(
                    name + "Events", "the \(name) folder is not there: '\(root)'", .slow,
                    advice: "Check that it is mounted.")
            ]
        }
        guard mkdir(directory, 0o700) == 0 else {
            return [
                ProbeResult(
                    name + "Events",
                    "nothing can be written in the \(name) folder: \(String(cString: strerror(errno)))", .slow,
                    advice: "Check its rights and its room: what other devices change can't be written there either.")
            ]
        }
        var made: [String] = []
        defer {
            // What can't be removed here can't be removed at all; it is nobody's photo.
            for path in made { _ = unlink(path) }
            _ = rmdir(directory)
        }
        return eventProbe(.watched(name)).run(writer: directory, reader: directory) { file in
            let path = directory + "/" + file
            let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
            guard descriptor >= 0 else { return false }
            made.append(path)
            return close(descriptor) == 0
        }
    }

    private func eventProbe(_ place: EventProbe.Place) -> EventProbe {
        var probe = EventProbe(place, watcherPath: watcherPath)
        probe.patienceMilliseconds = patienceMilliseconds
        return probe
    }

    /// Says something to the process that started this one.
    private func say(_ message: Message) {
        // Texts and finite numbers: nothing in a message can't be encoded.
        guard let line = try? JSONEncoder().encode(message) else { return }
        FileHandle.standardOutput.write(line + Data("\n".utf8))
    }

    /// Starts the process that probes, and gathers what it says until the time is up.
    ///
    /// - Parameter executable: this program; it is called with `arguments`.
    public func run(executable: String, arguments: [String]) throws -> Findings {
        var findings = Findings()
        let process = Process()
        process.executableURL = URL(fileURLWithPath: executable)
        process.arguments = arguments
        let pipe = Pipe()
        process.standardOutput = pipe
        process.standardError = FileHandle.nullDevice
        process.standardInput = FileHandle.nullDevice
        // The process may never end; nothing of it is waited for.
        try process.run()
        // A process that is left behind must not keep the end of the pipe open for itself alone. Where closing fails, the
        // deadline ends the wait instead.
        try? pipe.fileHandleForWriting.close()
        let file = pipe.fileHandleForReading.fileDescriptor
        let end = LiveWorld.uptimeMilliseconds() + deadlineMilliseconds
        var text: [UInt8] = []
        var step: String? = "start"
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            let now = LiveWorld.uptimeMilliseconds()
            guard now < end else { break }
            var wanted = pollfd(fd: file, events: Int16(POLLIN), revents: 0)
            guard Glibc.poll(&wanted, 1, Int32(clamping: end - now)) > 0 else { continue }
            let count = read(file, &buffer, buffer.count)
            if count <= 0 { break }
            text += buffer.prefix(count)
            while let line = text.firstIndex(of: UInt8(ascii: "\n")) {
                // A line that is none of ours says nothing; a step that it should have told of counts as unfinished.
                if let message = try? JSONDecoder().decode(Message.self, from: Data(text[..<line])) {
                    switch message {
                    case .begin(let name): step = name
                    case .result(let result): findings.results.append(result)
                    case .end: step = nil
                    }
                }
                text.removeSubrange(...line)
            }
            if step == nil { break }
        }
        findings.hung = step
        if step != nil { kill(process.processIdentifier, SIGKILL) }
        return findings
    }
}

extension Doctor {
    /// What the kernel gives to the watcher, against how many directories there are.
    ///
    /// - Parameter roots: the watched folders.
    public static func inotify(roots: [String]) -> [ProbeResult] {
        func limit(_ name: String) -> Int? {
            let path = "/proc/sys/fs/inotify/" + name
            guard let data = FileManager.default.contents(atPath: path) else { return nil }
            return Int(String(decoding: data, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines))
        }
        guard let watches = limit("max_user_watches"), let instances = limit("max_user_instances") else {
            return [
                ProbeResult(
                    "inotify", "this kernel has no inotify", .slow,
                    advice: "Changes are found by looking, once a minute.")
            ]
        }
        var directories = 0
        for root in roots {
            let found = FileManager.default.enumerator(
                at: URL(fileURLWithPath: root), includingPropertiesForKeys: [.isDirectoryKey])
            while directories < 200_000, let url = found?.nextObject() as? URL {
                // Gone since it was listed: one less to watch.
                if (try? url.resourceValues(forKeys: [.isDirectoryKey]).isDirectory) == true { directories += 1 }
            }
        }
        let isEnough = directories * 2 < watches
        return [
            ProbeResult(
                "inotify",
                "\(directories) directories are watched; the user may watch \(watches), by \(instances) programs",
                value: Double(watches), unit: "watches", isEnough ? .good : .slow,
                advice: isEnough
                    ? ""
                    : "Raise it: 'sysctl fs.inotify.max_user_watches=\(max(524_288, directories * 4))', and in /etc/sysctl.d for good."
            )
        ]
    }
}
