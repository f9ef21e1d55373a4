import ShoeboxLibrary
import ShoeboxModel
import ShoeboxPlanning
import ShoeboxStore
import ShoeboxTestSupport
import Testing

@testable import Shoebox

/// What was overwritten, taken out of a sidecar, or taken out of a folder is not for the people of the share that the rest goes
/// to, also where all of that was done before anybody looked.
@Suite struct UnseenPastTests {
    private let secret = String(repeating: "s", count: 777)

    /// Alice, who shares `Open` with Bob, and has a photo elsewhere that is not for him as it is.
    private func village() throws -> (Village, alice: Replica, bob: Replica) {
        let (village, alice, _) = try Village.twoDevices(
            ["Trip/a.jpg": secret, "Trip/b.jpg": "bbb", "Open/c.jpg": "ccc", "Work/w.jpg": "www"], others: ["bob"])
        let bob = village.replicas[1]
        #expect(alice.request(.caption(path: alice.path("Trip/a.jpg"), text: "secret")).code == 0)
        #expect(alice.request(.tag(path: alice.path("Trip/a.jpg"), titles: ["secret tag"], isMember: true)).code == 0)
        let made = alice.request(
            .shareCreate(paths: [alice.path("Open")], title: "Open", publicPermission: "none", isSealed: true))
        try #require(made.code == 0, "\(made)")
        try #require(alice.request(.invite(share: "Open", accounts: ["bob"], permission: "readWrite")).code == 0)
        try #require(bob.request(.accept(link: made.values["link"] ?? "")).code == 0)
        try #require(try village.settle())
        _ = alice.machine.library.takeDirty()
        return (village, alice, bob)
    }

