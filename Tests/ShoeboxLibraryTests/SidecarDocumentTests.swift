import ShoeboxLibrary
import ShoeboxModel
import ShoeboxPlanning
import ShoeboxWorld
import Testing

struct SidecarDocumentTests {
    static let full = """
        {
          "format": "shoebox.sidecar/1",
          "caption": "Am See / früh",
          "fields": {
            "camera": "X100",
            "iso": 1.50
          },
          "rating": 4,
          "record": "01020304-0506-0708-090a-0b0c0d0e0f10",
          "rev": "r1",
          "tags": [
            "Lake",
            "Sommer"
          ],
          "zebra": {
            "a": 1e400,
            "b": [
              null
            ]
          }
        }

        """

    @Test func `a document is written as it was read, byte by byte`() throws {
        guard case .document(let document) = SidecarDocument.read(Array(Self.full.utf8)) else {
            Issue.record("not a document")
            return
        }
        #expect(document.fields.caption == "Am See / früh")
        #expect(document.fields.tags == ["Lake", "Sommer"])
        #expect(document.fields.rating == 4)
        #expect(document.fields.custom == ["camera": "\"X100\"", "iso": "1.50"])
        #expect(document.rev == "r1")
        #expect(document.record?.description == "01020304-0506-0708-090a-0b0c0d0e0f10")
        #expect(String(decoding: document.encoded(), as: UTF8.self) == Self.full)
    }

