import ShoeboxFormat
public import ShoeboxModel
import ShoeboxWorld

/// Who signed a control, when by its own clock, and what it says in clear.
public struct ControlSignature: Hashable, Sendable {
    /// Who signed.
    public var signer: AccountID
    /// The signer's wall clock, milliseconds since 1970.
    public var wallMilliseconds: UInt64
    /// Whether it stops the share.
    public var isStopped: Bool
}

/// Control files on their way from bytes to what they mean together.
private struct ControlRegion {
    /// By hash; signatures are checked, standing is not.
    var files: [Digest32: ControlFile] = [:]
    /// Those that could be opened.
    var opened: [Digest32: VerifiedControl] = [:]

    /// Who owned the zone, one after the other.
    let succession: Succession

    init(_ succession: Succession) { self.succession = succession }

    /// Whether a file is signed by who owned the zone then; not a hand-over that does not hold, which says nothing else.
    func isOwners(_ file: ControlFile) -> Bool {
        isTrue(file.lineage) && succession.holds(file.lineage.map(\.hash))
            && file.account == succession.owner(after: file.lineage.count)
            && (file.consent == nil || succession.isHandover(file.version.hash, after: file.lineage.count))
    }

    /// Whether a file says of no hand-over that it were another version: nobody would find that one by it.
    func isTrue(_ lineage: [ControlVersion]) -> Bool {
        lineage.indices.allSatisfy { index in
            succession.version(of: lineage[index].hash, after: index).map { $0 == lineage[index].version } ?? true
        }
    }

    /// Whether a file that nothing was built on was signed by who owns the zone no more.
    func isLate(_ file: ControlFile) -> Bool {
        isOwners(file) && file.lineage.count < succession.handovers.count
            && succession.handovers[file.lineage.count].hash != file.version.hash
    }

    /// Whether a file hands the zone over as another one does that counts in its place.
    func isTwin(_ file: ControlFile) -> Bool {
        isLate(file) && succession.isHandover(file.version.hash, after: file.lineage.count)
    }

    /// The files that no other one names as a parent.
    var leaves: [ControlFile] {
        let named = Set(files.values.flatMap(\.parents))
        return files.values.filter { !named.contains($0.version.hash) }
    }

    /// The opened files as nodes, of which `resolveControls` makes one control.
    var nodes: [ControlNode] {
        opened.values.filter { isTrue($0.lineage) }.map { control in
            ControlNode(
                hash: control.version.hash, version: control.version.version, parents: Set(control.parents),
                signer: control.signer, control: control.control, lineage: control.lineage.map(\.hash))
        }
    }

    /// The nodes that lie before a file.
    func nodes(before file: ControlFile) -> [ControlNode] {
        var found: Set<Digest32> = []
        var open = file.parents
        while let next = open.popLast() {
            guard found.insert(next).inserted else { continue }
            open += files[next]?.parents ?? []
        }
        return nodes.filter { found.contains($0.hash) }
    }
}

/// The names of control files, as listed. Anybody may put files there that have the hash of another one in their name.
struct ListedControls {
    /// The most names of one hash that are looked at.
    static let triesMax = 64
    /// By the hashes that they name.
    fileprivate(set) var byHash: [Digest32: [ControlVersion]] = [:]
    /// All of them.
    var all: [ControlVersion] { byHash.values.flatMap { $0 } }
}

extension ZoneFolder {
    /// How far behind the newest known version a listing is looked at for versions that no head names yet.
    private static let lookBack: UInt64 = 64
    /// From how many epochs on no keys are kept of files that do not count.
    private static let epochsMax = 4_096
    /// The most files that do not count whose keys are kept.
    private static let doubtedMax = 64
    /// The most files that are loaded to understand versions that were written apart.
    private static let regionMax = 4_096

