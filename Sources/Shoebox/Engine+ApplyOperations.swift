import ShoeboxLibrary
import ShoeboxModel
import ShoeboxPlanning
import ShoeboxStore
import ShoeboxWorld

import class GRDB.Database

// Carries out what was planned for a watched folder.

extension Engine {
    /// How many files, and bytes of them, are written aside before they go to their places together: what a commit of
    /// the database costs is shared by them, and what a crash leaves aside stays little.
    private static var asideMax: Int { 64 }
    private static var asideBytesMax: UInt64 { 16 << 20 }

    private func storeIntents(_ intents: [WriteIntent], root: RootKind) throws {
        try store.write { db in
            for intent in intents {
                try db.addIntent(
                    root: root, path: intent.path, id: intent.record, inode: intent.inode, size: intent.size,
                    contentHash: intent.contentHash, boot: world.bootID)
            }
        }
    }

    /// Carries out a plan; returns the records for which it could not be done now.
    func execute(
        _ operations: [FileOperation], root: RootKind, scope: ApplyScope, outcome: inout ApplyOutcomes
    ) throws -> Set<RecordID> {
        var failed: Set<RecordID> = []
        var done: [(operation: FileOperation, stamp: FileStamp?)] = []
        let applier = makeApplier(root)
        var knownParents: [RelativePath: Bool] = [:]
        var meant = MeantFolders(files(root))
        // Files that were written aside: their intents are stored at once, then all go to their places.
        var aside: [(operation: FileOperation, write: PreparedWrite)] = []
        var asideBytes: UInt64 = 0
        // Of what was taken back none may stay: its place and inode may be the user's next file's.
        var hasIntents = false
        // Directories that this very plan made or moved are as they should be, whatever the base says of their paths.
        var placed: Set<RelativePath> = []
        // Directories that could not be made or moved to where they belong: what goes into them waits, even if they are
        // there all the same, as the base does not know them.
        var missing: Set<RelativePath> = []
        // Photos that are gone from where they were, and whose sidecars are not.
        var unfollowed: Set<RecordID> = []

        func note(_ operation: FileOperation, _ result: ApplyOutcome) throws {
            let id = operation.record
            // What is aside, and what is not, is looked at once more: a call may have done it and failed.
            switch (operation, result) {
            case (.park, _), (.unpark, _): recovered.remove(root)
            case (_, .failed(let error)) where error.operation == "rename": recovered.remove(root)
            default: break
            }
            if case .done = result {} else if let path = operation.path, !operation.isRemoval { missing.insert(path) }
            switch result {
            case .done(let stamp):
                done.append((operation, stamp))
                meant.note(operation, stamp)
                switch operation {
                case .makeDirectory(_, let path), .move(_, _, let path), .unpark(_, let path): placed.insert(path)
                default: break
                }
                if try !followWithSidecar(operation, root: root) { unfollowed.insert(operation.record) }
                for code in ["notApplied", "contentMissing", "contentDamaged", "diskFull", "notInShare"] {
                    try clearProblem(code, path: operation.path.map { display($0, root) })
                }
            case .stale(let reason):
                // A directory stays while something of the user's is in it that is no record, such as a broken sidecar.
                if case .removeDirectory(let id, let path) = operation, meant.isThere(path.parent) {
                    return try giveBack(id, at: path, root: root)
                }
                // What is in the way is the user's: the next scan takes it, then the plan is made anew.
                failed.insert(id)
                log("not applied yet: \(reason)")
                if let path = operation.path {
                    lookAtObstacle(in: .init(root: root, path: path.parent))
                    try reportObstacle(at: path, reason, root, zone: id.zone)
                }
            case .failed(let error):
                failed.insert(id)
                try reportFailure(operation, error, root: root)
            }
        }
        func putInPlace() throws {
            guard !aside.isEmpty else { return }
            let batch = aside
            aside = []
            asideBytes = 0
            do { try storeIntents(batch.map(\.write.intent), root: root) } catch {
                for item in batch { applier.discard(item.write) }
                throw error
            }
            hasIntents = true
            for item in batch {
                guard meant.isThere(item.write.intent.path.parent) else {
                    applier.discard(item.write)
                    try note(item.operation, .stale("the folder of '\(item.write.intent.path)' is another one by now"))
                    continue
                }
                let result = applier.finish(item.write)
                if case .failed(let error) = result, error.code == .badName {
                    noteRefusedName(
                        .init(root: root, path: item.write.intent.path), error, size: item.write.intent.size)
                }
                try note(item.operation, inMeantFolder(item.operation, result, meant, isNew: true, root: root))
            }
        }

        for operation in operations {
            let id = operation.record
            if isAskedToPause() {
                // The rest is planned again.
                failed.insert(id)
                continue
            }
            guard !failed.contains(id) else { continue }
            if let path = operation.path {
                let parent = path.parent
                guard
                    operation.isRemoval
                        || !parent.names.indices.contains(where: {
                            missing.contains(RelativePath(Array(parent.names[...$0])))
                        })
                else {
                    failed.insert(id)
                    continue
                }
                let isPlaced = parent.names.indices.contains {
                    placed.contains(RelativePath(Array(parent.names[...$0])))
                }
                if !isPlaced, knownParents[parent] == nil {
                    do { knownParents[parent] = try isParentKnown(path, root) } catch let error as FileError {
                        log("not applied yet: \(error)")
                        knownParents[parent] = false
                    }
                }
                guard isPlaced || knownParents[parent] == true else {
                    failed.insert(id)
                    lookAtObstacle(in: .init(root: root, path: parent.parent))
                    continue
                }
                meant.note(parent)
            }
            try makeWay(for: operation, root: root, scope)
            switch operation {
            case .write(_, let path, _, _) where isRefusedName(.init(root: root, path: path)):
                try note(operation, .failed(refusedNames[.init(root: root, path: path)]?.error ?? .noName(path)))
            case .write(let id, let path, let hash, let replaced):
                switch applier.prepare(id, at: path, contentHash: hash, replacing: replaced) {
                case .ready(let write):
                    aside.append((operation, write))
                    asideBytes += write.intent.size
                case .over(let result): try note(operation, result)
                }
                if aside.count >= Self.asideMax || asideBytes >= Self.asideBytesMax { try putInPlace() }
            case .makeDirectory(let id, let path):
                // What a share shows in is never taken for a folder that its user made: that would be somebody else's.
                if id.isZoneRoot || id.zone == .none, let parent = scope.layout.nodes[id]?.parent {
                    try noteMaking(id, at: path, in: parent, root: root)
                }
                var outcome: ApplyOutcome
                do {
                    let isNew = try files(root).entry(at: path) == nil
                    let isTaken = try !isNew && isDirectoryOfOther(than: id, at: path, scope, root)
                    outcome = isTaken ? .stale("another folder is still at '\(path)'") : applier.apply(operation)
                    outcome = try inMeantFolder(operation, outcome, meant, isNew: isNew, root: root)
                    // Or one that came in between.
                    if case .done = outcome, try isDirectoryOfOther(than: id, at: path, scope, root) {
                        outcome = .stale("another folder is at '\(path)'")
                    }
                } catch let error as FileError {
                    outcome = .failed(error)
                }
                // What its user put there before is looked at as what is in that folder. What can't be listed is named by its scan.
                if case .done = outcome, (try? files(root).list(path))?.isEmpty != true {
                    later[.init(root: root, path: path)] = world.uptimeMilliseconds()
                }
                try note(operation, outcome)
            default:
                // Only writes can wait: what moves may be what one of them waits for.
                try putInPlace()
                var outcome: ApplyOutcome
                do {
                    outcome = try becameOther(operation, root: root) ?? applier.apply(operation)
                    outcome = try inMeantFolder(operation, outcome, meant, isNew: true, root: root)
                    outcome = try ofMeantFile(operation, outcome, root: root)
                } catch let error as FileError { outcome = .failed(error) }
                try lookIfOther(outcome, of: operation, root: root)
                try note(operation, outcome)
            }
        }
        try putInPlace()
        outcome.operations += done.count
        guard !done.isEmpty || hasIntents else { return failed }
        // The base tree is noted behind the barrier: after a power cut it never claims what the folder lost. What a crash
        // leaves unnoted is found again by the intents, and by the scan as what the records say already.
        let intents = try store.read { db in try db.intents() }
            .filter { $0.root == root && !unrecovered.contains($0.rowID) }
        var isDurable = true
        do { try files(root).synchronize() } catch {
            isDurable = false
            log("cannot make the \(root) folder durable: \(error)")
        }
        do {
            try store.write { db in
                // Where it was before the first of a record's operations.
                var left = unfollowed
                for item in done {
                    let id = item.operation.record
                    if left.remove(id) != nil { try oweRemoval(ofSidecarOf: id, db) }
                    try noteDone(item.operation, stamp: item.stamp, root: root, scope: scope, db)
                }
                if isDurable { try db.clearIntents(intents.map(\.rowID)) }
            }
        } catch {
            // What the folder shows and nobody noted is found again as after a crash.
            recovered.remove(root)
            throw error
        }
        if !unfollowed.isEmpty { try removeOrphans() }
        return failed
    }

