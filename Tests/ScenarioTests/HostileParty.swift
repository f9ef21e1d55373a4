import ShoeboxCloud
import ShoeboxLibrary
import ShoeboxModel
import ShoeboxPlanning
import ShoeboxStore
import ShoeboxTestSupport
import ShoeboxWorld
import Testing

@testable import Shoebox

/// Alice shares `Summer` with Bob (who will misbehave) and with Carol, who may write.
struct Party {
    var village: Village
    var alice: Replica
    var bob: Replica
    var carol: Replica
    var zone: ZoneID
    var link: String

    init(
        bob permission: String, seed: UInt64 = 1, isSealed: Bool = true, others: [String] = [],
        storesMayDie: Bool = false
    ) throws {
        village = try Village(seed: seed, labels: ["alice", "bob", "carol"] + others, storesMayDie: storesMayDie)
        (alice, bob, carol) = (village.replicas[0], village.replicas[1], village.replicas[2])
        try alice.machine.library.write("Summer/a.jpg", "aaa")
        try alice.machine.library.write("Summer/deep/b.jpg", "bbb")
        try alice.machine.library.write("Private/c.jpg", "ccc")
        try #require(try village.settle())
        let made = alice.request(
            .shareCreate(paths: [alice.path("Summer")], title: "Summer", publicPermission: "none", isSealed: isSealed))
        try #require(made.code == 0, "\(made)")
        link = made.values["link"] ?? ""
        zone = try #require(ZoneID(hex: made.values["id"] ?? ""))
        for (name, permission) in [("bob", permission), ("carol", "readWrite")] {
            let invited = alice.request(.invite(share: "Summer", accounts: [name], permission: permission))
            try #require(invited.code == 0, "\(invited)")
        }
        for replica in [bob, carol] {
            let accepted = replica.request(.accept(link: link))
            try #require(accepted.code == 0, "\(accepted)")
        }
        try #require(try village.settle())
    }

    /// The share as the owner and a participant must both show it.
    static let content = ["a.jpg": "aaa", "deep/b.jpg": "bbb"]

    /// Rounds of one alone, time going on.
    func rounds(of replica: Replica, _ count: Int, reachesContainer: Bool = true) throws {
        for _ in 0..<count {
            _ = try replica.engine.round(.all, reachesContainer: reachesContainer)
            village.world.clock.advance(milliseconds: 700)
        }
    }

    /// Checks that the owner and Carol show this in the share, and Alice's other photos as they were.
    func expectShown(
        _ content: [String: String] = Party.content, sourceLocation: SourceLocation = #_sourceLocation
    ) {
        var hers: [String: [UInt8]] = ["Private/c.jpg": Array("ccc".utf8)]
        var carols: [String: [UInt8]] = [:]
        for (path, text) in content {
            hers["Summer/" + path] = Array(text.utf8)
            carols["alice/Summer/" + path] = Array(text.utf8)
        }
        #expect(treeDifference(alice.files(.library), hers) == [], sourceLocation: sourceLocation)
        #expect(treeDifference(carol.files(.shared), carols) == [], sourceLocation: sourceLocation)
    }

    /// The state of what the share shows at a path, as Alice knows it.
    func state(_ path: String) throws -> RecordState? {
        try alice.store.read { db in
            let top = alice.engine.top(.library)
            guard let id = try db.base(at: try #require(RelativePath("Summer/" + path)), root: .library, top: top)
            else {
                return nil
            }
            return try db.state(of: id)
        }
    }

    /// Checks that the others go on: a new photo and a tag of Alice's reach Carol, and one of hers Alice.
    func expectGoesOn(
        _ content: [String: String] = Party.content, sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        try alice.machine.library.write("Summer/later.jpg", "later")
        try carol.machine.shared.write("alice/Summer/hers.jpg", "hers")
        try village.pass(8)
        expectShown(content.merging(["later.jpg": "later", "hers.jpg": "hers"]) { $1 }, sourceLocation: sourceLocation)
    }

    /// Checks that each of these replicas names a problem of this code, with what to do about it.
    func expectNamed(
        _ code: String, by replicas: [Replica], containing text: String = "",
        sourceLocation: SourceLocation = #_sourceLocation
    ) {
        for replica in replicas {
            let found = replica.problems.filter { $0.code == code && $0.message.contains(text) }
            #expect(!found.isEmpty, "\(replica.label): \(replica.problems.map(\.key))", sourceLocation: sourceLocation)
            for problem in found {
                #expect(!problem.message.isEmpty && !problem.remedy.isEmpty, sourceLocation: sourceLocation)
            }
        }
    }
}

extension Village {
    /// So many rounds of everybody, time going on; nothing has to come to rest.
    func pass(_ rounds: Int) throws {
        for _ in 0..<rounds {
            for replica in replicas { try replica.round() }
            world.clock.advance(milliseconds: 700)
        }
    }

    /// Rounds of everybody, so far apart that replicas which nobody has heard of are looked for.
    func meet() throws {
        for _ in 0..<3 {
            world.clock.advance(milliseconds: 10_500)
            for replica in replicas { try replica.round() }
        }
        try pass(2)
    }

    /// Settles, deletions in other people's shares included, which wait for half a minute.
    func settleDeletions() throws -> Bool {
        try settle()
        world.clock.advance(milliseconds: 31_000)
        return try settle()
    }

    /// The paths of the files on the mount that begin so, sorted.
    func mountFiles(_ prefix: String) throws -> [MountPath] {
        try world.storage.tree().keys.filter { $0.hasPrefix(prefix) }.sorted().map { try $0.mountPath }
    }
}
