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
            try bob.tree(.library).keys.sorted().filter { $0.hasPrefix(Self.folder + "/") }.map { text in
                let path = try #require(RelativePath(text))
                let id = try #require(try db.base(at: path, root: .library, top: bob.engine.top(.library)), "\(text)")
                return try bob.engine.details(of: id, db)
            }
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
}
