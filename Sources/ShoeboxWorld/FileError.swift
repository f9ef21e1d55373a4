/// A failed call on a file, local or on the mount.
///
/// Callers match on `code`; people read `description`.
public struct FileError: Error, Hashable, Sendable, CustomStringConvertible {
    /// What kind of failure.
    public struct Code: Hashable, Sendable, RawRepresentable {
        /// The code's stable name.
        public let rawValue: String
        /// A code by its name.
        public init(rawValue: String) { self.rawValue = rawValue }
        /// Nothing has that name (ENOENT). On a mount: not yet, or not any more; never a proof of deletion.
        public static let absent = Code(rawValue: "absent")
        /// Something has that name already (EEXIST, ENOTEMPTY).
        public static let exists = Code(rawValue: "exists")
        /// The root itself is not there: unmounted, unplugged, not yet mounted.
        public static let offline = Code(rawValue: "offline")
        /// Not permitted (EACCES, EPERM, EROFS).
        public static let denied = Code(rawValue: "denied")
        /// No space or quota left (ENOSPC, EDQUOT).
        public static let full = Code(rawValue: "full")
        /// The call did not return in time.
        public static let timedOut = Code(rawValue: "timedOut")
        /// A component is a symbolic link, or of an unexpected kind (ELOOP, ENOTDIR, EISDIR, EXDEV).
        public static let unexpectedKind = Code(rawValue: "unexpectedKind")
        /// The name can't be held here (ENAMETOOLONG, EINVAL, EILSEQ).
        public static let badName = Code(rawValue: "badName")
        /// Anything else (EIO, ESTALE after reopening, …).
        public static let inputOutput = Code(rawValue: "inputOutput")
    }

    /// What kind of failure; match on this.
    public var code: Code
    /// What was tried, such as "read".
    public var operation: String
    /// The path, for people.
    public var path: String
    /// The errno beneath; 0 if none.
    public var errno: Int32
    /// The cause, for people.
    public var reason: String

    /// An error from its parts.
    public init(code: Code, operation: String, path: String, errno: Int32 = 0, reason: String = "") {
        self.code = code
        self.operation = operation
        self.path = path
        self.errno = errno
        self.reason = reason
    }

    /// Whether trying again later can help with nobody doing anything.
    public var isTransient: Bool { [.absent, .offline, .full, .timedOut, .inputOutput].contains(code) }

    /// What failed, and why.
    public var description: String {
        "cannot \(operation) '\(path)': \(reason.isEmpty ? code.rawValue : reason)"
    }
}
