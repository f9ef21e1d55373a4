import ShoeboxFormat
import ShoeboxModel
public import ShoeboxWorld

/// A failure to read or change a container, or a problem found in it.
///
/// Callers match on `code`; people read `message` and `remedy`.
public struct CloudError: Error, Hashable, Sendable, CustomStringConvertible {
    /// What kind of failure.
    public struct Code: Hashable, Sendable, RawRepresentable, CustomStringConvertible {
        /// The code's stable name.
        public let rawValue: String
        /// A code by its name.
        public init(rawValue: String) { self.rawValue = rawValue }
        /// The code's stable name.
        public var description: String { rawValue }
        /// The directory holds no container.
        public static let notAContainer = Code(rawValue: "notAContainer")
        /// There is a container already.
        public static let containerExists = Code(rawValue: "containerExists")
        /// Another container than the one expected.
        public static let otherContainer = Code(rawValue: "otherContainer")
        /// A newer version of the format, or a feature that this version doesn't know.
        public static let newerFormat = Code(rawValue: "newerFormat")
        /// The mount is not there, or does not answer.
        public static let offline = Code(rawValue: "offline")
        /// A call on the mount failed otherwise; `cause` says how.
        public static let mount = Code(rawValue: "mount")
        /// Something known to exist is not visible here yet. Never a proof of deletion.
        public static let notYet = Code(rawValue: "notYet")
        /// Bytes that are not what they must be: torn, edited, forged, or under a name that is not theirs.
        public static let damaged = Code(rawValue: "damaged")
        /// A valid signature by somebody who had no right to sign.
        public static let notPermitted = Code(rawValue: "notPermitted")
        /// The zone's key is not wrapped for this account.
        public static let notInvited = Code(rawValue: "notInvited")
        /// Sealed under an epoch whose key is not known (yet).
        public static let missingKey = Code(rawValue: "missingKey")
        /// Two validly signed files for one number.
        public static let fork = Code(rawValue: "fork")
        /// What is seen is older than what was seen before.
        public static let rolledBack = Code(rawValue: "rolledBack")
        /// A local file changed while it was read.
        public static let changedWhileReading = Code(rawValue: "changedWhileReading")
        /// A local file that is to be published can't be read; `cause` says why.
        public static let sourceUnreadable = Code(rawValue: "sourceUnreadable")
        /// Text or a value from the caller is not what it must be.
        public static let invalid = Code(rawValue: "invalid")
    }

    /// What kind of failure; match on this.
    public var code: Code
    /// What failed, and why.
    public var message: String
    /// What to do now.
    public var remedy: String
    /// The file or directory in the container; empty if it is about none.
    public var path: String
    /// The failed call beneath, if there is one.
    public var cause: FileError?

    /// An error from its parts.
    public init(code: Code, message: String, remedy: String, path: String = "", cause: FileError? = nil) {
        self.code = code
        self.message = message
        self.remedy = remedy
        self.path = path
        self.cause = cause
    }

    /// What failed, and why.
    public var description: String { path.isEmpty ? message : "\(message) (\(path))" }

    /// Whether trying again later can help with nobody doing anything.
    public var isTransient: Bool {
        switch code {
        case .offline, .notYet, .missingKey, .changedWhileReading: true
        case .mount: cause?.isTransient ?? false
        default: false
        }
    }

    /// The error for a failed call on the mount.
    public init(_ error: FileError) {
        let offline = error.code == .offline || error.code == .timedOut
        self.init(
            code: offline ? .offline : .mount, message: error.description,
            remedy: offline
                ? "Check that the cloud folder is mounted; work goes on by itself when it is back."
                : error.code == .denied
                    ? "Run 'shoebox doctor' to see which group or mode is missing on the cloud folder."
                    : error.code == .full ? "Make room on the cloud folder." : "Run 'shoebox doctor'.",
            path: error.path, cause: error)
    }

    static func damaged(_ message: String, path: String = "") -> CloudError {
        CloudError(
            code: .damaged, message: message,
            remedy:
                "Everything else goes on; 'shoebox verify' names all damage, and with '--repair' mends what this device has.",
            path: path)
    }

    static func damaged(_ error: FormatError, path: String = "") -> CloudError { .damaged(error.message, path: path) }

    static func notYet(_ message: String, path: String = "") -> CloudError {
        CloudError(code: .notYet, message: message, remedy: "Wait; it is tried again by itself.", path: path)
    }

    static func invalid(_ message: String) -> CloudError {
        CloudError(code: .invalid, message: message, remedy: "Check what was given, and try again.")
    }
}
