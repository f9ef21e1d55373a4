import ShoeboxWorld

/// The steps that calls are made of.
extension SimulatedMount {
    func begin(
        _ name: String, _ path: MountPath
    ) throws(FileError) -> (storage: SimulatedMountStorage, outcome: SimulatedFaults.Outcome) {
        let outcome = try faults.begin("mount", name, path.description)
        if case .hung = state.withLock({ $0.attachment }) { throw error(.timedOut, name, path) }
        let current: SimulatedMountStorage? = state.withLock { state in
            let current: SimulatedMountStorage
            switch state.attachment {
            case .mounted: current = storage
            case .other(let other): current = other
            case .missing, .hung: return nil
            }
            let identity = ObjectIdentifier(current)
            if state.pinned == nil { state.pinned = identity }
            if state.pinned != identity {
                guard let marker = MountPath("container.json"), current.rawRead(marker) != nil else { return nil }
                state.pinned = identity
            }
            return current
        }
        guard let current else { throw error(.offline, name, path) }
        return (current, outcome)
    }

    func error(_ code: FileError.Code, _ operation: String, _ path: MountPath) -> FileError {
        FileError(
            code: code, operation: operation, path: path.description, errno: code.usualErrno,
            reason: "simulated \(code.rawValue)")
    }

    /// The part of a path that this client still believes to be absent; forgets beliefs that are too old.
    func hiddenByAbsence(_ path: MountPath, _ now: UInt64) -> MountPath? {
        state.withLock { state in
            var current = path
            while true {
                if let since = state.absentSince[current] {
                    if now < since &+ state.behaviour.negativeLookupMilliseconds { return current }
                    state.absentSince[current] = nil
                }
                if current == .root { return nil }
                current = current.parent
            }
        }
    }

    func isVisible(
        _ path: MountPath, _ file: SimulatedMountStorage.File, _ behaviour: SimulatedMountBehaviour, _ now: UInt64
    ) -> Bool {
        if file.author == client { return true }
        let rule = behaviour.visibilityDelayMilliseconds.filter { path.isAtOrBelow($0.key) }
            .max { $0.key.components.count < $1.key.components.count }
        return file.publishedAt &+ (rule?.value ?? 0) <= now
    }

    /// Makes missing parents; `.unexpectedKind` if one is a file.
    func checkParents(
        _ path: MountPath, _ state: inout SimulatedMountStorage.State, _ now: UInt64
    ) throws(FileError) {
        var parent = path.parent
        while parent != .root {
            if state.contents.files[parent] != nil { throw error(.unexpectedKind, "makeDirectory", path) }
            parent = parent.parent
        }
        state.makeDirectories(path.parent, author: client, now: now)
    }

    func makeTemporary(for path: MountPath, _ storage: SimulatedMountStorage) throws(FileError) -> MountPath {
        let now = storage.clock.milliseconds
        return try storage.locked { state throws(FileError) in
            try checkParents(path, &state, now)
            state.temporaryCount += 1
            guard let temporary = path.parent.appending(".tmp-\(client)-\(state.temporaryCount)") else {
                throw error(.badName, "publish", path)
            }
            state.add(temporary, [], author: client, now: now)
            return temporary
        }
    }

    func writeTemporary(
        _ temporary: MountPath, _ bytes: [UInt8], _ storage: SimulatedMountStorage
    ) throws(FileError) {
        let outcome = try begin("write", temporary).outcome
        try storage.locked { state throws(FileError) in
            guard state.contents.files[temporary] != nil else { throw error(.inputOutput, "write", temporary) }
            let wanted = outcome.keeping.map { Array(bytes.prefix($0)) } ?? bytes
            let room = state.capacityBytes.map { max(0, $0 - state.usedBytes) } ?? Int.max
            state.contents.files[temporary]?.bytes += wanted.prefix(room)
            if wanted.count > room { throw error(.full, "write", temporary) }
        }
        try outcome.finish()
    }

    func rename(
        _ temporary: MountPath, to path: MountPath, _ storage: SimulatedMountStorage
    ) throws(FileError) {
        let outcome = try begin("rename", path).outcome
        let now = storage.clock.milliseconds
        try storage.locked { state throws(FileError) in
            guard let bytes = state.contents.files[temporary]?.bytes else {
                throw error(.inputOutput, "publish", path)
            }
            state.remove(temporary, author: client, now: now)
            if state.contents.directories[path] != nil { throw error(.exists, "publish", path) }
            if let file = state.contents.files[path] {
                if file.bytes != bytes {
                    state.violations.append(.init(rule: .publishedOver, client: client, path: path))
                }
                throw error(.exists, "publish", path)
            }
            if state.everKnown.contains(path) {
                state.violations.append(.init(rule: .reusedName, client: client, path: path))
            }
            state.add(path, bytes, author: client, now: now)
        }
        try outcome.finish()
        state.withLock { $0.absentSince[path] = nil }
    }
}
