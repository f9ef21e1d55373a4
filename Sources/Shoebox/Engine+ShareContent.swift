import ShoeboxCloud
import ShoeboxModel
import ShoeboxPlanning
import ShoeboxStore
import ShoeboxWorld

import class GRDB.Database

extension Engine {
    /// The base row of what a path shows, for moving it into or out of a share.
    private func shownRow(_ reference: PathReference, _ db: Database) throws -> BaseRow {
        guard let path = reference.path,
            let id = try db.base(at: path, root: reference.root, top: top(reference.root)), let row = try db.base(id)
        else {
            throw RequestError(
                ExitCode.notFound,
                "There is no photo or folder '\(reference.path.map { display($0, reference.root) } ?? "?")' that shoebox knows of.",
                "Check the path; a file that is still being written is taken a moment after it is closed.")
        }
        return row
    }

    /// Makes a share of files and folders of the library. A single folder becomes the share with everything in it, now
    /// and later; several things keep their places in the library and show side by side at the participants'.
    func createShare(
        _ paths: [PathReference], title: String, publicPermission: String, isSealed: Bool, onEnd: String = "remove"
    ) throws -> Reply {
        guard let privateZone else { throw offlineError }
        guard let endPolicy = EndPolicy(rawValue: onEnd) else {
            throw RequestError(64, "'\(onEnd)' says nothing about what happens at the end.", "Use keep or remove.")
        }
        guard let open = Permission(rawValue: publicPermission) else {
            throw RequestError(
                64, "'\(publicPermission)' is no permission.", "Use none, readOnly or readWrite.")
        }
        guard !title.isEmpty, title.utf8.count <= 200 else {
            throw RequestError(64, "A share needs a title of at most 200 bytes.", "Give one with --title.")
        }
        let mine = zones.values.filter { $0.row.isMine && $0.row.kind == .share && $0.row.state == .active }
        guard mine.count < settings.zonesMax else {
            throw RequestError(
                ExitCode.failed, "You have \(mine.count) shares, which is the limit.",
                "Add to an existing one with 'shoebox share add', or raise limits.zonesMax in the configuration.")
        }
        for path in paths { _ = try record(at: path) }
        let coming = try takeAsItIs(paths)
        let rows = try store.read { db in try paths.map { try shownRow($0, db) } }
        for row in rows where row.id.zone != privateZone {
            let other = zones[row.id.zone]?.control.title ?? "another share"
            throw RequestError(
                ExitCode.failed, "'\(row.name)' is in the share '\(other)' already; a photo is in one share at most.",
                "Invite people to '\(other)', or take it out first with 'shoebox share remove'.")
        }
        var control = Control(
            kind: .share, title: title, owner: account, ownerLabel: settings.label, publicPermission: open,
            isSealed: isSealed, endPolicy: endPolicy)
        let keys = open > .none ? try JoinLinkKeys(secret: world.randomBytes(32)) : nil
        if let keys {
            control.links[keys.joinKey] = JoinLink(
                permission: open, agreementKey: isSealed ? keys.agreementKey : [], secret: isSealed ? keys.secret : [])
        }
        let (zone, file) = try publishZone(control)
        if let keys { try keepLink(keys, of: zone.id) }
        let gone = try gone(from: rows)
        let files = try store.read { db in try rows.reduce(0) { try $0 + fileCount(of: $1, besides: gone, db) } }
        // One transaction for the zone and all that moves there, so that no share without its photos ever shows.
        zones[zone.id] = zone
        let count: Int
        do {
            count = try store.write { db in try fill(zone, file: file, with: rows, leaving: gone, title: title, db) }
        } catch {
            zones[zone.id] = nil
            throw error
        }
        try reloadZones()
        log("made the share '\(title)' with \(count) changes")
        pushSoon()
        let link = try shareLink(zone)
        return Reply(
            lines: [
                "Share '\(title)' made of \(described(paths, files, coming: coming)).", "id:   \(zone.id)",
                "link: \(link)",
                "Next: shoebox share invite '\(title)' ACCOUNT",
            ],
            values: ["id": zone.id.description, "link": link, "title": title])
    }