    /// Says so if another folder, or a link, stands where something is to be moved from, or a folder where a file is: that is another
    /// thing, which its user, or somebody else, put there. The scan finds out what became of the one that is known.
    private func becameOther(_ operation: FileOperation, root: RootKind) throws -> ApplyOutcome? {
        guard let (id, path) = operation.source, let row = try store.read({ db in try db.base(id) }),
            let entry = try present(path, root)
        else { return nil }
        let isOfKind = entry.kind == row.kind.fileKind
        guard !isOfKind || row.isOther(than: entry.stamp) else { return nil }
        lookAtObstacle(in: .init(root: root, path: path.parent))
        return .stale("'\(path)' is another thing by now")
    }

    /// Has the folders looked at between which another folder was moved than was meant: it took the place of that in between.
    private func lookIfOther(_ outcome: ApplyOutcome, of operation: FileOperation, root: RootKind) throws {
        guard case .done(let stamp?) = outcome, case .move(let id, let from, let to) = operation,
            let row = try store.read({ db in try db.base(id) }), row.isOtherFolder(than: stamp)
        else { return }
        log("'\(from)' was another folder than the one that was to be moved to '\(to)'")
        for path in [from.parent, to.parent] { lookAtObstacle(in: .init(root: root, path: path)) }
    }

