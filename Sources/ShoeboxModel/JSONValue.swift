/// A value of a JSON text.
public enum JSONValue: Hashable, Sendable, ExpressibleByIntegerLiteral, ExpressibleByStringLiteral {
    case null
    case bool(Bool)
    /// A number, its digits as they were written.
    case number(JSONNumber)
    case string(String)
    case array([JSONValue])
    case object(JSONObject)

    /// A whole number.
    public static func integer(_ value: Int64) -> JSONValue { .number(JSONNumber(value)) }

    /// A whole number.
    public init(integerLiteral value: Int64) { self = .integer(value) }
    /// A string.
    public init(stringLiteral value: String) { self = .string(value) }

    /// The text of a string; nil for anything else.
    public var text: String? {
        guard case .string(let text) = self else { return nil }
        return text
    }

    /// The value of a number that is whole and fits; nil for anything else.
    public var integer: Int64? {
        guard case .number(let number) = self else { return nil }
        return number.integer
    }

    /// The value of a number; nil for anything else, and for a number out of range.
    public var double: Double? {
        guard case .number(let number) = self else { return nil }
        return number.double
    }

    /// The value of `true` or `false`; nil for anything else.
    public var bool: Bool? {
        guard case .bool(let value) = self else { return nil }
        return value
    }

    /// The elements of an array; nil for anything else.
    public var array: [JSONValue]? {
        guard case .array(let elements) = self else { return nil }
        return elements
    }

    /// The members of an object; nil for anything else.
    public var object: JSONObject? {
        guard case .object(let object) = self else { return nil }
        return object
    }

    /// What kind of value this is, for messages: `a string`, `null`, `an object`.
    public var kind: String {
        switch self {
        case .null: "null"
        case .bool: "true or false"
        case .number: "a number"
        case .string: "a string"
        case .array: "a list"
        case .object: "an object"
        }
    }
}

/// The members of a JSON object in their order, each key once.
public struct JSONObject: Hashable, Sendable, ExpressibleByDictionaryLiteral {
    /// One key with its value.
    public struct Member: Hashable, Sendable {
        /// The key.
        public var key: String
        /// The value.
        public var value: JSONValue
        /// A member from its parts.
        public init(_ key: String, _ value: JSONValue) {
            self.key = key
            self.value = value
        }
    }

    /// In order.
    public private(set) var members: [Member]

    /// An object without members.
    public init() { members = [] }

    /// An object with these members; of equal keys the last counts, at the first's place.
    public init(_ members: some Sequence<Member>) {
        self.members = []
        // As somebody else's text may have made them, there can be hundreds of thousands.
        var places: [[UInt8]: Int] = [:]
        for member in members {
            let key = Array(member.key.utf8)
            if let place = places[key] {
                self.members[place].value = member.value
            } else {
                places[key] = self.members.count
                self.members.append(member)
            }
        }
    }

    /// An object with these members; of equal keys the last counts, at the first's place.
    public init(dictionaryLiteral elements: (String, JSONValue)...) {
        self.init(elements.map { Member($0.0, $0.1) })
    }

    /// For the parser, which has checked that each key is there once.
    init(unique members: [Member]) { self.members = members }

    /// The keys in order.
    public var keys: [String] { members.map(\.key) }

    /// The value of a key, nil for none. Setting keeps the key's place, or adds it last; setting nil removes it.
    ///
    /// Keys compare by their bytes.
    public subscript(key: String) -> JSONValue? {
        get { members.first { $0.key.utf8.elementsEqual(key.utf8) }?.value }
        set {
            let index = members.firstIndex { $0.key.utf8.elementsEqual(key.utf8) }
            switch (index, newValue) {
            case (let index?, let value?): members[index].value = value
            case (let index?, nil): members.remove(at: index)
            case (nil, let value?): members.append(Member(key, value))
            case (nil, nil): break
            }
        }
    }
}

/// A number of a JSON text, its digits as they were written, so that a number we don't understand survives unchanged.
///
/// Numbers are equal when their texts are: `1` and `1.0` differ.
public struct JSONNumber: Hashable, Sendable, CustomStringConvertible {
    /// As written.
    public let text: String

    /// A number from its text; nil if RFC 8259 doesn't allow it.
    public init?(_ text: String) {
        let bytes = Array(text.utf8)
        guard JSONParser.numberEnd(in: bytes, from: 0) == .success(bytes.count) else { return nil }
        self.text = text
    }

    /// A whole number.
    public init(_ value: Int64) { text = String(value) }

    /// A whole number.
    public init(_ value: UInt64) { text = String(value) }

    /// The shortest text that gives the value back; nil for infinity and what is not a number.
    public init?(_ value: Double) {
        guard value.isFinite else { return nil }
        self.init("\(value)")
    }

    /// For the parser, which has checked the text.
    init(checked text: String) { self.text = text }

    /// The value if it is whole and fits: `3`, and also `3.0` and `3e0`.
    public var integer: Int64? { Int64(text) ?? double.flatMap(Int64.init(exactly:)) }

    /// The nearest value; nil if it is out of range.
    public var double: Double? { Double(text).flatMap { $0.isFinite ? $0 : nil } }

    /// As written.
    public var description: String { text }
}
