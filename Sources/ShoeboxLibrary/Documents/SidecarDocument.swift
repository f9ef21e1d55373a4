public import ShoeboxModel
public import ShoeboxPlanning

/// The JSON file beside a photo that holds its record's fields, `"format": "shoebox.sidecar/1"`.
///
/// A key that is missing says nothing; `""`, `[]`, a rating of 0 and null say that there is none. Keys that the format
/// doesn't know are kept, their values to the digit. See `Documentation/Format/Sidecar.md`.
public struct SidecarDocument: Hashable, Sendable {
    /// The value of `format`.
    public static let format = "shoebox.sidecar/1"
    /// The longest sidecar that is read.
    public static let bytesMax = 1 << 20

    /// The record that the photo had when this was written: a hint, honoured only if nothing live holds the name.
    public var record: RecordName?
    /// Names the state that this was written from; nil if none is known.
    public var rev: String?
    /// Caption, tags, rating and the user's fields.
    public var fields: SidecarFields
    /// Keys at the top that the format doesn't know, in the file's order.
    public var unknown: JSONObject

    /// A sidecar from its parts.
    public init(
        record: RecordName? = nil, rev: String? = nil, fields: SidecarFields = SidecarFields(),
        unknown: JSONObject = [:]
    ) {
        self.record = record
        self.rev = rev
        self.fields = fields
        self.unknown = unknown
    }

    static let knownKeys: Set<String> = ["format", "record", "rev", "caption", "tags", "rating", "fields"]

    /// The file: keys sorted after `format`, two spaces a level, a newline at the end. Equal documents give equal bytes.
    public func encoded() -> [UInt8] {
        var members: [JSONObject.Member] = unknown.members.filter { !Self.knownKeys.contains($0.key) }
        if let record { members.append(.init("record", .string(record.description))) }
        if let rev { members.append(.init("rev", .string(rev))) }
        if let caption = fields.caption { members.append(.init("caption", .string(caption))) }
        if let tags = fields.tags { members.append(.init("tags", .array(tags.map(JSONValue.string)))) }
        if let rating = fields.rating { members.append(.init("rating", .integer(Int64(rating)))) }
        if !fields.custom.isEmpty {
            let custom = fields.custom.sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }
            // What isn't JSON can only be a mistake of the caller's; as text it is at least not lost.
            let values = custom.map { key, text in
                JSONObject.Member(key, (try? JSONText.parse(text)) ?? .string(text))
            }
            members.append(.init("fields", .object(JSONObject(values))))
        }
        return encodeDocument(format: Self.format, members)
    }
}

/// The stable text of one of our JSON files: `format` first, then all other keys sorted by their bytes.
func encodeDocument(format: String, _ members: [JSONObject.Member]) -> [UInt8] {
    let rest = members.sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }.map { member in
        // Sorting inside of values too, so that equal documents are equal files whoever wrote them.
        JSONObject.Member(member.key, sorted(member.value))
    }
    return JSONText.encode(.object(JSONObject([.init("format", .string(format))] + rest)))
}

private func sorted(_ value: JSONValue) -> JSONValue {
    switch value {
    case .array(let elements): .array(elements.map(sorted))
    case .object(let object):
        .object(
            JSONObject(
                object.members.sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }
                    .map { JSONObject.Member($0.key, sorted($0.value)) }))
    case .null, .bool, .number, .string: value
    }
}