    /// Whether the directory at a path is another folder's, which is to go elsewhere and could not, or was moved there by its user a
    /// moment ago: of two folders in one directory nobody could tell what belongs to which.
    private func isDirectoryOfOther(
        than id: RecordID, at path: RelativePath, _ scope: ApplyScope, _ root: RootKind
    ) throws -> Bool {
        guard let present = try present(path, root), present.kind == .directory else { return false }
        return try store.read { db in
            let known = try db.base(inode: present.stamp.inode, root: root).filter { row in
                guard row.stamp.birthNanoseconds != 0,
                    let place = try db.basePath(of: row.parent, top: [top(root)])?.appending(row.name), place != path
                else { return false }
                // Where names differ by case only, one directory answers to both; what can't be looked at is not there.
                return (try? files(root).entry(at: place))?.stamp.isSameFile(as: present.stamp) != true
            }
            let there = try db.base(at: path, root: root, top: top(root)).flatMap { try db.base($0) }
            return (known + [there].compactMap(\.self)).contains { row in
                row.id != id && row.kind == .folder && scope.layout.nodes[row.id] != nil
                    && row.stamp.isSameFile(as: present.stamp)
            }
        }
    }

    private func makeWay(for operation: FileOperation, root: RootKind, _ scope: ApplyScope) throws {
        switch operation {
        case .makeDirectory(_, let path), .move(_, _, let path), .unpark(_, let path), .write(_, let path, _, nil):
            // If that fails, the operation finds its place taken, and is tried again.
            do {
                try makeWay(at: path, root: root)
                try moveAside(for: operation, root: root, shown: scope.layout)
            } catch let error as FileError {
                log("'\(path)' stays in the way: \(error)")
            }
        case .write, .park, .remove, .removeDirectory: return
        }
    }

