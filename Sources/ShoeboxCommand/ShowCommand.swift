import ArgumentParser
import Shoebox
import ShoeboxModel

struct ShowCommand: ToolCommand {
    static let configuration = CommandConfiguration(
        commandName: "show",
        abstract: "Show everything about one photo, file or folder, and who can see it.",
        discussion: """
            Example:
              shoebox show ~/Pictures/Mine/Lake/IMG_1.jpg
            """)

    @Argument(help: "A file or folder in the library or shared folder.") var path: String
    @OptionGroup var common: CommonOptions

    func execute(_ output: Output) throws -> Int32 {
        let installation = try installation()
        let listing = try TreeListing(installation)
        let shown = try listing.description(of: try installation.reference(path))
        var lines = [shown.entry.line, "record: \(shown.entry.id.name)"]
        lines.append("share: \(shown.entry.share ?? "none")")
        for rating in shown.ratings { lines.append("rated \(rating.value) by \(rating.account)") }
        lines.append(
            "seen by: " + shown.audience.map { "\($0.account) (\($0.permission.rawValue))" }.joined(separator: ", "))
        if shown.pendingChanges > 0 { lines.append("\(shown.pendingChanges) changes are not sent yet") }
        lines += shown.conflicts.map(\.line)
        output.result(shown.json, lines: lines)
        try listing.noteListed(shown.conflicts, of: shown.entry.id)
        return 0
    }
}

extension ConflictDescription {
    /// As a list for people shows it.
    var line: String {
        let place = share.map { " of '\($0)'" } ?? ""
        let subject = path ?? tag.map { "the tag '\($0)'\(place)" } ?? id.name.description
        return "\(subject): \(field) is '\(Self.text(shown, field))', by \(shownAuthor) at "
            + "\(StatusText.local(shownTimeMilliseconds)) (\(shownID)); \(number): \(author) wrote "
            + "'\(Self.text(other, field))' at \(StatusText.local(timeMilliseconds)) (\(otherID))"
            + (field == "content" ? "; \(whereabouts)" : "")
    }

    /// Where the other content is.
    private var whereabouts: String {
        copyPath.map { "that lies beside it, as '\($0)'" }
            ?? "no copy of that lies beside it, as somebody deleted it; 'shoebox restore' with --list has it"
    }

    private static func text(_ value: String, _ field: String) -> String {
        guard field == "modified", let nanoseconds = Int64(value), nanoseconds > 0 else { return value }
        return StatusText.local(UInt64(nanoseconds / 1_000_000))
    }
}
