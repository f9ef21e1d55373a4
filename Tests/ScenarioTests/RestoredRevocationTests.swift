import Shoebox
import ShoeboxCloud
import ShoeboxLibrary
import ShoeboxModel
import ShoeboxPlanning
import ShoeboxStore
import ShoeboxTestSupport
import ShoeboxWorld
import Testing

@Suite struct RestoredRevocationTests {
    @Test(arguments: [false, true])
    func `a removal stands when the state of the device that made it is put back to before it`(isSynced: Bool) throws {
        let party = try Party(bob: "readWrite")
        var village = party.village
        let laptop = try village.addDevice(of: party.alice, name: "laptop")
        try village.settle()
        try village.meet()
        let backup = (store: try laptop.store.backup(), identity: laptop.identity)
        let library = party.alice.machine.library
        if isSynced {
            try library.write("more.jpg", "more")
            try library.write("Summer/d.jpg", "ddd")
            try party.alice.round()
            try party.alice.round()
        }
        #expect(laptop.request(.uninvite(share: "Summer", accounts: ["bob"])).code == 0)
        try laptop.restart(store: backup.store, identity: backup.identity)
        try laptop.round()
        try laptop.machine.library.write("Summer/late.jpg", "late")
        try village.settle()
        try village.meet()
        #expect(!party.bob.tree(.shared).values.contains("late"), "\(laptop.logLines.suffix(30))")
        #expect(!party.bob.tree(.library).values.contains("late"))
    }
}
