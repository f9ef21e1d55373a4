import ArgumentParser
import Shoebox

struct ShareInviteCommand: ToolCommand {
    static let configuration = CommandConfiguration(
        commandName: "invite",
        abstract: "Invite people to a share of yours; again is fine.",
        discussion: """
            Example:
              shoebox share invite Summer bob 'cyd#1a2b-3c4d' --permission readWrite
            """)

    @Argument(help: "The share: its title or id.") var share: String
    @Argument(help: "Accounts: name, name#fingerprint, or fingerprint.") var account: [String]
    @Option(help: "What they may do.") var permission = PermissionArgument.readOnly
    @OptionGroup var common: CommonOptions

    func execute(_ output: Output) throws -> Int32 {
        try submit(
            .invite(share: share, accounts: account, permission: permission.rawValue), to: try installation(), output)
    }
}

struct SharePermissionCommand: ToolCommand {
    static let configuration = CommandConfiguration(
        commandName: "permission",
        abstract: "Change what somebody may do in a share of yours.",
        discussion: """
            Example:
              shoebox share permission Summer bob readOnly
            """)

    @Argument(help: "The share: its title or id.") var share: String
    @Argument(help: "The account.") var account: String
    @Argument(help: "What they may do.") var permission: PermissionArgument
    @OptionGroup var common: CommonOptions

    func execute(_ output: Output) throws -> Int32 {
        try submit(
            .permission(share: share, account: account, permission: permission.rawValue), to: try installation(),
            output)
    }
}

struct ShareUninviteCommand: ToolCommand {
    static let configuration = CommandConfiguration(
        commandName: "uninvite",
        abstract: "Take people out of a share of yours.",
        discussion: """
            Example:
              shoebox share uninvite Summer bob

            What they have they keep; they see nothing of what comes later.
            """)

    @Argument(help: "The share: its title or id.") var share: String
    @Argument(help: "The accounts.") var account: [String]
    @OptionGroup var common: CommonOptions

    func execute(_ output: Output) throws -> Int32 {
        try submit(.uninvite(share: share, accounts: account), to: try installation(), output)
    }
}
