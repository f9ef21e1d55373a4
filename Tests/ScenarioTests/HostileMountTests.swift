import Shoebox
import ShoeboxCloud
import ShoeboxLibrary
import ShoeboxModel
import ShoeboxPlanning
import ShoeboxStore
import ShoeboxTestSupport
import ShoeboxWorld
import Testing

/// Files of the container that are torn, edited, missing or in the way: one chain stops at most, and says so.
@Suite struct HostileMountTests {
    enum Damage: String, CaseIterable { case torn, empty, edited, signature, garbage, huge }

    private func damaged(_ bytes: [UInt8], _ damage: Damage) -> [UInt8] {
        var bytes = bytes
        switch damage {
        case .torn: bytes.removeLast(bytes.count / 2)
        case .empty: bytes = []
        case .edited: bytes[bytes.count / 2] ^= 1
        case .signature: bytes[bytes.count - 1] ^= 1
        case .garbage: bytes = Array("not a segment".utf8)
        case .huge: bytes += [UInt8](repeating: 0, count: 200_000)
        }
        return bytes
    }

    /// A party in which Carol has published something that nobody has read yet.
    private func unread() throws -> (Party, segment: MountPath) {
        let party = try Party(bob: "readWrite")
        let prefix = "zones/\(party.zone)/log/\(party.carol.identity.replica)/"
        let before = Set(try party.village.mountFiles(prefix))
        try party.carol.machine.shared.write("alice/Summer/hers.jpg", "hers")
        for _ in 0..<3 {
            try party.carol.round()
            party.village.world.clock.advance(milliseconds: 700)
        }
        let segment = try #require(try party.village.mountFiles(prefix).filter { !before.contains($0) }.first)
        return (party, segment)
    }

    @Test(arguments: Damage.allCases)
    func `a damaged segment stops its chain only, is named, and is read when it is whole again`(
        damage: Damage
    ) throws {
        let (party, segment) = try unread()
        let storage = party.village.world.storage
        let whole = try #require(storage.rawRead(segment))
        storage.rawWrite(segment, damaged(whole, damage))
        try party.bob.machine.shared.write("alice/Summer/his.jpg", "his")
        try party.village.pass(10)
        #expect(party.alice.tree(.library)["Summer/hers.jpg"] == nil)
        #expect(party.alice.tree(.library)["Summer/his.jpg"] == "his")
        party.expectNamed("segmentDamaged", by: [party.alice, party.bob])
        #expect(party.alice.problems.contains { $0.path == segment.description }, "\(party.alice.problems)")
        storage.rawWrite(segment, whole)
        try party.village.pass(10)
        party.expectShown(Party.content.merging(["hers.jpg": "hers", "his.jpg": "his"]) { $1 })
        #expect(party.alice.problems.isEmpty, "\(party.alice.problems)")
    }

    @Test func `a missing segment is waited for, and status does not say that all is well`() throws {
        let (party, segment) = try unread()
        let storage = party.village.world.storage
        let whole = try #require(storage.rawRead(segment))
        storage.rawRemove(segment)
        try party.village.pass(10)
        #expect(!party.alice.isQuiet)
        party.expectShownIgnoringCarol()
        storage.rawWrite(segment, whole)
        try party.village.pass(10)
        party.expectShown(Party.content.merging(["hers.jpg": "hers"]) { $1 })
        #expect(party.alice.isQuiet && party.alice.problems.isEmpty)
    }

