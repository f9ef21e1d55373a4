public import ShoeboxModel
public import ShoeboxWorld

/// The accounts of a container, `accounts/<account>/<number>-<hash>`, read through the mount and verified.
///
/// Files never change, so what was read once is kept; a listing may be old, so an account or device that is not known
/// is looked for again. A class, because zones share one cache; all state is behind a mutex that is never held during
/// a call on the mount.
public final class AccountDirectory: Sendable {
    private struct State {
        var statements: [AccountID: [String: AccountStatement?]] = [:]
        /// How often a name was tried whose bytes were not what it says.
        var failures: [AccountID: [String: Int]] = [:]
        var entries: [AccountID: AccountEntry] = [:]
        /// Accounts of which what is there is durable: a process that died may have published it just before.
        var durable: Set<AccountID> = []
    }

    /// The most statements read of one account at a time; an account has a few for each device. What is no statement is
    /// not tried for ever, so that files which strangers plant among them only delay.
    static let statementsMax = 4_096
    static let statementBytesMax = 65_536
    /// The most files that were no statements and are tried again each time.
    static let damagedMax = 8

    private let access: MountAccess
    private let state = Mutex(State())

    /// The directory of the container on this mount.
    public init(mount: any Mount) { access = MountAccess(mount: mount) }

    /// What is known of an account; nil if its genesis isn't seen (yet). With `device`, looked for again unless the
    /// device is known already.
    public func account(_ id: AccountID, having device: DeviceID? = nil) throws(CloudError) -> AccountEntry? {
        if let entry = cached(id), device == nil || entry.devices[device ?? DeviceID(id.digest)] != nil { return entry }
        return try refresh(id)
    }

    /// What was known when last looked; reads nothing.
    public func cached(_ id: AccountID) -> AccountEntry? { state.withLock { $0.entries[id] } }

    /// Reads what is new of one account.
    @discardableResult
    public func refresh(_ id: AccountID) throws(CloudError) -> AccountEntry? {
        let directory = MountPath.of("accounts", id.description)
        let (known, failures) = state.withLock { ($0.statements[id] ?? [:], $0.failures[id] ?? [:]) }
        var fresh: [String: AccountStatement?] = [:]
        var failed: Set<String> = []
        let listed = try access.list(directory).filter { parseNumberedName($0) != nil }.sorted()
        let names = listed.filter { known[$0] == nil }.prefix(Self.statementsMax)
        // What was damaged may have been published again.
        let damaged = listed.filter { name in known[name].map { $0 == nil } ?? false }.prefix(Self.damagedMax)
        for name in names + damaged {
            guard let (number, hash) = parseNumberedName(name), let path = directory.appending(name) else { continue }
            do {
                guard let bytes = try access.readKnown(path, maxBytes: Self.statementBytesMax) else { continue }
                let statement = try AccountStatement(bytes)
                // A file that is not what its name says is remembered as such, and not read again.
                let isRight = statement.hash == hash && statement.number == number
                fresh.updateValue(isRight ? statement : nil, forKey: name)
            } catch {
                // A statement that may not be read is one that was not seen.
                if error.cause?.code == .denied { continue }
                guard error.code == .damaged else { throw error }
                // Perhaps seen half-written by a lying mount: tried again, but not for ever.
                if failures[name] ?? 0 >= 3 { fresh.updateValue(nil, forKey: name) } else { failed.insert(name) }
            }
        }
        return state.withLock { state in
            state.statements[id, default: [:]].merge(fresh) { $1 }
            for name in failed { state.failures[id, default: [:]][name, default: 0] += 1 }
            let all = (state.statements[id] ?? [:]).values.compactMap { $0 }
            let entry = AccountChain.evaluate(id, all)
            state.entries[id] = entry
            return entry
        }
    }

    /// The statements of an account on which its state depends, whole files, as far as they were read.
    public func statements(of id: AccountID) -> [[UInt8]] {
        let all = state.withLock { ($0.statements[id] ?? [:]).values.compactMap { $0 } }
        return AccountChain(id, all)?.collected.map(\.bytes) ?? []
    }

    /// Every account whose genesis is seen, sorted by id; read anew.
    public func accounts() throws(CloudError) -> [AccountEntry] {
        var result: [AccountEntry] = []
        for name in try access.list(MountPath.of("accounts")).sorted() {
            guard let digest = Digest32(hex: name) else { continue }
            do {
                if let entry = try refresh(AccountID(digest)) { result.append(entry) }
            } catch {
                // One folder that may not be read hides no other account.
                guard error.cause?.code == .denied else { throw error }
            }
        }
        return result
    }

    /// The ids of which there are folders, sorted; whether there is an account in each is not looked at.
    public func ids() throws(CloudError) -> [AccountID] {
        try access.list(MountPath.of("accounts")).compactMap { Digest32(hex: $0).map(AccountID.init) }.sorted()
    }

    /// Publishes the account's statements that this device knows, also in the place of damaged ones; repeating it is fine.
    ///
    /// - Parameter readsAgain: whether what was read before is read again, in case that it was damaged since.
    public func publish(_ identity: Identity, readsAgain: Bool = false) throws(CloudError) {
        let account = identity.account
        if readsAgain {
            state.withLock { state in
                state.statements[account] = nil
                state.failures[account] = nil
            }
        }
        let there = Set(try access.list(MountPath.of("accounts", account.description)))
        try refresh(account)
        var isNew = false
        for bytes in identity.statements {
            let statement = try AccountStatement(bytes)
            let name = numberedName(statement.number, statement.hash)
            if there.contains(name) {
                guard isDamaged(name, of: account), try removeDamaged(name, of: account) else { continue }
            }
            try publish(statement, of: account)
            isNew = true
        }
        guard isNew || !state.withLock({ $0.durable.contains(account) }) else { return }
        do { try access.mount.synchronize() } catch { throw CloudError(error) }
        state.withLock { _ = $0.durable.insert(account) }
        try refresh(identity.account)
    }

    /// Whether a file was read that is not what its name says. One that is only not seen yet is no such file.
    private func isDamaged(_ name: String, of account: AccountID) -> Bool {
        state.withLock { state in
            if let read = state.statements[account]?[name] { return read == nil }
            return state.failures[account]?[name] != nil
        }
    }

    /// Takes a damaged file away, to be published again with the right bytes; false where another user wrote it, who has
    /// to do that.
    private func removeDamaged(_ name: String, of account: AccountID) throws(CloudError) -> Bool {
        guard let path = MountPath.of("accounts", account.description).appending(name) else { return false }
        do throws(FileError) { try access.mount.remove(path) } catch {
            // A folder in its place is for a person to remove.
            guard [.denied, .unexpectedKind].contains(error.code) else { throw CloudError(error) }
            return false
        }
        return true
    }

    /// Publishes one statement, by whomever it was signed.
    public func publish(statement bytes: [UInt8], of account: AccountID) throws(CloudError) {
        try publish(try AccountStatement(bytes), of: account)
        do { try access.mount.synchronize() } catch { throw CloudError(error) }
        try refresh(account)
    }

    private func publish(_ statement: AccountStatement, of account: AccountID) throws(CloudError) {
        let name = numberedName(statement.number, statement.hash)
        guard let path = MountPath.of("accounts", account.description).appending(name) else { return }
        try access.publish(path, statement.bytes)
        state.withLock { state in
            state.statements[account, default: [:]].updateValue(statement, forKey: name)
            state.failures[account]?[name] = nil
        }
    }
}
