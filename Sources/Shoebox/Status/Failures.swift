import GRDB
import ShoeboxCloud
import ShoeboxStore

/// What the errors of deeper layers mean to who uses the command line.
public enum Failures {
    /// Exit code, what and why, and what to do now; nil for an error that is not known.
    public static func describe(_ error: any Error) -> (code: Int32, message: String, remedy: String)? {
        switch error {
        case let error as CloudError:
            let code =
                switch error.code {
                case .offline: ExitCode.offline
                case .notPermitted, .notInvited: ExitCode.notPermitted
                default: ExitCode.failed
                }
            return (code, error.description, error.remedy)
        case let error as StoreError:
            return (ExitCode.failed, error.description, "Move the state directory's database away; keep the identity.")
        case let error as DatabaseError:
            return (
                ExitCode.failed, "The local database cannot be used: \(error.description)",
                "Check the disk of the state directory; 'shoebox status' says where it is."
            )
        default: return nil
        }
    }
}
