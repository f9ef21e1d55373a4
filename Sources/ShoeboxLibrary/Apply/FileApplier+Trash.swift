public import ShoeboxModel
public import ShoeboxWorld

/// Something in the trash of a watched root.
public struct TrashItem: Hashable, Sendable {
    /// Where it lies now.
    public var path: RelativePath
    /// Where it was; nil if that is not known any more.
    public var originalPath: RelativePath?
    /// The record that it was shown for, if any.
    public var record: RecordID?
    /// When it was put here, milliseconds since 1970; the start of the day if no more is known.
    public var removedMilliseconds: UInt64
    /// Bytes; 0 for a directory.
    public var size: UInt64
    /// Whether what is noted about it could not be read just now: where it was is known another time.
    public var isUnread = false
}

/// The trash: `.shoebox/trash/<yyyy-mm-dd>/<16 hex digits>-<name>`, and beside each item `<16 hex digits>.json` with
/// where it was, the record and the time.
extension FileApplier {
    private static let format = "shoebox.trash/1"
    static let dayMilliseconds: UInt64 = 86_400_000

    /// Makes the place in the trash for what is at a path, the information about it first.
    func reserveTrash(
        for path: RelativePath, record: RecordID?
    ) throws(FileError) -> (path: RelativePath, info: RelativePath) {
        let now = nowMilliseconds()
        let day = OwnPaths.trash.appending(try ownName(Self.dayName(of: now)))
        try ensureDirectory(day)
        let unique = encodeHex(randomBytes(8))
        guard let itemName = path.last.flatMap({ Self.itemName(unique, $0) }) else {
            throw FileError(code: .badName, operation: "remove", path: path.description)
        }
        let info = day.appending(try ownName("\(unique).json"))
        try writeInfo(info, note(path, record, now: now))
        return (day.appending(itemName), info)
    }

    /// What is noted about something in the trash, or put aside.
    struct Note {
        /// Where it was.
        var path: RelativePath
        /// The record that it was shown for, if any.
        var record: RecordID?
        /// When it was put there, milliseconds since 1970, as the clock of now says.
        var removedMilliseconds: UInt64
        /// The start of the machine after which that was, and after how many milliseconds; if known.
        var running: (boot: String, uptimeMilliseconds: UInt64)?
    }

    private func note(_ path: RelativePath, _ record: RecordID?, now: UInt64) -> Note {
        Note(
            path: path, record: record, removedMilliseconds: now,
            running: running.map { ($0.boot, $0.uptimeMilliseconds()) })
    }

    private func writeInfo(_ info: RelativePath, _ note: Note) throws(FileError) {
        var members: [JSONObject.Member] = [
            .init("pathHex", .string(encodeHex(note.path.bytes))),
            .init("path", .string(note.path.description)),
            .init("removedMilliseconds", .number(JSONNumber(note.removedMilliseconds))),
        ]
        if let record = note.record {
            members.append(.init("zone", .string(record.zone.description)))
            members.append(.init("record", .string(record.name.description)))
        }
        if let running = note.running {
            members.append(.init("boot", .string(running.boot)))
            members.append(.init("uptimeMilliseconds", .number(JSONNumber(running.uptimeMilliseconds))))
        }
        let file = try files.create(info)
        try file.write(encodeDocument(format: Self.format, members))
        _ = try file.finish(mode: 0o644, modifiedNanoseconds: nil, durably: false)
    }

