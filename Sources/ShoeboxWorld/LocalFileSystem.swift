public import ShoeboxModel

/// One name in a directory.
public struct DirectoryEntry: Hashable, Sendable {
    /// The name.
    public var name: FileName
    /// What it is; links are not followed.
    public var kind: FileKind
    /// Its stamp.
    public var stamp: FileStamp
    /// An entry from its parts.
    public init(name: FileName, kind: FileKind, stamp: FileStamp) {
        self.name = name
        self.kind = kind
        self.stamp = stamp
    }
}

/// Which directory a root is right now; differs after a mount or unmount over it.
public struct RootIdentity: Hashable, Sendable {
    /// The device number.
    public var device: UInt64
    /// The inode of the root directory.
    public var inode: UInt64
    /// An identity from its parts.
    public init(device: UInt64, inode: UInt64) {
        self.device = device
        self.inode = inode
    }
}

/// What happens when a rename's target exists.
public enum RenameMode: Hashable, Sendable {
    /// The call fails with `.exists` and nothing changes.
    case failIfExists
    /// The target is replaced in one step.
    case replace
    /// The two names swap what they hold in one step.
    case exchange
}

/// Where an exchange puts one of the two for an instant, on a file system that can't exchange them in one step.
public enum ExchangeAside {
    /// The name beside the source for what the target had, from the source's name.
    public static func name(for source: [UInt8]) -> [UInt8] { Array(source.prefix(250)) + Array(".swap".utf8) }
}

/// A file opened for reading. Not thread-safe; closed when released.
public protocol ReadableFile: AnyObject {
    /// The stamp of the open file now.
    func stamp() throws(FileError) -> FileStamp
    /// Up to `maxBytes` from an offset; empty at the end.
    func read(at offset: UInt64, maxBytes: Int) throws(FileError) -> [UInt8]
}

/// A new file being written. Not thread-safe; closed when released.
public protocol WritableFile: AnyObject {
    /// Writes bytes at the end.
    func write(_ bytes: [UInt8]) throws(FileError)
    /// Sets permission bits and modification time (nil keeps what is), then closes. Returns the stamp; an error of
    /// close is thrown. Durable only after `synchronize` of the file system, or at once with `durably`.
    func finish(mode: UInt16?, modifiedNanoseconds: Int64?, durably: Bool) throws(FileError) -> FileStamp
}

/// One local root directory: the library folder or the shared folder.
///
/// Paths are relative to the root, can't leave it, and no call follows a symbolic link below the root. Every call may
/// fail; `.offline` when the root itself is missing. Two names that the file system folds together are its own business:
/// callers look at what `list` returns. Implementations: live (`LiveFileSystem`) and simulated, held together by one
/// conformance suite.
public protocol LocalFileSystem: Sendable {
    /// Which directory the root is now; `.offline` if it is missing.
    func identity() throws(FileError) -> RootIdentity
    /// All entries of a directory but `.` and `..`, in no order. Names that are no `FileName` do not exist on Linux.
    func list(_ directory: RelativePath) throws(FileError) -> [DirectoryEntry]
    /// For listing many directories one after another.
    func makeLister() -> any DirectoryLister
    /// The entry at a path, nil if there is none. The root's own entry has the name `root`.
    func entry(at path: RelativePath) throws(FileError) -> DirectoryEntry?
    /// A number for the mount that a directory lies on: differs from its parent's where something is mounted on it. Holds
    /// until the machine starts anew.
    func mount(of directory: RelativePath) throws(FileError) -> UInt64
    /// Opens a regular file; anything else is `.unexpectedKind`.
    func open(_ path: RelativePath) throws(FileError) -> any ReadableFile
    /// Makes a new empty file; `.exists` if the name is taken.
    func create(_ path: RelativePath) throws(FileError) -> any WritableFile
    /// Makes a directory; `.exists` if the name is taken. The parent must exist.
    func makeDirectory(_ path: RelativePath) throws(FileError)
    /// Renames a file or directory.
    func rename(_ source: RelativePath, to target: RelativePath, mode: RenameMode) throws(FileError)
    /// Removes a file or link; `.absent` if there is none.
    func removeFile(_ path: RelativePath) throws(FileError)
    /// Removes an empty directory; `.exists` if it isn't empty.
    func removeDirectory(_ path: RelativePath) throws(FileError)
    /// Sets the permission bits of a file or directory.
    func setMode(_ path: RelativePath, _ mode: UInt16) throws(FileError)
    /// Sets the modification time of a file.
    func setModified(_ path: RelativePath, nanoseconds: Int64) throws(FileError)
    /// Whether some process has the file open for writing, as far as can be told; false when it can't be told.
    func hasWriter(_ path: RelativePath) -> Bool
    /// Returns when everything done so far is durable.
    func synchronize() throws(FileError)
    /// Bytes free for this user.
    func freeBytes() throws(FileError) -> UInt64
    /// Whether several threads may make calls at the same time.
    var allowsCallsAtOnce: Bool { get }
}

extension LocalFileSystem {
    /// One that lists each directory when it is asked for.
    public func makeLister() -> any DirectoryLister { PlainDirectoryLister(self) }

    /// A simulation decides the order of all calls, so they come one after another.
    public var allowsCallsAtOnce: Bool { false }

    /// The whole of a small file; `.badName` with a reason if it has more bytes than allowed.
    public func readAll(_ path: RelativePath, maxBytes: Int) throws(FileError) -> [UInt8] {
        let file = try open(path)
        var result: [UInt8] = []
        while true {
            let chunk = try file.read(at: UInt64(result.count), maxBytes: 65_536)
            if chunk.isEmpty { return result }
            result += chunk
            guard result.count <= maxBytes else {
                throw FileError(
                    code: .badName, operation: "read", path: path.description,
                    reason: "it has more than \(maxBytes) bytes")
            }
        }
    }
}
