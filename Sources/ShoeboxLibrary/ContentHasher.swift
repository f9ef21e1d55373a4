internal import Crypto
internal import Dispatch
public import ShoeboxModel
public import ShoeboxWorld

extension FileError.Code {
    /// The file changed while it was read; look again when it has settled.
    public static let changedWhileReading = FileError.Code(rawValue: "changedWhileReading")
}

/// What became of hashing one file: SHA-256 of its bytes and the stamp it has, or why it could not be hashed.
public enum HashedFile: Sendable {
    /// Read from its start to its end, and unchanged meanwhile.
    case hashed(Digest32, FileStamp)
    /// Not read, or not to the end.
    case failed(FileError)
}

/// Hashes the bytes of files.
public enum ContentHasher {
    /// How many files are hashed at a time, where they can be: hashing takes longer than reading from memory, and a disk
    /// that turns reads two files hardly faster than one.
    private static let threadsMax = 2

    /// Hashes several files as `hash` does each, the answers in their order.
    public static func hashAll<Files: LocalFileSystem>(_ paths: [RelativePath], _ files: Files) -> [HashedFile] {
        @Sendable func one(_ path: RelativePath) -> HashedFile {
            do throws(FileError) {
                let (digest, stamp) = try hash(path, files)
                return .hashed(digest, stamp)
            } catch {
                return .failed(error)
            }
        }
        guard files.allowsCallsAtOnce, paths.count > 1 else { return paths.map(one) }
        let state = Mutex((next: 0, results: [HashedFile?](repeating: nil, count: paths.count)))
        DispatchQueue.concurrentPerform(iterations: min(threadsMax, paths.count)) { _ in
            while true {
                let index = state.withLock { state in
                    state.next += 1
                    return state.next - 1
                }
                guard index < paths.count else { return }
                let result = one(paths[index])
                state.withLock { $0.results[index] = result }
            }
        }
        return state.withLock(\.results).enumerated().map { index, result in result ?? one(paths[index]) }
    }

    /// Bytes read at once: more would be mapped and unmapped anew each time by the allocator.
    static let chunkBytes = 131_072 - 64

    /// SHA-256 of a file, and the stamp it had before and after. Throws `.changedWhileReading` if these differ, or if it is another
    /// file's place by then: what was read may have been written elsewhere. `.absent` if nothing is there any more.
    public static func hash(_ path: RelativePath, _ files: some LocalFileSystem) throws(FileError) -> (
        Digest32, FileStamp
    ) {
        let file = try files.open(path)
        let before = try file.stamp()
        var hasher = SHA256()
        var offset: UInt64 = 0
        while true {
            let chunk = try file.read(at: offset, maxBytes: chunkBytes)
            if chunk.isEmpty { break }
            hasher.update(data: chunk)
            offset += UInt64(chunk.count)
            // A file that grows as fast as it is read would keep us here for ever.
            if offset > before.size { throw changed(path) }
        }
        let after = try file.stamp()
        guard after.isUnchanged(from: before), offset == before.size else { throw changed(path) }
        guard let entry = try files.entry(at: path) else {
            throw FileError(code: .absent, operation: "hash", path: path.description)
        }
        guard entry.stamp.isSameFile(as: after) else { throw changed(path) }
        return (try digest(hasher, path), after)
    }

    /// SHA-256 of bytes.
    public static func hash(_ bytes: [UInt8]) -> Digest32 {
        Digest32(bytes: Array(SHA256.hash(data: bytes))) ?? Digest32(high: 0, low: 0)
    }

    static func digest(_ hasher: SHA256, _ path: RelativePath) throws(FileError) -> Digest32 {
        guard let digest = Digest32(bytes: Array(hasher.finalize())) else {
            throw FileError(code: .inputOutput, operation: "hash", path: path.description)
        }
        return digest
    }

    private static func changed(_ path: RelativePath) -> FileError {
        FileError(
            code: .changedWhileReading, operation: "hash", path: path.description,
            reason: "it changed while it was read")
    }
}