    /// What the zone's controls say, and into the keyring their keys and the epoch to seal with.
    ///
    /// - Parameters:
    ///   - named: versions that the owner's heads name. They are known to exist, so one that isn't seen is `.notYet`.
    ///   - hinted: versions that admins' heads name; passed over if they aren't there or aren't right.
    ///   - known: the tips that the caller knew before. A result that lacks them is `.rolledBack`.
    ///   - fingerprint: of somebody who owns the zone, or did, from a link; a zone of others is `.damaged`.
    /// - Throws: also `.notInvited`: the account was removed, or never asked. The keyring is unchanged on every error.
    public func currentControl(
        named: [ControlVersion] = [], hinted: [ControlVersion] = [], known: [ControlVersion] = [],
        expecting fingerprint: String? = nil, identity: Identity, keyring: inout ZoneKeyring
    ) throws(CloudError) -> CurrentControl {
        var problems: [CloudError] = []
        let names = try listedControls()
        let (candidates, void) = try candidates(
            named: named, hinted: hinted, known: known, names: names, problems: &problems)
        var next = keyring
        let succession = try succession(
            of: candidates, named: named, settled: known, expecting: fingerprint, names: names)
        // First what the owners signed: it says who the admins are. Of what others signed, only theirs is looked at.
        var region = ControlRegion(succession)
        let mine = candidates.filter(region.isOwners)
        try extend(&region, by: mine, names: names)
        var hasTakenKeys = false
        do {
            try open(&region, identity: identity, keyring: &next, problems: &problems)
        } catch {
            guard error.code == .notInvited, candidates.count > mine.count else { throw error }
            // Perhaps an admin has invited this account: its file holds the keys of what the owner signed before. Keys
            // prove to be those of their epochs, and what the file says is judged below.
            takeKeys(from: candidates.filter { !region.isOwners($0) }, identity: identity, keyring: &next)
            hasTakenKeys = true
            region.opened = [:]
            try open(&region, identity: identity, keyring: &next, problems: &problems)
        }
        let admins = Set(
            region.leaves.compactMap { region.opened[$0.version.hash]?.control }.flatMap { control in
                control.participants.keys.filter(control.isAdmin)
            })
        for file in candidates where !region.isOwners(file) && !admins.contains(file.account) {
            guard region.files[file.version.hash] == nil else { continue }
            problems.append(notPermitted(file))
        }
        let theirs = candidates.filter { !region.isOwners($0) && admins.contains($0.account) }
        if !theirs.isEmpty {
            region = ControlRegion(succession)
            try extend(&region, by: mine + theirs, names: names)
            try open(&region, identity: identity, keyring: &next, problems: &problems)
        }
        guard let outcome = resolveControls(region.nodes, succession: succession) else {
            throw .notYet("No control of the zone is seen yet.", path: path("control").description)
        }
        for file in region.files.values.sorted(by: { $0.version < $1.version }) where !region.isTrue(file.lineage) {
            problems.append(notPermitted(file))
        }
        for (hash, refusal) in outcome.refused where refusal != .waiting {
            guard let file = region.files[hash], !region.isTwin(file) else { continue }
            problems.append(notPermitted(file))
        }
        // Of concurrent epochs, the greatest whose recipients all may still read; else the greatest, until the next control
        // of somebody who may write one starts a new one.
        let readers = outcome.control.readers
        let control = outcome.control
        let isClean = { (epoch: EpochID) in
            region.opened.values.filter { $0.epoch == epoch || $0.older.contains(epoch) }.allSatisfy { file in
                file.control.readers.isSubset(of: readers)
                    && file.control.linkAgreementKeys.isSubset(of: control.linkAgreementKeys)
                    && file.control.keyedFor.allSatisfy { control.keyedFor[$0.key] == $0.value }
            }
        }
        // Whoever signs what does not count chooses no key.
        let epochs = Set(outcome.counted.compactMap { region.opened[$0]?.epoch })
        let clean = epochs.filter(isClean).max()
        let counted = region.files.values.filter { outcome.counted.contains($0.version.hash) }
        let isOfZone = { (file: ControlFile) in
            succession.ownedBefore(file.account) || outcome.control.participants[file.account] != nil
        }
        let doubted =
            region.files.values.filter { !outcome.counted.contains($0.version.hash) }
            + (void + candidates.filter { region.files[$0.version.hash] == nil }).filter(isOfZone)
        if hasTakenKeys || !doubted.isEmpty {
            next = keys(of: counted, doubted, besides: keyring, identity: identity, opened: next)
        }
        next.current = clean ?? epochs.max()
        keyring = next
        return CurrentControl(
            control: outcome.control,
            tips: outcome.tips.map { ControlVersion(version: $0.version, hash: $0.hash) }.sorted(),
            lineage: succession.handovers.map { ControlVersion(version: $0.version, hash: $0.hash) },
            newestEpoch: epochs.max(), isEpochClean: !outcome.control.isSealed || clean != nil,
            isTakenUp: succession.isTakenUp, problems: problems)
    }