    /// False if the sidecar of a photo that is gone, or elsewhere now, is still where it was.
    private func followWithSidecar(_ operation: FileOperation, root: RootKind) throws -> Bool {
        let id = operation.record
        do {
            if case .remove(_, let path, _) = operation {
                switch try removeSidecarFile(of: id, besides: path, root: root) {
                case .done: break
                case .failed(let error): throw error
                // One that was edited stays, to be read; one that may yet be edited is looked at again.
                case .stale: return try !isSidecarBeingWritten(of: id, besides: path, root: root)
                }
            }
            if case .move(_, let old, let new) = operation {
                return try moveSidecarFile(of: id, from: old, to: new, root: root)
            }
            // What is parked goes where something else is still; its sidecar gives way, and is written again there.
            switch operation {
            case .park, .unpark: return false
            default: break
            }
        } catch let error as FileError {
            // The photo itself is where it should be, and that must be noted.
            log("the sidecar stays where it was: \(error)")
            return false
        }
        return true
    }

    /// Updates the base tree after one operation.
    private func noteDone(
        _ operation: FileOperation, stamp: FileStamp?, root: RootKind, scope: ApplyScope, _ db: Database
    ) throws {
        let id = operation.record
        let vector = try db.state(of: id)?.vector ?? [:]
        let node = scope.layout.nodes[id]
        switch operation {
        case .makeDirectory(_, let path), .write(_, let path, _, _):
            if case .makeDirectory = operation { try forgetMaking(id, db) }
            guard let node, let stamp, let name = path.last else { return }
            var hash: Digest32?
            if case .write(_, _, let written, _) = operation { hash = written }
            let row = BaseRow(
                root: root, id: id, parent: node.parent, name: name, kind: node.kind, stamp: stamp, contentHash: hash,
                vector: vector, twins: node.twins)
            try inherit(by: row, scope, db)
            try db.displace(by: row)
            try db.setBase(row)
            if scope.postponed.contains(id) { try markFilesDirty(in: id, scope, db) }
        case .move(_, _, let path), .unpark(_, let path):
            guard var row = try db.base(id), let name = path.last else { return }
            // What the layout no longer shows, or what others have to leave first, was only put back where it was, or beside
            // that.
            let isThere = try node.map { node in
                try db.basePath(of: node.parent, top: [top(root)]).map { $0.appending(node.name) == path } ?? true
            }
            if let node, isThere == true {
                row.parent = node.parent
            } else if let parent = try db.base(at: path.parent, root: root, top: top(root)) {
                row.parent = parent
            }
            row.name = name
            row.isParked = false
            if let stamp { row.noteMoved(stamp) }
            try db.displace(by: row)
            try db.setBase(row)
        case .park:
            guard var row = try db.base(id) else { return }
            row.isParked = true
            if let stamp { row.noteMoved(stamp) }
            try db.setBase(row)
        case .remove, .removeDirectory:
            if case .removeDirectory = operation { try keepMissing(of: id, root: root, scope, db) }
            try db.removeBase(id)
            try db.removeSidecar(id)
        }
    }

    /// A directory that could not be removed, as something is in it still, is another folder's now: what is known to be in it
    /// is in that one.
    private func inherit(by row: BaseRow, _ scope: ApplyScope, _ db: Database) throws {
        guard row.kind == .folder, let former = try db.base(named: row.name, in: row.parent, root: row.root),
            former.id != row.id, former.kind == .folder, former.stamp.isSameFile(as: row.stamp),
            scope.layout.nodes[former.id] == nil
        else { return }
        for var child in try db.baseChildren(of: former.id, root: row.root) {
            child.parent = row.id
            try db.setBase(child)
            try db.markDirty(child.id)
        }
        try db.removeBase(former.id)
    }

    /// Photos that were to go elsewhere from a folder and were gone from it already: they are missing there from now on, as
    /// what their user deleted, and not new there.
    private func keepMissing(of folder: RecordID, root: RootKind, _ scope: ApplyScope, _ db: Database) throws {
        for var child in try db.baseChildren(of: folder, root: root) where child.kind == .file && !child.isParked {
            guard let node = scope.layout.nodes[child.id],
                try db.base(named: node.name, in: node.parent, root: root) == nil
            else { continue }
            child.parent = node.parent
            child.name = node.name
            try db.setBase(child)
        }
    }

