internal import CFileSystem
internal import Glibc
internal import ShoeboxModel

/// The blocking calls beneath `LiveMount`, each on whatever thread it is called on.
final class MountCalls: Sendable {
    let root: String
    let modes: MountModes
    let behind = WriteBehindQueue()
    /// Which directory the root was when it was last known to be the right one.
    private let known: Mutex<RootIdentity?>

    init(root: String, modes: MountModes, known: RootIdentity? = nil) {
        self.root = root
        self.modes = modes
        self.known = Mutex(known)
    }

    /// Which directory the root was when it was last known to be the right one; nil before the first call.
    var knownIdentity: RootIdentity? { known.withLock { $0 } }

    /// The root's path with its links followed.
    func resolvedRoot() throws(FileError) -> String {
        guard let resolved = realpath(root, nil) else { throw FileError(errno: errno, operation: "find", path: root) }
        defer { free(resolved) }
        return String(cString: resolved)
    }

    /// Makes a file with these bytes under a new name.
    func publish(_ path: MountPath, _ bytes: [UInt8]) throws(FileError) {
        let upload = try MountUpload(path, self)
        defer { upload.discard() }
        try upload.write(bytes)
        try upload.finish()
    }

    /// Tries once more when the server says that what was open is no longer what it was.
    func retryingStale<Value>(_ call: () throws(FileError) -> Value) throws(FileError) -> Value {
        do throws(FileError) {
            return try call()
        } catch  where error.errno == ESTALE {
            return try call()
        }
    }

    /// Opens the root; `.offline` if it is missing, or has become another directory that is no container.
    func openRoot(_ operation: String) throws(FileError) -> Descriptor {
        let raw = shoebox_open_root(root)
        guard raw >= 0 else {
            var error = FileError(errno: -raw, operation: operation, path: root)
            if [.absent, .unexpectedKind, .inputOutput].contains(error.code) { error.code = .offline }
            throw error
        }
        let file = Descriptor(raw)
        let stat = try file.stat(operation: operation, path: root)
        let identity = RootIdentity(device: stat.device, inode: stat.inode)
        let isKnown = known.withLock { known in
            if known == nil { known = identity }
            return known == identity
        }
        if isKnown { return file }
        var marker = shoebox_stat()
        guard file.with({ shoebox_stat_at($0, cString(Array("container.json".utf8)), &marker) }) == 0 else {
            throw FileError(
                code: .offline, operation: operation, path: root,
                reason: "it is not the directory that it was, and holds no container; the mount may be missing")
        }
        known.withLock { $0 = identity }
        return file
    }

    func list(_ directory: MountPath) throws(FileError) -> [String] {
        let shown = shown(directory)
        let file = try openRoot("list").open(
            path(directory), O_RDONLY | O_DIRECTORY, operation: "list", path: shown)
        var listing = shoebox_listing()
        let error = file.with { shoebox_list($0, 0, &listing) }
        guard error == 0 else { throw FileError(errno: -error, operation: "list", path: shown) }
        defer { shoebox_listing_free(&listing) }
        var names: [String] = []
        for raw in UnsafeBufferPointer(start: listing.entries, count: listing.count) {
            let bytes = UnsafeBufferPointer(start: listing.names + raw.name_offset, count: Int(raw.name_length))
            guard let name = String(validating: bytes, as: UTF8.self), !name.hasPrefix(".tmp-") else { continue }
            names.append(name)
        }
        return names
    }

    func read(_ file: MountPath, from offset: UInt64, maxBytes: Int) throws(FileError) -> [UInt8] {
        do throws(FileError) {
            return try readOnce(file, from: offset, maxBytes: maxBytes)
        } catch  where error.code == .absent {
            // A name that is known to exist and yet is absent is a look-up that the client cached; listing the
            // directory renews it.
            _ = try? list(file.parent)
            return try readOnce(file, from: offset, maxBytes: maxBytes)
        }
    }

    /// From which size on a file is taken as one that is read piece by piece.
    private static let bulkBytes: UInt64 = 1 << 20

    private func readOnce(_ file: MountPath, from offset: UInt64, maxBytes: Int) throws(FileError) -> [UInt8] {
        let opened = try openRoot("read").open(
            path(file), O_RDONLY | O_NONBLOCK | O_NOCTTY, operation: "read", path: shown(file))
        try requireFile(opened, "read", file)
        var result: [UInt8] = []
        // As much as the file seems to have at first, so that a caller's generous limit costs no more memory than the
        // file has bytes; then in steps, as what is shown of its size may be old.
        let size = try opened.stat(operation: "read", path: shown(file)).size
        var likely = Int(clamping: size - min(size, offset))
        // What is large is read once, from its start to its end: the next piece comes from the disk or the server while
        // this one is passed on, and what was passed on is not kept.
        let isBulk = size >= Self.bulkBytes
        if isBulk { opened.startReading(from: offset, count: 2 * UInt64(maxBytes)) }
        defer { if isBulk { opened.forgetCached(from: offset, count: UInt64(maxBytes)) } }
        while result.count < maxBytes {
            let (position, overflow) = offset.addingReportingOverflow(UInt64(result.count))
            if overflow { break }
            let step = min(max(131_072, likely), maxBytes - result.count)
            likely = 0
            let chunk = try opened.read(at: position, maxBytes: step, path: shown(file))
            if result.isEmpty { result = chunk } else { result += chunk }
            if chunk.count < step { break }
        }
        return result
    }

