import Foundation
import Glibc
import ShoeboxLibrary
import ShoeboxModel
import ShoeboxWorld
import Testing

/// Against the real program and the real kernel.
@Suite(.serialized)
struct WatcherProcessTests {
    let directory: TemporaryDirectory

    init() throws { directory = try TemporaryDirectory() }

    /// A watcher of the test's directory whose first report, the rescan, is taken.
    private func started() throws -> WatcherProcess {
        let watcher = WatcherProcess(roots: [directory.path])
        let report = collect(watcher) { $0.rescan == [0] }
        try #require(report.rescan == [0], "\(report.problems)")
        return watcher
    }

    /// Reports, put together until they are what is waited for; what there is when nothing comes for a minute.
    private func collect(_ watcher: WatcherProcess, until isEnough: (WatcherReport) -> Bool) -> WatcherReport {
        var all = WatcherReport()
        while !isEnough(all) {
            let report = watcher.nextDirty(timeoutMilliseconds: 60_000)
            if report.isEmpty { break }
            all.dirty.merge(report.dirty) { $0.union($1) }
            all.rescan.formUnion(report.rescan)
            all.lost.formUnion(report.lost)
            all.gone.formUnion(report.gone)
            all.whole.formUnion(report.whole)
            all.problems += report.problems
        }
        return all
    }

    private func paths(_ texts: String...) -> Set<RelativePath> { Set(texts.map { path($0) }) }

    private func expectDirty(_ watcher: WatcherProcess, _ wanted: Set<RelativePath>) {
        let report = collect(watcher) { $0.dirty[0, default: []].isSuperset(of: wanted) || !$0.rescan.isEmpty }
        let seen = report.dirty[0, default: []]
        #expect(seen.isSuperset(of: wanted) || report.rescan == [0], "missing \(wanted.subtracting(seen))")
    }

    @Test func `a folder is whole once all of it is watched, and again when it is asked for anew`() throws {
        try directory.makeDirectory("a/b")
        let watcher = WatcherProcess(roots: [directory.path, directory.path + "/none"])
        defer { watcher.stop() }
        for _ in 0..<2 {
            let report = collect(watcher) { $0.rescan.contains(0) }
            #expect(report.whole == [0] && report.problems.isEmpty, "\(report)")
            watcher.watchAnew()
        }
    }

    @Test func `a folder with something that can't be watched is not whole until it can be`() throws {
        try directory.makeDirectory("a/shut")
        let inner = directory.path + "/a/shut"
        // Nothing is shut to the superuser, who has one folder watched twice instead.
        let isRoot = geteuid() == 0
        if !isRoot { chmod(inner, 0) }
        let watcher = WatcherProcess(roots: isRoot ? [directory.path, inner] : [directory.path])
        defer {
            chmod(inner, 0o700)
            watcher.stop()
        }
        let first = collect(watcher) { !$0.problems.isEmpty && $0.rescan.count == (isRoot ? 2 : 1) }
        #expect(first.problems.compactMap(\.root) == [isRoot ? 1 : 0], "\(first)")
        #expect(first.whole == (isRoot ? [0] : []), "\(first)")
        guard !isRoot else { return }
        chmod(inner, 0o700)
        watcher.watchAnew()
        #expect(collect(watcher) { !$0.whole.isEmpty }.whole == [0])
    }

    @Test func `files in directories that were only just made are all reported`() throws {
        let watcher = try started()
        defer { watcher.stop() }
        var wanted: Set<RelativePath> = []
        for index in 0..<200 {
            let folder = "a\(index % 10)/b\(index)/c"
            try directory.makeDirectory(folder)
            try directory.write("x", to: "\(folder)/f.jpg")
            wanted.insert(path(folder))
        }
        expectDirty(watcher, wanted)
    }

