import Shoebox
import ShoeboxCloud
import ShoeboxModel
import ShoeboxStore
import ShoeboxTestSupport
import ShoeboxWorld
import Testing

@testable import Shoebox

/// What can be had back by `restore`, `undo` and from the trash is checked, too, and mended from what the devices keep.
struct VerifyVersionsTests {
    /// A share in which Alice has edited one photo and deleted another one.
    private struct Past {
        let party: Party
        /// The files of what is past, in the container.
        var edited: MountPath
        var deleted: MountPath

        init() throws {
            party = try Party(bob: "readWrite")
            let alice = party.alice
            func asset(_ path: String) throws -> MountPath {
                let id = try #require(try alice.engine.knownRecord(at: alice.path(path)))
                let versions = try alice.store.read { db in try alice.engine.contentVersions(of: id, db) }
                return try "assets/\(try #require(versions.first?.asset.location))".mountPath
            }
            edited = try asset("Summer/a.jpg")
            deleted = try asset("Summer/deep/b.jpg")
            try alice.machine.library.write("Summer/a.jpg", "edited")
            try alice.machine.library.delete("Summer/deep/b.jpg")
            try #require(try party.village.settleDeletions())
            party.expectShown(["a.jpg": "edited"])
        }
    }

    @Test func `earlier contents and those of deleted photos are read, where all is well`() throws {
        let past = try Past()
        for replica in past.party.village.replicas {
            let report = try replica.engine.verify()
            #expect(report.faults.isEmpty, "\(replica.label): \(report.faults)")
            // Alice has a private photo besides.
            #expect(report.counts.assets == (replica === past.party.alice ? 4 : 3), "\(replica.label)")
        }
    }

    @Test(arguments: [false, true])
    func `who gives a photo an earlier content that is gone is told so, and gets it from whoever has it in the trash`(
        isOwnTrash: Bool
    ) throws {
        let past = try Past()
        let party = past.party
        party.village.world.storage.rawRemove(past.edited)
        let replica = isOwnTrash ? party.bob : party.alice
        let photo = isOwnTrash ? party.bob.path("alice/Summer/a.jpg", .shared) : party.alice.path("Summer/a.jpg")
        let reply = replica.request(.restoreVersion(path: photo, version: "2"))
        #expect(reply.code == 0 && reply.lines.count == (isOwnTrash ? 1 : 2), "\(reply)")
        for _ in 0..<4 {
            _ = try party.village.settle()
            party.village.world.clock.advance(milliseconds: 61_000)
        }
        #expect(try party.village.settle())
        party.expectShown(["a.jpg": "aaa"])
    }

