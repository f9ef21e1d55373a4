public import ShoeboxModel
internal import ShoeboxPlanning

/// What a file with a sidecar's name turned out to be.
public enum SidecarReading: Hashable, Sendable {
    /// A sidecar of ours.
    case document(SidecarDocument)
    /// JSON of another program's, or no JSON that ever was a sidecar: an ordinary file, to be left alone.
    case foreign
    /// A sidecar of a newer version; `format` is what it says.
    case newer(format: String)
    /// Ours, but it can't be read: the last good values stay, and the file is left alone.
    case broken(SidecarProblem)
}

/// Why a sidecar can't be read.
public struct SidecarProblem: Error, Hashable, Sendable, CustomStringConvertible {
    /// What is wrong, as a clause.
    public var message: String
    /// Where; nil if the file as a whole is meant.
    public var position: JSONPosition?
    /// What to do now, as a sentence.
    public var remedy: String

    /// A problem from its parts.
    public init(message: String, position: JSONPosition? = nil, remedy: String) {
        self.message = message
        self.position = position
        self.remedy = remedy
    }

    /// Place and reason.
    public var description: String { position.map { "\($0): \(message)" } ?? message }
}

extension SidecarDocument {
    /// Reads a file that has a sidecar's name. Never traps, whatever the bytes.
    ///
    /// Broken text counts as ours only if `shoebox.sidecar/` is in it, so that another program's broken JSON is no
    /// problem of ours.
    ///
    /// - Parameter wasOurs: whether the file is known to have been a sidecar of ours, so that whatever can't be read of it
    ///   is broken.
    public static func read(_ bytes: [UInt8], wasOurs: Bool = false) -> SidecarReading {
        guard bytes.count <= bytesMax else {
            guard wasOurs || mentionsFormat(bytes.prefix(65_536)) else { return .foreign }
            return .broken(
                SidecarProblem(
                    message: "it has more than \(bytesMax) bytes",
                    remedy: "Remove what doesn't belong into it, or the whole file: it is written again."))
        }
        let value: JSONValue
        do throws(JSONTextError) {
            value = try JSONText.parse(bytes)
        } catch {
            guard wasOurs || mentionsFormat(bytes[...]) else { return .foreign }
            return .broken(SidecarProblem(message: error.message, position: error.position, remedy: error.remedy))
        }
        guard let object = value.object, let format = object["format"]?.text, format.hasPrefix("shoebox.sidecar/")
        else { return .foreign }
        guard format == Self.format else { return .newer(format: format) }
        do throws(Misfit) {
            return .document(try SidecarDocument(object))
        } catch {
            return .broken(
                SidecarProblem(
                    message: error.message, position: JSONText.position(of: error.path, in: bytes),
                    remedy: error.remedy))
        }
    }

    private static func mentionsFormat(_ bytes: ArraySlice<UInt8>) -> Bool {
        let wanted = Array("shoebox.sidecar/".utf8)
        guard bytes.count >= wanted.count else { return false }
        return (bytes.startIndex...(bytes.endIndex - wanted.count)).contains { start in
            bytes[start] == wanted[0] && bytes[start..<start + wanted.count].elementsEqual(wanted)
        }
    }

    private struct Misfit: Error {
        var path: [JSONStep]
        var message: String
        var remedy: String
    }

    private init(_ object: JSONObject) throws(Misfit) {
        self.init()
        for member in object.members {
            let path = [JSONStep.key(member.key)]
            switch member.key {
            case "format": break
            // Both are only hints: what can't be used is as good as none.
            case "record":
                record = member.value.text.flatMap { RecordName(text: $0) }.flatMap { $0.isUsable ? $0 : nil }
            case "rev": rev = member.value.text
            case "caption":
                fields.caption = try Self.text(member.value, path, "the caption is \(member.value.kind)")
            case "tags": fields.tags = try Self.tags(member.value, path)
            case "rating": fields.rating = try Self.rating(member.value, path)
            case "fields":
                guard let custom = member.value.object else {
                    throw Misfit(
                        path: path, message: "fields is \(member.value.kind)",
                        remedy: "Write it as an object: {\"camera\": \"X100\"}.")
                }
                for field in custom.members {
                    let text = JSONText.encode(field.value, indented: false, sortedKeys: true)
                    fields.custom[field.key] = String(decoding: text, as: UTF8.self)
                }
            default: unknown[member.key] = member.value
            }
        }
    }

    private static func text(_ value: JSONValue, _ path: [JSONStep], _ message: String) throws(Misfit) -> String {
        if value == .null { return "" }
        guard let text = value.text else { throw Misfit(path: path, message: message, remedy: "Put it into quotes.") }
        return text
    }

    private static func tags(_ value: JSONValue, _ path: [JSONStep]) throws(Misfit) -> [String] {
        if value == .null { return [] }
        guard let elements = value.array else {
            throw Misfit(path: path, message: "tags is \(value.kind)", remedy: "Write it as a list: [\"Lake\"].")
        }
        var tags: [String] = []
        for (index, element) in elements.enumerated() {
            guard let tag = element.text else {
                throw Misfit(
                    path: path + [.index(index)], message: "a tag is \(element.kind)", remedy: "Put it into quotes.")
            }
            if !tag.isEmpty, !tags.contains(tag) { tags.append(tag) }
        }
        return tags
    }

    private static func rating(_ value: JSONValue, _ path: [JSONStep]) throws(Misfit) -> Int {
        if value == .null { return 0 }
        guard let rating = value.integer, 0...5 ~= rating else {
            throw Misfit(
                path: path, message: "the rating is not a whole number from 0 to 5",
                remedy: "Write 1 to 5, or 0 for none.")
        }
        return Int(rating)
    }
}

extension RecordName {
    /// Whether this can name a stored record.
    var isUsable: Bool { self != .zoneRoot }
}