    @Test func `renamed trees are known by their new names, whatever shares a prefix with the old`() throws {
        try directory.makeDirectory("foo/in")
        try directory.makeDirectory("foobar/in")
        try directory.makeDirectory("foo.d/in")
        let watcher = try started()
        defer { watcher.stop() }
        try directory.rename("foo", to: "zed")
        expectDirty(watcher, paths("", "zed", "zed/in"))
        try directory.write("x", to: "zed/in/a.jpg")
        try directory.write("x", to: "foobar/in/a.jpg")
        try directory.write("x", to: "foo.d/in/a.jpg")
        expectDirty(watcher, paths("zed/in", "foobar/in", "foo.d/in"))
    }

    @Test func `directories that swap names keep their contents apart`() throws {
        try directory.makeDirectory("a/one")
        try directory.makeDirectory("b/two")
        let watcher = try started()
        defer { watcher.stop() }
        try directory.rename("a", to: "t")
        try directory.rename("b", to: "a")
        try directory.rename("t", to: "b")
        expectDirty(watcher, paths("a/two", "b/one"))
        try directory.write("x", to: "a/two/f")
        try directory.write("x", to: "b/one/f")
        expectDirty(watcher, paths("a/two", "b/one"))
    }

    @Test func `a directory that is deleted and made again is watched`() throws {
        try directory.makeDirectory("a/b")
        let watcher = try started()
        defer { watcher.stop() }
        for round in 0..<5 {
            try directory.remove("a")
            try directory.makeDirectory("a/b")
            expectDirty(watcher, paths("a", "a/b"))
            try directory.write("x", to: "a/b/\(round).jpg")
            expectDirty(watcher, paths("a/b"))
        }
    }

    @Test func `what is moved out is no longer reported, what is moved in is`() throws {
        let outside = try TemporaryDirectory()
        try directory.makeDirectory("a/b")
        let watcher = try started()
        defer { watcher.stop() }
        try #require(Glibc.rename("\(directory.path)/a", "\(outside.path)/a") == 0)
        expectDirty(watcher, paths(""))
        try outside.write("x", to: "a/b/f.jpg")
        try directory.write("x", to: "mark")
        let report = collect(watcher) { $0.dirty[0]?.contains(.root) == true }
        #expect(report.dirty[0] == [.root])
        try #require(Glibc.rename("\(outside.path)/a", "\(directory.path)/c") == 0)
        expectDirty(watcher, paths("c", "c/b"))
    }

    @Test func `names of any bytes are reported`() throws {
        let watcher = try started()
        defer { watcher.stop() }
        let bytes: [UInt8] = [0xFF, 0x0A, 0x20, 0xFE]
        let odd = RelativePath([FileName(bytes: bytes)].compactMap { $0 })
        try directory.files.makeDirectory(odd)
        expectDirty(watcher, [.root, odd])
    }

    @Test func `nothing in our own directory is reported`() throws {
        try directory.makeDirectory(".shoebox/tmp")
        let watcher = try started()
        defer { watcher.stop() }
        try directory.write("x", to: ".shoebox/tmp/a")
        try directory.write("x", to: "mark")
        let report = collect(watcher) { $0.dirty[0] != nil }
        #expect(report.dirty[0] == [.root])
    }

    @Test func `a flood of events ends in every directory reported or a rescan`() throws {
        let watcher = try started()
        defer { watcher.stop() }
        let process = try #require(watcher.processID)
        kill(process, SIGSTOP)
        for index in 0..<9000 {
            try directory.write("x", to: "f\(index)")
        }
        try directory.makeDirectory("late/in")
        kill(process, SIGCONT)
        let report = collect(watcher) { !$0.rescan.isEmpty || $0.dirty[0]?.contains(path("late/in")) == true }
        #expect(report.rescan == [0] || report.dirty[0]?.contains(path("late/in")) == true)
        // That something was lost is said before all is watched anew.
        #expect(report.rescan.isEmpty || report.lost == [0], "\(report.lost)")
        try directory.write("x", to: "late/in/a.jpg")
        expectDirty(watcher, paths("late/in"))
    }

