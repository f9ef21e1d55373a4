import ShoeboxCloud
import ShoeboxLibrary
import ShoeboxModel
import ShoeboxPlanning
import ShoeboxStore
import ShoeboxTestSupport
import Testing

@testable import Shoebox

/// What others wrote at once is one transaction wherever it is read.
@Suite struct FetchedTransactionTests {
    @Test func `each transaction that is fetched is one in the history, and is taken back alone`() throws {
        let party = try Party(bob: "readWrite")
        let (alice, bob) = (party.alice, party.bob)
        let from = try alice.store.read { db in try db.newestToken() }
        alice.machine.mount.unmount()
        let photo = bob.path("alice/Summer/a.jpg", .shared)
        for (number, word) in ["one", "two"].enumerated() {
            try bob.machine.shared.write("alice/Summer/n\(number).jpg", "new \(number)")
            try party.rounds(of: bob, 6)
            #expect(bob.request(.caption(path: photo, text: word)).code == 0)
            try party.rounds(of: bob, 3)
        }
        alice.machine.mount.mount()
        try #require(try party.village.settle())
        let fetched = try alice.store.read { db in try db.history(after: from, limit: .max) }.filter {
            $0.change.author == bob.identity.account
        }
        let written = try bob.store.read { db in try db.history(after: 0, limit: .max) }.filter { stored in
            fetched.contains { $0.change.dot == stored.change.dot }
        }
        func transactions(_ changes: [StoredChange]) -> Set<Set<Dot>> {
            Set(Dictionary(grouping: changes, by: \.token).values.map { Set($0.map(\.change.dot)) })
        }
        #expect(transactions(fetched) == transactions(written) && transactions(fetched).count >= 4)
        let last = fetched.last { stored in
            guard case .set(let fields) = stored.change.action else { return false }
            return fields[.caption]?.text == "two"
        }
        let reply = alice.request(.undo(token: try #require(last?.token)))
        #expect(reply.code == 0 && reply.values["records"] == "1", "\(reply)")
        try #require(try party.village.settle())
        #expect(bob.sidecar("alice/Summer/a.jpg", .shared)?.fields.caption == "one")
        party.expectShown(Party.content.merging(["n0.jpg": "new 0", "n1.jpg": "new 1"]) { $1 })
    }
}
