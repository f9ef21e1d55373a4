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
    /// The sidecar's name, as bytes in hexadecimal.
    var name: String
    /// What it was when it was last read.
    var size: UInt64
    var modified: Int64
    var inode: UInt64
    var birth: Int64
    var mode: UInt16
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
        let id = row.id
        guard row.kind == .file, let sidecar = try db.sidecar(id) else { return }
        let orphan = Orphan(
            root: row.root.rawValue, parentZone: "\(row.parent.zone)", parent: "\(row.parent.name)",
            name: encodeHex(sidecar.name.bytes), size: sidecar.stamp.size,
            modified: sidecar.stamp.modifiedNanoseconds, inode: sidecar.stamp.inode,
            birth: sidecar.stamp.birthNanoseconds, mode: sidecar.stamp.mode)
        try db.setMetaText(
            "\(orphanPrefix)\(id.zone).\(id.name)", String(decoding: JSONEncoder().encode(orphan), as: UTF8.self))
    }

    /// Moves the sidecars that are waiting for it to the trash. One that was edited since it was last read, and can be
    /// read, stays, and so does one beside which its photo is again. Beside another photo, such as one that swapped names
    /// with it, it must go: what it says would be taken for that one's.
    func removeOrphans() throws {
        var over: [String] = []
        // Photos that stand where the removed ones were: now there is room for sidecars of their own.
        var besides: Set<RecordID> = []
        for (key, text) in try store.read({ db in try db.metaTexts(prefix: orphanPrefix) }) {
            if let orphan = try? JSONDecoder().decode(Orphan.self, from: Data(text.utf8)),
                let root = RootKind(rawValue: orphan.root),
                try !remove(
                    orphan, of: key.split(separator: ".").last.flatMap { RecordName(text: $0) }, root, &besides)
            {
                continue
            }
            over.append(key)
        }
        guard !over.isEmpty else { return }
        try store.write { db in
            for key in over { try db.setMetaText(key, nil) }
            for id in besides.sorted() { try db.markDirty(id) }
        }
    }

    /// False if it is to be tried again. Adds the photo that stands beside what was removed.
    private func remove(
        _ orphan: Orphan, of record: RecordName?, _ root: RootKind, _ besides: inout Set<RecordID>
    ) throws -> Bool {
        guard let zone = ZoneID(hex: orphan.parentZone), let parent = RecordName(text: orphan.parent),
            let name = decodeHex(orphan.name).flatMap({ FileName(bytes: $0) })
        else { return true }
        guard try checkRoot(root) else { return false }
        let folder = RecordID(zone: zone, name: parent)
        let stamp = FileStamp(
            size: orphan.size, modifiedNanoseconds: orphan.modified, inode: orphan.inode,
            birthNanoseconds: orphan.birth, mode: orphan.mode)
        var present: BaseRow?
        let path = try store.read { db -> RelativePath? in
            // By the sidecar's name: the photo that is gone may have lost its own to another one before.
            present = try SidecarName.photos(for: name).lazy.compactMap {
                try db.base(named: $0, in: folder, root: root)
            }.first { $0.kind == .file }
            if let present {
                guard present.id.name != record else { return nil }
                // Or it is known as that one's by now.
                if let own = try db.sidecar(present.id), own.name == name, own.stamp.isUnchanged(from: stamp) {
                    return nil
                }
            }
            return try db.basePath(of: folder, top: [top(root)])?.appending(name)
        }
        guard let path else { return true }
        guard case .failed(let error) = trashSidecar(path, expecting: stamp, root: root) else {
            if let present { besides.insert(present.id) }
            return true
        }
        log("the sidecar '\(name)' of a photo that is gone stays for now: \(error)")
        return false
    }
}
