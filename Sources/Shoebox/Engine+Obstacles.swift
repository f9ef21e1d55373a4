import ShoeboxLibrary
import ShoeboxModel
import ShoeboxStore
import ShoeboxWorld

// What keeps a watched folder from being brought up to date, and may stay for long, such as a symbolic link in the place of a
// folder.

extension Engine {
    /// Has a directory looked at in which something kept an operation from being done; at once the first times, less and less
    /// often while it stays.
    func lookAtObstacle(in place: WatchedPath) {
        let now = world.uptimeMilliseconds()
        var obstacle = obstacles[place] ?? Obstacle(looks: 0, last: now, since: now)
        if now > obstacle.last + Self.obstacleMilliseconds * 2 { obstacle = Obstacle(looks: 0, last: now, since: now) }
        let due =
            obstacle.looks < 8
            ? now : obstacle.last + min(Self.obstacleMilliseconds, 100 << min(UInt64(obstacle.looks - 8), 10))
        if now >= due {
            obstacle.looks += 1
            obstacle.last = now
        }
        obstacles[place] = obstacle
        later[place] = min(later[place] ?? .max, max(due, now))
    }

    /// The longest time between two looks at what is in the way, milliseconds.
    private static var obstacleMilliseconds: UInt64 { 60_000 }

    /// Names what keeps a file from being brought up to date, once that has been in the way for longer than a program needs to
    /// save one: what waits is not to be pending without a reason.
    ///
    /// - Parameters:
    ///   - code: the problem's.
    ///   - reason: what is in the way, as a clause.
    func reportObstacle(
        _ code: String = "notApplied", at path: RelativePath, _ reason: String, _ root: RootKind, zone: ZoneID? = nil
    ) throws {
        let shown = display(path, root)
        unsettledPaths.insert(shown)
        guard let obstacle = obstacles[.init(root: root, path: path.parent)],
            world.uptimeMilliseconds() >= obstacle.since + Self.obstacleMilliseconds,
            // Its folder was deleted here as a whole, and its user was asked what that means.
            zone.flatMap({ zones[$0] })?.row.state != .leaveOffered
        else { return }
        let isLeftOut = settings.ignore.ignores(path, isDirectory: false)
        try report(
            code, path: shown, zone: zone, "'\(shown)' waits to be brought up to date: \(reason).",
            isLeftOut
                ? "Files of that name are left out by 'ignore' here: rename the one that is there, or take the pattern out of the configuration."
                : "Close the program that has it open, or move away what is in its place; then it goes on by itself.")
    }

    /// How often something was in the way in a directory, when last, and since when (uptime).
    struct Obstacle {
        var looks: Int
        var last: UInt64
        var since: UInt64
    }
}

// MARK: Names that a file system can't hold

extension Engine {
    /// Notes that a name can't be written where it belongs: that is found out only once all of its bytes are there. It is tried again
    /// the later, the more they are, up to an hour.
    func noteRefusedName(_ place: WatchedPath, _ error: FileError, size: UInt64) {
        refusedNames[place] = (error, world.uptimeMilliseconds() + min(size / 100, 3_600_000))
    }

    /// Whether a name was refused a while ago, and is not tried again yet.
    func isRefusedName(_ place: WatchedPath) -> Bool {
        guard let due = refusedNames[place]?.until else { return false }
        guard world.uptimeMilliseconds() < due else {
            refusedNames[place] = nil
            return false
        }
        return true
    }
}
