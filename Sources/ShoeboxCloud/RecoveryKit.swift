import FoundationEssentials
import ShoeboxFormat
public import ShoeboxModel

/// What restores an account when all its devices are lost: the recovery key, which outranks every device, and the
/// account's keys. Secret; it lies in a file that its user keeps, never in the container.
public struct RecoveryKit: Sendable, CustomStringConvertible, CustomReflectable {
    let recoveryKey: [UInt8]
    let recoveryAgreementKey: [UInt8]
    let secrets: AccountSecrets
    /// The account's statements as far as known, whole files, the genesis first.
    public let statements: [[UInt8]]

    static let magic = Array("shoebox.recovery/1\n".utf8)

    /// No secret.
    public var description: String { "recovery kit" }
    /// No secret.
    public var customMirror: Mirror { Mirror(self, children: [:]) }

    init(recoveryKey: [UInt8], recoveryAgreementKey: [UInt8], secrets: AccountSecrets, statements: [[UInt8]]) {
        self.recoveryKey = recoveryKey
        self.recoveryAgreementKey = recoveryAgreementKey
        self.secrets = secrets
        self.statements = statements
    }

    /// Whether bytes are a recovery file.
    public static func isRecoveryFile(_ bytes: [UInt8]) -> Bool { bytes.starts(with: magic) }

    /// The bytes to store, secrets included.
    public func serialized() throws(CloudError) -> [UInt8] {
        var wire = WireRecoveryFile()
        wire.recoveryKey = Data(recoveryKey)
        wire.recoveryAgreementKey = Data(recoveryAgreementKey)
        wire.accountAgreementKeys = secrets.agreementKeys.map { Data($0) }
        wire.namingKey = Data(secrets.namingKey)
        wire.statements = statements.map { Data($0) }
        return Self.magic + (try serialize(wire))
    }

    /// The kit that was stored; `.damaged` for other bytes.
    public init(serialized bytes: [UInt8]) throws(CloudError) {
        guard Self.isRecoveryFile(bytes) else { throw .damaged("This is not a recovery file.") }
        let wire = try parse(WireRecoveryFile.self, Array(bytes[Self.magic.count...]), "recovery file")
        guard let genesis = wire.statements.first else { throw .damaged("The recovery file names no account.") }
        let first = try AccountStatement(Array(genesis))
        guard first.number == 0, try signingPublicKey(Array(wire.recoveryKey)) == first.signer,
            !wire.accountAgreementKeys.isEmpty, wire.namingKey.count == 32,
            wire.accountAgreementKeys.allSatisfy({ $0.count == 32 })
        else { throw .damaged("The recovery file's key is not that of the account which it names.") }
        _ = try agreementPublicKey(Array(wire.recoveryAgreementKey))
        self.init(
            recoveryKey: Array(wire.recoveryKey), recoveryAgreementKey: Array(wire.recoveryAgreementKey),
            secrets: AccountSecrets(
                agreementKeys: wire.accountAgreementKeys.map { Array($0) }, namingKey: Array(wire.namingKey)),
            statements: wire.statements.map { Array($0) })
    }

    /// The account.
    public var account: AccountID {
        get throws(CloudError) {
            guard let genesis = statements.first else { throw .damaged("The recovery file names no account.") }
            return AccountID(sha256(genesis))
        }
    }

    /// Admits a new device.
    ///
    /// - Parameter more: the account's statements as the container has them, whole files.
    public func admitting(
        _ pending: PendingDevice, more: [[UInt8]], nowMilliseconds: UInt64, randomBytes: (Int) -> [UInt8]
    ) throws(CloudError) -> Identity {
        let account = try account
        let known = try known(more)
        let current = currentSecrets(known, account)
        let file = try AccountStatement.make(
            account, after: known, signedBy: recoveryKey, nowMilliseconds: nowMilliseconds
        ) { wire throws(CloudError) in
            wire.added = [pending.publicKeys.wire]
            wire.keys = [
                try current.wrapped(
                    for: pending.publicKeys.device, agreementKey: pending.publicKeys.agreementKey, account: account)
            ]
        }
        return try pending.admitted(
            to: account, statements: known.map(\.bytes) + [file], randomBytes: randomBytes)
    }

    /// The statement by which the recovery key retires devices: what they signed without having seen it is void. Makes
    /// new keys for the remaining ones.
    public func retiring(
        _ devices: [DeviceID], more: [[UInt8]], nowMilliseconds: UInt64, randomBytes: (Int) -> [UInt8]
    ) throws(CloudError) -> [UInt8] {
        let account = try account
        let known = try known(more)
        let fresh = currentSecrets(known, account).renewed(randomBytes: randomBytes)
        return try AccountStatement.make(
            account, after: known, signedBy: recoveryKey, nowMilliseconds: nowMilliseconds
        ) { wire throws(CloudError) in
            wire.retired = devices.sorted().map(\.digest.wireBytes)
            try wire.renew(fresh, for: account, statements: known, except: Set(devices))
        }
    }

    private func known(_ more: [[UInt8]]) throws(CloudError) -> [AccountStatement] {
        var result: [Digest32: AccountStatement] = [:]
        for bytes in statements {
            let statement = try AccountStatement(bytes)
            result[statement.hash] = statement
        }
        // What lies in the container may be anybody's.
        for bytes in more {
            if let statement = try? AccountStatement(bytes) { result[statement.hash] = statement }
        }
        return result.values.sorted { ($0.number, $0.hash) < ($1.number, $1.hash) }
    }

    private func currentSecrets(_ known: [AccountStatement], _ account: AccountID) -> AccountSecrets {
        guard let recovery = try? signingPublicKey(recoveryKey) else { return secrets }
        return AccountSecrets.adopting(
            known, known: secrets, for: recovery, agreementKey: recoveryAgreementKey, account: account) ?? secrets
    }
}

extension Identity {
    /// A new device of an account whose devices are lost, from its recovery file.
    ///
    /// - Parameter more: the account's statements as the container has them, whole files.
    /// - Throws: `.damaged` if the bytes are no recovery file.
    public static func restored(
        fromRecoveryFile bytes: [UInt8], more: [[UInt8]] = [], deviceLabel: String = "", nowMilliseconds: UInt64,
        randomBytes: (Int) -> [UInt8]
    ) throws(CloudError) -> Identity {
        let kit = try RecoveryKit(serialized: bytes)
        let pending = try PendingDevice(label: deviceLabel, accountLabel: "", code: nil, randomBytes: randomBytes)
        return try kit.admitting(pending, more: more, nowMilliseconds: nowMilliseconds, randomBytes: randomBytes)
    }
}
