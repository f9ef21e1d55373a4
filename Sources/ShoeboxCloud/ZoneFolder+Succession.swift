public import ShoeboxModel
import ShoeboxWorld

// Who owns a zone: who signed its first control, or to whom it was handed over. Read from envelopes alone, so that no key
// is needed for it.

extension ZoneFolder {
    /// The most files of hand-overs that are read for files of people who are not known.
    private static let handoversMax = 512
    /// The newest controls that are looked at to find out who owns a zone.
    private static let newestMax = 64
    /// The most names that are looked at for them.
    private static let triesMax = 2_048

    /// Who owned the zone, one after the other, as these files know.
    ///
    /// - Parameters:
    ///   - files: control files whose signatures are checked.
    ///   - named: of these, those that are known to count: a hand-over before them that isn't seen is `.notYet`.
    ///   - settled: versions that the caller took for valid before: the hand-overs before them hold.
    ///   - fingerprint: of somebody who owns the zone, or did; if nobody did, it is `.damaged`.
    func succession(
        of files: [ControlFile], named: [ControlVersion] = [], settled: [ControlVersion] = [],
        expecting fingerprint: String? = nil,
        names: ListedControls
    ) throws(CloudError) -> Succession {
        let founder = try owner()
        var result = Succession(founder: founder)
        if files.contains(where: { !$0.lineage.isEmpty || $0.consent != nil }) {
            let known = Set(settled.map(\.hash))
            var settledFiles = files.filter { known.contains($0.version.hash) }
            for version in settled where !settledFiles.contains(where: { $0.version == version }) {
                if let file = try checkedControl(version) { settledFiles.append(file) }
            }
            let lineages = settledFiles.map { file in
                file.lineage.map(\.hash) + (file.consent == nil ? [] : [file.version.hash])
            }
            let held = lineages.max { $0.count < $1.count } ?? []
            let handovers = try handovers(
                in: files, named: Set(named), settled: settledFiles, held: Set(held), names: names)
            result = Succession(founder: founder, of: handovers, settled: held) { $0.fingerprint == fingerprint }
            // Without a hand-over that was taken for valid, the zone would be its former owner's again.
            let lost = held.indices.first { !result.isHandover(held[$0], after: $0) }.map { held[$0] }
            if let lost {
                throw CloudError(
                    code: .rolledBack, message: "The control by which the zone was handed over is gone.",
                    remedy: "If the mount was restored from a backup, the device of anybody who takes part heals it.",
                    path: (names.byHash[lost]?.first.map { path("control", $0.description) } ?? path("control"))
                        .description)
            }
        }
        let owners = [founder] + result.handovers.map(\.owner)
        guard fingerprint == nil || owners.contains(where: { $0.fingerprint == fingerprint }) else {
            throw .damaged(
                "The zone belongs to \(result.owner.fingerprint), not to \(fingerprint ?? "") as the link says.",
                path: path().description)
        }
        return result
    }

    /// Who owns the zone at present, as far as its newest controls are seen. Needs no key.
    ///
    /// - Parameters:
    ///   - known: a control that was taken for valid before; its hand-overs hold.
    ///   - fingerprint: of the owner, or of one before, from a link; another one is `.damaged`.
    public func presentOwner(
        after known: ControlVersion? = nil, expecting fingerprint: String? = nil
    ) throws(CloudError) -> AccountID {
        try presentSuccession(after: known, expecting: fingerprint).owner
    }

    /// The control by which an account handed the zone over after a known one, as far as the newest controls are seen; nil
    /// for none.
    public func handover(by account: AccountID, after known: ControlVersion) throws(CloudError) -> ControlVersion? {
        let former = try envelope(known)
        let count = former.lineage.count + (former.consent == nil ? 0 : 1)
        let next = try presentSuccession(after: known).handovers.dropFirst(count).last { $0.signer == account }
        return next.map { ControlVersion(version: $0.version, hash: $0.hash) }
    }

    private func presentSuccession(
        after known: ControlVersion? = nil, expecting fingerprint: String? = nil
    ) throws(CloudError) -> Succession {
        let names = try listedControls()
        var files: [ControlFile] = []
        // Names alone prove nothing.
        for version in names.all.sorted(by: >).prefix(Self.triesMax) where files.count < Self.newestMax {
            if let file = try checkedControl(version) { files.append(file) }
        }
        return try succession(of: files, settled: known.map { [$0] } ?? [], expecting: fingerprint, names: names)
    }

