@testable import Shoebox
import ShoeboxCloud
import ShoeboxLibrary
import ShoeboxModel
import ShoeboxPlanning
import ShoeboxStore
import ShoeboxTestSupport
import ShoeboxWorld
import Testing

/// What the container has lost comes back from those who still have it.
@Suite struct HealTests {
    /// Rounds, so far apart that what is not seen is asked for, and heads are looked at again.
    private func waitForHelp(_ village: Village) throws {
        for _ in 0..<4 {
            try village.pass(4)
            village.world.clock.advance(milliseconds: 61_000)
        }
        try village.pass(6)
    }

    @Test(arguments: [true, false], ["readOnly", "readWrite"])
    func `an asset that is gone or damaged is uploaded again by who has it`(isGone: Bool, permission: String) throws {
        let party = try Party(bob: permission, others: ["dave"])
        let dave = party.village.replicas[3]
        let storage = party.village.world.storage
        for path in try party.village.mountFiles("assets/") {
            if isGone { storage.rawRemove(path) } else { storage.rawWrite(path, Array("scribble".utf8)) }
        }
        // The owner's device is away, and so is Carol's: who may only read mends what is gone, not what is damaged.
        let mayMend = isGone || permission == "readWrite"
        #expect(party.alice.request(.invite(share: "Summer", accounts: ["dave"], permission: "readOnly")).code == 0)
        #expect(dave.request(.accept(link: party.link)).code == 0)
        var two = party.village
        two.replicas = [party.bob, dave]
        try waitForHelp(two)
        let whole = ["alice/Summer/a.jpg": "aaa", "alice/Summer/deep/b.jpg": "bbb"]
        #expect(dave.tree(.shared) == (mayMend ? whole : [:]), "\(dave.problems) \(party.bob.logLines.suffix(5))")
        // The owner is back.
        try waitForHelp(party.village)
        try #require(try party.village.settle())
        #expect(dave.tree(.shared) == whole, "\(dave.problems)")
        for replica in party.village.replicas {
            #expect(replica.problems.isEmpty, "\(replica.label): \(replica.problems)")
        }
        party.expectShown()
        #expect(party.bob.tree(.shared) == whole)
        try party.expectGoesOn()
    }

