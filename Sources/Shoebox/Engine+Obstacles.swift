import ShoeboxLibrary
import ShoeboxWorld

// What keeps a watched folder from being brought up to date, and may stay for long, such as a symbolic link in the place of a
// folder.

extension Engine {
    /// Has a directory looked at in which something kept an operation from being done; at once the first times, less and less
    /// often while it stays.
    func lookAtObstacle(in place: WatchedPath) {
        let now = world.uptimeMilliseconds()
        var obstacle = obstacles[place] ?? Obstacle(looks: 0, last: now)
        if now > obstacle.last + Self.obstacleMilliseconds * 2 { obstacle.looks = 0 }
        let due =
            obstacle.looks < 8
            ? now : obstacle.last + min(Self.obstacleMilliseconds, 100 << min(UInt64(obstacle.looks - 8), 10))
        if now >= due { obstacle = Obstacle(looks: obstacle.looks + 1, last: now) }
        obstacles[place] = obstacle
        later[place] = min(later[place] ?? .max, max(due, now))
    }

    /// The longest time between two looks at what is in the way, milliseconds.
    private static var obstacleMilliseconds: UInt64 { 60_000 }

    /// How often something was in the way in a directory, and when last (uptime).
    struct Obstacle {
        var looks: Int
        var last: UInt64
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
