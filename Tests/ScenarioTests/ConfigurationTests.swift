import Foundation
import Shoebox
import ShoeboxModel
import Testing

struct ConfigurationTests {
    static let environment = ConfigurationEnvironment(
        variables: ["HOME": "/home/ann"], currentDirectory: AbsolutePath.root.appending("work"))
    static let file = AbsolutePath.root.appending("etc/box/config.json")

    static func parse(_ text: String) throws(ConfigurationError) -> Configuration {
        try Configuration.parse(Array(text.utf8), file: file, environment: environment)
    }

    /// A configuration with these members besides the required ones.
    static func parse(with members: String) throws(ConfigurationError) -> Configuration {
        try parse(#"{"account": "ann", "container": "/c", "library": "/l", "shared": "/s", \#(members)}"#)
    }

    static func exampleBytes() throws -> [UInt8] {
        let root = URL(fileURLWithPath: #filePath)
            .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        return try Array(Data(contentsOf: root.appendingPathComponent("config.example.json")))
    }

    @Test func `the example shows every key with its default`() throws {
        let bytes = try Self.exampleBytes()
        let example = try Configuration.parse(bytes, file: Self.file, environment: Self.environment)
        let plain = Configuration(
            account: "alice", container: .root.appending("mnt/photos/Shoebox"),
            library: .root.appending("home/ann/Pictures/Shoebox"),
            shared: .root.appending("home/ann/Pictures/Shared with me"),
            state: .root.appending("home/ann/.local/state/shoebox/alice"))
        #expect(example == plain)
        #expect(Self.keys(of: try JSONText.parse(bytes)) == Self.keys(of: plain))
        #expect(Self.keys(of: .object(plain.json)) == Self.keys(of: plain))
        // Laid out as the writer does, so that an edited example gives small differences.
        #expect(JSONText.encode(try JSONText.parse(bytes)) == bytes)
    }

    static func keys(of value: JSONValue) -> Set<String> {
        var result: Set<String> = []
        for member in value.object?.members ?? [] {
            let inner = keys(of: member.value)
            result.formUnion(inner.isEmpty ? [member.key] : Set(inner.map { "\(member.key).\($0)" }))
        }
        return result
    }

    /// The names of all stored properties, those of nested structs after a dot.
    static func keys(of value: Any) -> Set<String> {
        var result: Set<String> = []
        for child in Mirror(reflecting: value).children {
            guard let label = child.label else { continue }
            let isSection = Mirror(reflecting: child.value).displayStyle == .struct
            let isValue = child.value is String || child.value is Int || child.value is AbsolutePath
            result.formUnion(isSection && !isValue ? Set(keys(of: child.value).map { "\(label).\($0)" }) : [label])
        }
        return result
    }

    @Test func `every key that has an effect is read and written`() throws {
        let text = #"""
            {
              "account": "Ann", "container": "/c", "library": "l", "shared": "../s", "state": "~/st", "mode": "open",
              "settleMilliseconds": 1, "pollMilliseconds": {"active": 21, "idle": 22}, "deleteDelayMilliseconds": 2,
              "ignore": ["*.x"], "sidecars": "never", "trash": {"days": 3, "bytesMax": 4},
              "limits": {"massDeletionCount": 5, "massDeletionPercent": 6, "zonesMax": 7, "participantsMax": 8}, "compaction": {"segmentsMin": 9, "segmentsMax": 10, "graceSeconds": 11}, "watcherPath": "/w"
            }
            """#
        let configuration = try Self.parse(text)
        #expect(configuration.account == "Ann")
        #expect(configuration.container.text == "/c")
        #expect(configuration.library.text == "/etc/box/l")
        #expect(configuration.shared.text == "/etc/s")
        #expect(configuration.state.text == "/home/ann/st")
        #expect(configuration.mode == .open)
        #expect(configuration.settleMilliseconds == 1)
        #expect((configuration.pollMilliseconds.active, configuration.pollMilliseconds.idle) == (21, 22))
        #expect(configuration.deleteDelayMilliseconds == 2)
        #expect(configuration.ignore == ["*.x"])
        #expect(configuration.sidecars == .never)
        #expect(configuration.trash.days == 3)
        #expect(configuration.trash.bytesMax == 4)
        #expect(configuration.limits.massDeletionCount == 5)
        #expect(configuration.limits.massDeletionPercent == 6)
        #expect(configuration.limits.zonesMax == 7)
        #expect(configuration.limits.participantsMax == 8)
        #expect(configuration.compaction.segmentsMin == 9 && configuration.compaction.segmentsMax == 10)
        #expect(configuration.compaction.graceSeconds == 11)
        #expect(configuration.watcherPath?.text == "/w")
        for all in [true, false] {
            let written = configuration.encoded(withDefaults: all)
            #expect(
                try Configuration.parse(written, file: Self.file, environment: Self.environment) == configuration)
        }
    }

    @Test func `what is written leaves defaults out`() throws {
        let configuration = try Self.parse(with: #""trash": {"days": 7}"#)
        let written = String(decoding: configuration.encoded(), as: UTF8.self)
        #expect(
            written == """
                {
                  "account": "ann",
                  "container": "/c",
                  "library": "/l",
                  "shared": "/s",
                  "state": "/home/ann/.local/state/shoebox/ann",
                  "trash": {
                    "days": 7
                  }
                }

                """)
    }

    @Test(arguments: [
        (#""libary": "/x""#, "column 72: unknown key \"libary\"", "Did you mean \"library\"?"),
        (#""Ignore": []"#, "column 72: unknown key \"Ignore\"", "Did you mean \"ignore\"?"),
        (#""sidecasr": "never""#, "column 72: unknown key \"sidecasr\"", "Did you mean \"sidecars\"?"),
        (#""zonesMax": 3"#, "column 72: unknown key \"zonesMax\"", "Did you mean \"limits.zonesMax\"?"),
        (#""trash": {"day": 3}"#, "column 82: unknown key \"trash.day\"", "Did you mean \"trash.days\"?"),
        (#""trash": {"ignore": []}"#, "column 82: unknown key \"trash.ignore\"", "Did you mean \"ignore\"?"),
        (#""colour": 1"#, "column 72: unknown key \"colour\"", "Remove it; config.example.json shows every key."),
    ])
    func `an unknown key is refused with a suggestion`(member: String, message: String, remedy: String) {
        Self.expect(member, .unknownKey, message, remedy)
    }

    @Test(arguments: [
        (#""settleMilliseconds": "1""#, "column 94: \"settleMilliseconds\" is a string", "Write a whole number."),
        (#""trash": 30"#, "column 81: \"trash\" is a number", "Write an object in braces {}."),
        (#""ignore": "*.x""#, "column 82: \"ignore\" is a string", "Write a list in brackets []."),
        (
            #""ignore": ["a", 1]"#, "column 88: \"ignore\" has a number in its list",
            "Write text in double quotes there."
        ),
        (#""mode": null"#, "column 80: \"mode\" is null", "Write text in double quotes, or leave the key out."),
        (#""state": true"#, "column 81: \"state\" is true or false", "Write text in double quotes."),
    ])
    func `a value of the wrong type is refused with its place`(member: String, message: String, remedy: String) {
        Self.expect(member, .wrongType, message, remedy)
    }

    @Test(arguments: [
        (#""mode": "opne""#, "\"mode\" can't be \"opne\"", "Did you mean \"open\"? Write one of \"group\", \"open\"."),
        (#""sidecars": "x""#, "\"sidecars\" can't be", "Write one of \"whenNeeded\", \"always\", \"never\"."),
        (#""settleMilliseconds": -1"#, "\"settleMilliseconds\" is out of range", "Write a whole number, 0 to 600000."),
        (#""settleMilliseconds": 0.5"#, "\"settleMilliseconds\" is out of range", "Write a whole number, 0 to 600000."),
        (#""limits": {"zonesMax": 1e30}"#, "\"limits.zonesMax\" is out of range", "Write a whole number, 1 to 10000."),
        (#""trash": {"bytesMax": -1}"#, "\"trash.bytesMax\" is out of range", "Write a whole number, from 0."),
        (#""pollMilliseconds": {"active": 50, "idle": 40}"#, "is less than \"active\"", "Write at least 50."),
        (#""ignore": [""]"#, "pattern 1 of \"ignore\" is empty", "Remove it."),
        (#""state": "~bob/x""#, "names another user's home", "Write the full path; ~/ is your own home."),
        (#""state": "$HOME/x""#, "starts with a variable", "Write the full path, or ~/ for your home."),
        (#""state": """#, "\"state\" is empty", "Write the path of a folder."),
        (
            #""assets": {"policy": "onDemand"}"#, "\"assets.policy\" has no effect",
            "Leave the key out, or at its default."
        ),
        (#""hooks": ["x"]"#, "\"hooks\" has no effect", "Leave the key out, or at its default."),
        (#""masks": {"upload": ["x"]}"#, "\"masks.upload\" has no effect", "Leave the key out, or at its default."),
        (#""web": {"address": ":80"}"#, "\"web.address\" has no effect", "Leave the key out, or at its default."),
    ])
    func `a value that can't be is refused`(member: String, message: String, remedy: String) {
        Self.expect(member, .badValue, message, remedy)
    }

    static func expect(
        _ member: String, _ code: ConfigurationError.Code, _ message: String, _ remedy: String,
        sourceLocation: SourceLocation = #_sourceLocation
    ) {
        let error = #expect(throws: ConfigurationError.self, sourceLocation: sourceLocation) {
            try parse(with: member)
        }
        #expect(error?.code == code, sourceLocation: sourceLocation)
        #expect(error?.position?.line == 1, sourceLocation: sourceLocation)
        #expect(
            error?.description.contains(message) == true, "\(error?.description ?? "")",
            sourceLocation: sourceLocation)
        #expect(error?.remedy == remedy, sourceLocation: sourceLocation)
    }

    @Test func `broken JSON is refused with line and column`() {
        let error = #expect(throws: ConfigurationError.self) {
            try Self.parse("{\n  \"account\": \"ann\"\n  \"library\": 1}")
        }
        #expect(error?.code == .syntax)
        #expect(error?.description == "/etc/box/config.json, line 3, column 3: a comma or } is missing")
        #expect(throws: ConfigurationError.self) { try Self.parse("[]") }
    }

    @Test(arguments: Configuration.requiredKeys)
    func `a missing key is named`(key: String) throws {
        var object: JSONObject = ["account": "a", "container": "/c", "library": "/l", "shared": "/s"]
        object[key] = nil
        let text = String(decoding: JSONText.encode(.object(object)), as: UTF8.self)
        let error = #expect(throws: ConfigurationError.self) { try Self.parse(text) }
        #expect(error?.code == .missingKey)
        #expect(error?.message == "the key \"\(key)\" is missing")
    }

    @Test(arguments: [
        ("/a", "/a/b", "/s", "\"library\" (/a/b) lies inside \"container\" (/a)"),
        ("/a/b", "/a", "/s", "\"container\" (/a/b) lies inside \"library\" (/a)"),
        ("/a", "/l", "/l/x/../s", "\"shared\" (/l/s) lies inside \"library\" (/l)"),
        ("/a", "/a/./", "/s", "is the same folder as"),
        ("/", "/l", "/s", "\"library\" (/l) lies inside \"container\" (/)"),
        (
            "/home/ann", "/l", "/s",
            "\"state\" (/home/ann/.local/state/shoebox/ann) lies inside \"container\" (/home/ann)"
        ),
    ])
    func `a folder inside another is refused`(container: String, library: String, shared: String, message: String) {
        let text =
            #"{"account": "ann", "container": "\#(container)", "library": "\#(library)", "shared": "\#(shared)"}"#
        let error = #expect(throws: ConfigurationError.self) { try Self.parse(text) }
        #expect(error?.code == .overlap)
        #expect(error?.message.contains(message) == true, "\(error?.message ?? "")")
        #expect(error?.position != nil)
    }

    @Test func `folders with a common start of their names are fine`() throws {
        let text = #"{"account": "ann", "container": "/a", "library": "/a b", "shared": "/ab", "state": "/a.b"}"#
        #expect(try Self.parse(text).shared.text == "/ab")
    }

    @Test(arguments: [
        ("", "is empty"), (".ann", "starts with a dot"), ("a/b", "has / in it"), ("a#b", "has # in it"),
        ("a\nb", "has a control character in it"), (" a", "starts or ends with a space"),
        (String(repeating: "é", count: 33), "is longer than 64 bytes"),
    ])
    func `a label that can't be a folder's name is refused`(label: String, reason: String) {
        #expect(Configuration.reasonAgainst(label: label) == reason)
    }

    @Test(arguments: ["ann", "Ann-Marie O'Neil", "アン", "a.b"])
    func `usual labels are taken`(label: String) {
        #expect(Configuration.reasonAgainst(label: label) == nil)
    }

    @Test(
        arguments: [
            ("x.json", ["HOME": "/h", "SHOEBOX_CONFIG": "/e.json"], "/work/x.json"),
            (nil, ["HOME": "/h", "SHOEBOX_CONFIG": "e.json"], "/work/e.json"),
            (nil, ["HOME": "/h", "SHOEBOX_CONFIG": "", "XDG_CONFIG_HOME": "/x"], "/x/shoebox/config.json"),
            (nil, ["HOME": "/h", "XDG_CONFIG_HOME": "relative"], "/h/.config/shoebox/config.json"),
        ] as [(String?, [String: String], String)])
    func `the file is the option's, the environment's, or the usual one`(
        option: String?, variables: [String: String], expected: String
    ) throws {
        let environment = ConfigurationEnvironment(
            variables: variables, currentDirectory: .root.appending("work"))
        #expect(try environment.configurationFile(option: option).text == expected)
    }

    @Test func `without a home there is no usual place`() {
        let environment = ConfigurationEnvironment(variables: [:], currentDirectory: .root)
        #expect(throws: ConfigurationError.self) { try environment.configurationFile(option: nil) }
    }

    @Test func `a saved configuration is loaded again and never replaced`() throws {
        let directory = FileManager.default.temporaryDirectory.appendingPathComponent("shoebox-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: directory) }
        let place = try #require(AbsolutePath(directory.path))
        let file = place.appending("deep/config.json")
        #expect(throws: ConfigurationError.self) {
            try Configuration.load(file, environment: Self.environment)
        }
        var configuration = Configuration(
            account: "ann", container: place.appending("c"), library: place.appending("l"),
            shared: place.appending("s"), state: place.appending("st"))
        try configuration.save(to: file)
        #expect(try Configuration.load(file, environment: Self.environment) == configuration)
        configuration.account = "bob"
        #expect(throws: ConfigurationError.self) { try configuration.save(to: file) }
        #expect(try Configuration.load(file, environment: Self.environment).account == "ann")
        #expect(try FileManager.default.contentsOfDirectory(atPath: file.parent.text) == ["config.json"])

        // The library is reached through a link that leads into the container.
        try FileManager.default.createDirectory(atPath: place.text + "/c/in", withIntermediateDirectories: true)
        try FileManager.default.createSymbolicLink(atPath: place.text + "/l", withDestinationPath: place.text + "/c/in")
        let error = #expect(throws: ConfigurationError.self) {
            try Configuration.load(file, environment: Self.environment)
        }
        #expect(error?.code == .overlap)
    }
}
