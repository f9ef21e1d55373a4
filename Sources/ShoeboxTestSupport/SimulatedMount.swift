public import ShoeboxWorld

/// One client's view of a `SimulatedMountStorage`: as late and as unreliable as its behaviour and faults say.
public final class SimulatedMount: Mount {
    /// What is at the place of the container.
    public enum Attachment: Sendable {
        /// The storage.
        case mounted
        /// Nothing: `.offline`.
        case missing
        /// Another storage: `SimulatedMountStorage(clock:)` for an empty directory, or a foreign container. A client that
        /// had used the first one says `.offline` until `reopen`, unless the other has a `container.json`: that is taken
        /// for the container mounted anew.
        case other(SimulatedMountStorage)
        /// A server that doesn't answer: every call fails with `.timedOut`, as it does when a call hangs for too long.
        case hung
    }

    struct State: Sendable {
        var attachment = Attachment.mounted
        var pinned: ObjectIdentifier?
        var behaviour: SimulatedMountBehaviour
        var random: SeededGenerator
        var shownAsOf: [MountPath: UInt64] = [:]
        var absentSince: [MountPath: UInt64] = [:]
        var listedMax: Int?
    }

    /// The client's name: who is the author of what it publishes.
    public let client: String
    /// What is behind the mount.
    public let storage: SimulatedMountStorage
    /// Where calls are counted and broken, as part `mount`.
    public let faults: SimulatedFaults
    let state: Mutex<State>

    /// A client of a storage. The seed chooses delays.
    public init(
        client: String, storage: SimulatedMountStorage, faults: SimulatedFaults = SimulatedFaults(),
        behaviour: SimulatedMountBehaviour = SimulatedMountBehaviour(), seed: UInt64 = 0
    ) {
        self.client = client
        self.storage = storage
        self.faults = faults
        state = Mutex(State(behaviour: behaviour, random: SeededGenerator(seed: seed, part: client)))
    }

    /// How late and forgetful the view is.
    public var behaviour: SimulatedMountBehaviour {
        get { state.withLock { $0.behaviour } }
        set { state.withLock { $0.behaviour = newValue } }
    }

    /// Makes every listing stop after so many names, silently; nil for whole ones again.
    public func setHalfListed(keeping count: Int?) { state.withLock { $0.listedMax = count } }

    /// Puts something at the place of the container.
    public func attach(_ attachment: Attachment) { state.withLock { $0.attachment = attachment } }

    /// As `attach(.missing)`.
    public func unmount() { attach(.missing) }

    /// As `attach(.mounted)`.
    public func mount() { attach(.mounted) }

    /// A new process opens the mount: whatever is there now is taken for the container, and nothing is remembered.
    public func reopen() {
        state.withLock { state in
            state.pinned = nil
            state.shownAsOf = [:]
            state.absentSince = [:]
        }
    }

    // MARK: Mount

    /// Names as this client is shown them now.
    public func list(_ directory: MountPath) throws(FileError) -> [String] {
        try faults.tracing({ $0.count }) { () throws(FileError) in try listUntraced(directory) }
    }

    private func listUntraced(_ directory: MountPath) throws(FileError) -> [String] {
        let (storage, outcome) = try begin("list", directory)
        let now = storage.clock.milliseconds
        let asOf: UInt64 = state.withLock { state in
            let delay = state.behaviour.listingDelayMilliseconds
            let chosen = delay.lowerBound + state.random.next() % (delay.upperBound - delay.lowerBound + 1)
            let asOf = max(state.shownAsOf[directory] ?? 0, now - min(now, chosen))
            state.shownAsOf[directory] = asOf
            return asOf
        }
        let hidden = hiddenByAbsence(directory, now)
        let names: [String] = try storage.locked { state throws(FileError) in
            if state.contents.files[directory] != nil { throw error(.unexpectedKind, "list", directory) }
            guard hidden == nil, let made = state.contents.directories[directory],
                made.time <= asOf || made.author == client
            else { throw error(.absent, "list", directory) }
            var names: Set<String> = []
            for event in state.contents.events[directory] ?? [] where event.time <= asOf || event.author == client {
                if event.isAdded { names.insert(event.name) } else { names.remove(event.name) }
            }
            return names.filter { !$0.hasPrefix(".tmp-") }.sorted()
        }
        if let most = state.withLock({ $0.listedMax }) { return Array(names.prefix(most)) }
        state.withLock { state in
            for name in names { if let path = directory.appending(name) { state.absentSince[path] = nil } }
        }
        try outcome.finish()
        return names
    }

    /// Bytes as this client is shown them now.
    public func read(_ path: MountPath, from offset: UInt64, maxBytes: Int) throws(FileError) -> [UInt8] {
        try faults.tracing({ $0.count }) { () throws(FileError) in
            try readUntraced(path, from: offset, maxBytes: maxBytes)
        }
    }

    private func readUntraced(_ path: MountPath, from offset: UInt64, maxBytes: Int) throws(FileError) -> [UInt8] {
        let (storage, outcome) = try begin("read", path)
        let now = storage.clock.milliseconds
        let hidden = hiddenByAbsence(path, now)
        let behaviour = behaviour
        let found: (file: SimulatedMountStorage.File?, firstMissing: MountPath?, isDirectory: Bool) = storage.control {
            state in
            if behaviour.reportsUnknownNames, !state.everKnown.contains(path) {
                state.violations.append(.init(rule: .askedForUnknown, client: client, path: path))
            }
            let file = state.contents.files[path]
            var missing: MountPath?
            if file == nil, state.contents.directories[path] == nil {
                missing = path
                while let parent = missing?.parent, state.contents.directories[parent] == nil { missing = parent }
            }
            return (file, missing, state.contents.directories[path] != nil)
        }
        if found.isDirectory { throw error(.unexpectedKind, "read", path) }
        guard hidden == nil, let file = found.file, isVisible(path, file, behaviour, now) else {
            if let missing = found.firstMissing {
                state.withLock { if $0.absentSince[missing] == nil || hidden == nil { $0.absentSince[missing] = now } }
            }
            throw error(.absent, "read", path)
        }
        var length = file.bytes.count
        let delay = behaviour.appendDelay(of: path, for: client)
        if file.author != client, delay > 0 {
            let shown = now - min(now, delay)
            length = file.growth.last { $0.time <= shown }?.length ?? file.growth.first?.length ?? 0
        }
        try outcome.finish()
        guard offset < UInt64(length), maxBytes > 0 else { return [] }
        let start = Int(offset)
        return Array(file.bytes[start..<start + min(maxBytes, length - start)])
    }

