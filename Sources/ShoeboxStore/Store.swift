import Foundation
public import GRDB

/// A replica's local database: records, the changes they are made of, the base tree, positions and problems.
///
/// One SQLite file in the state directory, in WAL mode with full synchronisation: once a change token was published it
/// must not go back. Several processes may have it open; every write is one transaction, and counters are read inside
/// it, so that a command and the daemon never give out one number twice.
public final class Store: Sendable {
    /// The database; use `read` and `write`.
    private let writer: any DatabaseWriter
    /// Called before each write; what it throws is thrown, and nothing is written.
    private let gate: (@Sendable () throws -> Void)?
    /// Called at the end of each write: what it throws rolls the write back, as a full disk does.
    private let commit: (@Sendable () throws -> Void)?

    /// Opens or makes the database at a path. Errors are GRDB's `DatabaseError`.
    public init(path: String) throws {
        var configuration = Configuration()
        configuration.busyMode = .timeout(20)
        configuration.label = "shoebox"
        configuration.prepareDatabase { db in
            try db.execute(sql: "PRAGMA cache_size = -4096; PRAGMA temp_store = FILE")
        }
        configuration.maximumReaderCount = 2
        let pool = try DatabasePool(path: path, configuration: configuration)
        writer = pool
        gate = nil
        commit = nil
        try Schema.migrator.migrate(pool)
        // After opening: the pool itself sets NORMAL when it opens, with which the last commits can vanish.
        try pool.writeWithoutTransaction { db in try db.execute(sql: "PRAGMA synchronous = FULL") }
    }

    /// A database in memory, for simulations: transactions are as atomic as on disk. Before each write `gate` is asked,
    /// which throws when the simulated process is dead; at the end of each write `commit`, which throws when it can't be
    /// stored.
    public init(gate: (@Sendable () throws -> Void)? = nil, commit: (@Sendable () throws -> Void)? = nil) throws {
        let queue = try DatabaseQueue()
        self.gate = gate
        self.commit = commit
        writer = queue
        try Schema.migrator.migrate(queue)
    }

    /// A database in memory as it is, empty: what a copy is made into.
    private init(
        bare queue: DatabaseQueue, gate: (@Sendable () throws -> Void)?, commit: (@Sendable () throws -> Void)?
    ) {
        writer = queue
        self.gate = gate
        self.commit = commit
    }

    /// Reads a consistent state.
    public func read<T>(_ body: (Database) throws -> T) throws -> T {
        // One connection serves one caller at a time: without a transaction, too, nothing changes while it reads.
        if let queue = writer as? DatabaseQueue { return try queue.unsafeRead(body) }
        return try writer.read(body)
    }

    /// Changes the state in one transaction; an error rolls everything back.
    @discardableResult
    public func write<T>(_ body: (Database) throws -> T) throws -> T {
        try gate?()
        guard let commit else { return try writer.write(body) }
        return try writer.write { db in
            let result = try body(db)
            try commit()
            return result
        }
    }

    /// Makes a copy of the whole database, for tests that restore a state directory from a backup; with the gates of a
    /// database in memory.
    public func backup(
        gate: (@Sendable () throws -> Void)? = nil, commit: (@Sendable () throws -> Void)? = nil
    ) throws -> Store {
        let copy = Store(bare: try DatabaseQueue(), gate: gate, commit: commit)
        try writer.backup(to: copy.writer)
        return copy
    }
}

/// The tables and how they came to be.
enum Schema {
    static var migrator: DatabaseMigrator {
        var migrator = DatabaseMigrator()
        migrator.registerMigration("1") { db in try db.execute(sql: version1) }
        migrator.registerMigration("glance") { db in try db.execute(sql: glance) }
        migrator.registerMigration("kept files") { db in try db.execute(sql: keptFiles) }
        registerPeople(in: &migrator)
        migrator.registerMigration("dirtyByParent") { db in try db.execute(sql: dirtyByParent) }
        migrator.registerMigration("positions") { db in try db.execute(sql: positions) }
        migrator.registerMigration("snapshots") { db in try db.execute(sql: snapshots) }
        registerAnnouncements(in: &migrator)
        migrator.registerMigration("departures") { db in try db.execute(sql: departures) }
        migrator.registerMigration("shown twins") { db in
            try db.execute(sql: "ALTER TABLE base ADD COLUMN twinVectors BLOB")
        }
        return migrator
    }

