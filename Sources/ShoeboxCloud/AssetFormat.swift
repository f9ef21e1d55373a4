import Crypto
import FoundationEssentials
import ShoeboxModel

/// The bytes of asset files: frames sealed one by one, by the STREAM construction (Hoang, Reyhanitabar, Rogaway, Vizár,
/// *Online Authenticated-Encryption and its Nonce-Reuse Misuse-Resistance*, 2015).
///
/// Header of 32 bytes: magic (16), frame size as a power of two (1), nonce prefix (7), zeros (8). Then frames: ciphertext
/// and tag (16), each of the frame size but the last, which has the rest (0 bytes only in an empty asset). The nonce is
/// prefix ‖ number (4, big-endian) ‖ 1 for the last and 0 for the others; the header is authenticated with each.
struct AssetFormat {
    static let headerCount = 32
    static let tagCount = 16
    /// 128 KiB: larger buffers make the allocator fetch fresh pages for each.
    static let frameBits: UInt8 = 17
    private static let magic = Array("shoebox.asset/1\n".utf8)

    let header: [UInt8]
    private let prefix: [UInt8]
    private let key: SymmetricKey
    let frameCount: Int

    /// For writing. The key is 32 random bytes used for no other asset, the prefix 7 random bytes.
    init(key: [UInt8], prefix: [UInt8], frameBits: UInt8 = AssetFormat.frameBits) {
        self.key = SymmetricKey(data: key)
        self.prefix = prefix
        frameCount = 1 << Int(frameBits)
        header = Self.magic + [frameBits] + prefix + [UInt8](repeating: 0, count: 8)
    }

    /// For reading: the header of a file.
    init(header: [UInt8], key: [UInt8]) throws(CloudError) {
        guard header.count == Self.headerCount, header.starts(with: Self.magic), (12...20).contains(header[16]) else {
            throw .damaged("The file doesn't begin as an asset does.")
        }
        self.init(key: key, prefix: Array(header[17..<24]), frameBits: header[16])
        guard self.header == header else { throw .damaged("The file doesn't begin as an asset does.") }
    }

    /// How many frames a content of this size has; nil if the number does not fit.
    func frames(size: UInt64) -> UInt32? {
        let count = size == 0 ? 1 : (size - 1) / UInt64(frameCount) + 1
        return UInt32(exactly: count)
    }

    private func nonce(_ number: UInt32, isLast: Bool) throws -> AES.GCM.Nonce {
        let bytes =
            prefix + [
                UInt8(truncatingIfNeeded: number >> 24), UInt8(truncatingIfNeeded: number >> 16),
                UInt8(truncatingIfNeeded: number >> 8), UInt8(truncatingIfNeeded: number), isLast ? 1 : 0,
            ]
        return try AES.GCM.Nonce(data: bytes)
    }

    /// One frame sealed: ciphertext and tag.
    func seal(_ plain: [UInt8], number: UInt32, isLast: Bool) throws(CloudError) -> [UInt8] {
        do {
            let box = try AES.GCM.seal(plain, using: key, nonce: nonce(number, isLast: isLast), authenticating: header)
            var result: [UInt8] = []
            result.reserveCapacity(plain.count + Self.tagCount)
            result.append(contentsOf: box.ciphertext)
            result.append(contentsOf: box.tag)
            return result
        } catch { throw .invalid("Sealing failed: \(error).") }
    }

    /// One frame opened. Fails if any bit, its number, or its being the last is not as it was sealed.
    func open(_ sealed: ArraySlice<UInt8>, number: UInt32, isLast: Bool) throws(CloudError) -> [UInt8] {
        guard sealed.count >= Self.tagCount else { throw .damaged("A frame of an asset is cut short.") }
        do {
            let split = sealed.endIndex - Self.tagCount
            let box = try AES.GCM.SealedBox(
                nonce: nonce(number, isLast: isLast), ciphertext: sealed[..<split], tag: sealed[split...])
            return Array(try AES.GCM.open(box, using: key, authenticating: header))
        } catch { throw .damaged("Frame \(number) of an asset doesn't open: it was edited, moved or cut short.") }
    }
}
