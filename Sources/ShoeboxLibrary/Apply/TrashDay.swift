/// Names of days, `yyyy-mm-dd` in UTC, by the proleptic Gregorian calendar (Howard Hinnant, *chrono-Compatible
/// Low-Level Date Algorithms*).
extension FileApplier {
    /// The day of a time in milliseconds since 1970; times past the year 9999 are taken as its last day.
    static func dayName(of milliseconds: UInt64) -> String {
        let days = Int(min(milliseconds / dayMilliseconds, 2_932_896))
        let shifted = days + 719_468
        let era = shifted / 146_097
        let dayOfEra = shifted - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let monthFromMarch = (5 * dayOfYear + 2) / 153
        let day = dayOfYear - (153 * monthFromMarch + 2) / 5 + 1
        let month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
        let year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
        return "\(padded(year, 4))-\(padded(month, 2))-\(padded(day, 2))"
    }

    /// The first millisecond of a day; nil for a name that is no day since 1970.
    static func dayStart(of name: String) -> UInt64? {
        let parts = name.split(separator: "-", omittingEmptySubsequences: false)
        guard parts.map(\.utf8.count) == [4, 2, 2], let year = Int(parts[0]), let month = Int(parts[1]),
            let day = Int(parts[2]), 1970...9999 ~= year, 1...12 ~= month, 1...31 ~= day
        else { return nil }
        let shiftedYear = month <= 2 ? year - 1 : year
        let era = shiftedYear / 400
        let yearOfEra = shiftedYear - era * 400
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
        let milliseconds = UInt64(era * 146_097 + dayOfEra - 719_468) * dayMilliseconds
        return dayName(of: milliseconds) == name ? milliseconds : nil
    }

    private static func padded(_ number: Int, _ width: Int) -> String {
        let digits = String(number)
        return String(repeating: "0", count: max(0, width - digits.count)) + digits
    }
}
