import ArgumentParser
import Shoebox

struct InspectCommand: ToolCommand {
    static let configuration = CommandConfiguration(
        commandName: "inspect",
        abstract: "Print any file of the container as JSON, opened with the keys that you have.",
        discussion: """
            Example:
              shoebox inspect /mnt/photos/zones/…/log/…/1-…
            """)

    @Argument(help: "A file of the container.") var file: String
    @OptionGroup var common: CommonOptions

    func execute(_ output: Output) throws -> Int32 {
        let installation = try installation()
        let path = installation.environment.currentDirectory.appending(file)
        output.document(try TreeListing(installation).inspect(path))
        return 0
    }
}
