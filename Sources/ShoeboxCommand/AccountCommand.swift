import ArgumentParser
import Shoebox
import ShoeboxModel

struct AccountCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "account", abstract: "Show this account, and set it up on another device.",
        subcommands: [Show.self, Export.self, Import.self, Verify.self])

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
            abstract: "Write a file that sets up one more device, or that restores the account; under a passphrase.",
            discussion: """
                Example:
                  shoebox account export /media/stick/alice.device
                  then, on the other device: shoebox account import /media/stick/alice.device …

                  shoebox account export --recovery /media/safe/alice.recovery

                The recovery file restores the account when all its devices are lost, and can retire any of them. It is
                moved: afterwards it is nowhere else. Keep it where neither fire nor thief takes it together with your
                devices.
                """)
        @Argument(help: "A new file.") var file: String
        @Flag(help: "The recovery file, which is kept, in place of one for a device, which is used once.")
        var recovery = false
        @Option(help: "The name of the new device.") var label = "exported"
        @OptionGroup var passphrase: PassphraseOptions
        @OptionGroup var common: CommonOptions

        func execute(_ output: Output) throws -> Int32 {
            let installation = try installation()
            let path = installation.environment.currentDirectory.appending(file)
            let lines: [String]
            if recovery {
                try installation.exportRecovery(to: path, passphrase: try passphrase.new())
                lines = [
                    "\(path) restores this account: 'shoebox account import FILE …'.",
                    "It is nowhere else now. Keep it apart from your devices, and keep the passphrase apart from it.",
                ]
            } else {
                let reply = try installation.exportDevice(to: path, label: label, passphrase: try passphrase.new())
                guard reply.code == 0 else { return output.print(reply) }
                lines = [
                    "\(path) sets up one more device: 'shoebox account import FILE …'.",
                    "Use it once, then delete it. If it is lost: shoebox device retire \(label)",
                ]
            }
            output.result(
                ["file": .string(path.text), "isSealed": .bool(true), "isRecovery": .bool(recovery)], lines: lines)
            return 0
        }
    }

    struct Verify: ToolCommand {
        static let configuration = CommandConfiguration(
            abstract: "Show what two people compare to know that nobody stands between them.",
            discussion: """
                Example:
                  shoebox account verify bob
                  shoebox account verify bob --compared
                """)
        @Argument(help: "The other account: name, name#fingerprint, or fingerprint.") var account: String
        @Flag(help: "Note that you have compared the fingerprints with the other person.") var compared = false
        @OptionGroup var common: CommonOptions

        func execute(_ output: Output) throws -> Int32 {
            try submit(.verifyAccount(name: account, isCompared: compared), to: try installation(), output)
        }
    }

    struct Import: ToolCommand {
        static let configuration = CommandConfiguration(
            abstract: "Set this machine up as a device of an account that was exported.",
            discussion: """
                Example:
                  shoebox account import alice.device --account alice --container /mnt/photos --library ~/Mine --shared ~/Shared
                """)
        @Argument(help: "What 'account export' wrote.") var file: String
        @OptionGroup var folders: FolderOptions
        @OptionGroup var passphrase: PassphraseOptions
        @OptionGroup var common: CommonOptions

        func execute(_ output: Output) throws -> Int32 {
            var setup = folders.setup
            setup.importFile = file
            setup.passphrase = passphrase.existing
            return try InitCommand.run(setup, common, output)
        }
    }
}
