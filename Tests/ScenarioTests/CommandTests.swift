import Foundation
import ShoeboxModel
import Testing

/// The built executable, one command after the other, without a daemon: each runs the engine itself.
@Suite(.serialized)
struct CommandTests {
    @Test func `init twice with the same values is fine, and with others says what differs`() throws {
        let place = try CommandPlace()
        let alice = try place.person("alice")
        let again = try alice.initialize(["--json"])
        #expect(again.code == 0, "\(again.errors)")
        #expect(again.json["madeAccount"]?.bool == false)
        #expect(again.json["madeContainer"]?.bool == false)
        #expect(again.json["fingerprint"]?.text?.count == 19)
        let other = try alice.run([
            "init", "--account", "alice", "--container", alice.container, "--library", alice.home + "/elsewhere",
            "--shared", alice.shared,
        ])
        #expect(other.code == 1)
        #expect(other.errors.contains("\"library\""))
        #expect(other.errors.contains("hint: "))
    }

    @Test func `keys and recovery file are for their user only`() throws {
        let place = try CommandPlace()
        let alice = try place.person("alice")
        for file in ["identity", "recovery-alice.key"] {
            let attributes = try FileManager.default.attributesOfItem(
                atPath: alice.home + "/state/shoebox/alice/" + file)
            #expect((attributes[.posixPermissions] as? NSNumber)?.intValue == 0o600, "\(file)")
        }
    }

    @Test func `what would colour, end or turn around a line of the terminal is shown as its number`() throws {
        let place = try CommandPlace()
        let alice = try place.person("alice")
        _ = try alice.initialize()
        try alice.drop("bytes", at: alice.library + "/Trip/a\u{202E}gpj.jpg")
        let title = "red\u{1B}[31m\nshoebox: all is well"
        #expect(try alice.run(["share", "create", alice.library + "/Trip", "--title", title]).code == 0)
        for words in [["share", "list"], ["list"], ["status"]] {
            let shown = try alice.run(words).output
            #expect(!shown.unicodeScalars.contains("\u{1B}") && !shown.unicodeScalars.contains("\u{202E}"))
            #expect(!shown.contains("\nshoebox: all is well"))
        }
        #expect(try alice.run(["share", "list"]).output.contains("red\\u{1b}[31m\\u{a}shoebox"))
        #expect(try alice.run(["share", "list", "--json"]).output.contains("red"))
    }

    @Test func `a container that is nowhere is offline`() throws {
        let place = try CommandPlace()
        let alice = CommandPerson(name: "alice", place: place)
        let result = try alice.run([
            "init", "--account", "alice", "--container", place.path + "/no/where", "--library", alice.library,
            "--shared", alice.shared,
        ])
        #expect(result.code == 13)
        #expect(result.errors.hasPrefix("shoebox: "))
    }

