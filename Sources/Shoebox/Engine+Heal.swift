import ShoeboxCloud
import ShoeboxLibrary
import ShoeboxModel
import ShoeboxPlanning
import ShoeboxStore
import ShoeboxWorld

import class GRDB.Database

/// What the container has lost and this replica still has is offered again: always the same bytes under the same names,
/// so that who had read them before notices nothing, and two who do it at once do no harm.
extension Engine {
    /// Publishes what a zone's folder lacks of the own account, of the controls that are known, and of the own segments;
    /// then the contents that the watched folders have. The own head is written after it.
    ///
    /// - Parameter checksBytes: whether own segments that are there are read, and replaced if they are damaged.
    func offerAgain(_ zone: ZoneInfo, checksBytes: Bool = false) throws {
        log("the container lacks what was in '\(zone.control.title)' before; it is offered again")
        let folder = zoneFolder(zone.id)
        try directory.publish(identity, readsAgain: checksBytes)
        try offerControls(zone, folder, checksBytes: checksBytes)
        let names = try folder.segmentNames(of: replica)
        let snapshot = try store.read { db in try db.snapshot(of: zone.id) }
        for position in try store.read({ db in try db.keptSegments(of: zone.id) })
        where position.sequence >= snapshot.floor && position.sequence <= zone.row.last.sequence {
            if names.contains(ZoneFolder.segmentName(position)) {
                guard checksBytes, try !folder.isWhole(position, replica: replica) else { continue }
                try folder.removeSegment(position, replica: replica)
            }
            guard let bytes = try store.read({ db in try db.keptSegment(position, of: zone.id) }) else { continue }
            try folder.publishSegment(bytes, at: position, replica: replica)
        }
        let isWhole = try offerContents(of: zone)
        try world.mount.synchronize()
        try store.write { db in
            try tidyAgain(zone.id, db)
            try db.setMetaText(unofferedKey(zone.id), isWhole ? nil : "1")
            try markHeadDirty(zone.id, db)
        }
        zones[zone.id]?.row.isHeadDirty = true
        lastOffered[zone.id] = world.uptimeMilliseconds()
        guard zone.row.kind == .privateZone else { return }
        try offerStopped(checksBytes: checksBytes)
        try sayLeftAgain()
    }

    /// Publishes the ends of own shares that the container lacks: for others, and for own devices that had not heard of
    /// them, a share would go on of which all was brought home. Who stopped one has published that in the private zone, too.
    private func offerStopped(checksBytes: Bool) throws {
        for zone in zones.values.sorted(by: ZoneInfo.comesBefore)
        where zone.row.isMine && zone.row.kind == .share && zone.row.state == .ended {
            try offerAgain(zone, checksBytes: checksBytes)
            // The head names the control by which it ended.
            try push(zone.id)
        }
    }

    private func unofferedKey(_ zone: ZoneID) -> String { "unoffered.\(zone)" }

    /// Uploads what could not be read when a zone was offered again; each is tried once a minute.
    func offerRest() throws {
        for (key, _) in try store.read({ db in try db.metaTexts(prefix: "unoffered.") }) {
            let zone = key.split(separator: ".").last.flatMap { ZoneID(hex: $0) }.flatMap { zones[$0] }
            if let zone, zone.row.state == .active {
                let now = world.uptimeMilliseconds()
                guard lastOffered[zone.id].map({ now >= $0 + 60_000 }) ?? true else { continue }
                lastOffered[zone.id] = now
                guard try offerContents(of: zone) else { continue }
                try world.mount.synchronize()
            }
            try store.write { db in try db.setMetaText(key, nil) }
        }
    }

    /// Publishes the controls that are known and that the zone's folder lacks.
    ///
    /// Without one in the middle, what it replaced looks as if it had been written beside what came after it. Returns how many
    /// that were.
    @discardableResult
    func offerControls(_ zone: ZoneInfo, _ folder: ZoneFolder, checksBytes: Bool = false) throws -> Int {
        let controls = try folder.controlNames()
        var count = 0
        for kept in try store.read({ db in try db.keptControls(of: zone.id) }) {
            let version = ControlVersion(version: kept.version.sequence, hash: kept.version.hash)
            if controls.contains(version.description) {
                guard checksBytes, zone.row.isMine, try folder.removeDamagedControl(version) else { continue }
            }
            try folder.publishControl(kept.bytes, again: version)
            count += 1
        }
        return count
    }

