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
    var placed: [RelativePath: (from: ZoneID, to: ZoneID)] = [:]
    func zone(_ folder: FolderReference, holding path: RelativePath) -> ZoneID? {
        switch folder {
        case .created(let number): return created[number]
        case .existing(let id):
            // A folder that goes to another zone itself is where it goes, and so is what of its zone lies in it.
            var next = path
            while !next.isRoot {
                next = next.parent
                if let way = placed[next] { return way.from == id.zone ? way.to : id.zone }
            }
            return id.zone
        }
    }
    var result: [RecordID: ZoneCrossing] = [:]
    for change in changes {
        switch change {
        case .create(let number, .folder, let folder, let path, _, _, _): created[number] = zone(folder, holding: path)
        case .place(let id, let folder, _, let path, _):
            guard let zone = zone(folder, holding: path) else { continue }
            // The folder of a share stays that, wherever it is.
            placed[path] = (id.zone, id.isZoneRoot ? id.zone : zone)
            if zone != id.zone, !id.isZoneRoot { result[id] = ZoneCrossing(zone: zone, path: path) }
        case .restamp, .edit, .create, .delete: break
        }
    }
    return result
}
