import ArgumentParser
import Glibc
import ShoeboxWorld

/// The command line. What it prints and its exit codes are a contract, see `Documentation/CommandLine.md`.
@main
struct ShoeboxTool: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "shoebox",
        abstract: "Shares photos through any folder that several people can reach.",
        discussion: """
            Example:
              shoebox init --account alice --container /mnt/photos --library ~/Pictures/Mine --shared ~/Pictures/Shared
              shoebox run &
              shoebox share create ~/Pictures/Mine/Lake --title Summer
              shoebox share invite Summer bob

            Exit codes: 0 done, 1 failed, 3 done except for what is reported, 10 no such share or path, 11 busy,
            12 not permitted, 13 offline, 64 wrong usage.
            """,
        version: "0.1.0",
        subcommands: [
            InitCommand.self, RunCommand.self, SyncCommand.self, StatusCommand.self, ListCommand.self,
            ShowCommand.self, ShareCommand.self, AcceptCommand.self, DeclineCommand.self, TagCommand.self,
            RateCommand.self,
            CaptionCommand.self, HistoryCommand.self, ConflictsCommand.self, TrashCommand.self, RestoreCommand.self,
            AccountCommand.self, DeviceCommand.self, InspectCommand.self, VerifyCommand.self, DoctorCommand.self,
            UndoCommand.self, CompactCommand.self,
        ])

    static func main() {
        // Before anything else: such a process is to hold nothing.
        if MountHelper.isThisProcess { MountHelper.serve() }
        ProcessMemory.keepFreed()
        do {
            var command = try parseAsRoot()
            try command.run()
        } catch {
            if let hint = hint(for: message(for: error)) {
                Output.write(Array("hint: \(hint)\n".utf8), to: STDERR_FILENO)
            }
            exit(withError: error)
        }
    }

    /// What to do now where the parser's message doesn't say it: a caption, a tag or a name may begin as options do.
    private static func hint(for message: String) -> String? {
        guard message.hasPrefix("Unknown option '") || message.hasPrefix("Missing expected argument"),
            CommandLine.arguments.dropFirst().contains(where: { $0.hasPrefix("-") })
        else { return nil }
        return
            "What begins with '-' and is no option comes after '--', as in: shoebox caption IMG_1.jpg -- '-20 degrees'"
    }
}
