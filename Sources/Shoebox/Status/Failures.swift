import GRDB
import ShoeboxCloud
import ShoeboxStore

/// What the errors of deeper layers mean to who uses the command line.
public enum Failures {
    /// Exit code, what and why, and what to do now; nil for an error that is not known.
    public static func describe(_ error: any Error) -> (code: Int32, message: String, remedy: String)? {
        describe(error, state: nil)
    }

    /// As `describe`, with the state directory that the local database is in, as far as it is known.
    static func describe(
        _ error: any Error, state: StateDirectory?
    ) -> (code: Int32, message: String, remedy: String)? {
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
        case let error as DatabaseError: return describeDatabase(error, state: state)
        default: return nil
        }
    }

    private static func describeDatabase(
        _ error: DatabaseError, state: StateDirectory?
    ) -> (code: Int32, message: String, remedy: String) {
        let file = state.map { "The local database \($0.database)" } ?? "The local database"
        let place = state.map { "\($0.path)" } ?? "the state directory"
        let reason = error.message.map { ": \($0)" } ?? ""
        let code = error.resultCode.primaryResultCode
        if code == .SQLITE_FULL || state?.isFull == true {
            return (
                ExitCode.failed,
                "The disk of the state directory is full: there is no room for the local database\(state.map { " in \($0.path)" } ?? "").",
                "Free some space there; nothing is lost, and everything goes on by itself."
            )
        }
        if code == .SQLITE_CORRUPT || code == .SQLITE_NOTADB {
            return (
                ExitCode.failed, "\(file) is damaged\(reason).",
                "Check the disk. Then move 'shoebox.sqlite*' in \(place) away, keep 'identity', and run 'shoebox init' again with the same account and folders: everything comes back from the folders and the container."
            )
        }
        return (
            ExitCode.failed, "\(file) cannot be used\(reason) (SQLite error \(error.resultCode.rawValue)).",
            "Check the disk and the permissions of \(place)."
        )
    }
}
