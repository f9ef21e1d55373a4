import Shoebox
import ShoeboxLibrary
import ShoeboxModel
import ShoeboxPlanning
import ShoeboxStore
import ShoeboxTestSupport
import ShoeboxWorld
import Testing

/// A folder with a share in it becomes a share, too: each has what is its own, and the owner's tree stays as it is.
@Suite struct NestedShareTests {
    private static let content = ["Trip/a.jpg": "aaa", "Trip/Sea/b.jpg": "bbb", "Trip/Sea/deep/c.jpg": "ccc"]

    /// Alice with two devices, who shares folders one after another, each with somebody.
    private struct Scene {
        var village: Village
        let alice: Replica
        let bob: Replica
        let carol: Replica
        let laptop: Replica

        init(_ files: [String: String] = content) throws {
            (village, alice, laptop) = try Village.twoDevices(files, others: ["bob", "carol"])
            (bob, carol) = (village.replicas[1], village.replicas[2])
        }

        func share(_ paths: [String], as title: String, with guest: Replica) throws {
            let made = alice.request(
                .shareCreate(
                    paths: paths.map { alice.path($0) }, title: title, publicPermission: "none", isSealed: true))
            try #require(made.code == 0, "\(made)")
            try must(.invite(share: title, accounts: [guest.label], permission: "readWrite"))
            try #require(try village.settle())
            let accepted = guest.request(.accept(link: made.values["link"] ?? ""))
            try #require(accepted.code == 0, "\(accepted)")
            try #require(try village.settle())
        }

        func must(_ request: Request) throws {
            let reply = alice.request(request)
            try #require(reply.code == 0, "\(reply)")
        }

        /// Checks what everybody shows, and that nobody has anything in the trash.
        func expect(
            alice own: [String: String], bob his: [String: String], carol hers: [String: String],
            sourceLocation: SourceLocation = #_sourceLocation
        ) throws {
            #expect(try village.settle(), sourceLocation: sourceLocation)
            for device in [alice, laptop] {
                #expect(device.tree(.library) == own, "\(device.machine.name)", sourceLocation: sourceLocation)
                #expect(device.problems.isEmpty, "\(device.problems)", sourceLocation: sourceLocation)
                let trash = device.machine.library.tree().keys.filter { $0.hasPrefix(".shoebox/trash/") }
                #expect(trash.isEmpty, sourceLocation: sourceLocation)
            }
            #expect(bob.tree(.shared) == his, sourceLocation: sourceLocation)
            #expect(carol.tree(.shared) == hers, sourceLocation: sourceLocation)
        }
    }

    private static let bobs = ["alice/Sea/b.jpg": "bbb", "alice/Sea/deep/c.jpg": "ccc"]

    @Test func `sharing a folder in which another share lies leaves that as it is`() throws {
        let scene = try Scene()
        try scene.share(["Trip/Sea"], as: "Sea", with: scene.bob)
        try scene.share(["Trip"], as: "Trip", with: scene.carol)
        try scene.expect(alice: Self.content, bob: Self.bobs, carol: ["alice/Trip/a.jpg": "aaa"])
        // What comes later goes where it is put.
        try scene.alice.machine.library.write("Trip/Sea/d.jpg", "ddd")
        try scene.laptop.machine.library.write("Trip/e.jpg", "eee")
        try scene.bob.machine.shared.write("alice/Sea/f.jpg", "fff")
        try scene.expect(
            alice: Self.content.merging(["Trip/Sea/d.jpg": "ddd", "Trip/e.jpg": "eee", "Trip/Sea/f.jpg": "fff"]) { $1 },
            bob: Self.bobs.merging(["alice/Sea/d.jpg": "ddd", "alice/Sea/f.jpg": "fff"]) { $1 },
            carol: ["alice/Trip/a.jpg": "aaa", "alice/Trip/e.jpg": "eee"])
    }

    @Test func `a share in a shared folder is renamed with it, in it, and stays when that is stopped`() throws {
        let scene = try Scene()
        try scene.share(["Trip/Sea"], as: "Sea", with: scene.bob)
        try scene.share(["Trip"], as: "Trip", with: scene.carol)
        try scene.alice.machine.library.move("Trip/Sea", to: "Trip/Lake")
        try scene.village.pass(4)
        try scene.laptop.machine.library.move("Trip", to: "Tour")
        let renamed = ["Tour/a.jpg": "aaa", "Tour/Lake/b.jpg": "bbb", "Tour/Lake/deep/c.jpg": "ccc"]
        try scene.expect(alice: renamed, bob: Self.bobs, carol: ["alice/Trip/a.jpg": "aaa"])
        try scene.must(.stop(share: "Trip"))
        try scene.expect(alice: renamed, bob: Self.bobs, carol: [:])
        try scene.must(.stop(share: "Sea"))
        try scene.expect(alice: renamed, bob: [:], carol: [:])
    }

