import FoundationEssentials
import ShoeboxFormat
import ShoeboxModel

/// Which key a zone's files are sealed with.
public struct EpochID: Hashable, Comparable, Sendable, CustomStringConvertible {
    /// From 1; a removal starts the next.
    public var number: UInt64
    /// 16 bytes made from the key, so that two epochs of one number differ, and a key proves to be this epoch's.
    public var id: UInt128
    /// An epoch from its parts.
    public init(number: UInt64, id: UInt128) {
        self.number = number
        self.id = id
    }
    /// `number-id`.
    public var description: String { "\(number)-\(ReplicaID(id))" }
    /// By number, then by id.
    public static func < (left: Self, right: Self) -> Bool { (left.number, left.id) < (right.number, right.id) }

    init(number: UInt64, key: [UInt8]) {
        let hash = sha256(Array("shoebox.epoch/1".utf8) + bigEndian(number) + key)
        self.init(number: number, id: hash.high)
    }

    init(wire: WireEpoch) throws(CloudError) {
        guard wire.number > 0 else { throw .damaged("An epoch has the number 0.") }
        self.init(number: wire.number, id: try replica(wire.id, "epoch.id").value)
    }

    var wire: WireEpoch {
        var wire = WireEpoch()
        wire.number = number
        wire.id = ReplicaID(id).wireBytes
        return wire
    }
}

/// The keys of a zone that this replica knows. Secret; stored in the local database.
public struct ZoneKeyring: Hashable, Sendable, CustomStringConvertible, CustomReflectable {
    /// Every key known. A key is 32 bytes.
    private(set) var keys: [EpochID: [UInt8]] = [:]
    /// The epoch that new data is sealed with; nil in plain zones and before a control was read.
    public internal(set) var current: EpochID?

    /// No keys: what a plain zone has, and what anyone has before the first control is read.
    public init() {}

    /// The epochs whose keys are known, oldest first.
    public var epochs: [EpochID] { keys.keys.sorted() }
    /// The epochs; no key.
    public var description: String { "keys of \(keys.count) epochs, current \(current?.description ?? "none")" }
    /// No key.
    public var customMirror: Mirror { Mirror(self, children: ["epochs": epochs]) }

    /// The key of an epoch; nil if it isn't known.
    func key(_ epoch: EpochID) -> [UInt8]? { keys[epoch] }

    /// Takes in a key; one that is not its epoch's is refused.
    mutating func insert(_ key: [UInt8], for epoch: EpochID) throws(CloudError) {
        guard key.count == 32, EpochID(number: epoch.number, key: key) == epoch else {
            throw .damaged("A zone key is not the one of its epoch.")
        }
        keys[epoch] = key
    }

    /// The older keys as messages, for those invited later.
    func wire(except current: EpochID?) -> [WireEpochKey] {
        epochs.filter { $0 != current }.map { epoch in
            var wire = WireEpochKey()
            wire.epoch = epoch.wire
            wire.key = Data(keys[epoch] ?? [])
            return wire
        }
    }

    /// The bytes to store, keys included.
    public func serialized() throws(CloudError) -> [UInt8] {
        var message = WireKeyring()
        message.keys = wire(except: nil)
        if let current { message.current = current.wire }
        return try serialize(message)
    }

    /// The keyring that was stored; `.damaged` for other bytes.
    public init(serialized bytes: [UInt8]) throws(CloudError) {
        let message = try parse(WireKeyring.self, bytes, "keyring")
        for entry in message.keys { try insert(Array(entry.key), for: try EpochID(wire: entry.epoch)) }
        current = message.hasCurrent ? try EpochID(wire: message.current) : nil
    }
}
