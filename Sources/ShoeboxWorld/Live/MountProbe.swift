internal import CFileSystem
// `struct stat` is known by this module, too, if a file compiled beside this one imports it.
internal import CDispatch
internal import Glibc

/// Tries out a directory that a container lies in, or shall lie in: what is fresh how soon, what names and modes it keeps,
/// how fast it is. Works in a directory of its own there, which it removes.
///
/// Every call may hang for ever: run it in a process that can be left behind.
public struct MountProbe {
    /// The directory as the one who writes sees it.
    public let writer: String
    /// The same directory as the one who reads sees it: another mount point of the same server, or the same path.
    public let reader: String
    /// How long news are waited for.
    public var patienceMilliseconds: UInt64 = 10_000
    /// How much is written and read to measure the speed.
    public var bytes = 32 << 20
    /// Finds out what events come of a file that is made in the probe's own directory, and says it; nil for not trying.
    /// Takes the directory as the writer and as the reader sees it, and what makes a file of a name there.
    public var events: ((_ writer: String, _ reader: String, _ make: (String) -> Bool) -> [ProbeResult])?
    /// The name of the probe's own directory.
    let folder = ".tmp-doctor-" + String(UInt64.random(in: .min ... .max), radix: 16)

    /// A probe of one directory, seen by two paths.
    public init(writer: String, reader: String? = nil) {
        self.writer = writer
        self.reader = reader ?? writer
    }

    /// The probe's own directory, as the writer sees it.
    public var workPath: String { writer + "/" + folder }
    private func here(_ name: String) -> String { workPath + "/" + name }
    private func there(_ name: String) -> String { reader + "/" + folder + "/" + name }

    /// Does everything, one step after the other.
    ///
    /// - Parameters:
    ///   - begin: called with each step's name before it is done, to name the one that hung.
    ///   - report: called with each result.
    public func run(begin: (String) -> Void, report: (ProbeResult) -> Void) {
        begin("directory")
        guard mkdir(workPath, 0o2770) == 0 else {
            let code = errno
            let advice =
                switch code {
                case EACCES, EPERM, EROFS:
                    "You need to be allowed to write there: ask for its group ('chgrp', 'chmod g+rws'), or for a writable export."
                case ENOSPC, EDQUOT: "Make room there, and try again."
                case ENOENT, ENOTDIR: "Check the path, and that it is mounted."
                default: "Check that it is mounted and works."
                }
            let text =
                switch code {
                case ENOENT where access(writer, F_OK) == 0: "nothing can be made in '\(writer)'"
                case ENOENT: "there is no directory '\(writer)'"
                case ENOTDIR: "'\(writer)' is no directory"
                default: "no directory can be made: \(Self.message(code))"
                }
            report(ProbeResult("directory", text, .bad, advice: advice))
            return
        }
        defer { remove() }
        let steps: [(String, () -> [ProbeResult])] = [
            ("modes", modes), ("write", writes), ("openFreshness", newName), ("listingFreshness", listing),
            ("appendFreshness", appending), ("statFreshness", statFreshness), ("events", eventsOfAFile),
            ("renameOver", renameOver), ("names", names), ("times", times), ("throughput", throughput),
            ("space", space), ("memory", memory),
        ]
        for (name, step) in steps {
            begin(name)
            let results = step()
            for result in results { report(result) }
            guard name == "write", results.contains(where: { $0.verdict == .bad }) else { continue }
            // What can't be written says nothing of names, times and freshness.
            begin("space")
            for result in space() { report(result) }
            return
        }
    }

    // MARK: Steps

    private func modes() -> [ProbeResult] {
        var result: [ProbeResult] = []
        _ = chmod(workPath, 0o3770)
        var directory = stat()
        guard stat(workPath, &directory) == 0 else { return [failed("modes")] }
        let kept = directory.st_mode & 0o7777
        if kept & 0o3000 == 0o3000 {
            result.append(ProbeResult("modes", "set-group-id and sticky directories are kept", .good))
        } else {
            result.append(
                ProbeResult(
                    "modes", "a directory of mode 3770 becomes \(String(kept, radix: 8))", .slow,
                    advice:
                        "Files of one person may not be open to the others here. Give all of them one group, or mount with modes that do ('file_mode', 'dir_mode', 'umask'); 'shoebox init --open' asks for less."
                ))
        }
        _ = write(here("mode"), [1])
        _ = chmod(here("mode"), 0o640)
        var file = stat()
        if stat(here("mode"), &file) == 0 {
            let mode = file.st_mode & 0o7777
            let isGood = mode == 0o640
            result.append(
                ProbeResult(
                    "chmod",
                    isGood ? "modes of files are kept" : "a file of mode 640 becomes \(String(mode, radix: 8))",
                    isGood ? .good : mode & 0o040 == 0 ? .bad : .slow,
                    advice: isGood
                        ? ""
                        : "What is written here is open to whom the mount's options say, not to whom shoebox means."))
            if directory.st_mode & S_ISGID != 0, file.st_gid != directory.st_gid {
                result.append(
                    ProbeResult(
                        "group", "new files do not get the group of their directory", .bad,
                        advice:
                            "Others of the group can't read what you write. Mount with 'grpid' or an export that keeps groups."
                    ))
            }
        }
        return result
    }

