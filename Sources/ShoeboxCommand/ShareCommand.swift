import ArgumentParser
import Shoebox
import ShoeboxModel

struct ShareCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "share",
        abstract: "Make, change and leave shares, and invite people.",
        discussion: """
            Example:
              shoebox share create ~/Pictures/Mine/Lake --title Summer
              shoebox share invite Summer bob --permission readWrite
            """,
        subcommands: [
            ShareCreateCommand.self, ShareAddCommand.self, ShareRemoveCommand.self, ShareListCommand.self,
            ShareShowCommand.self, ShareTitleCommand.self, ShareLinkCommand.self, ShareInviteCommand.self,
            SharePermissionCommand.self, ShareUninviteCommand.self, ShareStopCommand.self, ShareLeaveCommand.self,
            SharePublicCommand.self, ShareRequestsCommand.self, ShareApproveCommand.self, ShareDenyCommand.self,
            ShareTransferCommand.self,
        ])
}

/// What somebody may do, as options take it.
enum PermissionArgument: String, ExpressibleByArgument, CaseIterable { case readOnly, contribute, readWrite, admin }

/// What people may do who were not invited, as options take it.
enum PublicArgument: String, ExpressibleByArgument, CaseIterable { case none, readOnly, contribute, readWrite }

/// What becomes of participants' copies, as options take it.
enum EndArgument: String, ExpressibleByArgument, CaseIterable { case keep, remove }

/// Whether a share is sealed, as options take it.
enum EncryptionArgument: String, ExpressibleByArgument, CaseIterable { case sealed, plain }
