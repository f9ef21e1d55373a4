import ShoeboxModel
import ShoeboxStore
import ShoeboxTestSupport
import ShoeboxWorld
import Testing

@testable import Shoebox

/// What each device of the owner does when one of them has stopped a share, on what it has read by then.
@Suite struct StoppedShareTests {
    /// Keeps the cloud folder from showing some replicas what another one has published since.
    private func hide(_ hidden: Replica, from replicas: [Replica]) {
        let id = hidden.engine.replica
        for replica in replicas {
            replica.machine.faults.setRule { $0.path.contains("heads/\(id)") ? .fail(.inputOutput) : nil }
        }
    }

    /// Which device is shown late what another one took out of the share.
    enum Late: CaseIterable { case whoObeys, whoStops }

    /// The photo is the share's folder's, or was put into the share by itself.
    @Test(arguments: [["Trip"], ["Trip/a.jpg", "Trip/b.jpg"]], Late.allCases)
    func `what was taken out of a share that stops stays, though a participant deleted it, whoever hears of that first`(
        paths: [String], late: Late
    ) throws {
        var village = try Village(labels: ["alice", "bob"])
        let (alice, bob) = (village.replicas[0], village.replicas[1])
        for name in ["a", "b"] { try alice.machine.library.write("Trip/\(name).jpg", name) }
        let laptop = try village.addDevice(of: alice, name: "laptop")
        let phone = try village.addDevice(of: alice, name: "phone")
        try #require(try village.settle())
        let made = alice.request(
            .shareCreate(paths: paths.map { alice.path($0) }, title: "Trip", publicPermission: "none", isSealed: true))
        try #require(made.code == 0, "\(made)")
        try #require(alice.request(.invite(share: "Trip", accounts: ["bob"], permission: "readWrite")).code == 0)
        try #require(bob.request(.accept(link: made.values["link"] ?? "")).code == 0)
        try #require(try village.settle())
        func rounds(of replicas: [Replica], _ count: Int) throws {
            for _ in 0..<count {
                for replica in replicas { try replica.round() }
                village.world.clock.advance(milliseconds: 10_500)
            }
        }
        try bob.machine.shared.delete("alice/Trip/a.jpg")
        try rounds(of: [bob], 30)
        // Nothing of that is known where she takes it out.
        hide(bob, from: [alice])
        // Of the two others one stops the share, and one only hears of that: one of them is shown late what was taken out.
        if late == .whoObeys { hide(bob, from: [phone]) } else { hide(alice, from: [phone]) }
        try #require(alice.request(.shareRemove(share: "Trip", paths: [alice.path("Trip/a.jpg")])).code == 0)
        try rounds(of: [alice], 3)
        if late == .whoStops { try rounds(of: [laptop], 3) }
        try rounds(of: [phone], 3)
        try #require(phone.request(.stop(share: "Trip")).code == 0)
        try rounds(of: [phone], 3)
        if late == .whoObeys { hide(alice, from: [laptop]) }
        try rounds(of: [laptop], 4)
        for replica in [alice, laptop, phone] { replica.machine.faults.setRule(nil) }
        #expect(try village.settle())
        for replica in [alice, laptop, phone] {
            #expect(replica.tree(.library).values.contains("a"), "\(replica.label)")
        }
    }

    private struct Successor {
        var village: Village
        /// Alice's devices; the second one has missed the stop.
        var devices: [Replica]
        var bob: Replica
        /// The share that was made after the stop.
        var zone: ZoneID
    }