    private func writes() -> [ProbeResult] {
        var times: [Double] = []
        for number in 0..<7 {
            let start = now()
            guard write(here(".tmp-w\(number)"), [UInt8](repeating: 7, count: 4_096), syncs: true),
                rename(here(".tmp-w\(number)"), here("w\(number)")) == 0
            else { return [failed("write", advice: "Every step of shoebox needs that.", .bad)] }
            times.append(now() - start)
        }
        let median = times.sorted()[times.count / 2]
        return [
            ProbeResult(
                "write", "a small file is written durably and renamed in \(Self.text(median))", value: median,
                unit: "milliseconds", median > 500 ? .slow : .good,
                advice: median > 500 ? "Each batch of changes takes that long at least." : "")
        ]
    }

    /// A name that was asked for before it was there.
    private func newName() -> [ProbeResult] {
        _ = open(there("fresh"))
        guard write(here(".tmp-fresh"), [1, 2, 3], syncs: true), rename(here(".tmp-fresh"), here("fresh")) == 0 else {
            return [failed("openFreshness")]
        }
        let waited = wait { open(there("fresh"))?.count == 3 }
        return [freshness("openFreshness", "a new file can be opened by its name", waited, slowFrom: 2_000)]
    }

    private func listing() -> [ProbeResult] {
        _ = list(reader + "/" + folder)
        guard write(here("listed"), [1], syncs: true) else { return [failed("listingFreshness")] }
        let waited = wait { list(reader + "/" + folder).contains("listed") }
        return [
            freshness(
                "listingFreshness", "a new file shows in a listing", waited, slowFrom: 20_000,
                advice: "New devices and shares are found that much later.")
        ]
    }

    private func appending() -> [ProbeResult] {
        guard write(here("grown"), [UInt8](repeating: 1, count: 512), syncs: true) else {
            return [failed("appendFreshness")]
        }
        _ = wait { open(there("grown"))?.count == 512 }
        var worst: Double? = 0
        for round in 1...3 {
            guard write(here("grown"), [UInt8](repeating: 2, count: 512), syncs: true, appends: true) else {
                return [failed("appendFreshness", .bad)]
            }
            let waited = wait { open(there("grown"))?.count == 512 * (round + 1) }
            if let known = worst, let waited { worst = max(known, waited) } else { worst = nil }
        }
        return [
            freshness(
                "appendFreshness", "what was added to a file is read", worst, slowFrom: 2_000,
                advice: "This is how news travel: others see yours that much later, besides the polling interval.")
        ]
    }

    private func statFreshness() -> [ProbeResult] {
        var before = stat()
        guard stat(there("grown"), &before) == 0,
            write(here("grown"), [UInt8](repeating: 3, count: 512), syncs: true, appends: true)
        else { return [failed("statFreshness")] }
        let size = before.st_size + 512
        let waited = wait {
            var now = stat()
            return stat(there("grown"), &now) == 0 && now.st_size >= size
        }
        var result = freshness(
            "statFreshness", "the new size of a file shows without opening it", waited, slowFrom: .infinity)
        // Shoebox never asks for it.
        result.verdict = .note
        result.advice = ""
        return [result]
    }

    private func eventsOfAFile() -> [ProbeResult] {
        events?(workPath, reader + "/" + folder) { write(here($0), [1], syncs: true) } ?? []
    }

    private func renameOver() -> [ProbeResult] {
        guard write(here("over"), Array("old content".utf8), syncs: true) else { return [failed("renameOver")] }
        _ = wait { open(there("over"))?.count == 11 }
        guard write(here(".tmp-over"), Array("new".utf8), syncs: true) else { return [failed("renameOver")] }
        guard rename(here(".tmp-over"), here("over")) == 0 else {
            return [
                ProbeResult(
                    "renameOver", "a file can't be renamed over another one: \(Self.message(errno))", .note,
                    advice: "Shoebox does without, other programs may not.")
            ]
        }
        let waited = wait { open(there("over")) == Array("new".utf8) }
        var result = freshness(
            "renameOver", "a file that was renamed over another one is read", waited, slowFrom: .infinity)
        result.verdict = .note
        result.advice =
            waited == nil ? "Shoebox renames nothing over anything here; other programs may get old or cut files." : ""
        return [result]
    }

