import GRDB
public import ShoeboxModel
import ShoeboxPlanning
import ShoeboxStore

/// One file or folder as `list` shows it.
public struct TreeEntry: Sendable {
    /// Where it is.
    public var reference: PathReference
    /// The path as a person knows it: `library/…` or `shared/…`.
    public var path: String
    /// What kind of record it is.
    public var type: RecordType
    /// The record.
    public var id: RecordID
    /// Bytes of a file; 0 for folders.
    public var size: UInt64
    /// The share it is in; nil for none.
    public var share: String?
    /// What is known beside its bytes.
    public var details: PhotoDetails

    /// As `--json` prints it.
    public var json: JSONObject {
        [
            "path": .string(path), "type": .string(type.rawValue), "record": .string(id.name.description),
            "zone": .string(id.zone.description), "share": share.map(JSONValue.string) ?? .null,
            "size": .integer(Int64(clamping: size)), "caption": .string(details.caption),
            "tags": .array(details.tags.map(JSONValue.string)), "rating": .integer(Int64(details.rating)),
        ]
    }
}

/// What the watched folders show, as the local database knows it. Read only.
public struct TreeListing {
    let engine: Engine

    /// A listing for an account that was set up.
    public init(_ installation: Installation) throws {
        self.init(of: try installation.makeEngine(try installation.openStore()))
    }

    /// A listing of what an engine knows.
    init(of engine: Engine) { self.engine = engine }

    /// All files and folders at or below a path, sorted; of both watched folders for nil.
    ///
    /// - Throws: `RequestError` with `ExitCode.notFound` if nothing is known of the path.
    public func entries(at reference: PathReference?) throws -> [TreeEntry] {
        try engine.store.read { db in
            guard let reference else { return try RootKind.allCases.flatMap { try entries(in: $0, below: nil, db) } }
            guard let path = reference.path else { throw unknown(reference) }
            let result = try entries(in: reference.root, below: path, db)
            guard path.isRoot || !result.isEmpty else { throw unknown(reference) }
            return result
        }
    }

    private func entries(in root: RootKind, below start: RelativePath?, _ db: Database) throws -> [TreeEntry] {
        var children: [RecordID: [BaseRow]] = [:]
        for zone in engine.zones.keys.sorted() + [.none] {
            for row in try db.base(in: zone) where row.root == root && !row.isParked {
                children[row.parent, default: []].append(row)
            }
        }
        var result: [TreeEntry] = []
        // Depth first, by names; a parent that is its own descendant can't be reached from the top.
        var waiting: [(row: BaseRow, path: RelativePath)] = []
        var folder: (id: RecordID, path: RelativePath)? = (engine.top(root), .root)
        while true {
            if let folder {
                let rows = children.removeValue(forKey: folder.id) ?? []
                for row in rows.sorted(by: { $0.name > $1.name }) {
                    waiting.append((row, folder.path.appending(row.name)))
                }
            }
            guard let next = waiting.popLast() else { break }
            let (row, path) = next
            folder = row.kind == .folder ? (row.id, path) : nil
            guard start.map({ path.isAtOrBelow($0) }) ?? true else { continue }
            result.append(try entry(row, at: path, root: root, db))
        }
        return result
    }

    private func entry(_ row: BaseRow, at path: RelativePath, root: RootKind, _ db: Database) throws -> TreeEntry {
        let zone = engine.zones[row.id.zone]
        let type = row.kind == .folder ? .folder : try db.record(row.id)?.type ?? .file
        return TreeEntry(
            reference: PathReference(root: root, path: path), path: engine.display(path, root), type: type, id: row.id,
            size: row.kind == .folder ? 0 : row.stamp.size,
            share: zone?.row.kind == .share ? zone?.control.title : nil,
            details: row.kind == .folder ? PhotoDetails() : try engine.details(of: row.id, db))
    }

    private func unknown(_ reference: PathReference) -> RequestError {
        RequestError(
            ExitCode.notFound,
            "There is nothing that shoebox knows of at '\(reference.path.map { engine.display($0, reference.root) } ?? "?")'.",
            "Check the path; a file that is still being written is taken a moment after it is closed.")
    }
}