    /// Uploads the contents of a zone that this replica shows and whose assets are gone, each under its old name and key.
    /// False if one of them could not be read.
    private func offerContents(of zone: ZoneInfo) throws -> Bool {
        var isWhole = true
        let assets = AssetStore(mount: world.mount)
        var names: [Substring: Set<String>] = [:]
        for row in try store.read({ db in try db.base(in: zone.id) }) where row.kind == .file {
            guard let state = try store.read({ db in try db.state(of: row.id) }), state.isLive else { continue }
            for asset in state.fields[.content]?.values.compactMap(\.value.asset) ?? [] {
                guard let location = asset.location, AssetStore.locationIsValid(location) else { continue }
                guard let source = try localSources(of: asset.contentHash).first else {
                    if row.contentHash == asset.contentHash { isWhole = false }
                    continue
                }
                let parts = location.split(separator: "/")
                if names[parts[0]] == nil { names[parts[0]] = try assets.names(besides: location) }
                guard names[parts[0]]?.contains(String(parts[1])) == false else { continue }
                if try !publish(asset, from: source) { isWhole = false }
            }
        }
        return isWhole
    }

    /// Uploads a content again; false if the file can't be read, or has changed.
    func publish(_ asset: AssetReference, from source: LocalSource) throws -> Bool {
        do throws(CloudError) {
            try AssetStore(mount: world.mount).publish(asset, from: source.file, randomBytes: world.randomBytes)
        } catch {
            switch error.code {
            case .changedWhileReading: return false
            case .sourceUnreadable:
                try reportUnpublished(source.shown, error.cause?.reason ?? error.message)
                return false
            default: throw error
            }
        }
        log("uploaded '\(source.name)' again")
        try clearProblem("notPublished", path: source.shown)
        return true
    }

    func markHeadDirty(_ id: ZoneID) throws {
        try store.write { db in try markHeadDirty(id, db) }
        zones[id]?.row.isHeadDirty = true
    }

    /// As the other one, in the transaction that makes it necessary.
    func markHeadDirty(_ id: ZoneID, _ db: Database) throws {
        guard var row = try db.zone(id) else { return }
        row.isHeadDirty = true
        try db.setZone(row)
    }

    /// Keeps the files of a zone's first and newest control, once for each, in case that the mount loses them.
    func keepControlFiles(of id: ZoneID, folder: ZoneFolder) throws {
        guard let row = zones[id]?.row, keptControls[id] != row.controlHash else { return }
        let known = Set(try store.read { db in try db.keptControls(of: id) }.map(\.version.hash))
        for version in [
            ControlVersion(version: 1, hash: id.digest),
            ControlVersion(version: row.controlVersion, hash: row.controlHash),
        ] where !known.contains(version.hash) {
            // Not seen now: tried again with the next poll.
            guard let bytes = try folder.controlBytes(version) else { return }
            let position = Position(sequence: version.version, hash: version.hash)
            try store.write { db in try db.keepControl(position, bytes: bytes, of: id) }
        }
        keptControls[id] = row.controlHash
    }

    // MARK: Assets that others miss

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
        guard chain.replica != replica, isWanted != wantedChains.contains(chain) else { return }
        if isWanted { wantedChains.insert(chain) } else { wantedChains.remove(chain) }
        try markHeadDirty(chain.zone)
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

    /// Uploads what others ask for in their heads and this replica has: each at most once an hour.
    func answerWanted(_ id: ZoneID, heads: [ReplicaID: HeadRecord]) throws {
        guard let zone = zones[id], [.active, .leaveOffered].contains(zone.row.state) else { return }
        let now = world.uptimeMilliseconds()
        for head in heads.values.sorted(by: { $0.replica < $1.replica })
        where head.replica != replica && !head.content.wanted.isEmpty && answeredHeads[head.replica] != head.serial {
            guard zone.control.knows(head.account) else { continue }
            for location in head.content.wanted
            where answeredAssets["\(id)/\(location)"].map({ now >= $0 + 3_600_000 }) ?? true {
                if location == HeadContent.wantedChain(of: replica) {
                    try offerAgain(zone, checksBytes: true)
                } else {
                    try mend(location, in: zone)
                }
                answeredAssets["\(id)/\(location)"] = now
            }
            answeredHeads[head.replica] = head.serial
        }
    }

