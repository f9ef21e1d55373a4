public import ShoeboxModel

/// Where something goes that local changes take from one zone to another; what is in it goes along.
public struct ZoneCrossing: Hashable, Sendable {
    /// The zone that it goes to.
    public var zone: ZoneID
    /// Where it is now.
    public var path: RelativePath
}

/// What local changes take from one zone to another.
///
/// - Parameter changes: as a plan has them: new folders before what is put into them.
public func zoneCrossings(_ changes: [LocalChange]) -> [RecordID: ZoneCrossing] {
    var created: [Int: ZoneID] = [:]
    var travelling: [RelativePath: (from: ZoneID, to: ZoneID)] = [:]
    func zone(_ folder: FolderReference, holding path: RelativePath) -> ZoneID? {
        switch folder {
        case .created(let number): return created[number]
        case .existing(let id):
            // A folder that goes to another zone itself is where it goes, and so is all that lies in it.
            var next = path
            while !next.isRoot {
                next = next.parent
                if let way = travelling[next], way.from == id.zone { return way.to }
            }
            return id.zone
        }
    }
    var result: [RecordID: ZoneCrossing] = [:]
    for change in changes {
        switch change {
        case .create(let number, .folder, let folder, let path, _, _, _): created[number] = zone(folder, holding: path)
        case .place(let id, let folder, _, let path, _):
            if let zone = zone(folder, holding: path), zone != id.zone, !id.isZoneRoot {
                result[id] = ZoneCrossing(zone: zone, path: path)
                travelling[path] = (id.zone, zone)
            }
        case .restamp, .edit, .create, .delete: break
        }
    }
    return result
}
