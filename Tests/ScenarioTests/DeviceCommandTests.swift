import Foundation
import ShoeboxModel
import Testing

/// Devices of one account, by the real executable.
@Suite(.serialized)
struct DeviceCommandTests {
    private func initArguments(_ device: CommandPerson, account: String = "alice") -> [String] {
        [
            "--account", account, "--container", device.container, "--library", device.library, "--shared",
            device.shared, "--json",
        ]
    }

    private func passphrase(_ text: String, _ person: CommandPerson) throws -> String {
        let path = person.home + "/passphrase-\(text.count)"
        try FileManager.default.createDirectory(atPath: person.home, withIntermediateDirectories: true)
        try Data((text + "\nsecond line").utf8).write(to: URL(fileURLWithPath: path))
        return path
    }

    @Test func `a second device joins by a code that an existing one approves`() throws {
        let place = try CommandPlace()
        let alice = try place.person("alice")
        try alice.drop("one", at: alice.library + "/one.jpg")
        try alice.must("sync")
        let phone = CommandPerson(name: "phone", place: place)
        let waiting = try phone.run(["init", "--join", "--wait", "0"] + initArguments(phone))
        #expect(waiting.code == 3, "\(waiting.errors)")
        let error = try #require(try JSONText.parse(waiting.errors).object?["error"]?.object)
        let code = try #require(error["message"]?.text?.split(separator: " ").last?.dropLast())
        #expect(try alice.run(["device", "approve", "0000-0000-0000-0000"]).code == 10)
        #expect(try alice.run(["device", "approve", "nonsense"]).code == 64)
        let approved = try alice.must("device", "approve", String(code).lowercased())
        #expect(approved.output.contains("belongs to the account"))
        let joined = try phone.run(["init", "--join", "--wait", "20"] + initArguments(phone))
        #expect(joined.code == 0, "\(joined.errors)")
        #expect(!FileManager.default.fileExists(atPath: phone.home + "/state/shoebox/alice/pending"))
        let first = try alice.must("account", "show", "--json").json
        let second = try phone.must("account", "show", "--json").json
        #expect(first["id"] == second["id"] && first["replica"] != second["replica"])
        try phone.must("sync")
        #expect(phone.text(phone.library + "/one.jpg") == "one")
        try phone.drop("two", at: phone.library + "/two.jpg")
        try phone.must("sync")
        try alice.must("sync")
        #expect(alice.text(alice.library + "/two.jpg") == "two")
        let devices = try alice.must("device", "list", "--json").json["devices"]?.array ?? []
        #expect(devices.count == 2)
        #expect(devices.contains { $0.object?["isThis"] == .bool(false) && $0.object?["lastSeen"]?.text != nil })
    }

    @Test func `a device that waits to be let in makes no account, and one that nobody let in has not joined`() throws {
        let place = try CommandPlace()
        let alice = try place.person("alice")
        try alice.must("sync")
        let phone = CommandPerson(name: "phone", place: place)
        let join = ["init", "--join", "--wait", "0"] + initArguments(phone)
        let plain = ["init"] + initArguments(phone)
        #expect(try phone.run(join).code == 3)
        let refused = try phone.run(plain)
        #expect(refused.code == 1 && refused.errors.contains("--join"), "\(refused.errors)")
        let cloud = place.path + "/cloud"
        try FileManager.default.moveItem(atPath: cloud, toPath: cloud + ".away")
        try FileManager.default.createDirectory(atPath: cloud, withIntermediateDirectories: false)
        #expect(try phone.run(plain).code == 1)
        #expect(try FileManager.default.contentsOfDirectory(atPath: cloud).isEmpty, "no container is made there")
        try FileManager.default.removeItem(atPath: cloud)
        try FileManager.default.moveItem(atPath: cloud + ".away", toPath: cloud)
        let state = phone.home + "/state/shoebox/alice"
        try FileManager.default.removeItem(atPath: state + "/pending")
        #expect(try phone.run(plain).code == 0)
        #expect(try phone.run(plain).code == 0, "again is fine")
        let unjoined = try phone.run(join)
        #expect(unjoined.code == 1 && unjoined.errors.contains("--take-over"), "\(unjoined.errors)")
        try FileManager.default.moveItem(atPath: state, toPath: state + ".away")
        let waiting = try phone.run(join + ["--take-over"])
        #expect(waiting.code == 3, "\(waiting.errors)")
        let error = try #require(try JSONText.parse(waiting.errors).object?["error"]?.object)
        let code = try #require(error["message"]?.text?.split(separator: " ").last?.dropLast())
        try alice.must("device", "approve", String(code))
        #expect(try phone.run(join + ["--take-over"]).code == 0)
        #expect(try phone.run(join).code == 0, "again is fine")
        let first = try alice.must("account", "show", "--json").json
        #expect(try phone.must("account", "show", "--json").json["id"] == first["id"])
    }

    @Test func `nobody's code is approved for an account that it did not ask for`() throws {
        let place = try CommandPlace()
        let alice = try place.person("alice")
        let phone = CommandPerson(name: "phone", place: place)
        let waiting = try phone.run(["init", "--join", "--wait", "0"] + initArguments(phone, account: "bob"))
        let error = try #require(try JSONText.parse(waiting.errors).object?["error"]?.object)
        let code = try #require(error["message"]?.text?.split(separator: " ").last?.dropLast())
        let refused = try alice.run(["device", "approve", String(code)])
        #expect(refused.code == 12 && refused.errors.contains("'bob'"))
    }

