import ShoeboxModel

/// Takes values out of one object of a configuration file, and says where in the file a wrong one is.
struct ConfigurationReader {
    /// The file, for messages.
    let file: AbsolutePath
    /// Its text.
    let bytes: [UInt8]
    /// Where relative paths start, and what `~` stands for.
    let environment: ConfigurationEnvironment
    /// The way to this object.
    let path: [String]
    /// This object.
    let object: JSONObject

    /// Refuses every key that the template doesn't have, with the nearest one that it has, here or elsewhere.
    func refuseUnknownKeys(template: JSONObject, root: JSONObject) throws(ConfigurationError) {
        for key in object.keys where template[key] == nil {
            throw error(
                .unknownKey, key, ofKey: true, "unknown key \"\(name(of: key))\"",
                Self.suggestion(for: key, here: template.keys, prefix: path, root: root))
        }
        for member in template.members {
            guard case .object(let inner) = member.value, object[member.key] != nil else { continue }
            try section(member.key).refuseUnknownKeys(template: inner, root: root)
        }
    }

    /// The object of a key; an empty one if it is absent.
    func section(_ key: String) throws(ConfigurationError) -> ConfigurationReader {
        let value = object[key] ?? .object([:])
        guard let inner = value.object else { throw wrongType(key, value, "an object in braces {}") }
        return ConfigurationReader(
            file: file, bytes: bytes, environment: environment, path: path + [key], object: inner)
    }

    func string(_ key: String) throws(ConfigurationError) -> String? {
        guard let value = object[key] else { return nil }
        guard let text = value.text else { throw wrongType(key, value, "text in double quotes") }
        return text
    }

    func whole(_ key: String, in range: ClosedRange<Int>, default: Int) throws(ConfigurationError) -> Int {
        guard let value = object[key] else { return `default` }
        guard case .number = value else { throw wrongType(key, value, "a whole number") }
        guard let whole = value.integer.flatMap(Int.init(exactly:)), range.contains(whole) else {
            let bounds =
                range.upperBound == .max ? "from \(range.lowerBound)" : "\(range.lowerBound) to \(range.upperBound)"
            throw bad(key, "\"\(name(of: key))\" is out of range", "Write a whole number, \(bounds).")
        }
        return whole
    }

    /// A number or null; nil when absent or null.
    func wholeOrNull(_ key: String, in range: ClosedRange<Int>) throws(ConfigurationError) -> Int? {
        guard let value = object[key], value != .null else { return nil }
        return try whole(key, in: range, default: 0)
    }

    func choice<Choice: RawRepresentable<String> & CaseIterable>(
        _ key: String, default: Choice
    ) throws(ConfigurationError) -> Choice {
        guard let text = try string(key) else { return `default` }
        guard let choice = Choice(rawValue: text) else {
            let all = Choice.allCases.map(\.rawValue)
            let nearest = Self.nearest(to: text, among: all).map { "Did you mean \"\($0)\"? " } ?? ""
            throw bad(
                key, "\"\(name(of: key))\" can't be \"\(text)\"",
                nearest + "Write one of " + all.map { "\"\($0)\"" }.joined(separator: ", ") + ".")
        }
        return choice
    }

    func strings(_ key: String) throws(ConfigurationError) -> [String] {
        guard let value = object[key] else { return [] }
        guard let elements = value.array else { throw wrongType(key, value, "a list in brackets []") }
        var result: [String] = []
        for (index, element) in elements.enumerated() {
            guard let text = element.text else {
                throw ConfigurationError(
                    code: .wrongType, file: file,
                    position: JSONText.position(of: steps(to: key) + [.index(index)], in: bytes),
                    message: "\"\(name(of: key))\" has \(element.kind) in its list",
                    remedy: "Write text in double quotes there.")
            }
            result.append(text)
        }
        return result
    }