    /// A folder whose share was stopped by a new device, and shared anew by another one.
    ///
    /// - Parameters:
    ///   - isFound: whether a look at who publishes there shows who stopped it.
    ///   - meanwhile: what the device does that has missed the stop, with the former share and the new one.
    private func shareAnew(
        seed: UInt64, isFound: Bool, meanwhile: (Engine, ZoneID, ZoneID) throws -> Void = { _, _, _ in }
    ) throws -> Successor {
        var village = try Village(seed: seed, labels: ["alice", "bob"])
        let (alice, bob) = (village.replicas[0], village.replicas[1])
        try alice.machine.library.write("Trip/a.jpg", "a")
        let laptop = try village.addDevice(of: alice, name: "laptop")
        try #require(try village.settle())
        var link = ""
        func share() throws -> ZoneID {
            let made = alice.request(
                .shareCreate(paths: [alice.path("Trip")], title: "Trip", publicPermission: "none", isSealed: true))
            try #require(made.code == 0, "\(made)")
            link = made.values["link"] ?? ""
            return try #require(ZoneID(hex: made.values["id"] ?? ""))
        }
        func rounds(of replicas: [Replica], _ count: Int) throws {
            for _ in 0..<count {
                for replica in replicas { try replica.round() }
                village.world.clock.advance(milliseconds: 700)
            }
        }
        let first = try share()
        try #require(alice.request(.invite(share: "Trip", accounts: ["bob"], permission: "readWrite")).code == 0)
        try #require(bob.request(.accept(link: link)).code == 0)
        try #require(try village.settle())
        // A new device stops it, and another one shares the folder anew.
        let phone = try village.addDevice(of: alice, name: "phone")
        try rounds(of: [phone], 6)
        try #require(phone.request(.stop(share: "Trip")).code == 0)
        try rounds(of: [phone, alice], 3)
        let second = try share()
        try rounds(of: [alice], 3)
        // The third one has looked a moment ago who publishes there, and is not shown yet what else is new in the first share.
        let privateZone = try #require(laptop.engine.privateZone)
        for zone in [privateZone, first] {
            laptop.engine.replicasListed[zone] = laptop.machine.world.uptimeMilliseconds()
        }
        var hidden = ["zones/\(first)/heads/\(alice.engine.replica)"]
        if !isFound { hidden.append("heads/\(phone.engine.replica)") }
        laptop.machine.faults.setRule { [hidden] operation in
            hidden.contains { operation.path.contains($0) } ? .fail(.inputOutput) : nil
        }
        try meanwhile(laptop.engine, first, second)
        try rounds(of: [laptop], 2)
        laptop.machine.faults.setRule(nil)
        return Successor(village: village, devices: [alice, laptop, phone], bob: bob, zone: second)
    }

    /// Which of both shares would stay is up to their ids.
    @Test(arguments: 1...6 as ClosedRange<UInt64>, [true, false])
    func `nobody of a share that was stopped is invited to the next one of the folder by a device that missed the stop`(
        seed: UInt64, isFound: Bool
    ) throws {
        let anew = try shareAnew(seed: seed, isFound: isFound)
        #expect(try anew.village.settle())
        for replica in anew.devices {
            let zone = try #require(replica.engine.zones[anew.zone])
            #expect(zone.row.state == .active && !zone.control.isStopped, "\(replica.label)")
            #expect(zone.control.participants[anew.bob.engine.account] == nil, "\(replica.label)")
            #expect(replica.tree(.library) == ["Trip/a.jpg": "a"], "\(replica.label)")
        }
    }

    @Test(arguments: 1...6 as ClosedRange<UInt64>)
    func `what went from a stopped share to one that had stopped before is kept, though each says it is elsewhere`(
        seed: UInt64
    ) throws {
        let anew = try shareAnew(seed: seed, isFound: true) { laptop, first, second in
            // As a device does that waits for nothing, and takes the first share for the one that stays.
            try laptop.fetchAll()
            try laptop.joinFromPlacements()
            try laptop.fetchAll()
            let (one, two) = try (#require(laptop.zones[first]), #require(laptop.zones[second]))
            try laptop.takeOverContent(of: two, into: one)
            try laptop.stop(two)
        }
        try anew.village.settle()
        for replica in anew.devices {
            #expect(replica.tree(.library).values.sorted() == ["a"], "\(replica.machine.name)")
        }
    }
}
