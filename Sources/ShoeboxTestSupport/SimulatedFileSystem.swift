public import ShoeboxModel
public import ShoeboxWorld

/// What the engine sees of a `SimulatedDisk`. Every call is counted and may be broken by the disk's `faults`.
public struct SimulatedFileSystem: LocalFileSystem {
    /// The disk beneath.
    public let disk: SimulatedDisk

    /// A view of a disk.
    public init(disk: SimulatedDisk) { self.disk = disk }

    private func call<T>(
        _ name: String, _ path: RelativePath,
        _ body: (inout SimulatedVolume, inout SimulatedDisk.State) throws(FileError) -> T
    ) throws(FileError) -> T {
        try disk.faults.tracing(countOfResult) { () throws(FileError) in
            let outcome = try disk.faults.begin(disk.name, name, path.description)
            let result = try disk.withVolume(name, path, body)
            try outcome.finish()
            return result
        }
    }

    /// The identity of whatever is at the place of the root.
    public func identity() throws(FileError) -> RootIdentity {
        try call("identity", .root) { volume, _ throws(FileError) in
            RootIdentity(device: volume.device, inode: try volume.node(SimulatedVolume.root).inode)
        }
    }

    /// All entries, in an order that is neither of names nor of creation; half of them if a test said so.
    public func list(_ directory: RelativePath) throws(FileError) -> [DirectoryEntry] {
        try call("list", directory) { volume, state throws(FileError) in
            try state.checkReadable(directory, listing: true, volume)
            let node = try volume.node(try volume.require(directory))
            guard node.kind == .directory else { throw volume.error(.unexpectedKind, "it is no directory") }
            var entries: [DirectoryEntry] = []
            for (name, serial) in node.children {
                let child = try volume.node(serial)
                entries.append(DirectoryEntry(name: name, kind: child.kind, stamp: child.stamp))
            }
            // An order that is neither that of names nor of creation, and the same in every run.
            entries.sort { Self.shuffled($0.name) < Self.shuffled($1.name) }
            guard let half = state.halfListed[directory] else { return entries }
            if let code = half.code { throw volume.error(code, "the listing broke off") }
            return Array(entries.prefix(max(0, half.keeping)))
        }
    }

    private static func shuffled(_ name: FileName) -> UInt64 {
        var random = SeededGenerator(seed: 77)
        var mixed = random.next()
        for byte in name.bytes { mixed = (mixed ^ UInt64(byte)) &* 0x0000_0100_0000_01b3 }
        return mixed
    }

    /// The entry at a path, nil if there is none; also when a parent is a file, but a link among them is
    /// `.unexpectedKind`.
    public func entry(at path: RelativePath) throws(FileError) -> DirectoryEntry? {
        try call("entry", path) { volume, state throws(FileError) in
            try state.checkReadable(path, listing: false, volume)
            let found: Int?
            do throws(FileError) {
                found = try volume.find(path)
            } catch  where error.errno == 20 {
                return nil
            }
            guard let serial = found else { return nil }
            let node = try volume.node(serial)
            guard let name = path.last ?? FileName("root") else { return nil }
            return DirectoryEntry(name: name, kind: node.kind, stamp: node.stamp)
        }
    }

    /// The volume's device, another one at and below what a test said is mounted.
    public func mount(of directory: RelativePath) throws(FileError) -> UInt64 {
        try call("device", directory) { volume, state throws(FileError) in
            guard try volume.node(try volume.require(directory)).kind == .directory else {
                throw volume.error(.unexpectedKind, "it is no directory")
            }
            let mounts = state.mountPoints.filter { directory.isAtOrBelow($0) }.count
            return volume.device &+ UInt64(mounts) << 32
        }
    }

    /// Opens a file; the handle keeps to its inode.
    public func open(_ path: RelativePath) throws(FileError) -> any ReadableFile {
        let (serial, epoch, device) = try call("open", path) { volume, state throws(FileError) in
            try state.checkReadable(path, listing: false, volume)
            let serial = try volume.require(path)
            guard try volume.node(serial).kind == .file else {
                throw volume.error(.unexpectedKind, "it is no regular file")
            }
            volume.open(serial, writing: false)
            return (serial, volume.epoch, volume.device)
        }
        return SimulatedOpenFile(
            disk: disk, path: path, serial: serial, epoch: epoch, device: device, isWriting: false)
    }

