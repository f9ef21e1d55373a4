import ArgumentParser
import Shoebox

struct StatusCommand: ToolCommand {
    static let configuration = CommandConfiguration(
        commandName: "status",
        abstract: "Show how far everything is, and what needs you.",
        discussion: """
            Example:
              shoebox status --json

            Reads the local database only, so it answers also while a mount hangs.
            """)

    @OptionGroup var common: CommonOptions

    func execute(_ output: Output) throws -> Int32 {
        let report = try StatusReport(try installation())
        output.result(report.json, lines: report.lines)
        return 0
    }
}
