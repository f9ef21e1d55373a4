import Foundation
import Glibc
import ShoeboxModel
import ShoeboxWorld
import Testing

struct LiveFileSystemTests {
    let directory: TemporaryDirectory
    var files: LiveFileSystem { directory.files }

    init() throws { directory = try TemporaryDirectory() }

    @Test(arguments: [
        (ENOENT, FileError.Code.absent), (EEXIST, .exists), (ENOTEMPTY, .exists), (EACCES, .denied), (EPERM, .denied),
        (EROFS, .denied), (ENOSPC, .full), (EDQUOT, .full), (ELOOP, .unexpectedKind), (ENOTDIR, .unexpectedKind),
        (EISDIR, .unexpectedKind), (EXDEV, .unexpectedKind), (ENAMETOOLONG, .badName), (EINVAL, .badName),
        (EILSEQ, .badName), (EIO, .inputOutput), (ESTALE, .inputOutput), (ENOTCONN, .offline), (ETIMEDOUT, .timedOut),
    ])
    func `every errno has its code`(number: Int32, code: FileError.Code) {
        let error = FileError(errno: number, operation: "read", path: "a")
        #expect(error.code == code)
        #expect(error.errno == number)
        #expect(!error.reason.isEmpty)
    }

    @Test(arguments: ["list", "entry", "open", "create", "directory", "rename", "remove", "mode", "identity", "sync"])
    func `a missing root is offline for every call`(call: String) throws {
        let files = LiveFileSystem(root: directory.path + "/unmounted")
        let error = #expect(throws: FileError.self) {
            switch call {
            case "list": _ = try files.list(.root)
            case "entry": _ = try files.entry(at: path("a"))
            case "open": _ = try files.open(path("a"))
            case "create": _ = try files.create(path("a"))
            case "directory": try files.makeDirectory(path("a"))
            case "rename": try files.rename(path("a"), to: path("b"), mode: .replace)
            case "remove": try files.removeFile(path("a"))
            case "mode": try files.setMode(path("a"), 0o600)
            case "sync": try files.synchronize()
            default: _ = try files.identity()
            }
        }
        #expect(error?.code == .offline)
    }

    @Test func `no call follows a link, at the end or on the way`() throws {
        let outside = try TemporaryDirectory()
        try outside.write("secret", to: "secret.txt")
        try directory.link("way", to: outside.path)
        try directory.link("end", to: outside.path + "/secret.txt")
        #expect(throws: FileError.self) { try files.list(path("way")) }
        #expect(throws: FileError.self) { try files.open(path("way/secret.txt")) }
        #expect(throws: FileError.self) { try files.open(path("end")) }
        #expect(throws: FileError.self) { try files.create(path("way/new.txt")) }
        #expect(throws: FileError.self) { try files.makeDirectory(path("way/new")) }
        #expect(throws: FileError.self) { try files.removeFile(path("way/secret.txt")) }
        #expect(throws: FileError.self) { try files.setMode(path("end"), 0o777) }
        #expect(throws: FileError.self) { try files.rename(path("way/secret.txt"), to: path("x"), mode: .replace) }
        #expect(outside.tree() == ["secret.txt"])
        #expect(try files.entry(at: path("end"))?.kind == .symbolicLink)
        #expect(try files.entry(at: path("way"))?.kind == .symbolicLink)
    }

    @Test func `names are bytes`() throws {
        let names = [
            [0xFF, 0xFE], Array("a\nb".utf8), Array("café".utf8), Array("cafe\u{301}".utf8), [0x2D, 0x72, 0x66],
        ]
        .compactMap { FileName(bytes: $0) }
        for name in names {
            let file = try files.create(RelativePath([name]))
            try file.write(name.bytes)
            _ = try file.finish(mode: nil, modifiedNanoseconds: nil, durably: false)
        }
        #expect(try Set(files.list(.root).map(\.name)) == Set(names))
        for name in names { #expect(try files.readAll(RelativePath([name]), maxBytes: 10) == name.bytes) }
    }

    @Test func `a written file has the mode, time and stamp that were asked for`() throws {
        let file = try files.create(path("a.jpg"))
        try file.write(Array("bytes".utf8))
        let stamp = try file.finish(mode: 0o444, modifiedNanoseconds: -1_500_000_001, durably: true)
        #expect(stamp.mode == 0o444)
        #expect(stamp.modifiedNanoseconds == -1_500_000_001)
        #expect(stamp.size == 5)
        #expect(try files.entry(at: path("a.jpg"))?.stamp == stamp)
        #expect(try files.list(.root).first?.stamp == stamp)
    }

    @Test func `renaming to a taken name changes nothing, and exchanging swaps`() throws {
        try directory.write("one", to: "1")
        try directory.write("two", to: "2")
        let error = #expect(throws: FileError.self) {
            try files.rename(path("1"), to: path("2"), mode: .failIfExists)
        }
        #expect(error?.code == .exists)
        #expect(directory.text(of: "1") == "one" && directory.text(of: "2") == "two")
        try files.rename(path("1"), to: path("2"), mode: .exchange)
        #expect(directory.text(of: "1") == "two" && directory.text(of: "2") == "one")
        try files.rename(path("1"), to: path("2"), mode: .replace)
        #expect(directory.tree() == ["2"])
        #expect(directory.text(of: "2") == "two")
    }

    @Test func `an absent entry is nil, also below a file`() throws {
        try directory.write("x", to: "file")
        #expect(try files.entry(at: path("none")) == nil)
        #expect(try files.entry(at: path("none/none")) == nil)
        #expect(try files.entry(at: path("file/none")) == nil)
        #expect(try files.entry(at: .root)?.kind == .directory)
    }

    @Test func `only regular files are opened`() throws {
        #expect(mkfifo(directory.path + "/pipe", 0o600) == 0)
        try directory.makeDirectory("folder")
        for text in ["pipe", "folder"] {
            let error = #expect(throws: FileError.self) { try files.open(path(text)) }
            #expect(error?.code == .unexpectedKind)
        }
    }

    @Test func `a file that somebody writes has a writer`() throws {
        try directory.write("x", to: "a")
        #expect(!files.hasWriter(path("a")))
        let handle = try #require(FileHandle(forWritingAtPath: directory.path + "/a"))
        #expect(files.hasWriter(path("a")))
        try handle.close()
        #expect(!files.hasWriter(path("a")))
        #expect(!files.hasWriter(path("none")))
    }

    @Test func `a folder that isn't empty is not removed`() throws {
        try directory.makeDirectory("a/b")
        let error = #expect(throws: FileError.self) { try files.removeDirectory(path("a")) }
        #expect(error?.code == .exists)
        try files.removeDirectory(path("a/b"))
        try files.removeDirectory(path("a"))
        #expect(directory.tree().isEmpty)
    }

    @Test func `another directory at the root has another identity`() throws {
        try directory.makeDirectory("one")
        try directory.makeDirectory("two")
        let root = LiveFileSystem(root: directory.path + "/one")
        let before = try root.identity()
        try directory.rename("one", to: "three")
        try directory.rename("two", to: "one")
        #expect(try root.identity() != before)
    }
}
