import ShoeboxCloud
import ShoeboxLibrary
import ShoeboxModel
import ShoeboxPlanning
import ShoeboxStore
import ShoeboxWorld

import class GRDB.Database

/// One content that a photo had at some time.
struct ContentVersion {
    /// The content, with its place in the container where one is known.
    var asset: AssetReference
    /// The modification time that was written with it, nanoseconds.
    var modified: Int64?
    /// Who wrote it.
    var author: AccountID
    /// When, milliseconds since 1970, by the author's clock.
    var timeMilliseconds: UInt64
}

extension Engine {
    /// Every content that a record ever had and that counts or once did, the newest first; equal bytes once. What it had
    /// before it came into a share stayed where it was then, and whoever can read that has it still.
    ///
    /// - Parameter isHereOnly: whether only what it had in its zone is asked for.
    func contentVersions(of id: RecordID, isHereOnly: Bool = false, _ db: Database) throws -> [ContentVersion] {
        var result: [ContentVersion] = []
        let places = Set(isHereOnly ? [] : try db.zonesOfMoves(of: id.name)).union([id.zone])
        let changes = try places.sorted().flatMap { try db.changes(of: id.name, in: $0) }
        for change in changes.sorted(by: { $0.timestamp > $1.timestamp }) {
            guard case .set(let fields) = change.action, let asset = fields[.content]?.asset else { continue }
            if let same = result.firstIndex(where: { $0.asset.contentHash == asset.contentHash }) {
                if result[same].asset.location == nil { result[same].asset = asset }
                continue
            }
            result.append(
                ContentVersion(
                    asset: asset, modified: fields[.modified]?.integer, author: change.author,
                    timeMilliseconds: change.timestamp.wallMilliseconds))
        }
        return result
    }

    /// The record that is, or was, at a path: one that is shown, else the one that was deleted last.
    private func recordEver(at reference: PathReference) throws -> RecordID {
        if let known = try knownRecord(at: reference) { return known }
        return try record(at: reference)
    }

    /// As far as the database knows, without a look at the folders: the record that is shown at a path, else of those that
    /// were deleted there the last one.
    func knownRecord(at reference: PathReference) throws -> RecordID? {
        guard let path = reference.path, let name = path.last else { return nil }
        return try store.read { db in
            let top = top(reference.root)
            if let shown = try db.base(at: path, root: reference.root, top: top) { return shown }
            guard let parent = try formerFolder(path.parent, reference.root, db) else { return nil }
            let isTop = parent.isZoneRoot
            var found = try db.deletedFiles(named: name, in: parent.zone, parent: isTop ? nil : parent.name)
            if isTop, let root = zones[parent.zone]?.row.rootRecord {
                found += try db.deletedFiles(named: name, in: parent.zone, parent: root)
            }
            let dated = try found.map { (id: $0, time: try deletionTime($0, db)) }
            return dated.max { $0.time < $1.time }?.id
        }
    }

    /// The folder that a path shows, or showed: one that went with its last photo is still known by its record.
    private func formerFolder(_ path: RelativePath, _ root: RootKind, _ db: Database) throws -> RecordID? {
        if let shown = try db.base(at: path, root: root, top: top(root)) { return shown }
        guard let name = path.last, let parent = try formerFolder(path.parent, root, db) else { return nil }
        let parents = [parent.isZoneRoot ? nil : parent.name, zones[parent.zone]?.row.rootRecord]
        return try db.folders(in: parent.zone).first { row in
            row.name == name && (row.parent == parents[0] || (parent.isZoneRoot && row.parent == parents[1]))
        }?.id
    }

    private func deletionTime(_ id: RecordID, _ db: Database) throws -> HybridTimestamp {
        try db.state(of: id)?.marks.map(\.timestamp).max() ?? .zero
    }

    func requireWritable(_ id: RecordID) throws {
        if let zone = zones[id.zone], zone.row.state == .ended || zone.row.state == .left { throw endedError(zone) }
        guard try store.read({ db in try may(.editRecord, id, db) }) else {
            throw RequestError(
                ExitCode.notPermitted,
                "The photo is in '\(zones[id.zone]?.control.title ?? "")', \(permissionText(id.zone)).",
                "Ask the owner for 'readWrite', or copy the photo into your library.")
        }
    }

    /// Where the bytes of a content are: in a watched folder, in the container, or in the trash, from where they are taken
    /// when the folders are brought up to date. False if they are nowhere.
    ///
    /// - Parameter trash: what lies in the trash, where many contents are asked for.
    func findBytes(_ asset: AssetReference, of id: RecordID, in trash: TrashContents? = nil) throws -> Bool {
        if asset.location != nil { return true }
        if try !localSources(of: asset.contentHash).isEmpty { return true }
        return try takeFromTrash(asset, of: id, in: trash)
    }