    @Test func `a missing key says nothing, an empty one that there is none`() {
        let read = SidecarDocument.read(
            Array(#"{"format":"shoebox.sidecar/1","caption":null,"tags":[],"rating":0,"fields":{"a":null}}"#.utf8))
        let expected = SidecarFields(caption: "", tags: [], rating: 0, custom: ["a": "null"])
        #expect(read == .document(SidecarDocument(fields: expected)))
        let empty = SidecarDocument.read(Array(#"{"format":"shoebox.sidecar/1"}"#.utf8))
        #expect(empty == .document(SidecarDocument()))
    }

    @Test(arguments: [
        ("{\"format\":\"shoebox.sidecar/1\",\n \"tags\": [\"a\" \"b\"]}", 2, 15),
        ("{\"format\":\"shoebox.sidecar/1\",\n\n  \"rating\": 9}", 3, 13),
        ("{\"format\":\"shoebox.sidecar/1\",\n\"rating\": 2.5}", 2, 11),
        ("{\"format\":\"shoebox.sidecar/1\",\n\"tags\": [\"é\", 3]}", 2, 15),
        ("{\"format\":\"shoebox.sidecar/1\",\n\"caption\": 3}", 2, 12),
        ("{\"format\":\"shoebox.sidecar/1\",\n\"fields\": []}", 2, 11),
        ("{\"format\":\"shoebox.sidecar/1\",\n\"caption\": \"x", 2, 12),
    ])
    func `what is broken is named by line and column`(text: String, line: Int, column: Int) {
        guard case .broken(let problem) = SidecarDocument.read(Array(text.utf8)) else {
            Issue.record("not broken: \(text)")
            return
        }
        #expect(problem.position?.line == line)
        #expect(problem.position?.column == column)
        #expect(!problem.remedy.isEmpty)
    }

    @Test(arguments: [
        #"{"title": "IMG_1.jpg", "photoTakenTime": {"timestamp": "1"}}"#, "[]", "3", "", "no json at all",
        #"{"format": 7}"#, #"{"format": "other/1"}"#, "{\"title\": \"cut",
    ])
    func `other programs' files are foreign, whole or not`(text: String) {
        #expect(SidecarDocument.read(Array(text.utf8)) == .foreign)
    }

    @Test func `a sidecar of ours that lost its head is broken, with line and column`() {
        guard case .broken(let problem) = SidecarDocument.read(Array("{\n  \"tags\": [".utf8), wasOurs: true) else {
            Issue.record("not broken")
            return
        }
        #expect(problem.position?.line == 2)
        #expect(SidecarDocument.read(Array("{\n  \"tags\": [".utf8)) == .foreign)
    }

    @Test func `a newer version is named`() {
        let text = #"{"format":"shoebox.sidecar/2","caption":7}"#
        #expect(SidecarDocument.read(Array(text.utf8)) == .newer(format: "shoebox.sidecar/2"))
    }

    @Test func `too large and too deep are problems, not crashes`() {
        let head = #"{"format":"shoebox.sidecar/1","x":"#
        let long = head + "\"" + String(repeating: "a", count: SidecarDocument.bytesMax) + "\"}"
        let deep = head + String(repeating: "[", count: 100_000)
        for text in [long, deep] {
            guard case .broken = SidecarDocument.read(Array(text.utf8)) else {
                Issue.record("not broken")
                continue
            }
        }
    }

    @Test(arguments: 0..<300 as Range<UInt64>)
    func `no damage makes reading trap`(seed: UInt64) {
        var random = seed &* 0x9E37_79B9_7F4A_7C15 | 1
        func next(_ bound: Int) -> Int {
            random ^= random << 13
            random ^= random >> 7
            random ^= random << 17
            return Int(random % UInt64(bound))
        }
        var bytes = Array(Self.full.utf8)
        for _ in 0..<next(8) + 1 {
            switch next(3) {
            case 0: bytes[next(bytes.count)] = UInt8(next(256))
            case 1: bytes.removeSubrange(next(bytes.count)...)
            default: bytes.insert(UInt8(next(256)), at: next(bytes.count))
            }
            if bytes.isEmpty { bytes = [0] }
        }
        if case .document(let document) = SidecarDocument.read(bytes) {
            #expect(SidecarDocument.read(document.encoded()) == .document(document))
        }
    }
}

struct SidecarNameTests {
    @Test func `a foreign file moves ours to the longer name`() {
        let photo = name("IMG_1.jpg")
        #expect(SidecarName.choose(for: photo) { _ in false } == name("IMG_1.jpg.json"))
        #expect(SidecarName.choose(for: photo) { $0 == name("IMG_1.jpg.json") } == name("IMG_1.jpg.shoebox.json"))
        #expect(SidecarName.choose(for: photo) { _ in true } == nil)
    }

    @Test(
        arguments: [
            ("IMG.jpg.json", ["IMG.jpg"], "IMG.jpg"), ("IMG.jpg.shoebox.json", ["IMG.jpg"], "IMG.jpg"),
            ("a.shoebox.json", ["a.shoebox", "a"], "a.shoebox"), ("IMG.jpg.json", [], nil), (".json", ["x"], nil),
            ("IMG.jpg", ["IMG"], nil),
        ] as [(String, [String], String?)])
    func `a sidecar belongs to the file that exists`(sidecar: String, existing: [String], photo: String?) {
        let found = SidecarName.photo(for: name(sidecar)) { candidate in existing.contains { name($0) == candidate } }
        #expect(found?.text == photo)
    }

    @Test func `a name that leaves no room has no sidecar`() {
        let long = path(String(repeating: "a", count: 253)).names[0]
        #expect(SidecarName.candidates(for: long).isEmpty)
    }
}

struct TagFileTests {
    @Test func `unknown keys survive`() throws {
        let text = #"{"colour":"red","format":"shoebox.tag/1","name":"Lake"}"#
        let tag = try #require(TagFile(Array(text.utf8)))
        #expect(TagFile(tag.encoded()) == tag)
        #expect(tag.unknown["colour"] == "red")
    }

    @Test(arguments: [
        ("Lake", ".tags/Lake.json"), ("a/b", ".tags/a%2Fb.json"), (".hidden", ".tags/%2Ehidden.json"),
        ("50%", ".tags/50%25.json"), ("..", ".tags/%2E..json"), ("", ".tags/%.json"),
    ])
    func `any tag has a file name`(tag: String, expected: String) {
        #expect(TagFile.path(forTag: tag).description == expected)
    }

    @Test func `long tags that start alike have different files`() {
        let long = String(repeating: "é", count: 300)
        let first = TagFile.path(forTag: long + "1")
        let second = TagFile.path(forTag: long + "2")
        #expect(first != second)
        #expect(first.last?.text != nil)
        #expect(first.names.count == 2 && (first.last?.bytes.count ?? 256) <= 255)
    }
}

struct RootMarkerTests {
    static let marker = RootMarker(
        container: "c1", account: AccountID(Digest32(high: 1, low: 2)), replica: ReplicaID(3), scope: .shared,
        host: "nas")

    @Test func `a marker is read as it was written`() throws {
        let directory = try TemporaryDirectory()
        #expect(try RootMarker.read(from: directory.files) == nil)
        try Self.marker.write(to: directory.files)
        #expect(try RootMarker.read(from: directory.files) == Self.marker)
        try Self.marker.write(to: directory.files)
        #expect(directory.tree() == [".shoebox", ".shoebox/root.json"])
    }

    @Test(arguments: ["", "{}", #"{"format":"shoebox.root/9"}"#])
    func `a file that is no marker is an error, not an absence`(text: String) throws {
        let directory = try TemporaryDirectory()
        try directory.makeDirectory(".shoebox")
        try directory.write(text, to: ".shoebox/root.json")
        #expect(throws: FileError.self) { try RootMarker.read(from: directory.files) }
    }
}
