import ShoeboxLibrary
import ShoeboxModel
import ShoeboxPlanning
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
        /// As that, and it is moved a while before the folder is.
        case savedUnreadEarlier
        /// The photo is deleted, and a new one beside it can't be read when it is to be published.
        case deletedBesideUnread
    }

    private final class Device: @unchecked Sendable {
        let replica: Replica
        init(_ replica: Replica) { self.replica = replica }
    }

    /// Alice's two devices, with a folder `Trip` of two photos beside the share.
    private func start(_ name: String) throws -> (Party, laptop: Replica, photo: RecordName) {
        var party = try Party(bob: "readWrite")
        let laptop = try party.village.addDevice(of: party.alice, name: "laptop")
        for name in [name, "q.jpg"] { try party.alice.machine.library.write("Trip/\(name)", name) }
        try #require(try party.village.settle())
        return (party, laptop, try record("Trip/\(name)", party.alice))
    }

    private func record(_ path: String, _ replica: Replica) throws -> RecordName {
        let id = try replica.store.read { db in
            try db.base(at: #require(RelativePath(path)), root: .library, top: replica.engine.top(.library))
        }
        return try #require(id).name
    }

    private func leave(_ leaving: Leaving, _ name: String, _ party: Party) throws {
        let (alice, disk) = (party.alice, party.alice.machine.library)
        switch leaving {
        case .deleted: try disk.delete("Trip/\(name)")
        case .movedAside: try disk.move("Trip/\(name)", to: "Private/\(name)")
        case .savedUnread, .savedUnreadEarlier:
            try disk.write("Trip/\(name)", "saved")
            try party.rounds(of: alice, 3, reachesContainer: false)
            if leaving == .savedUnreadEarlier {
                try disk.move("Trip/\(name)", to: "Private/\(name)")
                try party.rounds(of: alice, 3, reachesContainer: false)
            }
            alice.machine.faults.setRule { operation in
                operation.name == "read" && operation.path == "Private/\(name)" ? .fail(.inputOutput) : nil
            }
            if leaving == .savedUnread { try disk.move("Trip/\(name)", to: "Private/\(name)") }
            if leaving == .savedUnreadEarlier { try party.village.pass(6) }
        case .deletedBesideUnread:
            try disk.write("Trip/a.jpg", "new")
            try party.rounds(of: alice, 3, reachesContainer: false)
            alice.machine.faults.setRule { operation in
                operation.name == "read" && operation.path.hasSuffix("/a.jpg") ? .fail(.inputOutput) : nil
            }
            try disk.delete("Trip/\(name)")
        }
    }

    private func changes(of record: RecordName, in zone: ZoneID, _ party: Party) throws -> [Change] {
        try party.village.replicas.flatMap { replica in
            try replica.store.read { db in try db.changes(of: record, in: zone) }
        }
    }

    /// Lets another device look while this one publishes.
    private func overlap(_ replica: Replica, with other: Replica, before publications: Int) {
        let device = Device(other)
        replica.machine.faults.run(before: "publish", after: publications) { _ = try? device.replica.round() }
    }

    /// What has left must not be in the share, at any time.
    private func expectUnshared(_ photo: RecordName, in zone: ZoneID, _ party: Party) throws {
        for _ in 0..<8 {
            try party.rounds(of: party.alice, 1)
            #expect(try changes(of: photo, in: zone, party) == [])
        }
        for _ in 0..<6 {
            try party.village.pass(1)
            #expect(try changes(of: photo, in: zone, party) == [])
        }
        party.alice.machine.faults.setRule(nil)
        #expect(try party.village.settle())
        #expect(try changes(of: photo, in: zone, party) == [])
    }

    private func expectKept(_ leaving: Leaving, _ name: String, _ replicas: [Replica]) {
        for replica in replicas {
            let aside = replica.tree(.library)["Private/\(name)"]
            switch leaving {
            case .deleted, .deletedBesideUnread: #expect(aside == nil)
            case .movedAside: #expect(aside == name)
            case .savedUnread, .savedUnreadEarlier: #expect(aside == "saved")
            }
        }
    }

    @Test(arguments: Leaving.allCases, ["p.jpg", "z.jpg"])
    func `what left a folder is not shared by another device that hears of the folder first`(
        leaving: Leaving, name: String
    ) throws {
        for publications in 0..<5 {
            let (party, laptop, photo) = try start(name)
            try leave(leaving, name, party)
            try party.alice.machine.library.move("Trip", to: "Summer/Trip")
            overlap(party.alice, with: laptop, before: publications)
            try expectUnshared(photo, in: party.zone, party)
            #expect(party.bob.tree(.shared)["alice/Summer/Trip/q.jpg"] == "q.jpg")
            expectKept(leaving, name, [party.alice, laptop])
        }
    }

    @Test(arguments: [.deleted, .movedAside, .deletedBesideUnread] as [Leaving], ["p.jpg", "z.jpg"])
    func `what left a folder that becomes a share is not shared by another device`(
        leaving: Leaving, name: String
    ) throws {
        for publications in 0..<5 {
            let (party, laptop, photo) = try start(name)
            let alice = party.alice
            try leave(leaving, name, party)
            overlap(alice, with: laptop, before: publications)
            let made = alice.request(
                .shareCreate(paths: [alice.path("Trip")], title: "Trip", publicPermission: "none", isSealed: true))
            try #require(made.code == 0, "\(made)")
            let zone = try #require(ZoneID(hex: made.values["id"] ?? ""))
            try expectUnshared(photo, in: zone, party)
            #expect(laptop.tree(.library)["Trip/q.jpg"] == "q.jpg")
            expectKept(leaving, name, [alice, laptop])
        }
    }

    @Test(arguments: [.deleted, .movedAside] as [Leaving])
    func `what a third device took out of a folder is not shared by one that has not heard of it yet`(
        leaving: Leaving
    ) throws {
        var (party, laptop, photo) = try start("p.jpg")
        let phone = try party.village.addDevice(of: party.alice, name: "phone")
        try #require(try party.village.settle())
        switch leaving {
        case .movedAside: try phone.machine.library.move("Trip/p.jpg", to: "Private/p.jpg")
        default: try phone.machine.library.delete("Trip/p.jpg")
        }
        try party.rounds(of: phone, 8)
        try party.rounds(of: party.alice, 3)
        #expect(party.alice.tree(.library)["Trip/p.jpg"] == nil)
        // The cloud folder shows the laptop an older state of what the phone wrote.
        let id = phone.engine.replica
        laptop.machine.faults.setRule { $0.path.contains("heads/\(id)") ? .fail(.inputOutput) : nil }
        try laptop.machine.library.write("Trip/late.jpg", "late")
        try party.rounds(of: laptop, 3, reachesContainer: false)
        let late = try record("Trip/late.jpg", laptop)
        try party.alice.machine.library.move("Trip", to: "Summer/Trip")
        try party.rounds(of: party.alice, 3)
        // From now on only the laptop is there to share what was put into the folder meanwhile.
        for _ in 0..<4 {
            try party.rounds(of: laptop, 2)
            try party.rounds(of: party.bob, 2)
            for record in [photo, late] {
                #expect(try changes(of: record, in: party.zone, party) == [])
            }
        }
        laptop.machine.faults.setRule(nil)
        try party.rounds(of: laptop, 8)
        try party.rounds(of: party.bob, 8)
        #expect(party.bob.tree(.shared)["alice/Summer/Trip/late.jpg"] == "late")
        #expect(try party.village.settle())
        #expect(try changes(of: photo, in: party.zone, party) == [])
        expectKept(leaving, "p.jpg", [party.alice, laptop, phone])
    }

    @Test func `what waits for a device whose word can never be read again goes on once that is retired`() throws {
        var (party, laptop, photo) = try start("p.jpg")
        let phone = try party.village.addDevice(of: party.alice, name: "phone")
        try #require(try party.village.settle())
        try phone.machine.library.delete("Trip/p.jpg")
        try party.rounds(of: phone, 8)
        try party.rounds(of: party.alice, 3)
        func hide(_ replica: Replica) {
            let id = replica.engine.replica
            laptop.machine.faults.setRule { $0.path.contains("heads/\(id)") ? .fail(.inputOutput) : nil }
        }
        hide(phone)
        try laptop.machine.library.write("Trip/late.jpg", "late")
        try party.rounds(of: laptop, 3, reachesContainer: false)
        try party.alice.machine.library.move("Trip", to: "Summer/Trip")
        try party.rounds(of: party.alice, 3)
        try party.rounds(of: laptop, 3)
        // From now on the one who moved it can't be read any more.
        hide(party.alice)
        try laptop.restart()
        for _ in 0..<4 {
            try party.rounds(of: laptop, 3)
            try party.rounds(of: party.bob, 2)
            #expect(party.bob.tree(.shared)["alice/Summer/Trip/late.jpg"] == nil)
        }
        let retired = phone.request(.deviceRetire(name: "alice"))
        try #require(retired.code == 0, "\(retired)")
        for replica in [laptop, laptop, party.bob] { try party.rounds(of: replica, 8) }
        #expect(party.bob.tree(.shared)["alice/Summer/Trip/late.jpg"] == "late")
        #expect(try changes(of: photo, in: party.zone, party) == [])
    }

    @Test func `a tag that was just taken off or given is so in the share, whatever another device saw first`() throws {
        for publications in 0..<5 {
            let (party, laptop, _) = try start("p.jpg")
            let disk = party.alice.machine.library
            func tag(_ titles: String) throws {
                let known = (try? disk.read("Trip/p.jpg.json")).map { String(decoding: $0, as: UTF8.self) }
                // What an editor changes is the tags alone.
                let rest = known?.prefix { $0 != "[" } ?? "{\"format\": \"shoebox.sidecar/1\", \"tags\": "
                try disk.write("Trip/p.jpg.json", "\(rest)[\(titles)]}")
            }
            for titles in ["\"Ex\", \"Friend\"", "\"Ex\""] {
                try tag(titles)
                try #require(try party.village.settle())
            }
            try tag("\"Friend\"")
            for suffix in ["", ".json"] { try disk.move("Trip/p.jpg\(suffix)", to: "Summer/p.jpg\(suffix)") }
            overlap(party.alice, with: laptop, before: publications)
            try party.rounds(of: party.alice, 6)
            #expect(try party.village.settle())
            for replica in [party.bob, party.carol] {
                #expect(replica.sidecar("alice/Summer/p.jpg", .shared)?.fields.tags == ["Friend"], "\(publications)")
            }
        }
    }
}
