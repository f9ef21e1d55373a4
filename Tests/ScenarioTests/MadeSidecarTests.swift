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

    @Test func `who writes the format of a sidecar into a JSON file beside a photo has made one`() throws {
        let party = try Party(bob: "readOnly")
        let (alice, disk) = (party.alice, party.alice.machine.library)
        try disk.write("Summer/a.jpg.json", #"{"tags": ["Beach"]}"#)
        try #require(try party.village.settle())
        #expect(texts(beside: "alice/Summer/a.jpg", party.bob, .shared) == [#"{"tags": ["Beach"]}"#])
        try disk.write("Summer/a.jpg.json", #"{"format": "shoebox.sidecar/1", "tags": ["Beach"]}"#)
        #expect(try party.village.settleDeletions())
        for (index, photo, root) in places {
            let replica = [alice, party.bob, party.carol][index]
            #expect(fields(of: photo, replica, root).map(\.tags) == [["Beach"]], "\(replica.label)")
            #expect(texts(beside: photo, replica, root).count == 1, "\(replica.label)")
            #expect(replica.problems.isEmpty, "\(replica.problems)")
        }
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
