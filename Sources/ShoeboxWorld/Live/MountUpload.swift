internal import CFileSystem
internal import Glibc

/// A file that is being written under a temporary name, to be published under a new one.
///
/// Unchecked because `file` and `isOver` are used by one call after another, each of which the pool has handed over with
/// a lock; a call that is late keeps the upload alive and is the last to touch it.
final class MountUpload: @unchecked Sendable {
    private let calls: MountCalls
    private let target: MountPath
    private let directory: Descriptor
    private let temporary: [CChar]
    private let syncsAtOnce: Bool
    private var file: Descriptor?
    private var behind: WriteBehind
    private var isOver = false

    /// Makes the target's directories if need be, and an empty file in it.
    init(_ target: MountPath, _ calls: MountCalls) throws(FileError) {
        self.calls = calls
        self.target = target
        behind = WriteBehind(calls.behind)
        directory = try calls.openMaking(target.parent, "write")
        let random = String(UInt64.random(in: .min ... .max), radix: 16)
        temporary = cString(Array(".tmp-\(random)".utf8))
        let file = try directory.open(
            temporary, O_WRONLY | O_CREAT | O_EXCL, mode: 0o600, operation: "write", path: calls.shown(target))
        self.file = file
        syncsAtOnce = Self.needsFileSync(file.with { shoebox_file_system_type($0) })
    }

    /// Whether syncfs doesn't reach the server: FUSE (unless told), SMB 1 to 3.
    static func needsFileSync(_ type: UInt64) -> Bool {
        [0x6573_5546, 0xFF53_4D42, 0xFE53_4D42, 0x517B].contains(type)
    }

    /// Adds bytes at the end.
    func write(_ bytes: [UInt8]) throws(FileError) {
        guard let file else {
            throw FileError(code: .inputOutput, operation: "write", path: shown, reason: "it is already closed")
        }
        try file.write(bytes, path: shown)
        behind.wrote(bytes.count, to: file)
    }

    /// Gives the file its modes and its name; `.exists` if that is taken.
    func finish() throws(FileError) {
        guard let file else {
            throw FileError(code: .inputOutput, operation: "write", path: shown, reason: "it is already closed")
        }
        behind.end(file)
        try calls.setMode(of: file, calls.modes.file, shown)
        if syncsAtOnce { try file.sync(dataOnly: false, path: shown) }
        let stat = try file.stat(operation: "write", path: shown)
        // Closing is where a network file system says that writing failed.
        let duplicate = file.with { dup($0) }
        guard duplicate >= 0, close(duplicate) == 0 else {
            throw FileError(errno: errno, operation: "close", path: shown)
        }
        self.file = nil
        let name = cString(Array(target.last.utf8))
        var error = directory.with {
            LiveRename.rename(from: $0, temporary, to: $0, name, mode: .failIfExists)
        }
        if error == ENOENT {
            // The answer to a rename that happened may be lost, and the repeated one finds nothing.
            var found = shoebox_stat()
            if directory.with({ shoebox_stat_at($0, name, &found) }) == 0, found.inode == stat.inode,
                found.size == stat.size
            {
                error = 0
            }
        }
        guard error == 0 else { throw FileError(errno: error, operation: "write", path: shown) }
        isOver = true
        if syncsAtOnce { try calls.sync(directory: directory, shown) }
    }

    /// Removes what is not published.
    func discard() {
        guard !isOver else { return }
        isOver = true
        file = nil
        _ = directory.with { unlinkat($0, temporary, 0) }
    }

    private var shown: String { calls.shown(target) }
}
