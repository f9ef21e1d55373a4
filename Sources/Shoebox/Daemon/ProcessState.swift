import Glibc

/// What the kernel says of a process.
enum ProcessState: Hashable, Sendable {
    /// There is none of that number.
    case absent
    /// It runs, or waits for something.
    case running
    /// It has ended, or will as soon as a call of the kernel returns, which on a dead mount may be never.
    case ending

    /// The state of a process by its number. What can't be told counts as running.
    init(of process: Int32) {
        guard process > 0 else {
            self = .absent
            return
        }
        guard let status = Self.read("/proc/\(process)/status") else {
            self = kill(process, 0) != 0 && errno == ESRCH ? .absent : .running
            return
        }
        var state: Character?
        var isKilled = false
        for line in status.split(separator: "\n") {
            let parts = line.split(separator: ":", maxSplits: 1)
            guard parts.count == 2 else { continue }
            let value = parts[1].drop { $0 == " " || $0 == "\t" }
            switch parts[0] {
            case "State": state = value.first
            // Bit 8 is SIGKILL: nothing but the end follows.
            case "SigPnd",
                "ShdPnd":
                if let pending = UInt64(value, radix: 16), pending & (1 << 8) != 0 { isKilled = true }
            default: continue
            }
        }
        let hasEnded = state == "Z" || state == "X" || (state == "D" && isKilled)
        self = hasEnded ? .ending : .running
    }

    private static func read(_ path: String) -> String? {
        let file = open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return nil }
        defer { close(file) }
        var buffer = [UInt8](repeating: 0, count: 8192)
        let count = Glibc.read(file, &buffer, buffer.count)
        return count > 0 ? String(decoding: buffer[..<count], as: UTF8.self) : nil
    }
}
