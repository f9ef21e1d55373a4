import ShoeboxLibrary
import ShoeboxModel
import ShoeboxPlanning
import ShoeboxStore
import ShoeboxWorld

import class GRDB.Database

extension Engine {
    /// The folder in which a zone's tags are stored as files: `.tags` at the top of what shows the zone; nil while
    /// nothing does.
    private func tagFolder(of zone: ZoneInfo) throws -> RelativePath? {
        guard zone.row.kind != .privateZone else { return OwnPaths.tags }
        let mount = RecordID(zone: zone.id, name: .zoneRoot)
        let path = try store.read { db in try db.basePath(of: mount, top: [top(zone.row.root)]) }
        return path.map { RelativePath($0.names + OwnPaths.tags.names) }
    }

    private func tagPrefix(_ zone: ZoneID) -> String { "tagFile:\(zone)/" }

    private func tagKey(_ zone: ZoneID, _ tag: RecordName) -> String { "\(tagPrefix(zone))\(tag)" }

    /// Writes one file for each tag of the zones whose tags have changed, under its present title; returns the tags for
    /// which that failed, to be tried again.
    func writeTagFiles(
        for rows: [RecordRow], root: RootKind, unplaced: Set<RecordID>, outcome: inout ApplyOutcomes
    ) throws -> Set<RecordID> {
        var failed: Set<RecordID> = []
        let changed = Set(rows.filter { $0.type == .tag }.map(\.id.zone))
        for zone in zonesShown(root) where changed.contains(zone.id) {
            guard let folder = try tagFolder(of: zone) else {
                // They come when the share's folder does.
                if unplaced.contains(where: { $0.zone == .none || ($0.isZoneRoot && $0.zone == zone.id) }) {
                    failed.formUnion(rows.filter { $0.type == .tag && $0.id.zone == zone.id }.map(\.id))
                }
                continue
            }
            let (titles, all) = try store.read { db in
                (try tagTitles(in: zone.id, db), try db.allTags(in: zone.id))
            }
            let winners = resolveTags(titles: titles.map { ($0.key, $0.value) })
            let before = failed.count
            for tag in all {
                let title = (winners[tag] ?? tag) == tag ? titles[tag] : nil
                switch try tryTagFile(tag, title: title, zone: zone, folder: folder) {
                case true?: outcome.operations += 1
                case false?: continue
                case nil: failed.insert(RecordID(zone: zone.id, name: tag))
                }
            }
            if failed.count > before { try reportTagFiles(in: folder, root) }
        }
        return failed
    }

    /// Says that the files of tags can't be written, and why, as far as their folder shows.
    private func reportTagFiles(in folder: RelativePath, _ root: RootKind) throws {
        let shown = display(folder, root)
        let kind: FileKind?
        do { kind = try files(root).entry(at: folder)?.kind } catch { kind = nil }
        unsettledPaths.insert(shown)
        let isInTheWay = kind != nil && kind != .directory
        try report(
            "sidecarNotWritten", path: shown,
            isInTheWay
                ? "The files of tags cannot be written: '\(shown)' is no folder."
                : "The files of tags in '\(shown)' cannot be written.",
            isInTheWay
                ? "Rename what is there, or move it away; it is tried again with the next change."
                : "Make the folder writable, or free some space; it is tried again with the next change.")
    }

    private func tryTagFile(
        _ tag: RecordName, title: String?, zone: ZoneInfo, folder: RelativePath, isForgotten: Bool = true
    ) throws -> Bool? {
        do {
            return try writeTagFile(tag, title: title, zone: zone, folder: folder, isForgotten: isForgotten)
        } catch {
            guard let error = error as? FileError else { throw error }
            log("a tag's file is not as it should be: \(error)")
            return nil
        }
    }

