import Foundation
import GRDB
import Shoebox
import ShoeboxCloud
import ShoeboxLibrary
import ShoeboxModel
import ShoeboxPlanning
import ShoeboxStore
import ShoeboxTestSupport
import ShoeboxWorld
import Synchronization
import Testing

/// Alice and Bob before a deed, to come back to as often as needed.
final class Stage {
    let deed: Deed
    private(set) var village: Village
    let alice: Replica
    let bob: Replica
    private(set) var laptop: Replica?
    private(set) var link = ""
    private var zone = ""
    private var before: SimulatedWorld.Snapshot
    private var states: [(store: Store, identity: Identity)] = []
    private var undone: Int64 = 0

    init(_ deed: Deed) throws {
        self.deed = deed
        village = try Village(labels: ["alice", "bob"], storesMayDie: true)
        (alice, bob) = (village.replicas[0], village.replicas[1])
        before = village.world.snapshot()
        for (path, text) in ["Summer/a.jpg": "aaa", "Summer/deep/b.jpg": "bbb", "Private/c.jpg": "ccc"] {
            try alice.machine.library.write(path, text)
        }
        try rest()
        // What is said of a photo travels with it, whatever happens.
        try must(alice.request(.caption(path: alice.path("Summer/deep/b.jpg"), text: "deep")))
        try must(alice.request(.tag(path: alice.path("Summer/deep/b.jpg"), titles: ["old"], isMember: true)))
        if deed.sharing.rawValue >= Deed.Sharing.made.rawValue { try must(share()) }
        if deed.sharing.rawValue >= Deed.Sharing.invited.rawValue, deed != .joined { try must(invite()) }
        try rest()
        if deed.sharing == .accepted, deed != .joined {
            try must(bob.request(.accept(link: link)))
            try rest()
        }
        if deed.hasLaptop {
            let replica = try village.addDevice(of: alice, name: "laptop")
            laptop = replica
            if deed != .firstMirror { try rest() }
        }
        try prepare()
        before = village.world.snapshot()
        states = try village.replicas.map { (try $0.store.backup(), $0.identity) }
    }

    /// The one on whose machine something goes wrong.
    var victim: Replica {
        switch deed.victim {
        case .alice: alice
        case .bob: bob
        case .laptop: laptop ?? alice
        }
    }

