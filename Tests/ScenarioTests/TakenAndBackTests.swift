import ShoeboxLibrary
import ShoeboxModel
import ShoeboxPlanning
import ShoeboxStore
import ShoeboxTestSupport
import ShoeboxWorld
import Testing

@testable import Shoebox

/// A photo that somebody takes out of a share, while others say something of it there.
@Suite struct TakenAndBackTests {
    /// What Bob writes in his library, if anything, while Alice writes in the share.
    @Test(arguments: [1, 6], [nil, "Lake"])
    func `who takes a photo to the library and back takes back nothing that others said meanwhile`(
        rounds: Int, written: String?
    ) throws {
        let party = try Party(bob: "readWrite")
        let (alice, bob, village) = (party.alice, party.bob, party.village)
        let photo = alice.path("Summer/deep/b.jpg")
        try #require(alice.request(.caption(path: photo, text: "before")).code == 0)
        try #require(alice.request(.tag(path: photo, titles: ["off", "both"], isMember: true)).code == 0)
        try #require(try village.settle())
        let (shared, own) = (bob.machine.shared, bob.machine.library)
        let moved = ["b.jpg", "b.jpg.json"].map { (share: "alice/Summer/deep/" + $0, library: "Taken/" + $0) }
        for (place, away) in moved { try shared.move(place, to: away, on: own) }
        try party.rounds(of: bob, rounds)
        try #require(bob.tree(.library)["Taken/b.jpg"] == "bbb")
        try #require(alice.request(.caption(path: photo, text: "after")).code == 0)
        try #require(alice.request(.tag(path: photo, titles: ["off"], isMember: false)).code == 0)
        try #require(alice.request(.tag(path: photo, titles: ["on"], isMember: true)).code == 0)
        if let written {
            let taken = bob.path("Taken/b.jpg")
            try #require(bob.request(.tag(path: taken, titles: ["both"], isMember: false)).code == 0)
            try #require(bob.request(.tag(path: taken, titles: [written], isMember: true)).code == 0)
        }
        for _ in 0..<6 {
            for replica in [alice, bob] { try replica.round() }
            village.world.clock.advance(milliseconds: 700)
        }
        for (place, away) in moved { try own.move(away, to: place, on: shared) }
        try party.rounds(of: bob, 6)
        try #require(try village.settleDeletions())
        for (replica, folder, root) in [(alice, "", RootKind.library), (bob, "alice/", .shared)] {
            #expect(replica.tree(root)[folder + "Summer/deep/b.jpg"] == "bbb", "\(replica.tree(root))")
            let fields = replica.sidecar(folder + "Summer/deep/b.jpg", root)?.fields
            #expect(fields?.caption == "after", "\(replica.label)")
            let tags = written.map { ["on", $0] } ?? ["on", "both"]
            #expect(Set(fields?.tags ?? []) == Set(tags), "\(replica.label): \(fields?.tags ?? [])")
        }
        #expect(bob.tree(.library).isEmpty, "\(bob.tree(.library))")
    }

