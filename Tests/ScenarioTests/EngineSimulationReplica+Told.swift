import Crypto
import ShoeboxCloud
import ShoeboxLibrary
import ShoeboxModel
import ShoeboxPlanning
import ShoeboxStore
import ShoeboxTestSupport
import ShoeboxWorld
@testable import Shoebox

// MARK: What is told

extension EngineReplica {
    var sharing: SimulationSharing {
        let engine = replica.engine
        let found: SimulationSharing? = try? replica.store.read { db in
            var result = SimulationSharing()
            var rows: [RecordID: BaseRow] = [:]
            for zone in Array(engine.zones.keys) + [.none] {
                for row in try db.base(in: zone) where !row.isParked { rows[row.id] = row }
            }
            for row in rows.values {
                guard let path = path(of: row, rows) else { continue }
                let zones = ([row.id] + row.twins).map(\.zone).filter(engine.isShare)
                result.places[(row.root == .library ? "library/" : "shared/") + path] = .init(
                    shares: Set(zones.map(\.description)), record: row.id.name.description,
                    inode: row.id.isZoneRoot && row.id.zone != .none ? row.stamp.inode : nil)
            }
            for zone in engine.zones.values where zone.row.kind == .share {
                for (type, isLive) in [RecordType.photo, .file, .folder].flatMap({ [($0, true), ($0, false)] }) {
                    for row in try db.records(of: type, in: zone.id, isLive: isLive) {
                        let (name, share) = (row.id.name.description, zone.id.description)
                        if isLive { result.holders[name, default: []].insert(share) }
                        guard try !db.zonesOfMoves(of: row.id.name).isEmpty else { continue }
                        for change in try db.changes(of: row.id.name, in: zone.id) {
                            guard case .moved = change.action else { continue }
                            result.departures[name, default: [:]][share, default: []].insert("\(change.identity)")
                        }
                    }
                }
            }
            result.ended = Set(
                engine.zones.values.filter { $0.row.kind == .share && $0.row.state == .ended }.map(\.id.description))
            // A folder that became a share as a whole.
            for placement in try engine.placements(db).zones.values {
                guard let state = try db.state(of: placement.id), let folder = state[.photo]?.reference,
                    let zone = placement.contentHash.map(ZoneID.init)
                else { continue }
                result.holders[folder.description, default: []].insert(zone.description)
            }
            return result
        }
        return found ?? SimulationSharing()
    }

    private func path(of row: BaseRow, _ rows: [RecordID: BaseRow]) -> String? {
        var names = [row.name.description]
        var parent = row.parent
        while parent != replica.engine.top(row.root) {
            guard names.count < 100, let next = rows[parent] else { return nil }
            names.append(next.name.description)
            parent = next.parent
        }
        return names.reversed().joined(separator: "/")
    }

    func hash(of content: [UInt8]) -> [UInt8] { Array(SHA256.hash(data: content)) }

    func told(isPublished: Bool) -> [String: Set<[UInt8]>] {
        let engine = replica.engine
        var result: [String: Set<[UInt8]>] = [:]
        for stored in (try? replica.store.read { db in try db.history(after: 0, limit: .max) }) ?? []
        where engine.isShare(stored.zone) && !(isPublished && stored.standing == .pending) {
            guard case .set(let fields) = stored.change.action else { continue }
            for case .asset(let asset) in fields.values {
                result[stored.zone.description, default: []].insert(asset.contentHash.bytes)
            }
            // A conflict goes with the photo, with what is hidden by the other caption.
            let id = RecordID(zone: stored.zone, name: stored.change.record)
            let state = try? replica.store.read { db in try db.state(of: id) }
            let isHidden = state?.fields[.caption]?.losers.contains { $0.dot == stored.change.identity } == true
            if case .text(let caption)? = fields[.caption], !isHidden {
                result[stored.zone.description, default: []].insert(hash(of: Array(caption.utf8)))
            }
        }
        return result
    }
}
