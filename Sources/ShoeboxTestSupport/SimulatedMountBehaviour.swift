public import ShoeboxWorld

/// How late and how forgetful one client's view of the storage is; all times are of the true clock. The value made by
/// `init()` is a perfect mount.
public struct SimulatedMountBehaviour: Hashable, Sendable {
    /// Listings show the directory as it was this long ago; chosen anew for each listing, never older than one shown
    /// before. What the client itself did shows at once.
    public var listingDelayMilliseconds: ClosedRange<UInt64> = 0...0
    /// A name that was asked for when it didn't exist stays absent this long, unless a listing shows it.
    public var negativeLookupMilliseconds: UInt64 = 0
    /// How long a name that others published stays absent when opened, by the directory it is below; the longest prefix
    /// counts.
    public var visibilityDelayMilliseconds: [MountPath: UInt64] = [:]
    /// Bytes that others appended show after this long.
    public var appendDelayMilliseconds: UInt64 = 0
    /// Bytes that others appended to a file show up to this much later still, each file's by a time of its own: one file is
    /// shown as it is, another one as it was.
    public var unevenMilliseconds: UInt64 = 0
    /// Whether asking for names that never existed is a violation.
    public var reportsUnknownNames = false

    /// A perfect mount.
    public init() {}

    /// How late this client is shown what others append to a file.
    func appendDelay(of path: MountPath, for client: String) -> UInt64 {
        guard unevenMilliseconds > 0 else { return appendDelayMilliseconds }
        // FNV-1a: the same in every run.
        let hash = "\(client) \(path)".utf8.reduce(0xcbf2_9ce4_8422_2325 as UInt64) {
            ($0 ^ UInt64($1)) &* 0x100_0000_01b3
        }
        return appendDelayMilliseconds + (hash >> 32) % 4 * (unevenMilliseconds / 3)
    }

    /// Like NFS 4 with default options: names asked for too early stay absent for 30 s, listings are 3 s old at most.
    public static var nfs: SimulatedMountBehaviour {
        var result = SimulatedMountBehaviour()
        result.negativeLookupMilliseconds = 30_000
        result.listingDelayMilliseconds = 0...3_000
        return result
    }

    /// Like sshfs with default options: listings are 20 s old.
    public static var sshfs: SimulatedMountBehaviour {
        var result = SimulatedMountBehaviour()
        result.listingDelayMilliseconds = 0...20_000
        return result
    }

    /// Like GlusterFS with default options: grown files show after 1 s.
    public static var glusterfs: SimulatedMountBehaviour {
        var result = SimulatedMountBehaviour()
        result.appendDelayMilliseconds = 1_000
        return result
    }

    /// The worst of all: listings a minute old, names asked for too early absent for a minute, grown files and new names
    /// late.
    public static var slowest: SimulatedMountBehaviour {
        var result = SimulatedMountBehaviour()
        result.listingDelayMilliseconds = 0...60_000
        result.negativeLookupMilliseconds = 60_000
        result.appendDelayMilliseconds = 10_000
        result.visibilityDelayMilliseconds = [.root: 5_000]
        return result
    }

    /// Each file that others append to is late by a time of its own, up to a minute, and everything else is shown at once.
    public static var uneven: SimulatedMountBehaviour {
        var result = SimulatedMountBehaviour()
        result.unevenMilliseconds = 60_000
        return result
    }
}