    /// What has happened to whom the deed is about.
    private func prepare() throws {
        let library = alice.machine.library
        let others = bob.machine.shared
        let photo = alice.path("Summer/a.jpg")
        switch deed {
        case .mirroring: for number in 0..<6 { try library.write("Summer/new/\(number).jpg", "new \(number)") }
        case .overwritten: try library.write("Summer/a.jpg", "other", saving: .replacing)
        case .renamed:
            try library.move("Summer/deep/b.jpg", to: "Summer/deep/z.jpg")
            try library.move("Summer/deep", to: "Summer/deeper")
        case .deleted: try library.delete("Summer/deep")
        case .deletedTheirs:
            try others.delete("alice/Summer/deep/b.jpg")
            try rounds(of: bob, 4, after: 40_000)
        case .readOnlyEdit:
            try must(alice.request(.permission(share: "Summer", account: "bob", permission: "readOnly")))
            try rest()
        case .sidecarSeen: try must(caption("seen"))
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
        case .takeOver, .handedOver:
            try must(alice.request(.transfer(share: "Summer", account: "bob", stays: "readWrite")))
            try rest()
            if deed == .handedOver {
                try must(bob.request(.transferAnswer(share: "Summer", accepts: true)))
                for _ in 0..<3 { try bob.round() }
            }
            return
        case .undo: try must(caption("to be undone"))
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
        case .retired: try must(try #require(laptop).request(.deviceRetire(name: "alice")))
        default: return
        }
        try rounds(of: alice, 3, after: 2_000)
    }

    private func rounds(of replica: Replica, _ count: Int, after milliseconds: UInt64) throws {
        for _ in 0..<count {
            try replica.round()
            village.world.clock.advance(milliseconds: milliseconds)
        }
    }

    private func must(_ reply: Reply) throws { try #require(reply.code == 0, "\(deed): \(reply)") }

    private func rest() throws { try #require(try settle(), "\(deed) can't begin") }

    private func share() -> Reply {
        let reply = alice.request(
            .shareCreate(
                paths: [alice.path("Summer")], title: "Summer", publicPermission: deed.publicPermission, isSealed: true,
                onEnd: deed == .endedKeeping ? "keep" : "remove"))
        link = reply.values["link"] ?? link
        zone = reply.values["id"] ?? zone
        return reply
    }

    private func invite() -> Reply {
        alice.request(.invite(share: "Summer", accounts: ["bob"], permission: "readWrite"))
    }

    private func caption(_ text: String) -> Reply {
        alice.request(.caption(path: alice.path("Summer/a.jpg"), text: text))
    }

    /// Everybody and everything as before the deed.
    func reset() throws {
        village.world.restore(before)
        for (replica, state) in zip(village.replicas, states) {
            let faults = replica.machine.faults
            let flag = TransactionFault()
            let store = try state.store.backup(
                gate: { flag.isNext = try !faults.attempt("store", "write") },
                commit: {
                    guard flag.isNext else { return }
                    flag.isNext = false
                    throw DatabaseError(resultCode: .SQLITE_FULL, message: "database or disk is full")
                })
            try replica.restart(store: store, identity: state.identity)
        }
    }

    /// Does it: what a user does with files first, then the command. Nil if there is no command.
    func begin() throws -> Reply? {
        let library = alice.machine.library
        let others = bob.machine.shared
        undone = (try? alice.store.read { db in try db.history(after: 0, limit: .max).map(\.token).max() }) ?? 0
        switch deed {
        case .importing:
            for number in 0..<3 { try library.write("Summer/new/\(number).jpg", "new \(number)") }
            try library.write("Private/d.jpg", "ddd")
            try library.write(
                "Private/d.jpg.json", #"{"format": "shoebox.sidecar/1", "caption": "Lake", "tags": ["one", "two"]}"#)
        case .overwriting: try library.write("Summer/a.jpg", "other", saving: .replacing)
        case .renaming:
            try library.move("Summer/a.jpg", to: "Private/z.jpg")
            try library.move("Summer/deep", to: "Summer/deeper")
        case .moving:
            try library.move("Summer/deep/b.jpg", to: "Summer/b.jpg")
            try library.move("Private/c.jpg", to: "Summer/c.jpg")
        case .swapping:
            try library.move(
                try #require(RelativePath("Summer/a.jpg")), to: try #require(RelativePath("Private/c.jpg")),
                mode: .exchange)
        case .deleting: try library.delete("Summer/deep")
        case .deletingTheirs: try others.delete("alice/Summer/deep/b.jpg")
        case .droppingTheirs: try others.delete("alice/Summer")
        case .sidecar:
            try library.write(
                "Summer/a.jpg.json", #"{"format": "shoebox.sidecar/1", "caption": "Sea", "tags": ["sun"]}"#)
        case .conflict, .readOnlyEdit: try others.write("alice/Summer/a.jpg", "by bob")
        default: return command()
        }
        return nil
    }

    /// Gives the command of a deed, again if need be.
    func command() -> Reply? {
        let photo = alice.path("Summer/a.jpg")
        switch deed {
        case .share: return share()
        case .shareAdd: return alice.request(.shareAdd(share: "Summer", paths: [alice.path("Private/c.jpg")]))
        case .shareRemove: return alice.request(.shareRemove(share: "Summer", paths: [photo]))
        case .shareTitle: return alice.request(.shareTitle(share: zone, title: "Sommer"))
        case .invite: return invite()
        case .accept, .joinByLink: return bob.request(.accept(link: link))
        case .publish:
            return alice.request(.setPublic(share: "Summer", permission: "readOnly", renews: false, announces: true))
        case .demote: return alice.request(.permission(share: "Summer", account: "bob", permission: "readOnly"))
        case .revoke: return alice.request(.uninvite(share: "Summer", accounts: ["bob"]))
        case .leave: return bob.request(.leave(share: "Summer", keepCopy: false))
        case .leaveKeeping: return bob.request(.leave(share: "Summer", keepCopy: true))
        case .stop: return alice.request(.stop(share: "Summer"))
        case .restoreShare: return bob.request(.restoreShare(share: "Summer"))
        case .transfer: return alice.request(.transfer(share: "Summer", account: "bob", stays: "readWrite"))
        case .takeOver: return bob.request(.transferAnswer(share: "Summer", accepts: true))
        case .tag: return alice.request(.tag(path: photo, titles: ["new", "old"], isMember: true))
        case .tagRename: return alice.request(.tagRename(title: "old", newTitle: "former", scope: .share("Summer")))
        case .tagDelete: return alice.request(.tagDelete(title: "old", scope: .share("Summer")))
        case .rate: return alice.request(.rate(path: photo, value: 4))
        case .caption: return caption("said")
        case .resolve: return alice.request(.resolveConflict(path: photo, field: "caption", choice: 1))
        case .restoreTrash: return alice.request(.restoreTrash(paths: [alice.path("Summer")]))
        case .restoreVersion: return alice.request(.restoreVersion(path: photo, version: "2"))
        case .restoreContent: return alice.request(.restoreContent(path: photo))
        case .undo: return alice.request(.undo(token: undone))
        case .confirmDeletions: return alice.request(.confirmDeletions)
        case .rejectDeletions: return alice.request(.rejectDeletions)
        case .compact: return alice.request(.compact)
        case .recreate: return alice.request(.recreateContainer)
        case .retire: return alice.request(.deviceRetire(name: "laptop"))
        case .repair:
            // As the command does it: what is left is what it says at the end, and whoever reads that does it again.
            do {
                if let request = try alice.engine.verify().repair {
                    let reply = alice.request(request)
                    guard reply.code == 0 else { return reply }
                }
                let left = try alice.engine.verify()
                let isWell = left.faults.isEmpty && !left.isOffline
                return Reply(code: isWell ? ExitCode.done : ExitCode.reported)
            } catch { return Reply(code: ExitCode.failed, lines: ["\(error)"]) }
        default: return nil
        }
    }

    /// Whether what a command does is done, so that it must not be given again.
    func isDone() throws -> Bool {
        func shares(_ replica: Replica) throws -> Int {
            try replica.store.read { db in try db.zones() }.filter { $0.kind == .share && $0.state == .active }.count
        }
        switch deed {
        case .share, .stop: return try (shares(alice) == 1) == (deed == .share)
        case .leave, .leaveKeeping: return try shares(bob) == 0
        case .restoreTrash: return alice.tree(.library)["Summer/deep/b.jpg"] != nil
        case .restoreVersion: return alice.tree(.library)["Summer/a.jpg"] == "aaa"
        case .restoreContent: return alice.tree(.library)["Summer/a.jpg"] == "aaa"
        case .undo, .resolve:
            let caption = alice.sidecar("Summer/a.jpg", .library)?.fields.caption ?? ""
            return caption == (deed == .undo ? "" : resolved)
        default: return false
        }
    }

    /// The caption that a conflict was decided for, once it was done without anything failing.
    var resolved = ""

    /// A few rounds of the one that the deed is about, as far as it lives.
    func rounds() {
        if deed == .emptyTrash { village.world.clock.advance(milliseconds: 40 * 86_400_000) }
        for number in 0..<6 where !victim.machine.faults.isCrashed {
            do { try victim.round() } catch { continue }
            // Long enough for what is missing to be taken for deleted.
            village.world.clock.advance(milliseconds: max(deed.waitMilliseconds, number == 2 ? 40_000 : 0))
        }
    }

    /// Rounds of everybody until nothing is left to do, and again after devices that are new were looked for, and what is
    /// missing was taken for deleted.
    func settle() throws -> Bool {
        for _ in 0..<2 {
            _ = try pause()
            // What could not be offered again is tried once a minute.
            village.world.clock.advance(milliseconds: [.recreate, .repair].contains(deed) ? 70_000 : 40_000)
        }
        return try pause()
    }

    private func pause() throws -> Bool {
        var quiet = 0
        for _ in 0..<60 {
            var something = false
            for replica in village.replicas where try replica.round().didSomething { something = true }
            village.world.clock.advance(milliseconds: 1_500)
            quiet = something ? 0 : quiet + 1
            if quiet >= 2, village.replicas.allSatisfy(\.isQuiet) { return true }
        }
        return false
    }

    // MARK: What came of it

    /// Everything as users see it, once nothing is left to do, and what must not be left over.
    func outcome() throws -> [String: String] {
        var result: [String: String] = [:]
        for replica in village.replicas {
            let name = replica.machine.name
            for root in RootKind.allCases {
                for (path, text) in replica.tree(root) {
                    let caption = replica.sidecar(path, root)?.fields.caption ?? ""
                    let rating = replica.sidecar(path, root)?.fields.rating.map { " \($0)" } ?? ""
                    let tags = replica.sidecar(path, root)?.fields.tags?.sorted().joined(separator: ",") ?? ""
                    result["\(name) \(root) \(path)"] = "\(text) '\(caption)' \(tags)\(rating)"
                }
                let disk = root == .library ? replica.machine.library : replica.machine.shared
                for path in disk.tree().keys {
                    if path.contains(".tags/") { result["\(name) \(root) \(path)"] = "" }
                    if path.hasPrefix(".shoebox/tmp/") { result["\(name) \(root) left over"] = "" }
                }
                for path in disk.tree().keys where path.hasSuffix(".json") && !path.contains(".shoebox/") {
                    result["\(name) \(root) sidecars", default: ""] += "+"
                }
            }
            let problems = Set(replica.problems.map(\.code)).subtracting(deed.uncertainProblems)
            result["\(name)'s problems"] = problems.sorted().joined(separator: ",")
            let faults = try replica.engine.verify().faults
            result["\(name)'s faults"] = Set(faults.map(\.code)).sorted().joined(separator: ",")
        }
        // The name of an asset that is taken is tried once, and another one is used.
        let broken = Set(
            village.world.storage.violations.filter { $0.rule != .publishedOver || !"\($0.path)".hasPrefix("assets/") }
                .map { "\($0.rule)" }
        ).sorted()
        result["rules of the mount that were broken"] = broken.joined(separator: ",")
        return result
    }

    /// The contents that are on anybody's disks, in the trash too.
    func kept() -> Set<String> {
        var result: Set<String> = []
        for replica in village.replicas {
            for disk in [replica.machine.library, replica.machine.shared] {
                for (path, bytes) in disk.tree() where !path.hasSuffix(".json") && !path.contains(".tags/") {
                    result.insert(String(decoding: bytes, as: UTF8.self))
                }
            }
        }
        return result
    }

    /// What everybody knows and says, for people who look into a failure.
    func describe() -> String {
        village.replicas.map { replica in
            "\(replica.machine.name): \(replica.problems.map { "\($0.code) \($0.message)" }) quiet: \(replica.isQuiet)\n"
                + replica.logLines.suffix(12).joined(separator: "\n")
        }.joined(separator: "\n")
    }
}

/// Whether the transaction that was begun is to fail at its end. Used by one thread.
private final class TransactionFault: Sendable {
    private let state = Mutex(false)
    var isNext: Bool {
        get { state.withLock { $0 } }
        set { state.withLock { $0 = newValue } }
    }
}
