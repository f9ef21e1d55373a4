import Shoebox
import ShoeboxLibrary
import ShoeboxModel
import ShoeboxPlanning
import ShoeboxStore
import ShoeboxTestSupport
import ShoeboxWorld
import Testing

/// A folder has the name that another one had, and all that was done between two looks: each keeps what is its own.
@Suite struct ReplacedFolderTests {
    /// How the look comes about, and how much it takes at a time.
    struct Look: CustomTestStringConvertible {
        var isWhole: Bool
        var takeMax: Int
        var testDescription: String { "\(isWhole ? "whole" : "told") \(takeMax)" }
        static var all: [Look] {
            [true, false].flatMap { whole in [1, 3, 512].map { Look(isWhole: whole, takeMax: $0) } }
        }
    }

    /// Alice with two devices; the photo that is hers has a caption.
    private func start(_ files: [String: String], captioned: String, _ look: Look) throws -> (Village, Replica, Replica)
    {
        let (village, alice, laptop) = try Village.twoDevices(files) { $0.takeMax = look.takeMax }
        // As it is for users: a deletion is known before anything is renamed for it.
        for replica in [alice, laptop] { replica.engine.settings.collisionMilliseconds = 5_000 }
        try #require(alice.request(.caption(path: alice.path(captioned), text: "mine")).code == 0)
        try #require(try village.settle())
        _ = alice.machine.library.takeDirty()
        return (village, alice, laptop)
    }

    /// Everything was left alone for a while before the look, as where no daemon runs. What is moved with its folder keeps its
    /// caption, everybody is shown the same, and nothing is left to be found.
    private func finish(
        _ village: Village, _ alice: Replica, _ laptop: Replica, captioned: String, _ look: Look,
        _ wanted: [String: String]
    ) throws {
        village.world.clock.advance(milliseconds: 60_000)
        let disk = alice.machine.library
        for round in 0..<60 {
            try alice.round(look.isWhole && round == 0 ? .all : .directories([.library: disk.takeDirty()]))
            try laptop.round()
            village.world.clock.advance(milliseconds: 700)
        }
        for replica in [alice, laptop] {
            #expect(replica.tree(.library) == wanted, "\(replica.machine.name)")
            #expect(replica.sidecar(captioned, .library)?.fields.caption == "mine", "\(replica.machine.name)")
        }
        #expect(try alice.round(.all).taken == 0)
    }

    enum Change: CaseIterable { case added, edited, savedAnew }

    @Test(arguments: Change.allCases, Look.all)
    func `what changed in a folder of a folder that took another one's name is that one's`(
        change: Change, look: Look
    ) throws {
        for isKept in [true, false] {
            for hasSame in [true, false] {
                let other = hasSame ? "Current/raw/x.jpg" : "Current/x.jpg"
                let (village, alice, laptop) = try start(
                    [other: "x", "Next/raw/c.jpg": "c", "Next/d.jpg": "d"], captioned: "Next/raw/c.jpg", look)
                let disk = alice.machine.library
                var wanted = ["Current/raw/c.jpg": "c", "Current/d.jpg": "d"]
                switch change {
                case .added:
                    try disk.write("Next/raw/n.jpg", "n")
                    wanted["Current/raw/n.jpg"] = "n"
                case .edited, .savedAnew:
                    if change == .savedAnew {
                        try disk.write("Next/raw/c.tmp", "c2")
                        try disk.move("Next/raw/c.tmp", to: "Next/raw/c.jpg")
                    } else {
                        try disk.write("Next/raw/c.jpg", "c2")
                    }
                    wanted["Current/raw/c.jpg"] = "c2"
                }
                if isKept {
                    try disk.move("Current", to: "Archive")
                    wanted[other.replacing("Current", with: "Archive")] = "x"
                } else {
                    try disk.delete("Current")
                }
                try disk.move("Next", to: "Current")
                try finish(village, alice, laptop, captioned: "Current/raw/c.jpg", look, wanted)
            }
        }
    }

    @Test(arguments: Look.all)
    func `the photos of a folder that was deleted do not come into the one that took its name`(look: Look) throws {
        let (village, alice, laptop) = try start(
            ["Y/y1.jpg": "y1", "Y/in/y2.jpg": "y2", "X/x.jpg": "x", "X/y1.jpg": "other"], captioned: "X/x.jpg", look)
        try alice.machine.library.delete("Y")
        try alice.machine.library.move("X", to: "Y")
        try finish(
            village, alice, laptop, captioned: "Y/x.jpg", look, ["Y/x.jpg": "x", "Y/y1.jpg": "other"])
    }

