import Foundation
import ShoeboxModel
import ShoeboxStore
import ShoeboxTestSupport
import ShoeboxWorld
import Testing

@testable import Shoebox

/// What two people wrote at once is listed with both values, who wrote them and when; one is chosen, and none is lost.
struct ConflictTests {
    private func conflicts(_ result: CommandResult, of field: String) -> [JSONObject] {
        let all = result.json["conflicts"]?.array?.compactMap(\.object) ?? []
        return all.filter { $0["field"]?.text == field }
    }

    /// Alice and Bob, who wrote another caption and another content each while the cloud folder was away.
    private struct Apart {
        let place: CommandPlace
        let alice: CommandPerson
        let bob: CommandPerson
        let began = Date()

        init() throws {
            place = try CommandPlace()
            (alice, bob) = (try place.person("alice"), try place.person("bob"))
            for name in ["words", "bytes"] { try alice.drop(name, at: "\(alice.library)/Lake/\(name).jpg") }
            try alice.must("share", "create", "library/Lake", "--title", "Summer")
            try alice.must("share", "invite", "Summer", "bob", "--permission", "readWrite")
            try bob.must("accept", "--all-pending")
            for person in [alice, bob, alice] { try person.must("sync") }
            let away = place.path + "/away"
            try FileManager.default.moveItem(atPath: place.path + "/cloud", toPath: away)
            for person in [alice, bob] {
                let folder = person.name == "alice" ? alice.library + "/Lake" : bob.shared + "/alice/Summer"
                #expect(try person.run(["caption", folder + "/words.jpg", "by \(person.name)"]).code == 0)
                try person.drop("bytes of \(person.name)", at: folder + "/bytes.jpg")
                #expect(try person.run(["sync"]).code == 13)
            }
            try FileManager.default.moveItem(atPath: away, toPath: place.path + "/cloud")
            try meet()
        }

        func meet() throws { for person in [alice, bob, alice, bob] { try person.must("sync") } }

        /// What a person's folder of the share has, but for what is our own.
        func tree(_ person: CommandPerson) throws -> [String: String] {
            let folder = person.name == "alice" ? alice.library + "/Lake" : bob.shared + "/alice/Summer"
            let names = try FileManager.default.contentsOfDirectory(atPath: folder).filter { $0.hasSuffix(".jpg") }
            return Dictionary(uniqueKeysWithValues: names.map { ($0, person.text(folder + "/" + $0) ?? "") })
        }
    }

