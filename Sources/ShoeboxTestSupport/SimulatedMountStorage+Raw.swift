public import ShoeboxWorld

/// The server's own hands, and a vandal's: no rule, no delay, no count.
extension SimulatedMountStorage {
    /// All files with their bytes, by path, temporary ones included.
    public func tree() -> [String: [UInt8]] {
        control { state in
            Dictionary(uniqueKeysWithValues: state.contents.files.map { ($0.key.description, $0.value.bytes) })
        }
    }

    /// A file's bytes; nil if there is none.
    public func rawRead(_ path: MountPath) -> [UInt8]? { control { $0.contents.files[path]?.bytes } }

    /// Puts bytes under a name, whatever was there, making missing directories.
    public func rawWrite(_ path: MountPath, _ bytes: [UInt8]) {
        let now = clock.milliseconds
        control { state in
            state.makeDirectories(path.parent, author: "", now: now)
            if state.contents.files[path] == nil {
                state.add(path, bytes, author: "", now: now)
            } else {
                state.contents.files[path]?.bytes = bytes
                state.contents.files[path]?.growth = [(now, bytes.count)]
            }
            state.contents.files[path]?.durableLength = bytes.count
        }
    }

    /// Removes a file, or a directory with everything in it; absent is fine.
    public func rawRemove(_ path: MountPath) {
        let now = clock.milliseconds
        control { state in
            for file in state.contents.files.keys where file.isAtOrBelow(path) {
                state.remove(file, author: "", now: now)
            }
            let directories = state.contents.directories.keys.filter { $0.isAtOrBelow(path) && $0 != .root }
            for directory in directories {
                state.contents.directories[directory] = nil
                state.contents.events[directory.parent, default: []].append(
                    Event(time: now, name: directory.last, isAdded: false, author: ""))
            }
        }
    }

    /// What becomes of a file that is spoiled.
    public enum Spoiling: Hashable, Sendable {
        /// It is gone.
        case removed
        /// It is empty.
        case emptied
        /// Its second half is gone.
        case cut
        /// One of its bytes is another one.
        case flipped(byte: Int)
    }

    /// Spoils the file of a number, modulo how many of the kind there are, in the order of their paths.
    func spoil(_ stored: SimulationStep.Stored, file: Int, _ spoiling: Spoiling) {
        let paths = control { state in
            state.contents.files.keys.filter { path in
                let names = path.components
                return names.count > 3 && names[0] == "zones" && names[2] == stored.rawValue
                    && !path.last.hasPrefix(".tmp-")
            }.sorted()
        }
        guard !paths.isEmpty, case let path = paths[file % paths.count], var bytes = rawRead(path) else { return }
        switch spoiling {
        case .removed: return rawRemove(path)
        case .emptied: bytes = []
        case .cut: bytes.removeLast((bytes.count + 1) / 2)
        case .flipped(let byte):
            guard !bytes.isEmpty else { return }
            bytes[byte % bytes.count] ^= 1
        }
        rawWrite(path, bytes)
    }

    /// Names in a directory, sorted, temporary ones included; empty if there is no such directory.
    public func rawList(_ directory: MountPath) -> [String] {
        control { state in
            let files = state.contents.files.keys.filter { $0.parent == directory }
            let directories = state.contents.directories.keys.filter { $0.parent == directory && $0 != .root }
            return (files + directories).map(\.last).sorted()
        }
    }

    /// Renames a file over whatever is at the target; false if there is none.
    @discardableResult
    public func rawRename(_ source: MountPath, to target: MountPath) -> Bool {
        guard let bytes = rawRead(source) else { return false }
        rawRemove(source)
        rawWrite(target, bytes)
        return true
    }
}

extension MountPath {
    /// Whether this is that path or lies below it.
    public func isAtOrBelow(_ other: MountPath) -> Bool { components.starts(with: other.components) }
}

extension SimulatedMountStorage.State {
    typealias Event = SimulatedMountStorage.Event

    var usedBytes: Int { contents.files.values.reduce(0) { $0 + $1.bytes.count } }

    mutating func makeDirectories(_ path: MountPath, author: String, now: UInt64) {
        guard contents.directories[path] == nil else { return }
        makeDirectories(path.parent, author: author, now: now)
        let event = Event(time: now, name: path.last, isAdded: true, author: author)
        contents.directories[path] = event
        contents.events[path.parent, default: []].append(event)
        everKnown.insert(path)
    }

    mutating func add(_ path: MountPath, _ bytes: [UInt8], author: String, now: UInt64) {
        contents.files[path] = SimulatedMountStorage.File(
            bytes: bytes, author: author, publishedAt: now, growth: [(now, bytes.count)])
        contents.events[path.parent, default: []].append(
            Event(time: now, name: path.last, isAdded: true, author: author))
        everKnown.insert(path)
    }

    mutating func remove(_ path: MountPath, author: String, now: UInt64) {
        guard contents.files.removeValue(forKey: path) != nil else { return }
        contents.events[path.parent, default: []].append(
            Event(time: now, name: path.last, isAdded: false, author: author))
    }
}