    /// Makes an empty file of mode 0644.
    public func create(_ path: RelativePath) throws(FileError) -> any WritableFile {
        let (serial, epoch, device) = try call("create", path) { volume, state throws(FileError) in
            try state.checkName(path, volume)
            try state.checkReadable(path, listing: false, volume)
            let serial = try volume.makeNode(.file, at: path, mode: 0o644)
            volume.open(serial, writing: true)
            state.mark(path.parent)
            return (serial, volume.epoch, volume.device)
        }
        return SimulatedOpenFile(disk: disk, path: path, serial: serial, epoch: epoch, device: device, isWriting: true)
    }

    /// Makes a directory.
    public func makeDirectory(_ path: RelativePath) throws(FileError) {
        try call("makeDirectory", path) { volume, state throws(FileError) in
            try state.checkName(path, volume)
            _ = try volume.makeNode(.directory, at: path, mode: 0o755)
            state.mark(path.parent)
            state.mark(path)
        }
    }

    /// Renames as renameat2 does, in one step.
    public func rename(_ source: RelativePath, to target: RelativePath, mode: RenameMode) throws(FileError) {
        try call("rename", source) { volume, state throws(FileError) in
            volume.path = "\(source) -> \(target)"
            try state.checkName(target, volume)
            try volume.rename(source, target, mode)
            state.mark(source.parent)
            state.mark(target.parent)
            state.markTree(volume, target)
            if mode == .exchange { state.markTree(volume, source) }
        }
    }

    /// Removes a name; open handles still read the file.
    public func removeFile(_ path: RelativePath) throws(FileError) {
        try call("removeFile", path) { volume, state throws(FileError) in
            try volume.removeFile(path)
            state.mark(path.parent)
        }
    }

    /// Removes an empty directory.
    public func removeDirectory(_ path: RelativePath) throws(FileError) {
        try call("removeDirectory", path) { volume, state throws(FileError) in
            try volume.removeDirectory(path)
            state.mark(path.parent)
        }
    }

    /// Sets permission bits; links are refused.
    public func setMode(_ path: RelativePath, _ mode: UInt16) throws(FileError) {
        try call("setMode", path) { volume, state throws(FileError) in
            let serial = try volume.require(path)
            guard try volume.node(serial).kind != .symbolicLink else {
                throw volume.error(.unexpectedKind, "it is a symbolic link")
            }
            volume.setMode(serial, mode & 0o7777)
            state.mark(path.parent)
        }
    }

    /// Sets the modification time exactly.
    public func setModified(_ path: RelativePath, nanoseconds: Int64) throws(FileError) {
        try call("setModified", path) { volume, state throws(FileError) in
            let serial = try volume.require(path)
            guard try volume.node(serial).kind != .symbolicLink else {
                throw volume.error(.unexpectedKind, "it is a symbolic link")
            }
            volume.setModified(serial, nanoseconds)
            state.mark(path.parent)
        }
    }

    /// Whether a handle of `create` or of `beginWriting` is open. Not counted, never fails.
    public func hasWriter(_ path: RelativePath) -> Bool {
        let answer = try? disk.withVolume("hasWriter", path) { volume, _ throws(FileError) in
            guard let serial = try volume.find(path) else { return false }
            return volume.writerCounts[serial] != nil
        }
        return answer ?? false
    }

    /// Makes everything durable.
    public func synchronize() throws(FileError) {
        try call("synchronize", .root) { volume, _ throws(FileError) in volume.synchronize() }
    }

    /// What is left of the capacity; 1 TiB without one.
    public func freeBytes() throws(FileError) -> UInt64 {
        try call("freeBytes", .root) { volume, state throws(FileError) in
            guard let capacity = state.capacityBytes else { return 1 << 40 }
            return UInt64(max(0, capacity - volume.usedBytes))
        }
    }
}

/// How much a call gave, for traces; nil if it gives nothing that can be counted.
private func countOfResult<T>(_ result: T) -> Int? {
    if let bytes = result as? [UInt8] { return bytes.count }
    if let entries = result as? [DirectoryEntry] { return entries.count }
    return nil
}

