public import ShoeboxModel
public import ShoeboxWorld
import Synchronization

/// The accounts of a container, `accounts/<account>/<number>-<hash>`, read through the mount and verified.
///
/// Files never change, so what was read once is kept; a listing may be old, so an account or device that is not known
/// is looked for again. A class, because zones share one cache; all state is behind a mutex that is never held during
/// a call on the mount.
public final class AccountDirectory: Sendable {
    private struct State {
        var statements: [AccountID: [String: AccountStatement?]] = [:]
        var entries: [AccountID: AccountEntry] = [:]
    }

    /// The most statements read of one account; the smallest names count. An account has one for each device.
    static let statementsMax = 4_096
    static let statementBytesMax = 65_536

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
        let known = state.withLock { $0.statements[id] ?? [:] }
        var fresh: [String: AccountStatement?] = [:]
        for name in try access.list(directory).sorted().prefix(Self.statementsMax) where known[name] == nil {
            guard let (number, hash) = parseNumberedName(name), let path = directory.appending(name) else { continue }
            do {
                guard let bytes = try access.readKnown(path, maxBytes: Self.statementBytesMax) else { continue }
                let statement = try AccountStatement(bytes)
                // A file that is not what its name says is remembered as such, and not read again.
                let isRight = statement.hash == hash && statement.number == number
                fresh.updateValue(isRight ? statement : nil, forKey: name)
            } catch {
                guard error.code == .damaged else { throw error }
                // Perhaps seen half-written by a lying mount: not remembered, tried again next time.
            }
        }
        return state.withLock { state in
            state.statements[id, default: [:]].merge(fresh) { $1 }
            let all = (state.statements[id] ?? [:]).values.compactMap { $0 }
            let entry = AccountChain.evaluate(id, all)
            state.entries[id] = entry
            return entry
        }
    }

    /// Every account whose genesis is seen, sorted by id; read anew.
    public func accounts() throws(CloudError) -> [AccountEntry] {
        var result: [AccountEntry] = []
        for name in try access.list(MountPath.of("accounts")).sorted() {
            guard let digest = Digest32(hex: name) else { continue }
            if let entry = try refresh(AccountID(digest)) { result.append(entry) }
        }
        return result
    }

    /// Publishes the account's statements that this device knows; repeating it is fine.
    public func publish(_ identity: Identity) throws(CloudError) {
        let directory = MountPath.of("accounts", identity.account.description)
        for bytes in identity.statements {
            let statement = try AccountStatement(bytes)
            let name = numberedName(statement.number, statement.hash)
            guard let path = directory.appending(name) else { continue }
            try access.publish(path, bytes)
            _ = state.withLock { $0.statements[identity.account, default: [:]].updateValue(statement, forKey: name) }
        }
        try refresh(identity.account)
    }
}
