internal import CFileSystem
internal import Glibc
internal import ShoeboxModel

/// An open file descriptor, closed when released.
final class Descriptor: Sendable {
    /// The number that the kernel knows it by; good only while something keeps this alive, see `with`.
    let raw: Int32

    /// Takes over a descriptor that is open.
    init(_ raw: Int32) { self.raw = raw }
    deinit { _ = Glibc.close(raw) }

    /// Calls a function with the number that the kernel knows this by, which is good only until it returns.
    func with<Result>(_ body: (Int32) -> Result) -> Result { withExtendedLifetime(self) { body(raw) } }

    /// The stat of a name in this directory; of the descriptor itself for the empty name.
    func stat(_ name: [CChar], operation: String, path: String) throws(FileError) -> shoebox_stat {
        var result = shoebox_stat()
        let error = shoebox_stat_at(raw, name, &result)
        guard error == 0 else { throw FileError(errno: -error, operation: operation, path: path) }
        return result
    }

    /// The stat of what is open.
    func stat(operation: String, path: String) throws(FileError) -> shoebox_stat {
        try stat([0], operation: operation, path: path)
    }

    /// Opens a path below this directory, following no symbolic link.
    func open(
        _ name: [CChar], _ flags: Int32, mode: UInt32 = 0, operation: String, path: String
    ) throws(FileError) -> Descriptor {
        let file = shoebox_open_beneath(raw, name, flags, mode)
        guard file >= 0 else { throw FileError(errno: -file, operation: operation, path: path) }
        return Descriptor(file)
    }

    /// Up to `count` bytes from an offset; empty at the end. Interrupted and short reads are continued.
    func read(at offset: UInt64, maxBytes count: Int, path: String) throws(FileError) -> [UInt8] {
        guard let start = Int64(exactly: offset) else {
            throw FileError(errno: EINVAL, operation: "read", path: path)
        }
        var failure: Int32 = 0
        let result = [UInt8](unsafeUninitializedCapacity: max(0, count)) { buffer, filled in
            while filled < count, let base = buffer.baseAddress {
                let (position, overflow) = start.addingReportingOverflow(Int64(filled))
                if overflow { break }
                let got = pread(raw, base + filled, count - filled, off_t(position))
                if got > 0 {
                    filled += got
                } else if got == 0 {
                    break
                } else if errno != EINTR {
                    failure = errno
                    break
                }
            }
        }
        guard failure == 0 else { throw FileError(errno: failure, operation: "read", path: path) }
        return result
    }

    /// Writes all bytes at the file's position.
    func write(_ bytes: [UInt8], path: String) throws(FileError) {
        var failure: Int32 = 0
        bytes.withUnsafeBytes { buffer in
            var done = 0
            while done < buffer.count, let base = buffer.baseAddress {
                let put = Glibc.write(raw, base + done, buffer.count - done)
                if put >= 0 {
                    done += put
                } else if errno != EINTR {
                    failure = errno
                    return
                }
            }
        }
        guard failure == 0 else { throw FileError(errno: failure, operation: "write", path: path) }
    }

    /// Lets the kernel begin to write a range to the disk; a hint.
    func startWriting(from offset: UInt64, count: UInt64) { shoebox_start_writing(raw, offset, count) }

    /// Waits until a range is on the disk, and lets go of the memory that held it; a hint.
    func finishWriting(from offset: UInt64, count: UInt64) { shoebox_finish_writing(raw, offset, count) }

    /// Lets the kernel begin to read a range; a hint.
    func startReading(from offset: UInt64, count: UInt64) { shoebox_start_reading(raw, offset, count) }

    /// Lets go of the memory that holds a range; a hint.
    func forgetCached(from offset: UInt64, count: UInt64) { shoebox_forget_cached(raw, offset, count) }

    /// Makes the file's content durable. File systems that know no fsync are taken at their word.
    func sync(dataOnly: Bool, path: String) throws(FileError) {
        let result = dataOnly ? fdatasync(raw) : fsync(raw)
        let number = errno
        guard result == 0 || [EINVAL, ENOTSUP, ENOSYS].contains(number) else {
            throw FileError(errno: number, operation: "sync", path: path)
        }
    }
}

/// A path or name as the C functions take it.
func cString(_ bytes: [UInt8]) -> [CChar] { bytes.map { CChar(bitPattern: $0) } + [0] }

extension FileKind {
    /// From the shim's number.
    init(shim kind: UInt8) {
        switch UInt32(kind) {
        case SHOEBOX_FILE.rawValue: self = .file
        case SHOEBOX_DIRECTORY.rawValue: self = .directory
        case SHOEBOX_LINK.rawValue: self = .symbolicLink
        default: self = .other
        }
    }
}
