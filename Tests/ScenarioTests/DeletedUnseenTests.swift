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

    @Test(arguments: ["folder", "photo"], [false, true])
    func `so do words that come while something else stands in the photo's place`(what: String, isOwner: Bool) throws {
        let party = try Party(bob: "readWrite")
        let (alice, bob) = (party.alice, party.bob)
        let (deleter, writer) = isOwner ? (alice, bob) : (bob, alice)
        let disk = isOwner ? alice.machine.library : bob.machine.shared
        let folder = isOwner ? "Summer/" : "alice/Summer/"
        let place = isOwner ? bob.path("alice/Summer/a.jpg", .shared) : alice.path("Summer/a.jpg")
        try disk.delete(folder + "a.jpg")
        if what == "folder" {
            try disk.write(folder + "a.jpg/inner.jpg", "inner")
        } else {
            try disk.move(folder + "deep/b.jpg", to: folder + "a.jpg")
        }
        try #require(writer.request(.caption(path: place, text: "not to be lost")).code == 0)
        try party.rounds(of: writer, 4)
        _ = try deleter.engine.round(.all)
        try #require(try party.village.settleDeletions())
        let shown = alice.tree(.library)
        #expect(shown.keys.contains { alice.sidecar($0, .library)?.fields.caption == "not to be lost" }, "\(shown)")
        #expect(shown.values.contains(what == "folder" ? "inner" : "bbb"), "\(shown)")
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

    /// Two people dropped the same photo, which shows as one; what one of them did to theirs before they knew comes while the
    /// other deletes it, or saves something else in its place.
    @Test(arguments: ["caption", "content"], [("delete", true), ("delete", false), ("edit", true), ("edit", false)])
    func `what was made of one of two equal photos before they met stays when the other is deleted or changed`(
        news: String, act: (deed: String, bobIsFirst: Bool)
    ) throws {
        let party = try twins(bobIsFirst: act.bobIsFirst)
        let (alice, bob) = (party.alice, party.bob)
        // Alice's device knows of both; Bob's of his.
        if news == "caption" {
            try #require(
                bob.request(.caption(path: bob.path("alice/Summer/t.jpg", .shared), text: "not to be lost")).code == 0)
        } else {
            try bob.machine.shared.write("alice/Summer/t.jpg", "Bob's", saving: .replacing)
        }
        try party.rounds(of: bob, 4, reachesContainer: false)
        if act.deed == "delete" {
            try alice.machine.library.delete("Summer/t.jpg")
        } else {
            try alice.machine.library.write("Summer/t.jpg", "Alice's", saving: .replacing)
        }
        try party.rounds(of: bob, 2)
        try #require(try party.village.settleDeletions())
        for (replica, root) in [(alice, RootKind.library), (bob, .shared), (party.carol, .shared)] {
            let folder = root == .library ? "Summer/" : "alice/Summer/"
            let photos = replica.tree(root).filter { $0.key.hasPrefix(folder + "t") }
            var wanted: Set<String> = act.deed == "edit" ? ["Alice's"] : []
            if news == "content" { wanted.insert("Bob's") }
            #expect(wanted.isSubset(of: photos.values), "\(replica.label): \(photos)")
            guard news == "caption" else { continue }
            let captions = photos.keys.map { replica.sidecar($0, root)?.fields.caption }
            #expect(captions.contains("not to be lost"), "\(replica.label): \(photos)")
        }
    }

    @Test(arguments: [false, true])
    func `two equal photos that were shown as one, with what was said of either, are deleted as one`(bobIsFirst: Bool)
        throws
    {
        let party = try twins(bobIsFirst: bobIsFirst)
        let (alice, bob) = (party.alice, party.bob)
        try #require(bob.request(.caption(path: bob.path("alice/Summer/t.jpg", .shared), text: "seen")).code == 0)
        try #require(try party.village.settle())
        #expect(alice.sidecar("Summer/t.jpg", .library)?.fields.caption == "seen")
        try alice.machine.library.delete("Summer/t.jpg")
        try #require(try party.village.settleDeletions())
        party.expectShown()
        #expect(bob.tree(.shared)["alice/Summer/t.jpg"] == nil)
    }

    @Test(arguments: ["caption", "content", nil], [false, true])
    func `two equal photos that are saved and taken out of a share in one look tell it nothing, and nothing is lost`(
        news: String?, bobIsFirst: Bool
    ) throws {
        let party = try twins(bobIsFirst: bobIsFirst)
        let (alice, bob) = (party.alice, party.bob)
        if news == "caption" {
            try #require(
                bob.request(.caption(path: bob.path("alice/Summer/t.jpg", .shared), text: "not to be lost")).code == 0)
        } else if news == "content" {
            try bob.machine.shared.write("alice/Summer/t.jpg", "Bob's", saving: .replacing)
        }
        try party.rounds(of: bob, 4, reachesContainer: false)
        try party.rounds(of: bob, 1)
        let disk = alice.machine.library
        try disk.move("Summer/t.jpg", to: "Private/secret.jpg")
        try disk.write("Private/secret.jpg", "a secret, later", saving: .inPlace)
        // What is news of Bob's comes before the file is judged.
        try party.rounds(of: alice, 6)
        try #require(try party.village.settleDeletions())
        let shown = alice.tree(.library)
        #expect(shown["Private/secret.jpg"] == "a secret, later", "\(shown)")
        if news == "content" { #expect(shown.values.contains("Bob's"), "\(shown)") }
        if news == "caption" {
            #expect(shown.keys.contains { alice.sidecar($0, .library)?.fields.caption == "not to be lost" }, "\(shown)")
        }
        for stored in try bob.store.read({ db in try db.history(after: 0, limit: .max) }) {
            guard case .set(let fields) = stored.change.action else { continue }
            #expect(fields[.name]?.fileName != FileName("secret.jpg") && fields[.content]?.asset?.size != 15)
        }
    }

    @Test(arguments: [false, true])
    func `two equal photos that somebody renames as one stay one while somebody else saves another content`(
        bobIsFirst: Bool
    ) throws {
        let party = try twins(bobIsFirst: bobIsFirst)
        let (alice, bob) = (party.alice, party.bob)
        try #require(try party.village.settle())
        try bob.machine.shared.move("alice/Summer/t.jpg", to: "alice/Summer/u.jpg")
        try party.rounds(of: bob, 4)
        try alice.machine.library.write("Summer/t.jpg", "Alice's", saving: .replacing)
        try #require(try party.village.settleDeletions())
        party.expectShown(["u.jpg": "Alice's"].merging(Party.content) { $1 })
    }

    /// Alice and Bob dropped the same photo at the same place: her device knows of both, his of his.
    private func twins(bobIsFirst: Bool) throws -> Party {
        let party = try Party(bob: "readWrite")
        let (alice, bob) = (party.alice, party.bob)
        for replica in bobIsFirst ? [bob, alice] : [alice, bob] {
            if replica.label == alice.label {
                try alice.machine.library.write("Summer/t.jpg", "ttt")
            } else {
                try bob.machine.shared.write("alice/Summer/t.jpg", "ttt")
            }
            // Nobody knows of the other's yet.
            try party.rounds(of: replica, 4, reachesContainer: false)
        }
        try party.rounds(of: bob, 1)
        try party.rounds(of: alice, 4)
        #expect(alice.tree(.library)["Summer/t.jpg"] == "ttt")
        return party
    }
}
