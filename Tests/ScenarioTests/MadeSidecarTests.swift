import Shoebox
import ShoeboxCloud
import ShoeboxLibrary
import ShoeboxModel
import ShoeboxPlanning
import ShoeboxStore
import ShoeboxTestSupport
import ShoeboxWorld
import Testing

/// Files of their own under the name that a photo's sidecar has, and what becomes of them when the photo gets one.
struct MadeSidecarTests {
    /// What a watched folder has under the two names that the sidecar of a photo may have.
    private func texts(beside photo: String, _ replica: Replica, _ root: RootKind) -> [String] {
        let disk = root == .library ? replica.machine.library : replica.machine.shared
        return [".json", ".shoebox.json"].compactMap { try? disk.text(photo + $0) }
    }

    private func fields(of photo: String, _ replica: Replica, _ root: RootKind) -> [SidecarFields] {
        texts(beside: photo, replica, root).compactMap { text in
            guard case .document(let document) = SidecarDocument.read(Array(text.utf8)) else { return nil }
            return document.fields
        }
    }

    private let places: [(index: Int, photo: String, root: RootKind)] = [
        (0, "Summer/a.jpg", .library), (1, "alice/Summer/a.jpg", .shared), (2, "alice/Summer/a.jpg", .shared),
    ]

    @Test func `what is said of a photo just after another program's file was removed from beside it is no file`()
        throws
    {
        let party = try Party(bob: "readOnly")
        let (alice, disk) = (party.alice, party.alice.machine.library)
        try disk.write("Summer/a.jpg.json", "{broken")
        try #require(try party.village.settle())
        try disk.delete("Summer/a.jpg.json")
        #expect(alice.request(.tag(path: alice.path("Summer/a.jpg"), titles: ["Beach"], isMember: true)).code == 0)
        #expect(try party.village.settleDeletions())
        for (index, photo, root) in places {
            let replica = [alice, party.bob, party.carol][index]
            #expect(fields(of: photo, replica, root).map(\.tags) == [["Beach"]], "\(replica.label)")
            #expect(texts(beside: photo, replica, root).count == 1, "\(replica.label)")
        }
        for replica in [alice, party.bob, party.carol] {
            let files = try replica.store.read { db in try db.base(in: party.zone) }.filter { $0.kind == .file }
            #expect(!files.contains { $0.name.description.hasSuffix(".json") }, "\(replica.label)")
            #expect(replica.problems.isEmpty, "\(replica.problems)")
        }
    }

