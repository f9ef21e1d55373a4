public import ShoeboxModel
public import ShoeboxWorld

/// What a user does with ordinary programs: never counted, never broken by `faults`, and durable at once unless said
/// otherwise (the bytes written here and all names, as on a journalling file system; others' bytes stay in danger).
/// Works on whatever is at the place of the root; `.offline` if nothing is.
extension SimulatedDisk {
    /// How a program saves a file that exists.
    public enum Saving: Hashable, Sendable {
        /// Truncates and writes: the inode stays.
        case inPlace
        /// Writes aside and renames over: a new inode.
        case replacing
    }

    /// A path from text; `.badName` if it is none.
    public static func path(_ text: String) throws(FileError) -> RelativePath {
        guard let path = RelativePath(text) else { throw FileError(code: .badName, operation: "use", path: text) }
        return path
    }

    /// Writes a whole file, making missing directories. A nil time stands for now.
    public func write(
        _ path: String, _ text: String, atNanoseconds modified: Int64? = nil, saving: Saving = .inPlace
    ) throws(FileError) {
        try write(try Self.path(path), bytes: Array(text.utf8), atNanoseconds: modified, saving: saving)
    }

    /// Writes a whole file, making missing directories. A nil time stands for now.
    public func write(
        _ path: RelativePath, bytes: [UInt8], atNanoseconds modified: Int64? = nil, saving: Saving = .inPlace,
        durably: Bool = true
    ) throws(FileError) {
        try makeDirectories(path.parent)
        try user("write", path, durably: durably) { volume, state throws(FileError) in
            if let capacity = state.capacityBytes, volume.usedBytes + bytes.count > capacity {
                throw volume.error(.full, "no space left on the simulated disk")
            }
            var serial: Int
            if let existing = try volume.find(path) {
                let node = try volume.node(existing)
                guard node.kind == .file else { throw volume.error(.unexpectedKind, "it is no regular file") }
                if state.enforcesModes, node.mode & 0o200 == 0, saving == .inPlace {
                    throw volume.error(.denied, "the file is read-only")
                }
                serial = existing
                if saving == .replacing {
                    guard let aside = FileName(".aside-\(volume.nodes.count)") else { throw volume.error(.badName) }
                    let temporary = path.parent.appending(aside)
                    serial = try volume.makeNode(.file, at: temporary, mode: 0o644)
                    try volume.rename(temporary, path, .replace)
                }
            } else {
                serial = try volume.makeNode(.file, at: path, mode: 0o644)
            }
            volume.setBytes(serial, bytes)
            if let modified { volume.setModified(serial, modified) }
            state.mark(path.parent)
            return serial
        }
    }

    /// Makes a directory and its parents; existing is fine.
    public func makeDirectories(_ path: RelativePath) throws(FileError) {
        for length in 0..<path.names.count {
            let part = RelativePath(Array(path.names.prefix(length + 1)))
            try user("makeDirectory", part, durably: true) { volume, state throws(FileError) in
                if let existing = try volume.find(part) {
                    guard try volume.node(existing).kind == .directory else {
                        throw volume.error(.unexpectedKind, "it is no directory")
                    }
                    return nil
                }
                let serial = try volume.makeNode(.directory, at: part, mode: 0o755)
                state.mark(part.parent)
                state.mark(part)
                return serial
            }
        }
    }

    /// Makes a symbolic link.
    public func link(_ path: String, to target: String) throws(FileError) {
        let path = try Self.path(path)
        try user("link", path, durably: true) { volume, state throws(FileError) in
            let serial = try volume.makeNode(.symbolicLink, at: path, mode: 0o777, bytes: Array(target.utf8))
            state.mark(path.parent)
            return serial
        }
    }

    /// The bytes of a file; `.absent` if there is none.
    public func read(_ path: String) throws(FileError) -> [UInt8] { try read(try Self.path(path)) }