    @Test func `segments planted beside valid ones are passed over`() throws {
        let (party, segment) = try unread()
        let storage = party.village.world.storage
        let number = segment.last.prefix { $0 != "-" }
        for (index, digit) in ["0", "7", "f"].enumerated() {
            let name = "\(number)-\(String(repeating: digit, count: 64))"
            storage.rawWrite(try #require(segment.parent.appending(name)), Array("planted \(index)".utf8))
        }
        storage.rawWrite(try #require(segment.parent.appending("junk")), [1, 2, 3])
        storage.rawWrite(try #require(segment.parent.appending("..hidden")), [1, 2, 3])
        try party.village.pass(10)
        party.expectShown(Party.content.merging(["hers.jpg": "hers"]) { $1 })
    }

    @Test(arguments: ["torn", "edited", "garbage after", "removed", "garbage", "huge"])
    func `a damaged head delays its replica only, until the next one`(damage: String) throws {
        let (party, _) = try unread()
        let storage = party.village.world.storage
        let path = try #require(
            try party.village.mountFiles("zones/\(party.zone)/heads/\(party.carol.identity.replica)").last)
        var bytes = try #require(storage.rawRead(path))
        switch damage {
        case "torn": storage.rawWrite(path, Array(bytes.dropLast(200)))
        case "edited":
            bytes[bytes.count - 300] ^= 0x40
            storage.rawWrite(path, bytes)
        case "garbage after": storage.rawWrite(path, bytes + [UInt8](repeating: 0x5a, count: 1_500))
        case "removed": storage.rawRemove(path)
        case "garbage": storage.rawWrite(path, [UInt8](repeating: 0x5a, count: bytes.count))
        default: storage.rawWrite(path, bytes + [UInt8](repeating: 0x5a, count: 2_500_000))
        }
        try party.bob.machine.shared.write("alice/Summer/his.jpg", "his")
        try party.village.pass(10)
        #expect(party.alice.tree(.library)["Summer/his.jpg"] == "his")
        // Carol's next head names everything.
        try party.carol.machine.shared.write("alice/Summer/next.jpg", "next")
        try party.village.pass(20)
        party.expectShown(Party.content.merging(["hers.jpg": "hers", "his.jpg": "his", "next.jpg": "next"]) { $1 })
    }

    @Test(arguments: Damage.allCases)
    func `a damaged asset replaces nothing, is named, and the rest goes on`(damage: Damage) throws {
        let party = try Party(bob: "readOnly")
        let storage = party.village.world.storage
        let before = Set(party.village.assetNames)
        try party.carol.machine.shared.write("alice/Summer/a.jpg", "by carol")
        try party.carol.machine.shared.write("alice/Summer/hers.jpg", "hers")
        for _ in 0..<3 {
            try party.carol.round()
            party.village.world.clock.advance(milliseconds: 700)
        }
        var whole: [MountPath: [UInt8]] = [:]
        for name in Set(party.village.assetNames).subtracting(before) {
            let path = try name.mountPath
            whole[path] = storage.rawRead(path)
            storage.rawWrite(path, damaged(whole[path] ?? [], damage))
        }
        try #require(whole.count == 2)
        try party.alice.machine.library.write("Summer/later.jpg", "later")
        // Carol, who would upload them again, is away.
        var others = party.village
        others.replicas = [party.alice, party.bob]
        try others.pass(10)
        #expect(party.alice.tree(.library)["Summer/a.jpg"] == "aaa")
        #expect(party.bob.tree(.shared)["alice/Summer/a.jpg"] == "aaa")
        #expect(party.alice.tree(.library)["Summer/hers.jpg"] == nil)
        #expect(party.bob.tree(.shared)["alice/Summer/later.jpg"] == "later")
        party.expectNamed("contentDamaged", by: [party.alice, party.bob])
        for (path, bytes) in whole { storage.rawWrite(path, bytes) }
        try party.village.pass(10)
        party.expectShown(["a.jpg": "by carol", "deep/b.jpg": "bbb", "hers.jpg": "hers", "later.jpg": "later"])
        #expect(party.alice.problems.isEmpty, "\(party.alice.problems)")
    }

    @Test func `a missing asset is waited for and deletes nothing`() throws {
        let party = try Party(bob: "readOnly")
        let storage = party.village.world.storage
        let all = storage.tree().filter { $0.key.hasPrefix("assets/") }
        for path in all.keys { storage.rawRemove(try path.mountPath) }
        let late = party.village.replicas[1]
        #expect(late.request(.leave(share: "Summer", keepCopy: false)).code == 0)
        #expect(late.request(.accept(link: party.link)).code == 0)
        try party.village.pass(10)
        party.expectShown()
        // Bob's own copies are in the trash, whence nothing is taken: the bytes have to come from the container.
        #expect(party.bob.tree(.shared).isEmpty)
        party.expectNamed("contentMissing", by: [party.bob])
        for (path, bytes) in all { storage.rawWrite(try path.mountPath, bytes) }
        try party.village.pass(10)
        #expect(party.bob.tree(.shared).values.sorted() == ["aaa", "bbb"])
        #expect(party.bob.problems.isEmpty, "\(party.bob.problems)")
    }

    /// What may lie where a file or directory of a zone should be.
    @Test(arguments: ["heads", "log", "control", ""])
    func `a file in place of a zone's directory stops that zone only`(part: String) throws {
        let party = try Party(bob: "readWrite")
        let made = party.alice.request(
            .shareCreate(
                paths: [party.alice.path("Private")], title: "Other", publicPermission: "none", isSealed: true))
        #expect(made.code == 0)
        #expect(party.alice.request(.invite(share: "Other", accounts: ["carol"], permission: "readWrite")).code == 0)
        #expect(party.carol.request(.acceptAllPending).code == 0)
        try party.village.pass(8)
        let storage = party.village.world.storage
        let path = try "zones/\(party.zone)\(part.isEmpty ? "" : "/" + part)".mountPath
        let files = storage.tree().filter { $0.key.hasPrefix(path.description + "/") }
        storage.rawRemove(path)
        storage.rawWrite(path, Array("in the way".utf8))
        try party.carol.machine.shared.write("alice/Summer/hers.jpg", "hers")
        try party.carol.machine.shared.write("alice/Other/other.jpg", "other")
        try party.village.pass(10)
        #expect(party.alice.tree(.library)["Private/other.jpg"] == "other")
        #expect(party.alice.tree(.library)["Summer/a.jpg"] == "aaa")
        #expect(party.carol.tree(.shared)["alice/Summer/deep/b.jpg"] == "bbb")
        // Controls are looked for only when a head names a newer one.
        if part != "control" {
            #expect(party.carol.problems.contains { $0.zone == party.zone }, "\(party.carol.problems)")
        }
        storage.rawRemove(path)
        for (path, bytes) in files { storage.rawWrite(try path.mountPath, bytes) }
        try party.village.pass(20)
        #expect(party.alice.tree(.library)["Summer/hers.jpg"] == "hers")
        #expect(party.carol.problems.isEmpty, "\(party.carol.problems)")
        #expect(party.alice.problems.isEmpty, "\(party.alice.problems)")
    }

    @Test func `a call that fails on one file of the container stops nothing else`() throws {
        let (party, segment) = try unread()
        let name = segment.description
        party.alice.machine.faults.setRule { operation in
            operation.part == "mount" && operation.path == name ? .fail(.denied) : nil
        }
        try party.bob.machine.shared.write("alice/Summer/his.jpg", "his")
        try party.alice.machine.library.write("Summer/later.jpg", "later")
        try party.village.pass(10)
        #expect(party.alice.tree(.library)["Summer/his.jpg"] == "his")
        #expect(party.carol.tree(.shared)["alice/Summer/later.jpg"] == "later")
        #expect(party.alice.problems.contains { $0.message.contains(name) }, "\(party.alice.problems)")
        party.alice.machine.faults.setRule(nil)
        try party.village.pass(10)
        #expect(party.alice.tree(.library)["Summer/hers.jpg"] == "hers")
        #expect(party.alice.problems.isEmpty, "\(party.alice.problems)")
    }

    @Test func `a full cloud folder changes nothing and heals`() throws {
        let party = try Party(bob: "readOnly")
        let storage = party.village.world.storage
        storage.setCapacity(bytes: storage.tree().values.reduce(0) { $0 + $1.count } + 100)
        try party.alice.machine.library.write("Summer/large.jpg", String(repeating: "x", count: 5_000))
        try party.carol.machine.shared.write("alice/Summer/hers.jpg", "hers")
        try party.village.pass(8)
        party.expectNamed("containerFull", by: [party.alice])
        #expect(!party.alice.isQuiet)
        #expect(party.alice.tree(.library)["Summer/large.jpg"]?.utf8.count == 5_000)
        #expect(party.bob.tree(.shared).values.sorted() == ["aaa", "bbb"])
        storage.setCapacity(bytes: nil)
        try #require(try party.village.settle())
        party.expectShown(
            Party.content.merging(["large.jpg": String(repeating: "x", count: 5_000), "hers.jpg": "hers"]) { $1 })
        #expect(party.alice.problems.isEmpty, "\(party.alice.problems)")
    }

    @Test func `a photo for which there is no room in the cloud folder keeps no smaller one back, and no caption`()
        throws
    {
        let party = try Party(bob: "readOnly")
        let storage = party.village.world.storage
        storage.setCapacity(bytes: storage.tree().values.reduce(0) { $0 + $1.count } + 30_000)
        try party.alice.machine.library.write("Summer/0large.jpg", String(repeating: "x", count: 50_000))
        try party.village.pass(4)
        party.expectNamed("containerFull", by: [party.alice])
        try party.alice.machine.library.write("Summer/small.jpg", "small")
        #expect(party.alice.request(.caption(path: party.alice.path("Summer/a.jpg"), text: "said")).code == 0)
        try party.village.pass(8)
        #expect(party.bob.tree(.shared)["alice/Summer/small.jpg"] == "small")
        #expect(party.bob.sidecar("alice/Summer/a.jpg", .shared)?.fields.caption == "said")
        party.expectNamed("containerFull", by: [party.alice])
        #expect(!party.alice.isQuiet)
        storage.setCapacity(bytes: nil)
        try #require(try party.village.settle())
        #expect(party.bob.tree(.shared)["alice/Summer/0large.jpg"]?.utf8.count == 50_000)
        #expect(party.alice.problems.isEmpty, "\(party.alice.problems)")
    }

    @Test func `a full cloud folder is not filled with what it has already, and what others did is seen`() throws {
        let party = try Party(bob: "readWrite")
        let storage = party.village.world.storage
        party.alice.machine.mount.attach(.missing)
        for number in 0..<6 {
            let bytes = String(repeating: "\(number)", count: 2_000)
            try party.alice.machine.library.write("Summer/\(number).jpg", bytes)
        }
        try party.carol.machine.shared.write("alice/Summer/hers.jpg", "hers")
        try party.village.pass(4)
        let before = party.village.assetNames.count
        func setRoom(bytes: Int) {
            storage.setCapacity(bytes: storage.tree().values.reduce(0) { $0 + $1.count } + bytes)
        }
        setRoom(bytes: 3 * 2_100)
        party.alice.machine.mount.mount()
        for number in 0..<12 {
            try party.village.pass(4)
            if number < 3 { party.expectNamed("containerFull", by: [party.alice]) }
            #expect(party.alice.tree(.library)["Summer/hers.jpg"] == "hers")
            // Somebody makes room for one more, or for what is said of those that are there.
            setRoom(bytes: 2_100)
        }
        #expect(party.village.assetNames.count == before + 6)
        storage.setCapacity(bytes: nil)
        try #require(try party.village.settle())
        #expect(party.village.assetNames.count == before + 6)
        #expect(party.bob.tree(.shared).count == 9)
        #expect(party.alice.problems.isEmpty, "\(party.alice.problems)")
    }

    @Test func `who dies while many photos are uploaded goes on with those that are left`() throws {
        let party = try Party(bob: "readWrite")
        let count = 100
        for number in 0..<count { try party.alice.machine.library.write("Summer/\(number).jpg", "photo \(number)") }
        let before = party.village.assetNames.count
        let uploads = Mutex(0)
        party.alice.machine.faults.setRule { operation in
            guard operation.part == "mount", operation.name == "publish", operation.path.hasPrefix("assets/") else {
                return nil
            }
            return uploads.withLock { number in
                number += 1
                return number == 90 ? .crash : nil
            }
        }
        for _ in 0..<6 where !party.alice.machine.faults.isCrashed {
            do { _ = try party.alice.round() } catch { #expect(party.alice.machine.faults.isCrashed, "\(error)") }
            party.village.world.clock.advance(milliseconds: 700)
        }
        try #require(party.alice.machine.faults.isCrashed)
        party.alice.machine.faults.clear()
        try party.alice.restart()
        try #require(try party.village.settle())
        #expect(party.bob.tree(.shared).count == count + 2)
        // Of those that came in the last group it does not know.
        #expect(party.village.assetNames.count <= before + count + 64)
        #expect(party.bob.problems.isEmpty, "\(party.bob.problems)")
    }
}

extension Party {
    /// Checks that Alice's library is as it was.
    func expectShownIgnoringCarol(sourceLocation: SourceLocation = #_sourceLocation) {
        #expect(
            alice.tree(.library) == ["Private/c.jpg": "ccc", "Summer/a.jpg": "aaa", "Summer/deep/b.jpg": "bbb"],
            sourceLocation: sourceLocation)
    }
}
