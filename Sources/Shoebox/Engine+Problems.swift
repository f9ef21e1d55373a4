import ShoeboxModel
import ShoeboxStore
import ShoeboxWorld

extension Engine {
    /// Notes something that needs a person; repeated reports of one thing are one.
    func report(
        _ code: String, path: String? = nil, zone: ZoneID? = nil, _ message: String, _ remedy: String
    ) throws {
        let problem = Problem(code: code, path: path, zone: zone, message: message, remedy: remedy)
        let now = world.nowMilliseconds()
        if openProblems.insert(problem.key).inserted { log("\(code): \(message)") }
        try store.write { db in try db.report(problem, nowMilliseconds: now) }
    }

    /// Takes a problem back, if it was noted.
    func clearProblem(_ code: String, path: String? = nil, zone: ZoneID? = nil) throws {
        let cleared = openProblems.filter { key in
            guard path == nil || zone == nil else {
                return key == Problem(code: code, path: path, zone: zone, message: "", remedy: "").key
            }
            return key.hasPrefix("\(code)|") && (path.map { key.hasSuffix("|\($0)") } ?? true)
                && (zone.map { key.hasPrefix("\(code)|\($0)|") } ?? true)
        }
        guard !cleared.isEmpty else { return }
        openProblems.subtract(cleared)
        try store.write { db in try db.clearProblems(code: code, path: path, zone: zone) }
    }

    /// Forgets what was only to be known, after a week.
    func clearOldInformation() throws {
        guard openProblems.contains(where: { key in Problem.informationCodes.contains { key.hasPrefix("\($0)|") } })
        else { return }
        let now = world.nowMilliseconds()
        let week: UInt64 = 7 * 86_400_000
        guard now > week, try store.write({ db in try db.clearInformation(before: now - week) }) else { return }
        openProblems = Set(try store.read { db in try db.problems() }.map(\.key))
    }

    /// Takes back the problems of a zone whose path in the container has this part.
    func clearProblems(_ code: String, in zone: ZoneID, below part: String) throws {
        let prefix = "\(code)|\(zone)|"
        for key in openProblems where key.hasPrefix(prefix) && key.contains(part) {
            try clearProblem(code, path: String(key.dropFirst(prefix.utf8.count)), zone: zone)
        }
    }

    /// A path as its user knows it.
    func display(_ path: RelativePath, _ root: RootKind) -> String {
        let folder = root == .library ? "library" : "shared"
        return path.isRoot ? folder : "\(folder)/\(path)"
    }
}
