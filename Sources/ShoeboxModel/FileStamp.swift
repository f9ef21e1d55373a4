/// What a directory entry is.
public enum FileKind: Hashable, Sendable { case file, directory, symbolicLink, other }

/// What the file system says of a file without opening it: enough to see that nothing has changed.
public struct FileStamp: Hashable, Sendable {
    /// Bytes.
    public var size: UInt64
    /// Modification time, nanoseconds since 1970; may be negative.
    public var modifiedNanoseconds: Int64
    /// The inode. By itself no identity: ext4 gives it to the next file at once.
    public var inode: UInt64
    /// Birth time, nanoseconds since 1970; 0 where the file system keeps none.
    public var birthNanoseconds: Int64
    /// Permission bits.
    public var mode: UInt16

    /// A stamp from its parts.
    public init(
        size: UInt64, modifiedNanoseconds: Int64, inode: UInt64, birthNanoseconds: Int64 = 0, mode: UInt16 = 0o644
    ) {
        self.size = size
        self.modifiedNanoseconds = modifiedNanoseconds
        self.inode = inode
        self.birthNanoseconds = birthNanoseconds
        self.mode = mode
    }

    /// Whether both stamps speak of the same bytes in the same file, as far as can be told without reading.
    public func isUnchanged(from other: FileStamp) -> Bool {
        size == other.size && modifiedNanoseconds == other.modifiedNanoseconds && isSameFile(as: other)
    }

    /// Whether both stamps are of one file, which may have been renamed or written meanwhile.
    public func isSameFile(as other: FileStamp) -> Bool { identity == other.identity }

    /// What stays with a file through renames and writes.
    public var identity: FileIdentity { FileIdentity(inode: inode, birthNanoseconds: birthNanoseconds) }
}

/// The file system's identity of a file or directory; where it keeps no birth times, the next file may have the same.
public struct FileIdentity: Hashable, Sendable {
    /// The inode.
    public var inode: UInt64
    /// Birth time, nanoseconds since 1970; 0 where the file system keeps none.
    public var birthNanoseconds: Int64

    /// An identity from its parts.
    public init(inode: UInt64, birthNanoseconds: Int64) {
        self.inode = inode
        self.birthNanoseconds = birthNanoseconds
    }
}