    /// Notes that an operation could not be carried out, and why.
    func reportFailure(_ operation: FileOperation, _ error: FileError, root: RootKind) throws {
        guard let path = operation.path else { return }
        let shown = display(path, root)
        unsettledPaths.insert(shown)
        log("cannot apply \(operation): \(error)")
        let id = operation.record
        // Its folder was deleted here as a whole, and its user was asked what that means.
        guard zones[id.zone]?.row.state != .leaveOffered else { return }
        if error.code == .absent, case .write = operation {
            try report(
                "contentMissing", path: shown, zone: id.zone,
                "The content of '\(shown)' is not there yet: \(error.reason).",
                "It comes by itself when whoever has it is online. If nobody has it any more, take back what 'shoebox history' says of it with 'shoebox undo'."
            )
        } else if error.code == .contentDamaged {
            try report(
                "contentDamaged", path: shown, zone: id.zone,
                "The content of '\(shown)' in the container is not what it must be: \(error.reason).",
                "Nothing was replaced by it. Whoever has the photo uploads it again by itself, when their shoebox runs; else restore the file in the cloud folder from a backup."
            )
        } else if error.code == .full {
            try report(
                "diskFull", path: shown, "There is no space left for '\(shown)'.",
                "Free some space in the \(root == .library ? "library" : "shared") folder; nothing is lost, it goes on by itself."
            )
        } else if liesOnOtherMount(path.parent, root) {
            try report(
                "notApplied", path: shown, zone: id.zone,
                "'\(shown)' lies on another disk than the \(root == .library ? "library" : "shared") folder itself; nothing can be moved there.",
                "What is on that disk is shared; what others change of it waits. Watch a folder that is on one disk as a whole to have that, too."
            )
        } else {
            try report(
                "notApplied", path: shown, zone: id.zone,
                "'\(shown)' could not be brought up to date: \(error.reason).",
                "It is tried again; if it stays, check the disk and the permissions of the folder.")
        }
    }
}

extension BaseRow {
    /// Takes the stamp that a file or directory has after it was renamed. What its user wrote into a file meanwhile was not
    /// looked at yet, nor another folder that had its place: the next scan must see that.
    mutating func noteMoved(_ moved: FileStamp) {
        guard kind == .folder ? !isOtherFolder(than: moved) : moved.isUnchanged(from: stamp) else { return }
        stamp = moved
    }

    /// Whether a directory is another one than this folder was seen to be, as far as the file system tells.
    func isOtherFolder(than present: FileStamp) -> Bool { kind == .folder && isOther(than: present) }

    /// Whether a file or directory is another one than this was seen to be, as far as the file system tells.
    func isOther(than present: FileStamp) -> Bool {
        stamp.birthNanoseconds != 0 && present.birthNanoseconds != 0 && !present.isSameFile(as: stamp)
    }
}

extension FileOperation {
    /// The record it is for.
    var record: RecordID {
        switch self {
        case .makeDirectory(let id, _), .move(let id, _, _), .park(let id, _), .unpark(let id, _),
            .write(let id, _, _, _), .remove(let id, _, _), .removeDirectory(let id, _):
            id
        }
    }

    /// What it moves away from where, of what the user sees.
    fileprivate var source: (id: RecordID, path: RelativePath)? {
        switch self {
        case .move(let id, let path, _), .park(let id, let path): (id, path)
        case .makeDirectory, .unpark, .write, .remove, .removeDirectory: nil
        }
    }

    /// Whether it puts nothing anywhere.
    var isRemoval: Bool {
        switch self {
        case .remove, .removeDirectory, .park: true
        case .makeDirectory, .move, .unpark, .write: false
        }
    }

    /// The path it ends at.
    var path: RelativePath? {
        switch self {
        case .makeDirectory(_, let path), .move(_, _, let path), .unpark(_, let path), .write(_, let path, _, _),
            .remove(_, let path, _), .removeDirectory(_, let path), .park(_, let path):
            path
        }
    }
}

extension FileError {
    /// That a name can't be written.
    fileprivate static func noName(_ path: RelativePath) -> FileError {
        FileError(code: .badName, operation: "write", path: path.description)
    }
}