    /// Has something done as soon as it can be; as the command does, which tries for a while.
    private func request(_ request: Request, _ alice: Replica, _ village: Village) throws {
        for _ in 0..<20 {
            let reply = alice.request(request)
            if reply.code == 0 { return }
            #expect(
                [ExitCode.busy, ExitCode.notFound].contains(reply.code) && !(reply.remedy ?? "").isEmpty, "\(reply)")
            village.world.clock.advance(milliseconds: 100)
        }
        Issue.record("never done")
    }

    /// Nothing secret is anywhere in what a device was ever told.
    ///
    /// - Parameter bytesOnly: whether what was said of the photo is that of what has its place now.
    private func expectNothingSecret(_ bob: Replica, bytesOnly: Bool = false) throws {
        let told = try bob.store.read { db in try db.history(after: 0, limit: .max) }
        #expect(!told.isEmpty)
        for stored in told {
            guard case .set(let fields) = stored.change.action else { continue }
            for (key, value) in fields {
                #expect(bytesOnly || !value.displayText.contains("secret"), "\(key)")
                #expect(value.asset?.size != UInt64(secret.utf8.count), "\(key)")
            }
        }
    }

    enum Saved: CaseIterable { case inPlace, anew }
    enum Going: CaseIterable { case folderShared, photoShared, added, photoMoved, folderMoved, folderInNewFolder }

    @Test(arguments: Saved.allCases, Going.allCases)
    func `what was overwritten just before a photo went into a share is not in it`(saved: Saved, going: Going) throws {
        let (village, alice, bob) = try village()
        let disk = alice.machine.library
        switch saved {
        case .inPlace: try disk.write("Trip/a.jpg", "open bytes")
        case .anew:
            try disk.write("Trip/a.tmp", "open bytes")
            try disk.move("Trip/a.tmp", to: "Trip/a.jpg")
        }
        let sidecar = String(decoding: try disk.read("Trip/a.jpg.json"), as: UTF8.self)
        try disk.write(
            "Trip/a.jpg.json",
            sidecar.replacing("\"secret tag\"", with: "\"open tag\"").replacing("\"secret\"", with: "\"open\""))
        var place = "Open/a.jpg"
        switch going {
        case .folderShared, .photoShared:
            let path = going == .folderShared ? "Trip" : "Trip/a.jpg"
            try request(
                .shareCreate(paths: [alice.path(path)], title: "Sea", publicPermission: "none", isSealed: true), alice,
                village)
            try #require(alice.request(.invite(share: "Sea", accounts: ["bob"], permission: "readWrite")).code == 0)
            try village.pass(6)
            try #require(bob.request(.acceptAllPending).code == 0)
            place = "Sea/a.jpg"
        case .added: try request(.shareAdd(share: "Open", paths: [alice.path("Trip/a.jpg")]), alice, village)
        case .photoMoved:
            for suffix in [".json", ""] { try disk.move("Trip/a.jpg\(suffix)", to: "Open/a.jpg\(suffix)") }
        case .folderMoved:
            try disk.move("Trip", to: "Open/Trip")
            place = "Open/Trip/a.jpg"
        case .folderInNewFolder:
            try disk.move("Trip", to: "Open/New/Trip")
            place = "Open/New/Trip/a.jpg"
        }
        try #require(try village.settle())
        #expect(bob.tree(.shared)["alice/\(place)"] == "open bytes")
        let shown = bob.sidecar("alice/\(place)", .shared)?.fields
        #expect(shown?.caption == "open")
        #expect(shown?.tags == ["open tag"])
        try expectNothingSecret(bob)
    }

    enum Taken: CaseIterable { case out, outWithSidecar, swapped, deleted }

    @Test(arguments: Taken.allCases)
    func `a photo that gave its place to another one just before its folder went into a share is not in it`(
        taken: Taken
    ) throws {
        let (village, alice, bob) = try village()
        let disk = alice.machine.library
        switch taken {
        case .out, .outWithSidecar:
            try disk.move("Trip/a.jpg", to: "Work/a.jpg")
            if taken == .outWithSidecar {
                try disk.move("Trip/a.jpg.json", to: "Work/a.jpg.json")
            } else {
                try disk.delete("Trip/a.jpg.json")
            }
            try disk.write("Trip/a.jpg", "open bytes")
        case .swapped:
            try disk.write("Work/w.jpg", "open bytes")
            try disk.move("Trip/a.jpg.json", to: "Work/w.jpg.json")
            try disk.move("Trip/a.jpg", to: "Work/aside.jpg")
            try disk.move("Work/w.jpg", to: "Trip/a.jpg")
            try disk.move("Work/aside.jpg", to: "Work/w.jpg")
        case .deleted:
            try disk.delete("Trip/a.jpg")
            try disk.delete("Trip/a.jpg.json")
            try disk.move("Work/w.jpg", to: "Trip/a.jpg")
        }
        try disk.move("Trip", to: "Open/Trip")
        village.world.clock.advance(milliseconds: 60_000)
        try #require(try village.settle())
        let shown = bob.tree(.shared)["alice/Open/Trip/a.jpg"]
        #expect(shown == (taken == .deleted ? "www" : "open bytes"))
        #expect(bob.tree(.shared)["alice/Open/Trip/b.jpg"] == "bbb")
        try expectNothingSecret(bob, bytesOnly: taken == .deleted)
        if taken != .deleted {
            let kept = taken == .swapped ? "Work/w.jpg" : "Work/a.jpg"
            #expect(alice.tree(.library)[kept] == secret)
            #expect(alice.sidecar(kept, .library)?.fields.caption == "secret")
        }
    }

    @Test func `a library that was put back to a backup brings back nothing of what was before the share`() throws {
        let (village, alice, bob) = try village()
        let disk = alice.machine.library
        let backup = disk.snapshot()
        try disk.write("Trip/a.jpg", "open bytes")
        #expect(alice.request(.caption(path: alice.path("Trip/a.jpg"), text: "open")).code == 0)
        #expect(
            alice.request(.tag(path: alice.path("Trip/a.jpg"), titles: ["secret tag"], isMember: false)).code == 0)
        try #require(try village.settle())
        try request(
            .shareCreate(paths: [alice.path("Trip")], title: "Sea", publicPermission: "none", isSealed: true), alice,
            village)
        try #require(alice.request(.invite(share: "Sea", accounts: ["bob"], permission: "readWrite")).code == 0)
        try village.pass(6)
        try #require(bob.request(.acceptAllPending).code == 0)
        try #require(try village.settle())
        disk.restore(backup)
        try alice.restart()
        try #require(try village.settle())
        #expect(bob.tree(.shared)["alice/Sea/a.jpg"] == "open bytes")
        #expect(bob.tree(.shared).count == 3)
        for (replica, path, root) in [
            (alice, "Trip/a.jpg", RootKind.library), (bob, "alice/Sea/a.jpg", .shared),
        ] {
            #expect(replica.sidecar(path, root)?.fields.caption == "open", "\(replica.label)")
            #expect(replica.sidecar(path, root)?.fields.tags ?? [] == [], "\(replica.label)")
        }
        try expectNothingSecret(bob)
    }

    @Test(arguments: [false, true])
    func `a photo in whose place a folder stands by now is not shared by that folder's name, nor with the one it is in`(
        isWhole: Bool
    ) throws {
        let (village, alice, bob) = try village()
        let disk = alice.machine.library
        try disk.delete("Trip/a.jpg")
        try disk.write("Trip/a.jpg/inside.jpg", "inside")
        let path = alice.path(isWhole ? "Trip" : "Trip/a.jpg")
        try request(
            .shareCreate(paths: [path], title: "New", publicPermission: "none", isSealed: true), alice, village)
        try #require(alice.request(.invite(share: "New", accounts: ["bob"], permission: "readWrite")).code == 0)
        try #require(bob.request(.acceptAllPending).code == 0)
        try #require(try village.settleDeletions())
        try expectNothingSecret(bob)
        let place = isWhole ? "alice/New/a.jpg/inside.jpg" : "alice/New/inside.jpg"
        #expect(bob.tree(.shared)[place] == "inside", "\(bob.tree(.shared))")
    }

    @Test func `a folder of private copies that was shared gets no more of them`() throws {
        let party = try Party(bob: "readOnly")
        let (bob, carol, village) = (party.bob, party.carol, party.village)
        func edit(_ text: String) throws {
            try bob.machine.shared.setMode("alice/Summer/a.jpg", 0o644)
            try bob.machine.shared.write("alice/Summer/a.jpg", text)
            try #require(try village.settle())
        }
        try edit("first")
        let folder = "Private copies of Summer"
        #expect(bob.tree(.library) == [folder + "/a.jpg": "first"])
        let made = bob.request(
            .shareCreate(paths: [bob.path(folder)], title: "Mine", publicPermission: "none", isSealed: true))
        try #require(made.code == 0, "\(made)")
        try #require(bob.request(.invite(share: "Mine", accounts: ["carol"], permission: "readOnly")).code == 0)
        try #require(carol.request(.accept(link: made.values["link"] ?? "")).code == 0)
        try #require(try village.settle())
        try edit("for me alone")
        try #require(try village.settle())
        #expect(bob.tree(.library) == [folder + "/a.jpg": "first", folder + " 2/a.jpg": "for me alone"])
        #expect(!carol.tree(.shared).values.contains("for me alone"))
    }

    @Test func `of a photo that was edited twice at once only what shows is shared with it`() throws {
        let (village, alice, bob) = try village()
        let second = village.replicas[2]
        try alice.machine.library.write("Trip/b.jpg", secret, saving: .replacing)
        _ = try alice.engine.round(.all)
        village.world.clock.advance(milliseconds: 60_000)
        try second.machine.library.write("Trip/b.jpg", "shown", saving: .replacing)
        try #require(try village.settle())
        try request(
            .shareAdd(share: "Open", paths: [alice.path("Trip/b.jpg")]), alice, village)
        try #require(try village.settle())
        try expectNothingSecret(bob, bytesOnly: true)
        #expect(bob.tree(.shared).values.sorted() == ["ccc", "shown"], "\(bob.tree(.shared))")
        for device in [alice, second] {
            let copies = device.tree(.library).filter { $0.value == secret }.keys
            #expect(copies.count == 2 && copies.allSatisfy { $0.hasPrefix("Trip/") }, "\(copies)")
        }
        // With all of the folder the copy goes, too.
        let made = alice.request(
            .shareCreate(paths: [alice.path("Trip")], title: "Trip", publicPermission: "none", isSealed: true))
        try #require(made.code == 0, "\(made)")
        try #require(alice.request(.invite(share: "Trip", accounts: ["bob"], permission: "readWrite")).code == 0)
        try #require(bob.request(.acceptAllPending).code == 0)
        try #require(try village.settle())
        #expect(bob.tree(.shared).values.count { $0 == secret } == 2, "\(bob.tree(.shared))")
    }
}
