import GRDB
@testable import Shoebox
import ShoeboxCloud
import ShoeboxModel
import ShoeboxStore
import ShoeboxTestSupport
import ShoeboxWorld
import Testing

/// What the rounds of a large library cost is decided by how SQLite finds rows.
@Suite struct QueryPlanTests {
    /// The statements that ran on a connection.
    private final class Statements: Sendable {
        let texts = Mutex<Set<String>>([])
    }

    @Test
    func `no round of a replica, idle or with photos, tags and moves, reads through a table that has a row a file`()
        throws
    {
        let village = try Village(labels: ["alice", "bob"])
        let (alice, bob) = (village.replicas[0], village.replicas[1])
        let seen = Statements()
        for replica in [alice, bob] {
            try replica.store.read { db in
                db.trace { event in
                    guard case .statement(let statement) = event else { return }
                    seen.texts.withLock { _ = $0.insert(statement.sql) }
                }
            }
        }
        for number in 0..<5 { try alice.machine.library.write("Summer/\(number).jpg", "photo \(number)") }
        try #require(try village.settle())
        let made = alice.request(
            .shareCreate(paths: [alice.path("Summer")], title: "Summer", publicPermission: "none", isSealed: true))
        _ = alice.request(.invite(share: "Summer", accounts: ["bob"], permission: "readWrite"))
        _ = bob.request(.accept(link: made.values["link"] ?? ""))
        try #require(try village.settle())
        _ = bob.request(.tag(path: bob.path("alice/Summer/1.jpg", .shared), titles: ["lake"], isMember: true))
        try bob.machine.shared.write("alice/Summer/2.jpg", "edited")
        try alice.machine.library.move("Summer/3.jpg", to: "Summer/moved.jpg")
        try alice.machine.library.delete("Summer/4.jpg")
        try #require(try village.settle())
        _ = try alice.store.read { db in try PendingCounts(db, replica: alice.identity.replica) }
        let statements = seen.texts.withLock { $0 }
        #expect(statements.count > 50)
        try alice.store.read { db in
            for statement in statements.sorted() {
                guard ["SELECT", "UPDATE", "DELETE"].contains(where: { statement.hasPrefix($0) }),
                    !statement.contains("sqlite_"),
                    !Self.rare.contains(where: { statement == $0 || (statement.hasPrefix($0) && !$0.hasSuffix("?")) })
                else { continue }
                let plan = try db.makeStatement(sql: "EXPLAIN QUERY PLAN " + statement)
                plan.setUncheckedArguments(StatementArguments())
                for row in try Row.fetchAll(plan) {
                    let detail: String = row["detail"]
                    #expect(!Self.readsThrough(detail), "\(detail): \(statement)")
                }
            }
        }
    }

    /// What goes through all of a zone or folder because it is about all of it, and is rare: a change of who may write,
    /// a mass deletion, the first look after a start of the machine, a zone that comes or goes.
    private static let rare = [
        "SELECT DISTINCT account, sender", "SELECT count(*) FROM base", "SELECT * FROM sidecar ORDER BY",
        "SELECT DISTINCT zone, record FROM sidecarState",
        "UPDATE record SET dirty = 1 WHERE zone = ?",
    ]

    /// Whether a line of a plan says that it goes through a row for each file, of the whole tree or of a zone.
    private static func readsThrough(_ detail: String) -> Bool {
        let tables = ["base", "record", "change", "sidecar", "sidecarState", "asset"]
        // Of these indexes each row is one that has something to do, or a folder.
        let small = ["baseParked", "baseFolders", "recordDirty", "recordConflicts", "changePending", "changeByNeed"]
        guard !small.contains(where: { detail.contains("INDEX \($0)") }) else { return false }
        return tables.contains { table in
            detail == "SCAN \(table)" || detail.hasPrefix("SCAN \(table) ")
                || (detail.hasPrefix("SEARCH \(table) ")
                    && (detail.hasSuffix("(root=?)") || detail.hasSuffix("(zone=?)")))
        }
    }
}
