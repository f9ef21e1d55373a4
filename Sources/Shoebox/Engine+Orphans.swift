import Foundation
import ShoeboxLibrary
import ShoeboxModel
import ShoeboxPlanning
import ShoeboxStore
import ShoeboxWorld

import class GRDB.Database

// The sidecar that a photo left behind goes to the trash, so that no later photo of that name takes it for its own. That it
// is to go is stored in the transaction that notes that the photo is gone, so that neither a crash nor a full disk comes
// between.

private let orphanPrefix = "orphan."

/// A sidecar beside which no photo is to be any more.
private struct Orphan: Codable {
    var root: Int64
    /// The directory, as it is known: it may have moved on.
    var parentZone: String
    var parent: String
    /// Where the directory was then, names as bytes in hexadecimal.
    var path: [String]?
    /// The sidecar's name, as bytes in hexadecimal.
    var name: String
    /// What it was when it was last read.
    var size: UInt64
    var modified: Int64
    var inode: UInt64
    var birth: Int64
    var mode: UInt16

    var directory: RelativePath? {
        path.map { names in RelativePath(names.compactMap { decodeHex($0).flatMap { FileName(bytes: $0) } }) }
    }

    var stamp: FileStamp {
        FileStamp(
            size: size, modifiedNanoseconds: modified, inode: inode, birthNanoseconds: birth, mode: mode)
    }
}

extension FileError {
    /// Whether the same call may do another time.
    var mayPass: Bool { [.inputOutput, .timedOut, .offline].contains(code) }
}

extension Engine {
    /// Notes that what lies beside a photo as its sidecar has to go, in the transaction in which the photo goes from where
    /// the base says that it is.
    func oweRemoval(ofSidecarOf id: RecordID, _ db: Database) throws {
        if let row = try db.base(id) { try oweRemoval(ofSidecarBeside: row, db) }
    }

    /// The same for a photo that was where this says.
    func oweRemoval(ofSidecarBeside row: BaseRow, _ db: Database) throws {
        guard row.kind == .file, let sidecar = try db.sidecar(row.id) else { return }
        try oweRemoval(of: sidecar.name, sidecar.stamp, of: row.id, in: row.parent, row.root, db)
    }

    /// The same for a sidecar that lies in a folder.
    func oweRemoval(
        of name: FileName, _ stamp: FileStamp, of id: RecordID, in folder: RecordID, _ root: RootKind, _ db: Database
    ) throws {
        let orphan = Orphan(
            root: root.rawValue, parentZone: "\(folder.zone)", parent: "\(folder.name)",
            path: try db.basePath(of: folder, top: [top(root)])?.names.map { encodeHex($0.bytes) },
            name: encodeHex(name.bytes),
            size: stamp.size, modified: stamp.modifiedNanoseconds, inode: stamp.inode, birth: stamp.birthNanoseconds,
            mode: stamp.mode)
        // Each place by itself: a photo may go on from where it was said to be before anybody has looked.
        try db.setMetaText(
            "\(orphanPrefix)\(id.zone).\(id.name).\(orphan.inode).\(folder.name)",
            String(decoding: JSONEncoder().encode(orphan), as: UTF8.self))
    }

    /// Whether a sidecar that stands beside a photo is another one's, and waits to be removed.
    func isOrphan(_ entry: DirectoryEntry, beside id: RecordID, _ db: Database) throws -> Bool {
        try db.metaTexts(prefix: orphanPrefix).contains { key, text in
            guard Self.record(ofOrphan: key)?.name != id.name,
                let orphan = try? JSONDecoder().decode(Orphan.self, from: Data(text.utf8))
            else { return false }
            return orphan.name == encodeHex(entry.name.bytes) && entry.stamp.isUnchanged(from: orphan.stamp)
        }
    }

    private static func record(ofOrphan key: String) -> RecordID? {
        let parts = key.split(separator: ".")
        guard parts.count > 2, let zone = ZoneID(hex: String(parts[1])), let name = RecordName(text: parts[2]) else {
            return nil
        }
        return RecordID(zone: zone, name: name)
    }

