public import ShoeboxModel
public import ShoeboxWorld

/// What a zone's controls say at present.
public struct CurrentControl: Hashable, Sendable {
    /// The tips, joined.
    public var control: Control
    /// The versions that no other replaces, sorted; the parents of the next one. More than one after two devices of
    /// the owner wrote without having seen each other.
    public var tips: [ControlVersion]
    /// The controls by which the zone was handed over, oldest first.
    public var lineage: [ControlVersion] = []
    /// The newest epoch of the controls that count; nil in a plain zone.
    public var newestEpoch: EpochID?
    /// Whether everyone who got the current epoch's key may still read. If not, the owner's next control must start a
    /// new epoch, and `publishControl` sees to it.
    public var isEpochClean: Bool
    /// Whether who owns the zone has signed something since it was handed over. If not, its next control says by which of the
    /// former owner's files it goes.
    public var isTakenUp: Bool = true
    /// Control files that were refused, and why. They count for nothing.
    public var problems: [CloudError]

    /// The greatest tip: what a head names.
    public var newest: ControlVersion? { tips.last }
}

extension ZoneFolder {
    /// Makes a zone: its first control, with a first key if it is sealed. The signer becomes its owner.
    ///
    /// The control is published but named by no head: `appendHead` next. After a crash in between there is an empty
    /// folder that nobody knows of.
    /// - Throws: `.invalid` unless `control.owner` is the identity's account; `.notYet` if a participant's account is
    ///   not seen.
    public static func create(
        _ control: Control, identity: Identity, mount: any Mount, accounts: AccountDirectory, nowMilliseconds: UInt64,
        randomBytes: (Int) -> [UInt8]
    ) throws(CloudError) -> (folder: ZoneFolder, keyring: ZoneKeyring, control: VerifiedControl) {
        guard control.owner == identity.account else { throw .invalid("Only its owner can make a zone.") }
        var keyring = ZoneKeyring()
        if control.isSealed { try addEpoch(to: &keyring, after: nil, randomBytes: randomBytes) }
        var control = control
        control.keyedFor = try readerKeys(control, identity: identity, accounts: accounts)
        let bytes = try ControlFile.encode(
            control, zone: nil, version: 1, parents: [], identity: identity, keyring: keyring,
            recipients: recipients(control), nowMilliseconds: nowMilliseconds, randomBytes: randomBytes)
        let file = try ControlFile(bytes)
        let folder = ZoneFolder(zone: file.zone, mount: mount, accounts: accounts)
        for name in ["control", "heads", "log"] { try folder.access.makeDirectory(folder.path(name)) }
        try folder.access.publishDurably(folder.path("control", file.version.description), bytes)
        return (folder, keyring, try file.open(keyring: &keyring))
    }

