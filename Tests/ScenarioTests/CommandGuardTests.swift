import Foundation
import ShoeboxModel
import Testing

/// The guard against mass deletions, with daemons and commands as processes.
@Suite(.serialized)
struct CommandGuardTests {
    private static let names = (0..<12).map { "\($0).jpg" }

    /// Alice shares an album of twelve photos with Bob; ten of them have a tag. Both daemons run.
    private func album() throws -> (place: CommandPlace, alice: CommandPerson, bob: CommandPerson) {
        let place = try CommandPlace()
        let (alice, bob) = (try place.person("alice"), try place.person("bob"))
        for person in [alice, bob] {
            let text = try #require(person.text(person.config))
            let object = try #require(try JSONText.parse(Array(text.utf8)).object)
            var changed = object
            changed["limits"] = .object(["massDeletionCount": .integer(5), "massDeletionPercent": .integer(50)])
            changed["deleteDelayMilliseconds"] = .integer(200)
            try person.drop(String(decoding: JSONText.encode(.object(changed)), as: UTF8.self), at: person.config)
        }
        for person in [alice, bob] { _ = try person.startDaemon() }
        for name in Self.names { try alice.drop("photo \(name)", at: alice.library + "/Lake/" + name) }
        try alice.must("sync")
        try alice.must("share", "create", "library/Lake", "--title", "Summer")
        try alice.must("share", "invite", "Summer", "bob", "--permission", "readWrite")
        try bob.must("accept", "--all-pending")
        for name in Self.names.prefix(10) { try alice.must("tag", "add", alice.library + "/Lake/" + name, "swim") }
        try bob.wait("all is there") { shown(bob.shared + "/alice/Summer", bob) == 12 && tagged(bob) == 10 }
        return (place, alice, bob)
    }

    private func shown(_ folder: String, _ person: CommandPerson) -> Int {
        Self.names.filter { person.text(folder + "/" + $0) == "photo \($0)" }.count
    }

    private func tagged(_ bob: CommandPerson) -> Int {
        Self.names.filter { bob.text(bob.shared + "/alice/Summer/\($0).json")?.contains("\"swim\"") == true }.count
    }

    /// Ten at once, however slow the machine is: else the daemon takes the first for the few that somebody deletes one by one, and
    /// puts their sidecars away itself.
    private func deleteTen(_ alice: CommandPerson) throws {
        let paths = Self.names.prefix(10).flatMap { name in ["", ".json"].map { alice.library + "/Lake/" + name + $0 } }
        try alice.wait("all sidecars are there") { paths.allSatisfy(FileManager.default.fileExists(atPath:)) }
        let daemon = try #require(alice.daemons.last)
        #expect(daemon.suspend())
        let removal = Result { for path in paths { try FileManager.default.removeItem(atPath: path) } }
        #expect(daemon.resume())
        try removal.get()
        try alice.wait("the deletions are held back") {
            let problems = try alice.status()["problems"]?.array?.compactMap { $0.object?["code"]?.text } ?? []
            return problems == ["massDeletion"]
        }
    }

    @Test func `a mass deletion waits, is named, and one command takes it back or lets it go on`() throws {
        let (place, alice, bob) = try album()
        defer { withExtendedLifetime(place) {} }
        try deleteTen(alice)
        let status = try alice.status()
        #expect(status["state"]?.text == "attention")
        let problem = try #require(status["problems"]?.array?.first?.object)
        for option in ["--confirm-deletions", "--reject-deletions"] {
            #expect(problem["remedy"]?.text?.contains(option) == true)
        }
        try bob.must("sync")
        #expect(shown(bob.shared + "/alice/Summer", bob) == 12)
        // No.
        try alice.must("sync", "--reject-deletions")
        try alice.wait("they are back") { shown(alice.library + "/Lake", alice) == 12 }
        let folder = alice.library + "/Lake"
        #expect(Self.names.filter { alice.text("\(folder)/\($0).json")?.contains("\"swim\"") == true }.count == 10)
        #expect(try alice.status()["state"]?.text == "inSync")
        // Yes.
        try deleteTen(alice)
        try alice.must("sync", "--confirm-deletions")
        try bob.wait("they are gone") { shown(bob.shared + "/alice/Summer", bob) == 2 }
        // Bob's trash has them all, and brings them all back, for everybody and with their tags.
        let trash = try bob.must("trash", "list", "--json").json["entries"]?.array ?? []
        let paths = Set(trash.compactMap { $0.object?["path"]?.text })
        #expect(paths.isSuperset(of: Self.names.prefix(10).map { "shared/alice/Summer/" + $0 }), "\(paths)")
        try bob.must("trash", "restore", "--all")
        try bob.wait("all is back") { shown(bob.shared + "/alice/Summer", bob) == 12 && tagged(bob) == 10 }
        try alice.wait("alice has them, too") { shown(alice.library + "/Lake", alice) == 12 }
        for person in [alice, bob] {
            try person.wait("in sync") { try person.status()["state"]?.text == "inSync" }
        }
    }

    @Test func `rejecting with nothing held back does nothing, and both at once is wrong usage`() throws {
        let place = try CommandPlace()
        let alice = try place.person("alice")
        try alice.drop("one", at: alice.library + "/one.jpg")
        let said = try alice.must("sync", "--reject-deletions")
        #expect(said.errors.contains("No deletions are held back"), "\(said.errors)")
        #expect(alice.text(alice.library + "/one.jpg") == "one")
        #expect(try alice.run(["sync", "--reject-deletions", "--confirm-deletions"]).code == 64)
    }
}