    /// What a new share is made of, so that its owner sees whether it is what was meant.
    ///
    /// - Parameter coming: how many files are there that are shared as soon as they are taken.
    private func described(_ paths: [PathReference], _ files: Int, coming: Int) -> String {
        let names = paths.compactMap { reference in reference.path.map { "'\(display($0, reference.root))'" } }
        let more = names.count > 3 ? " and \(names.count - 3) more" : ""
        return names.prefix(3).joined(separator: ", ") + more + ", \(files) file\(files == 1 ? "" : "s")"
            + comingText(coming)
    }

    private func comingText(_ count: Int) -> String {
        count > 0 ? " (\(count) more as soon as all of it is there and can be read)" : ""
    }

    private func fileCount(of row: BaseRow, besides gone: Set<RecordID>, _ db: Database) throws -> Int {
        guard row.kind == .folder else { return gone.contains(row.id) ? 0 : 1 }
        return try db.baseChildren(of: row.id, root: row.root).reduce(0) {
            try $0 + fileCount(of: $1, besides: gone, db)
        }
    }

    /// Stores a new zone and moves what it was made for into it; returns how many changes that were.
    private func fill(
        _ zone: ZoneInfo, file: [UInt8]?, with rows: [BaseRow], leaving gone: Set<RecordID>, title: String,
        _ db: Database
    ) throws -> Int {
        try setPublished(zone, file: file, db)
        var writer = try HistoryWriter(db, engine: self, author: "cli")
        let placements = try placements(db)
        if rows.count == 1, let row = rows.first, row.kind == .folder {
            try shareFolder(row, in: zone, leaving: gone, placements: placements, writer: &writer)
        } else {
            let shared = try contributionsFolder(title: title, writer: &writer)
            try writePlacement(
                zone: zone.id, record: nil, parent: shared, name: FileName(safe: title), placements: placements,
                writer: &writer)
            for row in rows {
                try shareItem(row, in: zone, leaving: gone, placements: placements, writer: &writer)
            }
        }
        try writer.finish()
        return writer.count
    }

    /// Moves the content of a folder into a zone; the zone is shown where the folder was.
    private func shareFolder(
        _ row: BaseRow, in zone: ZoneInfo, leaving gone: Set<RecordID>, placements: Placements,
        writer: inout HistoryWriter
    ) throws {
        let db = writer.db
        let gone = LeftBehind(ids: gone, place: row.parent)
        let mount = RecordID(zone: zone.id, name: .zoneRoot)
        let fields: [FieldKey: Value] = [
            .targetZone: .bytes(zone.id.digest.bytes), .name: .name(row.name), .root: .boolean(true),
            .photo: .reference(row.id.name), .parent: row.parent.parentValue,
        ]
        let placement = RecordID(
            zone: row.id.zone, name: RecordName(bytes: world.randomBytes(16)) ?? RecordName(4))
        try writer.write(placement, type: .placement, .set(fields))
        let children = try db.baseChildren(of: row.id, root: row.root)
        try writer.write(
            row.id, type: .folder, .moved(to: zone.id), context: try db.state(of: row.id)?.vector ?? row.vector)
        try db.removeBase(row.id)
        var shown = row
        shown.id = mount
        shown.vector = [:]
        try db.setBase(shown)
        try moveChildren(
            children, of: row.id.zone, to: mount, leaving: gone, placements: placements, writer: &writer)
    }

