internal import Foundation
internal import ShoeboxModel

/// Lists directories on two threads: while its caller compares one, the next is being listed.
///
/// What is held ready is bounded. A listing is older by the time that it waited, which is short, and whoever acts on
/// one looks at the file again anyway.
final class LookAheadLister: DirectoryLister {
    private let core: ListingCore

    init(_ list: @escaping @Sendable (RelativePath) throws(FileError) -> DirectoryListing) {
        core = ListingCore(list)
    }

    deinit { core.stop() }

    func announce(_ directories: [RelativePath]) { core.announce(directories) }

    func list(_ directory: RelativePath) throws(FileError) -> DirectoryListing { try core.take(directory).get() }
}

/// What the two threads share. Unchecked because everything that changes is read and written under `condition` only.
private final class ListingCore: @unchecked Sendable {
    typealias Listing = Result<DirectoryListing, FileError>

    /// How many directories, and entries of them, are held ready.
    private static let listingsMax = 64
    private static let entriesMax = 65_536

    private let list: @Sendable (RelativePath) throws(FileError) -> DirectoryListing
    private let condition = NSCondition()
    /// Announced and not begun; the next one last. What was asked for meanwhile is in `order` only.
    private var order: [RelativePath] = []
    private var waiting: Set<RelativePath> = []
    private var begun: Set<RelativePath> = []
    private var ready: [RelativePath: Listing] = [:]
    private var readyEntries = 0
    private var isStarted = false
    private var isStopped = false

    init(_ list: @escaping @Sendable (RelativePath) throws(FileError) -> DirectoryListing) { self.list = list }

    func announce(_ directories: [RelativePath]) {
        condition.lock()
        defer { condition.unlock() }
        for directory in directories where waiting.insert(directory).inserted { order.append(directory) }
        // One directory is listed by whoever asks for it.
        guard waiting.count > 1 else { return }
        if !isStarted {
            isStarted = true
            Thread.detachNewThread { self.serve() }
        }
        condition.broadcast()
    }

    func stop() {
        condition.lock()
        isStopped = true
        condition.broadcast()
        condition.unlock()
    }

    /// The listing of a directory: as it lies ready, or listed here. While the other thread is at it, others are.
    func take(_ directory: RelativePath) -> Listing {
        condition.lock()
        defer { condition.unlock() }
        while true {
            if let found = ready.removeValue(forKey: directory) {
                readyEntries -= Self.count(found)
                condition.broadcast()
                return found
            }
            if begun.contains(directory) {
                if !listNext() { condition.wait() }
                continue
            }
            waiting.remove(directory)
            condition.unlock()
            let result = listing(directory)
            condition.lock()
            return result
        }
    }

    /// The second thread.
    private func serve() {
        condition.lock()
        while !isStopped {
            if !listNext() { condition.wait() }
        }
        condition.unlock()
    }

    /// Lists what will be asked for next and puts it ready, with the lock given back meanwhile; false if there is
    /// nothing to do.
    private func listNext() -> Bool {
        guard ready.count + begun.count < Self.listingsMax, readyEntries < Self.entriesMax else { return false }
        while let next = order.popLast() {
            guard waiting.remove(next) != nil else { continue }
            begun.insert(next)
            condition.unlock()
            let result = listing(next)
            condition.lock()
            begun.remove(next)
            ready[next] = result
            readyEntries += Self.count(result)
            condition.broadcast()
            return true
        }
        return false
    }

    private func listing(_ directory: RelativePath) -> Listing {
        do throws(FileError) {
            return .success(try list(directory))
        } catch {
            return .failure(error)
        }
    }

    private static func count(_ listing: Listing) -> Int {
        guard case .success(let found) = listing else { return 0 }
        return found.entries.count
    }
}
