public import ShoeboxModel
import ShoeboxWorld

/// Verified segments of one replica's chain, in order, and why they end where they do.
public struct SegmentPage: Sendable {
    /// Why a page ends. All but `complete` and `more` concern this chain alone; what came before stays valid.
    public enum End: Hashable, Sendable {
        /// The head's position is reached.
        case complete
        /// The limit is reached; ask again from the last segment's position.
        case more
        /// The next one isn't seen yet, or its author isn't; ask again later.
        case notYet(CloudError)
        /// Its epoch's key isn't known: read the zone's control, then ask again.
        case missingKey(CloudError)
        /// Everything up to the position asked for was folded into a snapshot behind it.
        case expired
        /// The next one is damaged; the chain goes no further until that is repaired.
        case damaged(CloudError)
        /// Two valid segments claim one number, or the chain doesn't continue the one that was read before.
        case fork(CloudError)
        /// The head is behind what was read before: the mount was restored, or somebody shows an old state.
        case rolledBack(CloudError)

        /// Whether files are gone or damaged, which says nothing against their author.
        public var isLoss: Bool {
            switch self {
            case .notYet, .damaged: true
            default: false
            }
        }
    }

    /// The segments, in order, without a gap after the position asked for.
    public var segments: [Segment] = []
    /// Why there are no more.
    public var end: End
}

extension ZoneFolder {
    /// The most bytes of files in one page, unless the first alone is larger.
    static let pageBytesMax = 8_388_608
    /// The most bytes that the segments of a page say, but for the last one.
    private static var plainBytesMax: UInt64 { 33_554_432 }

    func segmentPath(_ replica: ReplicaID, _ position: Position) -> MountPath {
        path("log", replica.description, numberedName(position.sequence, position.hash))
    }

    /// Publishes the bytes that `SegmentCoder.encode` made. Repeating it after a crash is fine. Durable after the mount's
    /// `synchronize`, which must come before the head that names it.
    public func publishSegment(_ bytes: [UInt8], at position: Position, replica: ReplicaID) throws(CloudError) {
        guard sha256(bytes) == position.hash else { throw .invalid("The bytes are not those of the position.") }
        try access.publish(segmentPath(replica, position), bytes)
    }

    /// Whether an own segment's file holds what its name says; false where it isn't seen.
    public func isWhole(_ position: Position, replica: ReplicaID) throws(CloudError) -> Bool {
        let path = segmentPath(replica, position)
        do throws(CloudError) {
            return try access.readKnown(path, maxBytes: SegmentCoder.bytesMax).map(sha256) == position.hash
        } catch {
            guard error.code == .damaged else { throw error }
            return false
        }
    }

    /// The segments in an own chain's directory that a state, which knows the chain up to `last`, does not know: they were
    /// published by it later, before it was put back to this. What only claims to be the replica's does not count.
    public func segmentsBeyond(_ last: Position, of replica: ReplicaID) throws(CloudError) -> [Position] {
        var found: [Position] = []
        for name in try segmentNames(of: replica).sorted() {
            guard let (number, hash) = parseNumberedName(name), number >= last.sequence, number > 0 else { continue }
            let position = Position(sequence: number, hash: hash)
            guard position != last else { continue }
            do throws(CloudError) {
                guard
                    let bytes = try access.readKnown(segmentPath(replica, position), maxBytes: SegmentCoder.bytesMax),
                    sha256(bytes) == hash, try SegmentFile(bytes, zone: zone, replica: replica).position == position
                else { continue }
                found.append(position)
            } catch { guard error.code == .damaged || error.code == .newerFormat else { throw error } }
        }
        return found
    }

    /// Removes an own segment's damaged file, to be published again with the right bytes.
    public func removeSegment(_ position: Position, replica: ReplicaID) throws(CloudError) {
        do { try access.mount.remove(segmentPath(replica, position)) } catch { throw CloudError(error) }
    }