    /// Publishes a new version of the control in place of all tips, and returns it with its file's bytes. Name it by `appendHead` next.
    ///
    /// The key is wrapped for everyone who may read. A new epoch is started if asked for, and in any case if somebody
    /// lost the right to read.
    /// - Parameter consent: of who owns the zone by this control; nil if it stays its owner's.
    /// - Throws: `.notPermitted` unless the identity is the zone's owner, or an admin who may do that; `.notYet` if a participant's account is not
    ///   seen. Nothing is changed then, the keyring neither.
    public func publishControl(
        _ control: Control, replacing current: CurrentControl, keyring: inout ZoneKeyring, newEpoch: Bool = false,
        consent: TransferConsent? = nil, identity: Identity, nowMilliseconds: UInt64, randomBytes: (Int) -> [UInt8]
    ) throws(CloudError) -> (verified: VerifiedControl, bytes: [UInt8]) {
        let owner = current.control.owner
        guard consent.map({ $0.account == control.owner && $0.isSigned(zone: zone, owner: owner) }) ?? true else {
            throw .invalid("The consent is not the new owner's, or not to this.")
        }
        let isByOwner = identity.account == owner && (consent != nil || control.owner == owner)
        guard isByOwner || isPermitted(control, after: current.control, to: identity.account) else {
            throw CloudError(
                code: .notPermitted, message: "Only the owner, and in part an admin, changes who takes part.",
                remedy: "Ask '\(current.control.ownerLabel)' to do it.", path: path().description)
        }
        guard control.isSealed == current.control.isSealed, control.kind == current.control.kind else {
            throw .invalid("A zone stays sealed or plain, and of its kind.")
        }
        guard let last = current.tips.last, last.version < .max else {
            throw .invalid("There is no control to replace.")
        }
        var next = keyring
        var control = control
        control.keyedFor = try Self.readerKeys(control, identity: identity, accounts: accounts)
        if control.isSealed,
            newEpoch || !current.isEpochClean || next.current == nil
                || !current.control.readers.isSubset(of: control.readers) || takesKeysAway(current.control, control)
        {
            try Self.addEpoch(to: &next, after: current.newestEpoch, randomBytes: randomBytes)
        }
        let bytes = try ControlFile.encode(
            control, zone: zone, version: last.version + 1, parents: current.tips.map(\.hash),
            lineage: current.lineage, consent: consent, identity: identity, keyring: next,
            recipients: Self.recipients(control),
            nowMilliseconds: nowMilliseconds, randomBytes: randomBytes)
        let file = try ControlFile(bytes)
        let result = try file.open(keyring: &next)
        try access.publishDurably(path("control", file.version.description), bytes)
        keyring = next
        return (result, bytes)
    }

    private static func addEpoch(
        to keyring: inout ZoneKeyring, after newest: EpochID?, randomBytes: (Int) -> [UInt8]
    ) throws(CloudError) {
        let (number, overflow) = (newest?.number ?? 0).addingReportingOverflow(1)
        guard !overflow else { throw .invalid("There are no more epochs.") }
        let key = randomBytes(32)
        let epoch = EpochID(number: number, key: key)
        try keyring.insert(key, for: epoch)
        keyring.current = epoch
    }

    /// The keys that a zone's key is wrapped for: the readers', and those of links that let people in at once.
    private static func recipients(_ control: Control) -> [[UInt8]] {
        guard control.isSealed else { return [] }
        return control.keyedFor.values.map(\.bytes) + control.linkAgreementKeys
    }

    /// Each reader's agreement key as its account says now.
    private static func readerKeys(
        _ control: Control, identity: Identity, accounts: AccountDirectory
    ) throws(CloudError) -> [AccountID: Digest32] {
        guard control.isSealed else { return [:] }
        var result: [AccountID: Digest32] = [:]
        for account in control.readers.sorted() {
            var key = try accounts.account(account)?.agreementKey
            if account == identity.account { key = try agreementPublicKey(identity.accountAgreementKeys[0]) }
            // An account whose files are hidden keeps nobody from changing a zone: the key it was last known by counts.
            guard let digest = key.flatMap({ Digest32(bytes: $0) }) ?? control.keyedFor[account] else {
                throw .notYet("The account \(account.fingerprint) is not seen yet.", path: "accounts/\(account)")
            }
            result[account] = digest
        }
        return result
    }

    /// Whether a key that the zone's key was wrapped for is to read no more: a link that was taken back, or the former
    /// key of an account that has retired a device.
    private func takesKeysAway(_ former: Control, _ next: Control) -> Bool {
        !former.linkAgreementKeys.isSubset(of: next.linkAgreementKeys)
            || former.keyedFor.contains { account, key in next.keyedFor[account] != key }
    }

    /// Who made the zone: the signer of its first control, which the zone's id is the hash of. Needs no key.
    ///
    /// - Parameter fingerprint: the owner's, from a link; another one is `.damaged`.
    public func owner(expecting fingerprint: String? = nil) throws(CloudError) -> AccountID {
        let first = try envelope(ControlVersion(version: 1, hash: zone.digest))
        try checkSignature(first)
        guard fingerprint == nil || fingerprint == first.account.fingerprint else {
            throw .damaged(
                "The zone belongs to \(first.account.fingerprint), not to \(fingerprint ?? "") as the link says.",
                path: path().description)
        }
        return first.account
    }