    func append(_ file: MountPath, _ bytes: [UInt8]) throws(FileError) {
        let directory = try openMaking(file.parent, "append to")
        let name = cString(Array(file.last.utf8))
        var isNew = false
        let opened: Descriptor
        do throws(FileError) {
            opened = try directory.open(
                name, O_WRONLY | O_APPEND, operation: "append to", path: shown(file))
        } catch  where error.code == .absent {
            isNew = true
            opened = try directory.open(
                name, O_WRONLY | O_APPEND | O_CREAT, mode: UInt32(modes.file), operation: "append to",
                path: shown(file))
        }
        try requireFile(opened, "append to", file)
        if isNew { try setMode(of: opened, modes.file, shown(file)) }
        let before = try opened.stat(operation: "append to", path: shown(file)).size
        do throws(FileError) {
            try opened.write(bytes, path: shown(file))
            try opened.sync(dataOnly: true, path: shown(file))
        } catch {
            // Part of a record helps nobody. If it can't be cut off, readers skip it: records carry checksums.
            if let size = off_t(exactly: before) { _ = opened.with { ftruncate($0, size) } }
            throw error
        }
        if isNew { try sync(directory: directory, shown(file)) }
    }

    func remove(_ file: MountPath) throws(FileError) {
        do throws(FileError) {
            let directory = try openDirectory(file.parent, "remove")
            guard directory.with({ unlinkat($0, file.last, 0) }) == 0 else {
                throw FileError(errno: errno, operation: "remove", path: shown(file))
            }
        } catch  where error.code == .absent {
            return
        }
    }

    func synchronize() throws(FileError) {
        behind.drain()
        let file = try openRoot("sync").open([0], O_RDONLY | O_DIRECTORY, operation: "sync", path: root)
        let error = file.with { shoebox_syncfs($0) }
        guard error == 0 || [-ENOSYS, -ENOTSUP].contains(error) else {
            throw FileError(errno: -error, operation: "sync", path: root)
        }
    }

    // MARK: Directories

    func openDirectory(_ directory: MountPath, _ operation: String) throws(FileError) -> Descriptor {
        try openRoot(operation).open(
            path(directory), O_RDONLY | O_DIRECTORY, operation: operation, path: shown(directory))
    }

    /// Opens a directory, making it and its parents, but never the root.
    func openMaking(_ directory: MountPath, _ operation: String) throws(FileError) -> Descriptor {
        do throws(FileError) {
            return try openDirectory(directory, operation)
        } catch  where error.code == .absent {
            return try make(directory)
        }
    }

    @discardableResult
    func make(_ directory: MountPath) throws(FileError) -> Descriptor {
        var current = try openRoot("create")
        for component in directory.components {
            let name = cString(Array(component.utf8))
            let made = current.with { mkdirat($0, name, mode_t(modes.directory & 0o7777)) } == 0
            if !made, errno != EEXIST {
                throw FileError(errno: errno, operation: "create", path: shown(directory))
            }
            let next = try current.open(
                name, O_RDONLY | O_DIRECTORY, operation: "create", path: shown(directory))
            let stat = try next.stat(operation: "create", path: shown(directory))
            // Also where it existed, if it is ours: a crash between mkdir and chmod would lock others out for ever.
            if stat.owner == geteuid(), stat.mode != modes.directory {
                try setMode(of: next, modes.directory, shown(directory))
            }
            current = next
        }
        return current
    }

    // MARK: Small things

    func path(_ path: MountPath) -> [CChar] { cString(Array(path.description.utf8)) }
    func shown(_ path: MountPath) -> String {
        path.components.isEmpty ? root : root + "/" + path.description
    }

    /// SMB and some FUSE servers keep no modes of ours; that is for `doctor` to say, not a reason to write nothing.
    func setMode(of file: Descriptor, _ mode: UInt16, _ shown: String) throws(FileError) {
        guard file.with({ fchmod($0, mode_t(mode & 0o7777)) }) == 0 || [EPERM, ENOTSUP, ENOSYS, EINVAL].contains(errno)
        else {
            throw FileError(errno: errno, operation: "change the mode of", path: shown)
        }
    }

    /// Makes new names in a directory durable, where the file system can.
    func sync(directory: Descriptor, _ shown: String) throws(FileError) {
        try directory.sync(dataOnly: false, path: shown)
    }

    private func requireFile(_ file: Descriptor, _ operation: String, _ path: MountPath) throws(FileError) {
        let stat = try file.stat(operation: operation, path: shown(path))
        guard FileKind(shim: stat.kind) == .file else {
            throw FileError(
                code: .unexpectedKind, operation: operation, path: shown(path), reason: "it is not a regular file")
        }
    }
}
