import Glibc
public import ShoeboxModel

/// Times and sizes as people and scripts read them.
public enum StatusText {
    /// A time in milliseconds since 1970 as RFC 3339 in UTC, to the millisecond.
    public static func rfc3339(_ milliseconds: UInt64) -> String {
        // The last second of the year 9999: what is later is no time of day.
        var seconds = time_t(min(milliseconds / 1000, 253_402_300_799))
        var parts = tm()
        gmtime_r(&seconds, &parts)
        func padded(_ number: Int32, _ width: Int) -> String {
            let digits = String(number)
            return String(repeating: "0", count: max(0, width - digits.count)) + digits
        }
        return "\(padded(parts.tm_year + 1900, 4))-\(padded(parts.tm_mon + 1, 2))-\(padded(parts.tm_mday, 2))T"
            + "\(padded(parts.tm_hour, 2)):\(padded(parts.tm_min, 2)):\(padded(parts.tm_sec, 2))"
            + ".\(padded(Int32(milliseconds % 1000), 3))Z"
    }

    /// A time for `--json`: null for 0, which stands for never.
    public static func json(time milliseconds: UInt64) -> JSONValue {
        milliseconds == 0 ? .null : .string(rfc3339(milliseconds))
    }

    /// A time for people, in the machine's zone: `2026-02-03 04:05:06`; `never` for 0.
    public static func local(_ milliseconds: UInt64) -> String {
        guard milliseconds > 0 else { return "never" }
        var seconds = time_t(min(milliseconds / 1000, 253_402_300_799))
        var parts = tm()
        localtime_r(&seconds, &parts)
        var buffer = [CChar](repeating: 0, count: 64)
        let count = strftime(&buffer, buffer.count, "%Y-%m-%d %H:%M:%S", &parts)
        return String(decoding: buffer.prefix(count).map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    /// A number of bytes for people: `1.2 MB`.
    public static func size(_ bytes: UInt64) -> String {
        guard bytes >= 1000 else { return "\(bytes) B" }
        var value = Double(bytes)
        var unit = ""
        for next in ["kB", "MB", "GB", "TB", "PB"] where value >= 1000 || unit.isEmpty {
            value /= 1000
            unit = next
        }
        let tenths = Int((value * 10).rounded())
        return "\(tenths / 10).\(tenths % 10) \(unit)"
    }
}
