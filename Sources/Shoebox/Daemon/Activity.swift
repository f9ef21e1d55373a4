import Foundation
import Glibc
import ShoeboxModel
import ShoeboxWorld

/// What the one who runs the engine is doing: what it knows and the database does not, for an honest `status`.
///
/// One line of JSON, written in place and without a barrier: it means something only to processes of the same boot.
struct ActivityRecord: Hashable, Sendable {
    /// The process.
    var process: Int32 = 0
    /// Whether it is the daemon, and not a command.
    var isDaemon = false
    /// Whether something was seen that is not in the database yet.
    var isBusy = true
    /// Whether files or deletions wait for being left alone long enough.
    var isSettling = false
    /// Whether its last round failed, and that could not be stored either.
    var isFailing = false
    /// When the last look at both whole folders that is over was begun (uptime, milliseconds); 0 for none.
    var scannedAt: UInt64 = 0
    /// When the folders were last known to be as the database says, milliseconds since 1970; 0 for never.
    var asOf: UInt64 = 0
    /// When the container was last read to its end, milliseconds since 1970; 0 for never.
    var containerAsOf: UInt64 = 0

    var json: JSONValue {
        .object([
            "process": .integer(Int64(process)), "isDaemon": .bool(isDaemon), "isBusy": .bool(isBusy),
            "isSettling": .bool(isSettling), "isFailing": .bool(isFailing),
            "scannedAt": .integer(Int64(clamping: scannedAt)),
            "asOf": .integer(Int64(clamping: asOf)), "containerAsOf": .integer(Int64(clamping: containerAsOf)),
        ])
    }

    init() {}

    init?(_ bytes: [UInt8]) {
        // Read while it is written in place, or cut short by a crash: as if there were none.
        guard let object = (try? JSONText.parse(bytes))?.object else { return nil }
        func number(_ key: String) -> UInt64 { object[key]?.integer.flatMap(UInt64.init(exactly:)) ?? 0 }
        process = Int32(clamping: number("process"))
        isDaemon = object["isDaemon"]?.bool ?? false
        isBusy = object["isBusy"]?.bool ?? true
        isSettling = object["isSettling"]?.bool ?? true
        isFailing = object["isFailing"]?.bool ?? false
        scannedAt = number("scannedAt")
        asOf = number("asOf")
        containerAsOf = number("containerAsOf")
    }
}

/// The file of an `ActivityRecord`. Safe from any thread.
final class Activity: Sendable {
    private static let bytesCount = 256
    private let file: Int32
    private let record: Mutex<ActivityRecord>
    /// Whether who ran the engine before left something unfinished; so it is before the first look of all.
    let wasBusy: Bool

    /// Opens the file for writing; a file that can't be written costs only what `status` says.
    init(_ state: StateDirectory, isDaemon: Bool) {
        file = open(state.activity.text, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        var first = Self.read(state) ?? ActivityRecord()
        wasBusy = first.isBusy
        first.isBusy = true
        // By the uptime of perhaps another boot.
        first.scannedAt = 0
        first.process = getpid()
        first.isDaemon = isDaemon
        record = Mutex(first)
        rewrite()
    }

    deinit { if file >= 0 { close(file) } }

    /// Changes what it says; nothing is written when nothing changes.
    func update(_ change: (inout ActivityRecord) -> Void) {
        record.withLock { record in
            let before = record
            change(&record)
            if record != before { Self.write(record, file) }
        }
    }

    private func rewrite() { record.withLock { Self.write($0, file) } }

    private static func write(_ record: ActivityRecord, _ file: Int32) {
        guard file >= 0 else { return }
        var bytes = JSONText.encode(record.json, indented: false).filter { $0 != 0x0A }
        guard bytes.count < bytesCount else { return }
        bytes += [UInt8](repeating: 0x20, count: bytesCount - bytes.count - 1) + [0x0A]
        _ = pwrite(file, bytes, bytes.count, 0)
    }

    /// What the file says; nil if there is none, or it can't be understood.
    static func read(_ state: StateDirectory) -> ActivityRecord? {
        // Only tells what a daemon is doing; the lock says whether there is one.
        guard let bytes = try? LocalFile.read(state.activity, maxBytes: 4096) else { return nil }
        return ActivityRecord(bytes)
    }
}
