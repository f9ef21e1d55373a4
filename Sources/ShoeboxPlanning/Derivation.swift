internal import Crypto
public import ShoeboxModel

/// Names that the engine derives: each is computed from its causes alone, so that every replica makes the same one.
public enum Derivation {
    /// The name of a record that an account makes, bound to the account by 16 random bytes that its first write carries
    /// as `FieldKey.origin`: nobody else can show such bytes.
    public static func record(madeBy account: AccountID, origin: [UInt8]) -> RecordName {
        name("origin", account.digest.bytes, origin)
    }

    /// The record name of a photo's membership in a tag.
    public static func photoTag(photo: RecordName, tag: RecordName) -> RecordName {
        name("photoTag", photo.bytes, tag.bytes)
    }

    /// The record name of an account's rating of a photo.
    public static func rating(photo: RecordName, account: AccountID) -> RecordName {
        name("rating", photo.bytes, account.digest.bytes)
    }

    /// The record name of the copy that keeps the bytes which lost in a content conflict of a record.
    public static func conflictCopy(of record: RecordName, contentHash: Digest32) -> RecordName {
        name("conflictCopy", record.bytes, contentHash.bytes)
    }

    /// What a person calls one of several values of a field by: 8 hexadecimal digits, from the change that wrote it.
    public static func valueID(of dot: Dot) -> String {
        let counter = (0..<8).map { UInt8(truncatingIfNeeded: dot.counter >> (56 - 8 * UInt64($0))) }
        return String(name("value", dot.replica.bytes, counter).description.prefix(8))
    }

    /// The file name of a conflict copy, such as `IMG_1 (conflict bob 2026-11-21).jpg`.
    ///
    /// - Parameters:
    ///   - name: the name of the record in conflict.
    ///   - label: of the account that wrote the losing bytes; made fit for a file name.
    ///   - wallMilliseconds: when they were written, since 1970; the date is that of UTC.
    public static func conflictCopyFileName(
        of name: FileName, label: String, wallMilliseconds: UInt64
    ) -> FileName {
        name.inserting(" (conflict \(fileNamePart(of: label)) \(utcDate(wallMilliseconds: wallMilliseconds)))")
    }

    /// An account's label as part of a file name: no control characters, nothing that SMB refuses, at most 60 bytes,
    /// never empty.
    public static func fileNamePart(of label: String) -> String {
        var result = ""
        for scalar in label.unicodeScalars {
            guard result.utf8.count + UTF8.width(scalar) <= 60 else { break }
            switch scalar.properties.generalCategory {
            case .control, .format, .surrogate, .privateUse, .unassigned, .lineSeparator, .paragraphSeparator: continue
            default: break
            }
            result.unicodeScalars.append("/\\:*?\"<>|".unicodeScalars.contains(scalar) ? "-" : scalar)
        }
        while result.first == " " { result.removeFirst() }
        while result.last == " " || result.last == "." { result.removeLast() }
        return result.isEmpty ? "other" : result
    }

    private static func name(_ domain: String, _ parts: [UInt8]...) -> RecordName {
        // The parts of one domain have fixed lengths, so no two lists of parts give the same bytes.
        let input = Array("shoebox.derived/1\0\(domain)\0".utf8) + parts.joined()
        let digest = Array(SHA256.hash(data: input).prefix(16))
        guard let name = RecordName(bytes: digest), name != .zoneRoot else { return RecordName(1) }
        return name
    }

    /// `2026-11-21` of a time in UTC. The arithmetic is that of Howard Hinnant, *chrono-Compatible Low-Level Date
    /// Algorithms*; days are never negative here.
    private static func utcDate(wallMilliseconds: UInt64) -> String {
        let days = wallMilliseconds / 86_400_000 + 719_468
        let era = days / 146_097
        let dayOfEra = days % 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shiftedMonth = (5 * dayOfYear + 2) / 153
        let day = dayOfYear - (153 * shiftedMonth + 2) / 5 + 1
        let month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
        let year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
        func padded(_ number: UInt64, _ width: Int) -> String {
            let text = String(number)
            return String(repeating: "0", count: max(0, width - text.count)) + text
        }
        return "\(padded(year, 4))-\(padded(month, 2))-\(padded(day, 2))"
    }
}
