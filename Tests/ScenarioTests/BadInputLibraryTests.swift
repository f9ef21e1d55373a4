import Shoebox
import ShoeboxCloud
import ShoeboxLibrary
import ShoeboxModel
import ShoeboxPlanning
import ShoeboxStore
import ShoeboxTestSupport
import ShoeboxWorld
import Testing

/// Files and folders that can't be read, have strange names, or are not what they were.
@Suite struct BadInputLibraryTests {
    @Test func `a file that cannot be read is reported, and travels when it can`() throws {
        let party = try Party(bob: "readOnly")
        try party.alice.machine.library.write("Summer/secret.jpg", "secret")
        try party.alice.machine.library.write("Summer/open.jpg", "open")
        party.alice.machine.faults.setRule { operation in
            operation.part == "library" && operation.name == "open" && operation.path.hasSuffix("secret.jpg")
                ? .fail(.denied) : nil
        }
        try party.village.pass(8)
        party.expectNamed("unreadable", by: [party.alice], containing: "secret.jpg")
        #expect(party.carol.tree(.shared)["alice/Summer/open.jpg"] == "open")
        #expect(party.carol.tree(.shared)["alice/Summer/secret.jpg"] == nil)
        party.alice.machine.faults.setRule(nil)
        try party.village.pass(8)
        party.expectShown(Party.content.merging(["secret.jpg": "secret", "open.jpg": "open"]) { $1 })
        #expect(party.alice.problems.isEmpty, "\(party.alice.problems)")
    }

    @Test func `a known file that cannot be read for a while is not deleted`() throws {
        let party = try Party(bob: "readOnly")
        party.alice.machine.faults.setRule { operation in
            operation.part == "library" && operation.path.hasSuffix("a.jpg") ? .fail(.inputOutput) : nil
        }
        try party.alice.machine.library.write("Summer/a.jpg", "changed")
        try party.village.pass(8)
        party.expectNamed("unreadable", by: [party.alice], containing: "a.jpg")
        #expect(party.carol.tree(.shared)["alice/Summer/a.jpg"] == "aaa")
        party.alice.machine.faults.setRule(nil)
        try party.village.pass(8)
        party.expectShown(["a.jpg": "changed", "deep/b.jpg": "bbb"])
    }

    @Test(arguments: ["a.jpg", "deep/b.jpg"])
    func `what went along with its folder and cannot be looked at there for a while is not deleted`(
        photo: String
    ) throws {
        let party = try Party(bob: "readWrite")
        let alice = party.alice
        let tag = party.bob.request(
            .tag(path: party.bob.path("alice/Summer/\(photo)", .shared), titles: ["Beach"], isMember: true))
        #expect(tag.code == 0)
        try #require(try party.village.settle())
        let before = try #require(alice.sidecar("Summer/\(photo)", .library)?.record)
        alice.machine.faults.setRule { operation in
            operation.part == "library" && operation.name == "entry" && operation.path == "Kept/\(photo)"
                ? .fail(.inputOutput) : nil
        }
        try alice.machine.library.move("Summer", to: "Kept")
        try alice.machine.library.write("Summer/new.jpg", "new")
        try party.village.pass(8)
        alice.machine.faults.setRule(nil)
        try #require(try party.village.settle())
        #expect(alice.sidecar("Kept/\(photo)", .library)?.record == before, "\(alice.logLines.suffix(20))")
        #expect(party.carol.sidecar("alice/Summer/\(photo)", .shared)?.fields.tags == ["Beach"])
    }

