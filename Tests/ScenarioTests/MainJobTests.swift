import Shoebox
import ShoeboxLibrary
import ShoeboxModel
import ShoeboxPlanning
import ShoeboxStore
import ShoeboxTestSupport
import Testing

@Suite struct MainJobTests {
    /// Alice shares a folder with Bob, who accepts.
    private func sharedFolder(permission: String = "readWrite") throws -> (Village, Replica, Replica, Reply) {
        let village = try Village(labels: ["alice", "bob"])
        let (alice, bob) = (village.replicas[0], village.replicas[1])
        try alice.machine.library.write("Summer/a.jpg", "aaa")
        try alice.machine.library.write("Summer/deep/b.jpg", "bbb")
        try alice.machine.library.write("Private/c.jpg", "ccc")
        try #require(try village.settle())
        let made = alice.request(
            .shareCreate(paths: [alice.path("Summer")], title: "Summer 2026", publicPermission: "none", isSealed: true))
        try #require(made.code == 0, "\(made)")
        let invited = alice.request(.invite(share: "Summer 2026", accounts: ["bob"], permission: permission))
        try #require(invited.code == 0, "\(invited)")
        let accepted = bob.request(.accept(link: made.values["link"] ?? ""))
        try #require(accepted.code == 0, "\(accepted)")
        try #require(try village.settle(), "\(bob.logLines) \(bob.problems) \(alice.problems)")
        return (village, alice, bob, made)
    }