    /// Moves the sidecars that are waiting for it to the trash. One that was edited since it was last read, and can be
    /// read, stays, and so does one beside which its photo is again. Beside another photo, such as one that swapped names
    /// with it, it must go: what it says would be taken for that one's.
    func removeOrphans() throws {
        var over: [String] = []
        // Photos that stand where the removed ones were: now there is room for sidecars of their own.
        var besides: Set<RecordID> = []
        var removed: Set<RootKind> = []
        for (key, text) in try store.read({ db in try db.metaTexts(prefix: orphanPrefix) }) {
            if let orphan = try? JSONDecoder().decode(Orphan.self, from: Data(text.utf8)),
                let root = RootKind(rawValue: orphan.root)
            {
                do {
                    guard try remove(orphan, of: Self.record(ofOrphan: key), root, &besides) else { continue }
                } catch let error as FileError {
                    log("the sidecar of a photo that is gone stays for now: \(error)")
                    continue
                }
                removed.insert(root)
            }
            over.append(key)
        }
        guard !over.isEmpty else { return }
        // A power cut must not bring back what nobody would know again.
        for root in removed {
            do { try files(root).synchronize() } catch {
                log("cannot make the \(root) folder durable: \(error)")
                return
            }
        }
        try store.write { db in
            for key in over { try db.setMetaText(key, nil) }
            for id in besides.sorted() { try db.markDirty(id) }
        }
    }

    /// The folder that an orphan lies in: the one that is where it lay, if it lies there still, else the one that it lay in,
    /// wherever that is by now.
    private func folder(
        of orphan: Orphan, named name: FileName, _ known: RecordID, _ root: RootKind, _ db: Database
    ) throws -> RecordID {
        // Another record may stand for the same directory since.
        if let directory = orphan.directory, let entry = try present(directory.appending(name), root),
            entry.stamp.isUnchanged(from: orphan.stamp),
            let there = try db.base(at: directory, root: root, top: top(root))
        {
            return there
        }
        guard !known.isZoneRoot, try db.base(known) == nil else { return known }
        // It may have gone to another zone.
        return try db.zonesOfMoves(of: known.name).map { RecordID(zone: $0, name: known.name) }.first {
            try db.base($0) != nil
        } ?? known
    }

    /// What is at a path; nil also for what can't be looked at for good.
    /// - Throws: an error that may pass.
    func present(_ path: RelativePath, _ root: RootKind) throws(FileError) -> DirectoryEntry? {
        do { return try files(root).entry(at: path) } catch {
            guard !error.mayPass else { throw error }
            return nil
        }
    }

    /// False if it is to be tried again. Adds the photo that stands beside what was removed.
    private func remove(
        _ orphan: Orphan, of record: RecordID?, _ root: RootKind, _ besides: inout Set<RecordID>
    ) throws -> Bool {
        guard let zone = ZoneID(hex: orphan.parentZone), let parent = RecordName(text: orphan.parent),
            let name = decodeHex(orphan.name).flatMap({ FileName(bytes: $0) })
        else { return true }
        guard try checkRoot(root) else { return false }
        var present: BaseRow?
        var isFolderKnown = true
        let path = try store.read { db -> RelativePath? in
            let folder = try folder(of: orphan, named: name, RecordID(zone: zone, name: parent), root, db)
            // By the sidecar's name: the photo that is gone may have lost its own to another one before.
            present = try SidecarName.photos(for: name).lazy.compactMap {
                try db.base(named: $0, in: folder, root: root)
            }.first { $0.kind == .file }
            if let present {
                guard present.id.name != record?.name else { return nil }
                // Or it is known as that one's by now.
                if let own = try db.sidecar(present.id), own.name == name, own.stamp.isUnchanged(from: orphan.stamp) {
                    return nil
                }
            }
            if let folder = try db.basePath(of: folder, top: [top(root)]) { return folder.appending(name) }
            // The folder was forgotten with what had been put away of it.
            guard let place = orphan.directory?.appending(name),
                try self.present(place, root)?.stamp.isUnchanged(from: orphan.stamp) == true
            else { return nil }
            isFolderKnown = false
            return place
        }
        guard let path else { return true }
        if let record { try removeOtherSidecars(of: record, than: path, root: root) }
        switch trashSidecar(path, expecting: orphan.stamp, record: record, root: root) {
        case .failed(let error):
            log("the sidecar '\(name)' of a photo that is gone stays for now: \(error)")
            return false
        case .stale(let reason) where files(root).hasWriter(path):
            // What is written into it is read, or it goes, once it is closed.
            log("the sidecar '\(name)' of a photo that is gone stays for now: \(reason)")
            return false
        case .stale:
            // Edited meanwhile: it is read for the photo that it is beside.
            later[.init(root: root, path: path.parent)] = world.uptimeMilliseconds()
        case .done:
            if !isFolderKnown { try removeForgotten(path.parent, root) }
        }
        if let present { besides.insert(present.id) }
        return true
    }

    /// Removes a directory, and those above it, in which nothing is left and that no folder of the base is.
    private func removeForgotten(_ directory: RelativePath, _ root: RootKind) throws {
        var directory = directory
        while !directory.isRoot, try store.read({ db in try db.base(at: directory, root: root, top: top(root)) }) == nil
        {
            do { try files(root).removeDirectory(directory) } catch { return }
            directory = directory.parent
        }
    }
}
