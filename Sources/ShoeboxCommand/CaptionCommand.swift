import ArgumentParser
import Shoebox

struct CaptionCommand: ToolCommand {
    static let configuration = CommandConfiguration(
        commandName: "caption",
        abstract: "Set a photo's caption; an empty one removes it.",
        discussion: """
            Example:
              shoebox caption ~/Pictures/Mine/IMG_1.jpg 'At the lake'
            """)

    @Argument(help: "The photo.") var path: String
    @Argument(help: "The caption.") var text: String
    @OptionGroup var common: CommonOptions

    func execute(_ output: Output) throws -> Int32 {
        let installation = try installation()
        return try submit(.caption(path: try installation.reference(path), text: text), to: installation, output)
    }
}
