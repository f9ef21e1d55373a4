import Glibc
import Shoebox
import ShoeboxModel

/// Prints results to standard output, and everything else to standard error.
struct Output {
    /// Whether results are one JSON document.
    var isJSON: Bool
    /// Whether only errors are printed for people.
    var isQuiet: Bool

    /// Prints a result: the object for scripts, the lines for people.
    func result(_ object: @autoclosure () -> JSONObject, lines: @autoclosure () -> [String]) {
        if isJSON { document(.object(object())) } else { text(lines()) }
    }

    /// Prints a JSON document.
    func document(_ value: JSONValue) {
        var bytes = JSONText.encode(value)
        if bytes.last != UInt8(ascii: "\n") { bytes.append(UInt8(ascii: "\n")) }
        Self.write(bytes, to: STDOUT_FILENO)
    }

    /// Prints lines for people.
    func text(_ lines: [String]) {
        guard !isQuiet, !lines.isEmpty else { return }
        Self.write(Array((lines.map(\.printable).joined(separator: "\n") + "\n").utf8), to: STDOUT_FILENO)
    }

    /// Prints lines to standard error: progress and remarks.
    func remark(_ line: String) {
        guard !isQuiet, !isJSON else { return }
        Self.write(Array((line.printable + "\n").utf8), to: STDERR_FILENO)
    }

    /// Prints a failure to standard error.
    func fail(_ failure: Failure) {
        if isJSON {
            let object: JSONObject = [
                "error": .object([
                    "code": .integer(Int64(failure.code)), "message": .string(failure.message),
                    "remedy": failure.remedy.map(JSONValue.string) ?? .null,
                ])
            ]
            var bytes = JSONText.encode(.object(object), indented: false)
            if bytes.last != UInt8(ascii: "\n") { bytes.append(UInt8(ascii: "\n")) }
            Self.write(bytes, to: STDERR_FILENO)
        } else {
            var text = "shoebox: \(Self.printable(failure.clause))\n"
            if let remedy = failure.remedy { text += "hint: \(remedy.printable)\n" }
            Self.write(Array(text.utf8), to: STDERR_FILENO)
        }
    }

    /// Several lines as a terminal may show them.
    private static func printable(_ text: String) -> String {
        text.split(separator: "\n", omittingEmptySubsequences: false).map { String($0).printable }
            .joined(separator: "\n")
    }

    /// Prints the reply to a request; returns the exit code.
    func print(_ reply: Reply) -> Int32 {
        let isFailure = reply.code != 0 && reply.code != ExitCode.reported
        if isFailure {
            fail(
                Failure(
                    code: reply.code, message: reply.lines.joined(separator: "\n"), remedy: reply.remedy))
        } else {
            result(Self.json(reply), lines: reply.lines)
            if let remedy = reply.remedy { remark("hint: \(remedy)") }
        }
        return reply.code
    }

    private static func json(_ reply: Reply) -> JSONObject {
        var object = JSONObject()
        for (key, value) in reply.values.sorted(by: { $0.key < $1.key }) { object[key] = .string(value) }
        object["messages"] = .array(reply.lines.map(JSONValue.string))
        return object
    }

    /// Asks a question on the terminal; true without one, or when the answer is yes.
    func confirms(_ question: String) -> Bool {
        guard isatty(STDIN_FILENO) == 1, isatty(STDERR_FILENO) == 1 else { return true }
        Self.write(Array("\(Self.printable(question)) [y/N] ".utf8), to: STDERR_FILENO)
        return ["y", "yes"].contains((readLine() ?? "").lowercased())
    }

    /// Writes all of it; a reader that went away ends nothing.
    static func write(_ bytes: [UInt8], to file: Int32) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(file, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return }
            rest = rest.dropFirst(count)
        }
    }
}
