internal import Crypto
public import ShoeboxModel
public import ShoeboxPlanning
public import ShoeboxWorld

/// How long the machine runs, and since which start.
public struct RunningTime {
    /// The start, as `World.bootID`.
    public var boot: String
    /// The time since then, milliseconds.
    public var uptimeMilliseconds: () -> UInt64

    /// From its parts.
    public init(boot: String, uptimeMilliseconds: @escaping () -> UInt64) {
        self.boot = boot
        self.uptimeMilliseconds = uptimeMilliseconds
    }
}

/// Carries out what a plan says to do in a watched root, one operation at a time.
///
/// - New bytes are written aside in `.shoebox/tmp`, hashed on the way, and only then renamed into place.
/// - Just before each rename the target is compared with what the plan saw, and after it what was replaced is; if it was
///   something else after all, the two are swapped back.
/// - Nothing that a user may have written is deleted: what is replaced or removed goes to the trash. What a program has open
///   for writing stays where it is: it would go on writing in the trash.
/// - One bad file is an outcome, never an error that stops the rest.
///
/// Durable only after `synchronize` of the file system; see `WriteIntent`. Needs `.shoebox` to exist: a root without it
/// is not the one that was meant.
public struct FileApplier {
    let files: any LocalFileSystem
    let nowMilliseconds: () -> UInt64
    let randomBytes: (Int) -> [UInt8]
    private let content: (RecordID, Digest32) throws -> FileContent
    private let recordIntent: (WriteIntent) throws -> Void
    /// By what the age of something in the trash is known although the clock was set meanwhile; nil for the clock alone.
    public var running: RunningTime?
    /// Whether each file's bytes are durable before it is in its place: for what nobody could write again.
    public var isDurable = false

    /// An applier for one root.
    ///
    /// - Parameters:
    ///   - content: where the bytes of a record with this hash come from.
    ///   - recordIntent: stores an intent, durably enough to survive a crash of the machine that the rename survives.
    public init(
        _ files: any LocalFileSystem, nowMilliseconds: @escaping () -> UInt64,
        randomBytes: @escaping (Int) -> [UInt8],
        content: @escaping (RecordID, Digest32) throws -> FileContent,
        recordIntent: @escaping (WriteIntent) throws -> Void
    ) {
        self.files = files
        self.nowMilliseconds = nowMilliseconds
        self.randomBytes = randomBytes
        self.content = content
        self.recordIntent = recordIntent
    }

    /// Carries out one operation. Operations of a plan go in their order; after a failure the rest can go on.
    public func apply(_ operation: FileOperation) -> ApplyOutcome {
        outcome { () throws(FileError) in
            switch operation {
            case .makeDirectory(_, let path): try makeDirectory(path)
            case .move(let record, let from, let to): try move(record, from, to)
            case .park(let record, let from): try park(record, from)
            case .unpark(let record, let to): try unpark(record, to)
            case .write(let record, let path, let hash, let replaced):
                try write(record, path, hash, replacing: replaced)
            case .remove(let record, let path, let stamp): try remove(record, path, expecting: stamp)
            case .removeDirectory(let record, let path): try removeDirectory(record, path)
            }
        }
    }

    /// Writes a small file, such as a sidecar: at a free path, or in place of a file that still has this stamp.
    ///
    /// With `keepsReplaced` what was there goes to the trash; without, it is removed, but only when it is indeed what
    /// had that stamp.
    public func put(
        _ bytes: [UInt8], at path: RelativePath, replacing replaced: FileStamp?, mode: UInt16 = 0o644,
        keepsReplaced: Bool = false
    ) -> ApplyOutcome {
        outcome { () throws(FileError) in
            if let stale = try staleness(of: path, expecting: replaced) { return stale }
            let (temporary, stamp) = try writeAside(path) { file throws(FileError) in
                try file.write(bytes)
                return try file.finish(mode: mode, modifiedNanoseconds: nil, durably: isDurable)
            }
            return try place(
                temporary, stamp, at: path, replacing: replaced, record: nil, keepsReplaced: keepsReplaced)
        }
    }

    /// Moves a file or directory to the trash, if it still has this stamp (nil for whatever it is).
    public func trash(
        _ path: RelativePath, expecting stamp: FileStamp?, record: RecordID? = nil
    ) -> ApplyOutcome {
        outcome { () throws(FileError) in try remove(record, path, expecting: stamp) }
    }

    // MARK: Operations

    private func makeDirectory(_ path: RelativePath) throws(FileError) -> ApplyOutcome {
        do throws(FileError) {
            try files.makeDirectory(path)
        } catch {
            if error.code == .exists {
                guard try files.entry(at: path)?.kind == .directory else {
                    return .stale("'\(path)' is there and is no folder")
                }
            } else {
                throw error
            }
        }
        return .done(try files.entry(at: path)?.stamp)
    }