    /// What is deleted in somebody else's share is told later than what is renamed. What both folders have of a name is not
    /// given another one meanwhile: it would keep that for good.
    @Test(arguments: Look.all)
    func `a folder of a share that takes the name of a deleted one brings its photos with their names`(look: Look)
        throws
    {
        let party = try Party(bob: "readWrite")
        let share = "alice/Summer"
        let disk = party.bob.machine.shared
        party.bob.tune = { $0.takeMax = look.takeMax }
        for replica in [party.alice, party.bob, party.carol] {
            replica.engine.settings.collisionMilliseconds = 5_000
        }
        for (path, text) in ["Y/1.jpg": "y1", "Y/2.jpg": "y2", "X/1.jpg": "x1", "X/2.jpg": "x2"] {
            try disk.write("\(share)/\(path)", text)
        }
        try #require(try party.village.settle())
        _ = disk.takeDirty()
        try disk.delete("\(share)/Y")
        try disk.move("\(share)/X", to: "\(share)/Y")
        for round in 0..<120 {
            try party.bob.round(look.isWhole && round == 0 ? .all : .directories([.shared: disk.takeDirty()]))
            for replica in [party.alice, party.carol] { try replica.round() }
            party.village.world.clock.advance(milliseconds: 700)
        }
        let wanted = ["Y/1.jpg": "x1", "Y/2.jpg": "x2", "a.jpg": "aaa", "deep/b.jpg": "bbb"]
        party.expectShown(wanted)
        #expect(treeDifference(party.bob.files(.shared), party.carol.files(.shared)) == [])
        #expect(try party.bob.round(.all).taken == 0)
    }

    enum Inside: CaseIterable { case others, sameBytes, movedBack, subfolder }

    @Test(arguments: Inside.allCases, Look.all)
    func `a folder that was put into a new one of its name keeps its photos, whatever stands beside it`(
        inside: Inside, look: Look
    ) throws {
        let (village, alice, laptop) = try start(
            ["Trip/a.jpg": "a", "Trip/b.jpg": "b", "Trip/S/s.jpg": "s"], captioned: "Trip/a.jpg", look)
        let disk = alice.machine.library
        try disk.move("Trip", to: "t")
        try disk.makeDirectories(#require(RelativePath("Trip")))
        try disk.move("t", to: "Trip/originals")
        try disk.write("Trip/originals/note.jpg", "note")
        var wanted = ["a.jpg": "a", "b.jpg": "b", "S/s.jpg": "s", "note.jpg": "note"]
        wanted = Dictionary(uniqueKeysWithValues: wanted.map { ("Trip/originals/\($0.key)", $0.value) })
        switch inside {
        case .others:
            try disk.write("Trip/a.jpg", "small")
            wanted["Trip/a.jpg"] = "small"
        case .sameBytes:
            try disk.write("Trip/a.jpg", "a")
            wanted["Trip/a.jpg"] = "a"
        case .movedBack:
            try disk.move("Trip/originals/b.jpg", to: "Trip/b.jpg")
            wanted["Trip/originals/b.jpg"] = nil
            wanted["Trip/b.jpg"] = "b"
        case .subfolder:
            try disk.write("Trip/S/other.jpg", "other")
            wanted["Trip/S/other.jpg"] = "other"
        }
        try finish(village, alice, laptop, captioned: "Trip/originals/a.jpg", look, wanted)
    }

    @Test(arguments: Look.all)
    func `two folders that were put into a new one of the name of one of them keep what is theirs`(look: Look) throws {
        let (village, alice, laptop) = try start(
            ["2023/a.jpg": "a", "2024/x.jpg": "x", "2024/y.jpg": "y"], captioned: "2024/x.jpg", look)
        let disk = alice.machine.library
        try disk.move("2023", to: "tmp/2023")
        try disk.move("2024", to: "tmp/2024")
        try disk.move("tmp", to: "2023")
        for suffix in ["", ".json"] { try disk.move("2023/2024/x.jpg\(suffix)", to: "2024/x.jpg\(suffix)") }
        try finish(
            village, alice, laptop, captioned: "2024/x.jpg", look,
            ["2023/2023/a.jpg": "a", "2023/2024/y.jpg": "y", "2024/x.jpg": "x"])
    }

    @Test(arguments: Look.all)
    func `what is in a folder of a new folder is not what was there in the former one`(look: Look) throws {
        let (village, alice, laptop) = try start(
            ["Archive/z.jpg": "z", "Trip/S/x.jpg": "x"], captioned: "Trip/S/x.jpg", look)
        let disk = alice.machine.library
        // A copy of the folder in its place, with another folder moved into it.
        try disk.delete("Archive")
        try disk.write("Archive/z.jpg", "z")
        try disk.move("Trip", to: "Archive/Trip")
        try disk.write("Trip/S/x.jpg", "new")
        try finish(
            village, alice, laptop, captioned: "Archive/Trip/S/x.jpg", look,
            ["Archive/z.jpg": "z", "Archive/Trip/S/x.jpg": "x", "Trip/S/x.jpg": "new"])
    }

    /// Into another folder, or into the very one that has its place now.
    @Test(arguments: Look.all, ["Archive/Summer", "Summer/2024/Summer"])
    func `a new folder in the place of a share that was moved is not the share, however much there is to be taken`(
        look: Look, place: String
    ) throws {
        let party = try Party(bob: "readWrite")
        let disk = party.alice.machine.library
        party.alice.tune = { $0.takeMax = look.takeMax }
        _ = disk.takeDirty()
        try disk.move("Summer", to: "New/2024/Summer")
        if place == "Archive/Summer" {
            try disk.move("New/2024", to: "Archive")
        } else {
            try disk.move("New", to: "Summer")
        }
        for number in 0..<6 { try disk.write("Summer/private\(number).jpg", "private \(number)") }
        for number in 0..<6 { try disk.write("Zoo/\(number).jpg", "zoo \(number)") }
        party.village.world.clock.advance(milliseconds: 60_000)
        for round in 0..<40 {
            try party.alice.round(
                look.isWhole && round == 0 ? .all : .directories([.library: disk.takeDirty()]))
            for replica in [party.bob, party.carol] {
                try replica.round()
                #expect(
                    replica.tree(.shared) == ["alice/Summer/a.jpg": "aaa", "alice/Summer/deep/b.jpg": "bbb"],
                    "\(round)")
            }
            party.village.world.clock.advance(milliseconds: 700)
        }
        #expect(party.alice.tree(.library)["\(place)/a.jpg"] == "aaa")
        #expect(party.alice.tree(.library)["Summer/private3.jpg"] == "private 3")
    }