    /// Has a content taken from the trash when the folders are brought up to date; false if it is not there.
    private func takeFromTrash(
        _ asset: AssetReference, of id: RecordID, in trash: TrashContents? = nil
    ) throws -> Bool {
        guard let place = try (trash ?? TrashContents(self)).place(of: asset, where: { $0 == id }) else { return false }
        trashSources[asset.contentHash] = place
        return true
    }

    /// Whether the bytes of a content that was uploaded have to come from another device, as the container does not show them. Those
    /// that lie in the trash are taken from there. False if the container can't be asked.
    private func isAwaited(_ asset: AssetReference, of id: RecordID) throws -> Bool {
        guard let location = asset.location, try localSources(of: asset.contentHash).isEmpty else { return false }
        do {
            guard try !AssetStore(mount: world.mount).isThere(location) else { return false }
        } catch { return false }
        do { return try !takeFromTrash(asset, of: id) } catch let error as FileError {
            // It only helps, and stops nothing.
            log("the trash cannot be listed: \(error)")
            return true
        }
    }

    /// Takes what a file holds now into the history, before it gets another content: else that would go to the trash as
    /// something that nobody knows, or count as what the file has already.
    ///
    /// - Throws: `RequestError`, if it was changed just now and can't be taken yet.
    private func takeIn(_ reference: PathReference) throws {
        func isTaken() throws -> Bool {
            guard let path = reference.path, let entry = try? files(reference.root).entry(at: path),
                entry.kind == .file,
                let row = try store.read({ db in
                    try db.base(at: path, root: reference.root, top: top(reference.root)).flatMap { try db.base($0) }
                }), row.kind == .file
            else { return true }
            // One that was cut to nothing waits for just this.
            return entry.stamp.isUnchanged(from: row.stamp) || (entry.stamp.size == 0 && row.stamp.size > 0)
        }
        guard try checkRoot(reference.root), try !isTaken() else { return }
        _ = try scan(reference.root, author: "scan")
        guard try !isTaken(), let path = reference.path else { return }
        throw RequestError(
            ExitCode.failed, "'\(display(path, reference.root))' was changed just now, and was not taken in yet.",
            "Nothing was done. Try again when whatever writes it is done.")
    }

