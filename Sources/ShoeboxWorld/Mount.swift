/// A path below the container's root: components of lower-case letters, digits, `.`, `_`, `-` and, in plain zones,
/// other characters that every file system holds; never `..`.
public struct MountPath: Hashable, Comparable, Sendable, CustomStringConvertible {
    /// The components, outermost first; none for the root.
    public let components: [String]

    /// A path from valid components; nil if one is empty, is `.` or `..`, or has `/` or NUL in it.
    public init?(_ components: [String]) {
        for part in components {
            guard !part.isEmpty, part != ".", part != "..", part.utf8.count <= 255, !part.utf8.contains(0),
                !part.utf8.contains(UInt8(ascii: "/"))
            else { return nil }
        }
        self.components = components
    }

    private init(unchecked components: [String]) { self.components = components }

    /// A path from text such as `zones/ab12/heads`; nil if a component is not valid.
    public init?(_ text: String) {
        self.init(text.split(separator: "/", omittingEmptySubsequences: false).map(String.init))
    }

    /// The container's root.
    public static let root = MountPath(unchecked: [])
    /// The path with one more component; nil if that is not valid.
    public func appending(_ component: String) -> MountPath? { MountPath(components + [component]) }
    /// The path of the directory that holds this; the root for the root.
    public var parent: MountPath { MountPath(unchecked: Array(components.dropLast())) }
    /// The last component; empty for the root.
    public var last: String { components.last ?? "" }
    /// The components with `/` between.
    public var description: String { components.joined(separator: "/") }
    public static func < (left: Self, right: Self) -> Bool { left.description < right.description }
}

/// The container's directory on a mount: no more than NFS, SMB, sshfs and GlusterFS can give.
///
/// - A file that is published under a new name is seen whole by others, sooner or later. Names are never reused.
/// - A listing may be old, in both directions. So may an `.absent` answer: ask only for names that are known to exist.
/// - Reading a file that grew, from a known offset, is fresh.
/// - Nothing is locked, nothing is renamed over, no call is known to return: implementations give up after a deadline
///   with `.timedOut`, and `.offline` when the root is missing or is not the directory that it was.
public protocol Mount: Sendable {
    /// The names in a directory, without temporary ones; `.absent` if there is no such directory (yet).
    func list(_ directory: MountPath) throws(FileError) -> [String]
    /// Up to `maxBytes` from an offset of a file that is known to exist; empty at its end. Opens the file anew each time.
    func read(_ path: MountPath, from offset: UInt64, maxBytes: Int) throws(FileError) -> [UInt8]
    /// Hands on `count` bytes from an offset in pieces of `pieceBytes`, the last one shorter; ends early where the file does.
    /// An error of `take` ends it and is thrown.
    func read(
        _ path: MountPath, from offset: UInt64, count: UInt64, pieceBytes: Int,
        into take: (_ piece: [UInt8]) throws -> Void
    ) throws
    /// Makes a file with these bytes under a new name, whole or not at all. `.exists` if the name is known to be taken.
    /// Missing parent directories are made. Durable after `synchronize`.
    func publish(_ path: MountPath, _ bytes: [UInt8]) throws(FileError)
    /// As `publish` for content that doesn't fit in memory: `body` is called with a function that takes the next bytes.
    func publish(
        _ path: MountPath, writing body: ((_ chunk: [UInt8]) throws -> Void) throws -> Void
    ) throws
    /// Adds bytes at the end of the caller's own file, making it if need be; durable when it returns.
    func append(_ path: MountPath, _ bytes: [UInt8]) throws(FileError)
    /// Removes a file that the caller wrote; absent is fine.
    func remove(_ path: MountPath) throws(FileError)
    /// Makes a directory and its parents; existing is fine.
    func makeDirectory(_ path: MountPath) throws(FileError)
    /// Returns when everything published so far is durable.
    func synchronize() throws(FileError)
}

extension Mount {
    /// One piece after another.
    public func read(
        _ path: MountPath, from offset: UInt64, count: UInt64, pieceBytes: Int,
        into take: (_ piece: [UInt8]) throws -> Void
    ) throws {
        var done: UInt64 = 0
        while done < count {
            let (position, overflow) = offset.addingReportingOverflow(done)
            guard !overflow else { return }
            let wanted = Int(min(UInt64(pieceBytes), count - done))
            var piece = try read(path, from: position, maxBytes: wanted)
            while !piece.isEmpty, piece.count < wanted {
                let more = try read(path, from: position + UInt64(piece.count), maxBytes: wanted - piece.count)
                if more.isEmpty { break }
                piece += more
            }
            if !piece.isEmpty { try take(piece) }
            guard piece.count == wanted else { return }
            done += UInt64(wanted)
        }
    }
}
