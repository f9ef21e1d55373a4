import Foundation

#if canImport(Glibc)
    import Glibc
#endif

extension ConfigurationEnvironment {
    /// The environment of the running process.
    public static func current() -> ConfigurationEnvironment {
        ConfigurationEnvironment(
            variables: ProcessInfo.processInfo.environment,
            currentDirectory: AbsolutePath(FileManager.default.currentDirectoryPath) ?? .root)
    }
}

extension Configuration {
    /// A configuration file with more bytes than this is none.
    public static let bytesMax = 1_048_576

    /// Reads and checks a configuration file; links in its folders are followed for the check of overlaps.
    public static func load(
        _ file: AbsolutePath, environment: ConfigurationEnvironment
    ) throws(ConfigurationError) -> Configuration {
        try parse(readFile(file), file: file, environment: environment, resolve: LinkResolver().resolved)
    }

    /// Writes the configuration to a file that does not exist yet, readable by its user only; missing directories are
    /// made.
    ///
    /// An existing file is never replaced, whatever is in it. The file is whole or not there.
    public func save(to file: AbsolutePath) throws(ConfigurationError) {
        do {
            try FileManager.default.createDirectory(
                atPath: file.parent.text, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        } catch {
            throw Self.failure("can't make the directory \(file.parent)", file, "\(error.localizedDescription)")
        }
        let aside = file.text + ".\(getpid()).tmp"
        let descriptor = open(aside, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw Self.failure("can't write", file, Self.errnoText()) }
        defer { unlink(aside) }
        var bytes = encoded()[...]
        while !bytes.isEmpty {
            let count = bytes.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else {
                let reason = Self.errnoText()
                close(descriptor)
                throw Self.failure("can't write", file, reason)
            }
            bytes = bytes.dropFirst(count)
        }
        let isDurable = fsync(descriptor) == 0
        let reason = Self.errnoText()
        guard close(descriptor) == 0, isDurable else { throw Self.failure("can't write", file, reason) }
        // A link, unlike a rename, fails when the name is taken.
        guard link(aside, file.text) == 0 else {
            if errno == EEXIST {
                throw ConfigurationError(
                    code: .unreadable, file: file, message: "there is a configuration already",
                    remedy: "Use it, move it away, or write --config with another file.")
            }
            throw Self.failure("can't write", file, Self.errnoText())
        }
    }

    private static func readFile(_ file: AbsolutePath) throws(ConfigurationError) -> [UInt8] {
        let descriptor = open(file.text, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else {
            guard errno == ENOENT || errno == ENOTDIR else { throw failure("can't read", file, errnoText()) }
            throw ConfigurationError(
                code: .absent, file: file, message: "there is no configuration",
                remedy: "Run 'shoebox init', or name another file with --config.")
        }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            throw failure("can't read", file, "it is not a file")
        }
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = read(descriptor, &chunk, chunk.count)
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw failure("can't read", file, errnoText()) }
            if count == 0 { return bytes }
            bytes += chunk[..<count]
            guard bytes.count <= bytesMax else {
                throw failure("can't read", file, "it has more than \(bytesMax) bytes")
            }
        }
    }

    private static func errnoText() -> String { String(cString: strerror(errno)) }

    private static func failure(_ message: String, _ file: AbsolutePath, _ reason: String) -> ConfigurationError {
        ConfigurationError(
            code: .unreadable, file: file, message: "\(message): \(reason)",
            remedy: "Check that the path and its permissions are right.")
    }
}
