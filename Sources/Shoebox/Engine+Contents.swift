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
func stream(_ file: any ReadableFile, into take: ([UInt8]) throws -> Void) throws {
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
        let isWritable = try store.read { db in try may(.editRecord, id, db) }
        let source = try localSources(of: hash).first ?? trashSource(of: hash)
        let asset = state?.fields[.content]?.values.compactMap(\.value.asset).first {
            $0.contentHash == hash && $0.location != nil
        }
        return FileContent(
            mode: isWritable ? 0o644 : 0o444, modifiedNanoseconds: state?[.modified]?.integer,
            // What is downloaded is checked on its way.
            isVerified: source == nil,
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
}
