import Foundation
import ShoeboxModel
import Testing

/// The local database is gone or damaged, and the keys are there: by the executable.
@Suite(.serialized)
struct LostDatabaseTests {
    private let files = FileManager.default

    private func state(_ person: CommandPerson) -> String { person.home + "/state/shoebox/\(person.name)" }

    private func loseDatabase(_ person: CommandPerson) throws {
        for name in try files.contentsOfDirectory(atPath: state(person)) where name.hasPrefix("shoebox.sqlite") {
            try files.removeItem(atPath: "\(state(person))/\(name)")
        }
    }

    /// Alice shares a folder with Bob, who has a library of his own, too; both have tagged.
    private func sharing() throws -> (alice: CommandPerson, bob: CommandPerson) {
        let place = try CommandPlace()
        let alice = try place.person("alice")
        let bob = try place.person("bob")
        for name in ["a", "b"] { try alice.drop("photo \(name)", at: alice.library + "/Lake/\(name).jpg") }
        try alice.must("sync")
        try alice.must("share", "create", "library/Lake", "--title", "Summer")
        try alice.must("share", "invite", "Summer", "bob", "--permission", "readWrite")
        try bob.must("accept", "--all-pending")
        try bob.drop("own", at: bob.library + "/Own/own.jpg")
        try bob.must("sync")
        try bob.must("tag", "add", "library/Own/own.jpg", "mine")
        try bob.must("tag", "add", "shared/alice/Summer/a.jpg", "swim")
        try bob.must("sync")
        try alice.must("sync")
        return (alice, bob)
    }

    @Test func `a lost database comes back from the folders and the container, and no number is given twice`() throws {
        let (alice, bob) = try sharing()
        let before = try bob.must("list", "--json").json["entries"]?.array ?? []
        #expect(before.count == 6)
        try loseDatabase(bob)
        try alice.drop("photo c", at: alice.library + "/Lake/c.jpg")
        try alice.must("sync")
        try bob.drop("dropped without a database", at: bob.shared + "/alice/Summer/d.jpg")
        for command in ["status", "sync", "list"] {
            let refused = try bob.run([command])
            #expect(refused.code == 1 && refused.errors.contains("shoebox init"), "\(command): \(refused.errors)")
        }
        #expect(!files.fileExists(atPath: state(bob) + "/shoebox.sqlite"))
        let again = try bob.initialize()
        #expect(again.code == 0, "\(again.errors)")
        try bob.must("sync")
        let after = try bob.must("list", "--json").json["entries"]?.array ?? []
        for entry in before { #expect(after.contains(entry), "\(entry)") }
        #expect(after.count == before.count + 2)
        try alice.must("sync")
        #expect(alice.text(alice.library + "/Lake/d.jpg") == "dropped without a database")
        for person in [alice, bob] {
            #expect(try person.must("status", "--json").json["problems"]?.array?.isEmpty == true)
            #expect(try person.must("verify", "--json").json["faults"]?.array?.isEmpty == true)
        }
        try bob.expectNoNumberTwice()
    }

    @Test func `a damaged database is named, with what to do, which does it`() throws {
        let (_, bob) = try sharing()
        let database = state(bob) + "/shoebox.sqlite"
        try loseDatabase(bob)
        try Data(repeating: 0x55, count: 40_000).write(to: URL(fileURLWithPath: database))
        for command in ["status", "sync", "verify"] {
            let refused = try bob.run([command])
            #expect(refused.code == 1 && refused.errors.contains("\(database) is damaged"), "\(refused.errors)")
            #expect(refused.errors.contains("move 'shoebox.sqlite*'"), "\(refused.errors)")
        }
        try loseDatabase(bob)
        #expect(try bob.initialize().code == 0)
        try bob.must("sync")
        #expect(try bob.must("list", "--json").json["entries"]?.array?.count == 6)
        try bob.expectNoNumberTwice()
    }
}