    /// The bytes of a file; `.absent` if there is none.
    public func read(_ path: RelativePath) throws(FileError) -> [UInt8] {
        try withVolume("read", path) { volume, _ throws(FileError) in
            let node = try volume.node(try volume.require(path))
            guard node.kind == .file else { throw volume.error(.unexpectedKind, "it is no regular file") }
            return node.bytes
        }
    }

    /// A file's bytes as text, with damaged characters replaced.
    public func text(_ path: String) throws(FileError) -> String { String(decoding: try read(path), as: UTF8.self) }

    /// The stamp of what is at a path; nil if nothing is.
    public func stamp(_ path: String) throws(FileError) -> FileStamp? {
        let path = try Self.path(path)
        return try withVolume("stamp", path) { volume, _ throws(FileError) in
            guard let serial = try volume.find(path) else { return nil }
            return try volume.node(serial).stamp
        }
    }

    /// All files of the root with their bytes, by path (escaped as `RelativePath.description`); the real root's, even
    /// while it is unmounted.
    public func tree() -> [String: [UInt8]] { control { Self.files(of: $0.main) } }

    /// As `tree`, without anything below a directory or of a name that starts so, such as `.shoebox`.
    public func tree(without prefix: String) -> [String: [UInt8]] {
        tree().filter { path, _ in !path.split(separator: "/").contains { $0.hasPrefix(prefix) } }
    }

    /// All files and directories of the root, by path; the real root's, even while it is unmounted.
    public func entries() -> [RelativePath: (kind: FileKind, stamp: FileStamp)] {
        control { state in
            var result: [RelativePath: (kind: FileKind, stamp: FileStamp)] = [:]
            for item in state.main.walk() { result[item.path] = (item.node.kind, item.node.stamp) }
            return result
        }
    }

    /// Renames a file or directory over whatever is at the target, as `mv -T` does, making missing parents.
    public func move(_ source: String, to target: String) throws(FileError) {
        try move(try Self.path(source), to: try Self.path(target))
    }

    /// Renames a file or directory over whatever is at the target, as `mv -T` does, making missing parents.
    public func move(_ source: RelativePath, to target: RelativePath, mode: RenameMode = .replace) throws(FileError) {
        try makeDirectories(target.parent)
        try user("move", source, durably: true) { volume, state throws(FileError) in
            try volume.rename(source, target, mode)
            state.mark(source.parent)
            state.mark(target.parent)
            state.markTree(volume, target)
            if mode == .exchange { state.markTree(volume, source) }
            return nil
        }
    }

    /// Moves a file into another watched folder of the same file system: it keeps its inode.
    public func move(_ source: String, to target: String, on other: SimulatedDisk) throws(FileError) {
        let (source, target) = (try Self.path(source), try Self.path(target))
        try other.makeDirectories(target.parent)
        var file: SimulatedVolume.Node?
        try user("move", source, durably: true) { volume, state throws(FileError) in
            file = try volume.takeFile(source)
            state.mark(source.parent)
            return nil
        }
        try other.user("move", target, durably: true) { volume, state throws(FileError) in
            guard let file else { return nil }
            if try volume.find(target) != nil { try volume.removeFile(target) }
            state.mark(target.parent)
            return try volume.putFile(file, at: target)
        }
    }

    /// Removes a file, or a directory with everything in it.
    public func delete(_ path: String) throws(FileError) { try delete(try Self.path(path)) }

    /// Removes a file, or a directory with everything in it.
    public func delete(_ path: RelativePath) throws(FileError) {
        try user("delete", path, durably: true) { volume, state throws(FileError) in
            _ = try volume.require(path)
            for item in volume.walk().reversed() where item.path.isAtOrBelow(path) {
                if item.node.kind == .directory {
                    try volume.removeDirectory(item.path)
                } else {
                    try volume.removeFile(item.path)
                }
                state.mark(item.path.parent)
            }
            return nil
        }
    }