    @Test func `a device over folders that another one serves is refused before it asks to be admitted`() throws {
        let place = try CommandPlace()
        let alice = try place.person("alice")
        try alice.must("sync")
        let again = CommandPerson(name: "again", place: place)
        let arguments = [
            "--account", "alice", "--container", alice.container, "--library", alice.library, "--shared", again.shared,
        ]
        for words in [["init", "--join", "--wait", "0"], ["init"]] {
            let refused = try again.run(words + arguments)
            #expect(refused.code == 11, "\(refused.errors)")
            #expect(refused.errors.contains("served by another shoebox already"))
        }
        #expect(try again.run(["init", "--join", "--wait", "0", "--take-over"] + arguments).code == 3)
        #expect(try alice.must("device", "list", "--json").json["devices"]?.array?.count == 1)
    }

    @Test func `joining makes no container where there is none`() throws {
        let place = try CommandPlace()
        let phone = CommandPerson(name: "phone", place: place)
        #expect(try phone.run(["init", "--join", "--wait", "0"] + initArguments(phone)).code != 0)
        #expect(try FileManager.default.contentsOfDirectory(atPath: place.path + "/cloud").isEmpty)
    }

    @Test func `a second device is set up with an exported file, which only its passphrase opens`() throws {
        let place = try CommandPlace()
        let alice = try place.person("alice")
        let good = try passphrase("correct horse battery", alice)
        let short = try passphrase("short", alice)
        #expect(try alice.run(["account", "export", "device", "--passphrase-file", short]).code == 64)
        try alice.must("account", "export", "device", "--passphrase-file", good)
        let again = try alice.run(["account", "export", "device", "--passphrase-file", good])
        #expect(again.code == 1, "an existing file is never replaced")
        let phone = CommandPerson(name: "phone", place: place)
        let bad = try passphrase("another passphrase", phone)
        let file = alice.home + "/device"
        let refused = try phone.run(
            ["account", "import", file, "--passphrase-file", bad] + initArguments(phone))
        #expect(refused.code == 1 && refused.errors.contains("passphrase is wrong"))
        let result = try phone.run(["account", "import", file, "--passphrase-file", good] + initArguments(phone))
        #expect(result.code == 0, "\(result.errors)")
        let first = try alice.must("account", "show", "--json").json
        let second = try phone.must("account", "show", "--json").json
        #expect(first["id"] == second["id"] && first["replica"] != second["replica"])
        // Again changes nothing; what can't be read, or is of another account of that name, is not said to be set up.
        let same = ["account", "import", file, "--passphrase-file", good] + initArguments(phone)
        #expect(try phone.run(same).code == 0)
        #expect(try phone.must("account", "show", "--json").json == second)
        #expect(try phone.run(["account", "import", "nowhere"] + initArguments(phone)).code == 10)
        let namesake = try CommandPlace().person("alice")
        try namesake.must("account", "export", "device", "--passphrase-file", good)
        let wrong = try phone.run(
            ["account", "import", namesake.home + "/device", "--passphrase-file", good] + initArguments(phone))
        #expect(wrong.code == 1 && wrong.errors.contains("holds the keys of another account"), "\(wrong.errors)")
        try alice.drop("one", at: alice.library + "/one.jpg")
        try alice.must("sync")
        try phone.must("sync")
        #expect(phone.text(phone.library + "/one.jpg") == "one")
        // A device's own key file is no export.
        let other = CommandPerson(name: "other", place: place)
        let own = alice.home + "/state/shoebox/alice/identity"
        #expect(try other.run(["init", "--import", own] + initArguments(other)).code == 1)
    }

    @Test
    func `the recovery file is asked for until it is exported, then restores the account and retires the lost device`()
        throws
    {
        let place = try CommandPlace()
        let alice = try place.person("alice")
        try alice.drop("one", at: alice.library + "/one.jpg")
        try alice.must("sync")
        #expect(try alice.status()["recoveryFile"]?.text != nil)
        #expect(try alice.must("status").output.contains("account export --recovery"))
        let good = try passphrase("correct horse battery", alice)
        try alice.must("account", "export", "--recovery", "safe", "--passphrase-file", good)
        #expect(try alice.status()["recoveryFile"]?.text == nil)
        #expect(try alice.run(["account", "export", "--recovery", "more", "--passphrase-file", good]).code == 10)
        let fresh = CommandPerson(name: "fresh", place: place)
        let restored = try fresh.run(
            ["account", "import", alice.home + "/safe", "--passphrase-file", good] + initArguments(fresh))
        #expect(restored.code == 0, "\(restored.errors)")
        try fresh.must("sync")
        #expect(fresh.text(fresh.library + "/one.jpg") == "one")
        let devices = try fresh.must("device", "list", "--json").json["devices"]?.array ?? []
        let lost = try #require(devices.first { $0.object?["isThis"] == .bool(false) }?.object?["id"]?.text)
        try fresh.must("device", "retire", lost, "--recovery", alice.home + "/safe", "--passphrase-file", good)
        let result = try alice.run(["sync", "--json"])
        #expect(result.code == 3)
        #expect(
            result.json["problems"]?.array?.contains { $0.object?["code"]?.text == "deviceRetired" } == true,
            "\(result.output)")
        #expect(alice.text(alice.library + "/one.jpg") == "one", "files stay as they are")
    }
}
