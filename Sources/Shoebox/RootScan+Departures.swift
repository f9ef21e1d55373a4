import ShoeboxModel
import ShoeboxPlanning
import ShoeboxStore
import ShoeboxWorld

// Files that were moved between the two watched folders: the own library, and others' shares. Each is planned by itself, and
// what goes from one to another is a new record there. But what takes the place of such a file is no edit of it.

extension RootScan {
    /// Notes which of some new or changed files had a place in the other watched folder that they have left.
    func noteArrivals(_ entries: ArraySlice<DirectoryEntry>, in directory: RelativePath) throws {
        guard hasOther else { return }
        let found = try engine.store.read { [root] db in
            var found: [(row: BaseRow, former: RelativePath, entry: DirectoryEntry)] = []
            for entry in entries where entry.kind == .file && entry.stamp.birthNanoseconds != 0 {
                for row in try db.base(inode: entry.stamp.inode, root: root.other)
                where row.kind == .file && row.stamp.isSameFile(as: entry.stamp) {
                    guard let former = try db.basePath(of: row.id, top: [engine.top(root.other)]) else { continue }
                    found.append((row, former, entry))
                }
            }
            return found
        }
        for item in found {
            // Both: one file with two names.
            let isThere = isFile(item.row.stamp, at: item.former, in: root.other)
            engine.departed[item.row.id] =
                isThere ? nil : .init(root: root, path: directory.appending(item.entry.name))
        }
    }

    /// Whether a file that stands in the place of another one has to wait until the other watched folder was looked at, too:
    /// what had the place may be there.
    func mayHaveDeparted(_ record: BaseEntry, with entry: DirectoryEntry) -> Bool {
        guard hasOther, record.kind == .file, record.stamp.birthNanoseconds != 0,
            !entry.stamp.isSameFile(as: record.stamp)
        else { return false }
        // In this folder it is known that it is.
        return !pendingFiles.contains(record.stamp.identity)
    }

    /// The records of a batch whose own files are in the other watched folder.
    func departed(_ batch: ScanBatch) -> Set<RecordID> {
        Set(
            engine.departed.compactMap { id, place in
                guard let record = batch.base[id], place.root != root,
                    isFile(record.stamp, at: place.path, in: place.root)
                else { return nil }
                return id
            })
    }

    private var hasOther: Bool { !engine.zonesShown(.shared).isEmpty }

    private func isFile(_ stamp: FileStamp, at path: RelativePath, in root: RootKind) -> Bool {
        (try? engine.files(root).entry(at: path))?.stamp.isSameFile(as: stamp) == true
    }
}

extension RootKind {
    /// The other watched folder.
    var other: RootKind { self == .library ? .shared : .library }
}