    /// What is said just before the photo leaves, by a command, is not in the sidecar that goes along; what is taken back in the
    /// library is.
    @Test(arguments: [false, true])
    func `what was said just before a photo left counts as known there, and what is cleared there is cleared`(
        isCleared: Bool
    ) throws {
        let party = try Party(bob: "readWrite")
        let (alice, bob, village) = (party.alice, party.bob, party.village)
        let place = "alice/Summer/deep/b.jpg"
        let photo = bob.path(place, .shared)
        try #require(bob.request(.caption(path: photo, text: "old")).code == 0)
        try #require(bob.request(.rate(path: photo, value: 4)).code == 0)
        try #require(try village.settle())
        let (shared, own) = (bob.machine.shared, bob.machine.library)
        bob.machine.faults.setRule { operation in
            operation.path.hasSuffix(".json") && operation.part != "mount" ? .fail(.inputOutput) : nil
        }
        try #require(bob.request(.caption(path: photo, text: "new")).code == 0)
        try #require(bob.request(.tag(path: photo, titles: ["off"], isMember: true)).code == 0)
        bob.machine.faults.setRule(nil)
        for suffix in ["", ".json"] { try shared.move(place + suffix, to: "Taken/b.jpg" + suffix, on: own) }
        func pass() throws {
            for _ in 0..<4 {
                for replica in [bob, alice] { try replica.round() }
                village.world.clock.advance(milliseconds: 700)
            }
        }
        try pass()
        if isCleared {
            try #require(bob.request(.caption(path: bob.path("Taken/b.jpg"), text: "")).code == 0)
            try #require(bob.request(.rate(path: bob.path("Taken/b.jpg"), value: 0)).code == 0)
        } else {
            let there = alice.path("Summer/deep/b.jpg")
            try #require(alice.request(.caption(path: there, text: "after")).code == 0)
            try #require(alice.request(.tag(path: there, titles: ["off"], isMember: false)).code == 0)
        }
        try pass()
        for suffix in ["", ".json"] { try own.move("Taken/b.jpg" + suffix, to: place + suffix, on: shared) }
        try #require(try village.settleDeletions())
        for (replica, path, root) in [(alice, "Summer/deep/b.jpg", RootKind.library), (bob, place, .shared)] {
            let fields = replica.sidecar(path, root)?.fields
            #expect(fields?.caption == (isCleared ? nil : "after"), "\(replica.label): \(fields as Any)")
            #expect(fields?.tags ?? [] == (isCleared ? ["off"] : []), "\(replica.label): \(fields as Any)")
            if replica.label == "bob" { #expect(fields?.rating == (isCleared ? nil : 4)) }
        }
    }

    @Test func `a photo that gets words in the library, without those of the share, takes none away there`() throws {
        let party = try Party(bob: "readWrite")
        let (alice, bob, village) = (party.alice, party.bob, party.village)
        let place = "alice/Summer/deep/b.jpg"
        try #require(
            alice.request(.tag(path: alice.path("Summer/deep/b.jpg"), titles: ["Lake"], isMember: true)).code == 0)
        try #require(bob.request(.rate(path: bob.path(place, .shared), value: 4)).code == 0)
        try #require(try village.settle())
        let (shared, own) = (bob.machine.shared, bob.machine.library)
        try shared.move(place, to: "Taken/b.jpg", on: own)
        try party.rounds(of: bob, 6)
        try #require(bob.request(.caption(path: bob.path("Taken/b.jpg"), text: "by bob")).code == 0)
        try party.rounds(of: bob, 6)
        for suffix in ["", ".json"] { try own.move("Taken/b.jpg" + suffix, to: place + suffix, on: shared) }
        try #require(try village.settleDeletions())
        for (replica, path, root) in [(alice, "Summer/deep/b.jpg", RootKind.library), (bob, place, .shared)] {
            let fields = replica.sidecar(path, root)?.fields
            #expect(fields?.caption == "by bob" && fields?.tags == ["Lake"], "\(replica.label): \(fields as Any)")
            if replica.label == "bob" { #expect(fields?.rating == 4) }
        }
    }

    /// Carol takes it to a share that Alice and Dan are not in, and Dan edits it where it was.
    @Test(arguments: ["caption", "content"], [false, true])
    func `a photo that is kept in a share by an edit keeps its tags there`(edit: String, isTaggedLate: Bool) throws {
        let (party, dan) = try Party.twoShares()
        let (alice, bob, carol, village) = (party.alice, party.bob, party.carol, party.village)
        try bob.machine.library.write("Bobs/x.jpg", "xxx")
        try #require(try village.settle())
        let made = bob.request(
            .shareCreate(paths: [bob.path("Bobs")], title: "Bobs", publicPermission: "none", isSealed: true))
        try #require(bob.request(.invite(share: "Bobs", accounts: ["carol"], permission: "readWrite")).code == 0)
        try #require(carol.request(.accept(link: made.values["link"] ?? "")).code == 0)
        let place = "alice/Other/o.jpg"
        let photo = dan.path(place, .shared)
        try #require(try village.settle())
        try #require(dan.request(.tag(path: photo, titles: ["Lake", "off"], isMember: true)).code == 0)
        try #require(dan.request(.tag(path: photo, titles: ["off"], isMember: false)).code == 0)
        try #require(dan.request(.rate(path: photo, value: 4)).code == 0)
        try #require(try village.settle())
        if isTaggedLate { try #require(dan.request(.tag(path: photo, titles: ["late"], isMember: true)).code == 0) }
        if edit == "caption" {
            try #require(dan.request(.caption(path: photo, text: "by dan")).code == 0)
        } else {
            try dan.machine.shared.write(place, "by dan", saving: .replacing)
        }
        try party.rounds(of: dan, 4, reachesContainer: false)
        for suffix in ["", ".json"] { try carol.machine.shared.move(place + suffix, to: "bob/Bobs/o.jpg" + suffix) }
        try party.rounds(of: carol, 8)
        try #require(try village.settleDeletions())
        let tags: Set = isTaggedLate ? ["Lake", "late"] : ["Lake"]
        for (replica, path, root) in [(alice, "Other/o.jpg", RootKind.library), (dan, place, .shared)] {
            #expect(replica.tree(root)[path] == (edit == "caption" ? "ooo" : "by dan"), "\(replica.tree(root))")
            let fields = replica.sidecar(path, root)?.fields
            #expect(Set(fields?.tags ?? []) == tags, "\(replica.label): \(String(describing: fields))")
            if replica.label == "dan" { #expect(fields?.rating == 4) }
        }
        // Who is let in later tells nothing anew of what has been taken off there by then.
        let there = carol.path("bob/Bobs/o.jpg", .shared)
        #expect(carol.sidecar("bob/Bobs/o.jpg", .shared)?.fields.tags == ["Lake"])
        try #require(carol.request(.tag(path: there, titles: ["Lake"], isMember: false)).code == 0)
        try #require(bob.request(.invite(share: "Bobs", accounts: ["alice"], permission: "readWrite")).code == 0)
        try #require(alice.request(.accept(link: made.values["link"] ?? "")).code == 0)
        try #require(try village.settle())
        try #require(dan.request(.rate(path: photo, value: 5)).code == 0)
        try #require(try village.settleDeletions())
        let shown = carol.tree(.shared).keys.filter { $0.hasPrefix("bob/Bobs/o") && !$0.hasSuffix(".json") }
        #expect(!shown.isEmpty)
        for path in shown {
            #expect(carol.sidecar(path, .shared)?.fields.tags?.contains("Lake") != true, "\(path)")
        }
    }
}
