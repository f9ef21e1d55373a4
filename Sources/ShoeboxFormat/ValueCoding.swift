package import FoundationEssentials
package import ShoeboxModel

extension FormatError {
    /// Says that a field has not as many bytes as it must.
    package static func count(_ field: String, _ count: Int, _ expected: Int) -> FormatError {
        FormatError(message: "\(field) has \(count) bytes instead of \(expected).")
    }
}

extension Digest32 {
    /// The bytes as a field of a message.
    package var wireBytes: Data { Data(bytes) }

    /// A digest from a field of a message.
    package init(wire: Data, _ field: String) throws(FormatError) {
        guard let digest = Digest32(bytes: wire) else { throw .count(field, wire.count, 32) }
        self = digest
    }
}

extension RecordName {
    /// The bytes as a field of a message.
    package var wireBytes: Data { Data(bytes) }
}

extension ReplicaID {
    /// The bytes as a field of a message.
    package var wireBytes: Data { Data(bytes) }

    /// A replica from a field of a message.
    package init(wire: Data, _ field: String) throws(FormatError) {
        guard let replica = ReplicaID(bytes: wire) else { throw .count(field, wire.count, 16) }
        self = replica
    }
}

extension Dot {
    /// The dot as a message.
    package var wire: WireDot {
        var wire = WireDot()
        wire.replica = replica.wireBytes
        wire.counter = counter
        return wire
    }

    /// A dot from a message; missing, or with a counter of 0, is an error.
    package init(wire: WireDot?, _ field: String) throws(FormatError) {
        guard let wire else { throw FormatError(message: "\(field) is missing.") }
        guard wire.counter > 0 else { throw FormatError(message: "\(field).counter is 0.") }
        self.init(replica: try ReplicaID(wire: wire.replica, field + ".replica"), counter: wire.counter)
    }
}

extension VersionVector {
    /// A context from its entries, which must be sorted, each replica once.
    package init(wire: [WireDot]) throws(FormatError) {
        guard wire.count <= ChangeCoder.contextCountMax else {
            throw FormatError(message: "change.context names \(wire.count) replicas, more than allowed.")
        }
        var dots: [Dot] = []
        dots.reserveCapacity(wire.count)
        for entry in wire {
            let dot = try Dot(wire: entry, "change.context")
            if let last = dots.last, last.replica >= dot.replica {
                throw FormatError(message: "change.context is not sorted, or names a replica twice.")
            }
            dots.append(dot)
        }
        self.init(dots)
    }
}

extension HybridTimestamp {
    /// The timestamp as a message.
    package var wire: WireTimestamp {
        var wire = WireTimestamp()
        wire.wallMilliseconds = wallMilliseconds
        wire.counter = UInt32(counter)
        wire.replica = replica.wireBytes
        return wire
    }

    /// A timestamp from a message.
    package init(wire: WireTimestamp?) throws(FormatError) {
        guard let wire else { throw FormatError(message: "change.timestamp is missing.") }
        guard let counter = UInt16(exactly: wire.counter) else {
            throw FormatError(message: "change.timestamp.counter is \(wire.counter), more than 65535.")
        }
        self.init(
            wallMilliseconds: wire.wallMilliseconds, counter: counter,
            replica: try ReplicaID(wire: wire.replica, "change.timestamp.replica"))
    }
}

extension AssetReference {
    /// The reference as a message.
    package var wire: WireAsset {
        var wire = WireAsset()
        wire.contentHash = contentHash.wireBytes
        wire.size = size
        if let location { wire.location = location }
        wire.key = Data(key)
        return wire
    }

    /// A reference from a message; the location is checked where it is used.
    package init(wire: WireAsset) throws(FormatError) {
        guard wire.key.isEmpty || wire.key.count == 32 else { throw .count("asset.key", wire.key.count, 32) }
        guard !wire.hasLocation || wire.location.utf8.count <= 512 else {
            throw FormatError(message: "asset.location has more than 512 bytes.")
        }
        self.init(
            contentHash: try Digest32(wire: wire.contentHash, "asset.content_hash"), size: wire.size,
            location: wire.hasLocation ? wire.location : nil, key: Array(wire.key))
    }
}

extension Value {
    /// The value as a message.
    package var wire: WireValue {
        var wire = WireValue()
        switch self {
        case .null: wire.null = true
        case .boolean(let flag): wire.boolean = flag
        case .integer(let number): wire.integer = number
        case .number(let number): wire.number = number
        case .text(let text): wire.text = text
        case .bytes(let bytes): wire.bytes = Data(bytes)
        case .name(let name): wire.name = Data(name.bytes)
        case .reference(let record): wire.reference = record.wireBytes
        case .asset(let asset): wire.asset = asset.wire
        case .list(let values):
            wire.list = WireValueList()
            wire.list.values = values.map(\.wire)
        }
        return wire
    }

    /// A value from a message that lies inside `depth` lists.
    package init(wire: WireValue, depth: Int) throws(FormatError) {
        switch wire.kind {
        case .null: self = .null
        case .boolean(let flag): self = .boolean(flag)
        case .integer(let number): self = .integer(number)
        case .number(let number): self = .number(number)
        case .text(let text): self = .text(text)
        case .bytes(let bytes): self = .bytes(Array(bytes))
        case .name(let bytes):
            guard let name = FileName(bytes: bytes) else {
                throw FormatError(message: "A value is not a valid file name: '\(escapeForDisplay(Array(bytes)))'.")
            }
            self = .name(name)
        case .reference(let bytes):
            guard let record = RecordName(bytes: bytes) else { throw .count("value.reference", bytes.count, 16) }
            self = .reference(record)
        case .asset(let asset): self = .asset(try AssetReference(wire: asset))
        case .list(let list):
            guard depth < ChangeCoder.listDepthMax else {
                throw FormatError(message: "A value is a list nested more than \(ChangeCoder.listDepthMax) deep.")
            }
            var values: [Value] = []
            values.reserveCapacity(list.values.count)
            for value in list.values { values.append(try Value(wire: value, depth: depth + 1)) }
            self = .list(values)
        case nil: throw FormatError(message: "A value has no content that this version knows.")
        }
    }
}
