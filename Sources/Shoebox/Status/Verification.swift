import ShoeboxStore

/// Checks everything that an installation has, and mends it. Reading needs no lock; mending is asked of whoever runs the
/// engine.
public struct Verification {
    private let installation: Installation
    private let engine: Engine

    /// A verification for an account that was set up.
    public init(_ installation: Installation) throws {
        self.installation = installation
        engine = try installation.makeEngine(try installation.openStore())
    }

    /// Reads everything; changes nothing.
    public func check(progress: (String) -> Void) throws -> VerifyReport { try engine.verify(progress: progress) }

    /// Makes the container anew where it is gone for good. Done by this process, which takes the folder as it is: to a daemon, an
    /// empty folder in the place of a container is one whose mount is missing.
    public func recreateContainer() throws -> Reply {
        let reply = engine.perform(.recreateContainer)
        guard reply.code == 0 else { return reply }
        _ = try RequestClient(installation).synchronize()
        return reply
    }

    /// Mends what can be mended, then checks again.
    public func repair(_ report: VerifyReport, progress: (String) -> Void) throws -> VerifyReport {
        guard let request = report.repair else { return report }
        progress("what can be mended")
        // Uploading may take as long as it takes.
        let client = try RequestClient(installation)
        let reply = try client.submit(request, timeoutMilliseconds: 86_400_000)
        // What could not be mended is found again.
        guard [ExitCode.done, ExitCode.reported].contains(reply.code) else {
            throw RequestError(reply.code, reply.lines.joined(separator: "\n"), reply.remedy ?? "")
        }
        _ = try client.synchronize()
        return try Verification(installation).check(progress: progress)
    }
}
