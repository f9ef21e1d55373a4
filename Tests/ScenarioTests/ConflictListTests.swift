import ShoeboxLibrary
import ShoeboxModel
import ShoeboxPlanning
import ShoeboxStore
import ShoeboxTestSupport
import Testing

@testable import Shoebox

/// What is listed as undecided can be decided.
@Suite struct ConflictListTests {
    private func conflicts(_ replica: Replica) throws -> [ConflictDescription] {
        try TreeListing(of: replica.engine).conflicts()
    }

    private func does(_ replica: Replica, _ request: Request, _ location: SourceLocation = #_sourceLocation) {
        let reply = replica.request(request)
        #expect(reply.code == 0, "\(reply)", sourceLocation: location)
    }

    /// What Alice and Bob do without having heard of each other, Alice first.
    private func apart(_ party: Party, alice act: () throws -> Void, bob other: () throws -> Void) throws {
        party.bob.machine.mount.unmount()
        try act()
        try party.rounds(of: party.alice, 6)
        party.village.world.clock.advance(milliseconds: 1_000)
        try other()
        try party.rounds(of: party.bob, 6, reachesContainer: false)
        party.bob.machine.mount.mount()
        try #require(try party.village.settleDeletions())
    }

    private func caption(_ party: Party) throws {
        let (alice, bob) = (party.alice, party.bob)
        try apart(party) {
            does(alice, .caption(path: alice.path("Summer/a.jpg"), text: "hers"))
        } bob: {
            does(bob, .caption(path: bob.path("alice/Summer/a.jpg", .shared), text: "his"))
        }
    }

    @Test func `of a share that was left nothing is listed as undecided`() throws {
        let party = try Party(bob: "readWrite")
        try caption(party)
        #expect(try conflicts(party.bob).map(\.other) == ["hers"])
        does(party.bob, .leave(share: "Summer", keepCopy: false))
        try #require(try party.village.settle())
        #expect(try conflicts(party.bob).isEmpty)
        #expect(try conflicts(party.alice).map(\.path) == ["library/Summer/a.jpg"])
        does(party.alice, .stop(share: "Summer"))
        try #require(try party.village.settle())
        #expect(try conflicts(party.carol).isEmpty)
    }

    @Test(arguments: ["his", "hers", "new"])
    func `two names that a tag got at once are listed by its name, and renaming it decides`(name: String) throws {
        let party = try Party(bob: "readWrite")
        let (alice, bob) = (party.alice, party.bob)
        does(alice, .tag(path: alice.path("Summer/a.jpg"), titles: ["old"], isMember: true))
        try #require(try party.village.settle())
        try apart(party) {
            does(alice, .tagRename(title: "old", newTitle: "hers", scope: .any))
        } bob: {
            does(bob, .tagRename(title: "old", newTitle: "his", scope: .any))
        }
        let listed = try conflicts(alice)
        #expect(listed.map(\.tag) == ["his"] && listed.map(\.other) == ["hers"], "\(listed)")
        #expect(listed.map(\.share) == ["Summer"] && listed.map(\.field) == ["title"])
        does(alice, .tagRename(title: "his", newTitle: name, scope: .any))
        try #require(try party.village.settle())
        for replica in party.village.replicas { #expect(try conflicts(replica).isEmpty, "\(replica.label)") }
        #expect(party.carol.sidecar("alice/Summer/a.jpg", .shared)?.fields.tags == [name])
    }

    @Test(arguments: [false, true])
    func `it is said where the other content of a photo is, and that there is no copy of one that was deleted`(
        isDeleted: Bool
    ) throws {
        let party = try Party(bob: "readWrite")
        let (alice, bob) = (party.alice, party.bob)
        try apart(party) {
            try alice.machine.library.write("Summer/a.jpg", "hers, longer")
            try party.rounds(of: alice, 4)
            if isDeleted { try alice.machine.library.delete("Summer/a.jpg") }
        } bob: {
            try bob.machine.shared.write("alice/Summer/a.jpg", "his")
        }
        let listed = try conflicts(alice).filter { $0.field == "content" }
        try #require(listed.count == 1, "\(listed)")
        let copies = alice.tree(.library).filter { $0.value == "hers, longer" }.keys
        #expect(copies.count == (isDeleted ? 0 : 1), "\(alice.tree(.library))")
        #expect(listed[0].copyPath == copies.first.map { "library/\($0)" })
    }
}
