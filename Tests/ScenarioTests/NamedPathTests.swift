import Foundation
import ShoeboxLibrary
import ShoeboxModel
import ShoeboxPlanning
import ShoeboxStore
import ShoeboxTestSupport
import Testing

@testable import Shoebox

/// A command means what lies under the path that it names when it is given, whatever lay there when anybody last looked.
@Suite struct NamedPathTests {
    private func village() throws -> (Village, Replica) {
        let (village, alice, _) = try Village.twoDevices(
            ["Trip/a.jpg": "the photo", "Trip/b.jpg": "bbb", "Home/c.jpg": "ccc"], others: ["bob"])
        #expect(alice.request(.caption(path: alice.path("Trip/a.jpg"), text: "of the photo")).code == 0)
        try #require(try village.settle())
        return (village, alice)
    }

    /// A photo is moved elsewhere, and another one is written under its name.
    private func replace(_ alice: Replica) throws {
        try alice.machine.library.move("Trip/a.jpg", to: "Home/a.jpg")
        try alice.machine.library.write("Trip/a.jpg", "another photo")
    }

    /// Gives a command until it is not refused because the file was not taken yet, as the command line does.
    private func insist(_ request: Request, _ alice: Replica, _ village: Village) throws -> Reply {
        for _ in 0..<20 {
            let reply = alice.request(request)
            guard reply.code == ExitCode.notFound else { return reply }
            village.world.clock.advance(milliseconds: 200)
        }
        return alice.request(request)
    }

    @Test(arguments: [0, 5_000] as [UInt64])
    func `a caption is the new photo's under the name of one that was moved away`(waiting: UInt64) throws {
        let (village, alice) = try village()
        try replace(alice)
        village.world.clock.advance(milliseconds: waiting)
        let reply = try insist(.caption(path: alice.path("Trip/a.jpg"), text: "of another"), alice, village)
        #expect(reply.code == 0, "\(reply)")
        try #require(try village.settle())
        for replica in village.replicas.prefix(1) {
            #expect(replica.tree(.library)["Home/a.jpg"] == "the photo")
            #expect(replica.tree(.library)["Trip/a.jpg"] == "another photo")
            #expect(replica.sidecar("Home/a.jpg", .library)?.fields.caption == "of the photo")
            #expect(replica.sidecar("Trip/a.jpg", .library)?.fields.caption == "of another")
        }
    }

    @Test(arguments: [0, 5_000] as [UInt64])
    func `a photo that was moved away keeps its caption when its folder, renamed since, is shared`(
        waiting: UInt64
    ) throws {
        let (village, alice) = try village()
        try alice.machine.library.move("Trip", to: "Journey")
        try alice.machine.library.move("Journey/a.jpg", to: "Home/a.jpg")
        try alice.machine.library.write("Journey/a.jpg", "another photo")
        village.world.clock.advance(milliseconds: waiting)
        let request = Request.shareCreate(
            paths: [alice.path("Journey")], title: "Journey", publicPermission: "none", isSealed: true)
        let reply = try insist(request, alice, village)
        #expect(reply.code == 0, "\(reply)")
        try #require(try village.settle())
        #expect(alice.tree(.library)["Home/a.jpg"] == "the photo")
        #expect(alice.sidecar("Home/a.jpg", .library)?.fields.caption == "of the photo")
        #expect(alice.sidecar("Journey/a.jpg", .library)?.fields.caption == nil)
    }

