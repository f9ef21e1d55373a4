import Glibc
import ShoeboxWorld

/// The right to run the engine of one state directory: one process at a time. Given back by `release`, by dropping it,
/// or by the kernel when the process ends.
///
/// A lock of the open file description (`F_OFD_SETLK`), so that it can be asked for without being taken. The file names
/// the process for people only. Its file is removed and made anew in one case: its holder has ended or was killed and
/// hangs in a call of the kernel that does not return, as on a dead mount; such a process never writes again.
public final class LibraryLock: Sendable {
    private let file: Mutex<Int32>

    private init(_ file: Int32) { self.file = Mutex(file) }
    deinit { release() }

    /// Takes the lock; waits so long for a command that has it, and not for a daemon.
    ///
    /// - Throws: `RequestError` with `ExitCode.busy`, naming the process, if another one has it.
    public static func acquire(_ state: StateDirectory, patienceMilliseconds: UInt64 = 0) throws -> LibraryLock {
        if let lock = try attempt(state) { return lock }
        let start = LiveWorld.uptimeMilliseconds()
        while LiveWorld.uptimeMilliseconds() < start + patienceMilliseconds {
            if let activity = Activity.read(state), activity.isDaemon, activity.process == Self.holder(of: state) {
                break
            }
            _ = poll(nil, 0, 50)
            if let lock = try attempt(state) { return lock }
        }
        let holder = holder(of: state)
        throw RequestError(
            ExitCode.busy,
            "Another shoebox is running for this account" + (holder.map { ", process \($0)" } ?? "") + ".",
            holder.map { "Use it as it is, or stop it with 'kill \($0)'." } ?? "Wait for it, or stop it.")
    }

    /// Takes the lock if nobody has it.
    ///
    /// - Throws: `RequestError` if the file can't be made.
    public static func attempt(_ state: StateDirectory) throws -> LibraryLock? {
        for _ in 0..<3 {
            let file = open(state.lock.text, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
            guard file >= 0 else {
                throw RequestError(
                    ExitCode.failed, "cannot open \(state.lock): \(String(cString: strerror(errno)))",
                    "Check the permissions of the state directory.")
            }
            if set(file, F_WRLCK) {
                // Another process may have put a new file in its place meanwhile.
                guard isStillThere(file, state.lock) else {
                    close(file)
                    continue
                }
                let text = Array("\(getpid())\n".utf8)
                ftruncate(file, 0)
                _ = pwrite(file, text, text.count, 0)
                return LibraryLock(file)
            }
            defer { close(file) }
            guard let holder = readHolder(file), ProcessState(of: holder) == .ending, remove(file, state) else {
                return nil
            }
        }
        return nil
    }

    /// Removes the lock of a process that is ending and can't let go of it; not the one that another process has put in its place
    /// meanwhile. False if somebody else is about to do so.
    private static func remove(_ file: Int32, _ state: StateDirectory) -> Bool {
        let guarding = open(state.lock.text + ".taking", O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard guarding >= 0 else { return false }
        defer { close(guarding) }
        guard set(guarding, F_WRLCK) else { return false }
        if isStillThere(file, state.lock) { unlink(state.lock.text) }
        return true
    }

    /// The process that has the lock; nil if nobody has, 0 if it can't be told who.
    public static func holder(of state: StateDirectory) -> Int32? {
        let file = open(state.lock.text, O_RDWR | O_CLOEXEC)
        guard file >= 0 else { return nil }
        defer { close(file) }
        var query = flock()
        query.l_type = Int16(F_WRLCK)
        query.l_whence = Int16(SEEK_SET)
        guard fcntl(file, getOpenFileLock, &query) == 0, query.l_type != Int16(F_UNLCK) else { return nil }
        let holder = readHolder(file) ?? 0
        return holder > 0 && ProcessState(of: holder) == .ending ? nil : holder
    }

    /// Gives the lock back; again is fine. Safe from any thread.
    public func release() {
        file.withLock { file in
            guard file >= 0 else { return }
            ftruncate(file, 0)
            _ = Self.set(file, F_UNLCK)
            close(file)
            file = -1
        }
    }

    // Not in every version of the C library's headers as Swift sees them.
    private static let getOpenFileLock: Int32 = 36
    private static let setOpenFileLock: Int32 = 37

    private static func set(_ file: Int32, _ type: Int32) -> Bool {
        var lock = flock()
        lock.l_type = Int16(type)
        lock.l_whence = Int16(SEEK_SET)
        return fcntl(file, setOpenFileLock, &lock) == 0
    }

    private static func isStillThere(_ file: Int32, _ path: AbsolutePath) -> Bool {
        var opened = stat()
        var named = stat()
        return fstat(file, &opened) == 0 && stat(path.text, &named) == 0 && opened.st_ino == named.st_ino
            && opened.st_dev == named.st_dev
    }

    private static func readHolder(_ file: Int32) -> Int32? {
        var buffer = [UInt8](repeating: 0, count: 32)
        let count = pread(file, &buffer, buffer.count, 0)
        guard count > 0 else { return nil }
        return Int32(String(decoding: buffer[..<count].prefix { $0 > 0x20 }, as: UTF8.self))
    }
}