    /// Moves one file or folder into a zone's root while it stays where it is in the library.
    private func shareItem(
        _ row: BaseRow, in zone: ZoneInfo, leaving gone: Set<RecordID>, placements: Placements,
        writer: inout HistoryWriter
    ) throws {
        let root = RecordID(zone: zone.id, name: .zoneRoot)
        let gone = LeftBehind(ids: gone, place: row.parent)
        let id = try moveTree(
            row, to: root, name: nil, staysAt: row.parent, leaving: gone, placements: placements, writer: &writer)
        try writePlacement(
            zone: zone.id, record: id.name, parent: row.parent, name: row.name, placements: placements, writer: &writer)
    }

    /// The folder `Shared` of the library, in which contributions to selections land; shown only while it has something.
    private func contributionsFolder(title: String, writer: inout HistoryWriter) throws -> RecordID {
        let db = writer.db
        guard let privateZone else { throw offlineError }
        let name = FileName(safe: "Shared")
        if let row = try db.folders(in: privateZone).filter({ $0.name == name && $0.parent == nil })
            .min(by: { ($0.isLive ? 0 : 1, $0.id) < ($1.isLive ? 0 : 1, $1.id) })
        {
            return row.id
        }
        let id = RecordID(zone: privateZone, name: RecordName(bytes: world.randomBytes(16)) ?? RecordName(5))
        let change = try writer.write(id, type: .folder, .set([.name: .name(name), .parent: .null]))
        // Not live, so that it shows only while something in it does.
        try writer.write(id, type: .folder, .delete, context: VersionVector([change.dot]))
        return id
    }

    /// Moves more of the library into a share.
    func addToShare(_ zone: ZoneInfo, _ paths: [PathReference]) throws -> Reply {
        guard let privateZone else { throw offlineError }
        guard zone.row.state == .active else { throw endedError(zone) }
        try refuseIfShownElsewhere(zone)
        for path in paths { _ = try record(at: path) }
        let coming = try takeAsItIs(paths)
        let gone = try gone(from: store.read { db in try paths.map { try shownRow($0, db) } })
        var already: [String] = []
        try store.write { db in
            var writer = try HistoryWriter(db, engine: self, author: "cli")
            for path in paths {
                let row = try shownRow(path, db)
                guard row.id.zone != zone.id else {
                    already.append(row.name.description)
                    continue
                }
                guard row.id.zone == privateZone else {
                    throw RequestError(
                        ExitCode.failed, "'\(row.name)' is in another share already; a photo is in one share at most.",
                        "Take it out there first with 'shoebox share remove'.")
                }
                try shareItem(row, in: zone, leaving: gone, placements: try placements(db), writer: &writer)
            }
            try writer.finish()
        }
        pushSoon()
        return Reply(
            lines: already.map { "'\($0)' was in '\(zone.control.title)' already" }
                + ["\(paths.count - already.count) added to '\(zone.control.title)'\(comingText(coming))"])
    }

    /// Moves things of a share back to where the owner's library has them.
    func removeFromShare(_ zone: ZoneInfo, _ paths: [PathReference]) throws -> Reply {
        guard let privateZone else { throw offlineError }
        try refuseIfShownElsewhere(zone)
        for path in paths { _ = try record(at: path) }
        var folders: Set<RecordID> = []
        try store.write { db in
            var writer = try HistoryWriter(db, engine: self, author: "cli")
            let placements = try placements(db)
            for path in paths {
                let row = try shownRow(path, db)
                guard row.id.zone == zone.id, !row.id.isZoneRoot else {
                    throw RequestError(
                        ExitCode.notFound, "'\(row.name)' is not in the share '\(zone.control.title)'.",
                        "'shoebox share show' lists what is.")
                }
                let placement = placements.records[row.id] ?? placements.zones[zone.id]
                let parent =
                    row.parent.zone == privateZone
                    ? row.parent : RecordID(zone: privateZone, name: placement?.parent ?? .zoneRoot)
                if parent != row.parent { folders.insert(parent) }
                // The base goes on saying where the file lies, which may be in the share's folder: applying moves it out.
                try moveTree(
                    row, to: parent, name: row.name, staysAt: row.parent, placements: placements, writer: &writer)
            }
            try writer.finish()
        }
        pushSoon()
        let places = try store.read { db in
            try folders.sorted().compactMap { try db.basePath(of: $0, top: [top(.library)]) }
        }
        let whither = places.map { "'\(display($0, .library))'" }.joined(separator: " and ")
        return Reply(lines: [
            "\(paths.count) taken out of '\(zone.control.title)'; "
                + (places.isEmpty
                    ? "your files stay."
                    : "what lay in the share's folder goes to \(whither), and nothing of yours is deleted.")
        ])
    }

