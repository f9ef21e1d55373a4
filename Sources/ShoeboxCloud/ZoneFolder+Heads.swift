public import ShoeboxModel
import ShoeboxWorld

/// What a poll of one head gave.
public struct HeadReading: Hashable, Sendable {
    /// The newest record, if one is newer than the cursor.
    public var newest: HeadRecord?
    /// Where to read on; store it together with what `newest` led to.
    public var cursor: HeadCursor
    /// Whether what was read of the file before is not there any more, and it was read from its start: the mount was put back to
    /// an older state, or shows one, or the file was overwritten.
    public var isReplaced = false
    /// The record of the greatest serial that was seen and holds, news or not.
    public var seen: HeadRecord?
    /// What is wrong with the file; `.notYet` when its author isn't seen yet, and the cursor stays then.
    public var problems: [CloudError]
}

extension ZoneFolder {
    private static let readBytesMax = 1_048_576

    func headPath(_ replica: ReplicaID, _ file: UInt64) -> MountPath { path("heads", "\(replica).\(file)") }

    /// The replicas that have a head, each with a cursor at the start of its newest file. The listing may be old.
    public func replicas() throws(CloudError) -> [ReplicaID: HeadCursor] {
        var result: [ReplicaID: HeadCursor] = [:]
        for name in try access.list(path("heads")) {
            let parts = name.split(separator: ".", omittingEmptySubsequences: false)
            guard parts.count == 2, let replica = ReplicaID(hex: parts[0]), let file = UInt64(parts[1]),
                name == "\(replica).\(file)"
            else { continue }
            // A file with an absurd number may be anybody's; one that a chain of files can't have reached is not read.
            guard file < 1_000_000, file >= result[replica]?.file ?? 0 else { continue }
            result[replica] = HeadCursor(file: file)
        }
        return result
    }

    /// Reads what is new in a replica's head; where that is nothing, also in the newest file that a listing shows. The file before
    /// it need not lead there: a mount that was put back to a backup has it as it was, and its writer goes on in the next.
    ///
    /// - Parameter newest: the start of that file; nil if nothing was listed.
    /// - Throws: `.offline` or `.mount`.
    public func readHead(
        _ replica: ReplicaID, from cursor: HeadCursor, newest listed: HeadCursor?
    ) throws(CloudError) -> HeadReading {
        let reading = try readHead(replica, from: cursor)
        guard reading.newest == nil, let listed, listed.file > reading.cursor.file else { return reading }
        let next = try readHead(replica, from: HeadCursor(file: listed.file, serial: cursor.serial))
        return next.newest == nil ? reading : next
    }

    /// Reads what is new in a replica's head, also where its file is not what it was: as one that was folded into later ones, which a
    /// state that was put back does not know of.
    ///
    /// - Throws: `.offline` or `.mount`.
    public func readMovedHead(_ replica: ReplicaID, from cursor: HeadCursor) throws(CloudError) -> HeadReading {
        let reading = try readHead(replica, from: cursor)
        guard reading.newest == nil, reading.isReplaced || cursor == HeadCursor(file: cursor.file),
            let listed = try replicas()[replica], listed.file > reading.cursor.file
        else { return reading }
        let next = try readHead(replica, from: HeadCursor(file: listed.file, serial: cursor.serial))
        return next.newest == nil ? reading : next
    }

    /// Reads what is new in a replica's head: one small read when nothing is.
    ///
    /// The newest record is the one of the greatest serial whose signature holds. Bytes that are no record are passed
    /// over and reported. Shown an older file than before, it starts over and still reports nothing older.
    /// - Throws: `.offline` or `.mount`.
    public func readHead(_ replica: ReplicaID, from cursor: HeadCursor) throws(CloudError) -> HeadReading {
        var reading = HeadReading(newest: nil, cursor: cursor, problems: [])
        // Bounded: a chain of files that points on and on is left for the next poll.
        for _ in 0..<64 {
            let path = headPath(replica, reading.cursor.file)
            let read: [UInt8]?
            do { read = try news(replica, &reading) } catch {
                guard error.code == .damaged else { throw error }
                reading.problems.append(error)
                return reading
            }
            guard let bytes = read, !bytes.isEmpty else { return reading }
            let (records, skipped) = HeadFormat.scan(bytes)
            if skipped > 0 {
                reading.problems.append(
                    .damaged("\(skipped) blocks of a head are no record: torn, or edited.", path: path.description))
            }
            var nextFile: UInt64 = 0
            var best: HeadRecord?
            // Up to where the last record ends that holds: what lies behind it may be one that is still coming.
            var done = 0
            for found in HeadFormat.newestFirst(records) where best == nil || found.range.upperBound > done {
                do {
                    let (record, next) = try HeadRecord.decode(found, zone: zone, replica: replica)
                    done = max(done, found.range.upperBound)
                    if record.serial > reading.seen?.serial ?? 0 { reading.seen = record }
                    guard record.serial > max(best?.serial ?? 0, reading.cursor.serial) else { continue }
                    try checkDevice(record.device, of: record.account, path: path)
                    (best, nextFile) = (record, next)
                } catch {
                    guard error.code == .damaged || error.code == .notYet else { throw error }
                    reading.problems.append(error.at(path))
                    if error.code == .notYet { return reading }
                }
            }
            if let best {
                reading.newest = best
                reading.cursor.serial = best.serial
            }
            if nextFile > reading.cursor.file && nextFile < 1_000_000 {
                reading.cursor.file = nextFile
                reading.cursor.offset = 0
                reading.cursor.mark = nil
            } else if done > 0 {
                reading.cursor.offset += UInt64(done)
                reading.cursor.mark = HeadFormat.mark(bytes[..<done].suffix(Int(HeadFormat.block)))
            } else if bytes.count >= Self.readBytesMax {
                // A megabyte without one record, larger than any record: garbage, but for one that begins near its end.
                let sure = bytes.count - HeadFormat.recordBytesMax
                reading.cursor.offset += UInt64(max(sure, bytes.count / 2)) / HeadFormat.block * HeadFormat.block
                reading.cursor.mark = nil
            } else {
                return reading
            }
        }
        return reading
    }

