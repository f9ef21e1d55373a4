import Shoebox
import ShoeboxLibrary
import ShoeboxModel
import ShoeboxPlanning
import ShoeboxStore
import ShoeboxTestSupport
import ShoeboxWorld
import Testing

/// A person says something of a photo with a command, and moves or copies the photo with its sidecar before that is written anew.
@Suite struct StaleSidecarTests {
    enum Way: CaseIterable { case moved, copied, copiedAndDeleted }

    private func carry(_ path: String, _ from: SimulatedDisk, _ target: String, _ to: SimulatedDisk, _ way: Way) throws
    {
        for suffix in ["", ".json"] {
            guard way != .moved else {
                try from.move(path + suffix, to: target + suffix, on: to)
                continue
            }
            try to.write(target + suffix, String(decoding: try from.read(path + suffix), as: UTF8.self))
            if way == .copiedAndDeleted { try from.delete(path + suffix) }
        }
    }

    /// Lets no sidecar be written while something is done.
    private func unwritten(_ replica: Replica, _ body: () throws -> Void) rethrows {
        replica.machine.faults.setRule { operation in
            operation.path.hasSuffix(".json") && operation.part != "mount" ? .fail(.inputOutput) : nil
        }
        defer { replica.machine.faults.setRule { _ in nil } }
        try body()
    }

    @Test(arguments: Way.allCases, [false, true])
    func `what was said before of a photo that goes to somebody's share is not told there`(
        way: Way, isTakenBack: Bool
    ) throws {
        let (party, dan) = try Party.twoShares()
        let (alice, carol, village) = (party.alice, party.carol, party.village)
        let (shared, own) = (carol.machine.shared, carol.machine.library)
        try own.write("Mine/n.jpg", "nnn")
        try #require(try village.settle())
        let photo = carol.path("Mine/n.jpg")
        try #require(carol.request(.caption(path: photo, text: "for me")).code == 0)
        try #require(carol.request(.tag(path: photo, titles: ["Lake", "mine"], isMember: true)).code == 0)
        try #require(try village.settle())
        let before = try own.read("Mine/n.jpg.json")
        try unwritten(carol) {
            try #require(carol.request(.caption(path: photo, text: isTakenBack ? "" : "for all")).code == 0)
            try #require(carol.request(.tag(path: photo, titles: ["mine"], isMember: false)).code == 0)
            try #require(carol.request(.tag(path: photo, titles: ["all"], isMember: true)).code == 0)
        }
        try #require(own.read("Mine/n.jpg.json") == before)
        try carry("Mine/n.jpg", own, "alice/Other/n.jpg", shared, way)
        try party.rounds(of: carol, 6)
        try #require(try village.settle())
        for (replica, folder, root) in [(alice, "", RootKind.library), (dan, "alice/", .shared)] {
            let fields = try #require(replica.sidecar(folder + "Other/n.jpg", root)?.fields, "\(replica.label)")
            // Of a copy, what is said of the photo itself since is not told either.
            #expect(fields.caption == (isTakenBack || way == .copied ? nil : "for all"), "\(fields)")
            #expect(Set(fields.tags ?? []) == (way == .copied ? ["Lake"] : ["Lake", "all"]), "\(fields)")
        }
        for stored in try dan.store.read({ db in try db.history(after: 0, limit: .max) }) {
            guard case .set(let fields) = stored.change.action else { continue }
            #expect(!fields.values.contains { ["for me", "mine"].contains($0.text ?? "") }, "\(stored.change)")
        }
        guard way == .copied else { return }
        let fields = try #require(carol.sidecar("Mine/n.jpg", .library)?.fields)
        #expect(fields.caption == (isTakenBack ? nil : "for all") && Set(fields.tags ?? []) == ["Lake", "all"])
    }

