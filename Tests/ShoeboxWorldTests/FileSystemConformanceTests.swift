import ShoeboxModel
import ShoeboxWorld
import Testing

/// What holds for every `LocalFileSystem`, live or simulated.
@Suite struct FileSystemConformanceTests {
    @Test(arguments: FileSystemSubject.all)
    func `a listing shows names, kinds and stamps`(subject: FileSystemSubject) throws {
        let fixture = try subject.make()
        try fixture.files.makeDirectory(try path("b"))
        let stamp = try fixture.put(try path("a.jpg"), "lake")
        try fixture.makeLink("c", "a.jpg")
        let entries = try fixture.files.list(.root).sorted { $0.name < $1.name }
        #expect(entries.map(\.name.description) == ["a.jpg", "b", "c"])
        #expect(entries.map(\.kind) == [.file, .directory, .symbolicLink])
        #expect(entries.first?.stamp == stamp)
        #expect(stamp.size == 4)
        #expect(try fixture.files.list(try path("b")).isEmpty)
    }

    @Test(arguments: FileSystemSubject.all)
    func `an entry is as its listing says, and nil if there is none`(subject: FileSystemSubject) throws {
        let fixture = try subject.make()
        try fixture.files.makeDirectory(try path("d"))
        try fixture.put(try path("d/a"), "1")
        #expect(try fixture.files.entry(at: try path("d/a")) == fixture.files.list(try path("d")).first)
        #expect(try fixture.files.entry(at: try path("d/b")) == nil)
        #expect(try fixture.files.entry(at: try path("e/b")) == nil)
        #expect(try fixture.files.entry(at: try path("d/a/b")) == nil)
        #expect(try fixture.files.entry(at: .root)?.kind == .directory)
        #expect(try fixture.files.entry(at: .root)?.name.description == "root")
    }

    @Test(arguments: FileSystemSubject.all)
    func `a lister gives every directory as its listing says, announced or not, once and again`(
        subject: FileSystemSubject
    ) throws {
        let fixture = try subject.make()
        var directories: [RelativePath] = []
        for outer in 0..<8 {
            directories.append(try path("d\(outer)"))
            try fixture.files.makeDirectory(try path("d\(outer)"))
            for inner in 0..<12 {
                directories.append(try path("d\(outer)/e\(inner)"))
                try fixture.files.makeDirectory(try path("d\(outer)/e\(inner)"))
                try fixture.put(try path("d\(outer)/e\(inner)/photo\(inner).jpg"), "\(outer) \(inner)")
            }
        }
        let lister = fixture.files.makeLister()
        for isAnnounced in [true, false] {
            if isAnnounced { lister.announce(directories + [try path("missing")]) }
            for directory in directories.reversed() {
                let listing = try lister.list(directory)
                let found = listing.entries.enumerated().compactMap { index, entry in
                    listing.name(at: index).map { DirectoryEntry(name: $0, kind: entry.kind, stamp: entry.stamp) }
                }
                #expect(found == (try fixture.files.list(directory)).sorted { $0.name < $1.name })
            }
            let missing = try path("missing")
            #expect(code { _ = try lister.list(missing) } == .absent)
        }
    }

    @Test(arguments: FileSystemSubject.all)
    func `what is absent says so`(subject: FileSystemSubject) throws {
        let fixture = try subject.make()
        let missing = try path("missing")
        let below = try path("missing/a")
        #expect(code { _ = try fixture.files.list(missing) } == .absent)
        #expect(code { _ = try fixture.files.open(missing) } == .absent)
        #expect(code { _ = try fixture.files.create(below) } == .absent)
        #expect(code { try fixture.files.makeDirectory(below) } == .absent)
        #expect(code { try fixture.files.removeFile(missing) } == .absent)
        #expect(code { try fixture.files.removeDirectory(missing) } == .absent)
        #expect(code { try fixture.files.setMode(missing, 0o600) } == .absent)
        #expect(code { try fixture.files.setModified(missing, nanoseconds: 1) } == .absent)
        for mode in [RenameMode.failIfExists, .replace, .exchange] {
            #expect(code { try fixture.files.rename(missing, to: try path("b"), mode: mode) } == .absent)
        }
    }