    private func names() -> [ProbeResult] {
        var refused: [String] = []
        var result: [ProbeResult] = []
        let tries: [(String, [UInt8])] = [
            ("':'", Array("a:b".utf8)), ("'?'", Array("a?b".utf8)), ("'*'", Array("a*b".utf8)),
            ("'<' and '>'", Array("a<b>".utf8)), ("'|'", Array("a|b".utf8)), ("'\"'", Array("a\"b".utf8)),
            ("backslash", Array("a\\b".utf8)), ("a dot at the end", Array("ab.".utf8)),
            ("a space at the end", Array("ab ".utf8)), ("a line end", Array("a\nb".utf8)),
            ("bytes that are no UTF-8", [0x61, 0xff, 0x62]), ("255 bytes", [UInt8](repeating: 0x6c, count: 255)),
        ]
        for (what, bytes) in tries {
            let name = String(decoding: bytes, as: UTF8.self)
            let path = Array((workPath + "/").utf8) + bytes
            if write(path, [1]) {
                let raw = rawList(workPath)
                if !raw.contains(bytes) { refused.append("\(what) (stored as another name)") }
                _ = unlink(path.map { CChar(bitPattern: $0) } + [0])
            } else {
                refused.append(what)
            }
            _ = name
        }
        result.append(
            ProbeResult(
                "names", refused.isEmpty ? "every name is kept" : "not kept: \(refused.joined(separator: ", "))", .note,
                advice: refused.isEmpty ? "" : "A container uses none of these; a library folder here would."))
        _ = write(here("Case"), [1])
        _ = write(here("case"), [1, 2])
        let isExact = open(here("Case"))?.count == 1 && open(here("case"))?.count == 2
        result.append(
            ProbeResult(
                "case", isExact ? "'Case' and 'case' are two files" : "'Case' and 'case' are one file", .note,
                advice: isExact ? "" : "A container does not mind; a library folder here would."))
        return result
    }

    private func times() -> [ProbeResult] {
        guard write(here("time"), [1]) else { return [failed("times")] }
        let wanted = timespec(tv_sec: 1_000_000_001, tv_nsec: 123_456_789)
        let both = [wanted, wanted]
        guard utimensat(AT_FDCWD, here("time"), both, 0) == 0 else {
            return [
                ProbeResult(
                    "times", "times of files can't be set: \(Self.message(errno))", .note,
                    advice: "A container does not mind; a library folder here would lose the times of photos.")
            ]
        }
        var found = stat()
        _ = stat(here("time"), &found)
        let isExact = found.st_mtim.tv_sec == wanted.tv_sec && found.st_mtim.tv_nsec == wanted.tv_nsec
        return [
            ProbeResult("times", isExact ? "times are kept to the nanosecond" : "times are kept roughly", .note)
        ]
    }

