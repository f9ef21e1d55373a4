import GRDB
import ShoeboxModel
import ShoeboxStore

extension Engine {
    /// What a record is, as a person knows it: its path where it shows; for what belongs to a photo, the photo's; else the
    /// name that it has or had, or its kind and the beginning of its id.
    func subject(_ id: RecordID, type: RecordType, _ db: Database, depth: Int = 0) throws -> String {
        let unknown = "\(type.rawValue) \(id.name.description.prefix(8))"
        let root = zones[id.zone]?.row.root ?? .library
        if id.isZoneRoot || id.name == zones[id.zone]?.row.rootRecord {
            return zones[id.zone].map { $0.control.title.isEmpty ? display(.root, root) : "'\($0.control.title)'" }
                ?? unknown
        }
        if let path = try db.basePath(of: id, top: [top(root)]) { return display(path, root) }
        guard let state = try db.state(of: id) else { return unknown }
        if type == .tag { return state[.title]?.text.map { "#\($0)" } ?? unknown }
        if let photo = state[.photo]?.reference, depth == 0 {
            let photo = try subject(RecordID(zone: id.zone, name: photo), type: .photo, db, depth: 1)
            guard type == .photoTag, let tag = state[.tag]?.reference else { return photo }
            return "\(photo) \(try subject(RecordID(zone: id.zone, name: tag), type: .tag, db, depth: 1))"
        }
        return state.fileName.map { "'\($0)'" } ?? unknown
    }

    /// What brought a transaction, as a person knows it.
    func source(_ author: String) -> String {
        let prefix = "fetch:"
        guard author.hasPrefix(prefix), let zone = ZoneID(hex: author.dropFirst(prefix.utf8.count)) else {
            return author
        }
        guard let known = zones[zone] else { return "from the container" }
        return known.row.kind == .privateZone ? "from another device" : "from '\(known.control.title)'"
    }
}