    @Test func `a share that is stopped in a folder that is shared, too, is what the folder is`() throws {
        let scene = try Scene()
        try scene.share(["Trip/Sea"], as: "Sea", with: scene.bob)
        try scene.share(["Trip"], as: "Trip", with: scene.carol)
        try scene.must(.stop(share: "Sea"))
        try scene.expect(
            alice: Self.content, bob: [:],
            carol: ["alice/Trip/a.jpg": "aaa", "alice/Trip/Sea/b.jpg": "bbb", "alice/Trip/Sea/deep/c.jpg": "ccc"])
        try scene.must(.stop(share: "Trip"))
        try scene.expect(alice: Self.content, bob: [:], carol: [:])
    }

    @Test func `photos of a selection stay in it when their folder is shared`() throws {
        let scene = try Scene(["Trip/a.jpg": "aaa", "Trip/z.jpg": "zzz", "Other/x.jpg": "xxx"])
        try scene.share(["Trip/a.jpg", "Other/x.jpg"], as: "Best", with: scene.bob)
        try scene.share(["Trip"], as: "Trip", with: scene.carol)
        let best = ["alice/Best/a.jpg": "aaa", "alice/Best/x.jpg": "xxx"]
        try scene.expect(
            alice: ["Trip/a.jpg": "aaa", "Trip/z.jpg": "zzz", "Other/x.jpg": "xxx"], bob: best,
            carol: ["alice/Trip/z.jpg": "zzz"])
        try scene.alice.machine.library.move("Trip/a.jpg", to: "Trip/b.jpg")
        try scene.expect(
            alice: ["Trip/b.jpg": "aaa", "Trip/z.jpg": "zzz", "Other/x.jpg": "xxx"],
            bob: ["alice/Best/b.jpg": "aaa", "alice/Best/x.jpg": "xxx"], carol: ["alice/Trip/z.jpg": "zzz"])
        try scene.must(.stop(share: "Trip"))
        try scene.expect(
            alice: ["Trip/b.jpg": "aaa", "Trip/z.jpg": "zzz", "Other/x.jpg": "xxx"],
            bob: ["alice/Best/b.jpg": "aaa", "alice/Best/x.jpg": "xxx"], carol: [:])
    }

    @Test func `a folder is added to a selection that has one of its photos already`() throws {
        let scene = try Scene(["Trip/a.jpg": "aaa", "Trip/z.jpg": "zzz", "Other/x.jpg": "xxx"])
        try scene.share(["Trip/a.jpg", "Other/x.jpg"], as: "Best", with: scene.bob)
        try scene.must(.shareAdd(share: "Best", paths: [scene.alice.path("Trip")]))
        let own = ["Trip/a.jpg": "aaa", "Trip/z.jpg": "zzz", "Other/x.jpg": "xxx"]
        try scene.expect(
            alice: own, bob: ["alice/Best/a.jpg": "aaa", "alice/Best/Trip/z.jpg": "zzz", "alice/Best/x.jpg": "xxx"],
            carol: [:])
        try scene.must(.stop(share: "Best"))
        try scene.expect(alice: own, bob: [:], carol: [:])
    }

    @Test func `a folder with a share in it that is moved into another share takes the share's folder along`() throws {
        let scene = try Scene(Self.content.merging(["Summer/s.jpg": "sss"]) { $1 })
        try scene.share(["Trip/Sea"], as: "Sea", with: scene.bob)
        try scene.share(["Summer"], as: "Summer", with: scene.carol)
        try scene.alice.machine.library.move("Trip", to: "Summer/Trip")
        try scene.expect(
            alice: [
                "Summer/s.jpg": "sss", "Summer/Trip/a.jpg": "aaa", "Summer/Trip/Sea/b.jpg": "bbb",
                "Summer/Trip/Sea/deep/c.jpg": "ccc",
            ], bob: Self.bobs, carol: ["alice/Summer/s.jpg": "sss", "alice/Summer/Trip/a.jpg": "aaa"])
    }
}
