import ArgumentParser
import Shoebox
import ShoeboxModel

struct AcceptCommand: ToolCommand {
    static let configuration = CommandConfiguration(
        commandName: "accept",
        abstract: "Accept an invitation to a share, or list those that wait.",
        discussion: """
            Example:
              shoebox accept --list
              shoebox accept Summer
              shoebox accept 'shoebox://…'
              shoebox accept summer.shoebox-invitation
              shoebox accept --all-pending

            '--list' also names public shares that were announced to everybody; '--all-pending' leaves them alone.
            """)

    @Argument(help: "A waiting invitation's title or id, a link, or an invitation file.") var invitation: [String] = []
    @Flag(help: "Accept every invitation that is in the container.") var allPending = false
    @Flag(help: "List the invitations that wait.") var list = false
    @Flag(help: "Ask to be admitted, if the link alone does not let you in.") var ask = false
    @OptionGroup var common: CommonOptions

    func validate() throws {
        guard [allPending, list, !invitation.isEmpty].filter({ $0 }).count == 1 else {
            throw ValidationError("Give either invitations, links or files, or --list, or --all-pending.")
        }
        if ask, invitation.isEmpty { throw ValidationError("--ask goes with a link or a file.") }
    }

    func execute(_ output: Output) throws -> Int32 {
        let installation = try installation()
        if allPending { return try submit(.acceptAllPending, to: installation, output) }
        if list {
            let waiting = try InvitationListing(installation).invitations
            output.result(
                ["invitations": .array(waiting.map { .object($0.json) })],
                lines: waiting.isEmpty
                    ? ["no invitation had arrived at the last look at the cloud folder; 'shoebox sync' looks again"]
                    : waiting.map {
                        "\($0.zone.prefix(12))  \($0.title)  from \($0.label) (\($0.fingerprint))  \($0.permission.rawValue)"
                            + ($0.isAnnouncement ? "  public" : "")
                    })
            return 0
        }
        var worst: Int32 = 0
        for text in invitation {
            let code = try submit(try request(text, installation), to: installation, output)
            if code != 0 { worst = code }
        }
        return worst
    }

    private func request(_ text: String, _ installation: Installation) throws -> Request {
        let isLink = text.contains("://")
        let file = installation.environment.currentDirectory.appending(text)
        guard let link = isLink ? text : try InvitationFile.read(file) else {
            return ask ? .ask(link: text) : .acceptInvitations(names: [text])
        }
        return ask ? .ask(link: link) : .accept(link: link)
    }
}

struct DeclineCommand: ToolCommand {
    static let configuration = CommandConfiguration(
        commandName: "decline",
        abstract: "Decline invitations that wait: their owners are told; what was announced is only hidden.",
        discussion: """
            Example:
              shoebox decline Summer
            """)

    @Argument(help: "A waiting invitation's title or id, see 'shoebox accept --list'.") var invitation: [String]
    @OptionGroup var common: CommonOptions

    func execute(_ output: Output) throws -> Int32 {
        try submit(.decline(names: invitation), to: try installation(), output)
    }
}
