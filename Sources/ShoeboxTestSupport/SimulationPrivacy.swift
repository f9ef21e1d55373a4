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
        /// The inode of a folder in which a share shows; else nil.
        public var inode: UInt64?

        /// A place from its parts.
        public init(shares: Set<String>, record: String, inode: UInt64? = nil) {
            self.shares = shares
            self.record = record
            self.inode = inode
        }
    }

    /// What is shown where, the root before each path: `library/Lake/a.jpg`.
    public var places: [String: Place] = [:]
    /// The shares that have a record, or that it became.
    public var holders: [String: Set<String>] = [:]
    /// The shares that have ended: what was in one may be in others by now, and so may be what is put into it by who has not
    /// heard of that.
    public var ended: Set<String> = []
    /// What is known of how records left shares again: for each record, by share.
    public var departures: [String: [String: Set<String>]] = [:]

    /// Nothing is known.
    public init() {}
}

/// Who was ever to be told of what: a content may be told in a share if it lay there, by somebody's doing, at some time between
/// two acts. What was overwritten before its photo went into a share, or is written after it left one, is not for its people,
/// though it were never shown in a folder. A caption may be told in a share if it was ever shown there beside its photo.
struct SimulationPrivacy {
    /// A file as a user left it.
    struct Touched: Hashable, Sendable {
        var machine: String
        var root: String
        var inode: UInt64
        var bytes: [UInt8]
    }

    /// A photo, whatever is in it and wherever it is.
    struct Photo: Hashable, Sendable {
        var machine: String
        var root: String
        var inode: UInt64

        init(machine: String, root: String, inode: UInt64) {
            (self.machine, self.root, self.inode) = (machine, root, inode)
        }

        init(_ file: Touched) { self.init(machine: file.machine, root: file.root, inode: file.inode) }
    }

    /// The shares that each entry of the ledger may be told in, by its bytes.
    private var homes: [[UInt8]: Set<String>] = [:]
    private var known: [String: SimulationSharing] = [:]
    /// What a user left somewhere, as their machine knows it.
    private struct Lineage {
        var records: Set<String> = []
        var isShown = true
        var rounds = 0
    }

    /// The records by which each machine knew at the last look what users left there: where others had taken these by then, what
    /// was saved is for the people there, though the next round takes it elsewhere. So is what was saved over, until that has
    /// surely been taken in.
    private var lineages: [String: [[UInt8]: Lineage]] = [:]
    /// Captions that were ever shown: one that was given by a command, and written over before that, went with its photo.
    private var shown: Set<[UInt8]> = []
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

    /// The caption in a sidecar, also in one that somebody broke.
    private static func caption(in text: String) -> Substring? {
        guard let key = text.firstRange(of: "\"caption\":"),
            let start = text[key.upperBound...].firstIndex(of: "\"")
        else { return nil }
        return text[text.index(after: start)...].prefix { $0 != "\"" }
    }

    /// The captions that a machine shows, by the places of their photos.
    ///
    /// - Parameter outdated: what is said instead, by a command, of the captions in some sidecars.
    static func captions(
        on machine: SimulatedMachine, outdated: [Touched: [UInt8]] = [:]
    ) -> [String: [UInt8]] {
        var result: [String: [UInt8]] = [:]
        for disk in [machine.library, machine.shared] {
            let entries = outdated.isEmpty ? [:] : disk.entries()
            for (path, bytes) in disk.tree(without: ".shoebox") where path.hasSuffix(".json") {
                guard let text = String(validating: bytes, as: UTF8.self), let caption = caption(in: text) else {
                    continue
                }
                var said = Array(caption.utf8)
                if let inode = RelativePath(path).flatMap({ entries[$0]?.stamp.inode }) {
                    said = outdated[Touched(machine: machine.name, root: "", inode: inode, bytes: said)] ?? said
                }
                let suffix = path.hasSuffix(".shoebox.json") ? ".shoebox.json" : ".json"
                result["\(disk.name)/\(path.dropLast(suffix.count))"] = said
            }
        }
        return result
    }

