public import ShoeboxModel
public import ShoeboxWorld

extension SimulatedDisk {
    /// Cuts the power: unsynchronised changes are lost as chosen, open handles are dead. The processes on the machine
    /// are the test's business (`SimulatedMachine.powerCut`).
    public func crash(_ cut: SimulatedPowerCut = .losingEverything) {
        control { state in
            state.main.powerCut(cut)
            state.other.powerCut(cut)
            state.userWriters = [:]
        }
    }

    /// Makes all that was done so far durable, uncounted.
    public func synchronize() {
        control { $0.main.synchronize() }
    }

    /// All that is on a disk, to come back to: a backup, or a virtual machine's snapshot.
    public struct Snapshot: Sendable {
        let volume: SimulatedVolume
    }

    /// What is on the disk now, inodes and all.
    public func snapshot() -> Snapshot { control { Snapshot(volume: $0.main) } }

    /// Puts the disk back to an earlier state, inodes and all, or makes it the clone of another. Open handles are dead.
    public func restore(_ snapshot: Snapshot) {
        control { state in
            let (device, epoch) = (state.main.device, state.main.epoch)
            state.main = snapshot.volume
            state.main.device = device
            state.main.epoch = max(epoch, snapshot.volume.epoch)
            state.main.powerCut(.losingNothing)
            state.main.synchronize()
        }
    }

    /// How many changes of names and attributes a power cut could lose now; for `.keepingFirst`.
    public var unsynchronizedChanges: Int { control { $0.main.journal.count } }

    /// Takes the root away, or puts another directory in its place.
    public func unmount(_ attachment: Attachment = .missing) { control { $0.attachment = attachment } }

    /// Puts the root back.
    public func mount() { control { $0.attachment = .mounted } }

    /// Forgets what was in the directory that `unmount(.replaced)` shows.
    public func clearReplacement() {
        control { state in
            state.other = SimulatedVolume(device: state.other.device &+ 1, nowNanoseconds: state.main.nowNanoseconds)
        }
    }

    /// What is in the directory that `unmount(.replaced)` shows: files by their paths. A correct engine leaves it empty.
    public var replacementTree: [String: [UInt8]] { control { Self.files(of: $0.other) } }

    /// Gives the disk another device number, as one that is mounted again after a restart may have; all on it stays.
    public func changeDevice() { control { $0.main.device &+= 1 << 24 } }

    /// Says which directories are on a disk of their own, so that their device differs from their parent's.
    public func setMountPoints(_ paths: Set<RelativePath>) { control { $0.mountPoints = paths } }

    /// Limits the bytes that all files may have together; nil for no limit.
    public func setCapacity(bytes: Int?) { control { $0.capacityBytes = bytes } }

    /// Makes a directory and all in it unreadable (`.denied`), or readable again.
    public func setUnreadable(_ directory: RelativePath, _ isUnreadable: Bool = true) {
        control { state in
            if isUnreadable { state.unreadable.insert(directory) } else { state.unreadable.remove(directory) }
        }
    }

    /// Makes listings of one directory stop after some entries: silently, or with an error if a code is given.
    public func setHalfListed(_ directory: RelativePath, keeping count: Int, failingWith code: FileError.Code? = nil) {
        control { $0.halfListed[directory] = (keeping: count, code: code) }
    }

    /// Lists a directory whole again.
    public func setWhollyListed(_ directory: RelativePath) { control { $0.halfListed[directory] = nil } }

    /// Refuses new names with any of these bytes in them (`.badName`), as SMB and FAT do.
    public func setRefusedNameBytes(_ bytes: Set<UInt8>) { control { $0.refusedBytes = bytes } }

    /// Whether permission bits stop the user's own writes; off as for the owner who may chmod.
    public func setEnforcesModes(_ enforces: Bool) { control { $0.enforcesModes = enforces } }

    /// Cuts modification times to multiples of this; 1 at first. Birth times stay exact.
    public func setModificationGranularity(nanoseconds: Int64) { control { $0.granularityNanoseconds = nanoseconds } }

    /// What becomes of events from now on.
    public func setEventLoss(_ loss: EventLoss) {
        control { state in
            state.eventLoss = loss
            state.eventCount = 0
        }
    }

    /// Whether the limit of watches is reached, as `setEventLoss(.limit)` says.
    public var isBeyondWatchLimit: Bool { control { $0.eventLoss == .limit } }

    /// Copies a file of the root into the directory that `unmount(.replaced)` shows, as a user does who thinks that it
    /// belongs there.
    public func copyToReplacement(_ path: RelativePath) {
        control { state in
            guard let serial = try? state.main.find(path), let bytes = state.main.nodes[serial]?.bytes else { return }
            for length in 1..<max(1, path.names.count) {
                let parent = RelativePath(Array(path.names.prefix(length)))
                guard (try? state.other.find(parent)) ?? nil == nil else { continue }
                _ = try? state.other.makeNode(.directory, at: parent, mode: 0o755)
            }
            guard let copy = try? state.other.makeNode(.file, at: path, mode: 0o644) else { return }
            state.other.setBytes(copy, bytes)
        }
    }

    /// The directories marked since the last call, as a watcher would deliver them.
    public func takeDirty() -> Set<RelativePath> {
        control { state in
            defer { state.dirty = [] }
            return state.dirty
        }
    }

    /// Whether events were lost to an overflow since the last call. Events arrive again from now on.
    public func takeOverflow() -> Bool {
        control { state in
            defer { state.overflowed = false }
            if state.overflowed { state.eventLoss = .none }
            return state.overflowed
        }
    }

    static func files(of volume: SimulatedVolume) -> [String: [UInt8]] {
        var result: [String: [UInt8]] = [:]
        for item in volume.walk() where item.node.kind == .file { result[item.path.description] = item.node.bytes }
        return result
    }
}
