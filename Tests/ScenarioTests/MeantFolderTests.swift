import ShoeboxModel
import ShoeboxStore
import ShoeboxTestSupport
import Testing

@testable import Shoebox

/// What another device did is done to what it was done to, also where its user puts something else in its place in that moment.
@Suite struct MeantFolderTests {
    enum Swapped: CaseIterable { case folder, file }

    @Test(arguments: Swapped.allCases, 0..<3)
    func `what takes the place of a photo that another device moved into a share does not go there`(
        swapped: Swapped, changes: Int
    ) throws {
        let (village, alice, laptop) = try Village.twoDevices(
            ["Hill/IMG_1.jpg": "mine", "Other/IMG_1.jpg": "secret", "Open/c.jpg": "ccc"], others: ["bob"])
        let bob = village.replicas[1]
        let made = alice.request(
            .shareCreate(paths: [alice.path("Open")], title: "Open", publicPermission: "none", isSealed: true))
        try #require(alice.request(.invite(share: "Open", accounts: ["bob"], permission: "readWrite")).code == 0)
        try #require(bob.request(.accept(link: made.values["link"] ?? "")).code == 0)
        try #require(try village.settle())
        try laptop.machine.library.move("Hill/IMG_1.jpg", to: "Open/IMG_1.jpg")
        var away = village
        away.replicas = [laptop, bob]
        try #require(try away.settle())
        let disk = alice.machine.library
        alice.machine.faults.run(beforeChange: changes) {
            do {
                switch swapped {
                case .folder:
                    try disk.move("Hill", to: "Aside")
                    try disk.move("Other", to: "Hill")
                case .file:
                    try disk.move("Hill/IMG_1.jpg", to: "Other/mine.jpg")
                    try disk.move("Other/IMG_1.jpg", to: "Hill/IMG_1.jpg")
                }
            } catch {
                // After the move there is nothing to swap.
            }
        }
        try #require(try village.settleDeletions())
        let told = try bob.store.read { db in try db.history(after: 0, limit: .max) }
        #expect(!told.isEmpty && bob.tree(.shared)["alice/Open/c.jpg"] == "ccc")
        #expect(!bob.tree(.shared).values.contains("secret"), "\(bob.tree(.shared))")
        for stored in told {
            guard case .set(let fields) = stored.change.action else { continue }
            for value in fields.values { #expect(value.asset?.size != UInt64("secret".utf8.count)) }
        }
        for replica in [alice, laptop] {
            #expect(replica.tree(.library).values.contains("secret"), "\(replica.tree(.library))")
            #expect(replica.tree(.library).values.contains("mine"), "\(replica.tree(.library))")
            #expect(replica.tree(.library).filter { $0.value == "secret" }.keys.allSatisfy { !$0.hasPrefix("Open/") })
        }
        #expect(alice.tree(.library) == laptop.tree(.library))
    }
}
