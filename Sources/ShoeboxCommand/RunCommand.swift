import ArgumentParser
import Shoebox
import ShoeboxWorld

struct RunCommand: ToolCommand {
    static let configuration = CommandConfiguration(
        commandName: "run",
        abstract: "Keep folders and container in step until told to stop.",
        discussion: """
            Example:
              shoebox run &

            Stops at SIGTERM or SIGINT within five seconds. What happens is logged to standard error.
            """)

    @Flag(name: .shortAndLong, help: "Log every step.") var verbose = false
    @OptionGroup var common: CommonOptions

    func execute(_ output: Output) throws -> Int32 {
        let isQuiet = common.quiet
        let daemon = try Daemon(try installation(), isVerbose: verbose) { line in
            if isQuiet { return }
            let time = StatusText.rfc3339(LiveWorld.nowMilliseconds())
            Output.write(Array("\(time) \(line.printable)\n".utf8), to: 2)
        }
        _ = try daemon.run()
        return 0
    }
}
