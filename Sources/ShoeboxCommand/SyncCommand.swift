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
    @Flag(help: "Bring back from the container what is gone where deletions were held back.")
    var rejectDeletions = false
    @OptionGroup var common: CommonOptions

    func validate() throws {
        guard !confirmDeletions || !rejectDeletions else {
            throw ValidationError("--confirm-deletions and --reject-deletions exclude each other.")
        }
    }

    func execute(_ output: Output) throws -> Int32 {
        let client = try RequestClient(try installation())
        if confirmDeletions || rejectDeletions {
            let reply = try client.submit(confirmDeletions ? .confirmDeletions : .rejectDeletions)
            if reply.code != 0 { return output.print(reply) }
            for line in reply.lines { output.remark(line) }
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