/// An open file of a `SimulatedDisk`: keeps to its inode whatever becomes of the name.
final class SimulatedOpenFile: ReadableFile, WritableFile {
    private let disk: SimulatedDisk
    private let path: RelativePath
    private let serial: Int
    private let epoch: Int
    private let device: UInt64
    private let isWriting: Bool
    private var isOpen = true

    init(disk: SimulatedDisk, path: RelativePath, serial: Int, epoch: Int, device: UInt64, isWriting: Bool) {
        self.disk = disk
        self.path = path
        self.serial = serial
        self.epoch = epoch
        self.device = device
        self.isWriting = isWriting
    }

    deinit {
        if isOpen { close() }
    }

    private func close() {
        isOpen = false
        disk.control { state in
            let isMain = state.main.device == device
            guard (isMain ? state.main.epoch : state.other.epoch) == epoch else { return }
            if isMain {
                state.main.close(serial, writing: isWriting)
            } else {
                state.other.close(serial, writing: isWriting)
            }
        }
    }

    /// The handle's own volume, even when another directory is now at the place of the root; dead if the root is missing.
    private func call<T>(
        _ name: String,
        _ body: (inout SimulatedVolume, inout SimulatedDisk.State, SimulatedFaults.Outcome) throws(FileError) -> T
    ) throws(FileError) -> T {
        try disk.faults.tracing(countOfResult) { () throws(FileError) in
            try callUntraced(name, body)
        }
    }

    private func callUntraced<T>(
        _ name: String,
        _ body: (inout SimulatedVolume, inout SimulatedDisk.State, SimulatedFaults.Outcome) throws(FileError) -> T
    ) throws(FileError) -> T {
        let outcome = try disk.faults.begin(disk.name, name, path.description)
        let result = try disk.locked { state throws(FileError) in
            let attachment = state.attachment
            let isMain = state.main.device == device
            let dead = FileError(
                code: .inputOutput, operation: name, path: path.description, errno: 5, reason: "the handle is dead")
            guard isOpen, attachment != .missing, (isMain ? state.main.epoch : state.other.epoch) == epoch else {
                throw dead
            }
            state.attachment = isMain ? .mounted : .replaced
            defer { state.attachment = attachment }
            return try state.withVolume(name, path) { volume, state throws(FileError) in
                try body(&volume, &state, outcome)
            }
        }
        try outcome.finish()
        return result
    }

    func stamp() throws(FileError) -> FileStamp {
        try call("stamp") { volume, _, _ throws(FileError) in try volume.node(serial).stamp }
    }

    func read(at offset: UInt64, maxBytes: Int) throws(FileError) -> [UInt8] {
        try call("read") { volume, _, _ throws(FileError) in
            let bytes = try volume.node(serial).bytes
            guard offset < UInt64(bytes.count), maxBytes > 0 else { return [] }
            let start = Int(offset)
            return Array(bytes[start..<start + min(maxBytes, bytes.count - start)])
        }
    }

    func write(_ bytes: [UInt8]) throws(FileError) {
        try call("write") { volume, state, outcome throws(FileError) in
            let wanted = outcome.keeping.map { Array(bytes.prefix($0)) } ?? bytes
            let room = state.capacityBytes.map { max(0, $0 - volume.usedBytes) } ?? Int.max
            volume.appendBytes(serial, Array(wanted.prefix(room)))
            if let path = volume.path(of: serial) { state.mark(path.parent) }
            if wanted.count > room { throw volume.error(.full, "no space left on the simulated disk") }
        }
    }

    func finish(mode: UInt16?, modifiedNanoseconds: Int64?, durably: Bool) throws(FileError) -> FileStamp {
        let stamp = try call("finish") { volume, state, _ throws(FileError) in
            if let mode { volume.setMode(serial, mode & 0o7777) }
            if let modifiedNanoseconds { volume.setModified(serial, modifiedNanoseconds) }
            if durably { volume.synchronizeBytes(of: serial) }
            if let path = volume.path(of: serial) { state.mark(path.parent) }
            return try volume.node(serial).stamp
        }
        close()
        return stamp
    }
}
