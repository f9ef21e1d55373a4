import Shoebox
import ShoeboxCloud
import ShoeboxLibrary
import ShoeboxModel
import ShoeboxPlanning
import ShoeboxStore
import ShoeboxTestSupport
import ShoeboxWorld
import Testing

/// A cloud folder or a link that is not the one that was meant.
@Suite struct BadInputContainerTests {
    /// What stands where the container was: nothing is taken as deleted, everything waits, all heals by itself.
    private func expectWaits(_ party: Party, code: String, containing text: String = "", heal: () throws -> Void) throws
    {
        try party.alice.machine.library.write("Summer/waiting.jpg", "waiting")
        try party.village.pass(8)
        party.expectNamed(code, by: [party.alice], containing: text)
        #expect(
            party.alice.tree(.library) == [
                "Private/c.jpg": "ccc", "Summer/a.jpg": "aaa", "Summer/deep/b.jpg": "bbb",
                "Summer/waiting.jpg": "waiting",
            ])
        #expect(party.bob.tree(.shared).values.sorted() == ["aaa", "bbb"])
        #expect(!party.alice.isQuiet)
        let reply = party.alice.request(
            .shareCreate(
                paths: [party.alice.path("Private")], title: "No", publicPermission: "none", isSealed: true))
        #expect(reply.code != 0 && !reply.lines.isEmpty && reply.remedy?.isEmpty == false, "\(reply)")
        try heal()
        try #require(try party.village.settle())
        party.expectShown(Party.content.merging(["waiting.jpg": "waiting"]) { $1 })
        for replica in party.village.replicas { #expect(replica.problems.isEmpty, "\(replica.problems)") }
    }

    private func otherContainer(_ party: Party) throws -> (SimulatedMountStorage, Container) {
        let storage = SimulatedMountStorage(clock: party.village.world.clock)
        let mount = SimulatedMount(client: "other", storage: storage)
        var random = SeededGenerator(seed: 99, part: "other")
        let container = try Container.create(mount: mount, nowMilliseconds: 1, randomBytes: { random.bytes($0) })
        return (storage, container)
    }

    @Test func `another container in its place is left alone`() throws {
        let party = try Party(bob: "readOnly")
        let (storage, other) = try otherContainer(party)
        let before = storage.tree()
        for replica in party.village.replicas { replica.machine.mount.attach(.other(storage)) }
        try expectWaits(party, code: "containerWrong", containing: other.id) {
            #expect(storage.tree() == before)
            for replica in party.village.replicas { replica.machine.mount.mount() }
        }
    }

    @Test func `an empty directory in its place is left empty`() throws {
        let party = try Party(bob: "readOnly")
        let storage = SimulatedMountStorage(clock: party.village.world.clock)
        for replica in party.village.replicas {
            replica.machine.mount.attach(.other(storage))
            // As after a restart of the machine, before the mount.
            replica.machine.mount.reopen()
        }
        try expectWaits(party, code: "offline") {
            #expect(storage.tree().isEmpty && storage.rawList(.root).isEmpty)
            for replica in party.village.replicas {
                replica.machine.mount.mount()
                replica.machine.mount.reopen()
            }
        }
    }

    @Test func `a container that requires a feature that is not known is not touched`() throws {
        let party = try Party(bob: "readOnly")
        let storage = party.village.world.storage
        let path = try "features/time-travel".mountPath
        storage.rawWrite(path, [])
        let before = storage.tree()
        try expectWaits(party, code: "containerWrong", containing: "time-travel") {
            #expect(storage.tree() == before)
            storage.rawRemove(path)
        }
    }

    @Test(arguments: [
        "", "not JSON", "[]", "{}", #"{"format": "shoebox.container/1"}"#,
        #"{"format": "shoebox.container/2", "id": "00000000000000000000000000000000", "createdMilliseconds": 1, "mode": "group"}"#,
        #"{"format": "tar", "id": "00000000000000000000000000000000", "createdMilliseconds": 1, "mode": "group"}"#,
        #"{"format": "shoebox.container/1", "id": "../..", "createdMilliseconds": 1, "mode": "group"}"#,
        #"{"format": "shoebox.container/1", "id": 7, "createdMilliseconds": -1, "mode": null}"#,
    ])
    func `a damaged container.json stops nothing but the exchange`(text: String) throws {
        let party = try Party(bob: "readOnly")
        let storage = party.village.world.storage
        let path = try "container.json".mountPath
        let whole = try #require(storage.rawRead(path))
        storage.rawWrite(path, Array(text.utf8))
        try expectWaits(party, code: text.isEmpty ? "offline" : "containerWrong") { storage.rawWrite(path, whole) }
    }

    @Test func `a link that leads nowhere is refused with what to do`() throws {
        let party = try Party(bob: "readOnly", others: ["dave"])
        let dave = party.village.replicas[3]
        let parts = party.link.split(separator: "#").map(String.init)
        let (_, other) = try otherContainer(party)
        let foreign = ShareLink(
            container: other.id, zone: party.zone, ownerFingerprint: party.alice.identity.account.fingerprint)
        let unknown = ShareLink(
            container: try ShareLink(parsing: party.link).container, zone: ZoneID(Digest32(high: 5, low: 6)),
            ownerFingerprint: party.alice.identity.account.fingerprint)
        let wrongOwner = parts[0] + "#" + dave.identity.account.fingerprint
        for (link, code) in [
            ("", 64), ("hello", 64), ("https://example.org/share", 64), (parts[0], 64), (party.link + "x", 64),
            ("\u{0}\u{1}\u{2}", 64), (party.link + "\n" + party.link, 64), (foreign.description, 10),
            (unknown.description, 10), (wrongOwner, 1), (party.link, 12),
        ] as [(String, Int32)] {
            let reply = dave.request(.accept(link: link))
            #expect(reply.code == code, "'\(link)': \(reply)")
            #expect(!reply.lines.isEmpty && reply.remedy?.isEmpty == false, "\(reply)")
        }
        #expect(dave.request(.acceptAllPending).code == 0)
        try party.village.pass(6)
        #expect(dave.tree(.shared).isEmpty && dave.problems.isEmpty)
        party.expectShown()
    }

    @Test(arguments: [true, false])
    func `the link of a stopped share is refused, and hinders no other`(isSealed: Bool) throws {
        let party = try Party(bob: "readOnly", isSealed: isSealed, others: ["dave"])
        let dave = party.village.replicas[3]
        #expect(party.alice.request(.invite(share: "Summer", accounts: ["dave"], permission: "readOnly")).code == 0)
        #expect(party.alice.request(.stop(share: "Summer")).code == 0)
        let made = party.alice.request(
            .shareCreate(
                paths: [party.alice.path("Private")], title: "Other", publicPermission: "none", isSealed: isSealed))
        #expect(made.code == 0)
        #expect(party.alice.request(.invite(share: "Other", accounts: ["dave"], permission: "readOnly")).code == 0)
        let reply = dave.request(.accept(link: party.link))
        #expect(reply.code == (isSealed ? 12 : 10), "\(reply)")
        #expect(reply.remedy?.isEmpty == false)
        #expect(dave.request(.acceptAllPending).code == 0)
        try #require(try party.village.settle())
        #expect(dave.tree(.shared) == ["alice/Other/c.jpg": "ccc"])
    }
}