    @Test(arguments: [0, 5_000] as [UInt64])
    func `what is taken out of a share is what lies there`(waiting: UInt64) throws {
        let (village, alice) = try village()
        let bob = try #require(village.replicas.first { $0.label == "bob" })
        let made = alice.request(
            .shareCreate(paths: [alice.path("Trip")], title: "Trip", publicPermission: "none", isSealed: true))
        #expect(alice.request(.invite(share: "Trip", accounts: ["bob"], permission: "readWrite")).code == 0)
        #expect(bob.request(.accept(link: made.values["link"] ?? "")).code == 0)
        try alice.machine.library.write("Trip/Sea/d.jpg", "ddd")
        try #require(try village.settle())
        try alice.machine.library.move("Trip/a.jpg", to: "Trip/Sea/a.jpg")
        try alice.machine.library.write("Trip/a.jpg", "another photo")
        village.world.clock.advance(milliseconds: waiting)
        let reply = try insist(.shareRemove(share: "Trip", paths: [alice.path("Trip/a.jpg")]), alice, village)
        #expect(reply.code == 0, "\(reply)")
        try #require(try village.settle())
        #expect(
            alice.tree(.library) == [
                "a.jpg": "another photo", "Trip/Sea/a.jpg": "the photo", "Trip/Sea/d.jpg": "ddd", "Trip/b.jpg": "bbb",
                "Home/c.jpg": "ccc",
            ])
        #expect(
            bob.tree(.shared) == [
                "alice/Trip/Sea/a.jpg": "the photo", "alice/Trip/Sea/d.jpg": "ddd", "alice/Trip/b.jpg": "bbb",
            ])
    }

    @Test func `a photo that was just removed is not edited, and does not come back by that`() throws {
        let (village, alice) = try village()
        try alice.machine.library.delete("Trip/a.jpg")
        let reply = alice.request(.caption(path: alice.path("Trip/a.jpg"), text: "late"))
        #expect(reply.code == ExitCode.notFound)
        #expect(reply.lines.contains { $0.contains("any more") }, "\(reply)")
        try #require(try village.settle())
        #expect(alice.tree(.library) == ["Trip/b.jpg": "bbb", "Home/c.jpg": "ccc"])
    }

    enum Exchange: CaseIterable { case swap, newFolder, inside }

    /// A private folder is moved away, and another one lies under its name, or the same with what it lies in.
    private func exchange(_ way: Exchange, _ alice: Replica) throws {
        let disk = alice.machine.library
        switch way {
        case .swap:
            try disk.move("Year/Trip", to: "aside")
            try disk.move("Home", to: "Year/Trip")
            try disk.move("aside", to: "Home")
        case .newFolder:
            try disk.move("Year/Trip", to: "Private")
            try disk.write("Year/Trip/c.jpg", "ccc")
        case .inside:
            try disk.move("Year", to: "Private")
            try disk.move("Home", to: "Year/Trip")
        }
    }

    @Test(arguments: Exchange.allCases, [0, 5_000] as [UInt64])
    func `a folder that is shared is the one that lies under the path, and not the private one that lay there`(
        way: Exchange, waiting: UInt64
    ) throws {
        let (village, alice, _) = try Village.twoDevices(
            ["Year/Trip/secret.jpg": "secret", "Home/c.jpg": "ccc"], others: ["bob"])
        let bob = try #require(village.replicas.first { $0.label == "bob" })
        try exchange(way, alice)
        village.world.clock.advance(milliseconds: waiting)
        let made = try insist(
            .shareCreate(paths: [alice.path("Year/Trip")], title: "Trip", publicPermission: "none", isSealed: true),
            alice,
            village)
        #expect(made.code == 0, "\(made)")
        #expect(alice.request(.invite(share: "Trip", accounts: ["bob"], permission: "readWrite")).code == 0)
        #expect(bob.request(.accept(link: made.values["link"] ?? "")).code == 0)
        try #require(try village.settle())
        #expect(bob.tree(.shared) == ["alice/Trip/c.jpg": "ccc"])
        #expect(alice.tree(.library)["Year/Trip/c.jpg"] == "ccc")
        #expect(!bob.machine.shared.tree().values.contains { String(decoding: $0, as: UTF8.self) == "secret" })
        let told = try bob.store.read { db in try db.history(after: 0, limit: .max).map { "\($0.change)" } }
        #expect(!told.contains { $0.contains("secret") })
    }
}