    /// What a scan compares with, in the order in which it does, so that no row costs a look-up of its own; and what
    /// each round asks of a base tree in which it is rare.
    private static let glance = """
        CREATE INDEX baseGlance ON base (root, parentZone, parent, parked, name, kind, size, modified, inode, birth);
        CREATE INDEX baseParked ON base (root) WHERE parked = 1;
        CREATE INDEX baseFolders ON base (root) WHERE kind = 1;
        CREATE INDEX sidecarStateByRecord ON sidecarState (zone, record);
        CREATE INDEX requestOpen ON request (id) WHERE result IS NULL;
        """

    /// What this replica would have to publish again if the mount lost it: own segments stay in `outbox`, with the number
    /// up to which the own head names them in `published`; controls, whoever wrote them, byte for byte.
    private static let keptFiles = """
        CREATE TABLE published (zone BLOB PRIMARY KEY, sequence INTEGER NOT NULL) WITHOUT ROWID;
        CREATE TABLE keptControl (
            zone BLOB NOT NULL, version INTEGER NOT NULL, hash BLOB NOT NULL, bytes BLOB NOT NULL,
            PRIMARY KEY (zone, version, hash)
        );
        """

    /// Dirty records in the order in which they are brought into the folders: what is in one folder together.
    private static let dirtyByParent = """
        DROP INDEX recordDirty;
        CREATE INDEX recordDirty ON record (zone, coalesce(parent, x''), record) WHERE dirty = 1;
        """

    /// Which segment of each number was applied: what the others' vectors are compared with.
    private static let positions = """
        CREATE TABLE position (
            zone BLOB NOT NULL, replica BLOB NOT NULL, sequence INTEGER NOT NULL, hash BLOB NOT NULL,
            PRIMARY KEY (zone, replica, sequence)
        ) WITHOUT ROWID;
        """

    /// The part of a snapshot by which a change came, 0 for none: it counts as far as both that and the segment it was
    /// first published in do. And how far this replica is with folding its own chain in each zone, see `SnapshotRow`.
    private static let snapshots = """
        ALTER TABLE change ADD COLUMN via INTEGER NOT NULL DEFAULT 0;
        CREATE TABLE snapshot (
            zone BLOB PRIMARY KEY, floor INTEGER NOT NULL, sequence INTEGER NOT NULL, hash BLOB NOT NULL,
            nextFloor INTEGER NOT NULL, nextSequence INTEGER NOT NULL, nextHash BLOB NOT NULL, raised INTEGER NOT NULL,
            tidied INTEGER NOT NULL, changes INTEGER NOT NULL, weighed INTEGER NOT NULL
        ) WITHOUT ROWID;
        """

