import ShoeboxModel
import ShoeboxStore
import ShoeboxTestSupport
import Testing

@testable import Shoebox

/// A participant's photo that goes from one share of somebody's to another one takes nothing of its past along.
@Suite struct MovedBetweenSharesTests {
    @Test(arguments: [false, true], [false, true])
    func `what was overwritten in one share is not told to the people of another one that the photo goes to`(
        isSwap: Bool, isAtOnce: Bool
    ) throws {
        let party = try Party(bob: "readWrite")
        let (alice, bob, carol, village) = (party.alice, party.bob, party.carol, party.village)
        try alice.machine.library.write("Lake/p.jpg", "former")
        try #require(try village.settle())
        let made = alice.request(
            .shareCreate(paths: [alice.path("Lake")], title: "Lake", publicPermission: "none", isSealed: true))
        try #require(alice.request(.invite(share: "Lake", accounts: ["bob"], permission: "readWrite")).code == 0)
        try #require(bob.request(.accept(link: made.values["link"] ?? "")).code == 0)
        try #require(try village.settle())
        let disk = bob.machine.shared
        try disk.write("alice/Lake/p.jpg", "new", saving: .replacing)
        if !isAtOnce { try #require(try village.settle()) }
        if isSwap {
            try disk.move("alice/Summer/a.jpg", to: "alice/sw.jpg")
            try disk.move("alice/Lake/p.jpg", to: "alice/Summer/a.jpg")
            try disk.move("alice/sw.jpg", to: "alice/Lake/p.jpg")
        } else {
            try disk.move("alice/Lake/p.jpg", to: "alice/Summer/p.jpg")
        }
        try #require(try village.settle())
        #expect(carol.tree(.shared).values.contains("new"), "\(carol.tree(.shared))")
        #expect(!carol.tree(.shared).values.contains("former"), "\(carol.tree(.shared))")
        for stored in try carol.store.read({ db in try db.history(after: 0, limit: .max) }) {
            guard case .set(let fields) = stored.change.action else { continue }
            for value in fields.values { #expect(value.asset?.size != UInt64("former".utf8.count)) }
        }
    }
}
