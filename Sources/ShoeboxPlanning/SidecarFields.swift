/// What a sidecar says of its photo, or said when it was written.
///
/// A nil value, or a key that is not in `custom`, means that the key is missing: absence, not clearing. To clear a
/// value, a person empties it: `""`, `[]`, a rating of 0, a custom `null`.
public struct SidecarFields: Hashable, Sendable {
    /// The caption; empty for none.
    public var caption: String?
    /// The names of the tags, in the file's order; empty for none.
    public var tags: [String]?
    /// The account's own rating, 1…5; 0 for none.
    public var rating: Int?
    /// The fields that the user added, by key, each value as stable JSON text (sorted keys, no needless space); `null`
    /// for a cleared one.
    public var custom: [String: String]

    /// Fields from their parts; all missing by default.
    public init(
        caption: String? = nil, tags: [String]? = nil, rating: Int? = nil, custom: [String: String] = [:]
    ) {
        self.caption = caption
        self.tags = tags
        self.rating = rating
        self.custom = custom
    }
}

extension SidecarFields {
    /// What is said otherwise than before, or besides; the rest is missing.
    public func besides(_ before: SidecarFields) -> SidecarFields {
        let known = Set((before.tags ?? []).map(normalizedTagName))
        return SidecarFields(
            caption: caption == before.caption ? nil : caption,
            tags: tags?.filter { !known.contains(normalizedTagName($0)) },
            rating: rating == before.rating ? nil : rating,
            custom: custom.filter { before.custom[$0.key] != $0.value })
    }
}

/// One thing that a person changed in a sidecar.
public enum SidecarEdit: Hashable, Sendable {
    /// Writes the caption, never an empty one.
    case setCaption(String)
    /// Removes the caption.
    case clearCaption
    /// Adds a tag of this name.
    case addTag(String)
    /// Removes the tag of this name, as it was shown.
    case removeTag(String)
    /// Sets the account's own rating, as the file has it: out of 1…5 is for the caller to refuse.
    case setRating(Int)
    /// Removes the account's own rating.
    case clearRating
    /// Sets a field of the user's to this JSON text, never `null`.
    case setCustom(key: String, json: String)
    /// Clears a field of the user's.
    case clearCustom(key: String)
}

/// What a person changed in a sidecar, compared with the state that it was written from.
///
/// - Parameters:
///   - file: what the file says now.
///   - shown: the state of the file's own `rev`; nil when that is not known. Then only additions and changed values
///     count, compared with `current`, and nothing is removed: who saved the file may never have seen it.
///   - current: what the record says now; used only when `shown` is nil.
/// - Returns: captions first, then tags in the file's order, rating, and custom fields by key.
public func sidecarEdits(
    file: SidecarFields, shown: SidecarFields?, current: SidecarFields = SidecarFields()
) -> [SidecarEdit] {
    let before = shown ?? current
    let mayRemove = shown != nil
    var edits: [SidecarEdit] = []

    if let caption = file.caption, caption != before.caption ?? "" {
        if !caption.isEmpty {
            edits.append(.setCaption(caption))
        } else if mayRemove {
            edits.append(.clearCaption)
        }
    }
    if let tags = file.tags {
        let beforeKeys = Set((before.tags ?? []).map(normalizedTagName))
        var fileKeys: Set<String> = [""]
        for tag in tags where fileKeys.insert(normalizedTagName(tag)).inserted {
            if !beforeKeys.contains(normalizedTagName(tag)) { edits.append(.addTag(tag)) }
        }
        if mayRemove {
            var removed = fileKeys
            for tag in before.tags ?? [] where removed.insert(normalizedTagName(tag)).inserted {
                edits.append(.removeTag(tag))
            }
        }
    }
    if let rating = file.rating, rating != before.rating ?? 0 {
        if rating != 0 {
            edits.append(.setRating(rating))
        } else if mayRemove {
            edits.append(.clearRating)
        }
    }
    for (key, json) in file.custom.sorted(by: { $0.key < $1.key }) where json != before.custom[key] ?? "null" {
        if json != "null" {
            edits.append(.setCustom(key: key, json: json))
        } else if mayRemove {
            edits.append(.clearCustom(key: key))
        }
    }
    return edits
}

/// What a sidecar says that has not been written anew since other things are said of its photo.
///
/// - Parameters:
///   - file: what the file says. What differs from `shown` was written by a person, and stays.
///   - shown: the state of the file's own `rev`.
///   - current: what is said of its photo now.
///   - isMoved: whether what is said now takes the place of what is said no more; else that is left out.
public func updatedFields(
    _ file: SidecarFields, shown: SidecarFields, current: SidecarFields, isMoved: Bool
) -> SidecarFields {
    func value<T: Equatable>(_ file: T?, _ shown: T?, _ current: T?, none: T) -> T? {
        let before = shown ?? none
        guard (file ?? before) == before, (current ?? none) != before else { return file }
        return isMoved ? current : nil
    }
    var result = file
    result.caption = value(file.caption, shown.caption, current.caption, none: "")
    result.rating = value(file.rating, shown.rating, current.rating, none: 0)
    for key in Set(shown.custom.keys).union(file.custom.keys).union(current.custom.keys) {
        result.custom[key] = value(file.custom[key], shown.custom[key], current.custom[key], none: "null")
    }
    let before = Set((shown.tags ?? []).map(normalizedTagName))
    let now = Set((current.tags ?? []).map(normalizedTagName))
    let tags = file.tags ?? []
    let written = Set(tags.map(normalizedTagName))
    result.tags = tags.filter { tag in
        let key = normalizedTagName(tag)
        return !before.contains(key) || now.contains(key)
    }
    guard isMoved else { return result }
    result.tags? += (current.tags ?? []).filter { tag in
        let key = normalizedTagName(tag)
        return !before.contains(key) && !written.contains(key)
    }
    return result
}
