import Foundation
import GRDB
import ShoeboxCloud
import ShoeboxLibrary
import ShoeboxModel
import ShoeboxStore
import ShoeboxWorld

extension Verifier {
    /// How many contents that are lost and can't be mended here are named one by one.
    private static let lostVersionsMax = 5

    /// The contents that show.
    mutating func checkAssets(_ zone: ZoneInfo, seen: inout Set<String>) throws {
        let names = try engine.store.read { db in
            try Data.fetchAll(
                db, sql: "SELECT record FROM record WHERE zone = ? AND live = 1 AND hash IS NOT NULL",
                arguments: [zone.id.data])
        }.compactMap { RecordName(bytes: $0) }
        for name in names {
            let state = try engine.store.read { db in try db.state(of: RecordID(zone: zone.id, name: name)) }
            guard let asset = state?.content, let location = asset.location, seen.insert(location).inserted else {
                continue
            }
            if let error = try fault(in: asset) {
                let isAbsent = error.code == .notYet
                let hasBytes = try !engine.localSources(of: asset.contentHash).isEmpty
                note(
                    isAbsent ? "assetAbsent" : "asset", "assets/\(location)", zone: zone.id,
                    "The content of '\(state?.fileName?.description ?? "?")' "
                        + (isAbsent ? "is not in the container." : "is damaged: \(error.message)"),
                    "Whoever has the photo uploads it again by itself, or with 'shoebox verify --repair'.",
                    mendable: hasBytes && (isAbsent || zone.mayWrite(engine.account)), location: location)
            }
        }
    }

    /// What is wrong with an asset; nil if it is sound.
    private mutating func fault(in asset: AssetReference) throws -> CloudError? {
        do {
            try engine.verifyAsset(asset)
            report.counts.assets += 1
            report.counts.assetBytes += asset.size
            soundContents.insert(asset.contentHash)
            return nil
        } catch { return try Engine.faultOnly(error) }
    }

    /// What photos held before, and what deleted ones held: 'shoebox restore' and 'shoebox undo' promise to bring it back,
    /// and nothing in `assets/` is ever collected.
    ///
    /// - Parameter seen: the assets that were looked at already; those that show come first.
    mutating func checkVersions(seen: inout Set<String>) throws {
        var lost: [ZoneID: Int] = [:]
        // What is somewhere is named by what it is there, and not as what went from elsewhere.
        for isLive in [true, false] {
            for zone in engine.zones.values.sorted(by: ZoneInfo.comesBefore)
            where !report.isOffline && [.active, .leaveOffered].contains(zone.row.state) {
                do { try checkVersions(in: zone, isLive: isLive, seen: &seen, lost: &lost[zone.id, default: 0]) } catch
                {
                    let error = try Engine.cloudError(error)
                    if !isOver(error) { note("zone", error.path, zone: zone.id, error.message, error.remedy) }
                }
            }
        }
        for zone in engine.zones.values.sorted(by: ZoneInfo.comesBefore) {
            let besides = lost[zone.id, default: 0] - Self.lostVersionsMax
            guard besides > 0 else { continue }
            let title = zone.control.title.isEmpty ? "the library" : "'\(zone.control.title)'"
            note(
                "versionAbsent", "assets", zone: zone.id,
                "\(besides) more contents that photos in \(title) had before are not in the container, or damaged.",
                "Nothing that shows is touched. A device that has them in its trash gives them back by 'shoebox verify --repair'."
            )
        }
    }

    private mutating func checkVersions(
        in zone: ZoneInfo, isLive: Bool, seen: inout Set<String>, lost: inout Int
    ) throws {
        let names = try engine.store.read { db in
            try Data.fetchAll(
                db,
                sql: """
                    SELECT record FROM record WHERE zone = ? AND type IN ('Photo', 'File') AND live = ? ORDER BY record
                    """, arguments: [zone.id.data, isLive])
        }.compactMap { RecordName(bytes: $0) }
        for name in names {
            let id = RecordID(zone: zone.id, name: name)
            let (state, versions) = try engine.store.read { db in
                (try db.state(of: id), try engine.contentVersions(of: id, isHereOnly: true, db))
            }
            for version in versions {
                guard let location = version.asset.location, !soundContents.contains(version.asset.contentHash),
                    seen.insert(location).inserted, let error = try fault(in: version.asset)
                else { continue }
                let isAbsent = error.code == .notYet
                // A damaged file is left where it is, since no name is used twice, and no record of today refers to it.
                let isMendable = try isAbsent && engine.heldSource(of: version.asset, of: [name], trash) != nil
                if !isMendable { lost += 1 }
                guard isMendable || lost <= Self.lostVersionsMax else { continue }
                let shown = state?.fileName?.description ?? "?"
                let what =
                    state?.isLive == true
                    ? "An earlier content of '\(shown)', by \(engine.name(of: version.author, in: zone.control)) at \(StatusText.local(version.timeMilliseconds)),"
                    : "The content of '\(shown)', which was deleted or moved away,"
                note(
                    isAbsent ? "versionAbsent" : "version", "assets/\(location)", zone: zone.id,
                    "\(what) " + (isAbsent ? "is not in the container." : "is damaged: \(error.message)"),
                    isAbsent
                        ? "Nothing that shows is touched. A device that has it in its trash gives it back by 'shoebox verify --repair'."
                        : "Nothing that shows is touched. If that file is removed, a device that has the content in its trash gives it back by 'shoebox verify --repair'.",
                    mendable: isMendable, location: location)
            }
        }
    }
}