    /// Gives a photo a content that it had before, for everybody; what the file holds now goes to the trash. One that was
    /// deleted is alive again.
    ///
    /// - Parameter version: the number in the list of versions, from 1, or the beginning of a content's hash; nil for the
    ///   one that the record has.
    func restoreVersion(_ reference: PathReference, version: String?) throws -> Reply {
        // Without a version, what is known of it is meant, and not what the file holds.
        if version != nil { try takeIn(reference) }
        // It may only have been moved a moment ago.
        if let known = try knownRecord(at: reference), try isGoneUntaken(known, at: reference) {
            _ = try scan(reference.root, author: "scan")
        }
        var id = try recordEver(at: reference)
        let listed = try store.read { db in try self.listed(.versions(id), db) }
        let home = try homeOfMoved(id, reference)
        if let home { id = home }
        let (state, versions) = try store.read { db in
            (try db.state(of: id), try contentVersions(of: id, db))
        }
        guard let state, state.type.hasContent else {
            throw RequestError(
                ExitCode.notFound, "That is a folder, and only files have versions.",
                "Name a file in it; 'shoebox trash restore' brings back what is in the trash, 'shoebox undo' a whole deletion."
            )
        }
        let shown = reference.path.map { display($0, reference.root) } ?? ""
        let isGone = state.movedTo != nil
        let isUntaken = try state.isLive && isGoneUntaken(id, at: reference)
        // What was deleted before its folder was shared is nothing for the people of the share.
        let shared =
            try state.isLive || isGone ? nil : store.read { db in try sharedSince(state.parent, in: id.zone, db) }
        let back =
            home.map { "'\(shown)' comes back where it was last, in \(placeText($0.zone))" }
            ?? "'\(shown)' comes back for everybody"
        guard let version else {
            if isGone { return try putBackAnew(id, state, version: nil, shown) }
            if isUntaken { return try restoreUntaken(id, state, at: reference) }
            if state.isLive { return try restoreContent(reference) }
            try requireWritable(id)
            // What was deleted before it was published may be on no machine but the one that deleted it.
            if let asset = state.content, try !findBytes(asset, of: id) { throw withoutBytes("'\(shown)'") }
            let isAwaited = try state.content.map { try self.isAwaited($0, of: id) } ?? false
            try store.write { db in
                var writer = try HistoryWriter(db, engine: self, author: "cli")
                try revive(id, state, beside: shared?.place, &writer)
                try writer.finish()
            }
            return Reply(
                lines: [try shared.map { try besideText("'\(shown)' comes back", $0) } ?? "\(back)."]
                    + (isAwaited ? [Self.awaitedLine] : []))
        }
        let found: ContentVersion?
        if let number = Int(version), version.utf8.count < 6 {
            // Others may have saved it since the list was printed.
            let hashes = listed?.values ?? versions.map(\.asset.contentHash.description)
            found =
                hashes.indices.contains(number - 1)
                ? versions.first { $0.asset.contentHash.description == hashes[number - 1] } : nil
        } else {
            let matching = versions.filter { $0.asset.contentHash.description.hasPrefix(version.lowercased()) }
            found = matching.count == 1 ? matching.first : nil
        }
        guard let found else {
            throw RequestError(
                ExitCode.notFound, "'\(shown)' has no version '\(version)'.",
                "'shoebox restore --list' with the path shows all versions.")
        }
        if !isGone { try requireWritable(id) }
        guard try findBytes(found.asset, of: id) else {
            throw RequestError(
                ExitCode.notFound, "The bytes of that version are kept nowhere.",
                "It was replaced before it was published. Another device may have it in its trash.")
        }
        if isGone { return try putBackAnew(id, state, version: found, shown) }
        // What was cut to nothing has it no more.
        if state.isLive, state.content?.contentHash == found.asset.contentHash {
            return try isUntaken ? restoreUntaken(id, state, at: reference) : restoreContent(reference)
        }
        let isAwaited = try isAwaited(found.asset, of: id)
        // What the folder has shown for long was seen there, too.
        let now = world.nowMilliseconds()
        let chosenFrom = listed.flatMap { list in
            let isRecent = now >= list.timeMilliseconds && now - list.timeMilliseconds < Self.listMilliseconds
            return isRecent && home == nil ? list : nil
        }
        var fields: [FieldKey: Value] = [.content: .asset(found.asset)]
        if let modified = found.modified { fields[.modified] = .integer(modified) }
        if let shared { fields[.parent] = shared.place.parentValue }
        if isUntaken { try bringBackUntaken(id, at: reference) }
        try store.write { db in
            var writer = try HistoryWriter(db, engine: self, author: "cli")
            try writer.write(
                id, type: state.type, .set(fields), context: decided(chosenFrom, of: state))
            try writer.finish()
            try db.markDirty(id)
        }
        let time = StatusText.local(found.timeMilliseconds)
        return Reply(
            lines: [
                state.isLive && !isUntaken
                    ? "'\(shown)' gets the content of \(time); the present one goes to the trash."
                    : "\(back), with the content of \(time)."
            ] + (try shared.map { [try besideText("It is put", $0)] } ?? []) + (isAwaited ? [Self.awaitedLine] : []),
            values: ["contentHash": found.asset.contentHash.description])
    }

    /// Has a photo back that was just removed, before that is told to anybody.
    private func restoreUntaken(_ id: RecordID, _ state: RecordState, at reference: PathReference) throws -> Reply {
        if let zone = zones[id.zone], zone.row.state == .ended || zone.row.state == .left { throw endedError(zone) }
        let shown = reference.path.map { display($0, reference.root) } ?? ""
        if let asset = state.content, try !findBytes(asset, of: id) { throw withoutBytes("'\(shown)'") }
        let isAwaited = try state.content.map { try self.isAwaited($0, of: id) } ?? false
        try bringBackUntaken(id, at: reference)
        return Reply(
            lines: ["'\(shown)' comes back; it was deleted for nobody yet."] + (isAwaited ? [Self.awaitedLine] : []))
    }

    /// For how long a version is taken as chosen in sight of the list that was printed, and of nothing else.
    private static let listMilliseconds: UInt64 = 3_600_000

    /// Nothing can be brought back without bytes: others would be shown a photo that nobody has.
    func withoutBytes(_ what: String) -> RequestError {
        RequestError(
            ExitCode.notFound, "The bytes of \(what) are kept nowhere that can be reached from here.",
            "They were gone before they were published. Another device may have them in its trash: 'shoebox trash list' there."
        )
    }

    private static let awaitedLine =
        "The cloud folder does not show its bytes now: it comes when it does, or when a device is there that has them in a folder or in its trash. Until then nothing changes here."

    // MARK: What was moved to another share, or out of one

