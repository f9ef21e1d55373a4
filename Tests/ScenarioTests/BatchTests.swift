import Shoebox
import ShoeboxModel
import ShoeboxStore
import ShoeboxTestSupport
import ShoeboxWorld
import Testing

/// Folders are brought up to date in batches; the replicas of these tests make them of four records.
@Suite struct BatchTests {
    /// Alice shares photos in a folder and in folders below it, with Bob.
    private func shared(_ count: Int) throws -> (Village, Replica, Replica, link: String, content: [String: String]) {
        let village = try Village(labels: ["alice", "bob"])
        let (alice, bob) = (village.replicas[0], village.replicas[1])
        var content: [String: String] = [:]
        for number in 0..<count {
            let path = number.isMultiple(of: 3) ? "\(number).jpg" : "day \(number % 4)/\(number).jpg"
            content[path] = "photo \(number)"
            try alice.machine.library.write("Summer/\(path)", "photo \(number)")
        }
        try #require(try village.settle())
        let made = alice.request(
            .shareCreate(paths: [alice.path("Summer")], title: "Summer", publicPermission: "none", isSealed: true))
        _ = alice.request(.invite(share: "Summer", accounts: ["bob"], permission: "readWrite"))
        return (village, alice, bob, try #require(made.values["link"]), content)
    }

    private func shown(_ bob: Replica) -> [String: String] {
        let prefix = "alice/Summer/"
        return Dictionary(
            uniqueKeysWithValues: bob.tree(.shared).map { (String($0.dropFirst(prefix.count)), $1) })
    }

    @Test func `more contents that are missing than a batch holds keep no other photo from showing`() throws {
        let (village, alice, bob, link, content) = try shared(24)
        try #require(try village.settle())
        // Every other asset is not there yet, as when a mount shows new files late.
        let storage = village.world.storage
        var hidden: [(MountPath, [UInt8])] = []
        for name in village.assetNames.enumerated().filter({ $0.offset.isMultiple(of: 2) }).map(\.element) {
            let path = try #require(MountPath(name))
            hidden.append((path, try #require(storage.rawRead(path))))
            storage.rawRemove(path)
        }
        #expect(hidden.count == 12)
        alice.machine.library.unmount()
        _ = bob.request(.accept(link: link))
        for _ in 0..<4 {
            _ = try bob.round()
            village.world.clock.advance(milliseconds: 1_000)
        }
        #expect(shown(bob).count == 12)
        #expect(shown(bob).allSatisfy { content[$0.key] == $0.value })
        for (path, bytes) in hidden { storage.rawWrite(path, bytes) }
        for _ in 0..<40 where shown(bob) != content {
            _ = try bob.round()
            village.world.clock.advance(milliseconds: 1_000)
        }
        #expect(
            treeDifference(bob.files(.shared), content.reduce(into: [:]) { $0["alice/Summer/\($1.key)"] = $1.value })
                == [])
        #expect(bob.problems.isEmpty, "\(bob.problems)")
    }

    @Test func `a first mirror ends early when somebody waits, and goes on where it was`() throws {
        let (village, _, bob, link, content) = try shared(24)
        var asked = 0
        // Whoever waits does so until the round has ended.
        bob.engine.isAskedToPause = {
            asked += 1
            return asked > 5
        }
        _ = bob.request(.accept(link: link))
        var counts: Set<Int> = []
        for _ in 0..<200 where shown(bob).count < content.count {
            asked = 0
            let outcome = try bob.round()
            counts.insert(shown(bob).count)
            if shown(bob).count < content.count { #expect(outcome.lookAgain != nil) }
            village.world.clock.advance(milliseconds: 10)
        }
        #expect(counts.count > 3)
        #expect(shown(bob) == content)
        bob.engine.isAskedToPause = { false }
        try #require(try village.settle())
        #expect(bob.problems.isEmpty, "\(bob.problems)")
    }

    @Test func `photos that came before the folder they are in show when it is made`() throws {
        let (village, alice, bob, link, _) = try shared(8)
        _ = bob.request(.accept(link: link))
        try #require(try village.settle())
        for number in 0..<10 { try alice.machine.library.write("Summer/new/deep/\(number).jpg", "deep \(number)") }
        try #require(try village.settle())
        for number in 0..<10 { #expect(bob.tree(.shared)["alice/Summer/new/deep/\(number).jpg"] == "deep \(number)") }
        // The same again in another way: the folders are renamed while more arrives in them.
        try alice.machine.library.move("Summer/new", to: "Summer/newer")
        for number in 10..<20 { try alice.machine.library.write("Summer/newer/deep/\(number).jpg", "deep \(number)") }
        try #require(try village.settle())
        for number in 0..<20 { #expect(bob.tree(.shared)["alice/Summer/newer/deep/\(number).jpg"] == "deep \(number)") }
        #expect(bob.tree(.shared).keys.filter { $0.contains("/new/") }.isEmpty)
    }
}
