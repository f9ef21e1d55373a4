import Foundation
import Shoebox
import ShoeboxCloud
import ShoeboxLibrary
import ShoeboxModel
import ShoeboxPlanning
import ShoeboxStore
import ShoeboxTestSupport
import ShoeboxWorld
import Testing

/// What somebody does, and who does it, while one operation of theirs goes wrong.
private enum Deed: String, CaseIterable {
    case importing, mirroring, overwriting, overwritten, renaming, renamed, deleting, deleted, sidecar, sidecarSeen
    case swapping, conflict, share, invite, accept, revoke, revoked, leave, leaveKeeping, stop, ended
    case restoreTrash, restoreVersion, undo, emptyTrash

    /// Whether Bob's machine is the one on which something goes wrong; else Alice's.
    var isBobs: Bool {
        switch self {
        case .mirroring, .overwritten, .renamed, .deleted, .sidecarSeen, .conflict, .accept, .revoked, .leave,
            .leaveKeeping, .ended:
            true
        default: false
        }
    }

    /// Whether Bob takes part in Alice's share before it begins.
    var isShared: Bool { ![.share, .invite, .accept].contains(self) }
}

/// How an operation goes wrong.
private enum Mishap: String, CaseIterable {
    case inputOutput, answerLost, full, crash

    var effect: SimulatedFaults.Effect {
        switch self {
        case .inputOutput: .fail(.inputOutput)
        case .answerLost: .failAfter(.inputOutput)
        case .full: .torn(keeping: 3, .full)
        case .crash: .crash
        }
    }
}

/// Alice and Bob before a deed, to come back to as often as needed.
private final class Stage {
    let village: Village
    let alice: Replica
    let bob: Replica
    private(set) var link = ""
    private var disks: [[SimulatedDisk.Snapshot]] = []
    private var states: [(store: Store, identity: Identity)] = []
    private var storage: SimulatedMountStorage.Snapshot

    init(_ deed: Deed) throws {
        village = try Village(labels: ["alice", "bob"], storesMayDie: true)
        (alice, bob) = (village.replicas[0], village.replicas[1])
        storage = village.world.storage.snapshot()
        for (path, text) in ["Summer/a.jpg": "aaa", "Summer/deep/b.jpg": "bbb", "Private/c.jpg": "ccc"] {
            try alice.machine.library.write(path, text)
        }
        try #require(try village.settle())
        if deed != .share { try must(share) }
        if deed.isShared || deed == .accept { try must(invite) }
        if deed.isShared { try must { self.bob.request(.accept(link: self.link)) } }
        try #require(try village.settle())
        try prepare(deed)
        storage = village.world.storage.snapshot()
        for replica in village.replicas {
            disks.append([replica.machine.library.snapshot(), replica.machine.shared.snapshot()])
            states.append((try replica.store.backup(), replica.identity))
        }
    }

    /// What has happened to whom the deed is about.
    private func prepare(_ deed: Deed) throws {
        let library = alice.machine.library
        switch deed {
        case .mirroring: for number in 0..<6 { try library.write("Summer/new/\(number).jpg", "new \(number)") }
        case .overwritten: try library.write("Summer/a.jpg", "other", saving: .replacing)
        case .renamed:
            try library.move("Summer/a.jpg", to: "Summer/z.jpg")
            try library.move("Summer/deep", to: "Summer/deeper")
        case .deleted: try library.delete("Summer/deep")
        case .sidecarSeen: try must { self.caption("seen") }
        case .conflict:
            try library.write("Summer/a.jpg", "by alice")
            try must { self.caption("by alice") }
        case .revoked: try must { self.alice.request(.uninvite(share: "Summer", accounts: ["bob"])) }
        case .ended: try must { self.alice.request(.stop(share: "Summer")) }
        case .undo: try must { self.caption("to be undone") }
        case .restoreTrash:
            // What others delete goes to the trash.
            try bob.machine.shared.delete("alice/Summer/deep/b.jpg")
            try village.settle()
            village.world.clock.advance(milliseconds: 40_000)
            try #require(try village.settle())
        case .restoreVersion:
            try library.write("Summer/a.jpg", "second")
            try #require(try village.settle())
        case .emptyTrash:
            try bob.machine.shared.write("alice/Summer/a.jpg", "over")
            try #require(try village.settle())
        default: return
        }
        for _ in 0..<3 {
            try alice.round()
            village.world.clock.advance(milliseconds: 2_000)
        }
    }

