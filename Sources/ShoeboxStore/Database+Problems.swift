import Foundation
public import GRDB
public import ShoeboxModel

/// Something that needs a person, or time: what, why, and what to do now.
public struct Problem: Hashable, Sendable {
    /// Stable code, such as `sidecarBroken`.
    public var code: String
    /// The path as a person knows it; nil if it is about a zone or everything.
    public var path: String?
    /// The zone; nil if it is about none.
    public var zone: ZoneID?
    /// What and why.
    public var message: String
    /// What to do now.
    public var remedy: String
    /// A problem from its parts.
    public init(code: String, path: String? = nil, zone: ZoneID? = nil, message: String, remedy: String) {
        self.code = code
        self.path = path
        self.zone = zone
        self.message = message
        self.remedy = remedy
    }
    /// Codes of what somebody should know and nobody has to do anything about: it goes away by itself after a week.
    public static let informationCodes: Set<String> = [
        "ended", "denied", "clock", "refused", "shareFolderBack", "undone", "newReplica", "demoted",
    ]
    /// Whether nobody has to do anything about it.
    public var isInformation: Bool { Self.informationCodes.contains(code) }
    /// What makes it one problem: a second report of the same key replaces the first.
    public var key: String { "\(code)|\(zone?.description ?? "")|\(path ?? "")" }
}

extension Database {
    /// Notes a problem, or refreshes its text.
    public func report(_ problem: Problem, nowMilliseconds: UInt64) throws {
        try cachedStatement(
            sql: """
                INSERT INTO problem VALUES (?, ?, ?, ?, ?, ?, ?)
                ON CONFLICT (key) DO UPDATE SET message = excluded.message, remedy = excluded.remedy
                """
        ).execute(arguments: [
            problem.key, problem.code, problem.path, problem.zone?.data, problem.message, problem.remedy,
            Int64(bitPattern: nowMilliseconds),
        ])
    }

    /// Removes problems of a code, all or those of one path or zone.
    public func clearProblems(code: String, path: String? = nil, zone: ZoneID? = nil) throws {
        try cachedStatement(
            sql: "DELETE FROM problem WHERE code = ? AND (? IS NULL OR path = ?) AND (? IS NULL OR zone = ?)"
        ).execute(arguments: [code, path, path, zone?.data, zone?.data])
    }

    /// Removes what was only to be known, once it is older than a time, milliseconds since 1970. True if there was any.
    public func clearInformation(before milliseconds: UInt64) throws -> Bool {
        for code in Problem.informationCodes {
            try cachedStatement(sql: "DELETE FROM problem WHERE code = ? AND since < ?").execute(arguments: [
                code, Int64(bitPattern: milliseconds),
            ])
            if changesCount > 0 { return true }
        }
        return false
    }

    /// Everything that is wrong, oldest first.
    public func problems() throws -> [Problem] {
        try Row.fetchAll(cachedStatement(sql: "SELECT * FROM problem ORDER BY since, key")).map { row in
            Problem(
                code: row["code"], path: row["path"], zone: row.digest("zone").map(ZoneID.init),
                message: row["message"], remedy: row["remedy"])
        }
    }
}