    /// Takes in what a machine shows after an act, a round or a command.
    ///
    /// - Parameters:
    ///   - sharing: what its replica knows by now.
    ///   - touched: all files that users left as they are.
    ///   - fresh: those that were not looked at since, with where they were left: in the middle of a round that took them
    ///     elsewhere at once, perhaps.
    ///   - outdated: what is said instead, by a command, of the captions in some sidecars.
    ///   - isCommand: whether a person has just asked for something: what comes to a share by that is to be told there.
    ///   - isAfterRound: whether a round has just ended: what was written over before that is told with what took its place.
    mutating func look(
        at machine: SimulatedMachine, _ sharing: SimulationSharing, touched: Set<Touched>,
        fresh: [(path: String, file: Touched)], outdated: [Touched: [UInt8]] = [:], isCommand: Bool = false,
        isAfterRound: Bool = false
    ) {
        let before = known[machine.name] ?? SimulationSharing()
        known[machine.name] = Self.withDeleted(sharing, before)
        for (bytes, lineage) in lineages[machine.name] ?? [:] {
            for record in lineage.records {
                homes[bytes, default: []].formUnion(unknownHolders(of: record, machine, before))
                // What a person has just asked to be shared may be told as it was when they did, though they saved over it meanwhile.
                guard isCommand, lineage.isShown else { continue }
                let asked = (sharing.holders[record] ?? []).subtracting(before.holders[record] ?? [])
                homes[bytes, default: []].formUnion(asked)
            }
        }
        lineages[machine.name] = lineages[machine.name]?.compactMapValues { lineage in
            let rounds = lineage.rounds + (isAfterRound ? 1 : 0)
            return rounds > 2 ? nil : Lineage(records: lineage.records, isShown: false, rounds: rounds)
        }
        for (path, file) in fresh { homes[file.bytes, default: []].formUnion(Self.shares(of: path, before)) }
        let mounts = Dictionary(
            sharing.places.values.compactMap { place in place.inode.map { ($0, place) } }
        ) { first, _ in first }
        var moved: [String: SimulationSharing.Place] = [:]
        for disk in [machine.library, machine.shared] where !mounts.isEmpty {
            for (path, entry) in disk.entries() where entry.kind == .directory {
                if let place = mounts[entry.stamp.inode] { moved["\(disk.name)/\(path)"] = place }
            }
        }
        var now = sharing
        now.places.merge(moved) { $1 }
        for (path, caption) in Self.captions(on: machine, outdated: outdated) {
            shown.insert(caption)
            homes[caption, default: []].formUnion(Self.shares(of: path, now))
            for record in Self.lineage(of: path, sharing) {
                homes[caption, default: []].formUnion(unknownHolders(of: record, machine, sharing))
            }
        }
        for (path, file) in Self.files(on: machine) {
            let shares = Self.shares(of: path, now)
            if isCommand, !shares.isEmpty {
                homes[file.bytes, default: []].formUnion(shares.subtracting(Self.shares(of: path, before)))
            }
            // A device may put a copy for its user alone, or one of what lost in a conflict, into a folder that the user has just
            // shared on another one.
            let isCopy = Self.folders.contains(where: path.hasPrefix)
            let isPrivateConflict = shares.isEmpty && path.contains(" (conflict ")
            guard touched.contains(file) || isCopy || isPrivateConflict else { continue }
            homes[file.bytes, default: []].formUnion(shares)
            for record in Self.lineage(of: path, sharing) {
                let others = lineages[machine.name]?[file.bytes]
                lineages[machine.name, default: [:]][file.bytes] = Lineage(
                    records: (others?.isShown == true ? others?.records ?? [] : []).union([record]))
                homes[file.bytes, default: []].formUnion(unknownHolders(of: record, machine, sharing))
            }
        }
    }

    /// What is known, with the shares that records were deleted in, which others can't know yet.
    private static func withDeleted(_ sharing: SimulationSharing, _ before: SimulationSharing) -> SimulationSharing {
        var result = sharing
        for (record, shares) in before.holders {
            let left = sharing.departures[record] ?? [:]
            result.holders[record, default: []].formUnion(shares.filter { left[$0, default: []].isEmpty })
        }
        return result
    }

    /// The folders of copies.
    private static let folders = ["library/Private copies of ", "library/Kept from "]

    /// The shares that a record went to as others know, and its user can't know yet: what is saved in it then is for their people.
    private func unknownHolders(
        of record: String, _ machine: SimulatedMachine, _ sharing: SimulationSharing
    ) -> Set<String> {
        let own = sharing.departures[record] ?? [:]
        var result: Set<String> = []
        for (name, other) in known where name != machine.name {
            let theirs = other.departures[record] ?? [:]
            result.formUnion(
                other.holders[record, default: []].filter { share in
                    // Who has not heard of its leaving a share knows nothing newer.
                    own[share, default: []].isSubset(of: theirs[share, default: []])
                })
        }
        return result
    }

    /// Notes that a user moves things: what was saved over before goes nowhere by that.
    mutating func forgetSavedOver(on machine: SimulatedMachine) {
        lineages[machine.name] = lineages[machine.name]?.filter(\.value.isShown)
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
    ///   - told: the hashes of the contents and captions that the changes of each share name.
    ///   - hash: makes such a hash.
    func leaks(
        _ told: [String: Set<[UInt8]>], _ ledger: SimulationLedger, hash: ([UInt8]) -> [UInt8]
    ) -> [String] {
        guard !told.isEmpty else { return [] }
        let ended = known.values.reduce(into: Set<String>()) { $0.formUnion($1.ended) }
        var entries: [[UInt8]: SimulationLedger.Entry] = [:]
        for entry in ledger.entries where entry.kind != .tag {
            entries[hash(entry.bytes)] = entry
        }
        var lines: Set<String> = []
        // Who brings something back may take it to another share before the file shows it.
        let broughtBack = broughtBack.values.reduce(into: Set<[UInt8]>()) { $0.formUnion($1) }
        for (share, hashes) in told {
            for content in hashes.subtracting(broughtBack) {
                guard let entry = entries[content], entry.kind == .content || shown.contains(entry.bytes) else {
                    continue
                }
                let homes = homes[entry.bytes] ?? []
                guard !homes.contains(share), homes.isDisjoint(with: ended) else { continue }
                lines.insert("told in share \(share.prefix(8)), and never lay there: \(entry)")
            }
        }
        return lines.sorted()
    }
}