    /// Removes the files of own segments below a number. The own head must have said long before, as its floor, that they
    /// are not kept; whoever finds one missing reads the head again.
    ///
    /// - Returns: how many were removed.
    public func removeSegments(of replica: ReplicaID, below floor: UInt64) throws(CloudError) -> Int {
        var count = 0
        for name in try segmentNames(of: replica).sorted() {
            guard let (number, _) = parseNumberedName(name), number < floor,
                let file = path("log", replica.description).appending(name)
            else { continue }
            do throws(FileError) { try access.mount.remove(file) } catch {
                guard error.code == .absent else { throw CloudError(error) }
            }
            count += 1
        }
        return count
    }

    /// Reads a replica's chain from a position, exclusive, to its head's.
    ///
    /// Where the segment after the position is below the head's floor, the change token is expired: reading begins with the
    /// first part of the snapshot at the floor, which repeats all that counts of what comes before it.
    ///
    /// - Parameters:
    ///   - isSealed: as the zone's control says.
    ///   - isPinned: whether the head's last segment is the one that counts, whatever else was shown under the same numbers.
    ///   - segmentsMax: the most segments to return at a time.
    /// - Throws: `.offline` or `.mount`; everything else is the page's `end`.
    public func readSegments(
        of replica: ReplicaID, after start: Position, upTo head: HeadRecord, isSealed: Bool, keyring: ZoneKeyring,
        isPinned: Bool = false, segmentsMax: Int = 32
    ) throws(CloudError) -> SegmentPage {
        var reader = ChainReader(folder: self, replica: replica, head: head)
        reader.isPinned = isPinned
        var page = SegmentPage(end: .more)
        var position = start
        var plainBytes: UInt64 = 0
        if let end = reader.compare(start) { return SegmentPage(end: end) }
        while position.sequence < head.last.sequence {
            let isFull = reader.bytesRead > Self.pageBytesMax || plainBytes > Self.plainBytesMax
            if page.segments.count >= max(1, segmentsMax) || isFull { return page }
            do {
                let file = try reader.next(after: position)
                try checkDevice(file.device, of: file.account, path: segmentPath(replica, file.position))
                let segment = try file.open(replica: replica, keyring: keyring, isSealed: isSealed)
                page.segments.append(segment)
                // A few bytes may say megabytes.
                plainBytes = plainBytes.addingReportingOverflow(file.plainCount).partialValue
                position = segment.position
            } catch {
                let error = error.at(reader.current ?? path("log", replica.description))
                switch error.code {
                case .notYet: page.end = .notYet(error)
                case .missingKey: page.end = .missingKey(error)
                case .fork: page.end = .fork(error)
                case .damaged, .newerFormat: page.end = .damaged(error)
                default: throw error
                }
                return page
            }
        }
        page.end = .complete
        return page
    }
}

extension ZoneFolder {
    /// Whether a segment is there, looked up by its name.
    public func isThere(_ position: Position, of replica: ReplicaID) throws(CloudError) -> Bool {
        try access.read(segmentPath(replica, position), from: 0, maxBytes: 1) != nil
    }
}

/// Finds and checks the files of one chain. What lies in the directory is a hint; the chain is what its hashes say.
private struct ChainReader {
    let folder: ZoneFolder
    let replica: ReplicaID
    let head: HeadRecord
    /// Whether the head says which of two versions counts.
    var isPinned = false
    /// Bytes of the files read so far.
    var bytesRead = 0
    /// The file that was read last.
    var current: MountPath?
    private var listing: [UInt64: [Digest32]]?
    /// What was found by walking back from a later segment: the position that each number must have.
    private var walked: [UInt64: Position] = [:]

    init(folder: ZoneFolder, replica: ReplicaID, head: HeadRecord) {
        self.folder = folder
        self.replica = replica
        self.head = head
        walked[head.last.sequence] = head.last
    }

