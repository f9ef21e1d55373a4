import ShoeboxModel
import ShoeboxPlanning
import ShoeboxStore

import class GRDB.Database

/// A folder that went into a share after something had been deleted in it, or moved out of it.
struct SharedSince {
    /// The folder, where it was.
    var folder: RecordID
    /// The share that it went to; that may be one of which this account knows nothing.
    var share: ZoneID
    /// The folder that it was in: there lies beside it what does not go along.
    var place: RecordID
}

/// What was deleted, or taken out of a folder, before that folder was shared is nothing for the people of the share. With
/// its folder named as where it is, it would follow that as soon as it is alive.
extension Engine {
    /// Of which folder on the way to what something says it is in it would follow into a share; nil if it stays in its zone.
    ///
    /// - Parameter returning: folders that come back at the same time, elsewhere than they were if need be.
    func sharedSince(
        _ parent: RecordName?, in zone: ZoneID, returning: Set<RecordID> = [], _ db: Database
    ) throws -> SharedSince? {
        var seen: Set<RecordName> = []
        var next = parent
        while let name = next, name != .zoneRoot, seen.insert(name).inserted {
            let id = RecordID(zone: zone, name: name)
            guard !returning.contains(id), let state = try db.state(of: id) else { return nil }
            if let share = state.movedTo, isShareOrUnknown(share) {
                let place = try shownFolder(state.parent, in: zone, past: seen, db)
                return SharedSince(folder: id, share: share, place: place)
            }
            next = state.parent
        }
        return nil
    }

    private func isShareOrUnknown(_ zone: ZoneID) -> Bool { zones[zone].map { $0.row.kind == .share } ?? true }

    /// The next folder upwards that did not go elsewhere itself.
    private func shownFolder(
        _ parent: RecordName?, in zone: ZoneID, past: Set<RecordName>, _ db: Database
    ) throws -> RecordID {
        var seen = past
        var next = parent
        while let name = next, seen.insert(name).inserted {
            guard let state = try db.state(of: RecordID(zone: zone, name: name)) else { break }
            if state.movedTo == nil { return RecordID(zone: zone, name: name) }
            next = state.parent
        }
        return RecordID(zone: zone, name: .zoneRoot)
    }

    /// That something is put beside its former folder, and why.
    func besideText(_ what: String, _ shared: SharedSince) throws -> String {
        let root = zones[shared.folder.zone]?.row.root ?? .library
        let (name, place) = try store.read { db in
            (
                try db.state(of: shared.folder)?.fileName.map { "'\($0)'" } ?? "it was in",
                try db.basePath(of: shared.place, top: [top(root)])
            )
        }
        let whither = place.map { ", in '\(display($0, root))'" } ?? ""
        let why =
            title(of: shared).map {
                "that is in the share '\($0)' now, whose people would see it. If they shall, move it there."
            } ?? "its owner has moved that to where you have no part."
        return "\(what) beside the folder \(name)\(whither), and not in it: \(why)"
    }

    /// Why something is not moved back into its former folder.
    func sharedSinceText(_ shared: SharedSince) throws -> String {
        let name = try store.read { db in try db.state(of: shared.folder)?.fileName.map { " '\($0)'" } ?? "" }
        return title(of: shared).map {
            "the folder\(name) that it was in is in the share '\($0)' now, whose people would see it; if they shall, move it there"
        } ?? "its owner has moved the folder\(name) that it was in to where you have no part"
    }

    private func title(of shared: SharedSince) -> String? { zones[shared.share]?.control.title }
}
