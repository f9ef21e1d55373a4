import Foundation
import ShoeboxModel
import Testing

/// The daemon as a process, beside commands.
@Suite(.serialized)
struct CommandDaemonTests {
    @Test func `a second start says which process runs and ends with 11`() throws {
        let place = try CommandPlace()
        let alice = try place.person("alice")
        let daemon = try alice.startDaemon()
        let second = try alice.run(["run"])
        #expect(second.code == 11)
        #expect(second.errors.contains("\(daemon.processIdentifier)"))
        #expect(try alice.initialize(["--take-over"]).code == 11, "what changes something needs the lock")
    }

    @Test func `init with the same values is fine while the daemon runs, and another value is refused`() throws {
        let place = try CommandPlace()
        let alice = try place.person("alice")
        _ = try alice.startDaemon()
        let again = try alice.initialize()
        #expect(again.code == 0 && again.output.contains("is set up"), "\(again.errors)")
        let elsewhere = try alice.initialize(["--library", alice.library + "2"])
        #expect(elsewhere.code == 1 && elsewhere.errors.contains("\"library\""), "\(elsewhere.errors)")
    }

    @Test(arguments: [SIGTERM, SIGINT])
    func `a signal ends the daemon with 0, and gives the lock back`(signal: Int32) throws {
        let place = try CommandPlace()
        let alice = try place.person("alice")
        let daemon = try alice.startDaemon()
        kill(daemon.processIdentifier, signal)
        try alice.wait("the daemon ends") { !daemon.isRunning }
        #expect(daemon.terminationReason == .exit)
        #expect(daemon.terminationStatus == 0)
        #expect(try alice.status()["daemon"] == .null)
        _ = try alice.startDaemon()
    }

    @Test func `after a kill the next start goes on`() throws {
        let place = try CommandPlace()
        let alice = try place.person("alice")
        for number in 0..<3 {
            let daemon = try alice.startDaemon()
            try alice.drop("photo \(number)", at: alice.library + "/\(number).jpg")
            kill(daemon.processIdentifier, SIGKILL)
            daemon.waitUntilExit()
        }
        _ = try alice.startDaemon()
        try alice.wait("all is in sync") {
            let paths = try alice.run(["list", "--json"]).json["entries"]?.array?.compactMap {
                $0.object?["path"]?.text
            }
            return try paths == ["library/0.jpg", "library/1.jpg", "library/2.jpg"]
                && alice.status()["state"]?.text == "inSync"
        }
    }

    @Test func `a container that is lost for good is made anew beside a daemon, and gets all that the device holds`()
        throws
    {
        let place = try CommandPlace()
        let alice = try place.person("alice")
        try alice.drop("one", at: alice.library + "/one.jpg")
        _ = try alice.startDaemon()
        try alice.wait("all is in sync") { try alice.status()["state"]?.text == "inSync" }
        let cloud = place.path + "/cloud"
        func sizes() throws -> [UInt64] {
            let names = try FileManager.default.subpathsOfDirectory(atPath: cloud + "/assets")
            return try names.compactMap {
                let attributes = try FileManager.default.attributesOfItem(atPath: cloud + "/assets/" + $0)
                return attributes[.type] as? FileAttributeType == .typeRegular ? attributes[.size] as? UInt64 : nil
            }
        }
        let before = try sizes()
        #expect(before.count == 1)
        try FileManager.default.removeItem(atPath: cloud)
        let told = try alice.run(["sync"])
        #expect(told.code == 13 && told.output.contains("shoebox verify"), "\(told.output) \(told.errors)")
        let fault = try alice.run(["verify"])
        #expect(fault.code == 13 && fault.output.contains("--new-container"), "\(fault.output)")
        try FileManager.default.createDirectory(atPath: cloud, withIntermediateDirectories: false)
        let made = try alice.run(["verify", "--repair", "--new-container"])
        #expect(made.code == 0, "\(made.output) \(made.errors)")
        try alice.wait("all is in sync again") { try alice.status()["state"]?.text == "inSync" }
        #expect(try sizes() == before)
        #expect(try alice.must("verify", "--json").json["faults"]?.array?.isEmpty == true)
    }

