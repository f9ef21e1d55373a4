import ArgumentParser
import Shoebox
import ShoeboxModel

struct ShareListCommand: ToolCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List the shares.",
        discussion: """
            Example:
              shoebox share list
            """)

    @Flag(help: "Also those that were left or have ended.") var all = false
    @OptionGroup var common: CommonOptions

    func execute(_ output: Output) throws -> Int32 {
        let shares = try TreeListing(try installation()).shares(includesEnded: all)
        output.result(
            ["shares": .array(shares.map { .object($0.json) })],
            lines: shares.isEmpty ? ["no shares"] : shares.map(\.line))
        return 0
    }
}

struct ShareShowCommand: ToolCommand {
    static let configuration = CommandConfiguration(
        commandName: "show",
        abstract: "Show a share and who takes part in it.",
        discussion: """
            Example:
              shoebox share show Summer
            """)

    @Argument(help: "The share: its title or id.") var share: String
    @OptionGroup var common: CommonOptions

    func execute(_ output: Output) throws -> Int32 {
        let share = try TreeListing(try installation()).share(named: share)
        var lines = [share.line, "id: \(share.id)"]
        if let link = share.link { lines.append("link: \(link)") }
        lines.append("owner: \(share.owner) (\(share.ownerFingerprint))")
        for participant in share.participants {
            lines.append(
                "\(participant.role.rawValue): \(participant.label) (\(participant.account.fingerprint)), "
                    + "\(participant.permission.rawValue), \(participant.statusText)"
                    + (participant.isPublic ? ", by the link" : "")
                    // Of this account itself, and of who never came, there is nothing to say.
                    + (share.lastSeen[participant.account].map { $0 > 0 ? ", last seen \(StatusText.local($0))" : "" }
                        ?? ""))
        }
        lines.append("when it ends for somebody, their copies are \(share.endPolicy == .keep ? "kept" : "removed")")
        if share.admitsEverybody { lines.append("everyone with the link: \(share.publicPermission.rawValue)") }
        output.result(share.detailedJSON, lines: lines)
        return 0
    }
}
