public import GRDB
public import ShoeboxModel

/// An account that this one has dealt with: what must not change without being said.
public struct PinRow: Hashable, Sendable {
    /// The account.
    public var account: AccountID
    /// Its label.
    public var label: String
    /// When it was first dealt with, milliseconds since 1970.
    public var firstUsed: UInt64
    /// When a person has compared its fingerprint, milliseconds since 1970; 0 for never.
    public var compared: UInt64
    /// The newest statement of it that was seen.
    public var statement: Position

    /// A row from its parts.
    public init(account: AccountID, label: String, firstUsed: UInt64, compared: UInt64 = 0, statement: Position) {
        self.account = account
        self.label = label
        self.firstUsed = firstUsed
        self.compared = compared
        self.statement = statement
    }
}

extension Database {
    /// The accounts with this label that were dealt with, and the account itself, whatever its label; sorted.
    public func pins(label: String, or account: AccountID) throws -> [PinRow] {
        try Row.fetchAll(
            cachedStatement(sql: "SELECT * FROM pin WHERE label = ? OR account = ? ORDER BY firstUsed, account"),
            arguments: [label, account.data]
        ).map { row in
            PinRow(
                account: try row.accountID("account"), label: row["label"],
                firstUsed: UInt64(bitPattern: row["firstUsed"]), compared: UInt64(bitPattern: row["compared"]),
                statement: Position(
                    sequence: UInt64(bitPattern: row["statement"]),
                    hash: row.digest("statementHash") ?? Position.start.hash))
        }
    }

    /// Stores what is known of an account.
    public func setPin(_ pin: PinRow) throws {
        try cachedStatement(sql: "INSERT OR REPLACE INTO pin VALUES (?, ?, ?, ?, ?, ?)").execute(arguments: [
            pin.account.data, pin.label, Int64(bitPattern: pin.firstUsed), Int64(bitPattern: pin.compared),
            Int64(bitPattern: pin.statement.sequence), pin.statement.hash.data,
        ])
    }
}
