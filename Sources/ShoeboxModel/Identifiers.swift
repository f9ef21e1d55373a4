/// 32 bytes of a SHA-256 hash or of a name made from one; orders by its bytes.
public struct Digest32: Hashable, Comparable, Sendable, CustomStringConvertible {
    /// The first sixteen bytes, big-endian.
    public let high: UInt128
    /// The last sixteen bytes, big-endian.
    public let low: UInt128

    /// A digest from its two halves.
    public init(high: UInt128, low: UInt128) {
        self.high = high
        self.low = low
    }

    /// A digest from exactly 32 bytes; nil for any other count.
    public init?(bytes: some Collection<UInt8>) {
        guard bytes.count == 32 else { return nil }
        high = UInt128(bigEndianBytes: bytes.prefix(16))
        low = UInt128(bigEndianBytes: bytes.dropFirst(16))
    }

    /// A digest from exactly 64 lower-case hexadecimal digits; nil for anything else.
    public init?(hex: some StringProtocol) {
        guard let bytes = decodeHex(hex), bytes.count == 32 else { return nil }
        self.init(bytes: bytes)
    }

    /// The 32 bytes.
    public var bytes: [UInt8] { high.bigEndianBytes + low.bigEndianBytes }
    /// 64 lower-case hexadecimal digits.
    public var description: String { encodeHex(bytes) }

    public static func < (left: Self, right: Self) -> Bool { (left.high, left.low) < (right.high, right.low) }
}

/// The name of a record: 128 bits, unique in a zone and, being random, elsewhere too; written as a UUID.
public struct RecordName: Hashable, Comparable, Sendable, CustomStringConvertible {
    /// The 128 bits.
    public let value: UInt128

    /// A name from its bits.
    public init(_ value: UInt128) { self.value = value }

    /// A random name.
    public init(using generator: inout some RandomNumberGenerator) {
        value = UInt128(generator.next() as UInt64) << 64 | UInt128(generator.next() as UInt64)
    }

    /// A name from `8-4-4-4-12` hexadecimal digits in either case; nil for anything else.
    public init?(text: some StringProtocol) {
        let parts = text.utf8.split(separator: UInt8(ascii: "-"), omittingEmptySubsequences: false)
        guard parts.map(\.count) == [8, 4, 4, 4, 12] else { return nil }
        let digits = text.lowercased().filter { $0 != "-" }
        guard let bytes = decodeHex(digits), bytes.count == 16 else { return nil }
        value = UInt128(bigEndianBytes: bytes)
    }

    /// A name from exactly 16 bytes; nil for any other count.
    public init?(bytes: some Collection<UInt8>) {
        guard bytes.count == 16 else { return nil }
        value = UInt128(bigEndianBytes: bytes)
    }

    /// The 16 bytes, big-endian.
    public var bytes: [UInt8] { value.bigEndianBytes }
    /// `8-4-4-4-12` lower-case hexadecimal digits.
    public var description: String {
        let hex = encodeHex(bytes)
        var result = ""
        for (index, character) in hex.enumerated() {
            if [8, 12, 16, 20].contains(index) { result.append("-") }
            result.append(character)
        }
        return result
    }

    /// Stands for the root of a zone where a parent or a mounted zone is named; never the name of a stored record.
    public static let zoneRoot = RecordName(0)

    public static func < (left: Self, right: Self) -> Bool { left.value < right.value }
}

/// One state directory: one account on one machine. Bound to a device key, see `Documentation/Format/Accounts.md`.
public struct ReplicaID: Hashable, Comparable, Sendable, CustomStringConvertible {
    /// The 128 bits.
    public let value: UInt128

    /// An id from its bits.
    public init(_ value: UInt128) { self.value = value }

    /// An id from exactly 16 bytes; nil for any other count.
    public init?(bytes: some Collection<UInt8>) {
        guard bytes.count == 16 else { return nil }
        value = UInt128(bigEndianBytes: bytes)
    }

    /// An id from exactly 32 lower-case hexadecimal digits; nil for anything else.
    public init?(hex: some StringProtocol) {
        guard let bytes = decodeHex(hex), bytes.count == 16 else { return nil }
        self.init(bytes: bytes)
    }