    private func throughput() -> [ProbeResult] {
        let chunk = (0..<262_144).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) }
        let file = Glibc.open(here("large"), O_WRONLY | O_CREAT | O_EXCL, 0o600)
        guard file >= 0 else { return [failed("throughput")] }
        let start = now()
        var done = 0
        var code: Int32 = 0
        while done < bytes {
            let count = Glibc.write(file, chunk, chunk.count)
            guard count == chunk.count else {
                code = count < 0 ? errno : ENOSPC
                break
            }
            done += chunk.count
        }
        if code == 0, fsync(file) != 0 { code = errno }
        if close(file) != 0, code == 0 { code = errno }
        guard code == 0 else {
            errno = code
            return [failed("throughput", advice: "Is the cloud folder full?", .bad)]
        }
        let writing = Double(done) / 1e6 / max(0.001, (now() - start) / 1_000)
        let again = now()
        let read = open(there("large"), maxBytes: done)?.count ?? 0
        let reading = Double(read) / 1e6 / max(0.001, (now() - again) / 1_000)
        return [
            ProbeResult(
                "writeThroughput", "\(Int(writing)) MB/s are written durably", value: writing,
                unit: "megabytesPerSecond",
                writing < 1 ? .slow : .good,
                advice: writing < 1 ? "A photo of 5 MB takes \(Int(5 / max(0.01, writing))) s." : ""),
            ProbeResult(
                "readThroughput",
                "\(Int(reading)) MB/s are read\(reader == writer ? ", perhaps from this machine's memory" : "")",
                value: reading, unit: "megabytesPerSecond", .good),
        ]
    }

    /// The file systems that are gone with the next start, by the kernel's numbers for them.
    private static let inMemory: Set<UInt64> = [0x0102_1994, 0x8584_58f6]

    private func memory() -> [ProbeResult] {
        let directory = Glibc.open(workPath, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard directory >= 0 else { return [] }
        defer { close(directory) }
        guard Self.inMemory.contains(shoebox_file_system_type(directory)) else { return [] }
        return [
            ProbeResult(
                "memory", "it lies in memory: all that is in it is gone with the next start", .slow,
                advice: "Put the cloud folder on a disk, or on another machine's.")
        ]
    }

    private func space() -> [ProbeResult] {
        var status = statvfs()
        guard statvfs(workPath, &status) == 0 else { return [failed("space")] }
        let free = Double(status.f_bavail) * Double(status.f_frsize) / 1e9
        let shown = free < 10 ? "\(Int(free * 1_000)) MB" : "\(Int(free)) GB"
        return [
            ProbeResult(
                "space", "\(shown) are free", value: free, unit: "gigabytes", free < 1 ? .slow : .good,
                advice: free < 1 ? "There is little room left." : "")
        ]
    }

    // MARK: Calls

    private func freshness(
        _ name: String, _ what: String, _ waited: Double?, slowFrom: Double, advice: String = ""
    ) -> ProbeResult {
        guard let waited else {
            return ProbeResult(
                name, "\(what) only after more than \(Self.text(Double(patienceMilliseconds)))",
                value: Double(patienceMilliseconds), unit: "milliseconds", isMore: true, .slow,
                advice: advice.isEmpty ? "Others see news that much later." : advice)
        }
        let isSlow = waited >= slowFrom
        return ProbeResult(
            name, "\(what) after \(Self.text(waited))", value: waited, unit: "milliseconds", isSlow ? .slow : .good,
            advice: isSlow ? advice : "")
    }

    private func failed(
        _ name: String, advice: String = "", _ verdict: ProbeResult.Verdict = .slow
    ) -> ProbeResult {
        ProbeResult(name, "it can't be tried: \(Self.message(errno))", verdict, advice: advice)
    }

    /// How long until something is so; nil if it takes too long.
    private func wait(_ check: () -> Bool) -> Double? {
        let start = now()
        while true {
            if check() { return now() - start }
            if now() - start > Double(patienceMilliseconds) { return nil }
            _ = poll(nil, 0, now() - start < 50 ? 2 : 50)
        }
    }

    private func now() -> Double {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return Double(time.tv_sec) * 1_000 + Double(time.tv_nsec) / 1e6
    }

    private func open(_ path: String, maxBytes: Int = 1 << 20) -> [UInt8]? {
        let file = Glibc.open(path, O_RDONLY)
        guard file >= 0 else { return nil }
        defer { close(file) }
        var result: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 262_144)
        while result.count < maxBytes {
            let count = read(file, &buffer, buffer.count)
            guard count >= 0 else { return nil }
            if count == 0 { break }
            result += buffer.prefix(count)
        }
        return result
    }

    private func write(_ path: String, _ bytes: [UInt8], syncs: Bool = false, appends: Bool = false) -> Bool {
        write(Array(path.utf8), bytes, syncs: syncs, appends: appends)
    }

    private func write(_ path: [UInt8], _ bytes: [UInt8], syncs: Bool = false, appends: Bool = false) -> Bool {
        let name = path.map { CChar(bitPattern: $0) } + [0]
        let file = Glibc.open(name, O_WRONLY | O_CREAT | (appends ? O_APPEND : O_TRUNC), 0o640)
        guard file >= 0 else { return false }
        let isWhole = Glibc.write(file, bytes, bytes.count) == bytes.count && (!syncs || fsync(file) == 0)
        return close(file) == 0 && isWhole
    }

    private func list(_ path: String) -> [String] {
        rawList(path).map { String(decoding: $0, as: UTF8.self) }
    }

    private func rawList(_ path: String) -> [[UInt8]] {
        guard let directory = opendir(path) else { return [] }
        defer { closedir(directory) }
        var result: [[UInt8]] = []
        while let entry = readdir(directory) {
            let bytes = withUnsafeBytes(of: &entry.pointee.d_name) { raw in Array(raw.prefix { $0 != 0 }) }
            if bytes != [0x2e], bytes != [0x2e, 0x2e] { result.append(bytes) }
        }
        return result
    }

    private func remove() {
        for name in rawList(workPath) {
            _ = unlink((Array((workPath + "/").utf8) + name).map { CChar(bitPattern: $0) } + [0])
        }
        _ = rmdir(workPath)
    }

    private static func message(_ code: Int32) -> String { String(cString: strerror(code)) }
    /// A length of time as people read it.
    public static func text(_ milliseconds: Double) -> String {
        milliseconds < 10
            ? "\(Double(Int(milliseconds * 10)) / 10) ms"
            : milliseconds < 2_000 ? "\(Int(milliseconds)) ms" : "\(Double(Int(milliseconds / 100)) / 10) s"
    }
}
