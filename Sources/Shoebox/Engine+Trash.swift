import ShoeboxLibrary
import ShoeboxModel
import ShoeboxPlanning
import ShoeboxStore
import ShoeboxWorld

extension Engine {
    private static let dayMilliseconds: UInt64 = 86_400_000

    /// Deletes for good what has been in the trash for long enough, or is too much; looks once an hour.
    ///
    /// What is overdue goes only if it was found to be so for a day of the time that the machine ran: a clock that is a year
    /// ahead for an hour deletes nothing, nor does one that was years behind and is set right in two steps.
    func tidyTrash() throws {
        let uptime = world.uptimeMilliseconds()
        for root in RootKind.allCases {
            if let last = trashTidied[root], uptime < last + 3_600_000 { continue }
            guard try checkRoot(root) else { continue }
            trashTidied[root] = uptime
            do { try tidyTrash(of: root) } catch let error as FileError {
                log("the trash was not looked through: \(error)")
            }
        }
    }

    private func tidyTrash(of root: RootKind) throws {
        let now = world.nowMilliseconds()
        let kept = UInt64(settings.trashDays) &* Self.dayMilliseconds
        let applier = makeApplier(root)
        let limit = now > kept ? now - kept : 0
        let isOverdue = try applier.oldestTrashDay().map { $0 + Self.dayMilliseconds <= limit } ?? false
        var failures: [FileError] = []
        if let limit = try noteOverdue(isOverdue ? limit : nil, root) {
            failures += applier.emptyTrash(olderThanMilliseconds: limit, keptMilliseconds: kept)
        }
        if let limit = settings.trashBytesMax { failures += applier.shrinkTrash(toBytes: limit) }
        for failure in failures.prefix(3) { log("not removed from the trash: \(failure)") }
    }

    /// Notes that what went to the trash before a time is overdue, or that nothing is. Returns what was found to be so at
    /// each look of a day, of the time that this machine ran: what only the present clock says so is not.
    private func noteOverdue(_ limit: UInt64?, _ root: RootKind) throws -> UInt64? {
        let keys = ["For", "Seen", "Limit"].map { "trashOverdue\($0).\(root.rawValue)" }
        let bootKey = "trashOverdueBoot.\(root.rawValue)"
        let (known, boot) = try store.read { db in (try keys.map { try db.metaNumber($0) }, try db.metaText(bootKey)) }
        let uptime = Int64(clamping: world.uptimeMilliseconds())
        var total: Int64 = 0
        var counted = limit
        if let limit, let overdueFor = known[0], let seen = known[1], let before = known[2] {
            // After a start of the machine, what it ran since then counts; at least an hour, as one that is switched off each day may
            // be asked only once.
            let isSameStart = boot == nil || boot == world.bootID
            let ran = isSameStart && uptime >= seen ? uptime - seen : max(uptime, 3_600_000)
            total = overdueFor.addingReportingOverflow(ran).partialValue
            counted = min(limit, UInt64(clamping: before))
        }
        let isDue = counted != nil && total >= Int64(Self.dayMilliseconds)
        let values = isDue ? nil : counted.map { [total, uptime, Int64(clamping: $0)] }
        guard values != nil || known[0] != nil else { return nil }
        try store.write { db in
            for (index, key) in keys.enumerated() { try db.setMetaText(key, values.map { "\($0[index])" }) }
            try db.setMetaText(bootKey, values == nil ? nil : world.bootID)
        }
        return isDue ? counted : nil
    }

    /// A file in the trash that was asked back and has these bytes, opened.
    func trashSource(of hash: Digest32) -> LocalSource? {
        do {
            if trashSources[hash] == nil { try seekPromised() }
            return try trashSources[hash].flatMap(trashSource)
        } catch { return nil }
    }

    /// Finds again what was asked back from the trash and was not published before: the process may have ended before it was
    /// written, and nothing else has the bytes. Once in a process, which notes what else it is asked for.
    private func seekPromised() throws {
        guard !hasSoughtPromised else { return }
        let trash = TrashContents(self)
        for row in try store.read({ db in try db.unpublishedWithoutFile() }) {
            guard let hash = row.contentHash, trashSources[hash] == nil else { continue }
            let asset = AssetReference(contentHash: hash, size: row.size)
            if let place = try trash.place(of: asset, where: { $0.name == row.id.name }) { trashSources[hash] = place }
        }
        hasSoughtPromised = true
    }

    // MARK: Bringing back

