public import ShoeboxCloud
import ShoeboxModel
import ShoeboxPlanning
public import ShoeboxStore
public import ShoeboxWorld

/// One replica: keeps two watched folders, the local database and a container in step.
///
/// Everything it does is a step that can be taken again: observations are stored, plans are derived from them anew. It
/// is used by one thread at a time, blocks while it works, and takes all that is outside from its `World`. Any error
/// leaves the database at the end of some step.
public final class Engine {
    /// Everything outside.
    public let world: World
    /// The local database.
    public let store: Store
    /// How to behave.
    public var settings: EngineSettings
    /// The account's and device's keys.
    public internal(set) var identity: Identity
    /// The container, once it was found to be there and the right one.
    var container: Container?
    /// Accounts read from the container.
    var directory: AccountDirectory
    /// The account's private zone; nil until the container was reached for the first time.
    var privateZone: ZoneID?
    /// Zones by id, as of the start of the round.
    var zones: [ZoneID: ZoneInfo] = [:]
    /// Files that were seen changing: not taken before they have been left alone.
    var unsettled: [WatchedPath: Unsettled] = [:]
    /// Folders on their way into a share that wait for a photo in them, since when (uptime).
    var heldCrossings: [WatchedPath: UInt64] = [:]
    /// Files, and folders that wait for files, that could not be judged where they are, with where: somebody is writing them, or
    /// they can't be read.
    var withheld: [FileIdentity: Withheld] = [:]
    /// Shares that are over and wait for what is just being written in their folders, since when (uptime).
    var endings: [ZoneID: UInt64] = [:]
    /// Missing entries and since when (uptime), until they are taken for deletions.
    var missing: [RecordID: UInt64] = [:]
    /// In which look each of them was missed first.
    var missedIn: [RecordID: Int] = [:]
    /// The number of the last look at a watched folder, and of the last one at all of each.
    var lastLook = 0
    var lastWholeLooks: [RootKind: Int] = [:]
    /// What tells of what happens in the watched folders.
    package var coverage = Coverage.watched
    /// When all is to be looked at, as what is missing may be anywhere (uptime).
    var searchDue: UInt64?
    /// Folders in whose place another known one was found, and since when (uptime), until it is known whether they are deleted.
    var displacedFolders: [RecordID: UInt64] = [:]
    /// How often a directory was looked at again in which something had no folder to lie in.
    var unplacedLooks: [WatchedPath: Int] = [:]
    /// Entries in whose place something of another kind stands, and since when (uptime).
    var replaced: [RecordID: UInt64] = [:]
    /// Files that came from the place of another one that can't be judged yet, since when (uptime).
    var displaced: [WatchedPath: UInt64] = [:]
    /// Where the process died in the middle of something, and that can't be looked at.
    var passedOver: Set<WatchedPath> = []
    /// The intents for that, by their rows.
    var unrecovered: Set<Int64> = []
    /// Directories of which something could not be looked at, though it may be another time, and since when (uptime).
    var unseen: [WatchedPath: UInt64] = [:]
    /// How often each watched folder was looked at.
    var looks: [RootKind: Int] = [:]
    /// Deletions that were taken in the last minutes, by when (uptime) and how many.
    var recentDeletions: [RootKind: [(uptime: UInt64, count: Int)]] = [:]
    /// Watched folders whose deletions are being taken because a person has confirmed them.
    var confirmedNow: Set<RootKind> = []
    /// Directories that must be looked at again, at these times (uptime).
    var later: [WatchedPath: UInt64] = [:]
    /// When the zones' head folders were last listed for new replicas (uptime).
    var replicasListed: [ZoneID: UInt64] = [:]
    /// When read-only files that were edited may be put back (uptime).
    var restoreAfter: [RecordID: UInt64] = [:]
    /// What would have to give way to something else of its name, and since when (uptime).
    var colliding: [RecordID: Collision] = [:]
    /// Directories in which something keeps operations from being done.
    var obstacles: [WatchedPath: Obstacle] = [:]
    /// Sidecars that are gone while their photos are there, and since when (uptime).
    var lostSidecars: [RecordID: UInt64] = [:]
    /// The watched folders that this process has looked at as a whole, and which directories they were then.
    var wholeLooks: [RootKind: RootIdentity] = [:]
    /// When all of a watched folder is to be looked at again (uptime), since something in it could not be judged while it may be
    /// another one than it was; and after which pause, milliseconds.
    var wholeLooksAgain: [RootKind: (due: UInt64, pause: UInt64)] = [:]
    /// Watched folders of which nothing was taken, as it could not be judged, since when, and when all of it is to be looked at again
    /// (uptime).
    var putOffLooks: [RootKind: (since: UInt64, due: UInt64)] = [:]
    /// What was mounted where, when it was last asked.
    var mountsSeen: String?
    /// Zones of which tag files are gone, and since when (uptime).
    var lostTagFiles: [ZoneID: UInt64] = [:]
    /// The newest head read of each replica.
    var knownHeads: [ZoneID: [ReplicaID: HeadRecord]] = [:]
    /// How far a replica of the owner or an admin has the own segments in a zone, as it was last stored.
    var acknowledged: [ChainKey: UInt64] = [:]
    /// How far others have the very segments that this replica published, as it was last stored.
    var confirmed: [ChainKey: UInt64] = [:]
    /// Assets that turned out to be damaged, as a record names them, and when they are read again (uptime). Another record may name
    /// the same file rightly.
    var damagedReads: [AssetReference: UInt64] = [:]
    /// Places whose names the file system refused, with its error, and until when (uptime) they are not tried again.
    var refusedNames: [WatchedPath: (error: FileError, until: UInt64)] = [:]
    /// Replicas beyond the number that one account may have in a zone.
    var excessReplicas: [ZoneID: [ReplicaID: AccountID]] = [:]
    /// When the contents of a zone were last offered again (uptime).
    var lastOffered: [ZoneID: UInt64] = [:]
    /// When it was last looked whether the container has lost what others have published (uptime).
    var lostLookedFor: [ZoneID: UInt64] = [:]
    /// When a chain that others ask for was last read from its start (uptime).
    var wishesLookedAt: [ChainKey: UInt64] = [:]
    /// Chains whose head file is not what was read of it before, by the last poll.
    var shorterHeads: Set<ChainKey> = []
    /// Those of them that show less than was read.
    var lostHeads: [ChainKey: LostHead] = [:]
    /// The versions of each zone's control, named by heads, that were looked at by this process.
    var judgedControls: [ZoneID: Set<ControlVersion>] = [:]
    /// The control that the own head was found to name, where this state does not know it.
    var ownNamedControls: [ZoneID: ControlVersion] = [:]
    /// Since when (uptime) participants wait for an answer that a device of the owner or of an admin gives.
    var unanswered: [String: UInt64] = [:]
    /// Invitation files that could not be accepted: as they were then, and when (uptime).
    var invitationsTried: [String: (stamp: FileStamp, at: UInt64)] = [:]
    /// Since when (uptime) zones have controls that were written apart, or no key that is fit for use.
    var unmended: [ZoneID: UInt64] = [:]
    /// Zones that this account has to take up.
    var untakenUp: Set<ZoneID> = []
    /// Controls that admins' heads name and that are not seen yet: since when, by the uptime.
    var hintsAwaited: [ControlVersion: UInt64] = [:]
    /// The serial of each replica's head whose control was looked at.
    var judgedHeads: [ReplicaID: UInt64] = [:]
    /// When the own head of each zone was last written, or read and found as it was written (uptime): nobody else writes
    /// it, so it is read again only now and then, in case that the mount lost it.
    var ownHeadsWritten: [ZoneID: UInt64] = [:]
    /// Zones in whose directory of own segments this process has looked for some that it does not know.
    var ownChainsChecked: Set<ZoneID> = []
    /// Records with an edit to be published whose file is nowhere to be seen, since when (uptime).
    var bytesGone: [RecordID: UInt64] = [:]
    /// Contents that could not be read in the container, by zone, with where they should be: what the own heads ask for.
    var wantedAssets: [ZoneID: [Digest32: String]] = [:]
    /// When the heads of each zone were last read.
    var headsRead: [ZoneID: HeadsRead] = [:]
    /// When (uptime) it was last read who takes part in each zone.
    var standingRead: [ZoneID: UInt64] = [:]
    /// Since when (uptime) a device is to be pinned in a zone whose heads can't all be read.
    var pinsAwaited: [ZoneID: UInt64] = [:]
    /// Since when (uptime) other devices of this account are known to have read more of a zone than this one.
    var behindSince: [ZoneID: UInt64] = [:]
    /// Chains of which a segment should be in the container and is not, or is damaged: what the own heads ask for, too.
    var wantedChains: Set<ChainKey> = []
    /// Those of them whose writers will not publish them again: they are not waited for.
    var givenUpChains: Set<ChainKey> = []
    /// Since when an asset that should be there has not been seen (uptime).
    var absentAssets: [String: UInt64] = [:]
    /// When an asset that others asked for was last looked at (uptime), and the heads that were answered, by serial.
    var answeredAssets: [String: UInt64] = [:]
    var answeredHeads: [ReplicaID: UInt64] = [:]
    /// Assets that others asked for while no file here had their content.
    var lackedAssets: [String: LackedAsset] = [:]
    /// The control of each zone whose file is kept, in case that the mount loses it.
    var keptControls: [ZoneID: Digest32] = [:]
    /// Chains of which two valid segments of one number were read.
    var forkedChains: Set<ChainKey> = []
    /// Chains of which others have seen more than is to be seen here.
    var unseenParts: [ChainKey: UnseenPart] = [:]
    /// Up to where chains were read again as the owner accepted them, or could not be, and when (uptime) that is tried again.
    var pinsTried: [ChainKey: (last: Position, again: UInt64)] = [:]
    /// Watched folders that were brought in step with the base tree after this process started.
    var recovered: Set<RootKind> = []
    /// Paths, as their users know them, that could not be brought up to date in the pass that is under way.
    var unsettledPaths: Set<String> = []
    /// Contents whose asset turned out to be damaged.
    var damagedAssets: Set<Digest32> = []
    /// Since when (uptime) a folder that is to be compared can't be.
    var comparisonFailed: [RootKind: UInt64] = [:]
    /// Locations of assets that were seen in the container since it last failed.
    var assetsSeen: Set<String> = []
    /// Contents that a local file has and that could not be read from it: the next time they come from the container.
    var unreadSources: Set<Digest32> = []
    /// Files in the trash whose records were brought back, by their content: where the bytes are taken from.
    var trashSources: [Digest32: WatchedPath] = [:]
    /// Whether it was looked for what an earlier process was asked to take from the trash.
    var hasSoughtPromised = false
    /// When the trash of a watched folder was last looked through (uptime).
    var trashTidied: [RootKind: UInt64] = [:]
    /// Watched folders that were not compared with the container yet; nil before the database was asked.
    var rebuilding: Set<RootKind>?
    /// Keys of the problems that are noted at present.
    var openProblems: Set<String> = []
    /// Whether the account's chain was read and published since the process started.
    var hasFollowedAccount = false
    /// The smallest content for which there was no room in the container, bytes, what that call failed with, and until when (uptime) it
    /// is not tried again.
    var noRoom: (size: UInt64, error: CloudError, until: UInt64)?
    /// When the own account's statements are looked at again (uptime, milliseconds); nil for with the next round.
    var accountDue: UInt64?
    /// When the inbox was last listed (uptime); nil for not yet, or to be listed at once.
    var inboxListed: UInt64?
    /// Letters that could not be read yet, and how often that was tried.
    var unseenLetters: [Digest32: Int] = [:]
    /// Whom public shares were last announced to, so that everybody's turn comes.
    var lastAnnouncedTo: [ZoneID: AccountID] = [:]
    /// Controls and keys of the zones, as they were last decoded.
    var decodedZones: [ZoneID: DecodedZone] = [:]
    /// When a share that was left here, and is placed by another device, was last asked for (uptime).
    var returnsTried: [ZoneID: UInt64] = [:]
    /// When who joins a zone by its link was last listed (uptime).
    var joinsListed: [ZoneID: UInt64] = [:]
    /// The heads, by their serials, of accounts that may join a zone by its link, when it was last looked at who does.
    var joinsAwaited: [ZoneID: [ReplicaID: UInt64]] = [:]
    /// Statements of joining that need not be read again.
    var judgedJoins: Set<Digest32> = []
    /// When an account was last looked at again because a head named a statement that was not known (uptime).
    var accountsLookedAt: [AccountID: UInt64] = [:]
    /// Whether another device's head named a statement of the own account that is not known here.
    var hasAccountNews = false
    /// The serial of each replica's head whose device and statement were looked at.
    var notedSerials: [ReplicaID: UInt64] = [:]
    /// When the container was last read to its end, milliseconds since 1970; 0 for not yet by this engine. What the
    /// database says of it may be a minute older.
    public internal(set) var containerReadMilliseconds: UInt64 = 0
    /// Directories with sidecars that are read once the container was.
    var awaitedSidecars: Set<WatchedPath> = []
    /// Whether it was looked whether this state is older than what it published.
    var isStateCompared = false
    /// The change token that each watched folder has by now; none for one that was not looked at yet, -1 for one without.
    var writtenTokens: [RootKind: Int64] = [:]
    /// Stores the identity when it changes.
    public var saveIdentity: (Identity) throws -> Void = { _ in }
    /// Asked between two files while the watched folders are brought up to date: whether somebody waits who is to be
    /// answered first. The round ends then, and the next one goes on.
    public var isAskedToPause: () -> Bool = { false }
    /// Called with what happens, for logs.
    public var log: (String) -> Void = { _ in }

