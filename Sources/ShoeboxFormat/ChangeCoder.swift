public import ShoeboxModel
package import SwiftProtobuf

/// Changes as bytes: the form in which they are stored and in which they travel in segments.
///
/// Equal changes give equal bytes: everything that has no order of its own is sorted. Decoding validates every field,
/// so that what comes out is a change as if made here. The fields are explained in `Documentation/Format/Segments.md`.
public enum ChangeCoder {
    /// How deep lists may be nested in a value.
    public static let listDepthMax = 32
    /// How many replicas a context may name.
    public static let contextCountMax = 4_096

    /// The bytes of a change.
    ///
    /// A change that `decode` would refuse (a list nested too deeply, a counter of 0) is encoded all the same: call
    /// `check` before a change that came from outside is made.
    public static func encode(_ change: Change) -> [UInt8] {
        // Serializing fails for messages with required fields or an invalid UTF-8 string only; there are neither.
        (try? change.wire.serializedBytes() as [UInt8]) ?? []
    }

    /// The change that these bytes are. Fields that this version doesn't know are ignored.
    public static func decode(_ bytes: [UInt8]) throws(FormatError) -> Change {
        try Change(wire: decodeWire(WireChange.self, bytes, what: "change"))
    }

    /// Throws if `decode` would refuse what `encode` makes of this change.
    public static func check(_ change: Change) throws(FormatError) { _ = try Change(wire: change.wire) }
}

/// A message of the given type from bytes.
package func decodeWire<Wire: SwiftProtobuf.Message>(
    _ type: Wire.Type, _ bytes: [UInt8], what: String
) throws(FormatError) -> Wire {
    do {
        return try Wire(serializedBytes: bytes)
    } catch {
        throw FormatError(message: "The bytes are not a \(what): \(error).")
    }
}

extension Change {
    /// The change as a message.
    package var wire: WireChange {
        var wire = WireChange()
        wire.record = record.wireBytes
        wire.type = type.rawValue
        wire.dot = dot.wire
        wire.context = context.entries.map(\.wire)
        wire.timestamp = timestamp.wire
        wire.author = author.digest.wireBytes
        switch action {
        case .set(let fields):
            wire.set = WireFieldSet()
            wire.set.fields = fields.sorted { $0.key < $1.key }.map { key, value in
                var field = WireField()
                field.key = key.rawValue
                field.value = value.wire
                return field
            }
        case .delete: wire.delete = true
        case .moved(let zone): wire.movedTo = zone.digest.wireBytes
        }
        wire.isDerived = isDerived
        if let movedFrom { wire.movedFrom = movedFrom.digest.wireBytes }
        if let forwards { wire.forwards = forwards.wire }
        return wire
    }

    /// The change that a message says, every field validated.
    package init(wire: WireChange) throws(FormatError) {
        guard let record = RecordName(bytes: wire.record) else { throw .count("change.record", wire.record.count, 16) }
        guard record != .zoneRoot else { throw FormatError(message: "change.record is the name of a zone's root.") }
        guard !wire.type.isEmpty else { throw FormatError(message: "change.type is empty.") }
        let action: Action
        switch wire.action {
        case .set(let set):
            var fields: [FieldKey: Value] = [:]
            fields.reserveCapacity(set.fields.count)
            for field in set.fields {
                guard !field.key.isEmpty else { throw FormatError(message: "A field of a change has no name.") }
                let key = FieldKey(rawValue: field.key)
                let value = try Value(wire: field.value, depth: 0)
                guard fields.updateValue(value, forKey: key) == nil else {
                    throw FormatError(message: "A change sets one field twice.")
                }
            }
            action = .set(fields)
        case .delete(let flag):
            guard flag else { throw FormatError(message: "change.delete is false.") }
            action = .delete
        case .movedTo(let bytes): action = .moved(to: ZoneID(try Digest32(wire: bytes, "change.moved_to")))
        case nil:
            throw FormatError(message: "A change says nothing that this version knows.")
        }
        self.init(
            record: record, type: RecordType(rawValue: wire.type),
            dot: try Dot(wire: wire.hasDot ? wire.dot : nil, "change.dot"),
            context: try VersionVector(wire: wire.context),
            timestamp: try HybridTimestamp(wire: wire.hasTimestamp ? wire.timestamp : nil),
            author: AccountID(try Digest32(wire: wire.author, "change.author")), action: action,
            isDerived: wire.isDerived,
            movedFrom: wire.hasMovedFrom ? ZoneID(try Digest32(wire: wire.movedFrom, "change.moved_from")) : nil,
            forwards: wire.hasForwards ? try Dot(wire: wire.forwards, "change.forwards") : nil)
    }
}
