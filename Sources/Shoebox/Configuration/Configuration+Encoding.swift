public import ShoeboxModel

extension Configuration {
    /// The configuration as the text of its file.
    ///
    /// Folders are always written, anything else only where it differs from its default, so that a later version's
    /// better default reaches those who didn't choose; `withDefaults` writes every key.
    public func encoded(withDefaults: Bool = false) -> [UInt8] {
        let object =
            withDefaults ? json : json.without(equalsOf: defaulted.json, keeping: Self.requiredKeys + ["state"])
        return JSONText.encode(.object(object))
    }

    /// The keys without which there is nothing to work with.
    public static let requiredKeys = ["account", "container", "library", "shared"]

    /// Every key with its value, in the order of the example.
    public var json: JSONObject {
        [
            "account": .string(account),
            "container": .string(container.text),
            "library": .string(library.text),
            "shared": .string(shared.text),
            "state": .string(state.text),
            "mode": .string(mode.rawValue),
            "settleMilliseconds": .whole(settleMilliseconds),
            "pollMilliseconds": .object([
                "active": .whole(pollMilliseconds.active),
                "idle": .whole(pollMilliseconds.idle),
            ]),
            "deleteDelayMilliseconds": .whole(deleteDelayMilliseconds),
            "ignore": .strings(ignore),
            "sidecars": .string(sidecars.rawValue),
            "trash": .object([
                "days": .whole(trash.days),
                "bytesMax": trash.bytesMax.map(JSONValue.whole) ?? .null,
            ]),
            "limits": .object([
                "massDeletionCount": .whole(limits.massDeletionCount),
                "massDeletionPercent": .whole(limits.massDeletionPercent),
                "zonesMax": .whole(limits.zonesMax),
                "participantsMax": .whole(limits.participantsMax),
            ]),
            "compaction": .object([
                "segmentsMin": .whole(compaction.segmentsMin),
                "segmentsMax": .whole(compaction.segmentsMax),
                "graceSeconds": .whole(compaction.graceSeconds),
            ]),
            "watcherPath": watcherPath.map { .string($0.text) } ?? .null,
            "assets": .object([
                "policy": .string(assets.policy.rawValue),
                "cacheBytesMax": assets.cacheBytesMax.map(JSONValue.whole) ?? .null,
            ]),
            "masks": .object([
                "upload": .strings(masks.upload),
                "download": .strings(masks.download),
            ]),
            "hooks": .strings(hooks),
            "web": .object([
                "address": web.address.map(JSONValue.string) ?? .null
            ]),
        ]
    }

    /// The same account and folders with the defaults for all else.
    var defaulted: Configuration {
        Configuration(account: account, container: container, library: library, shared: shared, state: state)
    }
}

extension JSONValue {
    fileprivate static func whole(_ value: Int) -> JSONValue { .integer(Int64(value)) }
    fileprivate static func strings(_ values: [String]) -> JSONValue { .array(values.map(JSONValue.string)) }
}

extension JSONObject {
    /// The members that differ from the other's, objects member by member.
    fileprivate func without(equalsOf other: JSONObject, keeping kept: [String]) -> JSONObject {
        JSONObject(
            members.compactMap { member -> Member? in
                guard !kept.contains(member.key), let value = other[member.key] else { return member }
                if case .object(let mine) = member.value, case .object(let theirs) = value {
                    let rest = mine.without(equalsOf: theirs, keeping: [])
                    return rest.members.isEmpty ? nil : Member(member.key, .object(rest))
                }
                return member.value == value ? nil : member
            })
    }
}
