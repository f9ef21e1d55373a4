import ArgumentParser
import Shoebox
import ShoeboxModel

struct AccountCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "account", abstract: "Show this account, and set it up on another device.",
        subcommands: [Show.self, Export.self])

    struct Show: ToolCommand {
        static let configuration = CommandConfiguration(
            abstract: "Show this account's name and fingerprint.",
            discussion: """
                Example:
                  shoebox account show
                """)
        @OptionGroup var common: CommonOptions

        func execute(_ output: Output) throws -> Int32 {
            let account = try AccountSummary(try installation())
            output.result(account.json, lines: account.lines)
            return 0
        }
    }

    struct Export: ToolCommand {
        static let configuration = CommandConfiguration(
            abstract: "Write the file that sets up a second device of this account. It is secret.",
            discussion: """
                Example:
                  shoebox account export /media/stick/alice.device
                  then, on the other device: shoebox init … --import /media/stick/alice.device
                """)
        @Argument(help: "A new file.") var file: String
        @OptionGroup var common: CommonOptions

        func execute(_ output: Output) throws -> Int32 {
            let installation = try installation()
            let path = installation.environment.currentDirectory.appending(file)
            try installation.exportAccount(to: path)
            output.result(
                ["file": .string(path.text), "isSealed": .bool(false)],
                lines: [
                    "\(path) sets up one more device: 'shoebox init … --import FILE'.",
                    "It is not encrypted: whoever has it is you. Use it for one device, then delete it.",
                ])
            return 0
        }
    }
}
