import ShoeboxCloud
import ShoeboxLibrary
import ShoeboxModel
import ShoeboxStore
import ShoeboxWorld

import class GRDB.Database

// Under which replica id this library goes on when the one it had may be somebody else's too; see
// Documentation/Design/ReplicaIDs.md. Keys, database and folders change one after another, and the process may die, or a
// folder be away, between any two: what is left to do is noted first.

extension Engine {
    /// Under what the database says which replica's numbers its changes have while another id is taken.
    private static let formerNumbersKey = "formerNumbers"
    /// The same for the replica that a folder's marker names until it can be written.
    private static func formerMarkerKey(_ root: RootKind) -> String { "formerMarker.\(root.rawValue)" }

    /// Under what the database says which replica it gives numbers for.
    static let servedKey = "replica"
    /// Under what it says as which replica this one served its folders before the other half of its state was lost.
    static let formerReplicaKey = "formerReplica"

    /// Goes on as a new replica where the keys are of another one than the database: they were put back to a backup, or made anew
    /// beside it. The chain of the one can't be gone on with under the name of the other.
    func checkReplica() throws {
        let (served, former) = try store.read { db in
            (try db.metaText(Self.servedKey), try db.metaText(Self.formerNumbersKey))
        }
        guard let served else { return try store.write { db in try noteServedReplica(db) } }
        // Else it was on its way to become a new one.
        guard served != replica.description, served != former, ReplicaID(hex: served) != nil else { return }
        let fresh = try identity.withNewReplica(randomBytes: world.randomBytes)
        log("the keys are of another replica than the database, \(served); this goes on as \(fresh.replica)")
        // First: should the process die now, they still are of another one, and it is done again.
        try saveIdentity(fresh)
        identity = fresh
        try store.write { db in
            try db.setMetaText(Self.formerNumbersKey, served)
            try db.setMetaText(Self.formerReplicaKey, served)
        }
        try finishNewReplica()
    }

    /// Notes whose numbers the database gives.
    func noteServedReplica(_ db: Database) throws { try db.setMetaText(Self.servedKey, replica.description) }

    /// Goes on under a new replica id: pending changes are renumbered, the old chain is read as somebody else's.
    func becomeNewReplica(
        after zone: ZoneInfo, because reason: String,
        remedy: String =
            "Nothing is lost. 'shoebox history' shows who writes what; take them out of the share if you do not trust them."
    ) throws {
        let old = replica
        let fresh = try identity.withNewReplica(randomBytes: world.randomBytes)
        log("\(reason); this replica goes on as \(fresh.replica)")
        try report("newReplica", zone: zone.id, "\(reason); this library goes on as a new replica.", remedy)
        try store.write { db in try db.setMetaText(Self.formerNumbersKey, old.description) }
        try saveIdentity(fresh)
        identity = fresh
        try finishNewReplica()
    }

    /// Renumbers what is not published, if that is still to be done after a new replica id was taken.
    func finishNewReplica() throws {
        guard let former = try store.read({ db in try db.metaText(Self.formerNumbersKey) }),
            let old = ReplicaID(hex: former), old != replica
        else { return }
        try store.write { db in
            try db.renumber(from: old, to: replica)
            try db.setMetaText(Self.formerNumbersKey, nil)
            try noteServedReplica(db)
            for root in RootKind.allCases { try db.setMetaText(Self.formerMarkerKey(root), former) }
        }
        try reloadZones()
        for root in RootKind.allCases {
            do { try renewMarker(root) } catch { log("the marker of the \(root) folder is written later: \(error)") }
        }
    }

    /// Writes a folder's marker under the present replica id, if it has that of the former one. A folder that is away has
    /// its marker written when it is back.
    func renewMarker(_ root: RootKind) throws {
        guard let former = try store.read({ db in try db.metaText(Self.formerMarkerKey(root)) }) else { return }
        if var marker = try RootMarker.read(from: files(root)) {
            if marker.replica.description == former {
                marker.replica = replica
                try marker.write(to: files(root))
            }
            try store.write { db in try db.setMetaText(Self.formerMarkerKey(root), nil) }
        }
    }
}
