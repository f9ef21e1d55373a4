import Crypto
import CryptoExtras
import FoundationEssentials
import ShoeboxFormat

/// Bytes that only a passphrase opens: scrypt (RFC 7914), then AES-256-GCM. The parameters stand in the file, which
/// begins with `shoebox.locked/1`.
public enum LockedFile {
    /// How much work and memory it takes to try one passphrase.
    struct Cost: Hashable {
        /// scrypt's N is two to the power of this.
        var roundsLog2 = 17
        /// scrypt's r.
        var blockSize = 8
        /// scrypt's p.
        var parallelism = 1

        /// The most memory that a file may make its reader take: 256 MiB.
        static let memoryBytesMax = 268_435_456

        /// Whether scrypt takes these parameters, and a reader can afford them: the memory, and going through as much of it
        /// in all, which is what takes the time.
        var isAffordable: Bool {
            (1...24).contains(roundsLog2) && (1...64).contains(blockSize) && (1...8).contains(parallelism)
                && 128 * (1 << roundsLog2) * blockSize * parallelism <= Self.memoryBytesMax
        }
    }

    static let magic = Array("shoebox.locked/1\n".utf8)
    private static let purpose = Array("shoebox.locked/1".utf8)

    /// Whether bytes are such a file.
    public static func isLocked(_ bytes: [UInt8]) -> Bool { bytes.starts(with: magic) }

    /// The file of these bytes under a passphrase. Takes about half a second, and 128 MiB of memory.
    public static func lock(
        _ plain: [UInt8], passphrase: String, randomBytes: (Int) -> [UInt8]
    ) throws(CloudError) -> [UInt8] {
        try lock(plain, passphrase: passphrase, cost: Cost(), randomBytes: randomBytes)
    }

    static func lock(
        _ plain: [UInt8], passphrase: String, cost: Cost, randomBytes: (Int) -> [UInt8]
    ) throws(CloudError) -> [UInt8] {
        guard !passphrase.isEmpty else { throw .invalid("A passphrase must not be empty.") }
        var wire = WireLockedFile()
        wire.kdf = "scrypt"
        wire.roundsLog2 = UInt32(cost.roundsLog2)
        wire.blockSize = UInt32(cost.blockSize)
        wire.parallelism = UInt32(cost.parallelism)
        wire.salt = Data(randomBytes(16))
        let key = try derive(passphrase, Array(wire.salt), cost)
        wire.sealed = Data(
            try SealedBody.seal(plain, key: key, purpose: purpose, header: magic, nonce: randomBytes(12)))
        return magic + (try serialize(wire))
    }

    /// What was locked. `.damaged` for other bytes, and where the passphrase is wrong; parameters beyond what a reader
    /// can afford are refused before any work is done.
    public static func unlock(_ bytes: [UInt8], passphrase: String) throws(CloudError) -> [UInt8] {
        guard isLocked(bytes) else { throw .damaged("This is not a file with a passphrase.") }
        let wire = try parse(WireLockedFile.self, Array(bytes[magic.count...]), "locked file")
        guard wire.kdf == "scrypt" else {
            throw CloudError(
                code: .newerFormat, message: "The file is locked in a way that this version doesn't know.",
                remedy: "Update shoebox on this machine.")
        }
        let cost = Cost(
            roundsLog2: Int(wire.roundsLog2), blockSize: Int(wire.blockSize), parallelism: Int(wire.parallelism))
        guard cost.isAffordable, wire.salt.count == 16 else {
            throw .damaged("The file asks for more work than any file of shoebox needs; it was not made by it.")
        }
        let key = try derive(passphrase, Array(wire.salt), cost)
        do throws(CloudError) {
            return try SealedBody.open(Array(wire.sealed), key: key, purpose: purpose, header: magic)
        } catch {
            throw .damaged("The passphrase is wrong, or the file is damaged.")
        }
    }

    /// 32 bytes from a passphrase.
    static func derive(_ passphrase: String, _ salt: [UInt8], _ cost: Cost) throws(CloudError) -> [UInt8] {
        guard cost.isAffordable else { throw .invalid("The parameters of scrypt are out of range.") }
        do {
            let key = try KDF.Scrypt.deriveKey(
                from: Array(passphrase.utf8), salt: salt, outputByteCount: 32, rounds: 1 << cost.roundsLog2,
                blockSize: cost.blockSize, parallelism: cost.parallelism)
            return key.withUnsafeBytes { Array($0) }
        } catch {
            throw .invalid("scrypt failed, perhaps for want of memory: \(error).")
        }
    }
}
