import Shoebox
import ShoeboxCloud
import ShoeboxLibrary
import ShoeboxModel
import ShoeboxPlanning
import ShoeboxStore
import ShoeboxTestSupport
import ShoeboxWorld
import Testing

/// A state directory that was put back to a backup: the folders show more than it knows.
@Suite struct RestoredStateTests {
    /// What somebody else did after the backup, and the device had shown.
    enum Since: CaseIterable { case said, overwritten, added, renamed }

    private let shared = "alice/Summer/"

    @Test(arguments: Since.allCases, [false, true])
    func `what a restored state does not know of its own folder is not taken for new`(
        since: Since, isContainerAway: Bool
    ) throws {
        let party = try Party(bob: "readWrite")
        var village = party.village
        let library = party.alice.machine.library
        #expect(
            party.bob.request(.tag(path: party.bob.path(shared + "a.jpg", .shared), titles: ["old"], isMember: true))
                .code == 0)
        try #require(try village.settle())
        let backup = (store: try party.bob.store.backup(), identity: party.bob.identity)
        var name = "a.jpg"
        switch since {
        case .said:
            #expect(party.alice.request(.caption(path: party.alice.path("Summer/a.jpg"), text: "Lake")).code == 0)
            #expect(
                party.alice.request(.tag(path: party.alice.path("Summer/a.jpg"), titles: ["sun"], isMember: true)).code
                    == 0)
        case .overwritten: try library.write("Summer/a.jpg", "edited", saving: .replacing)
        case .added:
            name = "n.jpg"
            try library.write("Summer/n.jpg", "new")
            try library.write("Summer/n.jpg.json", #"{"format": "shoebox.sidecar/1", "caption": "new"}"#)
        case .renamed:
            name = "z.jpg"
            try library.move("Summer/a.jpg", to: "Summer/z.jpg")
        }
        try #require(try village.settle())
        #expect(party.bob.tree(.shared)[shared + name] == party.alice.tree(.library)["Summer/" + name])
        // Bob's device is off. Alice deletes the photo.
        village.replicas = [party.alice, party.carol]
        try library.delete("Summer/" + name)
        try #require(try village.settleDeletions())
        try party.bob.restart(store: backup.store, identity: backup.identity)
        if isContainerAway {
            party.bob.machine.mount.attach(.missing)
            let before = party.bob.tree(.shared)
            try party.bob.machine.shared.write(shared + "mine.jpg", "mine")
            try party.rounds(of: party.bob, 4)
            #expect(Set(party.bob.problems.map(\.code)) == ["restoredState", "offline"])
            #expect(party.bob.tree(.shared) == before.merging([shared + "mine.jpg": "mine"]) { $1 })
            party.bob.machine.mount.mount()
        }
        village.replicas = [party.alice, party.bob, party.carol]
        try #require(try village.settleDeletions())
        try village.meet()
        try #require(try village.settleDeletions())
        if isContainerAway {
            #expect(party.alice.tree(.library)["Summer/mine.jpg"] == "mine")
            #expect(party.bob.problems.isEmpty, "\(party.bob.problems)")
        }
        for (replica, root) in [(party.alice, RootKind.library), (party.bob, .shared), (party.carol, .shared)] {
            let shown = replica.tree(root, sidecars: true).keys.filter { $0.contains("Summer/" + name) }
            #expect(shown.isEmpty, "\(replica.label): \(shown)")
        }
    }

    /// What had not been published yet when the state was backed up, and was afterwards.
    enum Waiting: CaseIterable { case photo, edit, caption }

    /// What came after it was published.
    enum Then: CaseIterable { case nothing, another, folded }

    /// Of an edit that was folded away nothing tells that it was published: it is, once more.
    static let waits = Waiting.allCases.flatMap { waiting in
        Then.allCases.filter { waiting == .photo || $0 != .folded }.map { (waiting, $0) }
    }

    @Test(arguments: waits)
    func `what waited when a state was backed up, and was published since, is not published once more`(
        waiting: Waiting, then: Then
    ) throws {
        let party = try Party(bob: "readWrite")
        var village = party.village
        let library = party.alice.machine.library
        func act(_ text: String) throws {
            switch waiting {
            case .photo: try library.write("Summer/n.jpg", text)
            case .edit: try library.write("Summer/a.jpg", text, saving: .inPlace)
            case .caption:
                #expect(party.alice.request(.caption(path: party.alice.path("Summer/a.jpg"), text: text)).code == 0)
            }
        }
        party.alice.machine.mount.attach(.missing)
        try act("one")
        try party.rounds(of: party.alice, 3)
        let backup = (store: try party.alice.store.backup(), identity: party.alice.identity)
        party.alice.machine.mount.mount()
        try party.rounds(of: party.alice, 3)
        if then != .nothing { try act("the other") }
        // So that another zone is the one by which it is noticed.
        try library.write("Private/later.jpg", "later")
        try #require(try village.settle())
        if then == .folded {
            #expect(party.alice.request(.compact).values["folded"] != "0")
            try #require(try village.settle())
            village.world.clock.advance(milliseconds: 2 * 86_400_000)
            try #require(try village.settle())
        }
        // A sidecar's `rev` is of the state that it was written from.
        func shown() -> [String: String] {
            party.alice.tree(.library, sidecars: true).mapValues { text in
                text.split(separator: "\n").filter { !$0.contains("\"rev\"") }.joined(separator: "\n")
            }
        }
        let tree = shown()
        let known = try party.bob.store.read { db in try db.history(after: 0, limit: .max).count }
        try party.alice.restart(store: backup.store, identity: backup.identity)
        try #require(try village.settle())
        try village.meet()
        try #require(try village.settle())
        #expect(shown() == tree)
        #expect(party.bob.tree(.shared) == party.carol.tree(.shared))
        let since = try party.bob.store.read { db in try db.history(after: 0, limit: .max) }.dropFirst(known)
        #expect(since.isEmpty, "\(since.map(\.change))")
    }

    @Test(arguments: ["contribute", "readWrite"])
    func `what waited in somebody else's share when a state was backed up is not published once more`(
        permission: String
    ) throws {
        let party = try Party(bob: permission)
        var village = party.village
        party.bob.machine.mount.attach(.missing)
        try party.bob.machine.shared.write(shared + "n.jpg", "one")
        try party.rounds(of: party.bob, 3)
        let backup = (store: try party.bob.store.backup(), identity: party.bob.identity)
        party.bob.machine.mount.mount()
        try party.rounds(of: party.bob, 3)
        try party.bob.machine.shared.write(shared + "n.jpg", "the other")
        try #require(try village.settle())
        let known = try party.alice.store.read { db in try db.history(after: 0, limit: .max).count }
        try party.bob.restart(store: backup.store, identity: backup.identity)
        try #require(try village.settle())
        try village.meet()
        try #require(try village.settle())
        party.expectShown(Party.content.merging(["n.jpg": "the other"]) { $1 })
        let since = try party.alice.store.read { db in try db.history(after: 0, limit: .max) }.dropFirst(known)
        #expect(since.isEmpty, "\(since.map(\.change))")
    }

    /// Whose state is put back: a participant's, or that of the owner's other device.
    @Test(arguments: [false, true])
    func `what took the place of a photo that left the share is no edit of that`(isOwner: Bool) throws {
        let party = try Party(bob: "readWrite")
        var village = party.village
        let laptop = try village.addDevice(of: party.alice, name: "laptop")
        try #require(try village.settle())
        let victim = isOwner ? laptop : party.bob
        let library = party.alice.machine.library
        let backup = (store: try victim.store.backup(), identity: victim.identity)
        try library.move("Summer/a.jpg", to: "away.jpg")
        try library.write("Summer/a.jpg", "another")
        try #require(try village.settle())
        #expect(party.bob.tree(.shared)[shared + "a.jpg"] == "another")
        #expect(laptop.tree(.library)["away.jpg"] == "aaa")
        try victim.restart(store: backup.store, identity: backup.identity)
        try #require(try village.settleDeletions())
        try village.meet()
        try #require(try village.settleDeletions())
        for device in [party.alice, laptop] {
            #expect(device.tree(.library)["away.jpg"] == "aaa", "\(device.label)")
            #expect(device.tree(.library)["Summer/a.jpg"] == "another", "\(device.label)")
        }
        #expect(party.bob.tree(.shared)[shared + "a.jpg"] == "another")
    }

    /// What is moved.
    enum Moved: CaseIterable { case photo, folder }

    @Test(arguments: Moved.allCases, [false, true])
    func `where something was for a while that a restored state does not know of is no move of its user's`(
        moved: Moved, comesBack: Bool
    ) throws {
        let party = try Party(bob: "readWrite")
        var village = party.village
        let library = party.alice.machine.library
        let former = moved == .photo ? "Summer/a.jpg" : "Summer/deep"
        let backup = (store: try party.bob.store.backup(), identity: party.bob.identity)
        try library.move(former, to: "Summer/between")
        try #require(try village.settle())
        let between = party.bob.tree(.shared).keys.filter { $0.hasPrefix(shared + "between") }
        try #require(between.count == 1)
        village.replicas = [party.alice, party.carol]
        try library.move("Summer/between", to: comesBack ? former : "Summer/now")
        try #require(try village.settle())
        let tree = party.alice.tree(.library)
        try party.bob.restart(store: backup.store, identity: backup.identity)
        village.replicas = [party.alice, party.bob, party.carol]
        try #require(try village.settle())
        try village.meet()
        try #require(try village.settle())
        #expect(party.alice.tree(.library) == tree)
        #expect(party.bob.tree(.shared) == party.carol.tree(.shared))
    }

    /// What became another file or folder, at one place or at two.
    enum Became: CaseIterable { case rewrittenAndRenamed, folder, file }

    @Test(arguments: Became.allCases)
    func `what became something else since the backup is known as that, and goes nowhere`(became: Became) throws {
        let party = try Party(bob: "readWrite")
        let library = party.alice.machine.library
        let backup = (store: try party.bob.store.backup(), identity: party.bob.identity)
        switch became {
        case .rewrittenAndRenamed:
            try library.write("Summer/a.jpg", "edited", saving: .replacing)
            try #require(try party.village.settle())
            try library.move("Summer/a.jpg", to: "Summer/z.jpg")
        case .folder:
            try library.delete("Summer/a.jpg")
            try library.write("Summer/a.jpg/inner.jpg", "inner")
        case .file:
            try library.delete("Summer/deep")
            try library.write("Summer/deep", "no folder")
        }
        try #require(try party.village.settleDeletions())
        let tree = party.alice.tree(.library)
        let records = try party.alice.store.read { db in try db.base(in: party.zone) }.map(\.id).sorted()
        try #require(party.bob.tree(.shared) == party.carol.tree(.shared))
        try party.bob.restart(store: backup.store, identity: backup.identity)
        var village = party.village
        try #require(try village.settleDeletions())
        try village.meet()
        try #require(try village.settleDeletions())
        #expect(party.alice.tree(.library) == tree)
        #expect(party.bob.tree(.shared) == party.carol.tree(.shared))
        for replica in [party.alice, party.bob, party.carol] {
            let shown = try replica.store.read { db in try db.base(in: party.zone) }.map(\.id).sorted()
            #expect(shown == records, "\(replica.label)")
        }
    }

    @Test func `an old value in a sidecar that a restored state does not know is no edit`() throws {
        let party = try Party(bob: "readWrite")
        var village = party.village
        let photo = party.alice.path("Summer/a.jpg")
        let backup = (store: try party.bob.store.backup(), identity: party.bob.identity)
        #expect(party.alice.request(.caption(path: photo, text: "Lake")).code == 0)
        #expect(party.alice.request(.tag(path: photo, titles: ["sun"], isMember: true)).code == 0)
        try #require(try village.settle())
        village.replicas = [party.alice, party.carol]
        #expect(party.alice.request(.caption(path: photo, text: "Sea")).code == 0)
        #expect(party.alice.request(.tag(path: photo, titles: ["sun"], isMember: false)).code == 0)
        try #require(try village.settle())
        try party.bob.restart(store: backup.store, identity: backup.identity)
        village.replicas = [party.alice, party.bob, party.carol]
        try #require(try village.settle())
        for (replica, root, place) in [
            (party.alice, RootKind.library, "Summer/a.jpg"), (party.bob, .shared, shared + "a.jpg"),
        ] {
            let fields = replica.sidecar(place, root)?.fields
            #expect(fields?.caption == "Sea" && fields?.tags ?? [] == [], "\(replica.label): \(fields as Any)")
        }
    }

    @Test func `who deleted a photo while another device had no state takes its sidecar along`() throws {
        let party = try Party(bob: "readWrite")
        var village = party.village
        let photo = party.alice.path("Summer/a.jpg")
        #expect(party.alice.request(.caption(path: photo, text: "Lake")).code == 0)
        try #require(try village.settle())
        village.replicas = [party.alice, party.carol]
        try party.alice.machine.library.delete("Summer/a.jpg")
        try #require(try village.settleDeletions())
        let machine = party.bob.machine
        machine.restart()
        let (identity, _) = try party.bob.identity.makeSecondDevice(
            deviceLabel: machine.name, nowMilliseconds: machine.world.nowMilliseconds(),
            randomBytes: machine.world.randomBytes)
        let bob = try Replica(machine: machine, label: "bob", identity: identity)
        try bob.engine.setUp(host: machine.name, takeOver: true)
        village.replicas = [party.alice, bob, party.carol]
        try village.meet()
        try #require(try village.settle())
        #expect(!bob.tree(.shared, sidecars: true).keys.contains { $0.contains("a.jpg") })
        try machine.shared.write("alice/Summer/a.jpg", "another")
        try #require(try village.settle())
        #expect(party.alice.tree(.library)["Summer/a.jpg"] == "another")
        #expect(party.alice.sidecar("Summer/a.jpg", .library)?.fields.caption == nil)
        #expect(bob.problems.isEmpty, "\(bob.problems)")
    }

    /// Nobody has heard of the leave, and the share goes on: what lies in the trash for it was not deleted by its user.
    @Test func `a leave that a restored state does not know deletes nothing for others`() throws {
        let party = try Party(bob: "readWrite")
        var village = party.village
        let (alice, bob) = (party.alice, party.bob)
        let tree = alice.tree(.library)
        let backup = (store: try bob.store.backup(), identity: bob.identity)
        #expect(bob.request(.leave(share: "Summer", keepCopy: false)).code == 0)
        #expect(bob.tree(.shared).isEmpty)
        try bob.restart(store: backup.store, identity: backup.identity)
        try bob.machine.shared.write(shared + "new.jpg", "new")
        try #require(try village.settle())
        try village.meet()
        try #require(try village.settle())
        #expect(alice.tree(.library) == tree.merging(["Summer/new.jpg": "new"]) { $1 })
        for (path, text) in tree where path.hasPrefix("Summer/") {
            #expect(bob.tree(.shared)["alice/" + path] == text, "\(path)")
        }
        #expect(bob.problems.map(\.code).allSatisfy { $0 == "newReplica" }, "\(bob.problems)")
    }

    /// When the other devices are there again.
    enum Return: CaseIterable { case before, together, after }

    @Test(arguments: Return.allCases)
    func `a state and the container put back to the same backup go on, and others hear of it`(others: Return) throws {
        let party = try Party(bob: "readWrite")
        var village = party.village
        let (alice, bob) = (party.alice, party.bob)
        let backup = (store: try alice.store.backup(), identity: alice.identity)
        let container = village.world.storage.snapshot()
        for text in ["since", "and since"] {
            #expect(alice.request(.caption(path: alice.path("Summer/a.jpg"), text: text)).code == 0)
            try #require(try village.settle())
        }
        village.world.storage.restore(container)
        if others == .before {
            village.replicas = [bob, party.carol]
            try village.pass(4)
        }
        try alice.restart(store: backup.store, identity: backup.identity)
        if others == .after {
            village.replicas = [alice]
            try village.pass(4)
        }
        #expect(alice.request(.caption(path: alice.path("Summer/deep/b.jpg"), text: "restored")).code == 0)
        try alice.machine.library.write("Summer/n.jpg", "new")
        if others == .after { try village.pass(4) }
        village.replicas = [alice, bob, party.carol]
        for _ in 0..<4 {
            try village.pass(6)
            village.world.clock.advance(milliseconds: 130_000)
        }
        try village.pass(6)
        for replica in [bob, party.carol] {
            #expect(replica.tree(.shared)[shared + "n.jpg"] == "new", "\(replica.label): \(replica.problems)")
            #expect(replica.sidecar(shared + "deep/b.jpg", .shared)?.fields.caption == "restored", "\(replica.label)")
            #expect(replica.sidecar(shared + "a.jpg", .shared)?.fields.caption == "and since", "\(replica.label)")
        }
        #expect(alice.sidecar("Summer/a.jpg", .library)?.fields.caption == "and since")
        #expect(alice.problems.map(\.code).allSatisfy { $0 == "newReplica" }, "\(alice.problems)")
        // Two versions of one chain there were, or one that was cut short; that is said, and keeps nothing from going on.
        for replica in [bob, party.carol] {
            let codes = Set(replica.problems.map(\.code))
            #expect(
                codes.isSubset(of: ["forked", "rolledBack", "cutShort", "headLost"]),
                "\(replica.label): \(replica.problems)")
        }
    }

    @Test
    func
        `a photo that its user had put back to what it was, of which a restored state knows nothing, is as all show it`()
        throws
    {
        let (village, alice, laptop) = try Village.twoDevices(["a.jpg": "first", "b.jpg": "b"])
        try alice.machine.library.write("a.jpg", "second")
        try #require(try village.settle())
        let backup = (store: try alice.store.backup(), identity: alice.identity)
        try laptop.machine.library.write("b.jpg", "b since")
        try #require(try village.settle())
        // Its user's last act before the machine died, which nobody took.
        try alice.machine.library.write("a.jpg", "first", saving: .replacing)
        try alice.restart(store: backup.store, identity: backup.identity)
        try #require(try village.settle())
        for replica in [alice, laptop] {
            #expect(replica.tree(.library) == ["a.jpg": "second", "b.jpg": "b since"], "\(replica.machine.name)")
        }
    }
}
