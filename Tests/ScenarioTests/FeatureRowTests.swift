import Foundation
import ShoeboxLibrary
import ShoeboxModel
import ShoeboxPlanning
import ShoeboxStore
import ShoeboxTestSupport
import ShoeboxWorld
import Testing

@testable import Shoebox
@testable import ShoeboxCloud

/// Rows of the feature list that no other scenario is about.
@Suite struct FeatureRowTests {
    @Test func `a share shows with all that it was made of, or not at all, however early it is accepted`() throws {
        let village = try Village(labels: ["alice", "bob"])
        let (alice, bob) = (village.replicas[0], village.replicas[1])
        for number in 0..<12 { try alice.machine.library.write("Trip/\(number).jpg", "photo \(number)") }
        try #require(try village.settle())
        let made = alice.request(
            .shareCreate(paths: [alice.path("Trip")], title: "Trip", publicPermission: "none", isSealed: true))
        let zone = try #require(ZoneID(hex: made.values["id"] ?? ""))
        #expect(alice.request(.invite(share: "Trip", accounts: ["bob"], permission: "readOnly")).code == 0)
        // Before anything of it is published.
        #expect(bob.request(.accept(link: made.values["link"] ?? "")).code == 0)
        var seen: Set<Int> = []
        for number in 0..<24 {
            if number % 3 == 0 { try alice.round() } else { try bob.round() }
            village.world.clock.advance(milliseconds: 700)
            seen.insert(try bob.store.read { db in try db.files(in: zone) }.count)
            for (path, text) in bob.tree(.shared) { #expect(text.hasPrefix("photo "), "\(path)") }
        }
        #expect(try village.settle())
        #expect(bob.tree(.shared).count == 12)
        #expect(seen.isSubset(of: [0, 12]), "\(seen)")
    }

    @Test func `a deletion by somebody else takes no edit that was not published yet`() throws {
        let party = try Party(bob: "readWrite")
        party.bob.machine.mount.attach(.missing)
        try party.bob.machine.shared.write("alice/Summer/a.jpg", "edited by bob")
        try party.village.pass(4)
        try party.alice.machine.library.delete("Summer/a.jpg")
        try party.village.pass(6)
        #expect(party.carol.tree(.shared)["alice/Summer/a.jpg"] == nil)
        party.bob.machine.mount.mount()
        try party.village.meet()
        #expect(try party.village.settle())
        for replica in [party.bob, party.carol] {
            #expect(replica.tree(.shared)["alice/Summer/a.jpg"] == "edited by bob", "\(replica.label)")
        }
        #expect(party.alice.tree(.library)["Summer/a.jpg"] == "edited by bob")
    }

    @Test func `each share is a zone of its own, and one that is not there is said to be not there`() throws {
        let village = try Village(labels: ["alice"])
        let alice = village.replicas[0]
        for name in ["One", "Two"] { try alice.machine.library.write("\(name)/a.jpg", name) }
        try #require(try village.settle())
        var ids: Set<String> = []
        for name in ["One", "Two"] {
            let made = alice.request(
                .shareCreate(paths: [alice.path(name)], title: "Same", publicPermission: "none", isSealed: true))
            ids.insert(try #require(made.values["id"]))
        }
        #expect(ids.count == 2)
        let ambiguous = alice.request(.stop(share: "Same"))
        #expect(ambiguous.code == ExitCode.notFound)
        for id in ids { #expect(ambiguous.remedy?.contains(id.prefix(12)) == true) }
        let absent = alice.request(.stop(share: "Never"))
        #expect(absent.code == ExitCode.notFound && absent.remedy?.contains("share list") == true)
        // Both zones are found again after a restart, and one that is stopped takes nothing of the other.
        try alice.restart()
        try #require(try village.settle())
        let first = try #require(ids.sorted().first)
        #expect(alice.request(.stop(share: first)).code == 0)
        #expect(try village.settle())
        #expect(alice.tree(.library) == ["One/a.jpg": "One", "Two/a.jpg": "Two"])
        let open = alice.engine.zones.values.filter { $0.row.kind == .share && $0.row.state == .active }
        #expect(open.map(\.id.description) == ids.filter { $0 != first })
    }
}

/// The same, by the real executable.
@Suite(.serialized) struct FeatureRowCommandTests {
    @Test func `which share a photo is in, who may do what, and all shares are told while the container is away`()
        throws
    {
        let place = try CommandPlace()
        let (alice, bob) = (try place.person("alice"), try place.person("bob"))
        try alice.drop("one", at: alice.library + "/Lake/one.jpg")
        try alice.drop("own", at: alice.library + "/own.jpg")
        try alice.must("sync")
        // Without a title it is called as what is shared.
        let made = try alice.must("share", "create", "library/Lake", "--json").json
        #expect(made["title"]?.text == "Lake")
        try alice.must("share", "invite", "Lake", "bob")
        try bob.must("accept", try #require(made["link"]?.text))
        for person in [alice, bob, alice] { try person.must("sync") }
        let stopping = try alice.must("share", "stop", "Lake", "--dry-run").output
        #expect(stopping.contains("bob"), "who loses access is said before")
        try FileManager.default.moveItem(atPath: alice.container, toPath: place.path + "/away")
        let shown = try alice.run(["show", "library/Lake/one.jpg"])
        #expect(shown.code == 0 && shown.output.contains("Lake") && shown.output.contains("bob"), "\(shown.output)")
        let own = try alice.run(["show", "library/own.jpg"])
        #expect(own.code == 0 && !own.output.contains("bob"), "\(own.output)")
        for (person, role, permission) in [(alice, "owner", "readWrite"), (bob, "participant", "readOnly")] {
            let shares = try person.must("share", "list", "--json").json["shares"]?.array ?? []
            let share = try #require(shares.first?.object)
            #expect(shares.count == 1 && share["title"]?.text == "Lake" && share["owner"]?.text == "alice")
            #expect(share["role"]?.text == role && share["permission"]?.text == permission)
            #expect(share["state"]?.text == "active" && share["photos"]?.integer == 1)
        }
    }

    @Test func `what would be shared is said before, and nothing is made`() throws {
        let place = try CommandPlace()
        let alice = try place.person("alice")
        for name in ["one", "two"] { try alice.drop(name, at: alice.library + "/Lake/\(name).jpg") }
        try alice.drop("own", at: alice.library + "/own.jpg")
        try alice.must("sync")
        let before = FileManager.default.subpaths(atPath: alice.container)
        let wanted = try alice.must("share", "create", "library/Lake", "--title", "Summer", "--dry-run", "--json").json
        #expect(
            wanted["paths"]?.array?.compactMap(\.text) == ["library/Lake/one.jpg", "library/Lake/two.jpg"]
                && wanted["bytes"]?.integer == 6)
        let said = try alice.must("share", "create", "library/Lake", "--public", "readOnly", "--dry-run").output
        #expect(said.contains("'Lake' of 2 files") && said.contains("whoever has the link"), "\(said)")
        #expect(try alice.run(["share", "create", "library/nothing", "--dry-run"]).code == 10)
        #expect(FileManager.default.subpaths(atPath: alice.container) == before)
        #expect(try alice.must("share", "list", "--json").json["shares"]?.array?.isEmpty == true)
        try alice.must("share", "create", "library/Lake", "--title", "Summer")
        let refused = try alice.run(["share", "create", "library/Lake/one.jpg", "--dry-run"])
        #expect(refused.code == 1 && refused.errors.contains("Summer"), "\(refused.errors)")
    }

    @Test func `a second account of one name is told of the first`() throws {
        let place = try CommandPlace()
        let alice = try place.person("alice")
        let first = try #require(try alice.must("account", "show", "--json").json["fingerprint"]?.text)
        for name in ["state", "config.json", "library", "shared"] {
            try FileManager.default.removeItem(atPath: alice.home + "/" + name)
        }
        let again = try alice.initialize()
        #expect(again.code == 0 && again.output.contains(first) && again.output.contains("--join"), "\(again.output)")
    }

    @Test func `what is wrong with the container is told apart`() throws {
        let place = try CommandPlace()
        let alice = try place.person("alice")
        func container() throws -> String? {
            _ = try alice.run(["sync"])
            return try alice.status()["container"]?.text
        }
        #expect(try alice.status()["container"]?.text == "available" || alice.status()["container"]?.text == "unknown")
        #expect(try container() == "available")
        let file = alice.container + "/container.json"
        let whole = try #require(alice.text(file))
        func put(_ text: String) throws {
            try FileManager.default.removeItem(atPath: file)
            try Data(text.utf8).write(to: URL(fileURLWithPath: file))
        }
        try put("{")
        #expect(try container() == "damaged")
        try put(whole.replacing("shoebox.container/1", with: "shoebox.container/9"))
        #expect(try container() == "newerFormat")
        try put(whole)
        #expect(try container() == "available")
        try FileManager.default.moveItem(atPath: alice.container, toPath: place.path + "/away")
        #expect(try container() == "absent")
        let other = CommandPerson(name: "other", place: place)
        #expect(try other.initialize().code == 0, "another container in its place")
        #expect(try container() == "other")
    }
}
