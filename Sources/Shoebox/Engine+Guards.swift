import ShoeboxLibrary
import ShoeboxModel
import ShoeboxPlanning
import ShoeboxStore
import ShoeboxWorld

import class GRDB.Database

/// What keeps an accident from being taken for a wish: disks that are mounted inside of a watched folder, and words that
/// were given for deletions that are no more.
extension Engine {
    /// Whether something is mounted at a directory of a watched folder now; false where that can't ever be told.
    /// - Throws: a `FileError` that may pass: what is known of it stays then.
    func isMountPoint(_ path: RelativePath, _ root: RootKind) throws(FileError) -> Bool {
        guard !path.isRoot else { return false }
        do {
            return try files(root).mount(of: path) != files(root).mount(of: path.parent)
        } catch {
            guard !error.mayPass else { throw error }
            return false
        }
    }

    /// Whether a directory lies on another mount than its watched folder, so that nothing can be renamed from one to the other.
    /// False where that can't be told: it only chooses the words of a message.
    func liesOnOtherMount(_ path: RelativePath, _ root: RootKind) -> Bool {
        guard let mount = try? files(root).mount(of: path), let own = try? files(root).mount(of: .root) else {
            return false
        }
        return mount != own
    }

    /// Whether something was mounted at a directory when it was last taken.
    func wasMountPoint(_ path: RelativePath, _ root: RootKind) throws -> Bool {
        try mountPoints(root).contains(encodeHex(path.bytes))
    }

    /// Whether something was mounted at a known folder, or what was mounted there is not: nothing of what was in it is there.
    func holdsOtherMount(_ known: BaseRow, at path: RelativePath) throws -> Bool {
        guard try isMountPoint(path, known.root) || wasMountPoint(path, known.root) else { return false }
        return try !holdsKnown(of: known, at: path)
    }

    /// Whether a directory has anything of what was in a known folder. A name is no evidence, as cameras give the same ones
    /// again: the very file is, or one of the same size and time, as when an album was moved to another disk.
    private func holdsKnown(of folder: BaseRow, at path: RelativePath) throws -> Bool {
        let children = try store.read { db in try db.baseChildren(of: folder.id, root: folder.root) }
        guard !children.isEmpty else { return true }
        // What can't be listed has nothing that is known: it is left alone until it can be.
        var found: [FileName: DirectoryEntry] = [:]
        for entry in (try? files(folder.root).list(path)) ?? [] { found[entry.name] = entry }
        for child in children {
            guard let entry = found[child.name], entry.kind == child.kind.fileKind else { continue }
            let isSame = child.stamp.birthNanoseconds != 0 && entry.stamp.isSameFile(as: child.stamp)
            if isSame { return true }
            if child.kind == .folder {
                let hasAny = try store.read { db in try !db.baseChildren(of: child.id, root: child.root).isEmpty }
                if try hasAny && holdsKnown(of: child, at: path.appending(child.name)) { return true }
            } else if entry.stamp.size == child.stamp.size,
                entry.stamp.modifiedNanoseconds == child.stamp.modifiedNanoseconds
            {
                return true
            }
        }
        return false
    }

    /// Keeps whether something is mounted at a directory that is taken now.
    func noteMountPoint(_ path: RelativePath, _ isMounted: Bool, _ root: RootKind) throws {
        var known = try mountPoints(root)
        if isMounted { known.insert(encodeHex(path.bytes)) } else { known.remove(encodeHex(path.bytes)) }
        let text = known.isEmpty ? nil : known.sorted().joined(separator: "\n")
        try store.write { db in try db.setMetaText("mounts.\(root.rawValue)", text) }
    }

    private func mountPoints(_ root: RootKind) throws -> Set<String> {
        Set(
            (try store.read { db in try db.metaText("mounts.\(root.rawValue)") } ?? "").split(separator: "\n")
                .map(String.init))
    }

    /// Whether a watched folder, or one in it that is a mount point, is another directory than when this was last asked:
    /// of what is mounted and unmounted, no watcher tells. Two or three calls for each.
    func haveMountsChanged() throws -> Bool {
        // What can't be looked at counts as nothing there: that it went, and that it is back, are changes too.
        let parts: [String] = try RootKind.allCases.map { root in
            let identity = try? files(root).identity()
            let mounts: [UInt64] = try mountPoints(root).sorted().map { hex in
                decodeHex(hex).flatMap { try? files(root).mount(of: PathReference.relativePath($0) ?? .root) } ?? 0
            }
            return "\(identity?.device ?? 0).\(identity?.inode ?? 0) \(mounts)"
        }
        let seen = parts.joined(separator: " ")
        defer { mountsSeen = seen }
        guard let mountsSeen, mountsSeen != seen else { return false }
        // Another one may be an earlier state of it.
        writtenTokens = [:]
        return true
    }

    /// Nothing is missing any more: a word that was given for it holds for nothing else.
    func endMassDeletion(_ root: RootKind) throws {
        try clearProblem("massDeletion", path: display(.root, root))
        guard try store.read({ db in try db.metaText(confirmedKey(root)) }) != nil else { return }
        try store.write { db in try db.setMetaText(confirmedKey(root), nil) }
    }

    /// The deletions that a person confirmed are taken: the word holds for no others.
    func useConfirmation(_ root: RootKind) throws {
        guard confirmedNow.contains(root) else { return }
        if try store.read({ db in try db.metaText(confirmedKey(root)) }) != nil {
            try store.write { db in try forgetConfirmation(root, db) }
        }
        try clearProblem("massDeletion", path: display(.root, root))
    }

    /// Forgets a person's word, in the transaction that takes what it was given for.
    func forgetConfirmation(_ root: RootKind, _ db: Database) throws {
        try db.setMetaText(confirmedKey(root), nil)
    }

    /// Where it is kept that the deletions which a folder is waiting with were confirmed.
    func confirmedKey(_ root: RootKind) -> String { "deletionsConfirmed.\(root.rawValue)" }

    /// Whether the folder in which something is to be put is the one that the base knows. Where something else was
    /// mounted over it, or it was replaced a moment ago, the next look comes first.
    func isParentKnown(_ path: RelativePath, _ root: RootKind) throws -> Bool {
        let parent = path.parent
        guard !parent.isRoot else { return true }
        let row = try store.read { db -> BaseRow? in
            guard let id = try db.base(at: parent, root: root, top: top(root)) else { return nil }
            return try db.base(id)
        }
        // A folder that this very plan made is not noted yet.
        guard let row else { return true }
        // One that is gone may have been moved a moment ago: what is to be removed from it is elsewhere then.
        return try files(root).entry(at: parent)?.stamp.isSameFile(as: row.stamp) ?? false
    }
}
