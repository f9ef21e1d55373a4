import ArgumentParser
import Shoebox
import ShoeboxModel

struct HistoryCommand: ToolCommand {
    static let configuration = CommandConfiguration(
        commandName: "history",
        abstract: "List what changed, who changed it, and what brought it.",
        discussion: """
            Example:
              shoebox history --since 120 --json

            The token at the end is where to read on from the next time. 'shoebox undo' takes a transaction back. Of a long
            history the newest are listed; with --since 0 it is read from its beginning, some at a time.
            """)

    /// What says nothing to a person: how a record proves whose it is, and what the line above says already.
    private static let hidden: Set<String> = ["origin", "photo", "tag"]

    private static func shown(_ key: String, _ value: String) -> String {
        guard key == "modified", let nanoseconds = Int64(value), nanoseconds > 0 else { return short(value) }
        return StatusText.local(UInt64(nanoseconds / 1_000_000))
    }

    private static func short(_ text: String) -> String {
        let line = text.split(whereSeparator: \.isNewline).joined(separator: " ")
        return line.count > 60 ? line.prefix(59) + "…" : line
    }

    @Option(help: ArgumentHelp("Only what came after this token.", valueName: "token")) var since: Int64?
    @OptionGroup var common: CommonOptions

    func execute(_ output: Output) throws -> Int32 {
        let (entries, token, isCut) = try TreeListing(try installation()).history(after: since)
        var lines: [String] = []
        if !common.json {
            for entry in entries {
                lines.append("\(entry.token)  \(StatusText.local(entry.timeMilliseconds))  \(entry.source)")
                for item in entry.items {
                    lines.append(
                        "    \(item.action) \(item.type) \(item.subject) by \(item.account) at "
                            + StatusText.local(item.writtenMilliseconds)
                            + (item.standing == "accepted" ? "" : ", \(item.standing)"))
                    for (key, value) in item.fields where !Self.hidden.contains(key) {
                        lines.append(
                            "        \(key): "
                                + (item.former[key].map { "'\(Self.shown(key, $0))' → " } ?? "")
                                + "'\(Self.shown(key, value))'")
                    }
                }
            }
            if isCut, since == nil {
                lines.insert("What came before is not listed: 'shoebox history --since 0' begins with it.", at: 0)
            }
            lines.append("token: \(token)")
            if isCut, since != nil { lines.append("There is more: 'shoebox history --since \(token)' goes on.") }
        }
        output.result(
            [
                "token": .integer(token), "isCut": .bool(isCut),
                "transactions": .array(entries.map { .object($0.json) }),
            ], lines: lines)
        return 0
    }
}