    /// Brings everything of a zone back into the private zone, ids, values and history kept.
    func bringHome(_ zone: ZoneInfo) throws {
        guard let privateZone else { throw offlineError }
        try store.write { db in
            var writer = try HistoryWriter(db, engine: self, author: "cli")
            let placements = try placements(db)
            // Another device may have brought it home already, and said so before this one heard that it was stopped.
            let mountPlacement = placements.zones[zone.id]
            let homeFolder = try homeFolder(
                of: zone, placement(of: zone.id, placements, db), writer: &writer)
            for row in try shownRows(of: zone, db) {
                let placement = placements.records[row.id]
                let isHome = try hasPlaceAtHome(row.id, privateZone, db)
                let parent: RecordID? =
                    if isHome { nil } else if let placement {
                        RecordID(zone: privateZone, name: placement.parent ?? .zoneRoot)
                    } else if let own =
                        row.parent
                    { RecordID(zone: privateZone, name: own) } else { homeFolder }
                let shown = try db.state(of: row.id)?.vector ?? [:]
                try moveRecord(
                    row.id, to: privateZone, parent: parent, name: isHome ? nil : placement?.name, shown: shown,
                    writer: &writer)
                try removePlacement(placement, writer: &writer)
            }
            try rekeyBase(of: zone.id, to: homeFolder, db)
            try removePlacement(mountPlacement, writer: &writer)
            try writer.finish()
        }
    }

    /// Whether another device has brought a record home already, and nothing newer is known here of where it lies.
    private func hasPlaceAtHome(_ id: RecordID, _ privateZone: ZoneID, _ db: Database) throws -> Bool {
        let there = try db.changes(of: id.name, in: privateZone)
        guard let home = RecordState(there), home.isLive,
            let both = RecordState(there + (try db.changes(of: id.name, in: id.zone)))
        else { return false }
        return both.fields[.parent]?.winner?.dot == home.fields[.parent]?.winner?.dot
    }

    /// Says in the base tree that what the folder shows of a zone is what came home of it.
    private func rekeyBase(of zone: ZoneID, to homeFolder: RecordID, _ db: Database) throws {
        guard let privateZone else { return }
        let rows = try db.base(in: zone)
        var homes: [RecordID: RecordID] = [:]
        for row in rows {
            guard !row.id.isZoneRoot else {
                homes[row.id] = homeFolder
                continue
            }
            // Values travel with their dots, so what was shown of the record there is what is shown here. What was
            // deleted there goes from the folder as the record that it was.
            let isGone = try db.record(row.id).map { $0.type.hasContent && !$0.isLive } ?? false
            let home = RecordID(
                zone: try db.state(of: row.id)?.movedTo ?? (isGone ? zone : privateZone), name: row.id.name)
            guard try home.zone != zone && db.base(home) != nil else {
                homes[row.id] = home
                continue
            }
            // It went home before, and shows there. Where its folder still stood for what others put into it, that stays
            // the folder that it was, until all in it has followed.
            if row.kind == .folder { homes[row.id] = row.id }
        }
        for row in rows {
            let guests = try db.baseChildren(of: row.id, root: .library).filter { $0.id.zone != zone }
            try db.removeBase(row.id)
            guard let home = homes[row.id] else { continue }
            var base = row
            base.id = home
            // Another device may have brought it home; what lies beside it here is its sidecar all the same.
            if home.zone != zone { try db.moveSidecar(from: row.id, to: home) }
            if row.id.isZoneRoot {
                try noteStrayTagFiles(of: zone, in: homeFolder, db)
                base.vector = try db.state(of: homeFolder)?.vector ?? [:]
            }
            if base.parent.zone == zone {
                let folder = try db.state(of: base.parent)?.movedTo ?? privateZone
                base.parent =
                    homes[base.parent]
                    ?? (base.parent.isZoneRoot ? homeFolder : RecordID(zone: folder, name: base.parent.name))
            }
            base.renameTwins { [zone = base.id.zone] in RecordID(zone: zone, name: $0.name) }
            try db.setBase(base)
            for guest in guests { try keep(guest, in: base.id, db) }
        }
    }

