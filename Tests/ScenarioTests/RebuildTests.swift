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

/// The state directory is lost, or was out of reach for a long time.
@Suite struct RebuildTests {
    /// A new state for a replica's machine and folders, as `init --import --take-over` makes it.
    private func withoutState(_ replica: Replica) throws -> Replica {
        let machine = replica.machine
        machine.restart()
        let (identity, _) = try replica.identity.makeSecondDevice(
            deviceLabel: machine.name, nowMilliseconds: machine.world.nowMilliseconds(),
            randomBytes: machine.world.randomBytes)
        let fresh = try Replica(machine: machine, label: replica.label, identity: identity)
        try fresh.engine.setUp(host: machine.name, takeOver: true)
        return fresh
    }

    private func records(_ replica: Replica) throws -> [RecordID: String] {
        try replica.store.read { db in
            var result: [RecordID: String] = [:]
            for zone in try db.zones() where zone.state == .active {
                for row in try db.files(in: zone.id) { result[row.id] = row.name?.description ?? "" }
            }
            return result
        }
    }

    /// A link, or somebody else's folder, in the place of one that is known: a call on what was in it says something else than
    /// that it is gone, for good.
    @Test(arguments: [FileError.Code.denied, .unexpectedKind])
    func `without its state directory a device goes on, though it may not look at something that is known`(
        code: FileError.Code
    ) throws {
        let party = try Party(bob: "readWrite")
        var village = party.village
        let tree = party.bob.tree(.shared)
        let alice = try withoutState(party.alice)
        village.replicas = village.replicas.map { $0 === party.alice ? alice : $0 }
        alice.machine.faults.setRule { operation in
            let isThat = operation.part == "library" && operation.path.contains("Summer/deep/b.jpg")
            return isThat && operation.name == "entry" ? .fail(code) : nil
        }
        try alice.machine.library.write("Summer/new.jpg", "new")
        try village.pass(16)
        #expect(party.bob.tree(.shared) == tree.merging(["alice/Summer/new.jpg": "new"]) { $1 }, "\(alice.problems)")
        alice.machine.faults.setRule(nil)
        try #require(try village.settle())
        #expect(party.bob.tree(.shared) == tree.merging(["alice/Summer/new.jpg": "new"]) { $1 })
        #expect(alice.tree(.library)["Summer/deep/b.jpg"] == "bbb")
    }

