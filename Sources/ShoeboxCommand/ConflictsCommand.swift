import ArgumentParser
import Shoebox
import ShoeboxModel

struct ConflictsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "conflicts", abstract: "List values that two people wrote at once, and decide between them.",
        discussion: """
            Example:
              shoebox conflicts
              shoebox conflicts choose ~/Pictures/Mine/IMG_1.jpg caption --keep 1
            """,
        subcommands: [List.self, Choose.self], defaultSubcommand: List.self)

    struct List: ToolCommand {
        static let configuration = CommandConfiguration(
            abstract: "List values that two people wrote at once; one shows, the other is kept.",
            discussion: """
                Example:
                  shoebox conflicts
                """)

        @OptionGroup var common: CommonOptions

        func execute(_ output: Output) throws -> Int32 {
            let conflicts = try TreeListing(try installation()).conflicts()
            // The time of a file goes with its content, and is decided with it.
            let contents = Set(conflicts.filter { $0.field == "content" }.map(\.id))
            let shown = conflicts.filter { $0.field != "modified" || !contents.contains($0.id) }
            output.result(
                ["conflicts": .array(conflicts.map { .object($0.json) })],
                lines: conflicts.isEmpty
                    ? ["no conflicts"]
                    : shown.map(\.line)
                        + (contents.isEmpty
                            ? [] : ["The other content of a photo lies beside it, as '… (conflict …)'."]))
            return 0
        }
    }

    struct Choose: ToolCommand {
        static let configuration = CommandConfiguration(
            abstract: "Keep one of the values, for everybody.",
            discussion: """
                Example:
                  shoebox conflicts choose ~/Pictures/Mine/IMG_1.jpg caption --keep shown
                  shoebox conflicts choose ~/Pictures/Mine/IMG_1.jpg caption --keep 1
                """)

        @Argument(help: "The photo or folder.") var path: String
        @Argument(help: "The field, as the list names it.") var field: String
        @Option(help: ArgumentHelp("'shown', or the number of another value in the list.", valueName: "value"))
        var keep: String
        @OptionGroup var common: CommonOptions

        func execute(_ output: Output) throws -> Int32 {
            guard let choice = keep == "shown" ? 0 : Int(keep), choice >= 0 else {
                throw ValidationError("--keep takes 'shown' or a number.")
            }
            let installation = try installation()
            return try submit(
                .resolveConflict(path: try installation.reference(path), field: field, choice: choice),
                to: installation, output)
        }
    }
}