    private func must(_ request: () -> Reply) throws {
        let reply = request()
        try #require(reply.code == 0, "\(reply)")
    }

    private func share() -> Reply {
        let reply = alice.request(
            .shareCreate(paths: [alice.path("Summer")], title: "Summer", publicPermission: "none", isSealed: true))
        link = reply.values["link"] ?? link
        return reply
    }

    private func invite() -> Reply {
        alice.request(.invite(share: "Summer", accounts: ["bob"], permission: "readWrite"))
    }

    private func caption(_ text: String) -> Reply {
        alice.request(.caption(path: alice.path("Summer/a.jpg"), text: text))
    }

    /// Everybody and everything as before the deed, but later.
    func reset() throws {
        for (index, replica) in village.replicas.enumerated() {
            replica.machine.faults.clear()
            replica.machine.kill()
            replica.machine.library.restore(disks[index][0])
            replica.machine.shared.restore(disks[index][1])
        }
        village.world.storage.restore(storage)
        for (index, replica) in village.replicas.enumerated() {
            let faults = replica.machine.faults
            let store = try states[index].store.backup(gate: { try faults.pass("store", "write") })
            try replica.restart(store: store, identity: states[index].identity)
        }
    }

    /// Does it: what a user does with files first, then the command. Nil if there is no command.
    func begin(_ deed: Deed) throws -> Reply? {
        let library = alice.machine.library
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
        case .swapping: try library.move(path("Summer/a.jpg"), to: path("Private/c.jpg"), mode: .exchange)
        case .deleting: try library.delete("Summer/deep")
        case .sidecar:
            try library.write(
                "Summer/a.jpg.json", #"{"format": "shoebox.sidecar/1", "caption": "Sea", "tags": ["sun"]}"#)
        case .conflict: try bob.machine.shared.write("alice/Summer/a.jpg", "by bob")
        default: return command(deed)
        }
        return nil
    }

    /// Gives the command of a deed, again if need be.
    func command(_ deed: Deed) -> Reply? {
        switch deed {
        case .share: share()
        case .invite: invite()
        case .accept: bob.request(.accept(link: link))
        case .revoke: alice.request(.uninvite(share: "Summer", accounts: ["bob"]))
        case .leave: bob.request(.leave(share: "Summer", keepCopy: false))
        case .leaveKeeping: bob.request(.leave(share: "Summer", keepCopy: true))
        case .stop: alice.request(.stop(share: "Summer"))
        case .restoreTrash: alice.request(.restoreTrash(paths: [alice.path("Summer")]))
        case .restoreVersion: alice.request(.restoreVersion(path: alice.path("Summer/a.jpg"), version: "2"))
        case .undo: alice.request(.undo(token: lastToken))
        default: nil
        }
    }

    private var lastToken: Int64 {
        let tokens = try? alice.store.read { db in try db.history(after: 0, limit: .max).map(\.token) }
        return tokens?.max() ?? 0
    }

    /// Whether what a command does is done, so that it must not be given again.
    func isDone(_ deed: Deed) throws -> Bool {
        func shares(_ replica: Replica) throws -> Int {
            try replica.store.read { db in try db.zones() }.filter { $0.kind == .share && $0.state == .active }.count
        }
        switch deed {
        case .share, .stop: return try (shares(alice) == 1) == (deed == .share)
        case .leave, .leaveKeeping: return try shares(bob) == 0
        case .restoreTrash: return alice.tree(.library)["Summer/deep/b.jpg"] != nil
        case .restoreVersion: return alice.tree(.library)["Summer/a.jpg"] == "aaa"
        case .undo: return alice.sidecar("Summer/a.jpg", .library)?.fields.caption ?? "" == ""
        default: return false
        }
    }

