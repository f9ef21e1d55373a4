import ShoeboxCloud
import ShoeboxLibrary
import ShoeboxModel
import ShoeboxStore
import ShoeboxWorld

import class GRDB.Database

/// What replicas ask each other for in their heads: assets, and segments, that are absent from the container or damaged.
extension Engine {
    /// What the own head in a zone asks for.
    func wanted(in zone: ZoneID) -> [String] {
        // Chains first: without them nothing is known of the rest.
        let chains = wantedChains.filter { $0.zone == zone }.map { HeadContent.wantedChain(of: $0.replica) }.sorted()
        let assets = (wantedAssets[zone] ?? [:]).values.sorted()
        return Array((chains + assets).prefix(HeadContent.wantedMax))
    }

    /// Notes whether a segment of a chain is wanted that should be in the container: the own head says so next, and who
    /// wrote it, and still has it, publishes it again.
    func want(_ chain: ChainKey, _ isWanted: Bool) throws {
        guard chain.replica != replica else {
            if isWanted { try offerOwnChain(in: chain.zone) }
            return
        }
        guard isWanted != wantedChains.contains(chain) else { return }
        if isWanted { wantedChains.insert(chain) } else { wantedChains.remove(chain) }
        try markHeadDirty(chain.zone)
    }

    /// Publishes again what the container lacks of the own chain, which is read once more after coming back to a share; at most
    /// once an hour.
    private func offerOwnChain(in id: ZoneID) throws {
        let key = "\(id)/\(HeadContent.wantedChain(of: replica))"
        let now = world.uptimeMilliseconds()
        guard let zone = zones[id], answeredAssets[key].map({ now >= $0 + 3_600_000 }) ?? true else { return }
        try offerAgain(zone, checksBytes: true)
        answeredAssets[key] = now
    }

    /// Notes that a content is wanted in a zone, or with nil that it is not any more; the own head says so next.
    func want(_ location: String?, _ hash: Digest32, in zone: ZoneID) throws {
        guard wantedAssets[zone]?[hash] != location else { return }
        wantedAssets[zone, default: [:]][hash] = location
        try markHeadDirty(zone)
    }

    /// Notes that an asset could not be read: at once if it is damaged, after a minute if it is not seen, since listings
    /// and look-ups may be old.
    func noteUnread(_ asset: AssetReference, _ error: CloudError, in zone: ZoneID) throws {
        guard let location = asset.location, AssetStore.locationIsValid(location) else { return }
        if error.code == .notYet {
            let now = world.uptimeMilliseconds()
            let since = absentAssets[location] ?? now
            absentAssets[location] = since
            guard now - since >= 60_000 else { return }
        } else if error.code != .damaged {
            return
        }
        try want(location, asset.contentHash, in: zone)
    }

    /// Uploads what others ask for in their heads and this replica has: each at most once an hour, and what it had not then,
    /// when it has it.
    func answerWanted(_ id: ZoneID, heads: [ReplicaID: HeadRecord]) throws {
        guard let zone = zones[id], [.active, .leaveOffered].contains(zone.row.state) else { return }
        let now = world.uptimeMilliseconds()
        let trash = TrashContents(self)
        for head in heads.values.sorted(by: { $0.replica < $1.replica })
        where head.replica != replica && !head.content.wanted.isEmpty && zone.control.knows(head.account) {
            let isNew = answeredHeads[head.replica] != head.serial
            for location in head.content.wanted {
                let key = "\(id)/\(location)"
                let isDue = isNew && answeredAssets[key].map { now >= $0 + 3_600_000 } ?? true
                guard try isDue || isBack(key, now) else { continue }
                if location == HeadContent.wantedChain(of: replica) {
                    try offerAgain(zone, checksBytes: true)
                } else {
                    let mending = try mend(location, in: zone, trash: trash)
                    if case .lacking(let hash) = mending {
                        lackedAssets[key] = .init(hash: hash, lookedAt: now)
                    } else {
                        lackedAssets[key] = nil
                    }
                }
                answeredAssets[key] = now
            }
            answeredHeads[head.replica] = head.serial
        }
    }

