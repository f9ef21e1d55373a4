import ShoeboxCloud
import ShoeboxModel
public import ShoeboxStore
import ShoeboxWorld

/// What `status` says: how far this replica is, as of when, and what needs a person. Read from the local database.
public struct StatusReport: Sendable {
    /// The state as a whole.
    public enum State: String, Sendable {
        /// All that is known of is here and there.
        case inSync
        /// Something is on its way.
        case pending
        /// The container or a watched folder is not there.
        case offline
        /// Something needs a person.
        case attention
    }

    /// The state as a whole.
    public var state: State
    /// How the container was at the last look.
    public var container: ContainerState
    /// As of when, milliseconds since 1970: the container was read, and the folders were looked at, no earlier; 0 for
    /// never.
    public var asOf: UInt64
    /// What is on its way.
    public var pending: PendingCounts
    /// Whether files were seen that are not taken yet, or are waited for.
    public var isSettling: Bool
    /// What needs a person, or time.
    public var problems: [Problem]
    /// All shares that are not left or ended.
    public var shares: [ShareSummary]
    /// The account's label.
    public var account: String
    /// The account's fingerprint.
    public var fingerprint: String
    /// The daemon's process; nil if none runs.
    public var daemon: Int32?
    /// Invitations that wait for an answer.
    public var invitations: [InvitationListing.Entry] = []
    /// People who ask to be admitted to own shares.
    public var requests: [InvitationListing.Entry] = []
    /// Whether the exported recovery file is still where it was made, and nowhere else as far as is known.
    public var recoveryFile: String?

    /// Problems with which something stays to be sent until somebody does something about them.
    private static let codesThatKeepBack: Set = ["zoneUnwritable", "containerFull", "notPublished"]

    /// Whether all that is left needs a person, or somebody else.
    var isSettled: Bool {
        let waits = problems.contains { Self.codesThatKeepBack.contains($0.code) }
        return !isSettling && (pending.push == 0 || waits) && pending.requests == 0
    }
}

/// How the container was at the last look: each has its own remedy, see the problems.
public enum ContainerState: String, Sendable, CaseIterable {
    /// There, and the right one.
    case available
    /// Never looked at.
    case unknown
    /// The cloud folder, or the container in it, is not there.
    case absent
    /// Another container is in its place.
    case other
    /// It needs a newer version of shoebox.
    case newerFormat
    /// Its description can't be read.
    case damaged
    /// It is there, and can't be written.
    case denied
    /// It is full.
    case full
    /// Its calls do not return, or fail.
    case unreachable

    init(_ error: CloudError) {
        self =
            switch error.code {
            case .otherContainer: .other
            case .newerFormat: .newerFormat
            case .damaged: .damaged
            case .notAContainer: .absent
            default:
                switch error.cause?.code {
                case .full: .full
                case .denied: .denied
                case .timedOut, .inputOutput: .unreachable
                case .offline, .absent: .absent
                default: error.code == .offline ? .absent : .unreachable
                }
            }
    }
}

/// How much is on its way.
public struct PendingCounts: Hashable, Sendable {
    /// Changes made here that others can't see yet.
    public var push = 0
    /// Segments of others that are known of and not read yet.
    public var fetch = 0
    /// Records that the folders do not show yet as they are.
    public var apply = 0
    /// Requests of commands that are not done yet.
    public var requests = 0

    /// Nothing.
    public init() {}

    /// Whether nothing is on its way.
    public var isNothing: Bool { push + fetch + apply + requests == 0 }
}
