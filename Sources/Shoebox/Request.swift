import Foundation
public import ShoeboxModel
public import ShoeboxStore

/// A file or folder as a command names it: a path in the library or the shared folder.
public struct PathReference: Hashable, Sendable, Codable {
    /// Which watched folder.
    public var root: RootKind
    /// Where in it, as bytes in hexadecimal, since a name need not be text.
    public var pathHex: String

    /// A reference from its parts.
    public init(root: RootKind, path: RelativePath) {
        self.root = root
        pathHex = encodeHex(path.bytes)
    }

    /// The path; nil if the text is damaged.
    public var path: RelativePath? { decodeHex(pathHex).flatMap(Self.relativePath) }

    /// A path from its bytes; nil if they are none.
    static func relativePath(_ bytes: [UInt8]) -> RelativePath? {
        var names: [FileName] = []
        for part in bytes.split(separator: UInt8(ascii: "/")) {
            guard let name = FileName(bytes: Array(part)) else { return nil }
            names.append(name)
        }
        return RelativePath(names)
    }
}

extension RootKind: Codable {}

/// An asset of a zone that is absent or damaged.
public struct DamagedAsset: Hashable, Sendable, Codable {
    /// The zone.
    public var zone: String
    /// Where it should be, below `assets/`.
    public var location: String
}

/// Something that a person asks the engine to do. A command leaves it in the local database; whoever runs the engine,
/// the daemon or the command itself, does it and leaves a reply.
public enum Request: Sendable, Codable {
    /// Makes a share of files and folders.
    case shareCreate(
        paths: [PathReference], title: String, publicPermission: String, isSealed: Bool, onEnd: String = "remove")
    /// Moves more into a share.
    case shareAdd(share: String, paths: [PathReference])
    /// Moves things of a share back to the library.
    case shareRemove(share: String, paths: [PathReference])
    /// Changes a share's title.
    case shareTitle(share: String, title: String)
    /// Invites accounts, or invites them again.
    case invite(share: String, accounts: [String], permission: String)
    /// Changes what a participant may do.
    case permission(share: String, account: String, permission: String)
    /// Removes participants.
    case uninvite(share: String, accounts: [String])
    /// Stops a share: the owner keeps everything.
    case stop(share: String)
    /// Offers a share to a participant, who owns it after accepting; `stays` is what the owner keeps: admin or a permission.
    case transfer(share: String, account: String, stays: String)
    /// Takes such an offer back.
    case transferWithdraw(share: String)
    /// Accepts such an offer, or declines it.
    case transferAnswer(share: String, accepts: Bool)
    /// Leaves a share.
    case leave(share: String, keepCopy: Bool)
    /// Accepts an invitation by its link.
    case accept(link: String)
    /// Asks to be admitted to the share that a link leads to.
    case ask(link: String)
    /// Accepts invitations that wait in the inbox, by the titles of their shares or the starts of their ids.
    case acceptInvitations(names: [String])
    /// Declines such invitations.
    case decline(names: [String])
    /// Sets what people may do who come by the link; with a new link where that is asked for. Every account of the
    /// container may be told of the link.
    case setPublic(share: String, permission: String, renews: Bool, announces: Bool = false)
    /// Makes a link that asks for admission: until a time (milliseconds since 1970, 0 for ever), for so many accounts (0
    /// for any number), or with a person who decides.
    case makeLink(share: String, permission: String, expiresMilliseconds: UInt64, count: UInt64, asks: Bool)
    /// Admits accounts that have asked, with a permission (empty for the link's), or refuses them.
    case answerRequests(share: String, accounts: [String], permission: String?)
    /// Accepts every invitation that is there.
    case acceptAllPending
    /// Adds tags to, or takes them from, a photo.
    case tag(path: PathReference, titles: [String], isMember: Bool)
    /// Gives a tag another name.
    case tagRename(title: String, newTitle: String, scope: TagScope)
    /// Deletes a tag; its photos stay.
    case tagDelete(title: String, scope: TagScope)
    /// Sets the own rating, 1…5; 0 takes it back.
    case rate(path: PathReference, value: Int)
    /// Sets the caption.
    case caption(path: PathReference, text: String)
    /// Shows the fingerprints of another account and of this one; keeps that a person has compared them.
    case verifyAccount(name: String, isCompared: Bool)
    /// Admits the device that waits under a pairing code.
    case deviceApprove(code: String)
    /// Admits a device by its public keys, see `DevicePublicKeys.text`.
    case deviceAdmit(device: String)
    /// Retires a device of the account, by label or id.
    case deviceRetire(name: String)
    /// Takes up that the recovery key has retired devices, by their ids.
    case deviceRetired(devices: [String])
    /// Lets deletions go on that were held back because they were so many.
    case confirmDeletions
    /// Brings back what is gone where deletions were held back because they were so many.
    case rejectDeletions
    /// Takes directories that stand in the place of watched folders for those, and brings back what they lack.
    case acceptFolders
    /// Folds what makes no difference any more out of the own chains in the container.
    case compact
    /// Publishes again what of some zones is gone from the container, uploads assets again, and puts damaged files of the
    /// watched folders right.
    case repair(zones: [String], assets: [DamagedAsset], files: [PathReference])
    /// Makes the container anew, under its old id, where it is gone as a whole.
    case recreateContainer
    /// Gives a photo an earlier content, by its number in the list of versions or the start of its hash; with nil brings
    /// back a deleted one, or the content that the record has.
    case restoreVersion(path: PathReference, version: String?)
    /// Takes back what a transaction of the history changed.
    case undo(token: Int64)
    /// Decides between values that were written at once: `shown` for the one that shows, else the number of another one in the
    /// list, or the id of one.
    case resolveConflict(path: PathReference, field: String, choice: String)
    /// Brings back what is in the trash from these paths, or from below them; everything for none.
    case restoreTrash(paths: [PathReference])
    /// Brings back the folder of a share that was deleted as a whole.
    case restoreShare(share: String)
    /// Brings back a photo's content as the record has it, in place of what the file holds now.
    case restoreContent(path: PathReference)

