import ShoeboxCloud
import ShoeboxLibrary
import ShoeboxModel
import ShoeboxStore
import ShoeboxTestSupport
import ShoeboxWorld
import Testing

@testable import Shoebox

// What there is before a deed.

extension Stage {
    /// What has happened to whom the deed is about.
    func prepare() throws {
        let library = alice.machine.library
        let others = bob.machine.shared
        let photo = alice.path("Summer/a.jpg")
        switch deed {
        case .mirroring: for number in 0..<6 { try library.write("Summer/new/\(number).jpg", "new \(number)") }
        case .overwritten: try library.write("Summer/a.jpg", "other", saving: .replacing)
        case .renamed:
            try library.move("Summer/deep/b.jpg", to: "Summer/deep/z.jpg")
            try library.move("Summer/deep", to: "Summer/deeper")
        case .swapped:
            try library.write("Summer/d.jpg", "ddd")
            try rest()
            try must(caption("of a"))
            try must(alice.request(.caption(path: alice.path("Summer/d.jpg"), text: "of d")))
            try rest()
            try library.move(
                try #require(RelativePath("Summer/a.jpg")), to: try #require(RelativePath("Summer/d.jpg")),
                mode: .exchange)
        case .deleted: try library.delete("Summer/deep")
        case .deletedTheirs:
            try others.delete("alice/Summer/deep/b.jpg")
            try rounds(of: bob, 4, after: 40_000)
        case .readOnlyEdit:
            try must(alice.request(.permission(share: "Summer", account: "bob", permission: "readOnly")))
            try rest()
        case .sidecarSeen: try must(caption("seen"))
        case .sidecarMended:
            try must(caption("mine"))
            try rest()
            try library.write("Summer/a.jpg.json", "{ broken")
            try rest()
            try #require(alice.problems.map(\.code) == ["sidecarBroken"])
        case .segmentMended:
            let known = try Set(village.mountFiles("zones/"))
            try must(caption("damaged"))
            try rounds(of: alice, 2, after: 1000)
            let segments = try village.mountFiles("zones/").filter { !known.contains($0) && "\($0)".contains("/log/") }
            let path = try #require(segments.first)
            segment = (path, try #require(village.world.storage.rawRead(path)))
            village.world.storage.rawWrite(path, Array("scribble".utf8))
            try rounds(of: bob, 3, after: 1000)
            try #require(bob.problems.map(\.code) == ["segmentDamaged"])
            return
        case .movingOut, .movingIn, .changingPlaces:
            try bob.machine.library.write("m.jpg", "mmm")
            try rest()
            try must(caption("of a"))
            try must(bob.request(.caption(path: bob.path("m.jpg"), text: "of m")))
            try rest()
            return
        case .conflict:
            try library.write("Summer/a.jpg", "by alice")
            try must(caption("by alice"))
        case .resolve:
            try must(caption("by alice"))
            try must(bob.request(.caption(path: bob.path("alice/Summer/a.jpg", .shared), text: "by bob")))
            try rest()
        case .joined:
            try must(bob.request(.accept(link: link)))
            for _ in 0..<2 { try bob.round() }
            return
        case .demoted:
            try others.write("alice/Summer/a.jpg", "too late")
            try must(alice.request(.permission(share: "Summer", account: "bob", permission: "readOnly")))
        case .revoked: try must(alice.request(.uninvite(share: "Summer", accounts: ["bob"])))
        case .ended, .endedKeeping: try must(alice.request(.stop(share: "Summer")))
        case .restoreShare:
            try others.delete("alice/Summer")
            try rounds(of: bob, 3, after: 40_000)
            return
        case .tagRenameOwn, .tagDeleteOwn:
            try must(alice.request(.tag(path: alice.path("Private/c.jpg"), titles: ["own"], isMember: true)))
            try rest()
        case .renamedEdited:
            try must(caption("of a"))
            try rest()
            for suffix in ["", ".json"] { try library.move("Summer/a.jpg" + suffix, to: "Summer/z.jpg" + suffix) }
            try library.write("Summer/a.jpg", "new")
        case .swappedFolders:
            try library.write("Summer/more/d.jpg", "ddd")
            try rest()
            try library.move(
                try #require(RelativePath("Summer/deep")), to: try #require(RelativePath("Summer/more")),
                mode: .exchange)
        case .movingReplaced, .swappingSaved, .movingSaved:
            try library.write("Summer/d.jpg", "ddd")
            try library.write("Summer/deep/e.jpg", "eee")
            try rest()
            try must(caption("of a"))
            try must(alice.request(.caption(path: alice.path("Summer/d.jpg"), text: "of d")))
            try rest()
        case .swapping:
            // It goes where its photo goes.
            try must(caption("of a"))
            try rest()
        case .ask, .admit, .refuse:
            let made = alice.request(
                .makeLink(share: "Summer", permission: "readWrite", expiresMilliseconds: 0, count: 0, asks: true))
            try must(made)
            link = try #require(made.values["link"])
            try rest()
            guard deed != .ask else { return }
            try #require(bob.request(.ask(link: link)).code == ExitCode.reported)
            try rest()
        case .renewLink, .unpublish:
            try must(bob.request(.accept(link: link)))
            try rest()
        case .declineTransfer, .withdrawTransfer:
            try must(alice.request(.transfer(share: "Summer", account: "bob", stays: "readWrite")))
            try rest()
        case .approve, .admitKeys:
            let world = try #require(pendingMachine).world
            let fresh = try PendingDevice(
                label: "laptop", accountLabel: "alice", code: PairingCode(randomBytes: world.randomBytes),
                randomBytes: world.randomBytes)
            pending = fresh
            if deed == .approve { try ask(fresh) }
        case .takeOver, .handedOver:
            try must(alice.request(.transfer(share: "Summer", account: "bob", stays: "readWrite")))
            try rest()
            if deed == .handedOver {
                try must(bob.request(.transferAnswer(share: "Summer", accepts: true)))
                for _ in 0..<3 { try bob.round() }
            }
            return
        case .undo:
            try must(caption("to be undone"))
            // Bob has a sidecar that says it; one that says nothing any more stays with him.
            try rest()
        case .restoreTrash:
            // What others delete goes to the trash.
            try others.delete("alice/Summer/deep/b.jpg")
            try rest()
        case .restoreVersion:
            try library.write("Summer/a.jpg", "second")
            try rest()
        case .restoreContent:
            try library.write("Summer/a.jpg", "")
            try rest()
        case .emptyTrash:
            try others.write("alice/Summer/a.jpg", "over")
            try rest()
        case .confirmDeletions, .rejectDeletions:
            for replica in village.replicas { replica.tune = { $0.massDeletionCount = 1 } }
            for number in 0..<8 { try library.write("Many/\(number).jpg", "many \(number)") }
            try rest()
            try library.delete("Many")
            try rounds(of: alice, 3, after: 40_000)
            try #require(alice.problems.contains { $0.code == "massDeletion" }, "\(alice.problems)")
        case .compact:
            for replica in village.replicas {
                replica.tune = {
                    $0.compactSegmentsMin = 6
                    $0.compactSegmentsMax = 6
                    $0.compactGraceMilliseconds = 3_600_000
                }
            }
            for number in 0..<8 {
                try must(number % 2 == 0 ? caption("\(number)") : alice.request(.rate(path: photo, value: number % 5)))
                try rounds(of: alice, 2, after: 700)
            }
            try rest()
        case .rebuild:
            let machine = alice.machine
            let (identity, _) = try alice.identity.makeSecondDevice(
                deviceLabel: "again", nowMilliseconds: machine.world.nowMilliseconds(),
                randomBytes: machine.world.randomBytes)
            try alice.restart(store: try Store(), identity: identity)
            try alice.engine.setUp(host: machine.name, takeOver: true)
            return
        case .repair:
            let storage = village.world.storage
            for path in try village.mountFiles("assets/") { storage.rawRemove(path) }
            for path in try village.mountFiles("zones/\(zone)/control/") { storage.rawRemove(path) }
        case .recreate:
            let storage = village.world.storage
            for path in storage.tree().keys { storage.rawRemove(try #require(MountPath(path))) }
            for name in storage.rawList(.root) { storage.rawRemove(try #require(MountPath(name))) }
            return
        case .copiedState:
            let (copy, identity) = (try alice.store.backup(), alice.identity)
            try must(caption("after the copy was made"))
            try library.write("Summer/a.jpg", "second")
            try rest()
            try alice.restart(store: copy, identity: identity)
            try must(alice.request(.rate(path: photo, value: 4)))
            return
        case .restoredContainer:
            let backup = village.world.storage.snapshot()
            try must(caption("after the backup"))
            try library.write("Summer/e.jpg", "eee")
            try rest()
            village.world.storage.restore(backup)
            return
        case .retired: try must(try #require(laptop).request(.deviceRetire(name: "alice")))
        default: return
        }
        try rounds(of: alice, 3, after: 2_000)
    }
}
