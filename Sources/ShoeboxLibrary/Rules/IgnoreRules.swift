public import ShoeboxModel

/// Which names in a watched folder are not the library's business.
///
/// A pattern is compared with the name, byte by byte; one with `/` at its end fits directories only, one with `/`
/// elsewhere is compared with the path from the root, component by component. `!` in front takes out of the rules again
/// what an earlier pattern put in; the last that fits decides. What lies in an ignored directory is ignored.
/// `.shoebox` is always ignored. Changing the rules deletes nothing.
public struct IgnoreRules: Hashable, Sendable {
    private struct Rule: Hashable, Sendable {
        var components: [Glob]
        var isNegated: Bool
        var directoriesOnly: Bool
    }

    /// What is ignored unless the configuration says otherwise.
    public static let defaultPatterns: [String] = [
        // Left by file systems and NAS boxes.
        ".nfs*", ".fuse_hidden*", "@eaDir/", "#recycle/", "#snapshot/", ".snapshot/", "lost+found/", ".Trash-*/",
        ".Trashes/", "$RECYCLE.BIN/", "System Volume Information/", ".AppleDouble/", ".Spotlight-V100/",
        ".fseventsd/", ".TemporaryItems/", ".stfolder/", ".stversions/",
        // Left by desktops.
        ".DS_Store", "._*", "Thumbs.db", "thumbs.db", "ehthumbs.db", "desktop.ini", "Desktop.ini", ".directory",
        // Being written or edited.
        "~$*", ".~lock.*", ".#*", ".*.sw?", "*.tmp", ".tmp-*", ".goutputstream-*", ".syncthing.*", "*_exiftool_tmp",
        // Being downloaded.
        "*.part", "*.partial", "*.crdownload", "*.filepart", "*.!ut", "*.aria2", "*.opdownload", "*.download",
    ]

    /// The default rules.
    public static let standard = IgnoreRules(patterns: defaultPatterns)

    /// Names that desktops and NAS boxes make again by themselves; a directory with nothing else in it is empty to a
    /// person.
    static let junk = IgnoreRules(patterns: [
        "@eaDir/", ".DS_Store", "._*", "Thumbs.db", "thumbs.db", "ehthumbs.db", "desktop.ini", "Desktop.ini",
        ".directory",
    ])

    private let rules: [Rule]

    /// Rules from patterns; empty ones and those that start with a space or `# ` say nothing.
    public init(patterns: [String]) {
        rules = patterns.compactMap { pattern in
            var bytes = Array(pattern.utf8)[...]
            guard let first = bytes.first, first != UInt8(ascii: " "), !pattern.hasPrefix("# ") else { return nil }
            let isNegated = first == UInt8(ascii: "!")
            if isNegated { bytes = bytes.dropFirst() }
            let directoriesOnly = bytes.last == UInt8(ascii: "/")
            let components = bytes.split(separator: UInt8(ascii: "/")).map { Glob($0) }
            guard !components.isEmpty else { return nil }
            return Rule(components: components, isNegated: isNegated, directoriesOnly: directoriesOnly)
        }
    }

    /// The name of the directory that holds the marker, temporary files and the trash of a watched root.
    public static let ownDirectory: FileName = StaticNames.shoebox

    /// Whether an entry is ignored, itself or because of a directory that it is in. The root never is.
    public func ignores(_ path: RelativePath, isDirectory: Bool) -> Bool {
        guard !path.isRoot else { return false }
        if path.names.contains(StaticNames.shoebox) { return true }
        for count in 1...path.names.count {
            let isLast = count == path.names.count
            if ignoresItself(path.names.prefix(count), isDirectory: !isLast || isDirectory) { return true }
        }
        return false
    }

    private func ignoresItself(_ names: ArraySlice<FileName>, isDirectory: Bool) -> Bool {
        guard let last = names.last else { return false }
        for rule in rules.reversed() where isDirectory || !rule.directoriesOnly {
            let fits =
                switch rule.components.count {
                case 1: rule.components[0].matches(last.bytes)
                case names.count: zip(rule.components, names).allSatisfy { $0.matches($1.bytes) }
                default: false
                }
            if fits { return !rule.isNegated }
        }
        return false
    }
}
