import ShoeboxLibrary
import ShoeboxModel
import ShoeboxPlanning
import ShoeboxStore
import ShoeboxTestSupport
import Testing

@testable import Shoebox

/// What a photo was called, said and showed before others were let in is for those who could see it then.
@Suite struct SharedPastTests {
    /// Alice with two devices, and Bob. One photo had another name, another caption and other bytes once.
    private func village() throws -> (Village, alice: Replica, second: Replica, bob: Replica) {
        let (village, alice, second) = try Village.twoDevices(
            ["Trip/secret.jpg": secret, "Trip/b.jpg": "bbb"], others: ["bob"])
        try live("Trip", on: alice, village)
        return (village, alice, second, village.replicas[1])
    }

    private let secret = String(repeating: "s", count: 777)

    /// Gives the photo its present name, caption, rating and bytes.
    private func live(_ folder: String, on device: Replica, _ village: Village) throws {
        try device.machine.library.move("\(folder)/secret.jpg", to: "\(folder)/a.jpg")
        try settle(village)
        let photo = device.path("\(folder)/a.jpg")
        for text in ["secret", "another secret", "open"] {
            #expect(device.request(.caption(path: photo, text: text)).code == 0)
        }
        try device.machine.library.write("\(folder)/a.jpg", "open bytes")
        try settle(village)
    }

    private func settle(_ village: Village, _ replicas: [Replica]? = nil) throws {
        for _ in 0..<14 {
            for replica in replicas ?? village.replicas { try replica.round() }
            village.world.clock.advance(milliseconds: 700)
        }
    }

    /// Takes in what is in the folders, without the cloud folder.
    private func lookAround(_ replica: Replica, _ village: Village) throws {
        for _ in 0..<4 {
            _ = try replica.engine.round(.all, reachesContainer: false)
            village.world.clock.advance(milliseconds: 700)
        }
    }

    private func share(_ paths: [String], _ alice: Replica, _ bob: Replica, title: String = "Sea") throws {
        let made = alice.request(
            .shareCreate(
                paths: paths.map { alice.path($0) }, title: title, publicPermission: "none", isSealed: true))
        try #require(made.code == 0, "\(made)")
        try #require(alice.request(.invite(share: title, accounts: ["bob"], permission: "readWrite")).code == 0)
        try #require(bob.request(.accept(link: made.values["link"] ?? "")).code == 0)
    }

    /// Nothing of the past is anywhere in what a device was ever told.
    private func expectNothingTold(to bob: Replica, _ comment: Comment? = nil) throws {
        let values = try bob.store.read { db in
            try db.history(after: 0, limit: .max).flatMap { stored -> [Value] in
                guard case .set(let fields) = stored.change.action else { return [] }
                return Array(fields.values)
            }
        }
        #expect(values.contains(.text("open")), comment)
        for value in values {
            #expect(!value.displayText.contains("secret"), comment)
            #expect(value.asset?.size != UInt64(secret.utf8.count), comment)
        }
    }

    private func finish(_ village: Village, _ alice: Replica, _ second: Replica, _ bob: Replica) throws {
        try #require(try village.settle())
        #expect(alice.tree(.library) == second.tree(.library))
        #expect(bob.tree(.shared).filter { $0.key.hasSuffix("/a.jpg") }.map(\.value) == ["open bytes"])
        try expectNothingTold(to: bob)
        for replica in village.replicas {
            #expect(replica.problems.allSatisfy { $0.code == "ended" }, "\(replica.problems)")
        }
    }

    enum Way: CaseIterable {
        case folder, photo, added, moved, renamedIn, folderRenamedIn, onSecond, again, fromShare, fromShareRenamed
    }

