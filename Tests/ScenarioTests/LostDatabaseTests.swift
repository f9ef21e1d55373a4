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

    @Test(arguments: [false, true])
    func `lost keys come back from the recovery file beside the database, and what is dropped then arrives`(
        isDamaged: Bool
    ) throws {
        let (alice, bob) = try sharing()
        let passphrase = bob.home + "/passphrase"
        try bob.drop("correct horse battery", at: passphrase)
        try bob.must("account", "export", "device", "--passphrase-file", passphrase)
        try bob.drop("not published yet", at: bob.shared + "/alice/Summer/pending.jpg")
        if isDamaged {
            try Data(repeating: 7, count: 300).write(to: URL(fileURLWithPath: state(bob) + "/identity"))
        } else {
            try files.removeItem(atPath: state(bob) + "/identity")
        }
        let refused = try bob.run(["sync"])
        #expect(refused.code != 0 && refused.errors.contains("shoebox init"), "\(refused.errors)")
        let bare = try bob.initialize()
        #expect(bare.code == 1 && bare.errors.contains("--import"), "\(bare.errors)")
        let again = try bob.initialize(["--import", "device", "--passphrase-file", passphrase])
        #expect(again.code == 0, "\(again.errors)")
        try bob.must("sync")
        try bob.drop("dropped afterwards", at: bob.shared + "/alice/Summer/later.jpg")
        try bob.must("tag", "add", "shared/alice/Summer/a.jpg", "again")
        try bob.must("sync")
        try alice.must("sync")
        #expect(alice.text(alice.library + "/Lake/pending.jpg") == "not published yet")
        #expect(alice.text(alice.library + "/Lake/later.jpg") == "dropped afterwards")
        for person in [alice, bob] {
            #expect(try person.must("status", "--json").json["problems"]?.array?.isEmpty == true)
            #expect(try person.must("verify", "--json").json["faults"]?.array?.isEmpty == true)
        }
        try bob.expectNoNumberTwice()
    }

    @Test func `keys of another account are not put beside a database`() throws {
        let (alice, bob) = try sharing()
        let passphrase = alice.home + "/passphrase"
        try alice.drop("correct horse battery", at: passphrase)
        try alice.must("account", "export", bob.home + "/other", "--passphrase-file", passphrase)
        let identity = try #require(files.contents(atPath: state(bob) + "/identity"))
        try files.removeItem(atPath: state(bob) + "/identity")
        let refused = try bob.initialize(["--import", "other", "--passphrase-file", passphrase])
        #expect(refused.code == 1, "\(refused.errors)")
        try identity.write(to: URL(fileURLWithPath: state(bob) + "/identity"))
        try bob.must("sync")
    }

    @Test func `no new container is made where the cloud folder is not mounted`() throws {
        let (_, bob) = try sharing()
        try loseDatabase(bob)
        try files.moveItem(atPath: bob.container, toPath: bob.container + "-unmounted")
        try files.createDirectory(atPath: bob.container, withIntermediateDirectories: false)
        let refused = try bob.initialize()
        #expect(refused.code == 13 && refused.errors.contains("Mount the cloud folder"), "\(refused.errors)")
        #expect(try files.contentsOfDirectory(atPath: bob.container).isEmpty)
        try files.removeItem(atPath: bob.container)
        try files.moveItem(atPath: bob.container + "-unmounted", toPath: bob.container)
        #expect(try bob.initialize().code == 0)
        try bob.must("sync")
        #expect(try bob.must("list", "--json").json["entries"]?.array?.count == 6)
    }

    @Test func `a state directory that others may look into is closed to them`() throws {
        let (_, bob) = try sharing()
        try files.setAttributes([.posixPermissions: 0o755], ofItemAtPath: state(bob))
        try bob.must("sync")
        let mode = try files.attributesOfItem(atPath: state(bob))[.posixPermissions] as? Int
        #expect(mode == 0o700)
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
