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
    @Flag(
        help:
            "Go on with a watched folder that is another directory than it was, as from a backup: what it lacks comes back."
    )
    var acceptFolder = false
    @OptionGroup var common: CommonOptions

    func validate() throws {
        guard [confirmDeletions, rejectDeletions, acceptFolder].count(where: { $0 }) < 2 else {
            throw ValidationError("--confirm-deletions, --reject-deletions and --accept-folder exclude each other.")
        }
    }

    private var word: Request? {
        if acceptFolder { return .acceptFolders }
        return confirmDeletions ? .confirmDeletions : rejectDeletions ? .rejectDeletions : nil
    }

    func execute(_ output: Output) throws -> Int32 {
        let client = try RequestClient(try installation())
        if let word {
            let reply = try client.submit(word)
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
