public import ShoeboxModel
import ShoeboxPlanning
import ShoeboxStore
import ShoeboxWorld

import class GRDB.Database

/// What a person sees of a photo beside its bytes.
public struct PhotoDetails: Hashable, Sendable {
    /// The caption; empty for none.
    public var caption = ""
    /// The titles of its tags, in a fixed order.
    public var tags: [String] = []
    /// The account's own rating, 1…5; 0 for none.
    public var rating = 0
    /// Every account's rating.
    public var ratings: [AccountID: Int] = [:]
    /// The user's own fields, as JSON text.
    public var custom: [String: String] = [:]

    /// As the fields of a sidecar.
    var sidecar: SidecarFields {
        SidecarFields(
            caption: caption.isEmpty ? nil : caption, tags: tags, rating: rating == 0 ? nil : rating, custom: custom)
    }
    /// Whether there is nothing to say.
    var isEmpty: Bool { caption.isEmpty && tags.isEmpty && rating == 0 && custom.isEmpty }
}

extension Engine {
    /// What is known of a photo, tags resolved, and united with what is known of its twins.
    func details(of id: RecordID, _ db: Database) throws -> PhotoDetails {
        var result = PhotoDetails()
        try collect(&result, try united(id, db), db)
        return result
    }

    /// Gathers what is known of records that show as one photo. What the first of them says counts, an empty value too;
    /// tags are those of all of them.
    func collect(_ result: inout PhotoDetails, _ ids: [RecordID], _ db: Database) throws {
        var hasCaption = false
        var custom: [String: String] = [:]
        var rated: Set<AccountID> = []
        var titles: [String: String] = [:]
        var tags: [RecordName: String]?
        for id in ids {
            guard let state = try db.state(of: id), state.isLive || id == ids.first else { continue }
            if !hasCaption, let caption = state[.caption]?.text {
                hasCaption = true
                result.caption = caption
            }
            for (key, field) in state.fields {
                guard let name = key.customKey, let text = field.winner?.value.text, custom[name] == nil else {
                    continue
                }
                custom[name] = text
            }
            for companion in try db.companions(of: id) {
                switch companion.type {
                case .photoTag:
                    if tags == nil { tags = try tagTitles(in: id.zone, db) }
                    guard let tag = companion.parent, let title = tags?[tag] else { continue }
                    titles[normalizedTagName(title)] = title
                case .rating:
                    guard let rating = try db.state(of: companion.id),
                        let author = rating.fields[.value]?.winner?.author,
                        rated.insert(author).inserted, let value = rating[.value]?.integer, (1...5).contains(value)
                    else { continue }
                    result.ratings[author] = Int(value)
                default: continue
                }
            }
        }
        result.custom = custom.filter { $0.value != "null" }
        result.tags = titles.sorted { $0.key < $1.key }.map(\.value)
        result.rating = result.ratings[account] ?? 0
    }

    /// The titles of a zone's tags by record name, each tag that is a duplicate under its winner's title.
    func tagTitles(in zone: ZoneID, _ db: Database) throws -> [RecordName: String] {
        var titles: [RecordName: String] = [:]
        for row in try db.records(of: .tag, in: zone) {
            titles[row.id.name] = try db.state(of: row.id)?[.title]?.text
        }
        let winners = resolveTags(titles: titles.map { ($0.key, $0.value) })
        return titles.reduce(into: [:]) { result, item in
            result[item.key] = titles[winners[item.key] ?? item.key] ?? item.value
        }
    }

    /// Adds a photo to a tag of this title in its zone, or takes it out; makes the tag if need be.
    func setTag(_ title: String, on id: RecordID, isMember: Bool, writer: inout HistoryWriter) throws {
        let db = writer.db
        let wanted = normalizedTagName(title)
        guard !wanted.isEmpty else { return }
        var matching = try tagTitles(in: id.zone, db).filter { normalizedTagName($0.value) == wanted }.map(\.key)
            .sorted()
        if matching.isEmpty {
            guard isMember else { return }
            let (name, origin) = newRecord()
            let tag = RecordID(zone: id.zone, name: name)
            try writer.write(tag, type: .tag, .set([.title: .text(title), .origin: origin]))
            matching = [tag.name]
        }
        // Taking out means every duplicate of the tag that the photo, or a twin of it, is in; adding means the one that wins.
        let photos = isMember ? [id] : try united(id, db)
        for (photo, tag) in photos.flatMap({ photo in (isMember ? [matching[0]] : matching).map { (photo, $0) } }) {
            let join = RecordID(zone: id.zone, name: Derivation.photoTag(photo: photo.name, tag: tag))
            let state = try db.state(of: join)
            if !isMember, state == nil { continue }
            if state?.isLive == true, (state?[.member]?.boolean ?? true) == isMember { continue }
            try writer.write(
                join, type: .photoTag,
                .set([.photo: .reference(photo.name), .tag: .reference(tag), .member: .boolean(isMember)]),
                context: state?.vector ?? [:])
        }
    }

    /// Sets the account's own rating of a photo; 0 takes it back.
    func setRating(_ value: Int, on id: RecordID, writer: inout HistoryWriter) throws {
        let rating = RecordID(zone: id.zone, name: Derivation.rating(photo: id.name, account: account))
        let state = try writer.db.state(of: rating)
        try writer.write(
            rating, type: .rating,
            .set([.photo: .reference(id.name), .value: value == 0 ? .null : .integer(Int64(value))]),
            context: state?.vector ?? [:])
    }

    /// Writes fields of a photo's own record, in sight of what the account was shown of it.
    func setFields(_ fields: [FieldKey: Value], on id: RecordID, writer: inout HistoryWriter) throws {
        guard let row = try writer.db.record(id) else { return }
        let shown = try writer.db.base(id)?.vector ?? writer.db.state(of: id)?.vector ?? [:]
        let change = try writer.write(id, type: row.type, .set(fields), context: shown)
        if var base = try writer.db.base(id) {
            base.vector.insert(change.dot)
            try writer.db.setBase(base)
        }
    }

    /// Applies what a person changed in a sidecar.
    func apply(_ edits: [SidecarEdit], to id: RecordID, writer: inout HistoryWriter) throws {
        for edit in edits {
            switch edit {
            case .setCaption(let text): try setFields([.caption: .text(text)], on: id, writer: &writer)
            case .clearCaption: try setFields([.caption: .text("")], on: id, writer: &writer)
            case .addTag(let title): try setTag(title, on: id, isMember: true, writer: &writer)
            case .removeTag(let title): try setTag(title, on: id, isMember: false, writer: &writer)
            case .setRating(let value): try setRating(value, on: id, writer: &writer)
            case .clearRating: try setRating(0, on: id, writer: &writer)
            case .setCustom(let key, let json): try setFields([.custom(key): .text(json)], on: id, writer: &writer)
            case .clearCustom(let key): try setFields([.custom(key): .text("null")], on: id, writer: &writer)
            }
        }
    }
}
