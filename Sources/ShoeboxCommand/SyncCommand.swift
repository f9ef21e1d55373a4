import ArgumentParser
import Shoebox
import ShoeboxModel

struct SyncCommand: ToolCommand {
    static let configuration = CommandConfiguration(
        commandName: "sync",
        abstract: "Take everything in, send it out, bring the folders up to date; end when nothing is pending.",
        discussion: """
            Example:
              shoebox sync && echo everything is there

            With a daemon running, the daemon does it. Exit code 3: something needs you, or is pending still.
            """)

    @Flag(help: "Let deletions go on that were held back because they were so many.") var confirmDeletions = false
    @OptionGroup var common: CommonOptions

    func execute(_ output: Output) throws -> Int32 {
        let client = try RequestClient(try installation())
        if confirmDeletions {
            let reply = try client.submit(.confirmDeletions)
            if reply.code != 0 { return output.print(reply) }
        }
        let report = try client.synchronize()
        output.result(report.json, lines: report.lines)
        return switch report.state {
        case .inSync: 0
        case .offline: ExitCode.offline
        case .pending, .attention: ExitCode.reported
        }
    }
}
