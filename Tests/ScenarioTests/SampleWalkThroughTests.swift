import Foundation
import ShoeboxModel
import Testing

/// What the two well-known sharing samples have their readers do by hand on two devices, as commands and files of two
/// accounts whose daemons run on one container.
@Suite(.serialized)
struct SampleWalkThroughTests {
    private func daemons(_ place: CommandPlace) throws -> (CommandPerson, CommandPerson) {
        let people = (try place.person("alice"), try place.person("bob"))
        _ = try people.0.startDaemon()
        _ = try people.1.startDaemon()
        return people
    }

    private func has(_ person: CommandPerson, _ path: String, tag: String) -> Bool {
        person.text(path + ".json")?.contains("\"\(tag)\"") == true
    }

    @Test func `photos and tags: share, accept, add another, tag, rate, manage, leave`() throws {
        let place = try CommandPlace()
        let (alice, bob) = try daemons(place)
        // A adds photos and tags one.
        try alice.drop("one", at: alice.library + "/one.jpg")
        try alice.drop("two", at: alice.library + "/two.jpg")
        try alice.drop("own", at: alice.library + "/own.jpg")
        try alice.wait("the photos are known") {
            try alice.run(["list", "--json"]).json["entries"]?.array?.count == 3
        }
        try alice.must("tag", "add", "library/one.jpg", "lake")
        try alice.must("tag", "add", "library/own.jpg", "lake", "secret")
        // A makes a share of one photo and copies the link; nobody but those invited can use it.
        let made = try alice.must("share", "create", "library/one.jpg", "--title", "A cool photo", "--json").json
        let link = try #require(made["link"]?.text)
        let early = try bob.run(["accept", link])
        #expect(early.code == 12 && early.errors.contains("hint: "), "\(early.errors)")
        try alice.must("share", "invite", "A cool photo", "bob", "--permission", "readWrite")
        // B accepts: the photo is there with its tag, and nothing else that has the tag.
        try bob.must("accept", link)
        let copy = bob.shared + "/alice/A cool photo/one.jpg"
        try bob.wait("the photo is there with its tag") { bob.text(copy) == "one" && has(bob, copy, tag: "lake") }
        let tags = try bob.must("tag", "list", "--json").json["tags"]?.array ?? []
        #expect(tags.compactMap { $0.object?["title"]?.text } == ["lake"])
        // A adds a second photo to the existing share.
        try alice.must("share", "add", "A cool photo", "library/two.jpg")
        let second = bob.shared + "/alice/A cool photo/two.jpg"
        try bob.wait("the second photo is there") { bob.text(second) == "two" }
        // B tags and rates, A sees it; A's own photo is none of it.
        try bob.must("tag", "add", second, "swim")
        try bob.must("rate", second, "5")
        try alice.wait("tag and rating are there") {
            let shown = try alice.run(["show", "library/two.jpg", "--json"]).json
            return has(alice, alice.library + "/two.jpg", tag: "swim")
                && shown["ratings"]?.array?.first?.object?["value"]?.integer == 5
        }
        #expect(bob.text(bob.shared + "/alice/A cool photo/own.jpg") == nil)
        // Both see who takes part; only the owner manages.
        #expect(try alice.must("share", "show", "A cool photo").output.contains("bob"))
        #expect(try bob.must("share", "show", "A cool photo").output.contains("alice"))
        #expect(try bob.run(["share", "uninvite", "A cool photo", "alice"]).code == 12)
        // "Remove me": the photos go from B's folder, and stay A's.
        try bob.must("share", "leave", "A cool photo", "--yes")
        try bob.wait("the photos are gone") { bob.text(copy) == nil && bob.text(second) == nil }
        try alice.must("sync")
        #expect(alice.text(alice.library + "/one.jpg") == "one" && alice.text(alice.library + "/two.jpg") == "two")
        // B comes back by the same link.
        try bob.must("accept", link)
        try bob.wait("the photos are back") { bob.text(copy) == "one" && has(bob, second, tag: "swim") }
        // A stops sharing: B loses access, A keeps everything.
        try alice.must("share", "stop", "A cool photo", "--yes")
        try bob.wait("the share has ended") { bob.text(copy) == nil }
        #expect(has(alice, alice.library + "/one.jpg", tag: "lake"))
        #expect(try alice.must("list", "--json").json["entries"]?.array?.count == 3)
        try alice.wait("in sync") { try alice.status()["state"]?.text == "inSync" }
    }

    /// Topics are folders here, and notes text files in them; record types of a schema of one's own come later.
    @Test func `topics and notes: share a topic, edit and add notes on both sides, change rights, stop`() throws {
        let place = try CommandPlace()
        let (alice, bob) = try daemons(place)
        let topic = alice.library + "/Garden"
        try alice.drop("water daily", at: topic + "/roses.txt")
        try alice.drop("private", at: alice.library + "/Diary/today.txt")
        try alice.wait("the notes are known") {
            try alice.run(["list", "--json"]).json["entries"]?.array?.count == 4
        }
        let made = try alice.must("share", "create", "library/Garden", "--title", "Garden", "--json").json
        try alice.must("share", "invite", "Garden", "bob")
        try bob.must("accept", try #require(made["link"]?.text))
        let shared = bob.shared + "/alice/Garden"
        try bob.wait("the note is there") { bob.text(shared + "/roses.txt") == "water daily" }
        #expect(bob.text(bob.shared + "/alice/Diary/today.txt") == nil)
        // Reading only at first: a note of B's stays B's own, and says so.
        try bob.drop("by bob", at: shared + "/tulips.txt")
        try bob.wait("it is named") {
            try bob.status()["problems"]?.array?.contains { $0.object?["code"]?.text == "readOnly" } == true
        }
        #expect(alice.text(topic + "/tulips.txt") == nil)
        // A lets B write: notes travel both ways.
        try alice.must("share", "permission", "Garden", "bob", "readWrite")
        try bob.wait("B may write") {
            try bob.run(["share", "show", "Garden", "--json"]).json["permission"]?.text == "readWrite"
        }
        try bob.drop("plant in autumn", at: shared + "/bulbs.txt")
        try alice.wait("B's note is there") { alice.text(topic + "/bulbs.txt") == "plant in autumn" }
        try alice.drop("plant in October", at: topic + "/bulbs.txt")
        try bob.wait("A's edit is there") { bob.text(shared + "/bulbs.txt") == "plant in October" }
        try bob.drop("water twice a day", at: shared + "/roses.txt")
        try alice.wait("B's edit is there") { alice.text(topic + "/roses.txt") == "water twice a day" }
        // Deleting a topic's note deletes it for both; the trash keeps it.
        try FileManager.default.removeItem(atPath: topic + "/bulbs.txt")
        try bob.wait("the note is gone") { bob.text(shared + "/bulbs.txt") == nil }
        #expect(try bob.must("trash", "list").output.contains("bulbs.txt"))
        // B is taken out, and the topic disappears there; A's notes stay.
        try alice.must("share", "uninvite", "Garden", "bob")
        try bob.wait("the topic is gone") { bob.text(shared + "/roses.txt") == nil }
        try bob.wait("and B is told") {
            try bob.status()["problems"]?.array?.contains { $0.object?["code"]?.text == "ended" } == true
        }
        #expect(alice.text(topic + "/roses.txt") == "water twice a day")
        try alice.must("share", "stop", "Garden", "--yes")
        #expect(alice.text(topic + "/roses.txt") == "water twice a day")
    }
}
