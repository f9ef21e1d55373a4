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

            Listed is what can be decided: of photos and folders that show here, and names of tags. Between two names of
            a tag, 'tag rename' decides, with the name that shows and the one that is to stay.
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
            let listing = try TreeListing(try installation())
            let conflicts = try listing.conflicts()
            // The time of a file goes with its content, and is decided with it.
            let contents = Set(conflicts.filter { $0.field == "content" }.map(\.id))
            let shown = conflicts.filter { $0.field != "modified" || !contents.contains($0.id) }
            output.result(
                ["conflicts": .array(conflicts.map { .object($0.json) })],
                lines: conflicts.isEmpty
                    ? ["no conflicts"]
                    : shown.map(\.line)
                        + (conflicts.allSatisfy { $0.tag == nil }
                            ? []
                            : [
                                "Between names of a tag, 'shoebox tag rename' decides: with the name that shows, twice, or with that and another one."
                            ]))
            try listing.noteListed(conflicts)
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
                  shoebox conflicts choose ~/Pictures/Mine/IMG_1.jpg caption --keep 4f2a91c0

                A number means the value that had it when 'shoebox conflicts' or 'show' last printed the list on this device; it is
                refused if something else was written since.
                """)

        @Argument(help: "The photo or folder.") var path: String
        @Argument(help: "The field, as the list names it.") var field: String
        @Option(
            help: ArgumentHelp(
                "'shown', the number of another value in the list, or a value's id there.", valueName: "value"))
        var keep: String
        @OptionGroup var common: CommonOptions

        private var isID: Bool { (6...8).contains(keep.utf8.count) && keep.allSatisfy(\.isHexDigit) }

        func execute(_ output: Output) throws -> Int32 {
            guard keep == "shown" || keep.utf8.count < 6 && Int(keep).map({ $0 >= 0 }) == true || isID else {
                throw ValidationError("--keep takes 'shown', a number, or the id of a value.")
            }
            let installation = try installation()
            return try submit(
                .resolveConflict(path: try installation.reference(path), field: field, choice: keep),
                to: installation, output)
        }
    }
}
