import Crypto
import FoundationEssentials
import ShoeboxModel

/// The SHA-256 of bytes.
func sha256(_ bytes: [UInt8]) -> Digest32 {
    var hasher = SHA256()
    bytes.withUnsafeBytes { hasher.update(bufferPointer: $0) }
    return Digest32(hasher.finalize())
}

extension Digest32 {
    /// A digest that the hasher made.
    init(_ digest: SHA256.Digest) {
        var high: UInt128 = 0
        var low: UInt128 = 0
        for (index, byte) in digest.enumerated() {
            if index < 16 { high = high << 8 | UInt128(byte) } else { low = low << 8 | UInt128(byte) }
        }
        self.init(high: high, low: low)
    }
}

/// Sealing of one message: a fresh random nonce, then AES-256-GCM.
enum SealedBody {
    /// The nonce (12 bytes), the ciphertext and the tag (16 bytes).
    static func seal(
        _ plain: [UInt8], key: [UInt8], purpose: [UInt8], header: [UInt8], nonce: [UInt8]
    ) throws(CloudError) -> [UInt8] {
        do {
            let box = try AES.GCM.seal(
                plain, using: derive(key, purpose), nonce: try AES.GCM.Nonce(data: nonce), authenticating: header)
            return nonce + Array(box.ciphertext) + Array(box.tag)
        } catch {
            throw .invalid("Sealing failed: \(error).")
        }
    }

    /// The plain bytes; an error if key, header or any bit is not the one it was sealed with.
    static func open(_ sealed: [UInt8], key: [UInt8], purpose: [UInt8], header: [UInt8]) throws(CloudError) -> [UInt8] {
        guard sealed.count >= 28 else { throw .damaged("A sealed body has only \(sealed.count) bytes.") }
        do {
            let box = try AES.GCM.SealedBox(
                nonce: AES.GCM.Nonce(data: sealed[..<12]), ciphertext: sealed[12..<(sealed.count - 16)],
                tag: sealed[(sealed.count - 16)...])
            return Array(try AES.GCM.open(box, using: derive(key, purpose), authenticating: header))
        } catch {
            throw .damaged("A sealed body does not open with its key: it was edited, or sealed by somebody else.")
        }
    }

    static func derive(_ key: [UInt8], _ purpose: [UInt8]) -> SymmetricKey {
        HKDF<SHA256>.deriveKey(inputKeyMaterial: SymmetricKey(data: key), info: purpose, outputByteCount: 32)
    }
}

/// 32 bytes made from a secret for one purpose: HKDF-SHA256.
func deriveSecret(_ secret: [UInt8], _ purpose: String) -> [UInt8] {
    SealedBody.derive(secret, Array(purpose.utf8)).withUnsafeBytes { Array($0) }
}

/// Whether a signature by a public key is over these bytes.
func isValid(_ signature: [UInt8], over bytes: [UInt8], by device: DeviceID) -> Bool {
    guard signature.count == 64,
        let key = try? Curve25519.Signing.PublicKey(rawRepresentation: device.digest.bytes)
    else { return false }
    return key.isValidSignature(signature, for: bytes)
}

/// A signature (64 bytes) by a private signing key.
func sign(_ bytes: [UInt8], with key: [UInt8]) throws(CloudError) -> [UInt8] {
    do {
        return Array(try Curve25519.Signing.PrivateKey(rawRepresentation: key).signature(for: bytes))
    } catch {
        throw .invalid("Signing failed: \(error).")
    }
}

/// The public half of a private signing key.
func signingPublicKey(_ key: [UInt8]) throws(CloudError) -> DeviceID {
    do {
        let bytes = Array(try Curve25519.Signing.PrivateKey(rawRepresentation: key).publicKey.rawRepresentation)
        if let digest = Digest32(bytes: bytes) { return DeviceID(digest) }
    } catch {}
    throw .invalid("A signing key has \(key.count) bytes, or is not valid.")
}

/// The public half of a private agreement key: 32 bytes.
func agreementPublicKey(_ key: [UInt8]) throws(CloudError) -> [UInt8] {
    do {
        return Array(try Curve25519.KeyAgreement.PrivateKey(rawRepresentation: key).publicKey.rawRepresentation)
    } catch {
        throw .invalid("An agreement key has \(key.count) bytes, or is not valid.")
    }
}

/// Wrapping of a zone's key for an account: HPKE (RFC 9180), base mode, X25519, HKDF-SHA256, AES-256-GCM.
package enum KeyWrap {
    /// In place of the library's own wrapping, which takes its randomness from the system and nowhere else: a simulation
    /// sets it, so that its seed decides every byte of the container. Nil in production. Takes the plain text, the
    /// recipient's public key and the info; gives the encapsulated key and the ciphertext, as RFC 9180 has them.
    @TaskLocal package static var seededWrapping: (@Sendable ([UInt8], [UInt8], [UInt8]) throws -> ([UInt8], [UInt8]))?

    private static let suite = HPKE.Ciphersuite(kem: .Curve25519_HKDF_SHA256, kdf: .HKDF_SHA256, aead: .AES_GCM_256)

    /// The encapsulated key (32 bytes) and the ciphertext (48 bytes). Its own randomness is the system's.
    static func wrap(_ key: [UInt8], for agreementKey: [UInt8], info: [UInt8]) throws(CloudError) -> ([UInt8], [UInt8])
    {
        do {
            if let seededWrapping { return try seededWrapping(key, agreementKey, info) }
            let recipient = try Curve25519.KeyAgreement.PublicKey(rawRepresentation: agreementKey)
            var sender = try HPKE.Sender(recipientKey: recipient, ciphersuite: suite, info: Data(info))
            let sealed = try sender.seal(key)
            return (Array(sender.encapsulatedKey), Array(sealed))
        } catch {
            throw .invalid("Wrapping a key failed: \(error).")
        }
    }

    /// The key, or nil if it was wrapped for somebody else.
    static func unwrap(encapsulated: [UInt8], ciphertext: [UInt8], with key: [UInt8], info: [UInt8]) -> [UInt8]? {
        let plain = open(encapsulated: encapsulated, ciphertext: ciphertext, with: key, info: info)
        return plain?.count == 32 ? plain : nil
    }

    /// A message of any length that was wrapped as a key is, or nil if it was for somebody else.
    static func open(encapsulated: [UInt8], ciphertext: [UInt8], with key: [UInt8], info: [UInt8]) -> [UInt8]? {
        guard let key = try? Curve25519.KeyAgreement.PrivateKey(rawRepresentation: key),
            var recipient = try? HPKE.Recipient(
                privateKey: key, ciphersuite: suite, info: Data(info), encapsulatedKey: Data(encapsulated)),
            let plain = try? recipient.open(ciphertext)
        else { return nil }
        return Array(plain)
    }
}

/// The count of bytes as 8 bytes, most significant first.
func bigEndian(_ number: UInt64) -> [UInt8] {
    (0..<8).map { UInt8(truncatingIfNeeded: number >> (56 - 8 * UInt64($0))) }
}
