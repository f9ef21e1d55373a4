import Foundation
import Glibc
import Testing

@testable import ShoeboxWorld

/// What a mount reached through helper processes promises beyond `Mount`. A helper that is stopped by a signal stands
/// for one whose call does not return.
@Suite struct ProcessMountTests {
    private let folder: TemporaryFolder
    private let root: String

    init() throws {
        folder = try TemporaryFolder()
        root = folder.path + "/container"
        try FileManager.default.createDirectory(atPath: root, withIntermediateDirectories: false)
    }

    private func withMount(deadlineSeconds: Double, _ body: (ProcessMount) throws -> Void) throws {
        defer { folder.remove() }
        try body(ProcessMount(root: root, executable: try builtExecutable(), deadlineSeconds: deadlineSeconds))
    }

    private func stopOnlyHelper(of mount: ProcessMount) throws -> Int32 {
        let processes = mount.idleProcesses
        let process = try #require(processes.first)
        #expect(processes.count == 1)
        kill(process, SIGSTOP)
        return process
    }

    @Test func `a call that does not return times out, others are refused at once, and all is well when it returns`()
        throws
    {
        try withMount(deadlineSeconds: 0.2) { mount in
            let name = try mountPath("a")
            try mount.publish(name, [1, 2])
            let process = try stopOnlyHelper(of: mount)
            let late = #expect(throws: FileError.self) { try mount.read(name, from: 0, maxBytes: 9) }
            #expect(late?.code == .timedOut)
            let refused = #expect(throws: FileError.self) { try mount.list(.root) }
            #expect(refused?.code == .offline)
            kill(process, SIGCONT)
            // The late answer is what says that the mount is back; nothing else is asked until it is here.
            var bytes: [UInt8]?
            while bytes == nil { bytes = try? mount.read(name, from: 0, maxBytes: 9) }
            #expect(bytes == [1, 2])
        }
    }

    @Test func `a helper that is killed costs one failed call at most`() throws {
        try withMount(deadlineSeconds: 20) { mount in
            let name = try mountPath("a")
            try mount.publish(name, [1, 2])
            kill(try #require(mount.idleProcesses.first), SIGKILL)
            var bytes: [UInt8]?
            for _ in 0..<2 where bytes == nil { bytes = try? mount.read(name, from: 0, maxBytes: 9) }
            #expect(bytes == [1, 2])
        }
    }

    @Test func `a new helper knows which directory the root was`() throws {
        try withMount(deadlineSeconds: 20) { mount in
            #expect(try mount.list(.root) == [])
            kill(try #require(mount.idleProcesses.first), SIGKILL)
            try FileManager.default.moveItem(atPath: root, toPath: folder.path + "/away")
            try FileManager.default.createDirectory(atPath: root, withIntermediateDirectories: false)
            _ = try? mount.list(.root)
            let error = #expect(throws: FileError.self) { try mount.publish(try mountPath("a"), [1]) }
            #expect(error?.code == .offline)
            #expect(try FileManager.default.contentsOfDirectory(atPath: root) == [])
        }
    }

    @Test func `an upload that fails half way says so, leaves nothing, and the next call works`() throws {
        try withMount(deadlineSeconds: 20) { mount in
            struct Stop: Error {}
            let chunk = [UInt8](repeating: 7, count: 300_000)
            #expect(throws: Stop.self) {
                try mount.publish(try mountPath("d/half")) { write in
                    try write(chunk)
                    throw Stop()
                }
            }
            #expect(try mount.list(try mountPath("d")) == [])
            #expect(try FileManager.default.contentsOfDirectory(atPath: root + "/d") == [])
            try mount.publish(try mountPath("d/whole")) { write in for _ in 0..<5 { try write(chunk) } }
            #expect(try mount.read(try mountPath("d/whole"), from: 0, maxBytes: 2_000_000).count == 1_500_000)
            // A call in the middle of an upload has a helper of its own.
            try mount.publish(try mountPath("d/other")) { write in
                try write(chunk)
                #expect(try mount.list(try mountPath("d")) == ["whole"])
            }
            #expect(try mount.list(try mountPath("d")).sorted() == ["other", "whole"])
        }
    }

    @Test func `an upload whose process ends in the middle leaves nothing`() throws {
        defer { folder.remove() }
        let process: Int32 = try {
            let connection = try MountConnection(executable: try builtExecutable())
            let end = MountConnection.now + 20
            let root = MountRequest.open(root: root, modes: .group, known: nil)
            for request in [root, .begin(try mountPath("d/half"))] {
                try connection.send(request, until: end)
                _ = try connection.receive(until: end)
            }
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path + "/container/d").count == 1)
            try connection.send(.write([UInt8](repeating: 7, count: 300_000)), until: end)
            return connection.process
        }()
        var status: Int32 = 0
        #expect([process, -1].contains(waitpid(process, &status, 0)))
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path + "/container/d") == [])
    }

    @Test func `a mount on which calls hang is tried again, less and less often, and for as long as it takes`() {
        var patience = MountPatience()
        patience.overstayed(at: 100)
        #expect(!patience.isDue(at: 129, hanging: 1) && patience.isDue(at: 130, hanging: 2))
        var isOldestGivenUp = patience.givesUpOldest(hanging: 2)
        #expect(!isOldestGivenUp)
        var now = 200.0
        var pauses: [Double] = []
        for _ in 0..<9 {
            patience.overstayed(at: now)
            let due = stride(from: now, to: now + 100_000, by: 100).first { patience.isDue(at: $0, hanging: 3) }
            pauses.append((due ?? .infinity) - now)
            now = due ?? now
            isOldestGivenUp = patience.givesUpOldest(hanging: 3)
            #expect(isOldestGivenUp, "no more than three are waited for")
        }
        #expect(pauses == [300, 600, 1_200, 2_400, 4_800, 9_600, 19_200, 21_600, 21_600])
        patience.answered()
        patience.overstayed(at: now)
        #expect(patience.isDue(at: now + 300, hanging: 3))
    }

    @Test func `an executable that is not there is an error, not a trap`() throws {
        defer { folder.remove() }
        let mount = ProcessMount(root: root, executable: "/nonexistent/shoebox")
        let error = #expect(throws: FileError.self) { try mount.list(.root) }
        #expect(error?.operation == "start")
    }

    @Test func `a helper ends with the one who started it`() throws {
        let processes: [Int32] = try {
            let mount = ProcessMount(root: root, executable: try builtExecutable())
            _ = try mount.list(.root)
            return mount.idleProcesses
        }()
        defer { folder.remove() }
        let process = try #require(processes.first)
        // It is a child of this process: gone, or still to be waited for.
        var status: Int32 = 0
        #expect([process, -1].contains(waitpid(process, &status, 0)))
    }
}
