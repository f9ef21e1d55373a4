import ArgumentParser
import Shoebox

struct RateCommand: ToolCommand {
    static let configuration = CommandConfiguration(
        commandName: "rate",
        abstract: "Rate a photo, 1 to 5; 0 takes your rating back.",
        discussion: """
            Example:
              shoebox rate ~/Pictures/Mine/IMG_1.jpg 5
            """)

    @Argument(help: "The photo.") var path: String
    @Argument(help: "1 to 5, or 0.") var rating: Int
    @OptionGroup var common: CommonOptions

    func validate() throws {
        guard (0...5).contains(rating) else { throw ValidationError("A rating is 1 to 5, or 0 to take it back.") }
    }

    func execute(_ output: Output) throws -> Int32 {
        let installation = try installation()
        return try submit(.rate(path: try installation.reference(path), value: rating), to: installation, output)
    }
}
