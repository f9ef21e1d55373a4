public import ShoeboxCloud
public import ShoeboxLibrary

/// How the engine behaves; a pure value that a configuration file is turned into.
public struct EngineSettings: Sendable {
    /// When sidecars are written.
    public enum SidecarPolicy: String, Sendable, CaseIterable {
        /// Only for records that have something to say.
        case whenNeeded
        /// For every photo.
        case always
        /// Never; existing ones are read all the same.
        case never
    }

    /// The account's label, shown to others.
    public var label: String
    /// What is no part of the library.
    public var ignore: IgnoreRules
    /// How long a file must have been left alone before it is taken.
    public var settleMilliseconds: UInt64 = 100
    /// How long a file must be missing before that is taken for a deletion.
    public var deletionMilliseconds: UInt64 = 1_000
    /// How long no more deletions must have come in somebody else's zone before they are taken.
    public var foreignDeletionMilliseconds: UInt64 = 30_000
    /// How long it may take until it is known what became of a folder whose name another one has.
    var displacedMilliseconds: UInt64 { foreignDeletionMilliseconds + 10 * deletionMilliseconds }
    /// How long what may be in a directory that can't be looked at keeps something from being judged.
    var blindMilliseconds: UInt64 { max(foreignDeletionMilliseconds, 30_000) }
    /// How long to wait before what failed in a watched folder is tried again.
    var errorPauseMilliseconds: UInt64 { max(settleMilliseconds, 10 * deletionMilliseconds) }
    /// A scan that finds more of the known files gone than this, and more than `massDeletionPercent` of them, waits for
    /// confirmation.
    public var massDeletionCount: Int = 100
    /// See `massDeletionCount`.
    public var massDeletionPercent: Int = 50
    /// How long trash is kept.
    public var trashDays: Int = 30
    /// Bytes in the trash of a watched folder above which the oldest go earlier; nil for no limit.
    public var trashBytesMax: UInt64?
    /// When sidecars are written.
    public var sidecars: SidecarPolicy = .whenNeeded
    /// Whether a container that is made anew is for everybody on the machines, not for its folder's group.
    public var isOpen = false
    /// How many zones an account may make.
    public var zonesMax: Int = 200
    /// How many people may take part in a share, the owner not counted.
    public var participantsMax: Int = 100
    /// How long a read-only file must be left alone before the original comes back.
    public var restoreMilliseconds: UInt64 = 10_000
    /// How long two files must want one name before one of them gets another one: what changes places with something of
    /// another zone is in both for as long as it takes to publish both.
    public var collisionMilliseconds: UInt64 = 5_000

    /// How many records are brought into a watched folder in one batch; what a round needs of memory grows with it.
    public var applyMax: Int = 1_000
    /// After how many new or changed files a look at a watched folder turns into history what it has found so far.
    public var takeMax: Int = 512
    /// About how many changes of a zone are published in one go.
    public var pushMax: Int = 4_000
    /// The most changes in a segment; what is done at once and is more goes out in several.
    public var segmentChangesMax: Int = SegmentBuilder.changesMax

    /// A chain of own segments shorter than this is never folded.
    public var compactSegmentsMin: UInt64 = 100
    /// A chain of this many small segments is folded even if most of what is in it still counts.
    public var compactSegmentsMax: UInt64 = 2_000
    /// How long folded segments are kept after the head has said that they are not needed: others may be reading them.
    public var compactGraceMilliseconds: UInt64 = 3_600_000

    /// How long what another replica published must be missing from the container before the owner's devices publish it
    /// again, if that replica may still come back.
    public var carryMilliseconds: UInt64 = 86_400_000

    /// Settings with their defaults.
    public init(label: String, ignore: IgnoreRules) {
        self.label = label
        self.ignore = ignore
    }
}