    @Test func `who writes the format of a sidecar into a JSON file of its own is told how to make one`() throws {
        let party = try Party(bob: "readOnly")
        let (alice, disk) = (party.alice, party.alice.machine.library)
        try disk.write("Summer/a.jpg.json", #"{"tags": ["Beach"]}"#)
        try #require(try party.village.settle())
        let sidecar = #"{"format": "shoebox.sidecar/1", "tags": ["Beach"]}"#
        try disk.write("Summer/a.jpg.json", sidecar)
        try #require(try party.village.settle())
        party.expectNamed("sidecarIsFile", by: [alice], containing: "Summer/a.jpg.json")
        #expect(texts(beside: "alice/Summer/a.jpg", party.bob, .shared) == [sidecar])
        try alice.restart()
        try #require(try party.village.settle())
        party.expectNamed("sidecarIsFile", by: [alice], containing: "Summer/a.jpg.json")
        try disk.delete("Summer/a.jpg.json")
        try #require(try party.village.settleDeletions())
        #expect(alice.problems.isEmpty, "\(alice.problems)")
        try disk.write("Summer/a.jpg.json", sidecar)
        try #require(try party.village.settle())
        for (index, photo, root) in places {
            let replica = [alice, party.bob, party.carol][index]
            #expect(fields(of: photo, replica, root).map(\.tags) == [["Beach"]], "\(replica.label)")
            #expect(texts(beside: photo, replica, root).count == 1, "\(replica.label)")
            #expect(replica.problems.isEmpty, "\(replica.problems)")
        }
    }

    @Test func `another program's file that is renamed over a photo's sidecar stays a file, and what was said is kept`()
        throws
    {
        let party = try Party(bob: "readWrite")
        let (alice, disk) = (party.alice, party.alice.machine.library)
        let takeout = #"{"title": "of another program"}"#
        try disk.write("Summer/a.json", takeout)
        #expect(alice.request(.caption(path: alice.path("Summer/a.jpg"), text: "sea")).code == 0)
        try #require(try party.village.settle())
        try disk.delete("Summer/a.jpg.json")
        try disk.move("Summer/a.json", to: "Summer/a.jpg.json")
        #expect(try party.village.settleDeletions())
        for (index, photo, root) in places {
            let replica = [alice, party.bob, party.carol][index]
            #expect(fields(of: photo, replica, root).map(\.caption) == ["sea"], "\(replica.label)")
            #expect(texts(beside: photo, replica, root).contains(takeout), "\(replica.label)")
            #expect(replica.problems.isEmpty, "\(replica.problems)")
        }
    }

    @Test
    func `what somebody shared under a sidecar's name says nothing either where it is moved along with the photo`()
        throws
    {
        let party = try Party(bob: "readWrite")
        let forger = try Forger(party.bob, zone: party.zone, in: party.village)
        let forged = #"{"format": "shoebox.sidecar/1", "caption": "forged", "tags": ["Forged"]}"#
        try forger.send([try forger.photo("a.jpg.json", forged)])
        try party.village.meet()
        let (alice, disk) = (party.alice, party.alice.machine.library)
        try disk.move("Summer/a.jpg", to: "Summer/deep/a.jpg")
        try disk.move("Summer/a.jpg.json", to: "Summer/deep/a.jpg.json")
        try party.village.meet()
        #expect(alice.request(.tag(path: alice.path("Summer/deep/a.jpg"), titles: ["Beach"], isMember: true)).code == 0)
        try party.village.meet()
        for (replica, photo, root) in [
            (alice, "Summer/deep/a.jpg", RootKind.library), (party.carol, "alice/Summer/deep/a.jpg", .shared),
        ] {
            #expect(texts(beside: photo, replica, root).contains(forged), "\(replica.label)")
            let own = texts(beside: photo, replica, root).filter { $0 != forged }
            #expect(own.count == 1 && own.allSatisfy { $0.contains("Beach") }, "\(replica.label): \(own)")
            #expect(own.allSatisfy { !$0.lowercased().contains("forged") }, "\(replica.label): \(own)")
        }
    }

    @Test func `a file that stands in the way of another's because of a pattern is named`() throws {
        let (village, alice, second) = try Village.twoDevices(["a.raw": "one"])
        second.tune = { $0.ignore = IgnoreRules(patterns: ["*.xmp"]) }
        try second.restart()
        try second.machine.library.write("a.raw.xmp", "darktable's")
        try #require(try village.settle())
        try alice.machine.library.write("a.raw.xmp", "another's")
        try village.pass(8)
        village.world.clock.advance(milliseconds: 61_000)
        try village.pass(8)
        #expect(
            second.problems.contains { $0.code == "notApplied" && $0.remedy.contains("ignore") }, "\(second.problems)")
        try second.machine.library.delete("a.raw.xmp")
        village.world.clock.advance(milliseconds: 61_000)
        #expect(try village.settle())
        #expect(second.problems.isEmpty, "\(second.problems)")
        #expect(try second.machine.library.text("a.raw.xmp") == "another's")
    }

    @Test
    func `what a participant shares as a file says nothing of the photo beside it, also where it looks like a sidecar`()
        throws
    {
        let party = try Party(bob: "readWrite")
        let forger = try Forger(party.bob, zone: party.zone, in: party.village)
        let forged = #"{"format": "shoebox.sidecar/1", "caption": "forged", "tags": ["Forged"]}"#
        try forger.send([try forger.photo("a.jpg.json", forged)])
        try party.village.meet()
        let (alice, carol) = (party.alice, party.carol)
        #expect(alice.request(.tag(path: alice.path("Summer/a.jpg"), titles: ["Beach"], isMember: true)).code == 0)
        try party.village.meet()
        try alice.machine.library.delete("Summer/a.jpg.json")
        try alice.machine.library.write("Summer/a.jpg.json", forged)
        try party.village.meet()
        for (replica, photo, root) in [
            (alice, "Summer/a.jpg", RootKind.library), (carol, "alice/Summer/a.jpg", .shared),
        ] {
            let own = texts(beside: photo, replica, root).filter { $0 != forged }
            #expect(own.count == 1 && own.allSatisfy { $0.contains("Beach") }, "\(replica.label): \(own)")
            #expect(own.allSatisfy { !$0.lowercased().contains("forged") }, "\(replica.label): \(own)")
            #expect(texts(beside: photo, replica, root).contains(forged), "\(replica.label)")
        }
    }
}