    /// Who signed the newest of these controls, of those that the owner or one of these admins signed; nil for none. Needs
    /// no key: it is how somebody who was removed learns by whom.
    public func newestSignature(
        of versions: [ControlVersion], after known: ControlVersion, admins: Set<AccountID>
    ) throws(CloudError) -> ControlSignature? {
        let names = try listedControls()
        let listed = names.all.filter { $0.version > known.version }
        var files: [ControlFile] = []
        for version in Set(versions).union(listed).sorted(by: >).prefix(1_000) {
            if let file = try checkedControl(version) { files.append(file) }
        }
        let region = ControlRegion(try succession(of: files, settled: [known], names: names))
        let newest = files.first { file in
            region.isOwners(file) && !region.isLate(file) || !region.isOwners(file) && admins.contains(file.account)
        }
        return newest.map { file in
            ControlSignature(
                signer: file.account, wallMilliseconds: file.wire.wallMilliseconds, isStopped: file.wire.isStopped)
        }
    }

    /// The control files by their hashes, as listed: perhaps not all.
    func listedControls() throws(CloudError) -> ListedControls {
        var result = ListedControls()
        for name in try access.list(path("control")).sorted(by: >).prefix(100_000) {
            guard let (number, hash) = parseNumberedName(name) else { continue }
            result.byHash[hash, default: []].append(ControlVersion(version: number, hash: hash))
        }
        return result
    }

    /// The checked file of a hash, under the version that it is likely to have, or under one that is listed; nil if it isn't
    /// seen, or isn't right.
    func checkedControl(
        _ hash: Digest32, likely: ControlVersion, in names: ListedControls
    ) throws(CloudError) -> ControlFile? {
        if let file = try checkedControl(likely) { return file }
        for version in (names.byHash[hash] ?? []).prefix(ListedControls.triesMax) where version != likely {
            if let file = try checkedControl(version) { return file }
        }
        return nil
    }

    /// The files to begin with: those that heads name, those known, and new ones that are listed; and such as count for
    /// nothing, as a device signed them that was retired.
    private func candidates(
        named: [ControlVersion], hinted: [ControlVersion], known: [ControlVersion],
        names: ListedControls, problems: inout [CloudError]
    ) throws(CloudError) -> (counted: [ControlFile], void: [ControlFile]) {
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
            try checkSignature(file)
            found[version] = file
        }
        // A listing shows what no head has named yet. What a stranger put there fails its check and is passed over.
        // Two devices may have written apart for a while, so versions before the known ones are looked at too; one that
        // lies further back than this is found by the head that names it.
        let newestKnown = known.map(\.version).max() ?? 0
        let oldest = newestKnown > Self.lookBack ? newestKnown - Self.lookBack : 0
        let listed = names.all.filter { $0.version > oldest }
        for version in Set(hinted).union(listed).sorted(by: >) where found[version] == nil {
            do {
                let file = try envelope(version)
                try checkSignature(file)
                found[version] = file
            } catch {
                guard error.isAboutFile else { throw error }
                problems.append(error)
            }
        }
        let counted = withoutRetired(found, known: known)
        for file in found.values.sorted(by: { $0.version < $1.version }) where counted[file.version] == nil {
            problems.append(
                CloudError(
                    code: .notPermitted,
                    message: "A control is signed by a device of \(file.account.fingerprint) that was retired.",
                    remedy: "It counts for nothing; ask who has the device.",
                    path: path("control", file.version.description).description))
        }
        return (Array(counted.values), found.values.filter { counted[$0.version] == nil })
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

    /// Adds the ones of these files that no other one replaces, and what lies before them, down to one file of the owner's
    /// through which all ways lead: what it says, all before it said.
    private func extend(
        _ region: inout ControlRegion, by files: [ControlFile], names: ListedControls
    ) throws(CloudError) {
        let replaced = Set(files.flatMap(\.parents))
        var byHash: [Digest32: ControlFile] = [:]
        for file in files { byHash[file.version.hash] = file }
        // The first one lies before all others, also where what lies between is not seen.
        var open: [Digest32: ControlFile] = byHash.filter {
            !replaced.contains($0.key) && ($0.value.version.version > 1 || byHash.count == 1)
        }
        while let file = open.values.max(by: { $0.version < $1.version }) {
            open[file.version.hash] = nil
            region.files[file.version.hash] = file
            guard !open.isEmpty || !region.isOwners(file), region.files.count < Self.regionMax else { return }
            for parent in file.parents where region.files[parent] == nil && open[parent] == nil {
                if let found = byHash[parent] {
                    open[parent] = found
                    continue
                }
                guard file.version.version > 1 else { continue }
                // Not fatal when it isn't seen: what is known counts for itself, which only restricts.
                let likely = ControlVersion(version: file.version.version - 1, hash: parent)
                if let found = try checkedControl(parent, likely: likely, in: names) { open[parent] = found }
            }
        }
    }