    @Test(arguments: [false, true])
    func `what was moved out of a folder in whose place a file is, and can't be judged yet, is not deleted`(
        isWritten: Bool
    ) throws {
        let party = try Party(bob: "readWrite")
        let (alice, disk) = (party.alice, party.alice.machine.library)
        let photo = party.carol.path("alice/Summer/deep/b.jpg", .shared)
        try #require(party.carol.request(.tag(path: photo, titles: ["Beach"], isMember: true)).code == 0)
        try #require(try party.village.settle())
        if isWritten { try disk.beginWriting("Summer/deep/b.jpg", Array("bbb".utf8)) }
        try disk.move("Summer/deep/b.jpg", to: "Summer/b.jpg")
        if isWritten {
            try disk.continueWriting("Summer/deep/b.jpg", Array("b".utf8))
        } else {
            alice.machine.faults.setRule { operation in
                operation.part == "library" && operation.path == "Summer/b.jpg"
                    && ["open", "read"].contains(operation.name)
                    ? .fail(.inputOutput) : nil
            }
        }
        try disk.delete("Summer/deep")
        try disk.write("Summer/deep", "a file")
        for _ in 0..<80 { try party.village.pass(1) }
        #expect(party.carol.tree(.shared).values.contains("bbb"))
        alice.machine.faults.setRule(nil)
        if isWritten { try disk.endWriting("Summer/deep/b.jpg") }
        #expect(try party.village.settle())
        party.expectShown(["a.jpg": "aaa", "b.jpg": isWritten ? "bbbb" : "bbb", "deep": "a file"])
        #expect(party.bob.sidecar("alice/Summer/b.jpg", .shared)?.fields.tags == ["Beach"])
    }

    enum Unjudged: CaseIterable { case unreadable, denied, stillWritten, hardToHash }

    @Test(arguments: Unjudged.allCases)
    func `a photo that is moved, and can't be judged there for long, is not deleted`(reason: Unjudged) throws {
        let party = try Party(bob: "readWrite")
        let (alice, disk) = (party.alice, party.alice.machine.library)
        try #require(alice.request(.caption(path: alice.path("Summer/a.jpg"), text: "mine")).code == 0)
        try #require(try party.village.settle())
        switch reason {
        case .unreadable, .denied:
            alice.machine.faults.setRule { operation in
                guard operation.part == "library", operation.path == "Summer/deep/a.jpg" else { return nil }
                return ["open", "read"].contains(operation.name)
                    ? .fail(reason == .denied ? .denied : .inputOutput) : nil
            }
            try disk.move("Summer/a.jpg", to: "Summer/deep/a.jpg")
        case .stillWritten:
            try disk.beginWriting("Summer/a.jpg", Array("aaa".utf8))
            try disk.move("Summer/a.jpg", to: "Summer/deep/a.jpg")
            try disk.continueWriting("Summer/a.jpg", Array("a".utf8))
        case .hardToHash:
            try disk.move("Summer/a.jpg", to: "Summer/deep/a.jpg")
            alice.machine.faults.setRule { operation in
                operation.part == "library" && operation.path == "Summer/deep/a.jpg" && operation.name == "read"
                    ? .fail(.changedWhileReading) : nil
            }
        }
        for _ in 0..<80 { try party.village.pass(1) }
        for replica in [party.bob, party.carol] {
            #expect(replica.tree(.shared).values.contains("aaa"), "\(replica.label)")
        }
        alice.machine.faults.setRule(nil)
        if reason == .stillWritten { try disk.endWriting("Summer/a.jpg") }
        #expect(try party.village.settle())
        let text = reason == .stillWritten ? "aaaa" : "aaa"
        party.expectShown(["deep/a.jpg": text, "deep/b.jpg": "bbb"])
        #expect(party.bob.sidecar("alice/Summer/deep/a.jpg", .shared)?.fields.caption == "mine")
    }

    @Test(arguments: ["Summer", "Summer/deep", ""])
    func `a folder that cannot be read is not empty`(path: String) throws {
        let party = try Party(bob: "readOnly")
        let folder = try #require(RelativePath(path))
        party.alice.machine.library.setUnreadable(folder)
        try party.carol.machine.shared.write("alice/Summer/deep/hers.jpg", "hers")
        try party.village.pass(8)
        party.expectNamed(path.isEmpty ? "rootOffline" : "unreadable", by: [party.alice])
        #expect(party.carol.tree(.shared).values.sorted() == ["aaa", "bbb", "hers"])
        party.alice.machine.library.setUnreadable(folder, false)
        try party.village.pass(8)
        party.expectShown(Party.content.merging(["deep/hers.jpg": "hers"]) { $1 })
        #expect(party.alice.problems.isEmpty, "\(party.alice.problems)")
    }

