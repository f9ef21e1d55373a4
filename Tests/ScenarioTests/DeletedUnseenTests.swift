import ShoeboxLibrary
import ShoeboxModel
import ShoeboxPlanning
import ShoeboxStore
import ShoeboxTestSupport
import Testing

@testable import Shoebox

/// Who deletes a photo deletes what they were shown of it, and nothing that came after the file was gone.
@Suite struct DeletedUnseenTests {
    @Test(arguments: ["caption", "sidecar"], [false, true])
    func `words that come while a photo is being deleted keep it, as whoever deleted it has never seen them`(
        how: String, isOwner: Bool
    ) throws {
        let party = try Party(bob: "readWrite")
        let (alice, bob) = (party.alice, party.bob)
        let deleter = isOwner ? alice : bob
        let writer = isOwner ? bob : alice
        let place = isOwner ? bob.path("alice/Summer/a.jpg", .shared) : alice.path("Summer/a.jpg")
        // The deletion waits: in others' shares for half a minute, in one's own for a moment.
        if isOwner {
            try alice.machine.library.delete("Summer/a.jpg")
        } else {
            try bob.machine.shared.delete("alice/Summer/a.jpg")
        }
        if how == "caption" {
            try #require(writer.request(.caption(path: place, text: "not to be lost")).code == 0)
        } else {
            let disk = isOwner ? bob.machine.shared : alice.machine.library
            try disk.write(
                isOwner ? "alice/Summer/a.jpg.json" : "Summer/a.jpg.json",
                "{\"format\": \"shoebox.sidecar/1\", \"caption\": \"not to be lost\"}")
        }
        try party.rounds(of: writer, 4)
        _ = try deleter.engine.round(.all)
        try #require(try party.village.settleDeletions())
        party.expectShown()
        #expect(alice.sidecar("Summer/a.jpg", .library)?.fields.caption == "not to be lost")
        #expect(party.carol.sidecar("alice/Summer/a.jpg", .shared)?.fields.caption == "not to be lost")
        #expect(bob.tree(.shared)["alice/Summer/a.jpg"] == "aaa")
    }

    @Test func `a photo that comes back to its place with words that it got meanwhile can be deleted`() throws {
        let party = try Party(bob: "readWrite")
        let (alice, bob) = (party.alice, party.bob)
        let disk = bob.machine.shared
        try disk.delete("alice/Summer/a.jpg")
        try party.rounds(of: bob, 1)
        try #require(alice.request(.caption(path: alice.path("Summer/a.jpg"), text: "words")).code == 0)
        try party.rounds(of: alice, 4)
        try party.rounds(of: bob, 4)
        try bob.restart()
        try disk.write("alice/Summer/a.jpg", "aaa")
        try #require(try party.village.settle())
        #expect(bob.sidecar("alice/Summer/a.jpg", .shared)?.fields.caption == "words")
        try disk.delete("alice/Summer/a.jpg")
        try #require(try party.village.settleDeletions())
        party.expectShown(["deep/b.jpg": "bbb"])
    }
}
