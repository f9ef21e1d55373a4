import Crypto
import Foundation
import ShoeboxTestSupport
import ShoeboxWorld

@testable import ShoeboxCloud

/// HPKE (RFC 9180) in base mode as `KeyWrap` does it, with an ephemeral key from a seed: the library takes its own from
/// the system only, and zones are named by hashes of what is wrapped. What this seals is opened by the library.
enum SeededWrapping {
    /// Runs something in which every wrapped key follows from a seed.
    static func run<T>(seed: UInt64, _ body: () throws -> T) rethrows -> T {
        let source = Mutex(SeededGenerator(seed: seed, part: "wrapping"))
        return try KeyWrap.$seededWrapping.withValue({ plain, recipient, info in
            try wrap(plain, for: recipient, info: info, ephemeral: source.withLock { $0.bytes(32) })
        }) { try body() }
    }

    private static let kem = Array("KEM".utf8) + [0x00, 0x20]
    private static let suite = Array("HPKE".utf8) + [0x00, 0x20, 0x00, 0x01, 0x00, 0x02]

    static func wrap(
        _ plain: [UInt8], for recipient: [UInt8], info: [UInt8], ephemeral: [UInt8]
    ) throws -> ([UInt8], [UInt8]) {
        let key = try Curve25519.KeyAgreement.PrivateKey(rawRepresentation: ephemeral)
        let encapsulated = Array(key.publicKey.rawRepresentation)
        let shared = try key.sharedSecretFromKeyAgreement(with: .init(rawRepresentation: recipient))
        let agreed = shared.withUnsafeBytes { Array($0) }
        let secret = expand(
            extract([], "eae_prk", agreed, kem), "shared_secret", encapsulated + recipient, 32, kem)
        let context = [0] + extract([], "psk_id_hash", [], suite) + extract([], "info_hash", info, suite)
        let scheduled = extract(secret, "secret", [], suite)
        let sealed = try AES.GCM.seal(
            plain, using: SymmetricKey(data: expand(scheduled, "key", context, 32, suite)),
            nonce: AES.GCM.Nonce(data: expand(scheduled, "base_nonce", context, 12, suite)))
        return (encapsulated, Array(sealed.ciphertext) + Array(sealed.tag))
    }

    private static func extract(_ salt: [UInt8], _ label: String, _ material: [UInt8], _ suite: [UInt8]) -> [UInt8] {
        let labeled = Array("HPKE-v1".utf8) + suite + Array(label.utf8) + material
        return Array(HKDF<SHA256>.extract(inputKeyMaterial: SymmetricKey(data: labeled), salt: salt))
    }

    private static func expand(
        _ secret: [UInt8], _ label: String, _ info: [UInt8], _ count: Int, _ suite: [UInt8]
    ) -> [UInt8] {
        let labeled =
            [UInt8(count >> 8), UInt8(count & 0xff)] + Array("HPKE-v1".utf8) + suite + Array(label.utf8) + info
        return HKDF<SHA256>.expand(
            pseudoRandomKey: SymmetricKey(data: secret), info: labeled, outputByteCount: count
        ).withUnsafeBytes { Array($0) }
    }
}
