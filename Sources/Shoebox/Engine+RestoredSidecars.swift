import ShoeboxLibrary
import ShoeboxModel
import ShoeboxPlanning
import ShoeboxStore
import ShoeboxWorld

import class GRDB.Database

// Sidecars that were written by a state that knew more than this one, which was put back to a backup or made anew; see
// Documentation/Design/Sidecars.md.

extension Engine {
    /// Whether what a sidecar says can be told from what it was written from: not if it is the photo's own, of a state that
    /// is not known here, and the container was not read yet. Most of what it says is there, and perhaps the deletion of
    /// the photo.
    func isUnderstood(_ document: SidecarDocument, of id: RecordID) throws -> Bool {
        guard containerReadMilliseconds == 0, document.record == id.name, let rev = document.rev else { return true }
        return try store.read { db in try db.sidecarState(rev: rev, of: id) } != nil
    }

    /// Reads sidecars that had to wait for the container, before any of their photos goes.
    func readAwaitedSidecars(_ outcome: inout RoundOutcome) throws {
        guard containerReadMilliseconds > 0, !awaitedSidecars.isEmpty else { return }
        let awaited = awaitedSidecars
        awaitedSidecars = []
        for root in RootKind.allCases {
            let directories = Set(awaited.filter { $0.root == root }.map(\.path))
            guard !directories.isEmpty else { continue }
            let result = try scan(root, directories: directories, author: "scan")
            outcome.taken += result.changes
            if let again = result.lookAgain { outcome.lookAgain = min(outcome.lookAgain ?? .max, again) }
        }
    }

    /// Whether something was said of a photo before, as far as that is still known: in a sidecar of an unknown state it is
    /// what that was written from, and nobody's edit.
    func wasSaid(_ edit: SidecarEdit, of id: RecordID, _ db: Database) throws -> Bool {
        switch edit {
        case .setCaption(let text):
            try namesInZones(of: id, db).contains { try wasSet(.caption, to: .text(text), of: $0, db) }
        case .setCustom(let key, let json):
            try namesInZones(of: id, db).contains { try wasSet(.custom(key), to: .text(json), of: $0, db) }
        case .setRating(let value):
            try namesInZones(of: id, db).contains { photo in
                let rating = RecordID(zone: photo.zone, name: Derivation.rating(photo: id.name, account: account))
                return try wasSet(.value, to: .integer(Int64(value)), of: rating, db)
            }
        case .addTag(let title):
            try namesInZones(of: id, db).contains { photo in
                try db.formerTags(of: photo).contains { tag in
                    let titles = try db.changes(of: tag, in: photo.zone).compactMap {
                        Self.fields(of: $0)[.title]?.text
                    }
                    return titles.contains { normalizedTagName($0) == normalizedTagName(title) }
                }
            }
        case .clearCaption, .clearRating, .clearCustom, .removeTag: false
        }
    }

    private func wasSet(_ key: FieldKey, to value: Value, of id: RecordID, _ db: Database) throws -> Bool {
        try db.changes(of: id.name, in: id.zone).contains { Self.fields(of: $0)[key] == value }
    }

    private static func fields(of change: Change) -> [FieldKey: Value] {
        guard case .set(let fields) = change.action else { return [:] }
        return fields
    }
}