    private func path(_ text: String) throws -> RelativePath { try #require(RelativePath(text)) }

    /// A few rounds of the one that the deed is about, as far as it lives.
    func rounds(_ deed: Deed) {
        let victim = deed.isBobs ? bob : alice
        if deed == .emptyTrash { village.world.clock.advance(milliseconds: 40 * 86_400_000) }
        for number in 0..<6 where !victim.machine.faults.isCrashed {
            do { try victim.round() } catch { continue }
            // Long enough for what is missing to be taken for deleted; days, until the trash has been seen to be old twice.
            let wait: UInt64 = deed == .emptyTrash ? 90_000_000 : number == 2 ? 40_000 : 2_000
            village.world.clock.advance(milliseconds: wait)
        }
    }

    /// Everything as users see it, once nothing is left to do; trash only where it is what the deed is about.
    func outcome(_ deed: Deed) throws -> [String: String] {
        var result: [String: String] = [:]
        for replica in village.replicas {
            for root in RootKind.allCases {
                for (path, text) in replica.tree(root) {
                    let caption = replica.sidecar(path, root)?.fields.caption ?? ""
                    let tags = replica.sidecar(path, root)?.fields.tags?.sorted().joined(separator: ",") ?? ""
                    result["\(replica.label) \(root) \(path)"] = "\(text) '\(caption)' \(tags)"
                }
            }
            result["\(replica.label)'s problems"] = Set(replica.problems.map(\.code)).sorted().joined(separator: ",")
        }
        return result
    }

    func settle() throws -> Bool {
        try village.settle()
        // Devices that are new are looked for, and what is missing is taken for deleted.
        village.world.clock.advance(milliseconds: 40_000)
        try village.settle()
        village.world.clock.advance(milliseconds: 40_000)
        return try village.settle()
    }
}

/// Whatever operation fails or is the last before death, the deed ends as if nothing had happened.
@Suite(.serialized) struct EveryOperationTests {
    private static let isThorough = ProcessInfo.processInfo.environment["SHOEBOX_THOROUGH"] != nil

    /// Every so manieth operation: all of them take a quarter of an hour. `make simulate THOROUGH=1` tries each.
    private static let stride = isThorough ? 1 : 211

    /// Some of the deeds, by the names that `SHOEBOX_DEEDS` lists, or those that every build tries.
    private static let deeds: [Deed] = {
        if let names = ProcessInfo.processInfo.environment["SHOEBOX_DEEDS"] {
            return names.split(separator: ",").compactMap { Deed(rawValue: String($0)) }
        }
        return isThorough
            ? Deed.allCases
            : [.importing, .mirroring, .renamed, .deleted, .conflict, .accept, .revoke]
    }()

    @Test(arguments: deeds)
    fileprivate func `whichever operation fails, it ends as if none had`(deed: Deed) throws {
        let stage = try Stage(deed)
        let victim = deed.isBobs ? stage.bob : stage.alice
        // Once without: what it comes to, and how many operations it is.
        try stage.reset()
        let before = victim.machine.faults.operationCount
        if let reply = try stage.begin(deed) { try #require(reply.code == 0, "\(reply)") }
        stage.rounds(deed)
        let count = victim.machine.faults.operationCount - before
        try #require(try stage.settle())
        let expected = try stage.outcome(deed)
        let written = written(deed, expected)
        for (index, mishap) in Mishap.allCases.enumerated() {
            // Each kind and deed begins elsewhere.
            let first = Self.isThorough ? 0 : (deed.hashOfName + index * 29) % Self.stride
            for number in Swift.stride(from: first, to: count, by: Self.stride) {
                try stage.reset()
                victim.machine.faults.set(mishap.effect, after: number)
                let reply = try stage.begin(deed)
                stage.rounds(deed)
                let hasDied = victim.machine.faults.isCrashed
                victim.machine.faults.clear()
                if hasDied { try victim.restart() }
                let comment: Comment = "\(mishap) at operation \(number) of \(deed)"
                try #require(try stage.settle(), comment)
                if let reply, reply.code != 0 || hasDied, try !stage.isDone(deed) {
                    _ = stage.command(deed)
                    try #require(try stage.settle(), comment)
                }
                let found = try stage.outcome(deed)
                #expect(difference(found, expected) == [], comment)
                #expect(written.isSubset(of: kept(stage)), comment)
            }
        }
    }

    private func difference(_ found: [String: String], _ expected: [String: String]) -> [String] {
        treeDifference(found.mapValues { Array($0.utf8) }, expected)
    }

    /// The contents that users see in the end; they must be somewhere on their disks whatever failed.
    private func written(_ deed: Deed, _ outcome: [String: String]) -> Set<String> {
        Set(outcome.filter { !$0.key.hasSuffix("problems") }.values.map { String($0.prefix { $0 != "'" }.dropLast()) })
    }

    private func kept(_ stage: Stage) -> Set<String> {
        var result: Set<String> = []
        for replica in stage.village.replicas {
            for disk in [replica.machine.library, replica.machine.shared] {
                result.formUnion(disk.tree().values.map { String(decoding: $0, as: UTF8.self) })
            }
        }
        return result
    }
}

extension Deed {
    fileprivate var hashOfName: Int { rawValue.utf8.reduce(7) { ($0 * 31 + Int($1)) % 9_973 } }
}