    @Test(arguments: ["scribbled", "cut"])
    func `who has a damaged asset's bytes only after it was asked for them uploads it then`(damage: String) throws {
        let party = try Party(bob: "readWrite", others: ["dave"])
        let dave = party.village.replicas[3]
        let storage = party.village.world.storage
        for path in try party.village.mountFiles("assets/") {
            storage.rawWrite(path, damage == "cut" ? [] : Array("scribble".utf8))
        }
        #expect(party.alice.request(.invite(share: "Summer", accounts: ["dave"], permission: "readOnly")).code == 0)
        #expect(dave.request(.accept(link: party.link)).code == 0)
        // Bob's folder is away while he is asked.
        var two = party.village
        two.replicas = [party.bob, dave]
        party.bob.machine.shared.unmount()
        try waitForHelp(two)
        #expect(dave.tree(.shared).isEmpty)
        party.bob.machine.shared.mount()
        try waitForHelp(two)
        #expect(
            dave.tree(.shared) == ["alice/Summer/a.jpg": "aaa", "alice/Summer/deep/b.jpg": "bbb"],
            "\(dave.problems) \(party.bob.logLines.suffix(5))")
        try party.expectGoesOn()
    }

    @Test func `mending an asset revives nothing and decides no conflict`() throws {
        let party = try Party(bob: "readWrite", others: ["dave"])
        let dave = party.village.replicas[3]
        let storage = party.village.world.storage
        for path in try party.village.mountFiles("assets/") { storage.rawWrite(path, Array("scribble".utf8)) }
        #expect(party.alice.request(.invite(share: "Summer", accounts: ["dave"], permission: "readOnly")).code == 0)
        #expect(dave.request(.accept(link: party.link)).code == 0)
        // Bob mends while Carol, who has not heard of it, deletes.
        var mending = party.village
        mending.replicas = [party.bob, dave]
        try waitForHelp(mending)
        #expect(dave.tree(.shared).count == 2)
        try party.carol.machine.shared.delete("alice/Summer/deep/b.jpg")
        _ = try party.carol.engine.round(.all, reachesContainer: false)
        party.village.world.clock.advance(milliseconds: 40_000)
        _ = try party.carol.engine.round(.all, reachesContainer: false)
        try waitForHelp(party.village)
        party.expectShown(["a.jpg": "aaa"])
        #expect(dave.tree(.shared) == ["alice/Summer/a.jpg": "aaa"])
    }

    /// Puts the mount back to what it was.
    private func restore(_ storage: SimulatedMountStorage, to before: [String: [UInt8]]) throws {
        for path in storage.tree().keys where before[path] == nil { storage.rawRemove(try path.mountPath) }
        for (path, bytes) in before where storage.tree()[path] != bytes { storage.rawWrite(try path.mountPath, bytes) }
    }

    @Test(arguments: [true, false])
    func `a mount that is put back to a backup gets again what it has lost`(restarts: Bool) throws {
        let party = try Party(bob: "readWrite")
        let storage = party.village.world.storage
        let before = storage.tree()
        try party.alice.machine.library.write("Summer/new.jpg", "by alice")
        try party.alice.machine.library.write("Private/own.jpg", "private")
        try party.bob.machine.shared.write("alice/Summer/bob.jpg", "by bob")
        try party.carol.machine.shared.write("alice/Summer/a.jpg", "edited by carol")
        let tag = party.alice.request(
            .tag(path: party.alice.path("Summer/deep/b.jpg"), titles: ["Beach"], isMember: true))
        #expect(tag.code == 0)
        #expect(party.alice.request(.shareTitle(share: "Summer", title: "Lake")).code == 0)
        try #require(try party.village.settle())
        let shown = party.village.replicas.map { $0.tree(.library).merging($0.tree(.shared)) { $1 } }
        try restore(storage, to: before)
        if restarts { for replica in party.village.replicas { try replica.restart() } }
        try party.village.meet()
        party.village.world.clock.advance(milliseconds: 700_000)
        try #require(try party.village.settle())
        #expect(party.village.replicas.map { $0.tree(.library).merging($0.tree(.shared)) { $1 } } == shown)
        for replica in party.village.replicas {
            #expect(replica.problems.isEmpty, "\(replica.label): \(replica.problems)")
        }
        // Who has nothing but the mount gets all of it.
        var village = party.village
        let laptop = try village.addDevice(of: party.alice, name: "laptop")
        try village.meet()
        try #require(try village.settle())
        #expect(laptop.tree(.library) == party.alice.tree(.library))
        #expect(laptop.sidecar("Summer/deep/b.jpg", .library)?.fields.tags == ["Beach"])
    }

    @Test func `what only its own device publishes to is completed as soon as anything on the mount is seen put back`()
        throws
    {
        let party = try Party(bob: "readWrite")
        let storage = party.village.world.storage
        try #require(try party.village.settle())
        let before = storage.tree()
        try party.bob.machine.library.write("mine.jpg", "bob's own")
        try party.alice.machine.library.write("Summer/new.jpg", "by alice")
        try #require(try party.village.settle())
        let name = "\(party.bob.engine.replica)"
        let published = storage.tree().filter { path, _ in !before.keys.contains(path) && path.contains(name) }
        try #require(!published.isEmpty)
        try restore(storage, to: before)
        // Much shorter than what an own head that nobody else reads is taken on trust.
        for _ in 0..<20 {
            try party.bob.round(.directories([:]))
            party.village.world.clock.advance(milliseconds: 1_000)
        }
        let missing = Set(published.keys).subtracting(storage.tree().keys)
        #expect(missing == [])
    }

    @Test func `a container that is gone is made anew on demand, and only in an empty folder`() throws {
        let party = try Party(bob: "readWrite")
        let storage = party.village.world.storage
        let refused = party.alice.request(.recreateContainer)
        #expect(refused.code == ExitCode.failed && refused.remedy?.isEmpty == false)
        for path in storage.tree().keys { storage.rawRemove(try path.mountPath) }
        for name in storage.rawList(.root) { storage.rawRemove(try name.mountPath) }
        for replica in party.village.replicas { try replica.restart() }
        try party.village.pass(4)
        party.expectNamed("offline", by: party.village.replicas)
        #expect(storage.tree().isEmpty, "nothing is written into a folder that is no container")
        storage.rawWrite(try "holiday.txt".mountPath, [1])
        #expect(party.alice.request(.recreateContainer).code == ExitCode.failed)
        #expect(storage.tree().count == 1)
        storage.rawRemove(try "holiday.txt".mountPath)
        let made = party.alice.request(.recreateContainer)
        #expect(made.code == 0, "\(made)")
        try party.village.meet()
        try #require(try party.village.settle())
        party.expectShown()
        for replica in party.village.replicas {
            #expect(replica.problems.isEmpty, "\(replica.label): \(replica.problems)")
        }
        var village = party.village
        let laptop = try village.addDevice(of: party.alice, name: "laptop")
        try village.meet()
        try #require(try village.settle())
        #expect(laptop.tree(.library) == party.alice.tree(.library))
        try party.expectGoesOn()
    }

    /// Verifies, checks that these faults are found and mendable or not, and mends.
    private func expectFaults(
        _ codes: Set<String>, on replica: Replica, mendable: Bool, sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        let report = try replica.engine.verify()
        #expect(Set(report.faults.map(\.code)) == codes, "\(report.faults)", sourceLocation: sourceLocation)
        for fault in report.faults {
            #expect(
                !fault.path.isEmpty && !fault.message.isEmpty && !fault.remedy.isEmpty, sourceLocation: sourceLocation)
            #expect(fault.isMendable == mendable, "\(fault)", sourceLocation: sourceLocation)
        }
        guard mendable else { return }
        let request = try #require(report.repair, sourceLocation: sourceLocation)
        let reply = replica.request(request)
        #expect(reply.code == 0, "\(reply)", sourceLocation: sourceLocation)
    }

    @Test func `verify finds nothing where nothing is wrong, and says how much it read`() throws {
        let party = try Party(bob: "readOnly")
        for replica in [party.alice, party.bob, party.carol] {
            let report = try replica.engine.verify()
            #expect(report.faults.isEmpty, "\(replica.label): \(report.faults)")
            #expect(report.counts.segments > 0 && report.counts.changes > 0 && report.counts.assets >= 2)
            #expect(report.counts.files == (replica === party.alice ? 3 : 2))
        }
    }

    /// Has the owner's device mend what it finds, which is all, and everybody look again.
    private func mendAll(_ party: Party, sourceLocation: SourceLocation = #_sourceLocation) throws {
        try party.alice.restart()
        let report = try party.alice.engine.verify()
        #expect(
            !report.faults.isEmpty && report.faults.allSatisfy(\.isMendable), "\(report.faults)",
            sourceLocation: sourceLocation)
        let reply = party.alice.request(try #require(report.repair))
        #expect(reply.code == 0, "\(reply)", sourceLocation: sourceLocation)
        try party.village.meet()
    }

    @Test(arguments: ["assets/", "zones/ZONE/log/OWN", "zones/ZONE/heads/OWN", "zones/ZONE/control/", "accounts/OWN"])
    func `verify finds what is gone, and repair brings it back`(prefix: String) throws {
        let party = try Party(bob: "readOnly")
        let storage = party.village.world.storage
        let own =
            prefix.hasPrefix("accounts")
            ? party.alice.identity.account.description : party.alice.identity.replica.description
        let text = prefix.split(separator: "ZONE", omittingEmptySubsequences: false).joined(
            separator: party.zone.description
        )
        .split(separator: "OWN", omittingEmptySubsequences: false).joined(separator: own)
        let before = storage.tree()
        let paths = try party.village.mountFiles(text)
        try #require(!paths.isEmpty)
        for path in paths { storage.rawRemove(path) }
        try mendAll(party)
        try #require(try party.village.settle())
        #expect(try party.alice.engine.verify().faults.isEmpty)
        for path in paths where !prefix.contains("heads") && !prefix.contains("assets") {
            #expect(storage.tree()[path.description] == before[path.description], "\(path)")
        }
        for path in paths { #expect(storage.tree()[path.description] != nil, "\(path)") }
        try party.expectGoesOn()
    }

    @Test(arguments: ["zones/ZONE/control/", "accounts/OWN"], [true, false])
    func
        `what is damaged of the owner's controls and statements is mended by its own device, and who comes later gets in`(
            prefix: String, isCut: Bool
        ) throws
    {
        let party = try Party(bob: "readOnly", others: ["dave"])
        let storage = party.village.world.storage
        let text = prefix.replacing("ZONE", with: party.zone.description)
            .replacing("OWN", with: party.alice.identity.account.description)
        let before = storage.tree()
        for path in try party.village.mountFiles(text) where !path.description.contains("inbox") {
            var bytes = try #require(storage.rawRead(path))
            if isCut { bytes.removeLast(bytes.count / 2) } else { bytes[bytes.count / 2] ^= 0x40 }
            storage.rawWrite(path, bytes)
        }
        try party.carol.restart()
        let seen = try party.carol.engine.verify()
        #expect(!seen.faults.isEmpty && !seen.faults.contains { $0.isMendable }, "\(seen.faults)")
        try mendAll(party)
        for (path, bytes) in before where path.hasPrefix(text) && !path.contains("inbox") {
            #expect(storage.tree()[path] == bytes, "\(path)")
        }
        let dave = try #require(party.village.replicas.last)
        #expect(party.alice.request(.invite(share: "Summer", accounts: ["dave"], permission: "readOnly")).code == 0)
        #expect(dave.request(.accept(link: party.link)).code == 0)
        try #require(try party.village.settle())
        #expect(dave.tree(.shared).values.sorted() == ["aaa", "bbb"])
        for replica in party.village.replicas {
            #expect(try replica.engine.verify().faults.isEmpty, "\(replica.label)")
        }
    }

    @Test(arguments: [1, 2, 3, 4, 5, -2, -3, -4, -5])
    func `a control that is lost in the middle is published again before the next one, and nothing goes back`(
        place: Int
    ) throws {
        // Below 0 it is damaged, not gone.
        let number = abs(place)
        let party = try Party(bob: "readOnly", others: ["dave"])
        #expect(party.alice.request(.permission(share: "Summer", account: "bob", permission: "readWrite")).code == 0)
        #expect(party.alice.request(.shareTitle(share: "Summer", title: "Winter")).code == 0)
        try #require(try party.village.settle())
        let files = try party.village.mountFiles("zones/\(party.zone)/control/").sorted()
        try #require(files.count >= 5)
        let path = files[number - 1]
        let before = party.village.world.storage.rawRead(path)
        if place > 0 {
            party.village.world.storage.rawRemove(path)
        } else {
            party.village.world.storage.rawWrite(path, Array((before ?? []).dropLast(9)))
        }
        try party.village.meet()
        #expect(party.alice.request(.invite(share: "Winter", accounts: ["dave"], permission: "readOnly")).code == 0)
        #expect(party.village.world.storage.rawRead(path) == before)
        let dave = try #require(party.village.replicas.last)
        #expect(dave.request(.accept(link: party.link)).code == 0)
        try #require(try party.village.settle())
        for replica in party.village.replicas {
            let control = try #require(replica.engine.zones[party.zone]?.control)
            #expect(control.title == "Winter", "\(replica.label)")
            #expect(control.permission(of: party.bob.identity.account) == .readWrite, "\(replica.label)")
            #expect(replica.problems.isEmpty, "\(replica.label): \(replica.problems)")
        }
        #expect(dave.tree(.shared).values.sorted() == ["aaa", "bbb"])
    }

    @Test func `an own statement that is damaged comes back when the device starts again`() throws {
        let party = try Party(bob: "readOnly")
        let storage = party.village.world.storage
        let files = try party.village.mountFiles("accounts/\(party.alice.identity.account)")
        let path = try #require(files.first { !$0.description.contains("inbox") })
        let before = storage.rawRead(path)
        storage.rawWrite(path, [1, 2, 3])
        try party.alice.restart()
        try party.village.pass(4)
        #expect(storage.rawRead(path) == before)
    }

    @Test(arguments: [true, false])
    func `an account that was taken out of the container comes back while its device runs`(isAsked: Bool) throws {
        let party = try Party(bob: "readOnly", others: ["dave"])
        let storage = party.village.world.storage
        let files = try party.village.mountFiles("accounts/\(party.alice.identity.account)")
        let before = storage.tree()
        for path in files { storage.rawRemove(path) }
        if isAsked {
            party.alice.engine.lookAtOwnHeads()
        } else {
            party.village.world.clock.advance(milliseconds: 601_000)
        }
        try party.village.pass(4)
        for path in files where !path.description.contains("inbox") {
            #expect(storage.tree()[path.description] == before[path.description], "\(path)")
        }
        // Who is new needs it for getting in.
        let dave = try #require(party.village.replicas.last)
        #expect(party.alice.request(.invite(share: "Summer", accounts: ["dave"], permission: "readOnly")).code == 0)
        #expect(dave.request(.accept(link: party.link)).code == 0)
        try #require(try party.village.settle())
        #expect(dave.tree(.shared).values.sorted() == ["aaa", "bbb"])
    }

    @Test(arguments: [true, false])
    func `an own account that can't be put back, or read, keeps nothing else from going on`(isRestarted: Bool) throws {
        let party = try Party(bob: "readOnly")
        let account = "accounts/\(party.alice.identity.account)"
        party.alice.machine.faults.setRule {
            $0.part == "mount" && $0.path.hasPrefix(account) ? .fail(.denied) : nil
        }
        if isRestarted { try party.alice.restart() }
        party.village.world.clock.advance(milliseconds: 601_000)
        try party.alice.machine.library.write("Summer/new.jpg", "new")
        try party.village.pass(6)
        #expect(party.bob.tree(.shared)["alice/Summer/new.jpg"] == "new")
        #expect(party.alice.problems.map(\.code) == ["accountUnreachable"], "\(party.alice.problems)")
        party.alice.machine.faults.setRule(nil)
        party.village.world.clock.advance(milliseconds: 61_000)
        try party.village.pass(2)
        #expect(party.alice.problems.isEmpty, "\(party.alice.problems)")
    }

    @Test(arguments: ["", "{\"format\": \"holiday\"}", "{\"format\": \"shoebox.container/1\", \"id\": \"x\"}"])
    func `a damaged container.json is written anew on demand, with the same id, and a newer one never`(text: String)
        throws
    {
        let party = try Party(bob: "readWrite")
        let storage = party.village.world.storage
        let file = try "container.json".mountPath
        let before = try #require(storage.rawRead(file))
        storage.rawWrite(file, Array("{\"format\": \"shoebox.container/2\"}".utf8))
        for replica in party.village.replicas { try replica.restart() }
        #expect(party.alice.request(.recreateContainer).code == ExitCode.failed)
        storage.rawWrite(file, text.isEmpty ? Array(before.prefix(before.count / 2)) : Array(text.utf8))
        try party.village.pass(4)
        party.expectNamed("containerWrong", by: party.village.replicas)
        let report = try party.bob.engine.verify()
        #expect(report.faults.contains { $0.remedy.contains("--new-container") }, "\(report.faults)")
        let reply = party.bob.request(.recreateContainer)
        #expect(reply.code == 0, "\(reply)")
        try party.village.meet()
        try #require(try party.village.settle())
        for replica in party.village.replicas {
            #expect(replica.problems.isEmpty, "\(replica.label): \(replica.problems)")
            #expect(try replica.engine.verify().faults.isEmpty)
        }
        try party.expectGoesOn()
    }

    @Test func `a large content that is damaged for good is not read with every round`() throws {
        let party = try Party(bob: "readWrite")
        let storage = party.village.world.storage
        try party.carol.engine.round(.all, reachesContainer: false)
        let before = Set(party.village.assetNames)
        try party.alice.machine.library.write("Summer/film.mov", String(repeating: "a long film ", count: 200_000))
        try party.rounds(of: party.alice, 4)
        let asset = try #require(party.village.assetNames.first { !before.contains($0) })
        let path = try #require(MountPath(asset))
        storage.rawWrite(path, try #require(storage.rawRead(path)).map { $0 ^ 0x55 })
        let reads = Mutex(0)
        party.carol.machine.faults.setRule { operation in
            if operation.part == "mount", operation.path.hasSuffix(asset), operation.name == "read" {
                reads.withLock { $0 += 1 }
            }
            return nil
        }
        var once = 0
        for _ in 0..<60 {
            try party.carol.round()
            if once == 0 { once = reads.withLock { $0 } }
            party.village.world.clock.advance(milliseconds: 10_000)
        }
        let count = reads.withLock { $0 }
        #expect(once > 0 && count > once && count < once * 30, "\(count) of \(once)")
        #expect(party.carol.problems.contains { $0.code == "contentDamaged" }, "\(party.carol.problems)")
    }

    /// Anybody sees in the container where somebody's content is.
    @Test func `a record that names a content under a wrong key keeps nobody from reading it under the right one`()
        throws
    {
        let party = try Party(bob: "readWrite")
        party.carol.machine.mount.unmount()
        try party.alice.machine.library.write("Summer/film.mov", String(repeating: "a long film ", count: 200_000))
        try party.rounds(of: party.alice, 4)
        let film = try "film.mov".fileName
        let asset = try party.alice.store.read { db in
            let row = try #require(try db.files(in: party.zone).first { $0.name == film })
            return try #require(try db.state(of: row.id)?.content)
        }
        let forger = try Forger(party.bob, zone: party.zone, in: party.village)
        var wrong = AssetReference(
            contentHash: asset.contentHash, size: asset.size, location: asset.location, key: forger.bytes(32))
        for number in 0..<3 {
            if number == 1 { wrong.contentHash = .init(high: 1, low: 1) }
            if number == 2 { wrong.size = 1 << 40 }
            let record = try #require(RecordName(bytes: Array(repeating: UInt8(number), count: 16)))
            let name = try "0 \(number).mov".fileName
            try forger.send([
                forger.change(record, .photo, .set([.name: .name(name), .parent: .null, .content: .asset(wrong)]))
            ])
        }
        party.carol.machine.mount.mount()
        try party.rounds(of: party.carol, 6)
        #expect(party.carol.tree(.shared)["alice/Summer/film.mov"]?.count == 2_400_000, "\(party.carol.problems)")
    }

    @Test(arguments: ["absent", "damaged"])
    func `a segment that is lost while its writer's head stays comes back from the writer, for who needs it`(
        how: String
    ) throws {
        var party = try Party(bob: "readOnly", others: ["dave"])
        let storage = party.village.world.storage
        let lost = try party.village.mountFiles("zones/\(party.zone)/log/\(party.alice.identity.replica)")
        let before = storage.tree()
        for path in lost { if how == "absent" { storage.rawRemove(path) } else { storage.rawWrite(path, [7, 7, 7]) } }
        // Who has read all of it misses nothing.
        try party.village.pass(4)
        party.expectShown()
        let dave = try #require(party.village.replicas.last)
        #expect(party.alice.request(.invite(share: "Summer", accounts: ["dave"], permission: "readOnly")).code == 0)
        #expect(dave.request(.accept(link: party.link)).code == 0)
        let alone = party.village.replicas
        party.village.replicas = [dave]
        try party.village.pass(4)
        party.village.world.clock.advance(milliseconds: 130_000)
        try party.village.pass(4)
        #expect(dave.tree(.shared).isEmpty && !dave.isQuiet)
        party.expectNamed(how == "absent" ? "segmentMissing" : "segmentDamaged", by: [dave])
        party.village.replicas = alone
        try party.village.meet()
        try #require(try party.village.settle())
        #expect(dave.tree(.shared).values.sorted() == ["aaa", "bbb"])
        for path in lost { #expect(storage.tree()[path.description] == before[path.description]) }
        for replica in party.village.replicas { #expect(replica.problems.isEmpty, "\(replica.problems)") }
    }

    @Test func `verify finds damage of every kind, and repair mends its own`() throws {
        let party = try Party(bob: "readWrite")
        let storage = party.village.world.storage
        func scribble(_ prefix: String) throws {
            let path = try #require(try party.village.mountFiles(prefix).first)
            var bytes = try #require(storage.rawRead(path))
            bytes[bytes.count / 2] ^= 0x40
            storage.rawWrite(path, bytes)
        }
        try scribble("assets/")
        try expectFaults(["asset"], on: party.alice, mendable: true)
        try #require(try party.village.settle())
        #expect(try party.alice.engine.verify().faults.isEmpty)
        let log = "zones/\(party.zone)/log/"
        try scribble(log + party.alice.identity.replica.description)
        try expectFaults(["segment"], on: party.bob, mendable: false)
        try expectFaults(["segment"], on: party.alice, mendable: true)
        try #require(try party.village.settle())
        for replica in party.village.replicas { #expect(try replica.engine.verify().faults.isEmpty) }
        // A disk that gives other bytes than were written.
        let disk = party.bob.machine.shared
        let stamp = try #require(try disk.stamp("alice/Summer/a.jpg"))
        try disk.write("alice/Summer/a.jpg", "axa", atNanoseconds: stamp.modifiedNanoseconds)
        try expectFaults(["file"], on: party.bob, mendable: true)
        try #require(try party.village.settle())
        #expect(party.bob.tree(.shared)["alice/Summer/a.jpg"] == "aaa")
        #expect(disk.tree().values.contains(Array("axa".utf8)), "what the file held is in the trash")
        party.expectShown()
        try party.expectGoesOn()
    }
}