    /// The 16 bytes, big-endian.
    public var bytes: [UInt8] { value.bigEndianBytes }
    /// 32 lower-case hexadecimal digits.
    public var description: String { encodeHex(bytes) }

    public static func < (left: Self, right: Self) -> Bool { left.value < right.value }
}

/// The hash of an account's genesis; the account's display name is only a label.
public struct AccountID: Hashable, Comparable, Sendable, CustomStringConvertible {
    /// The hash.
    public let digest: Digest32
    /// An id from its hash.
    public init(_ digest: Digest32) { self.digest = digest }
    /// 64 lower-case hexadecimal digits.
    public var description: String { digest.description }
    /// The first 16 digits in groups of four, for people to compare.
    public var fingerprint: String {
        let digits = Array(description.prefix(16))
        return stride(from: 0, to: 16, by: 4).map { String(digits[$0..<$0 + 4]) }.joined(separator: "-")
    }
    public static func < (left: Self, right: Self) -> Bool { left.digest < right.digest }
}

/// The hash of a zone's first control file.
public struct ZoneID: Hashable, Comparable, Sendable, CustomStringConvertible {
    /// The hash.
    public let digest: Digest32
    /// An id from its hash.
    public init(_ digest: Digest32) { self.digest = digest }
    /// An id from 64 hexadecimal digits; nil for anything else.
    public init?(hex: some StringProtocol) {
        guard let digest = Digest32(hex: hex) else { return nil }
        self.digest = digest
    }
    /// 64 lower-case hexadecimal digits.
    public var description: String { digest.description }
    public static func < (left: Self, right: Self) -> Bool { left.digest < right.digest }
}

/// A record together with its zone.
public struct RecordID: Hashable, Comparable, Sendable, CustomStringConvertible {
    /// The zone.
    public var zone: ZoneID
    /// The record's name in it; `RecordName.zoneRoot` for the zone's root.
    public var name: RecordName
    /// An id from its parts.
    public init(zone: ZoneID, name: RecordName) {
        self.zone = zone
        self.name = name
    }
    /// Whether this stands for the root of a zone.
    public var isZoneRoot: Bool { name == .zoneRoot }
    /// What the field `parent` holds for something in this folder: a zone's root is null.
    public var parentValue: Value { isZoneRoot ? .null : .reference(name) }
    /// `zone/name`, both abbreviated by nothing.
    public var description: String { "\(zone)/\(name)" }
    public static func < (left: Self, right: Self) -> Bool { (left.zone, left.name) < (right.zone, right.name) }
}

extension UInt128 {
    /// A number from up to sixteen big-endian bytes.
    package init(bigEndianBytes bytes: some Collection<UInt8>) {
        let whole = bytes.withContiguousStorageIfAvailable { storage -> UInt128? in
            storage.count == 16
                ? UInt128(bigEndian: UnsafeRawBufferPointer(storage).loadUnaligned(as: UInt128.self)) : nil
        }
        self = (whole ?? nil) ?? bytes.reduce(0) { $0 << 8 | UInt128($1) }
    }

    /// Sixteen bytes, most significant first.
    package var bigEndianBytes: [UInt8] { withUnsafeBytes(of: bigEndian) { Array($0) } }
}

/// Lower-case hexadecimal digits of bytes.
public func encodeHex(_ bytes: some Collection<UInt8>) -> String {
    let digits = Array("0123456789abcdef".utf8)
    var result: [UInt8] = []
    result.reserveCapacity(bytes.count * 2)
    for byte in bytes {
        result.append(digits[Int(byte >> 4)])
        result.append(digits[Int(byte & 15)])
    }
    return String(decoding: result, as: UTF8.self)
}

/// Bytes from lower-case hexadecimal digits; nil for an odd count or any other character.
public func decodeHex(_ text: some StringProtocol) -> [UInt8]? {
    func digit(_ byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
        default: nil
        }
    }
    let bytes = Array(text.utf8)
    guard bytes.count.isMultiple(of: 2) else { return nil }
    var result: [UInt8] = []
    result.reserveCapacity(bytes.count / 2)
    for index in stride(from: 0, to: bytes.count, by: 2) {
        guard let high = digit(bytes[index]), let low = digit(bytes[index + 1]) else { return nil }
        result.append(high << 4 | low)
    }
    return result
}