    /// Uploads an asset of a zone again if it is absent or damaged and this replica has its bytes; whether it did.
    ///
    /// One that is absent gets its old name and key. A damaged one is left where it is, since no name is used twice: the
    /// bytes get a new name, and who may write says so in the records.
    @discardableResult
    func mend(_ location: String, in zone: ZoneInfo) throws -> Bool {
        let references = try store.read { db in try db.references(toAsset: location, in: zone.id) }
        guard let asset = references.first?.asset else { return false }
        let isAbsent: Bool
        do {
            try verifyAsset(asset)
            return false
        } catch {
            let code = try Self.cloudError(error).code
            guard code == .notYet || code == .damaged else { throw error }
            isAbsent = code == .notYet
        }
        if isAbsent {
            // Also what shows nowhere any more can be asked for.
            guard let source = try heldSource(of: asset, of: Set(references.map(\.record))) else { return false }
            guard try publish(asset, from: source) else { return false }
            try world.mount.synchronize()
            return true
        }
        guard let source = try localSources(of: asset.contentHash).first, zone.mayWrite(account) else { return false }
        let known = try store.read { db in try db.asset(asset.contentHash) }
        var uploaded: [Digest32: AssetReference] = [:]
        if known?.location == location { damagedAssets.insert(asset.contentHash) }
        guard let fresh = try upload(asset, uploaded: &uploaded), fresh.location != location else { return false }
        try store.write { db in
            try db.setAsset(fresh)
            var writer = try HistoryWriter(db, engine: self, author: "repair")
            for record in Set(references.map(\.record)).sorted() {
                try relocate(RecordID(zone: zone.id, name: record), from: location, to: fresh, db, &writer)
            }
            try writer.finish()
        }
        log("uploaded '\(source.name)' again under another name")
        return true
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

    // MARK: Requests

    /// Mends what a verification found; says how much was done, and with `reported` what could not be.
    func repair(zones wanted: [String], assets: [DamagedAsset], files references: [PathReference]) throws -> Reply {
        var lines: [String] = []
        var mended = 0
        if !wanted.isEmpty || !assets.isEmpty { _ = try openContainer() }
        for zone in zones.values.sorted(by: ZoneInfo.comesBefore) where wanted.contains(zone.id.description) {
            try offerAgain(zone, checksBytes: true)
            try carryLost(zone.id, folder: zoneFolder(zone.id), isAsked: true)
            mended += 1
        }
        for item in assets {
            guard let zone = zones.values.first(where: { $0.id.description == item.zone }) else { continue }
            do {
                if try mend(item.location, in: zone) { mended += 1 }
            } catch {
                let found = try Self.cloudError(error)
                guard found.concernsOneZone else { throw error }
                lines.append("assets/\(item.location): \(found.message)")
            }
        }
        for reference in references {
            do {
                _ = try restoreContent(reference)
                mended += 1
            } catch {
                guard let refusal = error as? RequestError else { throw error }
                lines.append(refusal.message)
            }
        }
        return Reply(
            code: lines.isEmpty ? ExitCode.done : ExitCode.reported, lines: lines, values: ["mended": String(mended)])
    }

    /// Makes the container anew under its old id, in a folder that holds nothing but perhaps what is left of it. Every
    /// device then offers again what it holds.
    func recreateContainer() throws -> Reply {
        guard let id = try store.read({ db in try db.metaText("container") }) else { throw offlineError }
        var names = Set(try MountListing.names(world.mount))
        if names.contains("container.json") {
            guard try isContainerFileDamaged(), hasOwnZone() else {
                throw RequestError(
                    ExitCode.failed, "There is a container already.", "'shoebox verify --repair' mends what it lacks.")
            }
            do { try removeContainerFile() } catch {
                throw RequestError(
                    ExitCode.notPermitted, "The damaged container.json cannot be removed: \(error)",
                    "Who made the container runs this, or remove that file by hand first.")
            }
            names.remove("container.json")
        }
        let parts: Set<String> = ["accounts", "assets", "features", "zones"]
        let isLeftover = try names.isSubset(of: parts) && (hasOwnZone() || isBare(names))
        guard names.isEmpty || isLeftover else {
            throw RequestError(
                ExitCode.failed,
                "The cloud folder holds something else: \(names.sorted().prefix(5).joined(separator: ", ")).",
                "Check that the right folder is mounted. A container is made anew only in an empty folder.")
        }
        try remakeContainer(id)
        lookAtOwnHeads()
        return Reply(
            lines: ["The container is there again, empty; every device that takes part offers again what it holds."],
            values: ["container": id])
    }

    /// Whether container.json is there and says nothing that any version could have written.
    private func isContainerFileDamaged() throws -> Bool {
        do { try openContainer() } catch { return try Self.cloudError(error).code == .damaged }
        return false
    }

    /// Not with the type of its error: a compiler of today fails on it.
    private func removeContainerFile() throws {
        guard let path = MountPath("container.json") else { return }
        try world.mount.remove(path)
    }

    /// Whether there is nothing but empty directories: what a former try left that could not go on.
    private func isBare(_ names: Set<String>) throws -> Bool {
        for name in names {
            guard let path = MountPath(name), try world.mount.list(path).isEmpty else { return false }
        }
        return true
    }

    private func hasOwnZone() -> Bool {
        guard let privateZone, let names = try? ZoneFolder.zones(on: world.mount) else { return false }
        return names.contains(privateZone)
    }

    /// Not with the type of its error: a compiler of today fails on it.
    private func remakeContainer(_ id: String) throws {
        _ = try Container.create(
            mount: world.mount, mode: settings.isOpen ? .open : .group, id: id,
            nowMilliseconds: world.nowMilliseconds(), randomBytes: world.randomBytes)
    }
}

/// Reads the top of a container.
enum MountListing {
    /// Names that are no business of ours are left out.
    static func names(_ mount: any Mount) throws -> [String] {
        try mount.list(.root).filter { $0 != "lost+found" && !$0.hasPrefix(".") }
    }
}