    @Test func `a photo that goes to somebody's share just after a caption was undone does not come back`() throws {
        let (party, dan) = try Party.twoShares()
        let (carol, village) = (party.carol, party.village)
        let own = carol.machine.library
        try own.write("Mine/n.jpg", "nnn")
        try #require(try village.settle())
        let photo = carol.path("Mine/n.jpg")
        for text in ["for all", "wrong"] {
            try #require(carol.request(.caption(path: photo, text: text)).code == 0)
            try #require(try village.settle())
        }
        let last = try #require(
            carol.store.read { db in try db.history(after: 0, limit: .max) }.last { stored in
                guard case .set(let fields) = stored.change.action else { return false }
                return fields[.caption]?.text == "wrong"
            })
        try unwritten(carol) { try #require(carol.request(.undo(token: last.token)).code == 0) }
        try carry("Mine/n.jpg", own, "alice/Other/n.jpg", carol.machine.shared, .moved)
        try party.rounds(of: carol, 6)
        try #require(try village.settle())
        #expect(dan.sidecar("alice/Other/n.jpg", .shared)?.fields.caption == "for all")
        #expect(carol.tree(.library)["Mine/n.jpg"] == nil, "\(carol.tree(.library))")
    }

    @Test(arguments: [false, true])
    func `what a command says of a photo is said after what was written into its sidecar before`(isNew: Bool) throws {
        let party = try Party(bob: "readWrite")
        let (alice, village) = (party.alice, party.village)
        let disk = alice.machine.library
        let photo = alice.path("Private/c.jpg")
        if isNew {
            try disk.write(
                "Private/c.jpg.json",
                "{\"format\": \"shoebox.sidecar/1\", \"caption\": \"by hand\", \"tags\": [\"Lake\"]}")
        } else {
            try #require(alice.request(.caption(path: photo, text: "before")).code == 0)
            try #require(alice.request(.tag(path: photo, titles: ["Lake"], isMember: true)).code == 0)
            try #require(try village.settle())
            let text = String(decoding: try disk.read("Private/c.jpg.json"), as: UTF8.self)
            try disk.write("Private/c.jpg.json", text.replacing("before", with: "by hand"))
        }
        try #require(alice.request(.caption(path: photo, text: "by command")).code == 0)
        try #require(alice.request(.tag(path: photo, titles: ["Lake"], isMember: false)).code == 0)
        try #require(try village.settle())
        let fields = alice.sidecar("Private/c.jpg", .library)?.fields
        #expect(fields?.caption == "by command" && fields?.tags ?? [] == [], "\(fields as Any)")
        let said = try alice.store.read { db in try db.history(after: 0, limit: .max) }.contains { stored in
            guard case .set(let fields) = stored.change.action else { return false }
            return fields[.caption]?.text == "by hand"
        }
        #expect(said)
    }

    @Test func `what was written by hand into a sidecar before a command is not told in the share that it goes to`()
        throws
    {
        let (party, dan) = try Party.twoShares()
        let (alice, village) = (party.alice, party.village)
        let disk = alice.machine.library
        let photo = alice.path("Summer/deep/b.jpg")
        try disk.write(
            "Summer/deep/b.jpg.json",
            "{\"format\": \"shoebox.sidecar/1\", \"caption\": \"by hand\", \"tags\": [\"Lake\", \"mine\"]}")
        alice.machine.faults.setRule { operation in
            operation.name == "rename" && operation.part != "mount" ? .fail(.inputOutput) : nil
        }
        try #require(alice.request(.caption(path: photo, text: "by command")).code == 0)
        try #require(alice.request(.tag(path: photo, titles: ["mine"], isMember: false)).code == 0)
        alice.machine.faults.setRule(nil)
        try #require(String(decoding: try disk.read("Summer/deep/b.jpg.json"), as: UTF8.self).contains("by hand"))
        try carry("Summer/deep/b.jpg", disk, "Other/b.jpg", disk, .moved)
        try #require(try village.settle())
        let fields = dan.sidecar("alice/Other/b.jpg", .shared)?.fields
        #expect(fields?.caption == "by command" && fields?.tags == ["Lake"], "\(fields as Any)")
        for stored in try dan.store.read({ db in try db.history(after: 0, limit: .max) }) {
            guard case .set(let fields) = stored.change.action else { continue }
            #expect(!fields.values.contains { ["by hand", "mine"].contains($0.text ?? "") }, "\(stored.change)")
        }
    }

