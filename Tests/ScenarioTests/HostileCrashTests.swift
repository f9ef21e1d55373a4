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

/// The process dies at every file operation and every transaction of what a command does, one after the other; after a
/// restart the thing is done whole or not at all, nothing is lost, and doing it again completes it.
@Suite struct HostileCrashTests {
    enum Step: String, CaseIterable {
        case shareFolder, shareSelection, accept, stop, leave, leaveKeeping, end
    }

    /// Every so manieth call: all of them take minutes. `SHOEBOX_THOROUGH=1` in the environment tries each.
    private static let stride = ProcessInfo.processInfo.environment["SHOEBOX_THOROUGH"] == nil ? 19 : 1
    private static let library = ["Summer/a.jpg": "aaa", "Summer/deep/b.jpg": "bbb", "Private/c.jpg": "ccc"]

    /// Alice and Bob, as far as the step needs it, and who will die.
    private func stage(_ step: Step) throws -> (Village, alice: Replica, bob: Replica, link: String) {
        let village = try Village(labels: ["alice", "bob"], storesMayDie: true)
        let (alice, bob) = (village.replicas[0], village.replicas[1])
        for (path, text) in Self.library { try alice.machine.library.write(path, text) }
        try #require(try village.settle())
        guard step != .shareFolder, step != .shareSelection else { return (village, alice, bob, "") }
        let made = create(alice, step)
        try #require(made.code == 0, "\(made)")
        try #require(invite(alice).code == 0)
        let link = made.values["link"] ?? ""
        if step != .accept {
            try #require(bob.request(.accept(link: link)).code == 0)
            try #require(try village.settle())
        }
        if step == .end { try #require(alice.request(.stop(share: "Summer")).code == 0) }
        return (village, alice, bob, link)
    }

    private func create(_ alice: Replica, _ step: Step) -> Reply {
        let paths = step == .shareSelection ? ["Summer/a.jpg", "Private/c.jpg"] : ["Summer"]
        return alice.request(
            .shareCreate(paths: paths.map { alice.path($0) }, title: "Summer", publicPermission: "none", isSealed: true)
        )
    }

    private func invite(_ alice: Replica) -> Reply {
        alice.request(.invite(share: "Summer", accounts: ["bob"], permission: "readWrite"))
    }

    private func perform(_ step: Step, _ alice: Replica, _ bob: Replica, _ link: String) -> Reply {
        switch step {
        case .shareFolder, .shareSelection: create(alice, step)
        case .accept: bob.request(.accept(link: link))
        case .stop: alice.request(.stop(share: "Summer"))
        case .leave: bob.request(.leave(share: "Summer", keepCopy: false))
        case .leaveKeeping: bob.request(.leave(share: "Summer", keepCopy: true))
        case .end: Reply()
        }
    }

    private func shares(_ replica: Replica) throws -> [ZoneRow] {
        try replica.store.read { db in try db.zones() }.filter { $0.kind == .share && $0.state == .active }
    }

    @Test(arguments: Step.allCases)
    func `whenever the process dies, the step is done whole or not at all`(step: Step) throws {
        var number = 0
        while true {
            let (village, alice, bob, link) = try stage(step)
            let victim = [.accept, .leave, .leaveKeeping, .end].contains(step) ? bob : alice
            victim.machine.faults.set(.crash, after: number)
            _ = perform(step, alice, bob, link)
            for _ in 0..<4 where !victim.machine.faults.isCrashed {
                do { try victim.round() } catch { break }
                village.world.clock.advance(milliseconds: 700)
            }
            let hasDied = victim.machine.faults.isCrashed
            victim.machine.faults.clear()
            try victim.restart()
            // Long enough for what is missing to be taken for a deletion, if it ever is.
            try village.pass(2)
            village.world.clock.advance(milliseconds: 40_000)
            try village.pass(2)
            village.world.clock.advance(milliseconds: 40_000)
            let comment: Comment = "died before call \(number) of \(step)"
            try #require(try village.settle(), comment)
            #expect(alice.tree(.library) == Self.library, comment)
            try check(step, village, alice, bob, link, comment)
            #expect(alice.tree(.library) == Self.library, comment)
            #expect(alice.problems.isEmpty, "\(comment): \(alice.problems)")
            guard hasDied else {
                break
            }
            number += Self.stride
            try #require(number < 2_000)
        }
    }

    /// Checks what the step is about, and that doing it (again) leads to its end.
    private func check(
        _ step: Step, _ village: Village, _ alice: Replica, _ bob: Replica, _ link: String, _ comment: Comment
    ) throws {
        let whole = ["aaa", "bbb"]
        switch step {
        case .shareFolder, .shareSelection:
            let expected = step == .shareFolder ? whole : ["aaa", "ccc"]
            if try shares(alice).isEmpty { #expect(create(alice, step).code == 0, comment) }
            #expect(try shares(alice).count == 1, comment)
            // What the dead process had published of it is nothing to be accepted.
            #expect(alice.request(.acceptAllPending).lines == ["No invitation is waiting."], comment)
            #expect(invite(alice).code == 0, comment)
            #expect(bob.request(.acceptAllPending).code == 0, comment)
            try #require(try village.settle(), comment)
            #expect(bob.tree(.shared).values.sorted() == expected, comment)
        case .accept:
            let shown = bob.tree(.shared).values.sorted()
            #expect(shown.isEmpty || shown == whole, comment)
            #expect(bob.request(.accept(link: link)).code == 0, comment)
            try #require(try village.settle(), comment)
            #expect(bob.tree(.shared).values.sorted() == whole, comment)
            #expect(bob.problems.isEmpty, "\(comment): \(bob.problems)")
        case .stop:
            let shown = bob.tree(.shared).values.sorted()
            #expect(shown.isEmpty || shown == whole, comment)
            if try !shares(alice).isEmpty {
                #expect(alice.request(.stop(share: "Summer")).code == 0, comment)
                try #require(try village.settle(), comment)
            }
            #expect(bob.tree(.shared).isEmpty, comment)
            #expect(bob.problems.map(\.code) == ["ended"], comment)
        case .leave, .leaveKeeping:
            let shown = bob.tree(.shared).values.sorted()
            #expect(shown.isEmpty || shown == whole, comment)
            if try !shares(bob).isEmpty {
                #expect(perform(step, alice, bob, link).code == 0, comment)
                try #require(try village.settle(), comment)
            }
            #expect(bob.tree(.shared).isEmpty, comment)
            if step == .leaveKeeping { #expect(Set(bob.tree(.library).values) == Set(whole), comment) }
            #expect(bob.problems.isEmpty, "\(comment): \(bob.problems)")
        case .end:
            #expect(bob.tree(.shared).isEmpty, comment)
            #expect(bob.problems.map(\.code) == ["ended"], comment)
        }
    }
}
