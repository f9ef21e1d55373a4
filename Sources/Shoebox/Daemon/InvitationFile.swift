import ShoeboxModel

/// A small text file with a link in it, to be sent to whom one invites.
public enum InvitationFile {
    private static let bytesMax = 65_536

    /// Writes the file; one that is there is never replaced.
    public static func write(_ link: String, title: String, to file: AbsolutePath) throws {
        let shown = title.filter { !$0.isNewline }
        let text = """
            An invitation to the photos '\(shown)', made by shoebox.
            Accept it with: shoebox accept FILE

            \(link)

            """
        try LocalFile.create(file, with: Array(text.utf8))
    }

    /// Whether a file is one by its name: `….shoebox-invitation`.
    static func isNamed(_ name: FileName) -> Bool { name.bytes.suffix(19).elementsEqual(".shoebox-invitation".utf8) }

    /// The link in a file's bytes; nil if there is none.
    static func link(in bytes: [UInt8]) -> String? {
        let lines = String(decoding: bytes.prefix(bytesMax), as: UTF8.self).split { $0.isNewline || $0 == "\0" }
        return lines.first { $0.drop { $0.isWhitespace }.hasPrefix("shoebox://") }.map(String.init)
    }

    /// The link in a file; nil if there is no such file.
    ///
    /// - Throws: `RequestError` if the file holds no link.
    public static func read(_ file: AbsolutePath) throws -> String? {
        guard let bytes = try LocalFile.read(file, maxBytes: bytesMax) else { return nil }
        guard let link = link(in: bytes) else {
            throw RequestError(
                64, "\(file) holds no link to a share.", "Use the file, or the link, that you were sent.")
        }
        return link
    }
}