    /// A folder or file, `~` and relative paths resolved; nil when absent or, where that is allowed, null.
    func absolutePath(_ key: String, orNull: Bool = false) throws(ConfigurationError) -> AbsolutePath? {
        if orNull, object[key] == .null { return nil }
        guard let text = try string(key) else { return nil }
        switch text {
        case "": throw bad(key, "\"\(name(of: key))\" is empty", "Write the path of a folder.")
        case _ where text.utf8.contains(0): throw bad(key, "\"\(name(of: key))\" has NUL in it", "Write a path.")
        case "~",
            _ where text.hasPrefix("~/"):
            guard let home = environment.home else {
                throw bad(key, "\"\(name(of: key))\" starts with ~, and HOME is not set", "Write the full path.")
            }
            return home.appending(text == "~" ? "." : "./" + text.dropFirst(2))
        case _ where text.hasPrefix("~"):
            throw bad(
                key, "\"\(name(of: key))\" names another user's home", "Write the full path; ~/ is your own home.")
        case _ where text.hasPrefix("$"):
            throw bad(
                key, "\"\(name(of: key))\" starts with a variable, and those are not replaced",
                "Write the full path, or ~/ for your home.")
        default: return file.parent.appending(text)
        }
    }
}

// MARK: - Errors

extension ConfigurationReader {
    /// A key with the sections it is in: `trash.days`.
    func name(of key: String) -> String { (path + [key]).joined(separator: ".") }

    private func steps(to key: String) -> [JSONStep] { (path + [key]).map(JSONStep.key) }

    func error(
        _ code: ConfigurationError.Code, _ key: String, ofKey: Bool = false, _ message: String, _ remedy: String
    ) -> ConfigurationError {
        ConfigurationError(
            code: code, file: file, position: JSONText.position(of: steps(to: key), ofKey: ofKey, in: bytes),
            message: message, remedy: remedy)
    }

    func bad(_ key: String, _ message: String, _ remedy: String) -> ConfigurationError {
        error(.badValue, key, message, remedy)
    }

    private func wrongType(_ key: String, _ value: JSONValue, _ expected: String) -> ConfigurationError {
        error(
            .wrongType, key, "\"\(name(of: key))\" is \(value.kind)",
            value == .null ? "Write \(expected), or leave the key out." : "Write \(expected).")
    }

    /// What to do about an unknown key.
    private static func suggestion(
        for key: String, here: [String], prefix: [String], root: JSONObject
    ) -> String {
        if let near = nearest(to: key, among: here) {
            return "Did you mean \"\((prefix + [near]).joined(separator: "."))\"?"
        }
        // The right key in the wrong place: elsewhere at the top, or in a section.
        var elsewhere: [(key: String, full: String)] = []
        for member in root.members {
            elsewhere.append((member.key, member.key))
            for inner in member.value.object?.keys ?? [] { elsewhere.append((inner, "\(member.key).\(inner)")) }
        }
        if let near = nearest(to: key, among: elsewhere.map(\.key)),
            let full = elsewhere.first(where: { $0.key == near })?.full
        {
            return "Did you mean \"\(full)\"?"
        }
        return "Remove it; config.example.json shows every key."
    }

    /// The candidate that needs the fewest edits, if those are few for the word's length; the first of equals.
    static func nearest(to word: String, among candidates: [String]) -> String? {
        guard word.utf8.count <= 64 else { return nil }
        let lowered = Array(word.lowercased())
        var best: (candidate: String, distance: Int)?
        for candidate in candidates {
            let distance = editDistance(lowered, Array(candidate.lowercased()))
            if distance < best?.distance ?? .max { best = (candidate, distance) }
        }
        guard let best, best.distance <= max(1, min(lowered.count, best.candidate.count) / 3) else { return nil }
        return best.candidate
    }

    /// How many letters must be inserted, removed, replaced or swapped with their neighbour (optimal string alignment).
    static func editDistance(_ left: [Character], _ right: [Character]) -> Int {
        var beforeLast: [Int] = []
        var last = Array(0...right.count)
        for row in 0..<left.count {
            var current = [row + 1]
            for column in 0..<right.count {
                var cost = min(last[column + 1], current[column]) + 1
                cost = min(cost, last[column] + (left[row] == right[column] ? 0 : 1))
                if row > 0, column > 0, left[row] == right[column - 1], left[row - 1] == right[column] {
                    cost = min(cost, beforeLast[column - 1] + 1)
                }
                current.append(cost)
            }
            (beforeLast, last) = (last, current)
        }
        return last[right.count]
    }
}
