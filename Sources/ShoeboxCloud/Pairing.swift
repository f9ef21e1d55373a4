import FoundationEssentials
import ShoeboxFormat
public import ShoeboxModel
public import ShoeboxWorld

/// What a person carries from one device to the other: 80 random bits as sixteen letters and digits.
///
/// Both devices make a key from it, by which they recognise what the other published: somebody with the mount alone can
/// neither put a device of theirs into the account, nor an account of theirs under the device.
public struct PairingCode: Hashable, Sendable, CustomStringConvertible, CustomReflectable {
    private let letters: [UInt8]
    private static let alphabet = Array("0123456789ABCDEFGHJKMNPQRSTVWXYZ".utf8)

    /// As a person reads it: `ABCD-EFGH-JKMN-PQRS`.
    public var description: String {
        stride(from: 0, to: 16, by: 4).map { String(decoding: letters[$0..<($0 + 4)], as: UTF8.self) }
            .joined(separator: "-")
    }
    /// Nothing: a code is a secret as long as it is used.
    public var customMirror: Mirror { Mirror(self, children: [:]) }

    /// A new code.
    public init(randomBytes: (Int) -> [UInt8]) {
        var bits: UInt128 = 0
        for byte in randomBytes(10) { bits = bits << 8 | UInt128(byte) }
        letters = (0..<16).map { Self.alphabet[Int(truncatingIfNeeded: bits >> UInt128(75 - 5 * $0)) & 31] }
    }

    /// A code as a person types it: case, spaces and hyphens do not matter, nor O for 0 and I or L for 1. `.invalid` for
    /// anything else.
    public init(_ text: String) throws(CloudError) {
        var letters: [UInt8] = []
        for byte in text.utf8 where byte != UInt8(ascii: "-") && byte != UInt8(ascii: " ") {
            var letter = (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte) ? byte - 32 : byte
            if letter == UInt8(ascii: "O") { letter = UInt8(ascii: "0") }
            if letter == UInt8(ascii: "I") || letter == UInt8(ascii: "L") { letter = UInt8(ascii: "1") }
            guard Self.alphabet.contains(letter) else { throw .invalid("A pairing code has letters and digits only.") }
            letters.append(letter)
        }
        guard letters.count == 16 else { throw .invalid("A pairing code has 16 letters and digits.") }
        self.letters = letters
    }

    /// The key that both sides make from it. scrypt, so that trying out codes costs something.
    var key: [UInt8] {
        get throws(CloudError) {
            try LockedFile.derive(
                String(decoding: letters, as: UTF8.self), Array("shoebox.pairing".utf8),
                LockedFile.Cost(roundsLog2: 15, blockSize: 8, parallelism: 1))
        }
    }
}

/// One pairing: two small files in a folder of the container whose name is made from the code.
public struct Pairing: Sendable {
    private let access: MountAccess
    private let key: [UInt8]
    private let folder: String
    private static let fileBytesMax = 16_384

    /// The pairing under a code; nothing is read. Takes about a tenth of a second.
    public init(_ code: PairingCode, mount: any Mount) throws(CloudError) {
        access = MountAccess(mount: mount)
        key = try code.key
        folder = encodeHex(deriveSecret(key, "shoebox.pairing/1 folder").prefix(16))
    }

    /// Where one of the two files lies.
    func path(_ name: String) -> MountPath { .of("pairing", folder, name) }
    private static func purpose(_ name: String) -> [UInt8] { Array("shoebox.pairing/1 \(name)".utf8) }

    /// Publishes what a new device is; again is fine.
    public func ask(_ pending: PendingDevice, nowMilliseconds: UInt64, randomBytes: (Int) -> [UInt8]) throws(CloudError)
    {
        var wire = WirePairingRequest()
        wire.device = pending.publicKeys.wire
        wire.accountLabel = pending.accountLabel
        wire.wallMilliseconds = nowMilliseconds
        if try access.list(.of("pairing", folder)).contains("request") { return }
        try publish("request", serialize(wire), randomBytes)
    }

    /// The device that waits under the code; nil while none is seen.
    ///
    /// - Throws: `.damaged` if something else lies in its place.
    public func request() throws(CloudError) -> (device: DevicePublicKeys, accountLabel: String)? {
        guard let plain = try read("request") else { return nil }
        let wire = try parse(WirePairingRequest.self, plain, "pairing request")
        return (try DevicePublicKeys(wire: wire.device), wire.accountLabel)
    }

    /// Tells the device which account has admitted it; again is fine.
    public func answer(
        _ device: DevicePublicKeys, account: AccountID, nowMilliseconds: UInt64, randomBytes: (Int) -> [UInt8]
    ) throws(CloudError) {
        var wire = WirePairingAnswer()
        wire.account = account.digest.wireBytes
        wire.signingKey = device.device.digest.wireBytes
        wire.wallMilliseconds = nowMilliseconds
        if try access.list(.of("pairing", folder)).contains("answer") { return }
        try publish("answer", serialize(wire), randomBytes)
    }

    /// The account that has admitted the device; nil while none is seen.
    public func admittedTo(_ device: DeviceID) throws(CloudError) -> AccountID? {
        guard let plain = try read("answer") else { return nil }
        let wire = try parse(WirePairingAnswer.self, plain, "pairing answer")
        guard wire.signingKey == device.digest.wireBytes else {
            throw .damaged("The answer to the pairing code is for another device.", path: path("answer").description)
        }
        return AccountID(try digest(wire.account, "pairing.account"))
    }

    /// Removes the file that this side wrote.
    public func remove(_ name: Part) throws(CloudError) {
        do { try access.mount.remove(path(name.rawValue)) } catch { throw CloudError(error) }
    }

    /// The two files.
    public enum Part: String, Sendable { case request, answer }

    /// The bytes of a file under this name, sealed with the code's key.
    func seal(_ name: String, _ plain: [UInt8], _ randomBytes: (Int) -> [UInt8]) throws(CloudError) -> [UInt8] {
        try SealedBody.seal(
            plain, key: key, purpose: Self.purpose(name), header: Array(folder.utf8), nonce: randomBytes(12))
    }

    private func publish(_ name: String, _ plain: [UInt8], _ randomBytes: (Int) -> [UInt8]) throws(CloudError) {
        try access.publish(path(name), seal(name, plain, randomBytes))
        do { try access.mount.synchronize() } catch { throw CloudError(error) }
    }

    private func read(_ name: String) throws(CloudError) -> [UInt8]? {
        // Not asked for before it is listed: a negative answer would be remembered.
        guard try access.list(.of("pairing", folder)).contains(name) else { return nil }
        guard let bytes = try access.readKnown(path(name), maxBytes: Self.fileBytesMax) else { return nil }
        do throws(CloudError) {
            return try SealedBody.open(
                bytes, key: key, purpose: Self.purpose(name), header: Array(folder.utf8))
        } catch {
            throw .damaged(
                "What lies in the container under this pairing code was not put there by who has the code.",
                path: path(name).description)
        }
    }
}
