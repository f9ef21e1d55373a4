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
        /// When it was added, by the clock of who added it, milliseconds since 1970.
        public var addedMilliseconds: UInt64
        /// The device that added it; nil for the first one, and for one that the recovery file added.
        public var addedBy: DeviceID?
    }

    /// The account.
    public var account: AccountID
    /// Its label, for people; two accounts may have the same.
    public var label: String
    /// Every device that was ever validly added.
    public var devices: [DeviceID: Device]
    /// The public key that zone keys are wrapped for, 32 bytes.
    public var agreementKey: [UInt8]
    /// Whether somebody has the agreement key's private half who should not, or lacks it who should have it: the next
    /// device of the account makes a new one.
    public var needsNewAgreementKey: Bool
    /// Number and hash of the newest statement that counts.
    public var newestStatement: Position
    /// The hashes of all statements that count.
    public var statements: Set<Digest32>
    /// For people to compare.
    public var fingerprint: String { account.fingerprint }

    /// Devices that were added and not retired.
    public var devicesInGoodStanding: Set<DeviceID> { Set(devices.filter { !$0.value.isRetired }.keys) }
    /// Devices that were retired.
    public var retiredDevices: Set<DeviceID> { Set(devices.filter(\.value.isRetired).keys) }
}

/// One file of an account's chain, its signature checked against the signer that it names.
struct AccountStatement {
    var wire: WireAccountStatement
    var hash: Digest32
    var parents: [Digest32]
    var signer: DeviceID
    /// The whole file.
    var bytes: [UInt8]
    var number: UInt64 { wire.number }

    /// A statement from a file; `.damaged` if any field or the signature is wrong.
    init(_ bytes: [UInt8]) throws(CloudError) {
        let file = try SignedFile.decode(.account, bytes)
        self.bytes = bytes
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
            wire.retired.allSatisfy({ $0.count == 32 }),
            wire.keys.allSatisfy({ $0.recipient.count == 32 && $0.encapsulated.count == 32 })
        else { throw .damaged("An account statement holds a key of the wrong length.") }
        guard file.body.isEmpty, file.isSigned(.account, by: signer) else {
            throw .damaged("The signature of an account statement is wrong.")
        }
        if wire.number == 0 {
            guard wire.signer == wire.recoveryKey, wire.agreementKey.count == 32, wire.added.count == 1,
                wire.recoveryAgreementKey.count == 32
            else { throw .damaged("An account's genesis is not signed by its recovery key, or lacks a key.") }
        }
    }

    func adds(_ device: DeviceID) -> Bool { wire.added.contains { $0.signingKey == device.digest.wireBytes } }
    func retires(_ device: DeviceID) -> Bool { wire.retired.contains(device.digest.wireBytes) }
    /// The devices that it adds.
    var addedDevices: [DeviceID] { wire.added.compactMap { Digest32(bytes: $0.signingKey).map(DeviceID.init) } }
}

/// Makes out which statements of an account count. Pure; the order of the statements does not matter.
///
/// A statement takes part if its parents are known, it continues their numbers, and it was signed by the recovery key
/// or by a device in good standing as of its parents. Two statements may continue the same one; such branches unite by
/// rules that take away rather than give:
/// - Every retirement stands. Two devices that retire each other are both retired.
/// - Of a device that was retired, additions and new agreement keys are void on branches that do not know of it; if the
///   recovery key retired it, all that it signed there is void, its retirements too.
/// - What a device signed whose own addition is void is void.
///
/// The rules are applied in rounds, each to all statements at once, until nothing changes; what was once void stays so.
struct AccountChain {
    private let genesis: AccountStatement
    private var known: [Digest32: AccountStatement] = [:]
    private var ancestors: [Digest32: Set<Digest32>] = [:]
    private var hasVoidAdditions: Set<Digest32> = []
    /// Every statement that was signed by who might sign as of its parents, whether it counts or not, in order. The
    /// outcome depends on all of them.
    private(set) var collected: [AccountStatement] = []

    /// The account as the statements say; nil without its genesis.
    static func evaluate(_ account: AccountID, _ statements: [AccountStatement]) -> AccountEntry? {
        AccountChain(account, statements)?.entry(account)
    }

    /// The chain of an account; nil without its genesis.
    init?(_ account: AccountID, _ statements: [AccountStatement]) {
        let mine = statements.filter { $0.hash == account.digest || $0.wire.account == account.digest.wireBytes }
        guard let genesis = mine.first(where: { $0.hash == account.digest && $0.number == 0 }) else { return nil }
        self.genesis = genesis
        collect(mine)
        dropVoid()
    }

