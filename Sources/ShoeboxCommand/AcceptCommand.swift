import ArgumentParser
import Shoebox

struct AcceptCommand: ToolCommand {
    static let configuration = CommandConfiguration(
        commandName: "accept",
        abstract: "Accept an invitation to a share.",
        discussion: """
            Example:
              shoebox accept 'shoebox://…'
              shoebox accept --all-pending
            """)

    @Argument(help: "Links that the owners sent you.") var link: [String] = []
    @Flag(help: "Accept every invitation that is in the container.") var allPending = false
    @OptionGroup var common: CommonOptions

    func validate() throws {
        if allPending != link.isEmpty { throw ValidationError("Give either a link or --all-pending.") }
    }

    func execute(_ output: Output) throws -> Int32 {
        let installation = try installation()
        if allPending { return try submit(.acceptAllPending, to: installation, output) }
        var worst: Int32 = 0
        for link in link {
            let code = try submit(.accept(link: link), to: installation, output)
            if code != 0 { worst = code }
        }
        return worst
    }
}