    /// The hand-overs that these files are, or name: signed by both sides. Whether they hold is not said.
    private func handovers(
        in files: [ControlFile], named: Set<ControlVersion>, settled: [ControlFile], held: Set<Digest32>,
        names: ListedControls
    ) throws(CloudError) -> [Handover] {
        var found: [Digest32: ControlFile] = [:]
        for file in settled + files where file.consent != nil { found[file.version.hash] = file }
        // First what is known to count: strangers may have put files there that name very many.
        let isNamed = { (file: ControlFile) in named.contains(file.version) }
        var open = (files.filter { !isNamed($0) } + files.filter(isNamed) + settled)
        var looked: Set<Digest32> = []
        while let file = open.popLast() {
            for version in file.lineage where found[version.hash] == nil && !looked.contains(version.hash) {
                let isKnown = isNamed(file) || held.contains(version.hash)
                guard isKnown || names.byHash[version.hash] != nil && looked.count < Self.handoversMax else { continue }
                looked.insert(version.hash)
                if let handover = try checkedControl(version.hash, likely: version, in: names) {
                    guard handover.consent != nil else { continue }
                    found[version.hash] = handover
                    open.append(handover)
                } else if isNamed(file), try !isSeen(version) {
                    throw .notYet("A hand-over of the zone is not seen yet.", path: path("control").description)
                }
            }
        }
        let takenUp = takenUp(found, by: settled + files + found.values)
        let reachable = try owners(by: found)
        var result: [Handover] = []
        for file in found.values.sorted(by: { $0.version < $1.version }) where reachable.contains(file.account) {
            // A lineage that says another version of one leads nobody to it.
            guard file.lineage.allSatisfy({ found[$0.hash].map(\.version) ?? $0 == $0 }) else { continue }
            guard let consent = file.consent, consent.isSigned(zone: zone, owner: file.account),
                try isAdmitted(consent.device, of: consent.account)
            else { continue }
            // A device that was retired must not hand anything over afterwards.
            let hash = file.version.hash
            var isDoubtful =
                accounts.cached(file.account)?.devices[file.device]?.isRetired == true && !held.contains(hash)
            if isDoubtful { isDoubtful = try !isWitnessed(file) }
            result.append(
                Handover(
                    hash: hash, version: file.version.version, lineage: file.lineage.map(\.hash),
                    signer: file.account, owner: consent.account, isDoubtful: isDoubtful,
                    isTakenUp: takenUp.contains(hash)))
        }
        return result
    }

    /// Who may own the zone by any of these hand-overs: what others sign leads nowhere.
    private func owners(by handovers: [Digest32: ControlFile]) throws(CloudError) -> Set<AccountID> {
        var result: Set<AccountID> = [try owner()]
        var count = 0
        while result.count > count {
            count = result.count
            for file in handovers.values where result.contains(file.account) {
                if let consent = file.consent { result.insert(consent.account) }
            }
        }
        return result
    }

    /// Those of these hand-overs that a device of their new owner, in good standing, has named by what it signed.
    private func takenUp(_ handovers: [Digest32: ControlFile], by files: [ControlFile]) -> Set<Digest32> {
        var result: Set<Digest32> = []
        for file in files where accounts.cached(file.account)?.devices[file.device]?.isRetired != true {
            for version in file.lineage where handovers[version.hash]?.consent?.account == file.account {
                result.insert(version.hash)
            }
        }
        return result
    }

    /// To whom a control hands the zone over, if it does; its signature is right, whether it holds is not said.
    public func receiver(by version: ControlVersion) throws(CloudError) -> AccountID? {
        try checkedControl(version)?.consent?.account
    }

    private func isSeen(_ version: ControlVersion) throws(CloudError) -> Bool {
        try access.readKnown(path("control", version.description), maxBytes: ControlFile.bytesMax) != nil
    }

    /// Whether a device in good standing of who signed a hand-over says by its head that it has taken it for valid.
    private func isWitnessed(_ handover: ControlFile) throws(CloudError) -> Bool {
        guard let account = accounts.cached(handover.account) else { return false }
        for (replica, cursor) in try replicas().sorted(by: { $0.key < $1.key }).prefix(1_000) {
            guard let head = try readHead(replica, from: cursor).newest, head.account == handover.account,
                account.devicesInGoodStanding.contains(head.device), let named = head.control
            else { continue }
            if named == handover.version { return true }
            if let file = try checkedControl(named), file.lineage.contains(handover.version) { return true }
        }
        return false
    }

    /// A control's file whose signature was checked; nil if it isn't seen, or isn't right.
    /// - Throws: what the mount fails to say now. That proves nothing: who owns the zone would depend on it.
    func checkedControl(_ version: ControlVersion) throws(CloudError) -> ControlFile? {
        do {
            let file = try envelope(version)
            try checkSignature(file)
            return file
        } catch {
            guard error.isAboutFile else { throw error }
            return nil
        }
    }

    private func isAdmitted(_ device: DeviceID, of account: AccountID) throws(CloudError) -> Bool {
        do { try checkDevice(device, of: account, path: path("control")) } catch {
            guard error.isAboutFile else { throw error }
            return false
        }
        return true
    }
}

extension CloudError {
    /// Whether it is what a file is, or isn't (yet), and not what the mount can't do now.
    var isAboutFile: Bool { [.notYet, .damaged, .notPermitted, .newerFormat].contains(code) }
}