    /// Within what time a photo and its sidecar go to the trash, milliseconds.
    private static let companionMilliseconds: UInt64 = 60_000

    /// Something in the trash and where it belongs.
    private struct TrashChoice {
        var root: RootKind
        var item: TrashItem
        var path: RelativePath
        var place: WatchedPath { .init(root: root, path: path) }
    }

    /// Brings back the newest of what was at each path. What was deleted for everybody is alive again for everybody, with
    /// its tags; what is no record any more becomes a new file.
    func restoreFromTrash(_ references: [PathReference]) throws -> Reply {
        let (choices, unread) = try trashChoices(references)
        // What they are is not known, so that it may be one of those that are wanted.
        var left = unread.map { "what lies at '\($0)': what is noted about it can't be read now" }
        guard !choices.isEmpty else {
            guard left.isEmpty else {
                throw RequestError(
                    ExitCode.failed, "Nothing could be put back: \(left.joined(separator: "; ")).",
                    "Try again in a while; if it stays, check the disk.")
            }
            let what = references.compactMap { reference in
                reference.path.map { "'\(display($0, reference.root))'" }
            }
            throw RequestError(
                ExitCode.notFound,
                references.isEmpty
                    ? "The trash is empty." : "Nothing in the trash was at \(what.joined(separator: ", ")).",
                "'shoebox trash list' shows what is there.")
        }
        var restored: [String] = []
        var isAnyUnread = !unread.isEmpty
        var isAnyAlone = false
        var isAnyOthers = false
        /// The photos that are where they were, by their records, and new files.
        var photosBack: [WatchedPath: RecordID?] = [:]
        var revived: [(choice: TrashChoice, id: RecordID, hash: Digest32, beside: SharedSince?)] = []
        let photos = Set(choices.map { WatchedPath(root: $0.root, path: $0.path) })
        for choice in choices {
            let shown = display(choice.path, choice.root)
            let audience = try otherShare(of: choice)
            let isNamed = references.contains(.init(root: choice.root, path: choice.path))
            let beside = (choice.path.last.map(SidecarName.photos) ?? []).map {
                WatchedPath(root: choice.root, path: choice.path.parent.appending($0))
            }
            if beside.contains(where: photos.contains), try !isOfItsOwn(choice) {
                // It may hold what no record does. Where it isn't free, it is written anew. Beside any other photo that is there by
                // now, it would be said of that.
                if let own = choice.item.record?.name, beside.contains(where: { photosBack[$0]??.name == own }),
                    audience == nil || isNamed
                {
                    _ = makeApplier(choice.root).restore(choice.item, to: choice.path)
                }
                continue
            }
            if try isAlone(choice), !isNamed {
                left.append("'\(shown)': its photo is not there")
                isAnyAlone = true
                continue
            }
            do {
                guard try files(choice.root).entry(at: choice.path) == nil else {
                    left.append("'\(shown)' is taken")
                    continue
                }
                if let id = choice.item.record, let (hash, sharedSince) = try revive(id, from: choice) {
                    revived.append((choice, id, hash, sharedSince))
                    // Others may have renamed or moved it before it was deleted: it shows there then.
                    if try isPlaced(id, at: choice) { photosBack[choice.place] = id }
                    continue
                }
            } catch let error as FileError {
                // As a new file it would have lost what was said of it.
                left.append("'\(shown)': it can't be read now: \(error.reason)")
                isAnyUnread = true
                continue
            }
            if let audience, !isNamed {
                left.append(
                    "'\(shown)': it went to the trash before that was in \(audience), whose people would see it")
                isAnyOthers = true
                continue
            }
            switch makeApplier(choice.root).restore(choice.item, to: choice.path) {
            case .done:
                restored.append(
                    audience.map { "'\(shown)' is back, in \($0): its people see it." } ?? "'\(shown)' is back.")
                photosBack[choice.place] = .some(choice.item.record)
            case .stale(let reason): left.append("'\(shown)': \(reason)")
            case .failed(let error): left.append("'\(shown)': \(error.reason)")
            }
            later[.init(root: choice.root, path: choice.path.parent)] = world.uptimeMilliseconds()
        }
        for root in Set(revived.map(\.choice.root)) {
            for _ in 0..<1_000 where try apply(root).operations == 0 { break }
        }
        for item in revived {
            let shown = display(item.choice.path, item.choice.root)
            restored.append(try item.beside.map { try besideText("'\(shown)' is back", $0) } ?? "'\(shown)' is back.")
            guard try store.read({ db in try db.base(item.id) })?.contentHash == item.hash else {
                // The record is alive, its bytes come with a later round; until then they stay in the trash, too, where this
                // process finds them.
                continue
            }
            trashSources[item.hash] = nil
            for failure in makeApplier(item.choice.root).discardTrash(item.choice.item) {
                log("not removed from the trash: \(failure)")
            }
        }
        let remedy =
            isAnyUnread
            ? "Try again in a while; if it stays, check the disk."
            : isAnyOthers
                ? "Name the file itself to have it put there all the same, for the people of the share to see."
                : isAnyAlone
                    ? "Name the JSON file itself to have it put where its photo was."
                    : "Move away what is there, and try again."
        guard !restored.isEmpty else {
            throw RequestError(
                ExitCode.failed, "Nothing could be put back: \(left.joined(separator: "; ")).", remedy)
        }
        return Reply(
            code: left.isEmpty ? 0 : ExitCode.reported,
            lines: restored + left.map { "left in the trash: \($0)" },
            values: ["restored": String(restored.count), "left": String(left.count)],
            remedy: left.isEmpty ? nil : remedy)
    }

