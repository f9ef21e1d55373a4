/// The kind of a record. Unknown kinds are kept verbatim.
public struct RecordType: Hashable, Sendable, RawRepresentable, CustomStringConvertible {
    /// The name of the kind.
    public let rawValue: String
    /// A kind by its name.
    public init(rawValue: String) { self.rawValue = rawValue }
    /// The name of the kind.
    public var description: String { rawValue }

    /// A picture or film, by its file's extension.
    public static let photo = RecordType(rawValue: "Photo")
    /// Any other file.
    public static let file = RecordType(rawValue: "File")
    /// A directory: an album.
    public static let folder = RecordType(rawValue: "Folder")
    /// A tag; its field `name` is text.
    public static let tag = RecordType(rawValue: "Tag")
    /// A photo's membership in a tag; its record name is derived from both.
    public static let photoTag = RecordType(rawValue: "PhotoTag")
    /// One account's rating of a photo; its record name is derived from photo and account.
    public static let rating = RecordType(rawValue: "Rating")
    /// A remark on a photo.
    public static let comment = RecordType(rawValue: "Comment")
    /// Where a share, or a photo of a selection, lives in the account's own tree. Only in private zones.
    public static let placement = RecordType(rawValue: "Placement")

    /// Whether records of this kind are files in the tree.
    public var hasContent: Bool { self == .photo || self == .file }
    /// Whether records of this kind have a place in the tree.
    public var hasPlace: Bool { hasContent || self == .folder }
}

/// The name of a field of a record.
public struct FieldKey: Hashable, Comparable, Sendable, RawRepresentable, CustomStringConvertible {
    /// The name.
    public let rawValue: String
    /// A key by its name.
    public init(rawValue: String) { self.rawValue = rawValue }
    /// The name.
    public var description: String { rawValue }
    public static func < (left: Self, right: Self) -> Bool {
        left.rawValue.utf8.lexicographicallyPrecedes(right.rawValue.utf8)
    }

    /// `Value.name`: the last component of the place.
    public static let name = FieldKey(rawValue: "name")
    /// `Value.reference` to a folder, or `.null` for the zone's root.
    public static let parent = FieldKey(rawValue: "parent")
    /// `Value.asset`: the bytes of a Photo or File.
    public static let content = FieldKey(rawValue: "content")
    /// `Value.integer`: the file's modification time, nanoseconds since 1970.
    public static let modified = FieldKey(rawValue: "modified")
    /// `Value.text`.
    public static let caption = FieldKey(rawValue: "caption")
    /// `Value.text`: a tag's name.
    public static let title = FieldKey(rawValue: "title")
    /// `Value.reference`: the photo of a PhotoTag, Rating or Comment.
    public static let photo = FieldKey(rawValue: "photo")
    /// `Value.reference`: the tag of a PhotoTag.
    public static let tag = FieldKey(rawValue: "tag")
    /// `Value.integer` 1…5 or `.null`: a Rating's value.
    public static let value = FieldKey(rawValue: "value")
    /// `Value.boolean`: whether a PhotoTag holds; false after removal.
    public static let member = FieldKey(rawValue: "member")
    /// `Value.bytes`: proves which account made the record; see `isOwnRecord`.
    public static let origin = FieldKey(rawValue: "origin")
    /// `Value.text`: a field that the user added to a sidecar, as JSON text; one key each, `custom.<key>`.
    public static func custom(_ key: String) -> FieldKey { FieldKey(rawValue: "custom." + key) }
    /// The user's key of a `custom` field; nil for others.
    public var customKey: String? { rawValue.hasPrefix("custom.") ? String(rawValue.dropFirst(7)) : nil }
}

/// Where the bytes of a file are in the container, and how to open and check them.
public struct AssetReference: Hashable, Sendable {
    /// SHA-256 of the content.
    public var contentHash: Digest32
    /// Bytes of the content.
    public var size: UInt64
    /// The name below `assets/`, such as `ab/<keyed hash>-<replica>`; nil while the upload is pending. Validated when read.
    public var location: String?
    /// The asset's own random key, 32 bytes; empty in plain zones and while pending.
    public var key: [UInt8]

    /// A reference from its parts.
    public init(contentHash: Digest32, size: UInt64, location: String? = nil, key: [UInt8] = []) {
        self.contentHash = contentHash
        self.size = size
        self.location = location
        self.key = key
    }
}

/// What a field holds.
public enum Value: Hashable, Sendable {
    /// No value: the field was cleared.
    case null
    /// True or false.
    case boolean(Bool)
    /// A whole number.
    case integer(Int64)
    /// A floating-point number.
    case number(Double)
    /// Text, compared by canonical equivalence.
    case text(String)
    /// Any bytes.
    case bytes([UInt8])
    /// A file name, compared by bytes.
    case name(FileName)
    /// Another record of the same zone.
    case reference(RecordName)
    /// A file's bytes.
    case asset(AssetReference)
    /// Several values in order.
    case list([Value])

    /// Whether two values are the same to a person: assets by content, all else by equality.
    public func isSame(as other: Value) -> Bool {
        if case .asset(let left) = self, case .asset(let right) = other { return left.contentHash == right.contentHash }
        return self == other
    }

    /// The name, if this is one.
    public var fileName: FileName? { if case .name(let name) = self { name } else { nil } }
    /// The text, if this is one.
    public var text: String? { if case .text(let text) = self { text } else { nil } }
    /// The record name, if this is a reference.
    public var reference: RecordName? { if case .reference(let name) = self { name } else { nil } }
    /// The asset, if this is one.
    public var asset: AssetReference? { if case .asset(let asset) = self { asset } else { nil } }
    /// The number, if this is a whole one.
    public var integer: Int64? { if case .integer(let number) = self { number } else { nil } }
    /// The truth value, if this is one.
    public var boolean: Bool? { if case .boolean(let flag) = self { flag } else { nil } }
}