    /// What is noted about something in the trash, or put aside; nil if that is gone or damaged.
    ///
    /// - Throws: when it can't be read now.
    func readInfo(_ info: RelativePath) throws(FileError) -> Note? {
        let bytes: [UInt8]
        do throws(FileError) { bytes = try files.readAll(info, maxBytes: 65_536) } catch {
            guard error.isTransient, error.code != .absent else { return nil }
            throw error
        }
        guard let object = try? JSONText.parse(bytes).object,
            object["format"]?.text == Self.format, let hex = object["pathHex"]?.text,
            // The system takes no longer one.
            let pathBytes = decodeHex(hex), pathBytes.count < 4_096, let path = RelativePath(bytes: pathBytes),
            !path.isRoot,
            // Nothing of a user's ever lay there, whatever the file says.
            !path.isAtOrBelow(OwnPaths.directory)
        else { return nil }
        var record: RecordID?
        if let zone = object["zone"]?.text.flatMap({ ZoneID(hex: $0) }),
            let name = object["record"]?.text.flatMap({ RecordName(text: $0) })
        {
            record = RecordID(zone: zone, name: name)
        }
        var note = Note(
            path: path, record: record,
            removedMilliseconds: object["removedMilliseconds"]?.integer.flatMap(UInt64.init(exactly:)) ?? 0)
        if let boot = object["boot"]?.text,
            let uptime = object["uptimeMilliseconds"]?.integer.flatMap(UInt64.init(exactly:))
        {
            note.running = (boot, uptime)
        }
        if let age = age(of: note) {
            let now = nowMilliseconds()
            note.removedMilliseconds = now - min(now, age)
        }
        return note
    }

    /// For how long something has been in the trash, milliseconds, whatever the clock was then; nil if it is not since this start of
    /// the machine.
    private func age(of note: Note) -> UInt64? {
        guard let running, let then = note.running, then.boot == running.boot else { return nil }
        let now = running.uptimeMilliseconds()
        return then.uptimeMilliseconds <= now ? now - then.uptimeMilliseconds : nil
    }

    /// Everything in the trash, the oldest day first. Empty where there is no trash yet.
    public func trashItems() throws(FileError) -> [TrashItem] {
        var items: [TrashItem] = []
        for (start, day) in try trashDays() {
            for entry in try files.list(day).sorted(by: { $0.name < $1.name }) {
                guard let unique = Self.unique(ofItem: entry.name), let infoName = FileName("\(unique).json") else {
                    continue
                }
                var item = TrashItem(
                    path: day.appending(entry.name), removedMilliseconds: start,
                    size: entry.kind == .file ? entry.stamp.size : 0)
                do throws(FileError) {
                    if let info = try readInfo(day.appending(infoName)) {
                        (item.originalPath, item.record) = (info.path, info.record)
                        item.removedMilliseconds = info.removedMilliseconds
                    }
                } catch { item.isUnread = true }
                items.append(item)
            }
        }
        return items
    }

    /// The files that lie in the trash, whatever is noted of them, and where each does.
    public func trashedFiles() throws(FileError) -> [FileIdentity: RelativePath] {
        var result: [FileIdentity: RelativePath] = [:]
        for (_, day) in try trashDays() {
            for entry in try files.list(day) where entry.kind == .file && entry.stamp.birthNanoseconds != 0 {
                result[entry.stamp.identity] = day.appending(entry.name)
            }
        }
        return result
    }

    /// Whether something in the trash was put there as this record, or from this path; also if nothing is noted of it. A hard link
    /// to it is another photo.
    ///
    /// - Throws: when what is noted can't be read now.
    public func isItem(_ item: RelativePath, of id: RecordID, from path: RelativePath?) throws(FileError) -> Bool {
        guard let unique = item.last.flatMap(Self.unique(ofItem:)),
            let note = try readInfo(item.parent.appending(try ownName("\(unique).json")))
        else { return true }
        return note.record?.name == id.name || note.path == path
    }

    /// Moves something from the trash to a free path, making the folders on the way there.
    public func restore(_ item: TrashItem, to path: RelativePath) -> ApplyOutcome {
        do throws(FileError) {
            try makeFolders(path.parent)
            try files.rename(item.path, to: path, mode: .failIfExists)
            if let name = item.path.last, let unique = Self.unique(ofItem: name) {
                discard(item.path.parent.appending(try ownName("\(unique).json")))
            }
            return .done(try files.entry(at: path)?.stamp)
        } catch  where error.code == .exists {
            return .stale("'\(path)' is taken")
        } catch {
            return .failed(error)
        }
    }