    /// Opens what can be opened, the newest first, since newer ones hold the older keys.
    ///
    /// - Throws: `.notInvited` if a file that counts puts this account out; `.notYet` if one doesn't know it yet, because it
    ///   was invited elsewhere at the same time.
    private func open(
        _ region: inout ControlRegion, identity: Identity, keyring: inout ZoneKeyring,
        problems: inout [CloudError]
    ) throws(CloudError) {
        var closed: [(file: ControlFile, error: CloudError)] = []
        for attempt in 0..<2 {
            closed = []
            for file in region.files.values.sorted(by: { $0.version > $1.version })
            where region.opened[file.version.hash] == nil {
                do { region.opened[file.version.hash] = try open(file, identity: identity, keyring: &keyring) } catch {
                    guard error.code == .notInvited || error.code == .missingKey else {
                        guard !region.isOwners(file) || region.isLate(file) else { throw error }
                        if attempt == 1 { problems.append(error) }
                        continue
                    }
                    closed.append((file, error))
                }
            }
            if region.opened.count == region.files.count { return }
        }
        let leaves = Set(region.leaves.map(\.version))
        for (file, error) in closed where leaves.contains(file.version) {
            // What a former owner signs afterwards puts nobody out.
            guard !region.isLate(file) else {
                if !region.isTwin(file) { problems.append(notPermitted(file)) }
                continue
            }
            guard let before = resolveControls(region.nodes(before: file), succession: region.succession)?.control
            else {
                guard region.isOwners(file) else { continue }
                throw error
            }
            guard region.isOwners(file) || before.isAdmin(file.account) && !before.isAdmin(identity.account) else {
                problems.append(notPermitted(file))
                continue
            }
            // Nobody puts the owner out; perhaps it is for a key that this device has not taken up.
            guard region.isOwners(file) || before.owner != identity.account else {
                var problem = notPermitted(file)
                problem.code = .notInvited
                problems.append(problem)
                continue
            }
            guard before.permission(of: identity.account) > .none || region.opened.count == 0 else {
                throw .notYet(
                    "A control was written before this account's invitation was known everywhere.",
                    path: path("control", file.version.description).description)
            }
            throw error
        }
    }

    /// Takes the keys that these files hold for this account, of the newest that hold any.
    private func takeKeys(from files: [ControlFile], identity: Identity, keyring: inout ZoneKeyring) {
        for file in files.sorted(by: { $0.version > $1.version }).prefix(200) {
            var ring = keyring
            guard (try? open(file, identity: identity, keyring: &ring)) != nil else { continue }
            keyring = ring
        }
    }

    /// The keys that this account has: those known before, all that files hold that count, and of others by people who may
    /// have signed what others went by for a while only the key that they are sealed with themselves.
    private func keys(
        of counted: [ControlFile], _ doubted: [ControlFile], besides known: ZoneKeyring, identity: Identity,
        opened: ZoneKeyring
    ) -> ZoneKeyring {
        var result = known
        for file in counted.sorted(by: { $0.version > $1.version }) {
            // Perhaps only another one holds the key that it needs; what can't be opened brings none.
            if let epoch = file.epoch, let key = opened.key(epoch) { try? result.insert(key, for: epoch) }
            var ring = result
            guard (try? open(file, identity: identity, keyring: &ring)) != nil else { continue }
            result = ring
        }
        for file in doubted.sorted(by: { $0.version > $1.version }).prefix(Self.doubtedMax)
        where result.epochs.count < Self.epochsMax {
            // Not for this account, or damaged: nobody has to have it.
            var ring = result
            guard (try? file.unwrap(into: &ring, identity: identity)) != nil else { continue }
            result = ring
        }
        return result
    }

    private func notPermitted(_ file: ControlFile) -> CloudError {
        CloudError(
            code: .notPermitted,
            message: "A control is signed by \(file.account.fingerprint), who had no right to what it says.",
            remedy: "It counts for nothing; ask who has write access to the mount.",
            path: path("control", file.version.description).description)
    }
}