    @Test(arguments: ["Summer/deep/b.jpg", "Private/c.jpg"], [false, true])
    func `what is said in a sidecar that a person makes where a photo goes takes the place of what was said of it`(
        place: String, hasSidecar: Bool
    ) throws {
        let (party, dan) = try Party.twoShares()
        let (alice, village) = (party.alice, party.village)
        let disk = alice.machine.library
        if !hasSidecar {
            // None can be written.
            alice.machine.faults.setRule { operation in
                operation.name == "rename" && operation.part != "mount" ? .fail(.inputOutput) : nil
            }
        }
        try #require(alice.request(.caption(path: alice.path(place), text: "formerly")).code == 0)
        if hasSidecar { try #require(try village.settle()) }
        alice.machine.faults.setRule(nil)
        try #require(((try? disk.read(place + ".json")) != nil) == hasSidecar)
        try disk.move(place, to: "Other/new.jpg")
        try disk.write("Other/new.jpg.json", "{\"format\": \"shoebox.sidecar/1\", \"caption\": \"for dan\"}")
        try #require(try village.settle())
        #expect(dan.sidecar("alice/Other/new.jpg", .shared)?.fields.caption == "for dan")
        for stored in try dan.store.read({ db in try db.history(after: 0, limit: .max) }) {
            guard case .set(let fields) = stored.change.action else { continue }
            #expect(!fields.values.contains { $0.text == "formerly" }, "\(stored.change)")
        }
    }

    @Test func `a sidecar from a backup counts as it stands beside a copy of its photo`() throws {
        let party = try Party(bob: "readWrite")
        let (alice, village) = (party.alice, party.village)
        let disk = alice.machine.library
        var backup = ""
        for text in ["before", "after"] {
            try #require(alice.request(.caption(path: alice.path("Private/c.jpg"), text: text)).code == 0)
            try #require(try village.settle())
            if backup.isEmpty { backup = String(decoding: try disk.read("Private/c.jpg.json"), as: UTF8.self) }
        }
        village.world.clock.advance(milliseconds: 120_000)
        try disk.write("Private/d.jpg", String(decoding: try disk.read("Private/c.jpg"), as: UTF8.self))
        try disk.write("Private/d.jpg.json", backup)
        try #require(try village.settle())
        #expect(alice.sidecar("Private/d.jpg", .library)?.fields.caption == "before")
        #expect(alice.sidecar("Private/c.jpg", .library)?.fields.caption == "after")
    }

    @Test func `a sidecar is not written where its photo is not any more`() throws {
        let party = try Party(bob: "readWrite")
        let (alice, village) = (party.alice, party.village)
        let disk = alice.machine.library
        try #require(alice.request(.caption(path: alice.path("Private/c.jpg"), text: "for me")).code == 0)
        try #require(try village.settle())
        try unwritten(alice) {
            try #require(
                alice.request(.tag(path: alice.path("Private/c.jpg"), titles: ["mine"], isMember: true)).code == 0)
        }
        for suffix in ["", ".json"] { try disk.move("Private/c.jpg" + suffix, to: "Summer/c.jpg" + suffix) }
        // It is written before anybody looks.
        _ = try alice.engine.round(.directories([:]))
        #expect((try? disk.read("Private/c.jpg.json")) == nil)
        try #require(try village.settle())
        try disk.write("Private/c.jpg", "another")
        try #require(try village.settle())
        #expect(alice.sidecar("Private/c.jpg", .library)?.fields.caption == nil)
        #expect(alice.sidecar("Summer/c.jpg", .library)?.fields.tags == ["mine"])
    }
}
