import FoundationEssentials
import ShoeboxFormat
import ShoeboxModel

extension AccountStatement {
    /// The bytes of a statement that continues all that is known.
    static func make(
        _ account: AccountID, after known: [AccountStatement], signedBy key: [UInt8], nowMilliseconds: UInt64,
        fill: (inout WireAccountStatement) throws(CloudError) -> Void
    ) throws(CloudError) -> [UInt8] {
        // What doesn't count is no parent: readers who never see it would wait for it.
        guard let chain = AccountChain(account, known) else {
            throw .damaged("The statements that are known of the account \(account.fingerprint) lack its first one.")
        }
        let counting = chain.ordered
        let parents = Set(counting.map(\.hash)).subtracting(counting.flatMap(\.parents))
        var wire = WireAccountStatement()
        wire.number = (counting.map(\.number).max() ?? 0) &+ 1
        wire.account = account.digest.wireBytes
        wire.parents = parents.sorted().map(\.wireBytes)
        wire.signer = try signingPublicKey(key).digest.wireBytes
        wire.wallMilliseconds = nowMilliseconds
        try fill(&wire)
        return try SignedFile.encode(.account, header: serialize(wire), body: [], signingKey: key)
    }
}

extension WireAccountStatement {
    /// Makes a new agreement key known, and wraps it for the devices in good standing and for the recovery key.
    mutating func renew(
        _ secrets: AccountSecrets, for account: AccountID, statements: [AccountStatement], except: Set<DeviceID>
    ) throws(CloudError) {
        guard let entry = AccountChain.evaluate(account, statements),
            let genesis = statements.first(where: { $0.hash == account.digest }),
            let recovery = Digest32(bytes: genesis.wire.recoveryKey)
        else { throw .damaged("The account's first statement is not known.") }
        agreementKey = Data(try agreementPublicKey(secrets.agreementKeys[0]))
        keys = [
            try secrets.wrapped(
                for: DeviceID(recovery), agreementKey: Array(genesis.wire.recoveryAgreementKey), account: account)
        ]
        for device in entry.devicesInGoodStanding.subtracting(except).sorted() {
            guard let known = entry.devices[device] else { continue }
            keys.append(try secrets.wrapped(for: device, agreementKey: known.agreementKey, account: account))
        }
    }
}
