import CZlib

/// The zlib format (RFC 1950), in memory and bounded.
enum Zlib {
    /// The most bytes that anything may inflate to.
    static let plainCountMax = 67_108_864

    /// The compressed bytes.
    static func deflate(_ plain: [UInt8]) throws(CloudError) -> [UInt8] {
        var count = compressBound(uLong(plain.count))
        var result = [UInt8](repeating: 0, count: Int(count))
        let status = compress2(&result, &count, plain, uLong(plain.count), 6)
        guard status == Z_OK, count <= result.count else { throw .invalid("Compressing failed (\(status)).") }
        result.removeSubrange(Int(count)...)
        return result
    }

    /// The plain bytes, which must be exactly as many as said. Memory for no more than that is taken, and not even that
    /// where it is more than deflate can pack into so few bytes.
    static func inflate(_ compressed: [UInt8], plainCount: UInt64) throws(CloudError) -> [UInt8] {
        guard plainCount <= UInt64(plainCountMax), plainCount <= UInt64(compressed.count) * 1_032 + 1_024 else {
            throw .damaged("A body claims to inflate to \(plainCount) bytes, more than allowed.")
        }
        var count = uLong(plainCount)
        // One byte more than needed: a buffer of none has no address.
        var result = [UInt8](repeating: 0, count: Int(plainCount) + 1)
        let status = uncompress(&result, &count, compressed, uLong(compressed.count))
        guard status == Z_OK, UInt64(count) == plainCount else {
            throw .damaged("A body does not inflate to the \(plainCount) bytes it claims (\(status)).")
        }
        result.removeLast()
        return result
    }
}
