public import ShoeboxModel

/// `.tags/<name>.json`: one tag, `"format": "shoebox.tag/1"`.
public struct TagFile: Hashable, Sendable {
    /// The value of `format`.
    public static let format = "shoebox.tag/1"
    /// The longest tag file that is read.
    public static let bytesMax = 65_536

    /// The tag's record; a hint, as in a sidecar.
    public var record: RecordName?
    /// The tag's name, as people write it.
    public var name: String
    /// Keys that the format doesn't know.
    public var unknown: JSONObject

    /// A tag from its parts.
    public init(record: RecordName?, name: String, unknown: JSONObject = [:]) {
        self.record = record
        self.name = name
        self.unknown = unknown
    }

    /// The file.
    public func encoded() -> [UInt8] {
        var members = unknown.members.filter { !["format", "record", "name"].contains($0.key) }
        members.append(.init("name", .string(name)))
        if let record { members.append(.init("record", .string(record.description))) }
        return encodeDocument(format: Self.format, members)
    }

    /// The tag that a file holds; nil for another program's file, a newer version's, or one that can't be read.
    public init?(_ bytes: [UInt8]) {
        guard bytes.count <= Self.bytesMax, let object = try? JSONText.parse(bytes).object,
            object["format"]?.text == Self.format, let name = object["name"]?.text, !name.isEmpty
        else { return nil }
        self.init(
            record: object["record"]?.text.flatMap { RecordName(text: $0) }.flatMap { $0.isUsable ? $0 : nil },
            name: name,
            unknown: JSONObject(object.members.filter { !["format", "record", "name"].contains($0.key) }))
    }

    /// Where a tag of this name is stored: `.tags/Lake.json`.
    ///
    /// `/`, `%`, control characters and a dot at the start are written as `%2F`; what is too long is cut and ends in a
    /// part of its hash. The name inside the file is what counts.
    public static func path(forTag name: String) -> RelativePath {
        var bytes: [UInt8] = []
        for (index, byte) in name.utf8.enumerated() {
            let isPlain = byte >= 0x20 && byte != 0x7F && byte != UInt8(ascii: "/") && byte != UInt8(ascii: "%")
            if isPlain, index > 0 || byte != UInt8(ascii: ".") {
                bytes.append(byte)
            } else {
                bytes += "%\(encodeHex([byte]).uppercased())".utf8
            }
        }
        if bytes.isEmpty { bytes = Array("%".utf8) }
        if bytes.count > 250 {
            let hash = ContentHasher.hash(Array(name.utf8)).description.prefix(16)
            // Cut between characters, so that the name stays valid UTF-8.
            var room = 232
            while room > 0, bytes[room] & 0xC0 == 0x80 { room -= 1 }
            bytes = Array(bytes.prefix(room)) + Array("-\(hash)".utf8)
        }
        let file = FileName(bytes: bytes + Array(".json".utf8))
        return OwnPaths.tags.appending(file ?? StaticNames.tags)
    }
}
