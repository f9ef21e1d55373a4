import ShoeboxModel

extension Configuration {
    /// The configuration that a file's text says.
    ///
    /// `~` is the home directory, and other relative paths start at the file's directory. `resolve` gives the path
    /// that a folder has once links are followed, for the check that no folder lies in another one.
    public static func parse(
        _ bytes: [UInt8], file: AbsolutePath, environment: ConfigurationEnvironment,
        resolve: (AbsolutePath) -> AbsolutePath = { $0 }
    ) throws(ConfigurationError) -> Configuration {
        let value: JSONValue
        do {
            value = try JSONText.parse(bytes)
        } catch {
            throw ConfigurationError(
                code: .syntax, file: file, position: error.position, message: error.message, remedy: error.remedy)
        }
        guard let object = value.object else {
            throw ConfigurationError(
                code: .syntax, file: file, position: JSONText.position(of: [], in: bytes),
                message: "the file holds \(value.kind), not an object",
                remedy: "Put the keys into braces {}; config.example.json shows them.")
        }
        let reader = ConfigurationReader(
            file: file, bytes: bytes, environment: environment, path: [], object: object)
        let template = Configuration(account: "", container: .root, library: .root, shared: .root, state: .root).json
        try reader.refuseUnknownKeys(template: template, root: template)
        let configuration = try Configuration(reader)
        try configuration.refuseReserved(reader)
        try configuration.refuseOverlap(reader, resolve)
        return configuration
    }

    private init(_ reader: ConfigurationReader) throws(ConfigurationError) {
        for key in Self.requiredKeys where reader.object[key] == nil {
            throw ConfigurationError(
                code: .missingKey, file: reader.file, message: "the key \"\(key)\" is missing",
                remedy: "Add it, or run 'shoebox init' to write a configuration.")
        }
        let account = try reader.string("account") ?? ""
        if let reason = Self.reasonAgainst(label: account) {
            throw reader.bad("account", "\"account\" \(reason)", "Choose a short name, such as alice.")
        }
        guard let container = try reader.absolutePath("container"), let library = try reader.absolutePath("library"),
            let shared = try reader.absolutePath("shared"),
            let state = try reader.absolutePath("state") ?? reader.environment.state(of: account)
        else {
            throw ConfigurationError(
                code: .noHome, file: reader.file, message: "\"state\" is missing, and HOME is not set",
                remedy: "Add \"state\" with the full path of a directory for the database and the keys.")
        }
        self.init(account: account, container: container, library: library, shared: shared, state: state)
        mode = try reader.choice("mode", default: mode)
        watcherPath = try reader.absolutePath("watcherPath", orNull: true)
        settleMilliseconds = try reader.whole("settleMilliseconds", in: 0...600_000, default: settleMilliseconds)
        deleteDelayMilliseconds = try reader.whole(
            "deleteDelayMilliseconds", in: 0...86_400_000, default: deleteDelayMilliseconds)
        ignore = try reader.strings("ignore")
        if let index = ignore.firstIndex(where: { $0.isEmpty }) {
            throw reader.bad("ignore", "pattern \(index + 1) of \"ignore\" is empty", "Remove it.")
        }
        sidecars = try reader.choice("sidecars", default: sidecars)
        hooks = try reader.strings("hooks")
        try readSections(reader)
    }

