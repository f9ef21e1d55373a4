import Foundation
import ShoeboxLibrary
import ShoeboxModel
import ShoeboxWorld
import Testing

@testable import Shoebox

/// `shoebox doctor` measures the user's mount, and says what it found, in words, numbers and verdicts.
struct DoctorTests {
    private func rows(_ result: CommandResult) -> [String: JSONObject] {
        let all = result.json["results"]?.array?.compactMap(\.object) ?? []
        return Dictionary(all.map { ($0["name"]?.text ?? "", $0) }) { $1 }
    }

    @Test func `doctor tries out a directory, cleans up, and says what is missing`() throws {
        let place = try CommandPlace()
        let alice = try place.person("alice")
        let result = try alice.run(["doctor", "--megabytes", "1", "--patience", "5", "--json"])
        #expect(result.code == 0, "\(result.output) \(result.errors)")
        let rows = rows(result)
        for name in [
            "modes", "write", "openFreshness", "listingFreshness", "appendFreshness", "statFreshness", "renameOver",
            "names", "case", "writeThroughput", "space", "ownEvents", "othersEvents", "inotify", "libraryEvents",
            "libraryOthersEvents", "sharedEvents", "sharedOthersEvents",
        ] { #expect(rows[name] != nil, "\(name) in \(rows.keys.sorted())") }
        for name in ["ownEvents", "libraryEvents", "sharedEvents"] {
            let row = rows[name] ?? [:]
            #expect(row["verdict"]?.text == "good" && row["text"]?.text?.contains("comes as an event") == true)
            #expect(row["unit"]?.text == "milliseconds" && row["value"]?.integer != nil, "\(row)")
        }
        let latency = result.json["expectedLatencyMilliseconds"]?.integer ?? 0
        #expect((1_000..<6_000).contains(latency) && result.json["expectedLatencyIsMore"]?.bool == false)
        for directory in [alice.container, alice.library + "/.shoebox/tmp", alice.shared + "/.shoebox/tmp"] {
            let left = try FileManager.default.contentsOfDirectory(atPath: directory)
            #expect(!left.contains { $0.contains("doctor") }, "\(left)")
        }
        let nowhere = try alice.run(["doctor", place.path + "/nowhere", "--json"])
        #expect(nowhere.code == 3, "\(nowhere.output)")
        #expect(nowhere.json["isGood"]?.bool == false)
        #expect(self.rows(nowhere)["directory"]?["verdict"]?.text == "bad", "\(nowhere.output)")
        let told = try alice.run(["doctor", place.path + "/nowhere"])
        #expect(told.output.contains("BAD   there is no directory '\(place.path)/nowhere'"), "\(told.output)")
        #expect(told.output.contains("hint: Check the path, and that it is mounted."), "\(told.output)")
        #expect(!told.output.contains("Others see what you change"), "\(told.output)")
    }

    /// The second client's directory is another one: it sees nothing of what the first one writes.
    @Test func `what is not seen in time is told as slow, and the latency as more than what was waited for`() throws {
        let place = try CommandPlace()
        let alice = try place.person("alice")
        try FileManager.default.createDirectory(atPath: place.path + "/apart", withIntermediateDirectories: false)
        let command = ["doctor", "--second", place.path + "/apart", "--megabytes", "1", "--patience", "1"]
        let result = try alice.run(command + ["--json"])
        #expect(result.code == 0, "\(result.output) \(result.errors)")
        let rows = rows(result)
        for name in ["openFreshness", "listingFreshness", "appendFreshness"] {
            let row = rows[name] ?? [:]
            #expect(row["verdict"]?.text == "slow" && row["isMore"]?.bool == true, "\(name): \(row)")
            #expect(row["value"]?.integer == 1_000 && row["advice"]?.text?.isEmpty == false, "\(name): \(row)")
        }
        #expect(rows["ownEvents"]?["verdict"]?.text == "good")
        // What the second client can't show can't be watched there.
        #expect(rows["othersEvents"]?["verdict"]?.text == "note", "\(rows)")
        #expect(rows["othersEvents"]?["advice"]?.text?.contains("every 1000 ms") == true, "\(rows)")
        #expect(result.json["expectedLatencyMilliseconds"]?.integer == 2_000, "\(result.output)")
        #expect(result.json["expectedLatencyIsMore"]?.bool == true)
        let told = try alice.run(command).output
        #expect(told.contains("slow  what was added to a file is read only after more than 1000 ms"), "\(told)")
        #expect(told.contains("hint: This is how news travel"), "\(told)")
        #expect(told.contains("Others see what you change after more than 2 s; --patience waits longer."), "\(told)")
    }

    @Test func `a step that does not end in time is named, by word and by exit code`() throws {
        let place = try CommandPlace()
        let alice = try place.person("alice")
        try FileManager.default.createDirectory(atPath: place.path + "/apart", withIntermediateDirectories: false)
        let command = ["doctor", "--second", place.path + "/apart", "--patience", "600", "--deadline", "3"]
        let result = try alice.run(command + ["--json"])
        #expect(result.code == 13, "\(result.output) \(result.errors)")
        #expect(result.json["hung"]?.text == "openFreshness" && result.json["isGood"]?.bool == false)
        #expect(rows(result)["write"]?["verdict"]?.text == "good", "what came before is told")
        #expect(
            rows(result)["libraryEvents"]?["verdict"]?.text == "good", "the watched folders are looked at all the same")
        let told = try alice.run(command).output
        #expect(told.contains("BAD   'openFreshness' did not end in time: the mount hangs"), "\(told)")
    }

