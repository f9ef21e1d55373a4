import Foundation
import ShoeboxCloud
import ShoeboxLibrary
import ShoeboxModel
import ShoeboxPlanning
import ShoeboxStore
import ShoeboxWorld

/// A local file that should hold certain bytes.
struct LocalSource {
    var file: any ReadableFile
    var name: FileName
}

extension FileError.Code {
    /// The bytes in the container are not those that the record names.
    static let contentDamaged = FileError.Code(rawValue: "contentDamaged")
}

/// Reads a file from its start to its end.
private func stream(_ file: any ReadableFile, into take: ([UInt8]) throws -> Void) throws {
    var offset: UInt64 = 0
    while true {
        let chunk = try file.read(at: offset, maxBytes: 131_072)
        if chunk.isEmpty { return }
        try take(chunk)
        offset += UInt64(chunk.count)
    }
}

extension Engine {
    /// Local files that held certain bytes when last looked at, opened. Whoever reads them checks the hash.
    func localSources(of hash: Digest32) throws -> [LocalSource] {
        let rows = try store.read { db in
            try db.base(contentHash: hash).compactMap { row -> (BaseRow, RelativePath)? in
                guard let parent = try db.basePath(of: row.parent, top: [top(row.root)]), !row.isParked else {
                    return nil
                }
                return (row, parent.appending(row.name))
            }
        }
        return rows.compactMap { row, path in
            do {
                let file = try files(row.root).open(path)
                guard try file.stamp().isUnchanged(from: row.stamp) else { return nil }
                return LocalSource(file: file, name: row.name)
            } catch { return nil }
        }
    }

    /// An applier for a watched folder.
    func makeApplier(_ root: RootKind) -> FileApplier {
        FileApplier(
            files(root), nowMilliseconds: world.nowMilliseconds, randomBytes: world.randomBytes,
            content: { [self] id, hash in try content(hash, of: id) },
            recordIntent: { [self] intent in
                try store.write { db in
                    try db.addIntent(
                        root: root, path: intent.path, id: intent.record, inode: intent.inode, size: intent.size,
                        contentHash: intent.contentHash, boot: world.bootID)
                }
            })
    }

    /// The bytes of a record: from a local file that has them, else from the container.
    private func content(_ hash: Digest32, of id: RecordID) throws -> FileContent {
        let state = try store.read { db in try db.state(of: id) }
        let isWritable = zones[id.zone]?.mayWrite(account) == true
        let source = try localSources(of: hash).first ?? trashSource(of: hash)
        let asset = state?.fields[.content]?.values.compactMap(\.value.asset).first {
            $0.contentHash == hash && $0.location != nil
        }
        return FileContent(
            mode: isWritable ? 0o644 : 0o444, modifiedNanoseconds: state?[.modified]?.integer,
            stream: { [self] take in
                if let source {
                    return try stream(source.file, into: take)
                }
                guard let asset else {
                    throw FileError(
                        code: .absent, operation: "download", path: state?.fileName?.description ?? "",
                        reason: "its content has not been published yet")
                }
                do {
                    try AssetStore(mount: world.mount).download(asset, into: take)
                    try want(nil, hash, in: id.zone)
                } catch let error as CloudError {
                    if error.code == .damaged { damagedAssets.insert(hash) }
                    try noteUnread(asset, error, in: id.zone)
                    throw FileError(
                        code: error.code == .damaged ? .contentDamaged : .absent, operation: "download",
                        path: state?.fileName?.description ?? "", reason: error.description)
                }
            })
    }

    // MARK: Copies in the own library

    /// Keeps an edit of a read-only file as one private copy in the library, updated and never numbered.
    func keepPrivateCopy(of row: BaseRow) throws {
        let title = zones[row.id.zone]?.control.title ?? "share"
        try keepCopyInLibrary(row, folder: "Private copies of \(title)")
        restoreAfter[row.id] = world.uptimeMilliseconds() + settings.restoreMilliseconds
        try report(
            "readOnly", path: row.name.description, zone: row.id.zone,
            "'\(row.name)' was changed in '\(title)', which you may only read. Your version is in 'Private copies of \(title)' in your library.",
            "The original comes back. Ask the owner for 'readWrite' to change it for everyone.")
    }

    /// Says that an edit of a read-only file could not be copied into the library.
    func reportUncopied(_ row: BaseRow, _ error: FileError) throws {
        try report(
            error.code == .full ? "diskFull" : "notApplied", path: row.name.description, zone: row.id.zone,
            "Your version of '\(row.name)', in a share that you may only read, cannot be copied into your library: \(error.reason).",
            "It stays in the shared folder until then. Free some space in the library folder; it is tried again by itself."
        )
    }

    /// Tries again to copy edits of read-only files into the library.
    func keepUncopied() throws {
        for row in uncopied.values {
            do { try keepPrivateCopy(of: row) } catch is FileError { continue }
            uncopied[row.id] = nil
            for code in ["diskFull", "notApplied"] {
                try clearProblem(code, path: row.name.description, zone: row.id.zone)
            }
            try store.write { db in try db.markDirty(row.id) }
        }
    }

    /// Copies a shown file into a folder at the top of the library, under its own name; a former copy of the same
    /// record there is replaced, into the trash.
    func keepCopyInLibrary(_ row: BaseRow, folder: String) throws {
        guard
            let parent = try store.read({ db in try db.basePath(of: row.parent, top: [top(row.root)]) }),
            try checkRoot(.library)
        else { return }
        let source = parent.appending(row.name)
        let directory = RelativePath([FileName(safe: folder)])
        if try world.library.entry(at: directory) == nil { try world.library.makeDirectory(directory) }
        let key = "copy:\(row.id)"
        var target = directory.appending(row.name)
        if let former = try store.read({ db in try db.metaText(key) }), let path = RelativePath(former) {
            target = path
        }
        let (hash, stamp) = try ContentHasher.hash(source, files(row.root))
        let file = try files(row.root).open(source)
        var replaced = try world.library.entry(at: target)?.stamp
        if replaced != nil, try store.read({ db in try db.metaText(key) }) == nil {
            // The name is another photo's: stay beside it.
            target = directory.appending(row.name.inserting(" (\(row.id.name.description.prefix(8)))"))
            replaced = try world.library.entry(at: target)?.stamp
        }
        let copier = FileApplier(
            world.library, nowMilliseconds: world.nowMilliseconds, randomBytes: world.randomBytes,
            content: { _, _ in
                FileContent(mode: 0o644, modifiedNanoseconds: stamp.modifiedNanoseconds) { take in
                    try stream(file, into: take)
                }
            }, recordIntent: { _ in })
        let outcome = copier.apply(.write(row.id, at: target, contentHash: hash, replacing: replaced))
        if case .failed(let error) = outcome { throw error }
        let path = target.description
        try store.write { db in try db.setMetaText(key, path) }
        later[.init(root: .library, path: directory)] = world.uptimeMilliseconds()
    }
}
