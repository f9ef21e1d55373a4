import ShoeboxLibrary
import ShoeboxModel
import ShoeboxPlanning
import ShoeboxStore
import ShoeboxWorld

extension Engine {
    /// The watched folders of which deletions are held back because they are so many.
    var heldRoots: [RootKind] {
        RootKind.allCases.filter { root in
            openProblems.contains { $0.hasPrefix("massDeletion|") && $0.hasSuffix("|\(display(.root, root))") }
        }
    }

    /// Has what is gone written again: it was no deletion.
    func rejectDeletions() throws -> Reply {
        let held = heldRoots
        guard !held.isEmpty else { return Reply(lines: ["No deletions are held back."]) }
        var gone: [RecordID] = []
        for root in held {
            guard try checkRoot(root), try !hasOtherIdentity(root) else {
                throw RequestError(
                    ExitCode.failed,
                    "The \(display(.root, root)) folder is not the one that was there before.",
                    "Mount the right one; meanwhile nothing is deleted.")
            }
            let files = files(root)
            for zone in zones.keys.sorted() {
                for row in try store.read({ db in try db.base(in: zone) }) where row.root == root && !row.isParked {
                    let path = try store.read { db in try db.basePath(of: row.id, top: [top(root)]) }
                    if let path, try isAbsent(path, files) { gone.append(row.id) }
                }
            }
        }
        try store.write { db in
            for id in gone {
                try db.removeBase(id)
                try db.markDirty(id)
            }
            try db.markLayoutDirty()
        }
        for id in gone { missing[id] = nil }
        try clearProblem("massDeletion")
        return Reply(
            lines: ["\(gone.count) files and folders come back from the container."],
            values: ["restored": String(gone.count)])
    }

    private func isAbsent(_ path: RelativePath, _ files: any LocalFileSystem) throws(FileError) -> Bool {
        do {
            return try files.entry(at: path) == nil
        } catch {
            guard error.code == .absent else { throw error }
            return true
        }
    }
}