    /// The bytes after the cursor; nil if there is no such file (yet).
    ///
    /// The block before the cursor is read along: where that is gone, or another one, so is the file (a restored mount), and it is
    /// read from its start.
    private func news(_ replica: ReplicaID, _ reading: inout HeadReading) throws(CloudError) -> [UInt8]? {
        let path = headPath(replica, reading.cursor.file)
        let block = Int(HeadFormat.block)
        if reading.cursor.offset >= HeadFormat.block {
            let from = reading.cursor.offset - HeadFormat.block
            let bytes = try access.read(path, from: from, maxBytes: Self.readBytesMax + block)
            if let bytes, bytes.count >= block,
                reading.cursor.mark.map({ $0 == HeadFormat.mark(bytes[..<block]) }) ?? true
            {
                return Array(bytes[block...])
            }
            reading.cursor.offset = 0
            reading.cursor.mark = nil
            reading.isReplaced = true
        }
        if let bytes = try access.read(path, from: 0, maxBytes: Self.readBytesMax) { return bytes }
        _ = try access.list(path.parent)
        return try access.read(path, from: 0, maxBytes: Self.readBytesMax)
    }

    /// The names of a replica's segments that are seen; the listing may be old.
    public func segmentNames(of replica: ReplicaID) throws(CloudError) -> Set<String> {
        Set(try access.list(path("log", replica.description)))
    }

    /// The name of a segment's file in its replica's directory.
    public static func segmentName(_ position: Position) -> String { numberedName(position.sequence, position.hash) }

    /// Appends a record to the identity's own head: durable when it returns.
    ///
    /// Everything that the record names must be durable already: assets, then segments and controls, then the mount's
    /// `synchronize`, then this. Before it, read the own head by `readHead` and compare: a serial or number that this
    /// replica doesn't remember means that the state directory was copied or restored. After a torn append the next
    /// one starts at the next block, filled up by an append of its own.
    /// - Parameter cursor: from the last append or reading of the own head; the start for a new replica.
    /// - Returns: the record, and the cursor behind it.
    public func appendHead(
        _ content: HeadContent, identity: Identity, cursor: HeadCursor
    ) throws(CloudError) -> (record: HeadRecord, cursor: HeadCursor) {
        let reading = try readMovedHead(identity.replica, from: cursor)
        // A serial that was used before would make the record no news to anybody.
        func nextAfter(_ reading: HeadReading) throws(CloudError) -> HeadCursor {
            if let unseen = reading.problems.first(where: { $0.code == .notYet }) { throw unseen }
            guard reading.cursor.serial < .max - 1 else { throw .invalid("A head has no more serial numbers.") }
            return reading.cursor
        }
        var next = try nextAfter(reading)
        var end = try fileEnd(identity.replica, next)
        if !end.isMultiple(of: HeadFormat.block) {
            // Of a record that was torn in its padding this makes a whole one.
            try access.append(headPath(identity.replica, next.file), HeadFormat.padding(end))
            next = try nextAfter(try readHead(identity.replica, from: next))
            end = try fileEnd(identity.replica, next)
        }
        func append(
            _ file: UInt64, at end: UInt64, serial: UInt64, nextFile: UInt64
        ) throws(CloudError) -> HeadCursor {
            let wire = HeadRecord.wire(
                content, zone: zone, identity: identity, serial: serial, nextFile: nextFile)
            let bytes = HeadFormat.padding(end) + (try HeadFormat.encode(wire, signingKey: identity.signingKey))
            try access.append(headPath(identity.replica, file), bytes)
            return HeadCursor(
                file: file, offset: end + UInt64(bytes.count), serial: serial,
                mark: HeadFormat.mark(bytes.suffix(Int(HeadFormat.block))))
        }
        if end >= HeadFormat.fileBytesMax {
            // The next file first, so that its name is asked for only when it exists.
            let file = next.file + 1
            let there = try fileEnd(identity.replica, HeadCursor(file: file))
            let last = try append(file, at: there, serial: next.serial + 2, nextFile: 0)
            _ = try append(next.file, at: end, serial: next.serial + 1, nextFile: file)
            removeHeads(identity.replica, before: next.file)
            next = last
        } else {
            next = try append(next.file, at: end, serial: next.serial + 1, nextFile: 0)
        }
        let record = HeadRecord(
            replica: identity.replica, account: identity.account, device: identity.device, serial: next.serial,
            content: content)
        return (record, next)
    }

    /// Removes files of the own head that say nothing any more which later ones do not: a head grows with all that happens. Who has not
    /// read so far finds the newest by its name.
    private func removeHeads(_ replica: ReplicaID, before file: UInt64) {
        for old in (file > 3 ? file - 3 : 0)..<file {
            // What can't be removed now is tried again with the next file.
            do throws(FileError) { try access.mount.remove(headPath(replica, old)) } catch { continue }
        }
    }

    /// How many bytes a file has, by reading on from the cursor; 0 if there is none.
    private func fileEnd(_ replica: ReplicaID, _ cursor: HeadCursor) throws(CloudError) -> UInt64 {
        var end = cursor.offset
        while let bytes = try access.read(headPath(replica, cursor.file), from: end, maxBytes: Self.readBytesMax),
            !bytes.isEmpty
        {
            end += UInt64(bytes.count)
        }
        return end
    }
}
