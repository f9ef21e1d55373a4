import ArgumentParser
import Shoebox

struct UndoCommand: ToolCommand {
    static let configuration = CommandConfiguration(
        commandName: "undo",
        abstract: "Take back what a transaction of the history changed, for everybody.",
        discussion: """
            Example:
              shoebox history
              shoebox undo 120

            A deleted photo comes back with its tags, a field gets the value that it had before. What somebody has changed
            since is left as it is, and said; so is what somebody else has deleted, too, and a tag that other photos are in.
            What you added goes, with what you changed in it since; its file goes to the trash. A photo whose folder was
            shared since comes back beside that folder. Undoing is a change like any other, and can be undone.
            """)

    @Argument(help: "The transaction's number in the history.") var transaction: Int64
    @OptionGroup var common: CommonOptions

    func execute(_ output: Output) throws -> Int32 {
        try submit(.undo(token: transaction), to: try installation(), output)
    }
}