    /// The share whose people would see what is put back from the trash as a new file, although it went there from somewhere else:
    /// before the folder was shared, or from another share of that name. Nil if there is none.
    private func otherShare(of choice: TrashChoice) throws -> String? {
        let zone = try store.read { db -> ZoneID? in
            var folder = choice.path.parent
            while true {
                if let id = try db.base(at: folder, root: choice.root, top: top(choice.root)) { return id.zone }
                guard !folder.isRoot else { return nil }
                folder = folder.parent
            }
        }
        guard let zone, isShare(zone), may(.addRecord, in: zone), choice.item.record?.zone != zone else { return nil }
        return "the share '\(zones[zone]?.control.title ?? "")'"
    }

    /// Whether a record lies where something in the trash was, also if the folders that it was in are gone.
    private func isPlaced(_ id: RecordID, at choice: TrashChoice) throws -> Bool {
        try store.read { db in
            var (id, path) = (id, choice.path)
            var seen: Set<RecordID> = []
            while seen.insert(id).inserted {
                guard let record = try db.record(id), record.name == path.last else { return false }
                let folder = RecordID(zone: id.zone, name: record.parent ?? .zoneRoot)
                let shown = try db.base(at: path.parent, root: choice.root, top: top(choice.root))
                if shown == folder { return true }
                // Where the folder of a share is gone, too, nobody knows better. Any other one comes back into a new one of its name.
                guard !folder.isZoneRoot else { return shown == nil }
                (id, path) = (folder, path.parent)
            }
            return false
        }
    }

    /// Something in the trash with the record that it was shown for: of a sidecar that was put there without noting that, the one
    /// that it names itself; in which zone, is not known.
    private func withRecord(_ item: TrashItem, _ root: RootKind) throws -> TrashItem {
        guard item.record == nil, let path = item.originalPath,
            path.last.map(SidecarName.photos)?.isEmpty == false,
            case .document(let document) = SidecarDocument.read(try readSidecar(item.path, files(root))),
            let name = document.record
        else { return item }
        let records = zones.keys.sorted().map { RecordID(zone: $0, name: name) }
        var item = item
        item.record = try store.read { db in try records.first { try db.record($0) != nil } } ?? records.first
        return item
    }

    /// Whether what has the name of a sidecar is a file with a record of its own, such as one of another program.
    private func isOfItsOwn(_ choice: TrashChoice) throws -> Bool {
        guard let id = choice.item.record, let name = try store.read({ db in try db.record(id) })?.name,
            let photos = choice.path.last.map(SidecarName.photos)
        else { return false }
        return !SidecarName.photos(for: name).isEmpty && !photos.contains(name)
    }

    /// Whether this is the sidecar of a photo that is elsewhere by now, or nowhere: beside what is there now, it would be said of
    /// another photo.
    private func isAlone(_ choice: TrashChoice) throws -> Bool {
        guard let record = choice.item.record, let names = choice.path.last.map(SidecarName.photos), !names.isEmpty,
            try !isOfItsOwn(choice)
        else { return false }
        return try store.read { db in
            guard let folder = try db.base(at: choice.path.parent, root: choice.root, top: top(choice.root)) else {
                return true
            }
            return try names.allSatisfy {
                try db.base(named: $0, in: folder, root: choice.root)?.id.name != record.name
            }
        }
    }

