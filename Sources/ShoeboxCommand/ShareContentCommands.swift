import ArgumentParser
import Shoebox
import ShoeboxModel

struct ShareCreateCommand: ToolCommand {
    static let configuration = CommandConfiguration(
        commandName: "create",
        abstract: "Make a share of a folder, or of some photos.",
        discussion: """
            Example:
              shoebox share create ~/Pictures/Mine/Lake --title Summer

            A folder is shared with everything in it, now and later. Prints the id and the link.
            """)

    @Argument(help: "Files and folders of the library.") var path: [String]
    @Option(help: ArgumentHelp("The share's title; the name of what is shared, if not given.", valueName: "title"))
    var title: String?
    @Option(name: .customLong("public"), help: "What people may do who have the link and were not invited.")
    var publicPermission = PublicArgument.none
    @Option(help: "Whether the container's files are encrypted.") var encryption = EncryptionArgument.sealed
    @Option(help: "What becomes of participants' copies when the share ends for them.") var onEnd = EndArgument.remove
    @Flag(help: "Only say what would happen.") var dryRun = false
    @OptionGroup var common: CommonOptions

    func execute(_ output: Output) throws -> Int32 {
        if dryRun { return try preview(output) }
        return try submit(on: path, output) { paths in
            .shareCreate(
                paths: paths, title: title ?? paths.first?.path?.last.map { "\($0)" } ?? "",
                publicPermission: publicPermission.rawValue,
                isSealed: encryption == .sealed, onEnd: onEnd.rawValue)
        }
    }
}

extension ShareCreateCommand {
    /// Says what would be shared, and who would see it. Nothing is written.
    fileprivate func preview(_ output: Output) throws -> Int32 {
        let installation = try installation()
        let listing = try TreeListing(installation)
        let entries = try path.flatMap { try listing.entries(at: try installation.reference($0)) }
        if let taken = entries.first(where: { $0.share != nil || $0.path.hasPrefix("shared/") }) {
            throw RequestError(
                ExitCode.failed,
                taken.share.map { "'\(taken.path)' is in the share '\($0)' already; a photo is in one share at most." }
                    ?? "'\(taken.path)' is not in your library.",
                "'shoebox list' shows what is in which share.")
        }
        let files = entries.filter { $0.type != .folder }
        let bytes = files.reduce(UInt64(0)) { $0 &+ $1.size }
        let name = title ?? entries.first?.reference.path?.last.map { "\($0)" } ?? ""
        let readers =
            publicPermission == .none
            ? "nobody but you sees them until you invite somebody"
            : "whoever has the link may join with '\(publicPermission.rawValue)'"
        let what =
            "a \(encryption.rawValue) share '\(name)' of \(files.count) \(files.count == 1 ? "file" : "files") (\(StatusText.size(bytes))): they stay where they are, and \(readers)"
        output.result(
            [
                "wouldDo": .string(what), "paths": .array(files.map { .string($0.path) }),
                "bytes": .integer(Int64(clamping: bytes)),
            ],
            lines: ["Would make \(what)."] + files.prefix(20).map { "  \($0.path)" }
                + (files.count > 20 ? ["  … and \(files.count - 20) more"] : []))
        return 0
    }
}

struct ShareAddCommand: ToolCommand {
    static let configuration = CommandConfiguration(
        commandName: "add",
        abstract: "Move more of the library into a share of yours.",
        discussion: """
            Example:
              shoebox share add Summer ~/Pictures/Mine/IMG_7.jpg
            """)

    @Argument(help: "The share: its title or id.") var share: String
    @Argument(help: "Files and folders of the library.") var path: [String]
    @OptionGroup var common: CommonOptions

    func execute(_ output: Output) throws -> Int32 {
        try submit(on: path, output) { .shareAdd(share: share, paths: $0) }
    }
}

