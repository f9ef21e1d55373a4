import ArgumentParser
import Foundation
import Shoebox
import ShoeboxModel

struct ShareLinkCommand: ToolCommand {
    static let configuration = CommandConfiguration(
        commandName: "link",
        abstract: "Print the link that leads to a share, or make one that admits people.",
        discussion: """
            Example:
              shoebox share link Summer
              shoebox share link Summer --file summer.shoebox-invitation
              shoebox share link Summer --expires 7d --count 5
              shoebox share link Summer --ask

            Without options it is the share's own link: no secret for a private share, since only people on its list can use
            it; for a public one whoever has it takes part. With --expires, --count or --ask it is a new link by which people
            ask to be admitted: your device admits them, or with --ask you do, by 'share approve'.
            """)

    @Argument(help: "The share: its title or id.") var share: String
    @Option(help: ArgumentHelp("Write the link into a new file, to be given to 'shoebox accept'.", valueName: "file"))
    var file: String?
    @Option(help: ArgumentHelp("How long the link holds: 30m, 12h or 7d.", valueName: "time")) var expires: String?
    @Option(help: ArgumentHelp("How many accounts it admits.", valueName: "number")) var count: UInt64?
    @Flag(help: "Decide about each by 'share approve'.") var ask = false
    @Option(help: "What those may do whom such a link admits.") var permission = PermissionArgument.readOnly
    @OptionGroup var common: CommonOptions

    func validate() throws {
        if let expires, Self.milliseconds(expires) == nil {
            throw ValidationError("--expires takes a number and m, h or d, such as 7d.")
        }
        if count == 0 { throw ValidationError("--count takes a number from 1.") }
    }

    /// A span such as `7d`, at most ten years.
    static func milliseconds(_ text: String) -> UInt64? {
        let units: [Character: UInt64] = ["m": 60_000, "h": 3_600_000, "d": 86_400_000]
        guard let unit = text.last.flatMap({ units[$0] }), let number = UInt64(text.dropLast()), number > 0,
            number <= 315_360_000_000 / unit
        else { return nil }
        return number * unit
    }

    func execute(_ output: Output) throws -> Int32 {
        let installation = try installation()
        let path = file.map { installation.environment.currentDirectory.appending($0) }
        if let path, FileManager.default.fileExists(atPath: path.text) {
            throw RequestError(ExitCode.failed, "There is a file \(path) already.", "Choose another name.")
        }
        let found = try TreeListing(installation).share(named: share)
        var object: JSONObject = ["id": .string(found.id.description)]
        var lines: [String] = []
        let link: String
        if ask || expires != nil || count != nil {
            let until = expires.flatMap(Self.milliseconds).map { UInt64(Date().timeIntervalSince1970 * 1_000) + $0 }
            let reply = try RequestClient(installation).submit(
                .makeLink(
                    share: found.id.description, permission: permission.rawValue, expiresMilliseconds: until ?? 0,
                    count: count ?? 0, asks: ask))
            guard reply.code == 0, let made = reply.values["link"] else { return output.print(reply) }
            link = made
            lines = reply.lines
        } else {
            guard let own = found.link else {
                throw RequestError(
                    ExitCode.offline, "The container was never reached, so there is no link yet.",
                    "Run 'shoebox sync'.")
            }
            link = own
            lines = [own]
        }
        object["link"] = .string(link)
        if let path {
            try InvitationFile.write(link, title: found.title, to: path)
            object["file"] = .string(path.text)
            lines = ["\(path) leads to '\(found.title)': 'shoebox accept FILE'."]
        }
        output.result(object, lines: lines)
        return 0
    }
}

struct SharePublicCommand: ToolCommand {
    static let configuration = CommandConfiguration(
        commandName: "public",
        abstract: "Say what everybody may do who has the share's link; says who loses access, and asks.",
        discussion: """
            Example:
              shoebox share public Summer readOnly
              shoebox share public Summer readOnly --announce
              shoebox share public Summer none --dry-run

            Made public, invitations that wait are dropped, and whoever has accepted stays. Made private, who came by the
            link loses access, and whoever was invited stays. Each time it is made public there is a new link.
            With --announce every account of the container is told of the link, also those that come later, and may join
            with 'shoebox accept'; so does whoever makes an account there. That ends with the link.
            """)