    private func move(
        _ record: RecordID, _ from: RelativePath, _ to: RelativePath
    ) throws(FileError) -> ApplyOutcome {
        do throws(FileError) {
            try files.rename(from, to: to, mode: .failIfExists)
        } catch {
            if error.code == .exists {
                guard let here = stamp(at: from), let there = stamp(at: to), here.isSameFile(as: there) else {
                    return .stale("'\(to)' is taken")
                }
                return try moveAnyway(record, from, to)
            } else if error.code == .absent {
                return .stale("'\(from)' is gone, or the folder of '\(to)' is")
            }
            // A network file system may say so of a rename that was done.
            guard let moved = stamp(at: to), isAbsent(from) else { throw error }
            return .done(moved)
        }
        return .done(try files.entry(at: to)?.stamp)
    }

    /// Renames where the file itself answers to the new name, too: the names differ by what this file system does not tell apart,
    /// such as capitals. If it does so as a second link, that stays, and so does this.
    private func moveAnyway(
        _ record: RecordID, _ from: RelativePath, _ to: RelativePath
    ) throws(FileError) -> ApplyOutcome {
        let parked = try park(record, from)
        guard case .done = parked else { return parked }
        let moved = outcome { () throws(FileError) in try unpark(record, to) }
        // What can't go back now is known to be aside by the next look into the temporary folder.
        if case .done = moved {} else { _ = outcome { () throws(FileError) in try unpark(record, from) } }
        return moved
    }

    private func remove(
        _ record: RecordID?, _ path: RelativePath, expecting stamp: FileStamp?
    ) throws(FileError) -> ApplyOutcome {
        guard let found = try files.entry(at: path) else { return .done(nil) }
        if let stamp, !found.stamp.isUnchanged(from: stamp) { return .stale("'\(path)' has changed") }
        if files.hasWriter(path) { return .stale(beingWritten(path)) }
        let item = try reserveTrash(for: path, record: record)
        if let failure = failure(of: { () throws(FileError) in
            try files.rename(path, to: item.path, mode: .failIfExists)
        }) {
            // A network file system may say so of a rename that was done; then the way back must be kept.
            let isMoved = try files.entry(at: item.path) != nil
            guard isMoved else {
                discard(item.info)
                if failure.code == .absent { return .done(nil) }
                throw failure
            }
        }
        // Before its stamp, which shows what was written by one that closes it in between.
        let isHeld = files.hasWriter(item.path)
        guard let moved = try files.entry(at: item.path),
            isHeld || stamp.map({ !moved.stamp.isUnchanged(from: $0) }) == true
        else { return .done(nil) }
        // It changed, or was opened, between the look and the rename. Back to its place, or, if that is taken by now, it
        // stays in the trash: both versions exist.
        do throws(FileError) {
            try files.rename(item.path, to: path, mode: .failIfExists)
            discard(item.info)
        } catch {
            guard error.code == .exists else { throw error }
        }
        return .stale(isHeld ? beingWritten(path) : "'\(path)' has changed")
    }

    /// Why something stays that another program has open for writing: what it writes next, it writes into that very file.
    func beingWritten(_ path: RelativePath) -> String { "'\(path)' is open for writing in another program" }

    private func removeDirectory(_ record: RecordID, _ path: RelativePath) throws(FileError) -> ApplyOutcome {
        // The failure as a value: throwing anew inside of a catch that filters trips the optimizer of Swift 6.3.
        guard let failure = failure(of: { () throws(FileError) in try files.removeDirectory(path) }) else {
            return .done(nil)
        }
        if failure.code == .absent { return .done(nil) }
        guard failure.code == .exists else { throw failure }
        guard try holdsJunkOnly(path) else { return .stale("something is still in '\(path)'") }
        return try remove(record, path, expecting: nil)
    }

    /// Whether nothing is left in a directory but what desktops and NAS boxes leave behind.
    @inline(never)
    private func holdsJunkOnly(_ path: RelativePath) throws(FileError) -> Bool {
        for entry in try files.list(path) {
            let isDirectory = entry.kind == .directory
            if !IgnoreRules.junk.ignores(RelativePath([entry.name]), isDirectory: isDirectory) { return false }
        }
        return true
    }

    /// What a call fails with; nil if it doesn't.
    func failure(of call: () throws(FileError) -> Void) -> FileError? {
        do throws(FileError) {
            try call()
            return nil
        } catch {
            return error
        }
    }

    private func write(
        _ record: RecordID, _ path: RelativePath, _ hash: Digest32, replacing replaced: FileStamp?
    ) throws(FileError) -> ApplyOutcome {
        let write: PreparedWrite
        switch prepare(record, at: path, contentHash: hash, replacing: replaced) {
        case .ready(let prepared): write = prepared
        case .over(let outcome): return outcome
        }
        do throws(FileError) {
            try wrapped("write", path) { try recordIntent(write.intent) }
        } catch {
            discard(write)
            throw error
        }
        return finish(write)
    }

