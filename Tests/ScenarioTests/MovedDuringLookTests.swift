import Shoebox
import ShoeboxLibrary
import ShoeboxModel
import ShoeboxPlanning
import ShoeboxStore
import ShoeboxTestSupport
import ShoeboxWorld
import Testing

/// Without a watcher, a photo goes from one directory to another one that was listed before, or is not listed at all.
@Suite struct MovedDuringLookTests {
    private static let files = ["A/a.jpg": "aaa", "Z/z.jpg": "zzz"]

    private func setUp() throws -> (Village, alice: Replica, second: Replica) {
        let (village, alice, second) = try Village.twoDevices(Self.files)
        for path in Self.files.keys.sorted() {
            try #require(alice.request(.caption(path: alice.path(path), text: "of \(path)")).code == 0)
        }
        try #require(try village.settle())
        return (village, alice, second)
    }

    /// Goes on as 'shoebox sync' does after its first look, until nothing is waited for.
    private func goOn(_ replica: Replica, _ village: Village) throws -> Int {
        for number in 1...30 {
            let outcome = try replica.round(.directories([:]))
            guard outcome.didSomething || outcome.lookAgain != nil else { return number }
            let now = replica.machine.clock.uptimeMilliseconds
            village.world.clock.advance(milliseconds: max(outcome.lookAgain ?? now, now + 20) - now)
        }
        return .max
    }

    /// The listings of a round, by path.
    private func listings(_ replica: Replica, _ body: () throws -> Void) rethrows -> [String] {
        let first = replica.machine.faults.operationCount
        try body()
        return replica.machine.faults.log.filter {
            $0.number >= first && $0.name == "list" && $0.part == "library"
        }.map(\.path)
    }

    private func hasDeletion(_ replica: Replica) throws -> Bool {
        try replica.store.read { db in try db.history(after: 0, limit: .max) }.contains { stored in
            if case .delete = stored.change.action { true } else { false }
        }
    }

    @Test func `a photo that is moved while all is looked at is the same photo`() throws {
        let (village, alice, second) = try setUp()
        alice.engine.coverage = .looking
        let disk = alice.machine.library
        // Which of both is listed last: from there the photo goes to the other one, just before.
        let order = try listings(alice) { try alice.round() }
        let late = try #require(order.last { $0 == "A" || $0 == "Z" })
        let (from, to) = late == "A" ? ("A/a.jpg", "Z/a.jpg") : ("Z/z.jpg", "A/z.jpg")
        let before = try #require(alice.sidecar(from, .library)?.record)
        let calls = try #require(order.lastIndex(of: late))
        alice.machine.faults.run(before: "list", after: calls) {
            do { try disk.move(from, to: to) } catch { Issue.record("\(error)") }
        }
        try alice.round()
        try #require(alice.tree(.library)[to] != nil)
        let rounds = try goOn(alice, village)
        #expect(rounds < 30)
        #expect(try !hasDeletion(alice))
        _ = try second.round()
        #expect(second.tree(.library)[to] == Self.files[from])
        #expect(second.sidecar(to, .library)?.record == before)
        #expect(second.sidecar(to, .library)?.fields.caption == "of \(from)")
    }

    @Test func `what was deleted is gone after it was looked for everywhere`() throws {
        let (village, alice, second) = try setUp()
        alice.engine.coverage = .looking
        for name in ["A/a.jpg", "A/a.jpg.json"] { try alice.machine.library.delete(name) }
        let order = try listings(alice) {
            try alice.round()
            _ = try goOn(alice, village)
        }
        #expect(try hasDeletion(alice))
        #expect(order.filter { $0 == "Z" }.count <= 3)
        _ = try second.round()
        #expect(second.tree(.library) == ["Z/z.jpg": "zzz"])
    }

    @Test func `who looks at one directory deletes nothing that may be in another one`() throws {
        let (village, alice, second) = try setUp()
        alice.engine.coverage = .passing
        try alice.machine.library.move("A/a.jpg", to: "Z/a.jpg")
        let folder = try SimulatedDisk.path("A")
        for _ in 0..<5 {
            _ = try alice.round(.directories([.library: [folder]]))
            village.world.clock.advance(milliseconds: 2_000)
        }
        #expect(try !hasDeletion(alice))
        alice.engine.coverage = .looking
        try alice.round()
        _ = try goOn(alice, village)
        _ = try second.round()
        #expect(second.sidecar("Z/a.jpg", .library)?.fields.caption == "of A/a.jpg")
    }
}
