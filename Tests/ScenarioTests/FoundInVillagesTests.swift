import Shoebox
import ShoeboxCloud
import ShoeboxLibrary
import ShoeboxModel
import ShoeboxPlanning
import ShoeboxStore
import ShoeboxTestSupport
import ShoeboxWorld
import Testing

@testable import Shoebox

/// What the simulation of many accounts that share found, as the shortest story that shows it.
@Suite struct FoundInVillagesTests {
    /// The share is stopped on one device of its owner before the other one's tag has got there.
    @Test func `a tag that was given on another device while a share was stopped stays with its photo`() throws {
        var party = try Party(bob: "readWrite")
        let laptop = try party.village.addDevice(of: party.alice, name: "laptop")
        try #require(try party.village.settle())
        try party.village.meet()
        try #require(try party.village.settle())
        laptop.machine.mount.unmount()
        let photo = laptop.path("Summer/a.jpg")
        #expect(laptop.request(.tag(path: photo, titles: ["Lake"], isMember: true)).code == 0)
        #expect(laptop.request(.rate(path: laptop.path("Summer/deep/b.jpg"), value: 4)).code == 0)
        #expect(party.alice.request(.stop(share: "Summer")).code == 0)
        laptop.machine.mount.mount()
        try party.village.meet()
        #expect(try party.village.settle())
        for replica in [party.alice, laptop] {
            #expect(replica.tree(.library) == party.alice.tree(.library))
            #expect(replica.sidecar("Summer/a.jpg", .library)?.fields.tags == ["Lake"], "\(replica.machine.name)")
            #expect(replica.sidecar("Summer/deep/b.jpg", .library)?.fields.rating == 4, "\(replica.machine.name)")
        }
    }

    @Test func `what is kept of a share that was left is safe from a power cut`() throws {
        let party = try Party(bob: "readWrite")
        let path = party.bob.path("alice/Summer/a.jpg", .shared)
        #expect(party.bob.request(.caption(path: path, text: "words")).code == 0)
        #expect(party.bob.request(.leave(share: "Summer", keepCopy: true)).code == 0)
        party.bob.machine.powerCut(.emptyingFiles)
        try party.bob.restart()
        #expect(try party.village.settle())
        #expect(party.bob.tree(.library) == ["Kept from Summer/a.jpg": "aaa", "Kept from Summer/b.jpg": "bbb"])
        #expect(party.bob.sidecar("Kept from Summer/a.jpg", .library)?.fields.caption == "words")
    }

    @Test func `the private copy of an edit that counts for nobody is safe from a power cut`() throws {
        let party = try Party(bob: "readOnly")
        try party.bob.machine.shared.write("alice/Summer/a.jpg", "bob's own")
        let copy = "Private copies of Summer/a.jpg"
        for _ in 0..<8 where party.bob.tree(.library)[copy] == nil {
            try party.bob.round()
            party.village.world.clock.advance(milliseconds: 700)
        }
        party.bob.machine.powerCut(.emptyingFiles)
        #expect(party.bob.tree(.library)[copy] == "bob's own")
    }

    /// No round comes between making the share and the restore: nobody has read it again.
    @Test func `a share that was made just before the container was put back is there for all`() throws {
        var village = try Village(labels: ["alice", "bob"])
        let (alice, bob) = (village.replicas[0], village.replicas[1])
        let laptop = try village.addDevice(of: alice, name: "laptop")
        try alice.machine.library.write("Summer/a.jpg", "aaa")
        #expect(try village.settle())
        let backup = village.world.storage.snapshot()
        let made = alice.request(
            .shareCreate(paths: [alice.path("Summer")], title: "Summer", publicPermission: "none", isSealed: true))
        #expect(made.code == 0)
        village.world.storage.restore(backup)
        for _ in 0..<3 {
            try village.pass(4)
            // Where nothing is to be said, one looks at one's own head now and then only.
            village.world.clock.advance(milliseconds: 601_000)
        }
        #expect(laptop.isQuiet && laptop.tree(.library) == ["Summer/a.jpg": "aaa"], "\(laptop.tree(.library))")
        #expect(laptop.engine.zones.values.contains { $0.control.title == "Summer" })
        #expect(alice.request(.invite(share: "Summer", accounts: ["bob"], permission: "readOnly")).code == 0)
        #expect(bob.request(.accept(link: made.values["link"] ?? "")).code == 0)
        #expect(try village.settle())
        #expect(bob.tree(.shared) == ["alice/Summer/a.jpg": "aaa"])
    }

    /// Published, but the owner has read none of it, and never will.
    @Test func `what one said of a photo when its share had just been stopped is kept with a copy of it`() throws {
        let party = try Party(bob: "readWrite")
        #expect(party.alice.request(.stop(share: "Summer")).code == 0)
        let path = party.bob.path("alice/Summer/a.jpg", .shared)
        #expect(party.bob.request(.tag(path: path, titles: ["Lake"], isMember: true)).code == 0)
        let other = party.bob.path("alice/Summer/deep/b.jpg", .shared)
        #expect(party.bob.request(.caption(path: other, text: "words")).code == 0)
        #expect(try party.village.settle())
        #expect(party.bob.tree(.shared) == [:])
        #expect(party.bob.tree(.library) == ["Kept from Summer/a.jpg": "aaa", "Kept from Summer/b.jpg": "bbb"])
        #expect(party.bob.sidecar("Kept from Summer/a.jpg", .library)?.fields.tags == ["Lake"])
        #expect(party.bob.sidecar("Kept from Summer/b.jpg", .library)?.fields.caption == "words")
    }

    /// Nothing of it counts as missing: another file is where it was.
    @Test func `a folder that a file replaced goes at once when that was confirmed`() throws {
        let village = try Village(labels: ["alice"])
        let alice = village.replicas[0]
        for number in 0..<130 { try alice.machine.library.write("Album/\(number).jpg", "photo \(number)") }
        try #require(try village.settle())
        try alice.machine.library.delete("Album")
        try alice.machine.library.write("Album", "no folder")
        try village.pass(8)
        #expect(alice.problems.map(\.code) == ["massDeletion"])
        #expect(alice.request(.confirmDeletions).code == 0)
        for _ in 0..<6 {
            try alice.round(.directories([:]))
            village.world.clock.advance(milliseconds: 700)
        }
        #expect(alice.problems.isEmpty, "\(alice.problems)")
        let known = try alice.store.read { db in try db.baseCount(root: .library) }
        #expect(known == 1)
    }
}
