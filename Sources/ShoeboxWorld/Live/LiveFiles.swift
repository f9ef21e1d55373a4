internal import CFileSystem
internal import Glibc
internal import ShoeboxModel

/// A regular file opened for reading.
final class LiveReadableFile: ReadableFile {
    private let file: Descriptor
    private let path: String

    init(_ file: Descriptor, path: String) {
        self.file = file
        self.path = path
    }

    func stamp() throws(FileError) -> FileStamp { FileStamp(try file.stat(operation: "look at", path: path)) }

    func read(at offset: UInt64, maxBytes: Int) throws(FileError) -> [UInt8] {
        try file.read(at: offset, maxBytes: maxBytes, path: path)
    }
}

/// A new file being written.
final class LiveWritableFile: WritableFile {
    private var file: Descriptor?
    private var behind: WriteBehind
    private let path: String

    init(_ file: Descriptor, path: String, _ queue: WriteBehindQueue) {
        self.file = file
        self.path = path
        behind = WriteBehind(queue)
    }

    func write(_ bytes: [UInt8]) throws(FileError) {
        let file = try openFile("write")
        try file.write(bytes, path: path)
        behind.wrote(bytes.count, to: file)
    }

    func finish(mode: UInt16?, modifiedNanoseconds: Int64?, durably: Bool) throws(FileError) -> FileStamp {
        let file = try openFile("finish")
        behind.end(file)
        if let mode, file.with({ fchmod($0, mode_t(mode & 0o7777)) }) != 0 {
            throw FileError(errno: errno, operation: "change the mode of", path: path)
        }
        if let modifiedNanoseconds {
            let error = file.with { shoebox_set_modified($0, modifiedNanoseconds) }
            guard error == 0 else { throw FileError(errno: -error, operation: "set the time of", path: path) }
        }
        if durably { try file.sync(dataOnly: false, path: path) }
        let stamp = FileStamp(try file.stat(operation: "look at", path: path))
        // Network file systems report a failed write when a file is closed. A duplicate is closed here, as that flushes
        // just the same and leaves the descriptor itself to its owner.
        let duplicate = file.with { dup($0) }
        guard duplicate >= 0, close(duplicate) == 0 else {
            throw FileError(errno: errno, operation: "close", path: path)
        }
        self.file = nil
        return stamp
    }

    private func openFile(_ operation: String) throws(FileError) -> Descriptor {
        guard let file else {
            throw FileError(code: .inputOutput, operation: operation, path: path, reason: "it is already closed")
        }
        return file
    }
}
