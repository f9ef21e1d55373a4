import ArgumentParser
import Shoebox
import ShoeboxModel

struct DeviceCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "device", abstract: "List, add and retire the devices of this account.",
        subcommands: [List.self, Add.self, Approve.self, Retire.self])

    struct List: ToolCommand {
        static let configuration = CommandConfiguration(
            abstract: "List the account's devices.",
            discussion: """
                Example:
                  shoebox device list
                """)
        @OptionGroup var common: CommonOptions

        func execute(_ output: Output) throws -> Int32 {
            let devices = try DeviceListing(try installation()).devices
            output.result(["devices": .array(devices.map { .object($0.json) })], lines: devices.map(\.line))
            return 0
        }
    }

    struct Add: ToolCommand {
        static let configuration = CommandConfiguration(
            abstract: "Show a code for a new device, and wait for it.",
            discussion: """
                Example:
                  shoebox device add
                  then, on the new device: shoebox init --account NAME … --join --code CODE

                The other way round does the same: 'init --join' shows a code, 'device approve' takes it. Whoever has the
                code while it is waited for can join the account: tell it to nobody.
                """)
        @Option(help: ArgumentHelp("How long to wait for the new device.", valueName: "seconds")) var wait = 600
        @OptionGroup var common: CommonOptions

        func execute(_ output: Output) throws -> Int32 {
            let installation = try installation()
            let code = installation.makePairingCode()
            output.remark("On the new device: shoebox init --account NAME … --join --code \(code)")
            return output.print(
                try installation.approve(code, waitMilliseconds: UInt64(clamping: wait) &* 1_000))
        }
    }

    struct Approve: ToolCommand {
        static let configuration = CommandConfiguration(
            abstract: "Admit the device that shows this code.",
            discussion: """
                Example:
                  shoebox device approve 7KQ2-M4XA-P9TD-30HB
                """)
        @Argument(help: "The code that 'init --join' shows on the new device.") var code: String
        @OptionGroup var common: CommonOptions

        func execute(_ output: Output) throws -> Int32 {
            try submit(.deviceApprove(code: code), to: try installation(), output)
        }
    }

    struct Retire: ToolCommand {
        static let configuration = CommandConfiguration(
            abstract: "Shut a lost or sold device out of the account.",
            discussion: """
                Example:
                  shoebox device retire phone

                The account and its shares get new keys. What the device published until now stays.
                """)
        @Argument(help: "The device: its label, or the start of its id.") var device: String
        @Option(
            help: ArgumentHelp(
                "The exported recovery file: it outranks every device, so that what a thief did to the account with the lost one is void.",
                valueName: "file"))
        var recovery: String?
        @Flag(name: .shortAndLong, help: "Do not ask.") var yes = false
        @OptionGroup var passphrase: PassphraseOptions
        @OptionGroup var common: CommonOptions

        func execute(_ output: Output) throws -> Int32 {
            let installation = try installation()
            guard yes || output.confirms("The device '\(device)' can't be used for this account any more. Go on?")
            else {
                return ExitCode.failed
            }
            if let recovery {
                let file = installation.environment.currentDirectory.appending(recovery)
                return output.print(
                    try installation.retire([device], recoveryFile: file, passphrase: passphrase.existing))
            }
            return try submit(.deviceRetire(name: device), to: installation, output)
        }
    }
}