    /// Deletes for good what was put into the trash on days that were over by then; the failures, if any.
    ///
    /// What lies there under a name that is no day stays.
    ///
    /// - Parameter kept: how long something stays that is known to be younger than its day says, milliseconds.
    public func emptyTrash(olderThanMilliseconds limit: UInt64, keptMilliseconds kept: UInt64 = 0) -> [FileError] {
        var failures: [FileError] = []
        do throws(FileError) {
            for (start, day) in try trashDays() where start + Self.dayMilliseconds <= limit {
                do throws(FileError) { try keepYounger(in: day, than: kept) } catch {
                    // What can't be looked at now may be one of those.
                    failures.append(error)
                    continue
                }
                deleteTree(day, &failures)
            }
        } catch {
            failures.append(error)
        }
        return failures
    }

    /// Moves what was put into the trash under a wrong date, as before the clock was set, to the day on which that was.
    private func keepYounger(in day: RelativePath, than kept: UInt64) throws(FileError) {
        guard running != nil else { return }
        for entry in try files.list(day) {
            guard let unique = Self.unique(ofItem: entry.name) else { continue }
            let infoName = try ownName("\(unique).json")
            guard let note = try readInfo(day.appending(infoName)), let age = age(of: note), age < kept else {
                continue
            }
            let other = OwnPaths.trash.appending(try ownName(Self.dayName(of: note.removedMilliseconds)))
            guard other != day else { continue }
            try ensureDirectory(other)
            // Of a former try.
            discard(other.appending(infoName))
            try writeInfo(other.appending(infoName), note)
            try files.rename(day.appending(entry.name), to: other.appending(entry.name), mode: .failIfExists)
            discard(day.appending(infoName))
        }
    }

    /// The name of something in the trash.
    static func itemName(_ unique: String, _ name: FileName) -> FileName? {
        FileName(bytes: Array("\(unique)-".utf8) + name.bytes.prefix(255 - unique.utf8.count - 1))
    }

    /// The first millisecond of the oldest day in the trash; nil for an empty one.
    public func oldestTrashDay() throws(FileError) -> UInt64? { try trashDays().first?.0 }

    /// Deletes for good what has been in the trash the longest, until no more than so many bytes are left; the failures,
    /// if any.
    public func shrinkTrash(toBytes limit: UInt64) -> [FileError] {
        var failures: [FileError] = []
        do throws(FileError) {
            let items = try trashItems().sorted { $0.removedMilliseconds < $1.removedMilliseconds }
            var total = items.reduce(0) { $0 &+ $1.size }
            for item in items {
                guard total > limit else { break }
                failures += discardTrash(item)
                total -= min(total, item.size)
            }
        } catch {
            failures.append(error)
        }
        return failures
    }

    /// Deletes one thing in the trash for good, the information about it last; the failures, if any.
    public func discardTrash(_ item: TrashItem) -> [FileError] {
        do throws(FileError) {
            try files.removeFile(item.path)
        } catch {
            if error.code != .absent { return [error] }
        }
        if let name = item.path.last, let unique = Self.unique(ofItem: name),
            let info = FileName("\(unique).json")
        {
            discard(item.path.parent.appending(info))
        }
        return []
    }

    /// What is put aside in `.shoebox/tmp`, with the stamp it has there.
    public func parkedRecords() throws(FileError) -> [RecordID: FileStamp] {
        var result: [RecordID: FileStamp] = [:]
        let entries: [DirectoryEntry]
        do throws(FileError) {
            entries = try files.list(OwnPaths.temporary)
        } catch  where error.code == .absent {
            return [:]
        }
        for entry in entries {
            guard let id = entry.name.text.flatMap(Self.parkedRecord) else { continue }
            result[id] = entry.stamp
        }
        return result
    }

