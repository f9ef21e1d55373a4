import FoundationEssentials
import ShoeboxFormat
public import ShoeboxModel

/// One device's keys and its account's, for one replica. Secret: store `serialized()` with mode 0600.
public struct Identity: Sendable, CustomStringConvertible, CustomReflectable {
    /// The account.
    public let account: AccountID
    /// The account's label, for people.
    public let label: String
    /// The device's label, for people.
    public let deviceLabel: String
    /// This device.
    public let device: DeviceID
    /// This replica, bound to the device's key.
    public let replica: ReplicaID
    /// The account's statements as far as this device knows them, whole files, the genesis first.
    public let statements: [[UInt8]]

    let signingKey: [UInt8]
    let agreementKey: [UInt8]
    let accountAgreementKeys: [[UInt8]]
    let namingKey: [UInt8]
    let replicaNonce: [UInt8]

    /// The label and the fingerprint; no secret.
    public var description: String { "\(label) \(account.fingerprint), replica \(replica)" }
    /// No secret.
    public var customMirror: Mirror { Mirror(self, children: ["account": account, "replica": replica]) }

    init(
        account: AccountID, label: String, deviceLabel: String, signingKey: [UInt8], agreementKey: [UInt8],
        accountAgreementKeys: [[UInt8]], namingKey: [UInt8], replicaNonce: [UInt8], statements: [[UInt8]]
    ) throws(CloudError) {
        guard replicaNonce.count == 16, namingKey.count == 32, !accountAgreementKeys.isEmpty else {
            throw .damaged("An identity has a secret of the wrong length.")
        }
        for key in accountAgreementKeys + [agreementKey] { _ = try agreementPublicKey(key) }
        self.account = account
        self.label = label
        self.deviceLabel = deviceLabel
        self.signingKey = signingKey
        self.agreementKey = agreementKey
        self.accountAgreementKeys = accountAgreementKeys
        self.namingKey = namingKey
        self.replicaNonce = replicaNonce
        self.statements = statements
        device = try signingPublicKey(signingKey)
        replica = ReplicaID.certified(device: device, nonce: replicaNonce)
    }

    /// A new account with its first device, and the file that restores it when all devices are lost.
    ///
    /// - Parameters:
    ///   - randomBytes: secret, unpredictable bytes; called for 32 or 16 at a time.
    /// - Throws: `.invalid` if the random source gives the wrong number of bytes.
    public static func create(
        label: String, deviceLabel: String = "", nowMilliseconds: UInt64, randomBytes: (Int) -> [UInt8]
    ) throws(CloudError) -> (identity: Identity, recoveryFile: [UInt8]) {
        let recoveryKey = randomBytes(32)
        let signingKey = randomBytes(32)
        let agreementKey = randomBytes(32)
        let accountKey = randomBytes(32)
        let namingKey = randomBytes(32)
        let recoveryAgreementKey = randomBytes(32)
        var genesis = WireAccountStatement()
        genesis.label = label
        genesis.recoveryKey = Data(try signingPublicKey(recoveryKey).digest.bytes)
        genesis.agreementKey = Data(try agreementPublicKey(accountKey))
        genesis.recoveryAgreementKey = Data(try agreementPublicKey(recoveryAgreementKey))
        genesis.added = [
            DevicePublicKeys(
                device: try signingPublicKey(signingKey), agreementKey: try agreementPublicKey(agreementKey),
                label: deviceLabel
            ).wire
        ]
        genesis.signer = genesis.recoveryKey
        genesis.wallMilliseconds = nowMilliseconds
        let file = try SignedFile.encode(.account, header: serialize(genesis), body: [], signingKey: recoveryKey)
        let identity = try Identity(
            account: AccountID(sha256(file)), label: label, deviceLabel: deviceLabel, signingKey: signingKey,
            agreementKey: agreementKey, accountAgreementKeys: [accountKey], namingKey: namingKey,
            replicaNonce: randomBytes(16), statements: [file])
        let recovery = RecoveryKit(
            recoveryKey: recoveryKey, recoveryAgreementKey: recoveryAgreementKey,
            secrets: AccountSecrets(agreementKeys: [accountKey], namingKey: namingKey), statements: [file])
        return (identity, try recovery.serialized())
    }