    @Argument(help: "The share: its title or id.") var share: String
    @Argument(help: "What everybody with the link may do.") var permission: PublicArgument
    @Flag(help: "Make a new link: the former one admits nobody any more.") var newLink = false
    @Flag(help: "Tell every account of the container, now and later.") var announce = false
    @Flag(help: "Only say what would happen.") var dryRun = false
    @Flag(name: .shortAndLong, help: "Do not ask.") var yes = false
    @OptionGroup var common: CommonOptions

    func validate() throws {
        if announce, permission == .none { throw ValidationError("--announce goes with a share that is public.") }
    }

    func execute(_ output: Output) throws -> Int32 {
        let installation = try installation()
        let found = try TreeListing(installation).share(named: share)
        let losers = found.losers(
            publicPermission: Permission(rawValue: permission.rawValue) ?? .none, renews: newLink)
        let who = losers.isEmpty ? "nobody loses access" : "\(losers.joined(separator: ", ")) lose access"
        let what =
            permission == .none
            ? "'\(found.title)' becomes private: \(who)"
            : "'\(found.title)' becomes open to whoever has its link (\(permission.rawValue)): \(who)"
                + (announce ? "; every account of the container is told of it" : "")
        if dryRun {
            output.result(
                ["wouldDo": .string(what), "losesAccess": .array(losers.map(JSONValue.string))],
                lines: ["Would do: \(what)."])
            return 0
        }
        guard yes || output.confirms("\(what). Go on?") else { return ExitCode.failed }
        return try submit(
            .setPublic(
                share: found.id.description, permission: permission.rawValue, renews: newLink, announces: announce),
            to: installation, output)
    }
}

struct ShareRequestsCommand: ToolCommand {
    static let configuration = CommandConfiguration(
        commandName: "requests",
        abstract: "List the people who ask to be admitted to your shares.",
        discussion: """
            Example:
              shoebox share requests
            """)

    @Argument(help: "The share: its title or id; else all.") var share: String?
    @OptionGroup var common: CommonOptions

    func execute(_ output: Output) throws -> Int32 {
        let installation = try installation()
        let wanted = try share.map { try TreeListing(installation).share(named: $0).id.description }
        let found = try InvitationListing(installation).requests.filter { wanted == nil || $0.zone == wanted }
        output.result(
            ["requests": .array(found.map { .object($0.json) })],
            lines: found.isEmpty
                ? ["nobody asks to be admitted"]
                : found.map {
                    "\($0.label) (\($0.fingerprint)) asks for '\($0.title)': shoebox share approve '\($0.title)' \($0.label)"
                })
        return 0
    }
}

struct ShareApproveCommand: ToolCommand {
    static let configuration = CommandConfiguration(
        commandName: "approve",
        abstract: "Admit people who have asked.",
        discussion: """
            Example:
              shoebox share approve Summer bob --permission readWrite
            """)

    @Argument(help: "The share: its title or id.") var share: String
    @Argument(help: "The accounts.") var account: [String]
    @Option(help: "What they may do; else what their link gives.") var permission: PermissionArgument?
    @OptionGroup var common: CommonOptions

    func execute(_ output: Output) throws -> Int32 {
        try submit(
            .answerRequests(share: share, accounts: account, permission: permission?.rawValue ?? ""),
            to: try installation(), output)
    }
}

struct ShareDenyCommand: ToolCommand {
    static let configuration = CommandConfiguration(
        commandName: "deny",
        abstract: "Refuse people who have asked to be admitted.",
        discussion: """
            Example:
              shoebox share deny Summer mallory
            """)

    @Argument(help: "The share: its title or id.") var share: String
    @Argument(help: "The accounts.") var account: [String]
    @OptionGroup var common: CommonOptions

    func execute(_ output: Output) throws -> Int32 {
        try submit(.answerRequests(share: share, accounts: account, permission: nil), to: try installation(), output)
    }
}
