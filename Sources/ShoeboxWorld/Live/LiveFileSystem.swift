internal import CFileSystem
internal import Glibc
public import ShoeboxModel

/// A directory of this machine as a root.
///
/// Keeps nothing open between calls, so that a mount over the root, or its disappearance, shows with the next call.
/// Links on the way to the root are followed, links below it never (openat2 with RESOLVE_NO_SYMLINKS and
/// RESOLVE_BENEATH; component by component on kernels before 5.6).
public struct LiveFileSystem: LocalFileSystem {
    /// The absolute path of the root.
    public let root: String
    private let behind = WriteBehindQueue()

    /// The file system below an absolute path; the directory need not exist yet.
    public init(root: String) { self.root = root }

    /// As `LocalFileSystem` says.
    public func identity() throws(FileError) -> RootIdentity {
        let stat = try openRoot("look at").stat(operation: "look at", path: root)
        return RootIdentity(device: stat.device, inode: stat.inode)
    }

    /// As `LocalFileSystem` says.
    public func list(_ directory: RelativePath) throws(FileError) -> [DirectoryEntry] {
        let listing = try ordered(directory)
        var entries: [DirectoryEntry] = []
        entries.reserveCapacity(listing.entries.count)
        for (index, entry) in listing.entries.enumerated() {
            guard let name = listing.name(at: index) else { continue }
            entries.append(DirectoryEntry(name: name, kind: entry.kind, stamp: entry.stamp))
        }
        return entries
    }

    /// As `LocalFileSystem` says; looks ahead on a second thread.
    public func makeLister() -> any DirectoryLister {
        LookAheadLister { [self] directory throws(FileError) in try ordered(directory) }
    }

    /// What a directory holds, in the order of names.
    func ordered(_ directory: RelativePath) throws(FileError) -> DirectoryListing {
        let shown = shown(directory)
        let file = try openRoot("list").open(
            cString(directory.bytes), O_RDONLY | O_DIRECTORY, operation: "list", path: shown)
        var listing = shoebox_listing()
        let error = file.with { shoebox_list($0, 1, &listing) }
        guard error == 0 else { throw FileError(errno: -error, operation: "list", path: shown) }
        defer { shoebox_listing_free(&listing) }
        shoebox_listing_sort(&listing)
        let names = Array(UnsafeBufferPointer(start: listing.names, count: listing.names_length))
        let entries = UnsafeBufferPointer(start: listing.entries, count: listing.count).map { raw in
            DirectoryListing.Entry(
                nameStart: raw.name_offset, nameCount: Int(raw.name_length), kind: FileKind(shim: raw.stat.kind),
                stamp: FileStamp(raw.stat))
        }
        return DirectoryListing(names: names, ordered: entries)
    }

    /// As `LocalFileSystem` says.
    public func entry(at path: RelativePath) throws(FileError) -> DirectoryEntry? {
        let rootFile = try openRoot("look at")
        guard let name = path.last else {
            let stat = try rootFile.stat(operation: "look at", path: root)
            guard let name = FileName("root") else { return nil }
            return DirectoryEntry(name: name, kind: .directory, stamp: FileStamp(stat))
        }
        do throws(FileError) {
            let parent = try self.parent(of: path, in: rootFile, "look at")
            let stat = try parent.stat(cString(name.bytes), operation: "look at", path: shown(path))
            return DirectoryEntry(name: name, kind: FileKind(shim: stat.kind), stamp: FileStamp(stat))
        } catch  where error.code == .absent || error.errno == ENOTDIR {
            return nil
        }
    }

    /// As `LocalFileSystem` says.
    public func mount(of directory: RelativePath) throws(FileError) -> UInt64 {
        let opened = try openRoot("look at").open(
            cString(directory.bytes), LiveFlags.path | O_DIRECTORY, operation: "look at", path: shown(directory))
        var mount: UInt64 = 0
        let error = opened.with { shoebox_mount_of($0, &mount) }
        guard error == 0 else { throw FileError(errno: -error, operation: "look at", path: shown(directory)) }
        return mount
    }

    /// As `LocalFileSystem` says.
    public func open(_ path: RelativePath) throws(FileError) -> any ReadableFile {
        let file = try openRoot("open").open(
            cString(path.bytes), O_RDONLY | O_NONBLOCK | O_NOCTTY, operation: "open", path: shown(path))
        let stat = try file.stat(operation: "open", path: shown(path))
        guard FileKind(shim: stat.kind) == .file else {
            throw FileError(
                code: .unexpectedKind, operation: "open", path: shown(path), reason: "it is not a regular file")
        }
        return LiveReadableFile(file, path: shown(path))
    }

    /// As `LocalFileSystem` says.
    public func create(_ path: RelativePath) throws(FileError) -> any WritableFile {
        let file = try openRoot("create").open(
            cString(path.bytes), O_WRONLY | O_CREAT | O_EXCL, mode: 0o666, operation: "create", path: shown(path))
        return LiveWritableFile(file, path: shown(path), behind)
    }

    /// As `LocalFileSystem` says.
    public func makeDirectory(_ path: RelativePath) throws(FileError) {
        try inParent(of: path, "create") { mkdirat($0, $1, 0o777) == 0 ? 0 : -errno }
    }