    /// The same account and device under a new replica, for a state directory that was cloned or restored.
    public func withNewReplica(randomBytes: (Int) -> [UInt8]) throws(CloudError) -> Identity {
        try Identity(
            account: account, label: label, deviceLabel: deviceLabel, signingKey: signingKey,
            agreementKey: agreementKey, accountAgreementKeys: accountAgreementKeys, namingKey: namingKey,
            replicaNonce: randomBytes(16), statements: statements)
    }

    /// Admits a device to the account: this identity with the statement that does, which also brings the device the
    /// account's keys. Publish this identity to make it known.
    ///
    /// - Throws: `.notPermitted` if this device was retired.
    public func admitting(
        _ device: DevicePublicKeys, nowMilliseconds: UInt64
    ) throws(CloudError) -> (identity: Identity, statement: [UInt8]) {
        if let entry = try accountEntry(), let known = entry.devices[device.device] {
            guard !known.isRetired else {
                throw CloudError(
                    code: .notPermitted, message: "That device was retired, and can't be admitted again.",
                    remedy: "Set it up anew with 'shoebox init --join'.")
            }
            return (self, [])
        }
        let file = try statement(nowMilliseconds: nowMilliseconds) { wire throws(CloudError) in
            wire.added = [device.wire]
            wire.keys = [
                try secrets.wrapped(for: device.device, agreementKey: device.agreementKey, account: account)
            ]
        }
        return (try adding([file]), file)
    }

    /// A second device of this account, and the statement that admits it; publish the new identity to make it known.
    public func makeSecondDevice(
        deviceLabel: String = "", nowMilliseconds: UInt64, randomBytes: (Int) -> [UInt8]
    ) throws(CloudError) -> (identity: Identity, statement: [UInt8]) {
        let pending = try PendingDevice(
            label: deviceLabel, accountLabel: label, code: nil, randomBytes: randomBytes)
        let (known, file) = try admitting(pending.publicKeys, nowMilliseconds: nowMilliseconds)
        let second = try pending.admitted(to: account, statements: known.statements, randomBytes: randomBytes)
        return (second, file)
    }

    /// This identity together with the statement that retires another device of the account and makes new keys for the
    /// remaining ones. The statement holds for whoever has read it; where the device's replicas stop counting is said
    /// in each zone's control.
    public func retiring(
        _ device: DeviceID, nowMilliseconds: UInt64, randomBytes: (Int) -> [UInt8]
    ) throws(CloudError) -> (identity: Identity, statement: [UInt8]) {
        let fresh = secrets.renewed(randomBytes: randomBytes)
        let file = try statement(nowMilliseconds: nowMilliseconds) { wire throws(CloudError) in
            wire.retired = [device.digest.wireBytes]
            try wire.renew(fresh, for: account, statements: try parsedStatements(), except: [device])
        }
        return (try adding([file]), file)
    }

    /// This identity together with a statement that makes new keys for the devices in good standing, where
    /// `AccountEntry.needsNewAgreementKey` asks for it.
    public func renewingKeys(
        nowMilliseconds: UInt64, randomBytes: (Int) -> [UInt8]
    ) throws(CloudError) -> Identity {
        let fresh = secrets.renewed(randomBytes: randomBytes)
        let file = try statement(nowMilliseconds: nowMilliseconds) { wire throws(CloudError) in
            try wire.renew(fresh, for: account, statements: try parsedStatements(), except: [])
        }
        return try adding([file])
    }

