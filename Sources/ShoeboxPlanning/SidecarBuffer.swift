/// What a person took back in a sidecar that an editor has held open since it had the state of its `rev`, and that was saved and read
/// under that `rev` before: what it says again as that state did, and did not when it was last read. Compared with the state alone,
/// nothing of that is a change.
///
/// - Parameters:
///   - file: what the file says now.
///   - shown: the state of the file's own `rev`.
///   - read: what was last read of it under that `rev`.
/// - Returns: what `sidecarEdits` does not; in its order.
public func sidecarEditsTakenBack(file: SidecarFields, shown: SidecarFields, read: SidecarFields) -> [SidecarEdit] {
    let plain = Set(sidecarEdits(file: file, shown: shown).map(\.subject))
    let before = read.completed(by: shown)
    return sidecarEdits(file: file.naming(before, asWithout: shown), shown: before).filter {
        !plain.contains($0.subject)
    }
}

extension SidecarFields {
    /// What is said here, and where nothing is, what is said there.
    public func completed(by other: SidecarFields) -> SidecarFields {
        SidecarFields(
            caption: caption ?? other.caption, tags: tags ?? other.tags, rating: rating ?? other.rating,
            custom: custom.merging(other.custom) { own, _ in own })
    }

    /// With a word for each field that was said before, and is as little in the file as it was in the state that it was opened with:
    /// a missing key says nothing, but one that was removed again is taken back.
    ///
    /// - Parameters:
    ///   - before: what was last read.
    ///   - shown: the state of the file's own `rev`.
    public func naming(_ before: SidecarFields, asWithout shown: SidecarFields) -> SidecarFields {
        var result = self
        if caption == nil, shown.caption == nil, before.caption != nil { result.caption = "" }
        if tags == nil, shown.tags == nil, before.tags != nil { result.tags = [] }
        if rating == nil, shown.rating == nil, before.rating != nil { result.rating = 0 }
        for key in before.custom.keys where custom[key] == nil && shown.custom[key] == nil {
            result.custom[key] = "null"
        }
        return result
    }
}

extension SidecarEdit {
    /// What of a record it is about.
    fileprivate var subject: String {
        switch self {
        case .setCaption, .clearCaption: "caption"
        case .addTag(let tag), .removeTag(let tag): "tag \(normalizedTagName(tag))"
        case .setRating, .clearRating: "rating"
        case .setCustom(let key, _), .clearCustom(let key): "custom \(key)"
        }
    }
}
