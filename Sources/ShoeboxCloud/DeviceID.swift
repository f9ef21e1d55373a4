public import ShoeboxModel

/// A device of an account: its Ed25519 public signing key.
public struct DeviceID: Hashable, Comparable, Sendable, CustomStringConvertible {
    /// The 32 bytes of the key.
    public let digest: Digest32
    /// A device by its key.
    public init(_ digest: Digest32) { self.digest = digest }
    /// 64 lower-case hexadecimal digits.
    public var description: String { digest.description }
    /// By the bytes of the keys.
    public static func < (left: Self, right: Self) -> Bool { left.digest < right.digest }
}

extension ReplicaID {
    /// The replica that a device makes with a nonce of 16 bytes: nobody else can sign for it.
    static func certified(device: DeviceID, nonce: [UInt8]) -> ReplicaID {
        let hash = sha256(Array("shoebox.replica/1".utf8) + device.digest.bytes + nonce)
        return ReplicaID(hash.high)
    }
}

/// Which version of a zone's control: its number, from 1, and the hash of its file.
public struct ControlVersion: Hashable, Comparable, Sendable, CustomStringConvertible {
    /// The number, one more than the greatest of its parents.
    public var version: UInt64
    /// SHA-256 of the file.
    public var hash: Digest32
    /// A version from its parts.
    public init(version: UInt64, hash: Digest32) {
        self.version = version
        self.hash = hash
    }
    /// The name of its file.
    public var description: String { numberedName(version, hash) }
    /// By number, then by hash.
    public static func < (left: Self, right: Self) -> Bool { (left.version, left.hash) < (right.version, right.hash) }
}

/// `<number, 16 digits>-<hash>`, the name of an immutable file in a numbered chain.
func numberedName(_ number: UInt64, _ hash: Digest32) -> String {
    let digits = String(number)
    return String(repeating: "0", count: max(0, 16 - digits.utf8.count)) + digits + "-" + hash.description
}

/// Number and hash from a name of that form; nil for any other name.
func parseNumberedName(_ name: String) -> (number: UInt64, hash: Digest32)? {
    let parts = name.split(separator: "-", omittingEmptySubsequences: false)
    guard parts.count == 2, parts[0].utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }),
        let number = UInt64(parts[0]), let hash = Digest32(hex: parts[1]), numberedName(number, hash) == name
    else { return nil }
    return (number, hash)
}
