import FoundationEssentials
import ShoeboxFormat
public import ShoeboxModel

/// One version of a zone's control, verified: signed by a device of the zone's owner, opened with the zone's key.
public struct VerifiedControl: Hashable, Sendable {
    /// Which version.
    public var version: ControlVersion
    /// The versions that it replaces; none for the first.
    public var parents: [Digest32]
    /// What it says.
    public var control: Control
    /// The epoch it was sealed in; nil in a plain zone.
    public var epoch: EpochID?
    /// The epochs whose keys it passes on.
    var older: Set<EpochID> = []
    /// The account that signed.
    public var signer: AccountID
    /// The device that signed.
    public var device: DeviceID
    /// The signer's wall clock, milliseconds since 1970.
    public var wallMilliseconds: UInt64
    /// The hand-overs of the zone before it.
    public var lineage: [ControlVersion]
    /// Who owns the zone from it on, if it hands the zone over.
    public var newOwner: AccountID?
}

/// A control file whose envelope is read and whose signature is not checked yet.
struct ControlFile {
    /// The most bytes of a control file.
    static let bytesMax = 1_048_576
    private static let purpose = Array("shoebox.control/1".utf8)

    var file: SignedFile
    var wire: WireControlHeader
    var version: ControlVersion
    var parents: [Digest32]
    var account: AccountID
    var device: DeviceID
    var epoch: EpochID?
    /// The zone that the file says it is of; its own hash for a first version.
    var zone: ZoneID
    /// The hand-overs before it, oldest first.
    var lineage: [ControlVersion]
    /// The consent of a new owner; whether it holds is not checked yet.
    var consent: TransferConsent?

    /// The most hand-overs that a zone may have.
    static let lineageMax = 64

    /// The envelope of a file; `.damaged` if a field is not valid.
    init(_ bytes: [UInt8]) throws(CloudError) {
        file = try SignedFile.decode(.control, bytes)
        wire = try parse(WireControlHeader.self, file.header, "control")
        version = ControlVersion(version: wire.version, hash: file.hash)
        parents = []
        for parent in wire.parents { parents.append(try digest(parent, "control.parents")) }
        account = AccountID(try digest(wire.account, "control.account"))
        device = DeviceID(try digest(wire.device, "control.device"))
        epoch = wire.hasEpoch ? try EpochID(wire: wire.epoch) : nil
        zone = wire.zone.isEmpty ? ZoneID(file.hash) : ZoneID(try digest(wire.zone, "control.zone"))
        guard wire.version > 0, wire.zone.isEmpty == (wire.version == 1), parents.isEmpty == (wire.version == 1) else {
            throw .damaged("A control's version, zone and parents do not fit together.")
        }
        // Each control begins one at most; so nobody makes a number that none comes after.
        if let epoch, epoch.number > wire.version {
            throw .damaged("A control's epoch has a number that it can't have.")
        }
        lineage = []
        guard wire.lineage.count <= Self.lineageMax else { throw .damaged("A zone has been handed over too often.") }
        for name in wire.lineage {
            lineage.append(ControlVersion(version: name.version, hash: try digest(name.hash, "control.lineage")))
        }
        if wire.hasHandover {
            consent = TransferConsent(
                account: AccountID(try digest(wire.handover.account, "handover.account")),
                device: DeviceID(try digest(wire.handover.device, "handover.device")),
                number: Array(wire.handover.number), signature: Array(wire.handover.signature))
        }
        guard wire.version > 1 || (lineage.isEmpty && consent == nil) else {
            throw .damaged("A first control hands nothing over.")
        }
        guard wire.keys.count <= 10_000 else { throw .damaged("A control has too many keys.") }
    }

    /// Finds this account's wrapped key, if the keyring lacks the epoch's.
    ///
    /// - Throws: `.notInvited` if no wrapped key opens with the account's keys.
    func unwrap(into keyring: inout ZoneKeyring, identity: Identity) throws(CloudError) {
        guard let epoch, keyring.key(epoch) == nil else { return }
        let info = Self.wrapInfo(zone: wire.zone, account: account, epoch: epoch)
        for wrapped in wire.keys where wrapped.encapsulated.count == 32 && wrapped.ciphertext.count == 48 {
            for key in identity.accountAgreementKeys {
                guard
                    let plain = KeyWrap.unwrap(
                        encapsulated: Array(wrapped.encapsulated), ciphertext: Array(wrapped.ciphertext), with: key,
                        info: info)
                else { continue }
                try keyring.insert(plain, for: epoch)
                return
            }
        }
        throw CloudError(
            code: .notInvited, message: "This account is not among those who may read the zone.",
            remedy: "Ask the zone's owner for an invitation to '\(identity.label) \(identity.account.fingerprint)'.",
            path: "zones/\(zone)")
    }