    @Test(arguments: Way.allCases)
    func `former names, captions and contents don't go into a share`(way: Way) throws {
        let (village, alice, second, bob) = try village()
        switch way {
        case .folder: try share(["Trip"], alice, bob)
        case .photo: try share(["Trip/a.jpg"], alice, bob)
        case .onSecond: try share(["Trip"], second, bob)
        case .added:
            try share(["Trip/b.jpg"], alice, bob)
            try settle(village)
            #expect(alice.request(.shareAdd(share: "Sea", paths: [alice.path("Trip/a.jpg")])).code == 0)
        case .moved:
            try alice.machine.library.write("Open/c.jpg", "ccc")
            try settle(village)
            try share(["Open"], alice, bob)
            try settle(village)
            try alice.machine.library.move("Trip/a.jpg", to: "Open/a.jpg")
        case .renamedIn, .folderRenamedIn:
            try alice.machine.library.write("Open/c.jpg", "ccc")
            try alice.machine.library.write("The secret/d.jpg", "ddd")
            try alice.machine.library.move("Trip/a.jpg", to: "Trip/a secret.jpg")
            try settle(village)
            try share(["Open"], alice, bob)
            try settle(village)
            if way == .folderRenamedIn { try alice.machine.library.move("The secret", to: "Open/Day") }
            try alice.machine.library.move("Trip/a secret.jpg", to: "Open/a.jpg")
        case .again:
            try share(["Trip"], alice, bob)
            try settle(village)
            #expect(alice.request(.stop(share: "Sea")).code == 0)
            try settle(village)
            #expect(alice.request(.caption(path: alice.path("Trip/a.jpg"), text: "a new secret")).code == 0)
            #expect(alice.request(.caption(path: alice.path("Trip/a.jpg"), text: "open")).code == 0)
            try share(["Trip"], alice, bob, title: "Lake")
        case .fromShare, .fromShareRenamed:
            // Bob is not in the share that the photo comes from.
            #expect(
                alice.request(
                    .shareCreate(paths: [alice.path("Trip")], title: "Own", publicPermission: "none", isSealed: true)
                ).code == 0)
            try settle(village)
            #expect(alice.request(.caption(path: alice.path("Trip/a.jpg"), text: "a new secret")).code == 0)
            #expect(alice.request(.caption(path: alice.path("Trip/a.jpg"), text: "open")).code == 0)
            try alice.machine.library.write("Open/c.jpg", "ccc")
            let name = way == .fromShare ? "Trip/a.jpg" : "Trip/a secret.jpg"
            if name != "Trip/a.jpg" { try alice.machine.library.move("Trip/a.jpg", to: name) }
            try settle(village)
            try share(["Open"], alice, bob)
            try settle(village)
            try alice.machine.library.move(name, to: "Open/a.jpg")
        }
        try settle(village)
        try finish(village, alice, second, bob)
    }

    @Test func `what was overwritten on a device that knew nothing of the sharing stays behind as well`() throws {
        let (village, alice, second, bob) = try village()
        try second.machine.library.write("Trip/a.jpg", secret + "!")
        try lookAround(second, village)
        for text in ["late secret", "late"] {
            #expect(second.request(.caption(path: second.path("Trip/a.jpg"), text: text)).code == 0)
        }
        try second.machine.library.write("Trip/a.jpg", "late bytes")
        try lookAround(second, village)
        try share(["Trip"], alice, bob)
        try settle(village, [alice, bob])
        try settle(village)
        try #require(try village.settle())
        #expect(bob.tree(.shared)["alice/Sea/a.jpg"] == "late bytes")
        #expect(bob.sidecar("alice/Sea/a.jpg", .shared)?.fields.caption == "late")
        let told = try bob.store.read { db in try db.history(after: 0, limit: .max) }
        for stored in told {
            guard case .set(let fields) = stored.change.action else { continue }
            #expect(fields[.caption]?.text?.contains("secret") != true)
            #expect(fields[.content]?.asset.map { $0.size < 777 } != false)
        }
    }

    @Test func `its owner still has every version, and gives it back to all when asked to`() throws {
        let (village, alice, second, bob) = try village()
        try share(["Trip"], alice, bob)
        try settle(village)
        try finish(village, alice, second, bob)
        for (replica, path, count) in [
            (alice, alice.path("Trip/a.jpg"), 2), (second, second.path("Trip/a.jpg"), 2),
            (bob, bob.path("alice/Sea/a.jpg", .shared), 1),
        ] {
            let id = try #require(try replica.engine.knownRecord(at: path))
            let versions = try replica.store.read { db in try replica.engine.contentVersions(of: id, db) }
            #expect(versions.map { Int($0.asset.size) } == Array([10, 777].prefix(count)))
        }
        for device in [alice, second] {
            let back = device.request(.restoreVersion(path: device.path("Trip/a.jpg"), version: "2"))
            #expect(back.code == 0, "\(back)")
            try settle(village)
            #expect(bob.tree(.shared)["alice/Sea/a.jpg"] == secret)
            let again = bob.request(.restoreVersion(path: bob.path("alice/Sea/a.jpg", .shared), version: "2"))
            #expect(again.code == 0, "\(again)")
            try settle(village)
            #expect(device.tree(.library)["Trip/a.jpg"] == "open bytes")
        }
    }
}