    /// The live folders and files of a zone, and the folders that show because something in them does.
    private func shownRows(of zone: ZoneInfo, _ db: Database) throws -> [RecordRow] {
        let folders = try db.folders(in: zone.id)
        let live = try folders.filter(\.isLive) + db.files(in: zone.id)
        var dormant: [RecordName: RecordRow] = [:]
        for row in folders where !row.isLive && row.id.name != zone.row.rootRecord {
            if try db.state(of: row.id)?.movedTo == nil { dormant[row.id.name] = row }
        }
        var result = live
        for row in live {
            var parent = row.parent
            while let name = parent, let folder = dormant.removeValue(forKey: name) {
                result.append(folder)
                parent = folder.parent
            }
        }
        return result
    }

    /// The private folder that takes a zone's place in the library: the one that was shared, or a new one.
    private func homeFolder(
        of zone: ZoneInfo, _ placement: RecordRow?, writer: inout HistoryWriter
    ) throws -> RecordID {
        let db = writer.db
        guard let privateZone else { throw offlineError }
        // Named by the zone, so that two devices of the owner that both bring it home make one folder.
        let fresh = RecordName(zone.id.digest.high)
        let state = try placement.flatMap { try db.state(of: $0.id) }
        let shared = state?[.photo]?.reference
        let isUnited = try unitedWith(zone.id, db) != nil
        let isFolderShare = state?[.root]?.boolean == true && !isUnited
        let id = RecordID(zone: privateZone, name: isFolderShare ? shared ?? fresh : fresh)
        // Who took the placement away wrote the folder, and it may have been renamed since.
        if placement?.isLive == false, try db.state(of: id) != nil { return id }
        let name = placement?.name ?? FileName(safe: zone.control.title)
        let parent: Value = placement?.parent.map { .reference($0) } ?? .null
        let existing = try db.state(of: id)?.vector ?? [:]
        let change = try writer.write(
            id, type: .folder, .set([.name: .name(name), .parent: parent]), context: existing)
        if !isFolderShare {
            // Only contributions would be in it: it shows while there are any.
            try writer.write(id, type: .folder, .delete, context: VersionVector([change.dot]))
        }
        return id
    }

    /// Refuses to move photos between the library and a share that was handed over to this account: it lies in the shared
    /// folder, where files are moved by hand.
    private func refuseIfShownElsewhere(_ zone: ZoneInfo) throws {
        guard zone.row.root == .shared else { return }
        throw RequestError(
            ExitCode.failed,
            "'\(zone.control.title)' was handed over to you and lies in the shared folder, not in your library.",
            "Move the files into its folder there, or out of it: that adds them, or takes them out.")
    }

    /// The error for what needs the container.
    var offlineError: RequestError {
        RequestError(
            ExitCode.offline, "The container is not there.",
            "Check that the cloud folder is mounted, then try again; nothing was changed.")
    }

    /// The error for a share that is over.
    func endedError(_ zone: ZoneInfo) -> RequestError {
        RequestError(
            ExitCode.notFound, "The share '\(zone.control.title)' was stopped or left.",
            "Make a new one with 'shoebox share create'.")
    }
}
