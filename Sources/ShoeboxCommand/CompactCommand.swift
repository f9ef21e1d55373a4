import ArgumentParser
import Shoebox

struct CompactCommand: ToolCommand {
    static let configuration = CommandConfiguration(
        commandName: "compact",
        abstract: "Fold what makes no difference any more out of what this device has published.",
        discussion: """
            Example:
              shoebox compact

            It is done by itself when it pays; see "compaction" in the configuration. Nobody sees another state than before.
            What was folded is removed from the cloud folder an hour later, as others may still be reading it.
            """)

    @OptionGroup var common: CommonOptions

    func execute(_ output: Output) throws -> Int32 {
        output.print(try RequestClient(try installation()).submit(.compact))
    }
}
