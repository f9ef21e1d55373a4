import Shoebox
import ShoeboxLibrary
import ShoeboxModel
import ShoeboxPlanning
import ShoeboxStore
import ShoeboxTestSupport
import ShoeboxWorld
import Testing

/// What is moved into a folder that is in no share, since nothing may be added where it lies.
@Suite struct RefusedFolderTests {
    @Test(arguments: ["alice/Summer/New/In/a.jpg", "Beside/a.jpg"])
    func `a photo that may not be moved is back in its place, and stays in the folder it was moved to`(
        place: String
    ) throws {
        let party = try Party(bob: "readOnly")
        let shared = party.bob.machine.shared
        try shared.write(String(place.dropLast(5)) + "x.jpg", "xxx")
        try shared.move("alice/Summer/a.jpg", to: place)
        #expect(try party.village.settleDeletions())
        let shown = party.bob.tree(.shared)
        #expect(shown["alice/Summer/a.jpg"] == "aaa" && shown[place] == "aaa", "\(shown)")
        #expect(party.alice.tree(.library)["Summer/a.jpg"] == "aaa")
        #expect(party.bob.isQuiet)
    }

    @Test func `a folder that may not be moved is back with all in it`() throws {
        let party = try Party(bob: "readOnly")
        let shared = party.bob.machine.shared
        try shared.write("alice/Summer/New/x.jpg", "xxx")
        try shared.move("alice/Summer/deep", to: "alice/Summer/New/deep")
        #expect(try party.village.settleDeletions())
        let shown = party.bob.tree(.shared)
        #expect(shown["alice/Summer/deep/b.jpg"] == "bbb", "\(shown)")
        #expect(shown["alice/Summer/New/deep/b.jpg"] == "bbb", "\(shown)")
        #expect(party.bob.isQuiet)
    }

    @Test(arguments: ["readOnly", "readWrite"])
    func `a photo that changed places with one of such a folder is back in its place`(permission: String) throws {
        let party = try Party(bob: permission)
        let shared = party.bob.machine.shared
        let place = permission == "readOnly" ? "alice/Summer/New/In" : "Beside/In"
        try shared.write("\(place)/x.jpg", "xxx")
        try shared.move("alice/Summer/a.jpg", to: "between.jpg")
        try shared.move("\(place)/x.jpg", to: "alice/Summer/a.jpg")
        try shared.move("between.jpg", to: "\(place)/x.jpg")
        #expect(try party.village.settleDeletions())
        let (shown, alices) = (party.bob.tree(.shared), party.alice.tree(.library))
        #expect(shown["\(place)/x.jpg"] == "aaa" && shown.values.contains("xxx"), "\(shown)")
        if permission == "readOnly" {
            #expect(shown["alice/Summer/a.jpg"] == "aaa" && !alices.values.contains("xxx"), "\(shown) \(alices)")
        } else {
            #expect(alices.values.contains("aaa") && alices.values.contains("xxx"), "\(alices)")
            #expect(party.carol.tree(.shared).values.sorted() == ["aaa", "bbb", "xxx"])
        }
        #expect(party.bob.isQuiet)
    }

    @Test func `a folder that changed places with one of such a folder is back with all in it`() throws {
        let party = try Party(bob: "readOnly")
        let shared = party.bob.machine.shared
        try shared.write("alice/Summer/New/In/x.jpg", "xxx")
        try shared.move("alice/Summer/deep", to: "between")
        try shared.move("alice/Summer/New/In", to: "alice/Summer/deep")
        try shared.move("between", to: "alice/Summer/New/In")
        #expect(try party.village.settleDeletions())
        let shown = party.bob.tree(.shared)
        #expect(shown["alice/Summer/New/In/b.jpg"] == "bbb" && shown.values.contains("xxx"), "\(shown)")
        #expect(shown["alice/Summer/deep/b.jpg"] == "bbb", "\(shown)")
        #expect(party.bob.isQuiet)
    }

    @Test func `a photo that may be taken out of its share is deleted there when it goes to such a folder`() throws {
        let party = try Party(bob: "readWrite")
        let shared = party.bob.machine.shared
        try shared.write("Beside/x.jpg", "xxx")
        try shared.move("alice/Summer/a.jpg", to: "Beside/a.jpg")
        #expect(try party.village.settleDeletions())
        #expect(party.bob.tree(.shared)["Beside/a.jpg"] == "aaa")
        #expect(party.alice.tree(.library)["Summer/a.jpg"] == nil)
        #expect(party.carol.tree(.shared)["alice/Summer/a.jpg"] == nil)
        #expect(party.alice.machine.library.tree().contains { $0.key.hasPrefix(".shoebox/trash/") })
        #expect(party.bob.isQuiet)
    }

    @Test func `the folder of a share that went to such a folder is offered back, and nothing of it is deleted`() throws
    {
        let party = try Party(bob: "readWrite")
        let shared = party.bob.machine.shared
        try shared.write("Beside/x.jpg", "xxx")
        try shared.move("alice/Summer", to: "Beside/Summer")
        #expect(try party.village.settleDeletions())
        #expect(party.bob.problems.contains { $0.code == "leaveOffered" }, "\(party.bob.problems)")
        #expect(party.alice.tree(.library)["Summer/a.jpg"] == "aaa")
        try shared.move("Beside/Summer", to: "alice/Summer")
        #expect(try party.village.settleDeletions())
        #expect(!party.bob.problems.contains { $0.code == "leaveOffered" }, "\(party.bob.problems)")
        #expect(party.bob.tree(.shared)["alice/Summer/deep/b.jpg"] == "bbb")
    }
}