    /// Sets permission bits.
    public func setMode(_ path: String, _ mode: UInt16) throws(FileError) {
        let path = try Self.path(path)
        try user("setMode", path, durably: true) { volume, state throws(FileError) in
            volume.setMode(try volume.require(path), mode)
            state.mark(path.parent)
            return nil
        }
    }

    /// Sets a modification time.
    public func touch(_ path: String, atNanoseconds modified: Int64) throws(FileError) {
        let path = try Self.path(path)
        try user("touch", path, durably: true) { volume, state throws(FileError) in
            volume.setModified(try volume.require(path), modified)
            state.mark(path.parent)
            return nil
        }
    }

    /// Starts writing a file slowly: it is (or becomes) what is given and stays open for writing until `endWriting`.
    public func beginWriting(_ path: String, _ bytes: [UInt8]) throws(FileError) {
        try write(try Self.path(path), bytes: bytes, durably: false)
        try openForWriting(path)
    }

    /// Opens a file for writing and changes nothing yet: it is written by `continueWriting`, and open until `endWriting`.
    public func openForWriting(_ path: String) throws(FileError) {
        let path = try Self.path(path)
        try locked { state throws(FileError) in
            let held = try state.withVolume("open", path) { volume, _ throws(FileError) in
                let serial = try volume.require(path)
                volume.open(serial, writing: true)
                return (serial: serial, volume: volume.device)
            }
            state.userWriters[path] = held
        }
    }

    /// Whether what `beginWriting` opened is at a path by now.
    public func isOpenForWriting(_ path: RelativePath) -> Bool {
        let isOpen = try? locked { state throws(FileError) in
            let held = state.userWriters.values.map(\.serial)
            return try state.withVolume("look", path) { volume, _ throws(FileError) in
                held.contains { volume.path(of: $0) == path }
            }
        }
        return isOpen ?? false
    }

    /// Writes on at the end of a file that `beginWriting` opened, wherever it is by now.
    public func continueWriting(_ path: String, _ bytes: [UInt8]) throws(FileError) {
        let path = try Self.path(path)
        try locked { state throws(FileError) in
            guard let held = state.userWriters[path] else {
                throw FileError(code: .absent, operation: "write", path: path.description, reason: "not opened")
            }
            try state.withVolume("write", path) { volume, state throws(FileError) in
                guard volume.device == held.volume else { throw volume.error(.inputOutput) }
                volume.appendBytes(held.serial, bytes)
                if let now = volume.path(of: held.serial) { state.mark(now.parent) }
            }
        }
    }

    /// Closes what `beginWriting` opened. Returns where the file is by now and what is in it; nil if it was removed.
    @discardableResult
    public func endWriting(_ path: String) throws(FileError) -> (path: RelativePath, bytes: [UInt8])? {
        let path = try Self.path(path)
        return try locked { state throws(FileError) in
            guard let held = state.userWriters.removeValue(forKey: path) else { return nil }
            return try state.withVolume("close", path) { volume, state throws(FileError) in
                guard volume.device == held.volume else { return nil }
                volume.commitJournal(andBytesOf: held.serial)
                defer { volume.close(held.serial, writing: true) }
                guard let now = volume.path(of: held.serial), let node = volume.nodes[held.serial] else { return nil }
                state.mark(now.parent)
                return (now, node.bytes)
            }
        }
    }

    /// Whether the root is there.
    public var isMounted: Bool { control { $0.attachment == .mounted } }

    /// Runs one act of the user's; the body returns the file whose bytes become durable, nil for names only.
    private func user(
        _ operation: String, _ path: RelativePath, durably: Bool,
        _ body: (inout SimulatedVolume, inout State) throws(FileError) -> Int?
    ) throws(FileError) {
        try withVolume(operation, path) { volume, state throws(FileError) in
            let serial = try body(&volume, &state)
            if durably { volume.commitJournal(andBytesOf: serial ?? SimulatedVolume.root) }
        }
    }
}
