import ShoeboxModel
import ShoeboxStore
import ShoeboxTestSupport
import ShoeboxWorld
import Testing

@testable import Shoebox

/// Who leaves a share and changes their mind at once is in it again, whatever the owner had heard by then.
@Suite struct ComeBackTests {
    @Test(arguments: 0..<4)
    func `who comes back while the owner is just taking note of the leave is let in again`(publications: Int) throws {
        let party = try Party(bob: "readWrite")
        nonisolated(unsafe) let bob = party.bob
        #expect(bob.request(.leave(share: "Summer", keepCopy: false)).code == 0)
        try party.rounds(of: bob, 2)
        #expect(bob.tree(.shared).isEmpty)
        let link = party.link
        nonisolated(unsafe) var reply: Reply?
        party.alice.machine.faults.run(before: "publish", after: publications) {
            reply = bob.request(.accept(link: link))
        }
        try party.rounds(of: party.alice, 3)
        try #require(reply?.code == 0 || publications > 0)
        if reply == nil { #expect(bob.request(.accept(link: party.link)).code == 0) }
        #expect(try party.village.settle())
        for (name, text) in Party.content { #expect(bob.tree(.shared)["alice/Summer/\(name)"] == text) }
        #expect(bob.problems.isEmpty, "\(bob.problems)")
        try bob.machine.shared.write("alice/Summer/new.jpg", "from bob")
        #expect(try party.village.settle())
        #expect(party.alice.tree(.library)["Summer/new.jpg"] == "from bob")
    }

    @Test func `who does not want to be let in again any more is not`() throws {
        let party = try Party(bob: "readWrite")
        nonisolated(unsafe) let bob = party.bob
        #expect(bob.request(.leave(share: "Summer", keepCopy: false)).code == 0)
        try party.rounds(of: bob, 2)
        let link = party.link
        party.alice.machine.faults.run(before: "publish", after: 0) { _ = bob.request(.accept(link: link)) }
        try party.rounds(of: party.alice, 1)
        try party.rounds(of: bob, 3)
        try #require(bob.problems.map(\.code) == ["ended"], "\(bob.problems)")
        #expect(bob.request(.leave(share: party.zone.description, keepCopy: false)).code == 0)
        #expect(bob.problems.isEmpty)
        try party.rounds(of: bob, 2)
        #expect(try party.village.settle())
        #expect(bob.tree(.shared).isEmpty && bob.problems.isEmpty, "\(bob.problems)")
        let control = try #require(party.alice.engine.zones[party.zone]?.control)
        let participant = control.participants[bob.engine.account]
        #expect(participant?.takesPart == false, "\(String(describing: participant))")
    }

    @Test func `who came back and is removed later stays removed, and is told so`() throws {
        let party = try Party(bob: "readWrite")
        #expect(party.bob.request(.leave(share: "Summer", keepCopy: false)).code == 0)
        #expect(party.bob.request(.accept(link: party.link)).code == 0)
        #expect(try party.village.settle())
        #expect(party.bob.tree(.shared)["alice/Summer/a.jpg"] == "aaa")
        #expect(party.alice.request(.uninvite(share: "Summer", accounts: ["bob"])).code == 0)
        #expect(try party.village.settle())
        #expect(party.bob.tree(.shared).isEmpty)
        #expect(party.bob.problems.map(\.code) == ["ended"])
        #expect(party.bob.problems.first?.message.contains("alice removed you") == true, "\(party.bob.problems)")
    }

    @Test func `what could not be shown of a share is no problem any more once that was left`() throws {
        let party = try Party(bob: "readWrite")
        let bob = party.bob
        bob.machine.faults.setRule { operation in
            operation.part == "shared" && operation.path.contains("new.jpg") ? .fail(.denied) : nil
        }
        try party.alice.machine.library.write("Summer/new.jpg", "new")
        try party.rounds(of: party.alice, 4)
        try party.rounds(of: bob, 4)
        let codes = { try bob.store.read { db in try db.problems() }.map(\.code) }
        try #require(try codes().contains("notApplied"))
        #expect(bob.request(.leave(share: "Summer", keepCopy: false)).code == 0)
        bob.machine.faults.setRule(nil)
        try #require(try party.village.settle())
        #expect(try codes() == [])
    }
}