    /// A path in one of the watched folders.
    struct WatchedPath: Hashable {
        var root: RootKind
        var path: RelativePath
    }

    /// A content that no file here had, and when that was last looked at (uptime).
    struct LackedAsset {
        var hash: Digest32
        var lookedAt: UInt64
    }

    /// A file that could not be judged.
    struct Withheld {
        var place: WatchedPath
        /// Whether that may be over without anybody telling.
        var mayPass: Bool
    }

    /// A file that was seen changing.
    struct Unsettled {
        var stamp: FileStamp
        var since: UInt64
        /// How often the other watched folder had been looked at by then.
        var otherLooks: Int
        /// Since when it was seen to be open for writing, each time (uptime); nil if it was not, the last time.
        var heldSince: UInt64?
    }

    /// An engine over an opened database; nothing is touched before the first round.
    public init(world: World, store: Store, identity: Identity, settings: EngineSettings) throws {
        self.world = world
        self.store = store
        self.identity = identity
        self.settings = settings
        directory = AccountDirectory(mount: world.mount)
        openProblems = Set(try store.read { db in try db.problems().map(\.key) })
        try reloadZones()
    }

    /// This replica.
    var replica: ReplicaID { identity.replica }
    /// This account.
    var account: AccountID { identity.account }

    /// The file system of a watched folder.
    func files(_ root: RootKind) -> any LocalFileSystem { root == .library ? world.library : world.shared }
}

/// A zone row with its control decoded.
struct ZoneInfo {
    var row: ZoneRow
    var control: Control
    var keyring: ZoneKeyring

    var id: ZoneID { row.id }

    /// The order in which zones are worked on: private ones first, as placements in them say where others show.
    static func comesBefore(_ left: ZoneInfo, _ right: ZoneInfo) -> Bool {
        let isLeftPrivate = left.row.kind == .privateZone
        guard isLeftPrivate == (right.row.kind == .privateZone) else { return isLeftPrivate }
        return left.id < right.id
    }

    /// Whether an account may change everything here now.
    func mayWrite(_ account: AccountID) -> Bool {
        row.state == .active && can(.editRecord, account: account, in: control)
    }

    /// Whether an account may add here now; what it added it may also change and delete.
    func mayAdd(_ account: AccountID) -> Bool {
        row.state == .active && can(.addRecord, account: account, in: control)
    }
}
