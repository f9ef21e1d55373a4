import Shoebox
import ShoeboxModel
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
}
