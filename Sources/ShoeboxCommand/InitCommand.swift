import ArgumentParser
import Shoebox
import ShoeboxModel

struct InitCommand: ToolCommand {
    static let configuration = CommandConfiguration(
        commandName: "init",
        abstract: "Set up an account on this machine, and join or make the container.",
        discussion: """
            Example:
              shoebox init --account alice --container /mnt/photos --library ~/Pictures/Mine --shared ~/Pictures/Shared

            Doing it again with the same values is fine.
            """)

    @Option(help: ArgumentHelp("The name that others see.", valueName: "name")) var account: String
    @Option(help: ArgumentHelp("The cloud folder: one that all can reach.", valueName: "dir")) var container: String
    @Option(help: ArgumentHelp("The folder with your own photos.", valueName: "dir")) var library: String
    @Option(help: ArgumentHelp("The folder for what others share with you.", valueName: "dir")) var shared: String
    @Flag(help: "Take over folders that another shoebox served which is gone for good.") var takeOver = false
    @Flag(help: "Make a new container for everybody on the machines, not for its folder's group.") var open = false
    @Option(
        name: .customLong("import"),
        help: ArgumentHelp("What 'account export' wrote on another device, or a recovery file.", valueName: "file"))
    var importFile: String?
    @OptionGroup var common: CommonOptions

    func execute(_ output: Output) throws -> Int32 {
        var setup = Setup(account: account, container: container, library: library, shared: shared)
        setup.isOpen = open
        setup.takesOver = takeOver
        setup.importFile = importFile
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
                "recoveryFile": recovery.map(JSONValue.string) ?? .null,
            ],
            lines: [
                "\(configuration.account) (\(outcome.fingerprint)) is set up, in "
                    + (outcome.madeContainer ? "a new container." : "the container that is there."),
                "configuration: \(outcome.installation.file)",
            ]
                + (recovery.map {
                    [
                        "recovery file: \($0)",
                        "Copy it to a safe place: it restores the account when all devices are lost.",
                    ]
                } ?? [])
                + ["Next: shoebox run"])
        return 0
    }
}
