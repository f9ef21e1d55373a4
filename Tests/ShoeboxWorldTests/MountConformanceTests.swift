import ShoeboxTestSupport
import ShoeboxWorld
import Testing

/// One kind of mount under the conformance suite.
struct MountSubject: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let make: @Sendable () throws -> MountFixture

    static let all: [MountSubject] = [simulated] + live

    static let simulated = MountSubject(testDescription: "simulated") {
        let mount = SimulatedMount(client: "ann", storage: SimulatedMountStorage(clock: SimulatedClock()))
        return MountFixture(mount: mount, allNames: { mount.storage.rawList($0) }, takeAway: { mount.unmount() })
    }
}

/// A container under test.
final class MountFixture {
    let mount: any Mount
    /// Names in a directory, temporary ones included.
    let allNames: (MountPath) throws -> [String]
    let takeAway: () throws -> Void
    private let cleanUp: () -> Void

    init(
        mount: any Mount, allNames: @escaping (MountPath) throws -> [String], takeAway: @escaping () throws -> Void,
        cleanUp: @escaping () -> Void = {}
    ) {
        self.mount = mount
        self.allNames = allNames
        self.takeAway = takeAway
        self.cleanUp = cleanUp
    }

    deinit { cleanUp() }
}

/// A mount path from text that is one.
func mountPath(_ text: String) throws -> MountPath { try #require(MountPath(text)) }

/// What holds for every `Mount`, live or simulated.
@Suite struct MountConformanceTests {
    struct Refusal: Error {}

    @Test(arguments: MountSubject.all)
    func `what is published is there whole, in directories made for it`(subject: MountSubject) throws {
        let fixture = try subject.make()
        let name = try mountPath("zones/z1/log/r1/0001-ab")
        try fixture.mount.publish(name, Array("segment".utf8))
        #expect(try fixture.mount.read(name, from: 0, maxBytes: 100) == Array("segment".utf8))
        #expect(try fixture.mount.read(name, from: 3, maxBytes: 2) == Array("me".utf8))
        #expect(try fixture.mount.read(name, from: 7, maxBytes: 100) == [])
        #expect(try fixture.mount.read(name, from: 700, maxBytes: 100) == [])
        #expect(try fixture.mount.list(name.parent) == ["0001-ab"])
        #expect(try fixture.mount.list(.root) == ["zones"])
        #expect(try fixture.allNames(name.parent) == ["0001-ab"])
    }

    @Test(arguments: MountSubject.all)
    func `a published name is not published over`(subject: MountSubject) throws {
        let fixture = try subject.make()
        let name = try mountPath("a/b")
        try fixture.mount.publish(name, [1])
        #expect(code { try fixture.mount.publish(name, [2]) } == .exists)
        #expect(code { try fixture.mount.publish(name) { try $0([2]) } } == .exists)
        #expect(code { try fixture.mount.publish(try mountPath("a"), [3]) } == .exists)
        #expect(try fixture.mount.read(name, from: 0, maxBytes: 9) == [1])
        #expect(try fixture.mount.list(try mountPath("a")) == ["b"])
    }

    @Test(arguments: MountSubject.all)
    func `pieces make one file`(subject: MountSubject) throws {
        let fixture = try subject.make()
        let name = try mountPath("assets/ab/big")
        let piece = [UInt8](repeating: 7, count: 300_000)
        try fixture.mount.publish(name) { write in
            for _ in 0..<3 { try write(piece) }
            try write([8])
        }
        #expect(try fixture.mount.read(name, from: 0, maxBytes: 2_000_000) == piece + piece + piece + [8])
        try fixture.mount.publish(try mountPath("assets/ab/none")) { _ in }
        #expect(try fixture.mount.read(try mountPath("assets/ab/none"), from: 0, maxBytes: 9) == [])
    }

    @Test(arguments: MountSubject.all)
    func `a body that throws publishes nothing`(subject: MountSubject) throws {
        let fixture = try subject.make()
        let name = try mountPath("assets/ab/big")
        #expect(throws: Refusal.self) {
            try fixture.mount.publish(name) { write in
                try write([UInt8](repeating: 7, count: 300_000))
                throw Refusal()
            }
        }
        #expect(try fixture.mount.list(name.parent) == [])
        #expect(code { _ = try fixture.mount.read(name, from: 0, maxBytes: 9) } == .absent)
    }

    @Test(arguments: MountSubject.all)
    func `an upload that cannot begin says why, whatever its body does, and the next call works`(
        subject: MountSubject
    ) throws {
        let fixture = try subject.make()
        try fixture.mount.publish(try mountPath("d/a"), [1])
        let below = try mountPath("d/a/b")
        let piece = [UInt8](repeating: 7, count: 700_000)
        #expect(
            code { try fixture.mount.publish(below) { write in for _ in 0..<4 { try write(piece) } } }
                == .unexpectedKind)
        #expect(code { try fixture.mount.publish(below) { try $0([1]) } } == .unexpectedKind)
        #expect(throws: (any Error).self) { try fixture.mount.publish(below) { _ in throw Refusal() } }
        try fixture.mount.publish(try mountPath("d/c")) { try $0([2]) }
        #expect(try fixture.mount.read(try mountPath("d/c"), from: 0, maxBytes: 9) == [2])
        #expect(Set(try fixture.mount.list(try mountPath("d"))) == ["a", "c"])
    }

    @Test(arguments: MountSubject.all)
    func `an upload of many megabytes is read as it was written`(subject: MountSubject) throws {
        let fixture = try subject.make()
        let name = try mountPath("assets/ab/film")
        try fixture.mount.publish(name) { write in
            for number in 0..<21 { try write([UInt8](repeating: UInt8(number), count: 700_001)) }
        }
        try fixture.mount.synchronize()
        var found: [UInt8: Int] = [:]
        try fixture.mount.read(name, from: 0, count: 20_000_000, pieceBytes: 1 << 20) { piece in
            for byte in piece { found[byte, default: 0] += 1 }
        }
        #expect(found == Dictionary(uniqueKeysWithValues: (0..<21).map { (UInt8($0), 700_001) }))
    }

    @Test(arguments: MountSubject.all)
    func `appended bytes follow those before and are read from an offset`(subject: MountSubject) throws {
        let fixture = try subject.make()
        let head = try mountPath("zones/z1/heads/r1.0")
        try fixture.mount.append(head, [1, 2])
        #expect(try fixture.mount.read(head, from: 2, maxBytes: 9) == [])
        try fixture.mount.append(head, [3])
        #expect(try fixture.mount.read(head, from: 2, maxBytes: 9) == [3])
        try fixture.mount.append(head, [])
        #expect(try fixture.mount.read(head, from: 0, maxBytes: 9) == [1, 2, 3])
        #expect(try fixture.mount.list(head.parent) == ["r1.0"])
    }

    @Test(arguments: MountSubject.all)
    func `many bytes come in pieces of one size, in order, to where they are asked for or the end`(
        subject: MountSubject
    ) throws {
        let fixture = try subject.make()
        let mount = fixture.mount
        let name = try mountPath("d/long")
        let content = (0..<100_003).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 3) }
        try mount.publish(name, content)
        for (count, wanted) in [(UInt64(100_003), content.count - 3), (50, 50), (0, 0), (.max / 2, content.count - 3)] {
            var pieces: [[UInt8]] = []
            try mount.read(name, from: 3, count: count, pieceBytes: 1000) { pieces.append($0) }
            #expect(Array(pieces.joined()) == Array(content[3..<(3 + wanted)]))
            #expect(pieces.dropLast().allSatisfy { $0.count == 1000 })
        }
    }

    @Test(arguments: MountSubject.all)
    func `who stops taking pieces gets the own error, and the next call its own answer`(subject: MountSubject) throws {
        let fixture = try subject.make()
        let mount = fixture.mount
        let name = try mountPath("d/long")
        try mount.publish(name, [UInt8](repeating: 7, count: 10_000))
        #expect(throws: Refusal.self) {
            try mount.read(name, from: 0, count: 10_000, pieceBytes: 1000) { _ in throw Refusal() }
        }
        #expect(try mount.read(name, from: 9_998, maxBytes: 9) == [7, 7])
        let absent = #expect(throws: FileError.self) {
            try mount.read(try mountPath("d/none"), from: 0, count: 10_000, pieceBytes: 1000) { _ in }
        }
        #expect(absent?.code == .absent)
        #expect(try mount.list(try mountPath("d")) == ["long"])
    }

    @Test(arguments: MountSubject.all)
    func `a removed name is gone, and absent is fine`(subject: MountSubject) throws {
        let fixture = try subject.make()
        let name = try mountPath("a/b")
        try fixture.mount.remove(name)
        try fixture.mount.publish(name, [1])
        try fixture.mount.remove(name)
        try fixture.mount.remove(name)
        #expect(try fixture.mount.list(name.parent) == [])
        #expect(code { _ = try fixture.mount.read(name, from: 0, maxBytes: 9) } == .absent)
    }

    @Test(arguments: MountSubject.all)
    func `what is absent or of another kind says so`(subject: MountSubject) throws {
        let fixture = try subject.make()
        try fixture.mount.publish(try mountPath("d/a"), [1])
        #expect(code { _ = try fixture.mount.list(try mountPath("e")) } == .absent)
        #expect(code { _ = try fixture.mount.read(try mountPath("e/a"), from: 0, maxBytes: 9) } == .absent)
        #expect(code { _ = try fixture.mount.list(try mountPath("d/a")) } == .unexpectedKind)
        #expect(code { _ = try fixture.mount.read(try mountPath("d"), from: 0, maxBytes: 9) } == .unexpectedKind)
        #expect(code { try fixture.mount.publish(try mountPath("d/a/b"), [1]) } == .unexpectedKind)
        #expect(code { try fixture.mount.append(try mountPath("d"), [1]) } == .unexpectedKind)
        #expect(code { try fixture.mount.makeDirectory(try mountPath("d/a")) } == .unexpectedKind)
        #expect(code { try fixture.mount.remove(try mountPath("d")) } == .unexpectedKind)
    }

    @Test(arguments: MountSubject.all)
    func `directories are made with their parents, once or again`(subject: MountSubject) throws {
        let fixture = try subject.make()
        try fixture.mount.makeDirectory(try mountPath("a/b/c"))
        try fixture.mount.makeDirectory(try mountPath("a/b"))
        try fixture.mount.makeDirectory(.root)
        #expect(try fixture.mount.list(try mountPath("a")) == ["b"])
        #expect(try fixture.mount.list(try mountPath("a/b/c")) == [])
        try fixture.mount.synchronize()
    }

    @Test(arguments: MountSubject.all)
    func `a container that is not there is offline, never absent`(subject: MountSubject) throws {
        let fixture = try subject.make()
        let name = try mountPath("a/b")
        try fixture.mount.publish(name, [1])
        try fixture.takeAway()
        #expect(code { _ = try fixture.mount.list(.root) } == .offline)
        #expect(code { _ = try fixture.mount.read(name, from: 0, maxBytes: 9) } == .offline)
        #expect(code { try fixture.mount.publish(try mountPath("c"), [1]) } == .offline)
        #expect(code { try fixture.mount.publish(try mountPath("c")) { try $0([1]) } } == .offline)
        #expect(code { try fixture.mount.append(try mountPath("d"), [1]) } == .offline)
        #expect(code { try fixture.mount.remove(name) } == .offline)
        #expect(code { try fixture.mount.makeDirectory(try mountPath("e")) } == .offline)
        #expect(code { try fixture.mount.synchronize() } == .offline)
    }
}
