import ShoeboxModel
import ShoeboxPlanning
import ShoeboxStore
import ShoeboxWorld

import class GRDB.Database

extension Engine {
    /// Notes something that needs a person; repeated reports of one thing are one.
    func report(
        _ code: String, path: String? = nil, zone: ZoneID? = nil, _ message: String, _ remedy: String
    ) throws {
        let problem = Problem(code: code, path: path, zone: zone, message: message, remedy: remedy)
        try report(problem) { _ in }
    }

    /// Notes something that needs a person in the transaction of what it comes of.
    func report(_ problem: Problem, with change: (Database) throws -> Void) throws {
        // First: where the state's disk is full, the log is all there is.
        announce([problem])
        try store.write { db in
            try change(db)
            try note([problem], db)
        }
    }

    /// Notes problems in the transaction of what they come of: once that is stored, nothing finds them again, so that a
    /// process that dies in between would keep them to itself. `announce` says them.
    func note(_ problems: [Problem], _ db: Database) throws {
        let now = world.nowMilliseconds()
        for problem in problems { try db.report(problem, nowMilliseconds: now) }
    }

    /// Says problems in the log, those that are not known yet.
    func announce(_ problems: [Problem]) {
        for problem in problems where openProblems.insert(problem.key).inserted {
            log("\(problem.code): \(problem.message)")
        }
    }

    /// What is said of a file that could not be brought up to date.
    static let unappliedCodes = ["notApplied", "diskFull", "contentMissing", "contentDamaged", "sidecarNotWritten"]

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
        try store.write { db in try db.clearProblems(code: code, path: path, zone: zone) }
        // Only then: what could not be stored is taken back another time.
        openProblems.subtract(cleared)
    }

    /// What is said of the container's files of a zone, for as long as the zone is followed.
    static var exchangeCodes: Set<String> {
        [
            "zoneUnwritable", "zoneUnreadable", "headUnreadable", "headDamaged", "headLost", "segmentDamaged",
            "segmentMissing",
            "controlRefused", "controlDamaged", "forked", "cutShort", "snapshotDiffers", "snapshotRefused", "stranger",
        ]
    }

    /// Takes back what a zone's state says is not so any more. The state is stored first and the problem taken back after
    /// it, and the process may have died in between; and a share that was left, or has ended, is not read again, so that
    /// nothing else would take back what was wrong with its files.
    func clearOutdatedProblems() throws {
        for key in openProblems {
            let parts = key.split(separator: "|", maxSplits: 2, omittingEmptySubsequences: false).map(String.init)
            if parts.count == 3, try isSettled(parts[0], path: parts[2], zone: ZoneID(hex: parts[1])) {
                try clearProblem(parts[0], path: parts[2], zone: ZoneID(hex: parts[1]))
                continue
            }
            guard parts.count == 3, let zone = ZoneID(hex: parts[1]).flatMap({ zones[$0] }) else { continue }
            let isOver = zone.row.state == .left || zone.row.state == .ended
            guard
                parts[0] == "leaveOffered"
                    ? zone.row.state != .leaveOffered : isOver && Self.exchangeCodes.contains(parts[0])
            else { continue }
            try clearProblem(parts[0], path: parts[2].isEmpty ? nil : parts[2], zone: zone.id)
        }
    }

    /// Whether what lay where it could not be shared is gone from there, is in a record by now, or may be added.
    private func isSettled(_ code: String, path: String, zone: ZoneID?) throws -> Bool {
        guard code == "readOnly" || code == "notInShare" else { return false }
        if let zone, zones[zone]?.row.state != .leaveOffered,
            zones[zone]?.row.state != .active || may(.addRecord, in: zone)
        {
            return true
        }
        guard path.hasPrefix("shared/"), let place = RelativePath(String(path.dropFirst(7))) else { return false }
        // What can't be looked at now may still be there.
        guard !openProblems.contains(where: { $0.hasPrefix("rootOffline|") || $0.hasPrefix("rootForeign|") }) else {
            return false
        }
        do {
            guard let entry = try files(.shared).entry(at: place) else { return true }
            // Something of the share's has the name again, and what had it in between has another one.
            return try store.read { db in
                guard let id = try db.base(at: place, root: .shared, top: top(.shared)), let row = try db.base(id)
                else { return false }
                return (row.kind == .folder) == (entry.kind == .directory) && row.stamp.isSameFile(as: entry.stamp)
            }
        } catch { return false }
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
