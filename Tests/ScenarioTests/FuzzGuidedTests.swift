import Foundation
import Glibc
import Testing

/// LLVM's libFuzzer on one parser, where the tests are built with it; `scripts/fuzz.sh` does that, and runs this once for
/// each parser. Its driver keeps what reaches code that nothing before it reached, and ends the process.
@Suite(.enabled(if: FuzzedParser.name != nil, "only where scripts/fuzz.sh names a parser"))
struct FuzzGuidedTests {
    typealias Callback = @convention(c) (UnsafePointer<UInt8>?, Int) -> Int32
    typealias Arguments = UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>
    typealias Driver =
        @convention(c) (UnsafeMutablePointer<Int32>, UnsafeMutablePointer<Arguments?>, Callback) -> Int32

    @Test func `what coverage leads to makes no parser trap`() throws {
        let environment = ProcessInfo.processInfo.environment
        let name = try #require(FuzzedParser.name)
        let directory = try #require(environment["SHOEBOX_FUZZ_DIRECTORY"])
        let target = try #require(try FuzzTests.target(name))
        for (number, bytes) in target.corpus.enumerated() {
            try Data(bytes).write(to: URL(fileURLWithPath: "\(directory)/start-\(number)"))
        }
        let driver = try #require(dlsym(nil, "LLVMFuzzerRunDriver"), "these tests are built without libFuzzer")
        FuzzedParser.parse = target.parse
        let arguments = [
            "shoebox", "-max_total_time=\(environment["SHOEBOX_FUZZ_SECONDS"] ?? "10")", "-timeout=20",
            "-rss_limit_mb=4096", "-max_len=200000", "-print_final_stats=1", "-artifact_prefix=\(directory)/broken-",
            directory,
        ]
        var pointers: [UnsafeMutablePointer<CChar>?] = arguments.map { strdup($0) } + [nil]
        pointers.withUnsafeMutableBufferPointer { buffer in
            var count = Int32(arguments.count)
            var start = buffer.baseAddress
            let run = unsafeBitCast(driver, to: Driver.self)
            _ = run(&count, &start) { bytes, count in
                FuzzedParser.parse?(Array(UnsafeBufferPointer(start: bytes, count: count)))
                return 0
            }
        }
    }
}

/// What the driver's callback, which can capture nothing, calls: set once before the driver runs, on its thread.
private enum FuzzedParser {
    /// Which one the tests were started for.
    static var name: String? { ProcessInfo.processInfo.environment["SHOEBOX_FUZZ_GUIDED"] }
    nonisolated(unsafe) static var parse: (@Sendable ([UInt8]) -> Void)?
}
