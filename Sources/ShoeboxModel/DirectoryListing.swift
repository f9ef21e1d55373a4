/// What a directory held when it was listed: kinds and stamps in the order of the names' bytes, no name twice.
///
/// The names lie in one buffer, so that a directory of which nothing has changed costs no value for each name.
public struct DirectoryListing: Sendable {
    /// One name of the directory; the name itself is `nameCount` bytes at `nameStart` of `names`.
    public struct Entry: Sendable {
        /// Where the name begins.
        public var nameStart: Int
        /// How many bytes it has.
        public var nameCount: Int
        /// What it is; links are not followed.
        public var kind: FileKind
        /// Its stamp.
        public var stamp: FileStamp

        /// An entry from its parts.
        public init(nameStart: Int, nameCount: Int, kind: FileKind, stamp: FileStamp) {
            self.nameStart = nameStart
            self.nameCount = nameCount
            self.kind = kind
            self.stamp = stamp
        }
    }

    /// The names, one behind the other.
    public let names: [UInt8]
    /// The entries by their names.
    public let entries: [Entry]

    /// A listing whose entries are known to be in the order of their names, each name once.
    package init(names: [UInt8], ordered entries: [Entry]) {
        self.names = names
        self.entries = entries
    }

    /// A listing from entries in any order; of those with one name the first is kept.
    public init(_ unordered: some Sequence<(name: FileName, kind: FileKind, stamp: FileStamp)>) {
        var names: [UInt8] = []
        var entries: [Entry] = []
        var last: FileName?
        for item in unordered.sorted(by: { $0.name < $1.name }) where item.name != last {
            entries.append(
                Entry(nameStart: names.count, nameCount: item.name.bytes.count, kind: item.kind, stamp: item.stamp))
            names += item.name.bytes
            last = item.name
        }
        self.names = names
        self.entries = entries
    }

    /// The name of an entry; nil if a file system gave one that can't be.
    public func name(at index: Int) -> FileName? {
        guard entries.indices.contains(index) else { return nil }
        let entry = entries[index]
        let end = entry.nameStart + entry.nameCount
        guard entry.nameStart >= 0, entry.nameStart <= end, end <= names.count else { return nil }
        return FileName(bytes: names[entry.nameStart..<end])
    }
}
