import Foundation
import ShoeboxModel
import Testing

/// `shoebox tag` as a person uses it.
@Suite(.serialized)
struct TagCommandTests {
    @Test func `tags are listed, renamed and deleted by command, each where it is meant`() throws {
        let place = try CommandPlace()
        let alice = try place.person("alice")
        try alice.drop("one", at: alice.library + "/Lake/one.jpg")
        try alice.drop("two", at: alice.library + "/two.jpg")
        try alice.must("sync")
        try alice.must("tag", "add", "library/Lake/one.jpg", "swim")
        try alice.must("tag", "add", "library/two.jpg", "Swim", "home")
        try alice.must("share", "create", "library/Lake", "--title", "Summer")
        let listed = try alice.must("tag", "list", "--json").json["tags"]?.array ?? []
        let swim = try #require(listed.first { $0.object?["title"]?.text?.lowercased() == "swim" }?.object)
        #expect(swim["photos"]?.integer == 2)
        #expect(swim["library"]?.bool == true)
        #expect(swim["shares"] == .array([.string("Summer")]))

        let unclear = try alice.run(["tag", "rename", "swim", "bathe"])
        #expect(unclear.code == 10)
        #expect(unclear.errors.contains("your library, 'Summer'") && unclear.errors.contains("--share"))
        try alice.must("tag", "rename", "swim", "bathe", "--library")
        #expect(try alice.run(["tag", "rename", "bathe", "  "]).code == 64)
        #expect(try alice.run(["tag", "add", "library/two.jpg", ""]).code == 64)
        #expect(try alice.run(["tag", "rename", "nothing", "x"]).code == 10)
        #expect(try alice.run(["tag", "rename", "bathe", "x", "--library", "--share", "Summer"]).code == 64)

        let asked = try alice.must("tag", "delete", "swim", "--dry-run")
        #expect(asked.output.contains("1 photos have it") && asked.output.contains("for everybody"))
        try alice.must("tag", "delete", "swim", "--yes")
        let left = try alice.must("tag", "list", "--json").json["tags"]?.array ?? []
        #expect(left.compactMap { $0.object?["title"]?.text } == ["bathe", "home"])
        try alice.must("sync")
        #expect(alice.text(alice.library + "/two.jpg.json")?.contains("\"bathe\"") == true)
        #expect(alice.text(alice.library + "/Lake/one.jpg.json")?.contains("swim") != true)
    }

    /// The same files, with the same inodes: only real directories have those.
    @Test func `what is said of a photo goes along when it is moved with its sidecar to somebody else's share`() throws
    {
        let place = try CommandPlace()
        let (alice, bob) = (try place.person("alice"), try place.person("bob"))
        try bob.drop("b", at: bob.library + "/Best/b.jpg")
        try bob.must("sync")
        try bob.must("share", "create", "library/Best", "--title", "Best")
        try bob.must("share", "invite", "Best", "alice", "--permission", "readWrite")
        try alice.must("accept", "--all-pending")
        try alice.drop("p", at: alice.library + "/Day/p.jpg")
        try alice.must("sync")
        try alice.must("tag", "add", "library/Day/p.jpg", "swim")
        try alice.must("sync")
        #expect(alice.text(alice.library + "/Day/p.jpg.json")?.contains("swim") == true)
        for _ in 0..<2 {
            let (library, shared) = (alice.library + "/Day", alice.shared + "/bob/Best/Day")
            let isThere = FileManager.default.fileExists(atPath: shared)
            try FileManager.default.moveItem(
                atPath: isThere ? shared : library, toPath: isThere ? library : shared)
            try alice.wait("the photo is there with what is said of it") {
                try alice.must("sync")
                let found = alice.text((isThere ? library : shared) + "/p.jpg.json")
                return found?.contains("swim") == true
            }
            try bob.wait("it is so at the owner's") {
                for person in [alice, bob] { try person.must("sync") }
                let bobs = bob.text(bob.library + "/Best/Day/p.jpg.json")
                return isThere ? bobs == nil : bobs?.contains("swim") == true
            }
        }
    }

    /// As an editor saves, by renaming over, and a script that moves photo and sidecar at once.
    @Test func `a caption goes along with a photo that is saved and moved with its sidecar in one moment`() throws {
        let place = try CommandPlace()
        let alice = try place.person("alice")
        try alice.drop("before", at: alice.library + "/Day/a.jpg")
        try alice.must("sync")
        try alice.must("caption", "library/Day/a.jpg", "at the lake")
        try alice.must("sync")
        let day = alice.library + "/Day"
        try alice.drop("saved", at: day + "/a.new")
        try FileManager.default.removeItem(atPath: day + "/a.jpg")
        try FileManager.default.moveItem(atPath: day + "/a.new", toPath: day + "/b.jpg")
        try FileManager.default.moveItem(atPath: day + "/a.jpg.json", toPath: day + "/b.jpg.json")
        try alice.wait("the photo is taken") {
            try alice.must("sync")
            return alice.text(day + "/b.jpg.json")?.contains("\"rev\"") == true
        }
        try alice.must("sync")
        #expect(alice.text(day + "/b.jpg") == "saved")
        #expect(alice.text(day + "/b.jpg.json")?.contains("at the lake") == true)
        #expect(alice.text(day + "/a.jpg") == nil && alice.text(day + "/a.jpg.json") == nil)
    }
}
