import Shoebox
import ShoeboxModel
import ShoeboxWorld

/// A failure as it is printed: what and why, what to do now, and the exit code.
struct Failure {
    /// The exit code.
    var code: Int32
    /// What failed, and why.
    var message: String
    /// What to do now; nil if nothing is known.
    var remedy: String?

    init(code: Int32, message: String, remedy: String?) {
        self.code = code
        self.message = message
        self.remedy = remedy
    }

    init(_ error: any Error) {
        switch error {
        case let error as RequestError: self.init(code: error.code, message: error.message, remedy: error.remedy)
        case let error as ConfigurationError:
            self.init(code: ExitCode.failed, message: error.description, remedy: error.remedy)
        case let error as FileError:
            let isOffline = error.code == .offline || error.code == .timedOut
            self.init(
                code: isOffline ? ExitCode.offline : ExitCode.failed, message: error.description,
                remedy: isOffline ? "Check that the folder is mounted." : "Check the path and its permissions.")
        default:
            if let failure = Shoebox.Failures.describe(error) {
                self.init(code: failure.code, message: failure.message, remedy: failure.remedy)
            } else {
                self.init(code: ExitCode.failed, message: "\(error)", remedy: nil)
            }
        }
    }

    /// The sentence without the capital and the full stop that would look odd after `shoebox: `.
    var clause: String {
        var text = message
        if text.hasSuffix("."), !text.hasSuffix("..") { text.removeLast() }
        return text
    }
}

/// The exit codes; a name for those of the library, as ArgumentParser has a type of the same name.
typealias ExitCode = Shoebox.ExitCode
