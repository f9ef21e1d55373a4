import Foundation
import Shoebox
import ShoeboxLibrary
import ShoeboxModel
import ShoeboxPlanning
import ShoeboxStore
import ShoeboxTestSupport
import ShoeboxWorld
import Testing

@testable import ShoeboxCloud

/// What is answered while no device of the owner runs, and what is taken up without a command.
@Suite struct AnswerTests {
    private func row(_ replica: Replica, _ zone: ZoneID) throws -> ZoneRow {
        try #require(try replica.store.read { db in try db.zone(zone) })
    }

    private func control(_ replica: Replica, _ zone: ZoneID) throws -> Control {
        try ControlCoder.decode(Array(try row(replica, zone).control))
    }

    private func epoch(_ replica: Replica, _ zone: ZoneID) throws -> UInt64 {
        try ZoneKeyring(serialized: Array(try row(replica, zone).keyring)).current?.number ?? 0
    }

    @Test func `an admin's device answers who leaves, who comes back and who asks by a link, while the owner is away`()
        throws
    {
        let party = try Party(bob: "admin", others: ["dave"])
        let dave = party.village.replicas[3]
        let made = party.alice.request(
            .makeLink(share: "Summer", permission: "readWrite", expiresMilliseconds: 0, count: 3, asks: false))
        let asking = party.alice.request(
            .makeLink(share: "Summer", permission: "readOnly", expiresMilliseconds: 0, count: 0, asks: true))
        #expect(try party.village.settle())
        var rest = party.village
        rest.replicas.removeFirst()
        let wait = {
            for _ in 0..<3 {
                try rest.meet()
                rest.world.clock.advance(milliseconds: 40_000)
            }
            try rest.meet()
        }
        let carol = party.carol.identity.account
        let before = try epoch(party.bob, party.zone)
        #expect(party.carol.request(.leave(share: "Summer", keepCopy: false)).code == 0)
        try wait()
        #expect(try control(party.bob, party.zone).participants[carol]?.hasLeft == true)
        #expect(try epoch(party.bob, party.zone) > before, "with a new key")
        #expect(party.carol.request(.accept(link: party.link)).code == 0)
        try wait()
        #expect(party.carol.tree(.shared).values.sorted() == ["aaa", "bbb"])
        #expect(dave.request(.accept(link: try #require(made.values["link"]))).code == ExitCode.reported)
        try wait()
        #expect(dave.tree(.shared).values.sorted() == ["aaa", "bbb"])
        #expect(try control(party.bob, party.zone).permission(of: dave.identity.account) == .readWrite)
        // The owner finds it done, and takes it for valid.
        try party.village.meet()
        #expect(try party.village.settle())
        #expect(try control(party.alice, party.zone) == control(party.bob, party.zone))
        for replica in party.village.replicas {
            #expect(!replica.problems.contains { $0.code.hasPrefix("control") }, "\(replica.problems.map(\.message))")
        }
        // A link that wants a person's word: the admin is asked, too.
        #expect(party.alice.request(.uninvite(share: "Summer", accounts: ["dave"])).code == 0)
        #expect(try party.village.settle())
        #expect(dave.request(.accept(link: try #require(asking.values["link"]))).code == ExitCode.reported)
        try wait()
        #expect(dave.tree(.shared).isEmpty)
        #expect(party.bob.request(.answerRequests(share: "Summer", accounts: ["dave"], permission: "")).code == 0)
        try wait()
        #expect(dave.tree(.shared).values.sorted() == ["aaa", "bbb"])
    }

    @Test
    func `an invitation file that lies in the shared folder is accepted by the next round, and a bad one is named`()
        throws
    {
        let party = try Party(bob: "readWrite", others: ["dave"])
        let dave = party.village.replicas[3]
        #expect(party.alice.request(.invite(share: "Summer", accounts: ["dave"], permission: "readOnly")).code == 0)
        // Dropped while no daemon runs.
        try dave.machine.shared.write("summer.shoebox-invitation", "An invitation, made by shoebox.\n\n\(party.link)\n")
        try dave.machine.shared.write("cut.shoebox-invitation", "An invitation\n\n\(party.link.dropLast(9))\n")
        try dave.restart()
        #expect(try party.village.settle())
        let photos = dave.tree(.shared).filter { !$0.key.hasSuffix("invitation") }
        #expect(photos.values.sorted() == ["aaa", "bbb"])
        #expect(dave.tree(.shared)["summer.shoebox-invitation"] == nil)
        #expect(dave.tree(.shared)["cut.shoebox-invitation"] != nil)
        party.expectNamed("invitationFile", by: [dave], containing: "cut")
        try dave.machine.shared.delete("cut.shoebox-invitation")
        party.village.world.clock.advance(milliseconds: 61_000)
        #expect(try party.village.settle())
        #expect(dave.problems.isEmpty, "\(dave.problems.map(\.message))")
    }

