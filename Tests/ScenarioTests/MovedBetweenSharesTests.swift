import ShoeboxModel
import ShoeboxStore
import ShoeboxTestSupport
import Testing

@testable import Shoebox

/// A participant's photo that goes from one share of somebody's to another one takes nothing of its past along.
@Suite struct MovedBetweenSharesTests {
    @Test(arguments: [(false, false), (true, false), (false, true), (true, true)], [false, true])
    func `what was overwritten in one share is not told to the people of another one that the photo goes to`(
        how: (isSwap: Bool, isByWay: Bool), isAtOnce: Bool
    ) throws {
        let (isSwap, isByWay) = how
        let party = try Party(bob: "readWrite")
        let (alice, bob, carol, village) = (party.alice, party.bob, party.carol, party.village)
        try alice.machine.library.write("Lake/p.jpg", "formerly")
        try #require(try village.settle())
        for title in isByWay ? ["Lake", "Way"] : ["Lake"] {
            if title == "Way" { try alice.machine.library.write("Way/w.jpg", "www") }
            try #require(try village.settle())
            let made = alice.request(
                .shareCreate(paths: [alice.path(title)], title: title, publicPermission: "none", isSealed: true))
            try #require(alice.request(.invite(share: title, accounts: ["bob"], permission: "readWrite")).code == 0)
            try #require(bob.request(.accept(link: made.values["link"] ?? "")).code == 0)
        }
        try #require(try village.settle())
        let disk = bob.machine.shared
        try disk.write("alice/Lake/p.jpg", "new", saving: .replacing)
        if !isAtOnce { try #require(try village.settle()) }
        if isByWay {
            try disk.move("alice/Lake/p.jpg", to: "alice/Way/p.jpg")
            try #require(try village.settle())
            try disk.write("alice/Way/p.jpg", "newest", saving: .replacing)
            if !isAtOnce { try #require(try village.settle()) }
        }
        let place = isByWay ? "alice/Way/p.jpg" : "alice/Lake/p.jpg"
        if isSwap {
            try disk.move("alice/Summer/a.jpg", to: "alice/sw.jpg")
            try disk.move(place, to: "alice/Summer/a.jpg")
            try disk.move("alice/sw.jpg", to: place)
        } else {
            try disk.move(place, to: "alice/Summer/p.jpg")
        }
        try #require(try village.settle())
        let last = isByWay ? "newest" : "new"
        #expect(carol.tree(.shared).values.contains(last), "\(carol.tree(.shared))")
        #expect(!isByWay || !carol.tree(.shared).values.contains("new"), "\(carol.tree(.shared))")
        #expect(!carol.tree(.shared).values.contains("formerly"), "\(carol.tree(.shared))")
        for stored in try carol.store.read({ db in try db.history(after: 0, limit: .max) }) {
            guard case .set(let fields) = stored.change.action else { continue }
            for value in fields.values { #expect(value.asset?.size != UInt64("formerly".utf8.count)) }
        }
    }

    @Test(arguments: [false, true])
    func `what is saved in a photo that its owner has just taken out of a share is not told to its people`(
        hasEditOfOthers: Bool
    ) throws {
        let party = try Party(bob: "readWrite")
        let (alice, bob, village) = (party.alice, party.bob, party.village)
        let disk = alice.machine.library
        if hasEditOfOthers { try bob.machine.shared.write("alice/Summer/a.jpg", "from bob", saving: .replacing) }
        try disk.move("Summer/a.jpg", to: "Private/a.jpg")
        try disk.write("Private/a.jpg", "secretly!", saving: .inPlace)
        try party.rounds(of: alice, 4)
        try #require(try village.settle())
        let shown = alice.tree(.library)
        #expect(shown.filter { !$0.key.hasPrefix("Summer/") }.values.contains("secretly!"), "\(shown)")
        #expect(!bob.tree(.shared).values.contains("secretly!"), "\(bob.tree(.shared))")
        for stored in try bob.store.read({ db in try db.history(after: 0, limit: .max) }) {
            guard case .set(let fields) = stored.change.action else { continue }
            for value in fields.values {
                #expect(value.asset?.size != UInt64("secretly!".utf8.count))
            }
        }
    }
}
