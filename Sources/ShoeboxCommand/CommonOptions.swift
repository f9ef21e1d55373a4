import ArgumentParser
import Shoebox

/// What every command takes.
struct CommonOptions: ParsableArguments {
    @Option(help: ArgumentHelp("The configuration file; else $SHOEBOX_CONFIG, else the user's own.", valueName: "file"))
    var config: String?

    @Flag(help: "Print JSON for scripts. New fields may appear in later versions.")
    var json = false

    @Flag(name: .shortAndLong, help: "Print errors only.")
    var quiet = false

    /// Where results go.
    var output: Output { Output(isJSON: json, isQuiet: quiet) }
}

/// A command of this tool: its work is done in `execute`, whose errors are printed in one way, with one table of codes.
protocol ToolCommand: ParsableCommand {
    var common: CommonOptions { get }
    /// Does the work; returns the exit code.
    func execute(_ output: Output) throws -> Int32
}

extension ToolCommand {
    mutating func run() throws {
        let output = common.output
        let code: Int32
        do { code = try execute(output) } catch {
            // What the parser throws by itself, such as a wrong value, is wrong usage.
            if error is ValidationError || error is ArgumentParser.ExitCode { throw error }
            let failure = Failure(error)
            output.fail(failure)
            code = failure.code
        }
        if code != 0 { throw ArgumentParser.ExitCode(code) }
    }

    /// The installation that the options and the environment name.
    func installation() throws -> Installation { try Installation.load(option: common.config) }

    /// Has a request done and prints the reply.
    func submit(_ request: Request, to installation: Installation, _ output: Output) throws -> Int32 {
        output.print(try RequestClient(installation).submit(request))
    }
}
