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
    /// Its path as its user knows it.
    var shown: String
}

extension FileError.Code {
    /// The bytes in the container are not those that the record names.
    static let contentDamaged = FileError.Code(rawValue: "contentDamaged")
}

/// Reads a file from its start to its end, and says so if it can't be read.
func stream(
    _ file: any ReadableFile, into take: ([UInt8]) throws -> Void, unreadable note: () -> Void = {}
) throws {
    var offset: UInt64 = 0
    while true {
        let chunk: [UInt8]
        do { chunk = try file.read(at: offset, maxBytes: 131_072) } catch {
            note()
            throw error
        }
        if chunk.isEmpty { return }
        try take(chunk)
        offset += UInt64(chunk.count)
    }
}

extension Engine {
    /// Local files that held certain bytes when last looked at, opened. Whoever reads them checks the hash.
    ///
    /// - Parameter isRefused: is told of files that are there and can't be opened, by the paths for people.
    func localSources(
        of hash: Digest32, isRefused: (String, FileError) throws -> Void = { _, _ in }
    ) throws -> [LocalSource] {
        let rows = try store.read { db in
            try db.base(contentHash: hash).compactMap { row -> (BaseRow, RelativePath)? in
                guard let parent = try db.basePath(of: row.parent, top: [top(row.root)]), !row.isParked else {
                    return nil
                }
                return (row, parent.appending(row.name))
            }
        }
        return try rows.compactMap { row, path in
            let shown = display(path, row.root)
            do throws(FileError) {
                let file = try files(row.root).open(path)
                guard try file.stamp().isUnchanged(from: row.stamp) else {
                    // No watcher need tell of it: a server sets its own time some moments after a file was closed.
                    lookAtObstacle(in: .init(root: row.root, path: path.parent))
                    return nil
                }
                return LocalSource(file: file, name: row.name, shown: shown)
            } catch {
                // What is gone, or away, is told of by the look at its folder.
                if !error.isAbsence, error.code != .offline { try isRefused(shown, error) }
                return nil
            }
        }
    }

    /// An applier for a watched folder.
    func makeApplier(_ root: RootKind) -> FileApplier {
        var applier = FileApplier(
            files(root), nowMilliseconds: world.nowMilliseconds, randomBytes: world.randomBytes,
            content: { [self] id, hash in try content(hash, of: id) },
            recordIntent: { [self] intent in
                try store.write { db in
                    try db.addIntent(
                        root: root, path: intent.path, id: intent.record, inode: intent.inode, size: intent.size,
                        contentHash: intent.contentHash, boot: world.bootID)
                }
            })
        applier.running = RunningTime(boot: world.bootID, uptimeMilliseconds: world.uptimeMilliseconds)
        return applier
    }

    /// Puts off reading a damaged asset again: nobody mends it under that name, but for a person. The longer, the larger it is, up to
    /// an hour.
    private func noteDamagedRead(_ asset: AssetReference) {
        damagedReads[asset] = world.uptimeMilliseconds() + min(asset.size / 100, 3_600_000)
    }

    /// The bytes of a record: from a local file that has them, else from the container.
    private func content(_ hash: Digest32, of id: RecordID) throws -> FileContent {
        let state = try store.read { db in try db.state(of: id) }
        let isWritable = try store.read { db in try may(.editRecord, id, db) }
        // Where a local file that has them can't be read, the container is asked the next time.
        let source = unreadSources.contains(hash) ? nil : try localSources(of: hash).first ?? trashSource(of: hash)
        let asset = state?.fields[.content]?.values.compactMap(\.value.asset).first {
            $0.contentHash == hash && $0.location != nil
        }
        return FileContent(
            mode: isWritable ? 0o644 : 0o444, modifiedNanoseconds: state?[.modified]?.integer,
            // What is downloaded is checked on its way.
            isVerified: source == nil,
            stream: { [self] take in
                if let source {
                    return try stream(source.file, into: take) { unreadSources.insert(hash) }
                }
                unreadSources.remove(hash)
                guard let asset else {
                    throw FileError(
                        code: .absent, operation: "download", path: state?.fileName?.description ?? "",
                        reason: "its content has not been published yet")
                }
                if let due = damagedReads[asset], world.uptimeMilliseconds() < due {
                    throw FileError(
                        code: .contentDamaged, operation: "download", path: state?.fileName?.description ?? "",
                        reason: "its bytes in the cloud folder are damaged; they are read again in a while")
                }
                do {
                    try AssetStore(mount: world.mount).download(asset, into: take)
                    damagedReads[asset] = nil
                    try want(nil, hash, in: id.zone)
                } catch let error as CloudError {
                    if error.code == .damaged {
                        damagedAssets.insert(hash)
                        noteDamagedRead(asset)
                    }
                    try noteUnread(asset, error, in: id.zone)
                    throw FileError(
                        code: error.code == .damaged ? .contentDamaged : .absent, operation: "download",
                        path: state?.fileName?.description ?? "", reason: error.description)
                }
            })
    }
}