    @Test func `what is gone of them is named, and comes back from the trash of who has it there`() throws {
        let past = try Past()
        let party = past.party
        let storage = party.village.world.storage
        let before = storage.tree()
        for path in [past.edited, past.deleted] { storage.rawRemove(path) }
        // Alice has edited and deleted in her folder: nothing of it is in her trash. The others have it in theirs.
        for (replica, isMendable) in [(party.alice, false), (party.bob, true), (party.carol, true)] {
            let report = try replica.engine.verify()
            try #require(report.faults.count == 2, "\(replica.label): \(report.faults)")
            for fault in report.faults {
                #expect(fault.code == "versionAbsent" && fault.isMendable == isMendable, "\(replica.label): \(fault)")
                #expect(!fault.remedy.isEmpty)
            }
            let edited = try #require(report.faults.first { $0.path == past.edited.description })
            #expect(edited.message.hasPrefix("An earlier content of 'a.jpg', by alice at "), "\(edited)")
            #expect(edited.message.hasSuffix("is not in the container."), "\(edited)")
            let deleted = try #require(report.faults.first { $0.path == past.deleted.description })
            #expect(deleted.message.hasPrefix("The content of 'b.jpg', which was deleted"), "\(deleted)")
        }
        let request = try #require(try party.bob.engine.verify().repair)
        let reply = party.bob.request(request)
        #expect(reply.code == 0 && reply.values["mended"] == "2", "\(reply)")
        for path in [past.edited, past.deleted] { #expect(storage.tree()[path.description] != nil) }
        #expect(Set(storage.tree().keys).isSuperset(of: before.keys))
        for replica in party.village.replicas { #expect(try replica.engine.verify().faults.isEmpty) }
        // And it can be had back by who had nothing of it.
        let alice = party.alice
        #expect(alice.request(.restoreVersion(path: alice.path("Summer/a.jpg"), version: "2")).code == 0)
        #expect(alice.request(.restoreVersion(path: alice.path("Summer/deep/b.jpg"), version: nil)).code == 0)
        try #require(try party.village.settle())
        party.expectShown()
    }

    @Test func `what is wanted back, and gone, comes from the trash of another device`() throws {
        let past = try Past()
        let (party, alice) = (past.party, past.party.alice)
        for path in [past.edited, past.deleted] { party.village.world.storage.rawRemove(path) }
        #expect(alice.request(.restoreVersion(path: alice.path("Summer/a.jpg"), version: "2")).code == 0)
        #expect(alice.request(.restoreVersion(path: alice.path("Summer/deep/b.jpg"), version: nil)).code == 0)
        for _ in 0..<4 {
            try party.village.pass(4)
            party.village.world.clock.advance(milliseconds: 61_000)
        }
        try #require(try party.village.settle())
        party.expectShown()
        for replica in party.village.replicas { #expect(replica.problems.isEmpty, "\(replica.problems)") }
    }

    @Test func `what is damaged of them is named, and nothing that shows is touched`() throws {
        let past = try Past()
        let party = past.party
        let storage = party.village.world.storage
        for path in [past.edited, past.deleted] { storage.rawWrite(path, Array("scribble".utf8)) }
        for replica in party.village.replicas {
            let report = try replica.engine.verify()
            #expect(report.faults.map(\.code) == ["version", "version"], "\(replica.label): \(report.faults)")
            #expect(report.repair == nil && report.faults.allSatisfy { $0.remedy.contains("Nothing that shows") })
        }
        // As the hint says.
        for path in [past.edited, past.deleted] { storage.rawRemove(path) }
        #expect(party.carol.request(try #require(try party.carol.engine.verify().repair)).values["mended"] == "2")
        #expect(try party.alice.engine.verify().faults.isEmpty)
        party.expectShown(["a.jpg": "edited"])
    }

    @Test func `contents that were folded away are missed by nobody who comes later`() throws {
        var town = try CompactionTests.Town()
        town.fold([town.alice])
        let first = Set(town.village.assetNames)
        for number in 0..<20 {
            try town.alice.machine.library.write("Summer/a.jpg", "day \(number)")
            try town.village.pass(2)
        }
        town.village.world.clock.advance(milliseconds: CompactionTests.hour + 1)
        try #require(try town.village.settle())
        town.village.world.clock.advance(milliseconds: CompactionTests.hour + 1)
        try #require(try town.village.settle())
        let laptop = try town.village.addDevice(of: town.alice, name: "laptop")
        try town.village.meet()
        try #require(try town.village.settle())
        let report = try laptop.engine.verify()
        #expect(report.faults.isEmpty, "\(report.faults)")
        let past = town.village.assetNames.filter { !first.contains($0) }
        for path in past.dropLast() { town.village.world.storage.rawRemove(try path.mountPath) }
        // Alice, who knows of them, names a few, and how many there are besides.
        let hers = try town.alice.engine.verify().faults
        #expect(hers.count { $0.code.hasPrefix("version") } == 6, "\(hers)")
        #expect(hers.allSatisfy { $0.code.hasPrefix("version") || $0.isMendable }, "\(hers)")
        #expect(hers.contains { $0.message.contains("more contents that photos in 'Summer' had before") }, "\(hers)")
    }
}
