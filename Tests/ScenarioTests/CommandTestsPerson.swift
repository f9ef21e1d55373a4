import Foundation
import ShoeboxModel
import Testing

/// What a command printed, and how it ended.
struct CommandResult {
    var code: Int32
    var output: String
    var errors: String

    /// The printed JSON object; empty if it is none.
    var json: JSONObject { (try? JSONText.parse(output))?.object ?? [:] }
}

/// A temporary directory in which people share one container; removed when released.
final class CommandPlace {
    let path: String

    init() throws {
        path = NSTemporaryDirectory() + "shoebox-command-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: path + "/cloud", withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    /// Somebody who was set up here.
    func person(_ name: String) throws -> CommandPerson {
        let person = CommandPerson(name: name, place: self)
        let result = try person.initialize()
        #expect(result.code == 0, "\(result.errors)")
        return person
    }
}

/// One account with its own folders and its own state, used by starting the built executable.
final class CommandPerson {
    let name: String
    let place: CommandPlace
    private(set) var daemons: [Process] = []

    init(name: String, place: CommandPlace) {
        self.name = name
        self.place = place
    }

    deinit {
        for daemon in daemons where daemon.isRunning {
            kill(daemon.processIdentifier, SIGKILL)
            daemon.waitUntilExit()
        }
    }

    var home: String { "\(place.path)/\(name)" }
    var library: String { home + "/library" }
    var shared: String { home + "/shared" }
    var container: String { place.path + "/cloud" }
    var config: String { home + "/config.json" }

    func initialize(_ more: [String] = []) throws -> CommandResult {
        try run(
            ["init", "--account", name, "--container", container, "--library", library, "--shared", shared] + more)
    }

    /// The executable beside the running tests.
    static func executable() throws -> String {
        let tests = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        let built = (tests as NSString).deletingLastPathComponent + "/shoebox"
        return try #require(FileManager.default.isExecutableFile(atPath: built) ? built : nil, "no \(built)")
    }

    private func process(_ arguments: [String]) throws -> Process {
        try FileManager.default.createDirectory(atPath: home, withIntermediateDirectories: true)
        let process = Process()
        process.executableURL = URL(fileURLWithPath: try Self.executable())
        process.arguments = arguments
        var environment = ProcessInfo.processInfo.environment
        environment["SHOEBOX_CONFIG"] = config
        environment["XDG_STATE_HOME"] = home + "/state"
        process.environment = environment
        process.currentDirectoryURL = URL(fileURLWithPath: home)
        process.standardInput = FileHandle.nullDevice
        return process
    }

    /// Runs a command to its end.
    func run(_ arguments: [String]) throws -> CommandResult {
        let process = try process(arguments)
        // Files and not pipes, which fill up.
        let files = ["out", "err"].map { "\(home)/\($0)-\(UUID().uuidString)" }
        defer { for file in files { try? FileManager.default.removeItem(atPath: file) } }
        for file in files { _ = FileManager.default.createFile(atPath: file, contents: nil) }
        process.standardOutput = FileHandle(forWritingAtPath: files[0])
        process.standardError = FileHandle(forWritingAtPath: files[1])
        try process.run()
        process.waitUntilExit()
        let texts = files.map { String(decoding: FileManager.default.contents(atPath: $0) ?? Data(), as: UTF8.self) }
        return CommandResult(code: process.terminationStatus, output: texts[0], errors: texts[1])
    }

    /// Runs a command that must succeed.
    @discardableResult
    func must(_ arguments: String...) throws -> CommandResult {
        let result = try run(arguments)
        #expect(result.code == 0, "\(name): \(arguments.joined(separator: " ")): \(result.errors)")
        return result
    }

    /// Starts the daemon and waits until it answers.
    func startDaemon() throws -> Process {
        let daemon = try process(["run"])
        let log = home + "/daemon.log"
        if !FileManager.default.fileExists(atPath: log) {
            _ = FileManager.default.createFile(atPath: log, contents: nil)
        }
        let handle = FileHandle(forWritingAtPath: log)
        handle?.seekToEndOfFile()
        daemon.standardError = handle
        daemon.standardOutput = FileHandle.nullDevice
        try daemon.run()
        daemons.append(daemon)
        try wait("the daemon answers") {
            try status()["daemon"]?.integer == Int64(daemon.processIdentifier)
        }
        return daemon
    }

    func status() throws -> JSONObject { try run(["status", "--json"]).json }

    /// Asks again until something is so; fails after three minutes: a daemon that works has answered by then on any machine.
    func wait(_ what: String, sourceLocation: SourceLocation = #_sourceLocation, _ check: () throws -> Bool) throws {
        let end = ContinuousClock.now + .seconds(180)
        while try !check() {
            guard ContinuousClock.now < end else {
                let log = FileManager.default.contents(atPath: home + "/daemon.log") ?? Data()
                Issue.record(
                    "not within 180 s: \(what)\n\(String(decoding: log, as: UTF8.self))", sourceLocation: sourceLocation
                )
                return
            }
            usleep(20_000)
        }
    }

    /// Drops a file, finished half a minute ago.
    func drop(_ text: String, at path: String) throws {
        try FileManager.default.createDirectory(
            atPath: (path as NSString).deletingLastPathComponent, withIntermediateDirectories: true)
        try Data(text.utf8).write(to: URL(fileURLWithPath: path))
        try FileManager.default.setAttributes([.modificationDate: Date(timeIntervalSinceNow: -30)], ofItemAtPath: path)
    }

    /// What the container has of segments: no number of a replica twice.
    func expectNoNumberTwice(sourceLocation: SourceLocation = #_sourceLocation) throws {
        let all = FileManager.default.enumerator(atPath: container)?.compactMap { $0 as? String } ?? []
        let segments = all.filter { $0.contains("/log/") && $0.split(separator: "/").count == 5 }
        let numbers = segments.map { String($0.prefix { $0 != "-" }) }
        #expect(
            !numbers.isEmpty && Set(numbers).count == numbers.count, "\(segments)", sourceLocation: sourceLocation)
    }

    func text(_ path: String) -> String? {
        FileManager.default.contents(atPath: path).map { String(decoding: $0, as: UTF8.self) }
    }
}
