import FoundationEssentials
import ShoeboxFormat
import ShoeboxModel
import SwiftProtobuf

/// A file of a container as JSON text, for people and scripts: the clear parts always, sealed ones if the keyring has
/// their key. Bytes are base64, as protobuf's JSON has them. Signatures are not checked.
///
/// - Throws: `.damaged` if the bytes are none of the container's files.
public func inspect(_ bytes: [UInt8], keyring: ZoneKeyring? = nil) throws(CloudError) -> String {
    if bytes.starts(with: Array("shoebox.account/".utf8)) {
        let file = try SignedFile.decode(.account, bytes)
        return try document("account", file, try parse(WireAccountStatement.self, file.header, "statement"))
    }
    if bytes.starts(with: Array("shoebox.control/".utf8)) {
        let control = try ControlFile(bytes)
        var body: WireControlBody?
        if let opened = try? control.openedBody(keyring: keyring) {
            body = try parse(WireControlBody.self, opened, "control body")
            // Keys are for keyrings, not for screens.
            body?.older = []
        }
        return try document("control", control.file, control.wire, body: body)
    }
    if bytes.starts(with: Array("shoebox.segment/".utf8)) {
        let file = try SignedFile.decode(.segment, bytes)
        let header = try parse(WireSegmentHeader.self, file.header, "segment")
        var body: WireSegmentBody?
        if let opened = try? openedBody(file, header, keyring: keyring) {
            body = try SegmentCoder.parseBody(opened)
        }
        return try document("segment", file, header, body: body)
    }
    if bytes.starts(with: HeadFormat.magic) {
        let (records, skipped) = HeadFormat.scan(bytes)
        var texts: [String] = []
        for record in records { texts.append(try json(try parse(WireHead.self, record.payload, "head"))) }
        return
            "{\"format\":\"shoebox.head/1\",\"blocksSkipped\":\(skipped),\"records\":[\(texts.joined(separator: ","))]}"
    }
    if bytes.starts(with: Array("shoebox.asset/1\n".utf8)), bytes.count >= AssetFormat.headerCount {
        return "{\"format\":\"shoebox.asset/1\",\"frameBits\":\(bytes[16]),\"fileBytes\":\(bytes.count)}"
    }
    if bytes.first == UInt8(ascii: "{"), let object = (try? JSONText.parse(bytes))?.object,
        object["format"]?.text?.hasPrefix("shoebox.container/") == true
    {
        return String(decoding: JSONText.encode(.object(object)), as: UTF8.self)
    }
    throw .damaged("This is not a file of a container.")
}

private func openedBody(
    _ file: SignedFile, _ header: WireSegmentHeader, keyring: ZoneKeyring?
) throws(CloudError) -> [UInt8] {
    var compressed = file.body
    if header.hasEpoch {
        let epoch = try EpochID(wire: header.epoch)
        guard let key = keyring?.key(epoch) else { throw SegmentCoder.missingKey(epoch) }
        let name = try replica(header.replica, "segment.replica")
        compressed = try SealedBody.open(
            compressed, key: key, purpose: SegmentCoder.purpose(name), header: file.header)
    }
    return try Zlib.inflate(compressed, plainCount: header.plainCount)
}

private func document(
    _ kind: String, _ file: SignedFile, _ header: some SwiftProtobuf.Message, body: (any SwiftProtobuf.Message)? = nil
) throws(CloudError) -> String {
    var text = "{\"format\":\"shoebox.\(kind)/1\",\"hash\":\"\(file.hash)\",\"bodyBytes\":\(file.body.count)"
    text += ",\"header\":\(try json(header))"
    if let body { text += ",\"body\":\(try json(body))" }
    return text + "}"
}

private func json(_ message: any SwiftProtobuf.Message) throws(CloudError) -> String {
    do { return try message.jsonString() } catch { throw .damaged("A message can't be shown as JSON: \(error).") }
}