    // MARK: Many files at once

    /// The first half of a write: the bytes are written aside and checked, and nothing shows yet. The intent must be
    /// stored before `finish` is called. What is not finished is to be discarded; else the next start does that.
    public func prepare(
        _ record: RecordID, at path: RelativePath, contentHash hash: Digest32, replacing replaced: FileStamp?
    ) -> Preparation {
        do throws(FileError) {
            if let stale = try staleness(of: path, expecting: replaced) { return .over(stale) }
            let source = try wrapped("get the content of", path) { try content(record, hash) }
            let (temporary, stamp) = try writeAside(path) { file throws(FileError) in
                var hasher = SHA256()
                try wrapped("get the content of", path) {
                    try source.stream { chunk in
                        if !source.isVerified { hasher.update(data: chunk) }
                        try file.write(chunk)
                    }
                }
                let found = source.isVerified ? hash : try ContentHasher.digest(hasher, path)
                guard found == hash else {
                    throw FileError(
                        code: .inputOutput, operation: "write", path: path.description,
                        reason: "the bytes that came are not those that were meant")
                }
                return try file.finish(
                    mode: source.mode, modifiedNanoseconds: source.modifiedNanoseconds, durably: isDurable)
            }
            return .ready(
                PreparedWrite(
                    intent: WriteIntent(
                        record: record, path: path, inode: stamp.inode, size: stamp.size, contentHash: hash),
                    temporary: temporary, stamp: stamp, replaced: replaced))
        } catch {
            return .over(.failed(error))
        }
    }

    /// The second half of a write: the file goes to its place, if that is still as the plan saw it.
    public func finish(_ write: PreparedWrite) -> ApplyOutcome {
        outcome { () throws(FileError) in
            try place(
                write.temporary, write.stamp, at: write.intent.path, replacing: write.replaced,
                record: write.intent.record, keepsReplaced: true)
        }
    }

    /// Gives up a write that was prepared.
    public func discard(_ write: PreparedWrite) { discard(write.temporary) }

    // MARK: Writing aside and into place

    /// What keeps a path from being written, nil if it is as the plan saw it.
    private func staleness(
        of path: RelativePath, expecting stamp: FileStamp?
    ) throws(FileError) -> ApplyOutcome? {
        let found = try files.entry(at: path)
        switch (found, stamp) {
        case (nil, nil): return nil
        case (_?, nil): return .stale("'\(path)' is taken")
        case (nil, _?): return .stale("'\(path)' is gone")
        case (let found?, let stamp?):
            guard found.stamp.isUnchanged(from: stamp) else { return .stale("'\(path)' has changed") }
            return files.hasWriter(path) ? .stale(beingWritten(path)) : nil
        }
    }

    /// Writes a new file in `.shoebox/tmp`; leaves none behind when the body throws.
    private func writeAside(
        _ path: RelativePath, _ body: (any WritableFile) throws(FileError) -> FileStamp
    ) throws(FileError) -> (RelativePath, FileStamp) {
        try ensureDirectory(OwnPaths.temporary)
        let temporary = OwnPaths.temporary.appending(try ownName("new-" + encodeHex(randomBytes(8))))
        do throws(FileError) {
            return (temporary, try body(try files.create(temporary)))
        } catch {
            discard(temporary)
            throw FileError(
                code: error.code, operation: error.operation, path: path.description, errno: error.errno,
                reason: error.reason)
        }
    }

    private func place(
        _ temporary: RelativePath, _ stamp: FileStamp, at path: RelativePath, replacing replaced: FileStamp?,
        record: RecordID?, keepsReplaced: Bool
    ) throws(FileError) -> ApplyOutcome {
        guard let replaced else {
            do throws(FileError) {
                try files.rename(temporary, to: path, mode: .failIfExists)
            } catch {
                // It may have been done all the same; then it shows, and what its user does to it is to be known as that.
                if let shown = self.stamp(at: path), shown.isSameFile(as: stamp) {
                    return .done(shown.isUnchanged(from: stamp) ? shown : stamp)
                }
                discard(temporary)
                if error.code == .exists { return .stale("'\(path)' is taken") }
                throw error
            }
            return .done(try stampInPlace(path, of: stamp))
        }
        // The new bytes go to the place in the trash that the old ones will have, and the two swap in one step: at every
        // instant the path has one whole version, and no other version is without a name.
        let item: (path: RelativePath, info: RelativePath)
        do throws(FileError) {
            item = try reserveTrash(for: path, record: record)
            try files.rename(temporary, to: item.path, mode: .failIfExists)
        } catch {
            discard(temporary)
            throw error
        }
        do throws(FileError) {
            // Long after the first look, if the content was large.
            if let stale = try staleness(of: path, expecting: replaced) {
                discard(item.path)
                discard(item.info)
                return stale
            }
            try files.rename(item.path, to: path, mode: .exchange)
        } catch {
            // As above: then the two have changed places.
            if self.stamp(at: path)?.isSameFile(as: stamp) != true {
                // Half done, where it takes several steps: the way back is kept, see `recoverExchanges`.
                if isAside(item.path) { throw error }
                discardOwn(item, stamp)
                if error.code == .absent { return .stale("'\(path)' is gone") }
                throw error
            }
            try endExchange(item.path)
        }
        // Before its stamp, which shows what was written by one that closes it in between.
        let isHeld = files.hasWriter(item.path)
        guard !isHeld, let old = try files.entry(at: item.path), old.stamp.isUnchanged(from: replaced) else {
            try files.rename(item.path, to: path, mode: .exchange)
            discardOwn(item, stamp)
            return .stale(isHeld ? beingWritten(path) : "'\(path)' has changed")
        }
        if !keepsReplaced {
            discard(item.path)
            discard(item.info)
        }
        return .done(try stampInPlace(path, of: stamp))
    }

