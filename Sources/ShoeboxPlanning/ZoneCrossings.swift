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
    var zones: [Int: ZoneID] = [:]
    func zone(_ folder: FolderReference) -> ZoneID? {
        switch folder {
        case .existing(let id): id.zone
        case .created(let number): zones[number]
        }
    }
    var result: [RecordID: ZoneCrossing] = [:]
    for change in changes {
        switch change {
        case .create(let number, .folder, let folder, _, _, _, _): zones[number] = zone(folder)
        case .place(let id, let folder, _, let path, _):
            if let zone = zone(folder), zone != id.zone, !id.isZoneRoot {
                result[id] = ZoneCrossing(zone: zone, path: path)
            }
        case .restamp, .edit, .create, .delete: break
        }
    }
    return result
}
