import ArgumentParser
import Shoebox
import ShoeboxModel

struct RestoreCommand: ToolCommand {
    static let configuration = CommandConfiguration(
        commandName: "restore",
        abstract: "Bring back a photo, any earlier content of it, or a share's folder that was deleted as a whole.",
        discussion: """
            Example:
              shoebox restore Summer
              shoebox restore ~/Pictures/Mine/IMG_1.jpg
              shoebox restore ~/Pictures/Mine/IMG_1.jpg --list
              shoebox restore ~/Pictures/Mine/IMG_1.jpg --version 2

            A share's folder comes back whole; the other answer to that question is 'shoebox share leave'. A photo that was
            deleted comes back for everybody, with its tags, also while its deletion still waits to be passed on; any other gets the content that shoebox knows of it, as when
            it was cut to zero bytes, or with --version an earlier one. What the file holds now goes to the trash. A number
            is that of the list which was last printed on this device, whatever others have saved since.
            """)

    @Argument(help: "The share (its title or id), or the path of a photo.") var name: String
    @Flag(help: "List all contents that the photo ever had, and change nothing.") var list = false
    @Option(help: ArgumentHelp("Its number in that list, or the start of its SHA-256.", valueName: "version"))
    var version: String?
    @OptionGroup var common: CommonOptions

    func execute(_ output: Output) throws -> Int32 {
        let installation = try installation()
        if let path = try? installation.reference(name), name.contains("/") || version != nil || list {
            if list {
                let listing = try TreeListing(installation)
                let versions = try listing.versions(of: path)
                output.result(
                    ["versions": .array(versions.map { .object($0.json) })], lines: versions.map(\.line))
                try listing.noteListed(versions)
                return 0
            }
            return try submit(.restoreVersion(path: path, version: version), to: installation, output)
        }
        guard !list, version == nil else {
            throw RequestError(
                ExitCode.notFound, "'\(name)' is no path in the library or in the shared folder.",
                "Give the path of a photo; a share has no versions.")
        }
        return try submit(.restoreShare(share: name), to: installation, output)
    }
}