struct ShareRemoveCommand: ToolCommand {
    static let configuration = CommandConfiguration(
        commandName: "remove",
        abstract: "Take something out of a share of yours; it stays in your library.",
        discussion: """
            Example:
              shoebox share remove Summer ~/Pictures/Mine/Lake/IMG_7.jpg
            """)

    @Argument(help: "The share: its title or id.") var share: String
    @Argument(help: "Files and folders of the share.") var path: [String]
    @OptionGroup var common: CommonOptions

    func execute(_ output: Output) throws -> Int32 {
        try submit(on: path, output) { .shareRemove(share: share, paths: $0) }
    }
}

struct ShareTitleCommand: ToolCommand {
    static let configuration = CommandConfiguration(
        commandName: "title",
        abstract: "Give a share of yours another title.",
        discussion: """
            Example:
              shoebox share title Summer 'Summer 2026'
            """)

    @Argument(help: "The share: its title or id.") var share: String
    @Argument(help: "The new title.") var title: String
    @OptionGroup var common: CommonOptions

    func execute(_ output: Output) throws -> Int32 {
        try submit(.shareTitle(share: share, title: title), to: try installation(), output)
    }
}

struct ShareStopCommand: ToolCommand {
    static let configuration = CommandConfiguration(
        commandName: "stop",
        abstract: "End a share of yours: you keep everything, the others lose access.",
        discussion: """
            Example:
              shoebox share stop Summer --dry-run
            """)

    @Argument(help: "The share: its title or id.") var share: String
    @Flag(help: "Only say what would happen.") var dryRun = false
    @Flag(name: .shortAndLong, help: "Do not ask.") var yes = false
    @OptionGroup var common: CommonOptions

    func execute(_ output: Output) throws -> Int32 {
        let installation = try installation()
        let found = try TreeListing(installation).share(named: share)
        let others = found.participants.filter { $0.status != .removed }.map(\.label)
        let losers = others.isEmpty ? "nobody loses access" : "\(others.joined(separator: ", ")) lose access"
        let what = "'\(found.title)' ends: \(losers); the \(found.photos) photos stay in your library"
        if dryRun {
            output.result(["wouldDo": .string(what)], lines: ["Would do: \(what)."])
            return 0
        }
        guard yes || output.confirms("\(what). Go on?") else { return ExitCode.failed }
        return try submit(.stop(share: found.id.description), to: installation, output)
    }
}

struct ShareLeaveCommand: ToolCommand {
    static let configuration = CommandConfiguration(
        commandName: "leave",
        abstract: "Leave somebody else's share; the photos stay with their owner.",
        discussion: """
            Example:
              shoebox share leave Summer --keep-copy
            """)

    @Argument(help: "The share: its title or id.") var share: String
    @Flag(help: "Keep copies in the library.") var keepCopy = false
    @Flag(help: "Only say what would happen.") var dryRun = false
    @Flag(name: .shortAndLong, help: "Do not ask.") var yes = false
    @OptionGroup var common: CommonOptions

    func execute(_ output: Output) throws -> Int32 {
        let installation = try installation()
        let found = try TreeListing(installation).share(named: share)
        let what =
            "you leave '\(found.title)'; \(found.photos) photos go from your shared folder to the trash"
            + (keepCopy ? ", and copies stay in your library" : "")
        if dryRun {
            output.result(["wouldDo": .string(what)], lines: ["Would do: \(what)."])
            return 0
        }
        guard yes || output.confirms("If you go on, \(what). Go on?") else { return ExitCode.failed }
        return try submit(.leave(share: found.id.description, keepCopy: keepCopy), to: installation, output)
    }
}

extension ToolCommand {
    /// Has a request about files and folders done, which are given as people write paths.
    fileprivate func submit(
        on paths: [String], _ output: Output, _ request: ([PathReference]) -> Request
    ) throws -> Int32 {
        let installation = try installation()
        return try submit(request(try paths.map(installation.reference)), to: installation, output)
    }
}