    /// As text for the database.
    public func encoded() throws -> String { String(decoding: try JSONEncoder().encode(self), as: UTF8.self) }
    /// From text of the database.
    public init(decoding text: String) throws { self = try JSONDecoder().decode(Self.self, from: Data(text.utf8)) }
}

/// Where a tag that a command names is looked for.
public enum TagScope: Sendable, Codable, Hashable {
    /// Anywhere, if only one place has it.
    case any
    /// In the account's own library, outside of shares.
    case library
    /// In a share, named by title or id.
    case share(String)
}

/// What came of a request.
public struct Reply: Sendable, Codable, Hashable {
    /// The command's exit code, see `ExitCode`.
    public var code: Int32
    /// Lines for a person; the last one says what to do next.
    public var lines: [String]
    /// What a script reads.
    public var values: [String: String]
    /// For a failure: what to do now.
    public var remedy: String?

    /// A reply from its parts.
    public init(code: Int32 = 0, lines: [String] = [], values: [String: String] = [:], remedy: String? = nil) {
        self.code = code
        self.lines = lines
        self.values = values
        self.remedy = remedy
    }

    /// As text for the database.
    public func encoded() throws -> String { String(decoding: try JSONEncoder().encode(self), as: UTF8.self) }
    /// From text of the database.
    public init(decoding text: String) throws { self = try JSONDecoder().decode(Self.self, from: Data(text.utf8)) }
}

/// The exit codes of the command line: a contract.
public enum ExitCode {
    /// Done.
    public static let done: Int32 = 0
    /// Failed.
    public static let failed: Int32 = 1
    /// Done except for what is reported.
    public static let reported: Int32 = 3
    /// No such share, zone or path.
    public static let notFound: Int32 = 10
    /// Another process holds the library.
    public static let busy: Int32 = 11
    /// Not permitted.
    public static let notPermitted: Int32 = 12
    /// The container or a watched folder is not there.
    public static let offline: Int32 = 13
}

/// A refusal or failure of a request: what, and what to do now.
public struct RequestError: Error, Sendable, CustomStringConvertible {
    /// The exit code.
    public var code: Int32
    /// What failed, and why.
    public var message: String
    /// What to do now.
    public var remedy: String
    /// An error from its parts.
    public init(_ code: Int32, _ message: String, _ remedy: String) {
        self.code = code
        self.message = message
        self.remedy = remedy
    }
    /// What failed, and why.
    public var description: String { message }
}
