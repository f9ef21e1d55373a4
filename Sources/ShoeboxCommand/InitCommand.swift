import ArgumentParser
import Shoebox
import ShoeboxModel

/// What every way of setting up takes.
struct FolderOptions: ParsableArguments {
    @Option(help: ArgumentHelp("The name that others see.", valueName: "name")) var account: String
    @Option(help: ArgumentHelp("The cloud folder: one that all can reach.", valueName: "dir")) var container: String
    @Option(help: ArgumentHelp("The folder with your own photos.", valueName: "dir")) var library: String
    @Option(help: ArgumentHelp("The folder for what others share with you.", valueName: "dir")) var shared: String
    @Flag(help: "Take over folders that another shoebox served which is gone for good.") var takeOver = false

    var setup: Setup {
        var setup = Setup(account: account, container: container, library: library, shared: shared)
        setup.takesOver = takeOver
        return setup
    }
}

struct InitCommand: ToolCommand {
    static let configuration = CommandConfiguration(
        commandName: "init",
        abstract: "Set up an account on this machine, and join or make the container.",
        discussion: """
            Example:
              shoebox init --account alice --container /mnt/photos --library ~/Pictures/Mine --shared ~/Pictures/Shared

            On a second machine of the same account:
              shoebox init --account alice … --join
              then, on the first: shoebox device approve CODE

            Doing it again with the same values is fine.
            """)

    @OptionGroup var folders: FolderOptions
    @Flag(help: "Make a new container for everybody on the machines, not for its folder's group.") var open = false
    @Flag(help: "Be one more device of an account that is there: shows a code for 'device approve' and waits.")
    var join = false
    @Option(help: ArgumentHelp("With --join: the code that 'device add' shows on the other device.")) var code: String?
    @Option(help: ArgumentHelp("With --join: how long to wait to be approved.", valueName: "seconds")) var wait = 600
    @Option(
        name: .customLong("import"),
        help: ArgumentHelp("What 'account export' wrote, on another device or before.", valueName: "file"))
    var importFile: String?
    @OptionGroup var passphrase: PassphraseOptions
    @OptionGroup var common: CommonOptions

    func validate() throws {
        if join, importFile != nil { throw ValidationError("Give either --join or --import.") }
        if code != nil, !join { throw ValidationError("--code goes with --join.") }
        if wait < 0 { throw ValidationError("--wait takes seconds, 0 or more.") }
    }

    func execute(_ output: Output) throws -> Int32 {
        var setup = folders.setup
        setup.isOpen = open
        setup.importFile = importFile
        setup.passphrase = passphrase.existing
        if join {
            let isGiven = code != nil
            let account = folders.account
            setup.joins = Setup.Joining(
                code: code, waitMilliseconds: UInt64(clamping: wait) &* 1_000,
                show: { code in
                    guard !isGiven else { return }
                    output.remark("On a device of the account '\(account)': shoebox device approve \(code)")
                })
        }
        return try Self.run(setup, common, output)
    }

    /// Sets up and prints what came of it.
    static func run(_ setup: Setup, _ common: CommonOptions, _ output: Output) throws -> Int32 {
        let outcome = try setup.run(option: common.config)
        let configuration = outcome.installation.configuration
        let recovery = outcome.recoveryFile?.text
        output.result(
            [
                "account": .string(configuration.account), "fingerprint": .string(outcome.fingerprint),
                "config": .string(outcome.installation.file.text), "container": .string(configuration.container.text),
                "library": .string(configuration.library.text), "shared": .string(configuration.shared.text),
                "state": .string(configuration.state.text), "madeContainer": .bool(outcome.madeContainer),
                "madeAccount": .bool(outcome.madeAccount),
                "namesakes": .array(outcome.namesakes.map(JSONValue.string)),
                "recoveryFile": recovery.map(JSONValue.string) ?? .null,
            ],
            lines: [
                "\(configuration.account) (\(outcome.fingerprint)) is set up, in "
                    + (outcome.madeContainer ? "a new container." : "the container that is there."),
                "configuration: \(outcome.installation.file)",
            ]
                + (outcome.namesakes.isEmpty
                    ? []
                    : [
                        "There is another account '\(configuration.account)' here already: \(outcome.namesakes.joined(separator: ", ")). If that is you, this one can't see its photos: use 'shoebox init --join', or '--import' with an exported file, and another configuration and state directory. If not, people invite you by '\(configuration.account)#\(outcome.fingerprint)'."
                    ])
                + (recovery == nil
                    ? []
                    : [
                        "Without this device nobody can restore the account yet: 'shoebox account export --recovery FILE' writes what does."
                    ])
                + ["Next: shoebox run"])
        return 0
    }
}
