import ShoeboxLibrary
import ShoeboxModel
import ShoeboxPlanning
import ShoeboxStore
import ShoeboxTestSupport
import ShoeboxWorld
import Testing

@testable import Shoebox

/// What somebody said of a photo, and could not publish before a share ended for them, is there with the copy that is kept.
@Suite struct KeptWordsTests {
    private static let folder = "Kept from Summer"

    /// Bob says something of a photo while the container is away, and leaves.
    private func sayAndLeave(_ party: Party, _ photo: String, caption: String, tags: [String]) throws {
        let bob = party.bob
        bob.machine.faults.setRule { $0.part == "mount" ? .fail(.offline) : nil }
        let path = bob.path(photo, .shared)
        try #require(bob.request(.caption(path: path, text: caption)).code == 0)
        try #require(bob.request(.tag(path: path, titles: tags, isMember: true)).code == 0)
        try party.rounds(of: bob, 2, reachesContainer: false)
        #expect(bob.request(.leave(share: "Summer", keepCopy: false)).code == 0)
        bob.machine.faults.setRule(nil)
        try #require(try party.village.settle())
    }

    /// What the engine knows of the photos in the folder of what was kept.
    private func kept(_ bob: Replica) throws -> [PhotoDetails] {
        try bob.store.read { db in
            let top = bob.engine.top(.library)
            let path = try #require(RelativePath(Self.folder))
            let folder = try #require(try db.base(at: path, root: .library, top: top))
            return try db.baseChildren(of: folder, root: .library).filter { $0.kind == .file }
                .sorted { $0.name < $1.name }.map { try bob.engine.details(of: $0.id, db) }
        }
    }

    @Test(arguments: [EngineSettings.SidecarPolicy.whenNeeded, .always, .never])
    func `who leaves before it was published keeps it, whether there are sidecars or not`(
        policy: EngineSettings.SidecarPolicy
    ) throws {
        let party = try Party(bob: "readWrite")
        party.bob.tune = { $0.sidecars = policy }
        try sayAndLeave(party, "alice/Summer/a.jpg", caption: "of bob", tags: ["Lake"])
        let details = try kept(party.bob)
        #expect(details.map(\.caption) == ["of bob"] && details.map(\.tags) == [["Lake"]], "\(details)")
    }

    @Test(arguments: [251, 242])
    func `also of a photo whose name has no room for a sidecar`(length: Int) throws {
        let party = try Party(bob: "readWrite")
        let name = String(repeating: "n", count: length) + ".jpg"
        try party.alice.machine.library.write("Summer/" + name, "nnn")
        try #require(try party.village.settle())
        try sayAndLeave(party, "alice/Summer/" + name, caption: "of bob", tags: ["Lake"])
        let details = try kept(party.bob)
        #expect(details.map(\.caption) == ["of bob"] && details.map(\.tags) == [["Lake"]], "\(details)")
        #expect(party.bob.tree(.library).filter { $0.key.hasPrefix(Self.folder) }.values.contains("nnn"))
    }

    @Test func `and a second time, though the photo is there from the first one`() throws {
        let party = try Party(bob: "readWrite")
        try sayAndLeave(party, "alice/Summer/a.jpg", caption: "first", tags: ["Lake"])
        try #require(party.bob.request(.accept(link: party.link)).code == 0)
        try #require(try party.village.settle())
        try sayAndLeave(party, "alice/Summer/a.jpg", caption: "second", tags: ["Sea"])
        let details = try kept(party.bob)
        #expect(Set(details.map(\.caption)) == ["first", "second"], "\(details)")
        #expect(Set(details.map(\.tags)) == [["Lake"], ["Sea"]], "\(details)")
    }

    @Test func `what is kept twice is one copy, if the same is said of it`() throws {
        let party = try Party(bob: "readWrite")
        for _ in 0..<2 {
            try sayAndLeave(party, "alice/Summer/a.jpg", caption: "same", tags: ["Lake"])
            try #require(party.bob.request(.accept(link: party.link)).code == 0)
            try #require(try party.village.settle())
        }
        #expect(try kept(party.bob).map(\.caption) == ["same"], "\(party.bob.tree(.library))")
    }

