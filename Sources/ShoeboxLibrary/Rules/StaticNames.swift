public import ShoeboxModel

/// The names that this module gives to files and directories of its own.
enum StaticNames {
    static let shoebox = name(".shoebox")
    static let rootMarker = name("root.json")
    static let rootToken = name("token.json")
    static let temporary = name("tmp")
    static let trash = name("trash")
    static let tags = name(".tags")

    /// A name that is written out in the source and known to be valid.
    private static func name(_ text: StaticString) -> FileName {
        let bytes = text.withUTF8Buffer { Array($0) }
        guard let name = FileName(bytes: bytes) else { preconditionFailure("not a file name: \(text)") }
        return name
    }
}

/// The places of what Shoebox keeps in a watched root.
public enum OwnPaths {
    /// `.shoebox`.
    public static let directory = RelativePath([StaticNames.shoebox])
    /// `.shoebox/root.json`.
    public static let rootMarker = directory.appending(StaticNames.rootMarker)
    /// `.shoebox/token.json`.
    public static let rootToken = directory.appending(StaticNames.rootToken)
    /// `.shoebox/tmp`.
    public static let temporary = directory.appending(StaticNames.temporary)
    /// `.shoebox/trash`.
    public static let trash = directory.appending(StaticNames.trash)
    /// `.tags`.
    public static let tags = RelativePath([StaticNames.tags])
}