    /// Where a photo is to be brought back that was deleted after it had been moved to another share, or out of one; nil if it was
    /// not moved, or to where this account can't look.
    private func homeOfMoved(_ id: RecordID, _ reference: PathReference) throws -> RecordID? {
        let found = try store.read { db -> (home: RecordID, state: RecordState, path: RelativePath?)? in
            guard try db.state(of: id)?.movedTo != nil, let zone = try presentZone(of: id, db),
                zones[zone]?.row.state == .active
            else { return nil }
            let home = RecordID(zone: zone, name: id.name)
            guard let state = try db.state(of: home) else { return nil }
            return (home, state, try zones[zone].flatMap { try db.basePath(of: home, top: [top($0.row.root)]) })
        }
        guard let (home, state, path) = found else { return nil }
        guard !state.isLive else {
            let shown = reference.path.map { display($0, reference.root) } ?? ""
            let root = zones[home.zone]?.row.root ?? .library
            let place = path.map { "'\(display($0, root))'" } ?? "in \(placeText(home.zone))"
            throw RequestError(
                ExitCode.notFound,
                "'\(shown)' was moved, and is \(place) now.",
                "Name that path to 'shoebox restore'.")
        }
        return home
    }

    private func placeText(_ zone: ZoneID) -> String {
        isShare(zone) ? "the share '\(zones[zone]?.control.title ?? "")'" : "your library"
    }

    /// Makes a new photo of what one was that its owner has taken out of the share. It says nothing of the one that was there:
    /// that is where this account has no say.
    private func putBackAnew(
        _ id: RecordID, _ state: RecordState, version: ContentVersion?, _ shown: String
    ) throws -> Reply {
        guard may(.addRecord, in: id.zone) else {
            throw RequestError(
                ExitCode.notPermitted,
                "'\(shown)' was taken out of '\(zones[id.zone]?.control.title ?? "")', \(permissionText(id.zone)).",
                "Ask the owner for it, or look for it with 'shoebox trash list'.")
        }
        let asset = version?.asset ?? state.content
        guard let asset, try findBytes(asset, of: id) else {
            throw RequestError(
                ExitCode.notFound, "The bytes of '\(shown)' are kept nowhere.",
                "It was taken out before they were published; another device may have them in its trash.")
        }
        let (name, origin) = newRecord()
        var fields = state.fields.compactMapValues { $0.winner?.value }
        fields[.origin] = origin
        fields[.content] = .asset(asset)
        if let modified = version?.modified { fields[.modified] = .integer(modified) }
        let new = RecordID(zone: id.zone, name: name)
        try store.write { db in
            var writer = try HistoryWriter(db, engine: self, author: "cli")
            try writer.write(new, type: state.type, .set(fields))
            try bringCompanions(of: id, to: new, &writer)
            try writer.finish()
            try db.markDirty(new)
        }
        return Reply(
            lines: [
                "'\(shown)' comes back as a new photo\(isShare(id.zone) ? ", for everybody" : ""): the one that was there was moved to where you have no part any more."
            ],
            values: ["contentHash": asset.contentHash.description])
    }

    /// Gives a new photo the tags that one had which went elsewhere, and this account's own rating.
    private func bringCompanions(of id: RecordID, to new: RecordID, _ writer: inout HistoryWriter) throws {
        let db = writer.db
        let titles = try tagTitles(in: id.zone, db)
        for row in try db.allCompanions(of: id) {
            guard let state = try db.state(of: row.id), state.isLive || state.movedTo != nil else { continue }
            if row.type == .photoTag, may(.tag, in: id.zone), state[.member]?.boolean != false,
                let title = state[.tag]?.reference.flatMap({ titles[$0] })
            {
                try setTag(title, on: new, isMember: true, writer: &writer)
            } else if row.type == .rating, may(.rate, in: id.zone), state.fields[.value]?.winner?.author == account,
                let value = state[.value]?.integer, (1...5).contains(value)
            {
                try setRating(Int(value), on: new, writer: &writer)
            }
        }
    }

    /// Writes a value of a deleted record again as it is, by which all of it is alive; or where it is from now on, if that is another
    /// folder than it was in.
    func revive(
        _ id: RecordID, _ state: RecordState, beside folder: RecordID? = nil, _ writer: inout HistoryWriter
    ) throws {
        if let folder {
            try writer.write(id, type: state.type, .set([.parent: folder.parentValue]), context: state.vector)
            return
        }
        let keys = ([.content, .name, .parent] + state.fields.keys.sorted()).filter { state.fields[$0]?.winner != nil }
        // What is undecided stays so.
        guard let key = keys.first(where: { state.fields[$0]?.losers.isEmpty == true }) ?? keys.first,
            let value = state[key]
        else { return }
        try writer.write(id, type: state.type, .set([key: value]), context: state.vector)
    }
}
