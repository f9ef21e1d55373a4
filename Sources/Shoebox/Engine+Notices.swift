import ShoeboxModel
import ShoeboxStore

import class GRDB.Database

// What a person wrote about photos, renamed or deleted, and that does not count since what they may do was changed: their
// words stay in the history, and they are told of which photos. That a notice is owed is stored in the transaction that makes
// the changes not count, as with the copies of bytes.

private let owedPrefix = "noticeOwed."

extension Engine {
    /// Notes of which photos something besides the bytes does not count.
    ///
    /// - Parameter changes: own ones, of one zone.
    func oweNotices(of changes: [Change], in zone: ZoneID, _ reason: PrivateCopyReason, _ db: Database) throws {
        for change in changes {
            guard let word = Self.word(for: change), let photo = records(of: change).last else { continue }
            let key = "\(owedPrefix)\(zone).\(photo)"
            let former = try db.metaText(key).map { $0.split(separator: " ").dropFirst().map(String.init) } ?? []
            let words = Set(former + [word]).sorted()
            try db.setMetaText(key, ([reason.rawValue] + words).joined(separator: " "))
        }
    }

    /// What a person did with a photo, in a word; nil for what they did not do themselves, and for its bytes.
    private static func word(for change: Change) -> String? {
        guard !change.isDerived else { return nil }
        switch change.action {
        case .moved: return "place"
        case .delete: return [.photo, .file, .folder].contains(change.type) ? "deletion" : nil
        case .set(let fields):
            guard fields[.content] == nil else { return nil }
            switch change.type {
            case .photoTag: return "tags"
            case .rating: return "rating"
            case .comment: return "comment"
            case .photo, .file, .folder:
                return fields[.caption] != nil
                    ? "caption" : fields[.name] != nil ? "name" : fields[.parent] != nil ? "place" : nil
            default: return nil
            }
        }
    }

    /// Says what was noted.
    func giveOwedNotices() throws {
        let owed = try store.read { db in try db.metaTexts(prefix: owedPrefix) }
        for (key, text) in owed {
            if let id = Self.owedRecord(key.dropFirst(owedPrefix.count)) {
                try giveNotice(of: id, text.split(separator: " ").map(String.init))
            }
            try store.write { db in try db.setMetaText(key, nil) }
        }
    }

    private func giveNotice(of id: RecordID, _ words: [String]) throws {
        guard let zone = zones[id.zone],
            let name = try store.read({ db in try db.record(id)?.name ?? db.base(id)?.name })
        else { return }
        let isPublished = words.first == PrivateCopyReason.refused.rawValue
        try report(
            "undone", path: name.description, zone: id.zone,
            "Your change of '\(name)' in '\(zone.control.title)' (\(words.dropFirst().joined(separator: ", "))) "
                + (isPublished
                    ? "came after your permission was changed, and counts for nobody."
                    : "was not published before your permission was changed.")
                + " It is taken back.",
            "What you wrote stays in 'shoebox history'. Ask the owner for 'readWrite' to change it for everyone.")
    }
}
