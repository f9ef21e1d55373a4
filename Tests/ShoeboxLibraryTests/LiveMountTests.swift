import Foundation
import Glibc
import ShoeboxModel
import ShoeboxWorld
import Testing

struct LiveMountTests {
    let directory: TemporaryDirectory
    let mount: LiveMount

    init() throws {
        directory = try TemporaryDirectory()
        mount = LiveMount(root: directory.path, modes: .open)
    }

    private func bytes(_ text: String) -> [UInt8] { Array(text.utf8) }

    private func mode(_ name: String) -> Int {
        let attributes = try? FileManager.default.attributesOfItem(atPath: "\(directory.path)/\(name)")
        return (attributes?[.posixPermissions] as? Int) ?? -1
    }

    @Test func `what is published is read whole, with the container's modes`() throws {
        try mount.publish(place("zones/ab/log/1"), bytes("hello"))
        #expect(try mount.read(place("zones/ab/log/1"), from: 0, maxBytes: 100) == bytes("hello"))
        #expect(try mount.read(place("zones/ab/log/1"), from: 3, maxBytes: 1) == bytes("l"))
        #expect(try mount.read(place("zones/ab/log/1"), from: 5, maxBytes: 9) == [])
        #expect(try mount.list(place("zones/ab/log")) == ["1"])
        #expect(mode("zones/ab/log/1") == 0o644)
        #expect(mode("zones/ab") & 0o1777 == 0o1777)
        try mount.synchronize()
    }

    @Test func `a taken name keeps what it has`() throws {
        try mount.publish(place("a"), bytes("first"))
        let error = #expect(throws: FileError.self) { try mount.publish(place("a"), bytes("second")) }
        #expect(error?.code == .exists)
        #expect(directory.text(of: "a") == "first")
        #expect(directory.tree() == ["a"])
    }

    @Test func `listings show no temporary names`() throws {
        try directory.write("half", to: ".tmp-1234")
        try mount.publish(place("a"), [])
        #expect(try mount.list(.root) == ["a"])
    }

    @Test func `publishing in pieces is one file, and none when it fails`() throws {
        let chunk = [UInt8](repeating: 7, count: 100_000)
        try mount.publish(place("assets/big")) { write in for _ in 0..<10 { try write(chunk) } }
        #expect(try mount.read(place("assets/big"), from: 0, maxBytes: 2_000_000).count == 1_000_000)
        struct Stop: Error {}
        #expect(throws: Stop.self) {
            try mount.publish(place("assets/half")) { write in
                try write(chunk)
                throw Stop()
            }
        }
        #expect(try mount.list(place("assets")) == ["big"])
    }

    @Test func `appending adds at the end`() throws {
        try mount.append(place("heads/r.1"), bytes("ab"))
        try mount.append(place("heads/r.1"), bytes("cd"))
        #expect(directory.text(of: "heads/r.1") == "abcd")
    }

    @Test func `removing what is absent is fine`() throws {
        try mount.publish(place("d/a"), [])
        try mount.remove(place("d/a"))
        try mount.remove(place("d/a"))
        try mount.remove(place("none/a"))
        #expect(try mount.list(place("d")) == [])
    }

    @Test func `a missing file or directory is absent, a missing root offline`() throws {
        #expect(throws: FileError.self) { try mount.list(place("none")) }
        let absent = #expect(throws: FileError.self) { try mount.read(place("none"), from: 0, maxBytes: 1) }
        #expect(absent?.code == .absent)
        let offline = LiveMount(root: directory.path + "/unmounted")
        let error = #expect(throws: FileError.self) { try offline.publish(place("a"), [1]) }
        #expect(error?.code == .offline)
        #expect(directory.tree().isEmpty)
    }

    @Test func `another directory in the root's place is offline until it holds a container`() throws {
        try directory.makeDirectory("container")
        let mount = LiveMount(root: directory.path + "/container")
        #expect(try mount.list(.root) == [])
        try directory.rename("container", to: "away")
        try directory.makeDirectory("container")
        let error = #expect(throws: FileError.self) { try mount.publish(place("a"), [1]) }
        #expect(error?.code == .offline)
        #expect(directory.tree("container").isEmpty)
        try directory.write("{}", to: "container/container.json")
        try mount.publish(place("a"), [1])
        #expect(directory.tree("container") == ["a", "container.json"])
    }

    @Test func `links in the container are not followed`() throws {
        let outside = try TemporaryDirectory()
        try outside.write("secret", to: "secret")
        try directory.link("zones", to: outside.path)
        try directory.link("head", to: outside.path + "/secret")
        #expect(throws: FileError.self) { try mount.publish(place("zones/a"), [1]) }
        #expect(throws: FileError.self) { try mount.read(place("zones/secret"), from: 0, maxBytes: 9) }
        #expect(throws: FileError.self) { try mount.read(place("head"), from: 0, maxBytes: 9) }
        #expect(throws: FileError.self) { try mount.append(place("head"), [1]) }
        #expect(outside.text(of: "secret") == "secret")
        #expect(outside.tree() == ["secret"])
    }

    @Test func `many callers at once each get their own answer`() async throws {
        let mount = mount
        for index in 0..<20 { try mount.publish(place("f\(index)"), bytes("\(index)")) }
        try await withThrowingTaskGroup(of: Bool.self) { group in
            for index in 0..<20 {
                group.addTask {
                    try mount.read(place("f\(index)"), from: 0, maxBytes: 9) == Array("\(index)".utf8)
                }
            }
            for try await isRight in group { #expect(isRight) }
        }
    }
}