    /// The statements that count, in order of numbers, then hashes.
    var ordered: [AccountStatement] { known.values.sorted { ($0.number, $0.hash) < ($1.number, $1.hash) } }

    /// In order of numbers; a statement whose parents are not all known waits.
    private mutating func collect(_ mine: [AccountStatement]) {
        ancestors = [genesis.hash: []]
        known = [genesis.hash: genesis]
        for statement in mine.sorted(by: { ($0.number, $0.hash) < ($1.number, $1.hash) }) where statement.number > 0 {
            guard statement.parents.allSatisfy({ known[$0] != nil }),
                let last = statement.parents.compactMap({ known[$0]?.number }).max(), last < .max,
                statement.number == last + 1
            else { continue }
            var past = Set(statement.parents)
            for parent in statement.parents { past.formUnion(ancestors[parent] ?? []) }
            let isInGoodStanding =
                past.contains { known[$0]?.adds(statement.signer) == true }
                && !past.contains { known[$0]?.retires(statement.signer) == true }
            guard statement.signer == genesis.signer || isInGoodStanding else { continue }
            ancestors[statement.hash] = past
            known[statement.hash] = statement
        }
        collected = ordered
    }

    private mutating func dropVoid() {
        while true {
            let all = Array(known.values)
            var dropped: [Digest32] = []
            var emptied: [Digest32] = []
            for statement in all where statement.number > 0 && statement.signer != genesis.signer {
                let signer = statement.signer
                guard all.contains(where: { $0.adds(signer) && !hasVoidAdditions.contains($0.hash) }) else {
                    dropped.append(statement.hash)
                    continue
                }
                let elsewhere = all.filter { other in
                    other.hash != statement.hash && other.retires(signer)
                        && ancestors[other.hash]?.contains(statement.hash) != true
                }
                if elsewhere.contains(where: { $0.signer == genesis.signer }) {
                    dropped.append(statement.hash)
                } else if !elsewhere.isEmpty, !hasVoidAdditions.contains(statement.hash) {
                    emptied.append(statement.hash)
                }
            }
            if dropped.isEmpty, emptied.isEmpty { return }
            for hash in dropped { known[hash] = nil }
            hasVoidAdditions.formUnion(emptied)
        }
    }

    private func entry(_ account: AccountID) -> AccountEntry? {
        let ordered = ordered
        guard let newest = ordered.last else { return nil }
        var devices: [DeviceID: AccountEntry.Device] = [:]
        for statement in ordered where !hasVoidAdditions.contains(statement.hash) {
            for added in statement.wire.added {
                guard let digest = Digest32(bytes: added.signingKey), devices[DeviceID(digest)] == nil else { continue }
                let device = DeviceID(digest)
                devices[device] = AccountEntry.Device(
                    label: added.label, agreementKey: Array(added.agreementKey),
                    isRetired: ordered.contains { $0.retires(device) },
                    addedMilliseconds: statement.wire.wallMilliseconds,
                    addedBy: statement.signer == genesis.signer ? nil : statement.signer)
            }
        }
        let standing = Set(devices.filter { !$0.value.isRetired }.keys)
        // As with epochs of a zone: the newest key that only those have who should, else the newest.
        let renewals = ordered.filter { !$0.wire.agreementKey.isEmpty && !hasVoidAdditions.contains($0.hash) }
        let clean = renewals.last { holders(of: $0).isSubset(of: standing) }
        guard let chosen = clean ?? renewals.last else { return nil }
        return AccountEntry(
            account: account, label: genesis.wire.label, devices: devices,
            agreementKey: Array(chosen.wire.agreementKey),
            needsNewAgreementKey: holders(of: chosen) != standing,
            newestStatement: Position(sequence: newest.number, hash: newest.hash), statements: Set(known.keys))
    }

    /// The devices that have the private half of the agreement key that a statement made: those it was wrapped for, and
    /// those that were added by who knew it.
    private func holders(of renewal: AccountStatement) -> Set<DeviceID> {
        var result = Set(renewal.addedDevices)
        for entry in renewal.wire.keys where entry.recipient != genesis.wire.recoveryKey {
            if let digest = Digest32(bytes: entry.recipient) { result.insert(DeviceID(digest)) }
        }
        for statement in known.values where ancestors[statement.hash]?.contains(renewal.hash) == true {
            if !hasVoidAdditions.contains(statement.hash) { result.formUnion(statement.addedDevices) }
        }
        return result
    }
}