    /// How sidecars came through a power cut is looked at after each start of the machine.
    @Test(arguments: [false, true])
    func `a folder that can't be looked at after the machine has started stops nothing else`(mayPass: Bool) throws {
        let party = try Party(bob: "readOnly")
        let (alice, disk) = (party.alice, party.alice.machine.library)
        #expect(alice.request(.caption(path: alice.path("Private/c.jpg"), text: "The lake")).code == 0)
        try #require(try party.village.settle())
        alice.machine.powerCut(.losingNothing)
        try alice.restart()
        if mayPass {
            alice.machine.faults.setRule { $0.path.hasPrefix("Private/") ? .fail(.inputOutput) : nil }
        } else {
            disk.setUnreadable(try #require(RelativePath("Private")))
        }
        try disk.write("Summer/new.jpg", "new")
        try party.village.pass(6)
        #expect(party.carol.tree(.shared)["alice/Summer/new.jpg"] == "new")
        alice.machine.faults.setRule(nil)
        disk.setUnreadable(try #require(RelativePath("Private")), false)
        try #require(try party.village.settle())
        party.expectShown(Party.content.merging(["new.jpg": "new"]) { $1 })
        #expect(alice.problems.isEmpty && alice.sidecar("Private/c.jpg", .library)?.fields.caption == "The lake")
    }

    @Test(arguments: ["denied", "inputOutput", "file", "link"])
    func `a folder of tag files that can't be read stops nothing else`(what: String) throws {
        let party = try Party(bob: "readOnly")
        let (alice, disk) = (party.alice, party.alice.machine.library)
        #expect(alice.request(.tag(path: alice.path("Private/c.jpg"), titles: ["Lake"], isMember: true)).code == 0)
        try #require(try party.village.settle())
        #expect(disk.tree().keys.contains { $0.hasPrefix(".tags/") })
        let tags = try #require(RelativePath(".tags"))
        switch what {
        case "denied": disk.setUnreadable(tags)
        case "inputOutput":
            alice.machine.faults.setRule { operation in
                operation.part == "library" && operation.path.hasPrefix(".tags") ? .fail(.inputOutput) : nil
            }
        case "file":
            try disk.delete(".tags")
            try disk.write(".tags", "no folder")
        default:
            try disk.delete(".tags")
            try disk.link(".tags", to: "elsewhere")
        }
        try disk.write("Summer/new.jpg", "new")
        try party.village.pass(6)
        #expect(party.carol.tree(.shared)["alice/Summer/new.jpg"] == "new")
        alice.machine.faults.setRule(nil)
        disk.setUnreadable(tags, false)
        if what == "file" || what == "link" { try disk.delete(".tags") }
        try #require(try party.village.settle())
        #expect(alice.problems.isEmpty, "\(alice.problems)")
        #expect(alice.sidecar("Private/c.jpg", .library)?.fields.tags == ["Lake"])
    }

    /// A crash between the renaming and its note, in a folder that can't be looked at when the machine is there again.
    @Test func `what a crash left in a folder that can't be looked at is gone on with when it can be`() throws {
        let party = try Party(bob: "readWrite", storesMayDie: true)
        let (bob, disk) = (party.bob, party.bob.machine.shared)
        try party.alice.machine.library.write("Summer/deep/late.jpg", "late")
        try party.rounds(of: party.alice, 3)
        let faults = bob.machine.faults
        faults.setRule { operation in
            guard operation.name == "synchronize", operation.part == "shared",
                disk.tree()["alice/Summer/deep/late.jpg"] != nil
            else { return nil }
            return .crash
        }
        #expect(throws: (any Error).self) { for _ in 0..<8 { try bob.round() } }
        #expect(disk.tree()["alice/Summer/deep/late.jpg"] != nil)
        faults.clear()
        try bob.restart()
        let deep = try #require(RelativePath("alice/Summer/deep"))
        disk.setUnreadable(deep)
        try party.alice.machine.library.write("Summer/other.jpg", "other")
        try party.village.pass(8)
        #expect(bob.tree(.shared)["alice/Summer/other.jpg"] == "other")
        disk.setUnreadable(deep, false)
        try #require(try party.village.settle())
        let content = Party.content.merging(["deep/late.jpg": "late", "other.jpg": "other"]) { $1 }
        party.expectShown(content)
        #expect(bob.tree(.shared).count == content.count && bob.problems.isEmpty, "\(bob.problems)")
    }

    @Test func `a listing that fails half way deletes nothing`() throws {
        let party = try Party(bob: "readOnly")
        party.alice.machine.library.setHalfListed(
            try #require(RelativePath("Summer")), keeping: 1, failingWith: .inputOutput)
        try party.village.pass(8)
        #expect(party.carol.tree(.shared).values.sorted() == ["aaa", "bbb"])
        party.expectNamed("unreadable", by: [party.alice])
        party.alice.machine.library.setWhollyListed(try #require(RelativePath("Summer")))
        try party.village.pass(8)
        party.expectShown()
        #expect(party.alice.problems.isEmpty, "\(party.alice.problems)")
    }

    @Test(arguments: ["Summer", "Summer/deep", ""])
    func `a listing that ends early, without a word, deletes nothing`(path: String) throws {
        let party = try Party(bob: "readOnly")
        let folder = try #require(RelativePath(path))
        let photo = try #require(RelativePath("Summer/a.jpg"))
        let reply = party.alice.request(
            .caption(path: PathReference(root: .library, path: photo), text: "on the beach"))
        try #require(reply.code == 0, "\(reply)")
        try #require(try party.village.settle())
        let before = try #require(try party.state("a.jpg"))
        let theirs = try #require(RelativePath("alice/" + path))
        party.alice.machine.library.setHalfListed(folder, keeping: 0)
        party.carol.machine.shared.setHalfListed(path.isEmpty ? .root : theirs, keeping: 0)
        try party.village.pass(8)
        party.village.world.clock.advance(milliseconds: 40_000)
        try party.village.pass(8)
        party.expectShown()
        party.expectNamed("unreadable", by: [party.alice], containing: "left out")
        party.alice.machine.library.setWhollyListed(folder)
        party.carol.machine.shared.setWhollyListed(path.isEmpty ? .root : theirs)
        party.village.world.clock.advance(milliseconds: 40_000)
        try #require(try party.village.settle())
        #expect(try party.state("a.jpg") == before)
        try party.expectGoesOn()
        for replica in party.village.replicas {
            #expect(replica.problems.isEmpty, "\(replica.label): \(replica.problems)")
        }
    }

    static let names: [[UInt8]] = [
        Array("new\nline.jpg".utf8), Array("\u{1b}[31mred.jpg".utf8), [0xff, 0xfe, 0x80] + Array(".jpg".utf8),
        Array("caf\u{e9}.jpg".utf8), Array("cafe\u{301}.jpg".utf8), Array("CON".utf8), Array("ends with dot.".utf8),
        Array("back\\slash:*?\"<>|.jpg".utf8), Array(" .jpg".utf8), Array("-rf".utf8),
        [UInt8](repeating: UInt8(ascii: "x"), count: 251) + Array(".jpg".utf8),
        [UInt8](repeating: 0xe9, count: 255), Array("%2e%2e%2f.jpg".utf8), Array("$(reboot).jpg".utf8),
        Array("photo.jpg.json.jpg".utf8), Array("\u{202e}gpj.exe".utf8),
    ]

    @Test func `files of any name travel byte for byte`() throws {
        let party = try Party(bob: "readOnly")
        let folder = try #require(RelativePath("Summer"))
        for (index, bytes) in Self.names.enumerated() {
            let name = try #require(FileName(bytes: bytes))
            try party.alice.machine.library.write(folder.appending(name), bytes: Array("photo \(index)".utf8))
        }
        try #require(try party.village.settle())
        for (index, bytes) in Self.names.enumerated() {
            let name = try #require(FileName(bytes: bytes))
            let path = RelativePath(try #require(RelativePath("alice/Summer")).names + [name])
            #expect(try party.carol.machine.shared.read(path) == Array("photo \(index)".utf8), "\(name)")
            // And a tag: where there is no room for a sidecar's name, the photo is tagged all the same.
            let reply = party.alice.request(
                .caption(path: PathReference(root: .library, path: folder.appending(name)), text: "c\(index)"))
            #expect(reply.code == 0, "\(name): \(reply)")
        }
        try #require(try party.village.settle())
        for problem in party.alice.problems + party.carol.problems {
            #expect(problem.code == "sidecarNotWritten" && !problem.message.contains("\n"), "\(problem)")
        }
    }

    @Test func `symbolic links are named once and never followed`() throws {
        let party = try Party(bob: "readOnly")
        let library = party.alice.machine.library
        try library.link("Summer/link.jpg", to: "../Private/c.jpg")
        try library.link("Summer/dangling.jpg", to: "nowhere")
        try library.link("Summer/out", to: "/etc")
        try library.link("Summer/loop", to: ".")
        try party.village.pass(8)
        party.expectShown()
        #expect(party.alice.problems.filter { $0.code == "notAFile" }.count == 4, "\(party.alice.problems)")
        let reports = party.alice.logLines.filter { $0.hasPrefix("notAFile") }.count
        #expect(reports == 4)
        for name in ["link.jpg", "dangling.jpg", "out", "loop"] { try library.delete("Summer/" + name) }
        try party.village.pass(4)
        #expect(party.alice.problems.isEmpty, "\(party.alice.problems)")
    }

    @Test(arguments: ["Summer/a.jpg", "Summer/deep", "Summer"])
    func `a link in place of a photo or an album deletes nothing`(path: String) throws {
        let party = try Party(bob: "readOnly")
        let library = party.alice.machine.library
        try library.move(path, to: "elsewhere")
        let moved = library.snapshot()
        // As somebody does who moves an album to a larger disk.
        library.restore(moved)
        try library.delete("elsewhere")
        try library.link(path, to: "/mnt/large/elsewhere")
        try party.village.pass(10)
        #expect(party.carol.tree(.shared).values.sorted() == ["aaa", "bbb"])
        party.expectNamed("notAFile", by: [party.alice])
    }

    @Test(arguments: ["Summer/a.jpg", "Summer/deep"], [false, true])
    func `a copy of a photo in whose place a link stands is another photo`(path: String, isDropped: Bool) throws {
        let party = try Party(bob: "readOnly")
        let library = party.alice.machine.library
        try library.delete(path)
        try library.link(path, to: "/mnt/large/elsewhere")
        // Also when both are found in one look.
        if !isDropped { try party.village.pass(10) }
        try library.write("Private/copy.jpg", path == "Summer/deep" ? "bbb" : "aaa")
        try party.village.pass(30)
        #expect(party.carol.tree(.shared).values.sorted() == ["aaa", "bbb"])
        #expect(party.alice.tree(.library)["Private/copy.jpg"] != nil)
    }

    @Test(arguments: ["Summer/a.jpg", "Summer/deep"], ["Private/moved", "Summer/moved"])
    func `what is moved, and a link put in its place, is moved`(path: String, target: String) throws {
        let party = try Party(bob: "readOnly")
        let (alice, library) = (party.alice, party.alice.machine.library)
        let photo = path == "Summer/deep" ? "/b.jpg" : ""
        #expect(alice.request(.caption(path: alice.path(path + photo), text: "moved")).code == 0)
        try #require(try party.village.settle())
        try library.move(path, to: target)
        try library.link(path, to: "../" + target)
        try party.village.pass(30)
        #expect(alice.tree(.library).keys.contains(target + photo), "\(alice.tree(.library))")
        #expect(alice.sidecar(target + photo, .library)?.fields.caption == "moved")
        let shown = party.carol.tree(.shared)
        #expect(shown["alice/" + path + photo] == nil, "\(shown)")
        #expect((shown["alice/" + target + photo] != nil) == target.hasPrefix("Summer"), "\(shown)")
    }

    @Test(arguments: ["Summer/a.jpg", "Summer/deep"])
    func `a folder in which links stand for photos is shared, and they are not deleted by that`(path: String) throws {
        let (village, alice, second) = try Village.twoDevices(["Summer/a.jpg": "aaa", "Summer/deep/b.jpg": "bbb"])
        try alice.machine.library.delete(path)
        try alice.machine.library.link(path, to: "/mnt/large/elsewhere")
        try village.pass(10)
        let made = alice.request(
            .shareCreate(paths: [alice.path("Summer")], title: "Summer", publicPermission: "none", isSealed: true))
        #expect(made.code == 0, "\(made)")
        try village.pass(60)
        #expect(second.tree(.library).values.sorted() == ["aaa", "bbb"], "\(second.tree(.library))")
    }

    @Test func `a file in place of a folder and a folder in place of a file are taken as they are`() throws {
        let party = try Party(bob: "readOnly")
        let library = party.alice.machine.library
        try library.delete("Summer/deep")
        try library.write("Summer/deep", "a file now")
        try library.delete("Summer/a.jpg")
        try library.write("Summer/a.jpg/inner.jpg", "inner")
        try party.village.pass(12)
        // The new ones are taken before what they replace is known to be gone, and may get another name by that.
        let hers = party.alice.tree(.library).filter { $0.key.hasPrefix("Summer/") }
        #expect(hers.values.contains("a file now") && hers["Summer/a.jpg/inner.jpg"] == "inner", "\(hers)")
        #expect(Set(party.carol.tree(.shared).values) == Set(hers.values))
        #expect(party.alice.problems.isEmpty, "\(party.alice.problems)")
    }

    @Test func `a full disk changes nothing and heals`() throws {
        let party = try Party(bob: "readWrite")
        let disk = party.carol.machine.shared
        disk.setCapacity(bytes: disk.tree().values.reduce(0) { $0 + $1.count } + 300)
        let large = String(repeating: "y", count: 5_000)
        try party.alice.machine.library.write("Summer/a.jpg", large)
        try party.alice.machine.library.write("Summer/small.jpg", "s")
        try party.village.pass(8)
        #expect(party.carol.tree(.shared)["alice/Summer/a.jpg"] == "aaa")
        #expect(party.bob.tree(.shared)["alice/Summer/a.jpg"] == large)
        party.expectNamed("diskFull", by: [party.carol])
        #expect(!party.carol.isQuiet)
        disk.setCapacity(bytes: nil)
        try #require(try party.village.settle())
        party.expectShown(["a.jpg": large, "small.jpg": "s", "deep/b.jpg": "bbb"])
        #expect(party.carol.problems.isEmpty, "\(party.carol.problems)")
    }

    @Test func `a read-only edit whose copy does not fit is kept until it does`() throws {
        let party = try Party(bob: "readOnly")
        let large = String(repeating: "z", count: 5_000)
        party.bob.machine.library.setCapacity(bytes: 1_000)
        try party.bob.machine.shared.write("alice/Summer/a.jpg", large)
        try party.village.pass(12)
        #expect(
            party.bob.machine.shared.tree().values.contains(Array(large.utf8))
                || party.bob.machine.library.tree().values.contains(Array(large.utf8)))
        party.expectNamed("diskFull", by: [party.bob])
        party.expectShown()
        party.bob.machine.library.setCapacity(bytes: nil)
        try party.village.pass(20)
        #expect(party.bob.tree(.library).values.contains(large))
        #expect(party.bob.tree(.shared)["alice/Summer/a.jpg"] == "aaa")
    }

    enum Marker: String, CaseIterable { case garbage, empty, foreign, otherContainer, newer, removed, directory }

    @Test(arguments: Marker.allCases)
    func `a folder whose marker is not its own is left alone until it is`(marker: Marker) throws {
        let party = try Party(bob: "readOnly")
        let library = party.alice.machine.library
        let path = ".shoebox/root.json"
        let text = try library.text(path)
        switch marker {
        case .garbage: try library.write(path, "garbage")
        case .empty: try library.write(path, "")
        case .foreign:
            try library.write(
                path,
                text.replacing(
                    party.alice.identity.replica.description, with: party.bob.identity.replica.description))
        case .otherContainer:
            let container = try #require(RootMarker(Array(text.utf8))?.container)
            try library.write(path, text.replacing(container, with: String(repeating: "0", count: 32)))
        case .newer: try library.write(path, text.replacing("shoebox.root/1", with: "shoebox.root/2"))
        case .removed: try library.delete(path)
        case .directory:
            try library.delete(path)
            try library.write(path + "/x", "x")
        }
        try library.delete("Summer/a.jpg")
        try party.carol.machine.shared.write("alice/Summer/hers.jpg", "hers")
        try party.village.pass(8)
        party.expectNamed(
            [.foreign, .otherContainer].contains(marker) ? "rootForeign" : "rootOffline", by: [party.alice])
        #expect(party.carol.tree(.shared).values.sorted() == ["aaa", "bbb", "hers"])
        #expect(party.alice.tree(.library)["Summer/hers.jpg"] == nil)
        if marker == .directory { try library.delete(path) }
        try library.write(path, text)
        try library.write("Summer/a.jpg", "aaa")
        try #require(try party.village.settle())
        party.expectShown(Party.content.merging(["hers.jpg": "hers"]) { $1 })
        #expect(party.alice.problems.isEmpty, "\(party.alice.problems)")
    }

    @Test func `a marker copied into an empty folder does not make it the library`() throws {
        let party = try Party(bob: "readOnly")
        let library = party.alice.machine.library
        let text = try library.text(".shoebox/root.json")
        library.unmount(.replaced)
        try library.write(".shoebox/root.json", text)
        try party.village.pass(10)
        #expect(party.carol.tree(.shared).values.sorted() == ["aaa", "bbb"])
        party.expectNamed("massDeletion", by: [party.alice])
        library.mount()
        try #require(try party.village.settle())
        party.expectShown()
        #expect(party.alice.problems.isEmpty, "\(party.alice.problems)")
    }

    @Test func `a photo that was moved to a folder that can't be listed for a while is not deleted`() throws {
        let (village, alice, laptop) = try Village.twoDevices(["a.jpg": "a", "Album/b.jpg": "b"])
        #expect(alice.request(.caption(path: alice.path("a.jpg"), text: "mine")).code == 0)
        try #require(try village.settle())
        alice.machine.faults.setRule { operation in
            operation.name == "list" && operation.path == "Album" ? .fail(.inputOutput) : nil
        }
        for suffix in ["", ".json"] { try alice.machine.library.move("a.jpg\(suffix)", to: "Album/a.jpg\(suffix)") }
        for _ in 0..<12 {
            try village.pass(1)
            #expect(laptop.tree(.library)["a.jpg"] == "a")
        }
        alice.machine.faults.setRule(nil)
        try #require(try village.settle())
        for replica in [alice, laptop] {
            #expect(replica.tree(.library) == ["Album/a.jpg": "a", "Album/b.jpg": "b"])
            #expect(replica.sidecar("Album/a.jpg", .library)?.fields.caption == "mine")
            #expect(replica.machine.library.tree().keys.filter { $0.hasPrefix(".shoebox/trash") }.isEmpty)
        }
    }

    @Test(arguments: [true, false], [true, false])
    func `what stands where the files of tags belong is named until it is gone`(isLink: Bool, isShare: Bool) throws {
        let party = try Party(bob: "readWrite")
        let (alice, disk) = (party.alice, party.alice.machine.library)
        let (photo, folder) = isShare ? ("Summer/a.jpg", "Summer/.tags") : ("Private/c.jpg", ".tags")
        if isLink { try disk.link(folder, to: "elsewhere") } else { try disk.write(folder, "a file") }
        #expect(alice.request(.tag(path: alice.path(photo), titles: ["Beach"], isMember: true)).code == 0)
        try party.rounds(of: alice, 6)
        let problem = try #require(alice.problems.first { $0.code == "sidecarNotWritten" }, "\(alice.problems)")
        #expect(problem.message.contains(folder) && problem.message.contains("no folder"), "\(problem)")
        try disk.delete(folder)
        try #require(try party.village.settle())
        #expect(alice.problems.isEmpty, "\(alice.problems)")
        #expect(disk.tree().keys.contains { $0.hasPrefix(folder + "/") })
    }
}
