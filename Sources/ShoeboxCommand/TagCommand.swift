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
            try setTags(tag, on: path, isMember: true, output)
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
            try setTags(tag, on: path, isMember: false, output)
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

extension ToolCommand {
    /// Adds tags to a photo, or takes them from it.
    fileprivate func setTags(_ titles: [String], on path: String, isMember: Bool, _ output: Output) throws -> Int32 {
        let installation = try installation()
        let reference = try installation.reference(path)
        return try submit(.tag(path: reference, titles: titles, isMember: isMember), to: installation, output)
    }
}
