public import ShoeboxModel
import ShoeboxStore

/// One content that a photo has or had.
public struct VersionEntry: Sendable {
    /// Its number in the list, from 1, the newest first.
    public var number: Int
    /// When it was written, milliseconds since 1970, by its author's clock.
    public var timeMilliseconds: UInt64
    /// Who wrote it.
    public var author: String
    /// Bytes.
    public var size: UInt64
    /// SHA-256.
    public var contentHash: Digest32
    /// Whether the photo has it now.
    public var isShown: Bool
    /// Whether its bytes are in the container; others may still be in somebody's trash.
    public var isPublished: Bool
    /// The record.
    var id: RecordID
    /// What is known of it.
    var seen: VersionVector

    /// As `--json` prints it.
    public var json: JSONObject {
        [
            "number": .integer(Int64(number)), "time": StatusText.json(time: timeMilliseconds),
            "author": .string(author), "size": .integer(Int64(clamping: size)),
            "contentHash": .string(contentHash.description), "isShown": .bool(isShown),
            "isPublished": .bool(isPublished),
        ]
    }

    /// As a list for people shows it.
    public var line: String {
        "\(number)  \(StatusText.local(timeMilliseconds))  \(StatusText.size(size))  by \(author)  \(contentHash.description.prefix(12))"
            + (isShown ? "  (now)" : isPublished ? "" : "  (not in the container)")
    }
}

extension TreeListing {
    /// Every content that the photo at a path ever had, the newest first; of one that was deleted, too.
    ///
    /// - Throws: `RequestError` with `ExitCode.notFound` if nothing is known of the path.
    public func versions(of reference: PathReference) throws -> [VersionEntry] {
        guard let id = try engine.knownRecord(at: reference) else {
            throw RequestError(
                ExitCode.notFound, "Nothing is known of a file there.", "'shoebox list' shows what there is.")
        }
        return try engine.store.read { db in
            let control = engine.zones[id.zone]?.control
            let state = try db.state(of: id)
            let shown = state.flatMap { $0.isLive ? $0.content?.contentHash : nil }
            return try engine.contentVersions(of: id, db).enumerated().map { index, version in
                VersionEntry(
                    number: index + 1, timeMilliseconds: version.timeMilliseconds,
                    author: control.map { engine.name(of: version.author, in: $0) } ?? version.author.fingerprint,
                    size: version.asset.size, contentHash: version.asset.contentHash,
                    isShown: version.asset.contentHash == shown, isPublished: version.asset.location != nil,
                    id: id, seen: state?.vector ?? [:])
            }
        }
    }

    /// Remembers that a photo's versions were printed: numbers that are given later are of this list.
    public func noteListed(_ versions: [VersionEntry]) throws {
        guard let first = versions.first else { return }
        try engine.noteListed(versions, of: first.id, seen: first.seen)
    }
}
