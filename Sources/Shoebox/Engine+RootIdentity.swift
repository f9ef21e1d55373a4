import ShoeboxLibrary
import ShoeboxModel
import ShoeboxPlanning
import ShoeboxStore
import ShoeboxWorld

/// What a watched folder is to the one that was there before.
enum RootSameness {
    /// The same directory.
    case same
    /// The same one under another device number, as a disk may get one each time.
    case moved
    /// Another one: another disk, or a copy.
    case other
}

extension Engine {
    /// Whether a watched folder is another directory than at the last whole look at it: a copy, another disk, or an empty
    /// mount point into which somebody put the marker.
    func hasOtherIdentity(_ root: RootKind) throws -> Bool { try sameness(of: root) != .same }

    /// What a watched folder is to the one at the last whole look at it.
    func sameness(of root: RootKind) throws -> RootSameness {
        let (known, origin) = try store.read { db in
            (try db.metaText(identityKey(root)), try db.metaText(originKey(root)))
        }
        guard let known, try known != identityText(files(root).identity()) else { return .same }
        // What an earlier version noted has no origin.
        guard let origin else { return .moved }
        return try !origin.isEmpty && origin == originText(root) ? .moved : .other
    }

    /// As `hasOtherIdentity`, also where that can't be told now.
    func isUnknown(_ root: RootKind) throws -> Bool {
        do { return try hasOtherIdentity(root) } catch let error as FileError {
            log("the \(display(.root, root)) folder can't be looked at: \(error)")
            return true
        }
    }

    /// Keeps which directory a watched folder is, once nothing that was in it is missing; of a look at a part of it, if the last
    /// one at all of it was at the same one.
    func noteIdentity(of root: RootKind, isWhole: Bool) throws {
        let found: RootIdentity
        // Whatever it was: the next look tells.
        do { found = try files(root).identity() } catch { return }
        if isWhole { wholeLooks[root] = found }
        guard wholeLooks[root] == found else { return }
        let now = identityText(found)
        let origin: String
        do { origin = try originText(root) } catch { return }
        let (known, knownOrigin) = try store.read { db in
            (try db.metaText(identityKey(root)), try db.metaText(originKey(root)))
        }
        guard now != known || origin != knownOrigin, !openProblems.contains(where: { $0.hasPrefix("massDeletion|") })
        else { return }
        guard known == nil || !missing.keys.contains(where: { isShown($0, in: root) }) else { return }
        try store.write { db in
            try db.setMetaText(identityKey(root), now)
            try db.setMetaText(originKey(root), origin)
        }
    }

    private func identityKey(_ root: RootKind) -> String { "identity.\(root.rawValue)" }
    private func originKey(_ root: RootKind) -> String { "origin.\(root.rawValue)" }
    private func identityText(_ identity: RootIdentity) -> String { "\(identity.device).\(identity.inode)" }

    /// What a directory keeps when its disk is mounted anew under another device number: its inode and birth time. Empty
    /// where there is no birth time, as numbers of inodes are given on each disk.
    private func originText(_ root: RootKind) throws(FileError) -> String {
        guard let stamp = try files(root).entry(at: .root)?.stamp, stamp.birthNanoseconds != 0 else { return "" }
        return "\(stamp.inode).\(stamp.birthNanoseconds)"
    }
}