    /// Brings one tag's file up to date; nil as title for a tag that is deleted or shown as another one. False if there
    /// was no need, nil if it failed.
    private func writeTagFile(
        _ tag: RecordName, title: String?, zone: ZoneInfo, folder: RelativePath, isForgotten: Bool
    ) throws -> Bool? {
        let root = zone.row.root
        let key = tagKey(zone.id, tag)
        let written = try store.read { db in try db.metaText(key) }
        func path(_ title: String) -> RelativePath {
            RelativePath(folder.names + TagFile.path(forTag: title).names.suffix(1))
        }
        let applier = makeApplier(root)
        if let written, written != title, let entry = try files(root).entry(at: path(written)),
            let former = try readTagFile(path(written), root), former.record == tag,
            former.name == written || former.name == title
        {
            let removed = applier.trash(
                path(written), expecting: entry.stamp, record: RecordID(zone: zone.id, name: tag))
            // Not forgotten: else the file would be taken for a tag that somebody made.
            switch removed {
            case .failed(let error):
                log("a tag's file stays: \(error)")
                return nil
            case .stale(let reason) where files(root).hasWriter(path(written)):
                log("a tag's file stays: \(reason)")
                return nil
            case .done, .stale: break
            }
        }
        guard let title else {
            if written != nil, isForgotten { try store.write { db in try db.setMetaText(key, nil) } }
            return false
        }
        let target = path(title)
        let file = TagFile(record: tag, name: title).encoded()
        if written == title, let entry = try files(root).entry(at: target) {
            guard try isCutOff(target, of: file, root) else {
                let isWritable = entry.stamp.mode & 0o200 != 0
                if !zone.row.isMine, isWritable != zone.mayWrite(account) {
                    let mode = isWritable ? entry.stamp.mode & ~0o222 : entry.stamp.mode | 0o200
                    try files(root).setMode(target, mode)
                }
                return false
            }
            if case .failed = applier.trash(
                target, expecting: entry.stamp, record: RecordID(zone: zone.id, name: tag))
            {
                return nil
            }
        }
        if try files(root).entry(at: folder) == nil { try files(root).makeDirectory(folder) }
        let mode: UInt16 = zone.mayWrite(account) ? 0o644 : 0o444
        switch applier.put(file, at: target, replacing: nil, mode: mode) {
        case .done: break
        // Somebody's own file of that name.
        case .stale: return try isTagFile(target, of: tag, title, root) ? try noteTagFile(key, title) : false
        case .failed(let error):
            log("a tag's file is not written: \(error)")
            return nil
        }
        return try noteTagFile(key, title)
    }

    private func noteTagFile(_ key: String, _ title: String) throws -> Bool {
        try store.write { db in try db.setMetaText(key, title) }
        return true
    }

    /// What a file says of a tag; nil if it is none.
    ///
    /// - Throws: when that can't be read now: an own file that is taken for somebody else's stays, and its old title would
    ///   be taken for one that its user chose.
    private func readTagFile(_ path: RelativePath, _ root: RootKind) throws -> TagFile? {
        do { return TagFile(try files(root).readAll(path, maxBytes: TagFile.bytesMax)) } catch {
            guard error.mayPass else { return nil }
            throw error
        }
    }

    /// Whether a file is the start of what was written, which is what a power cut leaves.
    private func isCutOff(_ path: RelativePath, of file: [UInt8], _ root: RootKind) throws -> Bool {
        do {
            let bytes = try files(root).readAll(path, maxBytes: TagFile.bytesMax)
            return bytes.count < file.count && file.starts(with: bytes)
        } catch {
            guard error.mayPass else { return false }
            throw error
        }
    }

    /// Whether a file is what would be written for a tag: such as by a process that died before it noted that.
    private func isTagFile(
        _ path: RelativePath, of tag: RecordName, _ title: String, _ root: RootKind
    ) throws -> Bool {
        guard let file = try readTagFile(path, root) else { return false }
        return file.record == tag && file.name == title
    }