    /// The newest item of each path that is at or below one of those asked for, and where those lie of which it can't be
    /// read now where they were.
    private func trashChoices(_ references: [PathReference]) throws -> (found: [TrashChoice], unread: [String]) {
        var result: [TrashChoice] = []
        var unread: [String] = []
        for root in RootKind.allCases {
            let wanted = references.filter { $0.root == root }.compactMap(\.path)
            guard references.isEmpty || !wanted.isEmpty else { continue }
            guard try checkRoot(root) else {
                if wanted.isEmpty { continue }
                throw RequestError(
                    ExitCode.offline, "The \(display(.root, root)) folder is not there.", "Mount it again.")
            }
            var newest: [RelativePath: TrashItem] = [:]
            func note(_ item: TrashItem, at path: RelativePath) {
                if let other = newest[path], other.removedMilliseconds > item.removedMilliseconds { return }
                newest[path] = item
            }
            var items: [TrashItem] = []
            for found in try trashItems(root) {
                var item = found
                do { item = try withRecord(found, root) } catch let error as FileError {
                    // Beside another photo than its own, it would be said of that.
                    log("not put back: \(error)")
                    item.isUnread = true
                }
                if item.isUnread {
                    unread.append(display(item.path, root))
                    continue
                }
                items.append(item)
                guard let path = item.originalPath, references.isEmpty || wanted.contains(where: path.isAtOrBelow)
                else { continue }
                note(item, at: path)
            }
            // The sidecar that went with a photo comes along; not one that was put away for something else.
            let ofRecord = Dictionary(grouping: items.filter { $0.record != nil }, by: \.record?.name)
            for (photo, chosen) in newest {
                guard let name = photo.last, let going = ofRecord[chosen.record?.name] else { continue }
                let sidecars = SidecarName.candidates(for: name).map { photo.parent.appending($0) }
                for item in going {
                    let times = (item.removedMilliseconds, chosen.removedMilliseconds)
                    guard let path = item.originalPath, sidecars.contains(path),
                        max(times.0, times.1) - min(times.0, times.1) < Self.companionMilliseconds
                    else { continue }
                    note(item, at: path)
                }
            }
            result += newest.sorted { $0.key < $1.key }.map { TrashChoice(root: root, item: $0.value, path: $0.key) }
        }
        return (result, unread)
    }

    /// Not with the type of its error: a compiler of today fails on it.
    private func trashItems(_ root: RootKind) throws -> [TrashItem] { try makeApplier(root).trashItems() }

    /// Makes a deleted record alive again with the bytes that lie in the trash; nil if it isn't deleted, or the account
    /// may not write there. The folders show what follows from it when they are brought up to date.
    /// - Throws: `FileError` if the bytes can't be read now.
    private func revive(
        _ id: RecordID, from choice: TrashChoice
    ) throws -> (hash: Digest32, beside: SharedSince?)? {
        guard let zone = zones[id.zone], zone.row.root == choice.root,
            try store.read({ db in try may(.editRecord, id, db) }),
            let record = try store.read({ db in try db.record(id) }), !record.isLive, record.type.hasContent,
            // A sidecar lies there for its photo's record.
            try choice.path.last.map(SidecarName.photos)?.isEmpty != false || isOfItsOwn(choice),
            let state = try store.read({ db in try db.state(of: id) }), state.movedTo == nil
        else { return nil }
        let hash: Digest32
        let stamp: FileStamp
        do { (hash, stamp) = try ContentHasher.hash(choice.item.path, files(choice.root)) } catch {
            guard error.isAbsence else { throw error }
            return nil
        }
        let shared = try store.write { db -> SharedSince? in
            var writer = try HistoryWriter(db, engine: self, author: "cli")
            // Of any version: others may have saved something else in it before it was deleted.
            let known = try db.changes(of: id.name, in: id.zone).compactMap(\.content).first {
                $0.contentHash == hash && $0.location != nil
            }
            var fields: [FieldKey: Value] = [
                .content: .asset(known ?? AssetReference(contentHash: hash, size: stamp.size)),
                .modified: .integer(stamp.modifiedNanoseconds),
            ]
            let shared = try sharedSince(state.parent, in: id.zone, db)
            if let shared { fields[.parent] = shared.place.parentValue }
            try writer.write(id, type: record.type, .set(fields), context: state.vector)
            try writer.finish()
            try db.markDirty(id)
            return shared
        }
        trashSources[hash] = .init(root: choice.root, path: choice.item.path)
        return (hash, shared)
    }
}
