import ShoeboxModel
import ShoeboxStore
import ShoeboxWorld

// What is missing from a directory may be in one that was listed before it was moved there. A watcher tells of that one; where none
// does, all of both watched folders is looked at once more before anything counts as deleted.

extension Engine {
    /// What tells of what happens in the watched folders.
    package enum Coverage: Sendable {
        /// A watcher names each directory in which something happens.
        case watched
        /// Nothing does, or not of all: what is missing is looked for everywhere, in a look that began after it was missed.
        case looking
        /// Nothing does, and nobody waits for a look at everything: nothing counts as deleted.
        case passing
    }

    /// Counts a look at a watched folder; returns its number.
    func beginLook() -> Int {
        lastLook += 1
        return lastLook
    }

    /// Notes in which look something was missed first.
    func noteMissed(_ id: RecordID, in look: Int, since now: UInt64) {
        if missing[id] == nil { (missing[id], missedIn[id]) = (now, look) }
        missedIn[id] = missedIn[id] ?? look
    }

    /// Whether what is missing was looked for in all of both watched folders after it was missed first.
    ///
    /// - Parameter whole: the number of the look at the whole of `root` that is under way, all listings of which are over.
    func wasSearchedFor(_ id: RecordID, in root: RootKind, by whole: Int?) -> Bool {
        guard coverage != .watched else { return true }
        let missed = missedIn[id] ?? lastLook
        return RootKind.allCases.allSatisfy { other in
            (other == root ? whole : nil) ?? lastWholeLooks[other] ?? 0 > missed
        }
    }

    /// Has everything looked at once more, not before a time (uptime), if somebody waits for that.
    func search(from time: UInt64, _ outcome: inout ScanOutcome) {
        guard coverage == .looking else { return }
        searchDue = min(searchDue ?? .max, time)
        outcome.again(at: time)
    }

    /// Whether everything is to be looked at now.
    var isSearchDue: Bool {
        coverage == .looking && searchDue.map { $0 <= world.uptimeMilliseconds() } ?? false
    }
}
