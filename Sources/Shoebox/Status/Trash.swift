public import ShoeboxLibrary
public import ShoeboxModel
public import ShoeboxStore
import ShoeboxWorld

/// What was removed from the watched folders and can be brought back. Reads and renames in the folders only.
public struct Trash {
    private let engine: Engine

    /// The trash of an account that was set up.
    public init(_ installation: Installation) throws {
        engine = try installation.makeEngine(try installation.openStore())
    }

    /// One thing in the trash.
    public struct Entry: Sendable {
        /// Which watched folder.
        public var root: RootKind
        /// What lies there.
        public var item: TrashItem
        /// Where it was: `library/…` or `shared/…`; where it lies if that is not known.
        public var path: String

        /// As a list for people shows it.
        public var line: String {
            "\(StatusText.local(item.removedMilliseconds))  \(StatusText.size(item.size))  \(path)"
        }

        /// As `--json` prints it.
        public var json: JSONObject {
            [
                "path": .string(path), "removed": StatusText.json(time: item.removedMilliseconds),
                "size": .integer(Int64(clamping: item.size)), "trashPath": .string(item.path.description),
                "record": item.record.map { .string($0.name.description) } ?? .null,
            ]
        }
    }

    /// Everything in the trash of the folders that are there, the oldest first.
    ///
    /// - Throws: `RequestError` with `ExitCode.offline` if neither folder is there.
    public func entries() throws -> [Entry] {
        var result: [Entry] = []
        var failures: [FileError] = []
        for root in RootKind.allCases {
            do { result += try entries(in: root) } catch let error as FileError { failures.append(error) }
        }
        if failures.count == RootKind.allCases.count, let failure = failures.first {
            throw RequestError(ExitCode.offline, failure.description, "Mount the folders again.")
        }
        return result.sorted { ($0.item.removedMilliseconds, $0.path) < ($1.item.removedMilliseconds, $1.path) }
    }

    /// Not with the type of its error: a compiler of today fails on it.
    private func entries(in root: RootKind) throws -> [Entry] {
        try engine.makeApplier(root).trashItems().map { item in
            Entry(root: root, item: item, path: engine.display(item.originalPath ?? item.path, root))
        }
    }
}
