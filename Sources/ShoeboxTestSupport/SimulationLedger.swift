public import ShoeboxModel

/// All that users ever wrote in a simulation, and whether it must still be found somewhere.
public struct SimulationLedger: Sendable {
    /// What kind of thing was written.
    public enum Kind: Hashable, Sendable {
        /// A file's bytes, unique to this entry.
        case content
        /// A word that is unique to this entry, somewhere in a sidecar: a caption.
        case caption
        /// A word that is unique to this entry, among the tags of a sidecar.
        case tag
    }

    /// One thing that a user wrote.
    public struct Entry: Hashable, Sendable, CustomStringConvertible {
        /// From 0, in order of writing.
        public var number: Int
        /// What kind.
        public var kind: Kind
        /// The bytes of the file, or the word's.
        public var bytes: [UInt8]
        /// By whom.
        public var machine: String
        /// In which root: `library` or `shared`.
        public var root: String
        /// Where.
        public var path: RelativePath
        /// The number of the step that closed the file.
        public var step: Int
        /// The true time at which the file was closed.
        public var closedAtMilliseconds: UInt64
        /// The step in which a user who was shown it deleted or overwrote it, so that no copy was left on that
        /// machine; nil while it must be kept.
        public var waivedInStep: Int?
        /// One line for people.
        public var description: String {
            "\(kind) \(describeBytes(bytes, limit: 24)) written by \(machine) in step \(step) at \(root)/\(path)"
        }
    }

    /// All entries, oldest first.
    public private(set) var entries: [Entry] = []

    /// An empty ledger.
    public init() {}

    /// The entries that must be found.
    public var required: [Entry] { entries.filter { $0.waivedInStep == nil } }

    mutating func add(
        _ kind: Kind, _ bytes: [UInt8], machine: String, root: String, path: RelativePath, step: Int, now: UInt64
    ) {
        entries.append(
            Entry(
                number: entries.count, kind: kind, bytes: bytes, machine: machine, root: root, path: path, step: step,
                closedAtMilliseconds: now))
    }

    /// The entries that are found in some files, by number.
    func found(in files: some Collection<[UInt8]>) -> Set<Int> {
        let whole = Set(files)
        var result: Set<Int> = []
        var words: [[UInt8]: [Int]] = [:]
        for entry in entries {
            if entry.kind == .content {
                if whole.contains(entry.bytes) { result.insert(entry.number) }
            } else {
                words[entry.bytes, default: []].append(entry.number)
            }
        }
        guard !words.isEmpty else { return result }
        // The words are made of lower-case letters and digits, and end where those end.
        for file in whole {
            for word in file.split(whereSeparator: { !Self.isWordByte($0) }) {
                if let numbers = words[Array(word)] { result.formUnion(numbers) }
            }
        }
        return result
    }

    private static func isWordByte(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte) || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
    }

    mutating func waive(_ numbers: Set<Int>, step: Int) {
        for number in numbers where entries.indices.contains(number) && entries[number].waivedInStep == nil {
            entries[number].waivedInStep = step
        }
    }
}