    @Test(arguments: [
        (#"{"account": "alice", "libary": "/l"}"#, "libary", "library"),
        (#"{"account": "alice""#, "line 1", "hint: "),
        (
            #"{"account": "alice", "container": "/c", "library": "/l", "shared": "/l/s", "state": "/s"}"#, "shared",
            "hint: "
        ),
    ])
    func `a bad configuration is refused with place and remedy`(text: String, first: String, second: String) throws {
        let place = try CommandPlace()
        let alice = CommandPerson(name: "alice", place: place)
        try alice.drop(text, at: alice.config)
        let result = try alice.run(["status"])
        #expect(result.code == 1)
        #expect(result.errors.contains(first), "\(result.errors)")
        #expect(result.errors.contains(second), "\(result.errors)")
    }

    /// A command line, and the exit code that it must end with.
    struct Refusal: Sendable {
        var arguments: String
        var code: Int32
    }

    static let refusals: [Refusal] = [
        Refusal(arguments: "share show Nope", code: 10), Refusal(arguments: "share link Nope", code: 10),
        Refusal(arguments: "share stop Nope", code: 10), Refusal(arguments: "share invite Nope bob", code: 10),
        Refusal(arguments: "show /etc/passwd", code: 10), Refusal(arguments: "tag add /etc/passwd x", code: 10),
        Refusal(arguments: "list library/Nope", code: 10), Refusal(arguments: "restore Nope", code: 10),
        Refusal(arguments: "trash restore library/x.jpg", code: 10), Refusal(arguments: "inspect nope", code: 10),
        Refusal(arguments: "rate library/x.jpg 9", code: 64), Refusal(arguments: "nonsense", code: 64),
        Refusal(arguments: "accept", code: 64),
    ]

    @Test(arguments: refusals)
    func `what is not there, and wrong usage, have their own exit codes`(refusal: Refusal) throws {
        let place = try CommandPlace()
        let alice = try place.person("alice")
        let arguments = refusal.arguments.split(separator: " ").map(String.init)
        let result = try alice.run(arguments)
        #expect(result.code == refusal.code, "\(result.errors)")
        #expect(result.output.isEmpty)
        guard refusal.code != 64 else { return }
        let scripted = try alice.run(arguments + ["--json"])
        let object = (try? JSONText.parse(scripted.errors))?.object
        #expect(object?["error"]?.object?["code"]?.integer == Int64(refusal.code), "\(scripted.errors)")
    }

    @Test func `a caption that begins as options do is told of its place, and is set there`() throws {
        let place = try CommandPlace()
        let alice = try place.person("alice")
        try alice.drop("xxx", at: alice.library + "/x.jpg")
        #expect(try alice.run(["sync"]).code == 0)
        let refused = try alice.run(["caption", "library/x.jpg", "-20 degrees"])
        #expect(refused.code == 64)
        #expect(refused.errors.contains("comes after '--'"), "\(refused.errors)")
        #expect(try alice.run(["caption", "library/x.jpg", "--", "-20 degrees"]).code == 0)
        #expect(try alice.run(["show", "library/x.jpg"]).output.contains("-20 degrees"))
    }

    @Test func `status says nothing is known before the first look, and in sync after it`() throws {
        let place = try CommandPlace()
        let alice = try place.person("alice")
        #expect(try alice.status()["state"]?.text == "pending")
        try alice.drop("a picture", at: alice.library + "/a.jpg")
        let synced = try alice.run(["sync", "--json"])
        #expect(synced.code == 0, "\(synced.output)\(synced.errors)")
        let status = try alice.status()
        #expect(status["state"]?.text == "inSync")
        #expect(status["pendingPush"]?.integer == 0)
        #expect(status["daemon"] == .null)
        #expect(status["asOf"]?.text != nil)
        #expect(status["account"]?.text == "alice")
        try alice.must("tag", "add", "library/a.jpg", "x")
        #expect(try alice.status()["state"]?.text == "inSync", "a command leaves it so")
        let text = try alice.must("status").output
        #expect(text.contains("no daemon is running"))
    }

    @Test func `two people share a folder by commands alone`() throws {
        let place = try CommandPlace()
        let alice = try place.person("alice")
        let bob = try place.person("bob")
        try alice.drop("one", at: alice.library + "/Lake/one.jpg")
        let made = try alice.must("share", "create", "library/Lake", "--title", "Summer", "--json").json
        let link = try #require(made["link"]?.text)
        #expect(made["id"]?.text?.count == 64)
        #expect(try alice.must("share", "link", "Summer").output == link + "\n")
        #expect(try alice.run(["share", "invite", "Summer", "nobody"]).code == 10)
        try alice.must("share", "invite", "Summer", "bob")
        try alice.must("sync")
        try bob.must("accept", link)
        try bob.must("sync")
        #expect(bob.text(bob.shared + "/alice/Summer/one.jpg") == "one")

        // Read only at first: said with its own code, by owner and by permission.
        #expect(try bob.run(["tag", "add", "shared/alice/Summer/one.jpg", "x"]).code == 12)
        #expect(try bob.run(["share", "title", "Summer", "Winter"]).code == 12)
        try alice.must("share", "permission", "Summer", "bob", "readWrite")
        try bob.must("sync")
        try bob.must("tag", "add", "shared/alice/Summer/one.jpg", "swim", "lake")
        try bob.must("rate", "shared/alice/Summer/one.jpg", "4")
        try bob.must("caption", "shared/alice/Summer/one.jpg", "At the lake")
        try alice.must("sync")
        let shown = try alice.must("show", "library/Lake/one.jpg", "--json").json
        let titles = (shown["tags"]?.array ?? []).compactMap { $0.text }
        #expect(titles == ["lake", "swim"])
        #expect(shown["caption"]?.text == "At the lake")
        #expect(shown["share"]?.text == "Summer")
        #expect(shown["ratings"]?.array?.first?.object?["account"]?.text == "bob")
        let tags = try alice.must("tag", "list", "--json").json["tags"]?.array ?? []
        #expect(tags.compactMap { $0.object?["title"]?.text } == ["lake", "swim"])

        let share = try bob.must("share", "show", "Summer", "--json").json
        #expect(share["owner"]?.text == "alice")
        #expect(share["role"]?.text == "participant")
        #expect(share["permission"]?.text == "readWrite")
        #expect(share["photos"]?.integer == 1)
        #expect(share["path"]?.text == "shared/alice/Summer")
        let listed = try bob.must("list", "--json").json["entries"]?.array ?? []
        let paths = listed.compactMap { $0.object?["path"]?.text }
        #expect(paths.contains("shared/alice/Summer/one.jpg"))

        let history = try alice.must("history", "--json").json
        let token = try #require(history["token"]?.integer)
        #expect(token > 0)
        #expect(try alice.must("history", "--since", "\(token)", "--json").json["transactions"]?.array?.isEmpty == true)

        try alice.must("share", "title", "Summer", "Sun")
        #expect(try alice.must("share", "stop", "Sun", "--dry-run").output.contains("bob"))
        try bob.must("sync")
        try bob.must("share", "leave", "Sun", "--keep-copy")
        #expect(bob.text(bob.shared + "/alice/Summer/one.jpg") == nil)
        #expect(try bob.must("share", "list", "--json").json["shares"]?.array?.isEmpty == true)
        try alice.must("share", "stop", "Sun")
        #expect(alice.text(alice.library + "/Lake/one.jpg") == "one")
    }

    @Test func `what is not seen in the container can be inspected by who has the keys`() throws {
        let place = try CommandPlace()
        let alice = try place.person("alice")
        try alice.drop("one", at: alice.library + "/one.jpg")
        try alice.must("sync")
        let files = FileManager.default.enumerator(atPath: alice.container)?.compactMap { $0 as? String } ?? []
        let segment = try #require(files.first { $0.contains("/log/") && $0.split(separator: "/").count == 5 })
        let shown = try alice.must("inspect", alice.container + "/" + segment).json
        #expect(shown["format"]?.text == "shoebox.segment/1")
        #expect(shown["body"]?.object != nil)
        let container = try alice.must("inspect", alice.container + "/container.json").json
        #expect(container["format"]?.text == "shoebox.container/1")
        let bob = try place.person("bob")
        let closed = try bob.must("inspect", bob.container + "/" + segment).json
        #expect(closed["body"] == nil)
    }

    @Test func `a container that was moved away is offline, and nothing is lost`() throws {
        let place = try CommandPlace()
        let alice = try place.person("alice")
        try FileManager.default.moveItem(atPath: alice.container, toPath: place.path + "/away")
        try alice.drop("one", at: alice.library + "/one.jpg")
        let result = try alice.run(["sync", "--json"])
        #expect(result.code == 13)
        #expect(result.json["state"]?.text == "offline")
        #expect(result.json["pendingPush"]?.integer ?? 0 > 0)
        try FileManager.default.moveItem(atPath: place.path + "/away", toPath: alice.container)
        try alice.must("sync")
        #expect(try alice.status()["state"]?.text == "inSync")
        #expect(try alice.status()["problems"]?.array?.isEmpty == true)
    }

    @Test func `help names every command, and each shows an example`() throws {
        let place = try CommandPlace()
        let alice = CommandPerson(name: "alice", place: place)
        let help = try alice.must("--help").output
        for command in [
            "init", "run", "sync", "status", "list", "show", "accept", "rate", "caption", "history", "conflicts",
            "restore", "inspect", "undo", "verify", "doctor",
        ] {
            #expect(help.contains("  \(command) "), "\(command)")
            #expect(try alice.must(command, "--help").output.contains("Example:"), "\(command)")
        }
    }
}
