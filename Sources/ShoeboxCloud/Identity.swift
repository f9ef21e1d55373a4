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
        var genesis = WireAccountStatement()
        genesis.label = label
        genesis.recoveryKey = Data(try signingPublicKey(recoveryKey).digest.bytes)
        genesis.agreementKey = Data(try agreementPublicKey(accountKey))
        genesis.added = [try deviceWire(signingKey: signingKey, agreementKey: agreementKey, label: deviceLabel)]
        genesis.signer = genesis.recoveryKey
        genesis.wallMilliseconds = nowMilliseconds
        let file = try SignedFile.encode(.account, header: serialize(genesis), body: [], signingKey: recoveryKey)
        let identity = try Identity(
            account: AccountID(sha256(file)), label: label, deviceLabel: deviceLabel, signingKey: signingKey,
            agreementKey: agreementKey, accountAgreementKeys: [accountKey], namingKey: namingKey,
            replicaNonce: randomBytes(16), statements: [file])
        var recovery = WireRecoveryFile()
        recovery.recoveryKey = Data(recoveryKey)
        recovery.accountAgreementKeys = [Data(accountKey)]
        recovery.namingKey = Data(namingKey)
        recovery.statements = [Data(file)]
        return (identity, recoveryMagic + (try serialize(recovery)))
    }

    /// The same account and device under a new replica, for a state directory that was cloned or restored.
    public func withNewReplica(randomBytes: (Int) -> [UInt8]) throws(CloudError) -> Identity {
        try Identity(
            account: account, label: label, deviceLabel: deviceLabel, signingKey: signingKey,
            agreementKey: agreementKey, accountAgreementKeys: accountAgreementKeys, namingKey: namingKey,
            replicaNonce: randomBytes(16), statements: statements)
    }

    /// A second device of this account, and the statement that admits it; publish the new identity to make it known.
    public func makeSecondDevice(
        deviceLabel: String = "", nowMilliseconds: UInt64, randomBytes: (Int) -> [UInt8]
    ) throws(CloudError) -> (identity: Identity, statement: [UInt8]) {
        let (signing, agreement) = (randomBytes(32), randomBytes(32))
        let file = try statement(signedBy: signingKey, nowMilliseconds: nowMilliseconds) { wire throws(CloudError) in
            wire.added = [
                try Self.deviceWire(signingKey: signing, agreementKey: agreement, label: deviceLabel)
            ]
        }
        let second = try Identity(
            account: account, label: label, deviceLabel: deviceLabel, signingKey: signing, agreementKey: agreement,
            accountAgreementKeys: accountAgreementKeys, namingKey: namingKey, replicaNonce: randomBytes(16),
            statements: statements + [file])
        return (second, file)
    }

    /// This identity together with the statement that retires another device of the account. The statement holds for
    /// whoever has read it; where the device's replicas stop counting is said in each zone's control.
    public func retiring(
        _ device: DeviceID, nowMilliseconds: UInt64
    ) throws(CloudError) -> (identity: Identity, statement: [UInt8]) {
        let file = try statement(signedBy: signingKey, nowMilliseconds: nowMilliseconds) { wire throws(CloudError) in
            wire.retired = [device.digest.wireBytes]
        }
        return (try adding([file]), file)
    }

    /// This identity with more of its account's statements known; others are ignored.
    public func adding(_ more: [[UInt8]]) throws(CloudError) -> Identity {
        let known = Set(statements)
        return try Identity(
            account: account, label: label, deviceLabel: deviceLabel, signingKey: signingKey,
            agreementKey: agreementKey, accountAgreementKeys: accountAgreementKeys, namingKey: namingKey,
            replicaNonce: replicaNonce, statements: statements + more.filter { !known.contains($0) })
    }

    /// A new device of an account whose devices are lost, from its recovery file.
    ///
    /// - Throws: `.damaged` if the bytes are no recovery file.
    public static func restored(
        fromRecoveryFile bytes: [UInt8], deviceLabel: String = "", nowMilliseconds: UInt64,
        randomBytes: (Int) -> [UInt8]
    ) throws(CloudError) -> Identity {
        guard bytes.starts(with: recoveryMagic) else { throw .damaged("This is not a recovery file.") }
        let wire = try parse(
            WireRecoveryFile.self, Array(bytes[recoveryMagic.count...]), "recovery file")
        let statements = wire.statements.map { Array($0) }
        guard let genesis = statements.first else { throw .damaged("The recovery file names no account.") }
        let first = try AccountStatement(genesis)
        let (signing, agreement) = (randomBytes(32), randomBytes(32))
        let identity = try Identity(
            account: AccountID(first.hash), label: first.wire.label, deviceLabel: deviceLabel, signingKey: signing,
            agreementKey: agreement, accountAgreementKeys: wire.accountAgreementKeys.map { Array($0) },
            namingKey: Array(wire.namingKey), replicaNonce: randomBytes(16), statements: statements)
        let file = try identity.statement(signedBy: Array(wire.recoveryKey), nowMilliseconds: nowMilliseconds) {
            wire throws(CloudError) in
            wire.added = [try deviceWire(signingKey: signing, agreementKey: agreement, label: deviceLabel)]
        }
        return try identity.adding([file])
    }

    private func statement(
        signedBy key: [UInt8], nowMilliseconds: UInt64,
        fill: (inout WireAccountStatement) throws(CloudError) -> Void
    ) throws(CloudError) -> [UInt8] {
        var known: [AccountStatement] = []
        for bytes in statements { known.append(try AccountStatement(bytes)) }
        let parents = Set(known.map(\.hash)).subtracting(known.flatMap(\.parents))
        var wire = WireAccountStatement()
        wire.number = (known.map(\.number).max() ?? 0) &+ 1
        wire.account = account.digest.wireBytes
        wire.parents = parents.sorted().map(\.wireBytes)
        wire.signer = try signingPublicKey(key).digest.wireBytes
        wire.wallMilliseconds = nowMilliseconds
        try fill(&wire)
        return try SignedFile.encode(.account, header: serialize(wire), body: [], signingKey: key)
    }

    private static func deviceWire(
        signingKey: [UInt8], agreementKey: [UInt8], label: String
    ) throws(CloudError) -> WireDevice {
        var wire = WireDevice()
        wire.signingKey = try signingPublicKey(signingKey).digest.wireBytes
        wire.agreementKey = Data(try agreementPublicKey(agreementKey))
        wire.label = label
        return wire
    }

    static let recoveryMagic = Array("shoebox.recovery/1\n".utf8)
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
