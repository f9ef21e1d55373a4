public import ShoeboxModel
public import ShoeboxWorld

/// `.shoebox/token.json`: how far the state directory was that last kept a watched root.
///
/// A state directory that is not that far any more was put back to a backup, and knows less of the root than that shows. It
/// says so without the container, and nothing else hangs on it: one that is missing, or can't be read, says nothing.
public struct RootToken: Hashable, Sendable {
    /// The value of `format`.
    public static let format = "shoebox.token/1"

    /// The replica whose history it is.
    public var replica: ReplicaID
    /// The newest change token of its history.
    public var token: Int64

    /// A token of a replica's.
    public init(replica: ReplicaID, token: Int64) {
        self.replica = replica
        self.token = token
    }

    /// The file.
    public func encoded() -> [UInt8] {
        encodeDocument(
            format: Self.format,
            [
                .init("replica", .string(replica.description)),
                .init("token", .number(JSONNumber(UInt64(clamping: token)))),
            ])
    }

    /// The token that the file holds; nil if it is none of this format.
    public init?(_ bytes: [UInt8]) {
        guard let object = try? JSONText.parse(bytes).object, object["format"]?.text == Self.format,
            let replica = object["replica"]?.text.flatMap({ ReplicaID(hex: $0) }),
            let token = object["token"]?.integer, token >= 0
        else { return nil }
        self.init(replica: replica, token: token)
    }

    /// The token of a root; nil if it has none that is known here. Throws what the file system throws.
    public static func read(from files: some LocalFileSystem) throws(FileError) -> RootToken? {
        guard try files.entry(at: OwnPaths.rootToken)?.kind == .file else { return nil }
        return RootToken(try files.readAll(OwnPaths.rootToken, maxBytes: 65_536))
    }

    /// Writes the token, durably; what was there before stays until the new one is whole.
    public func write(to files: some LocalFileSystem) throws(FileError) {
        try replaceOwnFile(OwnPaths.rootToken, with: encoded(), in: files)
    }
}
