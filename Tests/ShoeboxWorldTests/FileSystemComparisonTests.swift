import ShoeboxModel
import ShoeboxTestSupport
import ShoeboxWorld
import Testing

/// Random calls have the same outcome on the simulated file system and on a live one.
@Suite struct FileSystemComparisonTests {
    @Test(arguments: 0..<200 as Range<UInt64>)
    func `random calls end alike, live and simulated`(seed: UInt64) throws {
        let live = try #require(FileSystemSubject.live.first).make()
        let simulated = try FileSystemSubject.simulated.make()
        var random = SeededGenerator(seed: seed)
        for step in 0..<150 {
            let call = try Call(&random)
            let (expected, found) = (call.outcome(on: live), call.outcome(on: simulated))
            try #require(found == expected, "step \(step): \(call)")
        }
        #expect(try listing(simulated, .root) == listing(live, .root))
    }

    /// Every path below a directory with its kind, mode, and text.
    private func listing(_ fixture: FileSystemFixture, _ directory: RelativePath) throws -> [String] {
        var lines: [String] = []
        for entry in try fixture.files.list(directory).sorted(by: { $0.name < $1.name }) {
            let path = directory.appending(entry.name)
            let text = entry.kind == .file ? try fixture.text(path) : ""
            lines.append("\(path) \(entry.kind) \(entry.kind == .file ? entry.stamp.mode : 0) \(text)")
            if entry.kind == .directory { lines += try listing(fixture, path) }
        }
        return lines
    }

    private struct Call: CustomStringConvertible {
        let kind: Int
        let source: RelativePath
        let target: RelativePath
        let mode: RenameMode
        let number: Int

        init(_ random: inout SeededGenerator) throws {
            func place() throws -> RelativePath {
                let names = ["a", "b", "c"]
                return try path((0...random.below(3)).map { _ in names[random.below(3)] }.joined(separator: "/"))
            }
            kind = random.below(10)
            source = try place()
            target = try place()
            mode = [.failIfExists, .replace, .exchange][random.below(3)]
            number = random.below(1_000)
        }

        var description: String { "call \(kind) of \(source), \(target), \(mode)" }

        /// What can be seen of a call: a code, or a few words.
        func outcome(on fixture: FileSystemFixture) -> String {
            var seen = "done"
            let failure = code {
                let files = fixture.files
                switch kind {
                case 0, 1: try fixture.put(source, "content \(number)", mode: 0o600)
                case 2, 3: try files.makeDirectory(source)
                case 4, 5, 6: try files.rename(source, to: target, mode: mode)
                case 7: try files.removeFile(source)
                case 8: try files.removeDirectory(source)
                default:
                    seen = try files.entry(at: source).map { "\($0.kind)" } ?? "none"
                    if seen == "file" {
                        seen += try fixture.text(source)
                        try files.setMode(source, UInt16(0o400 | number % 64))
                    }
                }
            }
            return failure?.rawValue ?? seen
        }
    }
}