    /// Whether a content that was asked for while no file here had it is in one by now; looked at once a minute.
    private func isBack(_ key: String, _ now: UInt64) throws -> Bool {
        guard let lacked = lackedAssets[key], now >= lacked.lookedAt + 60_000 else { return false }
        lackedAssets[key]?.lookedAt = now
        return try !localSources(of: lacked.hash).isEmpty
    }

    /// What became of an asset that was to be uploaded again.
    enum Mending: Equatable {
        case mended
        /// It needs nothing that this replica can do.
        case left
        /// This replica would, and has no file with that content, or can't upload it now.
        case lacking(Digest32)
    }

    /// Uploads an asset of a zone again if it is absent or damaged and this replica has its bytes.
    ///
    /// One that is absent gets its old name and key. A damaged one is left where it is, since no name is used twice: the
    /// bytes get a new name, and who may write says so in the records.
    func mend(_ location: String, in zone: ZoneInfo, trash: TrashContents) throws -> Mending {
        let references = try store.read { db in try db.references(toAsset: location, in: zone.id) }
        guard let asset = references.first?.asset else { return .left }
        let isAbsent: Bool
        do {
            try verifyAsset(asset)
            return .left
        } catch {
            let code = try Self.cloudError(error).code
            guard code == .notYet || code == .damaged else { throw error }
            isAbsent = code == .notYet
        }
        if isAbsent {
            // Also what shows nowhere any more can be asked for.
            guard let source = try heldSource(of: asset, of: Set(references.map(\.record)), trash) else {
                return .lacking(asset.contentHash)
            }
            guard try publish(asset, from: source) else { return .lacking(asset.contentHash) }
            try world.mount.synchronize()
            return .mended
        }
        guard zone.mayWrite(account) else { return .left }
        guard let source = try localSources(of: asset.contentHash).first else { return .lacking(asset.contentHash) }
        let known = try store.read { db in try db.asset(asset.contentHash) }
        var uploaded: [Digest32: AssetReference] = [:]
        if known?.location == location { damagedAssets.insert(asset.contentHash) }
        guard let fresh = try upload(asset, uploaded: &uploaded) else { return .lacking(asset.contentHash) }
        guard fresh.location != location else { return .left }
        try store.write { db in
            try db.setAsset(fresh)
            var writer = try HistoryWriter(db, engine: self, author: "repair")
            for record in Set(references.map(\.record)).sorted() {
                try relocate(RecordID(zone: zone.id, name: record), from: location, to: fresh, db, &writer)
            }
            try writer.finish()
        }
        log("uploaded '\(source.name)' again under another name")
        return .mended
    }

    /// Not with the type of its error: a compiler of today fails on it.
    func verifyAsset(_ asset: AssetReference) throws { try AssetStore(mount: world.mount).verify(asset) }

    /// Says where a record's content is now. No edit: it takes the place of the values that named the damaged file and of
    /// nothing else, and revives nothing.
    private func relocate(
        _ id: RecordID, from location: String, to asset: AssetReference, _ db: Database, _ writer: inout HistoryWriter
    ) throws {
        guard let state = try db.state(of: id), state.isLive else { return }
        let values = (state.fields[.content]?.values ?? []).filter { $0.value.asset?.location == location }
        guard let newest = values.first else { return }
        var context = VersionVector()
        for value in values { context.insert(value.dot) }
        let stamp = newest.timestamp
        try writer.write(
            id, type: state.type, .set([.content: .asset(asset)]), context: context, isDerived: true,
            timestamp: HybridTimestamp(
                wallMilliseconds: stamp.wallMilliseconds, counter: stamp.counter == .max ? .max : stamp.counter + 1,
                replica: stamp.replica))
    }
}
