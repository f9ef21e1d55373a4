import ShoeboxModel
import ShoeboxWorld

/// What a replica knows of shares, for the question what may be told to whom.
public struct SimulationSharing: Sendable {
    /// What a replica shows at a place.
    public struct Place: Hashable, Sendable {
        /// The shares that what is there belongs to; empty where it is private.
        public var shares: Set<String>
        /// The name of its record, in whatever share.
        public var record: String

        /// A place from its parts.
        public init(shares: Set<String>, record: String) {
            self.shares = shares
            self.record = record
        }
    }

    /// What is shown where, the root before each path: `library/Lake/a.jpg`.
    public var places: [String: Place] = [:]
    /// The shares that have a record, or that it became.
    public var holders: [String: Set<String>] = [:]
    /// The shares that are known to have a record no more.
    public var former: [String: Set<String>] = [:]

    /// Nothing is known.
    public init() {}
}

/// Who was ever to be told of what: a content may be told in a share if it lay there, by somebody's doing, at some time between
/// two acts. What was overwritten before its photo went into a share, or is written after it left one, is not for its people,
/// though it were never shown in a folder.
struct SimulationPrivacy {
    /// A file as a user left it.
    struct Touched: Hashable, Sendable {
        var machine: String
        var root: String
        var inode: UInt64
        var bytes: [UInt8]
    }

    /// The shares that each entry of the ledger may be told in, by its bytes.
    private var homes: [[UInt8]: Set<String>] = [:]
    private var known: [String: SimulationSharing] = [:]
    /// Contents that commands brought back, in which share.
    private var broughtBack: [String: Set<[UInt8]>] = [:]

    /// The files of a machine as a user sees them.
    static func files(on machine: SimulatedMachine) -> [String: Touched] {
        var result: [String: Touched] = [:]
        for disk in [machine.library, machine.shared] {
            let entries = disk.entries()
            for (path, bytes) in disk.tree(without: ".shoebox") where !path.hasSuffix(".json") {
                guard let place = RelativePath(path), let inode = entries[place]?.stamp.inode else { continue }
                result["\(disk.name)/\(path)"] = Touched(
                    machine: machine.name, root: disk.name, inode: inode, bytes: bytes)
            }
        }
        return result
    }

    /// Takes in what a machine shows after an act, a round or a command.
    ///
    /// - Parameters:
    ///   - sharing: what its replica knows by now.
    ///   - touched: all files that users left as they are.
    ///   - isCommand: whether a person has just asked for something: what comes to a share by that is to be told there.
    mutating func look(
        at machine: SimulatedMachine, _ sharing: SimulationSharing, touched: Set<Touched>, isCommand: Bool = false
    ) {
        let before = known[machine.name] ?? SimulationSharing()
        known[machine.name] = sharing
        for (path, file) in Self.files(on: machine) {
            let shares = Self.shares(of: path, sharing)
            if isCommand, !shares.isEmpty {
                homes[file.bytes, default: []].formUnion(shares.subtracting(Self.shares(of: path, before)))
            }
            // A device may put a copy for its user alone into a folder that the user has just shared on another one.
            guard touched.contains(file) || path.hasPrefix("library/Private copies of ") else { continue }
            homes[file.bytes, default: []].formUnion(shares)
            // It is for the people of a share also if its user can't know yet that the photo went there.
            for record in Self.lineage(of: path, sharing) {
                for (name, other) in known where name != machine.name {
                    let unknown = other.holders[record, default: []].subtracting(sharing.former[record, default: []])
                    homes[file.bytes, default: []].formUnion(unknown)
                }
            }
        }
    }

    /// Notes what a command brought back.
    mutating func noteBroughtBack(_ told: [String: Set<[UInt8]>]) {
        broughtBack.merge(told) { $0.union($1) }
    }

    private static func shares(of path: String, _ sharing: SimulationSharing) -> Set<String> {
        var result: Set<String> = []
        var path = Substring(path)
        var isFirst = true
        while !path.isEmpty {
            if let place = sharing.places[String(path)] {
                result.formUnion(place.shares)
                // What lies at the place of a photo may be that photo, or another one in its folder.
                if !isFirst { return result }
            }
            isFirst = false
            guard let slash = path.lastIndex(of: "/") else { return result }
            path = path[..<slash]
        }
        return result
    }

    private static func lineage(of path: String, _ sharing: SimulationSharing) -> [String] {
        var result: [String] = []
        var path = Substring(path)
        while !path.isEmpty {
            if let place = sharing.places[String(path)] { result.append(place.record) }
            guard let slash = path.lastIndex(of: "/") else { return result }
            path = path[..<slash]
        }
        return result
    }

    /// What was told in shares that never lay there.
    ///
    /// - Parameters:
    ///   - told: the hashes of the contents that the changes of each share name.
    ///   - hash: makes such a hash.
    func leaks(
        _ told: [String: Set<[UInt8]>], _ ledger: SimulationLedger, hash: ([UInt8]) -> [UInt8]
    ) -> [String] {
        guard !told.isEmpty else { return [] }
        var entries: [[UInt8]: SimulationLedger.Entry] = [:]
        for entry in ledger.entries where entry.kind == .content {
            entries[hash(entry.bytes)] = entry
        }
        var lines: Set<String> = []
        for (share, hashes) in told {
            for content in hashes.subtracting(broughtBack[share, default: []]) {
                guard let entry = entries[content], homes[entry.bytes]?.contains(share) != true else { continue }
                lines.insert("told in share \(share.prefix(8)), and never lay there: \(entry)")
            }
        }
        return lines.sorted()
    }
}
