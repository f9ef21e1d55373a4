public import ShoeboxModel
public import ShoeboxWorld

/// `.shoebox/root.json`: which container and account a watched root belongs to, and which replica serves it.
///
/// A root without it, or with another's, is not the one that was meant: an empty mount point, another disk.
public struct RootMarker: Hashable, Sendable {
    /// The value of `format`.
    public static let format = "shoebox.root/1"

    /// What a root shows.
    public enum Scope: String, Hashable, Sendable, CaseIterable {
        /// The account's own library.
        case `private`
        /// What others share with the account.
        case shared
    }

    /// The container's id.
    public var container: String
    /// The account.
    public var account: AccountID
    /// The replica that serves the root; another one refuses, or takes over when told to.
    public var replica: ReplicaID
    /// What the root shows.
    public var scope: Scope
    /// The name of the machine, for the message to whoever tries from another one; empty if not known.
    public var host: String

    /// A marker from its parts.
    public init(container: String, account: AccountID, replica: ReplicaID, scope: Scope, host: String = "") {
        self.container = container
        self.account = account
        self.replica = replica
        self.scope = scope
        self.host = host
    }

    /// The file.
    public func encoded() -> [UInt8] {
        var members: [JSONObject.Member] = [
            .init("container", .string(container)), .init("account", .string(account.description)),
            .init("replica", .string(replica.description)), .init("scope", .string(scope.rawValue)),
        ]
        if !host.isEmpty { members.append(.init("host", .string(host))) }
        return encodeDocument(format: Self.format, members)
    }

    /// The marker that the file holds; nil if it is none of this format.
    public init?(_ bytes: [UInt8]) {
        guard let object = try? JSONText.parse(bytes).object, object["format"]?.text == Self.format,
            let container = object["container"]?.text, !container.isEmpty,
            let account = object["account"]?.text.flatMap({ Digest32(hex: $0) }),
            let replica = object["replica"]?.text.flatMap({ ReplicaID(hex: $0) }),
            let scope = object["scope"]?.text.flatMap(Scope.init)
        else { return nil }
        self.init(
            container: container, account: AccountID(account), replica: replica, scope: scope,
            host: object["host"]?.text ?? "")
    }

    /// The marker of a root, nil if it has none.
    ///
    /// Throws what the file system throws, and `.unexpectedKind` for a file that is there and is no marker: such a root
    /// is not to be touched.
    public static func read(from files: some LocalFileSystem) throws(FileError) -> RootMarker? {
        guard try files.entry(at: OwnPaths.rootMarker) != nil else { return nil }
        let bytes = try files.readAll(OwnPaths.rootMarker, maxBytes: 65_536)
        guard let marker = RootMarker(bytes) else {
            throw FileError(
                code: .unexpectedKind, operation: "read", path: OwnPaths.rootMarker.description,
                reason: "it is no marker of a version that is known here")
        }
        return marker
    }

    /// Writes the marker, durably; what was there before stays until the new one is whole.
    public func write(to files: some LocalFileSystem) throws(FileError) {
        try replaceOwnFile(OwnPaths.rootMarker, with: encoded(), in: files)
    }
}

/// Writes a file of `.shoebox`, durably; what was there before stays until the new one is whole.
func replaceOwnFile(_ path: RelativePath, with bytes: [UInt8], in files: some LocalFileSystem) throws(FileError) {
    do throws(FileError) {
        try files.makeDirectory(OwnPaths.directory)
    } catch {
        guard error.code == .exists else { throw error }
    }
    guard let last = path.last, let name = FileName(bytes: last.bytes + ".new".utf8) else { return }
    let aside = OwnPaths.directory.appending(name)
    do throws(FileError) {
        try files.removeFile(aside)
    } catch {
        guard error.code == .absent else { throw error }
    }
    let file = try files.create(aside)
    try file.write(bytes)
    _ = try file.finish(mode: 0o644, modifiedNanoseconds: nil, durably: true)
    try files.rename(aside, to: path, mode: .replace)
    try files.synchronize()
}
