import ArgumentParser
import Shoebox
import ShoeboxModel

struct TagCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "tag", abstract: "Add, remove, list, rename and delete tags.",
        subcommands: [Add.self, Remove.self, List.self, Rename.self, Delete.self])

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
                        tags.map { tag in
                            .object([
                                "title": .string(tag.title), "photos": .integer(Int64(tag.photos)),
                                "library": .bool(tag.places.contains("")),
                                "shares": .array(tag.places.filter { !$0.isEmpty }.map(JSONValue.string)),
                            ])
                        })
                ], lines: tags.map { "\($0.title)  \($0.photos)" })
            return 0
        }
    }

    /// Where the tag is looked for.
    struct ScopeOptions: ParsableArguments {
        @Option(help: "The share that has the tag: its title or id.") var share: String?
        @Flag(help: "The tag of your own library, outside of shares.") var library = false

        var scope: TagScope { share.map { .share($0) } ?? (library ? .library : .any) }

        func validate() throws {
            if library, share != nil { throw ValidationError("Give --library or --share, not both.") }
        }
    }

    struct Rename: ToolCommand {
        static let configuration = CommandConfiguration(
            abstract: "Give a tag another name, for everybody who sees it.",
            discussion: """
                Example:
                  shoebox tag rename lake 'Lake Como' --share Summer

                A name that another tag has makes the two one. Where two names were given at once, as 'shoebox conflicts'
                lists them, the new name decides; it may be the one that shows.
                """)
        @Argument(help: "The tag.") var tag: String
        @Argument(help: "The new name.") var newName: String
        @OptionGroup var scope: ScopeOptions
        @OptionGroup var common: CommonOptions

        func execute(_ output: Output) throws -> Int32 {
            try submit(
                .tagRename(title: tag, newTitle: newName, scope: scope.scope), to: try installation(), output)
        }
    }

    struct Delete: ToolCommand {
        static let configuration = CommandConfiguration(
            abstract: "Delete a tag, for everybody who sees it; the photos stay.",
            discussion: """
                Example:
                  shoebox tag delete swim --library
                """)
        @Argument(help: "The tag.") var tag: String
        @OptionGroup var scope: ScopeOptions
        @Flag(help: "Only say what would happen.") var dryRun = false
        @Flag(name: .shortAndLong, help: "Do not ask.") var yes = false
        @OptionGroup var common: CommonOptions

        func execute(_ output: Output) throws -> Int32 {
            let installation = try installation()
            let found = try TreeListing(installation).tag(named: tag, in: scope.scope)
            let others = found.isShared ? ", for everybody who sees it" : ""
            let what = "the tag '\(found.title)' is deleted\(others); \(found.photos) photos have it, and stay"
            if dryRun {
                output.result(["wouldDo": .string(what)], lines: ["Would do: \(what)."])
                return 0
            }
            guard yes || output.confirms("If you go on, \(what). Go on?") else { return ExitCode.failed }
            return try submit(.tagDelete(title: tag, scope: scope.scope), to: installation, output)
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
