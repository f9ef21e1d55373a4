import ArgumentParser
import Shoebox

/// What the owner keeps, as options take it.
enum StayArgument: String, ExpressibleByArgument, CaseIterable { case admin, readWrite, contribute, readOnly }

struct ShareTransferCommand: ToolCommand {
    static let configuration = CommandConfiguration(
        commandName: "transfer",
        abstract: "Offer a share of yours to a participant, or answer such an offer.",
        discussion: """
            Example:
              shoebox share transfer Summer bob --stay admin
              shoebox share transfer Summer --accept

            Nothing changes until the other one accepts: then it is theirs, with all files, people, links and history, and you
            take part as you chose. Files stay where they are, on both sides. Until then '--withdraw' takes the offer back.
            """)

    @Argument(help: "The share: its title or id.") var share: String
    @Argument(help: "The participant to offer it to.") var account: String?
    @Option(help: "What you keep.") var stay = StayArgument.readWrite
    @Flag(help: "Accept the offer that was made to you.") var accept = false
    @Flag(help: "Decline the offer that was made to you.") var decline = false
    @Flag(help: "Take back the offer that you made.") var withdraw = false
    @OptionGroup var common: CommonOptions

    func validate() throws {
        let ways = [account != nil, accept, decline, withdraw].filter { $0 }.count
        guard ways == 1 else {
            throw ValidationError("Name the participant to offer it to, or one of --accept, --decline and --withdraw.")
        }
    }

    func execute(_ output: Output) throws -> Int32 {
        let installation = try installation()
        if withdraw { return try submit(.transferWithdraw(share: share), to: installation, output) }
        guard let account else {
            return try submit(.transferAnswer(share: share, accepts: accept), to: installation, output)
        }
        return try submit(.transfer(share: share, account: account, stays: stay.rawValue), to: installation, output)
    }
}
