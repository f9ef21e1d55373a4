import Shoebox
import ShoeboxCloud
import ShoeboxLibrary
import ShoeboxModel
import ShoeboxPlanning
import ShoeboxStore
import ShoeboxTestSupport
import ShoeboxWorld
import Testing

/// Sidecars that can't be read: the last good values stay, the file is left alone, everything else goes on.
@Suite struct BadInputSidecarTests {
    enum Broken: String, CaseIterable {
        case cut, empty, binary, tagsNoList, ratingText, tagsOfNumbers, large, deep, notUTF8, noFormat, newer

        var bytes: [UInt8] {
            let head = #"{"format": "shoebox.sidecar/1""#
            switch self {
            case .cut: return Array((head + #", "tags": ["Be"#).utf8)
            case .empty: return []
            case .binary: return (0..<400).map { UInt8(truncatingIfNeeded: $0 &* 37) }
            case .tagsNoList: return Array((head + #", "tags": "Beach"}"#).utf8)
            case .ratingText: return Array((head + #", "rating": "five"}"#).utf8)
            case .tagsOfNumbers: return Array((head + #", "tags": [1, {"a": null}]}"#).utf8)
            case .large: return Array((head + #", "caption": ""# + String(repeating: "x", count: 2 << 20) + "\"}").utf8)
            case .deep:
                return Array(
                    (head + ", \"x\": " + String(repeating: "[", count: 5_000) + String(repeating: "]", count: 5_000)
                        + "}").utf8)
            case .notUTF8: return Array((head + #", "caption": ""#).utf8) + [0xff, 0xfe] + Array("\"}".utf8)
            case .noFormat: return Array(#"{"tags": []}"#.utf8)
            case .newer: return Array(#"{"format": "shoebox.sidecar/9", "tags": {"Beach": 1}}"#.utf8)
            }
        }
    }

    @Test func `a sidecar in the place of a folder that was put there in its stead is the photo's again`() throws {
        let party = try Party(bob: "readWrite")
        let (alice, village, disk) = (party.alice, party.village, party.alice.machine.library)
        try #require(alice.request(.caption(path: alice.path("Private/c.jpg"), text: "twelve")).code == 0)
        try #require(try village.settle())
        let text = String(decoding: try disk.read("Private/c.jpg.json"), as: UTF8.self)
        try disk.delete("Private/c.jpg.json")
        try disk.makeDirectories(try #require(RelativePath("Private/c.jpg.json")))
        try village.pass(2)
        try disk.move("Private/c.jpg", to: "Summer/c.jpg")
        try disk.move("Private/c.jpg.json", to: "Summer/c.jpg.json")
        try #require(try village.settle())
        try disk.delete("Summer/c.jpg.json")
        try disk.write("Summer/c.jpg.json", text.replacing("twelve", with: "thirteen"))
        try #require(try village.settleDeletions())
        for (replica, path, root) in [
            (alice, "Summer/c.jpg", RootKind.library), (party.bob, "alice/Summer/c.jpg", .shared),
        ] {
            // Where the folder was shown, the sidecar had to have another name, and keeps it.
            let disk = root == .library ? replica.machine.library : replica.machine.shared
            let written = [".json", ".shoebox.json"].compactMap { try? disk.text(path + $0) }
            #expect(
                written.count == 1 && written.allSatisfy { $0.contains("thirteen") }, "\(replica.label): \(written)")
            #expect(replica.tree(root)[path + ".json"] == nil, "\(replica.label): \(replica.tree(root))")
            #expect(
                disk.entries().filter { "\($0.key)".hasSuffix("c.jpg.json") && $0.value.kind == .directory }.isEmpty,
                "\(replica.label)")
        }
    }

    @Test(arguments: Broken.allCases)
    func `a sidecar that cannot be read is reported and left alone`(broken: Broken) throws {
        let party = try Party(bob: "readOnly")
        let alice = party.alice
        #expect(alice.request(.tag(path: alice.path("Summer/a.jpg"), titles: ["Beach"], isMember: true)).code == 0)
        try #require(try party.village.settle())
        let good = try alice.machine.library.read("Summer/a.jpg.json")
        let path = try #require(RelativePath("Summer/a.jpg.json"))
        try alice.machine.library.write(path, bytes: broken.bytes)
        try alice.machine.library.write("Summer/later.jpg", "later")
        try party.village.pass(8)
        party.expectNamed(broken == .newer ? "sidecarNewer" : "sidecarBroken", by: [alice])
        #expect(alice.problems.allSatisfy { $0.path == "library/Summer/a.jpg.json" }, "\(alice.problems)")
        #expect(try alice.machine.library.read(path) == broken.bytes)
        let hers = party.carol.machine.shared
        #expect(party.carol.sidecar("alice/Summer/a.jpg", .shared)?.fields.tags == ["Beach"])
        #expect(!hers.tree().values.contains(broken.bytes))
        party.expectShown(Party.content.merging(["later.jpg": "later"]) { $1 })
        // What comes in for that photo meanwhile is not lost, and does not overwrite the file.
        #expect(
            party.carol.request(.caption(path: party.carol.path("alice/Summer/a.jpg", .shared), text: "Hi")).code == 0)
        try party.village.pass(8)
        #expect(try alice.machine.library.read(path) == broken.bytes)
        try alice.machine.library.write(path, bytes: good)
        try party.village.pass(10)
        #expect(alice.problems.isEmpty, "\(alice.problems)")
        #expect(alice.sidecar("Summer/a.jpg", .library)?.fields.caption == "Hi")
        #expect(alice.sidecar("Summer/a.jpg", .library)?.fields.tags == ["Beach"])
        #expect(party.carol.sidecar("alice/Summer/a.jpg", .shared)?.fields.tags == ["Beach"])
    }

    @Test(arguments: [true, false])
    func `a sidecar that is deleted is written anew, broken or whole`(isBroken: Bool) throws {
        let party = try Party(bob: "readOnly")
        let alice = party.alice
        #expect(alice.request(.tag(path: alice.path("Summer/a.jpg"), titles: ["Beach"], isMember: true)).code == 0)
        try #require(try party.village.settle())
        let path = try #require(RelativePath("Summer/a.jpg.json"))
        if isBroken {
            try alice.machine.library.write(path, bytes: Array("{".utf8))
            try party.village.pass(8)
            #expect(!alice.problems.isEmpty)
        }
        try alice.machine.library.files.removeFile(path)
        try party.village.pass(8)
        #expect(alice.sidecar("Summer/a.jpg", .library)?.fields.tags == ["Beach"])
        #expect(party.carol.sidecar("alice/Summer/a.jpg", .shared)?.fields.tags == ["Beach"])
        #expect(alice.problems.isEmpty, "\(alice.problems)")
        // One that goes with its photo stays away.
        try alice.machine.library.files.removeFile(path)
        try alice.machine.library.files.removeFile(try #require(RelativePath("Summer/a.jpg")))
        try #require(try party.village.settle())
        #expect(alice.sidecar("Summer/a.jpg", .library) == nil)
    }

    @Test func `another program's file under a sidecar's name stays, and travels as a file`() throws {
        let party = try Party(bob: "readOnly")
        let takeout = #"{"title": "a.jpg", "photoTakenTime": {"timestamp": "1"}, "geoData": {"latitude": 0.0}}"#
        try party.alice.machine.library.write("Summer/a.jpg.json", takeout)
        try party.village.pass(8)
        #expect(
            party.alice.request(.tag(path: party.alice.path("Summer/a.jpg"), titles: ["Beach"], isMember: true)).code
                == 0)
        try #require(try party.village.settle())
        #expect(try party.alice.machine.library.text("Summer/a.jpg.json") == takeout)
        #expect(try party.carol.machine.shared.text("alice/Summer/a.jpg.json") == takeout)
        for (replica, root, path) in [
            (party.alice, RootKind.library, "Summer/a.jpg.shoebox"),
            (party.carol, RootKind.shared, "alice/Summer/a.jpg.shoebox"),
        ] {
            #expect(replica.sidecar(path, root)?.fields.tags == ["Beach"], "\(replica.label)")
        }
        #expect(party.alice.problems.isEmpty, "\(party.alice.problems)")
    }

    @Test func `keys that are not known survive edits from both sides`() throws {
        let party = try Party(bob: "readOnly")
        let alice = party.alice
        #expect(alice.request(.caption(path: alice.path("Summer/a.jpg"), text: "Hi")).code == 0)
        try #require(try party.village.settle())
        let text = try alice.machine.library.text("Summer/a.jpg.json")
        let end = try #require(text.lastIndex(of: "}"))
        try alice.machine.library.write(
            "Summer/a.jpg.json",
            text[..<end].trimmingSuffix(while: \.isWhitespace) + #", "zoo": {"big": 12345678901234567890}}"# + "\n")
        try party.village.pass(6)
        #expect(
            party.carol.request(
                .tag(path: party.carol.path("alice/Summer/a.jpg", .shared), titles: ["Lake"], isMember: true)
            ).code == 0)
        try #require(try party.village.settle())
        #expect(alice.sidecar("Summer/a.jpg", .library)?.fields.tags == ["Lake"])
        #expect(try alice.machine.library.text("Summer/a.jpg.json").contains("12345678901234567890"))
        #expect(alice.problems.isEmpty, "\(alice.problems)")
    }

    @Test(arguments: ["Beach/../../x", "", "\u{0}", String(repeating: "long", count: 400), "..", "a\nb"])
    func `a tag of any name in a sidecar harms nothing`(title: String) throws {
        let party = try Party(bob: "readOnly")
        let document = SidecarDocument(fields: SidecarFields(tags: [title, "Beach"]))
        let path = try #require(RelativePath("Summer/a.jpg.json"))
        try party.alice.machine.library.write(path, bytes: document.encoded())
        try party.village.pass(10)
        party.expectShown()
        #expect(party.carol.sidecar("alice/Summer/a.jpg", .shared)?.fields.tags?.contains("Beach") == true)
        for path in party.carol.tree(.shared, sidecars: true).keys {
            #expect(!path.split(separator: "/").contains(".."))
        }
    }
}

extension Substring {
    /// Without the characters at the end for which this holds.
    func trimmingSuffix(while isDropped: (Character) -> Bool) -> String {
        var result = self
        while let last = result.last, isDropped(last) { result.removeLast() }
        return String(result)
    }
}
