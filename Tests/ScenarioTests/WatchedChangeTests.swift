import Shoebox
@testable import ShoeboxCloud
import ShoeboxLibrary
import ShoeboxModel
import ShoeboxPlanning
import ShoeboxStore
import ShoeboxTestSupport
import ShoeboxWorld
import Testing

/// What a watcher told of is taken in, though by then the directories that it named have other names.
@Suite struct WatchedChangeTests {
    enum Act: CaseIterable {
        case moveFolderIn, editInPlace, replace, moveIn, remove, renameAgain, putInPlaceOfAnother
    }

    private func perform(_ act: Act, on disk: SimulatedDisk) throws {
        switch act {
        case .moveFolderIn: try disk.move("p", to: "Qb/y/p")
        case .editInPlace: try disk.write("Qb/y/b.jpg", "edited")
        case .replace: try disk.move("new.jpg", to: "Qb/y/b.jpg")
        case .moveIn: try disk.move("new.jpg", to: "Qb/y/new.jpg")
        case .remove: try disk.delete("Qb/y/b.jpg")
        case .renameAgain:
            try disk.write("Qb/y/b.jpg", "edited")
            try disk.move("Qb", to: "Qc")
            try disk.move("new.jpg", to: "Qc/y/z/new.jpg")
        case .putInPlaceOfAnother:
            // The same folders in another one of the same name.
            try disk.write("Qb/y/b.jpg", "edited")
            try disk.move("Qb/y", to: "aside")
            try disk.delete("Qb")
            try disk.move("aside", to: "Qb/y")
            try disk.write("Qb/y/c.jpg", "late")
        }
    }

