import ShoeboxModel
import ShoeboxWorld

/// One watched root of a simulated machine: an in-memory file system that behaves as badly as real ones may.
///
/// The engine sees it through `files`; a test acts as the user, and as fate, by the methods here, which are never
/// counted or broken by `faults`. Everything is deterministic: times come from the machine's clock plus a counter of
/// nanoseconds, so that no two moments are equal unless the granularity says so.
public final class SimulatedDisk: Sendable {
    /// What is at the place where the root should be.
    public enum Attachment: Hashable, Sendable {
        /// The root.
        case mounted
        /// Nothing: every call is `.offline`.
        case missing
        /// Another directory, of another identity: empty at first, kept from one time to the next.
        case replaced
    }

    /// What becomes of the events that mark directories dirty.
    public enum EventLoss: Hashable, Sendable {
        /// All arrive.
        case none
        /// None arrives, and nobody is told.
        case all
        /// Every so manieth is lost.
        case every(Int)
        /// After so many more, the queue overflows: `takeOverflow` says so, and the rest is lost until it is called.
        case overflow(after: Int)
        /// The limit of watches is reached: directories below the root are not watched. The watcher says so, and its
        /// user looks at everything now and then.
        case limit
    }

    struct State: Sendable {
        var main: SimulatedVolume
        var other: SimulatedVolume
        var attachment = Attachment.mounted
        var unreadable: Set<RelativePath> = []
        var halfListed: [RelativePath: (keeping: Int, code: FileError.Code?)] = [:]
        var mountPoints: Set<RelativePath> = []
        var capacityBytes: Int?
        var refusedBytes: Set<UInt8> = []
        var enforcesModes = false
        var granularityNanoseconds: Int64 = 1
        var dirty: Set<RelativePath> = []
        var eventLoss = EventLoss.none
        var eventCount = 0
        var overflowed = false
        var ticks: Int64 = 0
        var userWriters: [RelativePath: (serial: Int, volume: UInt64)] = [:]
    }

    /// The name of this part in `faults`: `library` or `shared`.
    public let name: String
    /// Where the engine's calls are counted and broken.
    public let faults: SimulatedFaults
    /// Where times come from.
    public let clock: SimulatedMachineClock
    private let state: Mutex<State>

    /// An empty file system, synchronised.
    public init(name: String = "library", clock: SimulatedMachineClock, faults: SimulatedFaults = SimulatedFaults()) {
        self.name = name
        self.clock = clock
        self.faults = faults
        let now = Self.nanoseconds(clock)
        let device = name.utf8.reduce(40 as UInt64) { $0 &* 31 &+ UInt64($1) } & 0xffff
        state = Mutex(
            State(
                main: SimulatedVolume(device: device, nowNanoseconds: now),
                other: SimulatedVolume(device: device &+ 0x10000, nowNanoseconds: now + 1)))
    }

    /// The engine's view.
    public var files: SimulatedFileSystem { SimulatedFileSystem(disk: self) }

    private static func nanoseconds(_ clock: SimulatedMachineClock) -> Int64 {
        Int64(clamping: clock.wallMilliseconds).multipliedReportingOverflow(by: 1_000_000).partialValue
    }

    /// Works on the whole state under the lock.
    func locked<T>(_ body: (inout State) throws(FileError) -> T) throws(FileError) -> T {
        var result: Result<T, FileError>?
        state.withLock { state in
            state.ticks = (state.ticks + 1) % 1_000_000
            let now = Self.nanoseconds(clock) &+ state.ticks
            let coarse = state.granularityNanoseconds > 1 ? now - now % state.granularityNanoseconds : now
            state.main.nowNanoseconds = now
            state.main.modifiedNow = coarse
            state.other.nowNanoseconds = now
            state.other.modifiedNow = coarse
            do throws(FileError) { result = .success(try body(&state)) } catch { result = .failure(error) }
        }
        guard let result else { throw FileError(code: .inputOutput, operation: "use", path: "") }
        return try result.get()
    }

    /// Works on the state with calls that can't fail.
    func control<T>(_ body: (inout State) -> T) -> T { state.withLock { body(&$0) } }

    /// Works on whatever is at the place of the root; `.offline` if nothing is.
    func withVolume<T>(
        _ operation: String, _ path: RelativePath,
        _ body: (inout SimulatedVolume, inout State) throws(FileError) -> T
    ) throws(FileError) -> T {
        try locked { state throws(FileError) in
            try state.withVolume(operation, path, body)
        }
    }
}

extension SimulatedDisk.State {
    mutating func withVolume<T>(
        _ operation: String, _ path: RelativePath,
        _ body: (inout SimulatedVolume, inout SimulatedDisk.State) throws(FileError) -> T
    ) throws(FileError) -> T {
        let isMain = attachment == .mounted
        if attachment == .missing {
            throw FileError(
                code: .offline, operation: operation, path: path.description, errno: 2, reason: "the root is missing")
        }
        // Working on a copy would cost a copy of every node; the volume is taken out while the body runs.
        var volume = isMain ? main : other
        let empty = SimulatedVolume(device: 0, nowNanoseconds: 0)
        if isMain { main = empty } else { other = empty }
        defer { if isMain { main = volume } else { other = volume } }
        volume.operation = operation
        volume.path = path.description
        return try body(&volume, &self)
    }

    /// Marks directories as inotify's events would.
    mutating func mark(_ directory: RelativePath) {
        eventCount += 1
        switch eventLoss {
        case .none: dirty.insert(directory)
        case .all: break
        case .limit: if directory.isRoot { dirty.insert(directory) }
        case .every(let count): if count <= 0 || eventCount % count != 0 { dirty.insert(directory) }
        case .overflow(let remaining):
            guard remaining > 0 else {
                overflowed = true
                return
            }
            eventLoss = .overflow(after: remaining - 1)
            dirty.insert(directory)
        }
    }

    /// Marks a directory that appeared, and all below it.
    mutating func markTree(_ volume: SimulatedVolume, _ path: RelativePath) {
        guard let serial = try? volume.find(path), volume.nodes[serial]?.kind == .directory else { return }
        for item in volume.walk() where item.node.kind == .directory && item.path.isAtOrBelow(path) { mark(item.path) }
    }

    func checkReadable(_ path: RelativePath, listing: Bool, _ volume: SimulatedVolume) throws(FileError) {
        for directory in unreadable where path.isAtOrBelow(directory) && (listing || path != directory) {
            throw volume.error(.denied, "the directory can't be read")
        }
    }

    func checkName(_ path: RelativePath, _ volume: SimulatedVolume) throws(FileError) {
        guard !refusedBytes.isEmpty, let name = path.last else { return }
        if name.bytes.contains(where: refusedBytes.contains) { throw volume.error(.badName, "no such names here") }
    }
}
