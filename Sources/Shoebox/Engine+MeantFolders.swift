import ShoeboxLibrary
import ShoeboxModel
import ShoeboxPlanning
import ShoeboxStore
import ShoeboxWorld

/// The folders in which a plan puts something, as they were when it began with them. Another one may have such a folder's place
/// at any moment, and what is put there is then somebody else's: it is looked just before, and just after.
struct MeantFolders {
    private let files: any LocalFileSystem
    private var stamps: [RelativePath: FileStamp] = [:]

    init(_ files: any LocalFileSystem) { self.files = files }

    /// Takes a folder as it is now for the one that is meant, if the plan has not placed it.
    mutating func note(_ folder: RelativePath) {
        guard !folder.isRoot, stamps[folder] == nil else { return }
        // What can't be looked at is found by the operation itself.
        stamps[folder] = (try? files.entry(at: folder))?.stamp
    }

    /// Notes what an operation of the plan did with folders.
    mutating func note(_ operation: FileOperation, _ stamp: FileStamp?) {
        switch operation {
        case .makeDirectory(_, let path): stamps[path] = stamp
        case .move(_, let from, let path):
            forget(from)
            stamps[path] = stamp
        case .park(_, let path): forget(path)
        case .unpark(_, let path): stamps[path] = stamp
        case .removeDirectory(_, let path): stamps[path] = nil
        case .write, .remove: break
        }
    }

    /// Whether the folder at a path is the one that is meant, as far as can be told.
    func isThere(_ folder: RelativePath) -> Bool {
        guard !folder.isRoot, let stamp = stamps[folder] else { return true }
        do {
            guard let present = try files.entry(at: folder)?.stamp else { return false }
            // By its number alone a folder is not known again everywhere.
            return stamp.birthNanoseconds == 0 || present.birthNanoseconds == 0 || present.isSameFile(as: stamp)
        } catch { return !error.isAbsence }
    }

    private mutating func forget(_ path: RelativePath) {
        stamps = stamps.filter { !$0.key.isAtOrBelow(path) }
    }
}

extension Engine {
    /// What an operation came to: nothing, if the folder in which it put something is another one by now. What was put there is taken
    /// back, before a look takes it for what its user put there. So what was to be removed, and is not there: it is elsewhere.
    func inMeantFolder(
        _ operation: FileOperation, _ result: ApplyOutcome, _ folders: MeantFolders, isNew: Bool, root: RootKind
    ) throws -> ApplyOutcome {
        guard case .done(let stamp) = result, let path = operation.path, !folders.isThere(path.parent)
        else { return result }
        do {
            try takeBack(operation, stamp, isNew: isNew, root: root)
        } catch let error as FileError {
            log("'\(path)' stays in another folder than the one that was meant: \(error)")
        }
        lookAtObstacle(in: .init(root: root, path: path.parent))
        return .stale("the folder of '\(path)' is another one by now")
    }

    /// What a move came to: nothing, if another file or folder than the one that was meant had its place just then. It goes back.
    func ofMeantFile(_ operation: FileOperation, _ result: ApplyOutcome, root: RootKind) throws -> ApplyOutcome {
        guard case .done(let stamp?) = result, let row = try store.read({ db in try db.base(operation.record) }),
            row.isOther(than: stamp)
        else { return result }
        switch operation {
        // A folder of the user's is where it is; what is known of it follows it, see `lookIfOther`.
        case .move(_, let from, let path) where row.kind == .file:
            try files(root).rename(path, to: from, mode: .failIfExists)
            for place in [from.parent, path.parent] { lookAtObstacle(in: .init(root: root, path: place)) }
        case .park(let id, let from):
            guard case .done = makeApplier(root).apply(.unpark(id, to: from)) else { return result }
            lookAtObstacle(in: .init(root: root, path: from.parent))
        default: return result
        }
        return .stale("'\(operation.path?.description ?? "")' was another thing by then")
    }

    private func takeBack(_ operation: FileOperation, _ stamp: FileStamp?, isNew: Bool, root: RootKind) throws {
        let files = files(root)
        guard let path = operation.path, let stamp, let entry = try files.entry(at: path),
            entry.stamp.isSameFile(as: stamp)
        else { return }
        switch operation {
        case .write(_, _, _, nil):
            // What somebody has written into it since is theirs.
            if entry.stamp.isUnchanged(from: stamp), !files.hasWriter(path) { try files.removeFile(path) }
        case .makeDirectory:
            if isNew { try files.removeDirectory(path) }
        case .move(_, let from, _): try files.rename(path, to: from, mode: .failIfExists)
        case .unpark(let id, _): _ = makeApplier(root).apply(.park(id, from: path))
        case .write, .park, .remove, .removeDirectory: break
        }
    }
}