    @Test(arguments: FileSystemSubject.all)
    func `a taken name is not taken over`(subject: FileSystemSubject) throws {
        let fixture = try subject.make()
        let name = try path("a")
        try fixture.put(name, "1")
        #expect(code { _ = try fixture.files.create(name) } == .exists)
        #expect(code { try fixture.files.makeDirectory(name) } == .exists)
        try fixture.files.makeDirectory(try path("d"))
        #expect(code { try fixture.files.makeDirectory(try path("d")) } == .exists)
        #expect(try fixture.text(name) == "1")
    }

    @Test(arguments: FileSystemSubject.all)
    func `what is of another kind is refused`(subject: FileSystemSubject) throws {
        let fixture = try subject.make()
        let file = try path("a")
        let directory = try path("d")
        try fixture.put(file, "1")
        try fixture.files.makeDirectory(directory)
        #expect(code { _ = try fixture.files.open(directory) } == .unexpectedKind)
        #expect(code { _ = try fixture.files.list(file) } == .unexpectedKind)
        #expect(code { try fixture.files.removeFile(directory) } == .unexpectedKind)
        #expect(code { try fixture.files.removeDirectory(file) } == .unexpectedKind)
        #expect(code { _ = try fixture.files.create(try path("a/b")) } == .unexpectedKind)
        #expect(code { try fixture.files.rename(file, to: directory, mode: .replace) } == .unexpectedKind)
        #expect(code { try fixture.files.rename(directory, to: file, mode: .replace) } == .unexpectedKind)
        #expect(code { try fixture.files.makeDirectory(.root) } == .unexpectedKind)
    }

