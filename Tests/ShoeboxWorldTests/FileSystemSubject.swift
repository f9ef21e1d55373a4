import ShoeboxModel
import ShoeboxTestSupport
import ShoeboxWorld
import Testing

/// One kind of local file system under the conformance suite.
struct FileSystemSubject: Sendable, CustomTestStringConvertible {
    let testDescription: String
    /// A new empty root.
    let make: @Sendable () throws -> FileSystemFixture

    static let all: [FileSystemSubject] = [simulated] + live

    static let simulated = FileSystemSubject(testDescription: "simulated") {
        let disk = SimulatedDisk(clock: SimulatedMachineClock(SimulatedClock()))
        return FileSystemFixture(
            files: disk.files, makeLink: { try disk.link($0, to: $1) }, takeRootAway: { disk.unmount() })
    }
}

/// A root under test, and what the seam can't do.
final class FileSystemFixture {
    let files: any LocalFileSystem
    let makeLink: (_ path: String, _ target: String) throws -> Void
    let takeRootAway: () throws -> Void
    private let cleanUp: () -> Void

    init(
        files: any LocalFileSystem, makeLink: @escaping (_ path: String, _ target: String) throws -> Void,
        takeRootAway: @escaping () throws -> Void, cleanUp: @escaping () -> Void = {}
    ) {
        self.files = files
        self.makeLink = makeLink
        self.takeRootAway = takeRootAway
        self.cleanUp = cleanUp
    }

    deinit { cleanUp() }

    /// Writes a whole new file.
    @discardableResult
    func put(_ path: RelativePath, _ text: String, mode: UInt16? = nil, modified: Int64? = nil) throws -> FileStamp {
        let file = try files.create(path)
        try file.write(Array(text.utf8))
        return try file.finish(mode: mode, modifiedNanoseconds: modified, durably: false)
    }

    /// A whole file as text.
    func text(_ path: RelativePath) throws -> String {
        String(decoding: try files.readAll(path, maxBytes: 1 << 20), as: UTF8.self)
    }

    /// The names in a directory, sorted.
    func names(_ directory: RelativePath) throws -> [String] {
        try files.list(directory).map(\.name.description).sorted()
    }
}

/// A path from text that is one.
func path(_ text: String) throws -> RelativePath { try #require(RelativePath(text)) }

/// The code that a call fails with; nil if it doesn't.
func code(_ body: () throws -> Void) -> FileError.Code? {
    do {
        try body()
        return nil
    } catch {
        return (error as? FileError)?.code ?? FileError.Code(rawValue: "not a FileError: \(error)")
    }
}
