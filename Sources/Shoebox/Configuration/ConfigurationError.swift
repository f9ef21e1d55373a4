public import ShoeboxModel

/// Why a configuration can't be used.
public struct ConfigurationError: Error, Hashable, Sendable, CustomStringConvertible {
    /// What kind of error; match on this, not on the text.
    public struct Code: RawRepresentable, Hashable, Sendable {
        /// The code as `--json` prints it.
        public let rawValue: String
        /// A code from its text.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// There is no configuration file.
        public static let absent = Code(rawValue: "configAbsent")
        /// The file can't be read or written.
        public static let unreadable = Code(rawValue: "configUnreadable")
        /// The file is not JSON, or not an object.
        public static let syntax = Code(rawValue: "configSyntax")
        /// A key that means nothing.
        public static let unknownKey = Code(rawValue: "configUnknownKey")
        /// A key without which there is no account or folder to work with.
        public static let missingKey = Code(rawValue: "configMissingKey")
        /// A value of the wrong type, such as text for a number.
        public static let wrongType = Code(rawValue: "configWrongType")
        /// A value of the right type that can't be, or that this version doesn't know yet.
        public static let badValue = Code(rawValue: "configBadValue")
        /// Two folders of which one lies in the other.
        public static let overlap = Code(rawValue: "configOverlap")
        /// Neither an option nor the environment says where the configuration is, or where the home directory is.
        public static let noHome = Code(rawValue: "configNoHome")
    }

    /// What kind of error.
    public var code: Code
    /// The configuration file; nil if none could be named.
    public var file: AbsolutePath?
    /// Where in the file; nil if it is about the file as a whole.
    public var position: JSONPosition?
    /// What is wrong, as a clause.
    public var message: String
    /// What to do now, as a sentence.
    public var remedy: String

    /// An error from its parts.
    public init(
        code: Code, file: AbsolutePath?, position: JSONPosition? = nil, message: String, remedy: String
    ) {
        self.code = code
        self.file = file
        self.position = position
        self.message = message
        self.remedy = remedy
    }

    /// File, place and reason: `/home/a/config.json, line 3, column 5: unknown key "libary"`.
    public var description: String {
        let place = [file?.text, position?.description].compactMap { $0 }.joined(separator: ", ")
        return place.isEmpty ? message : "\(place): \(message)"
    }
}
