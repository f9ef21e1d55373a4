import ArgumentParser
import Shoebox
import ShoeboxModel
import ShoeboxWorld

struct DoctorCommand: ToolCommand {
    static let configuration = CommandConfiguration(
        commandName: "doctor",
        abstract: "Measure the mount that the cloud folder is on, and say what to expect and what to change.",
        discussion: """
            Example:
              shoebox doctor
              shoebox doctor /mnt/photos --second /mnt/other-client/photos

            Without a directory, the cloud folder of the configuration. With --second, another mount point of the same
            server, it measures how soon one client sees what another one writes; without it, only this machine's own
            view. Writes into a directory of its own there and removes it. Exit code 3: a container does not work there.
            """)

    @Argument(help: "The directory to try out.") var directory: String?
    @Option(help: ArgumentHelp("The same directory by another client.", valueName: "directory")) var second: String?
    @Option(help: ArgumentHelp("How long all of it may take.", valueName: "seconds")) var deadline: Int = 180
    @Option(help: ArgumentHelp("How long news are waited for.", valueName: "seconds")) var patience: Int = 10
    @Option(help: ArgumentHelp("How much is written to measure the speed.", valueName: "megabytes"))
    var megabytes: Int = 32
    @Flag(help: .hidden) var probe = false
    @Flag(help: .hidden) var probeWatched = false
    @OptionGroup var common: CommonOptions

    func validate() throws {
        guard (1...86_400).contains(deadline), (1...3_600).contains(patience), (1...100_000).contains(megabytes) else {
            throw ValidationError("--deadline takes 1 to 86400, --patience 1 to 3600, --megabytes 1 to 100000.")
        }
    }

    func execute(_ output: Output) throws -> Int32 {
        let known = directory == nil ? try installation() : try? installation()
        let path = directory ?? known?.configuration.container.text ?? "."
        var doctor = Doctor(directory: path, second: second)
        doctor.deadlineMilliseconds = UInt64(deadline) * 1_000
        doctor.patienceMilliseconds = UInt64(patience) * 1_000
        doctor.megabytes = megabytes
        if let known {
            doctor.poll = known.configuration.pollMilliseconds
            doctor.watcherPath = known.configuration.watcherPath?.text
        }
        if probe {
            doctor.probe()
            return 0
        }
        if probeWatched, let known {
            doctor.probeWatched(library: known.configuration.library.text, shared: known.configuration.shared.text)
            return 0
        }
        output.remark("trying out \(path), which may take some minutes …")
        var arguments = ["--patience", String(patience), "--megabytes", String(megabytes)]
        if let config = common.config { arguments += ["--config", config] }
        let other = second.map { ["--second", $0] } ?? []
        var findings = try doctor.run(
            executable: "/proc/self/exe", arguments: ["doctor", path, "--probe"] + arguments + other)
        if known != nil {
            // Another process: these folders are looked at, too, when the cloud folder's mount hangs.
            let watched = try doctor.run(
                executable: "/proc/self/exe", arguments: ["doctor", "--probe-watched"] + arguments)
            findings.results += watched.results
            findings.hung = findings.hung ?? watched.hung
        }
        var lines = findings.lines
        var object = findings.json
        // How long news take: what was added to a file is read, and the next time that somebody asks.
        if let news = findings.results.first(where: { $0.name == "appendFreshness" && $0.value != nil }) {
            let milliseconds = Int((news.value ?? 0).rounded()) + doctor.poll.active
            object["expectedLatencyMilliseconds"] = .integer(Int64(milliseconds))
            object["expectedLatencyIsMore"] = .bool(news.isMore)
            let seconds = max(1, (milliseconds + 999) / 1_000)
            lines.append(
                (news.isMore
                    ? "Others see what you change after more than \(seconds) s; --patience waits longer"
                    : "Others see what you change within about \(seconds) s")
                    + (second == nil ? ", as far as one client can tell; --second measures it." : "."))
        }
        output.result(object, lines: lines)
        if findings.hung != nil { return ExitCode.offline }
        return findings.isGood ? 0 : ExitCode.reported
    }
}
