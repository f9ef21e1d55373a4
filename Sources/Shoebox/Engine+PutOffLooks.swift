import ShoeboxModel
import ShoeboxStore
import ShoeboxWorld

// What can be judged only by something else that has to be read, such as the sidecar beside a photo on its way into a share: where that
// can't be read just now, nothing of the look is taken, and all of the folder is looked at again. Not for ever: one bad sector must not
// keep everything else away.

/// Why a look at a watched folder takes nothing more.
struct LookPutOff: Error {
    /// What could not be read, in whichever watched folder.
    var place: Engine.WatchedPath
    var cause: FileError
}

extension Engine {
    /// How long, in milliseconds, nothing of a watched folder is taken because of what can't be read.
    private static let putOffMilliseconds: UInt64 = 30_000

    /// What a place tells that a look at a watched folder needs; nil if that can't be told for good, or looks at the folder were put
    /// off for long enough.
    /// - Throws: `LookPutOff`.
    func awaiting<T>(_ place: WatchedPath, in root: RootKind, _ read: () throws(FileError) -> T) throws(LookPutOff)
        -> T?
    {
        do { return try read() } catch {
            let now = world.uptimeMilliseconds()
            guard error.mayPass, now < (putOffLooks[root]?.since ?? now) + Self.putOffMilliseconds else { return nil }
            throw LookPutOff(place: place, cause: error)
        }
    }

    /// Has all of a watched folder looked at again after a while. Until then it counts as not seen: what is missing from the other one
    /// may be here.
    func putOff(_ root: RootKind, _ reason: LookPutOff, _ outcome: inout ScanOutcome) throws {
        let now = world.uptimeMilliseconds()
        let due = now + settings.errorPauseMilliseconds
        putOffLooks[root] = (since: putOffLooks[root]?.since ?? now, due: due)
        later[.init(root: root, path: .root)] = due
        unseen[.init(root: root, path: .root)] = now
        outcome.again(at: due)
        outcome.isPutOff = true
        log("the look at the \(display(.root, root)) folder waits: \(reason.cause)")
        // Of the other folder, the look at that tells.
        guard reason.place.root == root else { return }
        let shown = display(reason.place.path, root)
        try report(
            "unreadable", path: shown, "What lies beside '\(shown)' cannot be read: \(reason.cause.reason).",
            "What was done in the \(display(.root, root)) folder waits for it, for half a minute. It is read again by itself; if this stays, check the disk."
        )
    }
}
