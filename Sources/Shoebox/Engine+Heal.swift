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
                guard names[parts[0]]?.contains(String(parts[1])) == false else {
                    // Somebody else may have been first.
                    try clearProblem("notPublished", path: source.shown)
                    continue
                }
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

    // MARK: Requests

    /// Mends what a verification found; says how much was done, and with `reported` what could not be.
    func repair(zones wanted: [String], assets: [DamagedAsset], files references: [PathReference]) throws -> Reply {
        var lines: [String] = []
        var mended = 0
        let trash = TrashContents(self)
        if !wanted.isEmpty || !assets.isEmpty { _ = try openContainer() }
        for zone in zones.values.sorted(by: ZoneInfo.comesBefore) where wanted.contains(zone.id.description) {
            try offerAgain(zone, checksBytes: true)
            try carryLost(zone.id, folder: zoneFolder(zone.id), isAsked: true)
            mended += 1
        }
        for item in assets {
            guard let zone = zones.values.first(where: { $0.id.description == item.zone }) else { continue }
            do {
                if try mend(item.location, in: zone, trash: trash) == .mended { mended += 1 }
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
