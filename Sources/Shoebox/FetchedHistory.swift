import ShoeboxStore

import class GRDB.Database

/// Gives what is fetched at once its history transactions: each that somebody wrote is one here, too, so that it can be
/// taken back alone. Used inside one database write, so that a reader of the history sees all of them or none.
struct FetchedHistory {
    private let author: String
    private let timeMilliseconds: UInt64
    /// The first token that was given; all later ones of the same write are greater. Nil if none was.
    private(set) var first: Int64?
    /// One that was given and not used: what repeats what is known leaves no empty transaction.
    private var unused: Int64?

    init(author: String, timeMilliseconds: UInt64) {
        self.author = author
        self.timeMilliseconds = timeMilliseconds
    }

    /// The token of the next transaction.
    mutating func begin(_ db: Database) throws -> Int64 {
        if let token = unused {
            unused = nil
            return token
        }
        let token = try db.beginHistory(author: author, timeMilliseconds: timeMilliseconds)
        if first == nil { first = token }
        return token
    }

    /// Notes that the transaction begun last has brought nothing new.
    mutating func takeBack(_ token: Int64) { unused = token }
}