    /// The record that a name in `.shoebox/tmp` was parked for; nil for any other name.
    private static func parkedRecord(_ name: String) -> RecordID? {
        let prefix = "park-"
        guard name.hasPrefix(prefix), !name.hasSuffix(".json") else { return nil }
        let rest = name.dropFirst(prefix.count)
        guard let dash = rest.firstIndex(of: "-"), let zone = ZoneID(hex: rest[..<dash]),
            let record = RecordName(text: rest[rest.index(after: dash)...])
        else { return nil }
        return RecordID(zone: zone, name: record)
    }

    /// Puts back what a crash left in `.shoebox/tmp`: parked files go where they were, or, if that is taken, to the
    /// trash; half-written new files are deleted. The failures, if any. To be called before anything is planned.
    ///
    /// - Parameter keeping: records whose parked files stay, as a plan will move them on.
    public func recoverTemporaries(keeping: Set<RecordID> = []) -> [FileError] {
        var failures: [FileError] = []
        do throws(FileError) {
            for entry in try files.list(OwnPaths.temporary) {
                if let id = entry.name.text.flatMap(Self.parkedRecord), keeping.contains(id) { continue }
                do throws(FileError) {
                    try recover(entry)
                } catch {
                    failures.append(error)
                }
            }
        } catch  where error.code == .absent {
        } catch {
            failures.append(error)
        }
        return failures
    }

    private func recover(_ entry: DirectoryEntry) throws(FileError) {
        let path = OwnPaths.temporary.appending(entry.name)
        guard let text = entry.name.text else { return }
        if text.hasPrefix("new-") {
            try files.removeFile(path)
        } else if text.hasPrefix("park-"), !text.hasSuffix(".json") {
            let infoPath = OwnPaths.temporary.appending(try ownName(text + ".json"))
            // Where it belongs is written there: it stays until that can be read.
            let info = try readInfo(infoPath)
            let original = info?.path ?? RelativePath([entry.name])
            do throws(FileError) {
                guard info != nil else { throw FileError(code: .exists, operation: "restore", path: text) }
                try files.rename(path, to: original, mode: .failIfExists)
            } catch {
                let item = try reserveTrash(for: original, record: info?.record)
                try files.rename(path, to: item.path, mode: .failIfExists)
            }
            discard(infoPath)
        } else if text.hasPrefix("park-"),
            try files.entry(at: OwnPaths.temporary.appending(ownName(String(text.dropLast(5))))) == nil
        {
            // The way back of something that is not aside any more.
            do throws(FileError) { try files.removeFile(path) } catch {
                guard error.code == .absent else { throw error }
            }
        }
    }

    /// Moves something out of the way, its way back written down first.
    func park(_ record: RecordID, _ from: RelativePath) throws(FileError) -> ApplyOutcome {
        try ensureDirectory(OwnPaths.temporary)
        let (parked, info) = try parkingPlace(record)
        discard(info)
        try writeInfo(info, note(from, record, now: nowMilliseconds()))
        do throws(FileError) {
            try files.rename(from, to: parked, mode: .failIfExists)
        } catch {
            // After any other failure it may be aside all the same, and needs its way back.
            if error.code == .absent {
                discard(info)
                return .stale("'\(from)' is gone")
            }
            throw error
        }
        return .done(try files.entry(at: parked)?.stamp)
    }

    /// Moves something parked to where it belongs.
    func unpark(_ record: RecordID, _ to: RelativePath) throws(FileError) -> ApplyOutcome {
        let (parked, info) = try parkingPlace(record)
        do throws(FileError) {
            try files.rename(parked, to: to, mode: .failIfExists)
        } catch  where error.code == .exists {
            return .stale("'\(to)' is taken")
        } catch  where error.code == .absent {
            return .stale("what belongs at '\(to)', or its folder, is gone")
        }
        discard(info)
        return .done(try files.entry(at: to)?.stamp)
    }