    /// One version of the control, verified: signed by the owner (nil for who made the zone), or one of these admins. Its keys go into the keyring; the
    /// keyring's current epoch stays. Whether it counts is not said by this.
    ///
    /// - Throws: `.notYet`, `.damaged`, `.notPermitted` (not signed by one of them), `.notInvited`, `.missingKey`.
    public func readControl(
        _ version: ControlVersion, owner: AccountID? = nil, admins: Set<AccountID> = [], identity: Identity,
        keyring: inout ZoneKeyring
    ) throws(CloudError) -> VerifiedControl {
        let file = try envelope(version)
        if !admins.contains(file.account) {
            var signer = owner
            if signer == nil { signer = try self.owner() }
            if let signer { try check(file, owner: signer) }
        }
        try checkSignature(file)
        return try open(file, identity: identity, keyring: &keyring)
    }

    /// The bytes of a version's file, which are what its name says; nil if it isn't seen.
    public func controlBytes(_ version: ControlVersion) throws(CloudError) -> [UInt8]? {
        guard
            let bytes = try access.readKnown(
                path("control", version.description), maxBytes: ControlFile.bytesMax),
            sha256(bytes) == version.hash
        else { return nil }
        return bytes
    }

    /// The names of the controls that are seen; the listing may be old.
    public func controlNames() throws(CloudError) -> Set<String> { Set(try access.list(path("control"))) }

    /// Takes away a control's file whose bytes are not those of its name, to be published again; false if there is none, or
    /// another user wrote it, who has to do that.
    public func removeDamagedControl(_ version: ControlVersion) throws(CloudError) -> Bool {
        let path = path("control", version.description)
        guard let bytes = try access.readKnown(path, maxBytes: ControlFile.bytesMax), sha256(bytes) != version.hash
        else {
            return false
        }
        do throws(FileError) { try access.mount.remove(path) } catch {
            guard error.code == .denied else { throw CloudError(error) }
            return false
        }
        return true
    }

    /// Publishes a control again that the container has lost, byte for byte.
    public func publishControl(_ bytes: [UInt8], again version: ControlVersion) throws(CloudError) {
        guard sha256(bytes) == version.hash else { throw .invalid("The bytes are not those of the control.") }
        try access.publishDurably(path("control", version.description), bytes)
    }

    /// The envelope of a version, its name checked against its bytes.
    func envelope(_ version: ControlVersion) throws(CloudError) -> ControlFile {
        let path = path("control", version.description)
        guard let bytes = try access.readKnown(path, maxBytes: ControlFile.bytesMax) else {
            throw .notYet("A control of the zone is not seen yet.", path: path.description)
        }
        do throws(CloudError) {
            let file = try ControlFile(bytes)
            guard file.version == version, file.zone == zone else {
                throw .damaged("The file is not the control that its name says.")
            }
            return file
        } catch { throw error.at(path) }
    }

    func checkSignature(_ file: ControlFile) throws(CloudError) {
        let path = path("control", file.version.description)
        guard file.file.isSigned(.control, by: file.device) else {
            throw .damaged("The signature of a control is wrong.", path: path.description)
        }
        try checkDevice(file.device, of: file.account, path: path)
    }

    private func check(_ file: ControlFile, owner: AccountID) throws(CloudError) {
        guard file.account == owner else {
            throw CloudError(
                code: .notPermitted, message: "A control is signed by \(file.account.fingerprint), not by the owner.",
                remedy: "It counts for nothing; ask who has write access to the mount.",
                path: path("control", file.version.description).description)
        }
        try checkSignature(file)
    }

    func open(
        _ file: ControlFile, identity: Identity, keyring: inout ZoneKeyring
    ) throws(CloudError) -> VerifiedControl {
        do throws(CloudError) {
            try file.unwrap(into: &keyring, identity: identity)
            return try file.open(keyring: &keyring)
        } catch { throw error.at(path("control", file.version.description)) }
    }
}

extension CloudError {
    /// The same error, about this file.
    func at(_ path: MountPath) -> CloudError {
        var result = self
        if result.path.isEmpty { result.path = path.description }
        return result
    }
}
