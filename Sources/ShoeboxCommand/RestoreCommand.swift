import ArgumentParser
import Shoebox

struct RestoreCommand: ToolCommand {
    static let configuration = CommandConfiguration(
        commandName: "restore",
        abstract: "Bring back the folder of a share that was deleted as a whole.",
        discussion: """
            Example:
              shoebox restore Summer

            The other answer to that question is 'shoebox share leave'.
            """)

    @Argument(help: "The share: its title or id.") var share: String
    @OptionGroup var common: CommonOptions

    func execute(_ output: Output) throws -> Int32 {
        try submit(.restoreShare(share: share), to: try installation(), output)
    }
}
