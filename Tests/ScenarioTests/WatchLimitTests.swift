import Foundation
import ShoeboxModel
import Testing

/// The daemon where its watcher can't see everything, or has lost events: it looks by itself, and says so.
struct WatchLimitTests {
    private func watcherProblem(_ person: CommandPerson) throws -> JSONObject? {
        try person.status()["problems"]?.array?.compactMap(\.object).first { $0["code"]?.text == "watcher" }
    }

    private func list(_ person: CommandPerson) throws -> [String] {
        try person.run(["list", "--json"]).json["entries"]?.array?.compactMap { $0.object?["path"]?.text } ?? []
    }

    /// A watcher that reaches the limit at first, later sees all, and never tells of a change.
    @Test func `beyond the limit of watches changes are found by looking, and status says so with what to do`() throws {
        let place = try CommandPlace()
        let alice = try place.person("alice")
        try alice.replaceWatcher(
            """
            if [ -e \(alice.home)/watched-again ] || [ $number != 0 ]; then
                printf 'ready %s 3\\n' $number
            else
                printf 'limit 0 300000\\nready 0 1\\nrescan 0\\n'
            fi
            """)
        try alice.drop("first", at: alice.library + "/first.jpg")
        _ = try alice.startDaemon()
        try alice.wait("status tells of the limit") { try watcherProblem(alice) != nil }
        let problem = try #require(try watcherProblem(alice))
        #expect(
            problem["message"]?.text
                == "too few inotify watches: this folder needs 300000; raise them with 'sysctl fs.inotify.max_user_watches=600000'"
        )
        #expect(problem["remedy"]?.text?.contains("looked at every minute") == true, "\(problem)")
        #expect(problem["remedy"]?.text?.contains("'shoebox sync'") == true, "\(problem)")
        let told = try alice.run(["status"]).output
        #expect(told.contains("too few inotify watches") && told.contains("'shoebox sync'"), "\(told)")
        // The first look is over; of what comes now no event tells.
        try alice.wait("the first look is over") {
            let status = try alice.status()
            return try list(alice) == ["library/first.jpg"] && status["pendingPush"]?.integer == 0
                && status["isSettling"]?.bool == false
        }
        try alice.drop("unseen", at: alice.library + "/deep/unseen.jpg")
        try Data().write(to: URL(fileURLWithPath: alice.home + "/watched-again"))
        try alice.wait("it is found by looking") { try list(alice).contains("library/deep/unseen.jpg") }
        // Then the watcher was asked again, and sees all.
        try alice.wait("the problem is over") { try watcherProblem(alice) == nil }
    }

    /// A watcher that loses events, as the real one says when the kernel's queue has overflowed.
    @Test func `after lost events everything is looked at`() throws {
        let place = try CommandPlace()
        let alice = try place.person("alice")
        try alice.replaceWatcher(
            """
            printf 'ready %s 3\\nrescan %s\\n' $number $number
            if [ $number = 1 ]; then
                touch \(alice.home)/asked
            else
                (while [ -d \(alice.home) ] && ! [ -e \(alice.home)/overflowed ]; do sleep 0.1; done; printf 'rescan 0\\n') &
            fi
            """)
        _ = try alice.startDaemon()
        try alice.wait("the watcher watches") { FileManager.default.fileExists(atPath: alice.home + "/asked") }
        try alice.wait("in sync at first") { try alice.status()["state"]?.text == "inSync" }
        try alice.drop("unseen", at: alice.library + "/deep/unseen.jpg")
        for _ in 0..<5 {
            usleep(100_000)
            #expect(try !list(alice).contains("library/deep/unseen.jpg"), "nothing tells of it yet")
        }
        try Data().write(to: URL(fileURLWithPath: alice.home + "/overflowed"))
        try alice.wait("it is found by looking") { try list(alice).contains("library/deep/unseen.jpg") }
        #expect(try watcherProblem(alice) == nil)
    }

    /// A watcher that has lost the event of one of two directories, and is still busy watching everything anew.
    @Test func `a photo that is moved while events are lost is the same photo`() throws {
        let place = try CommandPlace()
        let alice = try place.person("alice")
        try alice.replaceWatcher(
            """
            printf 'ready %s 3\\nrescan %s\\n' $number $number
            if [ $number = 1 ]; then
                touch \(alice.home)/asked
            else
                (while [ -d \(alice.home) ] && ! [ -e \(alice.home)/lost ]; do sleep 0.1; done; printf 'lost 0\\n'
                while [ -d \(alice.home) ] && ! [ -e \(alice.home)/moved ]; do sleep 0.1; done; printf 'dirty 0 41\\n') &
            fi
            """)
        for name in ["A/one", "Z/two"] { try alice.drop(name, at: alice.library + "/\(name).jpg") }
        _ = try alice.startDaemon()
        try alice.wait("in sync at first") {
            try list(alice).contains("library/A/one.jpg") && alice.status()["state"]?.text == "inSync"
        }
        try alice.must("caption", "library/A/one.jpg", "mine")
        try Data().write(to: URL(fileURLWithPath: alice.home + "/lost"))
        try FileManager.default.moveItem(atPath: alice.library + "/A/one.jpg", toPath: alice.library + "/Z/one.jpg")
        try Data().write(to: URL(fileURLWithPath: alice.home + "/moved"))
        try alice.wait("it is found where it is") { try list(alice).contains("library/Z/one.jpg") }
        let shown = try alice.run(["show", "library/Z/one.jpg", "--json"])
        #expect(shown.output.contains("mine"), "\(shown.output) \(shown.errors)")
    }
}