    @Test(arguments: FileSystemSubject.all)
    func `symbolic links are not followed`(subject: FileSystemSubject) throws {
        let fixture = try subject.make()
        try fixture.files.makeDirectory(try path("d"))
        try fixture.put(try path("d/a"), "1")
        try fixture.makeLink("tofile", "d/a")
        try fixture.makeLink("todir", "d")
        #expect(try fixture.files.entry(at: try path("tofile"))?.kind == .symbolicLink)
        #expect(code { _ = try fixture.files.open(try path("tofile")) } == .unexpectedKind)
        #expect(code { _ = try fixture.files.open(try path("todir/a")) } == .unexpectedKind)
        #expect(code { _ = try fixture.files.list(try path("todir")) } == .unexpectedKind)
        // Nothing is there, or a link is in the way: both are true, and neither shows the file.
        let behind = code { try #require(try fixture.files.entry(at: try path("todir/a")) == nil) }
        #expect(behind == nil || behind == .unexpectedKind)
        #expect(code { _ = try fixture.files.create(try path("todir/b")) } == .unexpectedKind)
        #expect(code { try fixture.files.setMode(try path("tofile"), 0o600) } == .unexpectedKind)
        try fixture.files.removeFile(try path("tofile"))
        #expect(try fixture.text(try path("d/a")) == "1")
    }

    @Test(arguments: FileSystemSubject.all)
    func `only an empty directory is removed`(subject: FileSystemSubject) throws {
        let fixture = try subject.make()
        try fixture.files.makeDirectory(try path("d"))
        try fixture.put(try path("d/a"), "1")
        #expect(code { try fixture.files.removeDirectory(try path("d")) } == .exists)
        try fixture.files.removeFile(try path("d/a"))
        try fixture.files.removeDirectory(try path("d"))
        #expect(try fixture.names(.root) == [])
    }

    @Test(arguments: FileSystemSubject.all)
    func `a rename keeps the file and honours its mode`(subject: FileSystemSubject) throws {
        let fixture = try subject.make()
        let (a, b, c) = (try path("a"), try path("b"), try path("c"))
        let first = try fixture.put(a, "one")
        let second = try fixture.put(b, "two!")
        #expect(code { try fixture.files.rename(a, to: b, mode: .failIfExists) } == .exists)
        #expect(try fixture.text(b) == "two!")

        try fixture.files.rename(a, to: b, mode: .exchange)
        #expect(try fixture.text(a) == "two!")
        #expect(try fixture.files.entry(at: b)?.stamp.isUnchanged(from: first) == true)
        #expect(try fixture.files.entry(at: a)?.stamp.isUnchanged(from: second) == true)
        #expect(code { try fixture.files.rename(a, to: c, mode: .exchange) } == .absent)

        try fixture.files.rename(b, to: c, mode: .failIfExists)
        #expect(try fixture.files.entry(at: c)?.stamp.isUnchanged(from: first) == true)
        try fixture.files.rename(c, to: a, mode: .replace)
        #expect(try fixture.names(.root) == ["a"])
        #expect(try fixture.text(a) == "one")
        #expect(try fixture.files.entry(at: a)?.stamp.isUnchanged(from: first) == true)
    }

    @Test(arguments: FileSystemSubject.all)
    func `a directory moves with what is in it, but not into itself`(subject: FileSystemSubject) throws {
        let fixture = try subject.make()
        try fixture.files.makeDirectory(try path("d"))
        try fixture.files.makeDirectory(try path("d/e"))
        try fixture.files.makeDirectory(try path("full"))
        try fixture.put(try path("d/e/a"), "1")
        try fixture.put(try path("full/b"), "2")
        let inode = try fixture.files.entry(at: try path("d"))?.stamp.inode
        #expect(code { try fixture.files.rename(try path("d"), to: try path("d/e/f"), mode: .replace) } == .badName)
        #expect(code { try fixture.files.rename(try path("d"), to: try path("full"), mode: .replace) } == .exists)
        try fixture.files.rename(try path("d"), to: try path("g"), mode: .failIfExists)
        #expect(try fixture.text(try path("g/e/a")) == "1")
        #expect(try fixture.files.entry(at: try path("g"))?.stamp.inode == inode)
        #expect(try fixture.files.entry(at: try path("d")) == nil)
    }

    @Test(arguments: FileSystemSubject.all)
    func `a handle keeps to its file through rename, replacement and removal`(subject: FileSystemSubject) throws {
        let fixture = try subject.make()
        let (a, b) = (try path("a"), try path("b"))
        try fixture.put(a, "old")
        let stamp = try #require(try fixture.files.entry(at: a)?.stamp)
        let file = try fixture.files.open(a)
        try fixture.files.rename(a, to: b, mode: .failIfExists)
        try fixture.put(a, "new")
        try fixture.files.rename(a, to: b, mode: .replace)
        try fixture.files.removeFile(b)
        #expect(try file.read(at: 0, maxBytes: 100) == Array("old".utf8))
        #expect(try file.read(at: 1, maxBytes: 1) == Array("l".utf8))
        #expect(try file.read(at: 3, maxBytes: 100) == [])
        #expect(try file.read(at: 1_000, maxBytes: 100) == [])
        #expect(try file.stamp().isUnchanged(from: stamp))
    }

    @Test(arguments: FileSystemSubject.all, [0o600, 0o444, 0o640] as [UInt16])
    func `mode and modification time are kept as set`(subject: FileSystemSubject, mode: UInt16) throws {
        let fixture = try subject.make()
        let (a, b) = (try path("a"), try path("b"))
        let time: Int64 = 1_234_567_890_123_456_789
        let stamp = try fixture.put(a, "lake", mode: mode, modified: time)
        #expect(stamp.mode == mode)
        #expect(stamp.modifiedNanoseconds == time)
        try fixture.files.rename(a, to: b, mode: .failIfExists)
        #expect(try fixture.files.entry(at: b)?.stamp == stamp)
        try fixture.files.setMode(b, 0o644)
        try fixture.files.setModified(b, nanoseconds: -1_000_000_007)
        let after = try #require(try fixture.files.entry(at: b)?.stamp)
        #expect(after.mode == 0o644)
        #expect(after.modifiedNanoseconds == -1_000_000_007)
        #expect(after.isSameFile(as: stamp))
    }

    @Test(arguments: FileSystemSubject.all)
    func `a file made again is another one, whatever its inode`(subject: FileSystemSubject) throws {
        let fixture = try subject.make()
        let name = try path("a")
        let first = try fixture.put(name, "1", modified: 5)
        try #require(first.birthNanoseconds != 0)
        // A kernel gives births in ticks of some milliseconds; files made later differ, the very next may not.
        var last = first
        for _ in 0..<2_000 where last.birthNanoseconds == first.birthNanoseconds {
            try fixture.files.removeFile(name)
            last = try fixture.put(name, "1", modified: 5)
        }
        #expect(!last.isSameFile(as: first))
    }

    @Test(arguments: FileSystemSubject.all)
    func `a finished file has no writer and takes no more bytes`(subject: FileSystemSubject) throws {
        let fixture = try subject.make()
        let file = try fixture.files.create(try path("a"))
        try file.write([1, 2])
        try file.write([3])
        _ = try file.finish(mode: nil, modifiedNanoseconds: nil, durably: true)
        #expect(code { try file.write([4]) } == .inputOutput)
        #expect(!fixture.files.hasWriter(try path("a")))
        #expect(!fixture.files.hasWriter(try path("b")))
        #expect(try fixture.files.readAll(try path("a"), maxBytes: 3) == [1, 2, 3])
        #expect(code { _ = try fixture.files.readAll(try path("a"), maxBytes: 2) } == .badName)
        try fixture.files.synchronize()
        let free = try fixture.files.freeBytes()
        #expect(free > 0)
    }

    @Test(arguments: FileSystemSubject.all)
    func `a file of many megabytes has what was written, and no writer after the barrier`(
        subject: FileSystemSubject
    ) throws {
        let fixture = try subject.make()
        let file = try fixture.files.create(try path("film"))
        for number in 0..<21 { try file.write([UInt8](repeating: UInt8(number), count: 700_001)) }
        let stamp = try file.finish(mode: nil, modifiedNanoseconds: nil, durably: false)
        try fixture.files.synchronize()
        #expect(stamp.size == 21 * 700_001)
        #expect(!fixture.files.hasWriter(try path("film")))
        let found = try fixture.files.open(try path("film"))
        for number in 0..<21 {
            let piece = try found.read(at: UInt64(number * 700_001), maxBytes: 700_001)
            #expect(piece == [UInt8](repeating: UInt8(number), count: 700_001))
        }
    }

    @Test(arguments: FileSystemSubject.all)
    func `names are bytes`(subject: FileSystemSubject) throws {
        let fixture = try subject.make()
        let names = try [[0xff, 0x41], Array("é".utf8), [0x65, 0xcc, 0x81], Array("a\nb".utf8)].map { bytes in
            try #require(FileName(bytes: bytes as [UInt8]))
        }
        for name in names { try fixture.put(RelativePath([name]), "1") }
        #expect(Set(try fixture.files.list(.root).map(\.name)) == Set(names))
        for name in names { #expect(try fixture.text(RelativePath([name])) == "1") }
    }

    @Test(arguments: FileSystemSubject.all)
    func `without its root everything is offline`(subject: FileSystemSubject) throws {
        let fixture = try subject.make()
        let name = try path("a")
        try fixture.put(name, "1")
        let identity = try fixture.files.identity()
        #expect(try fixture.files.identity() == identity)
        try fixture.takeRootAway()
        #expect(code { _ = try fixture.files.identity() } == .offline)
        #expect(code { _ = try fixture.files.list(.root) } == .offline)
        #expect(code { _ = try fixture.files.entry(at: name) } == .offline)
        #expect(code { _ = try fixture.files.open(name) } == .offline)
        #expect(code { _ = try fixture.files.create(try path("b")) } == .offline)
        #expect(code { try fixture.files.makeDirectory(try path("d")) } == .offline)
        #expect(code { try fixture.files.rename(name, to: try path("b"), mode: .replace) } == .offline)
        #expect(code { try fixture.files.removeFile(name) } == .offline)
        #expect(code { try fixture.files.synchronize() } == .offline)
        #expect(code { _ = try fixture.files.freeBytes() } == .offline)
        #expect(!fixture.files.hasWriter(name))
    }
}