    /// Puts away the tag files of a zone that is shown no more, and their folder, if nothing else is in it. False if one
    /// of them could not be.
    func removeTagFiles(of zone: ZoneInfo) throws -> Bool {
        guard zone.row.kind != .privateZone, let folder = try tagFolder(of: zone) else { return true }
        return try removeTagFiles(of: zone, in: folder)
    }

    private func removeTagFiles(of zone: ZoneInfo, in folder: RelativePath) throws -> Bool {
        let prefix = tagPrefix(zone.id)
        var gone: [String] = []
        for (key, _) in try store.read({ db in try db.metaTexts(prefix: prefix) }) {
            guard let tag = RecordName(text: key.dropFirst(prefix.count)) else { continue }
            if try tryTagFile(tag, title: nil, zone: zone, folder: folder, isForgotten: false) != nil {
                gone.append(key)
            }
        }
        if !gone.isEmpty {
            // A power cut must not bring back what nobody would know again.
            try files(zone.row.root).synchronize()
            try store.write { db in for key in gone { try db.setMetaText(key, nil) } }
        }
        guard try files(zone.row.root).entry(at: folder)?.kind == .directory else { return true }
        let removed = makeApplier(zone.row.root).apply(
            .removeDirectory(RecordID(zone: zone.id, name: .zoneRoot), at: folder))
        if case .failed = removed { return false }
        return try store.read { db in try db.metaTexts(prefix: prefix) }.isEmpty
    }

    private static let strayPrefix = "strayTags:"

    /// Notes that the tag files of a share lie in a folder of the private zone from now on: its tags are in the files of the
    /// library, and nobody would know again what these were.
    func noteStrayTagFiles(of zone: ZoneID, in folder: RecordID, _ db: Database) throws {
        guard try !db.metaTexts(prefix: tagPrefix(zone)).isEmpty else { return }
        try db.setMetaText("\(Self.strayPrefix)\(zone)", "\(folder.name)")
    }

    /// Puts away the tag files of shares that were stopped; tried again until they are gone.
    func removeStrayTagFiles() throws {
        guard let privateZone else { return }
        for (key, name) in try store.read({ db in try db.metaTexts(prefix: Self.strayPrefix) }) {
            guard try checkRoot(.library) else { return }
            let folder = try store.read { db in
                try RecordName(text: name).flatMap {
                    try db.basePath(of: RecordID(zone: privateZone, name: $0), top: [top(.library)])
                }
            }
            do {
                if let folder, let zone = zones.values.first(where: { "\(Self.strayPrefix)\($0.id)" == key }),
                    try !removeTagFiles(of: zone, in: RelativePath(folder.names + OwnPaths.tags.names))
                {
                    continue
                }
                try store.write { db in try db.setMetaText(key, nil) }
            } catch let error as FileError {
                log("a tag's file of a share that was stopped stays for now: \(error)")
            }
        }
    }

    /// Whether a folder of the name of one for tag files, where no zone has one, holds nothing but tag files: it was copied,
    /// or stayed behind.
    /// - Throws: when that can't be told now: it would be published as an album.
    func holdsTagFilesOnly(_ folder: RelativePath, _ root: RootKind) throws(FileError) -> Bool {
        do {
            for entry in try files(root).list(folder) {
                guard entry.kind == .file,
                    TagFile(try files(root).readAll(folder.appending(entry.name), maxBytes: TagFile.bytesMax)) != nil
                else { return false }
            }
            return true
        } catch {
            guard !error.mayPass else { throw error }
            return false
        }
    }

