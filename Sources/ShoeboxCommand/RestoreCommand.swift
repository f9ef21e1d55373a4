import ArgumentParser
import Shoebox

struct RestoreCommand: ToolCommand {
    static let configuration = CommandConfiguration(
        commandName: "restore",
        abstract: "Bring back a share's folder that was deleted as a whole, or a photo's content.",
        discussion: """
            Example:
              shoebox restore Summer
              shoebox restore library/2024/IMG_1.jpg

            A share's folder comes back whole; the other answer to that question is 'shoebox share leave'. A photo gets
            the content that shoebox knows of it, as when it was cut to zero bytes; what the file holds now goes to the
            trash.
            """)

    @Argument(help: "The share (its title or id), or the path of a photo.") var name: String
    @OptionGroup var common: CommonOptions

    func execute(_ output: Output) throws -> Int32 {
        let installation = try installation()
        if let path = try? installation.reference(name), name.contains("/") {
            return try submit(.restoreContent(path: path), to: installation, output)
        }
        return try submit(.restoreShare(share: name), to: installation, output)
    }
}