    private final class Once: @unchecked Sendable {
        var isDone = false
    }

    /// Whatever the device is just doing: with the renaming that it carries out, the folder that has the name by then is moved.
    @Test(arguments: 0..<8)
    func `folders that swap names while another device's renaming of one arrives are all known at once`(part: Int)
        throws
    {
        for share in [false, true] {
            for calls in stride(from: part, to: 40, by: 8) {
                let (village, alice, laptop) = try Village.twoDevices([
                    "Priv/X/v.jpg": "v", "Lake/S/q.jpg": "q", "Lake/z.jpg": "z",
                ])
                if share {
                    let made = alice.request(
                        .shareCreate(
                            paths: [alice.path("Lake")], title: "Lake", publicPermission: "none", isSealed: true))
                    try #require(made.code == 0)
                    try #require(try village.settle())
                }
                let disk = alice.machine.library
                _ = disk.takeDirty()
                try laptop.machine.library.move("Priv/X", to: "Priv/T")
                for _ in 0..<4 {
                    try laptop.round()
                    village.world.clock.advance(milliseconds: 700)
                }
                let once = Once()
                alice.machine.faults.run(at: alice.machine.faults.operationCount + calls) {
                    do {
                        try disk.move(
                            #require(RelativePath("Priv/X")), to: #require(RelativePath("Lake/S")), mode: .exchange)
                        once.isDone = true
                    } catch {}
                }
                for _ in 0..<60 {
                    try alice.round(.directories([.library: disk.takeDirty()]))
                    try laptop.round()
                    village.world.clock.advance(milliseconds: 700)
                }
                #expect(Set(alice.tree(.library).values) == ["v", "q", "z"], "\(calls)")
                #expect(treeDifference(alice.files(.library), laptop.files(.library)) == [], "\(calls) \(once.isDone)")
                #expect(try alice.round(.all).taken == 0, "\(calls) \(once.isDone)")
            }
        }
    }

    @Test func `a folder that two devices made, put into a new one of its name, stays where it was put`() throws {
        for hasFirst in [true, false] {
            let (village, alice, laptop) = try Village.twoDevices(["Trips/z.jpg": "z"])
            try alice.machine.library.write("Trips/Event/a.jpg", "a")
            try laptop.machine.library.write("Trips/Event/b.jpg", "b")
            try #require(try village.settle())
            let disk = (hasFirst ? alice : laptop).machine.library
            try disk.move("Trips/Event", to: "Trips/t")
            try disk.makeDirectories(#require(RelativePath("Trips/Event")))
            try disk.move("Trips/t", to: "Trips/Event/Event")
            try #require(try village.settle())
            for replica in [alice, laptop] {
                #expect(
                    replica.tree(.library) == [
                        "Trips/Event/Event/a.jpg": "a", "Trips/Event/Event/b.jpg": "b", "Trips/z.jpg": "z",
                    ], "\(replica.machine.name)")
            }
        }
    }

    @Test func `what was just said of a photo is written beside it, and not where its folder was`() throws {
        let (village, alice, laptop) = try Village.twoDevices(["Trip/a.jpg": "a", "Trip/b.jpg": "b"])
        let disk = alice.machine.library
        _ = disk.takeDirty()
        #expect(alice.request(.caption(path: alice.path("Trip/a.jpg"), text: "mine")).code == 0)
        // Nobody has looked since.
        try disk.move("Trip", to: "t")
        try disk.makeDirectories(#require(RelativePath("Trip")))
        try disk.move("t", to: "Trip/Trip")
        try alice.round(.directories([:]))
        for _ in 0..<20 {
            try alice.round(.directories([.library: disk.takeDirty()]))
            try laptop.round()
            village.world.clock.advance(milliseconds: 700)
        }
        for replica in [alice, laptop] {
            #expect(
                Set(replica.tree(.library, sidecars: true).keys) == [
                    "Trip/Trip/a.jpg", "Trip/Trip/a.jpg.json", "Trip/Trip/b.jpg",
                ], "\(replica.machine.name)")
            #expect(replica.sidecar("Trip/Trip/a.jpg", .library)?.fields.caption == "mine")
        }
    }
}
