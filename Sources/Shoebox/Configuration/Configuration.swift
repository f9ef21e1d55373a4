/// What one replica is told by its configuration file: who it is, where its folders are, and how it behaves.
///
/// The properties have the names of the keys. `config.example.json` shows each with its default.
public struct Configuration: Hashable, Sendable {
    /// The account's label, shown to others: 1 to 64 bytes, fit for a folder's name, without `#`.
    public var account: String
    /// The cloud folder that all accounts share.
    public var container: AbsolutePath
    /// The watched folder of the account's own photos.
    public var library: AbsolutePath
    /// The watched folder of what others share with the account.
    public var shared: AbsolutePath
    /// Where the database and the keys are; never on a mount that others read.
    public var state: AbsolutePath
    /// Who may reach the container's files at all.
    public var mode: Mode = .group
    /// The watcher's executable; nil for `shoebox-watch` beside the running one, or on the search path.
    public var watcherPath: AbsolutePath?
    /// How long a file must have been left alone before it is taken, 0 to 600,000.
    public var settleMilliseconds: Int = 100
    /// How often the container is asked for news.
    public var pollMilliseconds = PollMilliseconds()
    /// How long no more deletions must have come in somebody else's zone before they are taken, 0 to 86,400,000.
    public var deleteDelayMilliseconds: Int = 30_000
    /// Patterns of names that are no part of the library, besides those that are always ignored.
    public var ignore: [String] = []
    /// When sidecars are written.
    public var sidecars: Sidecars = .whenNeeded
    /// How long what was removed is kept.
    public var trash = Trash()
    /// Which originals are kept here. Reserved: nothing but the default is accepted yet.
    public var assets = Assets()
    /// Fields that stay out of transfers. Reserved: nothing but the default is accepted yet.
    public var masks = Masks()
    /// Programs to run after changes. Reserved: nothing but the default is accepted yet.
    public var hooks: [String] = []
    /// Where it stops and asks.
    public var limits = Limits()
    /// When the own part of the container is folded.
    public var compaction = Compaction()
    /// The gallery. Reserved: nothing but the default is accepted yet.
    public var web = Web()

    /// A configuration with the defaults for everything that is not named.
    public init(
        account: String, container: AbsolutePath, library: AbsolutePath, shared: AbsolutePath, state: AbsolutePath
    ) {
        self.account = account
        self.container = container
        self.library = library
        self.shared = shared
        self.state = state
    }

    /// Who may reach the container's files.
    public enum Mode: String, Hashable, Sendable, CaseIterable {
        /// The group of the container's folder.
        case group
        /// Everybody on the machines that mount it.
        case open
    }

    /// When sidecars are written.
    public enum Sidecars: String, Hashable, Sendable, CaseIterable {
        /// For records that have something to say.
        case whenNeeded
        /// For every photo.
        case always
        /// Never; existing ones are read all the same.
        case never
    }

    /// How often the container is asked for news.
    public struct PollMilliseconds: Hashable, Sendable {
        /// While there is news, 20 to 3,600,000.
        public var active: Int = 1_000
        /// When nothing has come for a while; not less than `active`, at most 86,400,000.
        public var idle: Int = 10_000
        /// The defaults.
        public init() {}
    }

    /// How long what was removed is kept.
    public struct Trash: Hashable, Sendable {
        /// Days until removed files go for good, 1 to 36,500.
        public var days: Int = 30
        /// Bytes above which the oldest go earlier; nil for no limit but the disk's.
        public var bytesMax: Int?
        /// The defaults.
        public init() {}
    }

    /// Which originals are kept here.
    public struct Assets: Hashable, Sendable {
        /// When originals are fetched.
        public enum Policy: String, Hashable, Sendable, CaseIterable {
            /// With their record.
            case always
            /// When asked for. Reserved.
            case onDemand
        }
        /// When originals are fetched.
        public var policy: Policy = .always
        /// Bytes above which originals are unloaded; nil for no limit. Reserved.
        public var cacheBytesMax: Int?
        /// The defaults.
        public init() {}
    }

    /// Fields that stay out of transfers.
    public struct Masks: Hashable, Sendable {
        /// Not uploaded. Reserved.
        public var upload: [String] = []
        /// Not downloaded. Reserved.
        public var download: [String] = []
        /// The defaults.
        public init() {}
    }

    /// Where it stops and asks.
    public struct Limits: Hashable, Sendable {
        /// More of the known files gone at once than this many, and than `massDeletionPercent` of them, waits for
        /// confirmation; at least 1.
        public var massDeletionCount: Int = 100
        /// See `massDeletionCount`; 0 to 100.
        public var massDeletionPercent: Int = 50
        /// How many zones the account may make, 1 to 10,000.
        public var zonesMax: Int = 200
        /// How many people may take part in a share, the owner not counted; 1 to 10,000.
        public var participantsMax: Int = 100
        /// The defaults.
        public init() {}
    }

    /// When the own part of the container is folded.
    public struct Compaction: Hashable, Sendable {
        /// A chain of fewer segments is left as it is, 2 to 1,000,000.
        public var segmentsMin: Int = 100
        /// A chain of so many small segments is folded even if most of it still counts, 2 to 1,000,000.
        public var segmentsMax: Int = 2_000
        /// How long folded segments are kept, since others may be reading them, 0 to 31,536,000.
        public var graceSeconds: Int = 3_600
        /// The defaults.
        public init() {}
    }

    /// The gallery.
    public struct Web: Hashable, Sendable {
        /// Address and port it listens on; nil for none. Reserved.
        public var address: String?
        /// The defaults.
        public init() {}
    }
}
