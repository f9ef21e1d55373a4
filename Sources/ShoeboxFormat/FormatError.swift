/// Bytes that are not what their format says.
public struct FormatError: Error, Hashable, Sendable, CustomStringConvertible {
    /// What is wrong, and where in the message.
    public var message: String
    /// What to do now.
    public var remedy: String

    /// An error from its parts.
    public init(
        message: String,
        remedy: String = "Run 'shoebox verify' to see what else is damaged; if it came from a newer version, update."
    ) {
        self.message = message
        self.remedy = remedy
    }

    /// What is wrong.
    public var description: String { message }
}
