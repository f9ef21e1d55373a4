import ShoeboxModel

// What was found out, as changes.

extension LocalPlanner {
    mutating func report() {
        var created: [RelativePath: Int] = [:]
        var count = 0
        var folderIDs: [RelativePath: RecordID] = rootIDs
        for (index, entry) in base.enumerated() where entry.kind == .folder {
            if let there = found[index] {
                folderIDs[local[there].path] = entry.id
            } else if !isMissing[index], !isParked(entry), let path = currentPath(ofFolder: index) {
                if folderIDs[path] == nil { folderIDs[path] = entry.id }
            }
        }
        func reference(_ path: RelativePath) -> FolderReference? {
            if let id = folderIDs[path] { return .existing(id) }
            return created[path].map(FolderReference.created)
        }

        // A plain directory above zones, such as `<owner>/` above `<title>/`, is nobody's.
        var wayToZones: Set<RelativePath> = []
        for var path in Array(roots.values) + base.filter(\.id.isZoneRoot).map(\.path) {
            while !path.isRoot {
                path = path.parent
                wayToZones.insert(path)
            }
        }

        // `local` is in the order of paths, so parents come before children. What is new in a folder that was moved comes after
        // that, so that it is taken where the folder is now, and nobody hears of it where the folder was.
        var edits: [LocalChange] = []
        var present: [Digest32: RecordID] = [:]
        for (there, entry) in local.enumerated() {
            guard let index = owner[there] else {
                guard entry.kind == .folder, rootIDs[entry.path] == nil else { continue }
                guard let parent = reference(entry.path.parent) else {
                    if wayToZones.contains(entry.path) { continue }
                    result.unplaced.append(entry.path)
                    continue
                }
                created[entry.path] = count
                result.changes.append(
                    .create(
                        number: count, kind: .folder, in: parent, path: entry.path, stamp: entry.stamp,
                        contentHash: nil, copyOf: nil))
                count += 1
                continue
            }
            let record = base[index]
            let isEdited = entry.contentHash.map { $0 != record.contentHash } ?? false
            let isUnread =
                record.kind == .file && entry.contentHash == nil && !entry.stamp.isUnchanged(from: record.stamp)
            if isUnread {
                result.unread.append(entry.path)
                continue
            }
            if record.kind == .file, let hash = entry.contentHash ?? record.contentHash, !isEdited {
                present[hash] = min(record.id, present[hash] ?? record.id)
            }
            let expected = expectedPath(record)
            var isPlaced = false
            if expected != entry.path {
                // A mounted zone may lie in a plain directory, which is no record.
                let fallback = record.id.isZoneRoot ? FolderReference.existing(record.parent) : nil
                if let parent = reference(entry.path.parent) ?? fallback, let name = entry.path.last {
                    result.changes.append(
                        .place(record.id, in: parent, name: name, path: entry.path, stamp: entry.stamp))
                    isPlaced = true
                } else {
                    result.unplaced.append(entry.path)
                    continue
                }
            }
            if record.kind == .file, isEdited, let hash = entry.contentHash {
                edits.append(.edit(record.id, contentHash: hash, stamp: entry.stamp))
            } else if !isPlaced, entry.stamp != record.stamp {
                edits.append(.restamp(record.id, entry.stamp))
            }
        }
        result.changes += edits

        for (index, entry) in local.enumerated() where entry.kind == .file && owner[index] == nil {
            guard let parent = reference(entry.path.parent) else {
                result.unplaced.append(entry.path)
                continue
            }
            guard let hash = entry.contentHash else {
                result.unread.append(entry.path)
                continue
            }
            result.changes.append(
                .create(
                    number: count, kind: .file, in: parent, path: entry.path, stamp: entry.stamp, contentHash: hash,
                    copyOf: entry.stamp.size > 0 ? present[hash] : nil))
            count += 1
        }

        // The reverse order of paths has what is in a folder before the folder.
        let goneMounts = base.indices.filter { isMissing[$0] && found[$0] == nil && base[$0].id.isZoneRoot }
            .map { base[$0].path }
        for index in base.indices.reversed() where isMissing[index] && found[index] == nil {
            let entry = base[index]
            if goneMounts.contains(where: { entry.path != $0 && entry.path.isAtOrBelow($0) }) { continue }
            result.changes.append(.delete(entry.id))
        }
        result.unread.sort()
        result.unplaced.sort()
    }
}
