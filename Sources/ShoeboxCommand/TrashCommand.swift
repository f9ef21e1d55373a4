import ArgumentParser
import Shoebox
import ShoeboxModel

struct TrashCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "trash", abstract: "List what was removed, and bring it back.",
        subcommands: [List.self, Restore.self])

    struct List: ToolCommand {
        static let configuration = CommandConfiguration(
            abstract: "List what is in the trash.",
            discussion: """
                Example:
                  shoebox trash list
                """)
        @OptionGroup var common: CommonOptions

        func execute(_ output: Output) throws -> Int32 {
            let entries = try Trash(try installation()).entries()
            output.result(
                ["entries": .array(entries.map { .object($0.json) })],
                lines: entries.isEmpty
                    ? ["the trash is empty"]
                    : entries.map(\.line))
            return 0
        }
    }

    struct Restore: ToolCommand {
        static let configuration = CommandConfiguration(
            abstract: "Put back the newest thing that was at a path.",
            discussion: """
                Example:
                  shoebox trash restore ~/Pictures/Mine/IMG_1.jpg
                """)
        @Argument(help: "Where it was.") var path: String
        @OptionGroup var common: CommonOptions

        func execute(_ output: Output) throws -> Int32 {
            let installation = try installation()
            try Trash(installation).restore(try installation.reference(path))
            output.result(["restored": .string(path)], lines: ["'\(path)' is back."])
            return 0
        }
    }
}
