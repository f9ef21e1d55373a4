internal import Foundation
public import ShoeboxModel

/// A tag's name as names are compared: two tags of equal normalised names in one zone are one tag.
///
/// Case, compatibility forms, diacritics (combining marks above, below and attached, not vowel signs or voicing marks,
/// which make other words) and the amount of white space make no difference; the user's locale makes none either.
public func normalizedTagName(_ title: String) -> String {
    // Upper case first, so that ß and ss, ς and σ meet.
    let upper = fold(title) { $0.properties.uppercaseMapping }
    let lower = fold(upper) { $0.properties.lowercaseMapping }
    var stripped = String.UnicodeScalarView()
    for scalar in lower.decomposedStringWithCompatibilityMapping.unicodeScalars {
        switch scalar.properties.canonicalCombiningClass.rawValue {
        case 200...240: continue
        default: stripped.append(scalar)
        }
    }
    return String(stripped).split(whereSeparator: \.isWhitespace).joined(separator: " ")
        .precomposedStringWithCompatibilityMapping
}

private func fold(_ text: String, _ mapping: (Unicode.Scalar) -> String) -> String {
    text.decomposedStringWithCompatibilityMapping.unicodeScalars.reduce(into: "") { $0 += mapping($1) }
}

/// For each tag of a zone that is shown as another one, that other: of live tags with equal normalised names the
/// smallest record name represents the rest.
///
/// Resolved whenever joins are read and never written, so that a tag which is renamed gets its own photos back. Tags
/// without a redirect are not in the result; a result is never itself redirected.
public func resolveTags(_ tags: some Sequence<RecordState>) -> [RecordName: RecordName] {
    resolveTags(
        titles: tags.lazy.filter { $0.type == .tag && $0.isLive }.compactMap { tag in
            tag[.title]?.text.map { (tag.name, $0) }
        })
}

/// As `resolveTags(_:)`, from the names and titles of the live tags of one zone.
public func resolveTags(titles: some Sequence<(RecordName, String)>) -> [RecordName: RecordName] {
    var groups: [String: [RecordName]] = [:]
    for (name, title) in titles {
        let normalized = normalizedTagName(title)
        // Tags without a name have nothing in common.
        if !normalized.isEmpty { groups[normalized, default: []].append(name) }
    }
    var redirects: [RecordName: RecordName] = [:]
    for group in groups.values {
        guard group.count > 1, let winner = group.min() else { continue }
        for loser in group where loser != winner { redirects[loser] = winner }
    }
    return redirects
}
