import Foundation
public import GRDB
public import ShoeboxModel

/// A letter that this replica has read.
public struct LetterRow: Hashable, Sendable {
    /// What became of it.
    public enum State: String, Sendable {
        /// It waits for a person.
        case pending
        /// It was done as it asks: the invitation was accepted, the request approved.
        case accepted
        /// A person did not want it.
        case declined
        /// It holds no more.
        case withdrawn
        /// It was noted, and needs nobody.
        case done
        /// It is none, or not for this account.
        case void
    }

    /// The hash of its file.
    public var hash: Digest32
    /// What it is about, as the cloud layer names it; empty where it could not be read.
    public var kind: String
    /// What became of it.
    public var state: State
    /// The zone that it is about.
    public var zone: ZoneID?
    /// The sender.
    public var account: AccountID?
    /// The sender's label.
    public var label: String
    /// The share's title.
    public var title: String
    /// The permission that is offered or asked for.
    public var permission: Permission
    /// Of the invitation.
    public var generation: UInt64
    /// Of the link that a request came by, or that is announced or withdrawn.
    public var joinKey: Digest32?
    /// When it was written, by the sender's clock, milliseconds since 1970.
    public var written: UInt64
    /// Of an announcement: the link, with its secret.
    public var link: String

    /// A row from its parts.
    public init(
        hash: Digest32, kind: String = "", state: State, zone: ZoneID? = nil, account: AccountID? = nil,
        label: String = "", title: String = "", permission: Permission = .none, generation: UInt64 = 0,
        joinKey: Digest32? = nil, written: UInt64 = 0, link: String = ""
    ) {
        self.hash = hash
        self.kind = kind
        self.state = state
        self.zone = zone
        self.account = account
        self.label = label
        self.title = title
        self.permission = permission
        self.generation = generation
        self.joinKey = joinKey
        self.written = written
        self.link = link
    }

    init(_ row: Row) throws {
        guard let hash = row.digest("hash") else { throw StoreError("a letter has no hash") }
        self.init(
            hash: hash, kind: row["kind"], state: State(rawValue: row["state"]) ?? .void,
            zone: row.digest("zone").map(ZoneID.init), account: row.digest("account").map(AccountID.init),
            label: row["label"], title: row["title"], permission: Permission(rawValue: row["permission"]) ?? .none,
            generation: UInt64(bitPattern: row["generation"]), joinKey: row.digest("joinKey"),
            written: UInt64(bitPattern: row["written"]), link: row["link"])
    }
}

extension Database {
    /// The hashes of all letters that were read.
    public func letterHashes() throws -> Set<Digest32> {
        var result: Set<Digest32> = []
        for row in try Row.fetchAll(cachedStatement(sql: "SELECT hash FROM letter")) {
            if let hash = row.digest("hash") { result.insert(hash) }
        }
        return result
    }

    /// The hashes of the letters that were read and said something.
    public func understoodLetters() throws -> Set<Digest32> {
        let rows = try Row.fetchAll(
            cachedStatement(sql: "SELECT hash FROM letter WHERE state <> ?"),
            arguments: [LetterRow.State.void.rawValue])
        return Set(rows.compactMap { $0.digest("hash") })
    }

    /// The letters of a kind in a state, oldest first.
    public func letters(_ kind: String, _ state: LetterRow.State? = nil) throws -> [LetterRow] {
        try Row.fetchAll(
            cachedStatement(
                sql:
                    "SELECT * FROM letter WHERE kind = ?1 AND (?2 IS NULL OR state = ?2) ORDER BY arrived, written, hash"
            ),
            arguments: [kind, state?.rawValue]
        ).map(LetterRow.init)
    }

    /// Stores a letter.
    public func setLetter(_ letter: LetterRow, nowMilliseconds: UInt64) throws {
        try cachedStatement(
            sql: """
                INSERT INTO letter (hash, kind, state, zone, account, label, title, permission, generation, joinKey,
                    written, arrived, link)
                VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
                ON CONFLICT (hash) DO UPDATE SET state = excluded.state
                """
        ).execute(arguments: [
            letter.hash.data, letter.kind, letter.state.rawValue, letter.zone?.data, letter.account?.data,
            letter.label, letter.title, letter.permission.rawValue, Int64(bitPattern: letter.generation),
            letter.joinKey?.data, Int64(bitPattern: letter.written), Int64(bitPattern: nowMilliseconds),
            letter.link,
        ])
    }

    /// The letters of one sender about a zone and a link.
    public func letters(about zone: ZoneID, joinKey: Digest32, from account: AccountID) throws -> [LetterRow] {
        try Row.fetchAll(
            cachedStatement(
                sql: "SELECT * FROM letter WHERE zone = ? AND account = ? AND joinKey = ? ORDER BY written, hash"),
            arguments: [zone.data, account.data, joinKey.data]
        ).map(LetterRow.init)
    }

    /// Whether a letter of a kind, of this generation or a newer one, is known of one sender about a zone.
    public func hasLetter(
        _ kind: String, zone: ZoneID, account: AccountID, from generation: UInt64
    ) throws -> Bool {
        try Row.fetchOne(
            cachedStatement(
                sql: "SELECT 1 FROM letter WHERE kind = ? AND zone = ? AND account = ? AND generation >= ? LIMIT 1"),
            arguments: [kind, zone.data, account.data, Int64(clamping: generation)]) != nil
    }

    /// How many letters of a kind by one sender wait for a person.
    public func pendingLetterCount(_ kind: String, from account: AccountID) throws -> Int {
        try Int.fetchOne(
            cachedStatement(sql: "SELECT count(*) FROM letter WHERE kind = ? AND state = 'pending' AND account = ?"),
            arguments: [kind, account.data]) ?? 0
    }

    /// Says what became of a kind's letters about a zone, of one sender or all, that wait for a person.
    ///
    /// - Parameter generation: of those of this generation and older ones only.
    public func settleLetters(
        _ kind: String, zone: ZoneID, account: AccountID? = nil, upTo generation: UInt64 = .max,
        _ state: LetterRow.State
    ) throws {
        try cachedStatement(
            sql: """
                UPDATE letter SET state = ? WHERE kind = ? AND zone = ? AND state = 'pending'
                    AND (? IS NULL OR account = ?) AND generation <= ?
                """
        ).execute(arguments: [
            state.rawValue, kind, zone.data, account?.data, account?.data, Int64(clamping: generation),
        ])
    }

    /// Keeps that an account joins a zone by a link; whether it is new.
    public func addJoin(_ zone: ZoneID, account: AccountID, joinKey: Digest32, label: String) throws -> Bool {
        try cachedStatement(sql: "INSERT OR IGNORE INTO joined VALUES (?, ?, ?, ?)").execute(arguments: [
            zone.data, account.data, joinKey.data, label,
        ])
        return changesCount > 0
    }

    /// Who joins a zone by links, whether those still hold or not.
    public func joins(of zone: ZoneID) throws -> [(account: AccountID, joinKey: Digest32, label: String)] {
        var result: [(account: AccountID, joinKey: Digest32, label: String)] = []
        for row in try Row.fetchAll(
            cachedStatement(sql: "SELECT * FROM joined WHERE zone = ? ORDER BY account, joinKey"),
            arguments: [zone.data])
        {
            guard let key = row.digest("joinKey") else { continue }
            result.append((try row.accountID("account"), key, row["label"]))
        }
        return result
    }
}
