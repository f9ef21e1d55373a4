import ArgumentParser
import Shoebox
import ShoeboxModel

struct ListCommand: ToolCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List photos, files and folders with their tags, as far as they are known.",
        discussion: """
            Example:
              shoebox list ~/Pictures/Mine/Lake

            Without a path: everything in the library and the shared folder.
            """)

    @Argument(help: "A file or folder in the library or shared folder.") var path: String?
    @OptionGroup var common: CommonOptions

    func execute(_ output: Output) throws -> Int32 {
        let installation = try installation()
        let entries = try TreeListing(installation).entries(at: try path.map(installation.reference))
        output.result(["entries": .array(entries.map { .object($0.json) })], lines: entries.map(\.line))
        return 0
    }
}

extension TreeEntry {
    /// As a list for people shows it.
    var line: String {
        guard type != .folder else { return path + "/" + (share.map { "  (\($0))" } ?? "") }
        var parts = [path, StatusText.size(size)]
        if details.rating > 0 { parts.append(String(repeating: "*", count: details.rating)) }
        parts += details.tags.map { "#\($0)" }
        if !details.caption.isEmpty { parts.append("\"\(escapeForDisplay(Array(details.caption.utf8)))\"") }
        return parts.joined(separator: "  ")
    }
}