    @Test func `a shared folder arrives whole at the participant, and nothing else does`() throws {
        let (_, alice, bob, _) = try sharedFolder()
        #expect(
            treeDifference(
                bob.files(.shared), ["alice/Summer 2026/a.jpg": "aaa", "alice/Summer 2026/deep/b.jpg": "bbb"]) == [])
        #expect(
            treeDifference(
                alice.files(.library), ["Summer/a.jpg": "aaa", "Summer/deep/b.jpg": "bbb", "Private/c.jpg": "ccc"])
                == [])
        #expect(alice.problems.isEmpty && bob.problems.isEmpty, "\(alice.problems) \(bob.problems)")
    }

    @Test func `what a participant adds, edits and deletes shows at the owner's`() throws {
        let (village, alice, bob, _) = try sharedFolder()
        try bob.machine.shared.write("alice/Summer 2026/mine.jpg", "from bob")
        try bob.machine.shared.write("alice/Summer 2026/a.jpg", "edited")
        try #require(try village.settle())
        #expect(alice.tree(.library)["Summer/mine.jpg"] == "from bob")
        #expect(alice.tree(.library)["Summer/a.jpg"] == "edited")
        try bob.machine.shared.delete("alice/Summer 2026/deep/b.jpg")
        for _ in 0..<60 { try village.settle(rounds: 1) }
        try #require(try village.settle())
        #expect(alice.tree(.library)["Summer/deep/b.jpg"] == nil)
    }

    @Test func `a rename costs no bytes and keeps the record`() throws {
        let (village, alice, bob, _) = try sharedFolder()
        _ = alice.request(.tag(path: alice.path("Summer/a.jpg"), titles: ["Beach"], isMember: true))
        try #require(try village.settle())
        let before = village.assetNames
        try alice.machine.library.move("Summer/a.jpg", to: "Summer/deep/renamed.jpg")
        try alice.machine.library.delete("Summer/a.jpg.json")
        try #require(try village.settle())
        #expect(bob.tree(.shared)["alice/Summer 2026/deep/renamed.jpg"] == "aaa")
        #expect(bob.tree(.shared)["alice/Summer 2026/a.jpg"] == nil)
        #expect(bob.sidecar("alice/Summer 2026/deep/renamed.jpg", .shared)?.fields.tags == ["Beach"])
        #expect(village.assetNames == before)
    }

    @Test func `tags, ratings and captions travel both ways as sidecars`() throws {
        let (village, alice, bob, _) = try sharedFolder()
        #expect(
            bob.request(.tag(path: bob.path("alice/Summer 2026/a.jpg", .shared), titles: ["Beach"], isMember: true))
                .code == 0)
        #expect(alice.request(.caption(path: alice.path("Summer/a.jpg"), text: "The lake")).code == 0)
        try #require(try village.settle())
        #expect(alice.sidecar("Summer/a.jpg", .library)?.fields.tags == ["Beach"])
        #expect(bob.sidecar("alice/Summer 2026/a.jpg", .shared)?.fields.caption == "The lake")
        // A person edits the file itself.
        var document = try #require(alice.sidecar("Summer/a.jpg", .library))
        document.fields.tags = ["Beach", "Lake"]
        try alice.machine.library.write("Summer/a.jpg.json", String(decoding: document.encoded(), as: UTF8.self))
        try #require(try village.settle())
        #expect(bob.sidecar("alice/Summer 2026/a.jpg", .shared)?.fields.tags == ["Beach", "Lake"])
        // A tag is a file too: renaming it there renames it for everyone.
        let file = try bob.machine.shared.text("alice/Summer 2026/.tags/Lake.json")
        try bob.machine.shared.write(
            "alice/Summer 2026/.tags/Lake.json", file.split(separator: "Lake").joined(separator: "Sea"))
        try #require(try village.settle())
        #expect(alice.sidecar("Summer/a.jpg", .library)?.fields.tags == ["Beach", "Sea"])
        #expect(try alice.machine.library.text("Summer/.tags/Sea.json").contains("Sea"))
        #expect(try alice.machine.library.stamp("Summer/.tags/Lake.json") == nil)
    }

    /// An editor leaves what was there before beside what it saves; somebody moves one out of the way.
    @Test(arguments: ["Lake.json~", "Lake copy.json", "moved.json"])
    func `a copy of a tag's file undoes no renaming of the tag`(name: String) throws {
        let (village, alice, bob, _) = try sharedFolder()
        _ = alice.request(.tag(path: alice.path("Summer/a.jpg"), titles: ["Lake"], isMember: true))
        try #require(try village.settle())
        let (disk, folder) = (bob.machine.shared, "alice/Summer 2026/.tags/")
        let file = try disk.text(folder + "Lake.json")
        if name == "moved.json" {
            try disk.move(folder + "Lake.json", to: folder + name)
            try #require(try village.settle())
            village.world.clock.advance(milliseconds: 120_000)
            _ = bob.request(.tagRename(title: "Lake", newTitle: "Sea", scope: .share("Summer 2026")))
        } else {
            try disk.write(folder + name, file)
            try disk.write(folder + "Lake.json", file.replacing("Lake", with: "Sea"))
        }
        for tag in ["Sea", "Shore"] {
            if tag == "Shore" {
                let renamed = alice.request(.tagRename(title: "Sea", newTitle: tag, scope: .share("Summer 2026")))
                #expect(renamed.code == 0, "\(renamed)")
            }
            for _ in 0..<3 {
                try village.pass(4)
                try disk.write("alice/Summer 2026/\(tag).txt", "something to look at")
                village.world.clock.advance(milliseconds: 20_000)
            }
            try #require(try village.settle())
            for (replica, path, root) in [
                (alice, "Summer/a.jpg", RootKind.library), (bob, "alice/Summer 2026/a.jpg", .shared),
            ] {
                #expect(replica.sidecar(path, root)?.fields.tags == [tag], "\(replica.label)")
            }
        }
    }

    @Test func `a read-only participant's edit becomes a private copy and the original comes back`() throws {
        let (village, alice, bob, _) = try sharedFolder(permission: "readOnly")
        #expect(try bob.machine.shared.stamp("alice/Summer 2026/a.jpg")?.mode == 0o444)
        try bob.machine.shared.write("alice/Summer 2026/a.jpg", "scribble")
        try #require(try village.settle())
        #expect(bob.tree(.shared)["alice/Summer 2026/a.jpg"] == "aaa")
        #expect(bob.tree(.library).values.contains("scribble"))
        #expect(alice.tree(.library)["Summer/a.jpg"] == "aaa")
        #expect(
            bob.request(.tag(path: bob.path("alice/Summer 2026/a.jpg", .shared), titles: ["x"], isMember: true)).code
                == 12)
    }

    @Test func `two edits of one photo at once are both kept, on both sides alike`() throws {
        let (village, alice, bob, _) = try sharedFolder()
        try alice.machine.library.write("Summer/a.jpg", "by alice")
        try bob.machine.shared.write("alice/Summer 2026/a.jpg", "by bob")
        try #require(try village.settle())
        let hers = alice.tree(.library).filter { $0.key.hasPrefix("Summer/") }.values.sorted()
        #expect(hers == ["bbb", "by alice", "by bob"])
        let his = bob.tree(.shared).values.sorted()
        #expect(his == hers)
    }

    @Test func `stopping leaves the owner everything and takes it from the participant`() throws {
        let (village, alice, bob, _) = try sharedFolder()
        _ = alice.request(.tag(path: alice.path("Summer/a.jpg"), titles: ["Beach"], isMember: true))
        try bob.machine.shared.write("alice/Summer 2026/mine.jpg", "from bob")
        try #require(try village.settle())
        #expect(alice.request(.stop(share: "Summer 2026")).code == 0)
        try #require(try village.settle())
        #expect(
            treeDifference(
                alice.files(.library),
                [
                    "Summer/a.jpg": "aaa", "Summer/deep/b.jpg": "bbb", "Summer/mine.jpg": "from bob",
                    "Private/c.jpg": "ccc",
                ]) == [])
        #expect(alice.sidecar("Summer/a.jpg", .library)?.fields.tags == ["Beach"])
        #expect(bob.tree(.shared).isEmpty)
        // And again.
        let again = alice.request(
            .shareCreate(paths: [alice.path("Summer")], title: "Again", publicPermission: "none", isSealed: true))
        #expect(again.code == 0, "\(again)")
        _ = alice.request(.invite(share: "Again", accounts: ["bob"], permission: "readOnly"))
        #expect(bob.request(.acceptAllPending).code == 0)
        try #require(try village.settle())
        #expect(bob.tree(.shared)["alice/Again/mine.jpg"] == "from bob")
        // The files that show tags are no files of the share, also after it was stopped once.
        let files = try alice.store.read { db in
            try db.zones().flatMap { try db.files(in: $0.id) }.compactMap { $0.name?.description }
        }
        #expect(!files.isEmpty && !files.contains("Beach.json"))
    }

    @Test func `leaving deletes nothing at the owner's, and accepting again brings all back`() throws {
        let (village, alice, bob, made) = try sharedFolder()
        #expect(bob.request(.leave(share: "Summer 2026", keepCopy: true)).code == 0)
        try #require(try village.settle())
        #expect(bob.tree(.shared).isEmpty)
        #expect(bob.tree(.library).values.contains("aaa"))
        #expect(alice.tree(.library)["Summer/a.jpg"] == "aaa")
        #expect(bob.request(.accept(link: made.values["link"] ?? "")).code == 0)
        try #require(try village.settle())
        #expect(bob.tree(.shared)["alice/Summer 2026/a.jpg"] == "aaa")
    }

    @Test func `a selection keeps its places at the owner's and contributions get a folder`() throws {
        let village = try Village(labels: ["alice", "bob"])
        let (alice, bob) = (village.replicas[0], village.replicas[1])
        try alice.machine.library.write("2024/IMG_1.jpg", "one")
        try alice.machine.library.write("2025/IMG_1.jpg", "two")
        try #require(try village.settle())
        let made = alice.request(
            .shareCreate(
                paths: [alice.path("2024/IMG_1.jpg"), alice.path("2025/IMG_1.jpg")], title: "Best",
                publicPermission: "none",
                isSealed: true))
        try #require(made.code == 0)
        _ = alice.request(.invite(share: "Best", accounts: ["bob"], permission: "readWrite"))
        _ = bob.request(.acceptAllPending)
        try #require(try village.settle())
        #expect(treeDifference(alice.files(.library), ["2024/IMG_1.jpg": "one", "2025/IMG_1.jpg": "two"]) == [])
        #expect(bob.tree(.shared).values.sorted() == ["one", "two"])
        try bob.machine.shared.write("alice/Best/new.jpg", "three")
        try #require(try village.settle())
        #expect(alice.tree(.library)["Shared/Best/new.jpg"] == "three")
        #expect(alice.request(.stop(share: "Best")).code == 0)
        try #require(try village.settle())
        #expect(
            treeDifference(
                alice.files(.library),
                [
                    "2024/IMG_1.jpg": "one", "2025/IMG_1.jpg": "two", "Shared/Best/new.jpg": "three",
                ]) == [])
    }

    @Test func `an empty or missing folder, local or cloud, deletes nothing and heals by itself`() throws {
        let (village, alice, bob, _) = try sharedFolder()
        alice.machine.library.unmount(.replaced)
        for _ in 0..<6 { try village.settle(rounds: 1) }
        #expect(bob.tree(.shared).count == 2)
        #expect(alice.problems.contains { $0.code == "rootOffline" })
        alice.machine.library.mount()
        try #require(try village.settle())
        #expect(alice.problems.isEmpty, "\(alice.problems)")
        bob.machine.mount.attach(.missing)
        try bob.machine.shared.write("alice/Summer 2026/offline.jpg", "later")
        for _ in 0..<6 { try village.settle(rounds: 1) }
        #expect(bob.problems.contains { $0.code == "offline" })
        #expect(bob.tree(.shared).count == 3)
        bob.machine.mount.mount()
        try #require(try village.settle())
        #expect(alice.tree(.library)["Summer/offline.jpg"] == "later")
    }

    @Test func `what is taken out of a shared folder leaves it, and only there`() throws {
        let (village, alice, bob, _) = try sharedFolder()
        let removed = alice.request(.shareRemove(share: "Summer 2026", paths: [alice.path("Summer/a.jpg")]))
        #expect(removed.code == 0 && removed.lines.joined().contains("goes to 'library'"), "\(removed)")
        try #require(try village.settle())
        #expect(treeDifference(bob.files(.shared), ["alice/Summer 2026/deep/b.jpg": "bbb"]) == [])
        #expect(
            treeDifference(alice.files(.library), ["a.jpg": "aaa", "Summer/deep/b.jpg": "bbb", "Private/c.jpg": "ccc"])
                == [])
    }

    @Test func `adding a photo whose name is taken in the share renames no file of the owner's`() throws {
        let (village, alice, bob, _) = try sharedFolder()
        try alice.machine.library.write("X/a.jpg", "other")
        try #require(try village.settle())
        #expect(alice.request(.shareAdd(share: "Summer 2026", paths: [alice.path("X/a.jpg")])).code == 0)
        try #require(try village.settle())
        #expect(alice.tree(.library)["X/a.jpg"] == "other", "\(alice.tree(.library))")
        #expect(bob.tree(.shared).values.sorted() == ["aaa", "bbb", "other"])
    }

    @Test(arguments: ["content", "last version", "version 1"])
    func `a photo cut to nothing is not passed on, and comes back when asked for`(asked: String) throws {
        let (village, alice, bob, _) = try sharedFolder()
        try alice.machine.library.write("Summer/a.jpg", "")
        try #require(try village.settle())
        #expect(alice.problems.contains { $0.code == "emptied" })
        #expect(bob.tree(.shared)["alice/Summer 2026/a.jpg"] == "aaa")
        let path = alice.path("Summer/a.jpg")
        let reply = alice.request(
            asked == "content"
                ? .restoreContent(path: path) : .restoreVersion(path: path, version: asked.hasSuffix("1") ? "1" : nil))
        #expect(reply.code == 0, "\(reply)")
        try #require(try village.settle())
        #expect(alice.tree(.library)["Summer/a.jpg"] == "aaa")
        #expect(alice.problems.isEmpty)
    }

    @Test func `two devices of one account show the same library and shares`() throws {
        var (village, alice, bob, _) = try sharedFolder()
        let laptop = try village.addDevice(of: alice, name: "laptop")
        try #require(try village.settle(), "\(laptop.logLines.suffix(20)) \(laptop.problems)")
        #expect(treeDifference(laptop.files(.library), alice.files(.library)) == [])
        try laptop.machine.library.write("Summer/from laptop.jpg", "ll")
        try #require(try village.settle())
        #expect(alice.tree(.library)["Summer/from laptop.jpg"] == "ll")
        #expect(bob.tree(.shared)["alice/Summer 2026/from laptop.jpg"] == "ll")
        let made = laptop.request(
            .shareCreate(paths: [laptop.path("Private")], title: "P", publicPermission: "none", isSealed: true))
        #expect(made.code == 0)
        try #require(try village.settle())
        #expect(treeDifference(laptop.files(.library), alice.files(.library)) == [])
        #expect(alice.tree(.library)["Private/c.jpg"] == "ccc")
    }
}
