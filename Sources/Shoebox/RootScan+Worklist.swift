import ShoeboxLibrary
import ShoeboxModel
import ShoeboxPlanning
import ShoeboxStore
import ShoeboxWorld

import class GRDB.Database

// Which directories are to be listed, in which order, and which folder of the base each is.

/// A directory to be listed.
struct ScanPlace {
    var path: RelativePath
    /// The folder that the base knows there; nil for one that it does not know.
    var id: RecordID?
    /// Whether the folders in it are listed, too, also those that are as the base knows them. Below a folder that was renamed,
    /// moved or put in another's place, what the watcher said of deeper ones may have named a path that is no more.
    var isDeep: Bool
    /// Whether it, or a folder that it is in, was renamed or moved. What is gone from it has to be known before that is taken.
    var isMoved = false
    /// How many batches had been taken when it was put on the list. What was taken since may have given its path to another
    /// folder of the base.
    var batch = 0
    /// How many directories had been put on the list once more when it was.
    var relist = 0
}

extension RootScan {
    /// The directory itself if the base knows it and it is there, else the nearest one above. Below a directory that is
    /// another one than the base knows, nothing is looked at before that itself was.
    mutating func nearestKnown(
        _ path: RelativePath, outcome: inout ScanOutcome
    ) throws -> ScanPlace {
        var found: (path: RelativePath, id: RecordID) = (.root, engine.top(root))
        for name in path.names {
            let next = found.path.appending(name)
            guard
                let row = try engine.store.read({ db in try db.base(named: name, in: found.id, root: root) }),
                row.kind == .folder
            else { break }
            let entry: DirectoryEntry?
            do { entry = try files.entry(at: next) } catch {
                if !error.isAbsence { try putOff(next, error, lookingAt: path, outcome: &outcome) }
                break
            }
            guard let entry, entry.kind == .directory, entry.stamp.isSameFile(as: row.stamp) else { break }
            found = (next, row.id)
        }
        return ScanPlace(path: found.path, id: found.id, isDeep: false)
    }

    /// How many directories are compared in one read of the database: a read for each would cost more than comparing,
    /// and a long one keeps the database's log from being emptied.
    private static var quietMax: Int { 128 }

    /// Lists and compares directories up to the first in which something needs a look, which is returned; nil if there
    /// is none among so many.
    mutating func passQuiet(_ worklist: inout [ScanPlace]) throws -> Found? {
        try engine.store.read { db -> Found? in
            for _ in 0..<Self.quietMax {
                guard var next = worklist.popLast() else { return nil }
                guard !listedAll.contains(next.path), !isOutdated(next) else { continue }
                if next.batch != batchCount { next.id = try folder(at: next.path, db) }
                // What was in a folder that is elsewhere is looked for there.
                if let id = next.id, let place = movedTo[id], place != next.path { next.id = nil }
                let listing: DirectoryListing
                do throws(FileError) { listing = try lister.list(next.path) } catch {
                    return Found(place: next, result: .failure(error))
                }
                listedAll.insert(next.path)
                if let id = next.id {
                    listedFolders.insert(id)
                    listedAt[id] = next.path
                }
                let comparison =
                    try next.id.map { try db.compare(listing, with: $0, root: root) }
                    ?? DirectoryComparison(allOf: listing)
                guard let folders = quietFolders(of: comparison, listing, in: next) else {
                    return Found(place: next, result: .success((listing, comparison)))
                }
                guard next.isDeep else { continue }
                lister.announce(folders.map(\.path))
                worklist += folders
            }
            return nil
        }
    }

    /// The folder of the base that a directory is, after what it was thought to be may have been taken for another one; nil for
    /// one that is new.
    private mutating func folder(at path: RelativePath, _ db: Database) throws -> RecordID? {
        guard let name = path.last else { return engine.top(root) }
        if let known = folders[path] { return known }
        let parent = try folder(at: path.parent, db)
        let row = try parent.flatMap { try db.base(named: name, in: $0, root: root) }
        let known = row?.kind == .folder ? row : nil
        var id = known?.id
        // What can't be looked at is listed next, and reported then.
        if let entry = try? files.entry(at: path), known.map({ !entry.stamp.isSameFile(as: $0.stamp) }) ?? true {
            id = try movedFolder(entry, db)?.id ?? id
        }
        folders[path] = .some(id)
        return id
    }

    /// A directory that was listed as a folder which then was found elsewhere, such as within it, is listed once more, as a new
    /// one: what of the folder's is in it now came there by itself.
    mutating func listAgain(whatWasListedAs folder: RecordID, besides place: RelativePath) {
        guard let path = listedAt[folder], path != place, listedAll.contains(path) else { return }
        candidateCount -= pending.filter { isStale($0.path, below: path) }.reduce(0) { $0 + $1.candidates.count }
        pending = pending.filter { !isStale($0.path, below: path) }
        replacedFolders = replacedFolders.filter { !isStale($0.path.parent, below: path) }
        foundSidecars = foundSidecars.filter { !isStale($0.directory, below: path) }
        listedAll = listedAll.filter { !isStale($0, below: path) }
        listedAt = listedAt.filter { !isStale($0.value, below: path) }
        relisted.append(path)
        replacing.append(
            ScanPlace(path: path, id: nil, isDeep: true, isMoved: true, batch: batchCount, relist: relisted.count))
    }

    /// Whether what was listed at a path was compared as lying in a folder that is not there; what was found there by itself is
    /// what it is.
    private func isStale(_ path: RelativePath, below other: RelativePath) -> Bool {
        path.isAtOrBelow(other)
            && !movedTo.values.contains { $0 != other && $0.isAtOrBelow(other) && path.isAtOrBelow($0) }
    }

    /// Whether a directory was put on the list for a listing that does not count any more.
    private func isOutdated(_ place: ScanPlace) -> Bool {
        relisted.dropFirst(place.relist).contains { isStale(place.path, below: $0) }
    }

    /// The folders in a directory of which everything else is as the base has it; nil if something needs a look.
    private func quietFolders(
        of comparison: DirectoryComparison, _ listing: DirectoryListing, in place: ScanPlace
    ) -> [ScanPlace]? {
        guard comparison.missing.isEmpty else { return nil }
        var folders: [ScanPlace] = []
        for item in comparison.entries {
            let entry = listing.entries[item.index]
            guard entry.kind == .directory, let glance = item.glance, glance.kind == .folder,
                glance.isSameFile(as: entry.stamp), let name = listing.name(at: item.index),
                name != OwnPaths.tags.last,
                !engine.settings.ignore.ignores(place.path.appending(name), isDirectory: true)
            else { return nil }
            folders.append(
                ScanPlace(
                    path: place.path.appending(name), id: glance.folder, isDeep: true, isMoved: place.isMoved,
                    batch: batchCount, relist: relisted.count))
        }
        return folders
    }
}