    /// Why there is nothing to read, or nil if there is.
    func compare(_ start: Position) -> SegmentPage.End? {
        let path = folder.path("log", replica.description).description
        if head.last.sequence == start.sequence {
            guard head.last != start else { return .complete }
            return .fork(fork("The head names another segment \(start.sequence) than the one read before.", path))
        }
        if head.last.sequence < start.sequence {
            return .rolledBack(
                CloudError(
                    code: .rolledBack,
                    message: "The head of replica \(replica) is at \(head.last.sequence), before \(start.sequence).",
                    remedy: "If the mount was restored from a backup, the replica's next push heals it.", path: path))
        }
        return start.sequence &+ 1 < head.floor && head.last.sequence < head.floor ? .expired : nil
    }

    /// The file after a position. Errors: `.notYet`, `.damaged`, `.fork`, and those of the mount.
    mutating func next(after position: Position) throws(CloudError) -> SegmentFile {
        let isExpired = position.sequence + 1 < head.floor
        let number = isExpired ? head.floor : position.sequence + 1
        let file: SegmentFile
        if let known = walked[number] {
            file = try read(known)
        } else if let found = try fromListing(number) {
            file = found
        } else {
            file = try read(try walkBack(to: number))
        }
        guard !isExpired else {
            guard file.snapshotFirst == number else {
                throw .damaged(
                    "The head says that all before segment \(number) was folded, and that segment is no snapshot.",
                    path: folder.segmentPath(replica, file.position).description)
            }
            return file
        }
        guard file.previous == position else {
            throw fork(
                "Segment \(number) does not continue the segment \(position.sequence) that was read before it.",
                folder.segmentPath(replica, file.position).description)
        }
        return file
    }

    /// The one valid file of a number in the directory; nil if there is none, `.fork` if there are two.
    private mutating func fromListing(_ number: UInt64) throws(CloudError) -> SegmentFile? {
        if listing == nil {
            var names: [UInt64: [Digest32]] = [:]
            for name in try folder.access.list(folder.path("log", replica.description)) {
                guard let (number, hash) = parseNumberedName(name) else { continue }
                names[number, default: []].append(hash)
            }
            listing = names
        }
        let candidates = (listing?[number] ?? []).sorted()
        var valid: [SegmentFile] = []
        for hash in candidates.prefix(64) {
            do { valid.append(try read(Position(sequence: number, hash: hash))) } catch {
                // With one candidate its damage is the news; with several, strangers may have put the others there.
                if candidates.count == 1 && error.code != .notYet { throw error }
                if error.code != .damaged && error.code != .notYet { throw error }
            }
        }
        guard valid.count < 2 else {
            guard !isPinned else { return nil }
            throw fork(
                "Replica \(replica) has two segments \(number).",
                folder.segmentPath(replica, valid[1].position).description)
        }
        return valid.first
    }

    /// The position of a number, by the hashes of what comes after it.
    private mutating func walkBack(to number: UInt64) throws(CloudError) -> Position {
        var position = walked.filter { $0.key > number }.min { $0.key < $1.key }?.value ?? head.last
        while position.sequence > number {
            let file = try read(position)
            position = file.previous
            walked[position.sequence] = position
        }
        return position
    }

    private mutating func read(_ position: Position) throws(CloudError) -> SegmentFile {
        let path = folder.segmentPath(replica, position)
        current = path
        guard let bytes = try folder.access.readKnown(path, maxBytes: SegmentCoder.bytesMax) else {
            throw .notYet("Segment \(position.sequence) is not seen yet.", path: path.description)
        }
        bytesRead += bytes.count
        do throws(CloudError) {
            guard sha256(bytes) == position.hash else {
                throw .damaged("The bytes of a segment are not those of its name.")
            }
            let file = try SegmentFile(bytes, zone: folder.zone, replica: replica)
            guard file.position == position else { throw .damaged("A segment has another number than its name says.") }
            return file
        } catch { throw error.at(path) }
    }

    private func fork(_ message: String, _ path: String) -> CloudError {
        CloudError(
            code: .fork, message: message,
            remedy: "A state directory was copied or restored. The replica takes a new name at its next push; if it "
                + "is gone for good, retire its device.", path: path)
    }
}