    /// The stamp that a file of ours has in its place. What its user wrote there since is not what we put there: it must not
    /// be noted as known, so that the next scan sees that it changed.
    private func stampInPlace(_ path: RelativePath, of written: FileStamp) throws(FileError) -> FileStamp {
        guard let found = try files.entry(at: path)?.stamp, found.isUnchanged(from: written) else { return written }
        return found
    }

    /// The stamp of what is at a path; nil where nothing is, or nothing can be seen.
    private func stamp(at path: RelativePath) -> FileStamp? {
        do throws(FileError) { return try files.entry(at: path)?.stamp } catch { return nil }
    }

    /// Whether nothing is seen at a path, and that for certain.
    private func isAbsent(_ path: RelativePath) -> Bool {
        do throws(FileError) { return try files.entry(at: path) == nil } catch { return false }
    }

    /// Removes what lies at a place in the trash if it is the file that we wrote; anything else stays there.
    private func discardOwn(_ item: (path: RelativePath, info: RelativePath), _ stamp: FileStamp) {
        let entry: DirectoryEntry?
        // What can't be looked at stays, with what is noted about it.
        do { entry = try files.entry(at: item.path) } catch { return }
        guard let entry else { return discard(item.info) }
        guard entry.stamp.isUnchanged(from: stamp), !files.hasWriter(item.path) else { return }
        discard(item.path)
        discard(item.info)
    }

    /// Removes a file of our own making. That it stays is no harm: it is found again by `recoverTemporaries` or with
    /// the trash.
    func discard(_ path: RelativePath) {
        do { try files.removeFile(path) } catch {}
    }

    // MARK: Errors

    func outcome(_ body: () throws(FileError) -> ApplyOutcome) -> ApplyOutcome {
        do throws(FileError) {
            return try body()
        } catch {
            return .failed(error)
        }
    }

    /// Turns whatever a hook throws into a file error.
    private func wrapped<Value>(
        _ operation: String, _ path: RelativePath, _ body: () throws -> Value
    ) throws(FileError) -> Value {
        do {
            return try body()
        } catch let error as FileError {
            throw error
        } catch {
            throw FileError(
                code: .inputOutput, operation: operation, path: path.description, reason: "\(error)")
        }
    }

    func ownName(_ text: String) throws(FileError) -> FileName {
        guard let name = FileName(text) else {
            throw FileError(code: .badName, operation: "write", path: text)
        }
        return name
    }

    /// Takes away what others may do in the directories for what is put away or written aside: a photo of a folder that is closed to
    /// them is closed to them there, too.
    public func closeDirectories() {
        for path in [OwnPaths.temporary, OwnPaths.trash] { close(path) }
    }

    private func close(_ path: RelativePath) {
        // Where the file system has no modes, or this is somebody else's, nothing can be done about it.
        guard let mode = stamp(at: path)?.mode, mode & 0o077 != 0 else { return }
        _ = failure(of: { () throws(FileError) in try files.setMode(path, mode & 0o700) })
    }

    /// Makes a directory below `.shoebox`, but never that itself.
    func ensureDirectory(_ path: RelativePath) throws(FileError) {
        do throws(FileError) {
            try files.makeDirectory(path)
            if path == OwnPaths.temporary || path == OwnPaths.trash { close(path) }
        } catch {
            if error.code == .exists {
            } else if error.code == .absent {
                guard path.parent != OwnPaths.directory else {
                    throw FileError(
                        code: .offline, operation: "write", path: path.description,
                        reason: "the folder has no .shoebox directory; is this the right one?")
                }
                try ensureDirectory(path.parent)
                try ensureDirectory(path)
            } else {
                throw error
            }
        }
    }
}