    private mutating func readSections(_ reader: ConfigurationReader) throws(ConfigurationError) {
        let poll = try reader.section("pollMilliseconds")
        pollMilliseconds.active = try poll.whole("active", in: 20...3_600_000, default: pollMilliseconds.active)
        pollMilliseconds.idle = try poll.whole(
            "idle", in: 20...86_400_000, default: max(pollMilliseconds.idle, pollMilliseconds.active))
        guard pollMilliseconds.active <= pollMilliseconds.idle else {
            throw poll.bad(
                "idle", "\"pollMilliseconds.idle\" is less than \"active\"",
                "Write at least \(pollMilliseconds.active).")
        }
        let trashReader = try reader.section("trash")
        trash.days = try trashReader.whole("days", in: 1...36_500, default: trash.days)
        trash.bytesMax = try trashReader.wholeOrNull("bytesMax", in: 0...Int.max)
        let limitsReader = try reader.section("limits")
        limits.massDeletionCount = try limitsReader.whole(
            "massDeletionCount", in: 1...Int.max, default: limits.massDeletionCount)
        limits.massDeletionPercent = try limitsReader.whole(
            "massDeletionPercent", in: 0...100, default: limits.massDeletionPercent)
        limits.zonesMax = try limitsReader.whole("zonesMax", in: 1...10_000, default: limits.zonesMax)
        limits.participantsMax = try limitsReader.whole(
            "participantsMax", in: 1...10_000, default: limits.participantsMax)
        let compactionReader = try reader.section("compaction")
        compaction.segmentsMin = try compactionReader.whole(
            "segmentsMin", in: 2...1_000_000, default: compaction.segmentsMin)
        compaction.segmentsMax = try compactionReader.whole(
            "segmentsMax", in: 2...1_000_000, default: max(compaction.segmentsMax, compaction.segmentsMin))
        compaction.graceSeconds = try compactionReader.whole(
            "graceSeconds", in: 0...31_536_000, default: compaction.graceSeconds)
        let assetsReader = try reader.section("assets")
        assets.policy = try assetsReader.choice("policy", default: assets.policy)
        assets.cacheBytesMax = try assetsReader.wholeOrNull("cacheBytesMax", in: 0...Int.max)
        let masksReader = try reader.section("masks")
        masks.upload = try masksReader.strings("upload")
        masks.download = try masksReader.strings("download")
        let webReader = try reader.section("web")
        web.address = webReader.object["address"] == .null ? nil : try webReader.string("address")
    }

    /// Why a label can't be an account's, as a clause that follows the label; nil if it can.
    ///
    /// Others see it as a folder's name and type it with `#` and a fingerprint behind it.
    public static func reasonAgainst(label: String) -> String? {
        if label.isEmpty { return "is empty" }
        if label.utf8.count > 64 { return "is longer than 64 bytes" }
        if label.hasPrefix(".") { return "starts with a dot" }
        if label.first?.isWhitespace == true || label.last?.isWhitespace == true {
            return "starts or ends with a space"
        }
        for scalar in label.unicodeScalars {
            if scalar == "/" || scalar == "#" || scalar == "\\" || scalar == ":" { return "has \(scalar) in it" }
            if scalar.value < 0x20 || 0x7F..<0xA0 ~= scalar.value { return "has a control character in it" }
        }
        return nil
    }

    /// Keys whose meaning is fixed and whose work is not done yet: a value that would be silently without effect is
    /// refused.
    private func refuseReserved(_ reader: ConfigurationReader) throws(ConfigurationError) {
        let plain = defaulted
        let reserved: [(section: String?, key: String, isDefault: Bool)] = [
            ("assets", "policy", assets.policy == plain.assets.policy),
            ("assets", "cacheBytesMax", assets.cacheBytesMax == plain.assets.cacheBytesMax),
            ("masks", "upload", masks.upload == plain.masks.upload),
            ("masks", "download", masks.download == plain.masks.download),
            (nil, "hooks", hooks == plain.hooks),
            ("web", "address", web.address == plain.web.address),
        ]
        for entry in reserved where !entry.isDefault {
            let place = try entry.section.map { section throws(ConfigurationError) in try reader.section(section) }
            throw (place ?? reader).bad(
                entry.key, "\"\((place ?? reader).name(of: entry.key))\" has no effect in this version",
                "Leave the key out, or at its default.")
        }
    }

    /// Refuses folders of which one lies in another: what is in both would be synced into itself, and keys in a
    /// container would be read by everybody.
    private func refuseOverlap(
        _ reader: ConfigurationReader, _ resolve: (AbsolutePath) -> AbsolutePath
    ) throws(ConfigurationError) {
        let folders = [("container", container), ("library", library), ("shared", shared), ("state", state)]
        for (outerKey, outer) in folders {
            for (innerKey, inner) in folders where innerKey != outerKey {
                guard outer.contains(inner) || resolve(outer).contains(resolve(inner)) else { continue }
                let relation = outer == inner ? "is the same folder as" : "lies inside"
                throw reader.error(
                    .overlap, reader.object[innerKey] == nil ? outerKey : innerKey,
                    "\"\(innerKey)\" (\(inner)) \(relation) \"\(outerKey)\" (\(outer))",
                    "Give each of the two a folder of its own, neither inside the other.")
            }
        }
    }
}
