public import ShoeboxModel
public import ShoeboxWorld

/// What became of one file operation.
public enum ApplyOutcome: Hashable, Sendable {
    /// Carried out; the stamp of what is now at the path, nil where nothing is.
    case done(FileStamp?)
    /// Not carried out, as the tree is not what the plan saw, or a program has what is there open for writing: plan again.
    /// Nothing was lost.
    case stale(String)
    /// Not carried out for another reason; everything else can go on.
    case failed(FileError)
}

/// Bytes that are about to be renamed into place, to be remembered until they are known to be durable.
///
/// An intent is left over when the rename then fails, so a file is repaired only if it has the intent's inode.
public struct WriteIntent: Hashable, Sendable {
    /// The record.
    public var record: RecordID
    /// Where the file will be.
    public var path: RelativePath
    /// The new file's inode.
    public var inode: UInt64
    /// Its bytes.
    public var size: UInt64
    /// SHA-256 of them.
    public var contentHash: Digest32

    /// An intent from its parts.
    public init(record: RecordID, path: RelativePath, inode: UInt64, size: UInt64, contentHash: Digest32) {
        self.record = record
        self.path = path
        self.inode = inode
        self.size = size
        self.contentHash = contentHash
    }
}

/// A file that was written aside, whole and checked, and is not in its place yet.
public struct PreparedWrite: Sendable {
    /// What has to be stored before it goes there.
    public let intent: WriteIntent
    let temporary: RelativePath
    let stamp: FileStamp
    let replaced: FileStamp?
}

/// What became of the first half of a write.
public enum Preparation: Sendable {
    /// Written aside.
    case ready(PreparedWrite)
    /// It could not be, or must not be.
    case over(ApplyOutcome)
}

/// The bytes of a record, to be written to a file.
public struct FileContent {
    /// Permission bits of the file.
    public var mode: UInt16
    /// Modification time, nanoseconds since 1970; nil for now.
    public var modifiedNanoseconds: Int64?
    /// Whether `stream` fails at its end unless all that it gave has the hash that was asked for.
    public var isVerified: Bool
    /// Calls its argument with one piece after another, in order, until the end; throws what that throws.
    public var stream: (_ take: ([UInt8]) throws -> Void) throws -> Void

    /// Content from its parts.
    public init(
        mode: UInt16 = 0o644, modifiedNanoseconds: Int64? = nil, isVerified: Bool = false,
        stream: @escaping (_ take: ([UInt8]) throws -> Void) throws -> Void
    ) {
        self.mode = mode
        self.modifiedNanoseconds = modifiedNanoseconds
        self.isVerified = isVerified
        self.stream = stream
    }
}
