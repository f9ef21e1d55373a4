import Shoebox
import ShoeboxLibrary
import ShoeboxModel
import ShoeboxPlanning
import ShoeboxStore
import ShoeboxTestSupport
import ShoeboxWorld
import Testing

/// A program holds a file open for writing while what another device changed of it arrives.
@Suite struct OpenForWritingTests {
    @Test(arguments: [false, true], [false, true])
    func `a photo that a program has open for writing is replaced or removed only after it is closed`(
        isDeleted: Bool, isWritten: Bool
    ) throws {
        let (village, alice, second) = try Village.twoDevices(["a.jpg": "aaa", "b.jpg": "bbb"])
        let disk = second.machine.library
        try disk.openForWriting("a.jpg")
        if isDeleted {
            try alice.machine.library.delete("a.jpg")
        } else {
            try alice.machine.library.write("a.jpg", "alice's")
        }
        for _ in 0..<20 { try village.pass(1) }
        #expect(second.tree(.library)["a.jpg"] == "aaa")
        #expect(second.problems.isEmpty, "\(second.problems.map(\.message))")
        #expect(second.logLines.contains { $0.contains("'a.jpg' is open for writing in another program") })

        if isWritten { try disk.continueWriting("a.jpg", Array(" and more".utf8)) }
        let end = try #require(try disk.endWriting("a.jpg"))
        #expect("\(end.path)" == "a.jpg")
        #expect(try village.settle())
        #expect(treeDifference(second.files(.library), alice.files(.library)) == [])
        let shown = Set(second.tree(.library).values)
        #expect(shown.contains("aaa and more") == isWritten, "\(second.tree(.library))")
        #expect(shown.contains("alice's") == !isDeleted)
        #expect(!shown.contains("aaa"))
    }

    @Test func `what is held open is tried again ever more rarely`() throws {
        let (village, alice, second) = try Village.twoDevices(["a.jpg": "aaa"])
        try second.machine.library.openForWriting("a.jpg")
        try alice.machine.library.write("a.jpg", "alice's")
        for _ in 0..<4 { try village.pass(1) }
        var rounds = 0
        let clock = second.machine.clock
        let end = clock.uptimeMilliseconds + 120_000
        while clock.uptimeMilliseconds < end {
            let outcome = try second.round(.directories([:]))
            rounds += 1
            let now = clock.uptimeMilliseconds
            // As the daemon does: nothing spins.
            village.world.clock.advance(
                milliseconds: max(20, (outcome.lookAgain ?? end) - min(now, outcome.lookAgain ?? end)))
        }
        #expect(rounds < 40)
        try second.machine.library.endWriting("a.jpg")
        _ = try second.round(.directories([.library: [.root]]))
        #expect(second.tree(.library) == ["a.jpg": "alice's"])
    }

    @Test(arguments: [false, true])
    func `a sidecar that a program has open for writing is written, or goes with its photo, once it is closed`(
        isDeleted: Bool
    ) throws {
        let (village, alice, second) = try Village.twoDevices(["a.jpg": "aaa"])
        let disk = second.machine.library
        try #require(alice.request(.caption(path: alice.path("a.jpg"), text: "before")).code == 0)
        try #require(try village.settle())
        try disk.openForWriting("a.jpg.json")
        if isDeleted {
            for name in ["a.jpg", "a.jpg.json"] { try alice.machine.library.delete(name) }
        } else {
            try #require(alice.request(.caption(path: alice.path("a.jpg"), text: "after")).code == 0)
        }
        for _ in 0..<20 { try village.pass(1) }
        #expect(second.sidecar("a.jpg", .library)?.fields.caption == "before")
        #expect(second.problems.isEmpty, "\(second.problems.map(\.message))")
        let end = try #require(try disk.endWriting("a.jpg.json"))
        #expect("\(end.path)" == "a.jpg.json")
        #expect(try village.settle())
        #expect(second.sidecar("a.jpg", .library)?.fields.caption == (isDeleted ? nil : "after"))
        #expect(second.tree(.library, sidecars: true).isEmpty == isDeleted)
    }
}