    /// Keeps what was put aside for a record for another one: the same photo, in the zone that it was moved to. Its way back
    /// stays written down throughout.
    public func repark(_ record: RecordID, as other: RecordID) -> ApplyOutcome {
        outcome { () throws(FileError) in
            let (parked, info) = try parkingPlace(record)
            let (target, targetInfo) = try parkingPlace(other)
            guard try files.entry(at: parked) != nil else { return .stale("nothing is aside for \(record)") }
            guard let path = try readInfo(info)?.path else { return .stale("where \(record) was is not known") }
            guard try files.entry(at: target) == nil else { return .stale("something is aside for \(other)") }
            discard(targetInfo)
            try writeInfo(targetInfo, note(path, other, now: nowMilliseconds()))
            try files.rename(parked, to: target, mode: .failIfExists)
            discard(info)
            return .done(try files.entry(at: target)?.stamp)
        }
    }

    /// Moves what was put aside for a record to the trash, as what it was where it came from.
    public func trashParked(_ record: RecordID) -> ApplyOutcome {
        outcome { () throws(FileError) in
            let (parked, info) = try parkingPlace(record)
            guard let entry = try files.entry(at: parked) else { return .stale("nothing is aside for \(record)") }
            let original = try readInfo(info)?.path ?? RelativePath([entry.name])
            // Nobody opens it where it is aside, but who has opened it before goes on.
            if files.hasWriter(parked) { return .stale(beingWritten(original)) }
            let item = try reserveTrash(for: original, record: record)
            try files.rename(parked, to: item.path, mode: .failIfExists)
            discard(info)
            return .done(nil)
        }
    }

    private func parkingPlace(_ record: RecordID) throws(FileError) -> (parked: RelativePath, info: RelativePath) {
        let name = "park-\(record.zone)-\(record.name)"
        return (
            OwnPaths.temporary.appending(try ownName(name)), OwnPaths.temporary.appending(try ownName(name + ".json"))
        )
    }

    private func makeFolders(_ path: RelativePath) throws(FileError) {
        if path.isRoot { return }
        do throws(FileError) {
            try files.makeDirectory(path)
        } catch  where error.code == .exists {
        } catch  where error.code == .absent {
            try makeFolders(path.parent)
            try files.makeDirectory(path)
        }
    }

    private func deleteTree(_ path: RelativePath, _ failures: inout [FileError]) {
        do throws(FileError) {
            for entry in try files.list(path) {
                let inside = path.appending(entry.name)
                if entry.kind == .directory {
                    deleteTree(inside, &failures)
                } else {
                    do throws(FileError) {
                        try files.removeFile(inside)
                    } catch  where error.code != .absent {
                        failures.append(error)
                    } catch {}
                }
            }
            try files.removeDirectory(path)
        } catch {
            if error.code != .absent { failures.append(error) }
        }
    }

    /// The days in the trash with their first millisecond, the oldest first.
    func trashDays() throws(FileError) -> [(UInt64, RelativePath)] {
        let entries: [DirectoryEntry]
        do throws(FileError) {
            entries = try files.list(OwnPaths.trash)
        } catch  where error.code == .absent {
            return []
        }
        return entries.compactMap { entry in
            guard entry.kind == .directory, let start = entry.name.text.flatMap(Self.dayStart) else { return nil }
            return (start, OwnPaths.trash.appending(entry.name))
        }.sorted { $0.0 < $1.0 }
    }

    /// The hexadecimal digits in front of an item's name; nil for anything that is no item.
    static func unique(ofItem name: FileName) -> String? {
        guard name.bytes.count > 17, name.bytes[16] == UInt8(ascii: "-") else { return nil }
        let digits = String(decoding: name.bytes.prefix(16), as: UTF8.self)
        return decodeHex(digits) == nil ? nil : digits
    }
}

extension RelativePath {
    /// A path from bytes with `/` between the names; nil if one is not valid.
    init?(bytes: [UInt8]) {
        var names: [FileName] = []
        for part in bytes.split(separator: UInt8(ascii: "/")) {
            guard let name = FileName(bytes: Array(part)) else { return nil }
            names.append(name)
        }
        self.init(names)
    }
}