    /// Opens the body. What it says of the owner must be the one who signed.
    func open(keyring: inout ZoneKeyring) throws(CloudError) -> VerifiedControl {
        let plain = try openedBody(keyring: keyring)
        let body = try parse(WireControlBody.self, plain, "control body")
        let control = try Control(wire: body.control)
        guard control.isSealed == (epoch != nil) else {
            throw .damaged("A control is sealed in a plain zone, or plain in a sealed one.")
        }
        guard control.isStopped == wire.isStopped else {
            throw .damaged("A control's envelope and body do not agree on whether the share is stopped.")
        }
        var older: Set<EpochID> = []
        for key in body.older {
            let epoch = try EpochID(wire: key.epoch)
            try keyring.insert(Array(key.key), for: epoch)
            older.insert(epoch)
        }
        return VerifiedControl(
            version: version, parents: parents, control: control, epoch: epoch, older: older, signer: account,
            device: device,
            wallMilliseconds: wire.wallMilliseconds, lineage: lineage, newOwner: consent?.account)
    }

    /// The plain bytes of the body; `.missingKey` if the epoch's key isn't known.
    func openedBody(keyring: ZoneKeyring?) throws(CloudError) -> [UInt8] {
        guard let epoch else { return file.body }
        guard let key = keyring?.key(epoch) else {
            throw CloudError(
                code: .missingKey, message: "The key of epoch \(epoch.number) is not known.",
                remedy: "Wait for an invitation, or ask the zone's owner for one.", path: "zones/\(zone)")
        }
        return try SealedBody.open(file.body, key: key, purpose: Self.purpose, header: file.header)
    }

    /// The bytes of a new version. `zone` and `parents` are nil and empty for the first.
    static func encode(
        _ control: Control, zone: ZoneID?, version: UInt64, parents: [Digest32], lineage: [ControlVersion] = [],
        consent: TransferConsent? = nil, identity: Identity, keyring: ZoneKeyring, recipients: [[UInt8]],
        nowMilliseconds: UInt64, randomBytes: (Int) -> [UInt8]
    ) throws(CloudError) -> [UInt8] {
        var wire = WireControlHeader()
        guard lineage.count + (consent == nil ? 0 : 1) <= lineageMax else {
            throw .invalid("The zone has been handed over \(lineageMax) times, which is the limit.")
        }
        wire.lineage = lineage.map { version in
            var name = WireControlName()
            (name.version, name.hash) = (version.version, version.hash.wireBytes)
            return name
        }
        if let consent {
            wire.handover.account = consent.account.digest.wireBytes
            wire.handover.device = consent.device.digest.wireBytes
            wire.handover.number = Data(consent.number)
            wire.handover.signature = Data(consent.signature)
        }
        if let zone { wire.zone = zone.digest.wireBytes }
        wire.version = version
        wire.parents = parents.sorted().map(\.wireBytes)
        wire.account = identity.account.digest.wireBytes
        wire.device = identity.device.digest.wireBytes
        wire.wallMilliseconds = nowMilliseconds
        wire.salt = Data(randomBytes(16))
        wire.isStopped = control.isStopped
        var body = WireControlBody()
        body.control = control.wire
        var plainOrSealed: [UInt8]
        var header: [UInt8]
        if control.isSealed {
            guard let epoch = keyring.current, let key = keyring.key(epoch) else {
                throw .invalid("A sealed zone needs a key.")
            }
            wire.epoch = epoch.wire
            let info = wrapInfo(zone: wire.zone, account: identity.account, epoch: epoch)
            for recipient in recipients.sorted(by: { $0.lexicographicallyPrecedes($1) }) {
                let (encapsulated, ciphertext) = try KeyWrap.wrap(key, for: recipient, info: info)
                var wrapped = WireWrappedKey()
                wrapped.encapsulated = Data(encapsulated)
                wrapped.ciphertext = Data(ciphertext)
                wire.keys.append(wrapped)
            }
            // Encapsulated keys are random, so their order says nothing of who is who.
            wire.keys.sort { $0.encapsulated.lexicographicallyPrecedes($1.encapsulated) }
            body.older = keyring.wire(except: epoch)
            header = try serialize(wire)
            plainOrSealed = try SealedBody.seal(
                serialize(body), key: key, purpose: purpose, header: header, nonce: randomBytes(12))
        } else {
            header = try serialize(wire)
            plainOrSealed = try serialize(body)
        }
        let bytes = try SignedFile.encode(
            .control, header: header, body: plainOrSealed, signingKey: identity.signingKey)
        guard bytes.count <= bytesMax else { throw .invalid("The zone has too many participants for one control.") }
        return bytes
    }

    /// What a wrapped key is bound to, so that it opens nowhere else.
    private static func wrapInfo(zone: Data, account: AccountID, epoch: EpochID) -> [UInt8] {
        Array("shoebox.zonekey/1".utf8) + Array(zone) + account.digest.bytes + bigEndian(epoch.number)
            + ReplicaID(epoch.id).bytes
    }
}
