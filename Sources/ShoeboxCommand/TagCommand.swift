import ArgumentParser
import Shoebox
import ShoeboxModel

struct TagCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "tag", abstract: "Add, remove and list tags.",
        subcommands: [Add.self, Remove.self, List.self])

    struct Add: ToolCommand {
        static let configuration = CommandConfiguration(
            abstract: "Add tags to a photo.",
            discussion: """
                Example:
                  shoebox tag add ~/Pictures/Mine/IMG_1.jpg lake swim
                """)
        @Argument(help: "The photo.") var path: String
        @Argument(help: "The tags.") var tag: [String]
        @OptionGroup var common: CommonOptions

        func execute(_ output: Output) throws -> Int32 {
            let installation = try installation()
            let path = try installation.reference(path)
            return try submit(.tag(path: path, titles: tag, isMember: true), to: installation, output)
        }
    }

    struct Remove: ToolCommand {
        static let configuration = CommandConfiguration(
            abstract: "Take tags from a photo.",
            discussion: """
                Example:
                  shoebox tag remove ~/Pictures/Mine/IMG_1.jpg swim
                """)
        @Argument(help: "The photo.") var path: String
        @Argument(help: "The tags.") var tag: [String]
        @OptionGroup var common: CommonOptions

        func execute(_ output: Output) throws -> Int32 {
            let installation = try installation()
            let path = try installation.reference(path)
            return try submit(.tag(path: path, titles: tag, isMember: false), to: installation, output)
        }
    }

    struct List: ToolCommand {
        static let configuration = CommandConfiguration(
            abstract: "List all tags, and how many photos have each.",
            discussion: """
                Example:
                  shoebox tag list
                """)
        @OptionGroup var common: CommonOptions

        func execute(_ output: Output) throws -> Int32 {
            let tags = try TreeListing(try installation()).tags()
            output.result(
                [
                    "tags": .array(
                        tags.map { .object(["title": .string($0.title), "photos": .integer(Int64($0.photos))]) })
                ], lines: tags.map { "\($0.title)  \($0.photos)" })
            return 0
        }
    }
}