    /// As `LocalFileSystem` says.
    public func rename(_ source: RelativePath, to target: RelativePath, mode: RenameMode) throws(FileError) {
        let rootFile = try openRoot("rename")
        guard let sourceName = source.last, let targetName = target.last else {
            throw FileError(
                code: .unexpectedKind, operation: "rename", path: shown(source), reason: "the root is not renamed")
        }
        let from = try parent(of: source, in: rootFile, "rename")
        let to = try parent(of: target, in: rootFile, "rename")
        let error = from.with { from in
            to.with { to in
                LiveRename.rename(
                    from: from, cString(sourceName.bytes), to: to, cString(targetName.bytes), mode: mode)
            }
        }
        guard error == 0 else {
            let path = "\(shown(source))' to '\(shown(target))"
            throw FileError(errno: error, operation: "rename", path: path)
        }
    }

    /// As `LocalFileSystem` says.
    public func removeFile(_ path: RelativePath) throws(FileError) {
        try inParent(of: path, "remove") { unlinkat($0, $1, 0) == 0 ? 0 : -errno }
    }

    /// As `LocalFileSystem` says.
    public func removeDirectory(_ path: RelativePath) throws(FileError) {
        try inParent(of: path, "remove") { unlinkat($0, $1, Int32(AT_REMOVEDIR)) == 0 ? 0 : -errno }
    }

    /// As `LocalFileSystem` says.
    public func setMode(_ path: RelativePath, _ mode: UInt16) throws(FileError) {
        // O_PATH needs no permission to read, and chmod through /proc changes what is open, whatever the name is by now.
        let file = try openRoot("change the mode of").open(
            cString(path.bytes), LiveFlags.path, operation: "change the mode of", path: shown(path))
        let stat = try file.stat(operation: "change the mode of", path: shown(path))
        guard FileKind(shim: stat.kind) != .symbolicLink else {
            throw FileError(errno: ELOOP, operation: "change the mode of", path: shown(path))
        }
        guard file.with({ chmod("/proc/self/fd/\($0)", mode_t(mode & 0o7777)) }) == 0 else {
            throw FileError(errno: errno, operation: "change the mode of", path: shown(path))
        }
    }

    /// As `LocalFileSystem` says.
    public func setModified(_ path: RelativePath, nanoseconds: Int64) throws(FileError) {
        try inParent(of: path, "set the time of") { shoebox_set_modified_at($0, $1, nanoseconds) }
    }

    /// As `LocalFileSystem` says.
    public func hasWriter(_ path: RelativePath) -> Bool {
        let flags = O_RDONLY | O_NONBLOCK | O_NOCTTY
        guard let root = try? openRoot("open"),
            let file = try? root.open(cString(path.bytes), flags, operation: "open", path: ""),
            let stat = try? file.stat(operation: "open", path: ""), FileKind(shim: stat.kind) == .file
        else { return false }
        return file.with { shoebox_has_writer($0) } == 1
    }

    /// As `LocalFileSystem` says.
    public func synchronize() throws(FileError) {
        behind.drain()
        let file = try openRoot("sync").open([0], O_RDONLY | O_DIRECTORY, operation: "sync", path: root)
        let error = file.with { shoebox_syncfs($0) }
        guard error == 0 else { throw FileError(errno: -error, operation: "sync", path: root) }
    }

    /// As `LocalFileSystem` says: nothing is kept between calls.
    public var allowsCallsAtOnce: Bool { true }

    /// As `LocalFileSystem` says.
    public func freeBytes() throws(FileError) -> UInt64 {
        var result: UInt64 = 0
        let error = try openRoot("look at").with { shoebox_free_bytes($0, &result) }
        guard error == 0 else { throw FileError(errno: -error, operation: "look at", path: root) }
        return result
    }

    private func shown(_ path: RelativePath) -> String { path.isRoot ? root : root + "/" + path.description }

    private func openRoot(_ operation: String) throws(FileError) -> Descriptor {
        let file = shoebox_open_root(root)
        guard file >= 0 else {
            var error = FileError(errno: -file, operation: operation, path: root)
            if [.absent, .unexpectedKind, .inputOutput].contains(error.code) { error.code = .offline }
            throw error
        }
        return Descriptor(file)
    }

    private func parent(
        of path: RelativePath, in root: Descriptor, _ operation: String
    ) throws(FileError) -> Descriptor {
        let parent = path.parent
        if parent.isRoot { return root }
        return try root.open(
            cString(parent.bytes), LiveFlags.path | O_DIRECTORY, operation: operation, path: shown(path))
    }

    /// Calls a function that gives 0 or a negative errno with the open parent and the name.
    private func inParent(
        of path: RelativePath, _ operation: String, _ call: (Int32, [CChar]) -> Int32
    ) throws(FileError) {
        guard let name = path.last else {
            throw FileError(
                code: .unexpectedKind, operation: operation, path: root, reason: "the root itself is not changed")
        }
        let parent = try parent(of: path, in: try openRoot(operation), operation)
        let error = parent.with { call($0, cString(name.bytes)) }
        guard error == 0 else { throw FileError(errno: -error, operation: operation, path: shown(path)) }
    }
}

/// Flags that Swift's Glibc module leaves out.
enum LiveFlags {
    /// O_PATH: opens the place, not the content.
    static let path: Int32 = 0o10000000
}

extension FileStamp {
    /// From the shim's numbers.
    init(_ stat: shoebox_stat) {
        self.init(
            size: stat.size, modifiedNanoseconds: stat.modified, inode: stat.inode, birthNanoseconds: stat.birth,
            mode: stat.mode)
    }
}