    private static let version1 = """
        CREATE TABLE meta (key TEXT PRIMARY KEY, value BLOB) WITHOUT ROWID;

        CREATE TABLE zone (
            id BLOB PRIMARY KEY, kind TEXT NOT NULL, scope INTEGER NOT NULL, state TEXT NOT NULL,
            isMine INTEGER NOT NULL, keyring BLOB NOT NULL, control BLOB NOT NULL, controlVersion INTEGER NOT NULL,
            controlHash BLOB NOT NULL, rootRecord BLOB, lastSequence INTEGER NOT NULL DEFAULT 0, lastHash BLOB NOT NULL,
            headCursor BLOB, headDirty INTEGER NOT NULL DEFAULT 1, asOf INTEGER NOT NULL DEFAULT 0
        ) WITHOUT ROWID;

        CREATE TABLE change (
            id INTEGER PRIMARY KEY AUTOINCREMENT, zone BLOB NOT NULL, record BLOB NOT NULL,
            replica BLOB NOT NULL, counter INTEGER NOT NULL, account BLOB NOT NULL,
            sender BLOB NOT NULL, sequence INTEGER NOT NULL, state INTEGER NOT NULL,
            token INTEGER NOT NULL, payload BLOB NOT NULL, scope INTEGER NOT NULL DEFAULT 2, needs BLOB
        );
        CREATE INDEX changeByNeed ON change (zone, needs) WHERE scope = 1;
        CREATE UNIQUE INDEX changeByDot ON change (zone, replica, counter);
        CREATE INDEX changeByRecord ON change (zone, record);
        CREATE INDEX changeBySender ON change (zone, sender, sequence);
        CREATE INDEX changePending ON change (zone, id) WHERE state = 0;
        CREATE INDEX changeByToken ON change (token);

        CREATE TABLE historyTransaction (
            token INTEGER PRIMARY KEY AUTOINCREMENT, time INTEGER NOT NULL, author TEXT NOT NULL
        );
        CREATE TABLE consumer (name TEXT PRIMARY KEY, token INTEGER NOT NULL) WITHOUT ROWID;

        CREATE TABLE record (
            zone BLOB NOT NULL, record BLOB NOT NULL, type TEXT NOT NULL, live INTEGER NOT NULL, dirty INTEGER NOT NULL,
            parent BLOB, parentStamp BLOB, name BLOB, nameStamp BLOB, nameAuthor BLOB,
            hash BLOB, size INTEGER, located INTEGER NOT NULL DEFAULT 0, photo BLOB, conflicts INTEGER NOT NULL DEFAULT 0,
            PRIMARY KEY (zone, record)
        ) WITHOUT ROWID;
        CREATE INDEX recordByParent ON record (zone, parent, name);
        CREATE INDEX recordByPhoto ON record (zone, photo) WHERE photo IS NOT NULL;
        CREATE INDEX recordDirty ON record (zone, record) WHERE dirty = 1;
        CREATE INDEX recordByType ON record (type, zone);
        CREATE INDEX recordConflicts ON record (zone, record) WHERE conflicts > 0;

        CREATE TABLE zoneMove (record BLOB NOT NULL, zone BLOB NOT NULL, PRIMARY KEY (record, zone)) WITHOUT ROWID;

        CREATE TABLE base (
            root INTEGER NOT NULL, zone BLOB NOT NULL, record BLOB NOT NULL,
            parentZone BLOB NOT NULL, parent BLOB NOT NULL, name BLOB NOT NULL, kind INTEGER NOT NULL,
            size INTEGER NOT NULL, modified INTEGER NOT NULL, inode INTEGER NOT NULL, birth INTEGER NOT NULL,
            mode INTEGER NOT NULL, hash BLOB, vector BLOB NOT NULL, twins BLOB, parked INTEGER NOT NULL DEFAULT 0,
            PRIMARY KEY (zone, record)
        ) WITHOUT ROWID;
        CREATE UNIQUE INDEX baseByPlace ON base (root, parentZone, parent, name) WHERE parked = 0;
        CREATE INDEX baseByInode ON base (root, inode);
        CREATE INDEX baseByHash ON base (hash) WHERE hash IS NOT NULL;

        CREATE TABLE sidecar (
            zone BLOB NOT NULL, record BLOB NOT NULL, name BLOB NOT NULL, size INTEGER NOT NULL,
            modified INTEGER NOT NULL, inode INTEGER NOT NULL, birth INTEGER NOT NULL, rev TEXT NOT NULL,
            PRIMARY KEY (zone, record)
        ) WITHOUT ROWID;
        CREATE TABLE sidecarState (
            rev TEXT PRIMARY KEY, zone BLOB NOT NULL, record BLOB NOT NULL, fields BLOB NOT NULL, created INTEGER NOT NULL
        ) WITHOUT ROWID;

        CREATE TABLE intent (
            id INTEGER PRIMARY KEY AUTOINCREMENT, root INTEGER NOT NULL, path BLOB NOT NULL, zone BLOB NOT NULL,
            record BLOB NOT NULL, inode INTEGER NOT NULL, size INTEGER NOT NULL, hash BLOB NOT NULL, boot TEXT NOT NULL
        );

        CREATE TABLE peer (
            zone BLOB NOT NULL, replica BLOB NOT NULL, account BLOB, cursor BLOB, headSequence INTEGER NOT NULL DEFAULT 0,
            headHash BLOB, sequence INTEGER NOT NULL DEFAULT 0, hash BLOB, headTime INTEGER NOT NULL DEFAULT 0,
            vector BLOB, PRIMARY KEY (zone, replica)
        ) WITHOUT ROWID;
        CREATE TABLE staged (
            id INTEGER PRIMARY KEY AUTOINCREMENT, zone BLOB NOT NULL, replica BLOB NOT NULL, sequence INTEGER NOT NULL,
            bundle BLOB NOT NULL, account BLOB NOT NULL, payload BLOB NOT NULL
        );
        CREATE TABLE outbox (
            zone BLOB NOT NULL, sequence INTEGER NOT NULL, hash BLOB NOT NULL, bytes BLOB NOT NULL,
            PRIMARY KEY (zone, sequence)
        );
        CREATE TABLE asset (
            hash BLOB PRIMARY KEY, size INTEGER NOT NULL, location TEXT NOT NULL, key BLOB NOT NULL
        ) WITHOUT ROWID;

        CREATE TABLE problem (
            key TEXT PRIMARY KEY, code TEXT NOT NULL, path TEXT, zone BLOB, message TEXT NOT NULL, remedy TEXT NOT NULL,
            since INTEGER NOT NULL
        ) WITHOUT ROWID;
        CREATE TABLE request (
            id INTEGER PRIMARY KEY AUTOINCREMENT, created INTEGER NOT NULL, body TEXT NOT NULL, result TEXT
        );
        """
}
