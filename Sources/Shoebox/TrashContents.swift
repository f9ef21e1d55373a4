import ShoeboxLibrary
import ShoeboxModel
import ShoeboxStore
import ShoeboxWorld

/// Which contents lie in the trash of the watched folders: for many questions it is listed once, and each file read once.
final class TrashContents {
    private let engine: Engine
    /// What lies there for a record, by its size in bytes; nil before the first question.
    private var items: [UInt64: [(root: RootKind, item: TrashItem)]]?
    /// Why one of them could not be listed.
    private var failure: FileError?
    private var hashes: [Engine.WatchedPath: Digest32?] = [:]

    init(_ engine: Engine) { self.engine = engine }

    /// Where a content lies that a record had.
    ///
    /// - Parameter isMeant: whether what lies there for a record counts; what one has is no business of others.
    /// - Throws: `FileError`, if it was not found, and a trash can't be listed. A folder that is away has none now.
    func place(of asset: AssetReference, where isMeant: (RecordID) -> Bool) throws -> Engine.WatchedPath? {
        let items = try items ?? list()
        self.items = items
        for (root, item) in items[asset.size] ?? [] where item.record.map(isMeant) == true {
            let place = Engine.WatchedPath(root: root, path: item.path)
            if hash(place) == asset.contentHash { return place }
        }
        if let failure { throw failure }
        return nil
    }

    /// Changes nothing, not even what is said of the folders: a verification asks, too, beside a daemon.
    private func list() throws -> [UInt64: [(root: RootKind, item: TrashItem)]] {
        var result: [UInt64: [(root: RootKind, item: TrashItem)]] = [:]
        for root in RootKind.allCases {
            do {
                guard let marker = try RootMarker.read(from: engine.files(root)), marker.replica == engine.replica
                else {
                    continue
                }
                for item in try engine.makeApplier(root).trashItems() {
                    result[item.size, default: []].append((root, item))
                }
            } catch let error as FileError {
                // The other one may have it.
                if error.code != .offline { failure = error }
            }
        }
        return result
    }

    /// Nil for what can't be read.
    private func hash(_ place: Engine.WatchedPath) -> Digest32? {
        if let known = hashes[place] { return known }
        var result: Digest32?
        do { result = try ContentHasher.hash(place.path, engine.files(place.root)).0 } catch {
            engine.log("'\(engine.display(place.path, place.root))' in the trash cannot be read: \(error)")
        }
        hashes[place] = .some(result)
        return result
    }
}

extension Engine {
    /// A file that holds a content: in a watched folder, else in the trash, as one of some records had it.
    func heldSource(
        of asset: AssetReference, of records: Set<RecordName>, _ trash: TrashContents
    ) throws -> LocalSource? {
        if let source = try localSources(of: asset.contentHash).first { return source }
        do {
            guard let place = try trash.place(of: asset, where: { records.contains($0.name) }) else { return nil }
            return try trashSource(at: place)
        } catch let error as FileError {
            // What lies in the trash only helps; it stops nothing.
            log("the trash cannot be searched: \(error.reason)")
            return nil
        }
    }

    /// A file in the trash, opened.
    func trashSource(at place: WatchedPath) throws(FileError) -> LocalSource? {
        guard let name = place.path.last else { return nil }
        return LocalSource(
            file: try files(place.root).open(place.path), name: name, shown: display(place.path, place.root))
    }
}
