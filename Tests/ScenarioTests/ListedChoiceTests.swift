import ShoeboxLibrary
import ShoeboxModel
import ShoeboxPlanning
import ShoeboxStore
import ShoeboxTestSupport
import Testing

@testable import Shoebox

/// A number in a list means what it meant when the list was printed, and what was not listed is not decided.
@Suite struct ListedChoiceTests {
    /// Alice and Bob have written another caption each, and Carol has listed that; then one comes that was written at the same
    /// time on another device of Alice's.
    private struct Late {
        var party: Party
        let path: PathReference
        let listed: [ConflictDescription]

        init(isNewest: Bool, isListed: Bool = true) throws {
            party = try Party(bob: "readWrite")
            let second = try party.village.addDevice(of: party.alice, name: "alice2")
            try #require(try party.village.settle())
            second.machine.mount.unmount()
            let clock = party.village.world.clock
            func caption(_ replica: Replica, _ path: PathReference, _ text: String) throws {
                clock.advance(milliseconds: 1_000)
                try #require(replica.request(.caption(path: path, text: text)).code == 0)
            }
            try caption(party.bob, party.bob.path("alice/Summer/a.jpg", .shared), "bob's")
            if !isNewest { try caption(second, second.path("Summer/a.jpg"), "late") }
            try caption(party.alice, party.alice.path("Summer/a.jpg"), "alice's")
            if isNewest { try caption(second, second.path("Summer/a.jpg"), "late") }
            try party.village.pass(8)
            let listing = TreeListing(of: party.carol.engine)
            listed = try listing.conflicts()
            if isListed { try listing.noteListed(listed) }
            try #require(listed.map(\.shown) == ["alice's"] && listed.map(\.other) == ["bob's"], "\(listed)")
            second.machine.mount.mount()
            try #require(try party.village.settle())
            path = party.carol.path("alice/Summer/a.jpg", .shared)
        }

        func choose(_ choice: String) -> Reply {
            party.carol.request(.resolveConflict(path: path, field: "caption", choice: choice))
        }

        /// What shows everywhere, and what is undecided.
        func values() throws -> [String] {
            try #require(try party.village.settle())
            let state = try #require(try party.state("a.jpg")?.fields[.caption])
            #expect(party.carol.sidecar("alice/Summer/a.jpg", .shared)?.fields.caption == state.winner?.value.text)
            return [state.winner?.value.text ?? ""] + state.losers.map { $0.value.text ?? "" }
        }
    }

    @Test(arguments: [false, true], ["shown", "1"])
    func `a number is refused when the list has changed, and taken after it was printed again`(
        isNewest: Bool, choice: String
    ) throws {
        let late = try Late(isNewest: isNewest)
        let refused = late.choose(choice)
        #expect(refused.code == ExitCode.failed && refused.remedy?.contains("shoebox conflicts") == true, "\(refused)")
        let before = try late.values()
        try #require(Set(before) == ["alice's", "bob's", "late"], "\(before)")
        let listing = TreeListing(of: late.party.carol.engine)
        try listing.noteListed(try listing.conflicts())
        #expect(late.choose(choice).code == 0)
        #expect(try late.values() == [before[choice == "1" ? 1 : 0]])
    }

    @Test(arguments: [false, true])
    func `an id means its value whatever has come since, and that stays undecided`(isNewest: Bool) throws {
        let late = try Late(isNewest: isNewest)
        let id = try #require(late.listed.first?.otherID)
        #expect(id.utf8.count == 8 && id != late.listed.first?.shownID)
        #expect(late.choose("00000000").code == ExitCode.notFound)
        let reply = late.choose(id)
        #expect(reply.code == 0 && reply.lines.count == 2, "\(reply)")
        #expect(try late.values() == ["bob's", "late"])
    }

    @Test func `who never listed anything is taken at their word`() throws {
        let late = try Late(isNewest: false, isListed: false)
        let before = try late.values()
        try #require(before.count == 3)
        #expect(late.choose("2").code == 0)
        #expect(try late.values() == [before[2]])
    }

    @Test func `a version's number is that of the list, and what was saved since the list stays beside it`() throws {
        let party = try Party(bob: "readWrite")
        let alice = party.alice
        for text in ["second", "third"] {
            try alice.machine.library.write("Summer/a.jpg", text)
            try #require(try party.village.settle())
        }
        let path = alice.path("Summer/a.jpg")
        let listing = TreeListing(of: alice.engine)
        let versions = try listing.versions(of: path)
        try listing.noteListed(versions)
        try party.bob.machine.shared.write("alice/Summer/a.jpg", "bob's, not listed")
        try #require(try party.village.settle())
        #expect(alice.tree(.library)["Summer/a.jpg"] == "bob's, not listed")
        let reply = alice.request(.restoreVersion(path: path, version: "2"))
        #expect(reply.code == 0, "\(reply)")
        try #require(try party.village.settle())
        for (replica, root, folder) in [(alice, RootKind.library, "Summer/"), (party.carol, .shared, "alice/Summer/")] {
            let shown = replica.tree(root).filter { $0.key.hasPrefix(folder) }
            #expect(shown[folder + "a.jpg"] == "second", "\(shown)")
            #expect(shown.values.sorted() == ["bbb", "bob's, not listed", "second"], "\(shown)")
        }
        #expect(alice.request(.restoreVersion(path: path, version: "4")).code == ExitCode.notFound)
        // What this device saved itself since the list is no news to its user.
        try listing.noteListed(try listing.versions(of: path))
        try alice.machine.library.write("Summer/a.jpg", "her own")
        try #require(try party.village.settle())
        #expect(alice.request(.restoreVersion(path: path, version: "2")).code == 0)
        try #require(try party.village.settle())
        #expect(!alice.tree(.library).values.contains("her own"), "\(alice.tree(.library))")
    }
}
