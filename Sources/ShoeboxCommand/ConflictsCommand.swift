import ArgumentParser
import Shoebox
import ShoeboxModel

struct ConflictsCommand: ToolCommand {
    static let configuration = CommandConfiguration(
        commandName: "conflicts",
        abstract: "List values that two people wrote at once; one shows, the other is kept.",
        discussion: """
            Example:
              shoebox conflicts
            """)

    @OptionGroup var common: CommonOptions

    func execute(_ output: Output) throws -> Int32 {
        let conflicts = try TreeListing(try installation()).conflicts()
        output.result(
            ["conflicts": .array(conflicts.map { .object($0.json) })],
            lines: conflicts.isEmpty ? ["no conflicts"] : conflicts.map(\.line))
        return 0
    }
}
