import FoundationEssentials
import ShoeboxFormat
public import ShoeboxModel

/// A device that asks to be admitted: what others may know of it.
public struct DevicePublicKeys: Hashable, Sendable {
    /// The device.
    public var device: DeviceID
    /// Its public agreement key, 32 bytes.
    public var agreementKey: [UInt8]
    /// Its label, for people.
    public var label: String

    /// The most bytes of a label.
    static let labelBytesMax = 200

    init(device: DeviceID, agreementKey: [UInt8], label: String) {
        self.device = device
        self.agreementKey = agreementKey
        self.label = label
    }

    init(wire: WireDevice) throws(CloudError) {
        device = DeviceID(try digest(wire.signingKey, "device.signing_key"))
        guard wire.agreementKey.count == 32, wire.label.utf8.count <= Self.labelBytesMax else {
            throw .damaged("A device has a key or a label of the wrong length.")
        }
        agreementKey = Array(wire.agreementKey)
        label = wire.label
    }

    /// From text for a request: three fields, the keys in hexadecimal.
    public init?(text: String) {
        let parts = text.split(separator: " ", maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count == 3, let digest = Digest32(hex: parts[0]), let key = decodeHex(parts[1]), key.count == 32,
            parts[2].utf8.count <= Self.labelBytesMax
        else { return nil }
        self.init(device: DeviceID(digest), agreementKey: key, label: String(parts[2]))
    }

    /// As text for a request.
    public var text: String { "\(device) \(encodeHex(agreementKey)) \(label)" }

    var wire: WireDevice {
        var wire = WireDevice()
        wire.signingKey = device.digest.wireBytes
        wire.agreementKey = Data(agreementKey)
        wire.label = label
        return wire
    }
}

/// A device before its account admits it. Secret: store `serialized()` with mode 0600.
public struct PendingDevice: Sendable, CustomStringConvertible, CustomReflectable {
    let signingKey: [UInt8]
    let agreementKey: [UInt8]
    /// What others may know of it.
    public let publicKeys: DevicePublicKeys
    /// The pairing code that it waits under; nil if it waits for none.
    public let code: PairingCode?
    /// The label of the account that it asks to join.
    public let accountLabel: String

    static let magic = Array("shoebox.pending/1\n".utf8)

    /// No secret.
    public var description: String { "device \(publicKeys.device)" }
    /// No secret.
    public var customMirror: Mirror { Mirror(self, children: ["device": publicKeys.device]) }

    /// A new device.
    public init(
        label: String, accountLabel: String, code: PairingCode?, randomBytes: (Int) -> [UInt8]
    ) throws(CloudError) {
        try self.init(
            signingKey: randomBytes(32), agreementKey: randomBytes(32), label: label, accountLabel: accountLabel,
            code: code)
    }

    private init(
        signingKey: [UInt8], agreementKey: [UInt8], label: String, accountLabel: String, code: PairingCode?
    ) throws(CloudError) {
        self.signingKey = signingKey
        self.agreementKey = agreementKey
        self.accountLabel = accountLabel
        self.code = code
        publicKeys = DevicePublicKeys(
            device: try signingPublicKey(signingKey), agreementKey: try agreementPublicKey(agreementKey), label: label)
    }

    /// The bytes to store, secrets included.
    public func serialized() throws(CloudError) -> [UInt8] {
        var wire = WirePendingDevice()
        wire.signingKey = Data(signingKey)
        wire.agreementKey = Data(agreementKey)
        wire.label = publicKeys.label
        wire.accountLabel = accountLabel
        wire.code = code?.description ?? ""
        return Self.magic + (try serialize(wire))
    }

    /// The device that was stored; `.damaged` for other bytes.
    public init(serialized bytes: [UInt8]) throws(CloudError) {
        guard bytes.starts(with: Self.magic) else { throw .damaged("This is no device that waits to be admitted.") }
        let wire = try parse(WirePendingDevice.self, Array(bytes[Self.magic.count...]), "pending device")
        try self.init(
            signingKey: Array(wire.signingKey), agreementKey: Array(wire.agreementKey), label: wire.label,
            accountLabel: wire.accountLabel, code: wire.code.isEmpty ? nil : try PairingCode(wire.code))
    }

    /// The identity of this device, once its account has admitted it.
    ///
    /// - Parameter statements: the account's chain, whole files, as read from the container.
    /// - Throws: `.notYet` while no statement that counts admits it.
    public func admitted(
        to account: AccountID, statements: [[UInt8]], randomBytes: (Int) -> [UInt8]
    ) throws(CloudError) -> Identity {
        var known: [AccountStatement] = []
        for bytes in statements { known.append(try AccountStatement(bytes)) }
        guard let entry = AccountChain.evaluate(account, known), let own = entry.devices[publicKeys.device] else {
            throw .notYet("This device was not admitted to its account yet, as far as is seen.", path: "accounts")
        }
        guard !own.isRetired else {
            throw CloudError(
                code: .notPermitted, message: "This device was retired.", remedy: "Set it up anew with 'shoebox init'.")
        }
        guard
            let secrets = AccountSecrets.adopting(
                known, known: nil, for: publicKeys.device, agreementKey: agreementKey, account: account)
        else { throw .damaged("The account's statements bring no keys for this device.") }
        return try Identity(
            account: account, label: entry.label, deviceLabel: publicKeys.label, signingKey: signingKey,
            agreementKey: agreementKey, accountAgreementKeys: secrets.agreementKeys, namingKey: secrets.namingKey,
            replicaNonce: randomBytes(16), statements: AccountChain(account, known)?.collected.map(\.bytes) ?? [])
    }
}