    /// A watcher that watches, and to which nothing is reported; or which may watch nothing.
    @Test(arguments: [true, false])
    func `a folder whose changes come by no event is told so, with what to do`(isWatched: Bool) throws {
        let place = try CommandPlace()
        let alice = try place.person("alice")
        try alice.replaceWatcher(
            isWatched ? #"printf 'ready %s 1\nrescan %s\n' $number $number"# : #"printf 'limit %s 70000\n' $number"#)
        let result = try alice.run(["doctor", "--megabytes", "1", "--patience", "2", "--json"])
        #expect(result.code == 0, "\(result.output) \(result.errors)")
        let rows = rows(result)
        for (name, folder) in [("ownEvents", "cloud"), ("libraryEvents", "library"), ("sharedEvents", "shared")] {
            let row = rows[name] ?? [:]
            #expect(row["verdict"]?.text == "slow", "\(row)")
            let text = row["text"]?.text ?? ""
            #expect(
                isWatched
                    ? text == "of what this machine writes in the \(folder) folder no event comes within 2.0 s"
                    : text.hasPrefix("the \(folder) folder can't be watched: too few inotify watches"), "\(text)")
            let advice = row["advice"]?.text ?? ""
            #expect(
                advice.contains(
                    folder == "cloud" ? "up to every 10.0 s when not ('pollMilliseconds')" : "'shoebox sync'"),
                "\(advice)")
            #expect(rows[name.replacing("ownEvents", with: "othersEvents")] != nil)
        }
        #expect(rows["libraryOthersEvents"]?["verdict"]?.text == "slow", "\(rows)")
    }

    @Test func `a probe of events says what another client's view shows, and what the kind of mount can't show`() throws
    {
        let place = try CommandPlace()
        var poll = Configuration.PollMilliseconds()
        poll.idle = 60_000
        var probe = EventProbe(.cloud(poll), watcherPath: nil)
        probe.patienceMilliseconds = 20
        probe.makeWatcher = { ScriptedWatcher(seesWrites: !$0.hasSuffix("/there")) }
        let both = probe.run(writer: place.path, reader: place.path + "/there") { _ in true }
        #expect(both.map(\.name) == ["ownEvents", "othersEvents"])
        #expect(both.map(\.verdict) == [.good, .note], "\(both)")
        #expect(both[1].isMore && both[1].value == 20 && both[1].advice.contains("every 60.0 s"), "\(both)")
        probe.makeWatcher = { _ in ScriptedWatcher(seesWrites: true) }
        let fresh = probe.run(writer: place.path, reader: place.path + "/there") { _ in true }
        #expect(fresh.map(\.verdict) == [.good, .good], "\(fresh)")
        // Nobody knows what is mounted where nothing is.
        var watched = EventProbe(.watched("library"), watcherPath: nil)
        watched.makeWatcher = probe.makeWatcher
        let unknown = watched.run(writer: place.path + "/none", reader: place.path + "/none") { _ in true }
        #expect(unknown.map(\.verdict) == [.good, .slow], "\(unknown)")
        #expect(unknown[1].name == "libraryOthersEvents" && unknown[1].text.contains("no event tells"), "\(unknown)")
        let full = watched.run(writer: place.path, reader: place.path) { _ in
            errno = ENOSPC
            return false
        }
        #expect(full[0].text == "nothing can be written in the library folder: No space left on device", "\(full)")
    }
}

/// A watcher that is ready at once, and then sees something or nothing.
private final class ScriptedWatcher: Watcher {
    private let reports: Mutex<[WatcherReport]>

    init(seesWrites: Bool) {
        var ready = WatcherReport()
        ready.rescan = [0]
        var dirty = WatcherReport()
        dirty.dirty = [0: [.root]]
        reports = .init(seesWrites ? [ready, dirty] : [ready])
    }

    func nextDirty(timeoutMilliseconds: Int) -> WatcherReport {
        if let next = reports.withLock({ $0.isEmpty ? nil : $0.removeFirst() }) { return next }
        usleep(UInt32(min(timeoutMilliseconds, 1_000)) * 1_000)
        return WatcherReport()
    }

    func wake() {}
    func stop() {}
}

extension CommandPerson {
    /// Has a script speak to the daemon in place of `shoebox-watch`.
    ///
    /// - Parameter answer: what the shell does when it is asked to watch the root of `$number`.
    func replaceWatcher(_ answer: String) throws {
        let script = home + "/watcher.sh"
        let text = """
            #!/bin/sh
            echo hello shoebox-watch/1
            while read -r kind number path; do
                if [ "$kind" = root ]; then
                    \(answer)
                fi
            done
            """
        try Data((text + "\n").utf8).write(to: URL(fileURLWithPath: script))
        chmod(script, 0o755)
        var settings = try JSONText.parse(self.text(config) ?? "").object ?? [:]
        settings["watcherPath"] = .string(script)
        try Data(JSONText.encode(.object(settings))).write(to: URL(fileURLWithPath: config))
    }
}
