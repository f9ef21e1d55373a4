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
            abstract: "Put back the newest of what was at a path, or below it.",
            discussion: """
                Example:
                  shoebox trash restore ~/Pictures/Mine/IMG_1.jpg
                  shoebox trash restore --all

                What others deleted is back for everybody, with its tags. What went to the trash before its folder was in
                a share is not shown to the people of the share: it comes back beside the folder, or, as a new photo of
                the share, only if the file itself is named.
                """)
        @Argument(help: "Where it was: files or folders.") var path: [String] = []
        @Flag(help: "Everything that is in the trash.") var all = false
        @OptionGroup var common: CommonOptions

        func validate() throws {
            guard path.isEmpty == all else { throw ValidationError("Give paths, or --all.") }
        }

        func execute(_ output: Output) throws -> Int32 {
            let installation = try installation()
            let paths = try path.map(installation.reference)
            return try submit(.restoreTrash(paths: paths), to: installation, output)
        }
    }
}