    @Test(arguments: Act.allCases)
    func `what happens in a folder just after it was renamed is noticed`(act: Act) throws {
        let (village, alice, second) = try Village.twoDevices([
            "Q/a.jpg": "one", "Q/y/b.jpg": "two", "Q/y/z/e.jpg": "three", "p/q/d.jpg": "four", "new.jpg": "five",
        ])
        let disk = alice.machine.library
        _ = disk.takeDirty()
        try disk.move("Q", to: "Qb")
        try perform(act, on: disk)
        for _ in 0..<30 {
            try alice.round(.directories([.library: disk.takeDirty()]))
            try second.round()
            village.world.clock.advance(milliseconds: 700)
        }
        #expect(second.tree(.library) == alice.tree(.library))
        #expect(
            alice.tree(.library).count == (act == .remove || act == .replace ? 4 : 5))
        #expect(try alice.round(.all).taken == 0)
    }

    @Test
    func `a share whose folder is moved in a shared folder just renamed keeps its photos from the other's people`()
        throws
    {
        let (village, alice, _) = try Village.twoDevices(
            ["Out/o.jpg": "outer", "Out/In/secret.jpg": "secret", "Out/y/x.jpg": "x"], others: ["bob"])
        let bob = village.replicas[1]
        let disk = alice.machine.library
        for title in ["In", "Out"] {
            let made = alice.request(
                .shareCreate(
                    paths: [alice.path(title == "In" ? "Out/In" : title)], title: title, publicPermission: "none",
                    isSealed: true))
            try #require(made.code == 0, "\(made)")
            guard title == "Out" else { continue }
            try #require(
                alice.request(.invite(share: "Out", accounts: ["bob"], permission: "readWrite")).code == 0)
            try #require(bob.request(.accept(link: made.values["link"] ?? "")).code == 0)
        }
        try #require(try village.settle())
        _ = disk.takeDirty()
        try disk.move("Out", to: "Outb")
        try disk.move("Outb/In", to: "Outb/y/InC")
        for _ in 0..<60 {
            try alice.round(.directories([.library: disk.takeDirty()]))
            for replica in village.replicas.dropFirst() { try replica.round() }
            village.world.clock.advance(milliseconds: 1_000)
        }
        #expect(try village.settleDeletions())
        #expect(bob.tree(.shared).values.sorted() == ["outer", "x"])
        #expect(alice.tree(.library).values.sorted() == ["outer", "secret", "x"])
        #expect(alice.problems.map(\.code) == ["undone"], "\(alice.problems.map(\.message))")
    }

    @Test(arguments: ["Summer/Sea", "Sea"], [["x.jpg", "y.jpg"], ["x.jpg"]])
    func `what was deleted in a folder just moved between shares is deleted, also if nothing else is in it`(
        from: String, names: [String]
    ) throws {
        var party = try Party(bob: "readWrite")
        let disk = party.alice.machine.library
        for name in names { try disk.write("\(from)/\(name)", name) }
        let second = try party.village.addDevice(of: party.alice, name: "alice2")
        #expect(try party.village.settle())
        _ = disk.takeDirty()
        let to = from == "Sea" ? "Summer/Sea" : "Sea"
        // More than is taken at once, before and after it.
        for folder in ["Aaa", "Summer/Aaa", "Zzz", "Summer/Zzz"] where names.count == 1 {
            for number in 0..<3 { try disk.write("\(folder)/\(number).jpg", "\(folder) \(number)") }
        }
        try disk.move(from, to: to)
        try disk.delete("\(to)/x.jpg")
        for _ in 0..<30 {
            try party.alice.round(.directories([.library: disk.takeDirty()]))
            for replica in party.village.replicas.dropFirst() { try replica.round() }
            party.village.world.clock.advance(milliseconds: 700)
        }
        #expect(second.tree(.library) == party.alice.tree(.library))
        #expect(
            Set(second.files(.library).filter { $0.key.hasPrefix("\(to)/") }.keys)
                == Set(names.dropFirst().map { "\(to)/\($0)" }))
        #expect(try party.alice.round(.all).taken == 0)
        if from == "Sea" { try expectUnknown("x.jpg", to: party.bob) }
    }

    @Test(arguments: ["", "Trip/"])
    func `another folder takes the place of one just moved, and what is in both stays what it is`(to: String) throws {
        let (village, alice, second) = try Village.twoDevices(["Trip/a.jpg": "a", "Trip/Sea/b.jpg": "b"])
        let disk = alice.machine.library
        _ = disk.takeDirty()
        try disk.move("Trip/Sea", to: "\(to)Away")
        let path = try #require(RelativePath("\(to)Away/b.jpg"))
        try disk.write(path, bytes: Array("new b".utf8), saving: .replacing)
        try disk.write("Trip/Sea/Sea/c.jpg", "c")
        try disk.move("Trip/Sea/Sea", to: "\(to)Away/Hill")
        try disk.write("\(to)Away/Hill/d.jpg", "d")
        for _ in 0..<30 {
            try alice.round(.directories([.library: disk.takeDirty()]))
            try second.round()
            village.world.clock.advance(milliseconds: 700)
        }
        #expect(second.tree(.library) == alice.tree(.library))
        #expect(alice.tree(.library).count == 4)
        #expect(try alice.round(.all).taken == 0)
    }

    @Test(arguments: [false, true])
    func `what was deleted just before its folder is shared is not shown to anybody`(isAdded: Bool) throws {
        var party = try Party(bob: "readWrite")
        let disk = party.alice.machine.library
        let second = try party.village.addDevice(of: party.alice, name: "alice2")
        for name in ["x.jpg", "y.jpg", "in/x.jpg", "gone/x.jpg"] { try disk.write("Sea/\(name)", name) }
        #expect(try party.village.settle())
        _ = disk.takeDirty()
        for name in ["x.jpg", "in/x.jpg", "gone"] { try disk.delete("Sea/\(name)") }
        let sea = [party.alice.path("Sea")]
        let made = party.alice.request(
            isAdded
                ? .shareAdd(share: "Summer", paths: sea)
                : .shareCreate(paths: sea, title: "Sea", publicPermission: "none", isSealed: true))
        #expect(made.code == 0, "\(made)")
        if !isAdded {
            #expect(
                party.alice.request(.invite(share: "Sea", accounts: ["bob"], permission: "readOnly")).code == 0)
            #expect(party.bob.request(.acceptAllPending).code == 0)
        }
        // Only what the watcher names is looked at, and what is to be looked at again.
        for _ in 0..<30 {
            try party.alice.round(.directories([.library: disk.takeDirty()]))
            for replica in party.village.replicas.dropFirst() { try replica.round() }
            party.village.world.clock.advance(milliseconds: 700)
        }
        #expect(second.tree(.library) == party.alice.tree(.library))
        #expect(second.tree(.library).keys.filter { $0.hasSuffix("x.jpg") } == [])
        #expect(try party.village.settleDeletions())
        #expect(party.alice.tree(.library).keys.filter { $0.hasPrefix("Sea") } == ["Sea/y.jpg"])
        #expect(party.bob.tree(.shared).values.contains("y.jpg"))
        for text in ["x.jpg", "in/x.jpg", "gone/x.jpg"] { try expectUnknown(text, to: party.bob) }
    }

    /// Checks that somebody never heard of a photo.
    private func expectUnknown(
        _ text: String, to replica: Replica, sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        let hash = sha256(Array(text.utf8))
        let changes = try replica.store.read { db in try db.history(after: 0, limit: .max) }
        let known = changes.filter { stored in
            guard case .set(let fields) = stored.change.action else { return false }
            return fields.values.contains { $0.asset?.contentHash == hash }
        }
        #expect(known.isEmpty, "\(text)", sourceLocation: sourceLocation)
    }

    @Test(arguments: 0..<12)
    func `a folder that is moved between two listings of one look is one folder`(calls: Int) throws {
        let files = ["Q/y/p0.jpg": "q0", "Q/y/p1.jpg": "q1", "S/x/s0.jpg": "s0", "Z/z.jpg": "z"]
        let (village, alice, laptop) = try Village.twoDevices(files) { $0.takeMax = 512 }
        let disk = alice.machine.library
        _ = disk.takeDirty()
        // Two folders swap places, and the look comes in the middle.
        try disk.move("Q/y", to: "Q/y.sw")
        try disk.move("S/x", to: "Q/y")
        alice.machine.faults.run(before: "list", after: calls) { try? disk.move("Q/y.sw", to: "S/x") }
        func rounds(_ count: Int) throws {
            for _ in 0..<count {
                try alice.round(.directories([.library: disk.takeDirty()]))
                village.world.clock.advance(milliseconds: 700)
            }
        }
        try rounds(1)
        if disk.tree()["Q/y.sw/p0.jpg"] != nil { try disk.move("Q/y.sw", to: "S/x") }
        try disk.move("S/x", to: "Z/x")
        try rounds(6)
        #expect(try village.settleDeletions())
        let wanted = ["Z/x/p0.jpg": "q0", "Z/x/p1.jpg": "q1", "Q/y/s0.jpg": "s0", "Z/z.jpg": "z"]
        for replica in [alice, laptop] { #expect(replica.tree(.library) == wanted, "\(replica.label)") }
    }

    enum InNewFolder: CaseIterable { case nothing, otherPhoto, photoOfTheName, thePhoto }

    /// Where the folder goes decides which of the two directories is looked at first.
    @Test(arguments: ["Hill/Sea", "Hill/Alp", "Z/Sea", "A/Sea"], InNewFolder.allCases)
    func `a new folder of the name of one that was moved has what is in it, and the other one what it kept`(
        place: String, inside: InNewFolder
    ) throws {
        for takeMax in [1, 2, 512] {
            let (village, alice, laptop) = try Village.twoDevices([
                "Hill/Lake/a.jpg": "one", "Hill/Lake/b.jpg": "two", "Z/z.jpg": "three", "A/a.jpg": "four",
            ]) { $0.takeMax = takeMax }
            let disk = alice.machine.library
            try #require(alice.request(.caption(path: alice.path("Hill/Lake/a.jpg"), text: "mine")).code == 0)
            try #require(try village.settle())
            _ = disk.takeDirty()
            try disk.move("Hill/Lake", to: place)
            try disk.makeDirectories(#require(RelativePath("Hill/Lake")))
            var at = "\(place)/a.jpg"
            switch inside {
            case .nothing: try disk.delete("\(place)/b.jpg")
            case .otherPhoto:
                try disk.delete("\(place)/b.jpg")
                try disk.write("Hill/Lake/c.jpg", "new")
            case .photoOfTheName: try disk.write("Hill/Lake/a.jpg", "new")
            case .thePhoto:
                at = "Hill/Lake/a.jpg"
                for suffix in ["", ".json"] { try disk.move("\(place)/a.jpg\(suffix)", to: at + suffix) }
            }
            for _ in 0..<30 {
                try alice.round(.directories([.library: disk.takeDirty()]))
                try laptop.round()
                village.world.clock.advance(milliseconds: 700)
            }
            #expect(laptop.tree(.library) == alice.tree(.library), "\(takeMax)")
            for replica in [alice, laptop] {
                #expect(replica.sidecar(at, .library)?.fields.caption == "mine", "\(takeMax) \(replica.label)")
            }
            #expect(try alice.round(.all).taken == 0, "\(takeMax)")
        }
    }
}
