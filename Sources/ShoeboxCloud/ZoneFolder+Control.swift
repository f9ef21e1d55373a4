public import ShoeboxModel
public import ShoeboxWorld

/// What a zone's controls say at present.
public struct CurrentControl: Hashable, Sendable {
    /// The tips, joined.
    public var control: Control
    /// The versions that no other replaces, sorted; the parents of the next one. More than one after two devices of
    /// the owner wrote without having seen each other.
    public var tips: [ControlVersion]
    /// Whether everyone who got the current epoch's key may still read. If not, the owner's next control must start a
    /// new epoch, and `publishControl` sees to it.
    public var isEpochClean: Bool
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
        if control.isSealed { try addEpoch(to: &keyring, randomBytes: randomBytes) }
        var control = control
        control.keyedFor = try readerKeys(control, identity: identity, accounts: accounts)
        let bytes = try ControlFile.encode(
            control, zone: nil, version: 1, parents: [], identity: identity, keyring: keyring,
            recipients: recipients(control), nowMilliseconds: nowMilliseconds, randomBytes: randomBytes)
        let file = try ControlFile(bytes)
        let folder = ZoneFolder(zone: file.zone, mount: mount, accounts: accounts)
        for name in ["control", "heads", "log"] { try folder.access.makeDirectory(folder.path(name)) }
        try folder.access.publish(folder.path("control", file.version.description), bytes)
        return (folder, keyring, try file.open(keyring: &keyring))
    }

    /// Publishes a new version of the control in place of all tips, and returns it. Name it by `appendHead` next.
    ///
    /// The key is wrapped for everyone who may read. A new epoch is started if asked for, and in any case if somebody
    /// lost the right to read.
    /// - Throws: `.notPermitted` unless the identity is the zone's owner; `.notYet` if a participant's account is not
    ///   seen. Nothing is changed then, the keyring neither.
    public func publishControl(
        _ control: Control, replacing current: CurrentControl, keyring: inout ZoneKeyring, newEpoch: Bool = false,
        identity: Identity, nowMilliseconds: UInt64, randomBytes: (Int) -> [UInt8]
    ) throws(CloudError) -> VerifiedControl {
        guard identity.account == current.control.owner, control.owner == current.control.owner else {
            throw CloudError(
                code: .notPermitted, message: "Only the owner changes who takes part.",
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
            try Self.addEpoch(to: &next, randomBytes: randomBytes)
        }
        let bytes = try ControlFile.encode(
            control, zone: zone, version: last.version + 1, parents: current.tips.map(\.hash), identity: identity,
            keyring: next, recipients: Self.recipients(control), nowMilliseconds: nowMilliseconds,
            randomBytes: randomBytes)
        let file = try ControlFile(bytes)
        let result = try file.open(keyring: &next)
        try access.publish(path("control", file.version.description), bytes)
        keyring = next
        return result
    }

    private static func addEpoch(to keyring: inout ZoneKeyring, randomBytes: (Int) -> [UInt8]) throws(CloudError) {
        let (number, overflow) = (keyring.epochs.last?.number ?? 0).addingReportingOverflow(1)
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
            guard let digest = key.flatMap({ Digest32(bytes: $0) }) else {
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

    /// One version of the control, verified. Its keys go into the keyring; the keyring's current epoch stays.
    ///
    /// - Throws: `.notYet`, `.damaged`, `.notPermitted` (not signed by the owner), `.notInvited`, `.missingKey`.
    public func readControl(
        _ version: ControlVersion, identity: Identity, keyring: inout ZoneKeyring
    ) throws(CloudError) -> VerifiedControl {
        let file = try envelope(version)
        try check(file, owner: try owner())
        return try open(file, identity: identity, keyring: &keyring)
    }

    /// What the zone's controls say, and into the keyring their keys and the epoch to seal with.
    ///
    /// - Parameters:
    ///   - named: versions that heads name. They are known to exist, so one that isn't seen is `.notYet`.
    ///   - known: the tips that the caller knew before. A result that lacks them is `.rolledBack`.
    /// - Throws: also `.notInvited`: the account was removed, or never asked. The keyring is unchanged on every error.
    public func currentControl(
        named: [ControlVersion] = [], known: [ControlVersion] = [], identity: Identity, keyring: inout ZoneKeyring
    ) throws(CloudError) -> CurrentControl {
        let owner = try owner()
        var problems: [CloudError] = []
        let files = try tips(named: named, known: known, owner: owner, problems: &problems)
        var next = keyring
        var opened: [VerifiedControl] = []
        for file in files { opened.append(try open(file, identity: identity, keyring: &next)) }
        guard let control = joinControls(opened.map(\.control)) else {
            throw .notYet("No control of the zone is seen yet.", path: path("control").description)
        }
        guard control.owner == owner else {
            throw .damaged("The zone's control names another owner than the one who made it.", path: path().description)
        }
        // Of concurrent epochs, the greatest whose recipients all may still read; else the greatest, until the owner's
        // next control starts a new one.
        let clean = opened.filter { tip in
            tip.control.readers.isSubset(of: control.readers)
                && tip.control.linkAgreementKeys.isSubset(of: control.linkAgreementKeys)
                && tip.control.keyedFor.allSatisfy { control.keyedFor[$0.key] == $0.value }
        }.compactMap(\.epoch).max()
        next.current = clean ?? opened.compactMap(\.epoch).max()
        keyring = next
        return CurrentControl(
            control: control, tips: files.map(\.version).sorted(), isEpochClean: !control.isSealed || clean != nil,
            problems: problems)
    }

    /// The verified envelopes that no other one replaces.
    private func tips(
        named: [ControlVersion], known: [ControlVersion], owner: AccountID, problems: inout [CloudError]
    ) throws(CloudError) -> [ControlFile] {
        var found: [ControlVersion: ControlFile] = [:]
        for version in Set(named + known).sorted(by: >) {
            let file: ControlFile
            do { file = try envelope(version) } catch {
                guard error.code == .notYet, known.contains(version) else { throw error }
                throw CloudError(
                    code: .rolledBack, message: "A control that was seen before is gone from the container.",
                    remedy: "If the mount was restored from a backup, its owner's next change heals it.",
                    path: path("control", version.description).description)
            }
            try check(file, owner: owner)
            found[version] = file
        }
        // A listing shows what no head has named yet. What a stranger put there fails its check and is passed over.
        // Two devices may have written apart for a while, so versions before the known ones are looked at too; one that
        // lies further back than this is found by the head that names it.
        let newestKnown = known.map(\.version).max() ?? 0
        let oldest = newestKnown > 64 ? newestKnown - 64 : 0
        for name in try access.list(path("control")).sorted(by: >).prefix(100_000) {
            guard let (number, hash) = parseNumberedName(name), number > oldest else { continue }
            let version = ControlVersion(version: number, hash: hash)
            guard found[version] == nil else { continue }
            do {
                let file = try envelope(version)
                try check(file, owner: owner)
                found[version] = file
            } catch {
                if [.notYet, .damaged, .notPermitted, .newerFormat].contains(error.code) {
                    problems.append(error)
                } else {
                    throw error
                }
            }
        }
        found = withoutRetired(found, known: known)
        // A version whose parents aren't seen still counts: its signer had seen them.
        let replaced = Set(found.values.flatMap(\.parents))
        var tips = found.values.filter { !replaced.contains($0.version.hash) }
        if tips.count > 1 {
            var ancestors: Set<Digest32> = []
            for tip in tips { try addAncestors(of: tip, downTo: tips, found: found, into: &ancestors) }
            tips.removeAll { ancestors.contains($0.version.hash) }
        }
        return tips.sorted { $0.version < $1.version }
    }

    /// Without what retired devices have signed, but for what those in good standing have built on: a retired device
    /// must not change a zone by a control that nobody had seen. What was known before stays until one of a device in
    /// good standing replaces it.
    private func withoutRetired(
        _ found: [ControlVersion: ControlFile], known: [ControlVersion]
    ) -> [ControlVersion: ControlFile] {
        func isVoid(_ file: ControlFile) -> Bool {
            file.version.version > 1 && accounts.cached(file.account)?.devices[file.device]?.isRetired == true
        }
        guard found.values.contains(where: isVoid) else { return found }
        var byHash: [Digest32: ControlFile] = [:]
        for file in found.values { byHash[file.version.hash] = file }
        func past(of files: some Sequence<ControlFile>) -> Set<Digest32> {
            var result: Set<Digest32> = []
            var open = Array(files)
            while let file = open.popLast() {
                for parent in file.parents where result.insert(parent).inserted {
                    if let next = byHash[parent] { open.append(next) }
                }
            }
            return result
        }
        let standing = found.values.filter { !isVoid($0) }
        var counted = Set(standing.map(\.version.hash)).union(past(of: standing))
        for version in known {
            guard let file = found[version], isVoid(file), !counted.contains(version.hash) else { continue }
            let before = past(of: [file])
            guard standing.allSatisfy({ before.contains($0.version.hash) }) else { continue }
            counted.formUnion(before)
            counted.insert(version.hash)
        }
        return found.filter { counted.contains($0.value.version.hash) }
    }

    /// Walks the parents of a tip that were not loaded yet, as far down as another tip may lie.
    private func addAncestors(
        of tip: ControlFile, downTo tips: [ControlFile], found: [ControlVersion: ControlFile],
        into ancestors: inout Set<Digest32>
    ) throws(CloudError) {
        let floor = tips.map(\.version.version).min() ?? 1
        var byHash: [Digest32: ControlFile] = [:]
        for file in found.values { byHash[file.version.hash] = file }
        var open = [tip]
        while let file = open.popLast() {
            for parent in file.parents where ancestors.insert(parent).inserted {
                if let next = byHash[parent] {
                    open.append(next)
                } else if file.version.version > floor + 1 {
                    // Not fatal when it isn't seen: an old tip is then joined, which only restricts.
                    let guess = ControlVersion(version: file.version.version - 1, hash: parent)
                    if let next = try? envelope(guess) { open.append(next) }
                }
            }
        }
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

    /// Publishes a control again that the container has lost, byte for byte.
    public func publishControl(_ bytes: [UInt8], again version: ControlVersion) throws(CloudError) {
        guard sha256(bytes) == version.hash else { throw .invalid("The bytes are not those of the control.") }
        try access.publish(path("control", version.description), bytes)
    }

    /// The envelope of a version, its name checked against its bytes.
    private func envelope(_ version: ControlVersion) throws(CloudError) -> ControlFile {
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

    private func checkSignature(_ file: ControlFile) throws(CloudError) {
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

    private func open(
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