    @Test func `both values are listed and shown, with who wrote them and when`() throws {
        let apart = try Apart()
        for person in [apart.alice, apart.bob] {
            let folder = person.name == "alice" ? "library/Lake" : "shared/alice/Summer"
            let list = try person.must("conflicts", "--json")
            let text = try person.must("conflicts").output
            for (field, name) in [("caption", "words.jpg"), ("content", "bytes.jpg")] {
                let found = conflicts(list, of: field)
                try #require(found.count == 1, "\(person.name) \(field): \(list.output)")
                let conflict = found[0]
                #expect(conflict["path"]?.text == "\(folder)/\(name)")
                #expect(conflict["number"]?.integer == 1)
                let authors = [conflict["shownAuthor"]?.text, conflict["author"]?.text]
                #expect(Set(authors) == ["alice", "bob"], "\(conflict)")
                let values = [conflict["shown"]?.text ?? "", conflict["other"]?.text ?? ""]
                if field == "caption" {
                    #expect(values == authors.map { "by \($0 ?? "")" }, "\(conflict)")
                } else {
                    let sizes = authors.map { "\("bytes of \($0 ?? "")".utf8.count) bytes, SHA-256 " }
                    for (value, size) in zip(values, sizes) { #expect(value.hasPrefix(size), "\(conflict)") }
                    #expect(values[0] != values[1])
                }
                for key in ["shownTime", "time"] {
                    let time = try #require(conflict[key]?.text)
                    let format = Date.ISO8601FormatStyle(includingFractionalSeconds: true)
                    let date = try Date(time, strategy: format)
                    #expect(date > apart.began.addingTimeInterval(-1) && date <= Date(), "\(key) \(time)")
                }
                let line = text.split(separator: "\n").first { $0.hasPrefix("\(folder)/\(name): \(field) is '") }
                let shown = try person.must("show", "\(folder)/\(name)").output
                try #require(line != nil, "\(text)")
                #expect(shown.contains(line ?? "?"), "\(shown)")
                for (value, author) in zip(values, authors.map { $0 ?? "?" }) {
                    #expect(line?.contains("'\(value)'") == true && line?.contains(author) == true, "\(text)")
                }
                let json = try person.must("show", "\(folder)/\(name)", "--json")
                #expect(conflicts(json, of: field) == [conflict], "\(json.output)")
            }
            #expect(text.contains("; that lies beside it, as '\(folder)/bytes (conflict "), "\(text)")
            #expect(try apart.tree(person).count == 3)
        }
        #expect(try apart.tree(apart.alice) == apart.tree(apart.bob))
    }

    @Test func `the other content, chosen by a command, is on every device, and the one that showed stays in the past`()
        throws
    {
        let apart = try Apart()
        let (alice, bob) = (apart.alice, apart.bob)
        let before = try apart.tree(alice)
        let shown = try #require(before["bytes.jpg"])
        let other = shown == "bytes of alice" ? "bytes of bob" : "bytes of alice"
        let wrong = try alice.run(["conflicts", "choose", "library/Lake/bytes.jpg", "content", "--keep", "2"])
        #expect(wrong.code == 10 && wrong.errors.contains("the other values are 1 to 1"), "\(wrong.errors)")
        let told = try alice.must("conflicts", "choose", "library/Lake/bytes.jpg", "content", "--keep", "1")
        #expect(told.output.contains("it is, for everybody"), "\(told.output)")
        try apart.meet()
        for person in [alice, bob] {
            let tree = try apart.tree(person)
            #expect(tree["bytes.jpg"] == other, "\(person.name): \(tree)")
            #expect(tree["words.jpg"] == "words")
            let left = try person.must("conflicts", "--json")
            #expect(conflicts(left, of: "content").isEmpty && conflicts(left, of: "modified").isEmpty, "\(left.output)")
            #expect(conflicts(left, of: "caption").count == 1)
            let path = person.name == "alice" ? "library/Lake/bytes.jpg" : "shared/alice/Summer/bytes.jpg"
            let versions =
                try person.must("restore", path, "--list", "--json").json["versions"]?.array?.compactMap(\.object) ?? []
            #expect(versions.count == 3, "\(versions)")
        }
        // Nothing of either is lost: what showed can be had back.
        let versions = try alice.must("restore", "library/Lake/bytes.jpg", "--list", "--json").json["versions"]?.array
        let lost = versions?.compactMap(\.object).first { $0["size"]?.integer == Int64(shown.utf8.count) }
        #expect(lost?["isShown"]?.bool == false && lost?["isPublished"]?.bool == true, "\(versions ?? [])")
        let number = String(try #require(lost?["number"]?.integer))
        try alice.must("restore", "library/Lake/bytes.jpg", "--version", number)
        try apart.meet()
        for person in [alice, bob] { #expect(try apart.tree(person)["bytes.jpg"] == shown) }
    }

    @Test func `lists and the history tell the time of each writer's clock`() throws {
        let party = try Party(bob: "readWrite")
        let clock = party.village.world.clock
        let from = try party.alice.store.read { db in try db.history(after: 0, limit: .max).last?.token ?? 0 }
        // Bob's clock is right, and he writes a minute after Alice.
        let alices = party.alice.machine.world.nowMilliseconds()
        #expect(party.alice.request(.caption(path: party.alice.path("Summer/a.jpg"), text: "alice's")).code == 0)
        clock.advance(milliseconds: 60_000)
        let bobs = party.bob.machine.world.nowMilliseconds()
        let path = party.bob.path("alice/Summer/a.jpg", .shared)
        #expect(party.bob.request(.caption(path: path, text: "bob's")).code == 0)
        try #require(try party.village.settle())
        for replica in party.village.replicas {
            let listing = TreeListing(of: replica.engine)
            let found = try listing.conflicts()
            try #require(found.count == 1, "\(replica.label): \(found)")
            let conflict = found[0]
            let ours = [conflict.shown: conflict.shownAuthor, conflict.other: conflict.author]
            #expect(ours == ["alice's": "alice", "bob's": "bob"], "\(conflict)")
            let times = [
                conflict.shownAuthor: conflict.shownTimeMilliseconds, conflict.author: conflict.timeMilliseconds,
            ]
            #expect(times == ["alice": alices, "bob": bobs], "\(conflict)")
            #expect(conflict.json["time"] == StatusText.json(time: times[conflict.author] ?? 0))
        }
        // The history says it, too, and when it came here.
        let arrived = party.alice.machine.world.nowMilliseconds()
        let history = try TreeListing(of: party.alice.engine).history(after: from).entries
        let items = history.flatMap { entry in entry.items.map { (entry, $0) } }.filter { pair in
            pair.1.fields.contains { $0.key == "caption" }
        }
        #expect(items.map(\.1.account) == ["alice", "bob"], "\(items)")
        #expect(items.map(\.1.writtenMilliseconds) == [alices, bobs], "\(items)")
        #expect(items.map { $0.1.fields.first { $0.key == "caption" }?.value } == ["alice's", "bob's"])
        try #require(items.count == 2)
        #expect(items[0].0.timeMilliseconds == alices && items[0].0.author == "cli")
        #expect((bobs...arrived).contains(items[1].0.timeMilliseconds) && items[1].0.author.hasPrefix("fetch:"))
        let written = items[1].0.json["changes"]?.array?.first?.object?["written"]
        #expect(written == .string(StatusText.rfc3339(bobs)), "\(items[1].0.json)")
    }
}