    /// Writes a temporary file and renames it: three counted calls, `publish`, `write` and `rename`.
    public func publish(_ path: MountPath, _ bytes: [UInt8]) throws(FileError) {
        try faults.tracing({ _ in nil }) { () throws(FileError) in try publishUntraced(path, bytes) }
    }

    private func publishUntraced(_ path: MountPath, _ bytes: [UInt8]) throws(FileError) {
        let storage = try begin("publish", path).storage
        let temporary = try makeTemporary(for: path, storage)
        do throws(FileError) {
            try writeTemporary(temporary, bytes, storage)
        } catch {
            if !faults.isCrashed { storage.rawRemove(temporary) }
            throw error
        }
        try rename(temporary, to: path, storage)
    }

    /// As the other `publish`, with one counted `write` a chunk. What the body throws is thrown on.
    public func publish(
        _ path: MountPath, writing body: ((_ chunk: [UInt8]) throws -> Void) throws -> Void
    ) throws {
        let storage = try begin("publish", path).storage
        let temporary = try makeTemporary(for: path, storage)
        do {
            try body { chunk in try self.writeTemporary(temporary, chunk, storage) }
        } catch {
            // A dead process tidies nothing up.
            if !faults.isCrashed { storage.rawRemove(temporary) }
            throw error
        }
        try rename(temporary, to: path, storage)
    }

    /// Appends; a torn one leaves a prefix of the bytes.
    public func append(_ path: MountPath, _ bytes: [UInt8]) throws(FileError) {
        try faults.tracing({ _ in nil }) { () throws(FileError) in try appendUntraced(path, bytes) }
    }

    private func appendUntraced(_ path: MountPath, _ bytes: [UInt8]) throws(FileError) {
        let (storage, outcome) = try begin("append", path)
        let now = storage.clock.milliseconds
        try storage.locked { state throws(FileError) in
            if state.contents.directories[path] != nil { throw error(.unexpectedKind, "append", path) }
            try checkParents(path, &state, now)
            var wanted = outcome.keeping.map { Array(bytes.prefix($0)) } ?? bytes
            let room = state.capacityBytes.map { max(0, $0 - state.usedBytes) } ?? Int.max
            let isShort = wanted.count > room
            if isShort { wanted = Array(wanted.prefix(room)) }
            if let file = state.contents.files[path] {
                if file.author != client {
                    state.violations.append(.init(rule: .appendedToForeign, client: client, path: path))
                }
            } else {
                if state.everKnown.contains(path) {
                    state.violations.append(.init(rule: .reusedName, client: client, path: path))
                }
                state.add(path, [], author: client, now: now)
            }
            state.contents.files[path]?.bytes += wanted
            let length = state.contents.files[path]?.bytes.count ?? 0
            state.contents.files[path]?.growth.append((now, length))
            state.contents.files[path]?.durableLength = length
            if isShort { throw error(.full, "append", path) }
        }
        try outcome.finish()
    }

    /// Removes a file; absent is fine.
    public func remove(_ path: MountPath) throws(FileError) {
        try faults.tracing({ _ in nil }) { () throws(FileError) in try removeUntraced(path) }
    }

    private func removeUntraced(_ path: MountPath) throws(FileError) {
        let (storage, outcome) = try begin("remove", path)
        let now = storage.clock.milliseconds
        try storage.locked { state throws(FileError) in
            if state.contents.directories[path] != nil { throw error(.unexpectedKind, "remove", path) }
            if let file = state.contents.files[path], file.author != client {
                state.violations.append(.init(rule: .removedForeign, client: client, path: path))
            }
            state.remove(path, author: client, now: now)
        }
        try outcome.finish()
    }

    /// Makes a directory and its parents.
    public func makeDirectory(_ path: MountPath) throws(FileError) {
        try faults.tracing({ _ in nil }) { () throws(FileError) in try makeDirectoryUntraced(path) }
    }

    private func makeDirectoryUntraced(_ path: MountPath) throws(FileError) {
        let (storage, outcome) = try begin("makeDirectory", path)
        let now = storage.clock.milliseconds
        try storage.locked { state throws(FileError) in
            if state.contents.files[path] != nil { throw error(.unexpectedKind, "makeDirectory", path) }
            try checkParents(path, &state, now)
            state.makeDirectories(path, author: client, now: now)
        }
        try outcome.finish()
    }

    /// Makes durable what this client published.
    public func synchronize() throws(FileError) {
        try faults.tracing({ _ in nil }) { () throws(FileError) in try synchronizeUntraced() }
    }

    private func synchronizeUntraced() throws(FileError) {
        let (storage, outcome) = try begin("synchronize", .root)
        storage.control { state in
            for (path, file) in state.contents.files where file.author == client && file.durableLength == nil {
                state.contents.files[path]?.durableLength = file.bytes.count
            }
        }
        try outcome.finish()
    }
}
