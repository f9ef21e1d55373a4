import FoundationEssentials
import ShoeboxFormat
import ShoeboxModel

/// What all devices of an account have in common: its private agreement keys, the newest first, and its naming key.
struct AccountSecrets: Hashable, Sendable {
    var agreementKeys: [[UInt8]]
    var namingKey: [UInt8]

    private static let keysMax = 4_096

    /// New keys in front of these; what was wrapped for the old ones can still be opened.
    func renewed(randomBytes: (Int) -> [UInt8]) -> AccountSecrets {
        AccountSecrets(agreementKeys: [randomBytes(32)] + agreementKeys, namingKey: randomBytes(32))
    }

    /// Wrapped for a device, or for the recovery key.
    func wrapped(
        for recipient: DeviceID, agreementKey: [UInt8], account: AccountID
    ) throws(CloudError) -> WireDeviceKeys {
        var plain = WireAccountSecrets()
        plain.agreementKeys = agreementKeys.map { Data($0) }
        plain.namingKey = Data(namingKey)
        let (encapsulated, ciphertext) = try KeyWrap.wrap(
            serialize(plain), for: agreementKey, info: Self.info(account, recipient))
        var wire = WireDeviceKeys()
        wire.recipient = recipient.digest.wireBytes
        wire.encapsulated = Data(encapsulated)
        wire.ciphertext = Data(ciphertext)
        return wire
    }

    /// What a statement brings for a recipient; nil if nothing, or nothing that can be opened and is whole.
    static func read(
        from statement: AccountStatement, for recipient: DeviceID, agreementKey: [UInt8], account: AccountID
    ) -> AccountSecrets? {
        for entry in statement.wire.keys where entry.recipient == recipient.digest.wireBytes {
            guard
                let bytes = KeyWrap.open(
                    encapsulated: Array(entry.encapsulated), ciphertext: Array(entry.ciphertext), with: agreementKey,
                    info: info(account, recipient)),
                let wire = try? parse(WireAccountSecrets.self, bytes, "account secrets"),
                !wire.agreementKeys.isEmpty, wire.agreementKeys.count <= keysMax,
                wire.agreementKeys.allSatisfy({ $0.count == 32 }), wire.namingKey.count == 32
            else { continue }
            return AccountSecrets(agreementKeys: wire.agreementKeys.map { Array($0) }, namingKey: Array(wire.namingKey))
        }
        return nil
    }

    /// Together with what the statements that count bring for a recipient: the key that zone keys are wrapped for now
    /// comes first. Nil if nothing is known at all.
    static func adopting(
        _ statements: [AccountStatement], known: AccountSecrets?, for recipient: DeviceID, agreementKey: [UInt8],
        account: AccountID
    ) -> AccountSecrets? {
        guard let chain = AccountChain(account, statements),
            let entry = AccountChain.evaluate(account, statements)
        else { return known }
        var keys = known?.agreementKeys ?? []
        var namingKeys: [[UInt8]: [UInt8]] = [:]
        for statement in chain.ordered {
            guard let found = read(from: statement, for: recipient, agreementKey: agreementKey, account: account) else {
                continue
            }
            keys += found.agreementKeys
            namingKeys[found.agreementKeys[0]] = found.namingKey
        }
        guard !keys.isEmpty else { return nil }
        var unique: [[UInt8]] = []
        for key in keys where !unique.contains(key) { unique.append(key) }
        if let current = unique.firstIndex(where: { (try? agreementPublicKey($0)) == entry.agreementKey }) {
            unique.insert(unique.remove(at: current), at: 0)
        }
        guard let namingKey = namingKeys[unique[0]] ?? known?.namingKey ?? namingKeys.values.first else { return nil }
        return AccountSecrets(agreementKeys: unique, namingKey: namingKey)
    }

    private static func info(_ account: AccountID, _ recipient: DeviceID) -> [UInt8] {
        Array("shoebox.accountkeys/1".utf8) + account.digest.bytes + recipient.digest.bytes
    }
}
