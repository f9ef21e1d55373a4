import Foundation
public import GRDB
public import ShoeboxModel

extension Schema {
    /// The tables about devices and people.
    static func registerPeople(in migrator: inout DatabaseMigrator) {
        migrator.registerMigration("people") { db in
            try db.execute(
                sql: """
                    CREATE TABLE replicaDevice (
                        replica BLOB PRIMARY KEY, device BLOB NOT NULL, account BLOB NOT NULL
                    ) WITHOUT ROWID;
                    CREATE TABLE pin (
                        account BLOB PRIMARY KEY, label TEXT NOT NULL, firstUsed INTEGER NOT NULL,
                        compared INTEGER NOT NULL DEFAULT 0, statement INTEGER NOT NULL DEFAULT 0, statementHash BLOB
                    ) WITHOUT ROWID;
                    CREATE TABLE letter (
                        hash BLOB PRIMARY KEY, kind TEXT NOT NULL, state TEXT NOT NULL, zone BLOB, account BLOB,
                        label TEXT NOT NULL DEFAULT '', title TEXT NOT NULL DEFAULT '',
                        permission TEXT NOT NULL DEFAULT '', generation INTEGER NOT NULL DEFAULT 0, joinKey BLOB,
                        written INTEGER NOT NULL DEFAULT 0, arrived INTEGER NOT NULL DEFAULT 0
                    ) WITHOUT ROWID;
                    CREATE INDEX letterByKind ON letter (kind, state);
                    CREATE TABLE joined (
                        zone BLOB NOT NULL, account BLOB NOT NULL, joinKey BLOB NOT NULL, label TEXT NOT NULL,
                        PRIMARY KEY (zone, account, joinKey)
                    ) WITHOUT ROWID;
                    """)
        }
    }

    /// The link of a public share that a letter announces; and letters by what they are about.
    static func registerAnnouncements(in migrator: inout DatabaseMigrator) {
        migrator.registerMigration("announcements") { db in
            try db.execute(
                sql: """
                    ALTER TABLE letter ADD COLUMN link TEXT NOT NULL DEFAULT '';
                    CREATE INDEX letterByZone ON letter (zone, account);
                    """)
        }
    }
}

extension Database {
    /// Keeps which device, and which account, writes as a replica. That never changes.
    public func setDevice(_ device: Digest32, of replica: ReplicaID, account: AccountID) throws {
        try cachedStatement(sql: "INSERT OR IGNORE INTO replicaDevice VALUES (?, ?, ?)").execute(arguments: [
            replica.data, device.data, account.data,
        ])
    }

    /// The device that writes as each replica, as far as heads were read.
    public func devices() throws -> [ReplicaID: Digest32] {
        var result: [ReplicaID: Digest32] = [:]
        for row in try Row.fetchAll(cachedStatement(sql: "SELECT replica, device FROM replicaDevice")) {
            if let device = row.digest("device") { result[try row.replicaID("replica")] = device }
        }
        return result
    }

    /// When each device was last seen, by its own clock: the newest of its heads, milliseconds since 1970.
    public func lastSeen() throws -> [Digest32: UInt64] {
        var result: [Digest32: UInt64] = [:]
        let rows = try Row.fetchAll(
            cachedStatement(
                sql: """
                    SELECT replicaDevice.device, max(peer.headTime) AS time FROM peer
                    JOIN replicaDevice ON replicaDevice.replica = peer.replica GROUP BY replicaDevice.device
                    """))
        for row in rows {
            if let device = row.digest("device") { result[device] = UInt64(bitPattern: row["time"]) }
        }
        return result
    }
}