    @Test func `a root that is removed is gone, and back when it is made again`() throws {
        try directory.makeDirectory("root/a")
        let watcher = WatcherProcess(roots: [directory.path + "/root"])
        defer { watcher.stop() }
        try #require(collect(watcher) { $0.rescan == [0] }.rescan == [0])
        try directory.rename("root", to: "elsewhere")
        #expect(collect(watcher) { $0.gone == [0] }.gone == [0])
        try directory.makeDirectory("root/b")
        #expect(collect(watcher) { $0.rescan == [0] }.rescan == [0])
        try directory.write("x", to: "root/b/f")
        expectDirty(watcher, paths("b"))
    }

    @Test func `a watcher that is killed is started again and everything is looked at`() throws {
        let watcher = try started()
        defer { watcher.stop() }
        let first = try #require(watcher.processID)
        kill(first, SIGKILL)
        let report = collect(watcher) { $0.rescan == [0] && !$0.problems.isEmpty }
        #expect(report.rescan == [0])
        #expect(report.problems == [.restarted(message: "it was ended by signal 9")])
        _ = collect(watcher) { $0.rescan == [0] }
        try directory.makeDirectory("new")
        expectDirty(watcher, paths("", "new"))
        #expect(watcher.processID != first)
    }

    /// A program that has a watcher run in a user namespace of its own, whose watches are limited.
    private static func limiter(watches: Int) -> String {
        let program = WatcherProcess.executableBesideThis()
        return """
            #!/bin/sh
            exec unshare -Ur sh -c 'echo \(watches) > /proc/sys/user/max_inotify_watches && exec "$0"' \(program)
            """
    }

    private static let hasNamespaces: Bool = {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/bin/sh")
        process.arguments = ["-c", "unshare -Ur sh -c 'echo 5 > /proc/sys/user/max_inotify_watches' 2> /dev/null"]
        do { try process.run() } catch { return false }
        process.waitUntilExit()
        return process.terminationStatus == 0
    }()

    @Test(.enabled(if: hasNamespaces, "needs 'unshare' and user namespaces, to have a limit of its own"))
    func `beyond the kernel's limit all directories are counted, and what can be watched is`() throws {
        for number in 0..<8 { try directory.makeDirectory("root/\(number)") }
        try directory.write(Self.limiter(watches: 5), to: "limited.sh")
        let script = directory.path + "/limited.sh"
        chmod(script, 0o755)
        let watcher = WatcherProcess(roots: [directory.path + "/root"], executable: script)
        defer { watcher.stop() }
        let report = collect(watcher) { $0.rescan == [0] }
        #expect(report.problems == [.watchLimit(root: 0, directoriesNeeded: 9)], "\(report)")
        #expect(report.whole == [] && report.rescan == [0], "\(report)")
        #expect(report.problems.first?.message.contains("this folder needs 9") == true)
        try directory.write("x", to: "root/a.jpg")
        expectDirty(watcher, paths(""))
        for number in 0..<6 { try directory.remove("root/\(number)") }
        watcher.watchAnew()
        let later = collect(watcher) { !$0.whole.isEmpty }
        #expect(later.whole == [0] && later.problems.isEmpty, "\(later)")
        for number in 6..<8 { try directory.write("x", to: "root/\(number)/b.jpg") }
        expectDirty(watcher, paths("6", "7"))
    }

    @Test func `a watcher that can't be started says so`() {
        let watcher = WatcherProcess(roots: [directory.path], executable: "/nonexistent/shoebox-watch")
        defer { watcher.stop() }
        let report = watcher.nextDirty(timeoutMilliseconds: 60_000)
        guard case .notRunning = report.problems.first else {
            Issue.record("no problem in \(report)")
            return
        }
    }

    @Test func `waking ends the wait`() throws {
        let watcher = try started()
        defer { watcher.stop() }
        watcher.wake()
        #expect(watcher.nextDirty(timeoutMilliseconds: 50_000).isEmpty)
    }
}
