import FoundationEssentials
import ShoeboxFormat
import ShoeboxModel
import SwiftProtobuf

/// The common form of every immutable signed file: a line of magic, then header, body and signature.
struct SignedFile {
    /// What kind of file: a word in the line of magic, which is signed too, so no file passes for one of another kind.
    enum Kind: String, CaseIterable {
        case account, control, segment, letter, join
        /// The first bytes of the file.
        var magic: [UInt8] { Array("shoebox.\(rawValue)/1\n".utf8) }
    }

    var header: [UInt8]
    var body: [UInt8]
    var signature: [UInt8]
    /// SHA-256 of the whole file.
    var hash: Digest32

    /// The bytes of a file, signed.
    static func encode(
        _ kind: Kind, header: [UInt8], body: [UInt8], signingKey: [UInt8]
    ) throws(CloudError) -> [UInt8] {
        var wire = WireSigned()
        wire.header = Data(header)
        wire.body = Data(body)
        wire.signature = Data(try sign(signedBytes(kind, header, body), with: signingKey))
        return kind.magic + (try serialize(wire))
    }

    /// The parts of a file. The signature is not checked: who must have signed stands in the header.
    static func decode(_ kind: Kind, _ bytes: [UInt8]) throws(CloudError) -> SignedFile {
        let magic = kind.magic
        guard bytes.starts(with: magic) else {
            if bytes.starts(with: Array("shoebox.\(kind.rawValue)/".utf8)) {
                throw CloudError(
                    code: .newerFormat, message: "A \(kind.rawValue) file is of a newer format.",
                    remedy: "Update shoebox on this machine.")
            }
            throw .damaged("The file doesn't begin as a \(kind.rawValue) file does.")
        }
        let wire: WireSigned
        do {
            wire = try decodeWire(WireSigned.self, Array(bytes[magic.count...]), what: "\(kind.rawValue) file")
        } catch { throw .damaged(error) }
        return SignedFile(
            header: Array(wire.header), body: Array(wire.body), signature: Array(wire.signature), hash: sha256(bytes))
    }

    /// Whether the device signed exactly this header and body as a file of this kind.
    func isSigned(_ kind: Kind, by device: DeviceID) -> Bool {
        isValid(signature, over: Self.signedBytes(kind, header, body), by: device)
    }

    private static func signedBytes(_ kind: Kind, _ header: [UInt8], _ body: [UInt8]) -> [UInt8] {
        var bytes = kind.magic
        bytes.reserveCapacity(bytes.count + 8 + header.count + body.count)
        bytes += bigEndian(UInt64(header.count))
        bytes += header
        bytes += body
        return bytes
    }
}

/// The bytes of a message.
func serialize(_ message: some SwiftProtobuf.Message) throws(CloudError) -> [UInt8] {
    do { return try message.serializedBytes() } catch { throw .invalid("A message can't be written: \(error).") }
}

/// A header or body of a file as a message.
func parse<Wire: SwiftProtobuf.Message>(_ type: Wire.Type, _ bytes: [UInt8], _ what: String) throws(CloudError) -> Wire
{
    do { return try decodeWire(type, bytes, what: what) } catch { throw .damaged(error) }
}

/// A field of 32 bytes.
func digest(_ data: Data, _ field: String) throws(CloudError) -> Digest32 {
    do { return try Digest32(wire: data, field) } catch { throw .damaged(error) }
}

/// A field that names a replica.
func replica(_ data: Data, _ field: String) throws(CloudError) -> ReplicaID {
    do { return try ReplicaID(wire: data, field) } catch { throw .damaged(error) }
}

extension WirePosition {
    /// A position as a message.
    init(_ position: Position) {
        self.init()
        sequence = position.sequence
        hash = position.hash.wireBytes
    }

    /// The position that the message says.
    func position(_ field: String) throws(CloudError) -> Position {
        Position(sequence: sequence, hash: try digest(hash, field))
    }
}