    @Test func `also if the photo has other bytes by then, in the place of the former copy`() throws {
        let party = try Party(bob: "readWrite")
        try sayAndLeave(party, "alice/Summer/a.jpg", caption: "first", tags: ["Lake"])
        try #require(party.bob.request(.accept(link: party.link)).code == 0)
        try party.alice.machine.library.write("Summer/a.jpg", "another")
        try #require(try party.village.settle())
        try sayAndLeave(party, "alice/Summer/a.jpg", caption: "second", tags: ["Sea"])
        #expect(Set(try kept(party.bob).map(\.caption)) == ["first", "second"], "\(party.bob.tree(.library))")
    }

    @Test(arguments: [227, 235, 243, 251])
    func `and a third time, of a photo with a long name`(length: Int) throws {
        let party = try Party(bob: "readWrite")
        let name = String(repeating: "n", count: length) + ".jpg"
        try party.alice.machine.library.write("Summer/" + name, "nnn")
        try #require(try party.village.settle())
        let captions = ["first", "second", "third", "fourth"]
        for caption in captions {
            try sayAndLeave(party, "alice/Summer/" + name, caption: caption, tags: [])
            try #require(party.bob.request(.accept(link: party.link)).code == 0)
            try #require(try party.village.settle())
        }
        #expect(Set(try kept(party.bob).map(\.caption)) == Set(captions), "\(party.bob.tree(.library))")
    }

    @Test func `also of a photo whose name is shown otherwise than it is`() throws {
        let party = try Party(bob: "readWrite")
        try party.alice.machine.library.write("Summer/one\u{1}line.jpg", "odd")
        try #require(try party.village.settle())
        try sayAndLeave(party, "alice/Summer/one\u{1}line.jpg", caption: "of bob", tags: [])
        #expect(try kept(party.bob).map(\.caption) == ["of bob"], "\(party.bob.tree(.library))")
    }

    @Test func `what can't be copied when a share ends keeps nothing else from going on, and is copied once`() throws {
        let party = try Party(bob: "readWrite")
        let bob = party.bob
        try bob.machine.library.write("mine.jpg", "mine")
        try #require(try party.village.settle())
        // The library's spelling of a tag is the one that it has.
        try #require(bob.request(.tag(path: bob.path("mine.jpg"), titles: ["Lake"], isMember: true)).code == 0)
        bob.machine.faults.setRule { $0.part == "mount" ? .fail(.offline) : nil }
        for photo in ["alice/Summer/a.jpg", "alice/Summer/deep/b.jpg"] {
            let path = bob.path(photo, .shared)
            try #require(bob.request(.tag(path: path, titles: ["lake"], isMember: true)).code == 0)
        }
        try party.rounds(of: bob, 2, reachesContainer: false)
        #expect(party.alice.request(.uninvite(share: "Summer", accounts: ["bob"])).code == 0)
        try party.rounds(of: party.alice, 2)
        bob.machine.faults.setRule { operation in
            operation.part == "library" && operation.path.hasSuffix("b.jpg") ? .fail(.denied) : nil
        }
        try party.rounds(of: bob, 6)
        #expect(bob.problems.contains { $0.code == "notApplied" }, "\(bob.problems)")
        #expect(!bob.problems.contains { $0.message.contains("cannot be reached") }, "\(bob.problems)")
        bob.machine.faults.setRule(nil)
        try #require(try party.village.settle())
        let kept = bob.tree(.library).filter { $0.key.hasPrefix(Self.folder) }
        #expect(kept.values.sorted() == ["aaa", "bbb"], "\(kept)")
        #expect(bob.tree(.shared).isEmpty && bob.problems.allSatisfy { $0.code == "ended" }, "\(bob.problems)")
    }
}
