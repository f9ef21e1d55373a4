import Foundation
import ShoeboxModel
import Testing

/// State directories that exist twice, or come back from a backup, by the real executable.
@Suite(.serialized)
struct CloneCommandTests {
    private let files = FileManager.default

    private func copy(_ source: String, to target: String) throws {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/bin/cp")
        process.arguments = ["-a", source, target]
        try process.run()
        process.waitUntilExit()
        try #require(process.terminationStatus == 0)
    }

    private func replica(_ person: CommandPerson) throws -> String {
        try #require(try person.must("account", "show", "--json").json["replica"]?.text)
    }

    @Test func `a state directory that runs on two machines becomes two replicas, and nothing is lost`() throws {
        let place = try CommandPlace()
        let alice = try place.person("alice")
        try alice.drop("one", at: alice.library + "/one.jpg")
        try alice.must("sync")
        try copy(alice.home, to: alice.home + ".clone")
        let first = try replica(alice)
        // The original goes on; then the clone, in its place, as on another machine; then the original again.
        try alice.drop("two", at: alice.library + "/two.jpg")
        try alice.must("sync")
        try files.moveItem(atPath: alice.home, toPath: alice.home + ".original")
        try files.moveItem(atPath: alice.home + ".clone", toPath: alice.home)
        try alice.drop("three", at: alice.library + "/three.jpg")
        for _ in 0..<2 { _ = try alice.run(["sync"]) }
        #expect(try replica(alice) != first)
        for (name, text) in [("one", "one"), ("two", "two"), ("three", "three")] {
            #expect(alice.text("\(alice.library)/\(name).jpg") == text)
        }
        try alice.expectNoNumberTwice()
        try files.moveItem(atPath: alice.home, toPath: alice.home + ".clone")
        try files.moveItem(atPath: alice.home + ".original", toPath: alice.home)
        try alice.drop("four", at: alice.library + "/four.jpg")
        for _ in 0..<2 { _ = try alice.run(["sync"]) }
        #expect(alice.text(alice.library + "/three.jpg") == "three" && alice.text(alice.library + "/two.jpg") == "two")
        #expect(try replica(alice) == first)
        try alice.expectNoNumberTwice()
    }

    @Test func `an older state directory that was restored reuses no number, and loses and doubles nothing`() throws {
        let place = try CommandPlace()
        let alice = try place.person("alice")
        try alice.drop("one", at: alice.library + "/one.jpg")
        try alice.must("sync")
        let state = alice.home + "/state"
        try copy(state, to: alice.home + "/backup")
        try alice.drop("two", at: alice.library + "/two.jpg")
        try alice.must("sync")
        let before = try replica(alice)
        try files.removeItem(atPath: state)
        try files.moveItem(atPath: alice.home + "/backup", toPath: state)
        try alice.drop("three", at: alice.library + "/three.jpg")
        for _ in 0..<3 { _ = try alice.run(["sync"]) }
        #expect(try replica(alice) != before)
        let shown = try files.contentsOfDirectory(atPath: alice.library).filter { $0.hasSuffix(".jpg") }.sorted()
        #expect(shown == ["one.jpg", "three.jpg", "two.jpg"])
        for name in ["one", "two", "three"] { #expect(alice.text("\(alice.library)/\(name).jpg") == name) }
        try alice.expectNoNumberTwice()
    }
}