    @Test func `that a share has ended is a note, which goes away by itself`() throws {
        let party = try Party(bob: "readWrite")
        #expect(party.alice.request(.stop(share: "Summer")).code == 0)
        #expect(try party.village.settle())
        #expect(party.bob.problems.map(\.code) == ["ended"] && party.bob.problems.allSatisfy(\.isInformation))
        party.village.world.clock.advance(milliseconds: 8 * 86_400_000)
        try party.village.pass(2)
        #expect(party.bob.problems.isEmpty)
    }
}

/// Who may run the engine.
@Suite struct LibraryLockTests {
    @Test func `a lock that is given back is waited for, and one that is kept names its process`() throws {
        let place = try CommandPlace()
        let state = StateDirectory(try #require(AbsolutePath(place.path)))
        let first = try #require(try LibraryLock.attempt(state))
        do {
            _ = try LibraryLock.acquire(state, patienceMilliseconds: 100)
            Issue.record("two have the lock")
        } catch {
            let refusal = try #require(error as? RequestError)
            #expect(refusal.code == ExitCode.busy && refusal.message.contains("\(getpid())"))
        }
        let other = Thread { first.release() }
        other.start()
        let second = try LibraryLock.acquire(state, patienceMilliseconds: 60_000)
        second.release()
    }
}

/// A share's whole life by the real executable.
@Suite(.serialized) struct LifeCycleCommandTests {
    @Test(arguments: [true, false])
    func `a share's whole life by commands, with daemons and without`(hasDaemons: Bool) throws {
        let place = try CommandPlace()
        let people = try ["alice", "bob", "dave"].map(place.person)
        let (alice, bob, dave) = (people[0], people[1], people[2])
        try alice.drop("one", at: alice.library + "/Lake/one.jpg")
        try alice.drop("own", at: alice.library + "/own.jpg")
        if hasDaemons { for person in people { _ = try person.startDaemon() } }
        for person in people { try person.must("sync") }
        /// Waits until each has what they should; without daemons everybody's `sync` makes it so.
        func expect(_ step: String, bob bobHas: String?, dave daveHas: String? = nil) throws {
            for (person, wanted) in [(bob, bobHas), (dave, daveHas)] {
                try person.wait("after '\(step)' \(person.name) has \(wanted ?? "nothing")") {
                    if !hasDaemons { for other in people { _ = try other.run(["sync"]) } }
                    return person.text(person.shared + "/alice/Summer/one.jpg") == wanted
                }
            }
            #expect(
                alice.text(alice.library + "/Lake/one.jpg") == "one" && alice.text(alice.library + "/own.jpg") == "own")
            #expect(try alice.status()["state"]?.text != "attention", "\(step)")
        }
        let copy = bob.shared + "/alice/Summer/one.jpg"
        let made = try alice.must("share", "create", "library/Lake", "--title", "Summer", "--json").json
        let link = try #require(made["link"]?.text)
        try expect("create", bob: nil)
        #expect(try bob.run(["accept", link]).code == 12, "a stranger")
        try alice.must("share", "invite", "Summer", "bob")
        try bob.must("accept", link)
        try expect("accept", bob: "one")
        #expect(try bob.run(["tag", "add", copy, "x"]).code == 12, "a reader")
        try alice.must("share", "permission", "Summer", "bob", "readWrite")
        try expect("permission", bob: "one")
        try bob.wait("bob may edit") {
            if !hasDaemons { _ = try bob.run(["sync"]) }
            return try bob.run(["tag", "add", copy, "lake"]).code == 0
        }
        try alice.must("share", "uninvite", "Summer", "bob")
        try expect("uninvite", bob: nil)
        try alice.must("share", "invite", "Summer", "bob", "--permission", "readWrite")
        try bob.must("accept", link)
        try expect("accept again", bob: "one")
        try bob.must("share", "leave", "Summer", "--yes")
        try expect("leave", bob: nil)
        try bob.must("accept", link)
        try expect("come back", bob: "one")
        let open = try alice.must("share", "public", "Summer", "readOnly", "--yes", "--json").json
        try dave.must("accept", try #require(open["link"]?.text))
        try expect("join by link", bob: "one", dave: "one")
        try alice.must("share", "public", "Summer", "none", "--yes")
        try expect("made private", bob: "one")
        try alice.must("share", "stop", "Summer", "--yes")
        try expect("stop", bob: nil)
        // That it has ended is a note, and nothing to attend to.
        let status = try bob.status()
        #expect(FileManager.default.subpaths(atPath: bob.shared)?.filter { !$0.hasPrefix(".shoebox") } == [])
        let said = String(decoding: JSONText.encode(.object(status)), as: UTF8.self)
        #expect(status["state"]?.text != "attention", "\(said)")
        let notes = status["problems"]?.array?.compactMap { $0.object?["isInformation"]?.bool } ?? []
        #expect(notes.contains(true) && !notes.contains(false))
        let second = try alice.must("share", "create", "library/Lake", "--title", "Summer", "--json").json
        try alice.must("share", "invite", "Summer", "bob")
        try bob.must("accept", try #require(second["link"]?.text))
        try expect("share again", bob: "one")
    }
}
