import ShoeboxModel
import ShoeboxTestSupport
import ShoeboxWorld
import Testing

@testable import Shoebox

/// What was put into a folder the moment before it is shared is in the share, and its owner is told so.
@Suite struct JustDroppedTests {
    private func village() throws -> (Village, alice: Replica) {
        let (village, alice, _) = try Village.twoDevices(["Trip/a.jpg": "aaa"], others: ["bob"])
        _ = alice.machine.library.takeDirty()
        return (village, alice)
    }

    private func share(_ alice: Replica) -> Reply {
        alice.request(
            .shareCreate(paths: [alice.path("Trip")], title: "Trip", publicPermission: "none", isSealed: true))
    }

    @Test func `what was dropped a moment ago counts, at any depth`() throws {
        let (village, alice) = try village()
        try alice.machine.library.write("Trip/b.jpg", "bbb")
        try alice.machine.library.write("Trip/New/Deep/c.jpg", "ccc")
        village.world.clock.advance(milliseconds: 200)
        let made = share(alice)
        #expect(made.code == 0 && made.lines.first == "Share 'Trip' made of 'library/Trip', 3 files.", "\(made)")
    }

    @Test func `what can't be read yet is told, and shared once it can be`() throws {
        let (village, alice) = try village()
        try alice.machine.library.write("Trip/b.jpg", "bbb")
        village.world.clock.advance(milliseconds: 200)
        alice.machine.faults.setRule { $0.name != "list" && $0.path.hasSuffix("b.jpg") ? .fail(.inputOutput) : nil }
        let made = share(alice)
        alice.machine.faults.setRule(nil)
        #expect(
            made.code == 0
                && made.lines.first
                    == "Share 'Trip' made of 'library/Trip', 1 file (1 more as soon as all of it is there and can be read).",
            "\(made)")
        try #require(try village.settle())
        let shown = alice.request(
            .shareCreate(paths: [alice.path("Trip/b.jpg")], title: "B", publicPermission: "none", isSealed: true))
        #expect(shown.lines.contains { $0.contains("in the share 'Trip' already") }, "\(shown)")
    }
}
