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

            The token at the end is where to read on from the next time. 'shoebox undo' takes a transaction back.
            """)

    private static func short(_ text: String) -> String {
        let line = text.split(whereSeparator: \.isNewline).joined(separator: " ")
        return line.count > 60 ? line.prefix(59) + "…" : line
    }

    @Option(help: ArgumentHelp("Only what came after this token.", valueName: "token")) var since: Int64 = 0
    @OptionGroup var common: CommonOptions

    func execute(_ output: Output) throws -> Int32 {
        let entries = try TreeListing(try installation()).history(after: since)
        let token = entries.last?.token ?? since
        var lines: [String] = []
        if !common.json {
            for entry in entries {
                lines.append("\(entry.token)  \(StatusText.local(entry.timeMilliseconds))  \(entry.author)")
                for item in entry.items {
                    let name = item.fields.first { $0.key == "name" || $0.key == "title" }?.value
                    lines.append(
                        "    \(item.action) \(item.type) \(name ?? item.record.name.description) by \(item.account) at "
                            + StatusText.local(item.writtenMilliseconds)
                            + (item.standing == "accepted" ? "" : ", \(item.standing)"))
                    for (key, value) in item.fields {
                        lines.append(
                            "        \(key): "
                                + (item.former[key].map { "'\(Self.short($0))' → " } ?? "") + "'\(Self.short(value))'")
                    }
                }
            }
            lines.append("token: \(token)")
        }
        output.result(
            ["token": .integer(token), "transactions": .array(entries.map { .object($0.json) })], lines: lines)
        return 0
    }
}