    @Test func `two daemons pass on photos, tags and deletions`() throws {
        let place = try CommandPlace()
        let alice = try place.person("alice")
        let bob = try place.person("bob")
        _ = try alice.startDaemon()
        _ = try bob.startDaemon()
        try alice.drop("one", at: alice.library + "/Lake/one.jpg")
        try alice.must("share", "create", "library/Lake", "--title", "Summer")
        try alice.must("share", "invite", "Summer", "bob", "--permission", "readWrite")
        try bob.must("accept", "--all-pending")
        let copy = bob.shared + "/alice/Summer/one.jpg"
        try bob.wait("the photo is there") { bob.text(copy) == "one" }
        try bob.must("tag", "add", copy, "swim")
        try alice.wait("the tag is there") {
            alice.text(alice.library + "/Lake/one.jpg.json")?.contains("\"swim\"") == true
        }
        try bob.drop("two", at: bob.shared + "/alice/Summer/two.jpg")
        try alice.wait("bob's photo is there") { alice.text(alice.library + "/Lake/two.jpg") == "two" }
        try FileManager.default.removeItem(atPath: alice.library + "/Lake/one.jpg")
        try bob.wait("the deletion is there") { bob.text(copy) == nil }
        let trash = try bob.must("trash", "list", "--json").json["entries"]?.array ?? []
        #expect(trash.contains { $0.object?["path"]?.text == "shared/alice/Summer/one.jpg" })
        try alice.must("sync")
        try bob.wait("bob is in sync") { try bob.status()["state"]?.text == "inSync" }
    }

    @Test func `two hundred photos later the daemon and its helper hold no more files open than after the first`()
        throws
    {
        let place = try CommandPlace()
        let alice = try place.person("alice")
        let daemon = try alice.startDaemon()
        func descriptors() throws -> Int {
            let number = daemon.processIdentifier
            let children = alice.text("/proc/\(number)/task/\(number)/children") ?? ""
            return try ([String(number)] + children.split(separator: " ").map(String.init)).reduce(0) {
                try $0 + FileManager.default.contentsOfDirectory(atPath: "/proc/\($1)/fd").count
            }
        }
        func settle(_ count: Int) throws {
            try alice.wait("\(count) photos are taken and pushed") {
                let status = try alice.status()
                let entries = try alice.run(["list", "--json"]).json["entries"]?.array?.count
                return status["state"]?.text == "inSync" && entries == count
            }
        }
        // As many as later at once: the threads that hash them share a few descriptors, opened once.
        for number in 0..<20 { try alice.drop("photo", at: alice.library + "/first-\(number).jpg") }
        try settle(20)
        let before = try descriptors()
        for step in 0..<10 {
            for number in 0..<20 { try alice.drop("photo \(step)", at: alice.library + "/\(step)-\(number).jpg") }
            try settle(20 + (step + 1) * 20)
        }
        // A command that asks the daemon just now may have a socket open.
        try alice.wait("no more files are open than before") { try descriptors() <= before }
    }

    @Test func `a container that comes back heals by itself`() throws {
        let place = try CommandPlace()
        let alice = try place.person("alice")
        _ = try alice.startDaemon()
        try alice.wait("in sync at first") { try alice.status()["state"]?.text == "inSync" }
        try FileManager.default.moveItem(atPath: alice.container, toPath: place.path + "/away")
        try alice.wait("status says offline") { try alice.status()["state"]?.text == "offline" }
        try alice.drop("one", at: alice.library + "/one.jpg")
        try alice.wait("the photo is taken all the same") { try alice.status()["pendingPush"]?.integer ?? 0 > 0 }
        #expect(try alice.run(["sync"]).code == 13)
        try FileManager.default.moveItem(atPath: place.path + "/away", toPath: alice.container)
        try alice.wait("in sync again") { try alice.status()["state"]?.text == "inSync" }
    }

    @Test func `a library that is gone is offline, and not deleted`() throws {
        let place = try CommandPlace()
        let alice = try place.person("alice")
        try alice.drop("one", at: alice.library + "/one.jpg")
        _ = try alice.startDaemon()
        try alice.wait("in sync at first") { try alice.status()["state"]?.text == "inSync" }
        try FileManager.default.moveItem(atPath: alice.library, toPath: alice.home + "/away")
        try alice.wait("status says offline") { try alice.status()["state"]?.text == "offline" }
        try FileManager.default.moveItem(atPath: alice.home + "/away", toPath: alice.library)
        try alice.wait("in sync again") { try alice.status()["state"]?.text == "inSync" }
        #expect(try alice.must("list", "--json").json["entries"]?.array?.count == 1)
    }
}
