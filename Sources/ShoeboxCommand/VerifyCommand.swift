import ArgumentParser
import Shoebox
import ShoeboxModel

struct VerifyCommand: ToolCommand {
    static let configuration = CommandConfiguration(
        commandName: "verify",
        abstract: "Check every hash, signature, chain and reference, and mend what this device can.",
        discussion: """
            Example:
              shoebox verify
              shoebox verify --repair

            Reads the whole container as far as you may, and all files of both folders. Exit code 3: there are faults.
            With --repair, what is gone from the container is published again from this device, and a damaged file gets its
            content back from the container; what it held goes to the trash.
            """)

    @Flag(help: "Mend what this device has what it takes for.") var repair = false
    @Flag(help: "With --repair: make the container anew where it is gone for good; its folder must be empty.")
    var newContainer = false
    @OptionGroup var common: CommonOptions

    func validate() throws {
        guard repair || !newContainer else { throw ValidationError("--new-container goes with --repair.") }
    }

    func execute(_ output: Output) throws -> Int32 {
        let installation = try installation()
        if newContainer {
            let reply = try Verification(installation).recreateContainer()
            guard reply.code == 0 else { return output.print(reply) }
            for line in reply.lines { output.remark(line) }
        }
        let verification = try Verification(installation)
        let progress: (String) -> Void = { output.remark("checking \($0) …") }
        let before = try verification.check(progress: progress)
        var report = before
        if repair { report = try verification.repair(before, progress: progress) }
        let left = Set(report.faults.map(\.path))
        let mended = before.faults.filter { !left.contains($0.path) }
        var object = report.json
        object["mended"] = .array(mended.map { .object($0.json) })
        output.result(object, lines: mended.map { "mended: \($0.path): \($0.message)" } + report.lines)
        if !report.faults.isEmpty && !report.isOffline { return ExitCode.reported }
        return report.isOffline ? ExitCode.offline : 0
    }
}