    /// This identity with more of its account's statements known, and the keys that they bring; what is no statement of
    /// the account is ignored.
    public func adding(_ more: [[UInt8]]) throws(CloudError) -> Identity {
        let known = Set(statements)
        var all = statements
        for bytes in more where !known.contains(bytes) {
            guard let statement = try? AccountStatement(bytes), statement.wire.account == account.digest.wireBytes
            else {
                continue
            }
            all.append(bytes)
        }
        var parsed: [AccountStatement] = []
        for bytes in all { parsed.append(try AccountStatement(bytes)) }
        let adopted =
            AccountSecrets.adopting(
                parsed, known: secrets, for: device, agreementKey: agreementKey, account: account) ?? secrets
        return try Identity(
            account: account, label: label, deviceLabel: deviceLabel, signingKey: signingKey,
            agreementKey: agreementKey, accountAgreementKeys: adopted.agreementKeys, namingKey: adopted.namingKey,
            replicaNonce: replicaNonce, statements: all)
    }

    /// The account as the statements that this device knows say; nil only if they are damaged.
    public func accountEntry() throws(CloudError) -> AccountEntry? {
        AccountChain.evaluate(account, try parsedStatements())
    }

    /// Whether this device has the private half of the key that zone keys are wrapped for.
    public func hasAgreementKey(of entry: AccountEntry) -> Bool {
        (try? agreementPublicKey(accountAgreementKeys[0])) == entry.agreementKey
    }

    /// This identity, which can also open what was wrapped for a link. For reading only; never to be stored.
    public func opening(with link: JoinLinkKeys) throws(CloudError) -> Identity {
        try Identity(
            account: account, label: label, deviceLabel: deviceLabel, signingKey: signingKey,
            agreementKey: agreementKey, accountAgreementKeys: accountAgreementKeys + [link.privateAgreementKey],
            namingKey: namingKey, replicaNonce: replicaNonce, statements: statements)
    }

    var secrets: AccountSecrets { AccountSecrets(agreementKeys: accountAgreementKeys, namingKey: namingKey) }

    private func parsedStatements() throws(CloudError) -> [AccountStatement] {
        var known: [AccountStatement] = []
        for bytes in statements { known.append(try AccountStatement(bytes)) }
        return known
    }

    private func statement(
        nowMilliseconds: UInt64, fill: (inout WireAccountStatement) throws(CloudError) -> Void
    ) throws(CloudError) -> [UInt8] {
        try AccountStatement.make(
            account, after: try parsedStatements(), signedBy: signingKey, nowMilliseconds: nowMilliseconds, fill: fill)
    }

    static let identityMagic = Array("shoebox.identity/1\n".utf8)

    /// The bytes to store, secrets included.
    public func serialized() throws(CloudError) -> [UInt8] {
        var wire = WireIdentityFile()
        wire.account = account.digest.wireBytes
        wire.label = label
        wire.deviceLabel = deviceLabel
        wire.signingKey = Data(signingKey)
        wire.agreementKey = Data(agreementKey)
        wire.accountAgreementKeys = accountAgreementKeys.map { Data($0) }
        wire.namingKey = Data(namingKey)
        wire.replicaNonce = Data(replicaNonce)
        wire.statements = statements.map { Data($0) }
        return Self.identityMagic + (try serialize(wire))
    }

    /// The identity that was stored; `.damaged` for any other bytes.
    public init(serialized bytes: [UInt8]) throws(CloudError) {
        guard bytes.starts(with: Self.identityMagic) else { throw .damaged("This is not an identity file.") }
        let wire = try parse(WireIdentityFile.self, Array(bytes[Self.identityMagic.count...]), "identity file")
        try self.init(
            account: AccountID(try digest(wire.account, "identity.account")), label: wire.label,
            deviceLabel: wire.deviceLabel, signingKey: Array(wire.signingKey), agreementKey: Array(wire.agreementKey),
            accountAgreementKeys: wire.accountAgreementKeys.map { Array($0) }, namingKey: Array(wire.namingKey),
            replicaNonce: Array(wire.replicaNonce), statements: wire.statements.map { Array($0) })
    }
}
