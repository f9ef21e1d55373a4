import ShoeboxFormat
public import ShoeboxModel

/// What is known of an account: its devices and the key that zone keys are wrapped for.
public struct AccountEntry: Hashable, Sendable {
    /// One device.
    public struct Device: Hashable, Sendable {
        /// The device's label, for people.
        public var label: String
        /// Its public agreement key, 32 bytes.
        public var agreementKey: [UInt8]
        /// Whether it was retired. What it signed before is valid; where it stops counting, controls say.
        public var isRetired: Bool
    }

    /// The account.
    public var account: AccountID
    /// Its label, for people; two accounts may have the same.
    public var label: String
    /// Every device that was ever validly added.
    public var devices: [DeviceID: Device]
    /// The public key that zone keys are wrapped for, 32 bytes.
    public var agreementKey: [UInt8]
    /// Number and hash of the newest statement that counts.
    public var newestStatement: Position
    /// For people to compare.
    public var fingerprint: String { account.fingerprint }
}

/// One file of an account's chain, its signature checked against the signer that it names.
struct AccountStatement {
    var wire: WireAccountStatement
    var hash: Digest32
    var parents: [Digest32]
    var signer: DeviceID
    var number: UInt64 { wire.number }

    /// A statement from a file; `.damaged` if any field or the signature is wrong.
    init(_ bytes: [UInt8]) throws(CloudError) {
        let file = try SignedFile.decode(.account, bytes)
        wire = try parse(WireAccountStatement.self, file.header, "account statement")
        hash = file.hash
        signer = DeviceID(try digest(wire.signer, "statement.signer"))
        parents = []
        for parent in wire.parents { parents.append(try digest(parent, "statement.parents")) }
        guard parents.isEmpty == (wire.number == 0), wire.account.isEmpty == (wire.number == 0) else {
            throw .damaged("An account statement has no parents, or its genesis has some.")
        }
        guard wire.agreementKey.isEmpty || wire.agreementKey.count == 32,
            wire.added.allSatisfy({ $0.signingKey.count == 32 && $0.agreementKey.count == 32 }),
            wire.retired.allSatisfy({ $0.count == 32 })
        else { throw .damaged("An account statement holds a key of the wrong length.") }
        guard file.body.isEmpty, file.isSigned(.account, by: signer) else {
            throw .damaged("The signature of an account statement is wrong.")
        }
        if wire.number == 0 {
            guard wire.signer == wire.recoveryKey, wire.agreementKey.count == 32, wire.added.count == 1 else {
                throw .damaged("An account's genesis is not signed by its recovery key, or has no device.")
            }
        }
    }
}

/// Makes out which statements of an account count. Pure.
enum AccountChain {
    /// The account as the statements say; nil without its genesis. The order of the statements does not matter.
    ///
    /// A statement counts if its parents are known, it continues their numbers, and it was signed by the recovery key
    /// or by a device in good standing as of its parents. Two statements may continue the same one: additions unite,
    /// and a retirement takes with it what the retired device signed without having seen the retirement.
    static func evaluate(_ account: AccountID, _ statements: [AccountStatement]) -> AccountEntry? {
        let mine = statements.filter { $0.hash == account.digest || $0.wire.account == account.digest.wireBytes }
        guard let genesis = mine.first(where: { $0.hash == account.digest && $0.number == 0 }) else { return nil }
        let recovery = genesis.signer
        // Ancestors, in order of numbers; a statement whose parents are not all known waits.
        var ancestors: [Digest32: Set<Digest32>] = [genesis.hash: []]
        var known: [Digest32: AccountStatement] = [genesis.hash: genesis]
        for statement in mine.sorted(by: { ($0.number, $0.hash) < ($1.number, $1.hash) }) where statement.number > 0 {
            guard statement.parents.allSatisfy({ known[$0] != nil }),
                let last = statement.parents.compactMap({ known[$0]?.number }).max(), last < .max,
                statement.number == last + 1
            else { continue }
            var mineAncestors = Set(statement.parents)
            for parent in statement.parents { mineAncestors.formUnion(ancestors[parent] ?? []) }
            let past = mineAncestors.compactMap { known[$0] }
            guard statement.signer == recovery || isInGoodStanding(statement.signer, past) else { continue }
            ancestors[statement.hash] = mineAncestors
            known[statement.hash] = statement
        }
        // Of two branches, one may retire the signer of the other: what the retired one added there falls away, and
        // then what the devices so added did, until nothing changes. Only removals, all at once in a round, so the
        // outcome depends on the set alone.
        while true {
            let all = Array(known.values)
            let dropped = all.filter { statement in
                guard statement.number > 0, statement.signer != recovery else { return false }
                guard all.contains(where: { adds(statement.signer, $0) }) else { return true }
                guard !statement.wire.added.isEmpty || !statement.wire.agreementKey.isEmpty else { return false }
                return all.contains { other in
                    retires(statement.signer, other) && ancestors[other.hash]?.contains(statement.hash) != true
                        && other.hash != statement.hash
                }
            }
            if dropped.isEmpty { break }
            for statement in dropped { known[statement.hash] = nil }
        }
        return entry(account, Array(known.values), label: genesis.wire.label)
    }

    private static func adds(_ device: DeviceID, _ statement: AccountStatement) -> Bool {
        statement.wire.added.contains { $0.signingKey == device.digest.wireBytes }
    }

    private static func retires(_ device: DeviceID, _ statement: AccountStatement) -> Bool {
        statement.wire.retired.contains(device.digest.wireBytes)
    }

    private static func isInGoodStanding(_ device: DeviceID, _ past: [AccountStatement]) -> Bool {
        past.contains { adds(device, $0) } && !past.contains { retires(device, $0) }
    }

    private static func entry(_ account: AccountID, _ known: [AccountStatement], label: String) -> AccountEntry? {
        let ordered = known.sorted { ($0.number, $0.hash) < ($1.number, $1.hash) }
        guard let newest = ordered.last, let key = ordered.last(where: { !$0.wire.agreementKey.isEmpty }) else {
            return nil
        }
        var devices: [DeviceID: AccountEntry.Device] = [:]
        for added in ordered.flatMap(\.wire.added) {
            guard let digest = Digest32(bytes: added.signingKey) else { continue }
            let device = DeviceID(digest)
            devices[device] = AccountEntry.Device(
                label: added.label, agreementKey: Array(added.agreementKey),
                isRetired: ordered.contains { retires(device, $0) })
        }
        return AccountEntry(
            account: account, label: label, devices: devices, agreementKey: Array(key.wire.agreementKey),
            newestStatement: Position(sequence: newest.number, hash: newest.hash))
    }
}