    @Test func `without its state directory a device comes back to the same, and resurrects nothing`() throws {
        let party = try Party(bob: "readWrite")
        var village = party.village
        #expect(
            party.alice.request(.tag(path: party.alice.path("Summer/a.jpg"), titles: ["Beach"], isMember: true)).code
                == 0)
        #expect(
            party.bob.request(.caption(path: party.bob.path("alice/Summer/a.jpg", .shared), text: "Lake")).code == 0)
        try party.alice.machine.library.write("Gone/d.jpg", "ddd")
        try #require(try village.settle())
        let before = (alice: try records(party.alice), bob: try records(party.bob))
        let assets = village.assetNames
        // While Alice has no state, Carol deletes one photo and edits another; Alice changes files, too.
        let laptop = try village.addDevice(of: party.alice, name: "laptop")
        try village.settle()
        let disk = party.alice.machine.library
        var others = village
        others.replicas = [party.bob, party.carol, laptop]
        try party.carol.machine.shared.delete("alice/Summer/deep/b.jpg")
        try laptop.machine.library.delete("Gone")
        try others.pass(4)
        others.world.clock.advance(milliseconds: 40_000)
        try others.pass(6)
        try disk.write("Private/new.jpg", "new")
        try disk.write("Private/c.jpg", "edited while there was no state")
        let alice = try withoutState(party.alice)
        let bob = try withoutState(party.bob)
        village.replicas = [alice, bob, party.carol, laptop]
        try #require(try village.settle())
        try village.meet()
        try #require(try village.settle())
        for replica in [alice, laptop] {
            let tree = replica.tree(.library)
            #expect(tree["Summer/a.jpg"] == "aaa" && tree["Private/new.jpg"] == "new", "\(tree)")
            #expect(tree["Summer/deep/b.jpg"] == nil && tree["Gone/d.jpg"] == nil, "\(tree)")
            #expect(Set(tree.values) == ["aaa", "ccc", "new", "edited while there was no state"], "\(tree)")
        }
        #expect(bob.tree(.shared) == ["alice/Summer/a.jpg": "aaa"])
        #expect(party.carol.tree(.shared) == ["alice/Summer/a.jpg": "aaa"])
        // The same records, none twice, and what was deleted is in the trash.
        let after = try records(alice)
        let kept = before.alice.filter { !["b.jpg", "d.jpg"].contains($0.value) }
        #expect(kept.allSatisfy { after[$0.key] == $0.value }, "\(kept) \(after)")
        #expect(after.count == kept.count + 2)
        #expect(try records(bob) == before.bob.filter { $0.value != "b.jpg" })
        #expect(disk.tree().contains { $0.key.contains("/trash/") && $0.value == Array("ddd".utf8) })
        #expect(alice.sidecar("Summer/a.jpg", .library)?.fields.tags == ["Beach"])
        #expect(bob.sidecar("alice/Summer/a.jpg", .shared)?.fields.caption == "Lake")
        #expect(village.assetNames.count == assets.count + 2, "nothing that was there is uploaded again")
        for replica in village.replicas { #expect(replica.problems.isEmpty, "\(replica.label): \(replica.problems)") }
    }

    /// Whose state is lost: a participant's, or that of the owner's other device.
    @Test(arguments: [false, true])
    func `what others did while a device had no state stands, and nothing old of that is new`(isOwner: Bool) throws {
        let party = try Party(bob: "readWrite")
        var village = party.village
        let library = party.alice.machine.library
        for name in ["edited", "renamed", "moved", "both"] { try library.write("Summer/\(name).jpg", name) }
        let laptop = try village.addDevice(of: party.alice, name: "laptop")
        try #require(try village.settle())
        let victim = isOwner ? laptop : party.bob
        var others = village
        others.replicas = village.replicas.filter { $0 !== victim }
        try library.write("Summer/edited.jpg", "edited by alice", saving: .replacing)
        try library.move("Summer/renamed.jpg", to: "Summer/renamed by alice.jpg")
        try library.move("Summer/moved.jpg", to: "Summer/deep/moved.jpg")
        try library.move("Summer/both.jpg", to: "Summer/both by alice.jpg")
        try others.pass(4)
        try library.write("Summer/both by alice.jpg", "both by alice", saving: .replacing)
        try library.move("Summer/deep", to: "Summer/depth")
        try #require(try others.settle())
        let fresh = try withoutState(victim)
        village.replicas = others.replicas + [fresh]
        try #require(try village.settleDeletions())
        try village.meet()
        try #require(try village.settleDeletions())
        let wanted = [
            "a.jpg": "aaa", "depth/b.jpg": "bbb", "edited.jpg": "edited by alice",
            "renamed by alice.jpg": "renamed", "depth/moved.jpg": "moved", "both by alice.jpg": "both by alice",
        ]
        for replica in village.replicas {
            let (root, folder) =
                replica.label == "alice" ? (RootKind.library, "Summer/") : (RootKind.shared, "alice/Summer/")
            let shown = replica.tree(root).filter { $0.key.hasPrefix(folder) }
            let found = Dictionary(
                uniqueKeysWithValues: shown.map { (String($0.key.dropFirst(folder.count)), $0.value) })
            #expect(found == wanted, "\(replica.machine.name)")
            #expect(replica.problems.isEmpty, "\(replica.machine.name): \(replica.problems)")
        }
    }

    @Test func `what was renamed or moved and not published when the state was lost keeps its new name, once`() throws {
        let party = try Party(bob: "readWrite")
        var village = party.village
        let library = party.alice.machine.library
        for name in ["one", "two", "three"] { try library.write("Trip/day/\(name).jpg", name) }
        try library.write("Mixed/left.jpg", "left")
        try library.write("Mixed/right.jpg", "right")
        try library.write("copy 1.jpg", "the same")
        try library.write("copy 2.jpg", "the same")
        try #require(try village.settle())
        let path = party.alice.path("Trip/day/one.jpg")
        #expect(party.alice.request(.caption(path: path, text: "first day")).code == 0)
        try #require(try village.settle())
        let before = try records(party.alice).count
        // Nobody looks: a file and a folder renamed, a folder's files taken apart, one moved out of and one into the share.
        try library.move("Private/c.jpg", to: "Private/sea.jpg")
        try library.move("Trip", to: "Journey")
        try library.move("Mixed/left.jpg", to: "Left/left.jpg")
        try library.move("Mixed/right.jpg", to: "Private/right.jpg")
        try library.delete("Mixed")
        try library.move("copy 2.jpg", to: "Private/copy.jpg")
        try library.move("Summer/deep/b.jpg", to: "b.jpg")
        try party.bob.machine.shared.move("alice/Summer/a.jpg", to: "alice/Summer/deep/lake.jpg")
        let alice = try withoutState(party.alice)
        let bob = try withoutState(party.bob)
        village.replicas = [alice, bob, party.carol]
        try #require(try village.settleDeletions())
        try village.meet()
        try #require(try village.settleDeletions())
        #expect(
            alice.tree(.library) == [
                "Private/sea.jpg": "ccc", "Journey/day/one.jpg": "one", "Journey/day/two.jpg": "two",
                "Journey/day/three.jpg": "three", "Left/left.jpg": "left", "Private/right.jpg": "right",
                "copy 1.jpg": "the same", "Private/copy.jpg": "the same", "b.jpg": "bbb", "Summer/deep/lake.jpg": "aaa",
            ])
        #expect(alice.sidecar("Journey/day/one.jpg", .library)?.fields.caption == "first day")
        for replica in [bob, party.carol] {
            #expect(replica.tree(.shared) == ["alice/Summer/deep/lake.jpg": "aaa"], "\(replica.label)")
        }
        #expect(try records(alice).count == before)
        for replica in village.replicas { #expect(replica.problems.isEmpty, "\(replica.label): \(replica.problems)") }
    }

    @Test(arguments: [false, true])
    func `a device that can't read the private zone just then, or is not shown it yet, makes no other one`(
        isStale: Bool
    ) throws {
        let party = try Party(bob: "readWrite")
        var village = party.village
        let machine = village.world.addMachine("laptop")
        let (identity, _) = try party.alice.identity.makeSecondDevice(
            deviceLabel: "laptop", nowMilliseconds: machine.world.nowMilliseconds(),
            randomBytes: machine.world.randomBytes)
        let laptop = try Replica(machine: machine, label: "alice", identity: identity)
        let zones = Set(village.world.storage.tree().keys.filter { $0.contains("/control/") })
        machine.faults.setRule { operation in
            if isStale { return operation.name == "list" && operation.path.hasSuffix("zones") ? .fail(.absent) : nil }
            return operation.name == "read" && operation.path.contains("/control/") ? .fail(.inputOutput) : nil
        }
        #expect(throws: (any Error).self) { try laptop.setUp(isJoining: true) }
        #expect(Set(village.world.storage.tree().keys.filter { $0.contains("/control/") }) == zones)
        machine.faults.clear()
        try laptop.setUp(isJoining: true)
        village.replicas.append(laptop)
        try #require(try village.settle())
        #expect(laptop.tree(.library) == party.alice.tree(.library))
    }

    /// The private zone says only that they went elsewhere.
    @Test(arguments: ["control", "log", "heads", "list heads"], [false, true])
    func `what went into a share that can't be read when the state is lost is neither put away nor taken as new`(
        part: String, isLong: Bool
    ) throws {
        let party = try Party(bob: "readWrite")
        var village = party.village
        try #require(party.alice.request(.caption(path: party.alice.path("Summer/a.jpg"), text: "lake")).code == 0)
        try #require(try village.settle())
        let before = (records: try records(party.alice), tree: party.alice.tree(.library))
        let alice = try withoutState(party.alice)
        village.replicas = [alice, party.bob, party.carol]
        try party.carol.machine.shared.delete("alice/Summer/deep")
        let directory = "zones/\(party.zone)/\(part.split(separator: " ").last ?? "")"
        let call = part.hasPrefix("list") ? "list" : "read"
        alice.machine.faults.setRule { operation in
            operation.name == call && operation.path.contains(directory) ? .fail(.inputOutput) : nil
        }
        for _ in 0..<6 {
            try village.pass(2)
            village.world.clock.advance(milliseconds: isLong ? 180_000 : 20_000)
        }
        #expect(alice.tree(.library) == before.tree)
        #expect(alice.sidecar("Summer/a.jpg", .library)?.fields.caption == "lake")
        if !isLong { #expect(alice.problems.contains { $0.code == "rebuildUnread" }, "\(alice.problems)") }
        alice.machine.faults.setRule(nil)
        try village.settleDeletions()
        try #require(try village.settle())
        #expect(!alice.problems.contains { $0.code == "rebuildUnread" }, "\(alice.problems)")
        #expect(alice.tree(.library)["Private/c.jpg"] == "ccc")
        #expect(alice.tree(.library).values.contains("aaa"))
        guard !isLong else { return }
        #expect(alice.tree(.library) == ["Summer/a.jpg": "aaa", "Private/c.jpg": "ccc"])
        #expect(alice.sidecar("Summer/a.jpg", .library)?.fields.caption == "lake")
        #expect(try records(alice) == before.records.filter { $0.value != "b.jpg" })
    }

    @Test func `files of a folder that is new to the account move nothing that others have`() throws {
        let party = try Party(bob: "readWrite")
        var village = party.village
        let before = party.alice.tree(.library)
        let machine = village.world.addMachine("laptop")
        try machine.library.write("sorted/my way.jpg", "ccc")
        let (identity, _) = try party.alice.identity.makeSecondDevice(
            deviceLabel: "laptop", nowMilliseconds: machine.world.nowMilliseconds(),
            randomBytes: machine.world.randomBytes)
        let laptop = try Replica(machine: machine, label: "alice", identity: identity)
        try laptop.setUp()
        village.replicas.append(laptop)
        try #require(try village.settle())
        let after = before.merging(["sorted/my way.jpg": "ccc"]) { $1 }
        #expect(party.alice.tree(.library) == after)
        #expect(laptop.tree(.library) == after)
    }

    @Test func `a device that was away for a year resurrects nothing and loses nothing of its own`() throws {
        let party = try Party(bob: "readWrite")
        var village = party.village
        let laptop = try village.addDevice(of: party.alice, name: "laptop")
        let album = ["one", "two", "three", "four"]
        for name in album { try party.alice.machine.library.write("Summer/\(name).jpg", name) }
        try #require(try village.settle())
        // The laptop and Bob go away; both work on for a while.
        var present = village
        present.replicas = [party.alice, party.carol]
        try laptop.machine.library.write("Summer/mine.jpg", "laptop's own")
        try laptop.machine.library.write("Summer/one.jpg", "edited on the laptop")
        try party.bob.machine.shared.write("alice/Summer/bob.jpg", "bob's own")
        try party.bob.machine.shared.delete("alice/Summer/four.jpg")
        for replica in [laptop, party.bob] { _ = try replica.engine.round(.all, reachesContainer: false) }
        for month in 0..<12 {
            present.world.clock.advance(milliseconds: 31 * 86_400_000)
            try party.alice.machine.library.write("Summer/month\(month).jpg", "month \(month)")
            if month == 2 {
                for name in ["one", "two"] { try party.alice.machine.library.delete("Summer/\(name).jpg") }
                try party.carol.machine.shared.write("alice/Summer/three.jpg", "edited by carol")
            }
            try present.pass(6)
            if month > 2 { try party.alice.machine.library.delete("Summer/month\(month - 2).jpg") }
            try present.pass(4)
        }
        #expect(party.alice.tree(.library)["Summer/one.jpg"] == nil)
        for replica in [laptop, party.bob] { try replica.restart() }
        try village.meet()
        village.world.clock.advance(milliseconds: 40_000)
        try #require(try village.settle(rounds: 120))
        village.world.clock.advance(milliseconds: 40_000)
        try #require(try village.settle(rounds: 120))
        var expected = [
            "a.jpg": "aaa", "deep/b.jpg": "bbb", "three.jpg": "edited by carol", "mine.jpg": "laptop's own",
            "bob.jpg": "bob's own", "one.jpg": "edited on the laptop",
        ]
        for month in [0, 10, 11] { expected["month\(month).jpg"] = "month \(month)" }
        party.expectShown(expected)
        let bobs = Dictionary(uniqueKeysWithValues: expected.map { ("alice/Summer/" + $0.key, $0.value) })
        #expect(party.bob.tree(.shared) == bobs)
        #expect(laptop.tree(.library) == party.alice.tree(.library))
        for replica in village.replicas { #expect(replica.problems.isEmpty, "\(replica.label): \(replica.problems)") }
    }
}

/// The same by the executable.
@Suite(.serialized)
struct RebuildCommandTests {
    @Test func `a lost state directory comes back with the exported account`() throws {
        let place = try CommandPlace()
        let alice = try place.person("alice")
        let bob = try place.person("bob")
        for name in ["a", "b", "c"] { try alice.drop("photo \(name)", at: alice.library + "/Lake/\(name).jpg") }
        try alice.drop("private", at: alice.library + "/own.jpg")
        try alice.must("sync")
        try alice.must("share", "create", "library/Lake", "--title", "Summer")
        try alice.must("share", "invite", "Summer", "bob", "--permission", "readWrite")
        try alice.must("tag", "add", "library/Lake/a.jpg", "beach")
        let link = try alice.must("share", "link", "Summer").output.trimmingCharacters(in: .whitespacesAndNewlines)
        try bob.must("accept", link)
        try bob.must("sync")
        try alice.must("sync")
        let passphrase = alice.home + "/passphrase"
        try alice.drop("correct horse battery", at: passphrase)
        try alice.must("account", "export", "device", "--passphrase-file", passphrase)
        func entries() throws -> [JSONValue] {
            try alice.must("list", "--json").json["entries"]?.array ?? []
        }
        let before = try entries()
        #expect(before.count == 5)
        // Gone; meanwhile Bob adds a photo.
        try FileManager.default.removeItem(atPath: alice.home + "/state")
        try FileManager.default.removeItem(atPath: alice.config)
        try bob.drop("from bob", at: bob.shared + "/alice/Summer/bob.jpg")
        try bob.must("sync")
        let refused = try alice.initialize(["--import", "device", "--passphrase-file", passphrase])
        #expect(
            refused.code == 11 && refused.errors.contains("repeat this command with --take-over"), "\(refused.errors)")
        let again = try alice.initialize(
            ["--import", "device", "--passphrase-file", passphrase, "--take-over"])
        #expect(again.code == 0, "\(again.errors)")
        try alice.must("sync")
        let after = try entries()
        #expect(after.count == 6)
        for entry in before { #expect(after.contains(entry), "\(entry)") }
        #expect(alice.text(alice.library + "/Lake/bob.jpg") == "from bob")
        try bob.must("sync")
        let names = try FileManager.default.contentsOfDirectory(atPath: bob.shared + "/alice/Summer").sorted()
        #expect(names.filter { $0.hasSuffix(".jpg") } == ["a.jpg", "b.jpg", "bob.jpg", "c.jpg"])
        #expect(try alice.must("verify", "--json").json["faults"]?.array?.isEmpty == true)
    }

    @Test func `versions, undo and verify by commands`() throws {
        let place = try CommandPlace()
        let alice = try place.person("alice")
        try alice.drop("first", at: alice.library + "/a.jpg")
        try alice.must("sync")
        try alice.drop("second", at: alice.library + "/a.jpg")
        try alice.must("sync")
        let versions = try alice.must("restore", "library/a.jpg", "--list", "--json").json["versions"]?.array ?? []
        #expect(versions.count == 2)
        try alice.must("restore", "library/a.jpg", "--version", "2")
        #expect(alice.text(alice.library + "/a.jpg") == "first")
        try alice.must("caption", "library/a.jpg", "one")
        try alice.must("caption", "library/a.jpg", "two")
        let history = try alice.must("history", "--json").json
        let last = try #require(history["transactions"]?.array?.last?.object)
        let change = try #require(last["changes"]?.array?.first?.object)
        #expect(change["fields"]?.object?["caption"]?.text == "two")
        #expect(change["former"]?.object?["caption"]?.text == "one")
        #expect(try alice.must("history").output.contains("'one' → 'two'"))
        #expect(try alice.must("history").output.contains("set Photo library/a.jpg by alice"))
        try alice.must("undo", String(try #require(last["token"]?.integer)))
        #expect(try alice.must("show", "library/a.jpg", "--json").json["caption"]?.text == "one")
        let assets =
            FileManager.default.enumerator(atPath: alice.container + "/assets")?.compactMap { $0 as? String } ?? []
        for name in assets where name.contains("-") {
            try FileManager.default.removeItem(atPath: alice.container + "/assets/" + name)
        }
        let broken = try alice.run(["verify", "--json"])
        #expect(broken.code == 3 && broken.json["faults"]?.array?.isEmpty == false, "\(broken.output)")
        let mended = try alice.run(["verify", "--repair", "--json"])
        #expect(mended.code == 0 && mended.json["mended"]?.array?.isEmpty == false, "\(mended.output)\(mended.errors)")
        #expect(try alice.must("conflicts").output == "no conflicts\n")
    }
}
