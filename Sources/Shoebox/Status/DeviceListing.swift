import ShoeboxCloud
public import ShoeboxModel
import ShoeboxStore

/// The devices of this machine's account, as far as it knows them.
public struct DeviceListing: Sendable {
    /// One device.
    public struct Device: Sendable {
        /// Its key, 64 hexadecimal digits.
        public var id: String
        /// Its label.
        public var label: String
        /// Whether it is this one.
        public var isThis: Bool
        /// Whether it was retired.
        public var isRetired: Bool
        /// When it was added, milliseconds since 1970.
        public var added: UInt64
        /// When it was last seen, by its own clock; 0 for never.
        public var seen: UInt64

        /// As `--json` prints it.
        public var json: JSONObject {
            [
                "id": .string(id), "label": .string(label), "isThis": .bool(isThis), "isRetired": .bool(isRetired),
                "added": StatusText.json(time: added), "lastSeen": StatusText.json(time: seen),
            ]
        }

        /// As a person reads it.
        public var line: String {
            var parts = [String(id.prefix(12)), label.isEmpty ? "unnamed" : label]
            if isThis { parts.append("this device") }
            parts.append("added \(StatusText.local(added))")
            if !isThis { parts.append("last seen \(StatusText.local(seen))") }
            if isRetired { parts.append("retired") }
            return parts.joined(separator: "  ")
        }
    }

    /// The devices, in the order in which they were added.
    public let devices: [Device]

    /// The devices of an installation's account, from its keys and its database.
    public init(_ installation: Installation) throws {
        let identity = try installation.identity()
        let seen = try installation.openStore().read { db in try db.lastSeen() }
        let entry = try identity.accountEntry()
        devices = (entry?.devices ?? [:])
            .sorted { ($0.value.addedMilliseconds, $0.key) < ($1.value.addedMilliseconds, $1.key) }
            .map { id, device in
                Device(
                    id: id.description, label: device.label, isThis: id == identity.device,
                    isRetired: device.isRetired, added: device.addedMilliseconds, seen: seen[id.digest] ?? 0)
            }
    }
}