    /// Takes what people changed in tag files into the history: a new title, or a new tag. A missing file is absence,
    /// not deletion: it is written again.
    func readTagFiles(in folder: RelativePath, zone id: ZoneID, root: RootKind, author: String) throws -> Int {
        guard let zone = zones[id], zone.mayWrite(account) else { return 0 }
        var seen: Set<RecordName> = []
        var count = 0
        let entries = try files(root).list(folder)
        let names = Set(entries.map(\.name))
        for entry in entries where entry.kind == .file {
            guard let bytes = try? files(root).readAll(folder.appending(entry.name), maxBytes: TagFile.bytesMax),
                let file = TagFile(bytes)
            else { continue }
            try store.write { db in
                var writer = try HistoryWriter(db, engine: self, author: author)
                if let tag = file.record, let written = try db.metaText(tagKey(id, tag)) {
                    seen.insert(tag)
                    let record = RecordID(zone: id, name: tag)
                    // The file stood for all that show as this tag.
                    if file.name != written, isTagFile(entry.name, named: file.name, of: written, among: names),
                        file.name.utf8.count <= 200, !normalizedTagName(file.name).isEmpty,
                        let group = try tagGroups(in: record.zone, db).first(where: { $0.members.contains(tag) })
                    {
                        try rename(group, to: file.name, writer: &writer)
                    }
                } else if let tag = file.record {
                    // Written here and not noted, or noted as removed and brought back by a power cut.
                    let record = RecordID(zone: id, name: tag)
                    if try db.record(record)?.type == .tag {
                        try db.setMetaText(tagKey(id, tag), file.name)
                        try db.markDirty(record)
                        seen.insert(tag)
                    }
                } else if file.name.utf8.count <= 200 {
                    let known = try tagTitles(in: id, db).values.map(normalizedTagName)
                    if !known.contains(normalizedTagName(file.name)) {
                        let tag = RecordID(zone: id, name: RecordName(bytes: world.randomBytes(16)) ?? RecordName(7))
                        try writer.write(tag, type: .tag, .set([.title: .text(file.name)]))
                        // The user's own file stands for it from now on.
                        try db.setMetaText(tagKey(id, tag.name), file.name)
                    }
                }
                try writer.finish()
                count += writer.count
            }
        }
        try renewTagFiles(in: id, at: folder.parent, root, besides: seen)
        return count
    }

    /// Whether a file is the one that a person changed to rename a tag: the tag's own, or it under its new name. A copy, such as an
    /// editor's backup, says nothing of the tag, or it would undo each renaming.
    private func isTagFile(
        _ file: FileName, named title: String, of written: String, among names: Set<FileName>
    ) -> Bool {
        guard let own = TagFile.path(forTag: written).last else { return false }
        return file == own || !names.contains(own) && file == TagFile.path(forTag: title).last
    }

    /// Says that the tags of a zone whose files are missing, or can't be read, get them again: as late as a deletion in somebody
    /// else's share is believed. Somebody may be just removing the whole folder, which a file that is written into it would
    /// keep from going.
    ///
    /// - Parameter directory: the folder that shows the zone.
    func renewTagFiles(
        in zone: ZoneID, at directory: RelativePath, _ root: RootKind, besides seen: Set<RecordName> = []
    ) throws {
        let prefix = tagPrefix(zone)
        let gone = try store.read { db in try db.metaTexts(prefix: prefix) }
            .compactMap { RecordName(text: $0.key.dropFirst(prefix.count)) }.filter { !seen.contains($0) }
        guard !gone.isEmpty else {
            lostTagFiles[zone] = nil
            return
        }
        let now = world.uptimeMilliseconds()
        let wait = settings.foreignDeletionMilliseconds
        let since = lostTagFiles[zone] ?? now
        let due = max(since, missing.filter { $0.key.zone == zone }.values.max() ?? since) + wait
        guard now >= due else {
            lostTagFiles[zone] = since
            let place = WatchedPath(root: root, path: directory)
            later[place] = min(later[place] ?? .max, due)
            return
        }
        lostTagFiles[zone] = nil
        try store.write { db in for tag in gone { try db.markDirty(RecordID(zone: zone, name: tag)) } }
    }

    /// Whether any tag file of a zone was written.
    func hasTagFiles(_ zone: ZoneID) throws -> Bool {
        try store.read { db in try !db.metaTexts(prefix: tagPrefix(zone)).isEmpty }
    }
}
