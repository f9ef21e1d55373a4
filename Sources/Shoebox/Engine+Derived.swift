import ShoeboxModel
import ShoeboxPlanning
import ShoeboxStore
import ShoeboxWorld

/// What would have to give way to something else of its name.
struct Collision {
    /// The name that it would have.
    var name: FileName
    /// Since when.
    var uptime: UInt64
    /// How long that may pass by itself, milliseconds.
    var wait: UInt64
}

extension Engine {
    /// Gives every content that lost against another a record of its own, where this account may write; the same one on
    /// every replica. One that was deleted, by whomever, is not made again. One that was made before it was known that its
    /// content was deleted goes again.
    func deriveCopies(of rows: [RecordRow]) throws -> Int {
        var births: [(ZoneID, DerivedBirth)] = []
        var over: [(id: RecordID, state: RecordState)] = []
        try store.read { db in
            for row in rows where row.type.hasContent && zones[row.id.zone]?.mayWrite(account) == true {
                guard let state = try db.state(of: row.id), state.fields[.content]?.losers.isEmpty == false else {
                    continue
                }
                for birth in conflictCopies(of: state, authorLabel: label(of:))
                where try db.record(RecordID(zone: row.id.zone, name: birth.record)) == nil {
                    births.append((row.id.zone, birth))
                }
                for name in deletedCopies(of: state) {
                    let id = RecordID(zone: row.id.zone, name: name)
                    // What somebody has done something with is theirs.
                    guard let copy = try db.state(of: id), copy.isLive,
                        try db.changes(of: name, in: id.zone).allSatisfy(\.isDerived)
                    else { continue }
                    over.append((id, copy))
                }
            }
        }
        guard !births.isEmpty || !over.isEmpty else { return 0 }
        return try store.write { db in
            var writer = try HistoryWriter(db, engine: self, author: "conflict")
            for (zone, birth) in births {
                try writer.write(
                    RecordID(zone: zone, name: birth.record), type: birth.type, .set(birth.fields), isDerived: true,
                    timestamp: birth.timestamp)
            }
            for (id, copy) in over {
                try writer.write(id, type: copy.type, .delete, context: copy.vector, isDerived: true)
            }
            try writer.finish()
            return writer.count
        }
    }

    /// What has to give way to something else of its name only since a moment, and stays where it is: the other one may
    /// have changed places with it, and one half of that is still to be published.
    func passingCollisions(in scope: ApplyScope) -> Set<RecordID> {
        let now = world.uptimeMilliseconds()
        for id in scope.layout.nodes.keys where scope.layout.derivedNames[id] == nil { colliding[id] = nil }
        // Of two folders of one name, one may have been deleted for the other one: that is published later than the renaming.
        let merged = Set(scope.layout.redirects.values)
        var passing: Set<RecordID> = []
        for (id, name) in scope.layout.derivedNames where !id.isZoneRoot && scope.base[id]?.name != name {
            let known = colliding[id].flatMap { $0.name == name ? $0 : nil }
            let isMerged = scope.layout.nodes[id].map { merged.contains($0.parent) } ?? false
            let collision = Collision(
                name: name, uptime: known?.uptime ?? now,
                wait: settings.collisionMilliseconds + (isMerged ? settings.displacedMilliseconds : 0))
            if now < collision.uptime + collision.wait { passing.insert(id) }
            colliding[id] = collision
        }
        return passing
    }

    /// When something that passed for a moment has to be looked at again (uptime).
    func nextCollision() -> UInt64? {
        let now = world.uptimeMilliseconds()
        return colliding.values.map { $0.uptime + $0.wait }.filter { now < $0 }.min()
    }

    /// Writes the names that a layout gave to records whose own name was taken, where this account may write.
    func writeDerivedNames(_ names: [RecordID: FileName], placements: Placements) throws -> Int {
        let mine = names.filter { zones[$0.key.zone]?.mayWrite(account) == true }
        guard !mine.isEmpty else { return 0 }
        return try store.write { db in
            var writer = try HistoryWriter(db, engine: self, author: "collision")
            for (id, name) in mine.sorted(by: { $0.key < $1.key }) {
                guard let state = try db.state(of: id), let cause = state.fields[.name]?.winner else { continue }
                if zones[id.zone]?.row.root == .library, let placement = placements.records[id] {
                    try writePlacement(
                        zone: id.zone, record: id.name,
                        parent: RecordID(zone: privateZone ?? id.zone, name: placement.parent ?? .zoneRoot), name: name,
                        placements: placements, writer: &writer)
                    continue
                }
                guard !id.isZoneRoot else { continue }
                let stamp = HybridTimestamp(
                    wallMilliseconds: cause.timestamp.wallMilliseconds,
                    counter: cause.timestamp.counter == .max ? .max : cause.timestamp.counter + 1,
                    replica: cause.timestamp.replica)
                try writer.write(
                    id, type: state.type, .set([.name: .name(name)]), context: state.vector, isDerived: true,
                    timestamp: stamp)
            }
            try writer.finish()
            return writer.count
        }
    }
}
