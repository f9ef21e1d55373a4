import Foundation
import Glibc
public import ShoeboxCloud
import ShoeboxModel
import ShoeboxStore

/// The directory that holds one account's database and keys on one machine. Mode 0700; nothing in it is shared.
///
/// ```
/// shoebox.sqlite            the local database
/// identity                  the keys, 0600
/// recovery-<account>.key    restores the account when all devices are lost, 0600; until it is exported
/// pending                   the keys of a device that waits to be admitted, 0600
/// lock                      held by whoever runs the engine; names its process
/// doorbell                  a FIFO: a byte in it wakes the daemon
/// activity                  what the one who runs the engine is doing, see `Activity`
/// ```
public struct StateDirectory: Hashable, Sendable {
    /// The directory.
    public let path: AbsolutePath

    /// The state directory at a path; nothing is touched.
    public init(_ path: AbsolutePath) { self.path = path }

    /// The local database.
    public var database: AbsolutePath { path.appending("shoebox.sqlite") }
    /// The keys.
    public var identityFile: AbsolutePath { path.appending("identity") }
    /// The lock.
    public var lock: AbsolutePath { path.appending("lock") }
    /// The FIFO that wakes the daemon.
    public var doorbell: AbsolutePath { path.appending("doorbell") }
    /// What whoever runs the engine is doing.
    public var activity: AbsolutePath { path.appending("activity") }
    /// The file that restores the account.
    public func recoveryFile(account: String) -> AbsolutePath { path.appending("recovery-\(account).key") }

    /// The keys of a device that waits to be admitted.
    public var pendingFile: AbsolutePath { path.appending("pending") }

    /// Whether an account was set up here.
    public var isSetUp: Bool { access(identityFile.text, F_OK) == 0 }

    /// Whether there is a local database.
    public var hasDatabase: Bool { access(database.text, F_OK) == 0 }

    /// How many bytes its disk has left for its user; nil if that can't be told.
    var bytesFree: UInt64? {
        var found = statvfs()
        guard statvfs(path.text, &found) == 0 else { return nil }
        return UInt64(found.f_bavail).multipliedReportingOverflow(by: UInt64(found.f_frsize)).partialValue
    }

    /// Whether the disk has no room for the next transaction.
    var isFull: Bool { bytesFree.map { $0 < 1 << 20 } ?? false }

    /// Opens or makes the local database.
    ///
    /// - Throws: `RequestError` that names the file, and says what to do about a full disk or a damaged file.
    func openStore() throws -> Store {
        close()
        do { return try Store(path: database.text) } catch {
            guard let failure = Failures.describe(error, state: self) else { throw error }
            throw RequestError(failure.code, failure.message, failure.remedy)
        }
    }

    /// Makes the directory and its parents, readable by its user only.
    public func make() throws {
        do {
            try FileManager.default.createDirectory(
                atPath: path.text, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        } catch {
            throw RequestError(
                ExitCode.failed, "The state directory \(path) cannot be made: \(error.localizedDescription)",
                "Check the permissions of the directory above it.")
        }
        close()
    }

    /// Takes away what others may do there, if it was made by somebody else's hand, or put back from a backup: the database in it
    /// has the keys of all zones.
    private func close() {
        var found = stat()
        guard stat(path.text, &found) == 0, found.st_uid == geteuid(), found.st_mode & 0o077 != 0 else { return }
        // Where the file system has no modes, nothing can be done about it.
        _ = chmod(path.text, found.st_mode & 0o700)
    }

    /// The identity that is stored here; nil if there is none yet.
    public func readIdentity() throws -> Identity? {
        guard let bytes = try LocalFile.read(identityFile, maxBytes: 16 << 20) else { return nil }
        do { return try Identity(serialized: bytes) } catch {
            throw RequestError(
                ExitCode.failed, "The identity file \(identityFile) is damaged: \(error.message)",
                "Restore it from a backup, or set this device up anew with the recovery file: 'shoebox init --import FILE' with the account and folders of before."
            )
        }
    }

    /// Moves a damaged identity aside, which nothing can be done with but to keep it.
    func putAsideDamagedIdentity() throws {
        do { _ = try readIdentity() } catch let error as RequestError {
            guard try LocalFile.read(identityFile, maxBytes: 16 << 20) != nil else { throw error }
            for number in 1...1_000 {
                let aside = path.appending("identity.damaged\(number == 1 ? "" : "-\(number)")")
                guard access(aside.text, F_OK) != 0 else { continue }
                guard rename(identityFile.text, aside.text) == 0 else { throw error }
                return
            }
            throw error
        }
    }

    /// Stores the identity, in place of a former one, in one step.
    public func save(_ identity: Identity) throws {
        try LocalFile.replace(identityFile, with: try identity.serialized())
    }
}

/// Reading and writing of small files outside the watched folders.
package enum LocalFile {
    /// The whole of a file; nil if there is none.
    package static func read(_ path: AbsolutePath, maxBytes: Int) throws -> [UInt8]? {
        let file = open(path.text, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard file >= 0 else {
            if errno == ENOENT || errno == ENOTDIR { return nil }
            throw failure("read", path)
        }
        defer { close(file) }
        var result: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = Glibc.read(file, &chunk, chunk.count)
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw failure("read", path) }
            if count == 0 { return result }
            result += chunk[..<count]
            guard result.count <= maxBytes else {
                throw RequestError(
                    ExitCode.failed, "\(path) cannot be read: it has more than \(maxBytes) bytes.",
                    "Check that it is the right file.")
            }
        }
    }

    /// Writes a file, readable by its user only, in one step and durably, in place of a former one.
    package static func replace(_ path: AbsolutePath, with bytes: [UInt8]) throws {
        let aside = "\(path.text).\(getpid()).tmp"
        unlink(aside)
        defer { unlink(aside) }
        try write(aside, bytes, shownAs: path)
        guard rename(aside, path.text) == 0 else { throw failure("write", path) }
        try synchronizeDirectory(of: path)
    }

    /// Writes a new file, readable by its user only; one that is there already is never replaced.
    package static func create(_ path: AbsolutePath, with bytes: [UInt8]) throws {
        let aside = "\(path.text).\(getpid()).tmp"
        unlink(aside)
        defer { unlink(aside) }
        try write(aside, bytes, shownAs: path)
        guard link(aside, path.text) == 0 else {
            if errno == EEXIST {
                throw RequestError(
                    ExitCode.failed, "There is a file \(path) already.", "Choose another name, or move it away.")
            }
            throw failure("write", path)
        }
        try synchronizeDirectory(of: path)
    }

    private static func write(_ aside: String, _ bytes: [UInt8], shownAs path: AbsolutePath) throws {
        let file = open(aside, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard file >= 0 else { throw failure("write", path) }
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(file, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else {
                let error = failure("write", path)
                close(file)
                throw error
            }
            rest = rest.dropFirst(count)
        }
        let isDurable = fsync(file) == 0
        let error = failure("write", path)
        guard close(file) == 0, isDurable else { throw error }
    }

    /// Makes the names in a file's directory durable.
    private static func synchronizeDirectory(of path: AbsolutePath) throws {
        let directory = open(path.parent.text, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard directory >= 0 else { return }
        defer { close(directory) }
        guard fsync(directory) == 0 || errno == EINVAL else { throw failure("write", path) }
    }

    private static func failure(_ operation: String, _ path: AbsolutePath) -> RequestError {
        RequestError(
            ExitCode.failed, "cannot \(operation) \(path): \(String(cString: strerror(errno)))",
            "Check that the path and its permissions are right.")
    }
}
