import ShoeboxModel
import ShoeboxStore
import ShoeboxTestSupport
import ShoeboxWorld
import Testing

@testable import Shoebox

/// A folder goes into a share while photos leave it: what left it first is shown to nobody, whichever part of that another
/// device of the same person hears of first.
@Suite struct FolderIntoShareTests {
    enum Leaving: CaseIterable {
        /// The photo is deleted.
        case deleted
        /// The photo is moved to another folder of the library.
        case movedAside
        /// The photo is saved, and its bytes can't be read when that is to be published; then it is moved.
        case savedUnread
    }

    private final class Device: @unchecked Sendable {
        let replica: Replica
        init(_ replica: Replica) { self.replica = replica }
    }

    /// Alice's two devices, with a folder `Trip` of two photos beside the share; and the name of the one that leaves.
    private func start() throws -> (Party, laptop: Replica, photo: RecordName) {
        var party = try Party(bob: "readWrite")
        let laptop = try party.village.addDevice(of: party.alice, name: "laptop")
        for name in ["p.jpg", "q.jpg"] { try party.alice.machine.library.write("Trip/\(name)", name) }
        try #require(try party.village.settle())
        let photo = try party.alice.store.read { db in
            try db.base(
                at: #require(RelativePath("Trip/p.jpg")), root: .library, top: party.alice.engine.top(.library))
        }
        return (party, laptop, try #require(photo).name)
    }

    private func leave(_ leaving: Leaving, _ party: Party) throws {
        let (alice, disk) = (party.alice, party.alice.machine.library)
        switch leaving {
        case .deleted: try disk.delete("Trip/p.jpg")
        case .movedAside: try disk.move("Trip/p.jpg", to: "Private/p.jpg")
        case .savedUnread:
            try disk.write("Trip/p.jpg", "saved")
            try party.rounds(of: alice, 3, reachesContainer: false)
            alice.machine.faults.setRule { operation in
                operation.name == "read" && operation.path == "Private/p.jpg" ? .fail(.inputOutput) : nil
            }
            try disk.move("Trip/p.jpg", to: "Private/p.jpg")
        }
        try disk.move("Trip", to: "Summer/Trip")
    }

    private func changesInShare(_ party: Party, of photo: RecordName) throws -> [Change] {
        try party.village.replicas.flatMap { replica in
            try replica.store.read { db in try db.changes(of: photo, in: party.zone) }
        }
    }

    @Test(arguments: Leaving.allCases, 0..<10)
    func `what left a folder is not shared by another device that hears of the folder first`(
        leaving: Leaving, publications: Int
    ) throws {
        let (party, laptop, photo) = try start()
        let alice = party.alice
        try leave(leaving, party)
        let device = Device(laptop)
        alice.machine.faults.run(before: "publish", after: publications) { _ = try? device.replica.round() }
        for _ in 0..<8 {
            try party.rounds(of: alice, 1)
            #expect(try changesInShare(party, of: photo) == [])
        }
        for _ in 0..<6 {
            try party.village.pass(1)
            #expect(try changesInShare(party, of: photo) == [])
        }
        alice.machine.faults.setRule(nil)
        #expect(try party.village.settle())
        #expect(try changesInShare(party, of: photo) == [])
        #expect(party.bob.tree(.shared)["alice/Summer/Trip/q.jpg"] == "q.jpg")
        for replica in [alice, laptop] {
            let aside = replica.tree(.library)["Private/p.jpg"]
            #expect(aside == (leaving == .deleted ? nil : leaving == .savedUnread ? "saved" : "p.jpg"))
        }
    }
}
