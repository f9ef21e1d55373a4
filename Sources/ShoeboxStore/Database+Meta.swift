public import Foundation
public import GRDB
public import ShoeboxModel

extension Database {
    /// A stored value of any kind; nil if never set.
    public func meta(_ key: String) throws -> Data? {
        try Data.fetchOne(cachedStatement(sql: "SELECT value FROM meta WHERE key = ?"), arguments: [key])
    }

    /// Stores a value; nil removes it.
    public func setMeta(_ key: String, _ value: Data?) throws {
        if let value {
            try cachedStatement(
                sql: "INSERT INTO meta VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value"
            ).execute(arguments: [key, value])
        } else {
            try cachedStatement(sql: "DELETE FROM meta WHERE key = ?").execute(arguments: [key])
        }
    }

    /// A stored text; nil if never set or not text.
    public func metaText(_ key: String) throws -> String? {
        try meta(key).flatMap { String(data: $0, encoding: .utf8) }
    }
    /// Stores a text.
    public func setMetaText(_ key: String, _ text: String?) throws { try setMeta(key, text.map { Data($0.utf8) }) }
    /// All stored texts whose key begins so.
    public func metaTexts(prefix: String) throws -> [(key: String, text: String)] {
        try Row.fetchAll(
            cachedStatement(sql: "SELECT key, value FROM meta WHERE key >= ? AND key < ? ORDER BY key"),
            arguments: [prefix, prefix + "\u{7f}"]
        ).compactMap { row in
            (row["value"] as Data?).flatMap { String(data: $0, encoding: .utf8) }.map { (row["key"], $0) }
        }
    }
    /// A stored number; nil if never set.
    public func metaNumber(_ key: String) throws -> Int64? { try metaText(key).flatMap { Int64($0) } }
    /// Stores a number.
    public func setMetaNumber(_ key: String, _ number: Int64) throws { try setMetaText(key, String(number)) }

    /// The last counter that a dot of this replica was given; read and stored in one transaction, so that none is given
    /// twice, not even by another process.
    public func lastCounter() throws -> UInt64 { UInt64(bitPattern: try metaNumber("counter") ?? 0) }

    /// Stores the last counter given.
    public func setLastCounter(_ counter: UInt64) throws { try setMetaNumber("counter", Int64(bitPattern: counter)) }

    /// The stored hybrid clock.
    public func clock() throws -> HybridClock {
        HybridClock(
            wallMilliseconds: try metaNumber("clockWall").map { UInt64(bitPattern: $0) } ?? 0,
            counter: UInt16(truncatingIfNeeded: try metaNumber("clockCounter") ?? 0))
    }

    /// Stores the hybrid clock.
    public func setClock(_ clock: HybridClock) throws {
        try setMetaNumber("clockWall", Int64(bitPattern: clock.wallMilliseconds))
        try setMetaNumber("clockCounter", Int64(clock.counter))
    }

    /// Opens a history transaction and gives its token.
    public func beginHistory(author: String, timeMilliseconds: UInt64) throws -> Int64 {
        try cachedStatement(sql: "INSERT INTO historyTransaction (time, author) VALUES (?, ?)").execute(arguments: [
            Int64(bitPattern: timeMilliseconds), author,
        ])
        return lastInsertedRowID
    }

    /// A consumer's position in the history; 0 before the first.
    public func consumerToken(_ name: String) throws -> Int64 {
        try Int64.fetchOne(cachedStatement(sql: "SELECT token FROM consumer WHERE name = ?"), arguments: [name]) ?? 0
    }

    /// Moves a consumer on.
    public func setConsumerToken(_ name: String, _ token: Int64) throws {
        try cachedStatement(
            sql: "INSERT INTO consumer VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET token = excluded.token"
        ).execute(arguments: [name, token])
    }
}
